"""Fuzzes one target, guided by the coverage of the connectors.

    python -m fuzz TARGET [--data DIR] [--seconds N] [--seed N] [--out DIR]
    python -m fuzz TARGET --replay [--out DIR]       the corpus again, without the fuzzer (for a coverage tool, say)
    python -m fuzz TARGET --input FILE               one input: which laws does it break?

Needs `pip install 'iamata[fuzz]'` (atheris 3.0); `--replay` and `--input` do not. The corpus and the inputs that broke
a law are kept under `.fuzz/TARGET/` (`corpus/`, `faults/`: one input and a text for each kind of fault). Ends with
status 1 if there was a fault. The laws are those of `fuzz.laws`; how long it takes and how much it may use are in
`fuzz.doors`. Not in CI: a fuzzer that finds nothing in a minute has told nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from evals.shape import DATA

TARGETS: Final = ("fhir-r4", "fhir-r5", "cda", "hl7v2", "x12", "documents", "archives", "exports", "transcripts")
# Whose coverage guides; the rest of the program runs as it is. By exclusion: atheris takes a package with all below it.
_GUIDING: Final = frozenset({"connectors", "interfaces", "model"})
# Of the inputs that are made, so many in a hundred are made by changing bytes only.
_BYTES_ONLY: Final = 15


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of public files (default: ../shared/data)")
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path(".fuzz"), help="where corpora and faults are kept")
    parser.add_argument("--replay", action="store_true", help="judge the corpus, without the fuzzer")
    parser.add_argument("--input", type=Path, help="judge one file")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    kept = given.out / given.target
    if given.input:
        return _judge(given.target, [given.input])
    if given.replay:
        return _judge(given.target, sorted((kept / "corpus").iterdir()))
    (kept / "corpus").mkdir(parents=True, exist_ok=True)
    (kept / "faults").mkdir(exist_ok=True)
    if given.child:
        _fuzz(given.target, kept, given.data, given.seconds, given.seed)
    return _watch(given.target, kept, [sys.executable, "-m", "fuzz", *(arguments or sys.argv[1:]), "--child"])


def _judge(target: str, paths: Sequence[Path]) -> int:
    from fuzz.doors import entered

    broken = 0
    for path in paths:
        for fault in entered(target, path.read_bytes()):
            broken += 1
            print(f"{path.name}  {fault}")
    print(f"{target}  {len(paths)} inputs, {broken} faults")
    return 1 if broken else 0


def _watch(target: str, kept: Path, command: Sequence[str]) -> int:
    """Runs the fuzzer in a process of its own, which ends as it likes, and tells what it did."""
    start, covered, runs = time.monotonic(), "", 0
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace") as process:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(r"#(\d+)\s.*cov: (\d+) ft: (\d+) corp: (\d+)", line):
                runs = int(found[1])
                covered = f"{found[2]} edges, {found[3]} features, {found[4]} inputs kept"
            elif found := re.search(r"stat::number_of_executed_units: (\d+)", line):
                runs = int(found[1])
            elif not line.startswith(("INFO", "stat::", "#", "\tNEW_FUNC")):
                sys.stderr.write(line)
    faults = sorted((kept / "faults").glob("*.txt"))
    print(f"{target}  {runs} executions in {time.monotonic() - start:.0f} s; {covered}; {len(faults)} kinds of faults")
    for fault in faults:
        print(f"    {fault.stem}  {fault.read_text().strip()}")
    return 1 if faults or process.returncode else 0


def _fuzz(target: str, kept: Path, data: Path, seconds: int, seed: int) -> None:
    try:
        import atheris
    except ImportError:
        sys.exit("the fuzzer needs atheris: pip install 'iamata[fuzz]'")
    found = importlib.util.find_spec("iamata")
    assert found is not None
    assert found.origin is not None
    package = Path(found.origin).parent
    others = [f"iamata.{each.stem}" for each in package.iterdir() if each.stem not in _GUIDING]
    with atheris.instrument_imports(include=["iamata"], exclude=others):
        from fuzz.changes import CHANGES, changed
        from fuzz.doors import entered
        from fuzz.seeds import seeds

    begin = kept / "seeds"
    begin.mkdir(exist_ok=True)
    for body in seeds(target, data):
        (begin / sha256(body).hexdigest()[:16]).write_bytes(body)

    def once(body: bytes) -> None:
        for fault in entered(target, body):
            name = sha256(f"{fault.law} {fault.kind}".encode()).hexdigest()[:12]
            held = kept / "faults" / f"{name}.bin"
            if not held.exists() or len(body) < held.stat().st_size:
                held.write_bytes(body)
                held.with_suffix(".txt").write_text(f"{fault}\n")

    def change(body: bytes, size: int, chosen: int) -> bytes:
        chance = random.Random(chosen)
        made = changed(CHANGES[target], body, chance) if chance.randrange(100) >= _BYTES_ONLY else None
        if made is None or len(made) > size:
            made = atheris.Mutate(body, size)
        return bytes(made)

    options = [f"-max_total_time={seconds}", f"-seed={seed}", "-max_len=100000", "-timeout=60", "-rss_limit_mb=3000"]
    options += ["-print_final_stats=1", "-reload=0", f"-artifact_prefix={kept / 'faults'}/crash-", "-len_control=0"]
    atheris.Setup([sys.argv[0], *options, str(kept / "corpus"), str(begin)], once, custom_mutator=change)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())

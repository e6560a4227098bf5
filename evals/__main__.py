"""Runs evaluations and prints their figures.

    python -m evals NAME [--data DIR] [--json] [--seed N] [--misses]     one
    python -m evals                                                      all, as a scoreboard

`--json` prints one object: {"eval", "data", "figures", "rows", "misses"}; without a name one object a line.
`--opened` also runs the cases that were kept apart until they were opened (`evals/kept_apart.py` says which, and when);
they are tuned on since. `--held-out` (or `--unopened`) opens all that is kept apart, the unopened too: for a closing
note, never while working on the code they judge; a set so opened is then named in `evals/kept_apart.py`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.shape import DATA, Options, Outcome

# Name → module; a module that is not there yet is left out.
EVALS = {
    "reading": "evals.reading",
    "attribution": "evals.attribution",
    "terminology": "evals.terminology",
    "reconciliation": "evals.reconciliation",
    "laws": "evals.laws",
    "assertion": "evals.assertion",
    "learned": "evals.learned",
    "passages": "evals.passages",
    "memories": "evals.first_memories",
    "links": "evals.links",
    "authority": "evals.authority",
    "retrieval": "evals.retrieval",
    "context": "evals.context",
}


def available() -> dict[str, str]:
    """The evaluations whose modules exist."""
    return {name: module for name, module in EVALS.items() if importlib.util.find_spec(module) is not None}


def run(name: str, options: Options) -> Outcome:
    outcome: Outcome = importlib.import_module(EVALS[name]).run(options)
    return outcome


def main(arguments: Sequence[str] | None = None) -> int:
    names = available()
    parser = argparse.ArgumentParser(
        prog="python -m evals", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", nargs="?", choices=sorted(names), help="one evaluation; all if left out")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of public files (default: ../shared/data)")
    parser.add_argument("--json", action="store_true", help="one object with figures, rows and misses")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--misses", action="store_true", help="also name each miss")
    parser.add_argument(
        "--held-out", "--unopened", action="store_true", help="open all cases kept apart (closing note only)"
    )
    parser.add_argument("--opened", action="store_true", help="also run the cases kept apart that were opened before")
    given = parser.parse_args(arguments)
    options = Options(data=given.data, seed=given.seed, held_out=given.held_out, opened=given.opened)
    chosen = [given.name] if given.name else list(names)
    for name in chosen:
        outcome = run(name, options)
        if given.json:
            print(json.dumps(outcome.as_json(), ensure_ascii=False, default=str), flush=True)
            continue
        for line in told(outcome):
            print(line, flush=True)
        if given.misses or len(chosen) == 1:
            for miss in outcome.misses:
                print(f"    miss  {miss}")
    return 0


def told(outcome: Outcome) -> Iterator[str]:
    """The figures as lines of a table: what is nested gets a line of its own."""
    if outcome.skipped:
        yield f"{outcome.eval:15} skipped: {outcome.skipped}"
    flat = {name: value for name, value in outcome.figures.items() if not isinstance(value, Mapping)}
    if flat:
        yield f"{outcome.eval:15} {_cells(flat)}"
    for name, value in outcome.figures.items():
        if isinstance(value, Mapping):
            yield f"{outcome.eval:15} {name:28} {_cells(value)}"


def _cells(figures: Mapping[str, Any]) -> str:
    return "  ".join(f"{name} {value}" for name, value in figures.items())


if __name__ == "__main__":
    sys.exit(main())

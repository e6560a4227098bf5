"""Times how resolving grows with a patient, and what one more result costs; prints each figure beside what was asked.

    python -m benchmarks.growth [--data DIR] [--sizes 1100,5000,20000] [--json]

A patient of N entries is made of real bundles: the entries of one after the other under the first one's identity, and,
where they do not suffice, the same again under other ids and at other hours. Wall clock, and the time of the processor
beside it (`cpu`: what the wall clock would say if nothing else ran); the median of three, the first after a warm-up.
`per_entry` (of the processor) is a ratio to the smallest size of the same run: 1 is linear. Comparisons are counted.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.figures import put
from iamata import Engine, patient
from iamata.connectors import registry
from iamata.engine.graphs import uncollected
from iamata.formation import pipeline
from iamata.formation.growth import grow
from iamata.formation.recorded import candidates
from iamata.model.graph import Held
from iamata.model.identifiers import IdMint
from iamata.model.stamp import Moment

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
MINT = IdMint(b"k" * 32)
ASKED = {1100: 150, 20000: 4000}
ASKED_ONE_MORE_MS = 100


def entries(folder: Path, count: int) -> list[dict[str, Any]]:
    """So many entries of one patient."""
    found: list[dict[str, Any]] = []
    me, again = "", 0
    while True:
        for file in sorted(folder.glob("*.json")):
            theirs = [_otherwise(json.dumps(entry), again) for entry in json.loads(file.read_bytes())["entry"]]
            who = next(entry for text in theirs if (entry := json.loads(text))["resource"]["resourceType"] == "Patient")
            for text in theirs:
                entry = json.loads(text.replace(who["fullUrl"], me or who["fullUrl"]))
                if entry["resource"]["resourceType"] == "Patient":
                    if me:
                        continue
                    me = entry["fullUrl"]
                found.append(entry)
                if len(found) == count:
                    return found
        again += 1


def _otherwise(text: str, again: int) -> str:
    """The entry under other ids and at other hours."""
    if not again:
        return text
    text = text.replace("urn:uuid:", f"urn:uuid:{again}").replace('"id": "', f'"id": "{again}')
    return re.sub(r"T(\d\d):", lambda hour: f"T{(int(hour[1]) + again) % 24:02}:", text)


def bundle(resources: list[dict[str, Any]]) -> bytes:
    return json.dumps({"resourceType": "Bundle", "type": "collection", "entry": resources}).encode()


def result(number: int, me: str) -> dict[str, Any]:
    """One new result of a test that the patient has had before."""
    return {
        "resource": {
            "resourceType": "Observation",
            "id": f"one-more-{number}",
            "status": "final",
            "subject": {"reference": me},
            "code": {"coding": [{"system": "http://loinc.org", "code": "8867-4", "display": "Heart rate"}]},
            "effectiveDateTime": f"2026-11-29T{number:02}:00:00Z",
            "valueQuantity": {
                "value": 70 + number,
                "unit": "/min",
                "system": "http://unitsofmeasure.org",
                "code": "/min",
            },
        }
    }


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds of the wall clock and of the processor."""
    gc.collect()
    start, worked = time.perf_counter(), time.process_time()
    with uncollected():  # as the engine folds
        run()
    return (time.perf_counter() - start) * 1000, (time.process_time() - worked) * 1000


def medians(name: str, spent: list[tuple[float, float]]) -> dict[str, float]:
    return {
        f"{name}_ms": statistics.median(wall for wall, _ in spent),
        f"{name}_cpu_ms": statistics.median(cpu for _, cpu in spent),
    }


def read(body: bytes, document: str) -> Any:
    return registry.parse(
        body, format="fhir/r4", subject=patient("p"), source="ehr", mint=MINT, document=document, received_at=NOW
    )


def measure(folder: Path, size: int) -> dict[str, Any]:
    """The figures for one size."""
    chosen = entries(folder, size)
    me = str(chosen[0]["fullUrl"])
    parsed = read(bundle(chosen), "en_0")
    held = Held(
        subject=patient("p"), statements=parsed.statements, passages=parsed.passages, sightings=parsed.sightings
    )
    moment = Moment.of(NOW)
    compared = 0
    compare = candidates.compare

    def counted(*sides: Any, **how: Any) -> Any:
        nonlocal compared
        compared += 1
        return compare(*sides, **how)

    candidates.compare = counted
    try:
        fold = pipeline.fold(held, moment=moment, mint=MINT)
    finally:
        candidates.compare = compare
    folds = [timed(lambda: pipeline.form(held, moment=moment, mint=MINT)) for _ in range(3)]
    more: list[tuple[float, float]] = []
    for number in range(4):
        new = read(bundle([result(number, me)]), f"en_{number + 1}")
        held = Held(
            subject=patient("p"),
            version=number + 1,
            statements=held.statements + new.statements,
            passages=held.passages,
            sightings=held.sightings + new.sightings,
        )
        before = fold

        def step(before: pipeline.Fold = before, held: Held = held) -> None:
            nonlocal fold
            grown = grow(before, held, mint=MINT, visible=lambda labels: True)
            if grown is None:
                raise RuntimeError("one more result was not taken further")
            fold = grown

        more.append(timed(step))
    if fold.graph.hash != pipeline.form(held, moment=moment, mint=MINT).hash:
        raise RuntimeError("taken further it is another graph")
    return {
        "entries": len(chosen),
        "statements": len(parsed.statements),
        "facts": len(fold.graph.facts),
        "comparisons": compared,
        **medians("fold", folds),
        **medians("one_more_fold", more[1:]),
        **medians("one_more_stored_and_seen", stored_and_seen(chosen, me)),
    }


def stored_and_seen(chosen: list[dict[str, Any]], me: str) -> list[tuple[float, float]]:
    """One more result taken in by an engine that holds the patient, until a read sees it."""
    with tempfile.TemporaryDirectory() as folder, Engine.open(Path(folder) / "p.db") as engine:
        engine.ingest("p", bundle(chosen), source="ehr")
        engine.graph("p")
        spent = []
        for number in range(4):
            body = bundle([result(number, me)])

            def step(body: bytes = body) -> None:
                engine.ingest("p", body, source="ehr")
                engine.graph("p")

            spent.append(timed(step))
        return spent[1:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--sizes", default="1100,5000,20000")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    folder = asked.data / "synthea_r4_bundles"
    if not any(folder.glob("*.json")):
        print(f"no bundles under {asked.data.name}/synthea_r4_bundles: nothing measured", file=sys.stderr)
        return 1
    figures = [measure(folder, int(size)) for size in asked.sizes.split(",")]
    smallest = figures[0]["fold_cpu_ms"] / figures[0]["entries"]
    for each in figures:
        each["per_entry"] = each["fold_cpu_ms"] / each["entries"] / smallest
    if asked.json:
        print(json.dumps(figures, indent=2))
        return 0
    for each in figures:
        wanted = {"fold_ms": f"< {ASKED[each['entries']]}"} if each["entries"] in ASKED else {}
        if each["entries"] == max(ASKED):
            wanted["one_more_fold_ms"] = f"< {ASKED_ONE_MORE_MS}"
        put(each, wanted)
        print()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

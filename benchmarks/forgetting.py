"""How long does forgetting take, and what does a search find before and after? Prints figures beside what was asked.

    python -m benchmarks.forgetting [--items 20000] [--postgres URL] [--json]

A patient of so many results, each its own record, with a talk; on a SQLite file, or on PostgreSQL where its address is
given. Wall clock, once each: an erasure happens once. The searches open and inflate every body, and on SQLite read the
database's files whole.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from benchmarks.figures import put
from iamata import Engine, Speaker, Turn
from iamata.model.erasure import Erasable

T = TypeVar("T")
CANARY = "canarybird"
ASKED = {"erase_patient_s": "asked: under 5", "after_found": "asked: 0", "before_found": "asked: more than 0"}
_BUNDLE = 2_000


def bundle(first: int, count: int) -> bytes:
    """So many results of one patient, the first with the canary."""
    resources: list[dict[str, object]] = [{"resourceType": "Patient", "id": "p"}]
    resources += [
        {
            "resourceType": "Observation",
            "id": f"o{n}",
            "status": "final",
            "code": {"text": f"Test {n % 200}" if n else CANARY},
            "effectiveDateTime": f"20{10 + n % 15}-{1 + n % 12:02}-{1 + n % 28:02}T{n % 24:02}:00:00Z",
            "valueQuantity": {"value": n, "unit": "mg/dL"},
        }
        for n in range(first, first + count)
    ]
    return json.dumps({"resourceType": "Bundle", "entry": [{"resource": r} for r in resources]}).encode()


def timed(run: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found


def measure(engine: Engine, items: int) -> dict[str, float | int]:
    """The figures for one patient on one engine."""
    for patient in ("p", "other"):
        for first in range(0, items if patient == "p" else 100, _BUNDLE):
            engine.ingest(patient, bundle(first, min(_BUNDLE, items - first)), source=f"ehr{first}", form=False)
        engine.append(patient, "s", [Turn(Speaker.PATIENT, f"I have {CANARY} since Monday.")] * 20, form=False)
    engine.form_pending()
    other = engine._store.version("other")
    document = engine._graphs.held("p").documents[0].id
    figures: dict[str, float | int] = {"items": items}
    figures["erase_document_s"], _ = timed(lambda: engine.erase("p", Erasable.DOCUMENT, document))
    figures["erase_session_s"], _ = timed(lambda: engine.erase("p", Erasable.SESSION, "s"))
    engine.append("p", "t", [Turn(Speaker.PATIENT, f"I have {CANARY} since Monday.")])
    figures["search_before_s"], before = timed(lambda: engine._store.look("p", (CANARY,)))
    figures["erase_patient_s"], erased = timed(lambda: engine.delete_patient("p"))
    figures["search_after_s"], after = timed(lambda: engine._store.look("p", (CANARY,), before.there))
    if erased is None or engine._store.version("other") != other:
        raise RuntimeError("the patient was not there, or another one changed")

    def found(of: object) -> int:
        remains = of.remains  # type: ignore[attr-defined]  # the port says Any
        return sum(count for _, count in remains.words) + int(remains.in_rows) + int(remains.in_files)

    figures |= {
        "rows_erased": sum(count for _, count in erased.counts),
        "bodies_opened_before": before.remains.bodies,
        "before_found": found(before),
        "before_in_files": before.remains.in_files,
        "after_found": found(after),
    }
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--postgres", help="the address of an empty database")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        Engine.open(given.postgres or Path(folder) / "f.db", keys=Path(folder) / "keys") as engine,
    ):
        figures = measure(engine, given.items)
    if given.json:
        print(json.dumps(figures, indent=1))
    else:
        put(figures, ASKED)


if __name__ == "__main__":
    main()

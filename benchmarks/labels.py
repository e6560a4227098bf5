"""Times what enforcing labels and consents adds to assembling a context, and the curve over the share that is hidden.

    python -m benchmarks.labels [--data DIR] [--entries 5000] [--shares 0,2,10,25,50] [--json]

One patient of real bundles, of which every so many entries carry a label that is withheld from the reader; one active
consent. Beside it an engine that never held the hidden entries, read by its owner: the same graph, nothing enforced.
`warm` is a context after another one, `cold` the first after a change (the fold and what precedes it included). Time
of the processor, the median of several, the two engines in turns. What rules say of each text is kept, as it is after
the first reader; `first_reader_ms` is what that costs once (in the first line with reading the tables).
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.figures import put
from benchmarks.growth import NOW, bundle, entries
from iamata import Access, ContextRequest, Engine, patient
from iamata.model.access import PrincipalKind
from iamata.terminology.security import CONFIDENTIALITY, label

READER = Access(kind=PrincipalKind.OPERATOR, id="clerk", withheld=frozenset({label("V")}))
OWNER = Access.local()
ASKED = {"warm_adds_percent": "< 5", "cold_adds_percent": "< 5"}
ASKED_AT_SHARE = 2
CONSENT = {
    "resource": {
        "resourceType": "Consent",
        "id": "consent",
        "status": "active",
        "scope": {
            "coding": [{"system": "http://terminology.hl7.org/CodeSystem/consentscope", "code": "patient-privacy"}]
        },
        "category": [{"coding": [{"system": "http://loinc.org", "code": "59284-0"}]}],
        "dateTime": "2026-01-10",
        "policyRule": {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v3-ActCode", "code": "OPTIN"}]},
    }
}


def context(engine: Engine, access: Access) -> None:
    asked = ContextRequest(subjects=(patient("p"),), task="medication_reconciliation", budget_tokens=2000)
    engine.context(asked, access=access)


def timed(run: Callable[[], object]) -> float:
    gc.collect()
    start = time.process_time()
    run()
    return (time.process_time() - start) * 1000


def cold(engine: Engine) -> None:
    """Forget what was folded and seen, not what is loaded and what rules say of each text."""
    graphs = engine._graphs
    graphs._loaded.clear()
    graphs._folds.clear()
    for each in graphs._sight._patients.values():
        each.views.clear()


def in_turns(first: Callable[[], float], second: Callable[[], float], times: int) -> tuple[float, float]:
    """The medians of two measures, taken by turns."""
    both = [(first(), second()) for _ in range(times)]
    return statistics.median(a for a, _ in both), statistics.median(b for _, b in both)


def measure(chosen: list[dict[str, Any]], share: int) -> dict[str, Any]:
    """The figures for one share, in percent."""
    every = round(100 / share) if share else 0
    hidden = {number for number in range(1, len(chosen)) if every and number % every == 0}
    marked = [json.loads(json.dumps(entry)) for entry in chosen]
    for number in hidden:
        meta = marked[number]["resource"].setdefault("meta", {})
        meta["security"] = [{"system": CONFIDENTIALITY, "code": "V"}]
    left = [entry for number, entry in enumerate(marked) if number not in hidden]
    with tempfile.TemporaryDirectory() as folder:
        holding = Engine.open(Path(folder) / "holding.db", clock=lambda: NOW)
        never = Engine.open(Path(folder) / "never.db", clock=lambda: NOW)
        with holding, never:
            holding.ingest("p", bundle([*marked, CONSENT]), source="ehr")
            never.ingest("p", bundle([*left, CONSENT]), source="ehr")
            context(never, OWNER)
            context(holding, OWNER)
            first_reader = timed(lambda: holding._graphs.seen("p", READER))
            context(holding, READER)

            def once_cold(engine: Engine, access: Access) -> float:
                cold(engine)
                return timed(lambda: context(engine, access))

            plain_cold, read_cold = in_turns(lambda: once_cold(never, OWNER), lambda: once_cold(holding, READER), 5)
            plain, read = in_turns(
                lambda: timed(lambda: context(never, OWNER)), lambda: timed(lambda: context(holding, READER)), 25
            )
            seen = holding._graphs.seen("p", READER)
            return {
                "share_hidden": share,
                "statements": len(holding.graph("p").statements),
                "hidden": len(seen.hidden.items),
                "warm_ms": read,
                "warm_plain_ms": plain,
                "warm_adds_percent": (read / plain - 1) * 100,
                "cold_ms": read_cold,
                "cold_plain_ms": plain_cold,
                "cold_adds_percent": (read_cold / plain_cold - 1) * 100,
                "first_reader_ms": first_reader,
            }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--entries", type=int, default=5000)
    parser.add_argument("--shares", default="0,2,10,25,50")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    folder = asked.data / "synthea_r4_bundles"
    if not any(folder.glob("*.json")):
        print(f"no bundles under {asked.data.name}/synthea_r4_bundles: nothing measured", file=sys.stderr)
        return 1
    chosen = entries(folder, asked.entries)
    figures = [measure(chosen, int(share)) for share in asked.shares.split(",")]
    if asked.json:
        print(json.dumps(figures, indent=2))
        return 0
    for each in figures:
        put(each, ASKED if each["share_hidden"] == ASKED_AT_SHARE else {})
        print()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""What does the audit log cost? CPU of one record, and its share of a read's median time, durable.

    python -m benchmarks.audit [--records N] [--runs N] [--json]

CPU is this process's, all threads, of taking, hashing and writing records in groups. The share is what a record takes
of the median time of an answer. A read does not wait for its record. A context and an ingestion do: their share is what
they take longer than without a record, run by turns, with the record in their own commit (`share_of_p50`) and in one
after it (`share_if_apart`).
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.figures import put
from iamata import ContextRequest, Engine, patient
from iamata.model.audit import AuditRecord

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ASKED = {
    "cpu_per_record_us": "asked: under 100",
    **{f"{name}_share_of_p50_pct": "asked: under 5" for name in ("read", "small_context", "context_2000", "ingest")},
}


def record(number: int) -> AuditRecord:
    items = tuple(f"st_{number:020}{item}" for item in range(20))
    return AuditRecord(
        at=NOW,
        principal="operator/dr-lee",
        on_behalf_of="clinic",
        purpose="TREAT",
        action="context",
        subject=f"patient/p{number % 50}",
        allowed=True,
        reasons=("relation-to-patient",),
        items=items,
        request=f"{number:032x}",
        act="read",
        door="http",
    )


def bundle(entries: int) -> bytes:
    resources: list[dict[str, object]] = [{"resourceType": "Patient", "id": "p"}]
    resources += [
        {
            "resourceType": "Condition",
            "id": f"c{n}",
            "code": {"text": f"Condition {n}"},
            "recordedDate": f"20{n % 25:02}-03-04",
        }
        for n in range(entries)
    ]
    return json.dumps({"resourceType": "Bundle", "entry": [{"resource": r} for r in resources]}).encode()


def spread_ms(arms: dict[str, Callable[[], object]], runs: int) -> dict[str, float]:
    """The median of each arm. They take turns, each first as often as the others: what else the machine does falls on
    all of them alike."""
    times: dict[str, list[float]] = {name: [] for name in arms}
    order = list(arms)
    for run in range(runs + 1):
        for name in order:
            start = time.perf_counter()
            arms[name]()
            if run:  # the first one warms up
                times[name].append((time.perf_counter() - start) * 1000)
        order = order[1:] + order[:1]
    return {name: statistics.median(each) for name, each in times.items()}


def shares(engine: Engine, name: str, verb: Callable[[], object], runs: int) -> dict[str, float]:
    """The verb without a record, with its record in its own commit, and as it was before: a commit for each."""
    made = engine._record

    def without() -> None:
        engine._record = lambda *given, **named: None  # type: ignore[method-assign,assignment,return-value]  # left out
        verb()

    def with_record() -> None:
        engine._record = made  # type: ignore[method-assign]  # put back
        verb()

    def apart() -> None:
        kept: list[AuditRecord] = []

        def set_aside(*given: Any, **named: Any) -> None:
            kept.append(made(*given, **named))

        engine._record = set_aside  # type: ignore[method-assign,assignment]  # written by itself below
        verb()
        for each in kept:
            engine._store.audit(each)
        engine._store.audit_flush()

    try:
        p50 = spread_ms({"without": without, "with": with_record, "apart": apart}, runs)
    finally:
        engine._record = made  # type: ignore[method-assign]  # put back
    return {
        f"{name}_p50_ms": p50["with"],
        f"{name}_share_of_p50_pct": (p50["with"] - p50["without"]) / p50["with"] * 100,
        f"{name}_share_if_apart_pct": (p50["apart"] - p50["without"]) / p50["apart"] * 100,
    }


def measure(records: int, runs: int) -> dict[str, float | int]:
    """The figures, on a SQLite file."""
    figures: dict[str, float | int] = {"records": records, "runs": runs}
    with tempfile.TemporaryDirectory() as folder, Engine.open(Path(folder) / "audit.db") as engine:
        store = engine._store
        made = [record(number) for number in range(records)]
        cpu, wall = time.process_time(), time.perf_counter()
        for each in made:
            store.audit(each)
        store.audit_flush()
        figures["cpu_per_record_us"] = (time.process_time() - cpu) / records * 1e6
        figures["wall_per_record_us"] = (time.perf_counter() - wall) / records * 1e6
        started = time.perf_counter()
        if engine.audit_verify():
            raise RuntimeError("the log is not whole")
        figures["verify_us_per_record"] = (time.perf_counter() - started) / records * 1e6

        engine.ingest("p", bundle(300))
        engine.ingest("small", bundle(20))
        figures |= read_share(engine, figures["cpu_per_record_us"], runs)
        for name, whose, tokens in (("small_context", "small", 300), ("context_2000", "p", 2000)):
            asked = ContextRequest(subjects=(patient(whose),), task="general", budget_tokens=tokens)
            figures |= shares(engine, name, lambda asked=asked: engine.context(asked), runs)  # type: ignore[misc]
        numbers = itertools.count()
        figures |= shares(engine, "ingest", lambda: engine.ingest(f"i{next(numbers)}", bundle(20)), runs)
        if engine.audit_verify():
            raise RuntimeError("the log is not whole")
    return figures


def read_share(engine: Engine, cpu_us: float, runs: int) -> dict[str, float]:
    """A read hands its record over and does not wait; the thread that writes it takes of the processor meanwhile."""
    spent: list[float] = []
    audit = engine._audit

    def timed(*given: Any, **named: Any) -> None:
        start = time.perf_counter()
        audit(*given, **named)
        spent.append((time.perf_counter() - start) * 1000)

    engine._audit = timed  # type: ignore[method-assign]  # timed where it is called
    try:
        p50 = spread_ms({"read": lambda: engine.search(patient("p"), "condition")}, runs)["read"]
    finally:
        engine._audit = audit  # type: ignore[method-assign]  # put back
    return {"read_p50_ms": p50, "read_share_of_p50_pct": (statistics.median(spent) + cpu_us / 1000) / p50 * 100}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    figures = measure(given.records, given.runs)
    if given.json:
        print(json.dumps(figures, indent=1))
    else:
        put(figures, ASKED)


if __name__ == "__main__":
    main()

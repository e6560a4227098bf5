"""What does the audit log cost? CPU of one record, and its share of a read's median time, durable.

    python -m benchmarks.audit [--records N] [--json]

CPU is this process's, all threads, of taking, hashing and writing records. The share is what a record takes of the
median time of a context: where it is written in a group a moment later, as of reads, and where the answer waits until
it is durable on the disk, as of writes.
"""

from __future__ import annotations

import argparse
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
    "share_of_p50_pct": "asked: under 5",
    "share_of_p50_durable_pct": "asked: under 5",
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


def median_ms(run: Callable[[], object], runs: int) -> float:
    run()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def measure(records: int) -> dict[str, float | int]:
    """The figures, on a SQLite file."""
    figures: dict[str, float | int] = {"records": records}
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
        asked = ContextRequest(subjects=(patient("p"),), task="general", budget_tokens=2000)
        spent: list[float] = []
        flushed: list[float] = []
        audit = engine._audit

        def timed(*given: Any, **named: Any) -> None:
            start = time.perf_counter()
            audit(*given, **named)
            spent.append((time.perf_counter() - start) * 1000)

        def durable() -> None:
            engine.context(asked)
            start = time.perf_counter()
            store.audit_flush()
            flushed.append((time.perf_counter() - start) * 1000)

        engine._audit = timed  # type: ignore[method-assign]  # timed where it is called
        p50 = median_ms(lambda: engine.context(asked), 60)
        # What the caller waits for, and what the thread that writes takes of the processor meanwhile.
        taken = statistics.median(spent) + figures["cpu_per_record_us"] / 1000
        durable_p50 = median_ms(durable, 60)
        waited = statistics.median(spent) + statistics.median(flushed)
        figures |= {
            "context_p50_ms": p50,
            "record_ms": taken,
            "share_of_p50_pct": taken / p50 * 100,
            "context_p50_durable_ms": durable_p50,
            "wait_until_durable_ms": waited,
            "share_of_p50_durable_pct": waited / durable_p50 * 100,
        }
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    figures = measure(given.records)
    if given.json:
        print(json.dumps(figures, indent=1))
    else:
        put(figures, ASKED)


if __name__ == "__main__":
    main()

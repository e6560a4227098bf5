"""Times the main job on a real patient of about 1,100 entries and prints each figure beside what was asked of it.

    python -m benchmarks [--data DIR] [--runs N] [--json]

Times are medians of N runs after one warm-up, wall clock. A ratio compares two figures of the same run. Without the
real bundles (`synthea_r4_bundles` in DIR) it says so and measures nothing.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.figures import put
from iamata import ContextRequest, Engine, patient
from iamata.connectors import registry
from iamata.formation import pipeline
from iamata.model.identifiers import IdMint
from iamata.model.stamp import Moment

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def median_ms(run: Callable[[], object], runs: int) -> float:
    run()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def measure(file: Path, runs: int) -> dict[str, Any]:
    """The figures for one bundle. Milliseconds unless the name says otherwise."""
    body = file.read_bytes()
    entries = len(json.loads(body)["entry"])
    mint = IdMint(b"k" * 32)
    figures: dict[str, Any] = {"entries": entries, "megabytes": round(len(body) / 1e6, 2)}

    def parse() -> Any:
        return registry.parse(
            body,
            format="fhir/r4",
            subject=patient("p"),
            source="ehr",
            mint=mint,
            document="en_x",
            received_at=NOW,
        )

    figures["json_ms"] = median_ms(lambda: json.loads(body), runs)
    figures["parse_ms"] = median_ms(parse, runs)
    with tempfile.TemporaryDirectory() as folder:
        counter = iter(range(1_000_000))

        def fresh() -> Engine:
            return Engine.open(Path(folder) / f"{next(counter)}.db")

        def ingest_and_read() -> None:
            with fresh() as engine:
                engine.ingest("p", body, source="ehr")
                engine.graph("p")

        figures["parse_form_store_ms"] = median_ms(ingest_and_read, runs)
        with fresh() as engine:
            engine.ingest("p", body, source="ehr")
            figures["repeat_ms"] = median_ms(lambda: engine.ingest("p", body, source="ehr"), runs)
            held = engine._graphs.held("p")
            moment = Moment.of(NOW)
            figures["fold_ms"] = median_ms(lambda: pipeline.form(held, moment=moment, mint=mint), runs)
            graph = engine.graph("p")
            figures["statements"] = len(graph.statements)
            figures["facts_and_events"] = len(graph.facts)
            for budget in (500, 2000, 8000):
                asked = ContextRequest(subjects=(patient("p"),), task="general", budget_tokens=budget)
                context = engine.context(asked)
                figures[f"context_{budget}_ms"] = median_ms(lambda asked=asked: engine.context(asked), runs * 4)
                figures[f"context_{budget}_tokens"] = context.tokens
            address = engine.browse("/patient/p/conditions").nodes[0].address
            figures["browse_ms"] = median_ms(lambda: engine.browse(address), runs * 4)
            figures["search_ms"] = median_ms(lambda: engine.search(patient("p"), "blood pressure"), runs * 4)
        figures["loaded_mb_per_1000_entries"] = loaded_megabytes(fresh, body) / entries * 1000
    figures["ratio_parse_to_json"] = figures["parse_ms"] / figures["json_ms"]
    figures["ratio_fold_to_parse"] = figures["fold_ms"] / figures["parse_ms"]
    return figures


def loaded_megabytes(fresh: Callable[[], Engine], body: bytes) -> float:
    """What holding one loaded patient costs: allocations that stay after a load, its fold and a first context."""
    with fresh() as engine:
        engine.ingest("warm", body, source="ehr")
        asked = ContextRequest(subjects=(patient("warm"),), task="general", budget_tokens=2000)
        engine.context(asked)
        engine.ingest("p", body, source="ehr")
        engine._graphs.forget("p")
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        engine.context(msgspec.structs.replace(asked, subjects=(patient("p"),)))
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    return (after - before) / 1e6


ASKED = {
    "parse_form_store_ms": "< 1000",
    "context_2000_ms": "< 20",
    "loaded_mb_per_1000_entries": "< 8",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    files = sorted((asked.data / "synthea_r4_bundles").glob("*.json"), key=lambda f: f.stat().st_size)
    if not files:
        print(f"no bundles under {asked.data.name}/synthea_r4_bundles: nothing measured", file=sys.stderr)
        return 1
    by_entries = {file: len(json.loads(file.read_bytes())["entry"]) for file in files}
    file = min(files, key=lambda f: abs(by_entries[f] - 1100))
    figures = measure(file, asked.runs)
    if asked.json:
        print(json.dumps(figures, indent=2))
        return 0
    put(figures, ASKED)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

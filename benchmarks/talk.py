"""Times what talk costs and prints each figure beside what was asked of it.

    python -m benchmarks.talk [--data DIR] [--runs N] [--json]

Times are medians of N runs after one warm-up, wall clock, on a database file. The talk is our own; with the real
bundles (`synthea_r4_bundles` in DIR) the patient also has a record of about 1,100 entries, else an empty one.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.figures import put
from iamata import ContextRequest, Engine, Speaker, Turn, patient
from iamata.formation.learned import learn
from iamata.model.identifiers import IdMint
from iamata.model.session import Message, Session

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
_SAID = (
    (Speaker.CLINICIAN, "How have you been since the last visit, and are you still taking the lisinopril?"),
    (Speaker.PATIENT, "I stopped the lisinopril about two weeks ago because it gave me a dry cough at night."),
    (Speaker.CLINICIAN, "Any allergies to medicines that I should know of?"),
    (Speaker.PATIENT, "Just sulfa, I had hives after it as a child, and my mother has diabetes."),
    (Speaker.PATIENT, "My blood pressure at home was 142 over 88 yesterday and I'm worried about my kidneys."),
    (Speaker.CAREGIVER, "She skips the metformin on weekends, and she would rather not take any more pills."),
    (Speaker.AGENT, "Thank you. I will pass that on to the care team before your appointment on Thursday."),
    (Speaker.PATIENT, "Okay, that is fine with me, thank you so much for calling, see you then."),
)
_START = (
    "import time; began = time.perf_counter()\n"
    "from iamata import Engine, Speaker, Turn\n"
    "with Engine.open(':memory:') as engine:\n"
    "    engine.append('p', 's', [Turn(Speaker.PATIENT, 'I stopped the lisinopril.')])\n"
    "    assert engine.graph('p').memories\n"
    "    print((time.perf_counter() - began) * 1000)\n"
)
ASKED = {
    "learn_one_message_ms": "< 5",
    "append_one_message_ms": "",
    "transcript_500_turns_ms": "< 2000",
    "start_and_learn_first_message_ms": "< 1000",
}


def median_ms(run: Callable[[], object], runs: int) -> float:
    run()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def turns(number: int) -> list[Turn]:
    said = [_SAID[index % len(_SAID)] for index in range(number)]
    return [
        Turn(speaker, text, "daughter" if speaker is Speaker.CAREGIVER else "", said_at=NOW + timedelta(seconds=index))
        for index, (speaker, text) in enumerate(said)
    ]


def measure(record: bytes, runs: int) -> dict[str, Any]:
    """Milliseconds, unless the name says otherwise."""
    figures: dict[str, Any] = {}
    mint = IdMint(b"k" * 32)
    messages = tuple(Message(f"ms_{n}", "s", n, turn, NOW) for n, turn in enumerate(turns(500)))
    talk = Session("s", "p", NOW, messages)
    figures["memories_of_500_turns"] = len(learn(talk, mint=mint))
    each = [median_ms(lambda n=n: learn(talk, mint=mint, only={f"ms_{n}"}), runs) for n in range(480, 480 + len(_SAID))]
    figures["learn_one_message_ms"] = max(each)
    figures["learn_500_turns_ms"] = median_ms(lambda: learn(talk, mint=mint), runs)
    body = "\n".join(
        f"[{turn.said_at:%Y-%m-%dT%H:%M:%SZ}] {'daughter' if turn.relationship else turn.speaker}: {turn.text}"
        for turn in turns(500)
    ).encode()
    with tempfile.TemporaryDirectory() as folder, Engine.open(Path(folder) / "talk.db") as engine:
        if record:
            engine.ingest("p", record, source="ehr")
        else:
            engine.put_patient("p")
        names = count()
        asked = ContextRequest(subjects=(patient("p"),), task="general", budget_tokens=2000)
        engine.context(asked)  # so that there is something that could come back
        figures["transcript_500_turns_ms"] = median_ms(
            lambda: engine.append_transcript("p", body, session=f"t{next(names)}"), runs
        )
        said = turns(len(_SAID))
        figures["append_one_message_ms"] = median_ms(
            lambda: engine.append("p", "live", [said[next(names) % len(said)]]), max(runs * 4, 20)
        )
        resent = engine.append_transcript("p", body, session="t0")
        figures["resent_turns_stored"] = resent.staged.messages
    starts = [float(subprocess.check_output([sys.executable, "-c", _START])) for _ in range(runs)]
    figures["start_and_learn_first_message_ms"] = statistics.median(starts)
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    files = sorted((asked.data / "synthea_r4_bundles").glob("*.json"))
    entries = {file: len(json.loads(file.read_bytes())["entry"]) for file in files}
    record = min(files, key=lambda file: abs(entries[file] - 1100)).read_bytes() if files else b""
    figures = measure(record, asked.runs)
    if asked.json:
        print(json.dumps(figures, indent=2))
        return 0
    put(figures, ASKED)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

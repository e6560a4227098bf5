"""A process killed in the middle of its work and started again comes to the same state. On every store."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from spec_victim import TALK, work

from iamata import Engine

KILLS = 5


def start(databases: Any, patient: str, bundle: Path) -> subprocess.Popen[str]:
    """The victim, ready to begin."""
    program = Path(__file__).with_name("spec_victim.py")
    command = [sys.executable, str(program), databases.url(), str(databases.keys_path()), patient, str(bundle)]
    victim = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert victim.stdout is not None
    assert victim.stdout.readline() == "ready\n"
    return victim


def test_a_process_killed_at_any_moment_and_started_again_gives_the_same_graph(databases: Any, data: Path) -> None:
    bundle = max((data / "synthea_r4_bundles").glob("*.json"), key=lambda file: (file.stat().st_size, file.name))
    begun = time.monotonic()
    undisturbed = start(databases, "undisturbed", bundle)
    _, complaint = undisturbed.communicate(timeout=60)
    assert undisturbed.returncode == 0, complaint
    longest = time.monotonic() - begun
    chance = random.Random(7)
    killed = 0
    for number in range(KILLS):
        victim = start(databases, f"killed-{number}", bundle)
        # One moment in each part of what the work took alone, the start of the process included, so some come late.
        time.sleep(longest * 0.7 * (number + chance.random()) / KILLS)
        victim.send_signal(signal.SIGKILL)
        said, _ = victim.communicate(timeout=60)
        assert victim.returncode in (0, -signal.SIGKILL)
        killed += "done" not in said
    assert killed, "no victim was killed before it was done"

    # Started again an hour later: a dead worker's lease has ended by then.
    later = datetime.now(UTC) + timedelta(hours=1)
    with Engine.open(databases.url(), keys=databases.keys_path(), clock=lambda: later) as engine:
        expected = engine.graph("undisturbed", true_at=later)
        body = bundle.read_bytes()
        for number in range(KILLS):
            patient = f"killed-{number}"
            engine.form_pending()
            work(engine, patient, body)
            graph = engine.graph(patient, true_at=later)
            assert graph.hash == expected.hash
            assert len(graph.statements) == len(expected.statements)
            assert {len(seen) for seen in graph.sightings.values()} == {
                len(seen) for seen in expected.sightings.values()
            }, "nothing was seen twice"
            assert len(graph.memories) == len(expected.memories) > 0
            assert [message.turn for message in engine.session(patient, "s").messages] == TALK
            receipts, total = engine.receipts(patient)
            assert total >= 2
            assert {receipt.status for receipt in receipts} == {"succeeded"}, "every receipt ended"
        assert engine.doctor()["pending"] == "0"
        assert engine.doctor()["audit"] == "whole"

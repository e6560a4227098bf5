"""A process that takes in a bundle and a conversation, to be killed meanwhile; run by `test_crash.py`.

`spec_victim.py <address> <keys> <patient> <bundle>`: says `ready` on standard output, works, says `done`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from iamata import Engine, Speaker, Turn

TALK = [
    Turn(Speaker.AGENT, "How are you?"),
    Turn(Speaker.PATIENT, "I have a headache since Monday."),
    Turn(Speaker.PATIENT, "I stopped taking lisinopril last week."),
]


def work(engine: Engine, patient: str, body: bytes) -> None:
    """What the victim does, and whoever starts again after it."""
    engine.ingest(patient, body, source="ehr")
    engine.append(patient, "s", TALK, whole=True)


def main(address: str, keys: str, patient: str, bundle: str) -> None:
    body = Path(bundle).read_bytes()
    with Engine.open(address, keys=keys) as engine:
        print("ready", flush=True)
        work(engine, patient, body)
        print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

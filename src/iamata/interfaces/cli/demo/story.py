"""What is sent in the demo, by whom and when? Four small files of our own making; nobody in them is real.

The clock is set by hand, submissions are numbered and the data key is fixed, so that two runs give the same bytes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from importlib.resources import files
from itertools import count
from typing import TYPE_CHECKING

import msgspec

from iamata.model.document import Receipt

if TYPE_CHECKING:
    from iamata.engine import Engine

PATIENT = "leo"
# Where a kept demo lies, unless another place is given.
KEPT = "iamata-demo.db"
SESSION = "portal-2026-02-15"
# The clinical now of everything that is read in the demo.
NOW = datetime(2026, 2, 15, 9, 0, tzinfo=UTC)


class Sent(msgspec.Struct, frozen=True):
    """One thing that arrives: the file, who sends it, when, and in words what it is."""

    file: str
    source: str
    at: datetime
    what: str


STORY = (
    Sent("northside-1.json", "Northside", datetime(2026, 2, 11, 18, 5, tzinfo=UTC), "his clinic Northside"),
    Sent("eastgate-1.json", "Eastgate", datetime(2026, 2, 13, 22, 5, tzinfo=UTC), "hospital Eastgate"),
    Sent(
        "northside-2.json",
        "Northside",
        datetime(2026, 2, 14, 16, 5, tzinfo=UTC),
        "a form from Northside",
    ),
    Sent("talk.json", "", datetime(2026, 2, 15, 8, 45, tzinfo=UTC), "his mother talks"),
)


class SetClock:
    """A clock that shows what it was set to."""

    def __init__(self) -> None:
        self.now = STORY[0].at

    def __call__(self) -> datetime:
        return self.now


class FixedKeys:
    """A key store for a database that is thrown away: the same key every time. Never for real data, because anybody can
    work it out."""

    def __init__(self) -> None:
        self._gone: set[str] = set()

    def get_or_create(self, patient: str) -> bytes:
        self._gone.discard(patient)
        return sha256(f"iamata demo {patient}".encode()).digest()

    def get(self, patient: str) -> bytes | None:
        return None if patient in self._gone else self.get_or_create(patient)

    def put(self, patient: str, key: bytes) -> None:
        """Nothing to do: every key is fixed."""

    def destroy(self, patient: str) -> None:
        self._gone.add(patient)


def numbered() -> tuple[SetClock, count[int]]:
    """A clock at the beginning of the story, and the numbers of its submissions."""
    return SetClock(), count(1)


def open_demo(db: str) -> tuple[Engine, SetClock]:
    """An engine for the story: in memory under the fixed key, or in a new file under a key of its own beside it."""
    from iamata.engine import Engine

    clock, numbers = numbered()
    engine = Engine.open(
        db,
        keys=FixedKeys() if db == ":memory:" else None,
        clock=clock,
        ids=lambda: f"demo{next(numbers):016d}",
    )
    return engine, clock


def send(engine: Engine, sent: Sent) -> Receipt:
    """Hand one thing to the engine, as `iamata ingest` and `iamata talk` do."""
    body = files(__package__).joinpath(sent.file).read_bytes()
    if sent.source:
        return engine.ingest(PATIENT, body, source=sent.source, name=sent.file)
    return engine.append_transcript(PATIENT, body, session=SESSION)

"""Bytes exactly as received, and the account of what became of every item in them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from iamata.errors import InvalidValue
from iamata.model.clinical_time import check_aware
from iamata.model.scope import Subject

# How the format of a transcript that is kept as a document begins: no reader of documents reads it.
TRANSCRIPT: Final = "transcript/"


class Document(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Bytes exactly as received; never changed. `sha256` is in hex; `size_bytes` before compression."""

    id: str
    subject: Subject
    source: str
    media_type: str
    format: str
    sha256: str
    size_bytes: int
    received_at: datetime
    name: str = ""

    def __post_init__(self) -> None:
        check_aware("received_at", self.received_at)


class Outcome(StrEnum):
    STRUCTURED = "structured"
    TEXT_ONLY = "text_only"
    IGNORED = "ignored"


class Reason(StrEnum):
    """Why an item was ignored."""

    UNSUPPORTED = "unsupported"
    UNUSABLE = "unusable"
    EMPTY = "empty"
    NONE = ""


class IntakeLine(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What became of one item. `place` is where it stands, `label` its type and code as a person would name them,
    `detail` what was wrong or left (places and element names, never patient content)."""

    kind: str
    place: str
    outcome: Outcome
    reason: Reason = Reason.NONE
    label: str = ""
    detail: str = ""

    def __post_init__(self) -> None:
        if (self.outcome is Outcome.IGNORED) != (self.reason is not Reason.NONE):
            raise InvalidValue("an ignored item has a reason, and only an ignored one")


class IngestionStatus(StrEnum):
    PENDING = "pending"
    PROCESSING = "processing"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"


class Staged(msgspec.Struct, frozen=True):
    """How many new items a submission brought; all zero for a repeat. Fixed at accept."""

    facts: int = 0
    events: int = 0
    narratives: int = 0
    messages: int = 0


class Receipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The durable answer to one submission.

    `format` is the true family (`fhir/r4`, `session/v1`), `source` the sending system. `staged` counts what was new,
    `sightings` every item seen. `warnings` name places, not contents.
    """

    id: str
    subject: Subject
    source: str
    format: str
    media_type: str
    received_at: datetime
    status: IngestionStatus
    document: str = ""
    session: str = ""
    staged: Staged = Staged()
    sightings: int = 0
    intake: tuple[IntakeLine, ...] = ()
    warnings: tuple[str, ...] = ()
    started_at: datetime | None = None
    completed_at: datetime | None = None
    failure_code: str = ""
    failure: str = ""

    def __post_init__(self) -> None:
        check_aware("received_at", self.received_at)
        check_aware("started_at", self.started_at)
        check_aware("completed_at", self.completed_at)


class Relearned(msgspec.Struct, frozen=True):
    """What became of reading talk again: of how many sessions, how many memories are new, how many say otherwise under
    their id, how many were found again and say the same, and how many are found no more."""

    sessions: int = 0
    new: int = 0
    changed: int = 0
    confirmed: int = 0
    gone: int = 0


class Reread(msgspec.Struct, frozen=True):
    """What became of reading again: of how many documents, a receipt for each that says something else now (by time of
    receipt), a line for each that cannot be read any more, which keeps what it said before; and of the talk."""

    documents: int
    receipts: tuple[Receipt, ...]
    kept: tuple[IntakeLine, ...]
    talk: Relearned = Relearned()

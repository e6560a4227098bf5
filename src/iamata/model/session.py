"""A conversation about exactly one patient, and its turns."""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum

import msgspec

from iamata.errors import InvalidValue
from iamata.model.clinical_time import check_aware

_SESSION_ID = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,512}\Z")


class Speaker(StrEnum):
    """Who takes a turn. A caregiver speaks for the patient; `agent` is software."""

    PATIENT = "patient"
    CAREGIVER = "caregiver"
    CLINICIAN = "clinician"
    COORDINATOR = "coordinator"
    INTERPRETER = "interpreter"
    AGENT = "agent"


class ToolCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an agent asked of a tool, and what came back, both as sent (JSON or text). `called_at` is aware, or None;
    `call_id` is the sender's own, if any. Kept beside the talk; nothing is learned from it as anybody's words."""

    tool: str
    arguments: str = ""
    result: str = ""
    failed: bool = False
    called_at: datetime | None = None
    call_id: str = ""

    def __post_init__(self) -> None:
        if not self.tool:
            raise InvalidValue("a call names its tool")
        check_aware("called_at", self.called_at)


class Turn(msgspec.Struct, frozen=True, omit_defaults=True):
    """A turn as it is sent. `relationship` is the caregiver's to the patient (mother, spouse). `said_at` is aware, or
    None when nobody said when; `turn_id` is the sender's own, if any; `calls` what an agent asked of tools in it."""

    speaker: Speaker
    text: str
    relationship: str = ""
    name: str = ""
    said_at: datetime | None = None
    turn_id: str = ""
    calls: tuple[ToolCall, ...] = ()

    def __post_init__(self) -> None:
        check_aware("said_at", self.said_at)
        if self.calls and self.speaker is not Speaker.AGENT:
            raise InvalidValue("only an agent calls tools")


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """A stored turn: `index` counts from 0 within its session; received_at is ours. `injected` are the stretches of its
    text (start, end) that this engine had put into somebody's context before: content, and not said anew. An `erased`
    one keeps its place and its id, and nothing of what was said."""

    id: str
    session: str
    index: int
    turn: Turn
    received_at: datetime
    injected: tuple[tuple[int, int], ...] = ()
    erased: bool = False

    def __post_init__(self) -> None:
        check_aware("received_at", self.received_at)


class RecordedCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """A stored tool call. `after` is the index of the message it stands in or follows, -1 before any; `by` the
    principal that called a tool of this engine, `on_behalf_of` whom it was for: empty where the call came with a turn.
    """

    id: str
    session: str
    after: int
    call: ToolCall
    received_at: datetime
    by: str = ""
    on_behalf_of: str = ""

    def __post_init__(self) -> None:
        check_aware("received_at", self.received_at)


def check_session_id(id: str) -> None:
    """Raises InvalidValue for an id that could not be stored or shown: empty, over 512 characters, with control
    characters or half a surrogate pair."""
    if not _SESSION_ID.match(id):
        raise InvalidValue("a session id has 1 to 512 characters, none of them a control character", place="session")


class Session(msgspec.Struct, frozen=True, omit_defaults=True):
    """A conversation about one patient, with its messages in order."""

    id: str
    patient: str
    created_at: datetime
    messages: tuple[Message, ...] = ()

    def __post_init__(self) -> None:
        check_aware("created_at", self.created_at)

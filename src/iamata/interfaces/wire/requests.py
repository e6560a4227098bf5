"""What do callers send, and what nouns does it make? Shapes of request bodies, and how they are read.

FHIR and other documents are not read here: they go to the engine as the bytes that came.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, time
from typing import Annotated, Literal, TypeVar

import msgspec

from iamata.errors import BadInput, InvalidValue
from iamata.interfaces.wire.ids import check_new
from iamata.model.context import ContextRequest
from iamata.model.ruling import RulingKind
from iamata.model.scope import Subject, patient
from iamata.model.session import Session, Speaker, Turn
from iamata.model.statement import Aspect

_DATE_CHARS = len("2026-02-13")
Words = Annotated[str, msgspec.Meta(min_length=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]


class MessageBody(msgspec.Struct, frozen=True, rename="camel"):
    """A turn. `speaker` and what follows are ours; without it the user is the patient and the assistant an agent."""

    role: Literal["user", "assistant"]
    content: Words
    speaker: Speaker | None = None
    relationship: str = ""
    name: str = ""
    said_at: datetime | None = None
    turn_id: str = ""


class TranscriptBody(msgspec.Struct, frozen=True, rename="camel"):
    """A transcript. Without `sessionId` it opens a new session."""

    messages: Annotated[list[MessageBody], msgspec.Meta(min_length=1)]
    session_id: str | None = None


class SessionsBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST …/ingestions/sessions`."""

    sessions: Annotated[list[TranscriptBody], msgspec.Meta(min_length=1)]


class MessagesBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST …/sessions/{sessionId}/messages`."""

    messages: Annotated[list[MessageBody], msgspec.Meta(min_length=1)]


class ContextBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST /v1/context`. Subjects read `patient/p1`; `patient` is short for one of them."""

    task: Words
    budget_tokens: Count
    subjects: list[str] = []
    patient: str = ""
    query: str = ""
    aspect: Aspect | None = None
    tokenizer: Words = "o200k_base"
    known_at: str | None = None
    true_at: str | None = None


class SearchBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST /v1/search`: within one subject."""

    query: Words
    subject: str = ""
    patient: str = ""
    kinds: list[str] = []
    limit: Annotated[int, msgspec.Meta(ge=1, le=200)] = 10
    known_at: str | None = None
    true_at: str | None = None


class ExplainBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST /v1/explain`: any id of an item, or a context's citation `ctx_…[12]`."""

    patient: Words
    item: Words
    task: str = "general"
    known_at: str | None = None
    true_at: str | None = None


class RulingBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST …/rulings`: what is decided, on which statements; `field` for `value-is-right`."""

    kind: RulingKind
    left: Words
    right: str = ""
    field: str = ""
    reason: str = ""


class RetractionBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST …/retractions`: the name of the source to take out."""

    source: Words


class AdjudicationBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST …/adjudications`: how many pairs a language model is asked about at most."""

    most: Annotated[int, msgspec.Meta(ge=1, le=200)] = 20


Body = TypeVar("Body")

_PLACE = re.compile(r" - at `(?P<path>[^`]*)`\Z")
_BYTE = re.compile(r"\(byte (\d+)\)")
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[(\d+|\.\.\.)\]")


def read(body: bytes, shape: type[Body]) -> Body:
    """A JSON body as this shape. Raises BadInput with the JSON pointer; no value that was sent is in the message."""
    try:
        return msgspec.json.decode(body, type=shape)
    except msgspec.ValidationError as error:
        raise _bad(str(error)) from None
    except UnicodeDecodeError as error:
        raise BadInput("the body is not UTF-8", place=f"byte {error.start}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        at = _BYTE.search(str(error))
        raise BadInput("the body is not JSON", place=f"byte {at[1]}" if at else f"byte {len(body)}") from None


def _bad(message: str) -> BadInput:
    found = _PLACE.search(message)
    said = message[: found.start()] if found else message
    # What msgspec quotes in single quotes is a value that was sent.
    said = said.partition("'")[0].strip() or "wrong value"
    steps = _STEP.findall(found["path"]) if found else []
    return BadInput(said, place="".join(f"/{name or index}" for name, index in steps))


def turns(of: Sequence[MessageBody], at: str) -> list[Turn]:
    """The turns of these messages; `at` is the pointer of their array."""
    made: list[Turn] = []
    for index, each in enumerate(of):
        place = f"{at}/{index}"
        speaker = each.speaker or (Speaker.AGENT if each.role == "assistant" else Speaker.PATIENT)
        if (speaker is Speaker.AGENT) is not (each.role == "assistant"):
            raise BadInput("the assistant is an agent, and nobody else is", place=f"{place}/speaker")
        try:
            made.append(Turn(speaker, each.content, each.relationship, each.name, each.said_at, each.turn_id))
        except InvalidValue as error:
            raise BadInput(str(error), place=place) from None
    return made


def continues(session: Session, sent: Sequence[Turn]) -> bool:
    """Is what is stored the beginning of what was sent? Compares who spoke and what was said."""
    held = [(each.turn.speaker, each.turn.text) for each in session.messages]
    return held == [(each.speaker, each.text) for each in sent[: len(held)]]


def subject(named: str, patient_id: str) -> Subject:
    """The one subject of a request: `patient/p1`, or the id of a patient."""
    if bool(named) is bool(patient_id):
        raise BadInput("name one subject: either `subject` or `patient`")
    return Subject.parse(named) if named else patient(patient_id)


def context_request(of: ContextBody) -> ContextRequest:
    subjects = [Subject.parse(each) for each in of.subjects]
    if of.patient:
        subjects.append(patient(of.patient))
    return ContextRequest(
        subjects=tuple(dict.fromkeys(subjects)),
        task=of.task,
        budget_tokens=of.budget_tokens,
        query=of.query,
        aspect=of.aspect,
        tokenizer=of.tokenizer,
    )


def moment(said: str | None, name: str) -> datetime | None:
    """`known_at` or `true_at`: an ISO 8601 time with an offset; a date means the end of that day in UTC."""
    if not said:
        return None
    try:
        if len(said) == _DATE_CHARS:
            return datetime.combine(datetime.fromisoformat(said).date(), time(23, 59, 59), UTC)
        at = datetime.fromisoformat(said)
    except ValueError:
        raise BadInput("not an ISO 8601 date or time", place=name) from None
    if at.tzinfo is None:
        raise BadInput("a time has an offset (`Z` or `%2B02:00`)", place=name)
    return at


def beginning(said: str | None, name: str) -> datetime | None:
    """`since`: as `moment`, but a date means the beginning of that day in UTC."""
    at = moment(said, name)
    return at.replace(hour=0, minute=0, second=0) if at is not None and said and len(said) == _DATE_CHARS else at


def new_session_id(said: str) -> str:
    """A session id as the contract allows it for a new one."""
    check_new(said, "session")
    return said

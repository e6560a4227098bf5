"""What do callers send, and what nouns does it make? Shapes of request bodies, and how they are read.

FHIR and other documents are not read here: they go to the engine as the bytes that came.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, time
from typing import Annotated

import msgspec

from iamata.engine.transcripts import (
    MessageBody,
    MessagesBody,
    SessionsBody,
    ToolCallBody,
    TranscriptBody,
    calls,
    read,
    turns,
)
from iamata.errors import BadInput
from iamata.interfaces.wire.ids import check_new
from iamata.model.context import ContextRequest
from iamata.model.ruling import RulingKind
from iamata.model.scope import Subject, patient
from iamata.model.statement import Aspect

__all__ = [
    "ContextBody",
    "ExplainBody",
    "MessageBody",
    "MessagesBody",
    "RetractionBody",
    "RulingBody",
    "SearchBody",
    "SessionsBody",
    "ToolCallBody",
    "ToolCallsBody",
    "TranscriptBody",
    "beginning",
    "calls",
    "check_about",
    "context_request",
    "labels",
    "moment",
    "new_session_id",
    "read",
    "subject",
    "turns",
]
_DATE_CHARS = len("2026-02-13")
Words = Annotated[str, msgspec.Meta(min_length=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]


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
    """The body of `POST /v1/explain`: any id of an item, or a context's citation `ctx_…[12]`; of another `subject` the
    id of an entry or of a passage of it."""

    item: Words
    patient: str = ""
    subject: str = ""
    task: str = "general"
    known_at: str | None = None
    true_at: str | None = None


class RulingBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST …/rulings`: what is decided, on which statements, or on which memory; `field` for
    `value-is-right`."""

    kind: RulingKind
    left: Words
    right: str = ""
    field: str = ""
    reason: str = ""


class RetractionBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST …/retractions`: the name of the source to take out."""

    source: Words


class ToolCallsBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST …/sessions/{sessionId}/tool-calls`."""

    calls: Annotated[list[ToolCallBody], msgspec.Meta(min_length=1)]


class AdjudicationBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST …/adjudications`: how many pairs a language model is asked about at most."""

    most: Annotated[int, msgspec.Meta(ge=1, le=200)] = 20


def subject(named: str, patient_id: str) -> Subject:
    """The one subject of a request: `patient/p1`, or the id of a patient."""
    if bool(named) is bool(patient_id):
        raise BadInput("name one subject: either `subject` or `patient`")
    return Subject.parse(named) if named else patient(patient_id)


def check_about(patient_id: str, of: Sequence[MessageBody], at: str) -> None:
    """Raises BadInput with the place of a message that names another patient."""
    for index, each in enumerate(of):
        if each.patient_id not in ("", patient_id):
            raise BadInput(
                "this names another patient: a session is about exactly one", place=f"{at}/{index}/patientId"
            )


def labels(said: Iterable[str], place: str) -> dict[str, str]:
    """`label=speaker` each, such as `Speaker 1=patient`, `=before`. Raises BadInput for one without the sign."""
    found: dict[str, str] = {}
    for each in said:
        label, sign, who = each.rpartition("=")
        if not sign:
            raise BadInput("say who a label stands for as label=speaker, such as `Speaker 1=patient`", place=place)
        found[label.strip()] = who.strip()
    return found


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

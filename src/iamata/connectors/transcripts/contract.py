"""How does a transcript look as JSON? The shapes of the wire contract with ours beside them, and how JSON is read.

Three shapes: `{"sessions": [one]}`, one of these, and the bare list of its messages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec

from iamata.connectors.transcripts.times import Times
from iamata.errors import BadInput, InvalidValue
from iamata.model.session import Speaker, ToolCall, Turn

Words = Annotated[str, msgspec.Meta(min_length=1)]


class ToolCallBody(msgspec.Struct, frozen=True, rename="camel"):
    """A call of a tool. `arguments` and `result` are text or any JSON, which is kept as text."""

    tool: Words
    arguments: Any = None
    result: Any = None
    failed: bool = False
    called_at: datetime | None = None
    call_id: str = ""


class MessageBody(msgspec.Struct, frozen=True, rename="camel"):
    """A turn. `speaker` and what follows are ours; without it the user is the patient and the assistant an agent."""

    role: Literal["user", "assistant"]
    content: Words
    speaker: Speaker | None = None
    relationship: str = ""
    name: str = ""
    said_at: datetime | None = None
    turn_id: str = ""
    tool_calls: list[ToolCallBody] = []
    patient_id: str = ""


class TranscriptBody(msgspec.Struct, frozen=True, rename="camel"):
    """A transcript. Without `sessionId` it opens a new session."""

    messages: Annotated[list[MessageBody], msgspec.Meta(min_length=1)]
    session_id: str | None = None
    patient_id: str = ""


class SessionsBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST …/ingestions/sessions`."""

    sessions: Annotated[list[TranscriptBody], msgspec.Meta(min_length=1)]


class MessagesBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST …/sessions/{sessionId}/messages`."""

    messages: Annotated[list[MessageBody], msgspec.Meta(min_length=1)]


Body = TypeVar("Body")

_PLACE: Final = re.compile(r" - at `(?P<path>[^`]*)`\Z")
_BYTE: Final = re.compile(r"\(byte (\d+)\)")
_STEP: Final = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[(\d+|\.\.\.)\]")


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
        cut = "truncated" in str(error)  # msgspec names no place for a text that ends too early: it is the end
        place = f"byte {at[1]}" if at else f"byte {len(body)}" if cut else ""
        raise BadInput("the body is not JSON", place=place) from None


def _bad(message: str) -> BadInput:
    found = _PLACE.search(message)
    said = message[: found.start()] if found else message
    # What msgspec quotes in single quotes is a value that was sent.
    said = said.partition("'")[0].strip() or "wrong value"
    steps = _STEP.findall(found["path"]) if found else []
    return BadInput(said, place="".join(f"/{name or index}" for name, index in steps))


def turns(of: Sequence[MessageBody], at: str, times: Times | None = None) -> list[Turn]:
    """The turns of these messages; `at` is the pointer of their array. Times without an offset are read by `times`."""
    times = times or Times()
    made: list[Turn] = []
    for index, each in enumerate(of):
        place = f"{at}/{index}"
        speaker = each.speaker or (Speaker.AGENT if each.role == "assistant" else Speaker.PATIENT)
        if (speaker is Speaker.AGENT) is not (each.role == "assistant"):
            raise BadInput("the assistant is an agent, and nobody else is", place=f"{place}/speaker")
        said_at = None if each.said_at is None else times.aware(each.said_at, f"{place}/saidAt")
        try:
            called = tuple(calls(each.tool_calls, f"{place}/toolCalls", times))
            made.append(Turn(speaker, each.content, each.relationship, each.name, said_at, each.turn_id, called))
        except InvalidValue as error:
            raise BadInput(str(error), place=place) from None
    return made


def calls(of: Sequence[ToolCallBody], at: str, times: Times | None = None) -> list[ToolCall]:
    """The calls of these bodies; `at` is the pointer of their array."""
    times = times or Times()
    made: list[ToolCall] = []
    for number, each in enumerate(of):
        called_at = None if each.called_at is None else times.aware(each.called_at, f"{at}/{number}/calledAt")
        sent = _as_text(each.arguments), _as_text(each.result)
        made.append(ToolCall(each.tool, *sent, each.failed, called_at, each.call_id))
    return made


def _as_text(sent: Any) -> str:
    """A string as it is (what most senders put there is JSON in a string), any other JSON value as JSON."""
    if sent is None or isinstance(sent, str):
        return sent or ""
    return msgspec.json.encode(sent).decode()


def transcript(body: bytes, times: Times) -> tuple[list[Turn], str, list[tuple[str, str]]]:
    """Turns, the session that is named (or empty), and the patients that are named, each with its place."""
    if body.lstrip()[:1] == b"[":
        bare, at = read(body, list[MessageBody]), ""
        if not bare:
            raise BadInput("there is no message in it", place="messages")
        return turns(bare, at, times), "", _patients(bare, at)
    if "sessions" in read(body, dict[str, msgspec.Raw]):
        sessions = read(body, SessionsBody).sessions
        if len(sessions) > 1:
            raise BadInput("send one session at a time", place="/sessions/1")
        one, prefix = sessions[0], "/sessions/0"
    else:
        one, prefix = read(body, TranscriptBody), ""
    named = [(one.patient_id, f"{prefix}/patientId")] if one.patient_id else []
    at = f"{prefix}/messages"
    return turns(one.messages, at, times), one.session_id or "", named + _patients(one.messages, at)


def _patients(of: Sequence[MessageBody], at: str) -> list[tuple[str, str]]:
    return [(each.patient_id, f"{at}/{index}/patientId") for index, each in enumerate(of) if each.patient_id]

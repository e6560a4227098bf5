"""What was said, by whom? Reads a transcript: one turn a line (`mother: text`), or the JSON of the wire contract.

Not here: what follows from it; the engine learns from the turns.
"""

from __future__ import annotations

import re
from datetime import datetime

import msgspec

from iamata.errors import BadInput
from iamata.interfaces.wire import requests
from iamata.model.session import Speaker, Turn

# Words that stand for a speaker at the beginning of a line.
_SPEAKERS = {
    **dict.fromkeys(("patient", "me"), Speaker.PATIENT),
    **dict.fromkeys(("clinician", "doctor", "dr", "physician", "nurse", "pharmacist"), Speaker.CLINICIAN),
    **dict.fromkeys(("coordinator", "receptionist"), Speaker.COORDINATOR),
    "interpreter": Speaker.INTERPRETER,
    **dict.fromkeys(("agent", "assistant"), Speaker.AGENT),
    "caregiver": Speaker.CAREGIVER,
}
# Words that stand for a caregiver and say how they are related.
_RELATIVES = {
    *("mother", "father", "mom", "mum", "dad", "parent", "guardian", "grandmother", "grandfather", "wife", "husband"),
    *("spouse", "partner", "daughter", "son", "sister", "brother", "aunt", "uncle", "friend", "neighbor"),
}
_LINE = re.compile(
    r"(?:\[(?P<at>[^\]]+)\]\s*)?(?P<who>[A-Za-z]+)\.?\s*(?:\((?P<relation>[^)]+)\))?\s*:\s*(?P<text>.*\S)\s*\Z"
)
HOW = (
    "a turn reads `mother: text`, with patient, clinician, coordinator, interpreter, agent, a relative or "
    "`caregiver (relation)` before the colon, and before it, if known, the time: `[2026-02-15T09:00Z] mother: text`"
)


class Transcript(msgspec.Struct, frozen=True):
    """The turns in order, and the session that the transcript itself names, if any."""

    turns: list[Turn]
    session: str = ""


def transcript(body: bytes) -> Transcript:
    """Read one. Raises BadInput with the line, or the JSON pointer; no word of the text is in the message."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput("a transcript is UTF-8 text", place=f"byte {error.start}") from None
    start = text.lstrip()[:1]
    if start == "{":
        return _json(text.encode())
    if start == "[" and not _LINE.match(text.lstrip().partition("\n")[0]):
        return Transcript(requests.turns(requests.read(text.encode(), list[requests.MessageBody]), ""))
    turns = [_turn(line, number) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if not turns:
        raise BadInput(f"the transcript is empty: {HOW}")
    return Transcript(turns)


def _json(body: bytes) -> Transcript:
    if "sessions" in requests.read(body, dict[str, msgspec.Raw]):
        sessions = requests.read(body, requests.SessionsBody).sessions
        if len(sessions) > 1:
            raise BadInput("send one session at a time", place="/sessions/1")
        one, at = sessions[0], "/sessions/0/messages"
    else:
        one, at = requests.read(body, requests.TranscriptBody), "/messages"
    return Transcript(requests.turns(one.messages, at), one.session_id or "")


def _turn(line: str, number: int) -> Turn:
    place = f"line {number}"
    match = _LINE.match(line.strip())
    if match is None:
        raise BadInput(f"no speaker is named: {HOW}", place=place)
    who, relation = match["who"].lower(), (match["relation"] or "").strip().lower()
    speaker = Speaker.CAREGIVER if who in _RELATIVES else _SPEAKERS.get(who)
    if speaker is None:
        raise BadInput(f"the word before the colon is no speaker: {HOW}", place=place)
    if speaker is Speaker.CAREGIVER:
        relation = relation or (who if who in _RELATIVES else "")
    return Turn(speaker, match["text"], relation, said_at=_time(match["at"], place))


def _time(said: str | None, place: str) -> datetime | None:
    if said is None:
        return None
    try:
        at = datetime.fromisoformat(said)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise BadInput("a time has its offset, such as [2026-02-15T09:00Z]", place=place)
    return at

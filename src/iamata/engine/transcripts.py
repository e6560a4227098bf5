"""What of the turns that are sent is new? Stored turns are never edited, removed or reordered, and are of one patient.

Two turns are the same when speaker and words are, and nothing else that both say differs (relation, name, time, id,
calls). What a resend says more of a stored turn is not added to it: a stored turn never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from iamata.connectors.transcripts.contract import (
    MessageBody,
    MessagesBody,
    SessionsBody,
    ToolCallBody,
    TranscriptBody,
    calls,
    read,
    turns,
)
from iamata.errors import BadInput, Conflict
from iamata.model.session import Message, Speaker, Turn

__all__ = [
    "Edited",
    "MessageBody",
    "MessagesBody",
    "SessionsBody",
    "ToolCallBody",
    "TranscriptBody",
    "calls",
    "check_words",
    "future",
    "one_patient",
    "read",
    "turns",
    "unheld",
    "unseen",
]
# Clocks differ by so much without anybody speaking of the future.
_CLOCKS_DIFFER: Final = timedelta(minutes=5)


class Edited(Conflict):
    """The transcript edits, removes or reorders stored turns."""


def unseen(turns: Sequence[Turn], stored: Sequence[Message], *, same: Callable[[Message, Turn], bool]) -> list[Turn]:
    """The turns after those that are stored. Raises Edited when a stored one was edited, removed or moved. `same` says
    of an erased message whether this was its turn."""
    for message, turn in zip(stored, turns, strict=False):
        if not (same(message, turn) if message.erased else _same(message.turn, turn)):
            raise Edited(f"turn {message.index} is not the one that is stored: turns are never edited or reordered")
    if len(turns) < len(stored):
        raise Edited(f"the transcript ends before turn {len(turns)}, which is stored: turns are never removed")
    return list(turns[len(stored) :])


def unheld(turns: Sequence[Turn], stored: Sequence[Message], *, same: Callable[[Message, Turn], bool]) -> list[Turn]:
    """The turns whose id is not stored yet; a turn without an id is always new. Raises Edited when a turn with a stored
    id is another one, or when two turns that are sent share an id."""
    held = {message.turn.turn_id: message.turn for message in stored if message.turn.turn_id}
    erased = {message.turn.turn_id: message for message in stored if message.turn.turn_id and message.erased}
    fresh = []
    for index, turn in enumerate(turns):
        known = held.get(turn.turn_id)
        if known is None:
            fresh.append(turn)
        elif not (same(erased[turn.turn_id], turn) if turn.turn_id in erased else _same(known, turn)):
            raise Edited(f"turn {index} of those sent has the id of another turn: turns are never edited")
        if turn.turn_id:
            held[turn.turn_id] = turn
    return fresh


def _same(stored: Turn, sent: Turn) -> bool:
    pairs = (
        (stored.relationship, sent.relationship),
        (stored.name, sent.name),
        (stored.said_at, sent.said_at),
        (stored.turn_id, sent.turn_id),
        (stored.calls, sent.calls),
    )
    words = (stored.speaker, stored.text) == (sent.speaker, sent.text)
    return words and all(not held or not said or held == said for held, said in pairs)


def one_patient(turns: Iterable[Turn]) -> None:
    """Raises BadInput with the place where a second patient speaks: two who are named, and neither name is a part of
    the other (`Ada`, `Ada Jones` are one)."""
    known: set[str] | None = None
    for index, turn in enumerate(turns):
        if turn.speaker is not Speaker.PATIENT or not turn.name.strip():
            continue
        words = set(turn.name.lower().split())
        if known is None or known < words:
            known = words
        elif not words <= known:
            raise BadInput("a second patient speaks here: a session is about exactly one", place=f"turn {index}")


def check_words(turns: Iterable[Turn]) -> None:
    """Raises BadInput with the place of a turn that holds half a surrogate pair: no database can keep it."""
    for index, turn in enumerate(turns):
        parts = (turn.text, turn.name, turn.relationship, turn.turn_id)
        calls = [part for call in turn.calls for part in (call.tool, call.arguments, call.result, call.call_id)]
        try:
            "".join((*parts, *calls)).encode()
        except UnicodeEncodeError:
            raise BadInput(
                "a text holds half of a surrogate pair, which is no Unicode character", place=f"turn {index}"
            ) from None


def future(messages: Sequence[Message], now: datetime) -> tuple[str, ...]:
    """A warning for new turns that are dated later than now: they are kept, and what is learned from them is shown when
    their time has come."""
    late = [m.index for m in messages if m.turn.said_at is not None and m.turn.said_at > now + _CLOCKS_DIFFER]
    if not late:
        return ()
    return (f"{len(late)} turns are dated in the future, the first is turn {late[0]}: not shown as said before then",)

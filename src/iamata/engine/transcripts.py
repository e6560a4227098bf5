"""What of a whole transcript is new? Stored turns are never edited, removed or reordered."""

from __future__ import annotations

from collections.abc import Sequence

from iamata.errors import Conflict
from iamata.model.session import Message, Turn


class Edited(Conflict):
    """The transcript edits, removes or reorders stored turns."""


def unseen(turns: Sequence[Turn], stored: Sequence[Message]) -> list[Turn]:
    """The turns after those that are stored. Raises Edited when a stored one was edited, removed or moved."""
    if len(turns) < len(stored):
        raise Edited("the transcript is shorter than what is stored: stored turns are never removed")
    for message, turn in zip(stored, turns, strict=False):
        if (message.turn.speaker, message.turn.text) != (turn.speaker, turn.text):
            raise Edited(f"turn {message.index} is not the one that is stored: turns are never edited or reordered")
    return list(turns[len(stored) :])

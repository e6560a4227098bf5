"""Which turns of the talk about a patient speak of what is asked? A turn by its words, those around it and its session.

An answer often does not repeat the words of its question, and what a talk was about is said once: so a turn has a
share in the score of its neighbours, and the session's. Names of the patient and of caregivers are not searched for.
"""

from __future__ import annotations

import calendar
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from iamata.assembly.postings import Postings
from iamata.assembly.words import STOP, fold, stems
from iamata.model.session import Message, Session, Speaker

_TEXT_CHARS: Final = 20_000
# The share in the score of the turns one and two places away.
_AROUND: Final = ((1, 0.4), (2, 0.2))
_CARE: Final = frozenset({Speaker.CLINICIAN, Speaker.COORDINATOR})


class Turns:
    """The turns of all sessions of one graph. Built once, read only."""

    def __init__(self, sessions: Mapping[str, Session]) -> None:
        self._messages: list[str] = []
        self._session_of: list[int] = []
        self._spans: list[tuple[int, int]] = []
        counted: list[Counter[str]] = []
        together: list[Counter[str]] = []
        for number, (_, session) in enumerate(sorted(sessions.items())):
            start = len(self._messages)
            whole: Counter[str] = Counter()
            for message in session.messages:
                words = Counter(_words(message))
                whole += words
                counted.append(words)
                self._messages.append(message.id)
                self._session_of.append(number)
            self._spans.append((start, len(self._messages)))
            together.append(whole)
        self._turns = Postings(counted)
        self._sessions = Postings(together)

    def __len__(self) -> int:
        return len(self._messages)

    def __contains__(self, word: str) -> bool:
        return word in self._turns

    def words(self) -> Iterable[str]:
        return self._turns.words()

    def scores(self, words: Iterable[tuple[str, float]]) -> dict[str, float]:
        """The ids of turns that hold any of these words or stand close to one that does, each with its score (> 0)."""
        asked = tuple(words)
        own = self._turns.scores(asked)
        if not own:
            return {}
        sessions = self._sessions.scores(asked)
        scores = dict(own)
        for number, score in own.items():
            first, end = self._spans[self._session_of[number]]
            for away, share in _AROUND:
                for other in (number - away, number + away):
                    if first <= other < end:
                        scores[other] = scores.get(other, 0.0) + share * score
        return {
            self._messages[number]: score + sessions.get(self._session_of[number], 0.0)
            for number, score in sorted(scores.items())
        }


def _words(message: Message) -> Iterable[str]:
    """What a turn can be found by: its words, who speaks, and the month in which it was said."""
    turn = message.turn
    said = turn.said_at or message.received_at
    who = f"{turn.speaker} {turn.relationship} {turn.name if turn.speaker in _CARE else ''}"
    text = f"{turn.text[:_TEXT_CHARS]} {who} {calendar.month_name[said.month]} {said.year}"
    return stems(word for word in fold(text) if word not in STOP)

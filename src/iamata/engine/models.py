"""When is a language model asked, and what is done with its answers? Asking and storing only: `formation` says what is
asked and what of an answer is believed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from iamata.errors import InvalidValue
from iamata.formation.learned import asking
from iamata.formation.learned.proposals import Accepted, accepted
from iamata.formation.learned.relearning import as_learned
from iamata.language.remote import RemoteModel
from iamata.language.servers import ModelServer
from iamata.model.graph import Held
from iamata.model.identifiers import IdMint
from iamata.model.memory import Memory
from iamata.model.model_answers import ModelReading, extractor
from iamata.ports import Answer, AnswerOutcome, LanguageModel, Question
from iamata.settings import Settings

__all__ = ["ADJUDICATION", "LEARNING", "Learned", "ModelServer", "RemoteModel", "model_of", "read_talk", "tasks_of"]

LEARNING: Final = "learning"
ADJUDICATION: Final = "adjudication"
TASKS: Final = frozenset({LEARNING, ADJUDICATION})
# One forming asks so often at most, and for so long: well within its lease. What is left is read by a later forming.
MOST_QUESTIONS: Final = 8
WITHIN_S: Final = 60.0


def tasks_of(names: Iterable[str]) -> frozenset[str]:
    """The tasks of these names. Raises InvalidValue for another."""
    found = frozenset(names)
    if not found <= TASKS:
        raise InvalidValue(f"a language model is asked for {' and '.join(sorted(TASKS))}")
    return found


def model_of(settings: Settings) -> LanguageModel | None:
    """The language model that is configured, or None. Raises InvalidValue for what cannot be one, Unavailable when its
    libraries are missing."""
    if not settings.model_name:
        return None
    return RemoteModel(
        ModelServer(
            name=settings.model_name,
            wire=settings.model_wire,
            shape=settings.model_shape,
            base_url=settings.model_base_url,
            key=settings.model_key,
            private=settings.listed("model_private"),
            timeout_s=settings.model_timeout_s,
            attempts=settings.model_attempts,
        )
    )


class Learned(NamedTuple):
    """What a model's reading of talk gave: memories that nobody had found, the readings, and what the receipt says."""

    memories: tuple[Memory, ...] = ()
    readings: tuple[ModelReading, ...] = ()
    warnings: tuple[str, ...] = ()


def asked(model: LanguageModel, question: Question, within_s: float) -> Answer:
    """The answer. Not even a client that breaks its promise stops what goes on without it."""
    try:
        return model.ask(question, within_s=within_s)
    except Exception:
        return Answer(outcome=AnswerOutcome.FAULTY)


def read_talk(
    model: LanguageModel,
    held: Held,
    offline: Mapping[str, Sequence[Memory]],
    *,
    mint: IdMint,
    clock: Callable[[], datetime],
) -> Learned:
    """Ask about every message that this model has not read under the present question, the oldest first.

    `offline` are the memories of each session as the offline extractor finds them. Stops at the first way to end that
    does not rest on the question (no connection, a rate limit …): those messages are read another time.
    """
    who = extractor(model.name, asking.PROMPT)
    read = {message for reading in held.readings if reading.extractor == who for message in reading.messages}
    known = {memory.id for memory in (*held.memories, *as_learned(held, None))}
    left_s, left = WITHIN_S, asking.unread(held.sessions, read)
    answered: list[tuple[asking.Piece, Answer]] = []
    failed: Counter[str] = Counter()
    while left and left_s > 0 and len(answered) < MOST_QUESTIONS:
        piece = left.pop(0)
        answer = asked(model, asking.question(piece), left_s)
        left_s -= answer.took_s
        if answer.outcome is not AnswerOutcome.ANSWERED:
            failed[answer.outcome.value] += len(piece.messages)
        if not answer.outcome.of_the_question:
            break
        answered.append((piece, answer))
    now = clock()  # after all of them: what is kept was known from when it was kept
    memories: dict[str, Memory] = {}
    readings: list[ModelReading] = []
    dropped: Counter[str] = Counter()
    for piece, answer in answered:
        found = Accepted()
        if answer.outcome is AnswerOutcome.ANSWERED:
            sure = offline.get(piece.session.id, ())
            found = accepted(answer.body, piece, sure, mint=mint, extractor=who, received_at=now)
        memories |= {memory.id: memory for memory in found.fresh if memory.id not in known}
        dropped.update(dict(found.dropped))
        ids = tuple(message.id for message in piece.messages)
        readings.append(
            ModelReading(
                id=mint.id("ma", ("reading", model.name, asking.PROMPT, *ids)),
                session=piece.session.id,
                messages=ids,
                model=model.name,
                prompt=asking.PROMPT,
                outcome=answer.outcome.value,
                received_at=now,
                served=answer.served,
                memories=found.found,
                dropped=found.dropped,
            )
        )
    waiting = sum(len(piece.messages) for piece in left)
    return Learned(tuple(memories.values()), tuple(readings), tuple(_told(dropped, failed, waiting)))


def _told(dropped: Counter[str], failed: Counter[str], waiting: int) -> Iterable[str]:
    """What the receipt says: counts and reasons, never content."""
    for outcome, messages in sorted(failed.items()):
        yield f"language model: {outcome}, {messages} messages not read by it; the offline result stands"
    if dropped:
        reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(dropped.items()))
        yield f"language model: {sum(dropped.values())} proposals dropped ({reasons})"
    if waiting:
        yield f"language model: {waiting} messages wait to be read by it"

"""What does talk say as it was read by then, and what does the extractor of today say otherwise?

The same rule as for documents (decision 14): a better reading stands beside the old one. What only a language model
found is no reading of ours, and stays. Not here: the extractor (`learning`), and what is made durable (`store`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from iamata.formation.learned.learning import learn
from iamata.model.graph import Held
from iamata.model.identifiers import IdMint
from iamata.model.memory import Memory, Relearning

# How the names of our own extractors begin; those of language models begin otherwise.
_OURS: Final = "offline/"


def as_learned(held: Held, known_at: datetime | None) -> list[Memory]:
    """The memories as the talk was read by `known_at` (now if None), of one id the last content; in no order. What a
    language model found stays, whatever our extractor finds."""
    memories = {memory.id: memory for memory in held.memories}
    models = {
        id
        for reading in held.readings
        if known_at is None or reading.received_at <= known_at
        for id in reading.memories
    }
    for again in sorted(held.relearnings, key=lambda again: again.number):
        if known_at is None or again.at <= known_at:
            for id in again.left - models:
                memories.pop(id, None)
            memories |= {memory.id: memory for memory in again.memories}
    return list(memories.values())


def relearn(
    held: Held, *, mint: IdMint, at: datetime, erased: Callable[[str], bool] = lambda id: False
) -> Relearning | None:
    """What all talk of the patient says otherwise now, as the next relearning; None if it says the same. A memory that
    was `erased` is not learned again.

    A memory that is found again keeps its id and, if it says the same, the moment it was known; it has one more
    extractor. What is new or says otherwise is known from `at` on.
    """
    now = {memory.id: memory for memory in as_learned(held, None)}
    found: dict[str, Memory] = {}
    for session in held.sessions:
        for memory in learn(session, mint=mint):
            found[memory.id] = memory
    found = {id: memory for id, memory in found.items() if id in now or not erased(id)}
    changed = [again for memory in found.values() if (again := _again(memory, now, at)) is not None]
    left = frozenset(_left(now.values(), found, held))
    if not changed and not left:
        return None
    return Relearning(len(held.relearnings) + 1, at, tuple(sorted(changed, key=lambda m: m.id)), left)


def says_the_same(memory: Memory, before: Memory) -> bool:
    """But for who found it, and since when it is known."""
    return msgspec.structs.replace(memory, received_at=before.received_at, extractors=before.extractors) == before


def _again(memory: Memory, now: Mapping[str, Memory], at: datetime) -> Memory | None:
    """The memory as it is to be kept beside what is held; None if that is the same."""
    before = now.get(memory.id)
    if before is None:
        return msgspec.structs.replace(memory, received_at=at)
    extractors = tuple(sorted({*before.extractors, *memory.extractors}))
    same = says_the_same(memory, before)
    made = msgspec.structs.replace(
        memory, received_at=before.received_at if same else at, extractors=extractors if same else memory.extractors
    )
    return None if made == before else made


def _left(now: Iterable[Memory], found: Mapping[str, Memory], held: Held) -> Sequence[str]:
    """The ids of what an extractor of ours found, that of today finds no more, and no language model found."""
    models = {id for reading in held.readings for id in reading.memories}
    return [
        memory.id
        for memory in now
        if memory.id not in found
        and memory.id not in models
        and all(name.startswith(_OURS) for name in memory.extractors)
    ]

"""Which memories speak of one thing, and what changed from one to the next? Judges nobody right, stores nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Final

from iamata.model.identifiers import content_digest
from iamata.model.memory import Memory
from iamata.model.session import Message
from iamata.model.thread import Changed, Thread

# Of these a difference counts even from nothing or to nothing; of details only between two that were said.
_TELLING: Final = ("polarity", "change", "temporality")


def thread_id(memory: Memory) -> str:
    """The thread that a memory belongs to: the same thing (by code, else by name) of the same person. Not for the eyes
    of other patients: a digest without a key, so it is only shown beside the memory."""
    keys = memory.concept.keys
    about = keys[0] if keys else " ".join(memory.concept.display.casefold().split())
    return f"th_{content_digest(about, memory.experiencer, memory.relation)[:20]}"


def when_said(memory: Memory, messages: Mapping[str, Message]) -> tuple[float, float, str, int, int, str]:
    """By which memories are in the order in which they were said: by time, within one moment as the talk goes."""
    said = memory.said_at or memory.received_at
    message = messages.get(memory.message)
    index = message.index if message is not None else 0
    return (said.timestamp(), memory.received_at.timestamp(), memory.session, index, memory.start, memory.id)


def threads(memories: Iterable[Memory], messages: Mapping[str, Message]) -> list[Thread]:
    """The threads, the one that was spoken of last first. `messages` by id."""
    grouped: dict[str, list[Memory]] = {}
    for memory in sorted(memories, key=lambda each: when_said(each, messages), reverse=True):
        grouped.setdefault(thread_id(memory), []).append(memory)
    return [
        Thread(
            id=id,
            about=of[0].concept.display,
            experiencer=of[0].experiencer.value,
            relation=of[0].relation,
            memories=tuple(of),
            changed=tuple(change for newer, older in pairwise(of) for change in _changes(older, newer)),
        )
        for id, of in grouped.items()
    ]


def _changes(older: Memory, newer: Memory) -> list[Changed]:
    found = [
        Changed(newer.id, field, str(before), str(after))
        for field in _TELLING
        if (before := getattr(older, field)) != (after := getattr(newer, field))
    ]
    before, after = dict(older.detail), dict(newer.detail)
    found += [
        Changed(newer.id, field, before[field], after[field])
        for field in sorted(before.keys() & after.keys())
        if before[field] != after[field]
    ]
    return found

"""Memories read together: what was said of one thing, newest first, and how a memory's links came to be as they are.

Made at read time and stored nowhere; the memories stay as they are.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from iamata.model.clinical_time import check_aware
from iamata.model.context import Authority
from iamata.model.link import LinkType
from iamata.model.memory import Memory


class Changed(msgspec.Struct, frozen=True):
    """What a memory says otherwise than the one before it: `change` from `taking` to `stopped`."""

    memory: str
    field: str
    before: str
    after: str


class Thread(msgspec.Struct, frozen=True, kw_only=True):
    """What was said about one thing of one person. `memories` newest first; `changed` newest first, by the memory that
    says it."""

    id: str
    about: str
    experiencer: str
    relation: str = ""
    memories: tuple[Memory, ...]
    changed: tuple[Changed, ...] = ()


class Recalled(msgspec.Struct, frozen=True, kw_only=True):
    """A memory with the thread it belongs to. With a task: how much it matters to it (0..1) and how much it counts."""

    memory: Memory
    thread: str
    relevance: float | None = None
    authority: Authority | None = None


class LinkOfThen(msgspec.Struct, frozen=True, order=True):
    """How a memory related to a fact, as it was known at a time. `about` is how the fact was called then."""

    type: LinkType
    target: str
    about: str
    rule: str
    confidence: float
    reasoning: str = ""
    conflict_kind: str = ""


class LinkState(msgspec.Struct, frozen=True):
    """All links of a memory from `known_from` on, until the next state; none while the memory did not exist."""

    known_from: datetime
    links: tuple[LinkOfThen, ...]

    def __post_init__(self) -> None:
        check_aware("known_from", self.known_from)

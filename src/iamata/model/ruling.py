"""What a person decided: two records are the same, or not; a value is right; a source is not of this patient; a memory
is refused or hidden; something is no longer true.

A ruling is about records as their sources name them, not about parses, so it survives a new version and a better
reader. It is never changed: taking it back is a ruling of its own.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from iamata.errors import InvalidValue
from iamata.model.memory import Memory
from iamata.model.statement import Statement


class RulingKind(StrEnum):
    SAME = "same"
    NOT_SAME = "not-same"
    VALUE_IS_RIGHT = "value-is-right"
    NOT_THIS_PATIENT = "not-this-patient"
    MEMORY_REFUSED = "memory-refused"  # it was not meant so, or must not be remembered
    MEMORY_HIDDEN = "memory-hidden"  # it was said, and is not to be shown
    NO_LONGER_TRUE = "no-longer-true"  # it was so, and is not any more: kept as history
    MEMORY_NO_LONGER_TRUE = "memory-no-longer-true"
    WITHDRAWN = "withdrawn"


MEMORY_RULINGS = frozenset({RulingKind.MEMORY_REFUSED, RulingKind.MEMORY_HIDDEN, RulingKind.MEMORY_NO_LONGER_TRUE})


class RecordRef(msgspec.Struct, frozen=True, order=True, omit_defaults=True, gc=False):
    """A part of a record of a source, whatever its content: `key` is the record's name there, or the statement's id
    where the record has none."""

    source: str
    key: str
    part: str = ""

    @classmethod
    def of(cls, statement: Statement) -> RecordRef:
        return cls(statement.source, statement.provenance.record.key or statement.id, statement.part)


class MemoryRef(msgspec.Struct, frozen=True, order=True, gc=False):
    """What a memory is a memory of: a stretch of a message and what it is about, whichever extractor found it."""

    message: str
    start: int
    end: int
    kind: str
    concept: str

    @classmethod
    def of(cls, memory: Memory) -> MemoryRef:
        return cls(memory.message, memory.start, memory.end, memory.kind.value, memory.concept.display.casefold())

    def covers(self, memory: Memory) -> bool:
        """Is this the memory that was ruled on, or what a better extractor makes of the same words: of a stretch that
        overlaps and the same thing, or of the same stretch and kind?"""
        other = MemoryRef.of(memory)
        if self.message != other.message or other.end <= self.start or self.end <= other.start:
            return False
        same_place = (self.start, self.end, self.kind) == (other.start, other.end, other.kind)
        return self.concept == other.concept or same_place


class Ruling(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One decision of one person. `right` is set for a pair, `field` for a value, `memory` where it is about one,
    `withdraws` for a withdrawal."""

    id: str
    kind: RulingKind
    by: str
    decided_at: datetime
    left: RecordRef | None = None
    right: RecordRef | None = None
    memory: MemoryRef | None = None
    field: str = ""
    withdraws: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        if self.decided_at.tzinfo is None:
            raise InvalidValue("decided_at is aware (UTC)")
        pair = self.kind in (RulingKind.SAME, RulingKind.NOT_SAME)
        if self.kind is RulingKind.WITHDRAWN:
            if not self.withdraws:
                raise InvalidValue("a withdrawal names the ruling that it withdraws")
        elif self.kind in MEMORY_RULINGS:
            if self.memory is None:
                raise InvalidValue(f"a ruling {self.kind} is about a memory")
        elif self.left is None or (pair and self.right is None):
            raise InvalidValue(f"a ruling {self.kind} is about {'two records' if pair else 'a record'}")
        if self.kind is RulingKind.VALUE_IS_RIGHT and not self.field:
            raise InvalidValue("a ruling on a value names its field")

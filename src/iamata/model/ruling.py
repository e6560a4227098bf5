"""What a person decided: two records are the same, or not; a value is right; a source is not of this patient.

A ruling is about records as their sources name them, not about parses, so it survives a new version and a better
reader. It is never changed: taking it back is a ruling of its own.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from iamata.errors import InvalidValue
from iamata.model.statement import Statement


class RulingKind(StrEnum):
    SAME = "same"
    NOT_SAME = "not-same"
    VALUE_IS_RIGHT = "value-is-right"
    NOT_THIS_PATIENT = "not-this-patient"
    WITHDRAWN = "withdrawn"


class RecordRef(msgspec.Struct, frozen=True, order=True, omit_defaults=True, gc=False):
    """A part of a record of a source, whatever its content: `key` is the record's name there, or the statement's id
    where the record has none."""

    source: str
    key: str
    part: str = ""

    @classmethod
    def of(cls, statement: Statement) -> RecordRef:
        return cls(statement.source, statement.provenance.record.key or statement.id, statement.part)


class Ruling(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One decision of one person. `right` is set for a pair, `field` for a value, `withdraws` for a withdrawal."""

    id: str
    kind: RulingKind
    by: str
    decided_at: datetime
    left: RecordRef | None = None
    right: RecordRef | None = None
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
        elif self.left is None or (pair and self.right is None):
            raise InvalidValue(f"a ruling {self.kind} is about {'two records' if pair else 'a record'}")
        if self.kind is RulingKind.VALUE_IS_RIGHT and not self.field:
            raise InvalidValue("a ruling on a value names its field")

"""Statements, or a memory and a fact, that cannot all be true. Kept, shown with both sides, never overwritten."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from iamata.errors import InvalidValue


class ConflictKind(StrEnum):
    EXISTENCE = "existence"
    STATUS = "status"
    VERIFICATION = "verification"
    DOSE = "dose"
    ROUTE = "route"
    FREQUENCY = "frequency"
    DATE = "date"
    VALUE = "value"
    LATERALITY = "laterality"
    SEVERITY = "severity"
    IDENTITY = "identity"


class Side(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One side: what it says, as a reader would put it, and who says so (statement or memory ids, sorted)."""

    says: str
    items: tuple[str, ...]


class Conflict(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Two or more sides on one field of one fact. Sides are sorted by what they say; `rule` found it."""

    id: str
    kind: ConflictKind
    fact: str
    field: str
    sides: tuple[Side, ...]
    rule: str

    def __post_init__(self) -> None:
        if len(self.sides) < 2:
            raise InvalidValue("a conflict has at least two sides")

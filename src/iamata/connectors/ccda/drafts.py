"""What has been read of one item so far? The mutable form of a statement before its record is named."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from iamata.model.attribution import AuthorshipEvidence
from iamata.model.clinical_time import ClinicalTime, Clock, Period, Timed
from iamata.model.coding import BusinessIdentifier, CodedText
from iamata.model.statement import (
    Aspect,
    Component,
    Domain,
    Field,
    Kind,
    Label,
    Polarity,
    Standing,
    Value,
    Verification,
)

Evidence: TypeAlias = "tuple[AuthorshipEvidence, Draft | None]"  # with the person or device it leads to


class Draft(msgspec.Struct, kw_only=True, eq=False):
    """One statement in the making. `references` lead to other drafts or name something outside the document.

    `type` is the record's short type name, `own_id` its first id as `root|extension`, `content` its canonical content
    (lists, texts), `held` its path in the document's list (`section/3/entry/7`), empty for an item inside another.
    `name` is given at the end (`naming`).
    """

    kind: Kind
    type: str
    place: str
    content: list[Any]
    own_id: str = ""
    ids: tuple[BusinessIdentifier, ...] = ()
    evidence: list[Evidence] = []
    aspect: Aspect = Aspect.RECORDED
    domain: Domain = Domain.CLINICAL
    concept: CodedText | None = None
    polarity: Polarity = Polarity.AFFIRMED
    status: str = ""
    standing: Standing = Standing.UNKNOWN
    verification: Verification = Verification.NONE
    fields: dict[str, Value] = {}
    components: list[Component] = []
    times: list[Timed] = []
    references: list[tuple[str, Draft | str]] = []
    labels: tuple[Label, ...] = ()
    version: str = ""
    held: str = ""
    name: str = ""
    left: list[str] = []
    notes: int = 0
    referred: dict[str, int] = {}  # element → the number of its last reference

    def set(self, name: str, value: Value | None) -> None:
        """Keep a field; None and empty texts are not kept."""
        if value is not None and value != "":
            self.fields[name] = value

    def time(self, clock: Clock, at: ClinicalTime | Period | None) -> None:
        if at is not None:
            self.times.append(Timed(clock, at))

    def refer(self, element: str, target: Draft | str) -> None:
        """Add a reference; elements of one name are numbered in the order in which they come."""
        number = self.referred[element] = self.referred.get(element, -1) + 1
        self.references.append((f"{element}/{number}", target))

    def sorted_fields(self) -> tuple[Field, ...]:
        return tuple(Field(name, self.fields[name]) for name in sorted(self.fields))


class Note(msgspec.Struct, kw_only=True, eq=False):
    """A stretch of narrative in the making. `owner` is the draft whose record it belongs to."""

    owner: Draft
    part: str
    place: str
    text: str
    title: str = ""
    start: int = 0
    whole: bool = True
    evidence: list[Evidence] = []
    times: list[Timed] = []
    labels: tuple[Label, ...] = ()

"""What has been read of one item so far? The mutable form of a statement and its passages.

Not here: ids, sightings and intake lines; the reader makes them from a finished draft.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from iamata.connectors.hl7v2.segments import Segment
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
    Reference,
    Standing,
    Value,
    Verification,
)
from iamata.terminology.hl7v2 import Meaning


class Text(NamedTuple):
    """A stretch of narrative of an item: the segments it stands in, its field, and who wrote it."""

    segments: tuple[Segment, ...]
    number: int
    text: str
    title: str = ""
    evidence: tuple[AuthorshipEvidence, ...] = ()
    written: ClinicalTime | None = None


class Draft(msgspec.Struct, kw_only=True):
    """One statement in the making. `record` is the record's own name in its source; empty if it names itself nowhere.

    `type` is the record's type (`OBX`, `Patient`); `fields` holds at most one value of a name.
    """

    head: Segment
    kind: Kind
    type: str
    aspect: Aspect
    record: str = ""
    domain: Domain = Domain.CLINICAL
    part: str = ""
    identifiers: list[BusinessIdentifier] = []
    concept: CodedText | None = None
    status: list[str] = []
    standing: Standing = Standing.UNKNOWN
    verification: Verification = Verification.NONE
    polarity: Polarity = Polarity.AFFIRMED
    evidence: list[AuthorshipEvidence] = []
    fields: dict[str, Value] = {}
    components: list[Component] = []
    times: list[Timed] = []
    references: list[Reference] = []
    labels: list[Label] = []
    texts: list[Text] = []
    numbers: set[BusinessIdentifier] = set()  # the identifiers again, to be looked up
    only: tuple[int, ...] = ()  # the fields of the head that it is made of; empty: the whole head
    left: list[str] = []  # what the intake should say of it: element names only

    def set(self, name: str, value: Value | None) -> None:
        if value is not None and value != "":
            self.fields[name] = value

    def time(self, clock: Clock, at: ClinicalTime | Period | None) -> None:
        if at is not None:
            self.times.append(Timed(clock, at))

    def name(self, *identifiers: BusinessIdentifier | None) -> None:
        """Business identifiers, each once."""
        for identifier in identifiers:
            if identifier is not None and identifier not in self.numbers:
                self.numbers.add(identifier)
                self.identifiers.append(identifier)

    def refer(self, element: str, reference: str) -> None:
        if reference:
            self.references.append(Reference(element, reference))

    def means(self, code: str, meaning: Meaning | None) -> None:
        """Take over what a status, action or event code says; later calls say more than earlier ones."""
        if code:
            self.status.append(code)
        if meaning is None:
            return
        if meaning.standing is not None and meaning.standing is not Standing.UNKNOWN:
            self.standing = meaning.standing
        if meaning.verification is not None:
            self.verification = meaning.verification
        if meaning.polarity is not None:
            self.polarity = meaning.polarity

    @property
    def withdrawn(self) -> bool:
        """Is this the act of deleting or cancelling a record?"""
        return self.standing in (Standing.ENTERED_IN_ERROR, Standing.CANCELLED)

    def sorted_fields(self) -> tuple[Field, ...]:
        return tuple(Field(name, self.fields[name]) for name in sorted(self.fields))

"""What has been read of one item so far? The mutable form of a statement while its mapping and details are applied."""

from __future__ import annotations

import msgspec

from iamata.model.attribution import AuthorshipEvidence
from iamata.model.clinical_time import ClinicalTime, Clock, Period, Timed
from iamata.model.coding import CodedText
from iamata.model.statement import Component, Domain, Field, Kind, Value


class Draft(msgspec.Struct, kw_only=True):
    """One statement in the making. `fields` holds at most one value of a name; None and empty texts are not kept."""

    kind: Kind
    evidence: tuple[AuthorshipEvidence, ...]
    domain: Domain
    concept: CodedText | None = None
    fields: dict[str, Value] = {}
    components: list[Component] = []
    times: list[Timed] = []

    def set(self, name: str, value: Value | None) -> None:
        if value is not None and value != "":
            self.fields[name] = value

    def time(self, clock: Clock, at: ClinicalTime | Period | None) -> None:
        if at is not None:
            self.times.append(Timed(clock, at))

    def sorted_fields(self) -> tuple[Field, ...]:
        return tuple(Field(name, self.fields[name]) for name in sorted(self.fields))

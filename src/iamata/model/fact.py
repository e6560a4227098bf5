"""What resolved statements say together about one real-world thing. Events are facts too."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from iamata.errors import InvalidValue
from iamata.model.attribution import AttributionKind, Role
from iamata.model.clinical_time import Timed
from iamata.model.coding import CodedText
from iamata.model.decision import Quality
from iamata.model.statement import EVENT_KINDS, Component, Domain, Kind, Label, Polarity, Standing, Value, Verification


class FieldVerdict(StrEnum):
    PICKED = "picked"
    AGREED = "agreed"
    CONFLICT = "conflict"


class Contribution(msgspec.Struct, frozen=True, gc=False):
    """One statement's value for a field; what was not chosen stays here."""

    statement: str
    value: Value


class ResolvedField(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One field of a fact. `value` is the neutral pick (latest clinical time, then most complete, then content), not
    authority's; `others` are the values not picked, sorted by statement id."""

    name: str
    verdict: FieldVerdict
    value: Value
    statement: str
    others: tuple[Contribution, ...] = ()


class Support(msgspec.Struct, frozen=True, order=True, gc=False):
    """How many member statements speak with this attribution and role."""

    kind: AttributionKind
    role: Role
    statements: int


class Currency(StrEnum):
    """Is it so now (at `true_at`)?"""

    CURRENT = "current"
    PAST = "past"
    PLANNED = "planned"
    UNKNOWN = "unknown"


class Fact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What its member statements say together. Resolved by the engine, supported by their authors.

    `id` is `fa_` and the tail of the smallest member id; the id of any member resolves to the fact that holds it now.
    `members` contribute, sorted; `history` were superseded, entered in error or ended by something later, each with
    the reason. `polarity` is denied when all that is current denies it. `when` is the clinical time that orders it.
    `last_supported` is the latest clinical day on which anyone stood behind it (or the received day if none is dated).
    """

    id: str
    kind: Kind
    display: str
    members: tuple[str, ...]
    concept: CodedText | None = None
    history: tuple[tuple[str, str], ...] = ()
    polarity: Polarity = Polarity.AFFIRMED
    standing: Standing = Standing.UNKNOWN
    verification: Verification = Verification.NONE
    currency: Currency = Currency.UNKNOWN
    when: Timed | None = None
    fields: tuple[ResolvedField, ...] = ()
    components: tuple[Component, ...] = ()
    conflicts: tuple[str, ...] = ()
    supported_by: tuple[Support, ...] = ()
    quality: Quality = Quality.CONFIRMED
    rule: str = ""
    last_supported: str = ""
    labels: tuple[Label, ...] = ()
    domain: Domain = Domain.CLINICAL
    digest: str = ""

    def __post_init__(self) -> None:
        if not self.members and not self.history:
            raise InvalidValue("a fact rests on statements")

    @property
    def is_event(self) -> bool:
        """Events are facts about something that happened at a time."""
        return self.kind in EVENT_KINDS

    def field(self, name: str) -> ResolvedField | None:
        for field in self.fields:
            if field.name == name:
                return field
        return None

    def value(self, name: str) -> Value | None:
        field = self.field(name)
        return field.value if field else None


def fact_id(members: tuple[str, ...]) -> str:
    """The id of the fact with these members: that of the smallest, as a fact."""
    return "fa_" + min(members).partition("_")[2]

"""One assertion as one source holds it. Immutable; what it means for the patient is worked out in the fold."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from iamata.errors import InvalidValue
from iamata.model.attribution import AuthorshipEvidence
from iamata.model.clinical_time import ClinicalTime, Clock, Period, Timed
from iamata.model.coding import BusinessIdentifier, CodedText, Quantity, Range, Ratio
from iamata.model.provenance import EXTRACTOR, Provenance
from iamata.model.scope import Subject

Value = bool | int | str | CodedText | Quantity | Range | Ratio | ClinicalTime | Period


class Kind(StrEnum):
    """What a statement is about. Ten fact kinds and four event kinds are the public contract's; the rest are ours."""

    CONDITION = "condition"
    MEDICATION = "medication"
    ALLERGY = "allergy"
    FAMILY_HISTORY = "family_history"
    SOCIAL_HISTORY = "social_history"
    IMMUNIZATION = "immunization"
    DEVICE = "device"
    DEMOGRAPHIC = "demographic"
    INSURANCE = "insurance"
    DIRECTIVE = "directive"

    ENCOUNTER = "encounter"
    OBSERVATION = "observation"
    PROCEDURE = "procedure"
    MEDICATION_EVENT = "medication_event"

    REPORT = "report"
    DOCUMENT = "document"
    ANSWER = "answer"
    GOAL = "goal"
    CARE_PLAN = "care_plan"
    CARE_TEAM = "care_team"
    ORDER = "order"
    APPOINTMENT = "appointment"
    COMMUNICATION = "communication"
    CLAIM = "claim"
    AUTHORIZATION = "authorization"
    REMITTANCE = "remittance"
    IMAGING_STUDY = "imaging_study"
    ADVERSE_EVENT = "adverse_event"
    RISK = "risk"
    FLAG = "flag"
    PREGNANCY = "pregnancy"

    PERSON = "person"  # a practitioner, related person, organization or device: who can be an author
    MEDICATION_PRODUCT = "medication_product"  # what a medication reference leads to
    PROVENANCE = "provenance"
    LIST = "list"  # a Composition or List: it lends its author to what it holds


FACT_KINDS = frozenset(list(Kind)[:10])
EVENT_KINDS = frozenset(list(Kind)[10:14])
# Read for what they say of other statements; never facts of their own.
SUPPORTING_KINDS = frozenset({Kind.PERSON, Kind.MEDICATION_PRODUCT, Kind.PROVENANCE, Kind.LIST})


class Aspect(StrEnum):
    """What a statement testifies to. No aspect borrows its neighbour's standing (design 04, 06)."""

    ORDERED = "ordered"
    DISPENSED = "dispensed"
    GIVEN = "given"
    TAKEN = "taken"
    PROPOSED = "proposed"
    DIAGNOSED = "diagnosed"
    EXPERIENCED = "experienced"
    REACTED = "reacted"
    MEASURED = "measured"
    DONE = "done"
    WANTED = "wanted"
    COVERED = "covered"
    BILLED = "billed"
    LIVED = "lived"
    RECORDED = "recorded"


class Polarity(StrEnum):
    AFFIRMED = "affirmed"
    DENIED = "denied"


class Standing(StrEnum):
    """The status of the thing itself, normalised over kinds (`terminology/data/statuses.tsv` maps each sent code)."""

    ACTIVE = "active"
    INACTIVE = "inactive"
    RESOLVED = "resolved"
    STOPPED = "stopped"
    ON_HOLD = "on-hold"
    COMPLETED = "completed"
    PLANNED = "planned"
    NOT_DONE = "not-done"
    PRELIMINARY = "preliminary"
    FINAL = "final"
    CORRECTED = "corrected"
    CANCELLED = "cancelled"
    DRAFT = "draft"
    ENTERED_IN_ERROR = "entered-in-error"
    UNKNOWN = "unknown"


class Verification(StrEnum):
    CONFIRMED = "confirmed"
    PROVISIONAL = "provisional"
    DIFFERENTIAL = "differential"
    UNCONFIRMED = "unconfirmed"
    REFUTED = "refuted"
    ENTERED_IN_ERROR = "entered-in-error"
    NONE = ""


class Domain(StrEnum):
    CLINICAL = "clinical"
    FINANCIAL = "financial"
    ADMINISTRATIVE = "administrative"


class Form(StrEnum):
    STRUCTURED = "structured"
    UNSTRUCTURED = "unstructured"


class Label(msgspec.Struct, frozen=True, order=True, gc=False):
    """A security label as sent, such as v3-Confidentiality|R; policy decides what it means for a reader."""

    system: str
    code: str

    def __str__(self) -> str:
        return f"{self.system}|{self.code}"


class Field(msgspec.Struct, frozen=True, gc=False):
    """One named value. Names and how they compare are rows of `terminology/data/fields.tsv`."""

    name: str
    value: Value


class Component(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One measured part of a panel (systolic of a blood pressure). `absent` is the data-absent reason, if any."""

    concept: CodedText
    value: Value | None = None
    interpretation: str = ""
    absent: str = ""


# What a component of a care team is called whose role its source does not give; the value is the member.
UNSAID_ROLE: Final = "member"


class Reference(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A reference to another record, as sent; the fold resolves it within the same source.

    `element` is its path in the item (`reasonReference/0`), `reference` the literal (may be empty when only an
    `identifier` or a `display` was given).
    """

    element: str
    reference: str = ""
    identifier: str = ""
    type: str = ""
    display: str = ""


class Statement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One assertion as one source holds it.

    `id` is a keyed hash of source, the record's own identity there and the canonical bytes of the item; `part` is the
    relative pointer of this assertion inside its item when an item asserts several. `status` is as sent and `standing`
    what it means. `fields` are sorted by name, at most one of each. `digest` is the hash of the item's canonical bytes
    with source and identity, not keyed: the content that the graph hash counts.
    """

    id: str
    subject: Subject
    kind: Kind
    provenance: Provenance
    authorship: tuple[AuthorshipEvidence, ...]
    aspect: Aspect
    digest: str
    part: str = ""
    concept: CodedText | None = None
    polarity: Polarity = Polarity.AFFIRMED
    status: str = ""
    standing: Standing = Standing.UNKNOWN
    verification: Verification = Verification.NONE
    times: tuple[Timed, ...] = ()
    fields: tuple[Field, ...] = ()
    components: tuple[Component, ...] = ()
    references: tuple[Reference, ...] = ()
    labels: tuple[Label, ...] = ()
    domain: Domain = Domain.CLINICAL
    form: Form = Form.STRUCTURED

    def __post_init__(self) -> None:
        if not self.id or not self.digest:
            raise InvalidValue("a statement has an id and a digest")
        if not self.authorship:
            raise InvalidValue("a statement carries authorship evidence, if only that its item has none")

    def field(self, name: str) -> Value | None:
        """The value of this field, or None."""
        for field in self.fields:
            if field.name == name:
                return field.value
        return None

    def time(self, *clocks: Clock) -> Timed | None:
        """The time on the first of these clocks that the statement has."""
        for clock in clocks:
            for timed in self.times:
                if timed.clock is clock:
                    return timed
        return None

    @property
    def source(self) -> str:
        return self.provenance.source

    @property
    def is_mention(self) -> bool:
        """Was it read out of a passage? Then its record is the passage's, and its part names the words."""
        return self.provenance.reader.startswith(EXTRACTOR)

    @property
    def identifiers(self) -> tuple[BusinessIdentifier, ...]:
        return self.provenance.record.identifiers

"""Which FHIR R4 resource tells a fact of a kind, and which of its elements say what? Rows of declarations.

Element names, required codes and cardinalities are those of FHIR R4 (4.0.1). What no row can say is in `findings`,
`medicines` and `care`. Kinds that stand in no row are not exported as resources; the export says how many there were.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from iamata.model.clinical_time import Clock
from iamata.model.statement import Kind, Standing


class Element(NamedTuple):
    """A field of a fact and where it goes. `how`: concept, list (of one concept), text, name (a Reference with a
    display), quantity, flag, integer, day, moment, or `a|b|c`: a code, if it is one of these."""

    field: str
    name: str
    how: str


class When(NamedTuple):
    """The element of a time: the latest on one of these clocks. `how`: moment, period, choice (of `name[x]`)."""

    name: str
    how: str
    clocks: tuple[Clock, ...]


class Shape(NamedTuple):
    """`code` holds the concept; `many` if it is a list. `statuses` by standing, `otherwise` for all others."""

    type: str
    subject: str = "subject"
    code: str = "code"
    many: bool = False
    status: str = "status"
    statuses: Mapping[Standing, str] = {}
    otherwise: str = "unknown"
    elements: tuple[Element, ...] = ()
    times: tuple[When, ...] = ()
    visit: str = ""  # the element that holds the encounter
    reasons: str = ""  # the element that holds the condition it is for


def _elements(*rows: str) -> tuple[Element, ...]:
    """`"field element how"`; the element is the field if only two words are given."""
    split = (row.split() for row in rows)
    return tuple(Element(words[0], words[-2] if len(words) == 3 else words[0], words[-1]) for words in split)


def _times(*rows: str) -> tuple[When, ...]:
    split = (row.split() for row in rows)
    return tuple(When(name, how, tuple(map(Clock, clocks))) for name, how, *clocks in split)


S = Standing
_REQUEST: Final = {
    S.ACTIVE: "active",
    S.ON_HOLD: "on-hold",
    S.COMPLETED: "completed",
    S.PLANNED: "active",
    S.DRAFT: "draft",
    S.CANCELLED: "revoked",
    S.STOPPED: "revoked",
}
_RESULT: Final = {
    S.PRELIMINARY: "preliminary",
    S.FINAL: "final",
    S.COMPLETED: "final",
    S.CORRECTED: "corrected",
    S.CANCELLED: "cancelled",
    S.NOT_DONE: "cancelled",
    S.DRAFT: "registered",
    S.PLANNED: "registered",
}
_EVENT: Final = {
    S.PLANNED: "preparation",
    S.ACTIVE: "in-progress",
    S.ON_HOLD: "on-hold",
    S.STOPPED: "stopped",
    S.COMPLETED: "completed",
    S.FINAL: "completed",
    S.CORRECTED: "completed",
    S.NOT_DONE: "not-done",
    S.CANCELLED: "not-done",
}
_PRIORITY: Final = "routine|urgent|asap|stat"

CONDITION: Final = Shape(
    "Condition",
    status="",  # two of them: `findings`
    elements=_elements("category list", "severity concept", "body_site bodySite list"),
    times=_times("recordedDate moment asserted"),
    visit="encounter",
)
ALLERGY: Final = Shape(
    "AllergyIntolerance",
    subject="patient",
    status="",
    elements=_elements("type allergy|intolerance", "criticality low|high|unable-to-assess"),
    times=_times("recordedDate moment asserted", "lastOccurrence moment occurred"),
)
REQUEST: Final = Shape(
    "MedicationRequest",
    code="medicationCodeableConcept",
    statuses={
        S.ACTIVE: "active",
        S.ON_HOLD: "on-hold",
        S.CANCELLED: "cancelled",
        S.COMPLETED: "completed",
        S.STOPPED: "stopped",
        S.NOT_DONE: "cancelled",
        S.INACTIVE: "stopped",
        S.PLANNED: "active",
        S.DRAFT: "draft",
    },
    elements=_elements(
        "category list",
        "reason reasonCode list",
        "status_reason statusReason concept",
        f"priority {_PRIORITY}",
        "course courseOfTherapyType concept",
    ),
    times=_times("authoredOn moment ordered authored"),
    visit="encounter",
    reasons="reasonReference",
)
STATEMENT: Final = Shape(
    "MedicationStatement",
    code="medicationCodeableConcept",
    statuses={
        S.ACTIVE: "active",
        S.ON_HOLD: "on-hold",
        S.COMPLETED: "completed",
        S.STOPPED: "stopped",
        S.INACTIVE: "stopped",
        S.CANCELLED: "stopped",
        S.NOT_DONE: "not-taken",
        S.PLANNED: "intended",
    },
    elements=_elements("category concept", "reason reasonCode list", "status_reason statusReason list"),
    times=_times("effective choice effective ordered", "dateAsserted moment asserted authored"),
    visit="context",
    reasons="reasonReference",
)
ADMINISTRATION: Final = Shape(
    "MedicationAdministration",
    code="medicationCodeableConcept",
    statuses=_EVENT | {S.PLANNED: "unknown"},
    otherwise="unknown",
    elements=_elements("category concept", "reason reasonCode list", "status_reason statusReason list"),
    visit="context",
    reasons="reasonReference",
)
DISPENSE: Final = Shape(
    "MedicationDispense",
    code="medicationCodeableConcept",
    statuses={
        S.PLANNED: "preparation",
        S.ACTIVE: "in-progress",
        S.CANCELLED: "cancelled",
        S.ON_HOLD: "on-hold",
        S.COMPLETED: "completed",
        S.STOPPED: "stopped",
        S.NOT_DONE: "declined",
    },
    elements=_elements(
        "category concept", "type concept", "supply quantity quantity", "days_supply daysSupply quantity"
    ),
    times=_times("whenHandedOver moment handed-over effective", "whenPrepared moment occurred"),
    visit="context",
)
OBSERVATION: Final = Shape(
    "Observation",
    statuses=_RESULT,
    elements=_elements("interpretation list", "category list", "method concept", "body_site bodySite concept"),
    times=_times("effective choice effective occurred", "issued instant issued"),
    visit="encounter",
)

SHAPES: Final[Mapping[Kind, Shape]] = {
    Kind.CONDITION: CONDITION,
    Kind.ALLERGY: ALLERGY,
    Kind.OBSERVATION: OBSERVATION,
    Kind.SOCIAL_HISTORY: OBSERVATION,
    Kind.PREGNANCY: OBSERVATION,
    Kind.ANSWER: OBSERVATION._replace(times=_times("effective choice effective authored", "issued instant issued")),
    Kind.IMMUNIZATION: Shape(
        "Immunization",
        subject="patient",
        code="vaccineCode",
        statuses={S.NOT_DONE: "not-done"},
        otherwise="completed",
        elements=_elements(
            "lot lotNumber text",
            "site concept",
            "route concept",
            "status_reason statusReason concept",
            "primary_source primarySource flag",
            "dose_quantity doseQuantity quantity",
            "reason reasonCode list",
            "manufacturer name",
        ),
        times=_times("recorded moment asserted", "expirationDate day expires"),
        visit="encounter",
    ),
    Kind.PROCEDURE: Shape(
        "Procedure",
        statuses=_EVENT,
        elements=_elements(
            "category concept",
            "body_site bodySite list",
            "outcome concept",
            "reason reasonCode list",
            "status_reason statusReason concept",
            "complication list",
        ),
        visit="encounter",
        reasons="reasonReference",
    ),
    Kind.ENCOUNTER: Shape(
        "Encounter",
        code="type",
        many=True,
        statuses={
            S.PLANNED: "planned",
            S.ACTIVE: "in-progress",
            S.ON_HOLD: "onleave",
            S.COMPLETED: "finished",
            S.FINAL: "finished",
            S.CANCELLED: "cancelled",
            S.NOT_DONE: "cancelled",
        },
        elements=_elements("reason reasonCode list", "priority concept", "service_type serviceType concept"),
        times=_times("period period effective planned"),
        reasons="reasonReference",
    ),
    Kind.FAMILY_HISTORY: Shape(
        "FamilyMemberHistory",
        subject="patient",
        code="",
        statuses={S.COMPLETED: "completed", S.PRELIMINARY: "partial", S.UNKNOWN: "completed"},
        otherwise="completed",
        elements=_elements("name text", "sex concept", "reason reasonCode list"),
        times=_times("date moment asserted"),
    ),
    Kind.DEVICE: Shape(
        "Device",
        subject="patient",
        code="type",
        statuses={
            S.ACTIVE: "active",
            S.INACTIVE: "inactive",
            S.STOPPED: "inactive",
            S.COMPLETED: "inactive",
            S.ENTERED_IN_ERROR: "entered-in-error",
        },
        otherwise="unknown",
        elements=_elements(
            "manufacturer text", "model modelNumber text", "lot lotNumber text", "serial serialNumber text"
        ),
        times=_times("expirationDate moment expires"),
    ),
    Kind.INSURANCE: Shape(
        "Coverage",
        subject="beneficiary",
        code="type",
        statuses={S.CANCELLED: "cancelled", S.DRAFT: "draft", S.INACTIVE: "cancelled"},
        otherwise="active",
        elements=_elements(
            "member_id subscriberId text", "relationship concept", "network text", "dependent text", "order integer"
        ),
        times=_times("period period effective"),
    ),
    Kind.DIRECTIVE: Shape(
        "Consent",
        subject="patient",
        code="",
        statuses={
            S.DRAFT: "draft",
            S.PLANNED: "proposed",
            S.ACTIVE: "active",
            S.INACTIVE: "inactive",
            S.COMPLETED: "inactive",
            S.CANCELLED: "rejected",
        },
        otherwise="active",
        times=_times("dateTime moment authored asserted"),
    ),
    Kind.REPORT: Shape(
        "DiagnosticReport",
        statuses=_RESULT,
        elements=_elements("category list", "conclusion text", "conclusion_code conclusionCode list"),
        times=_times("effective choice effective", "issued instant issued"),
        visit="encounter",
    ),
    Kind.ORDER: Shape(
        "ServiceRequest",
        statuses=_REQUEST,
        elements=_elements(
            "category list", f"priority {_PRIORITY}", "reason reasonCode list", "body_site bodySite list",
            "instruction patientInstruction text",
        ),
        times=_times("occurrence choice planned", "authoredOn moment ordered authored"),
        visit="encounter",
        reasons="reasonReference",
    ),
    Kind.GOAL: Shape(
        "Goal",
        code="description",
        status="lifecycleStatus",
        statuses={
            S.PLANNED: "planned",
            S.ACTIVE: "active",
            S.ON_HOLD: "on-hold",
            S.COMPLETED: "completed",
            S.CANCELLED: "cancelled",
        },
        otherwise="active",
        elements=_elements("category list", "achievement achievementStatus concept", "priority concept"),
        times=_times("statusDate day status-changed"),
        reasons="addresses",
    ),
    Kind.CARE_PLAN: Shape(
        "CarePlan",
        code="category",
        many=True,
        statuses=_REQUEST,
        elements=_elements("title text", "description text"),
        times=_times("period period effective planned", "created moment authored"),
        visit="encounter",
        reasons="addresses",
    ),
    Kind.CARE_TEAM: Shape(
        "CareTeam",
        code="category",
        many=True,
        statuses={S.PLANNED: "proposed", S.ACTIVE: "active", S.ON_HOLD: "suspended", S.INACTIVE: "inactive"},
        otherwise="active",
        elements=_elements("title name text", "reason reasonCode list"),
        times=_times("period period effective"),
    ),
    Kind.FLAG: Shape(
        "Flag",
        statuses={S.INACTIVE: "inactive", S.COMPLETED: "inactive", S.RESOLVED: "inactive"},
        otherwise="active",
        elements=_elements("category list"),
        times=_times("period period effective"),
        visit="encounter",
    ),
    Kind.COMMUNICATION: Shape(
        "Communication",
        code="topic",
        statuses=_EVENT,
        otherwise="completed",
        elements=_elements("category list", "reason reasonCode list", "medium list"),
        times=_times("sent moment authored", "received moment occurred"),
        visit="encounter",
        reasons="reasonReference",
    ),
    Kind.IMAGING_STUDY: Shape(
        "ImagingStudy",
        code="procedureCode",
        many=True,
        statuses={
            S.FINAL: "available",
            S.COMPLETED: "available",
            S.CANCELLED: "cancelled",
            S.PRELIMINARY: "registered",
        },
        elements=_elements(
            "description text", "reason reasonCode list", "series_count numberOfSeries integer",
            "image_count numberOfInstances integer",
        ),
        times=_times("started moment effective"),
        visit="encounter",
    ),
    Kind.ADVERSE_EVENT: Shape(
        "AdverseEvent",
        code="event",
        status="",
        elements=_elements("category list", "seriousness concept", "outcome concept"),
        times=_times("date moment effective", "detected moment occurred", "recordedDate moment asserted"),
        visit="encounter",
    ),
    Kind.RISK: Shape(
        "RiskAssessment",
        statuses=_RESULT,
        otherwise="final",
        elements=_elements("method concept", "reason reasonCode list", "mitigation text"),
        times=_times("occurrence choice effective"),
        visit="encounter",
    ),
}  # fmt: skip
# Which types of time an element[x] takes.
TIMES_OF: Final[Mapping[tuple[str, str], frozenset[str]]] = {
    ("MedicationStatement", "effective"): frozenset({"dateTime", "Period"}),
    ("MedicationAdministration", "effective"): frozenset({"dateTime", "Period"}),
    ("Observation", "effective"): frozenset({"dateTime", "Period"}),
    ("DiagnosticReport", "effective"): frozenset({"dateTime", "Period"}),
    ("ServiceRequest", "occurrence"): frozenset({"dateTime", "Period"}),
    ("RiskAssessment", "occurrence"): frozenset({"dateTime", "Period"}),
}

"""Which elements of each FHIR R4 type say what? One row of declarations a type; `details` adds what no row can say.

Element names are those of the FHIR R4 (4.0.1) StructureDefinitions; R5 (5.0.0) names stand here only where R4 has no
element that says the same, the others are rewritten (`r5`). A path is `a/b`; of a list its first element is
taken. Not here: how values are read (`values`), what codes mean (`terminology.statuses`).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from iamata.connectors.fhir.authorship import Rule, rules
from iamata.model.clinical_time import Clock
from iamata.model.statement import Domain, Kind


class FieldRule(NamedTuple):
    """A field and the element it is read from. `how`: concept, text, texts, flag, integer, quantity or choice."""

    name: str
    path: tuple[str, ...]
    how: str


class TimeRule(NamedTuple):
    """A clock and the element read onto it. `how`: point, period, or choice (of `element[x]`)."""

    clock: Clock
    path: tuple[str, ...]
    how: str


class Mapping(NamedTuple):
    """How one type is read. `concept`: elements tried in order. `details`: the name of a function in `details`.

    `notes` holds Annotations, `attachments` are paths to Attachments (`*` for every element), `texts` are paths to free
    text that becomes passages.
    """

    kind: Kind
    concept: tuple[str, ...] = ()
    times: tuple[TimeRule, ...] = ()
    fields: tuple[FieldRule, ...] = ()
    evidence: tuple[Rule, ...] = ()
    details: str = ""
    domain: Domain = Domain.CLINICAL
    notes: str = "note"
    attachments: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


def _fields(*rows: str) -> tuple[FieldRule, ...]:
    """`"name element how"`; the element is the name if only two words are given."""
    found = []
    for row in rows:
        words = row.split()
        name, element, how = words if len(words) == 3 else (words[0], words[0], words[1])
        found.append(FieldRule(name, tuple(element.split("/")), how))
    return tuple(found)


def _times(*rows: str) -> tuple[TimeRule, ...]:
    split = (row.split() for row in rows)
    return tuple(TimeRule(Clock(clock), tuple(element.split("/")), how) for clock, element, how in split)


_PERSON_FIELDS: Final = ("specialty concept",)
# Of R4 the first two; R5 `participant` has them all, by function.
_PARTICIPANTS: Final = (
    *("asserter/* informant", "recorder/* recorder", "enterer/* enterer", "verifier/* verifier"),
    "custodian/* custodian",
)

MAPPINGS: Final[dict[str, Mapping]] = {
    "Condition": Mapping(
        Kind.CONDITION,
        ("code",),
        _times("asserted recordedDate point"),
        _fields("category concept", "severity concept", "body_site bodySite concept", "evidence evidence/code concept"),
        rules(*_PARTICIPANTS),
        "condition",
    ),
    "AllergyIntolerance": Mapping(
        Kind.ALLERGY,
        ("code",),
        _times("asserted recordedDate point", "occurred lastOccurrence point"),
        _fields("category texts", "type text", "criticality text"),
        rules(*_PARTICIPANTS),
        "allergy",
    ),
    "MedicationRequest": Mapping(
        Kind.MEDICATION,
        ("medicationCodeableConcept",),
        _times("expires dispenseRequest/validityPeriod/end point"),
        _fields(
            "intent text",
            "category concept",
            "reason reasonCode concept",
            "status_reason statusReason concept",
            "priority text",
            "supply dispenseRequest/quantity quantity",
            "days_supply dispenseRequest/expectedSupplyDuration quantity",
            "refills dispenseRequest/numberOfRepeatsAllowed integer",
            "substitution substitution/allowed choice",
            "course courseOfTherapyType concept",
        ),
        rules(
            "requester author",
            "recorder enterer",
            "reportedReference/* informant",
            "informationSource/* informant",
            "reportedBoolean flag",
            "intent flag",
            "category/* flag",
        ),
        "medication",
    ),
    "MedicationStatement": Mapping(
        Kind.MEDICATION,
        ("medicationCodeableConcept",),
        _times("effective effective choice", "asserted dateAsserted point"),
        _fields("category concept", "reason reasonCode concept", "status_reason statusReason concept"),
        rules("informationSource/* informant", "category/* flag"),
        "medication",
    ),
    "MedicationAdministration": Mapping(
        Kind.MEDICATION_EVENT,
        ("medicationCodeableConcept",),
        _times("effective effective choice"),
        _fields("category concept", "reason reasonCode concept", "status_reason statusReason concept"),
        rules("performer/*/actor performer"),
        "administration",
    ),
    "MedicationDispense": Mapping(
        Kind.MEDICATION_EVENT,
        ("medicationCodeableConcept",),
        _times("handed-over whenHandedOver point", "occurred whenPrepared point"),
        _fields(
            "category concept",
            "type concept",
            "supply quantity quantity",
            "days_supply daysSupply quantity",
            "status_reason statusReasonCodeableConcept concept",
            "substitution substitution/wasSubstituted flag",
        ),
        rules("performer/*/actor performer"),
        "medication",
    ),
    "Medication": Mapping(
        Kind.MEDICATION_PRODUCT,
        ("code",),
        fields=_fields("form concept", "lot batch/lotNumber text"),
        details="product",
    ),
    "Observation": Mapping(
        Kind.OBSERVATION,
        ("code",),
        _times("effective effective choice", "issued issued point"),
        _fields(
            "value choice", "interpretation concept", "category concept", "method concept", "body_site bodySite concept"
        ),
        rules("performer/* performer", "device instrument", "category/* flag"),
        "observation",
    ),
    "Encounter": Mapping(
        Kind.ENCOUNTER,
        ("type",),
        _times("effective period period"),
        _fields(
            "reason reasonCode concept",
            "priority concept",
            "disposition hospitalization/dischargeDisposition concept",
            "length length quantity",
            "service_type serviceType concept",
        ),
        details="encounter",
    ),
    "Procedure": Mapping(
        Kind.PROCEDURE,
        ("code",),
        times=_times("asserted recorded point"),
        fields=_fields(
            "category concept",
            "body_site bodySite concept",
            "outcome concept",
            "reason reasonCode concept",
            "status_reason statusReason concept",
            "complication concept",
        ),
        evidence=rules(
            "asserter informant",
            "reportedBoolean flag",
            "recorder recorder",
            "performer/*/actor performer",
            "performer/*/onBehalfOf on-behalf-of",
        ),
        details="procedure",
    ),
    "Immunization": Mapping(
        Kind.IMMUNIZATION,
        ("vaccineCode",),
        _times("asserted recorded point", "expires expirationDate point"),
        _fields(
            "lot lotNumber text",
            "site concept",
            "route concept",
            "status_reason statusReason concept",
            "primary_source primarySource flag",
            "dose_quantity doseQuantity quantity",
            "reason reasonCode concept",
            "dose_number protocolApplied/doseNumber choice",
            "series protocolApplied/series text",
        ),
        rules(
            "informationSource informant", "performer/*/actor performer", "primarySource flag", "reportOrigin flag"
        ),
        "immunization",
    ),
    "DiagnosticReport": Mapping(
        Kind.REPORT,
        ("code",),
        _times("effective effective choice", "issued issued point"),
        _fields("category concept", "conclusion text", "conclusion_code conclusionCode concept"),
        rules("performer/* performer", "resultsInterpreter/* performer"),
        attachments=("presentedForm/*",),
    ),
    "DocumentReference": Mapping(
        Kind.DOCUMENT,
        ("type",),
        _times("authored date point", "effective context/period period", "verified attester/time point"),
        _fields(
            "category concept",
            "description text",
            "title content/attachment/title text",
            "doc_status docStatus text",
        ),
        rules("author/* author", "authenticator/* verifier", "custodian custodian"),
        attachments=("content/*/attachment",),
    ),
    "Media": Mapping(
        Kind.DOCUMENT,
        ("type", "modality"),
        _times("effective created choice", "issued issued point"),
        _fields(
            *("category modality concept", "view concept", "body_site bodySite concept", "reason reasonCode concept"),
            *("title content/title text", "content_type content/contentType text"),
        ),
        rules("operator performer", "device instrument"),
        attachments=("content",),
    ),
    "Binary": Mapping(Kind.DOCUMENT, (), (), _fields("content_type contentType text"), notes=""),
    "Specimen": Mapping(
        Kind.PERSON,
        ("type",),
        _times("effective collection/collected choice"),
        _fields(
            *("method collection/method concept", "body_site collection/bodySite concept"),
            *("quantity collection/quantity quantity", "condition concept"),
        ),
        rules("collection/collector performer"),
        "specimen",
    ),
    "FamilyMemberHistory": Mapping(
        Kind.FAMILY_HISTORY,
        ("relationship",),
        _times("asserted date point"),
        _fields(
            "relationship concept",
            "name text",
            "sex sex concept",
            "born born choice",
            "died deceased choice",
            "age age choice",
            "reason reasonCode concept",
        ),
        evidence=rules(*_PARTICIPANTS),
        details="family",
    ),
    "Goal": Mapping(
        Kind.GOAL,
        ("description",),
        _times("effective start choice", "status-changed statusDate point", "planned target/due choice"),
        _fields(
            "category concept",
            "achievement achievementStatus concept",
            "priority concept",
            "target target/detail choice",
            "measure target/measure concept",
            "due target/due choice",
        ),
        rules("expressedBy informant"),
        "goal",
    ),
    "CarePlan": Mapping(
        Kind.CARE_PLAN,
        ("category",),
        _times("effective period period", "authored created point"),
        _fields(
            "title text", "category concept", "intent text", "description text", "reason addressesCode concept"
        ),
        rules("author author", "contributor/* informant"),
        "plan",
    ),
    "CareTeam": Mapping(
        Kind.CARE_TEAM,
        ("category",),
        _times("effective period period"),
        _fields("title name text", "category concept", "reason reasonCode concept"),
        details="team",
    ),
    "ServiceRequest": Mapping(
        Kind.ORDER,
        ("code",),
        _times("planned occurrence choice"),
        _fields(
            "category concept",
            "intent text",
            "priority text",
            "reason reasonCode concept",
            "body_site bodySite concept",
            "detail orderDetail concept",
            "quantity quantity choice",
            "instruction patientInstruction text",
        ),
        rules("requester author"),
        "order",
    ),
    "DeviceRequest": Mapping(
        Kind.ORDER,
        ("codeCodeableConcept",),
        _times("planned occurrence choice"),
        _fields("intent text", "priority text", "reason reasonCode concept"),
        rules("requester author"),
        "order",
    ),
    "NutritionOrder": Mapping(
        Kind.ORDER,
        (),
        _times("ordered dateTime point"),
        _fields(
            *("intent text", "preference foodPreferenceModifier concept", "exclude excludeFoodModifier concept"),
            "instruction oralDiet/instruction text",
        ),
        rules("orderer author"),
        "nutrition",
    ),
    "CommunicationRequest": Mapping(
        Kind.COMMUNICATION,
        ("category",),
        _times("planned occurrence choice"),
        _fields(
            *("category concept", "reason reasonCode concept", "medium concept", "priority text"),
            "status_reason statusReason concept",
        ),
        rules("requester author", "sender/* performer"),
        "message_request",
        attachments=("payload/*/contentAttachment",),
        texts=("payload/*/contentString",),
    ),
    "Appointment": Mapping(
        Kind.APPOINTMENT,
        ("serviceType", "appointmentType"),
        _times("authored created point"),
        _fields(
            "category serviceCategory concept",
            "reason reasonCode concept",
            "description text",
            "priority integer",
            "priority priorityCode concept",
            "specialty concept",
            "status_reason cancelationReason concept",
        ),
        details="appointment",
        domain=Domain.ADMINISTRATIVE,
        texts=("comment", "patientInstruction"),
    ),
    "Communication": Mapping(
        Kind.COMMUNICATION,
        ("topic", "category"),
        _times("authored sent point", "occurred received point"),
        _fields(
            "topic concept", "category concept", "reason reasonCode concept", "medium concept", "priority text"
        ),
        rules("sender informant"),
        "communication",
        attachments=("payload/*/contentAttachment",),
        texts=("payload/*/contentString",),
    ),
    "Consent": Mapping(
        Kind.DIRECTIVE,
        ("category",),
        _times(
            "authored dateTime point",
            "effective provision/period period",
            "effective period period",
            "verified verification/verificationDate point",
        ),
        _fields(
            "category concept",
            "scope concept",
            "decision provision/type text",
            "decision text",
            "policy policyRule concept",
        ),
        rules(
            *("performer/* performer", "verification/*/verifiedWith verifier", "verification/*/verifiedBy verifier"),
            "organization/* custodian",
        ),
        "consent",
        attachments=("sourceAttachment/*",),
        notes="",
    ),
    "Flag": Mapping(
        Kind.FLAG, ("code",), _times("effective period period"), _fields("category concept"), rules("author author")
    ),
    "AdverseEvent": Mapping(
        Kind.ADVERSE_EVENT,
        ("event",),
        _times(
            "effective date point",
            "effective occurrence choice",
            "occurred detected point",
            "asserted recordedDate point",
        ),
        _fields("category concept", "seriousness concept", "severity concept", "outcome concept", "actuality text"),
        rules("recorder/* recorder", "contributor/* informant"),
    ),
    "RiskAssessment": Mapping(
        Kind.RISK,
        ("code",),
        _times("effective occurrence choice"),
        _fields("method concept", "reason reasonCode concept", "mitigation text"),
        rules("performer performer"),
        "risk",
    ),
    "DetectedIssue": Mapping(
        Kind.RISK,
        ("code",),
        _times("effective identified choice"),
        _fields("severity text", "description detail text"),
        rules("author author"),
        notes="",
    ),
    "GuidanceResponse": Mapping(
        Kind.RISK,
        (),
        _times("effective occurrenceDateTime point"),
        _fields("reason reasonCode concept", "module moduleUri text"),
        rules("performer performer"),
    ),
    "ClinicalImpression": Mapping(
        Kind.REPORT,
        ("code",),
        _times("effective effective choice", "asserted date point"),
        _fields(
            "conclusion summary text",
            "description text",
            "status_reason statusReason concept",
            "conclusion_code finding/itemCodeableConcept concept",
            "prognosis prognosisCodeableConcept concept",
        ),
        rules("assessor author"),
    ),
    "ImagingStudy": Mapping(
        Kind.IMAGING_STUDY,
        ("procedureCode",),
        _times("effective started point"),
        _fields(
            "description text",
            "reason reasonCode concept",
            "series_count numberOfSeries integer",
            "image_count numberOfInstances integer",
        ),
        rules("interpreter/* performer"),
        "imaging",
    ),
    "DeviceUseStatement": Mapping(
        Kind.DEVICE,
        (),
        _times("effective timing choice", "asserted recordedOn point"),
        _fields("reason reasonCode concept", "body_site bodySite concept"),
        rules("source informant"),
    ),
    "DeviceUsage": Mapping(  # R5
        Kind.DEVICE,
        ("deviceCode",),
        _times("effective timing choice", "asserted recordedOn point"),
        _fields("reason reasonCode concept", "body_site bodySite concept", "status_reason statusReason concept"),
        rules("source informant"),
    ),
    "DeviceAssociation": Mapping(  # R5
        Kind.DEVICE, (), _times("effective period period"), _fields("status_reason statusReason concept"), notes=""
    ),
    "Coverage": Mapping(
        Kind.INSURANCE,
        ("type",),
        _times("effective period period"),
        _fields(
            *("type concept", "relationship concept", "network text", "dependent text", "order integer"),
            "coverage_kind kind text",
        ),
        rules("payor/* author"),
        "coverage",
        Domain.FINANCIAL,
        notes="",
    ),
    "Claim": Mapping(
        Kind.CLAIM,
        ("type",),
        _times("effective billablePeriod period", "authored created point"),
        _fields("use text", "type concept", "total quantity", "priority concept"),
        rules("provider author", "enterer enterer"),
        "claim",
        Domain.FINANCIAL,
        notes="",
    ),
    "ExplanationOfBenefit": Mapping(
        Kind.REMITTANCE,
        ("type",),
        _times("effective billablePeriod period", "authored created point"),
        _fields("use text", "type concept", "outcome text", "disposition text", "payment payment/amount quantity"),
        rules("insurer author", "provider performer", "enterer enterer"),
        "claim",
        Domain.FINANCIAL,
        notes="",
    ),
    "ClaimResponse": Mapping(
        Kind.REMITTANCE,
        ("type",),
        _times("authored created point", "effective preAuthPeriod period"),
        _fields("use text", "type concept", "outcome text", "disposition text", "payment payment/amount quantity"),
        rules("insurer author"),
        "claim",
        Domain.FINANCIAL,
        notes="",
    ),
    "Patient": Mapping(Kind.DEMOGRAPHIC, details="patient", domain=Domain.ADMINISTRATIVE, notes=""),
    "RelatedPerson": Mapping(
        Kind.PERSON, (), _times("effective period period"), _fields("relationship concept"),
        details="person", domain=Domain.ADMINISTRATIVE, notes="",
    ),
    "Practitioner": Mapping(Kind.PERSON, details="person", domain=Domain.ADMINISTRATIVE, notes=""),
    "PractitionerRole": Mapping(
        Kind.PERSON, ("code",), _times("effective period period"), _fields(*_PERSON_FIELDS),
        details="person", domain=Domain.ADMINISTRATIVE, notes="",
    ),
    "Organization": Mapping(Kind.PERSON, ("type",), details="person", domain=Domain.ADMINISTRATIVE, notes=""),
    "Location": Mapping(Kind.PERSON, ("type",), details="person", domain=Domain.ADMINISTRATIVE, notes=""),
    "HealthcareService": Mapping(
        Kind.PERSON, ("type",), (), _fields(*_PERSON_FIELDS), details="person",
        domain=Domain.ADMINISTRATIVE, notes="",
    ),
    "Device": Mapping(
        Kind.DEVICE,
        ("type",),
        _times("expires expirationDate point"),
        _fields("manufacturer text", "model modelNumber text", "lot lotNumber text", "serial serialNumber text"),
        details="device",
    ),
    "Provenance": Mapping(
        Kind.PROVENANCE,
        (),
        _times("occurred occurred choice", "asserted recorded point"),
        _fields("activity concept", "reason concept"),
        details="provenance",
        domain=Domain.ADMINISTRATIVE,
        notes="",
    ),
    "Composition": Mapping(
        Kind.LIST,
        ("type",),
        _times("authored date point"),
        _fields("title text", "category concept"),
        details="composition",
        notes="",
    ),
    "List": Mapping(
        Kind.LIST, ("code",), _times("authored date point"), _fields("title text", "mode text"),
        rules("source informant"), "listing",
    ),
}  # fmt: skip

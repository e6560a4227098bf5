"""What each type says: status, aspect, times, fields, parts, references, as FHIR R4 defines them."""

from __future__ import annotations

from typing import Any

import pytest
from fhir_small import OF_P, PATIENT, condition, line, observation, only, read, request, when

from iamata.model.clinical_time import ClinicalTime, Clock, Period, Precision
from iamata.model.coding import CodedText, Coding, Quantity, Range, Ratio
from iamata.model.document import Outcome, Reason
from iamata.model.statement import (
    Aspect,
    Component,
    Kind,
    Polarity,
    Reference,
    Standing,
    Verification,
)

SNOMED = "http://snomed.info/sct"
LOINC = "http://loinc.org"


def coded(code: str, system: str = SNOMED, **more: Any) -> dict[str, Any]:
    return {"coding": [{"system": system, "code": code}], **more}


# Status, standing, verification, polarity


@pytest.mark.parametrize(
    ("resource", "standing", "verification", "polarity"),
    [
        (condition(clinicalStatus=coded("active")), "active", "", "affirmed"),
        (condition(clinicalStatus=coded("relapse")), "active", "", "affirmed"),
        (condition(clinicalStatus=coded("remission")), "inactive", "", "affirmed"),
        (
            condition(clinicalStatus=coded("resolved"), verificationStatus=coded("confirmed")),
            "resolved",
            "confirmed",
            "affirmed",
        ),
        (condition(verificationStatus=coded("differential")), "unknown", "differential", "affirmed"),
        (condition(verificationStatus=coded("refuted")), "unknown", "refuted", "denied"),
        (
            condition(clinicalStatus=coded("active"), verificationStatus=coded("entered-in-error")),
            "entered-in-error",
            "entered-in-error",
            "affirmed",
        ),
        (request(status="stopped"), "stopped", "", "affirmed"),
        (request(status="active", doNotPerform=True), "active", "", "denied"),
        (request(status="active", doNotPerform=False), "active", "", "affirmed"),
        (observation(status="registered"), "preliminary", "", "affirmed"),
        (observation(status="amended"), "corrected", "", "affirmed"),
        (observation(status="made-up"), "unknown", "", "affirmed"),
        (
            {
                "resourceType": "MedicationStatement",
                "status": "not-taken",
                "subject": OF_P,
                "medicationCodeableConcept": {"text": "x"},
            },
            "not-done",
            "",
            "denied",
        ),
        (
            {"resourceType": "Immunization", "status": "not-done", "patient": OF_P, "vaccineCode": {"text": "MMR"}},
            "not-done",
            "",
            "denied",
        ),
        (
            {"resourceType": "Procedure", "status": "in-progress", "subject": OF_P, "code": {"text": "x"}},
            "active",
            "",
            "affirmed",
        ),
        (
            {"resourceType": "Goal", "lifecycleStatus": "accepted", "subject": OF_P, "description": {"text": "x"}},
            "planned",
            "",
            "affirmed",
        ),
        ({"resourceType": "Appointment", "status": "noshow", "participant": []}, "not-done", "", "affirmed"),
    ],
)
def test_a_status_is_kept_as_sent_and_read_by_the_table(
    resource: dict[str, Any], standing: str, verification: str, polarity: str
) -> None:
    found = only(read(resource))
    assert (found.standing, found.verification, found.polarity) == (standing, verification, polarity)


def test_the_status_as_sent_is_kept() -> None:
    assert only(read(condition(clinicalStatus=coded("relapse")))).status == "relapse"
    assert only(read(observation(status="amended"))).status == "amended"


@pytest.mark.parametrize(
    ("code", "covers"),
    [("716186003", "all"), ("409137002", "medication"), ("429625007", "food"), ("716184000", "latex")],
)
def test_no_known_allergy_is_a_denial_of_what_its_code_names(code: str, covers: str) -> None:
    found = only(read({"resourceType": "AllergyIntolerance", "id": "a", "patient": OF_P, "code": coded(code)}))
    assert (found.kind, found.aspect) == (Kind.ALLERGY, Aspect.REACTED)
    assert (found.polarity, found.field("covers")) == (Polarity.DENIED, covers)


def test_no_information_is_neither_a_denial_nor_an_allergy() -> None:
    ips = "http://hl7.org/fhir/uv/ips/CodeSystem/absent-unknown-uv-ips"
    parsed = read(
        PATIENT, {"resourceType": "AllergyIntolerance", "patient": OF_P, "code": coded("no-allergy-info", ips)}
    )
    assert [s.kind for s in parsed.statements] == [Kind.DEMOGRAPHIC]
    assert line(parsed, "/entry/1/resource").reason is Reason.EMPTY


# Aspect and kind


@pytest.mark.parametrize(
    ("resource", "kind", "aspect"),
    [
        (request(), Kind.MEDICATION, Aspect.ORDERED),
        (request(intent="plan"), Kind.MEDICATION, Aspect.PROPOSED),
        (request(intent="option"), Kind.MEDICATION, Aspect.PROPOSED),
        (request(intent="plan", reportedBoolean=True), Kind.MEDICATION, Aspect.TAKEN),
        (request(reportedReference=OF_P), Kind.MEDICATION, Aspect.TAKEN),
        (request(reportedBoolean=False), Kind.MEDICATION, Aspect.ORDERED),
        (observation(), Kind.OBSERVATION, Aspect.MEASURED),
        (observation(category=[coded("social-history")]), Kind.SOCIAL_HISTORY, Aspect.LIVED),
        (observation(category=[coded("survey")]), Kind.OBSERVATION, Aspect.EXPERIENCED),
        (observation(code=coded("72166-2", LOINC), category=[coded("survey")]), Kind.SOCIAL_HISTORY, Aspect.LIVED),
        (observation(code=coded("82810-3", LOINC)), Kind.PREGNANCY, Aspect.MEASURED),
        (
            {"resourceType": "MedicationDispense", "subject": OF_P, "medicationCodeableConcept": {"text": "x"}},
            Kind.MEDICATION_EVENT,
            Aspect.DISPENSED,
        ),
        (
            {"resourceType": "MedicationAdministration", "subject": OF_P, "medicationCodeableConcept": {"text": "x"}},
            Kind.MEDICATION_EVENT,
            Aspect.GIVEN,
        ),
        ({"resourceType": "Claim", "patient": OF_P, "use": "claim"}, Kind.CLAIM, Aspect.BILLED),
        ({"resourceType": "Claim", "patient": OF_P, "use": "preauthorization"}, Kind.AUTHORIZATION, Aspect.BILLED),
        ({"resourceType": "ClaimResponse", "patient": OF_P, "use": "claim"}, Kind.REMITTANCE, Aspect.COVERED),
        (
            {"resourceType": "ServiceRequest", "subject": OF_P, "intent": "order", "code": {"text": "x"}},
            Kind.ORDER,
            Aspect.ORDERED,
        ),
        (
            {"resourceType": "ServiceRequest", "subject": OF_P, "intent": "plan", "code": {"text": "x"}},
            Kind.ORDER,
            Aspect.PROPOSED,
        ),
        ({"resourceType": "DetectedIssue", "patient": OF_P, "code": {"text": "x"}}, Kind.RISK, Aspect.RECORDED),
        ({"resourceType": "ClinicalImpression", "subject": OF_P, "summary": "x"}, Kind.REPORT, Aspect.DIAGNOSED),
    ],
)
def test_what_an_item_testifies_to_follows_its_type_and_codes(
    resource: dict[str, Any], kind: Kind, aspect: Aspect
) -> None:
    found = only(read(resource))
    assert (found.kind, found.aspect) == (kind, aspect)


# Times


def test_onset_and_abatement_are_one_period_with_the_precision_they_came_with() -> None:
    found = only(read(condition(onsetDateTime="2015", abatementDateTime="2016-03", recordedDate="2016-04-01")))
    effective = found.time(Clock.EFFECTIVE)
    assert effective is not None
    assert isinstance(effective.at, Period)
    assert [(t.text, t.precision) for t in (effective.at.start, effective.at.end) if t] == [
        ("2015", Precision.YEAR),
        ("2016-03", Precision.MONTH),
    ]
    assert when(found, Clock.ASSERTED) == ["2016-04-01"]


def test_ages_and_words_are_fields_and_no_times() -> None:
    found = only(
        read(condition(onsetAge={"value": 52, "unit": "years", "code": "a"}, abatementString="when she moved"))
    )
    assert found.field("onset_age") == Quantity("52", "years", "a", "", "a")
    assert found.field("abatement_text") == "when she moved"
    assert found.time(Clock.EFFECTIVE) is None


def test_an_onset_in_words_stays_words() -> None:
    found = only(read(condition(onsetString="in her twenties")))
    assert found.times[0].at == ClinicalTime("in her twenties", Precision.TEXT)
    procedure = {"resourceType": "Procedure", "subject": OF_P, "code": {"text": "x"}, "performedString": "summer 2015"}
    parsed = read(procedure)
    assert when(only(parsed), Clock.EFFECTIVE) == ["summer 2015"]
    assert line(parsed, "").detail == ""


def test_a_date_that_is_none_is_kept_as_words_and_named() -> None:
    parsed = read(condition(onsetDateTime="02/30/2015", recordedDate="2015-02-30"))
    assert when(only(parsed), Clock.EFFECTIVE) == ["02/30/2015"]
    assert when(only(parsed), Clock.ASSERTED) == ["2015-02-30"]
    assert line(parsed, "").detail == "recordedDate is no date; onsetDateTime is no date"


def test_the_clock_of_authored_on_is_ordered_only_for_an_order() -> None:
    assert when(only(read(request(authoredOn="2026-02-10"))), Clock.ORDERED) == ["2026-02-10"]
    plan = only(read(request(authoredOn="2026-02-10", intent="plan")))
    assert (when(plan, Clock.ORDERED), when(plan, Clock.AUTHORED)) == ([], ["2026-02-10"])


def test_last_updated_is_the_prepared_clock_and_no_other() -> None:
    found = only(read(condition(meta={"lastUpdated": "2026-01-01T00:00:00Z", "versionId": "4"})))
    assert [timed.clock for timed in found.times] == [Clock.PREPARED]
    assert (found.provenance.record.version, found.provenance.record.updated) == ("4", "2026-01-01T00:00:00Z")


# Observations


@pytest.mark.parametrize(
    ("sent", "value"),
    [
        ({"valueBoolean": False}, False),
        ({"valueInteger": 0}, 0),
        ({"valueString": "clear"}, "clear"),
        ({"valueQuantity": {"value": 0, "unit": "mm Hg"}}, Quantity("0", "mm Hg", "", "", "mm[Hg]")),
        (
            {
                "valueQuantity": {
                    "value": 7,
                    "comparator": "<",
                    "unit": "x",
                    "system": "http://unitsofmeasure.org",
                    "code": "%",
                }
            },
            Quantity("7", "x", "%", "<", "%"),
        ),
        ({"valueRange": {"low": {"value": 1}}}, Range(Quantity("1"))),
        (
            {"valueRatio": {"numerator": {"value": 1}, "denominator": {"value": 128}}},
            Ratio(Quantity("1"), Quantity("128")),
        ),
        ({"valueTime": "09:30:00"}, "09:30:00"),
        ({"valueDateTime": "2020"}, ClinicalTime("2020", Precision.YEAR, 1577786400, 1609502399)),
        ({"valueCodeableConcept": {"text": "Negative"}}, CodedText("Negative")),
        ({"valueSampledData": {"data": "1 2 E"}}, "1 2 E"),
    ],
)
def test_every_sort_of_value_is_read_and_false_and_zero_are_values(sent: dict[str, Any], value: object) -> None:
    found = only(read(observation(**sent))).field("value")
    assert found == value
    assert type(found) is type(value)


def test_the_parts_of_a_panel_are_components_and_an_absent_value_says_why() -> None:
    panel = observation(
        component=[
            {"code": coded("8480-6", LOINC), "valueQuantity": {"value": 120, "unit": "mmHg"}},
            {"code": coded("8462-4", LOINC), "dataAbsentReason": coded("not-performed", "x")},
        ],
        dataAbsentReason={"text": "cuff too small"},
    )
    found = only(read(panel))
    assert found.components == (
        Component(
            CodedText("", (Coding(LOINC, "8480-6", "", "loinc|8480-6"),)), Quantity("120", "mmHg", "", "", "mm[Hg]")
        ),
        Component(CodedText("", (Coding(LOINC, "8462-4", "", "loinc|8462-4"),)), absent="not-performed"),
    )
    assert found.field("absent") == "cuff too small"


def test_a_reason_in_an_extension_of_the_value_is_read_too() -> None:
    absent = {"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "unknown"}
    assert only(read(observation(_valueString={"extension": [absent]}))).field("absent") == "unknown"


def test_a_reference_range_keeps_its_numbers_or_its_words() -> None:
    assert only(read(observation(referenceRange=[{"low": {"value": 4}, "high": {"value": 6}}]))).field(
        "reference_range"
    ) == Range(Quantity("4"), Quantity("6"))
    assert only(read(observation(referenceRange=[{"text": "negative"}]))).field("reference_range") == "negative"


# Medication


def test_a_dosage_is_read_into_dose_frequency_and_route() -> None:
    found = only(
        read(
            request(
                dosageInstruction=[
                    {
                        "text": "250 mg three times a day",
                        "timing": {
                            "repeat": {
                                "frequency": 3,
                                "period": 1,
                                "periodUnit": "d",
                                "boundsPeriod": {"start": "2026-02-10", "end": "2026-02-17"},
                            }
                        },
                        "asNeededBoolean": False,
                        "route": coded("26643006"),
                        "doseAndRate": [{"doseQuantity": {"value": 250, "unit": "mg"}}],
                    }
                ],
                dispenseRequest={
                    "numberOfRepeatsAllowed": 0,
                    "quantity": {"value": 21},
                    "validityPeriod": {"end": "2026-03-01"},
                },
                substitution={"allowedBoolean": False},
                reasonCode=[{"text": "otitis media"}],
            )
        )
    )
    expected: dict[str, object] = {
        "as_needed": False,
        "dosage_text": "250 mg three times a day",
        "dose": "250 mg",
        "dose_quantity": Quantity("250", "mg", "", "", "mg"),
        "frequency": "3 per 1 d",
        "intent": "order",
        "reason": CodedText("otitis media"),
        "refills": 0,
        "route": CodedText("", (Coding(SNOMED, "26643006", "", "snomed|26643006"),)),
        "substitution": False,
        "supply": Quantity("21"),
    }
    assert {field.name: field.value for field in found.fields} == expected
    assert [field.name for field in found.fields] == sorted(expected)
    assert when(found, Clock.EFFECTIVE) == ["2026-02-10 to 2026-02-17"]
    assert when(found, Clock.EXPIRES) == ["2026-03-01"]


def test_several_instructions_are_told_in_words_because_none_is_the_dose() -> None:
    found = only(
        read(
            request(
                dosageInstruction=[
                    {"text": "40 mg for 3 days"},
                    {
                        "timing": {"repeat": {"period": 12, "periodUnit": "h"}},
                        "doseAndRate": [{"doseRange": {"low": {"value": 1}, "high": {"value": 2}}}],
                        "asNeededCodeableConcept": {"text": "pain"},
                    },
                ]
            )
        )
    )
    assert found.field("dosage_text") == "40 mg for 3 days; 1 to 2 1 per 12 h as needed"
    assert found.field("dose") is None


def test_a_contained_medication_gives_its_code_and_a_reference_stays_a_reference() -> None:
    inside = {
        "resourceType": "Medication",
        "id": "med",
        "code": {"text": "Amoxicillin 250 mg/5 mL"},
        "form": {"text": "syrup"},
    }
    asked = request(contained=[inside], medicationReference={"reference": "#med"})
    del asked["medicationCodeableConcept"]
    found = only(read(asked), Kind.MEDICATION)
    assert found.concept == CodedText("Amoxicillin 250 mg/5 mL")
    assert found.field("form") == CodedText("syrup")
    elsewhere = {**asked, "contained": [], "medicationReference": {"reference": "Medication/9"}}
    found = only(read(elsewhere))
    assert found.concept is None
    assert Reference("medicationReference", "Medication/9") in found.references


def test_a_product_has_its_ingredients_as_components() -> None:
    found = only(
        read(
            {
                "resourceType": "Medication",
                "ingredient": [
                    {
                        "itemCodeableConcept": {"text": "amoxicillin"},
                        "strength": {
                            "numerator": {"value": 250, "unit": "mg"},
                            "denominator": {"value": 5, "unit": "mL"},
                        },
                    }
                ],
            }
        )
    )
    assert found.kind is Kind.MEDICATION_PRODUCT
    assert found.concept == CodedText("amoxicillin")
    assert str(found.field("strength")) == "250 mg / 5 mL"


# Allergy, family, immunization, encounter, goal


def test_each_manifestation_is_a_component_with_the_severity_of_its_reaction() -> None:
    found = only(
        read(
            {
                "resourceType": "AllergyIntolerance",
                "patient": OF_P,
                "code": {"text": "Amoxicillin"},
                "category": ["medication", "food"],
                "type": "allergy",
                "criticality": "high",
                "reaction": [
                    {
                        "substance": {"text": "co-amoxiclav"},
                        "manifestation": [{"text": "hives"}, {"text": "itch"}],
                        "severity": "mild",
                        "onset": "2012",
                    },
                    {"manifestation": [{"text": "anaphylaxis"}]},
                ],
            }
        )
    )
    assert found.components == (
        Component(CodedText("hives"), "mild"),
        Component(CodedText("itch"), "mild"),
        Component(CodedText("anaphylaxis")),
    )
    assert found.field("category") == "food,medication"
    assert found.field("reaction_substance") == CodedText("co-amoxiclav")
    assert when(found, Clock.OCCURRED) == ["2012"]


def test_a_relatives_conditions_stay_the_relatives() -> None:
    found = only(
        read(
            {
                "resourceType": "FamilyMemberHistory",
                "patient": OF_P,
                "status": "completed",
                "relationship": {"text": "mother"},
                "name": "M",
                "deceasedBoolean": True,
                "condition": [{"code": {"text": "Breast cancer"}, "onsetAge": {"value": 41, "unit": "a"}}],
            }
        )
    )
    assert found.kind is Kind.FAMILY_HISTORY
    assert found.field("relationship") == CodedText("mother")
    assert found.field("died") is True
    assert found.components == (Component(CodedText("Breast cancer"), Quantity("41", "a", "", "", "a")),)


def test_an_encounter_has_its_class_reason_and_period() -> None:
    found = only(
        read(
            {
                "resourceType": "Encounter",
                "subject": OF_P,
                "status": "finished",
                "class": {"system": "http://terminology.hl7.org/CodeSystem/v3-ActCode", "code": "AMB"},
                "type": [{"text": "check-up"}],
                "reasonCode": [{"text": "cough"}],
                "period": {"start": "2026-02-10T09:00:00+01:00"},
                "location": [{"location": {"display": "Room 4"}}],
            }
        )
    )
    assert found.concept == CodedText("check-up")
    assert found.field("class") == CodedText("", (Coding("http://terminology.hl7.org/CodeSystem/v3-ActCode", "AMB"),))
    assert (found.field("location"), found.standing) == ("Room 4", Standing.COMPLETED)
    assert when(found, Clock.EFFECTIVE) == ["2026-02-10T09:00:00+01:00 to"]


# Answers


def test_each_answer_is_a_statement_at_its_own_place_nested_ones_too() -> None:
    response = {
        "resourceType": "QuestionnaireResponse",
        "id": "qr",
        "questionnaire": "http://example.org/q",
        "status": "completed",
        "subject": OF_P,
        "authored": "2026-02-14",
        "item": [
            {
                "linkId": "1",
                "text": "Reactions",
                "item": [
                    {
                        "linkId": "1.1",
                        "text": "Any?",
                        "answer": [
                            {"valueBoolean": False, "item": [{"linkId": "1.1.1", "answer": [{"valueInteger": 0}]}]},
                            {"valueCoding": {"code": "x", "display": "Hives"}},
                        ],
                    },
                    {"linkId": "1.2", "text": "When?"},
                ],
            }
        ],
    }
    parsed = read(PATIENT, response)
    answers = [s for s in parsed.statements if s.kind is Kind.ANSWER]
    assert [(s.part, s.field("link_id"), s.field("value")) for s in answers] == [
        ("item/0/item/0/answer/0", "1.1", False),
        ("item/0/item/0/answer/0/item/0/answer/0", "1.1.1", 0),
        ("item/0/item/0/answer/1", "1.1", CodedText("", (Coding("", "x", "Hives"),))),
    ]
    assert answers[0].concept == CodedText("Any?", (Coding("", "1.1"),))
    assert answers[0].field("questionnaire") == "http://example.org/q"
    assert when(answers[0], Clock.AUTHORED) == ["2026-02-14"]
    places = {s.place.pointer for s in parsed.sightings}
    assert "/entry/1/resource/item/0/item/0/answer/1" in places
    unanswered = line(parsed, "/entry/1/resource/item/0/item/1")
    assert (unanswered.kind, unanswered.reason) == ("answer", Reason.EMPTY)


def test_another_answer_does_not_change_the_ids_of_the_first() -> None:
    response = {"resourceType": "QuestionnaireResponse", "id": "qr", "subject": OF_P}
    first = {"linkId": "1", "answer": [{"valueInteger": 6}]}
    alone = only(read({**response, "item": [first]}))
    both = read({**response, "item": [first, {"linkId": "2", "answer": [{"valueInteger": 7}]}]})
    assert both.statements[0].id == alone.id
    assert len({s.id for s in both.statements}) == 2


# References and identity


def test_references_are_kept_as_sent_with_their_element() -> None:
    found = only(
        read(
            request(
                reasonReference=[{"reference": "Condition/c"}, {"display": "sore ear"}],
                encounter={"identifier": {"system": "urn:visit", "value": "1"}, "type": "Encounter"},
                basedOn=[{"reference": "https://ehr.example/fhir/CarePlan/2/_history/3"}],
                priorPrescription={"reference": "MedicationRequest?identifier=urn:rx|9"},
            )
        )
    )
    assert found.references == (
        Reference("basedOn/0", "https://ehr.example/fhir/CarePlan/2/_history/3"),
        Reference("encounter", identifier="urn:visit|1", type="Encounter"),
        Reference("priorPrescription", "MedicationRequest?identifier=urn:rx|9"),
        Reference("reasonReference/0", "Condition/c"),
        Reference("reasonReference/1", display="sore ear"),
        Reference("subject", "Patient/p"),
    )


def test_a_record_without_an_id_is_named_by_its_url() -> None:
    unnamed = condition()
    del unnamed["id"]
    body = {"resourceType": "Bundle", "type": "document", "entry": [{"fullUrl": "urn:uuid:7", "resource": unnamed}]}
    record = only(read(body)).provenance.record
    assert (record.reference, record.url, record.key) == ("", "urn:uuid:7", "urn:uuid:7")


def test_security_labels_are_kept_on_statements() -> None:
    security = [{"system": "s", "code": "R"}, {"system": "s", "code": "42CFRPart2"}, {"system": "s", "code": "R"}]
    assert [str(x) for x in only(read(condition(meta={"security": security}))).labels] == ["s|42CFRPart2", "s|R"]


# Items that say little


def test_an_item_that_says_nothing_is_empty_and_one_with_only_a_narrative_is_text() -> None:
    bare = {"resourceType": "Condition", "id": "c", "subject": OF_P, "clinicalStatus": coded("active")}
    parsed = read(bare)
    assert parsed.statements == ()
    assert line(parsed, "").reason is Reason.EMPTY
    told = {**bare, "text": {"status": "generated", "div": "<div>Bad <b>knees</b>&amp; hips<br/>since 2010</div>"}}
    parsed = read(told)
    assert line(parsed, "").outcome is Outcome.TEXT_ONLY
    assert [p.text for p in parsed.passages] == ["Bad knees& hips\nsince 2010"]


def test_unconfirmed_is_a_verification() -> None:
    assert only(read(condition(verificationStatus=coded("unconfirmed")))).verification is Verification.UNCONFIRMED

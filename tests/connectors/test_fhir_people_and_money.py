"""What persons, devices, claims and coverages say, as FHIR R4 defines them."""

from __future__ import annotations

from typing import Any

from fhir_small import OF_P, PATIENT, only, read

from iamata.model.coding import CodedText, Quantity
from iamata.model.statement import (
    Component,
    Domain,
    Kind,
    Reference,
)

SNOMED = "http://snomed.info/sct"
LOINC = "http://loinc.org"


def coded(code: str, system: str = SNOMED, **more: Any) -> dict[str, Any]:
    return {"coding": [{"system": system, "code": code}], **more}


def test_a_patient_is_a_demographic_statement() -> None:
    found = only(
        read(
            {
                **PATIENT,
                "identifier": [{"system": "urn:mrn", "value": "4711"}],
                "name": [
                    {"use": "old", "family": "Reed"},
                    {"use": "official", "family": "Moss", "given": ["Ida", None]},
                ],
                "birthDate": "1961-04-02",
                "gender": "female",
                "deceasedBoolean": False,
                "communication": [
                    {"language": {"text": "Welsh"}},
                    {"language": {"text": "English"}, "preferred": True},
                ],
                "address": [{"line": ["1 Harbour St"], "city": "Bangor"}],
                "extension": [
                    {
                        "url": "http://hl7.org/fhir/us/core/StructureDefinition/us-core-race",
                        "extension": [{"url": "text", "valueString": "White"}],
                    }
                ],
            }
        )
    )
    assert (found.kind, found.domain) == (Kind.DEMOGRAPHIC, Domain.ADMINISTRATIVE)
    assert {field.name: str(field.value) for field in found.fields if field.name != "language"} == {
        "address": "1 Harbour St, Bangor",
        "birth_date": "1961-04-02",
        "deceased": "False",
        "name": "Ida Moss",
        "race": "White",
        "sex": "female",
    }
    assert found.field("language") == CodedText("English")
    assert [str(each) for each in found.identifiers] == ["urn:mrn|4711"]


def test_a_device_is_the_patients_or_a_possible_author_never_both() -> None:
    cuff = {"resourceType": "Device", "id": "d", "type": {"text": "cuff"}, "udiCarrier": [{"deviceIdentifier": "001"}]}
    assert only(read({**cuff, "patient": OF_P})).kind is Kind.DEVICE
    beside = only(read(cuff))
    assert (beside.kind, beside.field("udi")) == (Kind.PERSON, "001")


def test_persons_have_a_name_and_a_type() -> None:
    parsed = read(
        {
            "resourceType": "Practitioner",
            "id": "a",
            "name": [{"family": "Ames"}],
            "identifier": [{"system": "http://hl7.org/fhir/sid/us-npi", "value": "1"}],
        },
        {"resourceType": "Organization", "id": "o", "name": "Harbour Clinic"},
        {"resourceType": "RelatedPerson", "id": "r", "patient": OF_P, "relationship": [{"text": "mother"}]},
        {
            "resourceType": "PractitionerRole",
            "id": "pr",
            "practitioner": {"reference": "Practitioner/a", "display": "Dr Ames"},
        },
        {"resourceType": "Location", "id": "l", "name": "Ward 3"},
    )
    assert {s.kind for s in parsed.statements} == {Kind.PERSON}
    assert [(s.field("type"), s.field("name")) for s in parsed.statements] == [
        ("practitioner", "Ames"),
        ("organization", "Harbour Clinic"),
        ("related_person", None),
        ("practitioner_role", "Dr Ames"),
        ("location", "Ward 3"),
    ]
    assert parsed.statements[0].field("npi") == "1"
    assert parsed.statements[2].field("relationship") == CodedText("mother")


def test_a_claim_keeps_its_diagnoses_as_billed() -> None:
    icd = "http://hl7.org/fhir/sid/icd-10-cm"
    found = only(
        read(
            {
                "resourceType": "Claim",
                "patient": OF_P,
                "status": "active",
                "use": "claim",
                "provider": {"display": "Harbour Clinic"},
                "total": {"value": 125.5, "currency": "USD"},
                "diagnosis": [
                    {"sequence": 1, "diagnosisCodeableConcept": coded("E11.9", icd)},
                    {"sequence": 2, "diagnosisReference": {"reference": "Condition/c"}},
                ],
                "item": [{"productOrService": {"text": "visit"}, "net": {"value": 10, "currency": "USD"}}],
            }
        )
    )
    assert found.domain is Domain.FINANCIAL
    assert found.field("diagnosis") == "icd10cm|E119"
    assert found.field("total") == Quantity("125.5", "USD")
    assert found.components == (Component(CodedText("visit"), Quantity("10", "USD")),)
    assert Reference("diagnosis/1/diagnosisReference", "Condition/c") in found.references


def test_a_coverage_names_plan_member_and_payer() -> None:
    found = only(
        read(
            {
                "resourceType": "Coverage",
                "beneficiary": OF_P,
                "payor": [{"reference": "Organization/i", "display": "Insurer"}],
                "identifier": [{"type": coded("MB", "http://terminology.hl7.org/CodeSystem/v2-0203"), "value": "M1"}],
                "class": [
                    {"type": coded("plan", "x"), "value": "P", "name": "Gold"},
                    {"type": coded("group", "x"), "value": "G"},
                ],
            }
        )
    )
    assert [found.field(name) for name in ("plan", "group", "member_id", "payor")] == ["Gold", "G", "M1", "Insurer"]

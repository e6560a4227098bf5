"""Leo, 4 years old (design 12), as two senders and his mother tell of him. Made up, like every name here."""

from __future__ import annotations

import base64
from typing import Any

NOTE = "EXAM\nThe right ear drum is red and bulging.\n\nPLAN\nAmoxicillin for ten days, come back if no better."

_SCT = "http://snomed.info/sct"


def _concept(text: str, code: str = "", system: str = _SCT) -> dict[str, Any]:
    return {"text": text} | ({"coding": [{"system": system, "code": code, "display": text}]} if code else {})


def _bundle(source: str, *resources: dict[str, Any]) -> dict[str, Any]:
    return {
        "resourceType": "Bundle",
        "type": "collection",
        "meta": {"source": source},
        "entry": [
            {"fullUrl": f"https://{source}.example/{each['resourceType']}/{each['id']}", "resource": each}
            for each in resources
        ],
    }


_LEO = {"reference": "Patient/leo"}
_AMES = {"reference": "Practitioner/ames", "display": "Dr Ames"}
_ACTIVE = {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/condition-clinical", "code": "active"}]}


def northside() -> dict[str, Any]:
    """The EHR's bundle: 13 resources, one of a type that nobody reads."""
    return _bundle(
        "northside",
        {
            "resourceType": "Patient",
            "id": "leo",
            "name": [{"family": "Zebrafish", "given": ["Leo"]}],
            "birthDate": "2021-12-24",
            "gender": "male",
        },
        {"resourceType": "Practitioner", "id": "ames", "name": [{"family": "Ames"}]},
        {
            "resourceType": "AllergyIntolerance",
            "id": "nka",
            "patient": _LEO,
            "code": _concept("No known allergies", "716186003"),
            "recordedDate": "2024-03-02",
            "recorder": _AMES,
            "clinicalStatus": {
                "coding": [
                    {"system": "http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical", "code": "active"}
                ]
            },
        },
        {
            "resourceType": "MedicationRequest",
            "id": "amox",
            "status": "active",
            "intent": "order",
            "subject": _LEO,
            "authoredOn": "2026-02-10",
            "requester": _AMES,
            "medicationCodeableConcept": _concept("Amoxicillin 250 mg/5 mL"),
            "reasonReference": [{"reference": "Condition/otitis"}],
            "dosageInstruction": [{"text": "250 mg three times a day"}],
        },
        {
            "resourceType": "Condition",
            "id": "otitis",
            "subject": _LEO,
            "code": _concept("Otitis media", "65363002"),
            "clinicalStatus": _ACTIVE,
            "onsetDateTime": "2026-02-10",
            "recordedDate": "2026-02-10",
            "recorder": _AMES,
            "encounter": {"reference": "Encounter/visit"},
        },
        {
            "resourceType": "Encounter",
            "id": "visit",
            "status": "finished",
            "class": {"system": "http://terminology.hl7.org/CodeSystem/v3-ActCode", "code": "AMB"},
            "type": [_concept("Sick visit")],
            "subject": _LEO,
            "period": {"start": "2026-02-10T10:00:00Z", "end": "2026-02-10T10:30:00Z"},
        },
        {
            "resourceType": "Observation",
            "id": "weight",
            "status": "final",
            "category": [
                _concept("Vital Signs", "vital-signs", "http://terminology.hl7.org/CodeSystem/observation-category")
            ],
            "code": _concept("Body weight", "29463-7", "http://loinc.org"),
            "subject": _LEO,
            "effectiveDateTime": "2026-02-10T10:05:00Z",
            "valueQuantity": {"value": 16.4, "unit": "kg", "system": "http://unitsofmeasure.org", "code": "kg"},
        },
        {
            "resourceType": "Procedure",
            "id": "otoscopy",
            "status": "completed",
            "code": _concept("Otoscopy"),
            "subject": _LEO,
            "performedDateTime": "2026-02-10",
        },
        {
            "resourceType": "Immunization",
            "id": "mmr",
            "status": "completed",
            "vaccineCode": _concept("MMR", "03", "http://hl7.org/fhir/sid/cvx"),
            "patient": _LEO,
            "occurrenceDateTime": "2023-05-01",
        },
        {
            "resourceType": "FamilyMemberHistory",
            "id": "aunt",
            "status": "completed",
            "patient": _LEO,
            "relationship": _concept("Aunt"),
            "condition": [{"code": _concept("Peanut allergy")}],
        },
        {
            "resourceType": "Coverage",
            "id": "plan",
            "status": "active",
            "beneficiary": _LEO,
            "subscriberId": "M-1",
            "payor": [{"display": "Family Plan"}],
            "period": {"start": "2025-01-01"},
        },
        {
            "resourceType": "DocumentReference",
            "id": "note",
            "status": "current",
            "subject": _LEO,
            "date": "2026-02-10T11:00:00Z",
            "type": _concept("Progress note"),
            "author": [_AMES],
            "content": [
                {"attachment": {"contentType": "text/plain", "data": base64.b64encode(NOTE.encode()).decode()}}
            ],
        },
        {"resourceType": "Basic", "id": "x", "code": _concept("something else"), "subject": _LEO},
    )


def eastgate() -> dict[str, Any]:
    """The hospital's bundle: the same otitis, with another severity."""
    return _bundle(
        "eastgate",
        {
            "resourceType": "Patient",
            "id": "leo-e",
            "name": [{"family": "Zebrafish", "given": ["Leo"]}],
            "gender": "male",
        },
        {
            "resourceType": "Condition",
            "id": "e1",
            "subject": {"reference": "Patient/leo-e"},
            "code": _concept("Otitis media", "65363002"),
            "clinicalStatus": _ACTIVE,
            "onsetDateTime": "2026-02-10",
            "recordedDate": "2026-02-11",
            "recorder": {"reference": "Practitioner/e", "display": "Dr East"},
        },
    )


def talk() -> list[dict[str, Any]]:
    """What the mother says to the agent; the contract's fields and ours."""
    return [
        {"role": "assistant", "content": "How is Leo doing?"},
        {
            "role": "user",
            "content": "We stopped the amoxicillin on Thursday, he was covered in hives.",
            "speaker": "caregiver",
            "relationship": "mother",
            "saidAt": "2026-02-15T08:00:00Z",
        },
        {
            "role": "user",
            "content": "My sister is allergic to peanuts, by the way.",
            "speaker": "caregiver",
            "relationship": "mother",
            "saidAt": "2026-02-15T08:01:00Z",
        },
    ]

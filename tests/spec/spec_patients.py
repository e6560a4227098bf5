"""Small patients for the behaviour chapters, and the clock they are told by."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

NOW = datetime(2026, 2, 15, 10, tzinfo=UTC)
RESTRICTED = {"system": "http://terminology.hl7.org/CodeSystem/v3-Confidentiality", "code": "R"}


class HandClock:
    """A clock that stands still until a test moves it on."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def wait(self, **span: float) -> datetime:
        """Let time pass (`minutes=1`); the new now."""
        self.now += timedelta(**span)
        return self.now


def entries(*resources: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"resource": {"resourceType": "Patient", "id": "p"}}, *({"resource": r} for r in resources)]


def bundle(*resources: dict[str, Any]) -> bytes:
    """A bundle of the patient `p` with these resources."""
    return json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries(*resources)}).encode()


def order(dose: str, *, id: str = "m1", status: str = "active", day: str = "2026-02-10", **more: Any) -> dict[str, Any]:
    return {
        "resourceType": "MedicationRequest",
        "id": id,
        "status": status,
        "intent": "order",
        "subject": {"reference": "Patient/p"},
        "medicationCodeableConcept": {"text": "Lisinopril"},
        "authoredOn": day,
        "dosageInstruction": [{"text": dose}],
        **more,
    }


def condition(text: str, *, id: str = "c1", onset: str = "", **more: Any) -> dict[str, Any]:
    found = {
        "resourceType": "Condition",
        "id": id,
        "subject": {"reference": "Patient/p"},
        "code": {"text": text},
        "clinicalStatus": {"coding": [{"code": "active"}]},
        **more,
    }
    return found | ({"onsetDateTime": onset} if onset else {})


def allergy(text: str, *, id: str = "a1", **more: Any) -> dict[str, Any]:
    return {
        "resourceType": "AllergyIntolerance",
        "id": id,
        "patient": {"reference": "Patient/p"},
        "code": {"text": text},
        "clinicalStatus": {"coding": [{"code": "active"}]},
        **more,
    }


def result(text: str, value: float, *, id: str = "o1", day: str = "2026-02-01", **more: Any) -> dict[str, Any]:
    return {
        "resourceType": "Observation",
        "id": id,
        "status": "final",
        "subject": {"reference": "Patient/p"},
        "code": {"text": text},
        "effectiveDateTime": day,
        "valueQuantity": {"value": value, "unit": "mg/dL"},
        **more,
    }

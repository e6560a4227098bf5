"""Small FHIR resources one can see whole, and one call that reads them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from iamata.connectors.registry import parse
from iamata.model.attribution import AuthorshipEvidence
from iamata.model.clinical_time import Clock
from iamata.model.document import IntakeLine
from iamata.model.identifiers import IdMint
from iamata.model.scope import patient
from iamata.model.statement import Kind, Statement
from iamata.ports import Parsed

Json = dict[str, Any]

MINT = IdMint(b"k" * 32)
RECEIVED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PATIENT: Json = {"resourceType": "Patient", "id": "p"}
OF_P: Json = {"reference": "Patient/p"}


def read(*resources: Json, document: str = "en_1", **more: Any) -> Parsed:
    """One resource as it is, several as the entries of a collection."""
    value = resources[0] if len(resources) == 1 else bundle(*resources)
    return read_bytes(json.dumps(value).encode(), document=document, **more)


def read_bytes(body: bytes, *, document: str = "en_1", source: str = "northside", subject: str = "leo") -> Parsed:
    return parse(
        body,
        format="fhir/r4",
        subject=patient(subject),
        source=source,
        mint=MINT,
        document=document,
        received_at=RECEIVED,
    )


def bundle(*resources: Json, **more: Any) -> Json:
    return {"resourceType": "Bundle", "type": "collection", **more, "entry": [{"resource": r} for r in resources]}


def condition(**more: Any) -> Json:
    return {"resourceType": "Condition", "id": "c", "subject": OF_P, "code": {"text": "Migraine"}, **more}


def observation(**more: Any) -> Json:
    return {
        "resourceType": "Observation",
        "id": "o",
        "status": "final",
        "subject": OF_P,
        "code": {"coding": [{"system": "http://loinc.org", "code": "8867-4", "display": "Heart rate"}]},
        **more,
    }


def request(**more: Any) -> Json:
    return {
        "resourceType": "MedicationRequest",
        "id": "m",
        "status": "active",
        "intent": "order",
        "subject": OF_P,
        "medicationCodeableConcept": {"text": "Amoxicillin"},
        **more,
    }


def only(parsed: Parsed, kind: Kind | None = None) -> Statement:
    """The one statement (of this kind)."""
    (found,) = [s for s in parsed.statements if kind is None or s.kind is kind]
    return found


def line(parsed: Parsed, place: str) -> IntakeLine:
    (found,) = [each for each in parsed.intake if each.place == place]
    return found


def who(statement: Statement) -> list[tuple[str, str, str]]:
    """Part, element, and what it names."""
    return [(e.part.value, e.element, named(e)) for e in statement.authorship]


def named(evidence: AuthorshipEvidence) -> str:
    return evidence.reference or evidence.identifier or evidence.value or evidence.display


def when(statement: Statement, clock: Clock) -> list[str]:
    return [str(timed.at) for timed in statement.times if timed.clock is clock]

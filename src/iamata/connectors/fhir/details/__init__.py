"""What a type says beyond its mapping: one function a type, by subject. `DETAILS` finds them by the mapping's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from iamata.connectors.fhir.details import care, findings, medicines, money, people
from iamata.connectors.fhir.drafts import Draft
from iamata.connectors.fhir.entries import Item
from iamata.connectors.fhir.values import Values

DETAILS: Final[dict[str, Callable[[Item, Values, Draft], None]]] = {
    "condition": findings.condition,
    "allergy": findings.allergy,
    "observation": findings.observation,
    "family": findings.family,
    "procedure": findings.procedure,
    "risk": findings.risk,
    "medication": medicines.medication,
    "administration": medicines.administration,
    "product": medicines.product,
    "immunization": medicines.immunization,
    "encounter": care.encounter,
    "goal": care.goal,
    "plan": care.plan,
    "team": care.team,
    "order": care.order,
    "nutrition": care.nutrition,
    "message_request": care.message_request,
    "specimen": care.specimen,
    "appointment": care.appointment,
    "communication": care.communication,
    "consent": care.consent,
    "imaging": care.imaging,
    "provenance": care.provenance,
    "composition": care.composition,
    "listing": care.listing,
    "coverage": money.coverage,
    "claim": money.claim,
    "patient": people.patient,
    "person": people.person,
    "device": people.device,
}

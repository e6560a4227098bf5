"""How is an author written in FHIR, and which element of a resource names who said it?

Whoever reads a resource without its Provenance finds one author in the element that FHIR has for it; all of them, with
the capacity in which they spoke, stand in the Provenance.
"""

from __future__ import annotations

from typing import Final

from iamata.assembly.fhir.values import Json, clean
from iamata.model.attribution import Attribution, AttributionKind, Author, Role

_TYPES: Final = {
    Role.PATIENT: "Patient",
    Role.PROXY: "RelatedPerson",
    Role.CLINICIAN: "Practitioner",
    Role.COORDINATOR: "Practitioner",
    Role.STAFF: "Practitioner",
    Role.OPERATOR: "Practitioner",
    Role.INSTRUMENT: "Device",
    Role.AGENT: "Device",
    Role.SOFTWARE: "Device",
    Role.PHARMACY: "Organization",
    Role.LAB: "Organization",
    Role.PAYER: "Organization",
    Role.INSTITUTION: "Organization",
}
_PEOPLE: Final = frozenset({"Patient", "RelatedPerson", "Practitioner"})
_INDIVIDUALS: Final = _PEOPLE | {"Organization"}
# Type → (the element for the subject or a proxy, that for others, whom it may name, is it a list).
_ELEMENTS: Final = {
    "Condition": ("asserter", "recorder", _PEOPLE, False),
    "AllergyIntolerance": ("asserter", "recorder", _PEOPLE, False),
    "MedicationStatement": ("informationSource", "informationSource", _INDIVIDUALS, False),
    "MedicationRequest": ("requester", "requester", _INDIVIDUALS, False),
    "Observation": ("performer", "performer", _INDIVIDUALS, True),
    "ServiceRequest": ("requester", "requester", _INDIVIDUALS, False),
    "DiagnosticReport": ("performer", "performer", frozenset({"Practitioner", "Organization"}), True),
}


def who(patient: Json, author: Author) -> Json:
    """A Reference to an author: the patient as resource, others by type and name as their source gave it."""
    if author.role is Role.PATIENT:
        return patient | {"type": "Patient"}
    found: Json = {}
    if type := _TYPES.get(author.role):
        found["type"] = type
    found["display"] = clean(author.display) or clean(author.reference) or author.role.value
    return found


def said_by(type: str, attribution: Attribution, patient: Json) -> Json:
    """The element of a resource of this type that names this author; empty if it has none for such an author."""
    told = _ELEMENTS.get(type)
    if told is None or attribution.author.role is Role.UNKNOWN:
        return {}
    own, others, allowed, many = told
    reference = who(patient, attribution.author)
    if reference.get("type") not in allowed:
        return {}
    return {own if attribution.kind is AttributionKind.USER else others: [reference] if many else reference}

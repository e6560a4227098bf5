"""What do findings say beyond their rows: statuses, onset and end, reactions, measured parts, relatives' conditions?"""

from __future__ import annotations

from typing import Final

from iamata.assembly.fhir.values import Json, absent, choice, coded, concept, number, put, words
from iamata.model.clinical_time import ClinicalTime, Period
from iamata.model.coding import CodedText, Quantity, Range
from iamata.model.fact import Fact
from iamata.model.statement import Component, Kind, Polarity, Standing, Verification
from iamata.terminology.statuses import negation

_CLINICAL: Final = "http://terminology.hl7.org/CodeSystem/condition-clinical"
_CERTAINTY: Final = "http://terminology.hl7.org/CodeSystem/condition-ver-status"
_ALLERGY_CLINICAL: Final = "http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical"
_ALLERGY_CERTAINTY: Final = "http://terminology.hl7.org/CodeSystem/allergyintolerance-verification"
_CATEGORIES: Final = "http://terminology.hl7.org/CodeSystem/observation-category"
_REASONS: Final = "http://terminology.hl7.org/CodeSystem/data-absent-reason"
_STATUSES: Final = {
    Standing.ACTIVE: "active",
    Standing.INACTIVE: "inactive",
    Standing.RESOLVED: "resolved",
    Standing.COMPLETED: "resolved",
    Standing.STOPPED: "resolved",
}
_VERIFIED: Final = {
    Verification.CONFIRMED: "confirmed",
    Verification.PROVISIONAL: "provisional",
    Verification.DIFFERENTIAL: "differential",
    Verification.UNCONFIRMED: "unconfirmed",
    Verification.REFUTED: "refuted",
}
_ONSET: Final = frozenset({"dateTime", "Period", "string"})
_VALUE: Final = frozenset(
    {"Quantity", "CodeableConcept", "string", "boolean", "integer", "Range", "Ratio", "dateTime", "Period"}
)
_PERFORMED: Final = frozenset({"dateTime", "Period", "string"})
_REACTION_SEVERITIES: Final = frozenset({"mild", "moderate", "severe"})
_ALLERGY_CATEGORIES: Final = frozenset({"food", "medication", "environment", "biologic"})


def refuted(fact: Fact) -> bool:
    """Is it denied in so many words? "No known …" is a statement of its own, and its code says it."""
    return fact.polarity is Polarity.DENIED and negation(fact.concept) is None


def condition(fact: Fact, resource: Json) -> None:
    certainty = "refuted" if refuted(fact) else _VERIFIED.get(fact.verification, "")
    status = _STATUSES.get(fact.standing, "")
    if status:
        resource["clinicalStatus"] = coded(_CLINICAL, status)
    elif any("problem-list-item" in words(c) for c in _codes(fact, "category")):  # FHIR R4 Condition con-3
        resource["clinicalStatus"] = absent()
    if certainty:
        resource["verificationStatus"] = coded(_CERTAINTY, certainty)
    onset = fact.value("onset")
    if onset is None:
        onset = fact.value("onset_age")
    resource |= choice("onset", onset, _ONSET)
    if status in ("resolved", "inactive"):  # FHIR R4 Condition con-4: it ends only if it is over
        resource |= choice("abatement", fact.value("abatement") or fact.value("abatement_text"), _ONSET)
    stage = fact.value("stage")
    if isinstance(stage, CodedText):
        resource["stage"] = [{"summary": concept(stage)}]


def _codes(fact: Fact, field: str) -> list[str]:
    value = fact.value(field)
    return [coding.code for coding in value.codings] if isinstance(value, CodedText) else []


def allergy(fact: Fact, resource: Json) -> None:
    certainty = "refuted" if refuted(fact) else _VERIFIED.get(fact.verification, "")
    status = _STATUSES.get(fact.standing, "")
    # FHIR R4 AllergyIntolerance ait-1: there is a clinical status; nobody may have said which.
    resource["clinicalStatus"] = coded(_ALLERGY_CLINICAL, status) if status else absent()
    if certainty in ("confirmed", "unconfirmed", "refuted"):
        resource["verificationStatus"] = coded(_ALLERGY_CERTAINTY, certainty)
    elif certainty:
        resource["verificationStatus"] = coded(_ALLERGY_CERTAINTY, "unconfirmed")
    said = words(fact.value("category")).lower().split(",")
    put(resource, "category", [each for each in said if each in _ALLERGY_CATEGORIES])
    resource |= choice("onset", fact.value("onset"), _ONSET)
    reactions = [_reaction(component) for component in fact.components]
    text = words(fact.value("reaction_text"))
    if text and reactions:
        reactions[0]["description"] = text
    elif text:
        reactions = [{"manifestation": [{"text": text}]}]
    put(resource, "reaction", reactions)


def _reaction(component: Component) -> Json:
    found: Json = {"manifestation": [concept(component.concept)]}
    severity = words(component.value).lower()
    if severity in _REACTION_SEVERITIES:
        found["severity"] = severity
    return found


def observation(fact: Fact, resource: Json) -> None:
    held = choice("value", fact.value("value"), _VALUE)
    resource |= held
    if fact.kind is Kind.SOCIAL_HISTORY:
        _category(resource, "social-history")
    elif fact.kind is Kind.ANSWER:
        _category(resource, "survey")
    why = words(fact.value("absent"))
    if why and not held:
        resource["dataAbsentReason"] = coded(_REASONS, why) if why.islower() and " " not in why else {"text": why}
    reference = fact.value("reference_range")
    if isinstance(reference, Range):
        ends = {end: _end(q) for end, q in (("low", reference.low), ("high", reference.high)) if q is not None}
        put(resource, "referenceRange", [{k: v for k, v in ends.items() if v}])
        if not resource["referenceRange"][0]:
            resource["referenceRange"] = [{"text": words(reference)}]
    elif reference is not None:
        resource["referenceRange"] = [{"text": words(reference)}]
    put(resource, "component", [_component(component) for component in fact.components])


def _end(value: Quantity) -> Json:
    found = choice("x", value, frozenset({"Quantity"})).get("xQuantity", {})
    return {k: v for k, v in found.items() if k != "comparator"}


def _category(resource: Json, code: str) -> None:
    """The category by which it comes back as the kind that it is."""
    held = resource.setdefault("category", [])
    if not any(c.get("code") == code for each in held for c in each.get("coding", ())):
        held.append(coded(_CATEGORIES, code))


def _component(component: Component) -> Json:
    found: Json = {"code": concept(component.concept)}
    value = choice("value", component.value, _VALUE)
    found |= value
    if component.interpretation:
        found["interpretation"] = [{"text": component.interpretation}]
    if component.absent and not value:
        found["dataAbsentReason"] = {"text": component.absent}
    return found


def family(fact: Fact, resource: Json) -> None:
    relation = fact.value("relationship") or fact.concept
    resource["relationship"] = concept(relation if isinstance(relation, CodedText) else words(relation))
    resource |= choice("born", fact.value("born"), frozenset({"Period", "string"}))
    if "bornPeriod" not in resource and isinstance(born := fact.value("born"), ClinicalTime):
        resource.pop("bornString", None)
        resource |= {"bornDate": born.text[:10]} if born.day else {"bornString": born.text}
    if "bornDate" not in resource and "bornPeriod" not in resource:
        resource |= choice("age", fact.value("age"), frozenset({"string"}))
    died = fact.value("died")
    if isinstance(died, bool):
        resource["deceasedBoolean"] = died
    elif died is not None:
        resource |= choice("deceased", died, frozenset({"string"}))
    conditions = []
    for component in fact.components:
        conditions.append(
            {"code": concept(component.concept)} | choice("onset", component.value, frozenset({"string"}))
        )
    put(resource, "condition", conditions)


def procedure(fact: Fact, resource: Json) -> None:
    if fact.polarity is Polarity.DENIED and negation(fact.concept) is None:
        resource["status"] = "not-done"
    performed = fact.value("performed")
    if performed is None and fact.when is not None:
        performed = fact.when.at
    resource |= choice("performed", performed if performed is not None else fact.value("age_at"), _PERFORMED)


def immunization(fact: Fact, resource: Json) -> None:
    when = fact.value("occurrence")
    if when is None and fact.when is not None:
        when = fact.when.start or fact.when.end
    if isinstance(when, Period):
        when = when.start or when.end
    held = choice("occurrence", when, frozenset({"dateTime", "string"}))
    resource |= held or {"occurrenceString": "unknown"}  # FHIR R4 asks for one
    series, dose = words(fact.value("series")), fact.value("dose_number")
    if dose is not None:  # FHIR R4 Immunization.protocolApplied: the dose number is what it must say
        positive = isinstance(dose, int) and not isinstance(dose, bool) and dose > 0
        told = {"doseNumberPositiveInt": dose} if positive else {"doseNumberString": words(dose)}
        resource["protocolApplied"] = [({"series": series} if series else {}) | told]


def risk(fact: Fact, resource: Json) -> None:
    predictions = []
    for component in fact.components:
        prediction: Json = {"outcome": concept(component.concept)}
        if isinstance(component.value, CodedText):
            prediction["qualitativeRisk"] = concept(component.value)
        elif isinstance(component.value, str) and (amount := number(component.value)) is not None:
            prediction["probabilityDecimal"] = amount
        predictions.append(prediction)
    put(resource, "prediction", predictions)

"""What do visits, plans, coverage, devices and the rest say beyond their rows?"""

from __future__ import annotations

from typing import Final

from iamata.assembly.fhir.values import Json, choice, coded, concept, day, period, put, system, words
from iamata.model.clinical_time import ClinicalTime, Clock, Period
from iamata.model.coding import CodedText
from iamata.model.fact import Fact
from iamata.model.statement import UNSAID_ROLE

_ACT: Final = "http://terminology.hl7.org/CodeSystem/v3-ActCode"
_UNKNOWN: Final = "http://terminology.hl7.org/CodeSystem/v3-NullFlavor"
_SCOPES: Final = "http://terminology.hl7.org/CodeSystem/consentscope"
_COVERAGE_CLASS: Final = "http://terminology.hl7.org/CodeSystem/coverage-class"
_INTENTS: Final = frozenset(
    {
        "proposal",
        "plan",
        "directive",
        "order",
        "original-order",
        "reflex-order",
        "filler-order",
        "instance-order",
        "option",
    }
)


def encounter(fact: Fact, resource: Json) -> None:
    """FHIR R4 asks for a class; who sent none is told to have sent none."""
    held = fact.value("class")
    coding: Json = {"system": _UNKNOWN, "code": "UNK", "display": "unknown"}
    if isinstance(held, CodedText) and held.codings:
        first = held.codings[0]
        coding = {}
        put(
            coding, "system", system(first.system) or (_ACT if first.code in ("AMB", "IMP", "EMER", "HH", "VR") else "")
        )
        put(coding, "code", first.code)
        put(coding, "display", first.display or held.text)
    elif held is not None and words(held):
        coding = {"display": words(held)}
    resource["class"] = coding
    place = words(fact.value("location"))
    if place:
        resource["location"] = [{"location": {"display": place}}]
    disposition = fact.value("disposition")
    if disposition is not None:
        said = disposition if isinstance(disposition, CodedText) else words(disposition)
        resource["hospitalization"] = {"dischargeDisposition": concept(said)}


def device(fact: Fact, resource: Json) -> None:
    udi, name = words(fact.value("udi")), words(fact.value("name"))
    if udi:
        resource["udiCarrier"] = [{"deviceIdentifier": udi}]
    if name:
        resource["deviceName"] = [{"name": name, "type": "user-friendly-name"}]
    if "type" not in resource and (said := fact.value("type")) is not None:
        resource["type"] = concept(said if isinstance(said, CodedText) else words(said))


def coverage(fact: Fact, resource: Json) -> None:
    """FHIR R4 asks for a payor; one that nobody named is called unknown."""
    payors = list(filter(None, (part.strip() for part in words(fact.value("payor")).split(";"))))
    resource["payor"] = [{"display": name} for name in payors] or [{"display": "unknown"}]
    classes = [
        {"type": coded(_COVERAGE_CLASS, name), "value": said}
        for name in ("group", "plan")
        if (said := words(fact.value(name)))
    ]
    put(resource, "class", classes)


def consent(fact: Fact, resource: Json) -> None:
    """FHIR R4 asks for scope, category and policy; what nobody said is in the words of the directive."""
    said = fact.value("scope")
    resource["scope"] = (
        concept(said) if isinstance(said, CodedText) else coded(_SCOPES, "adr", "Advanced Care Directive")
    )
    category = fact.value("category")
    held = category if isinstance(category, CodedText) else fact.concept or fact.display
    resource["category"] = [concept(held, otherwise=fact.display)]
    policy = fact.value("policy")
    resource["policyRule"] = concept(policy if isinstance(policy, CodedText) else words(policy) or fact.display)
    decision = words(fact.value("decision")).lower()
    provision: Json = {}
    if decision in ("permit", "deny"):
        provision["type"] = decision
    if fact.when is not None and fact.when.clock is Clock.EFFECTIVE:
        put(provision, "period", period(fact.when.at if isinstance(fact.when.at, Period) else Period(fact.when.at)))
    put(resource, "provision", provision)


def order(fact: Fact, resource: Json) -> None:
    intent = words(fact.value("intent")).lower()
    resource["intent"] = intent if intent in _INTENTS else "order"


def goal(fact: Fact, resource: Json) -> None:
    if fact.when is not None and fact.when.clock is Clock.EFFECTIVE and (start := day(fact.when.start)):
        resource["startDate"] = start
    target: Json = {}
    measure, due = fact.value("measure"), fact.value("due")
    if isinstance(measure, CodedText):  # FHIR R4 Goal gol-1: a detail needs its measure
        target["measure"] = concept(measure)
        target |= choice("detail", fact.value("target"), frozenset({"Quantity", "Range", "CodeableConcept", "string"}))
    if isinstance(due, ClinicalTime) and day(due):
        target["dueDate"] = day(due)
    put(resource, "target", [target] if target else [])


def plan(fact: Fact, resource: Json) -> None:
    intent = words(fact.value("intent")).lower()
    resource["intent"] = intent if intent in ("proposal", "plan", "order", "option") else "plan"
    activities = [
        {"detail": {"code": concept(component.concept), "status": _status_of(words(component.value))}}
        for component in fact.components
    ]
    put(resource, "activity", activities)


def _status_of(said: str) -> str:
    known = ("not-started", "scheduled", "in-progress", "on-hold", "completed", "cancelled", "stopped")
    return said if said in known else "unknown"


def team(fact: Fact, resource: Json) -> None:
    participants = []
    for component in fact.components:
        member = words(component.value)
        role = [] if component.concept == CodedText(UNSAID_ROLE) else [concept(component.concept)]
        participants.append(({"role": role} if role else {}) | ({"member": {"display": member}} if member else {}))
    put(resource, "participant", participants)


def communication(fact: Fact, resource: Json) -> None:
    text = words(fact.value("text"))
    put(resource, "payload", [{"contentString": text}] if text else [])


def adverse_event(fact: Fact, resource: Json) -> None:
    said = words(fact.value("actuality"))
    resource["actuality"] = said if said in ("actual", "potential") else "actual"
    severity = fact.value("severity")
    if isinstance(severity, CodedText) and any(c.code in ("mild", "moderate", "severe") for c in severity.codings):
        resource["severity"] = concept(severity)

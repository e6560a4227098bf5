"""What do medicines say beyond their rows: the dose as it was said, how much was supplied, when it was given?"""

from __future__ import annotations

from typing import Final

from iamata.assembly.fhir.values import Json, absent, choice, concept, period, put, quantity, words
from iamata.model.clinical_time import Clock, Period
from iamata.model.coding import CodedText, Quantity
from iamata.model.fact import Fact
from iamata.model.statement import Polarity
from iamata.terminology.statuses import negation

_INTENTS: Final = frozenset(
    {"proposal", "plan", "order", "original-order", "reflex-order", "filler-order", "instance-order", "option"}
)


def _dosage(fact: Fact) -> Json:
    """One Dosage: its words, and what of it has an element of its own. How often stands in words."""
    dose, frequency = words(fact.value("dose")), words(fact.value("frequency"))
    said = words(fact.value("dosage_text"))
    found: Json = {}
    put(found, "text", said or " ".join(filter(None, (dose, frequency))))
    if frequency:
        found["timing"] = {"code": {"text": frequency}}
    if fact.value("as_needed") is True:
        found["asNeededBoolean"] = True
    for field, element in (("body_site", "site"), ("route", "route"), ("method", "method")):
        value = fact.value(field)
        if value is not None:
            found[element] = concept(value if isinstance(value, CodedText) else words(value))
    instruction = fact.value("instruction")
    if instruction is not None:
        found["additionalInstruction"] = [
            concept(instruction if isinstance(instruction, CodedText) else words(instruction))
        ]
    amount = _plain(fact.value("dose_quantity"))
    if amount:
        found["doseAndRate"] = [{"doseQuantity": amount}]
    return found


def _plain(value: object) -> Json | None:
    found = quantity(value) if isinstance(value, Quantity) else None
    return {k: v for k, v in found.items() if k != "comparator"} if found else None


def request(fact: Fact, resource: Json) -> None:
    intent = words(fact.value("intent")).lower()
    resource["intent"] = intent if intent in _INTENTS else "order"
    dosage = _dosage(fact)
    if fact.when is not None and fact.when.clock is Clock.EFFECTIVE:
        bounds = period(fact.when.at if isinstance(fact.when.at, Period) else Period(fact.when.at))
        if bounds:
            dosage.setdefault("timing", {})["repeat"] = {"boundsPeriod": bounds}
    put(resource, "dosageInstruction", [dosage] if dosage else [])
    supply: Json = {}
    put(supply, "numberOfRepeatsAllowed", fact.value("refills"), lambda v: v if type(v) is int and v > 0 else None)
    put(supply, "quantity", _plain(fact.value("supply")))
    put(supply, "expectedSupplyDuration", _plain(fact.value("days_supply")))
    put(resource, "dispenseRequest", supply)


def statement(fact: Fact, resource: Json) -> None:
    if fact.polarity is Polarity.DENIED and negation(fact.concept) is None:
        resource["status"] = "not-taken"
    dosage = _dosage(fact)
    put(resource, "dosage", [dosage] if dosage else [])


def administration(fact: Fact, resource: Json) -> None:
    when = fact.value("occurrence")
    if when is None and fact.when is not None:
        when = fact.when.at
    resource |= choice("effective", when, frozenset({"dateTime", "Period"})) or {"_effectiveDateTime": absent()}
    amount = _plain(fact.value("dose_quantity"))
    if amount:  # FHIR R4 MedicationAdministration mad-1 asks for a dose; without one its words are not told
        dosage = {k: v for k, v in _dosage(fact).items() if k in ("text", "site", "route", "method")}
        resource["dosage"] = dosage | {"dose": amount}


def dispense(fact: Fact, resource: Json) -> None:
    dosage = _dosage(fact)
    put(resource, "dosageInstruction", [dosage] if dosage else [])

"""What is said of a medicine: the product, the dose as said, how often, by which route, how much was supplied."""

from __future__ import annotations

from collections.abc import Iterator

from iamata.connectors.fhir.drafts import Draft
from iamata.connectors.fhir.entries import Item
from iamata.connectors.fhir.meaning import aspect_of
from iamata.connectors.fhir.times import frequency, repeat_of
from iamata.connectors.fhir.values import Json, Values, boolean, mapping, objects, string
from iamata.model.clinical_time import Clock
from iamata.model.coding import CodedText, Quantity
from iamata.model.statement import Aspect, Component, Value


def medication(item: Item, values: Values, draft: Draft) -> None:
    """MedicationRequest, MedicationStatement, MedicationDispense: the product if it is contained, and the dosages."""
    resource = item.resource
    _contained_product(item, values, draft)
    name = "dosageInstruction" if item.type != "MedicationStatement" else "dosage"
    dosages = [dosage for _index, dosage in objects(resource, name)]
    if len(dosages) == 1:
        for field, value in _dosage(dosages[0], values).items():
            draft.set(field, value)
        if item.type == "MedicationRequest":
            bounds = repeat_of(mapping(dosages[0].get("timing") or {}, f"{name}/timing")).get("boundsPeriod")
            if bounds is not None:
                draft.time(Clock.EFFECTIVE, values.times.period(bounds, f"{name}/timing/repeat/boundsPeriod"))
    elif dosages:
        # Several instructions (a taper, morning and evening) are told in words only: no one dose is *the* dose.
        draft.set("dosage_text", "; ".join(filter(None, (_said(dosage, values) for dosage in dosages))))
    if resource.get("authoredOn") is not None:
        draft.time(ordered_clock(resource, item.type), values.times.point(resource["authoredOn"], "authoredOn"))


def ordered_clock(resource: Json, type: str) -> Clock:
    """The clock of `authoredOn`: ordered for an order, authored for a plan, a proposal or a report of one."""
    return Clock.ORDERED if aspect_of(type, resource) is Aspect.ORDERED else Clock.AUTHORED


def administration(item: Item, values: Values, draft: Draft) -> None:
    _contained_product(item, values, draft)
    dosage = item.resource.get("dosage")
    if dosage is None:
        return
    holder = mapping(dosage, "dosage")
    draft.set("dosage_text", string(holder, "text"))
    draft.set("route", values.coded(holder.get("route"), "dosage/route"))
    draft.set("body_site", values.coded(holder.get("site"), "dosage/site"))
    if holder.get("dose") is not None:
        _dose(draft, values.quantity(holder["dose"], "dosage/dose"))
    for suffix in ("Quantity", "Ratio"):
        if holder.get(f"rate{suffix}") is not None:
            draft.set("rate", values.value((suffix, holder[f"rate{suffix}"]), "dosage/rate"))


def product(item: Item, values: Values, draft: Draft) -> None:
    """Medication: each ingredient a component with its strength; that of a single ingredient is the product's."""
    for index, ingredient in objects(item.resource, "ingredient"):
        at = f"ingredient/{index}"
        concept = values.coded(ingredient.get("itemCodeableConcept"), f"{at}/itemCodeableConcept")
        strength = _strength(ingredient, values, at)
        if concept is not None:
            draft.components.append(Component(concept, strength))
    strengths = [component.value for component in draft.components if component.value is not None]
    if len(strengths) == 1 and len(draft.components) == 1:
        draft.set("strength", strengths[0])
    if draft.concept is None and len(draft.components) == 1:
        draft.concept = draft.components[0].concept


def immunization(item: Item, values: Values, draft: Draft) -> None:
    resource = item.resource
    if resource.get("occurrenceDateTime") is not None:
        draft.time(Clock.EFFECTIVE, values.times.point(resource["occurrenceDateTime"], "occurrenceDateTime"))
    elif said := string(resource, "occurrenceString"):
        draft.time(Clock.EFFECTIVE, values.times.words(said))
    manufacturer = resource.get("manufacturer")
    if manufacturer is not None:
        draft.set("manufacturer", string(mapping(manufacturer, "manufacturer"), "display"))
    for index, reaction in objects(resource, "reaction"):
        if reaction.get("date") is not None:
            draft.time(Clock.OCCURRED, values.times.point(reaction["date"], f"reaction/{index}/date"))


def _contained_product(item: Item, values: Values, draft: Draft) -> None:
    """The code of a contained Medication: it stands in this very item. Those of others are found in the fold."""
    named = item.resource.get("medicationReference")
    if named is None or draft.concept is not None:
        return
    literal = string(mapping(named, "medicationReference"), "reference")
    for inner in item.contained:
        if inner.type == "Medication" and literal == f"#{inner.resource.get('id')}":
            draft.concept = values.coded(inner.resource.get("code"), f"{inner.place}/code")
            draft.set("form", values.coded(inner.resource.get("form"), f"{inner.place}/form"))


def _strength(ingredient: Json, values: Values, at: str) -> Value | None:
    return values.ratio(ingredient["strength"], f"{at}/strength") if ingredient.get("strength") is not None else None


def _dose(draft: Draft, dose: Quantity | None) -> None:
    if dose is not None:
        draft.set("dose", str(dose))
        draft.set("dose_quantity", dose)


def _dosage(dosage: Json, values: Values) -> dict[str, Value | None]:
    found: dict[str, Value | None] = {
        "dosage_text": string(dosage, "text") or string(dosage, "patientInstruction"),
        "route": values.coded(dosage.get("route"), "dosage/route"),
        "body_site": values.coded(dosage.get("site"), "dosage/site"),
        "method": values.coded(dosage.get("method"), "dosage/method"),
        "instruction": values.concepts(dosage, "additionalInstruction"),
        "frequency": frequency(mapping(dosage.get("timing") or {}, "dosage/timing")),
        "as_needed": _as_needed(dosage),
    }
    for dose in _doses(dosage, values):
        found["dose"] = str(dose)
        if isinstance(dose, Quantity):
            found["dose_quantity"] = dose
        break
    return found


def _doses(dosage: Json, values: Values) -> Iterator[Value]:
    for index, rate in objects(dosage, "doseAndRate"):
        for suffix in ("Quantity", "Range"):
            if rate.get(f"dose{suffix}") is not None:
                dose = values.value((suffix, rate[f"dose{suffix}"]), f"dosage/doseAndRate/{index}/dose")
                if dose is not None:
                    yield dose


def _as_needed(dosage: Json) -> bool | None:
    """`asNeededCodeableConcept` means as needed, for that reason (FHIR R4 Dosage.asNeeded[x])."""
    return True if dosage.get("asNeededCodeableConcept") is not None else boolean(dosage, "asNeededBoolean")


def _said(dosage: Json, values: Values) -> str:
    """One dosage in words: its text, else what its elements say."""
    read = _dosage(dosage, values)
    if isinstance(text := read["dosage_text"], str) and text:
        return text
    route = read["route"]
    parts = [read.get("dose"), read["frequency"], route.display if isinstance(route, CodedText) else ""]
    return " ".join(str(part) for part in parts if part) + (" as needed" if read["as_needed"] else "")

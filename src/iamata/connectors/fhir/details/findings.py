"""What is said of a finding: when it began and ended, its parts, its reactions, why a value is absent."""

from __future__ import annotations

from iamata.connectors.fhir.drafts import Draft
from iamata.connectors.fhir.entries import Item
from iamata.connectors.fhir.values import (
    Json,
    Values,
    absent_reason,
    choice,
    first_code,
    mapping,
    objects,
    string,
    strings,
)
from iamata.model.clinical_time import ClinicalTime, Clock, Period
from iamata.model.coding import Quantity, Range
from iamata.model.statement import Component, Value


def condition(item: Item, values: Values, draft: Draft) -> None:
    """Onset to abatement as one period on the effective clock; ages and words as fields."""
    resource = item.resource
    onset = _when(resource, "onset", values, draft)
    abatement = choice(resource, "abatement")
    end = None
    if abatement is not None and abatement[0] in ("DateTime", "Period"):
        read = values.value(abatement, "abatement")
        end = read.end if isinstance(read, Period) else read if isinstance(read, ClinicalTime) else None
    elif abatement is not None:
        said = values.value(abatement, "abatement")
        draft.set("abatement_text", str(said) if said is not None else None)
    if end is None:
        draft.time(Clock.EFFECTIVE, onset)
    else:
        draft.time(Clock.EFFECTIVE, Period(onset.start if isinstance(onset, Period) else onset, end))
    stages = [s for i, each in objects(resource, "stage") if (s := values.coded(each.get("summary"), f"stage/{i}"))]
    if stages:
        draft.set("stage", stages[0])


def allergy(item: Item, values: Values, draft: Draft) -> None:
    """Each manifestation is a component with the severity of its reaction."""
    resource = item.resource
    category = strings(resource, "category")
    draft.set("category", ",".join(sorted(category)))
    draft.time(Clock.EFFECTIVE, _when(resource, "onset", values, draft))
    for index, reaction in objects(resource, "reaction"):
        severity = string(reaction, "severity") or None
        for _position, manifestation in objects(reaction, "manifestation"):
            concept = values.coded(manifestation, f"reaction/{index}/manifestation")
            if concept is not None:
                draft.components.append(Component(concept, severity))
        if reaction.get("substance") is not None and "reaction_substance" not in draft.fields:
            draft.set("reaction_substance", values.coded(reaction["substance"], f"reaction/{index}/substance"))
        if reaction.get("onset") is not None:
            draft.time(Clock.OCCURRED, values.times.point(reaction["onset"], f"reaction/{index}/onset"))
        if description := string(reaction, "description"):
            before = draft.fields.get("reaction_text")
            draft.set("reaction_text", f"{before}; {description}" if before else description)


def observation(item: Item, values: Values, draft: Draft) -> None:
    """Components, the reason of an absent value, reference range, specimen."""
    resource = item.resource
    for index, part in objects(resource, "component"):
        at = f"component/{index}"
        concept = values.coded(part.get("code"), f"{at}/code")
        if concept is not None:
            interpretation = values.concepts(part, "interpretation")
            value = values.value(choice(part, "value"), f"{at}/value")
            absent = _absent(part)
            draft.components.append(Component(concept, value, interpretation.display if interpretation else "", absent))
    draft.set("absent", _absent(resource))
    draft.set("reference_range", _reference_range(resource, values))
    specimen = resource.get("specimen")
    if specimen is not None:
        holder = mapping(specimen, "specimen")
        draft.set("specimen", string(holder, "display") or string(holder, "reference"))


def family(item: Item, values: Values, draft: Draft) -> None:
    """Each condition of the relative is a component with its onset; it never becomes the patient's."""
    for index, each in objects(item.resource, "condition"):
        at = f"condition/{index}"
        concept = values.coded(each.get("code"), f"{at}/code")
        if concept is not None:
            draft.components.append(Component(concept, values.value(choice(each, "onset"), f"{at}/onset")))


def procedure(item: Item, values: Values, draft: Draft) -> None:
    resource = item.resource
    performed = choice(resource, "performed")
    if performed is None:
        return
    suffix, raw = performed
    if suffix == "String" and isinstance(raw, str):
        draft.time(Clock.EFFECTIVE, values.times.words(raw))
        return
    value = values.value(performed, "performed")
    if isinstance(value, ClinicalTime | Period):
        draft.time(Clock.EFFECTIVE, value)
    else:
        draft.set("age_at", value)


def risk(item: Item, values: Values, draft: Draft) -> None:
    """RiskAssessment: each predicted outcome is a component with its probability."""
    for index, prediction in objects(item.resource, "prediction"):
        at = f"prediction/{index}"
        outcome = values.coded(prediction.get("outcome"), f"{at}/outcome")
        probability: Value | None = values.value(choice(prediction, "probability"), f"{at}/probability")
        if probability is None:
            probability = values.coded(prediction.get("qualitativeRisk"), f"{at}/qualitativeRisk")
        if outcome is not None:
            draft.components.append(Component(outcome, probability))


def _when(resource: Json, stem: str, values: Values, draft: Draft) -> ClinicalTime | Period | None:
    """An onset: a time, or a field if it is an age; words stay a time in words."""
    chosen = choice(resource, stem)
    if chosen is None:
        return None
    suffix, raw = chosen
    if suffix == "String" and isinstance(raw, str):
        return values.times.words(raw) if raw else None
    value = values.value(chosen, stem)
    if isinstance(value, ClinicalTime | Period):
        return value
    if isinstance(value, Quantity | Range):
        draft.set(f"{stem}_age", value)
    return None


def _absent(holder: Json) -> str:
    """Why there is no value: the code or text of dataAbsentReason, else of the extension on the value."""
    reason = holder.get("dataAbsentReason")
    if reason is not None:
        concept = mapping(reason, "dataAbsentReason")
        return first_code(concept) or string(concept, "text")
    return absent_reason(holder, "value")


def _reference_range(resource: Json, values: Values) -> Range | str | None:
    """The range if there is one with numbers, else the texts."""
    texts = []
    ranges = []
    for index, each in objects(resource, "referenceRange"):
        read = values.range({k: each[k] for k in ("low", "high") if k in each}, f"referenceRange/{index}")
        if read is not None:
            ranges.append(read)
        texts.append(string(each, "text") or (str(read) if read else ""))
    if len(ranges) == 1 and len(texts) == 1:
        return ranges[0]
    return "; ".join(filter(None, texts)) or None

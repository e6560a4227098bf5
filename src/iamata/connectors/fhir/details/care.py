"""What is said of care: encounters, goals, plans, teams, orders, appointments, messages, directives, lists."""

from __future__ import annotations

from collections.abc import Iterator

from iamata.connectors.fhir.authorship import agents, attesters
from iamata.connectors.fhir.details import consents
from iamata.connectors.fhir.details.medicines import ordered_clock
from iamata.connectors.fhir.drafts import Draft
from iamata.connectors.fhir.entries import Item
from iamata.connectors.fhir.times import frequency
from iamata.connectors.fhir.values import Json, Values, first_code, mapping, objects, string
from iamata.model.clinical_time import Clock, Period
from iamata.model.coding import CodedText
from iamata.model.statement import UNSAID_ROLE, Component


def encounter(item: Item, values: Values, draft: Draft) -> None:
    resource = item.resource
    held = resource.get("class")
    if isinstance(held, list):  # R5: concepts
        draft.set("class", values.concepts(resource, "class"))
    elif held is not None:
        coding = values.coding(held, "class")
        draft.set("class", CodedText("", (coding,)) if coding else None)
    planned = {end: resource.get(name) for end, name in (("start", "plannedStartDate"), ("end", "plannedEndDate"))}
    if any(planned.values()):
        draft.time(Clock.PLANNED, values.times.period(planned, "plannedStartDate"))
    places = [
        string(mapping(place, f"location/{index}/location"), "display")
        for index, each in objects(resource, "location")
        if (place := each.get("location")) is not None
    ]
    draft.set("location", "; ".join(filter(None, places)))
    for index, diagnosis in objects(resource, "diagnosis"):
        use = values.coded(diagnosis.get("use"), f"diagnosis/{index}/use")
        if use is not None and "diagnosis_use" not in draft.fields:
            draft.set("diagnosis_use", use)
        concept = values.coded(diagnosis.get("conditionCode"), f"diagnosis/{index}/conditionCode")
        if concept is not None:  # R5: a diagnosis by its code alone
            draft.components.append(Component(concept, use.display if use else None))


def goal(item: Item, values: Values, draft: Draft) -> None:
    description = draft.concept
    draft.set("description", description.display if description else None)


def plan(item: Item, values: Values, draft: Draft) -> None:
    """Activities are components (their code, their status) and together the field `activity`."""
    said = []
    for index, activity in objects(item.resource, "activity"):
        at = f"activity/{index}/detail"
        detail = activity.get("detail")
        if detail is None:
            continue
        holder = mapping(detail, at)
        concept = values.coded(holder.get("code"), f"{at}/code")
        text = string(holder, "description")
        if concept is not None:
            draft.components.append(Component(concept, string(holder, "status") or None))
        said.append(concept.display if concept else text)
    draft.set("activity", "; ".join(filter(None, said)))


def team(item: Item, values: Values, draft: Draft) -> None:
    """Each participant's role is a component with the member as the source names it; a role that is not said is
    `member`."""
    for index, participant in objects(item.resource, "participant"):
        role = values.concepts(participant, "role")
        member = participant.get("member")
        name = string(mapping(member, f"participant/{index}/member"), "display") if member is not None else ""
        if role is not None or name:
            draft.components.append(Component(role or CodedText(UNSAID_ROLE), name or None))


def order(item: Item, values: Values, draft: Draft) -> None:
    resource = item.resource
    if resource.get("authoredOn") is not None:
        draft.time(ordered_clock(resource, item.type), values.times.point(resource["authoredOn"], "authoredOn"))
    timing = resource.get("occurrenceTiming")
    if timing is not None:
        draft.set("frequency", frequency(mapping(timing, "occurrenceTiming")))


def nutrition(item: Item, values: Values, draft: Draft) -> None:
    """What was ordered to eat, drink or be fed: diets, supplements and formulas, each a component; the first is the
    order's concept."""
    resource = item.resource
    for stem, part in (("oralDiet", "type"), ("supplement", "type"), ("enteralFormula", "baseFormulaType")):
        for index, each in objects(resource, stem):
            for position, held in objects(each, part):
                concept = values.coded(held, f"{stem}/{index}/{part}/{position}")
                if concept is not None:
                    draft.components.append(Component(concept))
    if draft.components:
        draft.concept = draft.components[0].concept


def message_request(item: Item, values: Values, draft: Draft) -> None:
    communication(item, values, draft)
    order(item, values, draft)


def specimen(item: Item, values: Values, draft: Draft) -> None:
    """What a result was measured in: supporting information, never a fact of its own."""
    draft.set("type", "specimen")
    draft.set("name", draft.concept.display if draft.concept is not None else None)
    received = item.resource.get("receivedTime")
    if received is not None:
        draft.time(Clock.HANDED_OVER, values.times.point(received, "receivedTime"))


def appointment(item: Item, values: Values, draft: Draft) -> None:
    resource = item.resource
    start = values.times.point(resource["start"], "start") if resource.get("start") is not None else None
    end = values.times.point(resource["end"], "end") if resource.get("end") is not None else None
    draft.time(Clock.PLANNED, Period(start, end) if end else start)
    for index, each in objects(resource, "participant"):
        if (found := each.get("actor")) is not None and string(mapping(found, f"participant/{index}/actor"), "display"):
            role = values.concepts(each, "type")
            if role is not None:
                draft.components.append(Component(role, string(each, "status") or None))


def communication(item: Item, values: Values, draft: Draft) -> None:
    texts = [string(payload, "contentString") for _index, payload in objects(item.resource, "payload")]
    draft.set("text", "\n".join(filter(None, texts)))


def consent(item: Item, values: Values, draft: Draft) -> None:
    consents.rules(item, values, draft)
    shown = [string(source, "display") for _index, source in objects(item.resource, "sourceReference")]
    draft.set("description", "; ".join(filter(None, shown)))


def imaging(item: Item, values: Values, draft: Draft) -> None:
    """Each series is a component: its modality, with the body site as value."""
    for index, series in objects(item.resource, "series"):
        at = f"series/{index}"
        modality = values.coding(series["modality"], f"{at}/modality") if series.get("modality") is not None else None
        site = values.coding(series["bodySite"], f"{at}/bodySite") if series.get("bodySite") is not None else None
        if modality is not None:
            draft.components.append(Component(CodedText("", (modality,)), CodedText("", (site,)) if site else None))
    if draft.concept is None and draft.components:
        draft.concept = draft.components[0].concept


def provenance(item: Item, values: Values, draft: Draft) -> None:
    draft.evidence = agents(item.resource)
    recorded = item.resource.get("recorded")
    if recorded is not None:
        draft.set("recorded", values.times.point(recorded, "recorded"))


def composition(item: Item, values: Values, draft: Draft) -> None:
    """Evidence of each section's own author, when it was attested, and which sections say why they are empty."""
    resource = item.resource
    draft.set("absent", "; ".join(f"{title}: {reason}" for _part, title, reason in empty_sections(resource)))
    draft.evidence = attesters(resource)
    draft.set("type", draft.concept)
    for index, attester in objects(resource, "attester"):
        if attester.get("time") is not None:
            draft.time(Clock.VERIFIED, values.times.point(attester["time"], f"attester/{index}/time"))
    for index, event in objects(resource, "event"):
        period = event.get("period")
        if period is not None:
            draft.time(Clock.EFFECTIVE, values.times.period(period, f"event/{index}/period"))


def empty_sections(resource: Json) -> Iterator[tuple[str, str, str]]:
    """Path, title and code (list-empty-reason, else text) of each section that has an emptyReason, nested ones too."""
    for index, section in objects(resource, "section"):
        reason = section.get("emptyReason")
        if reason is not None:
            said = first_code(reason) or string(mapping(reason, f"section/{index}/emptyReason"), "text")
            title = string(section, "title") or first_code(section.get("code"))
            yield f"section/{index}", title or "section", said or "no reason"
        for part, title, said in empty_sections(section):
            yield f"section/{index}/{part}", title, said


def listing(item: Item, values: Values, draft: Draft) -> None:
    draft.set("type", draft.concept)
    empty = values.coded(item.resource.get("emptyReason"), "emptyReason")
    draft.set("absent", empty.display if empty else None)

"""What is said of care: encounters, goals, plans, teams, orders, appointments, messages, directives, lists."""

from __future__ import annotations

from iamata.connectors.fhir.authorship import agents, attesters
from iamata.connectors.fhir.details.medicines import ordered_clock
from iamata.connectors.fhir.drafts import Draft
from iamata.connectors.fhir.entries import Item
from iamata.connectors.fhir.times import frequency
from iamata.connectors.fhir.values import Values, mapping, objects, string
from iamata.model.clinical_time import Clock, Period
from iamata.model.coding import CodedText
from iamata.model.statement import Component


def encounter(item: Item, values: Values, draft: Draft) -> None:
    resource = item.resource
    held = resource.get("class")
    if held is not None:
        coding = values.coding(held, "class")
        draft.set("class", CodedText("", (coding,)) if coding else None)
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
    """Each participant's role is a component with the member as the source names it."""
    for index, participant in objects(item.resource, "participant"):
        role = values.concepts(participant, "role")
        member = participant.get("member")
        name = string(mapping(member, f"participant/{index}/member"), "display") if member is not None else ""
        if role is not None:
            draft.components.append(Component(role, name or None))


def order(item: Item, values: Values, draft: Draft) -> None:
    resource = item.resource
    if resource.get("authoredOn") is not None:
        draft.time(ordered_clock(resource, item.type), values.times.point(resource["authoredOn"], "authoredOn"))
    timing = resource.get("occurrenceTiming")
    if timing is not None:
        draft.set("frequency", frequency(mapping(timing, "occurrenceTiming")))


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
    source = item.resource.get("sourceReference")
    if source is not None:
        draft.set("description", string(mapping(source, "sourceReference"), "display"))


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
    """Evidence of each section's own author, and when it was attested."""
    resource = item.resource
    draft.evidence = attesters(resource)
    draft.set("type", draft.concept)
    for index, attester in objects(resource, "attester"):
        if attester.get("time") is not None:
            draft.time(Clock.VERIFIED, values.times.point(attester["time"], f"attester/{index}/time"))
    for index, event in objects(resource, "event"):
        period = event.get("period")
        if period is not None:
            draft.time(Clock.EFFECTIVE, values.times.period(period, f"event/{index}/period"))


def listing(item: Item, values: Values, draft: Draft) -> None:
    draft.set("type", draft.concept)
    empty = values.coded(item.resource.get("emptyReason"), "emptyReason")
    draft.set("absent", empty.display if empty else None)

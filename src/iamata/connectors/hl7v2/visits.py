"""What is said of a visit, an appointment, a referral?"""

from __future__ import annotations

from collections.abc import Iterator

from iamata.connectors.hl7v2.authorship import evidence, participants
from iamata.connectors.hl7v2.context import Context, notes
from iamata.connectors.hl7v2.drafts import Draft
from iamata.connectors.hl7v2.grouping import Group
from iamata.connectors.hl7v2.segments import Segment
from iamata.connectors.hl7v2.values import (
    clinician_name,
    coded,
    coded_in,
    entity_in,
    extended_id,
    joined,
    period,
    place_name,
    quantity,
    time_in,
    time_of,
    words_of,
)
from iamata.model.attribution import AuthorshipEvidence, Part
from iamata.model.clinical_time import ClinicalTime, Clock
from iamata.model.coding import CodedText
from iamata.model.statement import Aspect, Domain, Kind, Standing
from iamata.terminology.hl7v2 import event, status

# Messages whose events are the events of a visit.
_VISIT_EVENTS = frozenset({"ADT", "BAR"})
_CLINICIANS = (("attending", 7), ("referring", 8), ("consulting", 9), ("admitting", 17))


def encounter(group: Group, context: Context) -> Iterator[Draft]:
    """PV1 with PV2: the visit as this message's event leaves it.

    A visit that an event calls active has no end, whatever PV1-45 says (A13 cancels the discharge that stands there).
    """
    head = group.head
    more = group.first("PV2")
    told = _VISIT_EVENTS & {context.code}
    visit_class = coded_in(head, 2, table="0004")
    draft = Draft(
        head=head,
        kind=Kind.ENCOUNTER,
        type="PV1",
        aspect=Aspect.DONE,
        record=context.encounter,
        domain=Domain.CLINICAL,
        concept=coded_in(head, 18) or visit_class,
        evidence=[*context.transmitter(), *(evidence("visit", context.event) if told else [])],
    )
    draft.name(context.visit_number(), extended_id(head.first(19)), extended_id(head.first(50)))
    draft.set("class", visit_class)
    draft.set("location", place_name(head.first(3)))
    draft.set("priority", coded_in(head, 4, table="0007"))
    draft.set("service_type", coded_in(head, 10))
    draft.set("admit_source", coded_in(head, 14))
    draft.set("disposition", coded_in(head, 36))
    draft.set("discharged_to", coded_in(head, 37))
    for name, number in _CLINICIANS:
        draft.set(name, "; ".join(dict.fromkeys(clinician_name(each) for each in head.repetitions(number))))
    admitted, discharged = time_in(head, 44), time_in(head, 45)
    if more is not None:
        draft.set("reason", coded_in(more, 3))
        draft.set("visit_description", more.text(12))
        draft.time(Clock.PLANNED, period(time_in(more, 8), time_in(more, 9)))
    meaning = event("PV1", context.trigger) if told else None
    if meaning is not None:
        draft.means(context.trigger, meaning)
    if draft.standing is Standing.UNKNOWN:
        draft.standing = _plain_standing(discharged, bool(told))
    draft.time(Clock.EFFECTIVE, period(admitted, None if draft.standing is Standing.ACTIVE else discharged))
    if told:
        draft.time(Clock.STATUS_CHANGED, context.happened())
    notes(draft, group)
    if draft.fields or draft.times or draft.identifiers:
        yield draft


def _plain_standing(discharged: ClinicalTime | None, told: bool) -> Standing:
    if discharged is not None:
        return Standing.COMPLETED
    return Standing.ACTIVE if told else Standing.UNKNOWN


def appointment(group: Group, context: Context) -> Iterator[Draft]:
    """SCH with its services (AIS), clinicians (AIP), places (AIL) and equipment (AIG)."""
    head = group.head
    filler, placer = entity_in(head, 2), entity_in(head, 1)
    draft = Draft(
        head=head,
        kind=Kind.APPOINTMENT,
        type="SCH",
        aspect=Aspect.RECORDED,
        record=f"appointment/{filler or placer}" if filler or placer else "",
        domain=Domain.ADMINISTRATIVE,
        evidence=[*evidence("SCH", head), *participants(group), *context.transmitter()],
    )
    draft.name(filler, placer)
    services = [c for each in group.all("AIS") if (c := coded_in(each, 3)) is not None]
    reason = coded_in(head, 7)
    draft.concept = joined(services) or coded_in(head, 8) or reason
    draft.set("reason", reason)
    draft.set("type", coded_in(head, 8))
    draft.set("event_reason", coded_in(head, 6))
    length = head.text(9)
    draft.set("duration", quantity(length, (words_of(coded(head.first(10))), "", "")) if length else None)
    draft.set("with", _listed(group, "AIP", 3, person=True))
    draft.set("location", _listed(group, "AIL", 3, place=True) or place_name(head.first(18)))
    draft.set("equipment", _listed(group, "AIG", 3))
    start, end = _scheduled(group)
    draft.time(Clock.PLANNED, period(start, end))
    draft.means(context.trigger, event("SCH", context.trigger))
    code = head.text(25).upper()
    sent = status("SCH-25", code) if code else None
    if sent is not None and draft.standing in (Standing.UNKNOWN, Standing.PLANNED):
        draft.means(code, sent)
    draft.time(Clock.STATUS_CHANGED, context.happened())
    context.refer_to_visit(draft)
    notes(draft, group)
    if draft.concept is not None or draft.identifiers or len(draft.times) > 1:
        yield draft


def _scheduled(group: Group) -> tuple[ClinicalTime | None, ClinicalTime | None]:
    """When: TQ1-7 and 8, else SCH-11.4 and 5, else the first AIS, AIG, AIL or AIP with a start."""
    timing = group.first("TQ1")
    if timing is not None and (time_in(timing, 7) or time_in(timing, 8)):
        return time_in(timing, 7), time_in(timing, 8)
    quantity_timing = group.head.first(11)
    start, end = time_of(quantity_timing, 4), time_of(quantity_timing, 5)
    if start is not None or end is not None:
        return start, end
    for name, number in (("AIS", 4), ("AIP", 6), ("AIL", 6), ("AIG", 8)):
        for segment in group.all(name):
            at = time_in(segment, number)
            if at is not None:
                return at, None
    return None, None


def _listed(group: Group, name: str, number: int, *, person: bool = False, place: bool = False) -> str:
    found: list[str] = []
    for segment in group.all(name):
        for each in segment.repetitions(number):
            if person:
                found.append(clinician_name(each))
            elif place:
                found.append(place_name(each))
            else:
                found.append(words_of(coded(each)))
    return "; ".join(dict.fromkeys(filter(None, found)))


def referral(group: Group, context: Context) -> Iterator[Draft]:
    """RF1 with its providers (PRD): an order that asks another provider to see the patient."""
    head = group.head
    own, external = entity_in(head, 6), entity_in(head, 11)
    draft = Draft(
        head=head,
        kind=Kind.ORDER,
        type="RF1",
        aspect=Aspect.ORDERED,
        record=f"referral/{own or external}" if own or external else "",
        concept=coded_in(head, 3) or CodedText("referral"),
        evidence=[*_referring(group), *context.transmitter()],
    )
    draft.name(own, external)
    draft.means(head.text(1), status("RF1-1", head.text(1)))
    meaning = event("RF1", context.trigger)
    if meaning is not None and (draft.standing is Standing.UNKNOWN or meaning.standing is Standing.CANCELLED):
        draft.means(context.trigger, meaning)
    draft.set("priority", coded_in(head, 2, table="0280"))
    draft.set("category", coded_in(head, 5, table="0284"))
    draft.set("reason", coded_in(head, 10))
    draft.time(Clock.EFFECTIVE, period(time_in(head, 7), time_in(head, 8)))
    draft.time(Clock.ORDERED, time_in(head, 9))
    draft.set("referred_to", _providers(group, "RT"))
    context.refer_to_visit(draft)
    notes(draft, group)
    yield draft


def _referring(group: Group) -> list[AuthorshipEvidence]:
    """PRD-1 RP: the referring provider is the author of the referral (table 0286)."""
    found = []
    for segment in group.all("PRD"):
        if segment.text(1).upper() == "RP":
            name = _provider(segment)
            if name:
                found.append(AuthorshipEvidence(Part.AUTHOR, "PRD-2", type="Practitioner", display=name))
    return found


def _providers(group: Group, role: str) -> str:
    return "; ".join(filter(None, (_provider(s) for s in group.all("PRD") if s.text(1).upper() == role)))


def _provider(segment: Segment) -> str:
    """PRD-2 (XPN) as `Given Middle Family`."""
    name = segment.first(2)
    if name is None:
        return ""
    return " ".join(filter(None, [name.text(2), name.text(3), name.text(1)]))

"""What is said of a medicine: ordered (RXO, RXE), dispensed (RXD), given (RXA), and vaccines (RXA of a VXU)?"""

from __future__ import annotations

from collections.abc import Iterator

from iamata.connectors.hl7v2.authorship import administration_source, evidence, participants
from iamata.connectors.hl7v2.context import Context, concept_key, key_of, notes, withdraw
from iamata.connectors.hl7v2.drafts import Draft
from iamata.connectors.hl7v2.grouping import Group
from iamata.connectors.hl7v2.orders import (
    changed,
    control,
    filler_number,
    order_numbers,
    order_status,
    ordered_at,
    placer_number,
    timing,
)
from iamata.connectors.hl7v2.segments import Segment
from iamata.connectors.hl7v2.values import (
    coded_in,
    period,
    place_name,
    quantity,
    time_in,
    unit_of,
    whole_number,
)
from iamata.model.clinical_time import ClinicalTime, Clock, Period
from iamata.model.coding import CodedText, Quantity
from iamata.model.statement import Component, Kind, Standing
from iamata.terminology.hl7v2 import administration_origin, aspect, status, word


def prescription(group: Group, context: Context) -> Iterator[Draft]:
    """RXE (the order as encoded), or RXO where nothing encodes it. An RXO beside an RXE is read with that."""
    head, orc = group.head, control(group)
    encoded = head.name == "RXE"
    siblings = group.order.siblings if group.order is not None else []
    if not encoded and any(each.name == "RXE" for each in siblings):
        return
    first = next((each for each in siblings if each.name == "RXO"), None) if encoded else group
    asked = first.head if first is not None else None
    drug = coded_in(head, 2 if encoded else 1)
    number = placer_number(group) or filler_number(group)
    draft = Draft(
        head=head,
        kind=Kind.MEDICATION,
        type=head.name,
        aspect=aspect(head.name, context.code).aspect,
        record=f"medication/{number}/{concept_key(drug)}".rstrip("/") if number is not None else "",
        concept=drug,
        evidence=[*evidence("prescription", orc, asked, head), *participants(group), *context.transmitter()],
    )
    draft.name(*order_numbers(group))
    order_status(draft, orc)
    low, high, unit, form = (3, 4, 5, 6) if encoded else (2, 3, 4, 5)
    _dose(draft, head.text(low), head.text(high), unit_of(head.first(unit)))
    draft.set("form", coded_in(head, form))
    draft.set("dosage_text", _instruction(head, 7))
    _strength(draft, head, *((25, 26) if encoded else (18, 19)))
    draft.set("reason", coded_in(head, 27 if encoded else 20) or (coded_in(orc, 16) if orc is not None else None))
    amount = head.text(10 if encoded else 11)
    draft.set("supply", quantity(amount, unit_of(head.first(11 if encoded else 12))) if amount else None)
    refills = head.text(12 if encoded else 13)
    draft.set("refills", whole_number(refills))
    draft.set("substitution", coded_in(head, 9, table="0167" if encoded else "0161"))
    if encoded:
        draft.set("prescription_number", head.text(15))
    _route(draft, group)
    if encoded and first is not None and asked is not None:
        _asked(draft, first, asked)
    timing(draft, group, orc, Clock.EFFECTIVE)
    draft.time(Clock.ORDERED, ordered_at(orc, None))
    changed(draft, orc, context)
    _ingredients(draft, group)
    context.refer_to_visit(draft)
    notes(draft, group, *((s for s in group.order.attached if s.name == "NTE") if group.order is not None else ()))
    if draft.concept is not None or draft.fields:
        yield draft


def _asked(draft: Draft, group: Group, asked: Segment) -> None:
    """What the order as asked for (RXO) says where its encoding (RXE) leaves it open."""
    if "route" not in draft.fields:
        _route(draft, group)
    if "dosage_text" not in draft.fields:
        draft.set("dosage_text", _instruction(asked, 7))
    if "strength" not in draft.fields:
        _strength(draft, asked, 18, 19)
    if "reason" not in draft.fields:
        draft.set("reason", coded_in(asked, 20))
    if draft.concept is None:
        draft.concept = coded_in(asked, 1)


def dispense(group: Group, context: Context) -> Iterator[Draft]:
    """RXD: handed over."""
    head, orc = group.head, control(group)
    drug = coded_in(head, 2)
    number = filler_number(group) or placer_number(group)
    draft = Draft(
        head=head,
        kind=Kind.MEDICATION_EVENT,
        type="RXD",
        aspect=aspect("RXD", context.code).aspect,
        record=f"dispense/{key_of(number or head.text(7), head.text(7), head.peek(1), drug)}"
        if number is not None or head.text(7)
        else "",
        concept=drug,
        standing=Standing.COMPLETED,
        evidence=[*evidence("dispense", orc, head), *participants(group), *context.transmitter()],
    )
    taken_back = orc is not None and status("ORC-1", orc.text(1))
    if taken_back and taken_back.standing in (Standing.CANCELLED, Standing.STOPPED):
        draft.means(orc.text(1) if orc is not None else "", taken_back)
    amount = head.text(4)
    draft.set("supply", quantity(amount, unit_of(head.first(5))) if amount else None)
    draft.set("form", coded_in(head, 6))
    _strength(draft, head, 16, 17)
    draft.set("dosage_text", _instruction(head, 15) or _instruction(head, 9))
    draft.set("prescription_number", head.text(7))
    refills = head.text(8)
    draft.set("refills_left", whole_number(refills))
    draft.set("lot", head.text(18))
    _route(draft, group)
    timed = group.first("TQ1")
    if timed is not None:
        timing(draft, group, orc, Clock.EFFECTIVE)
    draft.time(Clock.HANDED_OVER, time_in(head, 3))
    if number is not None:
        asked = placer_number(group) or filler_number(group)
        draft.refer("authorizingPrescription/ORC-2", f"medication/{asked}/{concept_key(drug)}")
    withdraw(draft, context)
    _ingredients(draft, group)
    context.refer_to_visit(draft)
    notes(draft, group)
    yield draft


def administration_record(group: Group) -> str:
    """The name of a dose given: filler number (else placer), what was given and when."""
    number = filler_number(group) or placer_number(group)
    if number is None:
        return ""
    drug = coded_in(group.head, 5)
    kind = "immunization" if _is_vaccine(drug) else "administration"
    at = time_in(group.head, 3)
    return f"{kind}/{key_of(number, drug, at.text if at is not None else '')}"


def administration(group: Group, context: Context) -> Iterator[Draft]:
    """RXA: a dose given or refused; of a vaccine, an immunization."""
    head, orc = group.head, control(group)
    drug = coded_in(head, 5)
    vaccine = context.code == "VXU" or _is_vaccine(drug)
    if vaccine and word("no-vaccine", head.text(5)):
        return  # that none was given is told by the findings below it
    draft = Draft(
        head=head,
        kind=Kind.IMMUNIZATION if vaccine else Kind.MEDICATION_EVENT,
        type="RXA",
        aspect=aspect("RXA", context.code).aspect,
        record=administration_record(group),
        concept=drug,
        evidence=[
            *evidence("administration", orc, head),
            *administration_source(head),
            *participants(group),
            *context.transmitter(),
        ],
    )
    draft.name(*order_numbers(group))
    code, action = head.text(20), head.text(21)
    draft.means(code, status("RXA-20", code))
    draft.means(action, status("RXA-21", action))
    amount = head.text(6)
    if amount and not word("RXA-6", amount):
        _dose(draft, amount, "", unit_of(head.first(7)))
    draft.set("lot", head.text(15))
    draft.set("manufacturer", coded_in(head, 17))
    draft.set("status_reason", coded_in(head, 18, table="NIP002"))
    draft.set("reason", coded_in(head, 19))
    draft.set("location", place_name(head.first(11)))
    _route(draft, group)
    if vaccine:
        site = draft.fields.pop("body_site", None)
        draft.set("site", site)
        for each in head.repetitions(9):
            origin = administration_origin(each.text(1))
            if origin is not None:
                draft.set("primary_source", origin.primary_source)
    draft.time(Clock.EFFECTIVE, _given(head))
    expires = time_in(head, 16)
    draft.time(Clock.EXPIRES, expires)
    if not vaccine and order_numbers(group):
        asked = placer_number(group) or filler_number(group)
        draft.refer("request/ORC-2", f"medication/{asked}/{concept_key(drug)}")
    withdraw(draft, context)
    context.refer_to_visit(draft)
    notes(draft, group, *((s for s in group.order.attached if s.name == "NTE") if group.order is not None else ()))
    yield draft


def _given(head: Segment) -> ClinicalTime | Period | None:
    """RXA-3 to RXA-4; the same moment twice is one."""
    start, end = time_in(head, 3), time_in(head, 4)
    return period(start, end if end is not None and (start is None or end.text != start.text) else None)


def _is_vaccine(drug: CodedText | None) -> bool:
    return drug is not None and any(coding.normal.startswith("cvx|") for coding in drug.codings)


def _dose(draft: Draft, low: str, high: str, unit: tuple[str, str, str]) -> None:
    least, most = quantity(low, unit), quantity(high, unit)
    if least is not None and most is not None and most.value != least.value:
        draft.set("dose", f"{least.value}-{most}")
    elif (one := least or most) is not None:
        draft.set("dose", str(one))
        draft.set("dose_quantity", one)


def _strength(draft: Draft, head: Segment, number: int, unit: int) -> None:
    said = head.text(number)
    strength: Quantity | None = quantity(said, unit_of(head.first(unit))) if said else None
    draft.set("strength", strength or said)


def _instruction(head: Segment, number: int) -> str:
    """Instructions (CWE) in words: their text, else their code."""
    return "; ".join(filter(None, ((each.text(2) or each.text(1)) for each in head.repetitions(number))))


def _route(draft: Draft, group: Group) -> None:
    route = group.first("RXR")
    if route is not None:
        draft.set("route", coded_in(route, 1, table="0162"))
        draft.set("body_site", coded_in(route, 2, table="0163"))
        draft.set("method", coded_in(route, 4, table="0165"))


def _ingredients(draft: Draft, group: Group) -> None:
    """RXC: what a compound is made of."""
    for segment in group.all("RXC"):
        concept = coded_in(segment, 2)
        if concept is not None:
            amount = segment.text(3)
            draft.components.append(Component(concept, quantity(amount, unit_of(segment.first(4)))))

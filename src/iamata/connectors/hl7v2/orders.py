"""What does an order say? ORC with OBR (a service), with RXO or RXE (a medicine), or alone (a change of status)."""

from __future__ import annotations

from collections.abc import Iterator

from iamata.connectors.hl7v2.authorship import evidence, participants
from iamata.connectors.hl7v2.context import Context, concept_key, notes
from iamata.connectors.hl7v2.drafts import Draft
from iamata.connectors.hl7v2.grouping import Group
from iamata.connectors.hl7v2.segments import Segment
from iamata.connectors.hl7v2.values import coded_in, entity, entity_in, period, time_in, time_of
from iamata.model.clinical_time import ClinicalTime, Clock
from iamata.model.coding import BusinessIdentifier, CodedText
from iamata.model.statement import Aspect, Kind, Standing
from iamata.terminology.hl7v2 import stands_for, status, word


def control(group: Group) -> Segment | None:
    """The ORC that a detail stands under."""
    if group.name == "ORC":
        return group.head
    return group.order.head if group.order is not None else None


def placer_number(group: Group) -> BusinessIdentifier | None:
    """ORC-2, else OBR-2."""
    orc = control(group)
    number = entity_in(orc, 2)
    if number is None and group.name == "OBR":
        number = entity_in(group.head, 2)
    return number


def filler_number(group: Group) -> BusinessIdentifier | None:
    """OBR-3, else ORC-3."""
    number = entity_in(group.head, 3) if group.name == "OBR" else None
    return number or entity_in(control(group), 3)


def order_numbers(group: Group) -> list[BusinessIdentifier]:
    """Placer and filler number, each once."""
    found = (placer_number(group), filler_number(group))
    return list(dict.fromkeys(number for number in found if number is not None))


def order_status(draft: Draft, orc: Segment | None) -> None:
    """ORC-5 says where the order stands; ORC-1 where it is not said, or where it takes the order back."""
    if orc is None:
        return
    act = orc.text(1).upper()
    said = status("ORC-1", act)
    stands = orc.text(5).upper()
    draft.means(act, said)
    taken_back = said is not None and said.standing in (Standing.CANCELLED, Standing.STOPPED, Standing.ON_HOLD)
    if stands and not taken_back:
        draft.means(stands, status("ORC-5", stands))


def ordered(group: Group, context: Context, *, notes_of_detail: bool = True) -> Iterator[Draft]:
    """OBR as an order of a service, or ODS as one of a diet. `notes_of_detail`: its notes are not its report's."""
    head, orc = group.head, control(group)
    concept = coded_in(head, 4)
    number = placer_number(group) or filler_number(group)
    draft = Draft(
        head=head,
        kind=Kind.ORDER,
        type="ORC" if orc is not None else "OBR",
        aspect=Aspect.ORDERED,
        record=f"order/{number}/{concept_key(concept)}".rstrip("/") if number is not None else "",
        part="" if number is not None else "order",
        concept=concept,
        evidence=[*evidence("order", orc, head), *participants(group), *context.transmitter()],
    )
    draft.name(*order_numbers(group))
    order_status(draft, orc)
    timing(draft, group, orc)
    draft.set("priority", _priority(group, head.text(5)))
    draft.set("reason", coded_in(head, 31))
    draft.set("clinical_information", head.literal(13))
    draft.time(Clock.ORDERED, ordered_at(orc, head))
    changed(draft, orc, context)
    context.refer_to_visit(draft)
    if group.order is not None:
        notes(draft, group.order)
    if notes_of_detail:
        notes(draft, group)
    yield draft


def diet(group: Group, context: Context) -> Iterator[Draft]:
    """ODS: an order of a diet or supplement."""
    head, orc = group.head, control(group)
    number = placer_number(group) or filler_number(group)
    concept = coded_in(head, 3)
    draft = Draft(
        head=head,
        kind=Kind.ORDER,
        type="ODS",
        aspect=Aspect.ORDERED,
        record=f"order/{number}/{concept_key(concept)}".rstrip("/") if number is not None else "",
        concept=concept,
        evidence=[*evidence("order", orc, head), *participants(group), *context.transmitter()],
    )
    draft.name(*order_numbers(group))
    order_status(draft, orc)
    timing(draft, group, orc)
    draft.set("instruction", head.literal(4))
    draft.time(Clock.ORDERED, ordered_at(orc, None))
    changed(draft, orc, context)
    context.refer_to_visit(draft)
    notes(draft, group)
    if concept is not None:
        yield draft


def alone(group: Group, context: Context) -> Iterator[Draft]:
    """ORC without a detail: what becomes of an order that another message describes."""
    head = group.head
    number = placer_number(group) or filler_number(group)
    if number is None:
        return
    medicine = "medicine" in stands_for(context.code)
    draft = Draft(
        head=head,
        kind=Kind.MEDICATION if medicine else Kind.ORDER,
        type="ORC",
        aspect=Aspect.ORDERED,
        record=f"medication/{number}" if medicine else f"order/{number}",
        evidence=[*evidence("order", head), *participants(group), *context.transmitter()],
    )
    draft.name(*order_numbers(group))
    order_status(draft, head)
    timing(draft, group, head)
    draft.set("reason", coded_in(head, 16))
    draft.time(Clock.ORDERED, ordered_at(head, None))
    changed(draft, head, context)
    context.refer_to_visit(draft)
    notes(draft, group)
    yield draft


def timing(draft: Draft, group: Group, orc: Segment | None, clock: Clock = Clock.PLANNED) -> None:
    """TQ1, else the timing of ORC-7: when it is to be done, how often, with which instructions."""
    timed = group.first("TQ1")
    if timed is not None:
        draft.time(clock, period(time_in(timed, 7), time_in(timed, 8)))
        draft.set("frequency", repeat_pattern(timed))
        draft.set("instruction", timed.text(11) or timed.text(10))
        draft.set("as_needed", True if word("as-needed", timed.text(9)) else None)
        return
    old = orc.first(7) if orc is not None else None
    if old is not None:
        draft.time(clock, period(time_of(old, 4), time_of(old, 5)))
        draft.set("frequency", old.text(2, 1))


def repeat_pattern(timed: Segment) -> str:
    """TQ1-3 (RPT): the code of each repeat pattern as sent, with its words where it has them."""
    found = []
    for each in timed.repetitions(3):
        found.append(each.text(1, 2) or each.text(1))
    return ", ".join(filter(None, found))


def _priority(group: Group, sent: str) -> CodedText | str | None:
    timed = group.first("TQ1")
    if timed is not None and (priority := coded_in(timed, 9, table="0485")) is not None:
        return priority
    return word("0485", sent) or sent or None


def ordered_at(orc: Segment | None, head: Segment | None) -> ClinicalTime | None:
    """ORC-9 of a new order (the transaction), else OBR-6 (requested, before v2.7)."""
    if orc is not None and _is_new(orc):
        at = time_in(orc, 9)
        if at is not None:
            return at
    return time_in(head, 6) if head is not None else None


def _is_new(orc: Segment) -> bool:
    return not orc.text(1) or bool(word("0119-new", orc.text(1)))


def changed(draft: Draft, orc: Segment | None, context: Context) -> None:
    """What is not a new order is an act on it: ORC-9 is when; a cancellation without a time, when it was sent."""
    if orc is None:
        return
    if _is_new(orc) and not draft.withdrawn:
        return
    draft.times = [timed for timed in draft.times if timed.clock is not Clock.ORDERED]
    draft.time(Clock.STATUS_CHANGED, time_in(orc, 9) or (context.happened() if draft.withdrawn else None))


def parent_order(orc: Segment | None) -> str:
    """ORC-8 (EIP): the order this is a part of, as a reference."""
    if orc is None:
        return ""
    parent = orc.first(8)
    if parent is None:
        return ""
    parts = [*parent.subcomponents(1), "", "", ""]
    identifier = BusinessIdentifier(parts[2] or parts[1], parts[0]) if parts[0] else entity(parent)
    return f"order/{identifier}" if identifier is not None else ""

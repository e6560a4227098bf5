"""What is said of coverage and charges: IN1 with IN2, FT1?"""

from __future__ import annotations

from collections.abc import Iterator

from iamata.connectors.hl7v2.authorship import evidence, participants
from iamata.connectors.hl7v2.context import Context, notes
from iamata.connectors.hl7v2.drafts import Draft
from iamata.connectors.hl7v2.grouping import Group
from iamata.connectors.hl7v2.values import (
    clinician_name,
    coded_in,
    entity_in,
    extended_id,
    organization_name,
    period,
    person_name,
    quantity,
    time_in,
    words_of,
)
from iamata.model.clinical_time import Clock
from iamata.model.coding import CodedText, Quantity
from iamata.model.statement import Aspect, Domain, Kind
from iamata.terminology.hl7v2 import word


def insurance(group: Group, context: Context) -> Iterator[Draft]:
    """IN1 with the numbers of IN2: a policy as the sender registered it."""
    head = group.head
    plan = coded_in(head, 2)
    payers = [organization_name(each)[0] for each in head.repetitions(4)]
    company = extended_id(head.first(3))
    payer = "; ".join(dict.fromkeys(filter(None, payers))) or (company.value if company is not None else "")
    member = extended_id(head.first(49))
    policy = head.text(36)
    more = group.first("IN2")
    by_patient = extended_id(more.first(61)) if more is not None else None
    member = member or by_patient
    number = policy or (member.value if member is not None else "")
    draft = Draft(
        head=head,
        kind=Kind.INSURANCE,
        type="IN1",
        aspect=Aspect.COVERED,
        record=f"insurance/{company or words_of(plan)}/{number}" if number and (company or plan) else "",
        domain=Domain.FINANCIAL,
        concept=CodedText(payer) if payer else plan,
        evidence=context.transmitter(),
    )
    draft.set("payor", payer)
    draft.set("plan", words_of(plan))
    draft.set("member_id", number)
    draft.set("group", head.text(8))
    draft.set("group_name", organization_name(first)[0] if (first := head.first(9)) is not None else None)
    draft.set("type", coded_in(head, 15, table="0086"))
    draft.set("relationship", coded_in(head, 17, table="0063"))
    draft.set("policy_holder", person_name(head.first(16)))
    draft.time(Clock.EFFECTIVE, period(time_in(head, 12), time_in(head, 13)))
    notes(draft, group)
    if draft.fields:
        yield draft


def charge(group: Group, context: Context) -> Iterator[Draft]:
    """FT1: one charge, credit or payment, with the diagnoses it names, as billed."""
    head = group.head
    identifier = head.text(2)
    draft = Draft(
        head=head,
        kind=Kind.CLAIM,
        type="FT1",
        aspect=Aspect.BILLED,
        record=f"claim/{identifier}" if identifier else "",
        domain=Domain.FINANCIAL,
        concept=coded_in(head, 25) or coded_in(head, 7),
        evidence=[*evidence("FT1", head), *participants(group), *context.transmitter()],
    )
    draft.name(entity_in(head, 2))
    draft.set("type", word("0017", head.text(6)) or head.text(6))
    draft.set("charge_code", words_of(coded_in(head, 7)))
    draft.set("total", _money(group, 11) or _money(group, 12))
    draft.set("unit_price", _money(group, 12))
    draft.set("quantity", quantity(head.text(10)) if head.text(10) else None)
    draft.set("diagnosis", "; ".join(dict.fromkeys(words_of(coded_in(head, 19)).split("; "))) or None)
    draft.set("provider", "; ".join(filter(None, (clinician_name(each) for each in head.repetitions(20)))))
    draft.set("insurer", words_of(coded_in(head, 14)))
    draft.time(Clock.EFFECTIVE, period(time_in(head, 4), time_in(head, 4, 2)))
    draft.time(Clock.ISSUED, time_in(head, 5))
    context.refer_to_visit(draft)
    notes(draft, group)
    if draft.fields or draft.concept is not None:
        yield draft


def _money(group: Group, number: int) -> Quantity | None:
    """A CP: the price (MO) in its first component."""
    price = group.head.first(number)
    if price is None:
        return None
    amount, *currency = price.subcomponents(1)
    return quantity(amount, (currency[0] if currency else "", "", ""))

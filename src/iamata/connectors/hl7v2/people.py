"""What is said of the patient, of persons beside them, and of patients that somebody says are one?

What identifies the patient (name, birth, sex) is one record; each other matter is a record of its own, so that a
message that leaves it out changes nothing of it, and two double quotes take it back.
"""

from __future__ import annotations

from collections.abc import Iterator

from iamata.connectors.hl7v2.context import Context, notes
from iamata.connectors.hl7v2.drafts import Draft
from iamata.connectors.hl7v2.grouping import Group
from iamata.connectors.hl7v2.segments import Segment
from iamata.connectors.hl7v2.values import (
    addresses,
    coded_in,
    extended_id,
    person_name,
    telecoms,
    time_in,
)
from iamata.model.clinical_time import ClinicalTime, Clock
from iamata.model.coding import BusinessIdentifier, CodedText
from iamata.model.statement import Aspect, Domain, Kind, Value
from iamata.terminology.hl7v2 import event, word


def patient(group: Group, context: Context) -> Iterator[Draft]:
    """PID: who the patient is, then each further matter that the message speaks of."""
    head = group.head
    own = identifiers(head)
    name = f"Patient/{own[0]}" if own else ""
    draft = _demographic(head, name, context)
    draft.only = (2, 3, 4, 5, 7, 8, 9, 33)
    draft.name(*own)
    _name(draft, head)
    draft.set("birth_date", time_in(head, 7))
    draft.set("sex", word("0001", head.text(8)) or head.text(8))
    meaning = event("PID", context.trigger)
    if meaning is not None:
        draft.means(context.trigger, meaning)
    notes(draft, group)
    if draft.fields or draft.identifiers:
        yield draft
    if meaning is not None:
        return
    for label, numbers, value in _matters(head):
        deleted = any(head.deletes(number) for number in numbers)
        if value in (None, "") and not (deleted and name):
            continue
        each = _demographic(head, f"{name}/{label}" if name else "", context)
        each.part = label if not name else ""
        each.only = (*numbers, 33)
        each.set(label, value)
        yield each


def related(group: Group, context: Context) -> Iterator[Draft]:
    """NK1: a related person or contact. GT1: who pays."""
    head = group.head
    contact = head.name == "NK1"
    identifier = extended_id(head.first(33 if contact else 2))
    draft = Draft(
        head=head,
        kind=Kind.PERSON,
        type="RelatedPerson",
        aspect=Aspect.RECORDED,
        record=f"RelatedPerson/{identifier}" if identifier is not None else "",
        domain=Domain.ADMINISTRATIVE,
        evidence=context.transmitter(),
    )
    draft.name(identifier)
    draft.set("name", person_name(head.first(2 if contact else 3)) or head.text(13 if contact else 21))
    draft.set("type", "related_person" if contact else "guarantor")
    draft.set("relationship", coded_in(head, 3 if contact else 11, table="0063"))
    draft.set("telecom", telecoms(head, *((5, 6) if contact else (6, 7))))
    draft.set("address", addresses(head, 4 if contact else 5))
    if contact:
        draft.set("contact_role", coded_in(head, 7, table="0131"))
    if len(draft.fields) > 1:
        yield draft


def merge_proposal(group: Group, context: Context) -> Iterator[Draft]:
    """MRG: somebody says that two identifiers are of one person (A18, A34, A40, A47 …). A proposal, never a merge.

    It is kept as a person statement of type `merge_proposal` that names both sides in words; it carries neither as an
    identifier, so that nothing is looked up by it.
    """
    head = group.head
    gone = [
        identifier for number in (1, 2, 4) for each in head.repetitions(number) if (identifier := extended_id(each))
    ]
    accounts = [
        identifier for number in (3, 5) for each in head.repetitions(number) if (identifier := extended_id(each))
    ]
    kept = identifiers(context.patient.head) if context.patient is not None else []
    if not (gone or accounts):
        return
    draft = Draft(
        head=head,
        kind=Kind.PERSON,
        type="MRG",
        aspect=Aspect.RECORDED,
        record=f"merge/{context.trigger}/{(gone or accounts)[0]}/{kept[0] if kept else ''}",
        domain=Domain.ADMINISTRATIVE,
        evidence=context.transmitter(),
    )
    draft.set("type", "merge_proposal")
    draft.set("proposal", context.trigger)
    draft.set("merged", "; ".join(str(each) for each in gone))
    draft.set("merged_accounts", "; ".join(str(each) for each in accounts))
    draft.set("surviving", "; ".join(str(each) for each in kept))
    draft.set("merged_name", person_name(head.first(7)))
    draft.left.append("proposes that two patients or accounts are one: kept as a proposal, nothing is merged")
    yield draft


def identifiers(head: Segment) -> list[BusinessIdentifier]:
    """The patient's numbers: PID-3, then PID-2 and PID-4 where they say others."""
    found: dict[BusinessIdentifier, None] = {}
    for number in (3, 2, 4):
        for each in head.repetitions(number):
            identifier = extended_id(each)
            if identifier is not None:
                found[identifier] = None
    return list(found)


def _demographic(head: Segment, record: str, context: Context) -> Draft:
    draft = Draft(
        head=head,
        kind=Kind.DEMOGRAPHIC,
        type="Patient",
        aspect=Aspect.RECORDED,
        record=record,
        domain=Domain.ADMINISTRATIVE,
        evidence=context.transmitter(),
    )
    draft.time(Clock.ASSERTED, time_in(head, 33))
    return draft


def _name(draft: Draft, head: Segment) -> None:
    """The legal name (XPN.7 = L), else the first; all others are other names."""
    names = list(head.repetitions(5))
    if not names:
        return
    legal = next((each for each in names if each.text(7).upper() == "L"), names[0])
    draft.set("name", person_name(legal))
    draft.set("name_suffix", legal.text(4))
    others = [person_name(each) for each in (*names, *head.repetitions(9)) if each is not legal]
    draft.set("other_names", "; ".join(dict.fromkeys(filter(None, others))))


def _matters(head: Segment) -> Iterator[tuple[str, tuple[int, ...], Value | None]]:
    """Each further matter with its fields and its value."""
    yield "address", (11,), addresses(head, 11)
    yield "telecom", (13, 14), telecoms(head, 13, 14)
    yield "language", (15,), coded_in(head, 15)
    yield "marital_status", (16,), coded_in(head, 16)
    yield "race", (10,), _shown(coded_in(head, 10))
    yield "ethnicity", (22,), _shown(coded_in(head, 22))
    yield "religion", (17,), coded_in(head, 17)
    yield "deceased", (29, 30), _deceased(head)


def _shown(concept: CodedText | None) -> str:
    """Race and ethnicity in words, as other sources give them."""
    return concept.display if concept is not None else ""


def _deceased(head: Segment) -> ClinicalTime | bool | None:
    at = time_in(head, 29)
    said = word("0136", head.text(30))
    if at is not None and said != "no":
        return at
    return None if not said else said == "yes"

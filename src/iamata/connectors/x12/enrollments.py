"""Who is covered, by what, from when (834)? A member's coverages as the sponsor enrolls, changes or ends them.

A coverage is named by payer, member number and insurance line: its termination is a later content of the same record.
"""

from __future__ import annotations

from iamata.connectors.x12.decoding import Segment
from iamata.connectors.x12.drafts import Draft, Item, canonical, nobody, span_of
from iamata.connectors.x12.envelopes import Transaction
from iamata.connectors.x12.loops import Party, Split, loops, split
from iamata.connectors.x12.parties import demographic, evidence, number, party_items, patient_of, persons, read_of
from iamata.connectors.x12.people import Person
from iamata.connectors.x12.values import dated, name_of, stamp, starting
from iamata.model.attribution import AuthorshipEvidence, Part
from iamata.model.clinical_time import ClinicalTime, Clock, Period, parse_time
from iamata.model.coding import BusinessIdentifier, CodedText
from iamata.model.statement import Aspect, Domain, Kind
from iamata.terminology.x12 import meaning, standing

_MEMBER = ("IL", "74")  # 74: the corrected name of a member
_DATES = ("348", "349", "356", "357", "303", "336", "350", "351", "358", "473")


def items(transaction: Transaction) -> tuple[list[Item], list[Segment]]:
    """The items of an 834 in file order, and the segments of its structure that were read."""
    header, members = loops(transaction.body, "INS")
    top = split(header)
    found = party_items(top.parties)
    begin = top.first("BGN")
    updated = stamp(begin.get(3), begin.get(4)) if begin else ""
    said = evidence(top.party("P5"), Part.AUTHOR) or nobody("INS")
    for member in members:
        found += _member(member, said, top.party("IN"), updated)
    return found, [begin] if begin else []


def _member(
    segments: list[Segment], said: tuple[AuthorshipEvidence, ...], payer: Party | None, updated: str
) -> list[Item]:
    head, coverages = loops(segments, "HD")
    loop = split(head)
    start = segments[0]
    party = loop.party(*_MEMBER)
    numbers = {s.get(1): s.get(2) for s in loop.all("REF")}
    person = _person(party, numbers, start)
    about = Item(
        kind=str(Kind.DEMOGRAPHIC),
        label="INS",
        place=span_of(head),
        person=person,
        span=head,
        read=[start, *loop.all("REF", "0F", "1L", "17"), *loop.all("DTP", *_DATES)],
        drafts=[],
        detail=[],
    )
    for each in loop.parties:
        about.read += read_of(each)
    if party is not None:
        about.drafts.append(demographic(party, said, loop.others, updated=updated))
        about.read += loop.all("DMG")
    about.drafts += persons(loop.parties, skip=_MEMBER)
    if not coverages:  # the whole membership is changed or ended
        about.drafts.append(_coverage(start, None, loop, numbers, said, payer, updated))
    found = [about]
    for segments_of_one in coverages:
        inner = split(segments_of_one)
        draft = _coverage(start, inner, loop, numbers, said, payer, updated)
        item = Item(
            kind=str(Kind.INSURANCE),
            label=f"HD {segments_of_one[0].get(3)}".strip(),
            place=span_of(segments_of_one),
            person=person,
            span=segments_of_one,
            read=[segments_of_one[0], *inner.all("DTP", *_DATES), *inner.all("REF", "1L"), *inner.all("LX")],
            drafts=[draft, *persons(inner.parties)],
        )
        for each in inner.parties:
            item.read += read_of(each)
        found.append(item)
    return found


def _person(party: Party | None, numbers: dict[str, str], start: Segment) -> Person | None:
    """The member; a dependent carries the subscriber's number (REF*0F), which names the dependent as little as it
    names the subscriber's other dependents."""
    if party is None:
        return None
    found = patient_of(party)
    own = {numbers["0F"]} if start.get(1) == "Y" and numbers.get("0F") else set()
    if found is None:
        return Person(ids=frozenset(own)) if own else None
    return Person(found.family, found.given, found.born, found.ids | own)


def _coverage(
    start: Segment,
    inner: Split | None,
    loop: Split,
    numbers: dict[str, str],
    said: tuple[AuthorshipEvidence, ...],
    payer: Party | None,
    updated: str,
) -> Draft:
    line = inner.first("HD") if inner else None
    read = [start, *loop.all("REF", "0F", "1L"), *(inner.others if inner else loop.all("DTP"))]
    code = line.get(3) if line else ""
    change = (line.get(1) if line else "") or start.get(3)
    member = numbers.get("0F", "")
    holder = "" if start.get(1) == "Y" else f"|{number(loop.party(*_MEMBER))}"
    title = meaning("HD03", code)
    draft = Draft(
        kind=Kind.INSURANCE,
        type="HD" if line else "INS",
        place=span_of(inner.others if inner else [start]),
        aspect=Aspect.COVERED,
        content=[updated, canonical(read)],
        reference=f"coverage/{number(payer)}|{member}{holder}|{code}" if member else "",
        updated=updated,
        identifiers=(BusinessIdentifier("urn:x12:128:0F", member),) if member and not holder and not code else (),
        evidence=said,
        concept=CodedText(f"{title[:1].upper()}{title[1:]} coverage" if title else "Coverage"),
        status=change,
        standing=standing("INS03", change),
        domain=Domain.FINANCIAL,
        fields={},
    )
    draft.time(Clock.EFFECTIVE, _span(inner, loop))
    draft.time(Clock.PREPARED, parse_time(updated) if updated else None)
    relation = meaning("relationship", start.get(2))
    draft.set("relationship", CodedText(relation) if relation else None)
    draft.set("type", CodedText(title) if title else None)
    draft.set("plan", line.get(4) if line else "")
    draft.set("change", meaning("INS03", change))
    draft.set("member_id", member)
    draft.set("group", numbers.get("1L", ""))
    draft.set("payor", (name_of(payer.name) or number(payer).rpartition("|")[2]) if payer else "")
    return draft


def _span(inner: Split | None, loop: Split) -> ClinicalTime | Period | None:
    """Benefit begin (348) and end (349); else when eligibility began (356) and ended (357)."""
    first = starting(dated(inner.others, "348")) if inner else None
    last = starting(dated(inner.others, "349")) if inner else None
    if inner is None:
        first, last = starting(dated(loop.others, "356")), starting(dated(loop.others, "357"))
    return Period(first, last) if first or last else None

"""Is the patient covered, and for what (270 asks, 271 answers)? An answer is coverage with its benefits as components.

An inquiry says only that somebody asked. A request that the payer rejects (AAA) says nothing of coverage.
"""

from __future__ import annotations

from iamata.connectors.x12.decoding import Segment
from iamata.connectors.x12.drafts import Draft, Item, Note, canonical, nobody, span_of
from iamata.connectors.x12.envelopes import Transaction
from iamata.connectors.x12.loops import Level, Party, Split, levels, split
from iamata.connectors.x12.parties import (
    demographic,
    evidence,
    identifier,
    number,
    party_items,
    patient_of,
    persons,
    read_of,
)
from iamata.connectors.x12.values import dated, money, name_of, stamp
from iamata.model.attribution import AuthorshipEvidence, Part
from iamata.model.clinical_time import Clock, parse_time
from iamata.model.coding import CodedText, Quantity
from iamata.model.statement import Aspect, Component, Domain, Kind, Standing
from iamata.terminology.x12 import meaning, standing

_PATIENTS = {"22": ("IL",), "23": ("03", "QC")}
_COVERAGE = frozenset({"1", "2", "3", "4", "5", "6", "7", "8"})
_PLAN_DATES = ("346", "291", "307", "356", "347", "348", "349", "472")


def items(transaction: Transaction) -> tuple[list[Item], list[Segment]]:
    """The items of a 270 or 271 in file order, and the segments of its structure that were read."""
    header, tree = levels(transaction.body)
    begin = next((s for s in header if s.id == "BHT"), None)
    updated = stamp(begin.get(4), begin.get(5)) if begin else ""
    structure = [s for s in (begin, *(level.start for level in tree)) if s is not None]
    answer = transaction.type == "271"
    found: list[Item] = []
    holding = {id(level.parent) for level in tree}
    for level in tree:
        here = split(level.segments)
        if level.code not in _PATIENTS:
            found += party_items(here.parties)
            continue
        source = _only(level.above("20"))
        asker = _only(level.above("21"))
        said = evidence(source if answer else asker, Part.AUTHOR) or nobody("EB" if answer else "EQ")
        party = here.party(*_PATIENTS[level.code])
        asked = bool(here.all("EB", "EQ", "AAA", "TRN")) or any(s.id in ("EB", "EQ") for s in level.segments)
        if id(level) in holding and not asked:
            found.append(_subscriber(level, here))
        elif answer:
            found.append(_answer(level, here, party, said, source, updated))
        else:
            found.append(_inquiry(level, here, party, said, source, updated))
    return found, structure


def _only(level: Level | None) -> Party | None:
    return next(iter(split(level.segments).parties), None) if level else None


def _subscriber(level: Level, here: Split) -> Item:
    """A subscriber above the dependent who is asked about: named, and nothing is said of them."""
    span = [*([level.start] if level.start else []), *level.segments]
    read = [*([level.start] if level.start else []), *(s for party in here.parties for s in read_of(party))]
    detail = ["a subscriber who is not the patient: not kept"]
    return Item(kind="subscriber", label="HL 22", place=span_of(span), person=None, span=span, read=read, detail=detail)


def _item(level: Level, party: Party | None, here: Split, kind: Kind, label: str) -> Item:
    span = [*([level.start] if level.start else []), *level.segments]
    person = patient_of(party, here.others)
    read = [s for s in (level.start, *here.others) if s is not None and s.id in ("HL", "DMG", "TRN")]
    for each in here.parties:
        read += read_of(each)
    return Item(
        kind=str(kind),
        label=label,
        place=span_of(span),
        person=person,
        span=span,
        read=read,
        drafts=[],
        notes=[],
        detail=[],
        refused="" if person else "names no patient",
    )


def _inquiry(
    level: Level,
    here: Split,
    party: Party | None,
    said: tuple[AuthorshipEvidence, ...],
    payer: Party | None,
    updated: str,
) -> Item:
    item = _item(level, party, here, Kind.COMMUNICATION, "EQ")
    draft = Draft(
        kind=Kind.COMMUNICATION,
        type="EQ",
        place=item.place,
        aspect=Aspect.RECORDED,
        content=[updated, canonical(level.segments)],
        updated=updated,
        evidence=said,
        concept=CodedText("Eligibility inquiry"),
        domain=Domain.ADMINISTRATIVE,
        standing=Standing.COMPLETED,
        fields={},
    )
    draft.time(Clock.EFFECTIVE, dated(here.others, "291", "307", "472"))
    draft.time(Clock.PREPARED, parse_time(updated) if updated else None)
    draft.set("topic", CodedText("Eligibility inquiry"))
    draft.set("insurer", name_of(payer.name) if payer else "")
    draft.set("service_types", " ".join(part for s in here.all("EQ") for part in s.repeats(1)))
    item.read += [*here.all("EQ"), *here.all("DTP", "291", "307", "472")]
    item.drafts.append(draft)
    if party is not None:
        item.drafts.append(demographic(party, said, here.others, updated=updated))
    return item


def _answer(
    level: Level,
    here: Split,
    party: Party | None,
    said: tuple[AuthorshipEvidence, ...],
    payer: Party | None,
    updated: str,
) -> Item:
    item = _item(level, party, here, Kind.INSURANCE, "EB")
    benefits = [s for s in level.segments if s.id == "EB"]
    rejected = [s for s in level.segments if s.id == "AAA"]
    if party is not None:
        item.drafts.append(demographic(party, said, here.others, updated=updated))
    item.drafts += persons(here.parties, skip=_PATIENTS[level.code])
    item.read += [*benefits, *rejected, *(s for s in level.segments if s.id in ("LS", "LE", "INS"))]
    if rejected:
        item.detail.append(f"{rejected[0].place}: the payer rejects the request (AAA)")
    if not benefits:
        if not rejected:
            item.detail.append("an answer without benefits")
        return item
    states = [s for s in benefits if s.get(1) in _COVERAGE]
    lead = states[0] if states else None
    code = lead.get(1) if lead else ""
    plan = next((s.get(5) for s in (*states, *benefits) if s.get(5)), "")
    type = next((s.get(4) for s in (*states, *benefits) if s.get(4)), "")
    above = level.above("22")
    holder = party if level.code == "22" else (split(above.segments).party("IL") if above else None)
    held = identifier(holder)
    own = identifier(party)
    mark = "" if level.code == "22" else f"|{own.value if own else party.name.get(4) if party else ''}"
    draft = Draft(
        kind=Kind.INSURANCE,
        type="EB",
        place=item.place,
        aspect=Aspect.COVERED,
        content=[updated, canonical(level.segments), str(held or "")],
        reference=f"coverage/{number(payer)}|{held.value}{mark}/EB" if held else "",
        updated=updated,
        evidence=said,
        concept=CodedText("Coverage"),
        status=code,
        standing=standing("EB01", code),
        fields={},
    )
    draft.time(Clock.EFFECTIVE, dated(here.others, *_PLAN_DATES))
    draft.time(Clock.PREPARED, parse_time(updated) if updated else None)
    draft.set("plan", plan)
    draft.set("type", type)
    draft.set("member_id", held.value if held else "")
    draft.set("payor", name_of(payer.name) if payer else "")
    draft.set("outcome", meaning("EB01", code))
    relation = meaning("relationship", (here.first("INS") or level.segments[0]).get(2)) if here.first("INS") else ""
    draft.set("relationship", CodedText(relation) if relation else None)
    item.read += here.all("DTP", *_PLAN_DATES)
    for segment in benefits:
        component = _benefit(segment)
        if component is not None:
            draft.components.append(component)
    item.drafts.append(draft)
    for segment in (s for s in level.segments if s.id == "MSG" and s.get(1).strip()):
        item.notes.append(Note(of=draft, part=f"note/{len(item.notes)}", place=segment.place, text=segment.get(1)))
        item.read.append(segment)
    draft.set("note_count", len(item.notes) or None)
    return item


def _benefit(segment: Segment) -> Component | None:
    """One EB: what it is about and for which services, with its amount, share or number; None without a meaning."""
    words = meaning("EB01", segment.get(1))
    if not words:
        return None
    services = " ".join(segment.repeats(3))
    period = meaning("EB06", segment.get(6))
    network = {"Y": "in network", "N": "out of network"}.get(segment.get(12), "")
    shown = ", ".join(filter(None, (words, f"services {services}" if services else "", period, network)))
    value: Quantity | None = money(segment.get(7), "USD")
    if value is None and segment.get(8):
        value = Quantity(segment.get(8), unit="as a share of 1")
    if value is None and segment.get(10):
        value = Quantity(segment.get(10), unit=segment.get(9))
    return Component(CodedText(shown), value)

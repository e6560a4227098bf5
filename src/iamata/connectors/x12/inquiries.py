"""How does a claim stand (276 asks, 277 answers)? The payer's status of a claim, named by the payer's claim number.

What the levels above the patient say (the receiver's or a provider's whole file) is about no patient and is listed.
"""

from __future__ import annotations

from iamata.connectors.x12.decoding import Segment
from iamata.connectors.x12.drafts import Draft, Item, canonical, nobody, span_of
from iamata.connectors.x12.envelopes import Transaction
from iamata.connectors.x12.loops import Level, Party, Split, levels, loops, split
from iamata.connectors.x12.parties import (
    demographic,
    evidence,
    first_of,
    number,
    party_items,
    patient_of,
    persons,
    read_of,
)
from iamata.connectors.x12.people import Person
from iamata.connectors.x12.values import coding, dated, money, name_of, point, procedure, stamp
from iamata.model.attribution import AuthorshipEvidence, Part
from iamata.model.clinical_time import ClinicalTime, Clock, Period, parse_time
from iamata.model.coding import BusinessIdentifier, CodedText
from iamata.model.statement import Aspect, Component, Domain, Kind, Standing
from iamata.terminology.x12 import guide, meaning, standing

_PATIENTS = {"22": ("IL", "QC"), "23": ("QC",), "PT": ("QC",)}
_CATEGORIES = "https://x12.org/codes/claim-status-category-codes"
_STATUSES = "https://x12.org/codes/claim-status-codes"
_BARE = frozenset({"N3", "N4", "PER"})


def items(transaction: Transaction) -> tuple[list[Item], list[Segment]]:
    """The items of a 276 or 277 in file order, and the segments of its structure that were read."""
    header, tree = levels(transaction.body)
    begin = next((s for s in header if s.id == "BHT"), None)
    updated = stamp(begin.get(4), begin.get(5)) if begin else ""
    structure = [s for s in (begin, *(level.start for level in tree)) if s is not None]
    answer = transaction.type == "277"
    named = guide(transaction.type, transaction.guide)
    title = named.title if named else "Claim status"
    found: list[Item] = []
    for level in tree:
        before, claims = loops(level.segments, "TRN")
        here = split(before, _BARE)
        if level.code not in _PATIENTS:
            found += party_items(here.parties)
            continue
        payer, receiver, provider = (_party(level.above(code)) for code in ("20", "21", "19"))
        if answer:
            said = evidence(payer, Part.AUTHOR)
        else:
            said = first_of(evidence(provider, Part.AUTHOR), evidence(receiver, Part.AUTHOR))
            said += evidence(receiver, Part.TRANSMITTER)
        said = said or nobody("STC" if answer else "TRN")
        party = here.party(*_PATIENTS[level.code])
        person = patient_of(party, here.others)
        if claims:
            found.append(_who(before, here, party, person, said, updated))
        else:
            found.append(_unasked(before, here))
        for segments in claims:
            found.append(_claim(segments, person, said, payer, provider, title, updated, answer=answer))
    return [item for item in found if item.span], structure


def _party(level: Level | None) -> Party | None:
    return next(iter(split(level.segments, _BARE).parties), None) if level else None


def _unasked(before: list[Segment], here: Split) -> Item:
    read = [s for party in here.parties for s in read_of(party)] + here.all("DMG")
    detail = ["a subscriber who is not the patient: not kept"]
    return Item(
        kind="subscriber",
        label="HL 22",
        place=span_of(before) if before else "",
        person=None,
        span=before,
        read=read,
        detail=detail,
    )


def _who(
    before: list[Segment],
    here: Split,
    party: Party | None,
    person: Person | None,
    said: tuple[AuthorshipEvidence, ...],
    updated: str,
) -> Item:
    item = Item(
        kind=str(Kind.DEMOGRAPHIC),
        label="NM1",
        place=span_of(before) if before else "",
        person=person,
        span=before,
        read=[*(s for p in here.parties for s in read_of(p)), *here.all("DMG")],
        drafts=[],
    )
    if party is not None and person is not None:
        item.drafts.append(demographic(party, said, here.others, updated=updated))
    return item


def _claim(
    segments: list[Segment],
    person: Person | None,
    said: tuple[AuthorshipEvidence, ...],
    payer: Party | None,
    provider: Party | None,
    title: str,
    updated: str,
    *,
    answer: bool,
) -> Item:
    head, lines = loops(segments, "SVC")
    loop = split(head)
    numbers = {s.get(1): s.get(2) for s in loop.all("REF")}
    trace = segments[0].get(2)
    own = numbers.get("1K") or numbers.get("EJ") or trace
    item = Item(
        kind=str(Kind.CLAIM if answer else Kind.COMMUNICATION),
        label="STC" if answer else "TRN",
        place=span_of(segments),
        person=person,
        span=segments,
        read=[segments[0], *loop.all("REF", "1K", "EJ", "BLT"), *loop.all("DTP", "472"), *loop.all("AMT", "T3")],
        drafts=[],
        detail=[],
        refused="" if person else "names no patient",
    )
    draft = Draft(
        kind=Kind.CLAIM if answer else Kind.COMMUNICATION,
        type="STC" if answer else "TRN",
        place=item.place,
        aspect=Aspect.COVERED if answer else Aspect.RECORDED,
        content=[updated, canonical(segments)],
        reference=f"claim-{'status' if answer else 'inquiry'}/{number(payer)}|{own}" if own else "",
        updated=updated,
        identifiers=_identifiers(numbers, payer, provider) if answer else (),
        evidence=said,
        concept=CodedText(title if not answer else "Claim"),
        domain=Domain.FINANCIAL if answer else Domain.ADMINISTRATIVE,
        fields={},
    )
    if not answer:
        draft.standing = Standing.COMPLETED
        draft.set("topic", CodedText(title))
    _status(item, draft, loop)
    amount = loop.first("AMT", "T3")
    if amount is not None:
        draft.set("total", money(amount.get(2), "USD"))
    draft.time(Clock.EFFECTIVE, dated(loop.others, "472") or _line_date(lines))
    draft.time(Clock.PREPARED, parse_time(updated) if updated else None)
    draft.set("insurer", name_of(payer.name) if payer else "")
    draft.set("provider", name_of(provider.name) if provider else "")
    draft.set("payer_claim_number", numbers.get("1K", ""))
    draft.set("patient_control_number", numbers.get("EJ", ""))
    for line in lines:
        inner = split(line)
        concept = procedure(line[0].parts(1))
        item.read += [line[0], *inner.all("STC"), *inner.all("DTP", "472")]
        if concept is None:
            item.detail.append(f"{line[0].place} names no service")
        else:
            draft.components.append(Component(concept, money(line[0].get(2), "USD")))
    item.drafts += [draft, *persons(loop.parties, skip=("IL", "QC"))]
    for party in loop.parties:
        item.read += read_of(party)
    return item


def _line_date(lines: list[list[Segment]]) -> ClinicalTime | Period | None:
    return next((at for line in lines if (at := dated(line, "472"))), None)


def _identifiers(
    numbers: dict[str, str], payer: Party | None, provider: Party | None
) -> tuple[BusinessIdentifier, ...]:
    found = []
    if numbers.get("EJ"):
        found.append(BusinessIdentifier(f"urn:x12:CLM01:{number(provider)}", numbers["EJ"]))
    if numbers.get("1K"):
        found.append(BusinessIdentifier(f"urn:x12:REF*F8:{number(payer)}", numbers["1K"]))
    return tuple(found)


def _status(item: Item, draft: Draft, loop: Split) -> None:
    """STC: status category and status as codes, the day of the status, charged and paid."""
    segments = loop.all("STC")
    item.read += segments
    if not segments:
        return
    last = max(segments, key=lambda s: (s.get(2), -s.number))
    category, code = (*last.parts(1), "", "")[:2]
    codings = [coding(_CATEGORIES, category)] if category else []
    if code:
        codings.append(coding(_STATUSES, code))
    words = meaning("STC01-1", f"{category[:1]}*")
    draft.status = category
    draft.standing = standing("STC01-1", category)
    shown = " ".join(filter(None, (words, f"({category}:{code})" if code else f"({category})")))
    draft.set("outcome", CodedText(shown, tuple(codings)) if category else None)
    draft.set("total", money(last.get(4), "USD"))
    draft.set("payment", money(last.get(5), "USD"))
    draft.time(Clock.STATUS_CHANGED, point(last.get(2)))

"""What was billed (837 professional, institutional, dental)? Claims, their lines, diagnoses and procedures as billed.

A billed diagnosis stays billed: its author is who billed, its aspect says so, and no clinician diagnosed by it. A claim
is named by who billed it and by its own number (CLM01): one that replaces (frequency 7) or voids (8) it is a later
content of the same record. Interim and late-charge bills are records of their own. Not two claims of one number: the
guides recommend that numbers are unique; where they are not, the later dated is current and the other its history.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from iamata.connectors.x12.decoding import Segment
from iamata.connectors.x12.drafts import Draft, Item, Note, canonical, nobody, span_of
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
    who_says,
)
from iamata.connectors.x12.people import Person
from iamata.connectors.x12.values import (
    coding,
    currency_of,
    dated,
    health_code,
    modifiers,
    money,
    name_of,
    overall,
    procedure,
    stamp,
    starting,
    when,
)
from iamata.model.attribution import AuthorshipEvidence, Part
from iamata.model.clinical_time import ClinicalTime, Clock, Period, parse_time
from iamata.model.coding import BusinessIdentifier, CodedText, Quantity
from iamata.model.statement import Aspect, Component, Kind, Standing
from iamata.terminology.x12 import code_list, guide, meaning, standing

# Claims that share one record: the original, its replacements and its void (NUBC frequency codes).
_ONE_RECORD = frozenset({"", "1", "7", "8"})
_VOID = "8"
_LINE = {"SV1": (1, 2, 4, 3), "SV2": (2, 3, 5, 4), "SV3": (1, 2, 6, 0)}  # procedure, charge, quantity, unit
_PERFORMERS = ("82", "71", "72", "73")  # rendering; attending, operating, other (institutional)
_PLACES = "https://www.cms.gov/Medicare/Coding/place-of-service-codes/Place_of_Service_Code_Set"
_REFERENCES = {"F8": "payer_claim_number", "G1": "prior_authorization", "9F": "referral_number", "EA": "record_number"}


class _Bill(msgspec.Struct, kw_only=True):
    """What the levels above say of every claim below them."""

    title: str
    updated: str
    prepared: ClinicalTime | None
    currency: str
    biller: Party | None
    said: tuple[AuthorshipEvidence, ...]
    payer: Party | None


def items(transaction: Transaction) -> tuple[list[Item], list[Segment]]:
    """The items of an 837 in file order, and the segments of its structure that were read."""
    header, tree = levels(transaction.body)
    top = split(header)
    found = party_items(top.parties)
    begin = top.first("BHT")
    structure = [s for s in (begin, *(level.start for level in tree)) if s is not None]
    named = guide(transaction.type, transaction.guide)
    submitter = evidence(top.party("41"), Part.TRANSMITTER)
    updated = stamp(begin.get(4), begin.get(5)) if begin else ""
    for level in tree:
        before, claims = loops(level.segments, "CLM")
        here = split(before)
        if level.code in ("22", "23"):
            above = level.above("20")
            billing = split(above.segments) if above else Split([], [])
            biller = billing.party("85")
            said = first_of(evidence(biller, Part.AUTHOR), evidence(top.party("41"), Part.AUTHOR)) + submitter
            subscriber = level.above("22")
            insured = split(loops(subscriber.segments, "CLM")[0]) if subscriber else here
            bill = _Bill(
                title=named.title if named else "Claim",
                updated=updated,
                prepared=parse_time(updated) if updated else None,
                currency=currency_of(billing.others),
                biller=biller,
                said=said or nobody("CLM"),
                payer=insured.party("PR"),
            )
            found += _patient(level, here, insured, bill, holds_claims=bool(claims))
            person = patient_of(_named(level, here), here.others)
            found += [_claim(segments, person, bill) for segments in claims]
        else:
            found += party_items(here.parties)
            structure += [s for s in here.others if s.id == "CUR"]
    return found, structure


def _named(level: Level, here: Split) -> Party | None:
    return here.party("QC") if level.code == "23" else here.party("IL", "QC")


def _patient(level: Level, here: Split, insured: Split, bill: _Bill, *, holds_claims: bool) -> list[Item]:
    """The patient and their coverage; of a subscriber who is not the patient of a claim only the parties."""
    party = _named(level, here)
    mine = [s for p in here.parties for s in read_of(p)]
    others = [s for s in here.others if s.id in ("SBR", "PAT")]
    if not holds_claims or party is None:
        span = [*others, *(s for p in here.parties for s in p.segments)]
        if not span:
            return []
        drafts = persons(here.parties, skip=("IL", "QC"))
        held = Item(
            kind="subscriber",
            label="SBR",
            place=span_of(span),
            person=None,
            span=span,
            read=[*mine, *others],
            drafts=drafts,
            detail=[] if holds_claims else ["a subscriber who is not the patient: kept with the coverage"],
        )
        return [held]
    person = patient_of(party, here.others)
    about = Item(
        kind=str(Kind.DEMOGRAPHIC),
        label=f"NM1*{party.code}",
        place=span_of(party.segments),
        person=person,
        span=party.segments,
        read=read_of(party),
        drafts=[demographic(party, bill.said, here.others, updated=bill.updated)],
    )
    rest = [s for p in here.parties if p is not party for s in p.segments]
    patient_info = next((s for s in others if s.id == "PAT"), None)
    policy = insured.first("SBR")
    found = [about]
    if policy is not None or rest:
        relation = (policy.get(2) if policy else "") or (patient_info.get(1) if patient_info else "")
        holder, payer = insured.party("IL"), insured.party("PR")
        drafts = persons(here.parties, skip=("IL", "QC"))
        if policy is not None or holder is not None or payer is not None:
            drafts.insert(0, coverage(policy, holder, payer, relation, bill.said, bill.updated))
        span = [*others, *rest] or ([policy] if policy is not None else [])
        found.append(
            Item(
                kind=str(Kind.INSURANCE),
                label="SBR",
                place=span_of(span),
                person=person,
                span=span,
                read=[*others, *(s for p in here.parties if p is not party for s in read_of(p))],
                drafts=drafts,
            )
        )
    return found


def coverage(
    policy: Segment | None,
    holder: Party | None,
    payer: Party | None,
    relation: str,
    said: tuple[AuthorshipEvidence, ...],
    updated: str,
) -> Draft:
    """The coverage that a bill names (SBR, NM1*IL, NM1*PR)."""
    read = [s for s in (policy, holder.name if holder else None, payer.name if payer else None) if s is not None]
    type = meaning("SBR09", policy.get(9)) if policy else ""
    member = number(holder).rpartition("|")[2] if holder and holder.name.get(9) else ""
    draft = Draft(
        kind=Kind.INSURANCE,
        type="SBR",
        place=span_of(read),
        aspect=Aspect.COVERED,
        content=[updated, relation, canonical(read)],
        reference=f"coverage/{number(payer)}|{member}/{who_says(said)}" if member else "",
        updated=updated,
        evidence=said or nobody("SBR"),
        concept=CodedText(type or "Coverage"),
        status=policy.get(1) if policy else "",
        fields={},
    )
    if policy is not None:
        draft.set("group", policy.get(3))
        draft.set("plan", policy.get(4))
        draft.set("order", meaning("SBR01", policy.get(1)))
        draft.set("type", CodedText(type) if type else None)
    words = meaning("relationship", relation)
    draft.set("relationship", CodedText(words) if words else None)
    draft.set("member_id", member)
    draft.set("payor", name_of(payer.name) if payer else "")
    if holder is not None and relation not in ("18", ""):
        draft.set("subscriber", name_of(holder.name))
    return draft


def _claim(segments: list[Segment], person: Person | None, bill: _Bill) -> Item:
    head, lines = loops(segments, "LX")
    own, others = loops(head, "SBR")
    loop = split(own)
    claim = segments[0]
    place_of_service, _qualifier, frequency = (*claim.parts(5), "", "", "")[:3]
    line_times = [at for line in lines if (at := dated(line, "472"))]
    served = dated(loop.others, "472", "434") or overall(line_times)
    key = f"claim/{number(bill.biller)}|{claim.get(1)}"
    if frequency not in _ONE_RECORD:
        start = starting(served)
        key += f"|{frequency}|{start.text if start else ''}"
    performers = tuple(each for code in _PERFORMERS for each in evidence(loop.party(code), Part.PERFORMER)[:1])
    draft = Draft(
        kind=Kind.CLAIM,
        type="CLM",
        place=span_of(segments),
        aspect=Aspect.BILLED,
        content=[bill.updated, canonical(segments)],
        reference=key if claim.get(1) else "",
        updated=bill.updated,
        identifiers=_identifiers(claim, loop, bill),
        evidence=bill.said + performers,
        concept=CodedText(bill.title),
        status=frequency,
        standing=standing("CLM05-3", frequency or "1"),
        fields={},
    )
    draft.time(Clock.EFFECTIVE, served)
    draft.time(Clock.PREPARED, bill.prepared)
    draft.set("use", "claim")
    draft.set("type", CodedText(bill.title))
    draft.set("total", money(claim.get(2), bill.currency))
    draft.set("frequency", meaning("CLM05-3", frequency))
    if place_of_service and _qualifier == "B":
        draft.set("place_of_service", CodedText(codings=(coding(_PLACES, place_of_service),)))
    elif place_of_service:
        draft.set("facility_type", place_of_service)
    draft.set("provider", name_of(bill.biller.name) if bill.biller else "")
    draft.set("insurer", name_of(bill.payer.name) if bill.payer else "")
    draft.set("admitted", starting(dated(loop.others, "435")))
    draft.set("onset", starting(dated(loop.others, "431")))
    draft.set("accident", starting(dated(loop.others, "439")))
    for segment in loop.all("REF", *_REFERENCES):
        draft.set(_REFERENCES[segment.get(1)], segment.get(2))
    item = Item(
        kind=str(Kind.CLAIM),
        label=f"CLM frequency {frequency}" if frequency else "CLM",
        place=draft.place,
        person=person,
        span=segments,
        read=[claim, *loop.all("REF", *_REFERENCES), *loop.all("DTP", "472", "434", "435", "431", "439")],
        drafts=[draft],
        notes=[],
        detail=[],
    )
    _codes(item, draft, loop, served, void=frequency == _VOID)
    for position, line in enumerate(lines):
        _line(item, draft, line, served, bill, position, void=frequency == _VOID)
    _parties(item, loop.parties)
    for position, other in enumerate(others):
        _other_coverage(item, other, bill, position)
    _notes(item, draft, own)
    draft.set("note_count", len(item.notes) or None)
    return item


def _identifiers(claim: Segment, loop: Split, bill: _Bill) -> tuple[BusinessIdentifier, ...]:
    """The claim's number at who billed, and at who pays."""
    found = [BusinessIdentifier(f"urn:x12:CLM01:{number(bill.biller)}", claim.get(1))] if claim.get(1) else []
    original = loop.first("REF", "F8")
    if original is not None and original.get(2):
        found.append(BusinessIdentifier(f"urn:x12:REF*F8:{number(bill.payer)}", original.get(2)))
    return tuple(found)


def _codes(item: Item, claim: Draft, loop: Split, served: ClinicalTime | Period | None, *, void: bool) -> None:
    """Diagnoses and procedures of HI, each a statement of its own; other codes stay on the claim."""
    diagnoses: list[str] = []
    information: list[str] = []
    seen: set[object] = set()
    for segment in loop.all("HI"):
        for position in range(1, len(segment.elements) + 1):
            parts = segment.parts(position)
            if not parts:
                continue
            held = health_code(parts)
            if held is None:
                item.detail.append(f"{segment.place} HI{position:02} has a qualifier that is not known")
                continue
            item.read.append(segment)
            used, concept = held
            if used.what == "information":
                extra = parts[4] if len(parts) > 4 and parts[4] else parts[3] if len(parts) > 3 else ""
                information.append(" ".join(filter(None, (used.role, parts[1], extra))))
                continue
            if used.what == "diagnosis":
                diagnoses.append(concept.codings[0].key)
            if (used, concept) in seen:
                continue  # the same code twice on one claim says it once
            seen.add((used, concept))
            at = when(parts[2], parts[3]) if len(parts) > 3 else served
            item.drafts.append(_billed(claim, segment, f"{used.what}/{len(seen)}", used.role, concept, at, void=void))
            if used.what == "diagnosis":
                item.drafts[-1].kind = Kind.CONDITION
                item.drafts[-1].times = []
                # For what day it was billed; not when it began, which a bill does not say.
                item.drafts[-1].time(Clock.ASSERTED, starting(served))
                item.drafts[-1].set("present_on_admission", parts[8] if len(parts) > 8 else "")
    claim.set("diagnosis", "; ".join(diagnoses))
    claim.set("billing_codes", "; ".join(information))


def _billed(
    claim: Draft,
    segment: Segment,
    part: str,
    role: str,
    concept: CodedText,
    at: ClinicalTime | Period | None,
    *,
    void: bool,
) -> Draft:
    draft = Draft(
        kind=Kind.PROCEDURE,
        type=segment.id,
        place=segment.place,
        aspect=Aspect.BILLED,
        content=[claim.updated, part, role, concept, at, void],
        reference=claim.reference,
        part=part,
        updated=claim.updated,
        evidence=claim.evidence,
        concept=concept,
        status=claim.status,
        standing=Standing.ENTERED_IN_ERROR if void else Standing.UNKNOWN,
        fields={},
    )
    draft.set("category", CodedText(f"billed {role}".strip()))
    draft.time(Clock.EFFECTIVE, at)
    return draft


def _line(
    item: Item,
    claim: Draft,
    line: list[Segment],
    served: ClinicalTime | Period | None,
    bill: _Bill,
    position: int,
    *,
    void: bool,
) -> None:
    """A service line: a component of the claim, a procedure as billed, and the drug it names (LIN)."""
    loop = split(line)
    item.read.append(line[0])
    service = next((s for s in loop.others if s.id in _LINE), None)
    if service is None:
        item.detail.append(f"{line[0].place} is a line without a service")
        return
    code_at, charge_at, quantity_at, unit_at = _LINE[service.id]
    item.read += [service, *loop.all("DTP", "472")]
    concept = procedure(service.parts(code_at))
    revenue = None
    if service.id == "SV2" and service.get(1):
        listed = code_list("procedure", "NU")
        revenue = CodedText(codings=(coding(listed.system if listed else "", service.get(1)),))
    shown = concept or revenue
    if shown is None:
        item.detail.append(f"{service.place} names no service")
        return
    claim.components.append(Component(shown, money(service.get(charge_at), bill.currency)))
    at = dated(loop.others, "472") or served
    part = f"service/{line[0].get(1) or position + 1}"
    if concept is not None:
        rendering = evidence(loop.party("82"), Part.PERFORMER)
        draft = _billed(claim, service, part, "service", concept, at, void=void)
        if rendering:
            draft.evidence = tuple(e for e in draft.evidence if e.element != "NM1*82") + rendering
        draft.standing = Standing.ENTERED_IN_ERROR if void else Standing.COMPLETED
        draft.set("modifiers", modifiers(service.parts(code_at)))
        draft.set("quantity", _quantity(service, quantity_at, unit_at))
        draft.content = [draft.content, canonical([service])]
        item.drafts.append(draft)
    for drug in loop.all("LIN"):
        listed = code_list("procedure", drug.get(2))
        if listed is None or listed.what != "drug" or not drug.get(3):
            continue
        named = CodedText(codings=(coding(listed.system, drug.get(3)),))
        dispensed = _billed(claim, drug, part.replace("service", "drug"), "drug", named, at, void=void)
        dispensed.kind = Kind.MEDICATION_EVENT
        amount = loop.first("CTP")
        if amount is not None:
            dispensed.set("dose_quantity", _quantity(amount, 4, 5))
            item.read.append(amount)
        item.read.append(drug)
        item.drafts.append(dispensed)
    _parties(item, loop.parties)


def _quantity(segment: Segment, at: int, unit_at: int) -> Quantity | None:
    value = segment.get(at)
    unit = segment.parts(unit_at)[:1] if unit_at else ()
    return Quantity(value, unit=unit[0] if unit else "") if value else None


def _parties(item: Item, parties: Iterable[Party]) -> None:
    for party in parties:
        item.read += read_of(party)
    item.drafts += persons(parties, skip=("IL", "QC"))


def _other_coverage(item: Item, segments: Sequence[Segment], bill: _Bill, position: int) -> None:
    """Another payer's coverage of the patient (loop 2320)."""
    loop = split(segments)
    policy = segments[0]
    draft = coverage(policy, loop.party("IL"), loop.party("PR"), policy.get(2), bill.said, bill.updated)
    item.drafts.append(draft)
    item.read.append(policy)
    _parties(item, loop.parties)


def _notes(item: Item, draft: Draft, segments: Iterable[Segment]) -> None:
    for segment in segments:
        if segment.id == "NTE" and segment.get(2).strip():
            item.notes.append(
                Note(
                    of=draft,
                    part=f"note/{len(item.notes)}",
                    place=segment.place,
                    text=segment.get(2),
                    title="claim note",
                )
            )
            item.read.append(segment)

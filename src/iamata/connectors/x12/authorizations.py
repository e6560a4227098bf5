"""What care was authorized (278)? A request of a provider or the answer of the payer's reviewer; BHT02 says which.

A request (13, 01, 36) proposes; an answer (11) certifies, modifies, refuses or pends. The diagnoses named for it are
kept on the authorization: they were not billed, and nobody diagnosed by it.
"""

from __future__ import annotations

from collections.abc import Sequence

from iamata.connectors.x12.decoding import Segment
from iamata.connectors.x12.drafts import Draft, Item, Note, canonical, nobody, span_of
from iamata.connectors.x12.envelopes import Transaction
from iamata.connectors.x12.loops import Level, Party, levels, split
from iamata.connectors.x12.parties import (
    demographic,
    evidence,
    number,
    party_items,
    patient_of,
    persons,
    read_of,
)
from iamata.connectors.x12.people import Person
from iamata.connectors.x12.values import coding, dated, health_code, name_of, procedure, stamp
from iamata.model.attribution import AuthorshipEvidence, Part
from iamata.model.clinical_time import Clock, parse_time
from iamata.model.coding import BusinessIdentifier, CodedText, Quantity
from iamata.model.statement import Aspect, Component, Kind
from iamata.terminology.x12 import code_list, meaning, standing

# BHT02, transaction set purpose: 11 response; 13 request, 01 cancellation, 36 authority to deduct (reply).
_RESPONSE = "11"
_PATIENTS = {"22": ("IL",), "23": ("QC", "03")}
_EVENTS = frozenset({"EV", "SS"})
_LINE = {"SV1": 1, "SV2": 2, "SV3": 1}
_BARE = frozenset({"N3", "N4", "PER", "PRV", "REF"})
_DATES = ("472", "435", "096", "AAH", "007", "036", "102")


def items(transaction: Transaction) -> tuple[list[Item], list[Segment]]:
    """The items of a 278 in file order, and the segments of its structure that were read. An event with the services
    below it is one authorization."""
    header, tree = levels(transaction.body)
    begin = next((s for s in header if s.id == "BHT"), None)
    updated = stamp(begin.get(4), begin.get(5)) if begin else ""
    answer = begin is not None and begin.get(2) == _RESPONSE
    structure = [s for s in (begin, *(level.start for level in tree)) if s is not None]
    found: list[Item] = []
    patients: dict[int, tuple[Person | None, Party | None]] = {}
    for level in tree:
        here = split(level.segments, _BARE | {"DMG"})
        if level.code in _PATIENTS:
            party = here.party(*_PATIENTS[level.code])
            person = patient_of(party, here.others)
            patients[id(level)] = (person, party)
            below = [each for each in tree if each.parent is level]
            is_patient = not any(each.code == "23" for each in below) or any(each.code in _EVENTS for each in below)
            item = Item(
                kind=str(Kind.DEMOGRAPHIC) if is_patient else "subscriber",
                label=f"HL {level.code}",
                place=span_of(level.segments) if level.segments else level.start.place if level.start else "",
                person=person if is_patient else None,
                span=level.segments,
                read=[s for each in here.parties for s in read_of(each)],
                drafts=[],
                detail=[] if is_patient else ["a subscriber who is not the patient: not kept"],
            )
            if is_patient and party is not None and person is not None:
                said = _said(level, answer=answer)
                item.drafts.append(demographic(party, said, here.others, updated=updated))
                item.read += here.all("DMG")
            elif is_patient:
                item.refused = "names no patient"
            if level.segments:
                found.append(item)
        elif level.code in _EVENTS:
            if level.code == "SS" and level.parent is not None and level.parent.code == "EV":
                continue  # read with its event
            services = [each for each in tree if each.parent is level and each.code == "SS"]
            above = level.above(*_PATIENTS)
            person, _party = patients.get(id(above), (None, None))
            found.append(_authorization(level, services, person, updated, answer=answer))
        else:
            found += party_items(here.parties)
    return found, structure


def _said(level: Level, *, answer: bool) -> tuple[AuthorshipEvidence, ...]:
    source = level.above("20" if answer else "21")
    party = next(iter(split(source.segments).parties), None) if source else None
    return evidence(party, Part.AUTHOR) or nobody("HCR" if answer else "UM")


def _authorization(
    level: Level, services: Sequence[Level], person: Person | None, updated: str, *, answer: bool
) -> Item:
    span = [*level.segments, *(s for each in services for s in each.segments)]
    loop = split(level.segments, _BARE)
    review, request = loop.first("HCR"), loop.first("UM")
    trace = loop.first("TRN")
    reviewer = level.above("20")
    payer = next(iter(split(reviewer.segments).parties), None) if reviewer else None
    given = (review.get(2) if review else "") or next((s.get(2) for s in loop.all("REF", "BB")), "")
    own = given or (trace.get(2) if trace else "")
    item = Item(
        kind=str(Kind.AUTHORIZATION),
        label="HCR" if answer else "UM",
        place=span_of(span) if span else (level.start.place if level.start else ""),
        person=person,
        span=span,
        read=[*loop.all("HCR"), *loop.all("UM"), *loop.all("TRN"), *loop.all("REF", "BB"), *loop.all("DTP", *_DATES)],
        drafts=[],
        notes=[],
        detail=[],
        refused="" if person else "names no patient",
    )
    code = review.get(1) if review else ""
    draft = Draft(
        kind=Kind.AUTHORIZATION,
        type="HCR" if answer else "UM",
        place=item.place,
        aspect=Aspect.COVERED if answer else Aspect.PROPOSED,
        content=[updated, answer, canonical(span)],
        reference=f"authorization/{number(payer)}|{'answer' if answer else 'request'}|{own}" if own else "",
        updated=updated,
        identifiers=_identifiers(payer, given, trace),
        evidence=_said(level, answer=answer),
        concept=CodedText(_title(request)),
        status=code or (request.get(2) if request else ""),
        standing=standing("HCR01", code) if code else standing("UM02", request.get(2) if request else ""),
        fields={},
    )
    draft.set("use", "preauthorization")
    draft.set("outcome", meaning("HCR01", code))
    draft.set("reason", review.get(3) if review else "")
    draft.set("authorization_number", given)
    draft.set("certification", meaning("UM02", request.get(2)) if request else "")
    draft.set("insurer", name_of(payer.name) if payer else "")
    asker = level.above("21")
    requester = next(iter(split(asker.segments).parties), None) if asker else None
    draft.set("provider", name_of(requester.name) if requester else "")
    draft.time(Clock.EFFECTIVE, dated(loop.others, *_DATES))
    draft.time(Clock.PREPARED, parse_time(updated) if updated else None)
    diagnoses = []
    for segment in loop.all("HI"):
        for position in range(1, len(segment.elements) + 1):
            held = health_code(segment.parts(position))
            if held is not None and held[0].what == "diagnosis":
                diagnoses.append(held[1].codings[0].key)
                item.read.append(segment)
    draft.set("diagnosis", "; ".join(diagnoses))
    for each in (level, *services):
        _services(item, draft, each.segments)
    for segment in loop.all("MSG"):
        if segment.get(1).strip():
            item.notes.append(Note(of=draft, part=f"note/{len(item.notes)}", place=segment.place, text=segment.get(1)))
            item.read.append(segment)
    draft.set("note_count", len(item.notes) or None)
    item.drafts += [draft, *persons(loop.parties)]
    for party in loop.parties:
        item.read += read_of(party)
    return item


def _title(request: Segment | None) -> str:
    words = meaning("UM01", request.get(1)) if request else ""
    return f"Authorization, {words}" if words else "Authorization"


def _identifiers(payer: Party | None, given: str, trace: Segment | None) -> tuple[BusinessIdentifier, ...]:
    """The number the payer gave, and the trace number by which a request and its answer are one."""
    found = [BusinessIdentifier(f"urn:x12:REF*BB:{number(payer)}", given)] if given else []
    if trace is not None and trace.get(2):
        found.append(BusinessIdentifier(f"urn:x12:TRN:{trace.get(3)}", trace.get(2)))
    return tuple(found)


def _services(item: Item, draft: Draft, segments: Sequence[Segment]) -> None:
    """Each service as a component with its amount of care, and what was decided on it."""
    decision = next((s for s in segments if s.id == "HCR"), None)
    amount = next((s for s in segments if s.id == "HSD"), None)
    value = Quantity(amount.get(2), unit=amount.get(1)) if amount is not None and amount.get(2) else None
    for segment in segments:
        if segment.id not in _LINE:
            continue
        item.read.append(segment)
        concept = procedure(segment.parts(_LINE[segment.id]))
        if concept is None and segment.id == "SV2" and segment.get(1):
            revenue = code_list("procedure", "NU")
            concept = CodedText(codings=(coding(revenue.system if revenue else "", segment.get(1)),))
        if concept is None:
            item.detail.append(f"{segment.place} names no service")
            continue
        words = meaning("HCR01", decision.get(1)) if decision is not None else ""
        shown = f"{concept.display}, {words}" if words else ""
        draft.components.append(Component(CodedText(shown, concept.codings) if shown else concept, value))
    item.read += [s for s in (decision, amount) if s is not None]
    if not any(s.id in _LINE for s in segments) and value is not None:
        draft.set("quantity", value)

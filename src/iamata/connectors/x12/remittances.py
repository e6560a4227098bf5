"""What did the payer decide and pay (835)? One remittance a claim, with its adjustments and lines.

A remittance is named by the payer's own claim number (CLP07), else by the provider's (CLP01): a reversal (CLP02 22) of
it is a later content of the same record and cancels it; what follows a reversal in the same transaction corrects it.
Adjustment reasons and remarks are codes without descriptions. Not here: sums of the whole payment (BPR, PLB), which are
of no one patient.
"""

from __future__ import annotations

from iamata.connectors.x12.decoding import Segment
from iamata.connectors.x12.drafts import Draft, Item, canonical, nobody, span_of
from iamata.connectors.x12.envelopes import Transaction
from iamata.connectors.x12.loops import BARE_PARTY_PARTS, Party, Split, loops, split
from iamata.connectors.x12.parties import (
    demographic,
    evidence,
    number,
    party_items,
    patient_of,
    persons,
    read_of,
)
from iamata.connectors.x12.values import (
    coding,
    currency_of,
    modifiers,
    money,
    name_of,
    overall,
    point,
    procedure,
    stamp,
)
from iamata.model.attribution import AuthorshipEvidence, Part
from iamata.model.clinical_time import ClinicalTime, Clock, Period, parse_time
from iamata.model.coding import BusinessIdentifier, CodedText
from iamata.model.statement import Aspect, Component, Kind, Standing
from iamata.terminology.x12 import code_list, meaning, standing

_REASONS = "https://x12.org/codes/claim-adjustment-reason-codes"
_REMARKS = "https://x12.org/codes/remittance-advice-remark-codes"
_REVERSAL = "22"
_SERVICE_DATES = ("232", "233", "472", "150", "151")
_REMARK_AT = {"MIA": (5, 20, 21, 22, 23), "MOA": (3, 4, 5, 6, 7)}


def items(transaction: Transaction) -> tuple[list[Item], list[Segment]]:
    """The items of an 835 in file order, and the segments of its structure that were read."""
    header, claims = loops(transaction.body, "LX", "CLP")
    # What follows the last claim and is of the whole payment again.
    for loop in claims:
        cut = next((n for n, s in enumerate(loop) if s.id == "PLB"), len(loop))
        header += loop[cut:]
        del loop[cut:]
    top = split(header)
    found = party_items(top.parties)
    structure = [s for s in top.others if s.id == "CUR" or (s.id == "DTM" and s.get(1) == "405")]
    payer, payee = top.party("PR"), top.party("PE")
    payment = top.first("BPR")
    produced = top.first("DTM", "405")
    updated = stamp(produced.get(2)) if produced else ""
    if not updated and payment is not None:
        updated = stamp(payment.get(16))
    if payment is not None:
        structure.append(payment)
    said = evidence(payer, Part.AUTHOR) or nobody("CLP")
    paid_on = point(payment.get(16)) if payment is not None else None
    reversed_numbers: set[str] = set()
    for loop in claims:
        if loop[0].id == "LX":
            structure.append(loop[0])
            continue
        item = _remittance(loop, said, payer, payee, currency_of(header), updated, paid_on, reversed_numbers)
        found.append(item)
    return found, structure


def _remittance(
    segments: list[Segment],
    said: tuple[AuthorshipEvidence, ...],
    payer: Party | None,
    payee: Party | None,
    currency: str,
    updated: str,
    paid_on: ClinicalTime | None,
    reversed_numbers: set[str],
) -> Item:
    head, lines = loops(segments, "SVC")
    loop = split(head, BARE_PARTY_PARTS)
    claim = segments[0]
    status, own = claim.get(2), claim.get(7) or claim.get(1)
    patient = loop.party("QC")
    person = patient_of(patient) or patient_of(loop.party("IL"))
    item = Item(
        kind=str(Kind.REMITTANCE),
        label=f"CLP status {status}",
        place=span_of(segments),
        person=person,
        span=segments,
        read=[claim],
        drafts=[],
        notes=[],
        detail=[],
    )
    draft = Draft(
        kind=Kind.REMITTANCE,
        type="CLP",
        place=item.place,
        aspect=Aspect.COVERED,
        content=[updated, canonical(segments)],
        reference=f"remittance/{number(payer)}|{own}" if own else "",
        updated=updated,
        identifiers=_identifiers(claim, payer, payee),
        evidence=said,
        concept=CodedText("Claim payment"),
        status=status,
        standing=standing("CLP02", status),
        fields={},
    )
    if status == _REVERSAL:
        reversed_numbers.add(claim.get(1))
    elif claim.get(1) in reversed_numbers:
        draft.standing = Standing.CORRECTED
    draft.set("outcome", meaning("CLP02", status))
    draft.set("total", money(claim.get(3), currency))
    draft.set("payment", money(claim.get(4), currency))
    draft.set("patient_responsibility", money(claim.get(5), currency))
    draft.set("payment_date", paid_on)
    draft.set("insurer", name_of(payer.name) if payer else "")
    draft.set("provider", name_of(payee.name) if payee else "")
    draft.set("patient_control_number", claim.get(1))
    draft.set("payer_claim_number", claim.get(7))
    remarks = [s for s in loop.others if s.id in _REMARK_AT]
    draft.set("remarks", " ".join(filter(None, (s.get(n) for s in remarks for n in _REMARK_AT[s.id]))))
    draft.set("adjustments", "; ".join(_adjustments(item, draft, loop, currency)))
    dates = [at for s in loop.all("DTM", *_SERVICE_DATES) if (at := point(s.get(2)))]
    item.read += [*remarks, *loop.all("DTM", *_SERVICE_DATES)]
    line_dates: list[ClinicalTime | Period] = []
    for line in lines:
        line_dates += _line(item, draft, line, currency)
    draft.time(Clock.EFFECTIVE, overall(dates) or overall(line_dates))
    draft.time(Clock.PREPARED, parse_time(updated) if updated else None)
    item.drafts.append(draft)
    for party in loop.parties:
        item.read += read_of(party)
    item.drafts += persons(loop.parties, skip=("QC", "IL", "74"))
    if patient is not None and person is not None:
        item.drafts.append(demographic(patient, said, updated=updated))
    return item


def _identifiers(claim: Segment, payer: Party | None, payee: Party | None) -> tuple[BusinessIdentifier, ...]:
    found = []
    if claim.get(1):
        found.append(BusinessIdentifier(f"urn:x12:CLM01:{number(payee)}", claim.get(1)))
    if claim.get(7):
        found.append(BusinessIdentifier(f"urn:x12:REF*F8:{number(payer)}", claim.get(7)))
    return tuple(found)


def _adjustments(item: Item, draft: Draft, loop: Split, currency: str) -> list[str]:
    """Each adjustment as a component, and in words: `contractual obligation 45: 73348.57 USD`."""
    said = []
    for segment in loop.all("CAS"):
        item.read.append(segment)
        group = meaning("CAS01", segment.get(1)) or segment.get(1)
        for at in range(2, 20, 3):  # reason, amount, quantity: up to six times
            reason, amount = segment.get(at), money(segment.get(at + 1), currency)
            if not reason:
                continue
            concept = CodedText(f"adjustment, {group} {reason}", (coding(_REASONS, reason),))
            draft.components.append(Component(concept, amount))
            said.append(f"{group} {reason}: {amount}" if amount else f"{group} {reason}")
    return said


def _line(item: Item, draft: Draft, line: list[Segment], currency: str) -> list[ClinicalTime | Period]:
    """A paid service line: the procedure and what was paid for it, then its adjustments. Returns its dates."""
    service, loop = line[0], split(line, BARE_PARTY_PARTS)
    item.read += [service, *loop.all("DTM", *_SERVICE_DATES), *loop.all("LQ", "HE")]
    parts = service.parts(1)
    concept = procedure(parts)
    if concept is None and service.get(4):
        revenue = code_list("procedure", "NU")
        concept = CodedText(codings=(coding(revenue.system if revenue else "", service.get(4)),))
    if concept is None:
        item.detail.append(f"{service.place} names no service")
    else:
        changed = modifiers(parts)
        if changed:
            concept = CodedText(f"{concept.display} {changed}", concept.codings)
        draft.components.append(Component(concept, money(service.get(3), currency)))
    _adjustments(item, draft, loop, currency)
    for remark in loop.all("LQ", "HE"):
        if remark.get(2):
            code = CodedText(f"remark {remark.get(2)}", (coding(_REMARKS, remark.get(2)),))
            draft.components.append(Component(code))
    return [at for s in loop.all("DTM", *_SERVICE_DATES) if (at := point(s.get(2)))]

"""What does an X12 interchange say of one patient? Decode, tell transactions apart, list items, keep the patient's."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from iamata.connectors.x12 import authorizations, claims, eligibility, enrollments, inquiries, remittances
from iamata.connectors.x12.decoding import LIMIT_BYTES, LIMIT_SEGMENTS, Segment, decode
from iamata.connectors.x12.drafts import Item
from iamata.connectors.x12.envelopes import Transaction, envelopes
from iamata.connectors.x12.people import Patients
from iamata.connectors.x12.statements import Writer
from iamata.model.clinical_time import ClinicalTime, Period, Precision
from iamata.model.document import IntakeLine, Outcome, Reason
from iamata.model.identifiers import IdMint
from iamata.model.passage import Passage
from iamata.model.provenance import Place
from iamata.model.scope import Subject
from iamata.model.sighting import Sighting
from iamata.model.statement import Statement
from iamata.ports import Parsed
from iamata.terminology.x12 import guide

FORMAT: Final = "x12"

_READINGS: Final[dict[str, Callable[[Transaction], tuple[list[Item], list[Segment]]]]] = {
    "claims": claims.items,
    "remittances": remittances.items,
    "enrollments": enrollments.items,
    "eligibility": eligibility.items,
    "inquiries": inquiries.items,
    "authorizations": authorizations.items,
}
_NOT_READ = "kept in the document, not read yet"


def read(
    body: bytes,
    *,
    subject: Subject,
    source: str,
    mint: IdMint,
    document: str,
    received_at: datetime,
    limit_bytes: int = LIMIT_BYTES,
    limit_segments: int = LIMIT_SEGMENTS,
) -> Parsed:
    """Statements, passages, sightings and the intake of all transactions, in file order.

    Every segment is in an item, is part of the structure, or has a line of its own. Raises BadInput (empty, no
    interchange, an ISA cut short, no transaction) or TooLarge. Wrong counts and ends that are missing are warnings.
    Equal items are one statement with several sightings.
    """
    decoded = decode(body, limit_bytes=limit_bytes, limit_segments=limit_segments)
    found = envelopes(decoded.segments)
    lines = [
        _ignored("segment", f"segment/{number}", Reason.UNUSABLE, detail="not a segment")
        for number, _at in decoded.stray
    ]
    lines += [_unread(segment) for segment in found.loose]
    items: list[Item] = []
    for transaction in found.transactions:
        mine, unread = items_of(transaction)
        items += mine
        lines += unread
    patients = Patients((item.person for item in items if item.person is not None), subject.id)
    writer = Writer(subject, source, mint)
    statements: dict[str, Statement] = {}
    passages: dict[str, Passage] = {}
    sightings: list[Sighting] = []
    set_aside = 0
    for item in items:
        if not patients.mine(item.person):
            set_aside += 1
            lines.append(_ignored(item.kind, item.place, Reason.UNUSABLE, label=item.label, detail=patients.reason))
            continue
        if item.refused:
            lines.append(_ignored(item.kind, item.place, Reason.UNUSABLE, label=item.label, detail=item.refused))
            continue
        for draft in item.drafts:
            statement = writer.statement(draft)
            statements.setdefault(statement.id, statement)
            sightings.append(Sighting(statement.id, document, Place(draft.place), received_at))
        for note in item.notes:
            passage = writer.passage(note)
            passages.setdefault(passage.id, passage)
            sightings.append(Sighting(passage.id, document, Place(note.place), received_at))
        lines.append(_line(item))
        done = {segment.number for segment in item.read}
        lines += [_unread(segment) for segment in item.span if segment.number not in done]
    return Parsed(
        format=FORMAT,
        statements=tuple(statements.values()),
        passages=tuple(passages.values()),
        sightings=tuple(sightings),
        intake=tuple(sorted(lines, key=_where)),
        warnings=(*decoded.warnings, *found.warnings, *_ambiguous(patients)),
        set_aside=set_aside,
    )


def items_of(transaction: Transaction) -> tuple[list[Item], list[IntakeLine]]:
    """The items of one transaction, and the lines of what is in none of them."""
    named = guide(transaction.type, transaction.guide)
    if named is None:
        label = " ".join(filter(None, (transaction.type, transaction.guide)))[:40]
        return [], [_ignored("transaction", transaction.place, Reason.UNSUPPORTED, label=label, detail=_NOT_READ)]
    items, structure = _READINGS[named.reading](transaction)
    held = {segment.number for segment in structure}
    held |= {segment.number for item in items for segment in (*item.span, *item.read)}
    unread = [_unread(segment) for segment in transaction.body if segment.number not in held]
    if not items and not unread:
        label = " ".join(filter(None, (transaction.type, transaction.guide)))[:40]
        return [], [_ignored("transaction", transaction.place, Reason.EMPTY, label=label, detail="says nothing")]
    return items, unread


def _line(item: Item) -> IntakeLine:
    detail = [*item.detail, *_no_dates(item)]
    if item.drafts:
        return IntakeLine(
            item.kind, item.place, Outcome.STRUCTURED, label=item.label, detail="; ".join(dict.fromkeys(detail))
        )
    detail.append("says nothing")
    return _ignored(item.kind, item.place, Reason.EMPTY, label=item.label, detail="; ".join(detail))


def _no_dates(item: Item) -> list[str]:
    """The places of drafts whose times are words."""

    def words(at: ClinicalTime | Period) -> bool:
        points = (at.start, at.end) if isinstance(at, Period) else (at,)
        return any(p is not None and p.precision is Precision.TEXT for p in points)

    return [
        f"{draft.place} has a time that is no date"
        for draft in item.drafts
        if any(words(timed.at) for timed in draft.times)
    ]


def _ignored(kind: str, place: str, reason: Reason, *, label: str = "", detail: str = "") -> IntakeLine:
    return IntakeLine(kind, place, Outcome.IGNORED, reason, label, detail)


def _unread(segment: Segment) -> IntakeLine:
    return _ignored("segment", segment.place, Reason.UNSUPPORTED, label=segment.id, detail=_NOT_READ)


def _where(line: IntakeLine) -> tuple[int, str]:
    numbers = line.place.partition("/")[2]
    first = numbers.partition("-")[0]
    return (int(first) if first.isdecimal() else 0, line.place)


def _ambiguous(patients: Patients) -> list[str]:
    if patients.chosen is None and patients.count > 1:
        return [
            f"{patients.count} patients are named equally often: send them as patients named by their member number"
        ]
    return []

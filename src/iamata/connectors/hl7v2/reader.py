"""What do HL7 v2 messages say of one patient? Decode, group, keep the patient's, read each group, account for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

from iamata.connectors.hl7v2.authorship import nobody
from iamata.connectors.hl7v2.belonging import reasons
from iamata.connectors.hl7v2.context import Context
from iamata.connectors.hl7v2.decoding import LIMIT_BYTES, LIMIT_SEGMENTS, Message, decode
from iamata.connectors.hl7v2.documents import document
from iamata.connectors.hl7v2.drafts import Draft, Text
from iamata.connectors.hl7v2.grouping import Group, PatientGroup, patients
from iamata.connectors.hl7v2.intake import Account
from iamata.connectors.hl7v2.medicines import administration, dispense, prescription
from iamata.connectors.hl7v2.money import charge, insurance
from iamata.connectors.hl7v2.orders import alone, diet
from iamata.connectors.hl7v2.people import merge_proposal, patient, related
from iamata.connectors.hl7v2.problems import allergy, diagnosis, goal, problem, procedure
from iamata.connectors.hl7v2.restrictions import Restrictions
from iamata.connectors.hl7v2.results import observation, report
from iamata.connectors.hl7v2.segments import Segment, Trace
from iamata.connectors.hl7v2.visits import appointment, encounter, referral
from iamata.model.clinical_time import Clock, Timed
from iamata.model.identifiers import IdMint, canonical_bytes, content_digest
from iamata.model.passage import Passage
from iamata.model.provenance import Place, Provenance, RecordIdentity
from iamata.model.scope import Subject
from iamata.model.sighting import Sighting
from iamata.model.statement import Statement
from iamata.ports import Parsed

FORMAT: Final = "hl7v2"
READER: Final = "hl7v2/3"

Handler = Callable[[Group, Context], Iterator[Draft]]
_HANDLERS: Final[dict[str, Handler]] = {
    "PID": patient,
    "NK1": related,
    "GT1": related,
    "MRG": merge_proposal,
    "PV1": encounter,
    "SCH": appointment,
    "RF1": referral,
    "OBR": report,
    "OBX": observation,
    "ODS": diet,
    "ORC": alone,
    "RXO": prescription,
    "RXE": prescription,
    "RXD": dispense,
    "RXA": administration,
    "AL1": allergy,
    "IAM": allergy,
    "DG1": diagnosis,
    "PRB": problem,
    "GOL": goal,
    "PR1": procedure,
    "TXA": document,
    "IN1": insurance,
    "FT1": charge,
}


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
    """Statements, passages, sightings and an intake line for every segment, in document order.

    One message, or many, with or without batch headers and MLLP frames. Raises BadInput (empty, no MSH, no usable
    delimiters) or TooLarge; a bad segment spoils only itself. Equal items are one statement with several sightings. Not
    promised: that a message is one that its version and event allow.
    """
    decoded = decode(body, limit_bytes=limit_bytes, limit_segments=limit_segments)
    reading = _Reading(subject, source, mint, document, received_at)
    for segment in decoded.envelope:
        reading.account.envelope(segment)
    parts: list[tuple[Message, PatientGroup]] = []
    for message in decoded.messages:
        if message.fault:
            reading.account.unusable(message)
        else:
            parts += [(message, part) for part in patients(message.segments)]
    set_aside = 0
    belongings = reasons([part for _message, part in parts], subject.id)
    for (message, part), (other, reason) in zip(parts, belongings, strict=True):
        if reason:
            set_aside += reading.account.set_aside(part, reason, other)
        else:
            reading.part(message, part)
    return Parsed(
        format=FORMAT,
        statements=tuple(reading.statements.values()),
        passages=tuple(reading.passages.values()),
        sightings=tuple(reading.sightings),
        intake=reading.account.lines(decoded),
        warnings=(*decoded.warnings, *reading.account.warnings),
        set_aside=set_aside,
    )


class _Reading:
    """What has been read of a document so far."""

    def __init__(self, subject: Subject, source: str, mint: IdMint, document: str, received_at: datetime) -> None:
        self._subject = subject
        self._source = source
        self._mint = mint
        self._document = document
        self._received_at = received_at
        self.account = Account()
        self.statements: dict[str, Statement] = {}
        self.passages: dict[str, Passage] = {}
        self.sightings: list[Sighting] = []

    def part(self, message: Message, part: PatientGroup) -> None:
        """Read every group of one patient's part of a message."""
        header = message.segments[0]
        event = next((s for s in message.segments if s.name == "EVN"), None)
        context = Context(header, part, event)
        restrictions = Restrictions(header, part.segments)
        names: dict[str, list[bytes]] = {}
        for group in part.groups:
            handler = _HANDLERS.get(group.name)
            if handler is None or any(sibling.name in _HANDLERS for sibling in group.siblings):
                continue
            for draft, touched in _drafts(handler, group, context, header.trace):
                draft.labels = sorted({*draft.labels, *restrictions.of(draft.kind, group)})
                self._emit(draft, touched, group, names)
        self.account.part(part, context)

    def _emit(
        self, draft: Draft, touched: list[tuple[Segment, int]], group: Group, names: dict[str, list[bytes]]
    ) -> None:
        content = _content(draft, touched)
        record = _record(draft, content, self._source, names)
        provenance = Provenance(self._source, READER, record)
        evidence = tuple(draft.evidence) or nobody(draft.type)
        key = record.key
        statement = Statement(
            id=self._mint.statement(self._source, key, draft.part, content),
            subject=self._subject,
            kind=draft.kind,
            provenance=provenance,
            authorship=evidence,
            aspect=draft.aspect,
            digest=content_digest(self._source, key, draft.part, content),
            part=draft.part,
            concept=draft.concept,
            polarity=draft.polarity,
            status="/".join(draft.status),
            standing=draft.standing,
            verification=draft.verification,
            times=tuple(draft.times),
            fields=draft.sorted_fields(),
            components=tuple(draft.components),
            references=tuple(draft.references),
            labels=tuple(draft.labels),
            domain=draft.domain,
        )
        self.statements.setdefault(statement.id, statement)
        self._see(statement.id, draft.head.place)
        counts: dict[str, int] = {}
        for text in draft.texts:
            self._text(draft, text, provenance, counts)
        self.account.structured(draft, group, touched)

    def _text(
        self,
        draft: Draft,
        text: Text,
        provenance: Provenance,
        counts: dict[str, int],
    ) -> None:
        """A passage of the item. Who wrote it, when and under which title is part of which passage it is."""
        if not text.text.strip():
            return
        first = text.segments[0]
        counts[first.name] = counts.get(first.name, 0) + 1
        part = f"{first.name}/{counts[first.name]}/{text.number}"
        times = tuple(draft.times)
        if text.written is not None:
            times = (
                Timed(Clock.AUTHORED, text.written),
                *(t for t in times if t.clock in (Clock.EFFECTIVE, Clock.PREPARED)),
            )
        writers = text.evidence or tuple(draft.evidence) or nobody(draft.type)
        told = content_digest(canonical_bytes([writers, times, text.title]))
        passage = Passage(
            id=self._mint.passage(self._source, f"{provenance.record.key} {told}", part, text.text),
            subject=self._subject,
            provenance=provenance,
            authorship=writers,
            part=part,
            text=text.text,
            title=text.title,
            times=times,
            labels=tuple(draft.labels),
            domain=draft.domain,
        )
        self.passages.setdefault(passage.id, passage)
        self._see(passage.id, f"{place_of(text.segments)}/{text.number}")
        self.account.text(text)

    def _see(self, item: str, pointer: str) -> None:
        self.sightings.append(Sighting(item, self._document, Place(pointer), self._received_at))


def _drafts(
    handler: Handler, group: Group, context: Context, trace: Trace
) -> Iterator[tuple[Draft, list[tuple[Segment, int]]]]:
    """The items of a group, each with the fields it was read from."""
    drafts = handler(group, context)
    while True:
        trace.begin()
        try:
            draft = next(drafts)
        except StopIteration:
            trace.end()
            return
        yield draft, trace.end()


def _content(draft: Draft, touched: list[tuple[Segment, int]]) -> bytes:
    """The canonical bytes of an item: its head (or the fields that it is made of), every field of other segments that
    it was read from, what its message's event makes of it, and what it refers to."""
    head = draft.head
    own = [head.plain(number) for number in draft.only] if draft.only else head.content()
    beside = [[s.name, number, s.plain(number)] for s, number in touched if s is not head and s.peek(number)]
    event = [draft.type, draft.kind, draft.aspect, draft.standing, draft.verification, draft.polarity, draft.status]
    content = [event, own, beside, [(each.element, each.reference) for each in draft.references]]
    if draft.labels:  # the same item with other labels is another statement: none takes the place of the other unseen
        content.append([str(each) for each in draft.labels])
    return canonical_bytes(content)


def _record(draft: Draft, content: bytes, source: str, names: dict[str, list[bytes]]) -> RecordIdentity:
    """The record's own name, else one made of its content. Two contents of one name in a message are two records."""
    identifiers = tuple(sorted(draft.identifiers))
    if not draft.record:
        digest = content_digest(source, draft.type, draft.part, content)[:20]
        return RecordIdentity(draft.type, f"{draft.type}/~{digest}", identifiers=identifiers)
    held = names.setdefault(draft.record, [])
    if content not in held:
        held.append(content)
    number = held.index(content) + 1
    return RecordIdentity(
        draft.type, draft.record if number == 1 else f"{draft.record}#{number}", identifiers=identifiers
    )


def place_of(segments: tuple[Segment, ...]) -> str:
    """The pointer of a segment, or of a run of one name (`/1/OBX/2-5`)."""
    first, last = segments[0].place, segments[-1].place
    return first if first == last else f"{first}-{last.rsplit('/', 1)[-1]}"

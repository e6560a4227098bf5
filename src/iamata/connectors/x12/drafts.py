"""What has been read of one item so far? Drafts of statements and notes, before it is known whose item it is."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from iamata.connectors.x12.decoding import Segment
from iamata.connectors.x12.people import Person
from iamata.model.attribution import AuthorshipEvidence, Part
from iamata.model.clinical_time import ClinicalTime, Clock, Period, Timed
from iamata.model.coding import BusinessIdentifier, CodedText
from iamata.model.statement import Aspect, Component, Domain, Kind, Reference, Standing, Value


class Draft(msgspec.Struct, kw_only=True):
    """One statement in the making. `type` is the segment that carries it, `reference` the record's own name (made from
    the content if empty), `content` what its id is made from beside its evidence."""

    kind: Kind
    type: str
    place: str
    aspect: Aspect
    content: object
    reference: str = ""
    part: str = ""
    updated: str = ""
    identifiers: tuple[BusinessIdentifier, ...] = ()
    evidence: tuple[AuthorshipEvidence, ...] = ()
    concept: CodedText | None = None
    status: str = ""
    standing: Standing = Standing.UNKNOWN
    domain: Domain = Domain.FINANCIAL
    fields: dict[str, Value] = {}
    components: list[Component] = []
    times: list[Timed] = []
    references: tuple[Reference, ...] = ()

    def set(self, name: str, value: Value | None) -> None:
        if value is not None and value != "":
            self.fields[name] = value

    def time(self, clock: Clock, at: ClinicalTime | Period | None) -> None:
        if at is not None:
            self.times.append(Timed(clock, at))


class Note(msgspec.Struct, kw_only=True):
    """Free text of an item: a passage. `of` is the draft whose record it belongs to."""

    of: Draft
    part: str
    place: str
    text: str
    title: str = ""


class Item(msgspec.Struct, kw_only=True):
    """One item of a transaction: a claim, a member, a benefit answer, a party.

    `person` is whom it is about, None for what is about nobody (a clinic). `span` are all segments of its loop, `read`
    those that were read; the others are listed. `detail` is for the intake: places and element names.
    """

    kind: str
    label: str
    place: str
    person: Person | None
    span: list[Segment]
    read: list[Segment]
    drafts: list[Draft] = []
    notes: list[Note] = []
    detail: list[str] = []
    refused: str = ""


def canonical(segments: Iterable[Segment]) -> list[object]:
    """Segments without their numbers, places and delimiters: an element as it is, or as repetitions of components."""
    return [[segment.id, [_element(element, segment) for element in segment.elements]] for segment in segments]


def _element(element: str, segment: Segment) -> object:
    if segment.repetition and segment.repetition in element:
        return [part.split(segment.component) for part in element.split(segment.repetition)]
    return [element.split(segment.component)] if segment.component in element else element


def span_of(segments: Iterable[Segment]) -> str:
    """The place of a stretch of segments: `segment/7` or `segments/7-12`."""
    numbers = [segment.number for segment in segments]
    first, last = min(numbers), max(numbers)
    return f"segment/{first}" if first == last else f"segments/{first}-{last}"


def nobody(type: str) -> tuple[AuthorshipEvidence, ...]:
    """The evidence of an item whose transaction names no author."""
    return (AuthorshipEvidence(Part.NONE, type),)

"""How does what was read of a document become statements, passages, sightings and intake lines?

A document is named by what it holds: the same bytes from the same source are the same record.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from iamata.model.attribution import AuthorshipEvidence, Part
from iamata.model.clinical_time import ClinicalTime, Clock, Period, Timed
from iamata.model.coding import BusinessIdentifier, CodedText
from iamata.model.document import IntakeLine, Outcome, Reason
from iamata.model.identifiers import IdMint, canonical_bytes, content_digest
from iamata.model.passage import Passage
from iamata.model.provenance import Place, Provenance, RecordIdentity
from iamata.model.scope import Subject
from iamata.model.sighting import Sighting
from iamata.model.statement import (
    Aspect,
    Component,
    Domain,
    Field,
    Form,
    Kind,
    Reference,
    Standing,
    Statement,
    Value,
)

READER: Final = "documents/2"
_HEX: Final = 20


class Draft(msgspec.Struct, kw_only=True):
    """One statement in the making. `content` is what its identity is made from, beside its type and evidence; `own` its
    name in its source, made from the content if empty."""

    kind: Kind
    type: str
    content: object
    place: str = ""
    own: str = ""
    aspect: Aspect = Aspect.RECORDED
    domain: Domain = Domain.CLINICAL
    form: Form = Form.STRUCTURED
    identifiers: tuple[BusinessIdentifier, ...] = ()
    evidence: tuple[AuthorshipEvidence, ...] = ()
    concept: CodedText | None = None
    status: str = ""
    standing: Standing = Standing.UNKNOWN
    fields: dict[str, Value] = {}
    components: list[Component] = []
    times: list[Timed] = []
    references: tuple[Reference, ...] = ()

    def set(self, name: str, value: Value | None) -> None:
        """Keep a field; None and empty texts are not kept."""
        if value is not None and value != "":
            self.fields[name] = value

    def time(self, clock: Clock, at: ClinicalTime | Period | None) -> None:
        if at is not None:
            self.times.append(Timed(clock, at))


class Writer:
    """Writes the items of one document, in order."""

    def __init__(self, subject: Subject, source: str, mint: IdMint, document: str, received_at: datetime) -> None:
        self._subject, self._source, self._mint = subject, source, mint
        self._document, self._received_at = document, received_at
        self.statements: dict[str, Statement] = {}
        self.passages: dict[str, Passage] = {}
        self.sightings: list[Sighting] = []
        self.lines: list[IntakeLine] = []

    def statement(self, draft: Draft) -> Statement:
        """Write it, with its sighting; the intake line is the caller's."""
        item = canonical_bytes([draft.type, draft.content])
        own = draft.own or f"{draft.type}/~{content_digest(self._source, draft.type, item)[:_HEX]}"
        provenance = Provenance(self._source, READER, RecordIdentity(draft.type, own, identifiers=draft.identifiers))
        statement = Statement(
            id=self._mint.statement(self._source, own, "", item),
            subject=self._subject,
            kind=draft.kind,
            provenance=provenance,
            authorship=draft.evidence or (AuthorshipEvidence(Part.NONE, draft.type),),
            aspect=draft.aspect,
            digest=content_digest(self._source, own, "", item),
            concept=draft.concept,
            status=draft.status,
            standing=draft.standing,
            times=tuple(draft.times),
            fields=tuple(Field(name, draft.fields[name]) for name in sorted(draft.fields)),
            components=tuple(draft.components),
            references=draft.references,
            domain=draft.domain,
            form=draft.form,
        )
        if statement.id not in self.statements:
            self.statements[statement.id] = statement
        self.sightings.append(Sighting(statement.id, self._document, Place(draft.place), self._received_at))
        return statement

    def passage(
        self,
        of: Statement,
        pointer: str,
        text: str,
        *,
        start: int,
        title: str,
        evidence: tuple[AuthorshipEvidence, ...],
    ) -> None:
        """A passage of a document's record; `start` is the offset of the text at `pointer`."""
        part = pointer.strip("/")
        passage = Passage(
            id=self._mint.passage(self._source, of.provenance.record.reference, f"{part}@{start}", text),
            subject=self._subject,
            provenance=of.provenance,
            authorship=evidence,
            part=part,
            text=text,
            title=title,
            start=start,
            # Not when the file was prepared: that says nothing of when its words were written.
            times=tuple(timed for timed in of.times if timed.clock is Clock.AUTHORED),
        )
        self.passages.setdefault(passage.id, passage)
        place = Place(pointer, start, start + len(text))
        self.sightings.append(Sighting(passage.id, self._document, place, self._received_at))

    def line(
        self,
        kind: str,
        place: str,
        outcome: Outcome,
        *,
        label: str = "",
        detail: str = "",
        reason: Reason = Reason.NONE,
    ) -> None:
        self.lines.append(IntakeLine(kind, place, outcome, reason, label, detail))

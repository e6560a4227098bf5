"""How does a draft become a statement? Identity, digest and provenance; nothing is read here."""

from __future__ import annotations

from typing import Final

from iamata.connectors.x12.drafts import Draft, Note
from iamata.model.identifiers import IdMint, canonical_bytes, content_digest
from iamata.model.passage import Passage
from iamata.model.provenance import Provenance, RecordIdentity
from iamata.model.scope import Subject
from iamata.model.statement import Field, Statement

READER: Final = "x12/2"
_HEX = 20


class Writer:
    """Writes the statements and passages of one document."""

    def __init__(self, subject: Subject, source: str, mint: IdMint) -> None:
        self._subject = subject
        self._source = source
        self._mint = mint

    def statement(self, draft: Draft) -> Statement:
        """A record that names itself nowhere is named by its content."""
        item = canonical_bytes([draft.type, draft.evidence, draft.content])
        provenance = self._provenance(draft, item)
        key = provenance.record.reference
        return Statement(
            id=self._mint.statement(self._source, key, draft.part, item),
            subject=self._subject,
            kind=draft.kind,
            provenance=provenance,
            authorship=draft.evidence,
            aspect=draft.aspect,
            digest=content_digest(self._source, key, draft.part, item),
            part=draft.part,
            concept=draft.concept,
            status=draft.status,
            standing=draft.standing,
            times=tuple(draft.times),
            fields=tuple(Field(name, draft.fields[name]) for name in sorted(draft.fields)),
            components=tuple(draft.components),
            references=draft.references,
            domain=draft.domain,
        )

    def passage(self, note: Note) -> Passage:
        draft = note.of
        item = canonical_bytes([draft.type, draft.evidence, draft.content])
        provenance = self._provenance(draft, item)
        return Passage(
            id=self._mint.passage(self._source, provenance.record.reference, note.part, note.text),
            subject=self._subject,
            provenance=provenance,
            authorship=draft.evidence,
            part=note.part,
            text=note.text,
            title=note.title,
            times=tuple(draft.times),
            domain=draft.domain,
        )

    def _provenance(self, draft: Draft, item: bytes) -> Provenance:
        own = content_digest(self._source, draft.type, draft.part, item)[:_HEX]
        return Provenance(
            source=self._source,
            reader=READER,
            record=RecordIdentity(
                type=draft.type,
                reference=draft.reference or f"{draft.type}/~{own}",
                updated=draft.updated,
                identifiers=draft.identifiers,
            ),
        )

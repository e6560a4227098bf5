"""The verb that reads again: what was received, by the readers of today, in place of what earlier ones said.

Sending bytes again never does this: they are held, and what is held stays as it was read.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar

import msgspec

from iamata.connectors import registry
from iamata.engine.pulling import Pulling
from iamata.errors import BadInput, NotFound
from iamata.errors import Conflict as NotAsStored
from iamata.formation.learned.relearning import as_learned, relearn, says_the_same
from iamata.formation.rereadings import as_read
from iamata.model.access import Access
from iamata.model.document import TRANSCRIPT, Document, IntakeLine, Outcome, Reason, Receipt, Relearned, Reread
from iamata.model.erasure import Erasable
from iamata.model.graph import Held
from iamata.model.memory import Relearning
from iamata.model.passage import Passage
from iamata.model.scope import patient as patient_subject
from iamata.model.sighting import Sighting
from iamata.model.statement import Statement
from iamata.ports import Accepted, Parsed

T = TypeVar("T", Statement, Passage)
_TRIES = 20
_ALL = 1_000_000


class Rereading(Pulling):
    """Reading stored documents and talk again."""

    def reread(self, patient: str, *, access: Access | None = None) -> Reread:
        """Read all documents and all talk of the patient again, and swap what they say otherwise in one step.

        Afterwards every read is as if they had been read so from the start, but one with an earlier `known_at`: it sees
        what was read until then. Rulings hold on; what is the same adds nothing. Raises NotFound for an unknown
        patient.
        """
        access, subject = self._begin("reread", "write", access, patient_subject(patient))
        for _ in range(_TRIES):
            now = self._clock()
            held = self._graphs.held(patient)
            read, kept = self._read_again(held, now)
            talk = relearn(held, mint=self._graphs.mint(patient), at=now, erased=partial(self._is_erased, patient))
            try:
                receipts = self._store.reread(patient, read, held.version, now, talk=talk) if read or talk else []
            except NotAsStored:
                continue  # something came in meanwhile: look again at what is held
            self._audit("reread", access, subject, tuple(receipt.id for receipt in receipts))
            return Reread(len(_readable(held)), tuple(receipts), tuple(kept), _told(held, talk))
        raise NotAsStored("the patient is written to too often at once; try again")

    def _is_erased(self, patient: str, memory: str) -> bool:
        return self._store.erased(patient, Erasable.MEMORY, memory) is not None

    def _read_again(self, held: Held, now: datetime) -> tuple[list[Accepted], list[IntakeLine]]:
        """The documents that say something else now, and a line for each that cannot be read any more."""
        read: list[tuple[Document, Parsed]] = []
        kept: list[IntakeLine] = []
        for document in sorted(_readable(held), key=lambda document: (document.received_at, document.id)):
            try:
                read.append((document, self._parsed(document)))
            except BadInput as error:
                place = "/".join(filter(None, (document.id, error.place.lstrip("/"))))
                line = IntakeLine("document", place, Outcome.IGNORED, Reason.UNUSABLE, document.format, str(error))
                kept.append(line)
        before = as_read(held, None)
        statements = _otherwise(before.statements, [s for _, parsed in read for s in parsed.statements])
        passages = _otherwise(before.passages, [p for _, parsed in read for p in parsed.passages])
        seen: dict[str, list[Sighting]] = {}
        for sighting in before.sightings:
            seen.setdefault(sighting.document, []).append(sighting)
        accounts = self._accounts(held)
        changed: list[Accepted] = []
        for document, parsed in read:
            was, account = seen.get(document.id, []), accounts.get(document.id)
            accepted = Accepted(
                receipt=self._receipt_of(document, parsed, now),
                statements=tuple(statements[s.id] for s in parsed.statements if s.id in statements),
                passages=tuple(passages[p.id] for p in parsed.passages if p.id in passages),
                sightings=tuple(
                    msgspec.structs.replace(sighting, received_at=received_at)
                    for received_at in sorted({s.received_at for s in was} or {document.received_at})
                    for sighting in parsed.sightings
                ),
            )
            same_account = account is None or (account.intake, account.warnings) == (parsed.intake, parsed.warnings)
            same_items = not accepted.statements and not accepted.passages and _places(was) == _places(parsed.sightings)
            if not (same_items and same_account):
                changed.append(accepted)
        return changed, kept

    def _parsed(self, document: Document) -> Parsed:
        body = self._store.document_body(document.subject.id, document.id)
        if body is None:
            raise NotFound(what="document", id=document.id)
        return registry.parse(
            body,
            format=document.format,
            subject=document.subject,
            source=document.source,
            mint=self._graphs.mint(document.subject.id),
            document=document.id,
            received_at=document.received_at,
        )

    def _receipt_of(self, document: Document, parsed: Parsed, now: datetime) -> Receipt:
        return msgspec.structs.replace(
            self._receipt(document.subject, document.source, document.format, document.media_type, now),
            document=document.id,
            intake=parsed.intake,
            warnings=parsed.warnings,
        )

    def _accounts(self, held: Held) -> dict[str, Receipt]:
        """Document → the receipt of its last reading. A repeat has one too, but nothing of it was taken in."""
        last = {document.id: document.received_at for document in held.documents}
        for again in held.rereadings:
            last |= dict.fromkeys(again.documents, again.at)
        receipts, _ = self._store.receipts(held.subject.id, offset=0, limit=_ALL)
        return {r.document: r for r in receipts if r.document and r.received_at == last.get(r.document)}


def _readable(held: Held) -> list[Document]:
    """The documents that readers of documents read: the bytes of a transcript are read as its turns."""
    return [document for document in held.documents if not document.format.startswith(TRANSCRIPT)]


def _told(held: Held, talk: Relearning | None) -> Relearned:
    if talk is None:
        return Relearned(len(held.sessions))
    before = {memory.id: memory for memory in as_learned(held, None)}
    known = [memory for memory in talk.memories if memory.id in before]
    changed = sum(not says_the_same(memory, before[memory.id]) for memory in known)
    return Relearned(
        sessions=len(held.sessions),
        new=len(talk.memories) - len(known),
        changed=changed,
        confirmed=len(known) - changed,
        gone=len(talk.left),
    )


def _otherwise(before: Sequence[T], now: Sequence[T]) -> dict[str, T]:
    """The items that say something else now, or are new, by id. Who read it does not count. Where documents say it in
    several ways (an author that is inherited from the document), what is held stands, else the first of them."""
    held = {item.id: _content(item) for item in before}
    said: dict[str, T] = {}
    same: set[str] = set()
    for item in now:
        if held.get(item.id) == _content(item):
            same.add(item.id)
        said.setdefault(item.id, item)
    return {id: item for id, item in said.items() if id not in same}


def _content(item: T) -> T:
    return msgspec.structs.replace(item, provenance=msgspec.structs.replace(item.provenance, reader="any"))


def _places(sightings: Sequence[Sighting]) -> set[tuple[object, ...]]:
    return {(seen.item, seen.place, seen.url) for seen in sightings}

"""The verbs that change something. Each says what it does in order: decide, read in, make durable with its record."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from datetime import datetime
from typing import NamedTuple

import msgspec

from iamata.connectors import registry
from iamata.connectors.archives import opened
from iamata.connectors.fhir.exports import not_taken, split
from iamata.engine.door import Door
from iamata.engine.models import LEARNING, Learned, read_talk
from iamata.errors import BadInput, Gone, IamataError, NotFound
from iamata.formation.learned import learn
from iamata.formation.rereadings import as_read
from iamata.model.access import Access
from iamata.model.document import Document, IngestionStatus, IntakeLine, Receipt
from iamata.model.erasure import Erasable
from iamata.model.identifiers import content_digest
from iamata.model.memory import Memory
from iamata.model.patient import PatientRow
from iamata.model.provenance import SourceKind
from iamata.model.ruling import MEMORY_RULINGS, MemoryRef, RecordRef, Ruling, RulingKind
from iamata.model.scope import Subject
from iamata.model.scope import patient as patient_subject
from iamata.ports import Accepted, Work

_LEASE_S = 120.0
_ATTEMPTS = 5


class Exported(NamedTuple):
    """What became of an export: a receipt for each document, and a line for what belongs to no patient."""

    receipts: tuple[Receipt, ...]
    lines: tuple[IntakeLine, ...]


class Sent(NamedTuple):
    """One document as it was sent: its bytes, and what its sender calls it."""

    body: bytes
    name: str = ""
    media_type: str = ""


class Writing(Door):
    """Registration, documents, retraction and rulings. What is accepted is formed here too."""

    def put_patient(self, patient: str, *, access: Access | None = None) -> PatientRow:
        """Register a patient; the same again changes nothing. Raises InvalidValue for an id that cannot be one. A
        patient who was erased is registered anew: this is the explicit word for it, and it is recorded."""
        access, subject = self._begin("put_patient", "write", access, patient_subject(patient))
        again = self._let_in(patient, access, after_erasure=True)
        row = self._store.put_patient(patient, self._clock())
        self._audit("put_patient", access, subject, again)
        return row

    def ingest(
        self,
        patient: str,
        body: bytes,
        *,
        format: str = "",
        media_type: str = "",
        source: str = "",
        source_kind: SourceKind | None = None,
        name: str = "",
        form: bool = True,
        after_erasure: bool = False,
        access: Access | None = None,
    ) -> Receipt:
        """Accept one document of one patient.

        `format` is one that is read, such as `fhir/r4`, or empty (detected); `source` names the sending system, else
        what the document says of it, else the caller's id. The receipt is durable when it is returned. With `form` the
        memory is formed before the call returns, else a worker does it. Raises BadInput (with the place) for what
        cannot be read at all; then nothing is stored. What can be read in part is: see `receipt.intake`. A patient or a
        document that was erased comes in again only with `after_erasure`; without it, Gone is raised.
        """
        (receipt,) = self.ingest_many(
            patient,
            [Sent(body, name, media_type)],
            format=format,
            source=source,
            source_kind=source_kind,
            form=form,
            after_erasure=after_erasure,
            access=access,
        )
        return receipt

    def ingest_many(
        self,
        patient: str,
        documents: Sequence[Sent],
        *,
        format: str = "",
        source: str = "",
        source_kind: SourceKind | None = None,
        form: bool = True,
        after_erasure: bool = False,
        access: Access | None = None,
    ) -> list[Receipt]:
        """Accept several documents of one patient, all of them or none: a receipt for each, in their order.

        As `ingest` otherwise. The place of what cannot be read begins with `documents/` and the number of the document,
        from 0.
        """
        access, subject = self._begin("ingest", "write", access, patient_subject(patient))
        if not documents:
            raise BadInput("there is no document in what was sent", place="documents")
        again = self._let_in(patient, access, after_erasure=after_erasure)
        accepted: list[Accepted] = []
        for index, sent in enumerate(documents):
            try:
                accepted.append(self._read(subject, sent, format, source, source_kind, access))
            except BadInput as error:
                if len(documents) > 1:
                    error.args = (f"document {index}: {error}",)
                    error.place = "/".join(filter(None, (f"documents/{index}", error.place.lstrip("/"))))
                raise
        for each in accepted:
            if each.document is not None:
                again += self._take_back(patient, Erasable.DOCUMENT, each.document.id, access, after_erasure)
        return self._accept("ingest", accepted, access, form=form, lifted=again)

    def ingest_export(
        self,
        files: Iterable[tuple[str, bytes]],
        *,
        source: str = "",
        format: str = "",
        source_kind: SourceKind | None = None,
        patients: Mapping[str, str] | None = None,
        only: Collection[str] | None = None,
        form: bool = True,
        access: Access | None = None,
    ) -> Exported:
        """Accept an export of many patients: names and bytes of NDJSON files, or archives of them (ZIP, tar, gzip).

        Each patient's lines become one document, filed under the patient's id in the export, or under what `patients`
        calls it (two sources may mean two people by one id). With `only`, of patients with these ids in the export; the
        others are listed. A deletion goes to the patients that hold the record from this source. Raises TooLarge or
        BadInput for what cannot be opened; then nothing is stored. What stops later (NotAllowed) leaves the documents
        before it, and sending it all again repeats harmlessly.
        """
        export = split(opened(files))
        receipts, lines = [], list(export.lines)
        for document in export.documents:
            if only is not None and document.patient not in only:
                lines.append(not_taken("Patient", f"Patient/{document.patient}", "not one of those asked for"))
                continue
            patient = (patients or {}).get(document.patient, document.patient)
            try:
                receipts.append(
                    self.ingest(
                        patient,
                        document.body,
                        format=format,
                        source=source,
                        source_kind=source_kind,
                        form=form,
                        access=access,
                    )
                )
            except (BadInput, Gone) as error:
                lines.append(not_taken("Patient", f"Patient/{document.patient}", type(error).__name__))
        source = source or (access or self._acting).id
        held_by = self._holders({deletion.record for deletion in export.deletions}, source, access)
        for patient, records in held_by.items():
            body = b"\n".join(deletion.body for deletion in export.deletions if deletion.record in records)
            receipts.append(
                self.ingest(patient, body, format=format or "fhir/r4", source=source, form=form, access=access)
            )
        known = {record for records in held_by.values() for record in records}
        lines += [
            not_taken("deletion", deletion.record, "no patient holds it from this source")
            for deletion in export.deletions
            if deletion.record not in known
        ]
        return Exported(tuple(receipts), tuple(lines))

    def retract(self, patient: str, source: str, *, access: Access | None = None) -> None:
        """Take a source out: facts are as if it had never come. Its statements stay stored and are seen by no read (but
        one with an earlier `known_at`); what the source sends later counts again."""
        access, subject = self._begin("retract", "write", access, patient_subject(patient))
        self._store.retract(patient, source, self._clock(), record=self._record("retract", access, subject))

    def rule(
        self,
        patient: str,
        kind: RulingKind,
        left: str,
        right: str = "",
        *,
        field: str = "",
        reason: str = "",
        access: Access | None = None,
    ) -> Ruling:
        """Decide as a person: two statements are the same thing or not, a statement's value of a field is right, a
        statement's source is of another patient; a memory is refused or hidden (then `left` is the memory, and it is in
        no graph from now on, whatever is sent again); a statement or memory is no longer true, and is kept as history,
        until somebody says it anew. It holds from now on, until it is withdrawn.

        Raises NotFound for a statement or memory this reader does not see, BadInput for a pair without its second.
        """
        access, subject = self._begin("rule", "decide", access, patient_subject(patient))
        graph = self._load(subject, None, None, access).graph
        named, memory = [], None
        if kind in MEMORY_RULINGS:
            if right or left not in graph.memories:
                raise NotFound(what="memory", id=left)
            memory = MemoryRef.of(graph.memories[left])
        else:
            for id in filter(None, (left, right)):
                if id not in graph.statements:
                    raise NotFound(what="statement", id=id)
                named.append(RecordRef.of(graph.statements[id]))
        now = self._clock()
        ruling = Ruling(
            id=f"ru_{self._ids()}",
            kind=kind,
            by=f"{access.kind}/{access.id}",
            decided_at=now,
            left=named[0] if named else None,
            memory=memory,
            right=named[1] if len(named) > 1 else None,
            field=field,
            reason=reason,
        )
        record = self._record("rule", access, subject, (ruling.id, *filter(None, (left, right))))
        self._store.rule(patient, ruling, now, record=record)
        return ruling

    def withdraw_ruling(self, patient: str, ruling: str, *, reason: str = "", access: Access | None = None) -> Ruling:
        """Take a ruling back: from now on the graph is as if it had never been. Raises NotFound for an unknown one."""
        access, subject = self._begin("withdraw_ruling", "decide", access, patient_subject(patient))
        if not any(held.id == ruling for held in self._graphs.held(patient).rulings):
            raise NotFound(what="ruling", id=ruling)
        now = self._clock()
        taken = Ruling(
            id=f"ru_{self._ids()}",
            kind=RulingKind.WITHDRAWN,
            by=f"{access.kind}/{access.id}",
            decided_at=now,
            withdraws=ruling,
            reason=reason,
        )
        record = self._record("withdraw_ruling", access, subject, (taken.id, ruling))
        self._store.rule(patient, taken, now, record=record)
        return taken

    def form_pending(self, *, worker: str = "local", patient: str | None = None, limit: int | None = None) -> int:
        """Form what is accepted and not formed yet; returns how many submissions were formed."""
        formed = 0
        while limit is None or formed < limit:
            work = self._store.claim(worker, self._clock(), _LEASE_S, patient=patient)
            if work is None:
                break
            formed += self._form(work)
        return formed

    def _holders(self, records: Set[str], source: str, access: Access | None) -> dict[str, set[str]]:
        """Patient → those of these records of a source that it holds, of the patients that exist for the caller."""
        found: dict[str, set[str]] = {}
        page = 0
        while records:
            rows, _ = self._store.patients(offset=page * 100, limit=100)
            for row in rows:
                if not self._may(access or self._acting, "write", row.id):
                    continue
                held = {
                    s.provenance.record.reference
                    for s in as_read(self._graphs.held(row.id), None).statements
                    if s.source == source and s.provenance.record.reference in records
                }
                if held:
                    found[row.id] = held
            if len(rows) < 100:
                break
            page += 1
        return found

    def _receipt(self, subject: Subject, source: str, format: str, media_type: str, now: datetime) -> Receipt:
        return Receipt(
            id=f"ig_{self._ids()}",
            subject=subject,
            source=source,
            format=format,
            media_type=media_type,
            received_at=now,
            status=IngestionStatus.PENDING,
        )

    def _read(
        self,
        subject: Subject,
        sent: Sent,
        format: str,
        source: str,
        source_kind: SourceKind | None,
        access: Access,
    ) -> Accepted:
        """One document read, ready to be made durable."""
        body = sent.body
        format = format or registry.detect(body, media_type=sent.media_type, name=sent.name)
        media_type = sent.media_type or registry.media_type(format)
        source = source or registry.source_hint(body, format) or access.id
        now = self._clock()
        mint = self._graphs.mint(subject.id)
        document = Document(
            id=mint.document(source, media_type, body),
            subject=subject,
            source=source,
            media_type=media_type,
            format=format,
            sha256=content_digest(body),
            size_bytes=len(body),
            received_at=now,
            name=sent.name,
        )
        parsed = registry.parse(
            body, format=format, subject=subject, source=source, mint=mint, document=document.id, received_at=now
        )
        receipt = self._receipt(subject, source, format, media_type, now)
        return Accepted(
            receipt=msgspec.structs.replace(
                receipt,
                document=document.id,
                sightings=len(parsed.sightings),
                intake=parsed.intake,
                warnings=parsed.warnings,
            ),
            document=document,
            body=body,
            source_kind=source_kind or SourceKind.EHR,
            statements=parsed.statements,
            passages=parsed.passages,
            sightings=parsed.sightings,
        )

    def _let_in(self, patient: str, access: Access, *, after_erasure: bool) -> tuple[str, ...]:
        """May something of this patient come in? Only somebody who is not registered can be one who was erased."""
        if self._store.patient(patient) is not None:
            return ()
        return self._take_back(patient, Erasable.PATIENT, patient, access, after_erasure)

    def _accept(
        self, action: str, accepted: Sequence[Accepted], access: Access, *, form: bool, lifted: tuple[str, ...] = ()
    ) -> list[Receipt]:
        subject = accepted[0].receipt.subject
        record = self._record(action, access, subject, (*(each.receipt.id for each in accepted), *lifted))
        receipts = self._store.accept_many(accepted, self._clock(), record=record)
        if form and any(receipt.status is IngestionStatus.PENDING for receipt in receipts):
            self.form_pending(patient=subject.id)
            receipts = [self._store.receipt(subject.id, receipt.id) or receipt for receipt in receipts]
        return receipts

    def _form(self, work: Work) -> bool:
        """Learn from the turns of a submission, offline and then by a language model if one is configured, and end its
        receipt. Facts are folded when read and not stored."""
        try:
            fresh, heard = self._learned(work), Learned()
            if self._model is not None and LEARNING in self._model_for:
                held, mint = self._graphs.held(work.patient), self._graphs.mint(work.patient)
                found = {session.id: learn(session, mint=mint) for session in held.sessions}
                heard = read_talk(self._model, held, found, mint=mint, clock=self._clock)
            return self._store.finish(
                work,
                [*fresh, *heard.memories],
                None,
                self._clock(),
                answers=heard.readings,
                warnings=heard.warnings,
            )
        except IamataError as error:
            self._store.fail(
                work, type(error).__name__, "forming failed", self._clock(), retry=work.attempts < _ATTEMPTS
            )
            raise

    def _learned(self, work: Work) -> tuple[Memory, ...]:
        """The memories of the turns that came with a submission, read in the light of those before them."""
        receipt = self._store.receipt(work.patient, work.ingestion)
        session = self._store.session(work.patient, receipt.session) if receipt and receipt.session else None
        if receipt is None or session is None:
            return ()
        came = {message.id for message in session.messages if message.received_at == receipt.received_at}
        return learn(session, mint=self._graphs.mint(work.patient), only=came)

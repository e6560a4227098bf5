"""What does the store do for its callers? `ports.Store` over one database and one key store; each verb stands in its
own module."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from datetime import datetime
from pathlib import Path
from typing import IO

from iamata.errors import NotFound
from iamata.model.archive import ArchiveKind, Manifest, Moved
from iamata.model.audit import AuditRecord, Checkpoint
from iamata.model.document import Document, Receipt
from iamata.model.entry import Entry
from iamata.model.erasure import Erasable, Erasure, Hold
from iamata.model.graph import Held
from iamata.model.memory import Memory, Relearning
from iamata.model.model_answers import ModelAnswer
from iamata.model.patient import PatientRow
from iamata.model.relation import PatientRelation, RelationKind
from iamata.model.ruling import Ruling
from iamata.model.scope import Scope, Subject
from iamata.model.session import RecordedCall, Session
from iamata.ports import Accepted, KeyStore, Work
from iamata.store import (
    accepting,
    archiving,
    clearing,
    codec,
    erasing,
    forming,
    holding,
    inferences,
    knowledge,
    reading,
    relating,
    rereading,
    searching,
    taking_in,
    talk,
)
from iamata.store.auditing import AUDIT_KEY_NAME, PACE_S, AuditLog
from iamata.store.checkpoints import KeptCheckpoint
from iamata.store.database import Database, Transaction
from iamata.store.erasing import Going
from iamata.store.ledger import Ledger
from iamata.store.schema import migrations
from iamata.store.sealing import Sealer
from iamata.store.searching import Looked


class DatabaseStore:
    """`ports.Store`, whose docstrings say what each method promises. Thread-safe; several processes may share one.

    `keys` is the key store, for those who make ids. `random_bytes` gives nonces and the name of this process's audit
    chain; it must not repeat itself. `erasures` is the file of the ledger of erasures: patients of whom it says that
    they were erased are erased again here, should a backup have brought them back; parts of patients are for the engine
    (`to_replay`). `checkpoints` is the file of the newest checkpoint of the audit log, made every `checkpoint_s`
    seconds while records come (0: never).
    """

    def __init__(
        self,
        database: Database,
        keys: KeyStore,
        random_bytes: Callable[[int], bytes] = os.urandom,
        *,
        erasures: Path | None = None,
        checkpoints: Path | None = None,
        checkpoint_s: float = PACE_S,
    ) -> None:
        self.keys = keys
        self._database = database
        self._random_bytes = random_bytes
        database.migrate(migrations())
        knowledge.seal_plain(database, keys, random_bytes)
        key = keys.get_or_create(AUDIT_KEY_NAME)
        kept = KeptCheckpoint(checkpoints) if checkpoints is not None else None
        self._audit = AuditLog(database, key, random_bytes(16).hex(), kept=kept, pace_s=checkpoint_s)
        self._ledger = Ledger(database, key, self._audit.signer, erasures)
        self._parts_to_replay = self._replay_patients()

    def close(self) -> None:
        try:
            self._audit.close()
        finally:
            self._database.close()

    def check(self) -> dict[str, str]:
        return self._database.about() | {"schema": str(len(migrations()))}

    # patients
    def put_patient(self, patient: str, now: datetime) -> PatientRow:
        key = self.keys.get_or_create(patient)
        with self._database.writing() as tx:
            accepting.lock_patient(tx, self.keys, patient, key, codec.text_of(now))
            return _patient_row(*tx.rows("patient", patient=patient)[0][:4])

    def patient(self, patient: str) -> PatientRow | None:
        with self._database.reading() as tx:
            rows = tx.rows("patient", patient=patient)
        return _patient_row(*rows[0][:4]) if rows else None

    def patients(self, *, offset: int, limit: int) -> tuple[list[PatientRow], int]:
        with self._database.reading() as tx:
            rows = tx.rows("patients", offset=offset, limit=limit)
            count = int(tx.rows("count_patients")[0][0])
        return [_patient_row(*row) for row in rows], count

    def erase_patient(self, patient: str, now: datetime, by: str = "") -> Erasure | None:
        return erasing.erase_patient(self._database, self.keys, self._random_bytes, self._ledger, patient, now, by)

    def erase_part(
        self, patient: str, going: Going, version: int, now: datetime, by: str, *, quotes: Callable[[str], Set[str]]
    ) -> Erasure:
        return erasing.erase_part(
            self._database,
            self.keys,
            self._random_bytes,
            self._ledger,
            patient,
            going,
            version,
            now,
            by,
            quotes=quotes,
        )

    def to_replay(self) -> list[tuple[Erasure, str, str]]:
        found = []
        for entry in self._parts_to_replay:
            of = self._registered_as(entry.registration)
            parts = [] if of is None else self._parts(of, entry)
            if of is None or not parts:
                self._replayed(entry)
            found += [(entry, of, id) for id in parts if of is not None]
        self._parts_to_replay = []
        return found

    def replay(
        self,
        entry: Erasure,
        patient: str,
        going: Going,
        version: int,
        now: datetime,
        *,
        quotes: Callable[[str], Set[str]],
    ) -> None:
        erasing.erase_part(
            self._database,
            self.keys,
            self._random_bytes,
            self._ledger,
            patient,
            going,
            version,
            now,
            entry.by,
            quotes=quotes,
            replayed=entry,
        )
        self._replayed(entry)

    def erased(self, patient: str, kind: Erasable = Erasable.PATIENT, id: str = "") -> Erasure | None:
        with self._database.reading() as tx:
            mark = self._mark(tx, patient, kind, id)
        return None if mark is None else self._ledger.standing(mark)

    def allow_again(self, patient: str, kind: Erasable, id: str, now: datetime, by: str) -> tuple[str, ...]:
        with self._database.reading() as tx:
            mark = self._mark(tx, patient, kind, id)
        if mark is None or self._ledger.standing(mark) is None:
            return ()
        return erasing.allow_again(self._database, self._random_bytes, self._ledger, mark, now, by)

    def erasures(self, *, offset: int = 0, limit: int = 50) -> tuple[list[Erasure], int]:
        return self._ledger.page(offset, limit)

    def put_hold(self, patient: str, hold: Hold, now: datetime) -> None:
        holding.put_hold(self._database, self.keys, self._random_bytes, patient, hold, now)

    def holds(self, patient: str) -> list[Hold]:
        return holding.holds(self._database, self._sealer(patient), patient)

    def look(self, patient: str, words: Sequence[str], beginnings: Sequence[bytes] | None = None) -> Looked:
        return searching.look(self._database, self._sealer(patient), patient, words, beginnings)

    def _mark(self, tx: Transaction, patient: str, kind: Erasable, id: str) -> str | None:
        """What the ledger calls it; None if it is a part of a patient who is not registered."""
        marks = self._ledger.marks
        if kind is Erasable.PATIENT:
            return marks.person(patient)
        rows = tx.rows("patient", patient=patient)
        if not rows or not tx.rows("count_forgotten", patient=patient)[0][0]:
            return None
        return marks.item(marks.registration(patient, rows[0][1], rows[0][4]), kind, id)

    def _replay_patients(self) -> list[Erasure]:
        """Erase again whom a backup brought back, and finish what was cut off; the entries that are about parts."""
        parts = []
        for entry in self._ledger.to_replay():
            if entry.allows:
                self._replayed(entry)
            elif entry.kind in clearing.KINDS:
                clearing.replay(self._database, self.keys, self._random_bytes, self._ledger, entry)
                self._replayed(entry)
            elif entry.kind is not Erasable.PATIENT:
                parts.append(entry)
            else:
                of = self._registered_as(entry.registration)
                if of is not None:
                    erasing.erase_patient(
                        self._database,
                        self.keys,
                        self._random_bytes,
                        self._ledger,
                        of,
                        entry.at,
                        entry.by,
                        replayed=entry,
                    )
                self._replayed(entry)
        return parts

    def _registered_as(self, registration: str) -> str | None:
        with self._database.reading() as tx:
            rows = tx.rows("registrations")
        marks = self._ledger.marks
        return next((id for id, at, check in rows if marks.registration(id, at, check) == registration), None)

    def _parts(self, patient: str, entry: Erasure) -> list[str]:
        """The ids of this patient's that an entry is about."""
        names = {
            Erasable.DOCUMENT: "look_documents",
            Erasable.SESSION: "sessions",
            Erasable.MESSAGE: "look_messages",
            Erasable.MEMORY: "look_memories",
            Erasable.INFERENCE: "inferences",
            Erasable.CONTEXT: "context_bodies",
            Erasable.TOOL_CALL: "call_bodies",
        }
        with self._database.reading() as tx:
            rows = tx.rows(names[entry.kind], patient=patient)
        marks = self._ledger.marks
        ids = dict.fromkeys(row[0] for row in rows)
        return [id for id in ids if marks.item(entry.registration, entry.kind, id) == entry.mark]

    def _replayed(self, entry: Erasure) -> None:
        with self._database.writing() as tx:
            self._ledger.record(tx, entry)
        self._database.purge()

    def retract(self, patient: str, source: str, now: datetime, *, record: AuditRecord | None = None) -> None:
        database = self._audit.beside(record)
        accepting.retract(database, self.keys, self._random_bytes, patient, source, now)

    def reread(
        self,
        patient: str,
        read: Sequence[Accepted],
        version: int,
        now: datetime,
        *,
        talk: Relearning | None = None,
    ) -> list[Receipt]:
        return rereading.reread(self._database, self.keys, self._random_bytes, patient, read, version, now, talk)

    def rule(self, patient: str, ruling: Ruling, now: datetime, *, record: AuditRecord | None = None) -> None:
        accepting.rule(self._audit.beside(record), self.keys, self._random_bytes, patient, ruling, now)

    # accept, then form
    def accept(self, accepted: Accepted, now: datetime) -> Receipt:
        return self.accept_many([accepted], now)[0]

    def accept_many(
        self, accepted: Sequence[Accepted], now: datetime, *, record: AuditRecord | None = None
    ) -> list[Receipt]:
        return accepting.accept(self._audit.beside(record), self.keys, self._random_bytes, accepted, now)

    def claim(self, worker: str, now: datetime, lease_s: float, *, patient: str | None = None) -> Work | None:
        return forming.claim(self._database, worker, now, lease_s, patient)

    def finish(
        self,
        work: Work,
        memories: Sequence[Memory],
        projection: bytes | None,
        now: datetime,
        *,
        answers: Sequence[ModelAnswer] = (),
        warnings: Sequence[str] = (),
    ) -> bool:
        return forming.finish(
            self._database,
            self.keys,
            self._random_bytes,
            work,
            memories,
            projection,
            now,
            answers,
            warnings,
            is_erased=lambda tx, memory: self._is_erased(tx, work.patient, memory),
        )

    def _is_erased(self, tx: Transaction, patient: str, memory: str) -> bool:
        mark = self._mark(tx, patient, Erasable.MEMORY, memory)
        return mark is not None and bool(self._ledger.all_standing(tx, mark))

    def keep_answers(
        self, patient: str, answers: Sequence[ModelAnswer], now: datetime, *, erasures: int | None = None
    ) -> None:
        forming.keep_answers(self._database, self.keys, self._random_bytes, patient, answers, now, erasures)

    def fail(self, work: Work, code: str, message: str, now: datetime, *, retry: bool) -> None:
        forming.fail(self._database, self.keys, self._random_bytes, work, code, message, now, retry)

    def pending(self, patient: str | None = None) -> int:
        return forming.pending(self._database, patient)

    # reading
    def held(self, patient: str, before: Held | None = None) -> Held | None:
        return reading.held(self._database, self._sealer(patient), patient, before)

    def version(self, patient: str) -> int | None:
        row = self.patient(patient)
        return None if row is None else row.version

    def projection(self, patient: str) -> bytes | None:
        return reading.projection(self._database, self._sealer(patient), patient)

    def document_body(self, patient: str, document: str) -> bytes | None:
        return reading.document_body(self._database, self._sealer(patient), patient, document)

    def receipts(
        self, patient: str, *, statuses: Iterable[str] = (), offset: int = 0, limit: int = 50
    ) -> tuple[list[Receipt], int]:
        return reading.receipts(self._database, self._sealer(patient), patient, statuses, offset, limit)

    def receipt(self, patient: str, ingestion: str) -> Receipt | None:
        return reading.receipt(self._database, self._sealer(patient), patient, ingestion)

    def session(self, patient: str, session: str) -> Session | None:
        return reading.session(self._database, self._sealer(patient), patient, session)

    # beside talk
    def record_calls(self, patient: str, calls: Sequence[RecordedCall], now: datetime) -> int:
        return talk.record_calls(self._database, self.keys, self._random_bytes, patient, calls, now)

    def tool_calls(self, patient: str, session: str) -> list[RecordedCall]:
        return talk.tool_calls(self._database, self._sealer(patient), patient, session)

    def called_sessions(self, patient: str) -> list[str]:
        return talk.called_sessions(self._database, patient)

    def put_shown(self, patient: str, marks: Collection[bytes], now: datetime) -> None:
        talk.put_shown(self._database, self.keys, patient, marks, now)

    def shown(self, patient: str, marks: Collection[bytes]) -> set[bytes]:
        return talk.shown(self._database, patient, marks)

    # who is related to whom
    def put_relation(self, relation: PatientRelation) -> None:
        relating.put(self._database, self.keys, self._random_bytes, relation)

    def relations_between(self, principal: str, patient: str) -> list[PatientRelation]:
        return relating.between(self._database, principal, patient)

    def relations_of_principal(self, principal: str) -> list[PatientRelation]:
        return relating.of_principal(self._database, principal)

    def relations_of_patient(self, patient: str) -> list[PatientRelation]:
        return relating.of_patient(self._database, self._sealer, patient)

    def relations_of_kind(self, kind: RelationKind) -> list[PatientRelation]:
        return relating.of_kind(self._database, self._sealer, kind)

    # other scopes
    def put_entry(self, entry: Entry, now: datetime, *, document: tuple[Document, bytes] | None = None) -> None:
        if entry.subject.scope is Scope.PATIENT:
            inferences.put(self._database, self.keys, self._random_bytes, entry, now)
        else:
            knowledge.put_entry(self._database, self.keys, self._random_bytes, entry, document, now)

    def entries(self, subject: Subject) -> list[Entry]:
        return knowledge.entries(self._database, self._sealer(str(subject)), subject)

    def learned_from(self, patient: str) -> list[Subject]:
        return knowledge.learned_from(self._database, patient)

    def put_learned(self, entry: Entry, patients: Collection[str], now: datetime) -> None:
        knowledge.put_learned(self._database, self.keys, self._random_bytes, entry, patients, now)

    def refuse_entry(self, subject: Subject, entry: str, about: bytes, *, refused: bool) -> None:
        knowledge.refuse(self._database, self.keys, self._random_bytes, subject, entry, refused, about)

    def refused_entries(self, subject: Subject) -> set[str]:
        return knowledge.refused(self._database, subject)

    def entry_document(self, subject: Subject, document: str) -> tuple[Document, bytes]:
        return knowledge.entry_document(self._database, self._sealer(str(subject)), subject, document)

    def subject_version(self, subject: Subject) -> int:
        return knowledge.version(self._database, subject)

    def subject_state(self, subject: Subject) -> tuple[int, bytes]:
        return knowledge.registration(self._database, subject)

    def erase_subject(self, subject: Subject, now: datetime, by: str) -> Erasure | None:
        return clearing.erase_subject(self._database, self.keys, self._random_bytes, self._ledger, subject, now, by)

    def erase_entry(self, subject: Subject, entry: str, now: datetime, by: str) -> Erasure:
        return clearing.erase_entry(
            self._database, self.keys, self._random_bytes, self._ledger, subject, entry, now, by
        )

    def erased_subject(self, subject: Subject) -> Erasure | None:
        return clearing.erased_subject(self._database, self._ledger, subject)

    def erased_entry(self, subject: Subject, entry: str) -> Erasure | None:
        return clearing.erased_entry(self._database, self._ledger, subject, entry)

    def look_subject(self, subject: Subject, words: Sequence[str], beginnings: Sequence[bytes] | None = None) -> Looked:
        return searching.look_subject(self._database, self._sealer(str(subject)), subject, words, beginnings)

    def subjects(self) -> list[Subject]:
        return knowledge.subjects(self._database)

    # moving
    def write_archive(self, to: IO[bytes], now: datetime, *, patient: str | None = None) -> Manifest:
        kind = ArchiveKind.WORKSPACE if patient is None else ArchiveKind.AS_RECEIVED
        patients = self._every_patient() if patient is None else [patient]
        return archiving.write(self._database, self.keys, self._random_bytes, to, patients, kind, now)

    def read_archive(self, file: IO[bytes], now: datetime, *, even_erased: bool = False) -> Moved:
        archive = archiving.Archive(file)
        archive.check()
        return taking_in.take_in(
            self._database,
            self.keys,
            self._random_bytes,
            archive,
            now,
            even_erased=even_erased,
            was_erased=lambda subject, entry: self.erased_entry(subject, entry) is not None,
        )

    def _every_patient(self) -> Iterator[str]:
        offset = 0
        while page := self.patients(offset=offset, limit=1000)[0]:
            yield from (row.id for row in page)
            offset += len(page)

    # contexts, by reference
    def contexts_kept(self, patient: str) -> list[tuple[str, datetime]]:
        with self._database.reading() as tx:
            return [(id, codec.moment_of(at)) for id, at in tx.rows("context_times", patient=patient)]

    def put_context(
        self, patient: str, context: str, body: bytes, now: datetime, *, record: AuditRecord | None = None
    ) -> None:
        key = self.keys.get(patient)
        if key is None:
            raise NotFound(what="patient key", id=patient)
        sealed = Sealer(patient, key, self._random_bytes).seal("contexts", context, body)
        with self._audit.beside(record).writing() as tx:
            if not tx.rows("patient", patient=patient):
                raise NotFound(what="patient", id=patient)
            accepting.lock_patient(tx, self.keys, patient, key, codec.text_of(now))
            tx.run("put_context", patient=patient, id=context, now=codec.text_of(now), body=sealed)

    def context(self, patient: str, context: str) -> bytes | None:
        return reading.context(self._database, self._sealer(patient), patient, context)

    # audit
    def audit(self, record: AuditRecord) -> None:
        self._audit.append(record)

    def audit_flush(self) -> None:
        self._audit.flush()

    def audit_records(self, *, subject: str | None = None, offset: int = 0, limit: int = 100) -> list[AuditRecord]:
        return self._audit.records(subject, offset, limit)

    def audit_count(self, subject: str | None = None) -> int:
        return self._audit.count(subject)

    def audit_verify(self, checkpoint: Checkpoint | None = None) -> list[str]:
        return self._audit.verify(checkpoint)

    def audit_checkpoint(self, now: datetime) -> Checkpoint:
        return self._audit.checkpoint(now)

    def audit_export(self, now: datetime) -> Iterator[bytes]:
        return self._audit.export(now)

    def _sealer(self, patient: str) -> Sealer | None:
        key = self.keys.get(patient)
        return None if key is None else Sealer(patient, key, self._random_bytes)


def _patient_row(id: str, created_at: str, updated_at: str, version: int) -> PatientRow:
    return PatientRow(id, codec.moment_of(created_at), codec.moment_of(updated_at), version)

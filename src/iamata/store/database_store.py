"""What does the store do for its callers? `ports.Store` over one database and one key store; each verb stands in its
own module."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime

from iamata.errors import Conflict, NotFound
from iamata.model.audit import AuditRecord
from iamata.model.document import Receipt
from iamata.model.entry import Entry
from iamata.model.graph import Held
from iamata.model.memory import Memory, Relearning
from iamata.model.model_answers import ModelAnswer
from iamata.model.patient import PatientRow
from iamata.model.ruling import Ruling
from iamata.model.scope import Subject
from iamata.model.session import RecordedCall, Session
from iamata.ports import Accepted, KeyStore, Work
from iamata.store import accepting, codec, erasing, forming, reading, rereading, talk
from iamata.store.auditing import AUDIT_KEY_NAME, AuditLog
from iamata.store.database import Database
from iamata.store.schema import migrations
from iamata.store.sealing import Sealer


class DatabaseStore:
    """`ports.Store`, whose docstrings say what each method promises. Thread-safe; several processes may share one.

    `keys` is the key store, for those who make ids. `random_bytes` gives nonces and the name of this process's audit
    chain; it must not repeat itself.
    """

    def __init__(self, database: Database, keys: KeyStore, random_bytes: Callable[[int], bytes] = os.urandom) -> None:
        self.keys = keys
        self._database = database
        self._random_bytes = random_bytes
        database.migrate(migrations())
        self._audit = AuditLog(database, keys.get_or_create(AUDIT_KEY_NAME), random_bytes(16).hex())

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

    def erase_patient(self, patient: str, now: datetime) -> None:
        erasing.erase_patient(self._database, self.keys, self._random_bytes, patient, now)

    def retract(self, patient: str, source: str, now: datetime) -> None:
        accepting.retract(self._database, self.keys, self._random_bytes, patient, source, now)

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

    def rule(self, patient: str, ruling: Ruling, now: datetime) -> None:
        accepting.rule(self._database, self.keys, self._random_bytes, patient, ruling, now)

    # accept, then form
    def accept(self, accepted: Accepted, now: datetime) -> Receipt:
        return self.accept_many([accepted], now)[0]

    def accept_many(self, accepted: Sequence[Accepted], now: datetime) -> list[Receipt]:
        return accepting.accept(self._database, self.keys, self._random_bytes, accepted, now)

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
            self._database, self.keys, self._random_bytes, work, memories, projection, now, answers, warnings
        )

    def keep_answers(self, patient: str, answers: Sequence[ModelAnswer], now: datetime) -> None:
        forming.keep_answers(self._database, self.keys, self._random_bytes, patient, answers, now)

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

    def put_shown(self, patient: str, marks: Collection[bytes], now: datetime) -> None:
        talk.put_shown(self._database, self.keys, patient, marks, now)

    def shown(self, patient: str, marks: Collection[bytes]) -> set[bytes]:
        return talk.shown(self._database, patient, marks)

    # other scopes
    def put_entry(self, entry: Entry) -> None:
        with self._database.writing() as tx:
            added = tx.run(
                "insert_entry",
                scope=entry.subject.scope.value,
                subject=entry.subject.id,
                id=entry.id,
                version=entry.version,
                kind=entry.kind.value,
                body=codec.encode(entry).decode(),
            )
        if not added:
            raise Conflict(f"version {entry.version} of entry {entry.id} exists")

    def entries(self, subject: Subject) -> list[Entry]:
        with self._database.reading() as tx:
            rows = tx.rows("entries", scope=subject.scope.value, subject=subject.id)
        return [codec.entries.decode(body) for (body,) in rows]

    # contexts, by reference
    def put_context(self, patient: str, context: str, body: bytes, now: datetime) -> None:
        key = self.keys.get(patient)
        if key is None:
            raise NotFound(what="patient key", id=patient)
        sealed = Sealer(patient, key, self._random_bytes).seal("contexts", context, body)
        with self._database.writing() as tx:
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

    def audit_verify(self) -> list[str]:
        return self._audit.verify()

    def _sealer(self, patient: str) -> Sealer | None:
        key = self.keys.get(patient)
        return None if key is None else Sealer(patient, key, self._random_bytes)


def _patient_row(id: str, created_at: str, updated_at: str, version: int) -> PatientRow:
    return PatientRow(id, codec.moment_of(created_at), codec.moment_of(updated_at), version)

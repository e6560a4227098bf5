"""Who forms what, and how does it end? Leases on queued work. Forms nothing.

Only the oldest work of a patient can be leased, so one patient is never in two hands and is formed in order. `attempts`
grows with every lease and is the fence: whoever comes back with an older count has lost it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import msgspec

from iamata.errors import Conflict, NotFound
from iamata.model.document import IngestionStatus
from iamata.model.memory import Memory
from iamata.model.model_answers import ModelAnswer
from iamata.ports import KeyStore, Work
from iamata.store import codec
from iamata.store.codec import encode, text_of
from iamata.store.database import Bound, Database, Transaction
from iamata.store.sealing import Sealer


def claim(database: Database, worker: str, now: datetime, lease_s: float, patient: str | None) -> Work | None:
    """The oldest work that is free at `now`, leased; None if there is none."""
    if pending(database, patient) == 0:  # the usual answer: it needs no writer
        return None
    until = now + timedelta(seconds=lease_s)
    at = text_of(now)
    with database.writing() as tx:
        if patient is None:
            found = tx.rows("next_work", now=at)
        else:
            found = tx.rows("next_work_of", patient=patient, now=at)
        if not found:
            return None
        owner, sequence, ingestion, attempts = found[0]
        tx.run(
            "lease_work",
            patient=owner,
            sequence=sequence,
            worker=worker,
            lease_until=text_of(until),
            attempts=attempts + 1,
        )
        tx.run("start_receipt", patient=owner, id=ingestion, status=IngestionStatus.PROCESSING.value, now=at)
    return Work(owner, ingestion, sequence, worker, until, attempts + 1)


def finish(
    database: Database,
    keys: KeyStore,
    random_bytes: Callable[[int], bytes],
    work: Work,
    memories: Sequence[Memory],
    projection: bytes | None,
    now: datetime,
    answers: Sequence[ModelAnswer] = (),
    warnings: Sequence[str] = (),
    *,
    is_erased: Callable[[Transaction, str], bool] = lambda tx, memory: False,
) -> bool:
    """Whether the lease still held. New memories and answers are a change of the graph: they add one to its version."""
    key = keys.get(work.patient)
    if key is None:
        return False
    sealer, at = Sealer(work.patient, key, random_bytes), text_of(now)
    rows = [
        {
            "patient": work.patient,
            "id": memory.id,
            "message": memory.message,
            "kind": memory.kind.value,
            "received_at": text_of(memory.received_at),
            "body": sealer.seal("memories", memory.id, encode(memory)),
        }
        for memory in memories
    ]
    answered = answer_rows(sealer, work.patient, answers)
    formed = None if projection is None else sealer.seal("projections", work.patient, projection)
    with database.writing() as tx:
        locked = tx.rows("lock_patient", patient=work.patient)
        if not locked or not _holds(tx, work):
            return False
        version, sequence, _check = locked[0]
        if rows and tx.rows("count_forgotten", patient=work.patient)[0][0]:
            said = _messages_with_words(tx, sealer, work.patient)
            rows = [row for row in rows if row["message"] in said and not is_erased(tx, str(row["id"]))]
        added = tx.many("insert_memory", rows) if rows else 0
        added += tx.many("insert_model_answer", answered) if answered else 0
        if added:
            tx.run("count_change", patient=work.patient, sequence=sequence, version=version + 1, now=at)
        if formed is not None:
            tx.run("put_projection", patient=work.patient, now=at, body=formed)
        if warnings:
            _amend(tx, sealer, work, warnings)
        tx.run(
            "end_receipt",
            patient=work.patient,
            id=work.ingestion,
            status=IngestionStatus.SUCCEEDED.value,
            completed_at=at,
            failure_code="",
            failure=None,
        )
        tx.run("drop_work", patient=work.patient, sequence=work.sequence)
    return True


def keep_answers(
    database: Database,
    keys: KeyStore,
    random_bytes: Callable[[int], bytes],
    patient: str,
    answers: Sequence[ModelAnswer],
    now: datetime,
    erasures: int | None = None,
) -> None:
    """New rows and the next graph version; the first answer to a question stands. Raises NotFound for an unknown
    patient, Conflict if something was erased since so many erasures."""
    key, at = keys.get(patient), text_of(now)
    with database.writing() as tx:
        locked = tx.rows("lock_patient", patient=patient)
        if key is None or not locked or keys.get(patient) != key:  # erased meanwhile, perhaps registered again
            raise NotFound(what="patient", id=patient)
        if erasures is not None and tx.rows("count_forgotten", patient=patient)[0][0] != erasures:
            raise Conflict("something of the patient was erased while a language model was asked; ask again")
        version, sequence, _check = locked[0]
        rows = answer_rows(Sealer(patient, key, random_bytes), patient, answers)
        if rows and tx.many("insert_model_answer", rows):
            tx.run("count_change", patient=patient, sequence=sequence, version=version + 1, now=at)


def answer_rows(sealer: Sealer, patient: str, answers: Sequence[ModelAnswer]) -> list[dict[str, Bound]]:
    return [
        {
            "patient": patient,
            "id": answer.id,
            "received_at": text_of(answer.received_at),
            "body": sealer.seal("model_answers", answer.id, encode(answer)),
        }
        for answer in answers
    ]


def _messages_with_words(tx: Transaction, sealer: Sealer, patient: str) -> set[str]:
    """Those of the patient's messages that were not erased."""
    rows = tx.rows("look_messages", patient=patient)
    return {id for id, body in rows if not codec.messages.decode(sealer.open("messages", id, body)).erased}


def _amend(tx: Transaction, sealer: Sealer, work: Work, warnings: Sequence[str]) -> None:
    """The receipt with what forming has to say, after what accepting said."""
    for row in tx.rows("receipt", patient=work.patient, id=work.ingestion):
        held = codec.receipts.decode(sealer.open("receipts", work.ingestion, row[-1]))
        amended = msgspec.structs.replace(held, warnings=(*held.warnings, *warnings))
        body = sealer.seal("receipts", work.ingestion, encode(amended))
        tx.run("amend_receipt", patient=work.patient, id=work.ingestion, body=body)


def fail(
    database: Database,
    keys: KeyStore,
    random_bytes: Callable[[int], bytes],
    work: Work,
    code: str,
    message: str,
    now: datetime,
    retry: bool,
) -> None:
    """Back in its place in the queue, or out of it; nothing happens if the lease was lost."""
    key = keys.get(work.patient)
    if key is None:
        return
    sealed = Sealer(work.patient, key, random_bytes).seal("failures", work.ingestion, message.encode())
    with database.writing() as tx:
        if not _holds(tx, work):
            return
        if retry:
            tx.run("release_work", patient=work.patient, sequence=work.sequence)
        else:
            tx.run("drop_work", patient=work.patient, sequence=work.sequence)
        status = IngestionStatus.PENDING if retry else IngestionStatus.FAILED
        tx.run(
            "end_receipt",
            patient=work.patient,
            id=work.ingestion,
            status=status.value,
            completed_at=None if retry else text_of(now),
            failure_code=code,
            failure=sealed,
        )


def pending(database: Database, patient: str | None) -> int:
    with database.reading() as tx:
        rows = tx.rows("count_work") if patient is None else tx.rows("count_work_of", patient=patient)
    return int(rows[0][0])


def _holds(tx: Transaction, work: Work) -> bool:
    return tx.rows("lock_work", patient=work.patient, sequence=work.sequence) == [(work.worker, work.attempts)]

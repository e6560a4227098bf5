"""How does a better reading become durable? Beside what was said before, all of a patient at once.

A read with an earlier `known_at` sees what was read until then; every other sees the new reading (`formation`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from datetime import datetime

import msgspec

from iamata.errors import Conflict, NotFound
from iamata.model.document import IngestionStatus, Receipt, Staged
from iamata.model.memory import Relearning
from iamata.model.statement import EVENT_KINDS, FACT_KINDS
from iamata.ports import Accepted, KeyStore
from iamata.store.accepting import lock_patient, put_receipt
from iamata.store.codec import encode, text_of
from iamata.store.database import Database, Transaction
from iamata.store.rows import Row, passage_rows, sealed_as, sighting_rows, statement_rows
from iamata.store.sealing import Sealer


def reread(
    database: Database,
    keys: KeyStore,
    random_bytes: Callable[[int], bytes],
    patient: str,
    read: Sequence[Accepted],
    version: int,
    now: datetime,
    talk: Relearning | None = None,
) -> list[Receipt]:
    """Append the next rereading of a patient, the receipts ended, and what its talk says otherwise. Raises NotFound for
    an unknown patient, Conflict if the graph is no longer at this version: then all is to be read once more."""
    key, at = keys.get(patient), text_of(now)
    with database.writing() as tx:
        if key is None or not tx.rows("patient", patient=patient):
            raise NotFound(what="patient", id=patient)
        sealer = Sealer(patient, key, random_bytes)
        counters = lock_patient(tx, keys, patient, key, at)
        if counters.version != version:
            raise Conflict("the patient's records changed while its documents were read again")
        if talk is not None:
            _relearn(tx, patient, sealer, talk)
        number = len(tx.rows("rereadings", patient=patient)) + 1
        if read:
            documents = tuple(sorted(each.receipt.document for each in read))
            body = sealer.seal("rereadings", str(number), encode(documents))
            tx.run("insert_rereading", patient=patient, number=number, now=at, body=body)
        held = {id for (id,) in tx.rows("statement_ids", patient=patient)}
        held |= {id for (id,) in tx.rows("passage_ids", patient=patient)}
        receipts = []
        for sequence, each in enumerate(read, start=counters.sequence + 1):
            _insert(tx, patient, sealer, each, number, sequence)
            receipt = msgspec.structs.replace(
                each.receipt,
                staged=_staged(each, held),
                sightings=len(each.sightings),
                status=IngestionStatus.SUCCEEDED,
                started_at=now,
                completed_at=now,
            )
            held |= {s.id for s in each.statements} | {p.id for p in each.passages}
            put_receipt(tx, sealer, receipt, sequence)
            receipts.append(receipt)
        last = counters.sequence + len(read)
        tx.run("count_change", patient=patient, sequence=last, version=version + 1, now=at)
    return receipts


def _relearn(tx: Transaction, patient: str, sealer: Sealer, talk: Relearning) -> None:
    body = sealer.seal("relearnings", str(talk.number), encode(tuple(sorted(talk.left))))
    tx.run("insert_relearning", patient=patient, number=talk.number, now=text_of(talk.at), body=body)
    rows: list[Row] = [
        {
            "patient": patient,
            "id": memory.id,
            "relearning": talk.number,
            "message": memory.message,
            "kind": memory.kind.value,
            "received_at": text_of(memory.received_at),
            "body": sealer.seal("relearned_memories", sealed_as(memory.id, talk.number), encode(memory)),
        }
        for memory in talk.memories
    ]
    if rows:
        tx.many("insert_relearned_memory", rows)


def _insert(tx: Transaction, patient: str, sealer: Sealer, read: Accepted, number: int, sequence: int) -> None:
    def insert(name: str, rows: list[Row]) -> None:
        if rows:
            tx.many(name, [row | {"sequence": sequence} for row in rows])

    insert("insert_statement", statement_rows(patient, sealer, read.statements, number))
    insert("insert_passage", passage_rows(patient, sealer, read.passages, number))
    for received_at in sorted({sighting.received_at for sighting in read.sightings}):
        mine = [sighting for sighting in read.sightings if sighting.received_at == received_at]
        apart = ("read again", str(number), text_of(received_at))
        insert("insert_sighting", sighting_rows(patient, sealer, mine, *apart, rereading=number))


def _staged(read: Accepted, held: Set[str]) -> Staged:
    """What no reading said before."""
    kinds = [s.kind for s in read.statements if s.id not in held]
    return Staged(
        facts=sum(kind in FACT_KINDS for kind in kinds),
        events=sum(kind in EVENT_KINDS for kind in kinds),
        narratives=sum(p.id not in held for p in read.passages),
    )

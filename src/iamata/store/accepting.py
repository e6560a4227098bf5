"""How do submissions become durable? One transaction for those sent together; what is held already stays as it is.

Sealing needs no lock, so it is done before the transaction; counting what is new needs one, so it is done inside.

What is new counts: a statement, passage, message or document that was not held; a sighting of an item in a document
at a place; a session; a source, or another kind for one. Bytes that were received before have the same document id,
and all their sightings are held: such a repeat adds only its receipt, and the first time of receipt stands. A repeat
in other bytes (split, reordered) stages nothing, but its sightings are new and belong to what the fold sees, so they
count as a change of the graph. When a source was retracted since, its bytes are seen anew: sightings are told apart
by the retraction they follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from iamata.errors import Conflict, InvalidValue, NotFound, Unavailable
from iamata.model.document import IngestionStatus, Receipt, Staged
from iamata.model.passage import Passage
from iamata.model.ruling import Ruling
from iamata.model.scope import Scope
from iamata.model.session import Message
from iamata.model.sighting import Sighting
from iamata.model.statement import EVENT_KINDS, FACT_KINDS, Kind, Statement
from iamata.ports import Accepted, KeyStore
from iamata.store.codec import encode, text_of
from iamata.store.database import Bound, Database, Transaction
from iamata.store.sealing import Sealer, key_check

Row = dict[str, Bound]


class _Sealed(msgspec.Struct):
    """The rows of one submission, ready to be inserted but for their `sequence`. `epoch`: see `_epoch`."""

    epoch: str
    source: Row
    documents: list[Row]
    facts: list[Row]
    events: list[Row]
    others: list[Row]
    passages: list[Row]
    sightings: list[Row]
    messages: list[Row]


class Patient(msgspec.Struct, frozen=True):
    """The counters of a patient that this transaction has to itself."""

    version: int
    sequence: int


def lock_patient(tx: Transaction, keys: KeyStore, patient: str, key: bytes, now: str) -> Patient:
    """Register the patient if it is new, and keep other writers out. Raises Unavailable if the patient's rows are
    sealed under another key, Conflict if the patient was erased meanwhile."""
    tx.run("register_patient", patient=patient, now=now, key_check=key_check(key))
    locked = tx.rows("lock_patient", patient=patient)
    # The key is destroyed within the erasing transaction: seen under the lock, it is there for as long as we write.
    if not locked or keys.get(patient) != key:
        raise Conflict("the patient was erased while this was accepted; send it again")
    version, sequence, held_check = locked[0]
    if held_check != key_check(key):
        raise Unavailable("the key store holds another key than this patient's data is sealed under")
    return Patient(version, sequence)


def accept(
    database: Database,
    keys: KeyStore,
    random_bytes: Callable[[int], bytes],
    accepted: Sequence[Accepted],
    now: datetime,
) -> list[Receipt]:
    """The receipts of these submissions of one patient, all durable or none: `pending` with work queued if anything was
    new, else `succeeded`. Each is counted against what is held and what those before it brought."""
    if not accepted:
        return []
    patient, at = accepted[0].receipt.subject.id, text_of(now)
    for each in accepted:
        _check(each, accepted[0])
    key = keys.get_or_create(patient)
    sealer = Sealer(patient, key, random_bytes)
    sealed = [_seal(database, sealer, each) for each in accepted]
    receipts: list[Receipt] = []
    with database.writing() as tx:
        counters = lock_patient(tx, keys, patient, key, at)
        for each, rows in zip(accepted, sealed, strict=True):
            epoch = _epoch(tx, sealer, each)
            if epoch != rows.epoch:  # the source was retracted between sealing and locking
                rows.sightings = _sighting_rows(patient, sealer, each.sightings, epoch)
            receipt, counters = _accepted(tx, sealer, each, rows, counters, now)
            receipts.append(receipt)
    return receipts


def _check(accepted: Accepted, first: Accepted) -> None:
    """Raises InvalidValue for what cannot be one submission, or is not of the first one's patient."""
    given = accepted.receipt
    if given.subject.scope is not Scope.PATIENT or given.subject != first.receipt.subject:
        raise InvalidValue("a submission is about a patient, and those sent together about the same one")
    if any(message.session != given.session for message in accepted.messages):
        raise InvalidValue("messages belong to the session of their receipt")


def _accepted(
    tx: Transaction, sealer: Sealer, accepted: Accepted, sealed: _Sealed, counters: Patient, now: datetime
) -> tuple[Receipt, Patient]:
    """One submission within the transaction: its receipt, and the counters after it."""
    given, at = accepted.receipt, text_of(now)
    patient, sequence = given.subject.id, counters.sequence + 1
    changed, staged = _insert(tx, patient, accepted, sealed, sequence, at)
    receipt = msgspec.structs.replace(
        given,
        staged=staged,
        sightings=given.sightings or len(accepted.sightings),
        status=IngestionStatus.PENDING if changed else IngestionStatus.SUCCEEDED,
        started_at=None if changed else now,
        completed_at=None if changed else now,
    )
    tx.run(
        "insert_receipt",
        patient=patient,
        id=receipt.id,
        sequence=sequence,
        status=receipt.status.value,
        received_at=text_of(receipt.received_at),
        started_at=None if changed else at,
        completed_at=None if changed else at,
        body=sealer.seal("receipts", receipt.id, encode(receipt)),
    )
    if not changed:
        tx.run("count_submission", patient=patient, sequence=sequence)
        return receipt, Patient(counters.version, sequence)
    tx.run("insert_work", patient=patient, sequence=sequence, ingestion=receipt.id, now=at)
    tx.run("count_change", patient=patient, sequence=sequence, version=counters.version + 1, now=at)
    return receipt, Patient(counters.version + 1, sequence)


def retract(
    database: Database, keys: KeyStore, random_bytes: Callable[[int], bytes], patient: str, source: str, now: datetime
) -> None:
    """A new row and the next graph version; once for the same source and moment. Raises NotFound for an unknown
    patient."""
    key, at = keys.get(patient), text_of(now)
    with database.writing() as tx:
        if key is None or not tx.rows("patient", patient=patient):
            raise NotFound(what="patient", id=patient)
        sealer = Sealer(patient, key, random_bytes)
        counters = lock_patient(tx, keys, patient, key, at)
        id = sealer.mark("retraction", source, at)
        if tx.run(
            "insert_retraction", patient=patient, id=id, now=at, body=sealer.seal("retractions", id, source.encode())
        ):
            tx.run("count_change", patient=patient, sequence=counters.sequence, version=counters.version + 1, now=at)


def rule(
    database: Database,
    keys: KeyStore,
    random_bytes: Callable[[int], bytes],
    patient: str,
    ruling: Ruling,
    now: datetime,
) -> None:
    """A new row and the next graph version; once for the same id. Raises NotFound for an unknown patient."""
    key, at = keys.get(patient), text_of(now)
    with database.writing() as tx:
        if key is None or not tx.rows("patient", patient=patient):
            raise NotFound(what="patient", id=patient)
        sealer = Sealer(patient, key, random_bytes)
        counters = lock_patient(tx, keys, patient, key, at)
        body = sealer.seal("rulings", ruling.id, encode(ruling))
        if tx.run("insert_ruling", patient=patient, id=ruling.id, body=body):
            tx.run("count_change", patient=patient, sequence=counters.sequence, version=counters.version + 1, now=at)


def _epoch(tx: Transaction, sealer: Sealer, accepted: Accepted) -> str:
    """The id of the last retraction of this source, empty if there is none."""
    source = accepted.document.source if accepted.document else accepted.receipt.source
    rows = tx.rows("retractions", patient=accepted.receipt.subject.id)
    return next((id for id, at, _body in reversed(rows) if id == sealer.mark("retraction", source, at)), "")


def _seal(database: Database, sealer: Sealer, accepted: Accepted) -> _Sealed:
    """What is held already is left out: it can only vanish by erasure, which `lock_patient` notices."""
    patient = accepted.receipt.subject.id
    held: set[str] = set()
    with database.reading() as tx:
        if accepted.statements:
            held |= {id for (id,) in tx.rows("statement_ids", patient=patient)}
        if accepted.passages:
            held |= {id for (id,) in tx.rows("passage_ids", patient=patient)}
        if accepted.document and tx.rows("has_document", patient=patient, id=accepted.document.id):
            held.add(accepted.document.id)
        epoch = _epoch(tx, sealer, accepted)
    statements = [item for item in {item.id: item for item in accepted.statements}.values() if item.id not in held]
    passages = [item for item in {item.id: item for item in accepted.passages}.values() if item.id not in held]
    plain = frozenset(Kind) - FACT_KINDS - EVENT_KINDS
    return _Sealed(
        epoch=epoch,
        source=_source_row(patient, sealer, accepted),
        documents=_document_rows(patient, sealer, accepted, held),
        facts=_statement_rows(patient, sealer, statements, FACT_KINDS),
        events=_statement_rows(patient, sealer, statements, EVENT_KINDS),
        others=_statement_rows(patient, sealer, statements, plain),
        passages=_passage_rows(patient, sealer, passages),
        sightings=_sighting_rows(patient, sealer, accepted.sightings, epoch),
        messages=_message_rows(patient, sealer, accepted.messages),
    )


def _insert(
    tx: Transaction, patient: str, accepted: Accepted, sealed: _Sealed, sequence: int, now: str
) -> tuple[bool, Staged]:
    """Whether anything was new, and how much of what is counted."""

    def insert(name: str, rows: Iterable[Row]) -> int:
        numbered: Sequence[Mapping[str, Bound]] = [row | {"sequence": sequence} for row in rows]
        return tx.many(name, numbered) if numbered else 0

    unnumbered = tx.run("insert_source", **sealed.source)
    if accepted.receipt.session:
        unnumbered += tx.run("insert_session", patient=patient, id=accepted.receipt.session, now=now)
    documents = insert("insert_document", sealed.documents)
    facts = insert("insert_statement", sealed.facts)
    events = insert("insert_statement", sealed.events)
    others = insert("insert_statement", sealed.others)
    passages = insert("insert_passage", sealed.passages)
    sightings = insert("insert_sighting", sealed.sightings)
    messages = insert("insert_message", _new_messages(tx, patient, accepted, sealed.messages))
    changed = unnumbered + documents + facts + events + others + passages + sightings + messages > 0
    return changed, Staged(facts=facts, events=events, narratives=passages, messages=messages)


def _new_messages(tx: Transaction, patient: str, accepted: Accepted, rows: list[Row]) -> list[Row]:
    """The turns after those held. A turn that is held at its place is left out; one that differs from what is held
    there, or would leave a gap, raises Conflict: another caller appended first, or the transcript was edited."""
    if not rows:
        return []
    held = [id for (id,) in tx.rows("message_ids", patient=patient, session=accepted.receipt.session)]
    new: list[Row] = []
    for message, row in sorted(zip(accepted.messages, rows, strict=True), key=lambda pair: pair[0].index):
        if message.index < len(held) and held[message.index] == message.id:
            continue
        if message.index != len(held):
            raise Conflict(f"turn {message.index} of the session is not the next one: it has {len(held)} turns")
        held.append(message.id)
        new.append(row)
    return new


def _source_row(patient: str, sealer: Sealer, accepted: Accepted) -> Row:
    name, kind = accepted.receipt.source, accepted.source_kind
    id = sealer.mark("source", name, kind.value)
    return {"patient": patient, "id": id, "body": sealer.seal("sources", id, encode((name, kind)))}


def _document_rows(patient: str, sealer: Sealer, accepted: Accepted, held: set[str]) -> list[Row]:
    document = accepted.document
    if document is None or document.id in held:
        return []
    row: Row = {
        "patient": patient,
        "id": document.id,
        "received_at": text_of(document.received_at),
        "head": sealer.seal("documents", document.id, encode(document)),
        "body": sealer.seal("document_bodies", document.id, accepted.body),
    }
    return [row]


def _statement_rows(patient: str, sealer: Sealer, statements: Iterable[Statement], kinds: frozenset[Kind]) -> list[Row]:
    return [
        {
            "patient": patient,
            "id": item.id,
            "kind": item.kind.value,
            "reader": item.provenance.reader,
            "body": sealer.seal("statements", item.id, encode(item)),
        }
        for item in statements
        if item.kind in kinds
    ]


def _passage_rows(patient: str, sealer: Sealer, passages: Iterable[Passage]) -> list[Row]:
    return [
        {
            "patient": patient,
            "id": item.id,
            "reader": item.provenance.reader,
            "body": sealer.seal("passages", item.id, encode(item)),
        }
        for item in passages
    ]


def _sighting_rows(patient: str, sealer: Sealer, sightings: Iterable[Sighting], epoch: str) -> list[Row]:
    rows: dict[str, Row] = {}
    for item in sightings:
        place = encode((item.place, item.url))
        id = sealer.mark("sighting", item.item, item.document, place.decode(), epoch)
        rows[id] = {
            "patient": patient,
            "id": id,
            "item": item.item,
            "document": item.document,
            "received_at": text_of(item.received_at),
            "body": sealer.seal("sightings", f"{id} {item.item} {item.document}", place),
        }
    return list(rows.values())


def _message_rows(patient: str, sealer: Sealer, messages: Iterable[Message]) -> list[Row]:
    return [
        {
            "patient": patient,
            "id": item.id,
            "session": item.session,
            "position": item.index,
            "received_at": text_of(item.received_at),
            "body": sealer.seal("messages", item.id, encode(item)),
        }
        for item in messages
    ]

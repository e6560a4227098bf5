"""How do submissions become durable? One transaction for those sent together; what is held already stays as it is.

Sealing needs no lock, so it is done before the transaction; counting what is new needs one, so it is done inside.

What is new counts: a statement, passage, message or document that was not held; a sighting of an item in a document
at a place; a session; a source, or another kind for one. Bytes that were received before have the same document id,
and all their sightings are held: such a repeat adds only its receipt, and the first time of receipt stands. A repeat
in other bytes (split, reordered) stages nothing, but its sightings are new and belong to what the fold sees, so they
count as a change of the graph. When a source was retracted since, its bytes are seen anew: sightings are told apart
by the retraction they follow.

Bytes that are held are never read otherwise by being sent again, even if a better reader says more of them: that is
what rereading is for, which adds what is said otherwise beside what was said before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from datetime import datetime

import msgspec

from iamata.errors import Conflict, InvalidValue, NotFound, Unavailable
from iamata.model.document import Document, IngestionStatus, Receipt, Staged
from iamata.model.ruling import Ruling
from iamata.model.scope import Scope
from iamata.model.session import Message
from iamata.model.statement import EVENT_KINDS, FACT_KINDS
from iamata.ports import Accepted, KeyStore
from iamata.store import codec
from iamata.store.codec import encode, text_of
from iamata.store.database import Bound, Transaction, Transactions
from iamata.store.rows import Row, passage_rows, sighting_rows, statement_rows
from iamata.store.sealing import Sealer, key_check


class _Standing(msgspec.Struct, frozen=True):
    """Where a submission meets what is held: the id of the last retraction of its source (empty if there is none),
    whether its bytes were received since, and the rereading that says what they hold (0: as first read)."""

    retraction: str
    repeats: bool
    rereading: int


class _Sealed(msgspec.Struct):
    """The rows of one submission, ready to be inserted but for their `sequence`."""

    standing: _Standing
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
    database: Transactions,
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
    sealed = [_seal_new(database, sealer, each) for each in accepted]
    receipts: list[Receipt] = []
    with database.writing() as tx:
        counters = lock_patient(tx, keys, patient, key, at)
        for each, rows in zip(accepted, sealed, strict=True):
            standing = _standing(tx, sealer, each)
            if standing != rows.standing:  # another writer came between sealing and locking
                rows = _seal(sealer, each, standing, frozenset())
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
    put_receipt(tx, sealer, receipt, sequence)
    if not changed:
        tx.run("count_submission", patient=patient, sequence=sequence)
        return receipt, Patient(counters.version, sequence)
    tx.run("insert_work", patient=patient, sequence=sequence, ingestion=receipt.id, now=at)
    tx.run("count_change", patient=patient, sequence=sequence, version=counters.version + 1, now=at)
    return receipt, Patient(counters.version + 1, sequence)


def put_receipt(tx: Transaction, sealer: Sealer, receipt: Receipt, sequence: int) -> None:
    """A new receipt under its number."""
    tx.run(
        "insert_receipt",
        patient=receipt.subject.id,
        id=receipt.id,
        sequence=sequence,
        status=receipt.status.value,
        received_at=text_of(receipt.received_at),
        started_at=None if receipt.started_at is None else text_of(receipt.started_at),
        completed_at=None if receipt.completed_at is None else text_of(receipt.completed_at),
        body=sealer.seal("receipts", receipt.id, encode(receipt)),
    )


def retract(
    database: Transactions,
    keys: KeyStore,
    random_bytes: Callable[[int], bytes],
    patient: str,
    source: str,
    now: datetime,
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
    database: Transactions,
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


def _standing(tx: Transaction, sealer: Sealer, accepted: Accepted) -> _Standing:
    document, patient = accepted.document, accepted.receipt.subject.id
    source = document.source if document else accepted.receipt.source
    retractions = [
        (id, at)
        for id, at, _body in tx.rows("retractions", patient=patient)
        if id == sealer.mark("retraction", source, at)
    ]
    retraction, until = retractions[-1] if retractions else ("", "")
    received = tx.rows("received", patient=patient, id=document.id) if document else []
    if document is None or not received:
        return _Standing(retraction, False, 0)
    last = max(at for (at,) in [*received, *tx.rows("last_seen", patient=patient, document=document.id)])
    number = 0
    for each, _at, body in tx.rows("rereadings", patient=patient):
        if document.id in codec.rereadings.decode(sealer.open("rereadings", str(each), body)):
            number = each
    return _Standing(retraction, last > until, number)


def _seal_new(database: Transactions, sealer: Sealer, accepted: Accepted) -> _Sealed:
    """What is held already is left out: it can only vanish by erasure, which `lock_patient` notices."""
    patient = accepted.receipt.subject.id
    held: set[str] = set()
    with database.reading() as tx:
        standing = _standing(tx, sealer, accepted)
        if accepted.statements and not standing.repeats:
            held |= {id for (id,) in tx.rows("statement_ids", patient=patient)}
        if accepted.passages and not standing.repeats:
            held |= {id for (id,) in tx.rows("passage_ids", patient=patient)}
    return _seal(sealer, accepted, standing, held)


def _seal(sealer: Sealer, accepted: Accepted, standing: _Standing, held: Set[str]) -> _Sealed:
    patient, document = accepted.receipt.subject.id, accepted.document
    items = not standing.repeats
    statements = [s for s in {s.id: s for s in accepted.statements}.values() if items and s.id not in held]
    passages = [p for p in {p.id: p for p in accepted.passages}.values() if items and p.id not in held]
    return _Sealed(
        standing=standing,
        source=_source_row(patient, sealer, accepted),
        documents=[_document_row(patient, sealer, document, accepted.body)] if document and items else [],
        facts=statement_rows(patient, sealer, [s for s in statements if s.kind in FACT_KINDS]),
        events=statement_rows(patient, sealer, [s for s in statements if s.kind in EVENT_KINDS]),
        others=statement_rows(patient, sealer, [s for s in statements if s.kind not in FACT_KINDS | EVENT_KINDS]),
        passages=passage_rows(patient, sealer, passages),
        sightings=_sighting_rows(patient, sealer, accepted, standing) if items else [],
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


def _document_row(patient: str, sealer: Sealer, document: Document, body: bytes) -> Row:
    return {
        "patient": patient,
        "id": document.id,
        "received_at": text_of(document.received_at),
        "head": sealer.seal("documents", document.id, encode(document)),
        "body": sealer.seal("document_bodies", document.id, body),
    }


def _sighting_rows(patient: str, sealer: Sealer, accepted: Accepted, standing: _Standing) -> list[Row]:
    number = standing.rereading
    apart = [standing.retraction, str(number)] if number else [standing.retraction]
    return sighting_rows(patient, sealer, accepted.sightings, *apart, rereading=number)


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

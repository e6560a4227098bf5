"""How is a patient, or a part of one, forgotten? Rows, key and cached projection, in one transaction; receipts stay.

What goes with a part is for `formation.forgetting`; here it is deleted, with every context and tool call that cites or
quotes it. A legal hold is looked at under the patient's lock. What the ledger remembers is for `ledger`.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from datetime import datetime
from typing import Final, Protocol

from iamata.errors import Conflict, NotFound
from iamata.model.erasure import Erasable, Erasure
from iamata.model.session import Message
from iamata.ports import KeyStore
from iamata.store import codec
from iamata.store.accepting import lock_patient
from iamata.store.codec import encode, text_of
from iamata.store.database import Database, Transaction
from iamata.store.ledger import Ledger
from iamata.store.sealing import Sealer

# Children before parents. A test holds this list against the schema: every table of one patient is in it.
ERASED_TABLES: Final = (
    "work",
    "relations",
    "contexts",
    "projections",
    "receipts",
    "learned_from",
    "inferences",
    "rulings",
    "retractions",
    "model_answers",
    "relearned_memories",
    "relearnings",
    "memories",
    "tool_calls",
    "shown_words",
    "messages",
    "sessions",
    "sightings",
    "passages",
    "statements",
    "rereadings",
    "documents",
    "sources",
    "holds",
    "forgotten",
    "patients",
)


class Going(Protocol):
    """What goes with a part of a patient, by table: `formation.forgetting.Forgotten`."""

    @property
    def kind(self) -> Erasable: ...
    @property
    def id(self) -> str: ...
    @property
    def document(self) -> str: ...
    @property
    def session(self) -> str: ...
    @property
    def statements(self) -> frozenset[str]: ...
    @property
    def passages(self) -> frozenset[str]: ...
    @property
    def emptied(self) -> tuple[Message, ...]: ...
    @property
    def transcripts(self) -> frozenset[str]: ...
    @property
    def memories(self) -> frozenset[str]: ...
    @property
    def rulings(self) -> frozenset[str]: ...
    @property
    def answers(self) -> frozenset[str]: ...
    @property
    def receipts(self) -> frozenset[str]: ...
    @property
    def inferences(self) -> frozenset[str]: ...
    @property
    def contexts(self) -> frozenset[str]: ...
    @property
    def calls(self) -> frozenset[str]: ...
    @property
    def sources(self) -> frozenset[str]: ...
    @property
    def cited(self) -> frozenset[str]: ...
    @property
    def quoted(self) -> frozenset[str]: ...


class OnHold(Conflict):
    """Nothing of this patient is erased: a legal hold stands on it."""

    def __init__(self, holds: tuple[str, ...]) -> None:
        super().__init__(f"a legal hold stands on this patient ({', '.join(holds)}): lift it first")
        self.holds = holds


def erase_patient(
    database: Database,
    keys: KeyStore,
    random_bytes: Callable[[int], bytes],
    ledger: Ledger,
    patient: str,
    now: datetime,
    by: str,
    *,
    replayed: Erasure | None = None,
) -> Erasure | None:
    """The receipt; None, and nothing changed, if there is no such patient. Raises OnHold. What was learned from the
    patient, among others, goes too, every version of it.

    The key is destroyed inside the transaction and under the patient's lock, so that nobody can seal under it after.
    Kept: audit records, which hold ids and verbs (design 08), the entry of the ledger, and a tombstone that without the
    key says of nobody that it was erased. `replayed` is the entry of an erasure that is done again.
    """
    at = text_of(now)
    with database.writing() as tx:
        registered = bool(tx.rows("lock_patient", patient=patient))
        if registered and replayed is None:
            refuse_on_hold(tx, patient)
        rows = tx.rows("patient", patient=patient)
        counts = []
        forget_what_was_learned(tx, patient, at)
        for table in ERASED_TABLES:
            count = tx.run(f"erase_{table}", patient=patient)
            if count:
                counts.append((table, count))
        entry = replayed
        if registered:
            key = keys.get(patient) or random_bytes(32)
            mark = Sealer(patient, key, random_bytes).mark("tombstone", patient)
            tx.run("insert_tombstone", mark=mark, now=at)
            if entry is None:
                marks = ledger.marks
                person = marks.person(patient)
                entry = ledger.signed(
                    Erasure(
                        id=f"er_{random_bytes(10).hex()}",
                        kind=Erasable.PATIENT,
                        mark=person,
                        person=person,
                        registration=marks.registration(patient, rows[0][1], rows[0][4]),
                        at=now,
                        by=by,
                        counts=tuple(sorted(counts)),
                    )
                )
                ledger.write(tx, entry, "")
        keys.destroy(patient)
    database.purge()
    if entry is not None and replayed is None:
        ledger.finish(entry.id, now)
        database.purge()
    return entry


def erase_part(
    database: Database,
    keys: KeyStore,
    random_bytes: Callable[[int], bytes],
    ledger: Ledger,
    patient: str,
    going: Going,
    version: int,
    now: datetime,
    by: str,
    *,
    quotes: Callable[[str], Set[str]],
    replayed: Erasure | None = None,
) -> Erasure:
    """The receipt. Raises NotFound for an unknown patient, OnHold, and Conflict if the graph is no longer at this
    version: then what goes is to be worked out once more. `quotes` gives the runs of words of a text."""
    key, at = keys.get(patient), text_of(now)
    with database.writing() as tx:
        rows = tx.rows("patient", patient=patient)
        if key is None or not rows:
            raise NotFound(what="patient", id=patient)
        sealer = Sealer(patient, key, random_bytes)
        counters = lock_patient(tx, keys, patient, key, at)
        if counters.version != version:
            raise Conflict("the patient's records changed while it was worked out what goes")
        if replayed is None:
            refuse_on_hold(tx, patient)
        counts = _delete(tx, sealer, patient, going, quotes, at)
        tx.run("count_change", patient=patient, sequence=counters.sequence, version=version + 1, now=at)
        tx.run("insert_forgotten", patient=patient, version=version + 1, now=at)
        entry = replayed
        if entry is None:
            marks = ledger.marks
            registration = marks.registration(patient, rows[0][1], rows[0][4])
            entry = ledger.signed(
                Erasure(
                    id=f"er_{random_bytes(10).hex()}",
                    kind=going.kind,
                    mark=marks.item(registration, going.kind, going.id),
                    person=marks.person(patient),
                    registration=registration,
                    at=now,
                    by=by,
                    counts=counts,
                )
            )
            ledger.write(tx, entry, "")
    database.purge()
    if replayed is None:
        ledger.finish(entry.id, now)
        database.purge()
    return entry


def allow_again(
    database: Database, random_bytes: Callable[[int], bytes], ledger: Ledger, mark: str, now: datetime, by: str
) -> tuple[str, ...]:
    """Somebody's explicit word that what was erased may be sent again: the ids of the erasures that it lifts."""
    with database.writing() as tx:
        lifted = []
        for erased in ledger.all_standing(tx, mark):
            entry = ledger.signed(
                Erasure(
                    id=f"er_{random_bytes(10).hex()}",
                    kind=erased.kind,
                    mark=mark,
                    person=erased.person,
                    registration=erased.registration,
                    at=now,
                    by=by,
                    allows=erased.id,
                )
            )
            ledger.write(tx, entry, text_of(now))
            lifted.append(erased.id)
    return tuple(lifted)


def refuse_on_hold(tx: Transaction, patient: str) -> None:
    """Raises OnHold if a hold stands on the patient."""
    holds = tx.rows("standing_holds", patient=patient)
    if holds:
        raise OnHold(tuple(id for (id,) in holds))


def forget_what_was_learned(tx: Transaction, patient: str, at: str) -> None:
    """Delete every version of what was learned from this patient, among others. From whom is left in `learned_from`."""
    learned = tx.rows("learned_from", patient=patient)
    for scope, subject, entry in learned:
        tx.run("delete_entry_versions", scope=scope, subject=subject, id=entry)
    for scope, subject in sorted({(scope, subject) for scope, subject, _ in learned}):
        tx.run("count_entry_change", scope=scope, subject=subject, now=at)


def _delete(
    tx: Transaction, sealer: Sealer, patient: str, going: Going, quotes: Callable[[str], Set[str]], at: str
) -> tuple[tuple[str, int], ...]:
    """Children before parents; how many rows went, by table."""
    counts: dict[str, int] = {}

    def each(table: str, name: str, ids: Set[str]) -> None:
        if ids:
            counts[table] = counts.get(table, 0) + tx.many(name, [{"patient": patient, "id": id} for id in sorted(ids)])

    contexts, calls = set(going.contexts), set(going.calls)
    if going.cited or going.quoted:
        contexts |= {
            id
            for id, body in tx.rows("context_bodies", patient=patient)
            if _cites(sealer.open("contexts", id, body).decode(), going.cited)
        }
        calls |= {
            id
            for id, body in tx.rows("call_bodies", patient=patient)
            if _repeats(sealer.open("tool_calls", id, body), going, quotes)
        }
    each("contexts", "forget_context", contexts)
    each("tool_calls", "forget_call", calls)
    if sum(counts.values()) < len(going.contexts) + len(going.calls):
        raise NotFound(what=going.kind, id=going.id)
    each("relearned_memories", "forget_relearned_memory", going.memories)
    each("memories", "forget_memory", going.memories)
    each("rulings", "forget_ruling", going.rulings)
    each("model_answers", "forget_model_answer", going.answers)
    each("work", "forget_work", going.receipts)
    each("receipts", "forget_receipt", going.receipts)
    each("inferences", "forget_inference", going.inferences)
    if going.document:
        each("sightings", "forget_sightings", {going.document})
        each("statements", "forget_statement", going.statements)
        each("passages", "forget_passage", going.passages)
        each("documents", "forget_document", {going.document})
    each("documents", "forget_document", going.transcripts)
    if going.session:
        each("tool_calls", "forget_calls", {going.session})
        each("messages", "forget_messages", {going.session})
        each("sessions", "forget_session", {going.session})
    for message in going.emptied:
        session, position, sequence, received_at = tx.rows("message_row", patient=patient, id=message.id)[0]
        each("messages", "forget_message", {message.id})
        tx.run(
            "insert_message",
            patient=patient,
            id=message.id,
            session=session,
            position=position,
            sequence=sequence,
            received_at=received_at,
            body=sealer.seal("messages", message.id, encode(message)),
        )
    each("sources", "forget_source", _of_sources(tx, sealer, patient, "source_bodies", going.sources))
    each("retractions", "forget_retraction", _of_sources(tx, sealer, patient, "retraction_bodies", going.sources))
    # Which of the words that were given out came from what goes cannot be told: all of them go, and so does what was
    # formed. What comes back in talk from an earlier context is then heard as said.
    counts["shown_words"] = tx.run("erase_shown_words", patient=patient)
    counts["projections"] = tx.run("erase_projections", patient=patient)
    if counts.get("tool_calls"):  # what was learned from the patient's calls is learned anew from those that stay
        forget_what_was_learned(tx, patient, at)
        counts["learned_from"] = tx.run("erase_learned_from", patient=patient)
    return tuple(sorted((table, count) for table, count in counts.items() if count))


def _of_sources(tx: Transaction, sealer: Sealer, patient: str, name: str, sources: Set[str]) -> set[str]:
    if not sources:
        return set()
    found = set()
    for id, body in tx.rows(name, patient=patient):
        if name == "source_bodies":
            source = codec.sources.decode(sealer.open("sources", id, body))[0]
        else:
            source = sealer.open("retractions", id, body).decode()
        if source in sources:
            found.add(id)
    return found


def _cites(text: str, ids: Set[str]) -> bool:
    return any(id in text for id in ids)


def _repeats(body: bytes, going: Going, quotes: Callable[[str], Set[str]]) -> bool:
    """Does a tool call name what goes, or hold a run of its words?"""
    call = codec.tool_calls.decode(body).call
    return any(
        _cites(text, going.cited) or not going.quoted.isdisjoint(quotes(text)) for text in (call.arguments, call.result)
    )

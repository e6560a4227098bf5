"""What goes when one document, session, message or memory is erased? Everything that rests on it alone.

Pure: takes everything held, gives ids by table; deletes nothing. A statement goes if it was seen in that document only;
a copy of it that another document brought stays, as that document's. What was learned goes with the words it was
learned from, also where a later answer made sense only after them. What an agent inferred goes, in every version, if
any version of it rests on something that goes. Facts and links need no care: they are folded from what stays. Contexts
and tool calls are judged by the store, which holds them: those go that cite an id or quote a run of eight words of what
goes.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from iamata.errors import NotFound
from iamata.formation.learned import learn
from iamata.formation.learned.echoes import told
from iamata.model.document import Receipt
from iamata.model.erasure import Erasable
from iamata.model.graph import Held
from iamata.model.identifiers import IdMint
from iamata.model.memory import Memory
from iamata.model.ruling import MemoryRef, RecordRef, Ruling
from iamata.model.session import Message, Session, Turn
from iamata.model.sighting import Rereading
from iamata.model.statement import Statement


class Forgotten(msgspec.Struct, frozen=True, kw_only=True):
    """The ids that go, by table. `emptied` messages stay in their place as turns without words, so that a transcript
    that is sent again is recognised; `transcripts` are the documents whose bytes hold what was said. `sources` are
    those of which nothing is left. `cited` are all ids by which
    something given out may have meant what goes, `quoted` runs of its words."""

    kind: Erasable
    id: str
    document: str = ""
    session: str = ""
    statements: frozenset[str] = frozenset()
    passages: frozenset[str] = frozenset()
    emptied: tuple[Message, ...] = ()
    transcripts: frozenset[str] = frozenset()
    memories: frozenset[str] = frozenset()
    rulings: frozenset[str] = frozenset()
    answers: frozenset[str] = frozenset()
    receipts: frozenset[str] = frozenset()
    inferences: frozenset[str] = frozenset()
    contexts: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()
    cited: frozenset[str] = frozenset()
    quoted: frozenset[str] = frozenset()


def forgotten(held: Held, receipts: Iterable[Receipt], kind: Erasable, id: str, *, mint: IdMint) -> Forgotten:
    """What goes with this one. Raises NotFound if it is not held."""
    match kind:
        case Erasable.DOCUMENT:
            return _with_document(held, tuple(receipts), id)
        case Erasable.SESSION:
            session = next((s for s in held.sessions if s.id == id), None)
            if session is None:
                raise NotFound(what="session", id=id)
            return _with_session(held, tuple(receipts), session)
        case Erasable.MESSAGE:
            return _with_message(held, tuple(receipts), id, mint)
        case Erasable.MEMORY:
            memory = next((m for m in held.ever_learned if m.id == id), None)
            if memory is None:
                raise NotFound(what="memory", id=id)
            return _and_what_is_about(
                held, Forgotten(kind=kind, id=id, memories=frozenset({id}), cited=frozenset({id})), [memory.quote]
            )
        case Erasable.INFERENCE:
            if all(entry.id != id for entry in held.entries):
                raise NotFound(what="inference", id=id)
            going = Forgotten(kind=kind, id=id, inferences=frozenset({id}), cited=frozenset({id}))
            return _and_what_is_about(held, going, ())
        case Erasable.CONTEXT:  # whether it is there is for the store: what is held of a patient holds none
            return Forgotten(kind=kind, id=id, contexts=frozenset({id}))
        case Erasable.TOOL_CALL:
            return Forgotten(kind=kind, id=id, calls=frozenset({id}))
        case Erasable.PATIENT | Erasable.ORGANIZATION | Erasable.OPERATOR | Erasable.AGENT | Erasable.ENTRY:
            raise NotFound(what="part of a patient", id=id)


def _with_document(held: Held, receipts: tuple[Receipt, ...], id: str) -> Forgotten:
    document = next((d for d in held.documents if d.id == id), None)
    if document is None:
        raise NotFound(what="document", id=id)
    read: tuple[Held | Rereading, ...] = (held, *held.rereadings)
    elsewhere = {seen.item for each in read for seen in each.sightings if seen.document != id}
    here = {seen.item for each in read for seen in each.sightings if seen.document == id} - elsewhere
    statements = {s.id: s for each in read for s in each.statements if s.id in here}
    passages = {p.id: p for each in read for p in each.passages if p.id in here}
    mine = frozenset(receipt.id for receipt in receipts if receipt.document == id)
    staying = {d.source for d in held.documents if d.id != id} | {r.source for r in receipts if r.session}
    return _and_what_is_about(
        held,
        Forgotten(
            kind=Erasable.DOCUMENT,
            id=id,
            document=id,
            statements=frozenset(statements),
            passages=frozenset(passages),
            receipts=mine,
            sources=frozenset({document.source} - staying),
            cited=frozenset({id, *mine, *statements, *passages, *_facts_of(statements)}),
        ),
        [*(text for s in statements.values() for text in _texts(s)), *(p.text for p in passages.values())],
    )


def _with_session(held: Held, receipts: tuple[Receipt, ...], session: Session) -> Forgotten:
    messages = {message.id for message in session.messages}
    memories = {m.id: m for m in held.ever_learned if m.message in messages}
    mine = frozenset(receipt.id for receipt in receipts if receipt.session == session.id)
    staying = {d.source for d in held.documents} | {r.source for r in receipts if r.id not in mine}
    going = {r.source for r in receipts if r.id in mine}
    return _and_what_is_about(
        held,
        Forgotten(
            kind=Erasable.SESSION,
            id=session.id,
            session=session.id,
            transcripts=_transcripts(receipts, session),
            memories=frozenset(memories),
            answers=frozenset(r.id for r in held.readings if r.session == session.id),
            receipts=mine,
            sources=frozenset(going - staying),
            cited=frozenset({*messages, *memories, *mine, *_transcripts(receipts, session)}),
        ),
        [message.turn.text for message in session.messages],
        messages,
    )


def _with_message(held: Held, receipts: tuple[Receipt, ...], id: str, mint: IdMint) -> Forgotten:
    session, message = next(
        ((s, m) for s in held.sessions for m in s.messages if m.id == id and not m.erased), (None, None)
    )
    if session is None or message is None:
        raise NotFound(what="message", id=id)
    empty = emptied(message)
    without = msgspec.structs.replace(session, messages=tuple(empty if m.id == id else m for m in session.messages))
    before = {memory.id: memory for memory in learn(session, mint=mint)}
    after = {memory.id: memory for memory in learn(without, mint=mint)}
    # What the offline extractor hears only because of these words, or hears otherwise; what a model heard in a reading
    # of them and nothing else vouches for.
    rests = {each for each, memory in before.items() if after.get(each) != memory}
    readings = [r for r in held.readings if id in r.messages]
    heard = {memory for reading in readings for memory in reading.memories} - before.keys()
    mine = {m.id for m in held.ever_learned if m.message == id or m.id in rests or m.id in heard}
    return _and_what_is_about(
        held,
        Forgotten(
            kind=Erasable.MESSAGE,
            id=id,
            emptied=(empty,),
            transcripts=_transcripts(receipts, session),
            memories=frozenset(mine),
            answers=frozenset(reading.id for reading in readings),
            cited=frozenset({id, *mine, *_transcripts(receipts, session)}),
        ),
        [message.turn.text, *(call.arguments for call in message.turn.calls), *(c.result for c in message.turn.calls)],
        {id},
    )


def _transcripts(receipts: tuple[Receipt, ...], session: Session) -> frozenset[str]:
    """The documents that brought turns of this session, whole."""
    return frozenset(receipt.document for receipt in receipts if receipt.session == session.id and receipt.document)


def emptied(message: Message) -> Message:
    """The turn without what was said: its place, its id, who spoke, and its sender's own id."""
    turn = Turn(message.turn.speaker, "", turn_id=message.turn.turn_id)
    return Message(message.id, message.session, message.index, turn, message.received_at, erased=True)


def _and_what_is_about(held: Held, going: Forgotten, texts: Iterable[str], messages: Iterable[str] = ()) -> Forgotten:
    """With the rulings, the model's answers and the inferences on what goes, and the runs of its words."""
    read: tuple[Held | Rereading, ...] = (held, *held.rereadings)
    every = [s for each in read for s in each.statements]
    stays = [s for s in every if s.id not in going.statements]
    records = {RecordRef.of(s) for s in every if s.id in going.statements} - {RecordRef.of(s) for s in stays}
    digests = {s.digest for s in every if s.id in going.statements} - {s.digest for s in stays}
    memories, spoken = [m for m in held.ever_learned if m.id in going.memories], set(messages)
    rulings = {r.id for r in held.rulings if _is_about(r, records, memories, spoken)}
    rulings |= {r.id for r in held.rulings if r.withdraws in rulings}
    answers = {a.id for a in held.adjudications if {a.left, a.right} & digests}
    inferences = going.inferences | _resting_on(
        held, {going.document, *going.statements, *going.passages, *going.memories}
    )
    inferred = [text for e in held.entries if e.id in inferences for text in (e.title, e.text)]
    return msgspec.structs.replace(
        going,
        rulings=frozenset(rulings),
        answers=going.answers | answers,
        inferences=inferences,
        cited=going.cited | rulings | inferences,
        quoted=frozenset(run for text in (*texts, *inferred) for run, _, _ in told(text)),
    )


def _resting_on(held: Held, items: set[str]) -> frozenset[str]:
    """The inferences of which any version rests on one of these: a later one may repeat what an earlier one said."""
    return frozenset(
        entry.id
        for entry in held.entries
        if any(root in items for basis in entry.derived_from for root in (basis.item, *basis.roots))
    )


def _is_about(ruling: Ruling, records: set[RecordRef], memories: list[Memory], messages: set[str]) -> bool:
    if ruling.memory is not None:
        ref: MemoryRef = ruling.memory
        return ref.message in messages or any(ref.covers(memory) for memory in memories)
    return any(side in records for side in (ruling.left, ruling.right) if side is not None)


def _facts_of(statements: Iterable[str]) -> set[str]:
    """The ids that facts with these statements may have had: a fact is named by one of its members."""
    return {f"fa_{id.partition('_')[2]}" for id in statements}


def _texts(statement: Statement) -> list[str]:
    """What a statement says in words."""
    found = [statement.concept.text or statement.concept.display] if statement.concept else []
    return found + [field.value for field in statement.fields if isinstance(field.value, str)]

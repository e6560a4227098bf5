"""What of a stored document or receipt exists for this reader? As if hidden items had not been sent.

The graph is folded without them (`formation.pipeline`); this is about the bytes and the accounts of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

import msgspec

from iamata.model.context import Context
from iamata.model.document import Document, Receipt, Staged
from iamata.model.graph import Graph, Held
from iamata.model.memory import Memory
from iamata.model.passage import Passage
from iamata.model.provenance import Place
from iamata.model.session import RecordedCall, Session
from iamata.model.sighting import Rereading, Sighting
from iamata.model.statement import EVENT_KINDS, FACT_KINDS, Kind, Statement
from iamata.policy.sensitivity import of_shown
from iamata.policy.view import Hidden


def hidden_items(held: Held, hidden: Hidden) -> dict[str, Kind | None]:
    """The statements (with their kind) and passages (None) that do not exist for the reader, by id."""
    read: tuple[Held | Rereading, ...] = (held, *held.rereadings)
    found: dict[str, Kind | None] = {s.id: s.kind for each in read for s in each.statements if s.id in hidden.items}
    return found | {p.id: None for each in read for p in each.passages if p.id in hidden.items}


def holds_hidden(held: Held, document: str, hidden: Hidden) -> bool:
    """Does an item that is hidden stand in this document, or is it hidden itself? Then its bytes cannot be shown."""
    return document in hidden.documents or any(seen.document == document for seen in _hidden_sightings(held, hidden))


def is_hidden(held: Held, id: str, hidden: Hidden) -> bool:
    """Is this document, session, message or memory hidden from the reader, or something that stands in it?"""
    if id in hidden.items or id in hidden.sessions or holds_hidden(held, id, hidden):
        return True
    said = next((session.messages for session in held.sessions if session.id == id), ())
    spoken = {message.id for message in said} or {id}
    return any(each in hidden.items for each in spoken) or any(
        memory.id in hidden.items for memory in held.ever_learned if memory.message in spoken
    )


def places(held: Held, hidden: Hidden) -> Callable[[str, Place], bool]:
    """May the bytes at a place of a document be shown? Not where a hidden item stands in it, or it in a hidden one."""
    hiding: dict[str, list[Place]] = {}
    for seen in _hidden_sightings(held, hidden):
        hiding.setdefault(seen.document, []).append(seen.place)
    return lambda document, place: not any(_overlap(place, each) for each in hiding.get(document, ()))


def _hidden_sightings(held: Held, hidden: Hidden) -> Iterator[Sighting]:
    readings: tuple[Held | Rereading, ...] = (held, *held.rereadings) if hidden.items else ()
    for each in readings:
        yield from (seen for seen in each.sightings if seen.item in hidden.items)


def _overlap(place: Place, other: Place) -> bool:
    if place.pointer == other.pointer:
        apart = place.start is not None and other.start is not None and place.end is not None and other.end is not None
        return not (apart and (place.end <= other.start or other.end <= place.start))  # type: ignore[operator]
    inner, outer = sorted((place.pointer, other.pointer), key=len, reverse=True)
    return not outer or inner.startswith(f"{outer}/")


def labelled(context: Context, graph: Graph) -> Context:
    """The context with the labels of what its lines rest on."""

    def behind(ids: Iterable[str]) -> Iterator[Statement | Passage | Memory]:
        for id in ids:
            found = graph.statements.get(id) or graph.passages.get(id) or graph.memories.get(id)
            if found is not None:
                yield found

    items = []
    for item in context.items:
        labels = of_shown(behind(item.citations))
        items.append(msgspec.structs.replace(item, labels=tuple(sorted(labels))) if labels else item)
    together = of_shown(behind(dict.fromkeys(id for item in context.items for id in item.citations)))
    return msgspec.structs.replace(context, items=tuple(items), labels=tuple(sorted(together)))


def last_change(held: Held, since: datetime) -> datetime:
    """When the last of what is held came, at the earliest `since`."""
    readings: tuple[Held | Rereading, ...] = (held, *held.rereadings)
    times = [seen.received_at for each in readings for seen in each.sightings]
    times += [message.received_at for session in held.sessions for message in session.messages]
    times += [each.decided_at for each in held.rulings]
    return max([since, *times])


def calls_for(calls: Iterable[RecordedCall], session: Session, hidden: Hidden) -> list[RecordedCall]:
    """The recorded calls of a session, each after the last turn before it that the reader sees."""
    number, place = -1, {-1: -1}
    for message in session.messages:
        if message.id not in hidden.items:
            number += 1
        place[message.index] = number
    return [msgspec.structs.replace(call, after=place[call.after]) for call in calls if call.after in place]


def is_retracted(held: Held, document: Document) -> bool:
    """Was its source taken out, and has it not been sent again since?"""
    until = max((r.at for r in held.retractions if r.source == document.source), default=None)
    if until is None:
        return False
    seen = [s.received_at for s in held.sightings if s.document == document.id]
    return max([document.received_at, *seen]) <= until


def receipts_for(receipts: Iterable[Receipt], held: Held, hidden: Hidden) -> list[Receipt]:
    """The receipts as they would be without the hidden items, in the given order; without those whose document holds
    nothing else.

    Lines, counts and warnings of hidden items are left out. Places keep their numbers: they are places in bytes.
    """
    gone = hidden_items(held, hidden)
    told = (_talk_without(each, held, hidden) for each in receipts)
    return [one for each in told if each is not None and (one := _without(each, held, gone)) is not None]


def _talk_without(receipt: Receipt, held: Held, hidden: Hidden) -> Receipt | None:
    """A receipt of turns without the hidden ones; None if it brought no other."""
    session = next((each for each in held.sessions if each.id == receipt.session), None) if receipt.session else None
    if session is None:
        return receipt
    brought = [m for m in session.messages if m.received_at == receipt.received_at]
    gone = sum(m.id in hidden.items for m in brought)
    if not gone:
        return None if session.id in hidden.sessions else receipt
    staged = receipt.staged
    left = Staged(staged.facts, staged.events, staged.narratives, max(0, staged.messages - gone))
    return msgspec.structs.replace(receipt, staged=left) if len(brought) > gone else None


def _without(receipt: Receipt, held: Held, hidden: dict[str, Kind | None]) -> Receipt | None:
    seen = _seen(receipt, held) if hidden and receipt.document else []
    gone = [s for s in seen if s.item in hidden]
    if not gone:
        return receipt
    if len(gone) == len(seen):
        return None
    places = {s.place.pointer for s in gone}
    fresh = [hidden[item] for item in _brought(receipt, held, {s.item for s in gone})]
    facts, events = sum(k in FACT_KINDS for k in fresh), sum(k in EVENT_KINDS for k in fresh)
    staged = receipt.staged
    return msgspec.structs.replace(
        receipt,
        staged=Staged(staged.facts - facts, staged.events - events, staged.narratives - fresh.count(None), 0),
        sightings=receipt.sightings - len(gone),
        intake=tuple(line for line in receipt.intake if not _is_at(line.place, places)),
        warnings=tuple(text for text in receipt.warnings if not any(place in text for place in places)),
    )


def _seen(receipt: Receipt, held: Held) -> list[Sighting]:
    """What its reading of the document saw."""
    return [s for s in (_rereading(receipt, held) or held).sightings if s.document == receipt.document]


def _rereading(receipt: Receipt, held: Held) -> Rereading | None:
    """The rereading that a receipt is of, if it is of one."""
    found = (a for a in held.rereadings if a.at == receipt.received_at and receipt.document in a.documents)
    return next(found, None)


def _brought(receipt: Receipt, held: Held, items: set[str]) -> list[str]:
    """Those of the items that this submission was the first to bring."""
    again = _rereading(receipt, held)
    if again is not None:
        earlier = [held.sightings, *(a.sightings for a in held.rereadings if a.number < again.number)]
        known = {seen.item for sightings in earlier for seen in sightings}
        return [item for item in items if item not in known]
    first: dict[str, Sighting] = {}
    for seen in held.sightings:
        if seen.item in items and (seen.item not in first or seen.received_at < first[seen.item].received_at):
            first[seen.item] = seen
    return [
        item
        for item, seen in first.items()
        if (seen.document, seen.received_at) == (receipt.document, receipt.received_at)
    ]


def _is_at(place: str, hidden: Iterable[str]) -> bool:
    """Does the line tell of a hidden item, or of a part of it?"""
    return any(
        pointer == place or pointer.startswith(f"{place}/") or place.startswith(f"{pointer}/") for pointer in hidden
    )

"""What of a stored document or receipt exists for this reader? As if hidden items had not been sent.

The graph is folded without them (`formation.pipeline`); this is about the bytes and the accounts of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from iamata.model.document import Document, Receipt, Staged
from iamata.model.graph import Held
from iamata.model.sighting import Rereading, Sighting
from iamata.model.statement import EVENT_KINDS, FACT_KINDS, Kind, Label

Sees = Callable[[tuple[Label, ...]], bool]


def hidden_items(held: Held, sees: Sees) -> dict[str, Kind | None]:
    """The statements (with their kind) and passages (None) that do not exist for the reader, by id: those that any
    reading of their document labelled so."""
    read: tuple[Held | Rereading, ...] = (held, *held.rereadings)
    hidden: dict[str, Kind | None] = {s.id: s.kind for each in read for s in each.statements if not sees(s.labels)}
    return hidden | {p.id: None for each in read for p in each.passages if not sees(p.labels)}


def holds_hidden(held: Held, document: str, sees: Sees) -> bool:
    """Does an item that is hidden stand in this document? Then its bytes cannot be shown."""
    hidden = hidden_items(held, sees)
    read: tuple[Held | Rereading, ...] = (held, *held.rereadings)
    return any(seen.document == document and seen.item in hidden for each in read for seen in each.sightings)


def is_retracted(held: Held, document: Document) -> bool:
    """Was its source taken out, and has it not been sent again since?"""
    until = max((r.at for r in held.retractions if r.source == document.source), default=None)
    if until is None:
        return False
    seen = [s.received_at for s in held.sightings if s.document == document.id]
    return max([document.received_at, *seen]) <= until


def receipts_for(receipts: Iterable[Receipt], held: Held, sees: Sees) -> list[Receipt]:
    """The receipts as they would be without the hidden items, in the given order; without those whose document holds
    nothing else.

    Lines, counts and warnings of hidden items are left out. Places keep their numbers: they are places in bytes.
    """
    hidden = hidden_items(held, sees)
    return [one for each in receipts if (one := _without(each, held, hidden)) is not None]


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

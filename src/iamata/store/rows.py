"""Which rows do the items of a document become? Sealed; the number of their submission is set when they are inserted.

An item that was read again has a row for each rereading that says it otherwise; 0 is what it said when first read.
"""

from __future__ import annotations

from collections.abc import Iterable

from iamata.model.passage import Passage
from iamata.model.sighting import Sighting
from iamata.model.statement import Statement
from iamata.store.codec import encode, text_of
from iamata.store.database import Bound
from iamata.store.sealing import Sealer

Row = dict[str, Bound]


def sealed_as(id: str, rereading: int) -> str:
    """What the body of an item is bound to: its id, and its rereading if it has one."""
    return f"{id} {rereading}" if rereading else id


def statement_rows(patient: str, sealer: Sealer, statements: Iterable[Statement], rereading: int = 0) -> list[Row]:
    return [
        {
            "patient": patient,
            "id": item.id,
            "rereading": rereading,
            "kind": item.kind.value,
            "reader": item.provenance.reader,
            "body": sealer.seal("statements", sealed_as(item.id, rereading), encode(item)),
        }
        for item in statements
    ]


def passage_rows(patient: str, sealer: Sealer, passages: Iterable[Passage], rereading: int = 0) -> list[Row]:
    return [
        {
            "patient": patient,
            "id": item.id,
            "rereading": rereading,
            "reader": item.provenance.reader,
            "body": sealer.seal("passages", sealed_as(item.id, rereading), encode(item)),
        }
        for item in passages
    ]


def sighting_rows(
    patient: str, sealer: Sealer, sightings: Iterable[Sighting], *told_apart_by: str, rereading: int = 0
) -> list[Row]:
    """One row for an item in a document at a place, and whatever else tells it from another."""
    rows: dict[str, Row] = {}
    for item in sightings:
        place = encode((item.place, item.url))
        id = sealer.mark("sighting", item.item, item.document, place.decode(), *told_apart_by)
        rows[id] = {
            "patient": patient,
            "id": id,
            "rereading": rereading,
            "item": item.item,
            "document": item.document,
            "received_at": text_of(item.received_at),
            "body": sealer.seal("sightings", sealed_as(f"{id} {item.item} {item.document}", rereading), place),
        }
    return list(rows.values())

"""What a patient said is readable under the patient's key, in its own row, and nowhere else."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from store_samples import LATER, NOW, bundle, memory_of, relation_of, turns

from iamata.errors import NotFound, Unavailable
from iamata.model.identifiers import IdMint
from iamata.model.ruling import RecordRef, Ruling, RulingKind
from iamata.store import DatabaseStore
from iamata.store.erasing import ERASED_TABLES
from iamata.store.sealing import Sealer, Unreadable, derive, key_check

CANARY = "zebracanary"
Sql = Callable[..., list[tuple[Any, ...]]]
# Every column that holds a sealed body, and the name of its table in the associated data.
SEALED = (
    ("sources", "body", "sources"),
    ("documents", "head", "documents"),
    ("documents", "body", "document_bodies"),
    ("statements", "body", "statements"),
    ("passages", "body", "passages"),
    ("messages", "body", "messages"),
    ("memories", "body", "memories"),
    ("receipts", "body", "receipts"),
    ("receipts", "failure", "failures"),
    ("contexts", "body", "contexts"),
    ("retractions", "body", "retractions"),
    ("rulings", "body", "rulings"),
    ("relations", "body", "relations"),
)


def fill(store: DatabaseStore) -> None:
    """A patient with something in every table, the canary in every text."""
    mint = IdMint(store.keys.get_or_create("leo"))
    items = ["c1", "o1", "p1", "n1", *(f"o{n}{CANARY}" for n in range(40))]
    store.accept(bundle(mint, items, text=f"{CANARY} hives", source=f"{CANARY} Clinic"), NOW)
    work = store.claim("w", NOW, 30)
    assert work is not None
    store.fail(work, "unavailable", f"{CANARY} failure", NOW, retry=True)
    talk = turns(mint, [f"{CANARY} says hello"])
    store.accept(talk, NOW)
    for _ in range(2):
        work = store.claim("w", NOW, 30)
        assert work is not None
        memories = [memory_of(mint, message) for message in talk.messages if work.ingestion == "in_turns"]
        assert store.finish(work, memories, f"{CANARY} projection".encode() * 500, NOW)
    store.accept(bundle(mint, [f"c{CANARY}"], ingestion="in_2"), NOW)
    work = store.claim("w", NOW, 30)
    assert work is not None
    store.fail(work, "bug", f"{CANARY} failure", NOW, retry=False)
    store.accept(bundle(mint, [f"p{CANARY}"], ingestion="in_3"), NOW)
    store.retract("leo", f"{CANARY} Clinic", NOW)
    foreign = RecordRef(f"{CANARY} Clinic", f"{CANARY}/1")
    store.put_relation(relation_of("rl_1", reason=f"{CANARY} reason"))
    reason = f"{CANARY} is another person"
    kind = RulingKind.NOT_THIS_PATIENT
    store.rule("leo", Ruling(id="ru_1", kind=kind, by="operator/x", decided_at=NOW, left=foreign, reason=reason), NOW)
    store.put_context("leo", "ctx_1", f"{CANARY} context".encode(), NOW)


def blobs(sql: Sql) -> list[tuple[str, str, str, bytes]]:
    """Every sealed body as it lies in the database: table, name in the associated data, id, bytes."""
    found = [
        (table, name, id, bytes(body))
        for table, column, name in SEALED
        for id, body in sql(f"select id, {column} from {table}")
        if body is not None
    ]
    for id, item, document, body in sql("select id, item, document, body from sightings"):
        found.append(("sightings", "sightings", f"{id} {item} {document}", bytes(body)))
    found += [("projections", "projections", id, bytes(b)) for id, b in sql("select patient, body from projections")]
    return found


def test_every_body_opens_under_the_patients_key_and_is_unreadable_without_it(store: DatabaseStore, sql: Sql) -> None:
    fill(store)
    key = store.keys.get("leo")
    assert key is not None
    sealer = Sealer("leo", key, bytes)
    other = Sealer("leo", bytes(32), bytes)
    found = blobs(sql)
    assert {table for table, _name, _id, _body in found} == {table for table, _c, _n in SEALED} | {
        "sightings",
        "projections",
    }
    seen = b""
    for table, name, id, body in found:
        opened = sealer.open(name, id, body)
        seen += opened if table != "sightings" else b""
        assert CANARY.encode() not in body
        assert zlib.compress(opened, 1)[:12] not in body
        with pytest.raises(Unreadable):
            other.open(name, id, body)
    assert seen.count(CANARY.encode()) > 50


def test_no_plain_column_holds_anything_that_was_said(store: DatabaseStore, sql: Sql) -> None:
    fill(store)
    for table in ERASED_TABLES:
        for row in sql(f"select * from {table}"):
            assert CANARY not in "".join(value for value in row if isinstance(value, str)), table
            assert "Northside" not in "".join(value for value in row if isinstance(value, str)), table


# PostgreSQL's files belong to the server; there the destroyed key does it.
@pytest.mark.parametrize("databases", ["sqlite"], indirect=True)
def test_the_files_hold_no_canary_before_and_no_body_after_erasing(
    databases: Any, store: DatabaseStore, sql: Sql
) -> None:
    fill(store)
    key = store.keys.get("leo")
    assert key is not None
    bodies = [body for _table, _name, _id, body in blobs(sql)]
    path = Path(databases.url())

    def files() -> bytes:
        return b"".join(file.read_bytes() for file in sorted(path.parent.rglob("*")) if file.is_file())

    before = files()
    assert CANARY.encode() not in before
    # A long body lies in pieces on pages of 4 KB, so pieces are looked for, not wholes.
    assert all(body[:20] in before and body[-20:] in before for body in bodies)
    assert key in before
    store.erase_patient("leo", LATER)
    after = files()
    assert not any(body[at : at + 20] in after for body in bodies for at in range(0, len(body) - 20, 20))
    assert key not in after
    assert path.with_name(path.name + "-wal").stat().st_size == 0


def test_erasing_leaves_no_row_no_key_and_a_tombstone_that_names_nobody(store: DatabaseStore, sql: Sql) -> None:
    fill(store)
    mint = IdMint(store.keys.get_or_create("mia"))
    store.accept(bundle(mint, ["c1"], patient="mia"), NOW)
    bodies = blobs(sql)
    store.erase_patient("leo", LATER)
    for table in ERASED_TABLES:
        assert sql(f"select count(*) from {table} where patient = 'leo'") == [(0,)], table
    assert store.keys.get("leo") is None
    assert (store.patient("leo"), store.held("leo"), store.version("leo")) == (None, None, None)
    assert store.receipts("leo") == ([], 0)
    assert store.projection("leo") is store.context("leo", "ctx_1") is store.document_body("leo", "x") is None
    tombstones = sql("select mark, erased_at from tombstones")
    assert [erased_at for _mark, erased_at in tombstones] == ["2026-02-15T09:05:00.000000+00:00"]
    assert "leo" not in tombstones[0][0]
    assert len(tombstones[0][0]) == 32
    # The other patient is untouched, and whoever registers the name again cannot open what was there.
    held = store.held("mia")
    assert held is not None
    assert len(held.statements) == 1
    store.put_patient("leo", LATER)
    key = store.keys.get("leo")
    assert key is not None
    fresh = Sealer("leo", key, bytes)
    left = {body for _table, _name, _id, body in blobs(sql)}  # Mia's
    erased = [(name, id, body) for _table, name, id, body in bodies if body not in left]
    assert len(erased) > 100
    for name, id, body in erased:
        with pytest.raises(Unreadable):
            fresh.open(name, id, body)


def test_erasing_somebody_who_is_not_there_is_fine_and_leaves_no_tombstone(store: DatabaseStore, sql: Sql) -> None:
    store.erase_patient("nobody", NOW)
    assert sql("select count(*) from tombstones") == [(0,)]


def test_bodies_that_changed_places_are_detected(store: DatabaseStore, mint: IdMint, sql: Sql) -> None:
    store.accept(bundle(mint, ["c1", "c2"]), NOW)
    (one, first), (two, second) = sql("select id, body from statements order by id")
    row = sql("select sequence, kind, reader from statements")[0]
    sql("delete from statements")
    for id, body in ((one, second), (two, first)):
        sql(
            "insert into statements (patient, id, rereading, sequence, kind, reader, body) "
            "values ('leo', :id, 0, :sequence, :kind, :reader, :body)",
            id=id,
            sequence=row[0],
            kind=row[1],
            reader=row[2],
            body=body,
        )
    with pytest.raises(Unreadable, match=f"statements {one}"):
        store.held("leo")


def test_a_sighting_that_was_given_to_another_item_is_detected(store: DatabaseStore, mint: IdMint, sql: Sql) -> None:
    store.accept(bundle(mint, ["c1", "c2"]), NOW)
    (id, item, document, body), (_id, other, _document, _body) = sql(
        "select id, item, document, body from sightings order by id"
    )
    sql("delete from sightings")
    sql(
        "insert into sightings (patient, id, rereading, sequence, item, document, received_at, body) "
        "values ('leo', :id, 0, 1, :item, :document, '2026-02-15T09:00:00.000000+00:00', :body)",
        id=id,
        item=other,
        document=document,
        body=body,
    )
    assert item != other
    with pytest.raises(Unreadable):
        store.held("leo")


@pytest.mark.parametrize("table", ["statements", "passages", "sightings"])
def test_an_item_that_was_given_to_another_rereading_is_detected(
    store: DatabaseStore, mint: IdMint, sql: Sql, table: str
) -> None:
    first = bundle(mint, ["c1", "n1"])
    store.accept(first, NOW)
    assert first.document is not None
    again = replace(first, receipt=replace(first.receipt, id="in_again", document=first.document.id))
    store.reread("leo", [again], 1, NOW)
    store.held("leo")
    copied = f"insert into {table} (patient, id, rereading, sequence, {{0}}) select patient, {{1}}, 1, sequence, {{0}} "
    columns = {
        "statements": "kind, reader, body",
        "passages": "reader, body",
        "sightings": "item, document, received_at, body",
    }[table]
    id = "id || 'x'" if table == "sightings" else "id"
    sql(f"delete from {table} where rereading = 1")
    sql(copied.format(columns, id) + f"from {table} where rereading = 0")
    with pytest.raises(Unreadable):
        store.held("leo")


def test_bodies_of_another_patient_are_detected(store: DatabaseStore, mint: IdMint, sql: Sql) -> None:
    store.accept(bundle(mint, ["c1"]), NOW)
    other = IdMint(store.keys.get_or_create("mia"))
    store.accept(bundle(other, ["c1"], patient="mia"), NOW)
    sql("update receipts set body = (select r.body from receipts r where r.patient = 'leo') where patient = 'mia'")
    with pytest.raises(Unreadable):
        store.receipt("mia", "in_1")


def test_a_lost_key_is_unavailable_not_empty(store: DatabaseStore, mint: IdMint) -> None:
    store.accept(bundle(mint, ["c1"]), NOW)
    store.keys.destroy("leo")
    with pytest.raises(Unavailable, match="no key"):
        store.held("leo")
    with pytest.raises(Unavailable, match="another key"):
        store.put_patient("leo", NOW)


def test_contexts_are_kept_by_reference_and_replaced_under_the_same_one(store: DatabaseStore) -> None:
    with pytest.raises(NotFound):
        store.put_context("leo", "ctx_1", b"one", NOW)
    store.put_patient("leo", NOW)
    store.put_context("leo", "ctx_1", b"one", NOW)
    store.put_context("leo", "ctx_2", b"", NOW)
    store.put_context("leo", "ctx_1", b"two", LATER)
    assert (store.context("leo", "ctx_1"), store.context("leo", "ctx_2")) == (b"two", b"")
    assert store.context("leo", "ctx_3") is store.context("mia", "ctx_1") is None


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=2000), st.text(max_size=20), st.text(max_size=20), st.integers(min_value=0))
def test_a_sealed_body_opens_in_its_row_only_and_not_when_a_bit_has_changed(
    body: bytes, id: str, other: str, bit: int
) -> None:
    sealer = Sealer("leo", bytes(32), lambda count: b"n" * count)
    sealed = sealer.seal("statements", id, body)
    assert sealer.open("statements", id, sealed) == body
    if other != id:
        with pytest.raises(Unreadable):
            sealer.open("statements", other, sealed)
    with pytest.raises(Unreadable):
        sealer.open("passages", id, sealed)
    at = bit % (8 * len(sealed))
    changed = bytearray(sealed)
    changed[at // 8] ^= 1 << (at % 8)
    with pytest.raises(Unreadable):
        sealer.open("statements", id, bytes(changed))


def test_a_truncated_body_is_unreadable() -> None:
    sealer = Sealer("leo", bytes(32), bytes)
    for length in (0, 5, 12, 20):
        with pytest.raises(Unreadable):
            sealer.open("statements", "st_1", sealer.seal("statements", "st_1", b"x")[:length])


def test_nonces_come_from_the_source_of_randomness_and_do_not_repeat(make_store: Any, sql: Sql) -> None:
    store: DatabaseStore = make_store()
    fill(store)
    nonces = [body[:12] for _table, _name, _id, body in blobs(sql)]
    assert len(set(nonces)) == len(nonces)


def test_ids_bodies_marks_and_checks_are_derived_apart() -> None:
    key = bytes(range(32))
    derived = {derive(key, purpose) for purpose in (b"bodies", b"marks", b"check", b"audit")} | {key}
    assert len(derived) == 5
    assert key_check(key) != key[:8]
    sealed = Sealer("leo", key, bytes).seal("t", "i", b"x")
    with pytest.raises(InvalidTag):
        AESGCM(key).decrypt(sealed[:12], sealed[12:], b"leo\0t\0i")

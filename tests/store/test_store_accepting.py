"""A submission is stored once, whole, and counted by what was new."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_samples import LATER, NOW, bundle, turns

from iamata.errors import BadInput, Conflict, InvalidValue, NotFound, Unavailable
from iamata.model.document import IngestionStatus, Receipt, Staged
from iamata.model.identifiers import IdMint
from iamata.model.provenance import SourceKind
from iamata.model.scope import Scope, Subject
from iamata.model.sighting import Retraction
from iamata.ports import Accepted
from iamata.store import DatabaseStore, FileKeyStore, MemoryKeyStore, open_store

ITEMS = ("c1", "c2", "o1", "o2", "o3", "p1", "n1")
ALL = Staged(facts=2, events=3, narratives=1)


def test_a_new_submission_is_counted_stored_and_queued(store: DatabaseStore, mint: IdMint) -> None:
    accepted = bundle(mint, ITEMS)
    receipt = store.accept(accepted, NOW)
    assert receipt.staged == ALL
    assert receipt.sightings == 7
    assert receipt.status is IngestionStatus.PENDING
    assert store.receipt("leo", "in_1") == receipt
    assert store.version("leo") == 1
    assert store.pending() == store.pending("leo") == 1
    held = store.held("leo")
    assert held is not None
    assert held.version == 1
    assert set(held.statements) == set(accepted.statements)
    assert set(held.passages) == set(accepted.passages)
    assert set(held.sightings) == set(accepted.sightings)
    assert held.documents == (accepted.document,)
    assert held.sources == (("Northside", SourceKind.EHR),)
    assert store.document_body("leo", accepted.receipt.document) == b"Northside: c1 c2 o1 o2 o3 p1 n1"


def test_the_same_bytes_again_leave_a_receipt_and_nothing_else(store: DatabaseStore, mint: IdMint) -> None:
    store.accept(bundle(mint, ITEMS), NOW)
    before = store.held("leo")
    receipt = store.accept(bundle(mint, ITEMS, ingestion="in_2", received_at=LATER), LATER)
    assert receipt.staged == Staged()
    assert receipt.sightings == 7
    assert receipt.status is IngestionStatus.SUCCEEDED
    assert receipt.received_at == receipt.completed_at == LATER
    assert store.held("leo") == before
    assert store.pending() == 1
    row = store.patient("leo")
    assert row is not None
    assert (row.version, row.updated_at) == (1, NOW)


def test_a_repeat_in_pieces_adds_sightings_only(store: DatabaseStore, mint: IdMint) -> None:
    store.accept(bundle(mint, ITEMS), NOW)
    first = store.held("leo")
    for number, part in enumerate((ITEMS[:4], ITEMS[4:])):
        receipt = store.accept(bundle(mint, part, ingestion=f"in_part{number}", received_at=LATER), LATER)
        assert receipt.staged == Staged()
    held = store.held("leo")
    assert first is not None
    assert held is not None
    assert (held.statements, held.passages, held.sources) == (first.statements, first.passages, first.sources)
    assert len(held.sightings) == 14
    assert len(held.documents) == 3
    # What the fold sees has changed, so answers given before must not pass for answers given now.
    assert held.version == 3


def test_the_same_record_of_another_source_is_another_statement(store: DatabaseStore, mint: IdMint) -> None:
    store.accept(bundle(mint, ["c1"]), NOW)
    receipt = store.accept(bundle(mint, ["c1"], source="Eastgate", ingestion="in_2"), NOW)
    assert receipt.staged == Staged(facts=1)
    held = store.held("leo")
    assert held is not None
    assert sorted(statement.source for statement in held.statements) == ["Eastgate", "Northside"]


def test_an_item_that_stands_twice_in_one_document_is_staged_once_and_seen_twice(
    store: DatabaseStore, mint: IdMint
) -> None:
    receipt = store.accept(bundle(mint, ["c1", "c1", "n1", "n1"]), NOW)
    assert receipt.staged == Staged(facts=1, narratives=1)
    held = store.held("leo")
    assert held is not None
    assert len(held.sightings) == 4


def test_a_source_that_is_said_to_be_two_kinds_is_held_as_both_in_any_order(
    make_store: Callable[..., DatabaseStore],
) -> None:
    kinds = (SourceKind.PHARMACY, SourceKind.EHR)
    for name, order in (("one", kinds), ("two", kinds[::-1])):
        store = make_store(name)
        mint = IdMint(store.keys.get_or_create("leo"))
        for number, kind in enumerate(order):
            store.accept(bundle(mint, ["c1"], kind=kind, ingestion=f"in_{number}"), NOW)
        held = store.held("leo")
        assert held is not None
        assert held.sources == (("Northside", SourceKind.EHR), ("Northside", SourceKind.PHARMACY))


def test_a_retraction_is_held_and_what_its_source_sends_later_is_seen_anew(store: DatabaseStore, mint: IdMint) -> None:
    store.accept(bundle(mint, ["c1", "o1"]), NOW)
    store.retract("leo", "Northside", LATER)
    store.retract("leo", "Northside", LATER)
    held = store.held("leo")
    assert held is not None
    assert held.retractions == (Retraction("Northside", LATER),)
    assert held.version == 2
    assert len(held.sightings) == 2
    again = LATER + timedelta(hours=1)
    for number in range(2):
        receipt = store.accept(bundle(mint, ["c1", "o1"], ingestion=f"in_again{number}", received_at=again), again)
        assert receipt.staged == Staged()
    held = store.held("leo")
    assert held is not None
    assert sorted(sighting.received_at for sighting in held.sightings) == [NOW, NOW, again, again]
    assert held.version == 3
    assert (len(held.statements), len(held.documents)) == (2, 1)


def test_a_retraction_of_one_source_does_not_touch_another(store: DatabaseStore, mint: IdMint) -> None:
    store.accept(bundle(mint, ["c1"]), NOW)
    store.retract("leo", "Eastgate", NOW)
    store.accept(bundle(mint, ["c1"], ingestion="in_2", received_at=LATER), LATER)
    held = store.held("leo")
    assert held is not None
    assert [sighting.received_at for sighting in held.sightings] == [NOW]
    assert held.retractions == (Retraction("Eastgate", NOW),)


def test_nobody_and_nothing_is_retracted_of_an_unknown_patient(store: DatabaseStore) -> None:
    with pytest.raises(NotFound):
        store.retract("nobody", "Northside", NOW)
    store.keys.get_or_create("nobody")
    with pytest.raises(NotFound):
        store.retract("nobody", "Northside", NOW)
    assert store.patient("nobody") is None


def test_turns_are_kept_in_order_with_their_own_clock(store: DatabaseStore, mint: IdMint) -> None:
    assert store.accept(turns(mint, ["one", "two"]), NOW).staged == Staged(messages=2)
    assert store.accept(turns(mint, ["three"], first=2, ingestion="in_2"), LATER).staged == Staged(messages=1)
    session = store.session("leo", "visit")
    assert session is not None
    assert session.created_at == NOW
    assert [message.turn.text for message in session.messages] == ["one", "two", "three"]
    said_at = session.messages[0].turn.said_at
    assert said_at is not None
    assert said_at.isoformat() == "2026-02-15T01:30:00+05:00"  # the day it was for the speaker
    held = store.held("leo")
    assert held is not None
    assert held.sessions == (session,)
    assert store.session("leo", "other") is None


def test_a_transcript_that_repeats_its_beginning_adds_what_is_new(store: DatabaseStore, mint: IdMint) -> None:
    store.accept(turns(mint, ["one", "two"]), NOW)
    receipt = store.accept(turns(mint, ["one", "two", "three"], ingestion="in_2"), LATER)
    assert receipt.staged == Staged(messages=1)


@pytest.mark.parametrize(("texts", "first"), [(["uno"], 0), (["three"], 3)])
def test_an_edited_turn_or_a_gap_is_a_conflict_and_stores_nothing(
    store: DatabaseStore, mint: IdMint, texts: list[str], first: int
) -> None:
    store.accept(turns(mint, ["one", "two"]), NOW)
    before = store.held("leo")
    with pytest.raises(Conflict):
        store.accept(turns(mint, texts, first=first, ingestion="in_2"), LATER)
    assert store.held("leo") == before
    assert store.receipt("leo", "in_2") is None


def test_a_taken_receipt_id_is_a_conflict_and_stores_nothing(store: DatabaseStore, mint: IdMint) -> None:
    store.accept(bundle(mint, ["c1"]), NOW)
    before = store.held("leo")
    with pytest.raises(Conflict):
        store.accept(bundle(mint, ["c2"]), NOW)
    assert store.held("leo") == before


def test_several_submissions_are_stored_in_their_order_and_each_counts_what_it_brought(
    store: DatabaseStore, mint: IdMint
) -> None:
    sent = [
        bundle(mint, ["c1", "o1"]),
        bundle(mint, ["o1", "c2"], ingestion="in_2"),
        bundle(mint, ["c1", "o1"], ingestion="in_3"),
    ]
    first, second, third = store.accept_many(sent, NOW)
    assert (first.staged, second.staged, third.staged) == (Staged(1, 1), Staged(1, 0), Staged())
    assert third.status is IngestionStatus.SUCCEEDED
    assert (store.version("leo"), store.pending("leo")) == (2, 2)
    assert [each.id for each in store.receipts("leo")[0]] == ["in_3", "in_2", "in_1"]
    held = store.held("leo")
    assert held is not None
    assert (len(held.documents), len(held.statements), len(held.sightings)) == (2, 3, 4)


@pytest.mark.parametrize("fault", ["receipt", "turn", "patient"])
def test_of_several_submissions_none_is_stored_when_one_cannot_be(
    store: DatabaseStore, mint: IdMint, fault: str
) -> None:
    store.accept(bundle(mint, ["c1"]), NOW)
    before, receipts = store.held("leo"), store.receipts("leo")
    spoiled = {
        "receipt": bundle(mint, ["c3"]),  # an id that is taken
        "turn": turns(mint, ["late"], ingestion="in_9", first=3),
        "patient": bundle(mint, ["c3"], patient="mia", ingestion="in_9"),
    }[fault]
    with pytest.raises((Conflict, InvalidValue)):
        store.accept_many([bundle(mint, ["c2"], ingestion="in_2"), spoiled], NOW)
    assert (store.held("leo"), store.receipts("leo")) == (before, receipts)
    assert store.patient("mia") is None
    assert store.pending() == 1
    assert store.accept_many([], NOW) == []


def test_what_cannot_be_stored_is_refused_with_its_kind(store: DatabaseStore, mint: IdMint) -> None:
    accepted = bundle(mint, ["c1"])
    clinic = msgspec.structs.replace(accepted.receipt, subject=Subject(Scope.ORGANIZATION, "clinic"))
    with pytest.raises(InvalidValue, match="about a patient"):
        store.accept(msgspec.structs.replace(accepted, receipt=clinic), NOW)
    with pytest.raises(BadInput, match="surrogate"):
        store.accept(bundle(mint, ["c1"], text="\ud800"), NOW)
    with pytest.raises(InvalidValue, match="aware"):
        store.accept(accepted, datetime(2026, 2, 15))  # noqa: DTZ001 - the naive time is what is tested
    assert store.patient("leo") is None


def test_eight_threads_that_send_the_same_stage_it_once(store: DatabaseStore, mint: IdMint) -> None:
    barrier = threading.Barrier(8)

    def send(number: int) -> Receipt:
        barrier.wait()
        return store.accept(bundle(mint, ITEMS, ingestion=f"in_{number}"), NOW)

    with ThreadPoolExecutor(8) as pool:
        receipts = list(pool.map(send, range(8)))
    assert sorted(receipt.staged.facts for receipt in receipts) == [0] * 7 + [2]
    assert [receipt.staged for receipt in receipts if receipt.staged.facts] == [ALL]
    assert store.version("leo") == 1
    assert store.pending() == 1
    assert store.receipts("leo")[1] == 8


def test_two_stores_on_one_database_stage_what_both_send_once(make_store: Callable[..., DatabaseStore]) -> None:
    stores = [make_store(), make_store()]
    mint = IdMint(stores[0].keys.get_or_create("leo"))
    barrier = threading.Barrier(2)

    def send(number: int) -> list[Receipt]:
        barrier.wait()
        return [stores[number].accept(bundle(mint, [f"c{n}"], ingestion=f"in_{number}_{n}"), NOW) for n in range(20)]

    with ThreadPoolExecutor(2) as pool:
        receipts = [receipt for sent in pool.map(send, range(2)) for receipt in sent]
    assert sum(receipt.staged.facts for receipt in receipts) == 20
    assert stores[0].version("leo") == 20


def test_of_eight_that_append_the_first_turn_one_wins(store: DatabaseStore, mint: IdMint) -> None:
    barrier = threading.Barrier(8)

    def append(number: int) -> bool:
        barrier.wait()
        try:
            store.accept(turns(mint, [f"turn of {number}"], ingestion=f"in_{number}"), NOW)
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(append, range(8))) == [False] * 7 + [True]
    session = store.session("leo", "visit")
    assert session is not None
    assert len(session.messages) == 1


def test_another_key_store_cannot_write_into_a_patient(make_store: Callable[..., DatabaseStore], databases) -> None:
    store = make_store()
    store.accept(bundle(IdMint(store.keys.get_or_create("leo")), ["c1"]), NOW)
    stranger = open_store(databases.url(), keys=MemoryKeyStore())
    try:
        with pytest.raises(Unavailable, match="another key"):
            stranger.accept(bundle(IdMint(stranger.keys.get_or_create("leo")), ["c2"], ingestion="in_2"), NOW)
        with pytest.raises(Unavailable):
            stranger.held("leo")
    finally:
        stranger.close()


def test_receipts_come_newest_first_by_page_and_status(store: DatabaseStore, mint: IdMint) -> None:
    for number in range(5):
        store.accept(bundle(mint, [f"c{number % 3}"], ingestion=f"in_{number}"), NOW + timedelta(minutes=number))
    page, count = store.receipts("leo", offset=1, limit=2)
    assert ([receipt.id for receipt in page], count) == (["in_3", "in_2"], 5)
    page, count = store.receipts("leo", statuses=["succeeded", "failed"])
    assert ([receipt.id for receipt in page], count) == (["in_4", "in_3"], 2)
    assert store.receipts("leo", statuses=["unheard-of"]) == ([], 0)
    assert store.receipts("nobody") == ([], 0)
    assert store.receipt("nobody", "in_1") is None


def test_patients_are_listed_by_their_bytes_on_both_databases(store: DatabaseStore) -> None:
    for id in ("b", "a", "B", "a.1", "a-1", "Z", "0"):
        store.put_patient(id, NOW)
    rows, count = store.patients(offset=0, limit=50)
    assert ([row.id for row in rows], count) == (["0", "B", "Z", "a", "a-1", "a.1", "b"], 7)
    rows, count = store.patients(offset=5, limit=50)
    assert ([row.id for row in rows], count) == (["a.1", "b"], 7)
    assert store.put_patient("a", LATER) == rows[0].__class__("a", NOW, NOW, 0)
    held = store.held("a")
    assert held is not None
    assert (held.version, held.statements, held.sessions) == (0, (), ())
    assert store.held("nobody") is None


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from([*ITEMS, "c3", "o4", "n2"]), min_size=1, max_size=12).flatmap(
        lambda items: st.tuples(st.just(items), st.lists(st.integers(0, len(items)), max_size=4), st.randoms())
    )
)
def test_any_pieces_in_any_order_hold_the_same_items_and_stage_the_same_sum(
    case: tuple[list[str], list[int], object],
) -> None:
    items, cuts, random = case
    bounds = [0, *sorted(cuts), len(items)]
    pieces = [items[a:b] for a, b in pairwise(bounds) if a < b]
    random.shuffle(pieces)
    key = bytes(32)
    sums: list[tuple[int, int, int]] = []
    helds = []
    for sent in ([items], pieces):
        keys = MemoryKeyStore()
        keys.put("leo", key)
        store = open_store(":memory:", keys=keys)
        receipts = [
            store.accept(bundle(IdMint(key), piece, ingestion=f"in_{number}"), NOW) for number, piece in enumerate(sent)
        ]
        sums.append(
            (
                sum(receipt.staged.facts for receipt in receipts),
                sum(receipt.staged.events for receipt in receipts),
                sum(receipt.staged.narratives for receipt in receipts),
            )
        )
        held = store.held("leo")
        assert held is not None
        helds.append((held.statements, held.passages, held.sources))
        store.close()
    assert sums[0] == sums[1]
    assert helds[0] == helds[1]


def test_both_databases_answer_alike(store: DatabaseStore, tmp_path) -> None:
    key = bytes(range(32))
    store.keys.put("leo", key)
    keys = FileKeyStore(tmp_path / "other.keys")
    keys.put("leo", key)
    other = open_store(":memory:", keys=keys)
    mint = IdMint(key)
    submissions: list[Accepted] = [
        bundle(mint, ITEMS),
        turns(mint, ["one", "two"]),
        bundle(mint, ["c1", "o9", "n1"], source="Eastgate", ingestion="in_2"),
        bundle(mint, ITEMS, ingestion="in_3", received_at=LATER),
    ]
    for accepted in submissions:
        assert store.accept(accepted, NOW) == other.accept(accepted, NOW)
    assert store.held("leo") == other.held("leo")
    assert store.receipts("leo") == other.receipts("leo")
    assert store.patients(offset=0, limit=5) == other.patients(offset=0, limit=5)
    assert store.claim("w", NOW, 30) == other.claim("w", NOW, 30)
    other.close()

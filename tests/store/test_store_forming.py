"""Queued work is formed in order, by one worker at a time, and survives the loss of any of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from store_samples import LATER, NOW, bundle, memory_of, turns

from iamata.errors import Conflict
from iamata.model.document import IngestionStatus
from iamata.model.identifiers import IdMint
from iamata.ports import Work
from iamata.store import DatabaseStore

LEASE_S = 30.0


def claimed(store: DatabaseStore, worker: str = "w1", **at: object) -> Work:
    work = store.claim(worker, at.get("now", NOW), LEASE_S, patient=at.get("patient"))
    assert work is not None
    return work


def test_formed_work_leaves_its_memories_projection_and_an_ended_receipt(store: DatabaseStore, mint: IdMint) -> None:
    accepted = turns(mint, ["he has hives", "since Thursday"])
    store.accept(accepted, NOW)
    work = claimed(store)
    assert (work.patient, work.ingestion, work.sequence, work.worker, work.attempts) == ("leo", "in_turns", 1, "w1", 1)
    assert work.lease_until == NOW + timedelta(seconds=LEASE_S)
    receipt = store.receipt("leo", "in_turns")
    assert receipt is not None
    assert (receipt.status, receipt.started_at) == (IngestionStatus.PROCESSING, NOW)
    memories = [memory_of(mint, message) for message in accepted.messages]
    assert store.finish(work, memories, b"a projection", LATER)
    held = store.held("leo")
    assert held is not None
    assert set(held.memories) == set(memories)
    assert [memory.said_at and memory.said_at.isoformat() for memory in held.memories] == [
        "2026-02-15T01:30:00+05:00"
    ] * 2
    assert store.projection("leo") == b"a projection"
    receipt = store.receipt("leo", "in_turns")
    assert receipt is not None
    assert (receipt.status, receipt.started_at, receipt.completed_at) == (IngestionStatus.SUCCEEDED, NOW, LATER)
    assert receipt.staged.messages == 2
    assert store.pending() == 0
    assert store.claim("w1", LATER, LEASE_S) is None


def test_new_memories_are_a_change_of_the_graph_and_repeated_ones_are_not(store: DatabaseStore, mint: IdMint) -> None:
    accepted = turns(mint, ["he has hives"])
    memories = [memory_of(mint, message) for message in accepted.messages]
    store.accept(accepted, NOW)
    assert store.finish(claimed(store), memories, None, NOW)
    assert store.version("leo") == 2
    store.accept(turns(mint, ["thank you"], first=1, ingestion="in_2"), NOW)
    assert store.version("leo") == 3
    assert store.finish(claimed(store), memories, b"later", NOW)
    assert store.version("leo") == 3
    held = store.held("leo")
    assert held is not None
    assert len(held.memories) == 1
    assert store.projection("leo") == b"later"


def test_a_projection_is_replaced_and_kept_when_none_is_given(store: DatabaseStore, mint: IdMint) -> None:
    for number, projection in enumerate([b"first", None, b"third"]):
        store.accept(bundle(mint, [f"c{number}"], ingestion=f"in_{number}"), NOW)
        assert store.finish(claimed(store), (), projection, NOW)
        assert store.projection("leo") == (projection or b"first")


def test_one_patient_is_formed_in_order_by_one_worker_at_a_time(store: DatabaseStore, mint: IdMint) -> None:
    for number in range(3):
        store.accept(bundle(mint, [f"c{number}"], ingestion=f"in_{number}"), NOW)
    other = IdMint(store.keys.get_or_create("mia"))
    store.accept(bundle(other, ["c1"], patient="mia"), LATER)
    first = claimed(store, "w1", now=LATER)
    second = claimed(store, "w2", now=LATER)
    assert [(work.patient, work.ingestion) for work in (first, second)] == [("leo", "in_0"), ("mia", "in_1")]
    assert store.claim("w3", LATER, LEASE_S) is None
    assert store.claim("w3", LATER, LEASE_S, patient="leo") is None
    assert store.finish(first, (), None, LATER)
    assert claimed(store, "w3", now=LATER, patient="leo").ingestion == "in_1"
    assert store.pending("leo") == 2


def test_an_expired_lease_is_taken_over_and_the_first_worker_comes_too_late(store: DatabaseStore, mint: IdMint) -> None:
    accepted = turns(mint, ["he has hives"])
    store.accept(accepted, NOW)
    lost = claimed(store, "w1")
    assert store.claim("w2", NOW + timedelta(seconds=LEASE_S - 1), LEASE_S) is None
    after = NOW + timedelta(seconds=LEASE_S)
    taken = claimed(store, "w2", now=after)
    assert (taken.ingestion, taken.attempts) == ("in_turns", 2)
    memories = [memory_of(mint, message) for message in accepted.messages]
    assert not store.finish(lost, memories, b"stale", after)
    store.fail(lost, "stale", "too late", after, retry=False)
    held = store.held("leo")
    assert held is not None
    assert held.memories == ()
    assert store.projection("leo") is None
    assert store.finish(taken, memories, b"fresh", after)
    assert not store.finish(taken, memories, b"again", after)
    assert store.projection("leo") == b"fresh"


def test_the_same_worker_that_claims_again_after_its_lease_has_lost_the_first_lease(
    store: DatabaseStore, mint: IdMint
) -> None:
    store.accept(bundle(mint, ["c1"]), NOW)
    lost = claimed(store, "w1")
    again = claimed(store, "w1", now=NOW + timedelta(minutes=1))
    assert not store.finish(lost, (), None, NOW)
    assert store.finish(again, (), None, NOW)


def test_a_lease_that_expired_and_was_not_taken_still_counts(store: DatabaseStore, mint: IdMint) -> None:
    store.accept(bundle(mint, ["c1"]), NOW)
    assert store.finish(claimed(store), (), None, NOW + timedelta(days=1))


def test_failed_work_comes_back_or_is_set_aside_with_its_reason(store: DatabaseStore, mint: IdMint) -> None:
    store.accept(bundle(mint, ["c1"]), NOW)
    store.accept(bundle(mint, ["c2"], ingestion="in_2"), NOW)
    store.fail(claimed(store), "unavailable", "the model does not answer", NOW, retry=True)
    receipt = store.receipt("leo", "in_1")
    assert receipt is not None
    assert (receipt.status, receipt.failure_code, receipt.completed_at) == ("pending", "unavailable", None)
    assert receipt.failure == "the model does not answer"
    again = claimed(store)
    assert (again.ingestion, again.attempts) == ("in_1", 2)
    store.fail(again, "bug", "at /entry/0", LATER, retry=False)
    receipt = store.receipt("leo", "in_1")
    assert receipt is not None
    assert (receipt.status, receipt.failure_code, receipt.failure) == ("failed", "bug", "at /entry/0")
    assert receipt.completed_at == LATER
    assert [r.id for r in store.receipts("leo", statuses=["failed"])[0]] == ["in_1"]
    assert store.pending() == 1
    assert claimed(store).ingestion == "in_2"


def test_a_success_after_a_failure_clears_the_failure(store: DatabaseStore, mint: IdMint) -> None:
    store.accept(bundle(mint, ["c1"]), NOW)
    store.fail(claimed(store), "unavailable", "the model does not answer", NOW, retry=True)
    assert store.finish(claimed(store), (), None, NOW)
    receipt = store.receipt("leo", "in_1")
    assert receipt is not None
    assert (receipt.status, receipt.failure_code, receipt.failure) == ("succeeded", "", "")


def test_a_memory_of_no_message_is_a_conflict_and_changes_nothing(store: DatabaseStore, mint: IdMint) -> None:
    store.accept(bundle(mint, ["c1"]), NOW)
    stray = memory_of(mint, turns(mint, ["never sent"]).messages[0])
    with pytest.raises(Conflict):
        store.finish(claimed(store), [stray], b"x", NOW)
    assert store.projection("leo") is None
    assert store.pending() == 1


def test_erased_work_is_lost(store: DatabaseStore, mint: IdMint) -> None:
    store.accept(bundle(mint, ["c1"]), NOW)
    work = claimed(store)
    store.erase_patient("leo", NOW)
    assert not store.finish(work, (), b"x", NOW)
    store.fail(work, "bug", "x", NOW, retry=True)
    assert store.pending() == 0


def test_eight_workers_form_every_submission_once_and_each_patient_in_order(
    make_store: Callable[..., DatabaseStore],
) -> None:
    stores = [make_store(), make_store()]
    for patient in range(6):
        mint = IdMint(stores[0].keys.get_or_create(f"p{patient}"))
        for number in range(4):
            stores[0].accept(bundle(mint, [f"c{number}"], patient=f"p{patient}", ingestion=f"in_{number}"), NOW)
    formed: list[tuple[str, str]] = []
    in_hand: set[str] = set()
    lock = threading.Lock()

    def work(number: int) -> None:
        store = stores[number % 2]
        while store.pending():
            work = store.claim(f"w{number}", NOW, LEASE_S)
            if work is None:
                continue
            with lock:
                assert work.patient not in in_hand
                in_hand.add(work.patient)
                formed.append((work.patient, work.ingestion))
            with lock:
                in_hand.remove(work.patient)
            assert store.finish(work, (), None, NOW)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert sorted(formed) == [(f"p{patient}", f"in_{number}") for patient in range(6) for number in range(4)]
    for patient in range(6):
        assert [ingestion for owner, ingestion in formed if owner == f"p{patient}"] == [f"in_{n}" for n in range(4)]

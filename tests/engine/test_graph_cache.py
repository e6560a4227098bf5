"""The cache of graphs: bounded, right under concurrent writes, and never a memory of somebody who was erased."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from iamata import Access, Engine, NotFound
from iamata.engine.graphs import Graphs
from iamata.model.access import PrincipalKind
from iamata.model.stamp import Moment
from iamata.model.statement import Label
from iamata.store import DatabaseStore, MemoryKeyStore, open_store

NOW = datetime(2026, 2, 15, 10, tzinfo=UTC)
MOMENT = Moment(NOW + timedelta(days=1))
EVERYTHING = Access.local()
NUMBERS = count()


def body(patient: str, *findings: str) -> bytes:
    held = [{"resourceType": "Patient", "id": patient}]
    held += [
        {
            "resourceType": "Condition",
            "id": finding,
            "subject": {"reference": f"Patient/{patient}"},
            "code": {"text": finding},
        }
        for finding in findings
    ]
    return json.dumps({"resourceType": "Bundle", "entry": [{"resource": r} for r in held]}).encode()


def engine_on(store: DatabaseStore) -> Engine:
    ticks = count()
    return Engine(
        store,
        store.keys,
        clock=lambda: NOW + timedelta(milliseconds=next(ticks)),
        ids=lambda: f"{next(NUMBERS):020x}",
    )


def displays(engine: Engine, patient: str = "p") -> set[str]:
    return {fact.display for fact in engine.graph(patient).facts.values() if fact.kind == "condition"}


@pytest.fixture
def filled(make_store: Callable[..., DatabaseStore]) -> DatabaseStore:
    """Six patients of four statements each."""
    store = make_store()
    engine = engine_on(store)
    for n in range(6):
        engine.ingest(f"p{n}", body(f"p{n}", "Asthma", "Gout", "Migraine"), source="ehr")
    return store


def statements_held(graphs: Graphs) -> tuple[int, int]:
    held = sum(len(h.statements) for h in graphs._held.values())
    return held, sum(len(loaded.graph.statements) for loaded in graphs._loaded.values())


def test_no_more_is_kept_than_the_bound(filled: DatabaseStore) -> None:
    graphs = Graphs(filled, filled.keys, most_statements=10)
    for n in range(6):
        assert len(graphs.load(f"p{n}", MOMENT, EVERYTHING).graph.statements) == 4
        assert max(statements_held(graphs)) <= 10
    assert list(graphs._held) == ["p4", "p5"], "the least recently used go first"


def test_moments_and_views_of_one_patient_are_bounded_too(filled: DatabaseStore) -> None:
    graphs = Graphs(filled, filled.keys, most_statements=10)
    for n in range(30):
        graphs.load("p0", Moment(NOW + timedelta(days=n)), EVERYTHING)
    assert statements_held(graphs) == (4, 8)
    for n in range(30):
        withheld = frozenset({Label("urn:label", str(n))})
        graphs.load("p0", MOMENT, Access(kind=PrincipalKind.OPERATOR, id="x", withheld=withheld))
    assert max(statements_held(graphs)) <= 10


def test_a_patient_larger_than_the_bound_is_still_served(filled: DatabaseStore) -> None:
    graphs = Graphs(filled, filled.keys, most_statements=1)
    for n in (0, 1, 0):
        assert len(graphs.load(f"p{n}", MOMENT, EVERYTHING).graph.statements) == 4
    assert list(graphs._held) == ["p0"]


def test_the_same_graph_is_given_again_until_something_changes(filled: DatabaseStore) -> None:
    engine = engine_on(filled)
    graphs = Graphs(filled, filled.keys)
    first = graphs.load("p0", MOMENT, EVERYTHING)
    assert graphs.load("p0", MOMENT, EVERYTHING) is first
    assert graphs.load("p0", Moment(NOW), EVERYTHING) is not first
    engine.ingest("p0", body("p0", "Asthma", "Gout", "Migraine"), source="ehr")
    assert graphs.load("p0", MOMENT, EVERYTHING) is first, "a repeat changes nothing"
    engine.ingest("p0", body("p0", "Eczema"), source="ehr")
    assert len(graphs.load("p0", MOMENT, EVERYTHING).graph.statements) == 5
    assert {key[2] for key in graphs._loaded if key[0] == "p0"} == {2}, "old versions are let go"


def test_readers_with_other_labels_never_share_a_graph(make_store: Callable[..., DatabaseStore]) -> None:
    store = make_store()
    secret = Label("urn:label", "R")
    sent = json.loads(body("p", "Asthma", "Hidden"))
    sent["entry"][2]["resource"]["meta"] = {"security": [{"system": secret.system, "code": secret.code}]}
    engine_on(store).ingest("p", json.dumps(sent).encode(), source="ehr")
    graphs = Graphs(store, store.keys)
    clerk = Access(kind=PrincipalKind.OPERATOR, id="clerk", withheld=frozenset({secret}))
    for _ in range(2):
        shown = {
            access.id: {f.display for f in graphs.load("p", MOMENT, access).graph.facts.values()}
            for access in (EVERYTHING, clerk)
        }
        assert "Hidden" in shown["local"]
        assert "Hidden" not in shown["clerk"]


def test_every_thread_reads_its_own_writes(make_store: Callable[..., DatabaseStore]) -> None:
    engine = engine_on(make_store())
    engine.put_patient("p")
    start = threading.Barrier(8)

    def write_and_read(who: int) -> None:
        start.wait()
        for turn in range(4):
            engine.ingest("p", body("p", f"{who}-{turn}"), source=f"source-{who}")
            seen = displays(engine)
            assert {f"{who}-{before}" for before in range(turn + 1)} <= seen

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write_and_read, range(8)))
    assert displays(engine) == {f"{who}-{turn}" for who in range(8) for turn in range(4)}
    receipts, total = engine.receipts("p", per_page=100)
    assert total == 32
    assert {receipt.status for receipt in receipts} == {"succeeded"}


def test_what_another_engine_writes_is_seen_at_the_next_read(make_store: Callable[..., DatabaseStore]) -> None:
    one, other = engine_on(make_store()), engine_on(make_store())
    one.ingest("p", body("p", "Asthma"), source="ehr")
    assert displays(other) == {"Asthma"}
    one.ingest("p", body("p", "Gout"), source="ehr")
    assert displays(other) == {"Asthma", "Gout"}
    one.retract("p", "ehr")
    assert displays(other) == set()


@pytest.mark.parametrize("looks_meanwhile", [True, False])
def test_a_patient_erased_and_registered_again_by_another_engine_is_another_patient(
    make_store: Callable[..., DatabaseStore], looks_meanwhile: bool
) -> None:
    one, other = engine_on(make_store()), engine_on(make_store())
    one.ingest("p", body("p", "Asthma"), source="ehr")
    assert displays(one) == displays(other) == {"Asthma"}
    version = one.patient("p").version
    other.delete_patient("p")
    if looks_meanwhile:
        with pytest.raises(NotFound):
            one.graph("p")
    other.ingest("p", body("p", "Gout"), source="ehr", after_erasure=True)
    assert other.patient("p").version == version, "the versions agree: only the registration tells them apart"
    assert displays(one) == displays(other) == {"Gout"}


class SlowKeys(MemoryKeyStore):
    """Keys that a reader waits for, once, between what it has loaded and what it folds from it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.given = threading.Event(), threading.Event()
        self.given.set()

    def get_or_create(self, patient: str) -> bytes:
        key = super().get_or_create(patient)
        if not self.given.is_set() and threading.current_thread().name.startswith("slow"):
            self.asked.set()
            assert self.given.wait(20)
        return key


def test_a_reader_that_was_slow_leaves_nothing_of_an_erased_patient_in_the_cache() -> None:
    """It loads, the patient is erased and registered again, and only then does it put its graph in the cache."""
    keys: Any = SlowKeys()
    store = open_store(":memory:", keys=keys)
    with engine_on(store) as engine:
        engine.ingest("p", body("p", "Asthma"), source="ehr")
        graphs = Graphs(store, keys)
        keys.given.clear()
        with ThreadPoolExecutor(1, thread_name_prefix="slow") as pool:
            slow = pool.submit(graphs.load, "p", MOMENT, EVERYTHING)
            assert keys.asked.wait(20)
            engine.delete_patient("p")
            engine.ingest("p", body("p", "Gout"), source="ehr", after_erasure=True)
            graphs.held("p")  # another reader notices
            keys.given.set()
            slow.result(20)
        found = graphs.load("p", MOMENT, EVERYTHING).graph
        assert {fact.display for fact in found.facts.values() if fact.kind == "condition"} == {"Gout"}


def test_a_deleted_patient_is_dropped_at_once(make_store: Callable[..., DatabaseStore]) -> None:
    engine = engine_on(make_store())
    engine.ingest("p", body("p", "Asthma"), source="ehr")
    assert displays(engine) == {"Asthma"}
    engine.delete_patient("p")
    assert statements_held(engine._graphs) == (0, 0)
    for read in (engine.graph, engine.patient, engine.conflicts, engine.receipts):
        with pytest.raises(NotFound):
            read("p")

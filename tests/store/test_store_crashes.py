"""A crash at any point leaves all of a transaction or nothing of it, and repeats harmlessly."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from store_samples import LATER, NOW, bundle, memory_of, turns

from iamata import Engine
from iamata.model.document import Staged
from iamata.model.identifiers import IdMint
from iamata.store import DatabaseStore

Killed = Callable[[str, str], DatabaseStore]


@pytest.fixture
def killed(databases: Any, make_store: Callable[..., DatabaseStore]) -> Killed:
    """Run a verb in a process that dies at the given moment of it, and open what it left."""

    def run(verb: str, moment: str) -> DatabaseStore:
        program = Path(__file__).with_name("store_victim.py")
        command = [sys.executable, str(program), databases.url(), str(databases.keys_path()), verb, moment]
        ended = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, timeout=60, check=False)
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        return make_store()

    return run


@pytest.mark.parametrize("moment", ["1", "4", "7", "11", "commit"])
def test_a_process_killed_while_it_accepts_leaves_nothing(killed: Killed, moment: str) -> None:
    store = killed("accept", moment)
    assert store.patient("leo") is None
    assert store.held("leo") is None
    assert store.pending() == 0
    mint = IdMint(store.keys.get_or_create("leo"))
    receipt = store.accept(bundle(mint, ["c1", "o1", "p1", "n1"]), NOW)
    assert receipt.staged == Staged(facts=1, events=1, narratives=1)


def test_a_process_killed_after_it_accepted_leaves_everything(killed: Killed) -> None:
    store = killed("accept", "after")
    mint = IdMint(store.keys.get_or_create("leo"))
    receipt = store.receipt("leo", "in_1")
    assert receipt is not None
    assert receipt.staged == Staged(facts=1, events=1, narratives=1)
    assert store.pending() == 1
    assert store.accept(bundle(mint, ["c1", "o1", "p1", "n1"], ingestion="in_2"), NOW).staged == Staged()


@pytest.mark.parametrize(("moment", "leased"), [("1", False), ("2", False), ("commit", False), ("after", True)])
def test_work_of_a_killed_worker_is_taken_over(killed: Killed, moment: str, leased: bool) -> None:
    store = killed("claim", moment)
    assert (store.claim("heir", NOW + timedelta(seconds=29), 30) is None) == leased
    work = store.claim("heir", NOW + timedelta(seconds=60), 30)
    assert work is not None
    assert work.ingestion == "in_turns"
    assert work.attempts == 2


@pytest.mark.parametrize("moment", ["2", "3", "4", "5", "commit"])
def test_a_worker_killed_while_it_finishes_leaves_its_work_to_do(killed: Killed, moment: str) -> None:
    store = killed("finish", moment)
    held = store.held("leo")
    assert held is not None
    assert (held.memories, held.version) == ((), 1)
    assert store.projection("leo") is None
    work = store.claim("heir", NOW + timedelta(seconds=30), 30)
    assert work is not None
    mint = IdMint(store.keys.get_or_create("leo"))
    assert store.finish(work, [memory_of(mint, turns(mint, ["he has hives"]).messages[0])], b"again", LATER)


@pytest.mark.parametrize("moment", ["3", "10", "commit", "after"])
def test_erasing_again_completes_what_a_killed_process_began(killed: Killed, moment: str) -> None:
    store = killed("erase", moment)
    store.erase_patient("leo", LATER)
    assert store.held("leo") is None
    assert store.keys.get("leo") is None
    mint = IdMint(store.keys.get_or_create("leo"))
    assert store.accept(bundle(mint, ["c1"]), LATER).staged == Staged(facts=1)
    held = store.held("leo")
    assert held is not None
    assert held.version == 1


def test_an_erasure_that_was_cut_off_after_it_stood_in_the_ledger_is_finished_at_opening(killed: Killed) -> None:
    """The ledger is durable before the commit, so nobody has to ask for it again."""
    store = killed("erase", "commit")
    assert store.held("leo") is None
    assert store.keys.get("leo") is None
    [receipt], _ = store.erasures()
    assert dict(receipt.counts)["patients"] == 1
    assert store.erased("leo") == receipt


@pytest.mark.parametrize(("moment", "done"), [("3", False), ("9", False), ("commit", True), ("after", True)])
def test_the_erasure_of_a_part_is_finished_at_opening_or_never_began(killed: Killed, moment: str, done: bool) -> None:
    store = killed("erase_part", moment)
    engine = Engine(store, store.keys, clock=lambda: LATER, ids=lambda: "x")
    held = store.held("leo")
    assert held is not None
    assert [len(session.messages) for session in held.sessions] == [1]
    if done:
        assert (held.documents, held.statements, held.passages, held.sightings) == ((), (), (), ())
        assert len(engine.erasures()[0]) == 1
    else:
        assert len(held.documents) == 1
        assert held.statements
        assert engine.erasures() == ([], 0)
    version = held.version
    Engine(store, store.keys, clock=lambda: LATER, ids=lambda: "y")
    assert store.version("leo") == version

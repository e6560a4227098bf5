"""A change and its audit record are in one commit: never the one without the other, and the chain stays in order."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from store_samples import NOW, bundle

from iamata import Engine
from iamata.errors import BadInput, Conflict, NotFound
from iamata.model.audit import AuditRecord
from iamata.model.identifiers import IdMint
from iamata.store import DatabaseStore

Sql = Callable[..., list[tuple[Any, ...]]]


def record(request: str, action: str = "context") -> AuditRecord:
    return AuditRecord(
        at=NOW,
        principal="operator/dr-lee",
        on_behalf_of="",
        purpose="TREAT",
        action=action,
        subject="patient/leo",
        allowed=True,
        reasons=("treatment",),
        items=(),
        request=request,
    )


def chained(sql: Sql) -> list[str]:
    """The requests of the records that are on the disk, in the order of the chain."""
    rows = sql("select body from audit order by writer, sequence")
    return [msgspec.json.decode(body)["request"] for (body,) in rows]


def test_a_change_is_committed_with_its_record_after_those_that_came_before(
    store: DatabaseStore, mint: IdMint, sql: Sql
) -> None:
    store.audit(record("a look"))
    store.accept_many([bundle(mint, ["c1"])], NOW, record=record("first"))
    assert chained(sql) == ["a look", "first"]
    store.put_context("leo", "ctx_1", b"one", NOW, record=record("second"))
    store.retract("leo", "Northside", NOW, record=record("third"))
    assert chained(sql) == ["a look", "first", "second", "third"]
    assert sql("select sequence from audit_heads") == [(4,)]
    assert store.audit_verify() == []


def test_a_change_that_fails_leaves_no_record_and_loses_none(store: DatabaseStore, mint: IdMint, sql: Sql) -> None:
    with pytest.raises(NotFound):
        store.put_context("leo", "ctx_1", b"one", NOW, record=record("of nobody"))
    store.accept_many([bundle(mint, ["c1"])], NOW, record=record("first"))
    store.audit(record("a look"))
    with pytest.raises(NotFound):
        store.retract("nobody", "Northside", NOW, record=record("of nobody"))
    store.audit_flush()
    assert chained(sql) == ["first", "a look"]
    assert store.audit_verify() == []


def test_where_its_record_cannot_be_written_there_is_no_change(store: DatabaseStore, mint: IdMint, sql: Sql) -> None:
    store.accept_many([bundle(mint, ["c1"])], NOW, record=record("first"))
    with pytest.raises(BadInput):
        store.put_context("leo", "ctx_1", b"one", NOW, record=record("\ud800"))
    (writer,) = sql("select writer from audit_heads")[0]
    put = "insert into audit (writer, sequence, at, subject, body, hash) values (:writer, 2, '', '', '', :hash)"
    sql(put, writer=writer, hash=b"in the way")
    store.audit(record("a look"))
    with pytest.raises(Conflict):
        store.put_context("leo", "ctx_1", b"one", NOW, record=record("second"))
    sql("delete from audit where hash = :hash", hash=b"in the way")
    assert store.context("leo", "ctx_1") is None
    store.put_context("leo", "ctx_2", b"two", NOW, record=record("third"))
    assert chained(sql) == ["first", "a look", "third"]
    assert store.audit_verify() == []


def test_a_commit_that_is_said_to_have_failed_and_did_not_is_found_again(
    store: DatabaseStore, mint: IdMint, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection breaks after the commit: what is on the disk is not written twice, and the chain goes on."""
    store.accept_many([bundle(mint, ["c1"])], NOW, record=record("first"))
    database: Any = store._database
    writing = database.writing

    @contextmanager
    def breaking() -> Iterator[Any]:
        with writing() as tx:
            yield tx
        raise OSError("the connection is gone")

    store.audit(record("a look"))
    monkeypatch.setattr(database, "writing", breaking)
    with pytest.raises(OSError, match="gone"):
        store.put_context("leo", "ctx_1", b"one", NOW, record=record("second"))
    monkeypatch.setattr(database, "writing", writing)
    store.audit(record("another look"))
    store.put_context("leo", "ctx_2", b"two", NOW, record=record("third"))
    assert chained(sql) == ["first", "a look", "second", "another look", "third"]
    assert store.audit_verify() == []


def test_threads_that_look_write_and_flush_share_one_chain_in_order(store: DatabaseStore, sql: Sql) -> None:
    """Each writes of a patient of its own: no lock on a patient keeps them apart."""
    for thread in range(6):
        store.put_patient(f"p{thread}", NOW)

    def work(thread: int) -> None:
        for number in range(8):
            store.audit(record(f"{thread} {2 * number}"))
            store.put_context(f"p{thread}", "ctx_1", b"one", NOW, record=record(f"{thread} {2 * number + 1}"))
            if number % 3 == 0:
                store.audit_flush()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    found = [each.split() for each in chained(sql)]
    assert len(found) == 6 * 16
    for thread in range(6):
        assert [int(number) for of, number in found if int(of) == thread] == list(range(16))
    assert store.audit_verify() == []


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("verb", ["ingest", "append", "rule", "retract", "context"])
def test_a_process_killed_beside_a_commit_leaves_a_change_with_its_record_or_neither(
    databases: Any, verb: str, moment: str
) -> None:
    """Killed just before the first commit of the change there is neither, just after it there are both: a record in a
    commit of its own would be missing."""
    program = Path(__file__).with_name("audit_victim.py")
    command = [sys.executable, str(program), databases.url(), str(databases.keys_path()), verb, moment]
    victim = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert victim.returncode == -signal.SIGKILL, victim.stderr
    held, kept = (int(each) for each in victim.stdout.split())
    with Engine.open(databases.url(), keys=databases.keys_path()) as engine:
        row, contexts = engine._store.patient("leo"), engine._store.contexts_kept("leo")
        assert row is not None
        happened = len(contexts) > kept if verb == "context" else row.version > held
        assert happened is (moment == "after")
        recorded = [each.action for each in engine.audit_records() if (each.request, each.action) == ("it", verb)]
        assert recorded == ([verb] if happened else [])
        assert engine.audit_verify() == []

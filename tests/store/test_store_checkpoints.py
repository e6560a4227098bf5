"""A tail of the audit log that was cut off shows by itself, against the checkpoint that the log signed and kept."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from store_samples import NOW

from iamata.model.audit import AuditRecord, Checkpoint
from iamata.store import DatabaseStore, FileKeyStore, open_store
from iamata.store.checkpoints import KeptCheckpoint

Sql = Callable[..., list[tuple[Any, ...]]]
OpenStore = Callable[..., DatabaseStore]


def record(number: int) -> AuditRecord:
    return AuditRecord(
        at=NOW + timedelta(seconds=number),
        principal="operator/dr-lee",
        on_behalf_of="",
        purpose="TREAT",
        action="read",
        subject="patient/leo",
        allowed=True,
        reasons=("treatment",),
    )


def kept(databases: Any) -> Checkpoint | None:
    """The checkpoint beside the ledger of erasures, wherever that lies by default."""
    folder: Path = databases.keys_path().parent
    [file] = [*folder.glob("*.checkpoint")] or [folder / "none"]
    return KeptCheckpoint(file).read()


def write(make_store: OpenStore, records: int) -> None:
    """As one process that ends."""
    store = make_store()
    for number in range(records):
        store.audit(record(number))
    store.close()


def cut(sql: Sql, drop_guard: Callable[[str], None], writer: str, after: int, head: bytes) -> None:
    """Take the end of a chain away and put the head back that it had there."""
    drop_guard("audit")
    sql("delete from audit where writer = :w and sequence > :n", w=writer, n=after)
    sql("update audit_heads set sequence = :n, hash = :h where writer = :w", w=writer, n=after, h=head)


def test_a_tail_that_was_cut_off_with_its_head_put_back_shows_though_nobody_kept_a_checkpoint(
    make_store: OpenStore, sql: Sql, drop_guard: Callable[[str], None]
) -> None:
    store = make_store()
    for number in range(3):
        store.audit(record(number))
    store.audit_flush()
    [(writer, head)] = sql("select writer, hash from audit_heads")
    for number in range(3, 10):
        store.audit(record(number))
    store.close()
    cut(sql, drop_guard, writer, 3, head)
    faults = [f"{writer}: records 4 to 10 were cut off after the checkpoint"]
    assert make_store().audit_verify() == faults
    write(make_store, 2)
    assert make_store().audit_verify() == faults, "no later checkpoint takes the place of the one that shows it"


def test_a_chain_that_is_missing_whole_shows_by_itself(
    make_store: OpenStore, sql: Sql, drop_guard: Callable[[str], None]
) -> None:
    write(make_store, 4)
    [(writer,)] = sql("select writer from audit_heads")
    drop_guard("audit")
    sql("delete from audit")
    sql("delete from audit_heads")
    [fault] = make_store().audit_verify()
    assert fault == f"{writer}: the chain is missing whole; the checkpoint has 4 records of it"


def test_a_log_is_whole_whatever_processes_come_and_go(make_store: OpenStore, databases: Any) -> None:
    for number in range(3):
        write(make_store, number + 1)
        assert make_store().audit_verify() == []
    last = kept(databases)
    assert last is not None
    assert sorted(head.sequence for head in last.heads) == [1, 2, 3]
    assert last.at == NOW + timedelta(seconds=2), "the time of the newest record that it covers"


def test_a_checkpoint_is_signed_at_the_pace_that_was_set_while_records_come(databases: Any) -> None:
    store = open_store(databases.url(), keys=FileKeyStore(databases.keys_path()), checkpoint_s=0.05)
    try:
        store.audit(record(1))
        waiting = threading.Event()
        for _ in range(500):
            if kept(databases) is not None:
                break
            waiting.wait(0.01)
        first = kept(databases)
        assert first is not None, "also of a record after which none comes"
        assert [head.sequence for head in first.heads] == [1]
    finally:
        store.close()


@pytest.mark.parametrize(("pace", "there"), [(0, False), (3600, False)])
def test_before_its_time_and_with_none_asked_for_there_is_no_checkpoint(
    databases: Any, pace: float, there: bool
) -> None:
    store = open_store(databases.url(), keys=FileKeyStore(databases.keys_path()), checkpoint_s=pace)
    store.audit(record(1))
    store.audit_flush()
    assert (kept(databases) is not None) is there
    store.close()
    assert (kept(databases) is not None) is (pace > 0)


@pytest.mark.parametrize("harm", ["damaged", "forged"])
def test_a_kept_checkpoint_that_somebody_changed_is_a_fault_and_is_not_replaced(
    make_store: OpenStore, databases: Any, harm: str
) -> None:
    write(make_store, 3)
    [file] = databases.keys_path().parent.glob("*.checkpoint")
    if harm == "damaged":
        file.write_bytes(b"{")
    else:
        text = json.loads(file.read_bytes())
        text["heads"][0]["sequence"] = 1
        file.write_text(json.dumps(text), "utf-8")
    told = {
        "damaged": "the checkpoint that was kept last is damaged",
        "forged": "the signature of the checkpoint is wrong",
    }
    assert make_store().audit_verify() == [told[harm]]
    write(make_store, 2)
    assert make_store().audit_verify() == [told[harm]]


def test_its_file_is_for_its_owner_only(make_store: OpenStore, databases: Any) -> None:
    write(make_store, 1)
    [file] = databases.keys_path().parent.glob("*.checkpoint")
    assert file.stat().st_mode & 0o777 == 0o600
    assert [*file.parent.glob("*.new")] == []

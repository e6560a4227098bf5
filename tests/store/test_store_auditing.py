"""The audit log shows whoever changes it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from store_samples import NOW

from iamata.errors import BadInput, InvalidValue
from iamata.model.audit import AuditRecord
from iamata.store import DatabaseStore, MemoryKeyStore, open_store
from iamata.store.proving import faults, record_hash

Sql = Callable[..., list[tuple[Any, ...]]]


def record(number: int, subject: str = "patient/leo") -> AuditRecord:
    return AuditRecord(
        at=NOW + timedelta(seconds=number),
        principal="operator/dr-lee",
        on_behalf_of="",
        purpose="TREAT",
        action="read",
        subject=subject,
        allowed=True,
        reasons=("treatment",),
        items=(f"fa_{number}",),
        request=f"rq_{number}",
    )


@pytest.fixture
def chain(store: DatabaseStore) -> DatabaseStore:
    """A store whose chain has ten records."""
    for number in range(10):
        store.audit(record(number))
    store.audit_flush()
    assert store.audit_verify() == []
    return store


def test_records_come_back_newest_first_by_page_and_subject(store: DatabaseStore) -> None:
    for number in range(6):
        store.audit(record(number, "patient/leo" if number % 2 else "patient/mia"))
    assert store.audit_records() == [record(n, "patient/leo" if n % 2 else "patient/mia") for n in (5, 4, 3, 2, 1, 0)]
    assert store.audit_records(subject="patient/leo", offset=1, limit=1) == [record(3)]
    assert store.audit_records(subject="patient/nobody") == []


def test_records_are_durable_without_a_flush_soon_after(store: DatabaseStore, sql: Sql) -> None:
    store.audit(record(1))
    done = threading.Event()
    for _ in range(500):
        if sql("select count(*) from audit") == [(1,)]:
            break
        done.wait(0.01)
    assert sql("select count(*) from audit") == [(1,)]
    assert sql("select sequence from audit_heads") == [(1,)]


def test_closing_writes_what_waits(make_store: Callable[..., DatabaseStore]) -> None:
    first = make_store()
    first.audit(record(1))
    first.close()
    assert make_store().audit_records() == [record(1)]


def test_each_process_has_its_own_chain_and_threads_share_one(
    make_store: Callable[..., DatabaseStore], sql: Sql
) -> None:
    stores = [make_store(), make_store()]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: stores[n % 2].audit(record(n)), range(200)))
    for store in stores:
        store.audit_flush()
    assert sql("select count(*) from audit") == [(200,)]
    assert sorted(sql("select sequence from audit_heads")) == [(100,), (100,)]
    assert stores[0].audit_verify() == []


@pytest.mark.parametrize(
    ("tampering", "fault"),
    [
        ("update audit set body = replace(body, 'dr-lee', 'dr-who') where sequence = 4", "record 4 was changed"),
        ("update audit set subject = 'patient/mia' where sequence = 4", "record 4 was changed in its columns"),
        ("update audit set at = '2027-01-01T00:00:00.000000+00:00' where sequence = 4", "record 4 was changed in its"),
        ("delete from audit where sequence = 4", "records 4 to 4 are missing"),
        ("delete from audit where sequence <= 2", "records 1 to 2 are missing"),
        ("delete from audit where sequence > 7", "records 8 to 10 are missing"),
        ("delete from audit", "records 1 to 10 are missing"),
        ("delete from audit_heads", "the head is missing"),
        ("update audit_heads set sequence = 9", "the head does not belong to the chain"),
        ("update audit_heads set hash = (select hash from audit where sequence = 3)", "the head does not belong"),
        ("update audit set hash = (select a.hash from audit a where a.sequence = 3) where sequence = 4", "record 4"),
    ],
)
def test_tampering_shows(
    chain: DatabaseStore, sql: Sql, drop_guard: Callable[[str], None], tampering: str, fault: str
) -> None:
    drop_guard("audit")
    sql(tampering)
    faults = chain.audit_verify()
    assert any(fault in line for line in faults), faults


def test_records_that_changed_places_show(chain: DatabaseStore, sql: Sql, drop_guard: Callable[[str], None]) -> None:
    drop_guard("audit")
    for old, new in ((4, 99), (5, 4), (99, 5)):
        sql("update audit set sequence = :new where sequence = :old", old=old, new=new)
    faults = [fault.partition(": ")[2] for fault in chain.audit_verify()]
    assert faults[:2] == ["record 4 was changed or moved", "record 5 was changed or moved"]


def test_records_that_were_moved_to_another_chain_show(
    make_store: Callable[..., DatabaseStore], sql: Sql, drop_guard: Callable[[str], None]
) -> None:
    for store in (make_store(), make_store()):
        store.audit(record(1))
        store.audit_flush()
    drop_guard("audit")
    (one,), (two,) = sql("select writer from audit order by writer")
    for old, new in ((one, "x"), (two, one), ("x", two)):
        sql("update audit set writer = :new where writer = :old", old=old, new=new)
    assert len(make_store().audit_verify()) >= 2


def test_somebody_without_the_key_cannot_mend_a_chain(chain: DatabaseStore, databases: Any) -> None:
    stranger = open_store(databases.url(), keys=MemoryKeyStore())
    try:
        assert any("the head does not belong" in fault for fault in stranger.audit_verify())
    finally:
        stranger.close()
    assert chain.audit_verify() == []


def test_the_log_refuses_an_update(chain: DatabaseStore, sql: Sql) -> None:
    with pytest.raises(Exception, match="audit is append only"):
        sql("update audit set subject = 'patient/mia'")


def test_a_record_that_cannot_be_written_fails_its_own_caller_only(store: DatabaseStore) -> None:
    store.audit(record(1))
    with pytest.raises(BadInput):
        store.audit(record(2, "patient/\ud800"))
    with pytest.raises(InvalidValue):
        store.audit(msgspec.structs.replace(record(2), at=NOW.replace(tzinfo=None)))
    store.audit(record(3))
    assert store.audit_records() == [record(3), record(1)]
    assert store.audit_verify() == []


def test_erasing_a_patient_keeps_the_log(chain: DatabaseStore) -> None:
    chain.put_patient("leo", NOW)
    chain.erase_patient("leo", NOW)
    assert len(chain.audit_records()) == 10
    assert chain.audit_verify() == []


def test_whoever_writes_a_chain_anew_cannot_end_it(
    chain: DatabaseStore, sql: Sql, drop_guard: Callable[[str], None]
) -> None:
    """Anybody can follow the hashes, so anybody can make others: only the head needs the key."""
    drop_guard("audit")
    rows = sql("select writer, sequence, body from audit order by sequence")
    last = b""
    for writer, sequence, body in rows:
        body = body.replace("dr-lee", "dr-who")
        last = record_hash(writer, sequence, last, body.encode())
        sql("update audit set body = :body, hash = :hash where sequence = :n", body=body, hash=last, n=sequence)
    assert [fault.partition(": ")[2] for fault in chain.audit_verify()] == ["the head does not belong to the chain"]


def test_a_chain_from_before_others_could_follow_it_is_whole_to_the_installation(
    chain: DatabaseStore, sql: Sql, drop_guard: Callable[[str], None]
) -> None:
    drop_guard("audit")
    log, last = chain._audit, b""
    for writer, sequence, body in sql("select writer, sequence, body from audit order by sequence"):
        last = log._keyed_hash(writer, sequence, last, body.encode())
        sql("update audit set hash = :hash where sequence = :n", hash=last, n=sequence)
        sql("update audit_heads set hash = :hash", hash=log._head(writer, sequence, last))
    assert chain.audit_verify() == []
    assert [head.keyed for head in chain.audit_checkpoint(NOW).heads] == [True]
    exported = list(chain.audit_export(NOW))
    assert list(faults(exported, key=log.signer.public)) == []
    assert any("missing" in fault for fault in faults([*exported[:3], *exported[4:]], key=log.signer.public))

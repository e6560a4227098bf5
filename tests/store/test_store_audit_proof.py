"""An exported log shows whoever changed it, to somebody who has nothing but the log and a public key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_samples import NOW

from iamata.errors import BadInput, Conflict
from iamata.model.audit import AuditRecord, Checkpoint
from iamata.store import DatabaseStore, MemoryKeyStore, open_store
from iamata.store.proving import Signer, checkpoint_line, faults, is_signed, read_checkpoint

Sql = Callable[..., list[tuple[Any, ...]]]


def record(number: int) -> AuditRecord:
    return AuditRecord(
        at=NOW + timedelta(seconds=number),
        principal="operator/dr-lee",
        on_behalf_of="clinic",
        purpose="TREAT",
        action="read",
        subject="patient/leo",
        allowed=True,
        reasons=("treatment",),
        items=(f"fa_{number}",),
        request=f"rq_{number}",
        act="read",
        door="http",
    )


def fill(store: DatabaseStore, count: int) -> None:
    for number in range(count):
        store.audit(record(number))
    store.audit_flush()


@pytest.fixture
def log(make_store: Callable[..., DatabaseStore]) -> DatabaseStore:
    """Two chains, of six records and of three."""
    fill(make_store(), 3)
    store = make_store()
    fill(store, 6)
    return store


def key_of(store: DatabaseStore) -> str:
    return store._audit.signer.public


def test_a_whole_log_has_no_faults_and_says_everything(log: DatabaseStore) -> None:
    lines = list(log.audit_export(NOW))
    assert len(lines) == 6 + 3 + 1
    assert list(faults(lines, key=key_of(log))) == []
    assert list(faults(lines, key=key_of(log), checkpoint=log.audit_checkpoint(NOW))) == []
    first = msgspec.json.decode(lines[0])
    assert first["record"]["onBehalfOf" if "onBehalfOf" in first["record"] else "on_behalf_of"] == "clinic"
    assert (first["record"]["act"], first["record"]["door"], first["record"]["request"]) == ("read", "http", "rq_0")


@pytest.mark.parametrize(
    ("harm", "fault"),
    [
        (lambda lines: [line.replace(b"dr-lee", b"dr-who") if n == 2 else line for n, line in enumerate(lines)], "cha"),
        (lambda lines: lines[:2] + lines[3:], "are missing"),
        (lambda lines: [lines[1], lines[0], *lines[2:]], "record 1 stands after record 2"),
        (lambda lines: [*lines[:-2], lines[-1]], "were cut off after the checkpoint"),
        (lambda lines: lines[:-1], "does not end with a checkpoint"),
        (lambda lines: [line for line in lines if chain_of(line) != chain_of(lines[0])], "the chain is missing whole"),
        (lambda lines: [*lines, lines[0]], "stands after the checkpoint"),
        (lambda lines: [b"nonsense", *lines], "line 1 cannot be read"),
        (lambda lines: [*lines[:-1], lines[-1].replace(b'"sequence":3', b'"sequence":2')], "the signature"),
    ],
)
def test_what_was_done_to_an_exported_log_shows(
    log: DatabaseStore, harm: Callable[[list[bytes]], list[bytes]], fault: str
) -> None:
    *records, sealed = log.audit_export(NOW)
    # The longer chain first: the names of chains are by chance, and their order means nothing.
    lengths = Counter(map(chain_of, records))
    lines = [*sorted(records, key=lambda line: -lengths[chain_of(line)]), sealed]
    found = list(faults(harm(lines), key=key_of(log)))
    assert any(fault in line for line in found), found


def chain_of(line: bytes) -> str:
    return str(msgspec.json.decode(line).get("writer"))


def test_a_log_that_was_signed_by_somebody_else_is_not_ours(log: DatabaseStore) -> None:
    forger = Signer(bytes(32))
    lines = list(log.audit_export(NOW))
    own = msgspec.json.decode(lines[-1], type=dict[str, Checkpoint])["checkpoint"]
    forged = [*lines[:-1], checkpoint_line(forger.checkpoint(own.heads, own.at))]
    assert list(faults(forged, key=key_of(log))) == [
        f"the checkpoint of {own.at.isoformat()} was signed by another key"
    ]
    assert list(faults(forged)) == [], "without a key it is only whole in itself"


def test_against_a_checkpoint_a_cut_tail_and_a_missing_chain_show_in_the_database_too(
    log: DatabaseStore, sql: Sql, drop_guard: Callable[[str], None], make_store: Callable[..., DatabaseStore]
) -> None:
    kept = log.audit_checkpoint(NOW)
    heads = dict(sql("select writer, hash from audit_heads"))
    fill(log, 2)
    assert log.audit_verify(kept) == []
    drop_guard("audit")
    short, long = sorted(heads, key=lambda writer: next(h.sequence for h in kept.heads if h.writer == writer))
    sql("delete from audit where writer = :w", w=short)
    sql("delete from audit_heads where writer = :w", w=short)
    assert log.audit_verify() == [], "a chain that is gone with its head leaves no trace in the database"
    assert log.audit_verify(kept) == [f"{short}: the chain is missing whole; the checkpoint has 3 records of it"]
    exported = list(log.audit_export(NOW))
    assert list(faults(exported, key=key_of(log))) == []
    assert list(faults(exported, key=key_of(log), checkpoint=kept)) == log.audit_verify(kept)
    assert long


def test_a_log_that_is_not_whole_is_not_signed_as_if_it_were(
    log: DatabaseStore, sql: Sql, drop_guard: Callable[[str], None]
) -> None:
    drop_guard("audit")
    sql("delete from audit where sequence = 6")
    with pytest.raises(Conflict, match="not whole"):
        log.audit_checkpoint(NOW)


def test_a_checkpoint_of_another_installation_is_told(log: DatabaseStore) -> None:
    other = open_store(":memory:", keys=MemoryKeyStore())
    assert log.audit_verify(other.audit_checkpoint(NOW)) == ["the checkpoint was signed by another installation"]
    forged = msgspec.structs.replace(log.audit_checkpoint(NOW), at=NOW + timedelta(days=1))
    assert log.audit_verify(forged) == ["the signature of the checkpoint is wrong"]
    other.close()


def test_what_is_no_checkpoint_is_refused() -> None:
    with pytest.raises(BadInput, match="no checkpoint"):
        read_checkpoint(b"[]")
    assert not is_signed(b"x", "zz", "00")
    assert not is_signed(b"x", "00", "00" * 32)


@given(at=st.integers(0, 2_000), bit=st.integers(0, 7))
def test_no_single_bit_of_an_exported_log_can_be_changed(at: int, bit: int) -> None:
    lines, key = LOG
    text = bytearray(b"\n".join(lines))
    at %= len(text)
    text[at] ^= 1 << bit
    found = list(faults(bytes(text).split(b"\n"), key=key))
    # A letter of a hash in another case, or of an unknown member, is the same number, or nothing.
    same = bytes(text).lower() == b"\n".join(lines).lower() and not found
    assert found or same


def _exported() -> tuple[list[bytes], str]:
    store = open_store(":memory:", keys=MemoryKeyStore(lambda count: bytes(count)), random_bytes=lambda n: b"r" * n)
    fill(store, 3)
    lines, key = list(store.audit_export(NOW)), key_of(store)
    store.close()
    return lines, key


LOG = _exported()

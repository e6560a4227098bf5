"""A store opens by its address, keeps its keys beside it, and says what is missing."""

from __future__ import annotations

import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from store_samples import NOW, bundle

from iamata.errors import BadInput, Conflict, Unavailable
from iamata.model.attribution import Attribution, AttributionKind, Author, Role
from iamata.model.entry import Entry, EntryKind
from iamata.model.identifiers import IdMint
from iamata.model.scope import Scope, Subject
from iamata.ports import KeyStore, Store
from iamata.store import DatabaseStore, FileKeyStore, MemoryKeyStore, open_store
from iamata.store.schema import migrations

AGENT = Subject(Scope.AGENT, "triage-bot")


def cue(id: str, version: int, subject: Subject = AGENT) -> Entry:
    return Entry(
        id=id,
        subject=subject,
        kind=EntryKind.CUE,
        version=version,
        title="Where allergies stand",
        text="look at \u0000 first",
        attribution=Attribution(AttributionKind.AGENT, Author(Role.AGENT), "sample"),
        recorded_at=NOW,
    )


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_path_makes_a_private_file_with_its_keys_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "iamata.db"
    store = open_store(path)
    store.accept(bundle(IdMint(store.keys.get_or_create("leo")), ["c1"]), NOW)
    keys = path.with_name("iamata.db.keys")
    assert [mode(file) for file in sorted(path.parent.glob("iamata.db*")) if file.is_file()] == [0o600] * 3
    assert mode(keys) == 0o700
    assert {mode(file) for file in keys.iterdir()} == {0o600}
    assert not any("leo" in file.name for file in keys.iterdir())
    assert store.check()["path"] == str(path.resolve())
    store.close()
    again = open_store(str(path))
    held = again.held("leo")
    assert held is not None
    assert len(held.statements) == 1
    again.close()
    with pytest.raises(Unavailable, match="closed"):
        again.held("leo")


def test_memory_is_shared_between_threads_and_ends_with_the_store() -> None:
    store = open_store(":memory:")
    mint = IdMint(store.keys.get_or_create("leo"))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: store.accept(bundle(mint, [f"c{n}"], ingestion=f"in_{n}"), NOW), range(20)))
    assert store.version("leo") == 20
    store.close()


def test_a_store_fills_its_port() -> None:
    store: Store = open_store(":memory:")
    keys: KeyStore = MemoryKeyStore()
    store.close()
    assert keys.get("leo") is None


def test_postgres_without_keys_or_driver_or_server_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="IAMATA_KEYS"):
        open_store("postgresql:///x")
    with pytest.raises(Unavailable) as unreachable:
        open_store("postgresql://somebody:hush@127.0.0.1:1/x?connect_timeout=2", keys=MemoryKeyStore())
    assert "hush" not in str(unreachable.value)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "iamata.store.dialects.postgres")
    with pytest.raises(Unavailable, match=r"iamata\[postgres\]"):
        open_store("postgresql:///x", keys=MemoryKeyStore())


def test_sqlite_needs_no_postgres_driver() -> None:
    program = (
        "import sys, iamata.store; store = iamata.store.open_store(':memory:'); store.close(); "
        "assert not [name for name in sys.modules if name.startswith('psycopg')]"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes, and they are longer than a header of SQLite " * 20)
    with pytest.raises(Unavailable):
        open_store(path)
    assert path.read_text().startswith("these are my notes")
    with pytest.raises(Unavailable):
        open_store(tmp_path)


def test_check_says_what_the_database_is_without_a_password(store: DatabaseStore, databases: Any) -> None:
    check = store.check()
    assert check["dialect"] == {"sqlite": "sqlite", "postgres": "postgresql"}[databases.dialect]
    assert check["schema"] == str(len(migrations()))
    assert check["server"].split()[0] in ("SQLite", "PostgreSQL")


def test_processes_that_open_a_new_database_at_once_all_succeed(databases: Any, tmp_path: Path) -> None:
    url = databases.url()
    if databases.dialect == "postgres":
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("drop schema public cascade")
            connection.execute("create schema public")
    program = (
        "import sys; from iamata.store import open_store, FileKeyStore; "
        "store = open_store(sys.argv[1], keys=FileKeyStore(sys.argv[2])); "
        "print(store.keys.get_or_create('leo').hex()); store.close()"
    )
    command = [sys.executable, "-c", program, url, str(databases.keys_path())]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(6)]
    ended = [process.communicate(timeout=60) for process in running]
    assert [process.returncode for process in running] == [0] * 6, [error for _out, error in ended]
    assert len({out for out, _error in ended}) == 1


@pytest.mark.parametrize("databases", ["postgres"], indirect=True)
def test_a_connection_that_the_server_dropped_is_replaced(databases: Any, store: DatabaseStore) -> None:
    import psycopg

    store.put_patient("leo", NOW)
    with psycopg.connect(databases.url(), autocommit=True) as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where pid <> pg_backend_pid() and datname = current_database()"
        )
    assert store.version("leo") == 0
    store.put_patient("mia", NOW)


def test_entries_keep_every_version_of_their_own_subject(store: DatabaseStore) -> None:
    other = Subject(Scope.AGENT, "other-bot")
    for entry in (cue("b", 1), cue("a", 2), cue("a", 1), cue("a", 1, other)):
        store.put_entry(entry, NOW)
    assert store.entries(AGENT) == [cue("a", 1), cue("a", 2), cue("b", 1)]
    assert store.entries(other) == [cue("a", 1, other)]
    assert store.entries(Subject(Scope.ORGANIZATION, "triage-bot")) == []
    with pytest.raises(Conflict, match="version 1"):
        store.put_entry(msgspec.structs.replace(cue("a", 1), title="Another"), NOW)
    assert store.entries(AGENT)[0].title == "Where allergies stand"
    assert store.subjects() == [AGENT, other] or store.subjects() == [other, AGENT]
    assert [store.subject_version(each) for each in (AGENT, other)] == [3, 1]


@pytest.fixture(params=["memory", "file"])
def keys(request: pytest.FixtureRequest, tmp_path: Path) -> KeyStore:
    return MemoryKeyStore() if request.param == "memory" else FileKeyStore(tmp_path / "keys")


def test_a_key_is_made_once_and_destroyed_for_ever(keys: KeyStore) -> None:
    assert keys.get("leo") is None
    key = keys.get_or_create("leo")
    assert len(key) == 32
    assert keys.get("leo") == keys.get_or_create("leo") == key
    assert keys.get_or_create("mia") != key
    keys.destroy("leo")
    keys.destroy("leo")
    assert keys.get("leo") is None
    assert keys.get_or_create("leo") != key


def test_an_imported_key_never_replaces_another(keys: KeyStore) -> None:
    keys.put("leo", b"k" * 32)
    keys.put("leo", b"k" * 32)
    with pytest.raises(Conflict):
        keys.put("leo", b"l" * 32)
    with pytest.raises(Conflict):
        keys.put("mia", b"short")
    assert keys.get("leo") == b"k" * 32
    assert keys.get("mia") is None


def test_threads_that_ask_for_a_new_key_get_the_same_one(keys: KeyStore) -> None:
    barrier = threading.Barrier(8)

    def ask(_number: int) -> bytes:
        barrier.wait()
        return keys.get_or_create("leo")

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(8)))) == 1


def test_a_key_store_sees_at_once_what_another_one_did(tmp_path: Path) -> None:
    one, two = FileKeyStore(tmp_path / "keys"), FileKeyStore(tmp_path / "keys")
    key = one.get_or_create("leo")
    assert two.get("leo") == key
    two.destroy("leo")
    assert one.get("leo") is None
    assert list((tmp_path / "keys").iterdir()) == []


def test_what_a_dying_process_left_of_a_destroyed_key_is_wiped_on_opening(tmp_path: Path) -> None:
    keys = FileKeyStore(tmp_path / "keys")
    keys.get_or_create("leo")
    (file,) = (tmp_path / "keys").iterdir()
    file.rename(file.with_suffix(".0011.dead"))
    FileKeyStore(tmp_path / "keys")
    assert list((tmp_path / "keys").iterdir()) == []


def test_a_damaged_key_is_unavailable_and_not_replaced(tmp_path: Path) -> None:
    keys = FileKeyStore(tmp_path / "keys")
    keys.get_or_create("leo")
    (file,) = (tmp_path / "keys").iterdir()
    file.write_bytes(b"short")
    for use in (keys.get, keys.get_or_create):
        with pytest.raises(Unavailable, match="damaged"):
            use("leo")
    assert file.read_bytes() == b"short"


def test_a_key_store_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable, match="key store"):
        FileKeyStore(tmp_path / "file" / "keys")


def test_make_store_gives_the_same_database_for_the_same_name(make_store: Callable[..., DatabaseStore]) -> None:
    make_store("one").put_patient("leo", NOW)
    assert make_store("one").patient("leo") is not None
    assert make_store("two").patient("leo") is None

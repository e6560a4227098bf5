"""Which database does an address mean? Opens the store over it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from iamata.errors import BadInput, Unavailable
from iamata.ports import KeyStore
from iamata.store.auditing import PACE_S
from iamata.store.database import Database
from iamata.store.database_store import DatabaseStore
from iamata.store.dialects.sqlite import SqliteDatabase
from iamata.store.keys import FileKeyStore, MemoryKeyStore
from iamata.store.queries import load_queries


def open_store(
    db: str | Path,
    *,
    keys: KeyStore | None = None,
    random_bytes: Callable[[int], bytes] = os.urandom,
    erasures: str | Path | None = None,
    checkpoint_s: float = PACE_S,
) -> DatabaseStore:
    """Open or create the store at this address, its schema brought up to date.

    - a path: a SQLite file, made with mode 0600 (missing folders are made); key store `<path>.keys` beside it;
    - `:memory:`: SQLite that ends with the store, shared by its threads; keys in memory;
    - `postgresql://…`: PostgreSQL 15 or newer; `keys` must be given (`FileKeyStore(path)`), because a key store never
      lies in the database that it locks.

    `erasures` is the file of the ledger of erasures: by default `<path>.erasures`, or beside the folder of the keys and
    named like it. A backup must not bring an older one back. The newest checkpoint of the audit log lies beside it
    (`.checkpoint`); it is made every `checkpoint_s` seconds while records come (0: never).

    Raises Unavailable when it cannot be reached or its driver is not installed, BadInput for an address without keys.
    """
    address = str(db)
    database: Database
    if address.startswith(("postgresql://", "postgres://")):
        if keys is None:
            raise BadInput("a PostgreSQL store needs a key store: give keys, or set IAMATA_KEYS to a folder")
        database = _postgres(address)
    else:
        database = SqliteDatabase(address, load_queries("sqlite"))
        if keys is None:
            keys = (
                MemoryKeyStore(random_bytes) if address == ":memory:" else FileKeyStore(f"{address}.keys", random_bytes)
            )
    try:
        ledger = Path(erasures) if erasures else _ledger_file(address, keys)
        return DatabaseStore(
            database,
            keys,
            random_bytes,
            erasures=ledger,
            checkpoints=ledger.with_name(f"{ledger.name.removesuffix('.erasures')}.checkpoint") if ledger else None,
            checkpoint_s=checkpoint_s,
        )
    except BaseException:
        database.close()
        raise


def _ledger_file(address: str, keys: KeyStore) -> Path | None:
    """None where nothing lasts, or where nobody said where the keys lie."""
    if address == ":memory:":
        return None
    if not address.startswith(("postgresql://", "postgres://")):
        return Path(f"{address}.erasures")
    return Path(f"{keys.path}.erasures") if isinstance(keys, FileKeyStore) else None


def _postgres(url: str) -> Database:
    try:
        from iamata.store.dialects.postgres import PostgresDatabase
    except ImportError as error:
        raise Unavailable("PostgreSQL needs its driver: pip install 'iamata[postgres]'") from error
    return PostgresDatabase(url, load_queries("postgres"))

"""One store for SQLite and PostgreSQL: what was received, kept sealed and in order; work, receipts and audit."""

from iamata.store.database_store import DatabaseStore
from iamata.store.keys import FileKeyStore, MemoryKeyStore
from iamata.store.opening import open_store

__all__ = ["DatabaseStore", "FileKeyStore", "MemoryKeyStore", "open_store"]

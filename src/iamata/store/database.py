"""What does the store ask of a database? A pool of connections, transactions, and statements by name. No SQL here."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from iamata.errors import Unavailable

Bound = str | int | bytes | None
C = TypeVar("C")


class Transaction(Protocol):
    """Statements by their name in `sql/`; values by the names they bind. All or nothing of it becomes durable.

    A broken constraint raises Conflict, a database that is gone, locked or full Unavailable.
    """

    def rows(self, name: str, /, **values: Bound) -> list[tuple[Any, ...]]:
        """Every row, in the order of the statement."""

    def run(self, name: str, /, **values: Bound) -> int:
        """How many rows were inserted, updated or deleted."""

    def many(self, name: str, rows: Sequence[Mapping[str, Bound]], /) -> int:
        """The same statement for each; how many rows were inserted, updated or deleted in all."""


class Transactions(Protocol):
    """Where transactions come from. They do not nest: a thread that holds one must not ask for another."""

    def reading(self) -> AbstractContextManager[Transaction]:
        """One unchanging view of what is committed."""

    def writing(self) -> AbstractContextManager[Transaction]:
        """Committed when the block ends, rolled back when it raises."""


class Database(Transactions, Protocol):
    """One database. Thread-safe."""

    dialect: str

    def migrate(self, migrations: Sequence[str]) -> None:
        """Bring the schema to `len(migrations)` by those it lacks, in order; several processes may try at once.
        Raises Unavailable if the schema is newer than that."""

    def purge(self) -> None:
        """Leave nothing of deleted rows where this database can avoid it."""

    def files(self) -> list[Path]:
        """The files that hold the data, as far as they can be read from here; none if they cannot."""

    def about(self) -> dict[str, str]:
        """Dialect, server version and path. Raises Unavailable when it cannot be reached."""

    def close(self) -> None: ...


class Pool(Generic[C]):
    """At most `size` connections, opened as needed, each lent to one thread at a time; the last used goes out first."""

    def __init__(
        self, connect: Callable[[], C], close: Callable[[C], None], usable: Callable[[C], bool], size: int
    ) -> None:
        self._connect, self._close, self._usable = connect, close, usable
        self._free = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()
        self._idle: list[C] = []
        self._closed = False

    @contextmanager
    def lent(self) -> Iterator[C]:
        with self._free:
            connection = self._take()
            try:
                yield connection
            finally:
                with self._lock:
                    keep = self._usable(connection) and not self._closed
                    if keep:
                        self._idle.append(connection)
                if not keep:
                    self._close(connection)

    def close(self) -> None:
        """Close what is idle now, and what is lent when it comes back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            self._close(connection)

    def _take(self) -> C:
        with self._lock:
            if self._closed:
                raise Unavailable("the store is closed")
            if self._idle:
                return self._idle.pop()
        return self._connect()

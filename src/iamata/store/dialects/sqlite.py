"""How is SQLite spoken to? Through apsw: one file, one writer, many readers.

A receipt promises that its submission survives a power cut, so commits wait for the disk: WAL with `synchronous=FULL`.
`secure_delete` overwrites what is deleted, and erasing truncates the WAL, which holds old pages.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import apsw

from iamata.errors import Conflict, TooLarge, Unavailable
from iamata.store.database import Bound, Pool
from iamata.store.queries import Query
from iamata.store.schema import cut

_BUSY_MS: Final = 30_000
_TRIES: Final = 200
_TRY_S: Final = 0.01
_CONNECTIONS: Final = 8
_MEMORY: Final = ":memory:"


class SqliteTransaction:
    """Statements by name on one connection."""

    def __init__(self, connection: apsw.Connection, queries: Mapping[str, Query]) -> None:
        self._connection = connection
        self._queries = queries

    def rows(self, name: str, /, **values: Bound) -> list[tuple[Any, ...]]:
        return list(self._connection.execute(self._queries[name].text, values))

    def run(self, name: str, /, **values: Bound) -> int:
        before = self._connection.total_changes()
        self._connection.execute(self._queries[name].text, values)
        return self._connection.total_changes() - before

    def many(self, name: str, rows: Sequence[Mapping[str, Bound]], /) -> int:
        before = self._connection.total_changes()
        self._connection.executemany(self._queries[name].text, rows)
        return self._connection.total_changes() - before


class SqliteDatabase:
    """A database in one file, or in memory (one connection, which the threads of this store share)."""

    dialect = "sqlite"

    def __init__(self, path: str, queries: Mapping[str, Query]) -> None:
        self._path = path
        self._queries = queries
        self._writer = threading.Lock()  # writers of one process queue here, those of others at the file
        if path != _MEMORY:
            _make_file(Path(path))
        size = 1 if path == _MEMORY else _CONNECTIONS
        self._pool = Pool(self._connect, apsw.Connection.close, lambda connection: True, size)

    @contextmanager
    def reading(self) -> Iterator[SqliteTransaction]:
        with _errors(), self._pool.lent() as connection, _transaction(connection, "begin"):
            yield SqliteTransaction(connection, self._queries)

    @contextmanager
    def writing(self) -> Iterator[SqliteTransaction]:
        with (
            _errors(),
            self._writer,
            self._pool.lent() as connection,
            _transaction(connection, "begin immediate"),
        ):
            yield SqliteTransaction(connection, self._queries)

    def migrate(self, migrations: Sequence[str]) -> None:
        with (
            _errors(),
            self._writer,
            self._pool.lent() as connection,
            _transaction(connection, "begin immediate"),
        ):
            held = 0
            # Asked in SQL: apsw's table_exists answers from what this connection knew before another process wrote.
            if connection.execute("select count(*) from sqlite_master where name = 'schema_version'").get:
                held = int(connection.execute("select version from schema_version").get)
            if held > len(migrations):
                raise Unavailable(
                    f"the database has schema {held}, this iamata knows {len(migrations)}: upgrade iamata"
                )
            for text in migrations[held:]:
                for statement in cut(text, append_only):
                    connection.execute(statement)
            if held < len(migrations):
                connection.execute("delete from schema_version")
                connection.execute("insert into schema_version (version) values (?)", (len(migrations),))

    def purge(self) -> None:
        """Empty the WAL. Readers of other processes can hold it back; then the next commit that fills it does it, and
        what it holds until then is sealed under a destroyed key."""
        if self._path == _MEMORY:
            return
        with _errors(), self._writer, self._pool.lent() as connection, suppress(apsw.BusyError, apsw.LockedError):
            connection.set_busy_timeout(0)
            try:
                _retry(lambda: connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE))
            finally:
                connection.set_busy_timeout(_BUSY_MS)

    def files(self) -> list[Path]:
        """The database and what SQLite keeps beside it."""
        if self._path == _MEMORY:
            return []
        beside = [Path(self._path + suffix) for suffix in ("", "-wal", "-journal")]
        return [file for file in beside if file.exists()]

    def about(self) -> dict[str, str]:
        with self.reading():
            path = self._path if self._path == _MEMORY else str(Path(self._path).resolve())
            return {"dialect": self.dialect, "server": f"SQLite {apsw.sqlite_lib_version()}", "path": path}

    def close(self) -> None:
        self._pool.close()

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(self._path)
        connection.set_busy_timeout(_BUSY_MS)
        _retry(lambda: connection.execute("pragma journal_mode = wal"))
        for pragma in ("synchronous = full", "foreign_keys = on", "secure_delete = on"):
            connection.execute(f"pragma {pragma}")
        return connection


def append_only(table: str) -> list[str]:
    """The trigger that makes UPDATE of this table fail."""
    return [
        f"create trigger {table}_append_only before update on {table} "
        f"begin select raise(abort, '{table} is append only'); end"
    ]


def _retry(step: Callable[[], object]) -> None:
    """Again for two seconds, where SQLite does not wait by itself or would wait too long."""
    for _ in range(_TRIES):
        try:
            step()
        except (apsw.BusyError, apsw.LockedError):
            time.sleep(_TRY_S)
        else:
            return
    step()


def _make_file(path: Path) -> None:
    """Make the file if it is missing, for its owner only; SQLite gives its WAL the same mode."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise Unavailable(f"the database {path} cannot be opened: {error.strerror}") from error


@contextmanager
def _transaction(connection: apsw.Connection, begin: str) -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise


@contextmanager
def _errors() -> Iterator[None]:
    """Errors of the driver by what the caller can do. Their texts name tables and columns, never values."""
    try:
        yield
    except apsw.ConstraintError as error:
        raise Conflict(str(error).removeprefix("ConstraintError: ")) from error
    except apsw.TooBigError as error:
        raise TooLarge("a body is larger than the database allows") from error
    except (
        apsw.BusyError,
        apsw.LockedError,
        apsw.FullError,
        apsw.IOError,
        apsw.CantOpenError,
        apsw.NotADBError,
        apsw.CorruptError,
        apsw.ReadOnlyError,
        apsw.PermissionsError,
        apsw.AuthError,
    ) as error:
        raise Unavailable(str(error)) from error

"""How is PostgreSQL spoken to? Through psycopg 3: row locks on the patient, leases that skip what is locked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg

from iamata.errors import BadInput, Conflict, Unavailable
from iamata.store.database import Bound, Pool
from iamata.store.queries import Query, named_bindings
from iamata.store.schema import cut

_CONNECTIONS: Final = 10
_CONNECT_TIMEOUT_S: Final = 10
_OLDEST: Final = 15
# Any number that nobody else locks: processes that open one database at once migrate it one after the other.
_MIGRATION_LOCK: Final = 0x69616D617461
# Text sorts by its bytes, as in SQLite, whatever the collation of the database is.
_TYPES: Final = {"blob": "bytea", "text": 'text collate "C"'}
_TYPE = re.compile(r"\b(blob|text)\b")


class PostgresTransaction:
    """Statements by name on one connection."""

    def __init__(self, connection: psycopg.Connection, texts: Mapping[str, bytes]) -> None:
        self._cursor = connection.cursor(binary=True)
        self._texts = texts

    def rows(self, name: str, /, **values: Bound) -> list[tuple[Any, ...]]:
        return self._cursor.execute(self._texts[name], values).fetchall()

    def run(self, name: str, /, **values: Bound) -> int:
        return self._cursor.execute(self._texts[name], values).rowcount

    def many(self, name: str, rows: Sequence[Mapping[str, Bound]], /) -> int:
        self._cursor.executemany(self._texts[name], rows)
        return self._cursor.rowcount


class PostgresDatabase:
    """A database or schema on a server. A connection that broke is dropped, the next one is new."""

    dialect = "postgresql"

    def __init__(self, url: str, queries: Mapping[str, Query]) -> None:
        self._url = url
        self._texts = {name: named_bindings(query.text).encode() for name, query in queries.items()}
        self._pool = Pool(self._connect, psycopg.Connection.close, _usable, _CONNECTIONS)

    @contextmanager
    def reading(self) -> Iterator[PostgresTransaction]:
        with _errors(), self._begun(b"begin isolation level repeatable read read only") as connection:
            yield PostgresTransaction(connection, self._texts)

    @contextmanager
    def writing(self) -> Iterator[PostgresTransaction]:
        with _errors(), self._begun(b"begin isolation level read committed") as connection:
            yield PostgresTransaction(connection, self._texts)

    def migrate(self, migrations: Sequence[str]) -> None:
        with _errors(), self._begun(b"begin") as connection:
            connection.execute(b"select pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))
            held = 0
            if connection.execute(b"select to_regclass('schema_version') is not null").fetchall()[0][0]:
                held = int(connection.execute(b"select version from schema_version").fetchall()[0][0])
            if held > len(migrations):
                raise Unavailable(
                    f"the database has schema {held}, this iamata knows {len(migrations)}: upgrade iamata"
                )
            for text in migrations[held:]:
                for statement in cut(text, append_only):
                    connection.execute(own_types(statement).encode())
            if held < len(migrations):
                connection.execute(b"delete from schema_version")
                connection.execute(b"insert into schema_version (version) values (%s)", (len(migrations),))

    def purge(self) -> None:
        """Nothing: deleted rows wait for VACUUM. Those of a patient are sealed under a destroyed key; those of a part
        of one under a key that stays, so that only whoever holds both the key store and the server's files could read
        them until their pages are written anew (`VACUUM FULL`)."""

    def files(self) -> list[Path]:
        """None: they are the server's."""
        return []

    def about(self) -> dict[str, str]:
        with _errors(), self._begun(b"begin") as connection:
            version = connection.info.parameter_status("server_version") or ""
            path = f"{connection.info.host}:{connection.info.port}/{connection.info.dbname}"
            return {"dialect": self.dialect, "server": f"PostgreSQL {version}", "path": path}

    def close(self) -> None:
        self._pool.close()

    @contextmanager
    def _begun(self, begin: bytes) -> Iterator[psycopg.Connection]:
        with self._pool.lent() as lent:
            connection = self._begin(lent, begin)
            try:
                yield connection
                connection.execute(b"commit")
            except BaseException:
                if not connection.closed:
                    connection.rollback()
                raise
            finally:
                if connection is not lent:
                    connection.close()

    def _begin(self, lent: psycopg.Connection, begin: bytes) -> psycopg.Connection:
        """The connection with its transaction begun: the one that was lent, or a new one if the server has been
        restarted since it was last used."""
        try:
            lent.execute(begin)
        except psycopg.OperationalError:
            if not lent.closed:
                raise
        else:
            return lent
        fresh = self._connect()
        fresh.execute(begin)
        return fresh

    def _connect(self) -> psycopg.Connection:
        connection = psycopg.connect(self._url, autocommit=True, connect_timeout=_CONNECT_TIMEOUT_S)
        if connection.info.server_version < _OLDEST * 10_000:
            connection.close()
            raise Unavailable(f"PostgreSQL {_OLDEST} or newer is needed")
        return connection


def own_types(statement: str) -> str:
    """A statement of the schema with PostgreSQL's types."""
    return _TYPE.sub(lambda match: _TYPES[match[1]], statement)


def append_only(table: str) -> list[str]:
    """The function and trigger that make UPDATE of this table fail."""
    return [
        f"create or replace function {table}_append_only() returns trigger language plpgsql as $$ "
        f"begin raise exception '{table} is append only' using errcode = 'integrity_constraint_violation'; end $$",
        f"create trigger {table}_append_only before update on {table} "
        f"for each row execute function {table}_append_only()",
    ]


def _usable(connection: psycopg.Connection) -> bool:
    return not connection.closed and connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


@contextmanager
def _errors() -> Iterator[None]:
    """Errors of the driver by what the caller can do. Only the first line: the second can hold values."""
    try:
        yield
    except psycopg.IntegrityError as error:
        raise Conflict(error.diag.message_primary or "a constraint does not allow this") from error
    except psycopg.DataError as error:
        raise BadInput(error.diag.message_primary or "the database does not take a value") from error
    except (psycopg.OperationalError, psycopg.InternalError) as error:
        raise Unavailable(error.diag.message_primary or "the database cannot be reached") from error

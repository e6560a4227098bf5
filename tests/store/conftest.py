"""What the store's tests share: ids, and plain SQL behind the store's back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from iamata.model.identifiers import IdMint
from iamata.store import DatabaseStore
from iamata.store.dialects.postgres import append_only as postgres_append_only
from iamata.store.queries import named_bindings

Sql = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def mint(store: DatabaseStore) -> IdMint:
    """Makes the ids of the patient `leo` in `store`."""
    return IdMint(store.keys.get_or_create("leo"))


@pytest.fixture
def sql(databases: Any) -> Sql:
    """Run one SQL statement on the main database as somebody who is not the store; the rows, if any."""

    def run(text: str, **values: Any) -> list[tuple[Any, ...]]:
        if databases.dialect == "sqlite":
            import apsw

            connection = apsw.Connection(databases.url())
            connection.set_busy_timeout(5000)
            try:
                return list(connection.execute(text, values))
            finally:
                connection.close()
        import psycopg

        with psycopg.connect(databases.url(), autocommit=True) as connection:
            cursor = connection.cursor(binary=True).execute(named_bindings(text).encode(), values)
            return cursor.fetchall() if cursor.description else []

    return run


@pytest.fixture
def drop_guard(databases: Any, sql: Sql) -> Callable[[str], None]:
    """Take away the trigger that keeps a table append-only, as somebody with all rights could."""

    def drop(table: str) -> None:
        if databases.dialect == "sqlite":
            sql(f"drop trigger {table}_append_only")
        else:
            assert f"create trigger {table}_append_only" in postgres_append_only(table)[1]
            sql(f"drop trigger {table}_append_only on {table}")

    return drop

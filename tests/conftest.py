"""Guards that always run, and what every test may ask for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import postgres_server
from iamata.store import DatabaseStore, FileKeyStore, MemoryKeyStore, open_store

# `make test` draws the same examples every time; `make search` draws new ones (a finding becomes a test of its own).
settings.register_profile("same", derandomize=True, database=None, deadline=None)
settings.register_profile("new", derandomize=False, print_blob=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

_DATA = Path(os.environ.get("IAMATA_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real files beside the project (or IAMATA_TEST_DATA); without it tests are skipped, and say so."""
    if not _DATA.is_dir():
        pytest.skip(f"no real files at {_DATA.name}/ (set IAMATA_TEST_DATA)")
    return _DATA


def pytest_configure(config: pytest.Config) -> None:
    postgres_server.announce()


def pytest_unconfigure(config: pytest.Config) -> None:
    postgres_server.end()


@pytest.fixture(scope="session")
def postgres_template() -> str:
    """The name of a PostgreSQL database that has the schema and nothing else; tests copy it."""
    import psycopg

    template = f"template_{os.getpid()}"
    try:
        server = postgres_server.server_url()
    except postgres_server.NoServer as error:
        pytest.fail(str(error), pytrace=False)  # never skipped: the store promises both databases
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"create database {template}".encode())
    open_store(postgres_server.server_url(template), keys=MemoryKeyStore()).close()
    return template


class Databases:
    """Fresh databases of one dialect for one test. `open` opens a store; the same name is the same database, so that
    two stores can share one, as two processes do."""

    def __init__(self, dialect: str, folder: Path, template: str) -> None:
        self.dialect = dialect
        self._folder = folder
        self._template = template
        self._names: dict[str, str] = {}
        self._stores: list[DatabaseStore] = []

    def url(self, name: str = "main") -> str:
        """The address to give to `open_store`, with `keys`."""
        if self.dialect == "sqlite":
            return str(self._folder / f"{name}.db")
        if name not in self._names:
            self._names[name] = f"test_{os.getpid()}_{os.urandom(6).hex()}"
            self._server(f"create database {self._names[name]} template {self._template}")
        return postgres_server.server_url(self._names[name])

    def keys_path(self, name: str = "main") -> Path:
        return self._folder / f"{name}.db.keys"

    def open(self, name: str = "main", *, random_bytes: Callable[[int], bytes] = os.urandom) -> DatabaseStore:
        store = open_store(self.url(name), keys=FileKeyStore(self.keys_path(name)), random_bytes=random_bytes)
        self._stores.append(store)
        return store

    def close(self) -> None:
        for store in self._stores:
            store.close()
        for database in self._names.values():
            self._server(f"drop database {database} with (force)")

    def _server(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(postgres_server.server_url(), autocommit=True) as connection:
            connection.execute(statement.encode())


@pytest.fixture(params=["sqlite", "postgres"])
def databases(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Databases]:
    """Databases of both dialects, one after the other: a test that asks for them runs on each."""
    template = request.getfixturevalue("postgres_template") if request.param == "postgres" else ""
    databases = Databases(request.param, tmp_path, template)
    try:
        yield databases
    finally:
        databases.close()


@pytest.fixture
def make_store(databases: Databases) -> Callable[..., DatabaseStore]:
    """Opens a store on SQLite, then on PostgreSQL: `make_store()`, or `make_store("other")` for a second database."""
    return databases.open


@pytest.fixture
def store(make_store: Callable[..., DatabaseStore]) -> DatabaseStore:
    """An empty store, on SQLite, then on PostgreSQL."""
    return make_store()

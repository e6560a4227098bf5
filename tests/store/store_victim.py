"""A process that dies by SIGKILL in the middle of what it does; run by `test_store_crashes.py`.

`store_victim.py <address> <keys> <verb> <statement number>`: the process dies when the transaction of the verb is
about to run that statement, or just before its commit (`commit`), or right after the verb has returned (`after`).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from store_samples import LATER, NOW, bundle, memory_of, turns

from iamata.formation.forgetting import forgotten
from iamata.model.erasure import Erasable
from iamata.model.identifiers import IdMint
from iamata.store import DatabaseStore, FileKeyStore
from iamata.store.database import Bound, Database, Transaction
from iamata.store.dialects.postgres import PostgresDatabase
from iamata.store.dialects.sqlite import SqliteDatabase
from iamata.store.queries import load_queries


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class MortalTransaction:
    def __init__(self, inner: Transaction, moment: str) -> None:
        self._inner = inner
        self._left = int(moment) if moment.isdigit() else -1

    def _count(self) -> None:
        if self._left == 0:
            die()
        self._left -= 1

    def rows(self, name: str, /, **values: Bound) -> list[tuple[Any, ...]]:
        self._count()
        return self._inner.rows(name, **values)

    def run(self, name: str, /, **values: Bound) -> int:
        self._count()
        return self._inner.run(name, **values)

    def many(self, name: str, rows: Sequence[Mapping[str, Bound]], /) -> int:
        self._count()
        return self._inner.many(name, rows)


class MortalDatabase:
    """The database inside, until `moment` is set: then its next writing transaction is the last."""

    def __init__(self, inner: Database) -> None:
        self._inner = inner
        self.moment = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        with self._inner.writing() as tx:
            if not self.moment:
                yield tx
                return
            yield MortalTransaction(tx, self.moment)
            if self.moment == "commit":
                die()


def main(address: str, keys: str, verb: str, moment: str) -> None:
    inner: Database
    if address.startswith("postgresql:"):
        inner = PostgresDatabase(address, load_queries("postgres"))
    else:
        inner = SqliteDatabase(address, load_queries("sqlite"))
    database = MortalDatabase(inner)
    ledger = f"{keys}.erasures" if address.startswith("postgresql:") else f"{address}.erasures"
    store = DatabaseStore(database, FileKeyStore(keys), erasures=Path(ledger))
    mint = IdMint(store.keys.get_or_create("leo"))
    submission = bundle(mint, ["c1", "o1", "p1", "n1"])
    talk = turns(mint, ["he has hives"])
    if verb == "accept":
        database.moment = moment
        store.accept(submission, NOW)
    elif verb == "claim":
        store.accept(talk, NOW)
        database.moment = moment
        store.claim("victim", NOW, 30)
    elif verb == "finish":
        store.accept(talk, NOW)
        work = store.claim("victim", NOW, 30)
        assert work is not None
        database.moment = moment
        store.finish(work, [memory_of(mint, talk.messages[0])], b"projection", LATER)
    elif verb == "erase_part":
        store.accept(submission, NOW)
        store.accept(talk, NOW)
        held = store.held("leo")
        assert held is not None
        going = forgotten(held, store.receipts("leo")[0], Erasable.DOCUMENT, held.documents[0].id, mint=mint)
        database.moment = moment
        store.erase_part("leo", going, held.version, LATER, "operator/x", quotes=lambda text: set())
    else:
        store.accept(submission, NOW)
        database.moment = moment
        store.erase_patient("leo", LATER)
    die()


if __name__ == "__main__":
    main(*sys.argv[1:])

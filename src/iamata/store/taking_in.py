"""How does a checked archive come into a store? Each patient, and each other subject, in one transaction.

A patient that is held already is left as it is. Of an organization, operator or agent what is new is added; its entries
are sealed under the key that it has here, or under its own if it has none here. How the file is laid out is for
`archiving`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from iamata.errors import Conflict, Unavailable
from iamata.model.archive import ArchivedPatient, ArchivedSubject, Moved
from iamata.model.document import IngestionStatus
from iamata.model.scope import Subject
from iamata.model.scope import patient as subject_of
from iamata.ports import KeyStore
from iamata.store import codec
from iamata.store.archiving import Archive, whose_is
from iamata.store.database import Database, Transaction
from iamata.store.moving import (
    ENTRY_TABLES,
    OF_READERS,
    PAGE,
    TABLES,
    WITH_BYTES,
    Table,
    bound,
    lines_of,
    named,
    row_of,
)
from iamata.store.sealing import Sealer, key_check

RandomBytes = Callable[[int], bytes]


def take_in(
    database: Database,
    keys: KeyStore,
    random_bytes: RandomBytes,
    archive: Archive,
    now: datetime,
    *,
    even_erased: bool = False,
    was_erased: Callable[[Subject, str], bool],
) -> Moved:
    """Take in what a checked archive holds. Raises Conflict, before anything is written, if a patient is here and lacks
    something of it, has another key, or was erased here (but with `even_erased`), or an entry differs or `was_erased`
    (asked of entries by their subject and id). Each patient
    becomes durable whole; after a crash, taking it in again goes on with those that are missing."""
    new: list[ArchivedPatient] = []
    here: list[ArchivedPatient] = []
    for archived in archive.manifest.patients:
        held = _held_already(database, keys, random_bytes, archive, archived, even_erased)
        (here if held else new).append(archived)
    for other in archive.manifest.subjects:
        _check_subject(database, keys, random_bytes, archive, other, None if even_erased else was_erased)
    for archived in new:
        _take_in_patient(database, keys, random_bytes, archive, archived, now)
    entries = sum(_take_in_subject(database, keys, random_bytes, archive, o, now) for o in archive.manifest.subjects)
    for archived in here if archive.manifest.subjects else ():
        _take_in_learned(database, random_bytes, archive, archived)
    return Moved(patients=tuple(a.id for a in new), here_already=tuple(a.id for a in here), entries=entries)


def _held_already(
    database: Database,
    keys: KeyStore,
    random_bytes: RandomBytes,
    archive: Archive,
    archived: ArchivedPatient,
    even_erased: bool,
) -> bool:
    patient, key = archived.id, bytes.fromhex(archive.patient(archived).key)
    sealer = Sealer(patient, key, random_bytes)
    if keys.get(patient) not in (None, key):
        raise Conflict(f"patient {patient!r} is here under another key: nothing was taken in")
    with database.reading() as tx:
        if not tx.rows("patient", patient=patient):
            if not even_erased and erased_here(tx, sealer, patient):
                raise Conflict(f"patient {patient!r} was erased here: it is taken in only if that is asked for")
            return False
        for table in TABLES:
            if table.name in OF_READERS:
                continue
            names = [column for column, _first in table.key]
            held = {
                tuple(row[name] for name in names) for row, _line in lines_of(tx, sealer, subject_of(patient), table)
            }
            for row, _contents in archive.rows(archived, table):
                if tuple(row[name] for name in names) not in held:
                    raise Conflict(f"patient {patient!r} is here and holds something else: nothing was taken in")
    return True


def erased_here(tx: Transaction, sealer: Sealer, patient: str) -> bool:
    """Was the patient with this very key erased in this store?"""
    return bool(tx.rows("tombstone", mark=sealer.mark("tombstone", patient)))


def _check_subject(
    database: Database,
    keys: KeyStore,
    random_bytes: RandomBytes,
    archive: Archive,
    archived: ArchivedSubject,
    was_erased: Callable[[Subject, str], bool] | None,
) -> None:
    """Raises Conflict for a subject that was erased here, or has an entry that was (with `was_erased`), and for a
    version of an entry, or a word on one, that is here and says something else; Unavailable if the key store lacks the
    key that this subject has here."""
    whose = whose_is(archived)
    key = keys.get(str(whose))
    with database.reading() as tx:
        rows = tx.rows("subject", **named(whose))
        sealed_as = Sealer(str(whose), bytes.fromhex(archive.subject(archived).key), random_bytes)
        if not rows and was_erased is not None and erased_here(tx, sealed_as, str(whose)):
            raise Conflict(f"{whose} was erased here: nothing was taken in")
        if not rows:
            return
        if key is None or rows[0][1] != key_check(key):
            raise Unavailable("the key store does not hold the key that this subject's entries are sealed under")
        sealer = Sealer(str(whose), key, random_bytes)
        for table in ENTRY_TABLES:
            if table.name in WITH_BYTES:  # an id stands for bytes, and other bytes have another
                continue
            names = [column for column, _first in table.key]
            lines = (row_of(table, whose, line, "") for _row, line in lines_of(tx, sealer, whose, table))
            held = {tuple(row[name] for name in names): (row, contents) for row, contents in lines}
            erased = {
                entry
                for entry in _entries_of(archive, archived, table) - {key[0] for key in held}
                if was_erased is not None and was_erased(whose, entry)
            }
            if erased:
                raise Conflict(f"entry {min(erased)!r} was erased here: nothing was taken in")
            for row, contents in archive.rows(archived, table):
                here = held.get(tuple(row[name] for name in names), (row, contents))
                if here != (row, contents):
                    number, entry = row[names[1]], row[names[0]]
                    raise Conflict(f"version {number} of entry {entry!r} is here and says something else")


def _entries_of(archive: Archive, archived: ArchivedSubject, table: Table) -> set[str]:
    return {row[table.key[0][0]] for row, _contents in archive.rows(archived, table)}


def _take_in_patient(
    database: Database,
    keys: KeyStore,
    random_bytes: RandomBytes,
    archive: Archive,
    archived: ArchivedPatient,
    now: datetime,
) -> None:
    head, patient = archive.patient(archived), archived.id
    key = bytes.fromhex(head.key)
    had_key = keys.get(patient) is not None
    keys.put(patient, key)
    sealer = Sealer(patient, key, random_bytes)
    try:
        with database.writing() as tx:
            counters = msgspec.structs.asdict(head) | {"key_check": key_check(key)}
            row = {name: counters[name] for name in ("created_at", "updated_at", "version", "sequence", "key_check")}
            if not tx.run("move_in_patient", patient=patient, **row):
                raise Conflict(f"patient {patient!r} was registered while the archive was taken in")
            for table in TABLES:
                _take_in_table(tx, sealer, archive, archived, table, now)
            if keys.get(patient) != key:
                raise Conflict(f"patient {patient!r} was erased while the archive was taken in")
    except BaseException:
        if not had_key:
            keys.destroy(patient)
        raise


def _take_in_subject(
    database: Database,
    keys: KeyStore,
    random_bytes: RandomBytes,
    archive: Archive,
    archived: ArchivedSubject,
    now: datetime,
) -> int:
    """How many versions of entries were new. A key that it gets stays, whatever happens: others may seal under it."""
    head, whose = archive.subject(archived), whose_is(archived)
    key = keys.get(str(whose))
    if key is None:
        key = bytes.fromhex(head.key)
        keys.put(str(whose), key)
    sealer, of = Sealer(str(whose), key, random_bytes), named(whose)
    new = dict.fromkeys((table.name for table in ENTRY_TABLES), 0)
    with database.writing() as tx:
        first = tx.run(
            "move_in_subject",
            **of,
            created_at=head.created_at,
            updated_at=head.updated_at,
            version=head.version,
            key_check=key_check(key),
        )
        if tx.rows("subject", **of)[0][1] != key_check(key):
            raise Conflict(f"something of {whose} was written while the archive was taken in")
        for table in ENTRY_TABLES:
            for row, contents in archive.rows(archived, table):
                values = bound(table, sealer, whose, row, contents)
                if table.name in WITH_BYTES:
                    body = archive.body(archive.path_of(archived, row["id"]))
                    values["body"] = sealer.seal("entry_documents", row["id"], body)
                    new[table.name] += tx.run("insert_entry_document", **values)
                else:
                    new[table.name] += tx.run(f"move_in_{table.name}", **values)
        if not first and any(new.values()):
            tx.run("count_entry_change", **of, now=codec.text_of(now))
    return new["entry_versions"]


def _take_in_learned(
    database: Database, random_bytes: RandomBytes, archive: Archive, archived: ArchivedPatient
) -> None:
    """What was learned elsewhere from a patient who is here goes with this patient too."""
    sealer = Sealer(archived.id, bytes.fromhex(archive.patient(archived).key), random_bytes)
    table = next(table for table in TABLES if table.name == "learned_from")
    with database.writing() as tx:
        if tx.rows("lock_patient", patient=archived.id):
            for row, contents in archive.rows(archived, table):
                tx.run("move_in_learned_from", **bound(table, sealer, whose_is(archived), row, contents))


def _take_in_table(
    tx: Transaction, sealer: Sealer, archive: Archive, archived: ArchivedPatient, table: Table, now: datetime
) -> None:
    patient, waiting = archived.id, []
    whose = whose_is(archived)
    rows: list[dict[str, Any]] = []

    def put() -> None:
        if rows:
            tx.many(f"move_in_{table.name}", rows)
            rows.clear()

    for row, contents in archive.rows(archived, table):
        values = bound(table, sealer, whose, row, contents)
        if table.name == "documents":
            body = archive.body(archive.path_of(archived, row["id"]))
            tx.run("insert_document", **values, body=sealer.seal("document_bodies", row["id"], body))
            continue
        rows.append(values)
        if table.name == "receipts" and row["status"] == IngestionStatus.PENDING.value:
            waiting.append((row["sequence"], row["id"]))
        if len(rows) >= PAGE:
            put()
    put()
    for sequence, ingestion in sorted(waiting):
        tx.run("insert_work", patient=patient, sequence=sequence, ingestion=ingestion, now=codec.text_of(now))

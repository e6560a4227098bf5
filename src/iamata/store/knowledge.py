"""Where are entries of organizations, operators and agents kept? Every version sealed under a key of its subject.

The key is named by the whole subject (`organization/clinic-a`): the slash keeps it apart from every patient's. Not
here: entries about patients, which are part of the patient's own graph (`inferences`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import datetime

from iamata.errors import Conflict, NotFound, Unavailable
from iamata.model.document import Document
from iamata.model.entry import Entry
from iamata.model.scope import Scope, Subject
from iamata.ports import KeyStore
from iamata.store import codec
from iamata.store.codec import encode, text_of
from iamata.store.database import Database, Transaction
from iamata.store.sealing import Sealer, key_check

RandomBytes = Callable[[int], bytes]


def put_entry(
    database: Database,
    keys: KeyStore,
    random_bytes: RandomBytes,
    entry: Entry,
    document: tuple[Document, bytes] | None,
    now: datetime,
) -> None:
    """Append one version, with the file it came from. Raises Conflict if this version exists."""
    with database.writing() as tx:
        _append(tx, keys, random_bytes, entry, document, text_of(now))


def _append(
    tx: Transaction,
    keys: KeyStore,
    random_bytes: RandomBytes,
    entry: Entry,
    document: tuple[Document, bytes] | None,
    now: str,
) -> None:
    named, key = _named(entry.subject), keys.get(str(entry.subject))
    if key is None and not tx.rows("subject", **named):
        key = keys.get_or_create(str(entry.subject))
    if key is not None:
        tx.run("register_subject", **named, now=now, key_check=key_check(key))
    if key is None or tx.rows("subject", **named)[0][1] != key_check(key):
        raise Unavailable("the key store does not hold the key that this subject's entries are sealed under")
    tx.run("lock_subject", **named)
    sealer = Sealer(str(entry.subject), key, random_bytes)
    if document is not None:
        about, body = document
        tx.run(
            "insert_entry_document",
            **named,
            id=about.id,
            about=sealer.seal("entry_documents about", about.id, encode(about)),
            body=sealer.seal("entry_documents", about.id, body),
        )
    added = tx.run(
        "insert_entry_version",
        **named,
        id=entry.id,
        version=entry.version,
        kind=entry.kind.value,
        recorded_at=text_of(entry.recorded_at),
        body=sealer.seal("entry_versions", f"{entry.id} {entry.version}", encode(entry)),
    )
    if not added:
        raise Conflict(f"version {entry.version} of entry {entry.id} exists")
    tx.run("count_entry_change", **named, now=now)


def put_learned(
    database: Database,
    keys: KeyStore,
    random_bytes: RandomBytes,
    entry: Entry,
    patients: Collection[str],
    now: datetime,
) -> None:
    """As `put_entry`, with the patients it was learned from: erasing one of them takes the entry along. Raises Conflict
    if one of them is no longer registered."""
    named = _named(entry.subject)
    with database.writing() as tx:
        _append(tx, keys, random_bytes, entry, None, text_of(now))
        for patient in sorted(patients):
            tx.run("insert_learned_from", patient=patient, **named, entry=entry.id)


def learned_from(database: Database, patient: str) -> list[Subject]:
    """Those of whom something was learned from this patient, among others; by scope and id."""
    with database.reading() as tx:
        rows = tx.rows("learned_from", patient=patient)
    return [Subject(Scope(scope), subject) for scope, subject in sorted({(scope, id) for scope, id, _ in rows})]


def refuse(
    database: Database,
    keys: KeyStore,
    random_bytes: RandomBytes,
    subject: Subject,
    entry: str,
    refused: bool,
    about: bytes,
) -> None:
    """A person's word on what was learned; the last one counts. `about` says by whom, when and why."""
    named = _named(subject)
    key = keys.get(str(subject))
    with database.writing() as tx:
        if key is None or not tx.run("lock_subject", **named):
            raise NotFound(what=subject.scope.value, id=subject.id)
        sealer = Sealer(str(subject), key, random_bytes)
        number = int(tx.rows("count_refusals", **named, entry=entry)[0][0]) + 1
        body = sealer.seal("entry_refusals", f"{entry} {number}", about)
        tx.run("insert_refusal", **named, entry=entry, number=number, refused=int(refused), body=body)


def refused(database: Database, subject: Subject) -> set[str]:
    """The entries that people refused and did not take back."""
    with database.reading() as tx:
        last = dict(tx.rows("entry_refusals", **_named(subject)))
    return {entry for entry, refused in last.items() if refused}


def entries(database: Database, sealer: Sealer | None, subject: Subject) -> list[Entry]:
    with database.reading() as tx:
        rows = tx.rows("entry_versions", **_named(subject))
    if not rows or sealer is None:
        return []
    return [codec.entries.decode(sealer.open("entry_versions", f"{id} {version}", body)) for id, version, body in rows]


def entry_document(database: Database, sealer: Sealer | None, subject: Subject, id: str) -> tuple[Document, bytes]:
    """Raises NotFound."""
    with database.reading() as tx:
        rows = tx.rows("entry_document", **_named(subject), id=id)
    if not rows or sealer is None:
        raise NotFound(what="document", id=id)
    about, body = rows[0]
    return (
        codec.documents.decode(sealer.open("entry_documents about", id, about)),
        sealer.open("entry_documents", id, body),
    )


def version(database: Database, subject: Subject) -> int:
    """How often the entries of the subject have changed; 0 if nothing is held of it."""
    with database.reading() as tx:
        rows = tx.rows("subject", **_named(subject))
    return int(rows[0][0]) if rows else 0


def registration(database: Database, subject: Subject) -> tuple[int, bytes]:
    """As `version`, and what tells this subject from one of the same id that was erased."""
    with database.reading() as tx:
        rows = tx.rows("subject", **_named(subject))
    return (int(rows[0][0]), bytes(rows[0][1])) if rows else (0, b"")


def subjects(database: Database) -> list[Subject]:
    with database.reading() as tx:
        return [Subject(Scope(scope), id) for scope, id in tx.rows("subjects")]


def seal_plain(database: Database, keys: KeyStore, random_bytes: RandomBytes) -> None:
    """Entries of a database from before they were sealed, sealed; nothing otherwise. One transaction."""
    with database.reading() as tx:
        if not tx.rows("plain_entries"):
            return
    with database.writing() as tx:
        for _, _, body in tx.rows("plain_entries"):
            entry = codec.entries.decode(body)
            with suppress(Conflict):  # another process opens the database too, and was first
                _append(tx, keys, random_bytes, entry, None, text_of(entry.recorded_at))
        tx.run("delete_plain_entries")
    database.purge()


def _named(subject: Subject) -> dict[str, str]:
    return {"scope": subject.scope.value, "subject": subject.id}

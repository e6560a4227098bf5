"""How is an organization, operator or agent forgotten, or one entry of theirs? Rows and key, in one transaction.

A legal hold stands on a patient, so none stands here. What patients' contexts cite of it is an id, and stays one; what
a recorded tool call quotes of it belongs to the patient it was recorded for. What the ledger remembers is for `ledger`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from iamata.errors import NotFound, Unavailable
from iamata.model.erasure import Erasable, Erasure
from iamata.model.scope import Scope, Subject
from iamata.ports import KeyStore
from iamata.store import codec
from iamata.store.codec import text_of
from iamata.store.database import Database, Transaction
from iamata.store.ledger import Ledger
from iamata.store.sealing import Sealer, key_check

RandomBytes = Callable[[int], bytes]

# Every table of one subject, but for `learned_from`, which is the patients'.
ERASED_TABLES: Final = ("entry_refusals", "entry_documents", "entry_versions", "subjects")
OF_SCOPE: Final = {
    Scope.ORGANIZATION: Erasable.ORGANIZATION,
    Scope.OPERATOR: Erasable.OPERATOR,
    Scope.AGENT: Erasable.AGENT,
}
# What an entry of the ledger may be about that is no patient's.
KINDS: Final = frozenset({*OF_SCOPE.values(), Erasable.ENTRY})


def erase_subject(
    database: Database,
    keys: KeyStore,
    random_bytes: RandomBytes,
    ledger: Ledger,
    subject: Subject,
    now: datetime,
    by: str,
    *,
    replayed: Erasure | None = None,
) -> Erasure | None:
    """The receipt; None, and nothing changed, if nothing is held of the subject. As of a patient (`erasing`), the key
    is destroyed inside the transaction, and a tombstone says under it that this very one was erased."""
    at, of = text_of(now), _of(subject)
    with database.writing() as tx:
        if not tx.run("lock_subject", **of):
            return None
        registration = _registration(tx, ledger, subject)
        counts = [("learned_from", _unlearn(tx, "forget_learned_of_subject", of))]
        counts += [(table, tx.run(f"erase_subject_{table}", **of)) for table in ERASED_TABLES]
        key = keys.get(str(subject)) or random_bytes(32)
        mark = Sealer(str(subject), key, random_bytes).mark("tombstone", str(subject))
        tx.run("insert_tombstone", mark=mark, now=at)
        entry = replayed
        if entry is None:
            person = ledger.marks.person(str(subject))
            entry = _receipt(
                ledger, random_bytes, OF_SCOPE[subject.scope], person, subject, registration, now, by, counts
            )
            ledger.write(tx, entry, "")
        keys.destroy(str(subject))
    _finish(database, ledger, entry, now, replayed)
    return entry


def erase_entry(
    database: Database,
    keys: KeyStore,
    random_bytes: RandomBytes,
    ledger: Ledger,
    subject: Subject,
    id: str,
    now: datetime,
    by: str,
    *,
    replayed: Erasure | None = None,
) -> Erasure:
    """The receipt. Every version goes, with the files that no other entry came from. Raises NotFound."""
    at, of = text_of(now), _of(subject)
    key = keys.get(str(subject))
    with database.writing() as tx:
        if not tx.run("lock_subject", **of):
            raise NotFound(what="entry", id=id)
        if key is None or bytes(tx.rows("subject", **of)[0][1]) != key_check(key):
            raise Unavailable("the key store does not hold the key that this subject's entries are sealed under")
        sealer = Sealer(str(subject), key, random_bytes)
        mine: set[str] = set()
        others: set[str] = set()
        for each, version, body in tx.rows("entry_versions", **of):
            opened = codec.entries.decode(sealer.open("entry_versions", f"{each} {version}", body))
            (mine if each == id else others).add(opened.document)
        if not mine:
            raise NotFound(what="entry", id=id)
        files = sorted(mine - others - {""})
        counts = [
            ("learned_from", _unlearn(tx, "forget_learned_of_entry", of | {"entry": id})),
            ("entry_refusals", tx.run("forget_entry_refusals", **of, id=id)),
            ("entry_documents", sum(tx.run("forget_entry_document", **of, id=each) for each in files)),
            ("entry_versions", tx.run("delete_entry_versions", **of, id=id)),
        ]
        tx.run("count_entry_change", **of, now=at)
        entry = replayed
        if entry is None:
            registration = _registration(tx, ledger, subject)
            mark = ledger.marks.item(registration, Erasable.ENTRY, id)
            entry = _receipt(ledger, random_bytes, Erasable.ENTRY, mark, subject, registration, now, by, counts)
            ledger.write(tx, entry, "")
    _finish(database, ledger, entry, now, replayed)
    return entry


def erased_subject(database: Database, ledger: Ledger, subject: Subject) -> Erasure | None:
    """None if it was not erased, or something is held of it again."""
    with database.reading() as tx:
        if tx.rows("subject", **_of(subject)):
            return None
    return ledger.standing(ledger.marks.person(str(subject)))


def erased_entry(database: Database, ledger: Ledger, subject: Subject, id: str) -> Erasure | None:
    """Erased by itself, or else with its subject; None if neither."""
    with database.reading() as tx:
        registration = _registration(tx, ledger, subject)
    if not registration:
        return ledger.standing(ledger.marks.person(str(subject)))
    return ledger.standing(ledger.marks.item(registration, Erasable.ENTRY, id))


def replay(database: Database, keys: KeyStore, random_bytes: RandomBytes, ledger: Ledger, entry: Erasure) -> None:
    """Erase again what a backup brought back; nothing if it is not here."""
    with database.reading() as tx:
        rows = tx.rows("subject_registrations")
    for scope, id, at, check in rows:
        subject = Subject(Scope(scope), id)
        if ledger.marks.registration(str(subject), at, check) != entry.registration:
            continue
        if entry.kind is not Erasable.ENTRY:
            erase_subject(database, keys, random_bytes, ledger, subject, entry.at, entry.by, replayed=entry)
            return
        with database.reading() as tx:
            ids = {each for each, _version, _body in tx.rows("entry_versions", **_of(subject))}
        for each in ids:
            if ledger.marks.item(entry.registration, Erasable.ENTRY, each) == entry.mark:
                erase_entry(database, keys, random_bytes, ledger, subject, each, entry.at, entry.by, replayed=entry)
        return


def _unlearn(tx: Transaction, name: str, of: dict[str, str]) -> int:
    """Patient by patient, so that each statement runs where that patient is."""
    return tx.many(name, [{"patient": patient, **of} for patient, _at, _check in tx.rows("registrations")])


def _receipt(
    ledger: Ledger,
    random_bytes: RandomBytes,
    kind: Erasable,
    mark: str,
    subject: Subject,
    registration: str,
    now: datetime,
    by: str,
    counts: list[tuple[str, int]],
) -> Erasure:
    return ledger.signed(
        Erasure(
            id=f"er_{random_bytes(10).hex()}",
            kind=kind,
            mark=mark,
            person=ledger.marks.person(str(subject)),
            registration=registration,
            at=now,
            by=by,
            counts=tuple(sorted((table, count) for table, count in counts if count)),
        )
    )


def _finish(database: Database, ledger: Ledger, entry: Erasure, now: datetime, replayed: Erasure | None) -> None:
    database.purge()
    if replayed is None:
        ledger.finish(entry.id, now)
        database.purge()


def _registration(tx: Transaction, ledger: Ledger, subject: Subject) -> str:
    """What the ledger calls the subject as it is registered now; empty if it is not."""
    rows = tx.rows("subject_registration", **_of(subject))
    return ledger.marks.registration(str(subject), *rows[0]) if rows else ""


def _of(subject: Subject) -> dict[str, str]:
    return {"scope": subject.scope.value, "subject": subject.id}

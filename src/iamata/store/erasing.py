"""How is a patient forgotten? Every row and the key, in one transaction; a tombstone without content stays."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from iamata.model.scope import Scope, Subject
from iamata.ports import KeyStore
from iamata.store.codec import text_of
from iamata.store.database import Database
from iamata.store.sealing import Sealer

# Children before parents. A test holds this list against the schema: every table of one patient is in it.
ERASED_TABLES: Final = (
    "work",
    "contexts",
    "projections",
    "receipts",
    "learned_from",
    "inferences",
    "rulings",
    "retractions",
    "model_answers",
    "memories",
    "tool_calls",
    "shown_words",
    "messages",
    "sessions",
    "sightings",
    "passages",
    "statements",
    "rereadings",
    "documents",
    "sources",
    "patients",
)


def erase_patient(
    database: Database, keys: KeyStore, random_bytes: Callable[[int], bytes], patient: str, now: datetime
) -> list[Subject]:
    """Fine if the patient is gone. If the process dies on the way, erasing again completes it. What was learned from
    this patient, among others, goes too, every version of it: the subjects whose entries are fewer now come back.

    The key is destroyed inside the transaction and under the patient's lock, so that nobody can seal under it after.
    Kept: audit records, which hold ids and verbs (design 08), and a tombstone that without the key says of nobody
    that it was erased.
    """
    with database.writing() as tx:
        registered = bool(tx.rows("lock_patient", patient=patient))
        learned = tx.rows("learned_from", patient=patient)
        fewer = {(scope, subject) for scope, subject, _ in learned}
        for scope, subject, entry in learned:
            tx.run("delete_entry_versions", scope=scope, subject=subject, id=entry)
        for scope, subject in sorted(fewer):
            tx.run("count_entry_change", scope=scope, subject=subject, now=text_of(now))
        for table in ERASED_TABLES:
            tx.run(f"erase_{table}", patient=patient)
        if registered:
            key = keys.get(patient) or random_bytes(32)
            mark = Sealer(patient, key, random_bytes).mark("tombstone", patient)
            tx.run("insert_tombstone", mark=mark, now=text_of(now))
        keys.destroy(patient)
    database.purge()
    return [Subject(Scope(scope), subject) for scope, subject in sorted(fewer)]

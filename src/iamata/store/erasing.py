"""How is a patient forgotten? Every row and the key, in one transaction; a tombstone without content stays."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

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
    "rulings",
    "retractions",
    "model_answers",
    "relearned_memories",
    "relearnings",
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
) -> None:
    """Fine if the patient is gone. If the process dies on the way, erasing again completes it.

    The key is destroyed inside the transaction and under the patient's lock, so that nobody can seal under it after.
    Kept: audit records, which hold ids and verbs (design 08), and a tombstone that without the key says of nobody
    that it was erased.
    """
    with database.writing() as tx:
        registered = bool(tx.rows("lock_patient", patient=patient))
        for table in ERASED_TABLES:
            tx.run(f"erase_{table}", patient=patient)
        if registered:
            key = keys.get(patient) or random_bytes(32)
            mark = Sealer(patient, key, random_bytes).mark("tombstone", patient)
            tx.run("insert_tombstone", mark=mark, now=text_of(now))
        keys.destroy(patient)
    database.purge()

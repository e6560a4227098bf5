"""Where is kept what agents inferred of a patient? In the patient's own rows, sealed under its key, erased with it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from iamata.errors import Conflict, NotFound
from iamata.model.entry import Entry
from iamata.ports import KeyStore
from iamata.store.accepting import lock_patient
from iamata.store.codec import encode, text_of
from iamata.store.database import Database
from iamata.store.sealing import Sealer


def put(database: Database, keys: KeyStore, random_bytes: Callable[[int], bytes], entry: Entry, now: datetime) -> None:
    """A new row and the next graph version. Raises NotFound for an unknown patient, Conflict if this version exists."""
    patient, at = entry.subject.id, text_of(now)
    key = keys.get(patient)
    with database.writing() as tx:
        if key is None or not tx.rows("patient", patient=patient):
            raise NotFound(what="patient", id=patient)
        counters = lock_patient(tx, keys, patient, key, at)
        sealer = Sealer(patient, key, random_bytes)
        added = tx.run(
            "insert_inference",
            patient=patient,
            id=entry.id,
            version=entry.version,
            recorded_at=text_of(entry.recorded_at),
            body=sealer.seal("inferences", f"{entry.id} {entry.version}", encode(entry)),
        )
        if not added:
            raise Conflict(f"version {entry.version} of entry {entry.id} exists")
        tx.run("count_change", patient=patient, sequence=counters.sequence, version=counters.version + 1, now=at)

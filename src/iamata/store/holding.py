"""Which legal holds stand on a patient, who set and lifted them? `erasing` looks at them under the patient's lock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from iamata.errors import NotFound
from iamata.model.erasure import Hold
from iamata.ports import KeyStore
from iamata.store import codec
from iamata.store.accepting import lock_patient
from iamata.store.codec import encode, text_of
from iamata.store.database import Database
from iamata.store.sealing import Sealer


def put_hold(
    database: Database,
    keys: KeyStore,
    random_bytes: Callable[[int], bytes],
    patient: str,
    hold: Hold,
    now: datetime,
) -> None:
    """A hold, or the lifting of one. Raises NotFound for an unknown patient, or for a hold that does not stand."""
    key, at = keys.get(patient), text_of(now)
    with database.writing() as tx:
        if key is None or not tx.rows("patient", patient=patient):
            raise NotFound(what="patient", id=patient)
        lock_patient(tx, keys, patient, key, at)
        if hold.lifts and hold.lifts not in {id for (id,) in tx.rows("standing_holds", patient=patient)}:
            raise NotFound(what="hold", id=hold.lifts)
        body = Sealer(patient, key, random_bytes).seal("holds", hold.id, encode(hold))
        tx.run("insert_hold", patient=patient, id=hold.id, lifts=hold.lifts, now=at, body=body)


def holds(database: Database, sealer: Sealer | None, patient: str) -> list[Hold]:
    """Every hold and every lifting, the earliest first."""
    with database.reading() as tx:
        rows = tx.rows("holds", patient=patient)
    return [] if sealer is None else [codec.holds.decode(sealer.open("holds", id, body)) for id, body in rows]

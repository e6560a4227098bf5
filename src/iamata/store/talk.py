"""What stands beside the turns: tool calls, and the words that were put into contexts. Judges nothing.

Neither is part of what is folded, so neither counts as a change of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Final

from iamata.errors import NotFound
from iamata.model.session import RecordedCall
from iamata.ports import KeyStore
from iamata.store import codec
from iamata.store.accepting import lock_patient
from iamata.store.codec import encode, text_of
from iamata.store.database import Bound, Database
from iamata.store.sealing import Sealer

# As many as `shown_words` binds.
_AT_ONCE: Final = 32


def record_calls(
    database: Database,
    keys: KeyStore,
    random_bytes: Callable[[int], bytes],
    patient: str,
    calls: Sequence[RecordedCall],
    now: datetime,
) -> int:
    """How many were new. A call whose id is held stays as it is; `after` is set to the last turn that is held."""
    key, at = keys.get(patient), text_of(now)
    with database.writing() as tx:
        if key is None or not tx.rows("patient", patient=patient):
            raise NotFound(what="patient", id=patient)
        sealer = Sealer(patient, key, random_bytes)
        lock_patient(tx, keys, patient, key, at)
        new = 0
        for call in calls:
            if tx.rows("has_tool_call", patient=patient, id=call.id):
                continue
            session = call.session
            new += tx.run(
                "insert_tool_call",
                patient=patient,
                id=call.id,
                session=session,
                position=tx.rows("count_tool_calls", patient=patient, session=session)[0][0],
                follows=tx.rows("count_messages", patient=patient, session=session)[0][0] - 1,
                received_at=text_of(call.received_at),
                body=sealer.seal("tool_calls", call.id, encode(codec.KeptCall(call.call, call.by, call.on_behalf_of))),
            )
    return new


def tool_calls(database: Database, sealer: Sealer | None, patient: str, session: str) -> list[RecordedCall]:
    with database.reading() as tx:
        found = tx.rows("tool_calls", patient=patient, session=session)
    if not found or sealer is None:
        return []
    recorded = []
    for id, follows, received_at, body in found:
        kept = codec.tool_calls.decode(sealer.open("tool_calls", id, body))
        at = codec.moment_of(received_at)
        recorded.append(RecordedCall(id, session, follows, kept.call, at, kept.by, kept.on_behalf_of))
    return recorded


def called_sessions(database: Database, patient: str) -> list[str]:
    """The sessions beside which calls were recorded."""
    with database.reading() as tx:
        return [session for (session,) in tx.rows("called_sessions", patient=patient)]


def put_shown(database: Database, keys: KeyStore, patient: str, marks: Collection[bytes], now: datetime) -> None:
    """Nothing happens if the patient is gone: what was shown of it is nobody's any more."""
    key = keys.get(patient)
    if key is None or not marks:
        return
    rows: list[dict[str, Bound]] = [{"patient": patient, "mark": mark} for mark in sorted(marks)]
    with database.writing() as tx:
        if tx.rows("patient", patient=patient):
            lock_patient(tx, keys, patient, key, text_of(now))
            tx.many("insert_shown_word", rows)


def shown(database: Database, patient: str, marks: Collection[bytes]) -> set[bytes]:
    found: set[bytes] = set()
    wanted = sorted(marks)
    with database.reading() as tx:
        if not wanted or not tx.rows("any_shown_words", patient=patient):
            return found
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            bound = {f"m{n}": some[min(n, len(some) - 1)] for n in range(_AT_ONCE)}
            found |= {bytes(mark) for (mark,) in tx.rows("shown_words", patient=patient, **bound)}
    return found

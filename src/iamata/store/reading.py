"""What is held of a patient? Rows opened into nouns. Judges nothing, folds nothing."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import msgspec

from iamata.errors import Unavailable
from iamata.model.document import IngestionStatus, Receipt
from iamata.model.graph import Held
from iamata.model.memory import Memory, Relearning
from iamata.model.model_answers import Adjudication, ModelReading
from iamata.model.passage import Passage
from iamata.model.scope import patient as subject_of
from iamata.model.session import Message, Session
from iamata.model.sighting import Rereading, Retraction, Sighting
from iamata.model.statement import Statement
from iamata.store import codec
from iamata.store.database import Database
from iamata.store.rows import sealed_as
from iamata.store.sealing import Sealer
from iamata.store.sharing import Shared

# As many as `receipts` binds.
_STATUSES: Final = tuple(status.value for status in IngestionStatus)


def held(database: Database, sealer: Sealer | None, patient: str, before: Held | None = None) -> Held | None:
    """One unchanging view. `sources` has every pair (name, kind) that was said, sorted: a source that was sent as two
    kinds stands twice, so that the answer does not depend on the order of arrival.

    With what was held `before`, only what came since is opened, and stands after it; unless documents were read again,
    or something was erased.
    """
    with database.reading() as tx:
        registered = tx.rows("patient", patient=patient)
        if not registered:
            return None
        rereadings = tx.rows("rereadings", patient=patient)
        erasures = int(tx.rows("count_forgotten", patient=patient)[0][0])
        if before is not None and (len(rereadings) != len(before.rereadings) or erasures != before.erasures):
            before = None
        after = -1 if before is None else before.sequence
        statements = tx.rows("statements", patient=patient, after=after)
        passages = tx.rows("passages", patient=patient, after=after)
        sightings = tx.rows("sightings", patient=patient, after=after)
        documents = tx.rows("documents", patient=patient, after=after)
        last = max(tx.rows("last_sighting", patient=patient)[0][0], tx.rows("last_document", patient=patient)[0][0])
        sessions = tx.rows("sessions", patient=patient)
        messages = tx.rows("messages", patient=patient)
        memories = tx.rows("memories", patient=patient)
        relearnings = tx.rows("relearnings", patient=patient)
        relearned = tx.rows("relearned_memories", patient=patient)
        rulings = tx.rows("rulings", patient=patient)
        answers = tx.rows("model_answers", patient=patient)
        retractions = tx.rows("retractions", patient=patient)
        sources = tx.rows("sources", patient=patient)
        inferences = tx.rows("inferences", patient=patient)
    opened = _need(sealer)
    open, moment = opened.open, codec.moment_of
    answered = [codec.model_answers.decode(open("model_answers", id, body)) for id, body in answers]
    items = _Items(opened, statements, passages, sightings)
    if before is None:
        again = tuple(
            Rereading(
                number=number,
                at=moment(at),
                documents=frozenset(codec.rereadings.decode(open("rereadings", str(number), body))),
                statements=items.statements(number),
                passages=items.passages(number),
                sightings=items.sightings(number),
            )
            for number, at, body in rereadings
        )
        before = Held(subject=subject_of(patient), rereadings=again)
    elif any(of for _id, of, *_more in (*statements, *passages, *sightings)):
        return held(database, sealer, patient)  # a document that was read again was sent again
    return msgspec.structs.replace(
        before,
        version=registered[0][3],
        sequence=last,
        statements=before.statements + items.statements(0),
        passages=before.passages + items.passages(0),
        sightings=before.sightings + items.sightings(0),
        documents=before.documents
        + tuple([codec.documents.decode(open("documents", id, head)) for id, head in documents]),
        sessions=_sessions(opened, patient, sessions, messages),
        memories=tuple([codec.memories.decode(open("memories", id, body)) for id, body in memories]),
        relearnings=_relearnings(opened, relearnings, relearned),
        rulings=tuple([codec.rulings.decode(open("rulings", id, body)) for id, body in rulings]),
        retractions=tuple(
            [Retraction(open("retractions", id, body).decode(), moment(at)) for id, at, body in retractions]
        ),
        adjudications=tuple([answer for answer in answered if isinstance(answer, Adjudication)]),
        readings=tuple([answer for answer in answered if isinstance(answer, ModelReading)]),
        sources=tuple(sorted(codec.sources.decode(open("sources", id, body)) for id, body in sources)),
        erasures=erasures,
        entries=tuple(
            [codec.entries.decode(open("inferences", f"{id} {number}", body)) for id, number, body in inferences]
        ),
    )


def _relearnings(
    sealer: Sealer, relearnings: list[tuple[Any, ...]], memories: list[tuple[Any, ...]]
) -> tuple[Relearning, ...]:
    found: dict[int, list[Memory]] = {}
    for id, number, body in memories:
        opened = sealer.open("relearned_memories", sealed_as(id, number), body)
        found.setdefault(number, []).append(codec.memories.decode(opened))
    return tuple(
        Relearning(
            number,
            codec.moment_of(at),
            tuple(found.get(number, ())),
            frozenset(codec.relearnings.decode(sealer.open("relearnings", str(number), body))),
        )
        for number, at, body in relearnings
    )


class _Items:
    """Rows of items, opened by their rereading; equal parts of them become one value."""

    def __init__(
        self,
        sealer: Sealer,
        statements: list[tuple[Any, ...]],
        passages: list[tuple[Any, ...]],
        sightings: list[tuple[Any, ...]],
    ) -> None:
        self._open = sealer.open
        self._rows = statements, passages, sightings
        self._shared = Shared()

    def statements(self, number: int) -> tuple[Statement, ...]:
        open, share = self._open, self._shared.statement
        return tuple(
            [
                share(codec.statements.decode(open("statements", sealed_as(id, number), body)))
                for id, of, body in self._rows[0]
                if of == number
            ]
        )

    def passages(self, number: int) -> tuple[Passage, ...]:
        return tuple(
            [
                codec.passages.decode(self._open("passages", sealed_as(id, number), body))
                for id, of, body in self._rows[1]
                if of == number
            ]
        )

    def sightings(self, number: int) -> tuple[Sighting, ...]:
        open, part, moment = self._open, self._shared.part, codec.moment_of
        return tuple(
            [
                Sighting(part(item), part(document), place, part(moment(received_at)), url)
                for id, of, item, document, received_at, body in self._rows[2]
                if of == number
                for place, url in [
                    codec.places.decode(open("sightings", sealed_as(f"{id} {item} {document}", number), body))
                ]
            ]
        )


def session(database: Database, sealer: Sealer | None, patient: str, id: str) -> Session | None:
    with database.reading() as tx:
        found = tx.rows("session", patient=patient, id=id)
        messages = tx.rows("session_messages", patient=patient, session=id) if found else []
    return _sessions(_need(sealer), patient, found, messages)[0] if found else None


def document_body(database: Database, sealer: Sealer | None, patient: str, id: str) -> bytes | None:
    with database.reading() as tx:
        found = tx.rows("document_body", patient=patient, id=id)
    return _need(sealer).open("document_bodies", id, found[0][0]) if found else None


def projection(database: Database, sealer: Sealer | None, patient: str) -> bytes | None:
    with database.reading() as tx:
        found = tx.rows("projection", patient=patient)
    return _need(sealer).open("projections", patient, found[0][0]) if found else None


def context(database: Database, sealer: Sealer | None, patient: str, id: str) -> bytes | None:
    with database.reading() as tx:
        found = tx.rows("context", patient=patient, id=id)
    return _need(sealer).open("contexts", id, found[0][0]) if found else None


def receipt(database: Database, sealer: Sealer | None, patient: str, id: str) -> Receipt | None:
    with database.reading() as tx:
        found = tx.rows("receipt", patient=patient, id=id)
    return _receipt(_need(sealer), *found[0]) if found else None


def receipts(
    database: Database, sealer: Sealer | None, patient: str, statuses: Iterable[str], offset: int, limit: int
) -> tuple[list[Receipt], int]:
    """No status given: any. A status that does not exist matches nothing."""
    wanted = tuple(statuses) or _STATUSES
    known = [status for status in _STATUSES if status in wanted]
    if not known:
        return [], 0
    bound = {f"s{n}": known[min(n, len(known) - 1)] for n in range(len(_STATUSES))}
    with database.reading() as tx:
        rows = tx.rows("receipts", patient=patient, offset=offset, limit=limit, **bound)
        count = int(tx.rows("count_receipts", patient=patient, **bound)[0][0])
    return [_receipt(_need(sealer), *row) for row in rows], count


def _receipt(
    sealer: Sealer,
    id: str,
    status: str,
    started_at: str | None,
    completed_at: str | None,
    failure_code: str,
    failure: bytes | None,
    body: bytes,
) -> Receipt:
    return msgspec.structs.replace(
        codec.receipts.decode(sealer.open("receipts", id, body)),
        status=IngestionStatus(status),
        started_at=_moment(started_at),
        completed_at=_moment(completed_at),
        failure_code=failure_code,
        failure="" if failure is None else sealer.open("failures", id, failure).decode(),
    )


def _sessions(
    sealer: Sealer, patient: str, sessions: list[tuple[Any, ...]], messages: list[tuple[Any, ...]]
) -> tuple[Session, ...]:
    turns: dict[str, list[Message]] = {}
    for id, session, body in messages:
        turns.setdefault(session, []).append(codec.messages.decode(sealer.open("messages", id, body)))
    return tuple(
        Session(id, patient, codec.moment_of(created_at), tuple(turns.get(id, ()))) for id, created_at in sessions
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else codec.moment_of(text)


def _need(sealer: Sealer | None) -> Sealer:
    if sealer is None:
        raise Unavailable("the key store has no key for this patient: its data cannot be opened")
    return sealer

"""How is it kept who is related to a patient? A row for each version; only the reason of one is sealed.

Relations decide access and are no part of what is folded: the graph does not change by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from iamata.errors import Conflict, NotFound
from iamata.model.relation import PatientRelation, RelationKind
from iamata.ports import KeyStore
from iamata.store.accepting import lock_patient
from iamata.store.codec import moment_of, text_of
from iamata.store.database import Database
from iamata.store.sealing import Sealer

# What stands for a reason that was not opened: break-glass cannot be without one.
_SEALED = "(sealed)"


def put(database: Database, keys: KeyStore, random_bytes: Callable[[int], bytes], relation: PatientRelation) -> None:
    patient, key = relation.patient, keys.get(relation.patient)
    with database.writing() as tx:
        if key is None or not tx.rows("patient", patient=patient):
            raise NotFound(what="patient", id=patient)
        lock_patient(tx, keys, patient, key, text_of(relation.at))
        if any(
            (id, version) == (relation.id, relation.version)
            for id, version, *_ in tx.rows("relations_of_patient", patient=patient)
        ):
            raise Conflict("the relation was changed meanwhile; look again")
        tx.run(
            "insert_relation",
            patient=patient,
            id=relation.id,
            version=relation.version,
            principal=relation.principal,
            kind=relation.kind.value,
            since=text_of(relation.since),
            until=text_of(relation.until) if relation.until else "",
            made_by=relation.by,
            at=text_of(relation.at),
            body=Sealer(patient, key, random_bytes).seal("relations", relation.id, relation.reason.encode()),
        )


def between(database: Database, principal: str, patient: str) -> list[PatientRelation]:
    with database.reading() as tx:
        rows = tx.rows("relations_between", patient=patient, principal=principal)
    return _last(_made(patient, row, _SEALED) for row in rows)


def of_principal(database: Database, principal: str) -> list[PatientRelation]:
    with database.reading() as tx:
        rows = tx.rows("relations_of_principal", principal=principal)
    return _last(_made(patient, row, _SEALED) for patient, *row in rows)


def of_patient(database: Database, sealer: Callable[[str], Sealer | None], patient: str) -> list[PatientRelation]:
    with database.reading() as tx:
        rows = tx.rows("relations_of_patient", patient=patient)
    return _opened(sealer, ((patient, *row) for row in rows))


def of_kind(database: Database, sealer: Callable[[str], Sealer | None], kind: RelationKind) -> list[PatientRelation]:
    with database.reading() as tx:
        rows = tx.rows("relations_of_kind", kind=kind.value)
    return _opened(sealer, rows)


def _opened(sealer: Callable[[str], Sealer | None], rows: Iterable[tuple[Any, ...]]) -> list[PatientRelation]:
    found = []
    for patient, *row, body in rows:
        opener = sealer(patient)
        if opener is not None:  # erased meanwhile: nobody's relation any more
            found.append(_made(patient, row, opener.open("relations", row[0], body).decode()))
    return _last(found)


def _made(patient: str, row: Iterable[Any], reason: str) -> PatientRelation:
    id, version, principal, kind, since, until, by, at = row
    return PatientRelation(
        id=id,
        patient=patient,
        principal=principal,
        kind=RelationKind(kind),
        since=moment_of(since),
        until=moment_of(until) if until else None,
        by=by,
        at=moment_of(at),
        reason=reason,
        version=version,
    )


def _last(versions: Iterable[PatientRelation]) -> list[PatientRelation]:
    """Of each relation its last version, in the order in which each was first met."""
    found: dict[tuple[str, str], PatientRelation] = {}
    for each in versions:
        known = found.get((each.patient, each.id))
        if known is None or known.version < each.version:
            found[each.patient, each.id] = each
    return list(found.values())

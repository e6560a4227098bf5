"""How does a patient look? Who the person is stands in the demographic facts of the graph."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from iamata.interfaces.wire.values import Json, instant, text
from iamata.model.fact import Fact
from iamata.model.graph import Graph
from iamata.model.patient import PatientRow
from iamata.model.statement import EVENT_KINDS, Kind


class Person(msgspec.Struct, frozen=True):
    """What the demographic facts say of a person; empty where they say nothing."""

    name: str = ""
    birth_date: str = ""
    gender: str = ""


def person(facts: Iterable[Fact]) -> Person | None:
    """The person of these facts, or None without a demographic fact. Each value is that of the fact with most members
    that has one (ties by id)."""
    demographics = sorted(
        (each for each in facts if each.kind is Kind.DEMOGRAPHIC), key=lambda each: (-len(each.members), each.id)
    )
    if not demographics:
        return None

    def first(name: str) -> str:
        return next((said for each in demographics if (said := text(each.value(name)))), "")

    return Person(first("name") or demographics[0].display, first("birth_date"), first("sex"))


def patient(of: PatientRow) -> Json:
    return {
        "id": of.id,
        "createdAt": instant(of.created_at),
        "updatedAt": instant(of.updated_at),
        "scope": "patient",
        "version": of.version,
    }


def patient_line(of: PatientRow, who: Person | None) -> Json:
    """A line of the list of patients; `patient` is null where no record has said who it is."""
    return {
        "registryKey": of.id,
        "patient": None if who is None else {"id": of.id, "name": who.name},
        "createdAt": instant(of.created_at),
        "updatedAt": instant(of.updated_at),
        "version": of.version,
    }


def patient_detail(of: PatientRow, graph: Graph, *, warnings: int, load_ms: float) -> Json:
    """`stats.entities` counts facts that are no events, `events` the four event kinds, `relationships` all links."""
    who = person(graph.facts.values()) or Person()
    events = sum(1 for each in graph.facts.values() if each.kind in EVENT_KINDS)
    return {
        "id": of.id,
        "name": who.name,
        "birthDate": who.birth_date or None,
        "gender": who.gender or None,
        "stats": {
            "entities": len(graph.facts) - events,
            "events": events,
            "relationships": len(graph.links),
            "warnings": warnings,
            "loadMs": load_ms,
            "statements": len(graph.statements),
            "memories": len(graph.memories),
            "conflicts": len(graph.conflicts),
        },
        "scope": "patient",
        "createdAt": instant(of.created_at),
        "updatedAt": instant(of.updated_at),
        "version": of.version,
        "graphVersion": graph.version,
        "graphHash": graph.hash,
        "trueAt": instant(graph.moment.true_at),
        "knownAt": None if graph.moment.known_at is None else instant(graph.moment.known_at),
    }

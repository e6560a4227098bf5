"""The two sides of a conflict and the two facts they stand in are weighed alike."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from iamata import Engine, Speaker, Turn
from iamata.authority import profiles, sides, weigh

NOW = datetime(2026, 2, 15, 10, tzinfo=UTC)


def bundle(*resources: dict[str, Any]) -> bytes:
    entries = [{"resource": {"resourceType": "Patient", "id": "p"}}, *({"resource": r} for r in resources)]
    return json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries}).encode()


def test_an_allergy_and_the_denial_of_it_weigh_in_their_conflict_as_they_weigh_alone() -> None:
    denial = {
        "resourceType": "AllergyIntolerance",
        "id": "n1",
        "patient": {"reference": "Patient/p"},
        "code": {"coding": [{"system": "http://snomed.info/sct", "code": "716186003"}], "text": "No known allergies"},
        "recordedDate": "2026-02-14",
        "recorder": {"reference": "Practitioner/x"},
    }
    allergy = {
        "resourceType": "AllergyIntolerance",
        "id": "a1",
        "patient": {"reference": "Patient/p"},
        "code": {"text": "Amoxicillin"},
        "reaction": [{"manifestation": [{"text": "Hives"}]}],
        "recordedDate": "2026-02-14",
        "asserter": {"reference": "RelatedPerson/mother"},
    }
    with Engine.open(":memory:", clock=lambda: NOW) as engine:
        engine.ingest("p", bundle(denial), source="one")
        engine.ingest("p", bundle(allergy), source="two")
        talk = Turn(Speaker.PATIENT, "I am allergic to amoxicillin, it gave me hives.", said_at=NOW)
        engine.append("p", "s", [talk])
        graph = engine.graph("p")
    [conflict] = [c for c in graph.conflicts.values() if c.kind == "existence"]
    profile = profiles.load("allergy_check")
    by_text = {
        side.says: weighed
        for side, weighed in sides(graph, conflict.id, profile=profile, aspect=None, moment=graph.moment)
    }
    for fact in (f for f in graph.facts.values() if f.kind == "allergy"):
        alone = weigh(graph, fact.id, profile=profile, aspect=None, moment=graph.moment)
        assert abs(by_text[fact.display].weight - alone.weight) < 1e-9, fact.display
    assert by_text["Amoxicillin"].weight > by_text["No known allergies"].weight

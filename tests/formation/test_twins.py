"""What says the same as another statement of its source is one with it before anything else is compared."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from iamata import patient
from iamata.connectors import registry
from iamata.formation import pipeline
from iamata.formation.recorded import candidates
from iamata.model.decision import Verdict
from iamata.model.graph import Graph, Held
from iamata.model.identifiers import IdMint
from iamata.model.ruling import RecordRef, Ruling, RulingKind
from iamata.model.stamp import Moment
from iamata.model.statement import Kind

NOW = datetime(2026, 2, 15, 10, tzinfo=UTC)
MINT = IdMint(b"k" * 32)


def order(id: str, route: str = "") -> dict[str, Any]:
    dosage = [{"route": {"text": route}}] if route else []
    return {
        "resourceType": "MedicationRequest",
        "id": id,
        "status": "active",
        "intent": "order",
        "subject": {"reference": "Patient/p"},
        "medicationCodeableConcept": {"text": "Metoclopramide"},
        "dosageInstruction": dosage,
    }


def held(*resources: dict[str, Any], source: str = "ehr", **more: Any) -> Held:
    entry = [{"resource": {"resourceType": "Patient", "id": "p"}}, *({"resource": each} for each in resources)]
    body = json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entry}).encode()
    read = registry.parse(
        body, format="fhir/r4", subject=patient("p"), source=source, mint=MINT, document="en_1", received_at=NOW
    )
    return Held(
        subject=patient("p"), statements=read.statements, passages=read.passages, sightings=read.sightings, **more
    )


def records(graph: Graph, kind: Kind = Kind.MEDICATION) -> list[list[str]]:
    """The records behind each fact of the kind."""
    facts = [fact for fact in graph.facts.values() if fact.kind is kind]
    return sorted(sorted(graph.statements[m].provenance.record.key for m in fact.members) for fact in facts)


def test_no_chain_through_a_weak_middle_joins_what_a_twin_was_told_apart_from() -> None:
    everything = [order("a1", "oral"), order("a2", "oral"), order("b1", "rectal"), order("b2", "rectal"), order("c")]
    graph = pipeline.form(held(*everything), moment=Moment.of(NOW), mint=MINT)
    together = records(graph)
    by_record = {record: index for index, one in enumerate(together) for record in one}
    assert by_record["MedicationRequest/a1"] == by_record["MedicationRequest/a2"]
    assert by_record["MedicationRequest/b1"] == by_record["MedicationRequest/b2"]
    assert by_record["MedicationRequest/a1"] != by_record["MedicationRequest/b1"]
    assert sum(map(len, together)) == 5


def test_ten_thousand_copies_are_one_fact_after_as_many_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    compare = candidates.compare

    def counted(*sides: Any, **how: Any) -> Any:
        nonlocal compared
        compared += 1
        return compare(*sides, **how)

    monkeypatch.setattr(candidates, "compare", counted)
    graph = pipeline.form(held(*(order(f"m{n}") for n in range(10_000))), moment=Moment.of(NOW), mint=MINT)
    assert [len(one) for one in records(graph)] == [10_000]
    assert compared == 9_999
    joined = [d for d in graph.decisions.values() if d.verdict is Verdict.MERGE]
    assert len(joined) == 9_999, "each copy says why it is there"


def test_what_a_person_told_apart_from_its_twin_is_looked_at_for_itself() -> None:
    a1, a2, other = (RecordRef("ehr", f"MedicationRequest/{id}") for id in ("a1", "a2", "other"))
    apart = [
        Ruling(id=f"ru_{n}", kind=RulingKind.NOT_SAME, by="operator/o", decided_at=NOW, left=a1, right=right)
        for n, right in enumerate((a2, other))
    ]
    given = held(order("a1"), order("a2"), order("other", "oral"), rulings=tuple(apart))
    graph = pipeline.form(given, moment=Moment.of(NOW), mint=MINT)
    assert records(graph) == [["MedicationRequest/a1"], ["MedicationRequest/a2", "MedicationRequest/other"]]

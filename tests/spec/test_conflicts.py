"""Conflicts: both sides are kept and shown, whether the record or a person says otherwise. On every store."""

from __future__ import annotations

from spec_patients import NOW, bundle, order

from iamata import Engine, Speaker, Turn


def test_two_sources_that_give_two_doses_at_one_time_are_a_conflict_with_both_sides(engine: Engine) -> None:
    engine.ingest("p", bundle(order("10 mg daily")), source="one")
    engine.ingest("p", bundle(order("20 mg daily")), source="two")
    [conflict] = engine.conflicts("p")
    assert (conflict.kind, [side.says for side in conflict.sides]) == ("dose", ["10 mg daily", "20 mg daily"])
    text = engine.read("/patient/p/conflicts").text
    assert "10 mg daily" in text
    assert "20 mg daily" in text


def test_a_dose_that_changed_is_history_and_no_conflict(engine: Engine) -> None:
    engine.ingest("p", bundle(order("10 mg daily", day="2024-01-05")), source="one")
    engine.ingest("p", bundle(order("20 mg daily", day="2026-01-05")), source="two")
    assert engine.conflicts("p") == []
    [fact] = [f for f in engine.graph("p").facts.values() if f.kind == "medication"]
    assert fact.value("dosage_text") == "20 mg daily"
    assert [other.value for field in fact.fields if field.name == "dosage_text" for other in field.others] == [
        "10 mg daily"
    ]


def test_what_a_patient_says_against_the_record_is_a_conflict_and_the_fact_is_left_untouched(engine: Engine) -> None:
    engine.ingest("p", bundle(order("10 mg daily")), source="one")
    before = engine.graph("p").facts
    engine.append("p", "s", [Turn(Speaker.PATIENT, "I stopped taking lisinopril last week.", said_at=NOW)])
    after = engine.graph("p")
    assert after.facts == before
    [conflict] = engine.conflicts("p")
    assert conflict.kind == "status"
    [memory] = after.memories.values()
    assert [memory.id] in [list(side.items) for side in conflict.sides]
    assert memory.quote in "I stopped taking lisinopril last week."


def test_a_conflict_ends_when_one_of_its_sources_is_retracted(engine: Engine) -> None:
    engine.ingest("p", bundle(order("10 mg daily")), source="one")
    engine.ingest("p", bundle(order("20 mg daily")), source="two")
    engine.retract("p", "two")
    assert engine.conflicts("p") == []


def test_an_explanation_leads_from_a_fact_to_the_bytes(engine: Engine) -> None:
    engine.ingest("p", bundle(order("10 mg daily")), source="one")
    [fact] = [f for f in engine.graph("p").facts.values() if f.kind == "medication"]
    found = engine.explain("p", fact.id, task="medication_reconciliation")
    [testimony] = found.testimonies
    [seen] = testimony.seen
    assert (seen.source, str(seen.place)) == ("one", "/entry/1/resource")
    assert '"10 mg daily"' in seen.excerpt
    assert found.authority is not None
    assert found.authority.task == "medication_reconciliation"
    assert abs(sum(factor.log_odds for factor in found.authority.factors) - found.authority.log_odds) < 1e-9

"""Identity: what is sent again, in pieces, from elsewhere, or taken back. On every store."""

from __future__ import annotations

from typing import Any

import pytest
from spec_patients import HandClock, allergy, bundle, condition, order, result

from iamata import Engine, Format, Gone, NotFound
from iamata.model.document import Staged
from iamata.model.fact import Fact


def facts(engine: Engine, kind: str) -> list[Fact]:
    return [fact for fact in engine.graph("p").facts.values() if fact.kind == kind]


def told(engine: Engine) -> list[str]:
    """Every file of the patient's tree, as text: what a reader can come to."""
    pages: list[str] = []
    waiting = ["/patient/p/"]
    while waiting:
        for node in engine.browse(waiting.pop()).nodes:
            if node.directory:
                waiting.append(node.address)
            elif not node.address.endswith("raw.json"):
                pages.append(f"{node.address}\n{engine.read(node.address, format=Format.COMPACT).text}")
    return sorted(pages)


def test_the_same_bytes_again_stage_nothing_and_add_no_sighting(engine: Engine, clock: HandClock) -> None:
    first = engine.ingest("p", bundle(order("10 mg"), condition("Asthma")), source="ehr")
    before, row = engine.graph("p"), engine.patient("p")
    clock.wait(minutes=5)
    again = engine.ingest("p", bundle(order("10 mg"), condition("Asthma")), source="ehr")
    assert (first.staged, first.sightings) == (Staged(facts=3), 3)
    assert (again.staged, again.sightings, again.document) == (Staged(), 3, first.document)
    assert again.status == "succeeded"
    assert engine.patient("p").version == row.version
    assert engine.graph("p") == before


def test_the_same_items_in_other_bytes_add_sightings_only(engine: Engine, clock: HandClock) -> None:
    engine.ingest("p", bundle(order("10 mg"), condition("Asthma")), source="ehr")
    before = engine.graph("p")
    clock.wait(minutes=5)
    split = [bundle(condition("Asthma")), bundle(order("10 mg"))]
    receipts = [engine.ingest("p", piece, source="ehr") for piece in split]
    after = engine.graph("p")
    assert [receipt.staged for receipt in receipts] == [Staged(), Staged()]
    assert (after.hash, after.facts, after.statements) == (before.hash, before.facts, before.statements)
    assert {id: len(seen) for id, seen in before.sightings.items()} == dict.fromkeys(before.statements, 1)
    assert sorted(len(seen) for seen in after.sightings.values()) == [2, 2, 3]  # the Patient stands in each piece


def test_two_sources_are_two_statements_of_one_fact(engine: Engine) -> None:
    engine.ingest("p", bundle(condition("Asthma")), source="one")
    second = engine.ingest("p", bundle(condition("Asthma", id="other")), source="two")
    [fact] = facts(engine, "condition")
    assert second.staged.facts == 2
    assert sorted(engine.graph("p").statements[id].source for id in fact.members) == ["one", "two"]


def test_one_id_in_two_sources_is_two_records(engine: Engine) -> None:
    engine.ingest("p", bundle(condition("Asthma")), source="one")
    engine.ingest("p", bundle(condition("Gout")), source="two")
    assert sorted(fact.display for fact in facts(engine, "condition")) == ["Asthma", "Gout"]


def test_a_new_version_of_a_record_supersedes_the_old_one_which_stays_as_history(
    engine: Engine, clock: HandClock
) -> None:
    engine.ingest("p", bundle(order("10 mg", meta={"versionId": "1"})), source="ehr")
    [old] = facts(engine, "medication")
    clock.wait(hours=1)
    receipt = engine.ingest("p", bundle(order("20 mg", meta={"versionId": "2"})), source="ehr")
    [fact] = facts(engine, "medication")
    assert receipt.staged.facts == 1
    assert fact.value("dosage_text") == "20 mg"
    assert fact.history == ((old.members[0], "superseded"),)
    assert engine.conflicts("p") == []
    found = engine.graph("p").resolve(old.id)
    assert found is not None
    assert found.id == fact.id, "the old fact's id leads to the fact that holds its statement now"


def test_an_older_version_that_comes_later_does_not_come_back(engine: Engine, clock: HandClock) -> None:
    engine.ingest("p", bundle(order("20 mg", meta={"versionId": "2"})), source="ehr")
    clock.wait(hours=1)
    engine.ingest("p", bundle(order("10 mg", meta={"versionId": "1"})), source="ehr")
    [fact] = facts(engine, "medication")
    assert fact.value("dosage_text") == "20 mg"


def test_a_retracted_source_is_seen_by_no_read(engine: Engine, open_engine: Any, clock: HandClock) -> None:
    never = open_engine("never")
    for one in (engine, never):
        one.ingest("p", bundle(order("10 mg"), result("Glucose", 90)), source="ehr")
    clock.wait(minutes=1)
    receipt = engine.ingest("p", bundle(order("40 mg", id="x"), allergy("Penicillin")), source="Elsewhere")
    documents = [d.id for d in engine.graph("p").documents.values() if d.source == "Elsewhere"]
    members = [id for id, s in engine.graph("p").statements.items() if s.source == "Elsewhere"]
    assert documents == [receipt.document]
    engine.retract("p", "Elsewhere")
    assert engine.graph("p").hash == never.graph("p").hash
    assert engine.graph("p").facts == never.graph("p").facts
    assert engine.graph("p").documents.keys() == never.graph("p").documents.keys()
    assert engine.conflicts("p") == []
    assert told(engine) == told(never)
    assert not any("Elsewhere" in page for page in told(engine))
    for id in members:
        with pytest.raises(NotFound):
            engine.explain("p", id)
    with pytest.raises(Gone):
        engine.document("p", documents[0])


def test_what_is_sent_again_after_a_retraction_counts_again(engine: Engine, clock: HandClock) -> None:
    body = bundle(order("10 mg"), condition("Asthma"))
    engine.ingest("p", body, source="ehr")
    before = engine.graph("p")
    clock.wait(minutes=1)
    engine.retract("p", "ehr")
    assert engine.graph("p").facts == {}
    clock.wait(minutes=1)
    receipt = engine.ingest("p", body, source="ehr")
    after = engine.graph("p")
    assert (after.hash, after.facts, after.documents) == (before.hash, before.facts, before.documents)
    assert receipt.staged == Staged(), "the statements were never lost, so nothing new is staged"
    assert {seen.received_at for all in after.sightings.values() for seen in all} == {clock.now}
    assert engine.document("p", receipt.document)[1] == body


def test_a_retraction_names_one_source_and_leaves_the_others(engine: Engine) -> None:
    engine.ingest("p", bundle(condition("Asthma")), source="one")
    engine.ingest("p", bundle(condition("Asthma")), source="two")
    engine.retract("p", "one")
    [fact] = facts(engine, "condition")
    assert [engine.graph("p").statements[id].source for id in fact.members] == ["two"]
    before = engine.graph("p").hash
    engine.retract("p", "nobody")
    assert engine.graph("p").hash == before


def test_a_fact_is_found_by_the_id_of_any_member_before_and_after_a_merge(engine: Engine) -> None:
    engine.ingest("p", bundle(condition("Asthma")), source="one")
    [alone] = facts(engine, "condition")
    engine.ingest("p", bundle(condition("Asthma")), source="two")
    [fact] = facts(engine, "condition")
    graph = engine.graph("p")
    assert fact.id == "fa_" + min(fact.members).removeprefix("st_")
    for id in (alone.id, *fact.members, *(f"fa_{m.removeprefix('st_')}" for m in fact.members)):
        assert graph.resolve(id) is fact

"""A patient who left as FHIR and comes back is recognised: no new fact, no new witness, no other authority.

And where only the copy is, it counts as what it is a copy of: once, by its authors.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spec_patients import HandClock, allergy, bundle, condition, order, result

from iamata import ContextRequest, Engine, patient
from iamata.errors import BadInput
from iamata.model.access import Access, PrincipalKind
from iamata.model.attribution import AttributionKind
from iamata.model.document import Outcome
from iamata.model.graph import Graph
from iamata.model.ruling import RulingKind
from iamata.model.session import Speaker, Turn
from iamata.model.statement import Kind, Label

OpenEngine = Callable[..., Engine]
AMES = {"recorder": {"type": "Practitioner", "display": "Dr Ames"}}
PSY = {"system": "http://terminology.hl7.org/CodeSystem/v3-ActCode", "code": "PSY"}


def two_sources(engine: Engine) -> None:
    engine.ingest("p", bundle(allergy("Penicillin"), condition("Asthma", onset="2015", **AMES), order("10 mg")))
    engine.ingest("p", bundle(condition("Asthma", onset="2015"), order("20 mg", id="m2"), result("Glucose", 90)))
    engine.append("p", "s", [Turn(Speaker.PATIENT, "I stopped the lisinopril. I am worried about my heart.")])


def seen(graph: Graph) -> dict[str, Any]:
    """Everything of a graph that a reader could be told, but for its version and its documents."""
    left_out = {"version", "documents"}
    return {name: getattr(graph, name) for name in graph.__struct_fields__ if name not in left_out}


def answer(engine: Engine, task: str = "general") -> tuple[str, list[Any]]:
    asked = ContextRequest(subjects=(patient("p"),), task=task, budget_tokens=1500, query="lisinopril asthma")
    found = engine.context(asked)
    return found.text, [msgspec.to_builtins(item.authority) for item in found.items]


def test_what_only_words_of_a_note_name_is_no_resource_and_is_counted(engine: Engine) -> None:
    engine.ingest("p", bundle(order("10 mg")), source="ehr")
    engine.ingest(
        "p", b"Medications: warfarin 5 mg daily, lisinopril 10 mg.", source="letters", media_type="text/plain"
    )
    named = {fact.display for fact in engine.graph("p").facts.values() if fact.kind is Kind.MEDICATION}
    assert named == {"Lisinopril", "Warfarin"}
    before = seen(engine.graph("p"))
    body = engine.export_fhir("p")
    resources = [entry["resource"] for entry in json.loads(body)["entry"]]
    assert "warfarin" not in json.dumps([r for r in resources if r["resourceType"].startswith("Medication")]).lower()
    [outcome] = [r for r in resources if r["resourceType"] == "OperationOutcome"]
    assert "1 of kind medication" in json.dumps(outcome)
    engine.ingest("p", body, source="copy")
    assert seen(engine.graph("p")) == before


@pytest.mark.parametrize("kind", ["export_fhir", "summary"])
def test_an_export_that_comes_back_changes_nothing(engine: Engine, clock: HandClock, kind: str) -> None:
    two_sources(engine)
    before, told = seen(engine.graph("p")), answer(engine)
    assert before["memories"]
    assert before["conflicts"]
    body = getattr(engine, kind)("p")
    clock.wait(minutes=1)
    receipt = engine.ingest("p", body, source="some-ehr")
    assert receipt.sightings > 5, "it is held, and seen"
    assert any("copies from an export" in warning for warning in receipt.warnings)
    assert receipt.document in engine.graph("p").documents
    assert seen(engine.graph("p")) == before
    assert [line.rpartition("·")[0] for line in answer(engine)[0].splitlines()[1:]] == [
        line.rpartition("·")[0] for line in told[0].splitlines()[1:]
    ]
    assert answer(engine)[1] == told[1], "nothing counts more because it was told again"
    clock.wait(minutes=1)
    engine.ingest("p", engine.export_fhir("p"), source="another-ehr")
    assert seen(engine.graph("p")) == before


def test_every_item_of_what_comes_back_is_accounted_for(engine: Engine) -> None:
    two_sources(engine)
    body = engine.summary("p")
    receipt = engine.ingest("p", body)
    lines = {line.place: line for line in receipt.intake}
    for number, entry in enumerate(json.loads(body)["entry"]):
        line = lines[f"/entry/{number}/resource"]
        assembled = entry["resource"]["resourceType"] in ("Composition", "Device", "DetectedIssue")
        assert (line.outcome is Outcome.IGNORED) == assembled, line
        assert not assembled or "assembled for an export" in line.detail


def test_what_comes_back_with_something_new_beside_it_brings_only_that(engine: Engine) -> None:
    two_sources(engine)
    body = json.loads(engine.export_fhir("p"))
    body["entry"].append({"resource": condition("Gout", id="new") | {"subject": {"reference": "Patient/p"}}})
    before = engine.graph("p")
    engine.ingest("p", json.dumps(body).encode())
    after = engine.graph("p")
    new = after.facts.keys() - before.facts.keys()
    assert [after.facts[id].display for id in new] == ["Gout"]
    assert {id: f for id, f in after.facts.items() if id not in new} == before.facts


def test_order_does_not_matter_the_copy_may_come_first(open_engine: OpenEngine) -> None:
    here, there = open_engine(), open_engine("other")
    sent = bundle(allergy("Penicillin"), condition("Asthma", onset="2015", **AMES), order("10 mg"))
    here.ingest("p", sent, source="north")
    exported = here.export_fhir("p")
    there.ingest("p", exported, source="copy")
    assert there.graph("p").facts
    there.ingest("p", sent, source="north")
    assert seen(there.graph("p")) == seen(here.graph("p"))


def test_where_only_the_copy_is_it_says_who_said_it(open_engine: OpenEngine) -> None:
    here, there = open_engine(), open_engine("other")
    two_sources(here)
    there.ingest("p", here.export_fhir("p"), source="copy")
    a, b = here.graph("p"), there.graph("p")
    kinds = Counter(fact.kind for fact in a.facts.values())
    assert Counter(f.kind for f in b.facts.values() if f.kind != "communication") == kinds
    [told] = [b.attributions[m] for f in b.facts.values() if f.kind == "condition" for m in f.members]
    assert (told.kind, told.author.display) == (AttributionKind.SYSTEM, "Dr Ames")
    said = [f for f in b.facts.values() if f.kind == "communication"]
    assert len(said) == len(a.memories)
    assert all(b.attributions[f.members[0]].kind is AttributionKind.USER for f in said)
    assert "Sources disagree" in here.export_fhir("p").decode()
    assert [p.text for p in b.passages.values() if "Sources disagree" in p.text] == [], "what we note is nobody's word"


def test_copies_of_one_thing_are_one_witness_by_whatever_way_they_came(open_engine: OpenEngine) -> None:
    from iamata.authority.witness import Witnesses

    first, second, third = open_engine(), open_engine("second"), open_engine("third")
    sent = condition("Asthma", onset="2015", recordedDate="2015-06-01")
    first.ingest("p", bundle(sent), source="north")
    second.ingest("p", first.export_fhir("p"), source="one")
    third.ingest("p", first.export_fhir("p"), source="one")
    third.ingest("p", second.export_fhir("p"), source="two")
    graph = third.graph("p")
    statements = [s.id for s in graph.statements.values() if s.kind == "condition"]
    assert len(statements) == 2
    assert len(set(Witnesses(graph).roots(statements).values())) == 1


def test_of_a_copy_of_two_things_the_one_that_is_here_is_no_second_witness(open_engine: OpenEngine) -> None:
    from iamata.authority.witness import Witnesses

    here, there = open_engine(), open_engine("other")
    nameless = condition("Asthma", onset="2015", recorder={"reference": "Practitioner/7"})
    for engine in (here, there):
        engine.ingest("p", bundle(nameless), source="north")
    there.ingest("p", bundle(condition("Asthma", onset="2015", id="c7", **AMES)), source="south")
    here.ingest("p", there.export_fhir("p"), source="copy")
    graph = here.graph("p")
    [fact] = [f for f in graph.facts.values() if f.kind == "condition"]
    assert len(fact.members) == 2, "what is not here is known by its copy"
    witnesses = Witnesses(graph)
    keys = [witnesses.item(id).author_keys for id in fact.members]
    assert not keys[0] & keys[1], "by their authors they could be two"
    assert len(set(witnesses.roots(fact.members).values())) == 1


def test_a_copy_of_a_copy_comes_home(open_engine: OpenEngine) -> None:
    here, there = open_engine(), open_engine("other")
    two_sources(here)
    there.ingest("p", here.export_fhir("p"), source="copy")
    before = seen(here.graph("p"))
    here.ingest("p", there.export_fhir("p"), source="round-trip")
    assert seen(here.graph("p")) == before


def test_when_the_source_is_taken_out_the_copy_is_what_is_left(open_engine: OpenEngine, clock: HandClock) -> None:
    here, there = open_engine(), open_engine("other")
    here.ingest("p", bundle(condition("Asthma", onset="2015")), source="north")
    exported = here.export_fhir("p")
    clock.wait(minutes=1)
    here.ingest("p", exported, source="copy")
    there.ingest("p", exported, source="copy")
    clock.wait(minutes=1)
    here.retract("p", "north")
    assert here.graph("p").hash == there.graph("p").hash, "exactly as if the source had never come"
    here.retract("p", "copy")
    assert here.graph("p").facts == {}


def test_a_copy_of_what_is_withheld_is_withheld(engine: Engine) -> None:
    secret = condition("Zwyxbar", id="h", meta={"security": [PSY]})
    engine.ingest("p", bundle(secret, condition("Asthma")), source="north")
    engine.ingest("p", engine.export_fhir("p"), source="copy")
    reader = Access(kind=PrincipalKind.OPERATOR, id="x", withheld=frozenset({Label(**PSY)}))
    shown = engine.graph("p", access=reader)
    assert [fact.display for fact in shown.facts.values() if fact.kind == "condition"] == ["Asthma"]
    assert "Zwyxbar" not in str(shown)


def test_a_copy_that_lost_its_labels_on_the_way_tells_nothing_of_what_is_withheld(engine: Engine) -> None:
    secret = condition("Zwyxbar", id="h", meta={"security": [PSY]})
    engine.ingest("p", bundle(secret, condition("Asthma")), source="north")
    stripped = json.loads(engine.export_fhir("p"))
    for entry in stripped["entry"]:
        entry["resource"]["meta"].pop("security", None)
    engine.ingest("p", json.dumps(stripped).encode(), source="copy")
    reader = Access(kind=PrincipalKind.OPERATOR, id="x", withheld=frozenset({Label(**PSY)}))
    assert "Zwyxbar" not in str(engine.graph("p", access=reader))
    assert "Zwyxbar" in str(engine.graph("p"))


def alone(resource: dict[str, Any]) -> bytes:
    """A resource without a bundle, so that nothing but it is new."""
    return json.dumps(resource).encode()


def test_a_single_resource_is_recognised_as_well_as_a_bundle(engine: Engine, clock: HandClock) -> None:
    """What is new alone can be taken further without folding everything again: then too it is a copy."""
    engine.ingest("p", bundle(result("Glucose", 90)), source="north")
    engine.graph("p")
    engine.ingest("p", alone(condition("Asthma")), source="north")
    before = seen(engine.graph("p"))
    exported = json.loads(engine.export_fhir("p"))
    [copy] = [e["resource"] for e in exported["entry"] if e["resource"]["resourceType"] == "Condition"]
    copy["subject"] = {"reference": "Patient/p"}
    clock.wait(minutes=1)
    engine.ingest("p", alone(copy), source="copy")
    assert seen(engine.graph("p")) == before
    # The other way round: the copy is here, and what it is a copy of comes alone.
    engine.put_patient("q")
    engine.ingest("q", alone(copy), source="copy")
    assert len(engine.graph("q").facts) == 1
    engine.ingest("q", alone(condition("Asthma")), source="north")
    [fact] = engine.graph("q").facts.values()
    [member] = fact.members
    assert engine.graph("q").statements[member].source == "north"


def test_a_memory_that_was_hidden_does_not_come_back_as_a_record(engine: Engine) -> None:
    engine.append("p", "s", [Turn(Speaker.PATIENT, "I am allergic to peanuts.")])
    exported = engine.export_fhir("p")
    [memory] = engine.graph("p").memories
    engine.rule("p", RulingKind.MEMORY_HIDDEN, memory)
    engine.ingest("p", exported, source="copy")
    graph = engine.graph("p")
    assert (graph.facts, graph.memories, graph.statements, graph.passages) == ({}, {}, {}, {})


def test_what_is_said_of_another_patient_stays_out_though_it_comes_as_a_copy(engine: Engine, clock: HandClock) -> None:
    engine.ingest("p", bundle(condition("Asthma")), source="north")
    engine.ingest("p", engine.export_fhir("p"), source="copy")
    clock.wait(minutes=1)
    statement = next(s.id for s in engine.graph("p").statements.values() if s.kind == "condition")
    engine.rule("p", RulingKind.NOT_THIS_PATIENT, statement)
    assert engine.graph("p").facts == {}


names = st.sampled_from(["Asthma", "Gout", "Eczema", "Migraine"])
records = st.lists(
    st.one_of(
        st.builds(lambda n, i: condition(n, id=f"c{i}"), names, st.integers(0, 3)),
        st.builds(lambda d, i: order(f"{d} mg", id=f"m{i}"), st.integers(1, 3), st.integers(0, 2)),
        st.builds(lambda n: allergy(n), st.sampled_from(["Penicillin", "Latex"])),
        st.builds(lambda v, i: result("Glucose", v, id=f"o{i}"), st.integers(80, 99), st.integers(0, 2)),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=15, deadline=None)
@given(north=records, south=records)
def test_whatever_a_patient_is_its_export_adds_nothing(north: list[Any], south: list[Any]) -> None:
    with Engine.open(":memory:", clock=HandClock()) as engine:
        engine.ingest("p", bundle(*north), source="north")
        engine.ingest("p", bundle(*south), source="south")
        before = seen(engine.graph("p"))
        engine.ingest("p", engine.export_fhir("p"), source="copy")
        assert seen(engine.graph("p")) == before


def test_real_patients_are_recognised_when_they_come_back(data: Path) -> None:
    kinds = ("synthea_r4_bundles/*.json", "ips_bundles/**/*.json", "ccda_onc_cert/**/*.xml", "hl7v2_messages/**/*.hl7")
    clock = HandClock(datetime(2026, 11, 30, 12, tzinfo=UTC))
    checked = 0
    for kind in kinds:
        files = sorted((f for f in data.glob(kind) if f.is_file()), key=lambda f: (f.stat().st_size, f.name))
        files = [f for f in files if f.stat().st_size < 500_000]
        for file in files[:: max(1, len(files) // 4)]:
            with Engine.open(":memory:", clock=clock) as engine:
                try:
                    engine.ingest("p", file.read_bytes(), name=file.name)
                except BadInput:
                    continue
                engine.append("p", "s", [Turn(Speaker.PATIENT, "I stopped the aspirin. I am allergic to peanuts.")])
                before = seen(engine.graph("p"))
                for body in (engine.export_fhir("p"), engine.summary("p")):
                    engine.ingest("p", body, source="copy")
                    assert seen(engine.graph("p")) == before, file.name
            checked += 1
    assert checked >= 8

"""The wire functions, against values made by hand and the public client's own models."""

from __future__ import annotations

from typing import Any

import made
import pytest
from clinia_context_engine.generated import models
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from iamata.errors import BadInput
from iamata.interfaces.wire import edges, ids, lists, nodes, receipts, reports, requests, sessions, values
from iamata.interfaces.wire.answers import conflicts, the_file, to_address, to_path
from iamata.interfaces.wire.patients import patient_detail, person
from iamata.interfaces.wire.view import GraphView
from iamata.model.document import IngestionStatus, IntakeLine, Outcome, Reason, Receipt, Staged
from iamata.model.memory import MemoryKind
from iamata.model.patient import PatientRow
from iamata.model.reading import Listing, Node
from iamata.model.statement import EVENT_KINDS, FACT_KINDS, Kind, Polarity, Standing, Verification

NODE: TypeAdapter[Any] = TypeAdapter(models.Node)
EDGE: TypeAdapter[Any] = TypeAdapter(models.Edge)


@pytest.fixture(scope="module")
def view() -> GraphView:
    return GraphView(made.graph(), {"en_doc": "ig_1"})


def node(view: GraphView, type: str, id: str) -> dict[str, Any]:
    found = nodes.find(nodes.NODE_TYPES[type], view, id)
    assert found is not None
    return found


def test_every_node_of_a_contract_type_is_read_by_the_public_client(view: GraphView) -> None:
    counts = {}
    for name in edges.CONTRACT_NODES:
        kind = nodes.NODE_TYPES[name]
        for id in kind.ids(view):
            assert NODE.validate_python(kind.one(view, id)).type == name
        counts[name] = len(kind.ids(view))
    assert counts == {
        "extracted_fact": 11,
        "fact": 10,
        "extracted_clinical_event": 5,
        "extracted_narrative": 1,
        "narrative_passage": 2,
        "narrative": 0,
        "learned_memory": 2,
    }


def test_every_edge_of_a_contract_type_is_read_by_the_public_client(view: GraphView) -> None:
    counts = {}
    for name in ("resolution_decision", "resolves_to", "chunked_into", "relationship"):
        kind = edges.EDGE_TYPES[name]
        for id in kind.ids(view):
            assert EDGE.validate_python(edges.one(kind, view, id)).id == id
        counts[name] = len(kind.ids(view))
    assert counts == {"resolution_decision": 1, "resolves_to": 11, "chunked_into": 2, "relationship": 2}


def test_statements_of_further_kinds_and_resolved_events_have_types_of_ours(view: GraphView) -> None:
    assert list(nodes.NODE_TYPES["statement"].ids(view)) == ["st_z1", "st_z2"]
    assert list(nodes.NODE_TYPES["further_fact"].ids(view)) == ["fa_z1"]
    assert list(nodes.NODE_TYPES["clinical_event"].ids(view)) == ["fa_e1", "fa_g1", "fa_g2", "fa_o1", "fa_q1"]
    assert list(edges.EDGE_TYPES["memory_link"].ids(view)) == ["ln_3"]
    assert list(edges.EDGE_TYPES["decision"].ids(view)) == ["rd_1", "rd_2"]
    assert len(edges.EDGE_TYPES["member_of"].ids(view)) == 17
    goal = node(view, "statement", "st_z1")
    assert (goal["payload"]["display"], goal["payload"]["status"]) == ("hear well", "accepted")


def test_every_node_and_edge_of_ours_can_be_built(view: GraphView) -> None:
    for kind in nodes.NODE_TYPES.values():
        for id in kind.ids(view):
            assert set(kind.one(view, id)) >= {"type", "id", "createdAt", "updatedAt", "payload", "scope", "form"}
    for kind in edges.EDGE_TYPES.values():
        for id in kind.ids(view):
            assert set(edges.one(kind, view, id)) >= {"type", "id", "from", "to", "payload"}


def test_an_extracted_condition_carries_what_its_source_said(view: GraphView) -> None:
    found = node(view, "extracted_fact", "ef_c1")
    parsed = NODE.validate_python(found)
    payload = parsed.payload
    assert (payload.type, payload.display, payload.status) == ("condition", "Otitis media", "active")
    assert (payload.codes[0].system, payload.codes[0].code) == (made.SNOMED, "65363002")
    assert (payload.effective_period.start, payload.effective_period.end) == ("2026-02-10", None)
    assert (payload.asserted_at, payload.authored_at) == ("2026-02-11", "2026-02-11")
    source = payload.source
    assert (source.type, source.origin, source.ref) == ("fhir", "northside", "Condition/1")
    assert (source.recorded_at, source.ingested_at) == ("2026-02-11T08:00:00Z", "2026-02-15T09:00:00Z")
    assert payload.ingestion_id == "ig_1"
    assert (found["attribution"], found["author"]["role"]) == ("system-reported", "clinician")
    assert found["provenance"]["seen"] == [
        {"document": "en_doc", "place": {"pointer": "/entry/0/resource"}, "receivedAt": "2026-02-15T09:00:00Z"}
    ]
    assert (found["scope"], found["domain"], found["form"], found["factId"]) == (
        "patient",
        "clinical",
        "structured",
        "fa_c1",
    )


def test_a_fact_names_its_members_and_how_each_field_was_picked(view: GraphView) -> None:
    found = node(view, "fact", "fa_c1")
    payload = NODE.validate_python(found).payload
    assert [each.extracted_fact_id for each in payload.members] == ["ef_c1", "ef_c2"]
    verdict = payload.field_verdicts["severity"]
    assert verdict.picked.extracted_fact_id == "ef_c1"
    assert [(each.extracted_fact_id, each.value) for each in verdict.conflict] == [("ef_c2", {"text": "mild"})]
    assert found["supportedBy"] == [{"attribution": "system-reported", "role": "clinician", "statements": 2}]
    assert found["attribution"] == "agent-reported"
    assert found["resolvedBy"]["rule"] == "code+day"


def test_a_fact_is_found_by_the_id_of_any_member(view: GraphView) -> None:
    for id in ("fa_c1", "ef_c2", "st_c2"):
        assert node(view, "fact", id)["id"] == "fa_c1"
    assert node(view, "clinical_event", "ee_o1")["id"] == "fa_o1"
    assert nodes.find(nodes.NODE_TYPES["fact"], view, "fa_o1") is None
    assert nodes.find(nodes.NODE_TYPES["extracted_fact"], view, "ef_o1") is None


def test_the_ten_and_the_four_carry_their_own_fields(view: GraphView) -> None:
    def fact(tail: str) -> Any:
        return NODE.validate_python(node(view, "extracted_fact", f"ef_{tail}")).payload

    def event(tail: str) -> Any:
        return NODE.validate_python(node(view, "extracted_clinical_event", f"ee_{tail}")).payload

    assert (fact("m1").status, fact("m1").route, fact("m1").ordered_at) == ("discontinued", "Oral", "2026-02-10")
    assert fact("m1").dosage_instructions == "250 mg, 3 per 1 d"
    assert fact("m1").prepared_at is None  # that clock is the document's, not the pharmacy's
    allergy = fact("a1")
    assert (allergy.status, allergy.criticality, allergy.category) == ("active", "high", ["environment", "medication"])
    assert (allergy.reactions, allergy.last_reaction_at) == (["Hives"], "2026-02-12")
    family = fact("f1")
    assert (family.relationship, family.sex, family.death) == ("Aunt", "female", None)
    assert [(each.display, each.onset) for each in family.conditions] == [("Peanut allergy", 30.0)]
    assert (fact("s1").category, fact("s1").value) == ("Tobacco smoking status", "Never smoker")
    assert fact("s1").occurred_at == "2026-01-01"
    assert (fact("i1").status, fact("i1").occurred_at) == ("completed", "2023-05-01")
    assert fact("d1").status == "active"
    assert (fact("p1").birth_date, fact("p1").sex, fact("p1").display) == ("2021-12-24", "male", "Leo Zebrafish")
    assert (fact("n1").plan_name, fact("n1").member_id, fact("n1").effective_period.end) == (
        "Family Plan",
        "M-1",
        "2026-12-31",
    )
    assert fact("r1").notes == "agrees"
    visit = event("e1")
    assert (visit.kind, visit.timestamp, visit.reason_codes[0].code) == (
        "outpatient",
        "2026-02-10T10:00:00Z",
        "301354004",
    )
    weight = event("o1")
    assert (weight.kind, weight.value, weight.unit, weight.interpretation) == ("vital-signs", "16.4 kg", "kg", "normal")
    assert (weight.summary, weight.status) == ("Body weight: 16.4 kg", "final")
    assert (event("q1").status, event("q1").body_site) == ("aborted", "Right ear")
    assert (event("g1").kind, event("g1").handed_over_at) == ("dispensed", "2026-02-10T12:00:00Z")
    assert event("g2").kind == "administered"
    assert node(view, "extracted_clinical_event", "ee_g2")["payload"]["timestampClock"] == "received"


@pytest.mark.parametrize(
    ("kind", "standing", "verification", "polarity", "word"),
    [
        (Kind.ALLERGY, Standing.ACTIVE, Verification.REFUTED, Polarity.AFFIRMED, "inactive"),
        (Kind.ALLERGY, Standing.ACTIVE, Verification.CONFIRMED, Polarity.DENIED, "active"),
        (Kind.ALLERGY, Standing.ACTIVE, Verification.ENTERED_IN_ERROR, Polarity.AFFIRMED, "entered-in-error"),
        (Kind.CONDITION, Standing.ACTIVE, Verification.REFUTED, Polarity.AFFIRMED, "inactive"),
        (Kind.CONDITION, Standing.UNKNOWN, Verification.NONE, Polarity.AFFIRMED, "unknown"),
        (Kind.MEDICATION, Standing.ACTIVE, Verification.NONE, Polarity.DENIED, "discontinued"),
        (Kind.OBSERVATION, Standing.ENTERED_IN_ERROR, Verification.NONE, Polarity.AFFIRMED, "cancelled"),
        (Kind.IMMUNIZATION, Standing.NOT_DONE, Verification.NONE, Polarity.AFFIRMED, "not-done"),
    ],
)
def test_what_is_refuted_or_mistaken_never_reads_as_present(
    kind: Kind, standing: Standing, verification: Verification, polarity: Polarity, word: str
) -> None:
    from iamata.interfaces.wire.payloads import status, telling

    said = made.statement("x", kind, "X/1", standing=standing, verification=verification, polarity=polarity)
    assert status(telling(said, "")) == word


def test_every_kind_and_standing_has_a_word_that_the_client_accepts() -> None:
    for kind in [*FACT_KINDS, *EVENT_KINDS]:
        for standing in Standing:
            for verification in Verification:
                said = made.statement("x", kind, "X/1", standing=standing, verification=verification)
                graph = made.graph()
                graph.statements["st_x"] = said
                name = ids.statement_type(kind)
                assert NODE.validate_python(nodes.statement_node(GraphView(graph), "st_x")).type == name


def test_passages_stand_at_their_offsets_in_their_narrative(view: GraphView) -> None:
    narrative = NODE.validate_python(node(view, "extracted_narrative", "en_a"))
    for tail in ("a", "b"):
        passage = NODE.validate_python(node(view, "narrative_passage", f"np_{tail}")).payload
        assert passage.extracted_narrative_id == "en_a"
        assert narrative.payload.content[passage.offset_start : passage.offset_end] == passage.content
    assert narrative.payload.content == "Ear is red.  Plan: amoxicillin."
    assert narrative.payload.effective_at == "2026-02-10"


def test_edges_are_found_by_the_nodes_they_touch(view: GraphView) -> None:
    touching = edges.touching
    kinds = edges.EDGE_TYPES
    assert touching(kinds["resolves_to"], view, ["fa_c1"]) == ["rt_c1", "rt_c2"]
    assert touching(kinds["resolves_to"], view, ["ef_c2"]) == ["rt_c2"]
    assert touching(kinds["relationship"], view, ["fa_e1"]) == ["ln_2"]
    assert touching(kinds["relationship"], view, ["ee_e1", "fa_c1"]) == ["ln_1", "ln_2"]
    assert touching(kinds["chunked_into"], view, ["np_b"]) == ["ci_b"]
    assert touching(kinds["memory_link"], view, ["lm_1"]) == ["ln_3"]
    assert touching(kinds["link"], view, ["none"]) == []


def test_a_resolved_event_is_shown_to_the_contract_by_its_leading_extracted_event(view: GraphView) -> None:
    edge = edges.one(edges.EDGE_TYPES["relationship"], view, "ln_2")
    assert edge["to"] == {"id": "ee_e1", "type": "extracted_clinical_event", "resolved": "fa_e1"}
    assert "source" not in edge["payload"]
    assert edge["payload"]["linkSource"] == "rule"


def test_evidence_keeps_to_the_contracts_list_and_loses_nothing_beside_it(view: GraphView) -> None:
    payload = edges.one(edges.EDGE_TYPES["resolution_decision"], view, "rd_1")["payload"]
    assert [each["kind"] for each in payload["evidence"]] == ["exact-code-match", "field-similarity", "source-ref"]
    assert payload["evidence"][0]["code"] == "65363002"
    assert payload["evidence"][1]["similarity"] == 0.0
    assert [each["step"] for each in payload["steps"]] == ["code", "onset", "state", "identifier"]


def test_a_memory_has_one_of_the_four_types_and_its_own_kind_beside_it(view: GraphView) -> None:
    stopped = node(view, "learned_memory", "lm_1")
    assert (stopped["payload"]["type"], stopped["kind"], stopped["change"]) == ("adherence", "adherence", "stopped")
    sister = node(view, "learned_memory", "lm_2")
    assert (sister["payload"]["type"], sister["kind"]) == ("concern", "family_history")
    assert sister["payload"]["content"] == "My sister is allergic to peanuts"
    for kind in MemoryKind:
        memory = made.memory("x", kind, "words")
        assert models.SessionMemory.model_validate(sessions.session_memory(memory)).content == "words"


def test_who_the_patient_is_stands_in_the_demographic_facts() -> None:
    graph = made.graph()
    who = person(graph.facts.values())
    assert who is not None
    assert (who.name, who.birth_date, who.gender) == ("Leo Zebrafish", "2021-12-24", "male")
    assert person([]) is None
    row = PatientRow("leo", made.NOW, made.NOW, 3)
    detail = models.PatientDetail.model_validate(patient_detail(row, graph, warnings=1, load_ms=2.5))
    assert (detail.name, detail.birth_date, detail.gender) == ("Leo Zebrafish", "2021-12-24", "male")
    stats = detail.stats
    assert (stats.entities, stats.events, stats.relationships, stats.warnings) == (11, 5, 4, 1)


def test_the_resolution_report_is_ordered_and_counts_the_whole_graph(view: GraphView) -> None:
    report = models.ResolutionReport.model_validate(reports.resolution(view, [], number=0, per_page=3, load_ms=1.0))
    assert report.summary is not None
    assert report.meta is not None
    assert (report.summary.total_facts, report.summary.total_events, report.summary.merged_facts) == (10, 5, 1)
    assert (report.meta.total, [each.type for each in report.facts]) == (10, ["allergy", "condition", "demographic"])
    condition = report.facts[1].provenance
    assert (condition.resolved_by, condition.confidence) == ("code+day", 0.75)
    assert [each.origin for each in condition.sources] == ["Condition/1", "Condition/2"]
    assert condition.conflicts[0].field == "severity"
    assert condition.conflicts[0].winner == "moderate"
    assert [each.value for each in condition.conflicts[0].values] == ["moderate", "mild"]
    assert report.warnings[0].message == "the reference at asserter leads nowhere in what its source has sent"


def test_conflicts_of_statements_and_of_memories_stand_side_by_side() -> None:
    graph = made.graph()
    severity, stopped = conflicts([*graph.spoken_conflicts(), *graph.conflicts.values()], graph)
    assert (severity["id"], severity["between"], severity["display"]) == ("cf_1", "statements", "Otitis media")
    assert [each["items"] for each in severity["sides"]] == [["st_c2"], ["st_c1"]]
    assert (stopped["id"], stopped["between"], stopped["fact"]) == ("ln_3", "memory and fact", "fa_m1")
    assert [each["items"] for each in stopped["sides"]] == [["st_m1"], ["lm_1"]]


def test_the_reconciliation_counts_what_was_merged_and_inferred(view: GraphView) -> None:
    data = models.ReconciliationData.model_validate(reports.reconciliation(view))
    stats = data.stats
    assert (stats.input_entities, stats.resolved_entities, stats.merged_groups) == (17, 16, 1)
    assert (stats.explicit_relationships, stats.inferred_relationships) == (1, 3)
    assert data.merged_entities[0].display == "Otitis media"
    markdown = reports.reconciliation_markdown(view)
    assert markdown.startswith("# Reconciliation: Leo Zebrafish\n")
    assert "| Otitis media | condition | 2 | code+day |" in markdown


def _receipt(id: str, status: IngestionStatus, **given: Any) -> Receipt:
    return Receipt(
        id=id,
        subject=made.LEO,
        source="northside",
        format=given.pop("format", "fhir/r4"),
        media_type="application/json",
        received_at=made.NOW,
        status=status,
        **given,
    )


def test_a_receipt_counts_its_intake_by_kind_outcome_and_reason() -> None:
    lines = (
        IntakeLine("Condition", "/entry/0", Outcome.STRUCTURED, label="secret"),
        IntakeLine("Condition", "/entry/1", Outcome.STRUCTURED),
        IntakeLine("Basic", "/entry/2", Outcome.IGNORED, Reason.UNSUPPORTED),
    )
    wire = receipts.receipt(_receipt("ig_1", IngestionStatus.SUCCEEDED, intake=lines, staged=Staged(2, 0, 0, 0)))
    parsed = models.Ingestion.model_validate(wire)
    assert parsed.intake is not None
    (item,) = parsed.intake
    assert (item.unit, item.received) == ("resource", 3)
    assert [(each.kind, each.count, each.outcome, each.reason) for each in item.entries] == [
        ("Basic", 1, "ignored", "unsupported"),
        ("Condition", 2, "structured", None),
    ]
    assert (parsed.staged.facts, parsed.source, wire["family"]) == (2, "fhir/r4", "fhir/r4")
    assert "lines" not in wire
    full = receipts.receipt(_receipt("ig_1", IngestionStatus.SUCCEEDED, intake=lines), lines=True)
    assert full["lines"][2] == {"kind": "Basic", "place": "/entry/2", "outcome": "ignored", "reason": "unsupported"}


@pytest.mark.parametrize(
    ("family", "source"),
    [
        ("fhir/r5", "fhir/r5"),
        ("cda/r2", "cda/r2"),
        ("session/v1", "session/v1"),
        ("hl7v2", "batch/legacy"),
        ("x12", "batch/legacy"),
        ("documents", "document/legacy"),
    ],
)
def test_a_receipts_source_stays_in_the_closed_list(family: str, source: str) -> None:
    wire = receipts.receipt(_receipt("ig_1", IngestionStatus.PENDING, format=family))
    assert models.Ingestion.model_validate(wire).source == source
    assert wire["family"] == family


def test_several_receipts_read_as_one_and_their_id_leads_back_to_them() -> None:
    both = [
        _receipt("ig_1", IngestionStatus.SUCCEEDED, format="session/v1", session="s1", staged=Staged(messages=2)),
        _receipt("ig_2", IngestionStatus.PENDING, format="session/v1", session="s2", staged=Staged(messages=1)),
    ]
    parsed = models.Ingestion.model_validate(receipts.receipts(both, turns=[3, 1]))
    assert receipts.split_id(parsed.ingestion_id) == ["ig_1", "ig_2"]
    assert (parsed.status, parsed.staged.messages, parsed.completed_at) == ("pending", 3, None)
    assert parsed.intake is not None
    assert [(each.session_id, each.received) for each in parsed.intake] == [("s1", 3), ("s2", 1)]
    failed = _receipt("ig_3", IngestionStatus.FAILED, failure_code="Bug", failure="forming failed")
    wire = receipts.receipts([both[0], failed])
    assert (wire["status"], wire["failure"]) == ("partial", {"code": "Bug", "message": "forming failed"})


def test_every_row_of_the_closed_lists_has_a_source() -> None:
    assert lists.look_up("encounter.kind", "AMB") == "outpatient"
    assert lists.look_up("encounter.kind", "nonsense") == "unknown"
    assert lists.look_up("observation.interpretation", "nonsense") is None
    assert lists.values_of("memory.type") == {"symptom", "adherence", "preference", "concern"}


@settings(max_examples=50, deadline=None)
@given(st.text("abcdefghijklmnopqrstuvwxyz234567", min_size=20, max_size=20), st.sampled_from(list(Kind)))
def test_ids_lead_there_and_back(tail: str, kind: Kind) -> None:
    assert ids.to_model(ids.to_wire(f"st_{tail}", kind)) == f"st_{tail}"
    for prefix in ("fa", "np", "en", "lm", "rd", "ig", "st"):
        assert ids.to_model(f"{prefix}_{tail}") == f"{prefix}_{tail}"


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b'{"sessions":[{"messages":[{"role":"zebra","content":"x"}]}]}', "/sessions/0/messages/0/role"),
        (b'{"sessions":[{"messages":[{"role":"user","content":""}]}]}', "/sessions/0/messages/0/content"),
        (b'{"sessions":[{"messages":[]}]}', "/sessions/0/messages"),
        (b'{"sessions":[]}', "/sessions"),
        (b'{"sessions":"zebra"}', "/sessions"),
        (b'{"zebra":1}', ""),
        (b"zebra", "byte 0"),
        (b'["zebra"', ""),
        (b"\xff\xfe", "byte 0"),
    ],
)
def test_a_wrong_body_is_refused_with_its_place_and_without_what_was_sent(body: bytes, place: str) -> None:
    with pytest.raises(BadInput) as caught:
        requests.read(body, requests.SessionsBody)
    assert caught.value.place == place
    assert "zebra" not in str(caught.value)


def test_the_assistant_is_an_agent_and_nobody_else_is() -> None:
    body = (
        b'{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},'
        b'{"role":"user","content":"c","speaker":"clinician"}]}'
    )
    turns = requests.turns(requests.read(body, requests.MessagesBody).messages, "/messages")
    assert [each.speaker.value for each in turns] == ["patient", "agent", "clinician"]
    wrong = b'{"messages":[{"role":"assistant","content":"b","speaker":"patient"}]}'
    with pytest.raises(BadInput) as caught:
        requests.turns(requests.read(wrong, requests.MessagesBody).messages, "/messages")
    assert caught.value.place == "/messages/0/speaker"


def test_a_date_means_the_end_of_its_day_and_a_time_needs_an_offset() -> None:
    at = requests.moment("2026-02-13", "true_at")
    assert at is not None
    assert values.instant(at) == "2026-02-13T23:59:59Z"
    later = requests.moment("2026-02-13T10:00:00+02:00", "true_at")
    assert later is not None
    assert values.instant(later) == "2026-02-13T08:00:00Z"
    for wrong in ("2026-02-13T10:00:00", "yesterday", "2026-13-01"):
        with pytest.raises(BadInput):
            requests.moment(wrong, "true_at")


def test_paths_of_the_tree_are_relative_to_the_patient() -> None:
    assert to_address("leo", "/conditions/active") == "/patient/leo/conditions/active"
    assert to_address("leo", "conditions") == "/patient/leo/conditions"
    assert to_address("leo", "/") == "/patient/leo/"
    assert to_address("leo", "/patient/leo/conditions") == "/patient/leo/conditions"
    assert to_address("leo", "/patient/leona/x") == "/patient/leo/patient/leona/x"
    assert to_path("leo", "/patient/leo/conditions/") == "/conditions"
    assert to_path("leo", "/patient/leo") == "/"


def test_browsing_a_file_is_told_from_browsing_a_directory_with_one_line() -> None:
    index = Node("_index.md", "/patient/leo/gaps/_index.md", False, "nothing", 3, 0)
    assert the_file(Listing("/patient/leo/gaps", (index,), "s")) is None
    assert the_file(Listing("/patient/leo/gaps/_index.md", (index,), "s")) == index.address
    story = Node("story.md", "/patient/leo/conditions/active/otitis-c1aa/story.md", False, "Otitis", 9)
    assert the_file(Listing(story.address, (story,), "s")) == story.address
    assert the_file(Listing("/patient/leo", (index, story), "s")) is None

"""The public client, sync and async, over a real server on SQLite and on PostgreSQL: every method, with its values."""

from __future__ import annotations

import inspect
import itertools
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import leo
import pytest
import sent
from calling import RESOURCES, Calling, calling
from clinia_context_engine import APIStatusError, ContextEngineClient
from live import running

from iamata.engine import Engine
from iamata.settings import Settings

PATIENT = "leo"


@pytest.fixture
def engine(make_store: Callable[..., Any]) -> Iterator[Engine]:
    store = make_store()
    ticks = itertools.count()
    began = datetime(2026, 2, 15, 9, 0, tzinfo=UTC)
    with Engine(
        store,
        store.keys,
        clock=lambda: began + timedelta(milliseconds=next(ticks)),
        ids=lambda: f"{next(ticks):020d}",
    ) as engine:
        yield engine


@pytest.fixture(params=["sync", "async"])
def api(request: pytest.FixtureRequest, engine: Engine) -> Iterator[Calling]:
    with running(engine, Settings(idle_s=0.05)) as url, calling(request.param, url) as api:
        yield api


@pytest.fixture
def told(api: Calling) -> Calling:
    """A server that has been told everything about Leo, and has formed it."""
    api.ingest.ingest_fhir_r4(PATIENT, leo.northside())
    api.ingest.ingest_fhir_r4(PATIENT, leo.eastgate())
    api.ingest.ingest_sessions(PATIENT, {"sessions": [{"sessionId": "s1", "messages": leo.talk()}]})
    api.settle(PATIENT)
    return api


def refused(call: Callable[[], Any], code: int, type: str) -> str:
    """The call is refused in the contract's shape; gives the message."""
    with pytest.raises(APIStatusError) as caught:
        call()
    error = caught.value.error
    assert error is not None
    assert (caught.value.status_code, error.code, error.type) == (code, code, type)
    return str(error.message)


def raw(api: Calling, route: str, **params: Any) -> Any:
    answer = httpx.get(f"{api.url}/v1/patients/{PATIENT}{route}", params=params, trust_env=False, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_service_says_what_it_is(api: Calling) -> None:
    info = api.info.get_service_info()
    assert (info.name, info.status, info.version.build_sha) == ("iamata", "healthy", "unknown")


def test_patients_are_registered_listed_and_erased(api: Calling) -> None:
    assert api.patients.list_patients().meta.total == 0
    first = api.patients.upsert_patient("b:1")
    again = api.patients.upsert_patient("b:1")
    assert (first.id, first.created_at) == ("b:1", again.created_at)
    api.patients.upsert_patient("a.1~x")
    page = api.patients.list_patients(page=1, per_page=1)
    assert [each.registry_key for each in page.data] == ["b:1"]
    assert (page.meta.total, page.meta.page, page.meta.per_page) == (2, 1, 1)
    assert page.data[0].patient is None
    assert api.patients.delete_patient("b:1") is None
    assert api.patients.delete_patient("b:1") is None
    refused(lambda: api.patients.get_patient("b:1"), 404, "NOT_FOUND")
    refused(lambda: api.patients.upsert_patient("a_1"), 400, "INVALID_ARGUMENT")
    refused(lambda: api.patients.get_patient("a_1"), 404, "NOT_FOUND")


def test_who_the_patient_is_and_how_much_is_held(told: Calling) -> None:
    found = told.patients.get_patient(PATIENT)
    assert (found.id, found.birth_date, found.gender) == (PATIENT, "2021-12-24", "male")
    assert "Zebrafish" in found.name
    assert found.stats.events == 3
    assert found.stats.entities >= 7
    assert found.stats.load_ms >= 0
    listed = told.patients.list_patients()
    assert [(each.registry_key, each.patient.name) for each in listed.data] == [(PATIENT, found.name)]


def test_a_bundle_is_received_and_its_receipt_followed(api: Calling) -> None:
    receipt = api.ingest.ingest_fhir_r4(PATIENT, leo.northside())
    assert (receipt.source, receipt.mime_type, receipt.failure) == ("fhir/r4", "application/json", None)
    assert receipt.status in ("pending", "processing", "succeeded")
    assert (receipt.staged.events, receipt.staged.messages) == (3, 0)
    assert receipt.staged.facts >= 7
    assert receipt.staged.narratives >= 1
    (item,) = receipt.intake
    assert item.unit == "resource"
    ignored = [(each.kind, each.count, each.reason) for each in item.entries if each.outcome == "ignored"]
    assert ignored == [("Basic", 1, "unsupported")]
    api.settle(PATIENT)
    settled = api.ingest.get_ingestion(PATIENT, receipt.ingestion_id)
    assert (settled.status, settled.staged) == ("succeeded", receipt.staged)
    assert settled.completed_at is not None


def test_the_same_bundle_again_stages_nothing(api: Calling) -> None:
    first = api.ingest.ingest_fhir_r4(PATIENT, leo.northside())
    api.settle(PATIENT)
    before = raw(api, "")["graphHash"]
    again = api.ingest.ingest_fhir_r4(PATIENT, leo.northside())
    api.settle(PATIENT)
    assert again.ingestion_id != first.ingestion_id
    staged = again.staged
    assert (staged.facts, staged.events, staged.narratives, staged.messages) == (0, 0, 0, 0)
    assert sum(each.count for each in again.intake[0].entries) == again.intake[0].received
    assert raw(api, "")["graphHash"] == before


def test_the_same_bundle_many_times_at_once_is_staged_once(api: Calling) -> None:
    def send(_: int) -> dict[str, Any]:
        answer = httpx.post(
            f"{api.url}/v1/patients/{PATIENT}/ingestions/fhir/r4",
            params={"wait": "true"},
            json=leo.northside(),
            trust_env=False,
            timeout=60,
        )
        assert answer.status_code == 200, answer.text
        receipt: dict[str, Any] = answer.json()
        return receipt

    with ThreadPoolExecutor(8) as pool:
        receipts = list(pool.map(send, range(8)))
    assert {each["status"] for each in receipts} == {"succeeded"}
    staged = [each["staged"]["facts"] for each in receipts]
    assert sorted(staged)[:-1] == [0] * 7
    assert max(staged) >= 7
    assert api.ingest.list_ingestions(PATIENT).meta.total == 8


def test_receipts_are_listed_oldest_first_and_filtered(told: Calling) -> None:
    every = told.ingest.list_ingestions(PATIENT)
    assert [each.source for each in every.data] == ["fhir/r4", "fhir/r4", "session/v1"]
    assert [each.received_at for each in every.data] == sorted(each.received_at for each in every.data)
    newest = told.ingest.list_ingestions(PATIENT, sort="receivedAt", order="desc", per_page=1)
    assert [each.source for each in newest.data] == ["session/v1"]
    middle = told.ingest.list_ingestions(PATIENT, page=1, per_page=1)
    assert middle.data[0].ingestion_id == every.data[1].ingestion_id
    assert told.ingest.list_ingestions(PATIENT, page=9).data == []
    assert told.ingest.list_ingestions(PATIENT, status=["failed", "partial"]).meta.total == 0
    refused(lambda: told.ingest.list_ingestions("nobody"), 404, "NOT_FOUND")
    refused(lambda: told.ingest.get_ingestion(PATIENT, "ig_no"), 404, "NOT_FOUND")


def test_the_nodes_of_every_type_are_listed_and_found(told: Calling) -> None:
    def every(type: str) -> list[Any]:
        page = told.graph.list_nodes(PATIENT, type, per_page=500)
        assert page.meta.total == len(page.data)
        for each in page.data[:3]:
            assert told.graph.get_node(PATIENT, type, each.id) == each
        return list(page.data)

    facts = {each.payload.type: each for each in every("fact")}
    assert set(facts) >= {
        "allergy",
        "medication",
        "condition",
        "immunization",
        "family_history",
        "insurance",
        "demographic",
    }
    condition = next(each for each in every("fact") if each.payload.display == "Otitis media")
    assert len(condition.payload.members) == 2
    assert condition.payload.effective_period.start == "2026-02-10"
    assert facts["medication"].payload.status == "active"
    assert facts["medication"].payload.ordered_at == "2026-02-10"
    extracted = every("extracted_fact")
    ids = {each.id for each in extracted}
    assert {each.extracted_fact_id for each in condition.payload.members} <= ids
    sources = {(each.payload.source.origin, each.payload.source.ref) for each in extracted}
    assert {("northside", "Condition/otitis"), ("eastgate", "Condition/e1")} <= sources
    receipts = {each.ingestion_id for each in told.ingest.list_ingestions(PATIENT).data}
    assert {each.payload.ingestion_id for each in extracted} <= receipts
    events = {each.payload.type: each.payload for each in every("extracted_clinical_event")}
    assert set(events) == {"encounter", "observation", "procedure"}
    assert (events["encounter"].kind, events["encounter"].timestamp) == ("outpatient", "2026-02-10T10:00:00Z")
    assert (events["observation"].value, events["observation"].unit) == ("16.4 kg", "kg")
    assert events["observation"].kind == "vital-signs"
    narratives = {each.id: each.payload for each in every("extracted_narrative")}
    passages = every("narrative_passage")
    assert "red and bulging" in "".join(each.payload.content for each in passages)
    for passage in passages:
        whole = narratives[passage.payload.extracted_narrative_id].content
        assert whole[passage.payload.offset_start : passage.payload.offset_end] == passage.payload.content
    assert every("narrative") == []
    memories = every("learned_memory")
    assert memories
    assert all(each.payload.session_id == "s1" for each in memories)
    refused(lambda: told.graph.get_node(PATIENT, "fact", "fa_no"), 404, "NOT_FOUND")


def test_statements_of_further_kinds_and_resolved_events_are_served_too(told: Calling) -> None:
    events = raw(told, "/graph/nodes/clinical_event/items")["data"]
    assert {each["payload"]["type"] for each in events} == {"encounter", "observation", "procedure"}
    for type in ("statement", "further_fact"):
        for each in raw(told, f"/graph/nodes/{type}/items")["data"]:
            assert raw(told, f"/graph/nodes/{type}/items/{each['id']}") == each


def test_every_node_says_who_said_it_and_where_it_stands(told: Calling) -> None:
    for each in raw(told, "/graph/nodes/extracted_fact/items")["data"]:
        assert each["scope"] == "patient"
        assert each["attribution"] in ("system-reported", "user-reported", "agent-reported", "undetermined")
        assert each["author"]["role"]
        assert each["attributed"]["rule"]
        (seen,) = each["provenance"]["seen"]
        assert seen["place"]["pointer"].startswith("/entry/")
        assert each["domain"] in ("clinical", "financial", "administrative")
        read = each["provenance"]["reader"] == "offline/1"  # words of a note: their span within the note's text
        assert each["form"] == ("unstructured" if read else "structured")
        assert ("start" in seen["place"]) is read
    medication = next(x for x in raw(told, "/graph/nodes/fact/items")["data"] if x["kind"] == "medication")
    assert medication["supportedBy"] == [{"attribution": "system-reported", "role": "clinician", "statements": 1}]
    assert medication["attribution"] == "agent-reported"


def test_edges_lead_from_statements_to_facts_and_between_facts(told: Calling) -> None:
    def every(type: str, **named: Any) -> list[Any]:
        page = told.graph.list_edges(PATIENT, type, per_page=500, **named)
        for each in page.data[:3]:
            assert told.graph.get_edge(PATIENT, type, each.id) == each
        return list(page.data)

    facts = told.graph.list_nodes(PATIENT, "fact", per_page=500).data
    otitis = next(each for each in facts if each.payload.display == "Otitis media")
    resolved = every("resolves_to", touching=otitis.id)
    assert {each.from_.id for each in resolved} == {each.extracted_fact_id for each in otitis.payload.members}
    assert {each.to.id for each in resolved} == {otitis.id}
    member = resolved[0].from_.id
    assert [each.id for each in every("resolves_to", touching=[member])] == [resolved[0].id]
    compared = every("resolution_decision", touching=otitis.id.replace("fa_", "ef_"))
    assert compared[0].payload.verdict == "merge"
    chunks = every("chunked_into")
    assert {each.to.id for each in chunks} == {
        each.id for each in told.graph.list_nodes(PATIENT, "narrative_passage", per_page=500).data
    }
    relationships = every("relationship", touching=otitis.id)
    drug = next(each for each in facts if each.payload.type == "medication")
    assert drug.id in {each.from_.id for each in relationships} | {each.to.id for each in relationships}
    refused(lambda: told.graph.get_edge(PATIENT, "resolves_to", "rt_no"), 404, "NOT_FOUND")


def test_the_tree_is_browsed_down_to_a_story_and_read(told: Calling) -> None:
    root = told.vfs.browse_vfs(PATIENT)
    assert (root.path, root.type) == ("/", "directory")
    names = {each.name: each.type for each in root.children}
    assert names["_index.md"] == "file"
    assert names["conditions"] == "directory"
    active = told.vfs.browse_vfs(PATIENT, path="/conditions/active")
    assert active.path == "/conditions/active"
    otitis = next(each.name for each in active.children if each.type == "directory")
    story = f"/conditions/active/{otitis}/story.md"
    file = told.vfs.browse_vfs(PATIENT, path=story)
    assert (file.path, file.type, file.children) == (story, "file", None)
    read = told.vfs.read_vfs(PATIENT, path=story)
    assert read.content == file.content
    assert "titis media" in read.content
    assert told.vfs.read_vfs(PATIENT, path=story, format="structured").content.lstrip().startswith(("{", "["))
    assert told.vfs.read_vfs(PATIENT, path=story, format="compact").content
    assert told.vfs.read_vfs(PATIENT).content
    assert "conditions" in refused(lambda: told.vfs.browse_vfs(PATIENT, path="/condition"), 404, "NOT_FOUND")
    refused(lambda: told.vfs.browse_vfs(PATIENT, path="/../x"), 400, "INVALID_ARGUMENT")
    refused(lambda: told.vfs.browse_vfs("nobody"), 404, "NOT_FOUND")
    refused(lambda: told.vfs.read_vfs("nobody", path="/"), 404, "NOT_FOUND")


@pytest.mark.parametrize("budget", [0, 1, 20, 200])
def test_reading_never_passes_its_budget(told: Calling, budget: int) -> None:
    answer = raw(told, "/read", path="/_index.md", token_budget=budget)
    assert answer["tokens"] <= budget
    assert told.vfs.read_vfs(PATIENT, path="/_index.md", token_budget=budget).content == answer["content"]


def test_a_transcript_is_resend_safe_and_never_edited(told: Calling) -> None:
    def send(messages: list[dict[str, Any]], session: str | None = "s1") -> Any:
        body = {"sessions": [{"messages": messages} | ({"sessionId": session} if session else {})]}
        return told.ingest.ingest_sessions(PATIENT, body)

    again = send(leo.talk())
    assert again.staged.messages == 0
    assert [(each.unit, each.received, each.session_id) for each in again.intake] == [("message", 3, "s1")]
    longer = [*leo.talk(), {"role": "assistant", "content": "Thank you."}]
    assert send(longer).staged.messages == 1
    edited = [{"role": "assistant", "content": "How are you doing?"}, *leo.talk()[1:]]
    for wrong in (edited, leo.talk()[:1], [longer[1], longer[0], *longer[2:]]):
        refused(lambda wrong=wrong: send(wrong), 409, "FAILED_PRECONDITION")
    held = raw(told, "/sessions/s1")["messages"]
    assert [each["content"] for each in held] == [each["content"] for each in longer]
    assert [each["speaker"] for each in held] == ["agent", "caregiver", "caregiver", "agent"]
    fresh = send(leo.talk(), None).intake[0].session_id
    assert fresh not in (None, "s1")
    refused(lambda: send(leo.talk(), "_bad"), 400, "INVALID_ARGUMENT")


def test_of_several_transcripts_all_or_none_are_stored(told: Calling) -> None:
    edited = {"sessionId": "s1", "messages": [{"role": "user", "content": "something else"}]}
    new = {"sessionId": "s2", "messages": [{"role": "user", "content": "hello"}]}
    refused(lambda: told.ingest.ingest_sessions(PATIENT, {"sessions": [new, edited]}), 409, "FAILED_PRECONDITION")
    refused(lambda: told.sessions.get_session(PATIENT, "s2"), 404, "NOT_FOUND")
    both = told.ingest.ingest_sessions(PATIENT, {"sessions": [new, {**new, "sessionId": "s3"}]})
    assert (both.staged.messages, [each.session_id for each in both.intake]) == (2, ["s2", "s3"])
    told.settle(PATIENT)
    followed = told.ingest.get_ingestion(PATIENT, both.ingestion_id)
    assert (followed.status, followed.staged.messages) == ("succeeded", 2)


def test_a_key_makes_a_transcript_without_a_session_resend_safe(told: Calling) -> None:
    def send(key: str) -> Any:
        return httpx.post(
            f"{told.url}/v1/patients/{PATIENT}/ingestions/sessions",
            json={"sessions": [{"messages": leo.talk()}]},
            headers={"Idempotency-Key": key},
            trust_env=False,
        ).json()

    first, again, other = send("k1"), send("k1"), send("k2")
    assert first["intake"][0]["sessionId"] == again["intake"][0]["sessionId"] != other["intake"][0]["sessionId"]
    assert (first["staged"]["messages"], again["staged"]["messages"]) == (3, 0)


def test_what_was_said_becomes_memories_with_their_exact_words(told: Calling) -> None:
    page = told.sessions.list_session_memories(PATIENT, "s1", per_page=500)
    assert page.meta.total == len(page.data) > 0
    said = [each["content"] for each in leo.talk()]
    assert all(any(each.content in words for words in said) for each in page.data)
    assert any("stopped the amoxicillin" in each.content and each.type == "adherence" for each in page.data)
    oldest = told.sessions.list_session_memories(PATIENT, "s1", sort="createdAt", order="asc", per_page=500)
    assert [each.id for each in oldest.data] == [each.id for each in page.data][::-1]
    memory = raw(told, "/sessions/s1/memories")["data"][0]
    assert memory["attribution"] == "user-reported"
    assert memory["author"]["role"] == "proxy"
    refused(lambda: told.sessions.list_session_memories(PATIENT, "none"), 404, "NOT_FOUND")


def test_a_memory_that_contradicts_a_fact_is_linked_to_it(told: Calling) -> None:
    links = raw(told, "/graph/edges/memory_link/items")["data"]
    against = [each for each in links if each["payload"]["type"] == "conflicts"]
    assert against
    assert against[0]["from"]["type"] == "learned_memory"
    assert against[0]["to"]["type"] == "fact"
    medication = raw(told, f"/graph/nodes/fact/items/{against[0]['to']['id']}")
    assert (medication["payload"]["type"], medication["payload"]["status"]) == ("medication", "active")


def test_the_older_session_routes_still_work(told: Calling) -> None:
    opened = told.sessions.create_session(PATIENT)
    assert (opened.patient_id, told.sessions.get_session(PATIENT, opened.session_id)) == (PATIENT, opened)
    assert told.sessions.upsert_session(PATIENT, "s1").session_id == "s1"
    assert told.sessions.upsert_session(PATIENT, "s9") == told.sessions.upsert_session(PATIENT, "s9")
    assert told.sessions.list_session_memories(PATIENT, "s9").data == []
    added = told.sessions.append_messages(
        PATIENT, "s9", {"messages": [{"role": "user", "content": "I have a headache."}]}
    )
    assert added["ingestion"]["staged"]["messages"] == 1
    told.settle(PATIENT)
    assert told.ingest.get_ingestion(PATIENT, added["ingestion"]["ingestionId"]).status == "succeeded"
    assert told.sessions.get_session(PATIENT, "s9").session_id == "s9"
    assert told.sessions.generate_memories(PATIENT, "s9")["status"] == "accepted"
    refused(lambda: told.sessions.create_session("nobody"), 404, "NOT_FOUND")
    refused(lambda: told.sessions.upsert_session(PATIENT, "_no"), 400, "INVALID_ARGUMENT")
    refused(lambda: told.sessions.append_messages(PATIENT, "s9", {"messages": []}), 400, "INVALID_ARGUMENT")


def test_the_reports_say_what_was_resolved(told: Calling) -> None:
    report = told.patients.get_resolution(PATIENT, per_page=500)
    assert report.summary.merged_facts >= 1
    assert report.summary.total_events == 3
    assert report.meta.total == report.summary.total_facts == len(report.facts)
    otitis = next(each for each in report.facts if each.display == "Otitis media")
    assert {each.origin for each in otitis.provenance.sources} == {"Condition/otitis", "Condition/e1"}
    assert 0 <= otitis.provenance.confidence <= 1
    order = [(each.type, each.display) for each in report.facts]
    assert order == sorted(order)
    page = told.patients.get_resolution(PATIENT, page=1, per_page=2)
    assert [each.id for each in page.facts] == [each.id for each in report.facts[2:4]]
    data = told.patients.get_reconciliation(PATIENT, format="json")
    assert "Otitis media" in {each.display for each in data.merged_entities}
    assert "Zebrafish" in data.patient_name
    markdown = told.patients.get_reconciliation(PATIENT)
    assert isinstance(markdown, str)
    assert markdown == told.patients.get_reconciliation(PATIENT, format="markdown")
    assert "Otitis media" in markdown


def test_a_patient_of_whom_nothing_is_known_has_an_empty_report(api: Calling) -> None:
    api.patients.upsert_patient(PATIENT)
    report = api.patients.get_resolution(PATIENT)
    assert (report.summary, report.meta, report.facts) == (None, None, [])
    assert api.patients.get_patient(PATIENT).name == ""
    assert api.patients.get_reconciliation(PATIENT, format="json").stats.input_entities == 0


def test_an_answer_under_the_same_stamp_is_not_sent_again(told: Calling) -> None:
    with httpx.Client(base_url=f"{told.url}/v1/patients/{PATIENT}", trust_env=False, timeout=60) as client:
        for path in ("/vfs", "/read?path=/_index.md", "/vfs?path=/_index.md"):
            first = client.get(path)
            etag = first.headers["etag"]
            again = client.get(path, headers={"If-None-Match": f'"other", W/{etag}'})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
            assert client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200
        told.ingest.ingest_sessions(PATIENT, {"sessions": [{"messages": leo.talk()}]})
        told.settle(PATIENT)
        assert client.get("/vfs", headers={"If-None-Match": etag}).status_code == 200


def test_the_past_is_read_as_it_was_known_and_as_it_was(told: Calling) -> None:
    before = raw(told, "/graph/nodes/fact/items", known_at="2026-02-15T08:59:59Z")
    assert before["meta"]["total"] == 0
    earlier = raw(told, "/graph/nodes/fact/items", true_at="2025-06-01")["data"]
    assert "condition" not in {each["payload"]["type"] for each in earlier}


def test_a_context_is_assembled_within_its_budget(told: Calling) -> None:
    def ask(budget: int) -> httpx.Response:
        body = {"patient": PATIENT, "task": "allergy_check", "budgetTokens": budget, "query": "amoxicillin"}
        return httpx.post(f"{told.url}/v1/context", json=body, trust_env=False, timeout=60)

    answer = ask(600)
    assert answer.status_code == 200, answer.text
    made = answer.json()
    assert answer.headers["etag"] == f'"{made["stamp"]}"'
    assert 0 < made["tokens"] <= 600
    assert made["items"]
    assert all(0 <= each["authority"]["weight"] <= 1 for each in made["items"] if each["authority"])
    assert ask(0).json()["tokens"] == 0
    assert ask(-1).status_code == 400
    first = made["items"][0]
    explained = httpx.post(
        f"{told.url}/v1/explain",
        json={"patient": PATIENT, "item": f"{made['id']}[{first['number']}]"},
        trust_env=False,
        timeout=60,
    )
    assert explained.status_code == 200, explained.text
    # a bracket stands for the statement that is cited, not for the fact whose line it ends
    assert explained.json()["item"] == first["citations"][0]
    assert explained.json()["testimonies"][0]["statement"]["id"] == first["citations"][0]


def test_found_items_are_explained_down_to_the_bytes(told: Calling) -> None:
    with httpx.Client(base_url=told.url, trust_env=False, timeout=60) as client:
        hits = client.post("/v1/search", json={"patient": PATIENT, "query": "otitis media", "limit": 5}).json()["data"]
        assert 0 < len(hits) <= 5
        assert "titis" in hits[0]["title"] + hits[0]["snippet"]
        extracted = told.graph.list_nodes(PATIENT, "extracted_fact", per_page=500).data
        otitis = next(each for each in extracted if each.payload.source.ref == "Condition/otitis")
        found = client.post("/v1/explain", json={"patient": PATIENT, "item": otitis.id}).json()
        seen = found["testimonies"][0]["seen"][0]
        assert seen["place"]["pointer"] == "/entry/4/resource"
        assert "otitis" in seen["excerpt"]
        bytes = client.get(f"/v1/patients/{PATIENT}/documents/{seen['document']}/content")
        assert bytes.json() == leo.northside()
        assert client.get(f"/v1/patients/{PATIENT}/documents/en_no/content").status_code == 404
        assert client.post("/v1/search", json={"query": "x"}).status_code == 400
        assert client.post("/v1/explain", json={"patient": PATIENT, "item": "fa_no"}).status_code == 404


def test_conflicts_are_listed_with_every_side(told: Calling) -> None:
    page = raw(told, "/conflicts")
    assert page["meta"]["total"] == len(page["data"]) >= 1
    for each in page["data"]:
        assert len(each["sides"]) >= 2
    (stopped,) = [each for each in page["data"] if each["between"] == "memory and fact"]
    assert (stopped["kind"], stopped["factKind"]) == ("status", "medication")
    assert [each["says"] for each in stopped["sides"]] == [
        "Amoxicillin 250 mg/5 mL, active",
        "We stopped the amoxicillin on Thursday",
    ]
    assert raw(told, "/conflicts", perPage=1, page=99)["data"] == []


def test_names_stay_out_of_logs(told: Calling, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        told.ingest.ingest_fhir_r4(PATIENT, leo.northside())
        told.settle(PATIENT)
        told.patients.get_patient(PATIENT)
        told.vfs.read_vfs(PATIENT)
        refused(lambda: told.patients.get_patient("Zebrafish"), 404, "NOT_FOUND")
        broken = leo.northside()
        broken["entry"][2]["resource"] = "Zebrafish"
        told.ingest.ingest_fhir_r4(PATIENT, broken)
        answer = httpx.post(
            f"{told.url}/v1/patients/{PATIENT}/ingestions/fhir/r4",
            content=b'{"resourceType": "Zebrafish',
            headers={"Content-Type": "application/json"},
            trust_env=False,
        )
    assert answer.status_code == 400
    assert "Zebrafish" not in answer.text
    ours = [each for each in caplog.records if each.name.startswith(("iamata", "uvicorn"))]
    assert ours
    assert not any("Zebrafish" in each.getMessage() for each in ours)


def test_every_method_of_the_public_client_is_answered(told: Calling) -> None:
    """Each is called as generated, and what it answers is read by the client's own models."""
    fact = told.graph.list_nodes(PATIENT, "fact").data[0].id
    edge = told.graph.list_edges(PATIENT, "resolves_to").data[0].id
    ingestion = told.ingest.list_ingestions(PATIENT).data[0].ingestion_id
    message = {"messages": [{"role": "user", "content": "hello"}]}
    given: dict[str, tuple[Any, ...]] = {
        "get_node": (PATIENT, "fact", fact),
        "list_nodes": (PATIENT, "fact"),
        "get_edge": (PATIENT, "resolves_to", edge),
        "list_edges": (PATIENT, "resolves_to"),
        "get_service_info": (),
        "ingest_fhir_r4": (PATIENT, leo.eastgate()),
        "ingest_fhir_r5": (PATIENT, sent.r5()),
        "ingest_cda_r2": (PATIENT, sent.cda()),
        "ingest_sessions": (PATIENT, {"sessions": [message]}),
        "list_ingestions": (PATIENT,),
        "get_ingestion": (PATIENT, ingestion),
        "list_patients": (),
        "get_patient": (PATIENT,),
        "get_resolution": (PATIENT,),
        "get_reconciliation": (PATIENT,),
        "upsert_patient": (PATIENT,),
        "delete_patient": ("gone",),
        "list_session_memories": (PATIENT, "s1"),
        "create_session": (PATIENT,),
        "get_session": (PATIENT, "s1"),
        "upsert_session": (PATIENT, "s1"),
        "append_messages": (PATIENT, "s1", message),
        "generate_memories": (PATIENT, "s1"),
        "browse_vfs": (PATIENT,),
        "read_vfs": (PATIENT,),
    }
    client = ContextEngineClient(base_url=told.url)
    try:
        for resource in RESOURCES:
            for name, _ in inspect.getmembers(getattr(client, resource), inspect.ismethod):
                method = getattr(getattr(told, resource), name)
                if name.startswith("__"):
                    continue
                method(*given.get(name, (PATIENT, {})))
    finally:
        client.close()

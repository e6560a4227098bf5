"""What does an agent see through MCP? Spoken with the SDK's own client, in both eras of the protocol."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import two_patients
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from iamata import ContextRequest, Engine, patient
from iamata.errors import Bug, InvalidValue
from iamata.interfaces import mcp
from iamata.interfaces.mcp.tools import TOOLS
from iamata.interfaces.wire import answers
from iamata.language.tokens import token_counter

MARK = "Zyxwvut"  # stands for what no error may repeat
PER_TOOL: dict[str, dict[str, Any]] = {
    "assemble_context": {"patient_id": "leo", "task": "medication_reconciliation"},
    "get_patient_info": {"patient_id": "leo"},
    "browse_patient": {"patient_id": "leo", "path": "/medications/"},
    "read_patient": {"patient_id": "leo"},
    "search_patient": {"patient_id": "leo", "query": "amoxicillin"},
    "recall_memories": {"patient_id": "leo"},
    "list_conflicts": {"patient_id": "leo"},
    "explain": {"patient_id": "leo", "item": "/patient/leo/_index.md"},
    "append_messages": {
        "patient_id": "leo",
        "session_id": "later",
        "messages": [{"role": "user", "content": "He sleeps well."}],
    },
    "browse": {"path": "/"},
    "read": {"path": "/patient/leo/_index.md"},
    "list_entries": {"subject": "organization/northside"},
    "search_entries": {"subject": "organization/northside", "query": "amoxicillin"},
    "record_inference": {
        "patient_id": "leo",
        "title": "T",
        "text": "Text.",
        "derived_from": ["/patient/leo/_index.md"],
    },
    "record_cue": {"title": "Allergies first", "text": "For allergy_check open /patient/{id}/allergies/."},
}


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:") as engine:
        two_patients.fill(engine)
        yield engine


@pytest.fixture(params=["auto", "legacy"])
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def ask(engine: Any, tool: str, given: dict[str, Any], *, era: str = "auto", **access: Any) -> Any:
    """The result of one call."""

    async def scene() -> Any:
        async with Client(mcp.create_server(engine, access=mcp.agent(**access)), mode=era) as client:
            return await client.call_tool(tool, given)

    return two_patients.run(scene)


def listed(engine: Engine, **access: Any) -> dict[str, Any]:
    async def scene() -> Any:
        async with Client(mcp.create_server(engine, access=mcp.agent(**access))) as client:
            return await client.list_tools()

    return {tool.name: tool for tool in two_patients.run(scene).tools}


def test_every_tool_of_the_contract_is_there_and_says_what_it_takes(engine: Engine) -> None:
    tools = listed(engine)
    assert set(tools) == set(PER_TOOL)
    for name, tool in tools.items():
        schema = tool.input_schema
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(PER_TOOL[name], schema)
        assert len(tool.description) > 40
        assert all(each.get("description") for each in schema["properties"].values()), name
        assert "$ref" not in json.dumps(schema)
        if name not in ("browse", "read", "list_entries", "search_entries", "record_cue"):
            assert "patient_id" in schema["required"]
            assert next(iter(schema["properties"])) == "patient_id"
    assert {"patient_id", "path"} <= set(tools["browse_patient"].input_schema["properties"])
    assert {"patient_id", "path", "format", "token_budget"} <= set(tools["read_patient"].input_schema["properties"])
    assert {"patient_id", "query", "limit"} <= set(tools["search_patient"].input_schema["properties"])


def test_only_the_tool_that_writes_says_that_it_writes(engine: Engine) -> None:
    hints = {name: tool.annotations for name, tool in listed(engine).items()}
    assert [name for name, hint in hints.items() if not hint.read_only_hint] == [
        "append_messages",
        "record_inference",
        "record_cue",
    ]
    assert not any(hint.destructive_hint or hint.open_world_hint for hint in hints.values())
    assert "append_messages" not in listed(engine, may_write=False)


@pytest.mark.parametrize("tool", sorted(set(PER_TOOL) - {"explain", "record_inference"}))
def test_every_tool_answers_with_text_and_structure(engine: Engine, tool: str, era: str) -> None:
    result = ask(engine, tool, PER_TOOL[tool], era=era)
    assert not result.is_error
    assert result.content[0].text.strip()
    assert isinstance(result.structured_content, dict)
    assert two_patients.CANARY not in json.dumps(result.structured_content)


def test_the_structure_is_the_json_of_the_wire(engine: Engine) -> None:
    at = {"known_at": "2100-01-01", "true_at": "2026-02-16"}
    when: dict[str, Any] = arguments_of(at)
    result = ask(engine, "read_patient", {"patient_id": "leo", "path": "/medications/", **at})
    assert result.structured_content == answers.page(
        engine.read("/patient/leo/medications/", token_budget=2000, **when)
    )
    found = ask(engine, "search_patient", {"patient_id": "leo", "query": "amoxicillin", **at}).structured_content
    hits = engine.search(patient("leo"), "amoxicillin", **when)
    assert found == {"data": [answers.hit(hit) for hit in hits], "didYouMean": None}
    request = ContextRequest(subjects=(patient("leo"),), task="allergy_check", budget_tokens=300)
    made = ask(
        engine, "assemble_context", {"patient_id": "leo", "task": "allergy_check", "budget_tokens": 300, **at}
    ).structured_content
    expected_context = answers.context(engine.context(request, **when))
    assert made["text"] == expected_context["text"]
    assert all("factors" not in (item["authority"] or {}) for item in made["items"])
    given = {"patient_id": "leo", "task": "allergy_check", "budget_tokens": 300, "factors": True, **at}
    assert ask(engine, "assemble_context", given).structured_content == expected_context
    listing = ask(engine, "browse_patient", {"patient_id": "leo", "path": "/allergies/", **at}).structured_content
    expected = answers.listing("leo", engine.browse("/patient/leo/allergies/", **when))
    assert {name: listing[name] for name in expected} == expected


def arguments_of(at: dict[str, str]) -> dict[str, Any]:
    from iamata.interfaces.wire.requests import moment

    return {name: moment(said, name) for name, said in at.items()}


@pytest.mark.parametrize("budget", [0, 1, 40, 150, 400, 10_000_000])
@pytest.mark.parametrize("shape", ["narrative", "compact", "structured"])
def test_a_text_is_never_over_the_budget_it_was_given(engine: Engine, budget: int, shape: str) -> None:
    count = token_counter().count
    read = ask(engine, "read_patient", {"patient_id": "leo", "token_budget": budget, "format": shape})
    made = ask(engine, "assemble_context", {"patient_id": "leo", "budget_tokens": budget})
    for result in (read, made):
        text = result.content[0].text
        assert not result.is_error
        assert count(text) <= budget
        assert result.structured_content["tokens"] == count(text)


def test_what_no_budget_bounds_is_bounded_by_its_limit(engine: Engine) -> None:
    assert len(ask(engine, "recall_memories", {"patient_id": "leo", "limit": 2}).structured_content["data"]) == 2
    assert "1 to 2 of 3" in ask(engine, "recall_memories", {"patient_id": "leo", "limit": 2}).content[0].text
    fact = next(id for id, each in engine.graph("leo").facts.items() if each.display == "Otitis media")
    brief = ask(engine, "explain", {"patient_id": "leo", "item": fact, "limit": 1, "excerpt_chars": 20})
    assert len(brief.structured_content["testimonies"]) == 1
    assert brief.structured_content["testimoniesTotal"] == 2
    assert all(
        len(seen.get("excerpt", "")) < 60 for each in brief.structured_content["testimonies"] for seen in each["seen"]
    )
    assert "1 to 1 of 2" in brief.content[0].text


def test_a_context_can_be_asked_why_by_what_its_text_says(engine: Engine) -> None:
    made = ask(engine, "assemble_context", {"patient_id": "leo", "task": "medication_reconciliation"})
    assert "says stopped" in made.content[0].text
    id = made.content[1].text.partition(":")[0]
    assert id == made.structured_content["id"]
    cited = next(i for i in made.structured_content["items"] if "mother" in i["text"] and "conflict" in i["text"])
    why = ask(engine, "explain", {"patient_id": "leo", "item": f"{id}[{cited['number']}]"})
    assert "MedicationRequest" in why.content[0].text
    page = ask(engine, "read_patient", {"patient_id": "leo"}).structured_content
    handle = page["citations"][0]["handle"]
    assert not ask(engine, "explain", {"patient_id": "leo", "item": handle}).is_error


def test_both_sides_of_a_conflict_are_told_with_who_says_so(engine: Engine) -> None:
    text = ask(engine, "list_conflicts", {"patient_id": "leo"}).content[0].text
    assert "Dr Ames (system-reported)" in text
    assert '"We stopped the amoxicillin on Thursday": proxy (user-reported, mother)' in text
    assert "1 open conflicts" in ask(engine, "get_patient_info", {"patient_id": "leo"}).content[0].text


def test_memories_are_recalled_by_words_kind_and_session(engine: Engine) -> None:
    def quotes(**given: Any) -> list[str]:
        found = ask(engine, "recall_memories", {"patient_id": "leo", **given}).structured_content["data"]
        return [each["content"] for each in found]

    assert set(quotes(session_id="talk-leo")) == {
        "We stopped the amoxicillin on Thursday",
        "he was covered in hives",
        "My sister is allergic to peanuts",
    }
    assert quotes(query="peanuts")[0] == "My sister is allergic to peanuts"
    assert quotes(kinds=["side_effect"]) == ["he was covered in hives"]
    assert quotes(session_id="never") == []


def test_a_conversation_is_appended_with_its_speakers_and_a_repeat_adds_nothing() -> None:
    messages = [
        {"role": "assistant", "content": "Does he still take it?"},
        {"role": "user", "content": "No, we stopped the ibuprofen.", "speaker": "caregiver", "relationship": "father"},
    ]
    given = {"patient_id": "leo", "session_id": "visit 7", "messages": messages, "whole": True}
    with Engine.open(":memory:") as engine:
        engine.put_patient("leo")
        assert ask(engine, "append_messages", given).structured_content["ingestion"]["staged"]["messages"] == 2
        assert "0 turns added" in ask(engine, "append_messages", given).content[0].text
        held = engine.session("leo", "visit 7").messages
        assert [(m.turn.speaker.value, m.turn.relationship) for m in held] == [("agent", ""), ("caregiver", "father")]
        recalled = ask(engine, "recall_memories", {"patient_id": "leo"}).structured_content["data"]
        assert [each["content"] for each in recalled] == ["we stopped the ibuprofen"]
        assert [r.principal for r in engine.audit_records() if r.action == "append"] == ["agent/mcp"] * 2
        edited = ask(engine, "append_messages", given | {"messages": messages[1:]})
        assert edited.structured_content["type"] == "FAILED_PRECONDITION"
        wrong = ask(engine, "append_messages", given | {"messages": [{**messages[0], "speaker": "patient"}]})
        assert wrong.structured_content["details"] == [{"place": "/messages/0/speaker"}]


def test_appending_to_somebody_unknown_makes_no_patient(engine: Engine) -> None:
    given = PER_TOOL["append_messages"] | {"patient_id": "lio"}
    assert ask(engine, "append_messages", given).structured_content["type"] == "NOT_FOUND"
    assert [row.id for row in engine.patients()[0]] == ["leo", "zoe"]


@pytest.mark.parametrize(
    ("tool", "given", "type", "said"),
    [
        ("search_patient", {"patient_id": "leo"}, "INVALID_ARGUMENT", "query"),
        ("search_patient", {"patient_id": "leo", "query": [MARK]}, "INVALID_ARGUMENT", "/query"),
        ("search_patient", {"patient_id": "leo", "query": "x", MARK: 1}, "INVALID_ARGUMENT", "it takes patient_id"),
        ("search_patient", {"patient_id": MARK, "query": "x"}, "NOT_FOUND", "no patient"),
        ("search_patient", {"patient_id": f"{MARK} {MARK}", "query": "x"}, "INVALID_ARGUMENT", "patient id"),
        ("read_patient", {"patient_id": "leo", "format": MARK}, "INVALID_ARGUMENT", "/format"),
        ("read_patient", {"patient_id": "leo", "path": "/../zoe/_index.md"}, "INVALID_ARGUMENT", "path"),
        ("read_patient", {"patient_id": "leo", "known_at": MARK}, "INVALID_ARGUMENT", "known_at"),
        ("read_patient", {"patient_id": "leo", "token_budget": -1}, "INVALID_ARGUMENT", "/token_budget"),
        ("assemble_context", {"patient_id": "leo", "task": MARK}, "INVALID_ARGUMENT", "medication_reconciliation"),
        ("explain", {"patient_id": "leo", "item": MARK}, "NOT_FOUND", "no item"),
        ("browse", {"path": "/organization/north/"}, "NOT_FOUND", "no"),
    ],
)
def test_an_error_says_its_type_and_place_and_nothing_that_was_sent(
    engine: Engine, tool: str, given: dict[str, Any], type: str, said: str
) -> None:
    result = ask(engine, tool, given)
    assert result.is_error
    assert result.structured_content["type"] == type
    assert said in result.structured_content["message"]
    assert result.content[0].text == f"{type}: {result.structured_content['message']}"
    assert MARK not in result.model_dump_json()


def test_a_fault_is_told_without_its_words_and_logged_without_them(caplog: pytest.LogCaptureFixture) -> None:
    class Failing:
        def search(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError(MARK)

        def patient(self, *_: Any, **__: Any) -> Any:
            raise Bug(MARK)

    caplog.set_level(logging.DEBUG)
    for tool, given in (("search_patient", {"query": MARK}), ("get_patient_info", {})):
        result = ask(Failing(), tool, {"patient_id": "leo", **given})
        assert result.structured_content == {
            "type": "INTERNAL",
            "message": "a fault in iamata; please report it",
        }
    assert "RuntimeError at test_mcp_tools.search" in caplog.text
    assert MARK not in caplog.text


def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(engine: Engine, era: str) -> None:
    async def scene() -> None:
        async with Client(mcp.create_server(engine), mode=era) as client:
            with pytest.raises(MCPError, match="there is no such tool; there are assemble_context") as raised:
                await client.call_tool(MARK, {})
            assert MARK not in str(raised.value)

    two_patients.run(scene)


def test_resources_are_the_addresses_of_the_tree(engine: Engine, era: str) -> None:
    async def scene() -> None:
        async with Client(mcp.create_server(engine), mode=era) as client:
            found = (await client.list_resources()).resources
            assert [each.uri for each in found] == [f"iamata://patient/{id}/_index.md" for id in ("leo", "zoe")]
            assert two_patients.CANARY not in str(found)
            templates = (await client.list_resource_templates()).resource_templates
            assert [each.uri_template for each in templates] == [
                "iamata://patient/{patient_id}/_index.md",
                "iamata://patient/{patient_id}/{+path}",
            ]
            index = (await client.read_resource(found[0].uri)).contents[0]
            assert index.text == engine.read("/patient/leo/_index.md").text
            assert (index.mime_type, index.uri) == ("text/markdown", found[0].uri)
            listing = (await client.read_resource("iamata://patient/leo/medications/")).contents[0].text
            assert "- current/: medicines that are current, 1 item" in listing
            for node in engine.browse("/patient/leo/conditions/active/").nodes:
                if node.directory:
                    raw = await client.read_resource(f"iamata:/{node.address}raw.json")
                    assert raw.contents[0].mime_type == "application/json"
                    assert json.loads(raw.contents[0].text)
            for wrong in ("iamata://patient/nobody/_index.md", "iamata://patient/leo/no/such.md", "file:///etc/passwd"):
                with pytest.raises(MCPError) as raised:
                    await client.read_resource(wrong)
                assert raised.value.data["type"] == "NOT_FOUND"

    two_patients.run(scene)


def test_the_list_of_resources_has_pages() -> None:
    async def scene(engine: Engine) -> list[str]:
        async with Client(mcp.create_server(engine)) as client:
            first = await client.list_resources()
            second = await client.list_resources(cursor=first.next_cursor)
            assert second.next_cursor is None
            with pytest.raises(MCPError, match="cursor"):
                await client.list_resources(cursor=MARK)
            return [each.uri for each in (*first.resources, *second.resources)]

    with Engine.open(":memory:") as engine:
        for number in range(60):
            engine.put_patient(f"p{number:02}")
        assert two_patients.run(scene, engine) == [f"iamata://patient/p{n:02}/_index.md" for n in range(60)]


def test_prompts_name_tools_that_exist(engine: Engine, era: str) -> None:
    names = {tool.name for tool in TOOLS}

    async def scene() -> None:
        async with Client(mcp.create_server(engine), mode=era) as client:
            assert "never an" in (client.instructions or "")
            found = (await client.list_prompts()).prompts
            assert [each.name for each in found] == ["navigate_patient", "medication_reconciliation", "allergy_check"]
            for each in found:
                made = await client.get_prompt(each.name, {"patient_id": "leo"})
                text = made.messages[0].content.text
                assert "patient leo" in text
                assert any(name in text for name in names)
                assert "{" not in text.replace("{context id}", "")
            for given in ({}, {"patient_id": "a b"}):
                with pytest.raises(MCPError) as raised:
                    await client.get_prompt("allergy_check", given)
                assert raised.value.data["type"] == "INVALID_ARGUMENT"
            with pytest.raises(MCPError):
                await client.get_prompt(MARK, {"patient_id": "leo"})

    two_patients.run(scene)


def test_an_agent_is_named_in_the_audit_log_and_acts_for_the_person_here(engine: Engine) -> None:
    ask(engine, "get_patient_info", {"patient_id": "leo"}, id="intake-bot")
    newest = engine.audit_records(per_page=5)
    assert {record.principal for record in newest if record.action in ("graph", "receipts")} == {"agent/intake-bot"}
    assert {record.on_behalf_of for record in newest if record.action == "graph"} == {"local"}
    with pytest.raises(InvalidValue):
        mcp.agent("an agent")

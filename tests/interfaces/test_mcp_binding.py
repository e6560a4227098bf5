"""A server bound to one patient: for every tool, resource and prompt no other patient exists, whatever is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import two_patients
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from iamata import Engine
from iamata.interfaces import mcp
from iamata.interfaces.mcp.tools import TOOLS

CANARY = two_patients.CANARY
# What each tool needs besides the patient.
NEEDED: dict[str, dict[str, Any]] = {
    "assemble_context": {"task": "medication_reconciliation"},
    "get_patient_info": {},
    "browse_patient": {"path": "/conditions/active/"},
    "read_patient": {},
    "search_patient": {"query": CANARY},
    "recall_memories": {},
    "list_conflicts": {},
    "explain": {"item": "/patient/zoe/_index.md"},
    "append_messages": {"session_id": "talk-zoe", "messages": [{"role": "user", "content": "I stopped it."}]},
    "browse": {},
    "read": {},
    "list_entries": {},
    "search_entries": {},
    "record_inference": {"title": "T", "text": "It follows.", "derived_from": ["/patient/zoe/_index.md"]},
    "record_cue": {},
}
OF_OTHERS = {"list_entries", "search_entries", "record_cue"}
FOR_A_PATIENT = sorted(set(NEEDED) - {"browse", "read"} - OF_OTHERS)
READING = sorted(set(FOR_A_PATIENT) - {"append_messages", "record_inference"})


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:") as engine:
        two_patients.fill(engine)
        yield engine


def bound_to_leo(engine: Engine) -> Client:
    return Client(mcp.create_server(engine, access=mcp.agent(patient="leo")))


def call(engine: Engine, tool: str, given: dict[str, Any]) -> Any:
    async def scene() -> Any:
        async with bound_to_leo(engine) as client:
            return await client.call_tool(tool, given)

    return two_patients.run(scene)


def test_the_list_of_tools_here_is_whole() -> None:
    assert {tool.name for tool in TOOLS} == set(NEEDED)


def test_the_canary_is_there_for_a_server_that_is_not_bound(engine: Engine) -> None:
    async def scene() -> dict[str, str]:
        async with Client(mcp.create_server(engine)) as client:
            asked = {tool: {"patient_id": "zoe"} | NEEDED[tool] for tool in READING}
            asked |= {"browse": {"path": "/patient/zoe/conditions/active/"}, "read": {"path": "/patient/zoe/_index.md"}}
            asked["explain"]["item"] = next(f.id for f in engine.graph("zoe").facts.values() if CANARY in f.display)
            return {tool: str((await client.call_tool(tool, given)).content) for tool, given in asked.items()}

    assert [tool for tool, text in two_patients.run(scene).items() if CANARY.lower() not in text.lower()] == []


@pytest.mark.parametrize("tool", FOR_A_PATIENT)
def test_another_patient_is_as_absent_as_one_that_does_not_exist(engine: Engine, tool: str) -> None:
    before = engine.patient("zoe").version
    answers = [call(engine, tool, {"patient_id": id} | NEEDED[tool]) for id in ("zoe", "nobody")]
    other, nobody = (each.model_dump_json() for each in answers)
    assert other == nobody
    assert answers[0].is_error
    assert answers[0].structured_content["type"] == "NOT_FOUND"
    assert CANARY not in other
    assert engine.patient("zoe").version == before


@pytest.mark.parametrize("tool", FOR_A_PATIENT)
def test_the_bound_patient_is_meant_where_none_is_named(engine: Engine, tool: str) -> None:
    given = dict(NEEDED[tool])
    if tool == "explain":
        given["item"] = next(iter(engine.graph("leo").facts))
    if tool == "record_inference":
        given["derived_from"] = [next(iter(engine.graph("leo").facts))]
    if tool == "append_messages":
        given["session_id"] = "another"
    for said in (given, {"patient_id": "leo"} | given):
        result = call(engine, tool, said)
        assert not result.is_error, result.content[0].text
        assert CANARY not in result.model_dump_json().replace(f'"query":"{CANARY}"', "")


def test_no_id_address_or_citation_leads_to_another_patient(engine: Engine) -> None:
    for thing in two_patients.things_of_zoe(engine):
        explained = call(engine, "explain", {"item": thing})
        assert explained.is_error, thing
        assert CANARY not in explained.model_dump_json()
        if thing.startswith("/"):
            for tool in ("browse", "read", "browse_patient", "read_patient"):
                result = call(engine, tool, {"path": thing})
                assert result.structured_content["type"] == "NOT_FOUND", (tool, thing)
                assert CANARY not in result.model_dump_json()
    for path in (
        "/patient/zoe/",
        "/patient/zoe/medications/",
        "/patient/leo/../zoe/",
        "/patient/%7Aoe/",
        "//patient/zoe/",
    ):
        for tool in ("browse", "read", "browse_patient", "read_patient"):
            result = call(engine, tool, {"path": path})
            assert result.is_error, (tool, path)
            assert CANARY not in result.model_dump_json()


def test_no_second_subject_or_session_brings_another_patient_in(engine: Engine) -> None:
    both = call(engine, "assemble_context", {"also_about": ["patient/zoe"]})
    assert both.structured_content["type"] == "INVALID_ARGUMENT"
    recalled = call(engine, "recall_memories", {"session_id": "talk-zoe"})
    assert recalled.structured_content["data"] == []
    found = call(engine, "search_patient", {"query": CANARY})
    assert CANARY not in found.model_dump_json()


def test_lists_hold_the_bound_patient_alone(engine: Engine) -> None:
    async def scene() -> None:
        async with bound_to_leo(engine) as client:
            root = await client.call_tool("browse", {"path": "/"})
            assert [each["address"] for each in root.structured_content["children"]] == ["/patient/", "/patient/leo/"]
            assert "1 patient" in root.content[0].text
            assert [each.uri for each in (await client.list_resources()).resources] == [
                "iamata://patient/leo/_index.md"
            ]
            templates = (await client.list_resource_templates()).resource_templates
            assert all(each.uri_template.startswith("iamata://patient/leo/") for each in templates)
            for tool in (await client.list_tools()).tools:
                assert "patient_id" not in tool.input_schema.get("required", [])
                assert "zoe" not in json.dumps(tool.input_schema)

    two_patients.run(scene)


@pytest.mark.parametrize(
    "uri",
    [
        "iamata://patient/zoe/_index.md",
        "iamata://patient/zoe/",
        "iamata://patient/%7Aoe/_index.md",
        "iamata://patient/leo/../zoe/_index.md",
        "iamata://patient/leo/%2e%2e/zoe/_index.md",
        "iamata://patient/leo%2F..%2Fzoe/_index.md",
        "iamata:///patient/zoe/_index.md",
        "iamata://patient/leo/%252e%252e/zoe/_index.md",
    ],
)
def test_no_resource_of_another_patient_is_read(engine: Engine, uri: str) -> None:
    async def scene() -> None:
        async with bound_to_leo(engine) as client:
            with pytest.raises(MCPError) as raised:
                await client.read_resource(uri)
            assert raised.value.data["type"] in ("NOT_FOUND", "INVALID_ARGUMENT")
            assert CANARY not in str(raised.value.error)

    two_patients.run(scene)


def test_another_patients_resource_fails_as_one_that_does_not_exist(engine: Engine) -> None:
    async def scene(id: str) -> str:
        async with bound_to_leo(engine) as client:
            with pytest.raises(MCPError) as raised:
                await client.read_resource(f"iamata://patient/{id}/_index.md")
            return str(raised.value.error)

    assert two_patients.run(scene, "zoe") == two_patients.run(scene, "nobody")


def test_a_prompt_is_about_the_bound_patient_only(engine: Engine) -> None:
    async def scene() -> None:
        async with bound_to_leo(engine) as client:
            made = await client.get_prompt("allergy_check")
            assert "patient leo" in made.messages[0].content.text
            with pytest.raises(MCPError) as raised:
                await client.get_prompt("allergy_check", {"patient_id": "zoe"})
            assert raised.value.data["type"] == "NOT_FOUND"

    two_patients.run(scene)


def test_refusals_are_in_the_audit_log(engine: Engine) -> None:
    call(engine, "get_patient_info", {"patient_id": "zoe"})
    newest = engine.audit_records(subject="patient/zoe", per_page=1)[0]
    assert (newest.allowed, newest.principal, newest.reasons) == (False, "agent/mcp", ("no-relation-to-patient",))


def test_an_agent_that_is_bound_to_a_patient_keeps_no_cues_of_its_own(engine: Engine) -> None:
    """What it has learned could carry the patient to the next one's agent."""
    result = call(engine, "record_cue", {"title": "Where", "text": f"{CANARY} stands in conditions."})
    assert result.structured_content["type"] == "PERMISSION_DENIED"
    assert result.structured_content["details"] == [{"reason": "bound-to-patients"}]
    assert call(engine, "list_entries", {"subject": "agent/mcp"}).structured_content["data"] == []

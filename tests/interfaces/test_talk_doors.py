"""Transcripts, memories, tool calls and rulings on memories by HTTP, the command line and MCP."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import two_patients
from live import running
from mcp.client import Client
from typer.testing import CliRunner, Result

from iamata import Engine
from iamata.interfaces import mcp
from iamata.interfaces.cli import app
from iamata.settings import Settings

MARK = "Zyxwvut"
NOW = datetime(2026, 2, 15, 9, tzinfo=UTC)
VTT = (
    b"WEBVTT\n\n00:00:01.000 --> 00:00:04.000\n<v Dr Ames>Is he still taking the lisinopril?\n\n"
    b"00:00:05.000 --> 00:00:09.000\n<v Ruth>We stopped the lisinopril on Thursday.\n"
)
SRT = (
    b"1\n00:00:01,000 --> 00:00:04,000\nDr Ames: Is he still taking the lisinopril?\n\n"
    b"2\n00:00:05,000 --> 00:00:09,000\nRuth: We stopped the lisinopril on Thursday.\n"
)
CSV = (
    b"speaker,time,text\nDr Ames,00:00:01,Is he still taking the lisinopril?\n"
    b"Ruth,00:00:05,We stopped the lisinopril on Thursday.\n"
)
TEXT = (
    b"[00:00:01] Dr Ames: Is he still taking the lisinopril?\n[00:00:05] Ruth: We stopped the lisinopril on Thursday.\n"
)
FORMS = {"text/vtt": VTT, "application/x-subrip": SRT, "text/csv": CSV, "text/plain": TEXT}
STOPPED = "We stopped the lisinopril on Thursday"
SAID = ("2026-02-15T09:00:01+00:00", "2026-02-15T09:00:05+00:00")


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", clock=lambda: NOW) as engine:
        engine.put_patient("leo")
        yield engine


@pytest.fixture
def http(engine: Engine) -> Iterator[httpx.Client]:
    with (
        running(engine, Settings(idle_s=0.05)) as url,
        httpx.Client(base_url=f"{url}/v1/patients/leo", trust_env=False, timeout=60) as client,
    ):
        yield client


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("IAMATA_")]:
        monkeypatch.delenv(name)
    return lambda *args, input=None: CliRunner().invoke(app, list(args), input=input)


def ask(engine: Engine, tool: str, given: dict[str, Any], **access: Any) -> Any:
    async def scene() -> Any:
        async with Client(mcp.create_server(engine, access=mcp.agent(**access))) as client:
            return await client.call_tool(tool, given)

    return two_patients.run(scene)


HOW = {"session": "visit", "beginsAt": "2026-02-15T09:00:00Z", "speaker": "Ruth=caregiver:mother", "wait": "true"}


def turns_of(told: Any) -> list[tuple[str, str, str]]:
    return [(each["speaker"], each.get("relationship", ""), each["content"]) for each in told["messages"]]


EXPECTED = [("clinician", "", "Is he still taking the lisinopril?"), ("caregiver", "mother", f"{STOPPED}.")]


@pytest.mark.parametrize("media", FORMS)
def test_http_takes_a_transcript_in_each_format_into_one_session(http: httpx.Client, media: str) -> None:
    made = http.post("/ingestions/transcripts", params=HOW, content=FORMS[media], headers={"Content-Type": media})
    assert made.status_code == 200, made.text
    told = made.json()
    assert (told["source"], told["status"], told["staged"]["messages"]) == ("session/v1", "succeeded", 2)
    assert turns_of(http.get("/sessions/visit").json()) == EXPECTED
    [memory] = http.get("/memories").json()["data"]
    assert (memory["content"], memory["since"]) == (STOPPED, "2026-02-12")
    assert [each["type"] for each in memory["links"]] == ["new"]
    again = http.post("/ingestions/transcripts", params=HOW, content=FORMS[media], headers={"Content-Type": media})
    assert again.json()["staged"]["messages"] == 0


@pytest.mark.parametrize("media", FORMS)
def test_the_command_line_takes_a_transcript_in_each_format(
    run: Callable[..., Result], tmp_path: Path, media: str
) -> None:
    tmp_path.joinpath("talk").write_bytes(FORMS[media])
    given = ("talk", "talk", "--patient", "leo", "--session", "visit", "--begins", "2026-02-15T09:00Z")
    refused = run(*given)
    assert refused.exit_code == 2
    assert "it is not known who speaks" in " ".join(refused.stderr.split())
    told = json.loads(run(*given, "--speaker", "Ruth=caregiver:mother", "--json").stdout)
    assert told["receipt"]["staged"]["messages"] == 2
    assert [each["content"] for each in told["memories"]] == [STOPPED]
    assert "2 turns of session visit of leo, 0 new." in run(*given, "--speaker", "Ruth=caregiver:mother").stdout
    edited = run(*given, "--speaker", "Ruth=caregiver:father")
    assert edited.exit_code == 4
    assert "turn 1" in edited.stderr


@pytest.mark.parametrize("media", FORMS)
def test_an_agent_hands_in_a_transcript_in_each_format(engine: Engine, media: str) -> None:
    given = {
        "patient_id": "leo",
        "session_id": "visit",
        "transcript": FORMS[media].decode(),
        "begins_at": "2026-02-15T09:00:00Z",
        "speakers": {"Ruth": "caregiver:mother"},
    }
    assert "2 turns added" in ask(engine, "append_messages", given).content[0].text
    assert "0 turns added" in ask(engine, "append_messages", given).content[0].text
    held = engine.session("leo", "visit").messages
    assert [(m.turn.speaker.value, m.turn.relationship, m.turn.text) for m in held] == EXPECTED
    assert tuple(m.turn.said_at.isoformat() for m in held if m.turn.said_at) == SAID
    for wrong in ({}, {"transcript": TEXT.decode(), "messages": [{"role": "user", "content": "x"}]}):
        refused = ask(engine, "append_messages", {"patient_id": "leo", "session_id": "visit", **wrong})
        assert refused.structured_content["type"] == "INVALID_ARGUMENT"


BAD: list[tuple[bytes, int, str, str]] = [
    (f"{MARK}: hello\n".encode(), 400, "INVALID_ARGUMENT", "line 1"),
    (f"patient 1: {MARK}\npatient 2: {MARK}\n".encode(), 400, "INVALID_ARGUMENT", "line 2"),
    (f"Ada (patient): {MARK}\nBen (patient): {MARK}\n".encode(), 400, "INVALID_ARGUMENT", "turn 1"),
    (f'[{{"role":"user","content":"{MARK}","patientId":"zoe"}}]'.encode(), 400, "INVALID_ARGUMENT", "/0/patientId"),
    (f'[{{"role":"user","content":"{MARK}","speaker":"king"}}]'.encode(), 400, "INVALID_ARGUMENT", "/0/speaker"),
    (b'[{"role":"user","content":""}]', 400, "INVALID_ARGUMENT", "/0/content"),
    (b'[{"role":"user","content":"\\ud800"}]', 400, "INVALID_ARGUMENT", "byte 36"),
    (f"[2026-02-15T09:00] patient: {MARK}\n".encode(), 400, "INVALID_ARGUMENT", "line 1"),
    (f"WEBVTT\n\n00:01 --> {MARK}\n<v Patient>a\n".encode(), 400, "INVALID_ARGUMENT", "line 3"),
    (b"speaker,text\npatient\n", 400, "INVALID_ARGUMENT", "row 2"),
]


@pytest.mark.parametrize(("body", "status", "type", "place"), BAD)
def test_what_cannot_be_taken_is_refused_with_its_place_at_every_door_and_stores_nothing(
    engine: Engine, http: httpx.Client, run: Callable[..., Result], body: bytes, status: int, type: str, place: str
) -> None:
    made = http.post(
        "/ingestions/transcripts", params={"session": "s"}, content=body, headers={"Content-Type": "text/plain"}
    )
    assert (made.status_code, made.json()["type"]) == (status, type)
    assert [each["place"] for each in made.json().get("details", [])] == ([place] if place else [])
    given = {"patient_id": "leo", "session_id": "s", "transcript": body.decode()}
    asked = ask(engine, "append_messages", given)
    done = run("talk", "-", "--patient", "leo", "--session", "s", input=body)
    assert (asked.structured_content["type"], done.exit_code) == (type, 2)
    assert MARK not in made.text + asked.content[0].text + done.output
    assert engine.receipts("leo") == ([], 0)


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "my knee hurts. " * 3_000,
        "😀🧬 \u202eקلبي\u202c 頭が痛い",
        "def f(): return {'a': [1]}  # <b>&amp;",
        base64.b64encode(bytes(range(256)) * 100).decode(),
        " ",
    ],
    ids=["a megabyte", "complaints", "scripts", "code", "base64", "blank"],
)
def test_odd_turns_come_through_http_and_are_answered_in_full(http: httpx.Client, text: str) -> None:
    body = {"sessions": [{"sessionId": "s", "messages": [
        {"role": "user", "content": "I have a cough."}, {"role": "user", "content": text}]}]}  # fmt: skip
    made = http.post("/ingestions/sessions", params={"wait": "30"}, json=body)
    assert (made.status_code, made.json()["status"], made.json()["staged"]["messages"]) == (200, "succeeded", 2)
    assert http.get("/sessions/s").json()["messages"][1]["content"] == text
    assert "I have a cough" in [each["content"] for each in http.get("/memories?query=cough").json()["data"]]


def test_a_session_of_another_patient_is_refused_by_the_route_of_the_contract(http: httpx.Client) -> None:
    body = {"sessions": [{"sessionId": "s", "patientId": "zoe", "messages": [{"role": "user", "content": "Hello."}]}]}
    refused = http.post("/ingestions/sessions", json=body)
    assert (refused.status_code, refused.json()["details"]) == (400, [{"place": "/sessions/0/patientId"}])
    named = {"messages": [{"role": "user", "content": "Hello.", "patientId": "zoe"}]}
    refused = http.post("/sessions/s/messages", json=named)
    assert (refused.status_code, refused.json()["details"]) == (400, [{"place": "/messages/0/patientId"}])
    assert http.get("/ingestions").json()["meta"]["total"] == 0


def test_turns_of_the_future_are_warned_of_at_every_door(http: httpx.Client, run: Callable[..., Result]) -> None:
    late = b"[2126-02-15T09:00Z] patient: I have a cough.\n"
    made = http.post(
        "/ingestions/transcripts", params={"session": "s"}, content=late, headers={"Content-Type": "text/plain"}
    )
    assert "dated in the future" in made.json()["warnings"][0]
    told = run("talk", "-", "--patient", "leo", "--session", "s", input=late)
    assert "dated in the future" in " ".join(told.stdout.split())


def test_tool_calls_are_sent_with_a_turn_or_beside_it_and_read_back(http: httpx.Client) -> None:
    call = {"tool": "read_chart", "arguments": {"path": "/allergies"}, "result": "penicillin", "callId": "c1"}
    messages = [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "One moment.", "toolCalls": [call]},
    ]
    http.post(
        "/ingestions/sessions", params={"wait": "true"}, json={"sessions": [{"sessionId": "s", "messages": messages}]}
    )
    more = {"calls": [{"tool": "search", "arguments": "x", "failed": True, "callId": "c2"}]}
    assert http.post("/sessions/s/tool-calls", json=more).json()["recorded"] == 1
    assert http.post("/sessions/s/tool-calls", json=more).json()["recorded"] == 0
    found = http.get("/sessions/s/tool-calls").json()
    assert [(each["tool"], each["after"], each["failed"]) for each in found["data"]] == [
        ("read_chart", 1, False),
        ("search", 1, True),
    ]
    assert json.loads(found["data"][0]["arguments"]) == {"path": "/allergies"}
    assert http.get("/sessions/s").json()["messages"][1]["toolCalls"][0]["result"] == "penicillin"
    assert http.get("/memories").json()["meta"]["total"] == 0
    assert http.post("/sessions/s/tool-calls", json={"calls": []}).status_code == 400
    wrong = [{"role": "user", "content": "x", "toolCalls": [call]}]
    refused = http.post("/ingestions/sessions", json={"sessions": [{"sessionId": "t", "messages": wrong}]})
    assert (refused.status_code, refused.json()["details"]) == (400, [{"place": "/sessions/0/messages/0"}])


def test_reading_calls_of_an_agent_are_recorded_in_the_session_they_name(engine: Engine) -> None:
    engine.append_transcript("leo", b"mother: We stopped the lisinopril.\n", session="talk")
    calls = [
        ("assemble_context", {"task": "general"}),
        ("read_patient", {}),
        ("recall_memories", {"query": "lisinopril"}),
        ("read_patient", {"path": "/nowhere.md"}),
    ]
    before = engine.graph("leo").hash
    for tool, given in calls:
        ask(engine, tool, {"patient_id": "leo", "session_id": "talk", **given})
    ask(engine, "read", {"path": "/patient/leo/_index.md", "session_id": "talk"})
    ask(engine, "read_patient", {"patient_id": "leo"})  # names no session
    ask(engine, "read_patient", {"patient_id": "lio", "session_id": "talk"})  # nobody
    ask(engine, "read_patient", {"patient_id": "leo", "session_id": "talk"}, may_write=False)
    found = engine.tool_calls("leo", "talk")
    assert [(each.call.tool, each.call.failed, each.after) for each in found] == [
        ("assemble_context", False, 0),
        ("read_patient", False, 0),
        ("recall_memories", False, 0),
        ("read_patient", True, 0),
        ("read", False, 0),
    ]
    assert {each.by for each in found} == {"agent/mcp"}
    assert json.loads(found[2].call.arguments) == {"patient_id": "leo", "query": "lisinopril"}
    assert engine.graph("leo").hash == before


def test_what_an_agent_was_told_is_known_when_it_comes_back(engine: Engine) -> None:
    engine.append_transcript(
        "leo", b"mother: We stopped the lisinopril on Thursday because of a cough.\n", session="talk"
    )
    for tool in ("assemble_context", "recall_memories", "search_patient"):
        given = {"query": "lisinopril"} if tool == "search_patient" else {}
        text = ask(engine, tool, {"patient_id": "leo", **given}).content[0].text
        body = json.dumps([{"role": "user", "content": f"{text}\n\nI have a fever."}])
        engine.append_transcript("leo", body.encode(), session=f"paste-{tool}")
        assert [m.memory.quote for m in engine.memories("leo", session=f"paste-{tool}")] == ["I have a fever"], tool


def test_memories_threads_links_and_rulings_by_http(http: httpx.Client) -> None:
    text = b"patient: I take lisinopril 10 mg.\npatient: I stopped lisinopril.\npatient: I have a cough.\n"
    http.post(
        "/ingestions/transcripts",
        params={"session": "s", "wait": "true"},
        content=text,
        headers={"Content-Type": "text/plain"},
    )
    assert http.get("/memories").json()["meta"]["total"] == 3
    assert [m["content"] for m in http.get("/memories?kind=symptom").json()["data"]] == ["I have a cough"]
    assert [m["content"] for m in http.get("/memories?type=symptom&session=s").json()["data"]] == ["I have a cough"]
    assert http.get("/memories?session=t").json()["meta"]["total"] == 0
    ranked = http.get("/memories", params={"task": "medication_reconciliation"}).json()["data"]
    assert {"thread", "relevance", "authority"} <= set(ranked[0])
    [thread] = [t for t in http.get("/threads").json()["data"] if t["about"] == "Lisinopril"]
    assert [m["content"] for m in thread["memories"]] == ["I stopped lisinopril", "I take lisinopril 10 mg"]
    assert {"change"} <= {change["field"] for change in thread["changed"]}
    assert http.get("/memories", params={"thread": thread["id"]}).json()["meta"]["total"] == 2
    stopped = thread["memories"][0]["id"]
    [state] = http.get(f"/memories/{stopped}/links").json()["data"]
    assert [each["type"] for each in state["links"]] == ["new"]
    made = http.post("/rulings", json={"kind": "memory-hidden", "left": stopped, "reason": "no"})
    assert made.status_code == 201
    assert http.get("/memories").json()["meta"]["total"] == 2
    assert http.get(f"/memories/{stopped}/links").status_code == 410
    assert http.get(f"/graph/nodes/learned_memory/items/{stopped}").status_code == 410
    assert [each["kind"] for each in http.get("/rulings").json()["data"]] == ["memory-hidden"]
    assert http.delete(f"/rulings/{made.json()['id']}").status_code == 204
    assert http.get("/memories").json()["meta"]["total"] == 3
    for wrong in ("kind=mood", "task=astrology"):
        assert http.get(f"/memories?{wrong}").status_code in (400, 404)
    assert http.post("/rulings", json={"kind": "memory-hidden", "left": "lm_x"}).status_code == 404


def test_memories_and_rulings_on_the_command_line(run: Callable[..., Result]) -> None:
    text = b"patient: I take lisinopril 10 mg.\npatient: I stopped lisinopril.\n"
    assert run("talk", "-", "--patient", "leo", "--session", "s", input=text).exit_code == 0
    told = json.loads(run("memories", "leo", "--json").stdout)
    assert told["total"] == 2
    shown = run("memories", "leo", "--threads")
    assert "not said, now stopped" in " ".join(shown.stdout.split())
    assert "1 thread." in shown.stdout
    stopped = next(m["id"] for m in told["memories"] if m["content"] == "I stopped lisinopril")
    assert run("rule", "leo", "memory-refused", stopped, "--reason", "not meant so").exit_code == 0
    assert "1 memory of leo." in run("memories", "leo").stdout
    [ruling] = json.loads(run("rulings", "leo", "--json").stdout)["rulings"]
    assert (ruling["kind"], ruling["by"]) == ("memory-refused", "operator/local")
    assert "memory-refused" in run("rulings", "leo").stdout
    assert run("withdraw", "leo", ruling["id"]).exit_code == 0
    assert "2 memories of leo." in run("memories", "leo", "--kind", "medication", "--kind", "adherence").stdout
    assert run("memories", "leo", "--task", "astrology").exit_code != 0

"""Entries by every door: HTTP, the command line and MCP give what the engine gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import two_patients
from live import running
from mcp.client import Client
from typer.testing import CliRunner

from iamata import Engine
from iamata.interfaces import mcp
from iamata.interfaces.cli import app
from iamata.model.session import ToolCall

GUIDELINE = "# Hypertension\n\nWhom it is for.\n\n## Treatment\n\nBegin with a thiazide.\n"
CLINIC = "/v1/organizations/clinic-a"


@contextmanager
def served() -> Iterator[httpx.Client]:
    """A client of an empty engine over HTTP."""
    with (
        Engine.open(":memory:") as engine,
        running(engine) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=60) as client,
    ):
        yield client


def test_an_entry_is_written_superseded_listed_and_retired_over_http() -> None:
    with served() as client:
        note = {"kind": "staff_note", "title": "Hours", "text": "We open at eight.", "tags": ["desk"]}
        made = client.post(f"{CLINIC}/entries", json=note)
        assert made.status_code == 201
        id = made.json()["id"]
        assert (made.json()["version"], made.json()["attribution"]) == (1, "user-reported")
        assert made.json()["attributed"]["recorder"]["reference"] == "operator/local"
        again = client.post(f"{CLINIC}/entries", json=note | {"id": id, "text": "At nine."})
        assert (again.json()["version"], again.json()["supersedes"]) == (2, 1)
        listed = client.get(f"{CLINIC}/entries", params={"kind": "staff_note", "tag": "desk"}).json()
        assert ([e["text"] for e in listed["data"]], listed["meta"]["total"]) == (["At nine."], 1)
        assert client.get(f"{CLINIC}/entries", params={"history": True}).json()["meta"]["total"] == 2
        assert client.get(f"{CLINIC}/entries", params={"attribution": "system"}).json()["data"] == []
        first = client.get(f"{CLINIC}/entries/{id}", params={"version": 1}).json()
        assert first["text"] == "We open at eight."
        gone = client.post(f"{CLINIC}/entries/{id}/retirement", json={"reason": "moved"})
        assert (gone.json()["retired"], gone.json()["reason"]) == (True, "moved")
        assert client.get(f"{CLINIC}/entries/{id}").status_code == 404
        assert client.get(f"{CLINIC}/entries/{id}", params={"version": 2}).status_code == 200


def test_a_file_is_taken_in_searched_browsed_read_and_explained_to_its_bytes_over_http() -> None:
    with served() as client:
        made = client.post(
            f"{CLINIC}/entries/files",
            params={"kind": "guideline", "title": "Hypertension", "name": "h.md", "author": "Society"},
            content=GUIDELINE,
            headers={"Content-Type": "text/markdown"},
        )
        assert made.status_code == 201, made.text
        assert made.json()["passageCount"] == 2
        whole = client.get(f"{CLINIC}/entries/{made.json()['id']}").json()
        assert whole["passages"][1]["heading"] == ["Hypertension", "Treatment"]
        found = client.post("/v1/search", json={"subject": "organization/clinic-a", "query": "thiazide"}).json()
        assert [hit["item"] for hit in found["data"]] == [whole["passages"][1]["id"]]
        root = client.get(f"{CLINIC}/vfs").json()
        assert "guidelines" in [child["name"] for child in root["children"]]
        text = client.get(f"{CLINIC}/read", params={"path": "/guidelines"}).json()
        assert "Hypertension (2 passages), version 1" in text["content"]
        where = {"subject": "organization/clinic-a", "item": whole["passages"][1]["id"]}
        assert client.post("/v1/explain", json=where).json()["quote"] == "Begin with a thiazide."
        bytes_ = client.get(f"{CLINIC}/documents/{whole['document']}/content")
        assert (bytes_.text, bytes_.headers["content-security-policy"]) == (
            GUIDELINE,
            "sandbox; default-src 'none'",
        )
        etag = client.get(f"{CLINIC}/vfs").headers["etag"]
        assert client.get(f"{CLINIC}/vfs", headers={"If-None-Match": etag}).status_code == 304


@pytest.mark.parametrize(
    ("method", "path", "sent", "status", "says"),
    [
        ("POST", "/v1/agents/bot/entries", {"kind": "staff_note", "title": "T", "text": "x"}, 400, "no staff_note"),
        ("POST", f"{CLINIC}/entries", {"kind": "guideline", "title": "T", "text": " "}, 400, "an entry has a text"),
        ("POST", f"{CLINIC}/entries", {"kind": "zebra", "title": "T", "text": "x"}, 400, "kind"),
        ("POST", "/v1/agents/-bot/entries", {"kind": "cue", "title": "T", "text": "x"}, 400, "id must match"),
        ("POST", "/v1/zebras/x/entries", {"kind": "cue", "title": "T", "text": "x"}, 400, "subjects"),
        ("POST", f"{CLINIC}/entries/none/retirement", {}, 404, "no"),
        ("GET", f"{CLINIC}/entries?kind=zebra", None, 400, "a kind is one of"),
        ("GET", f"{CLINIC}/entries?attribution=zebra", None, 400, "system, user or agent"),
        ("GET", f"{CLINIC}/read?path=/guideline", None, 404, "/organization/clinic-a/guidelines/"),
        ("GET", f"{CLINIC}/read?path=/../clinic-b/", None, 400, "plain segments"),
    ],
)
def test_what_cannot_be_is_refused_by_http_with_the_reason(
    method: str, path: str, sent: dict[str, Any] | None, status: int, says: str
) -> None:
    with served() as client:
        client.post(f"{CLINIC}/entries", json={"kind": "policy", "title": "Any", "text": "Any."})
        answer = client.request(method, path, json=sent)
        assert answer.status_code == status, answer.text
        assert says in answer.json()["message"]


def test_entries_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "h.md").write_text(GUIDELINE, encoding="utf-8")

    def run(*args: str, ok: bool = True) -> str:
        done = CliRunner().invoke(app, ["entry", *args])
        assert (done.exit_code == 0) is ok, done.output
        return done.output

    assert "there is no database" in run("list", "organization/clinic-a", ok=False)
    added = run("add", "organization/clinic-a", "guideline", "Hypertension", "--file", "h.md", "--tag", "heart")
    assert "organization/clinic-a: guideline Hypertension, version 1, 2 passages." in added
    listed = json.loads(run("list", "organization/clinic-a", "--json"))
    [held] = listed["entries"]
    assert (held["title"], held["tags"], listed["total"]) == ("Hypertension", ["heart"], 1)
    assert "1 entry of organization/clinic-a." in run("list", "organization/clinic-a", "--kind", "guideline")
    assert "Begin with a thiazide." in run("show", "organization/clinic-a", held["id"])
    assert "passages/treatment-" in run("search", "organization/clinic-a", "thiazide")
    run("add", "operator/dr-lee", "preference", "Units", "--text", "Metric, please.")
    assert "say what the entry says" in run("add", "operator/dr-lee", "preference", "Units", ok=False)
    assert "no guideline in the operator scope" in run(
        "add", "operator/dr-lee", "guideline", "T", "--text", "x", ok=False
    )
    assert "Hypertension is retired." in run("retire", "organization/clinic-a", held["id"], "--reason", "old")
    assert "0 entries of organization/clinic-a." in run("list", "organization/clinic-a")
    read = CliRunner().invoke(app, ["read", "/operator/dr-lee/preferences"])
    assert '- Units: "Metric, please.", version 1 of' in read.output


def test_an_agent_reads_entries_and_keeps_its_own_cues_over_mcp() -> None:
    async def scene() -> None:
        with Engine.open(":memory:") as engine:
            from iamata.model.entry import EntryDraft, EntryKind
            from iamata.model.scope import Scope, Subject

            clinic, bot = Subject(Scope.ORGANIZATION, "clinic-a"), Subject(Scope.AGENT, "bot")
            file = EntryDraft(subject=clinic, kind=EntryKind.GUIDELINE, title="Hypertension")
            engine.ingest_entry(file, GUIDELINE.encode(), name="h.md")
            async with Client(mcp.create_server(engine, access=mcp.agent("bot"))) as client:
                listed = await client.call_tool("list_entries", {"subject": "organization/clinic-a"})
                assert listed.content[0].text.startswith("- guideline Hypertension (system-reported, version 1, 2 pass")
                given = {"subject": "organization/clinic-a", "query": "thiazide"}
                found = await client.call_tool("search_entries", given)
                [hit] = found.structured_content["data"]
                read = await client.call_tool("read", {"path": hit["address"]})
                assert "Begin with a thiazide." in read.content[0].text
                kept = await client.call_tool("record_cue", {"title": "Where", "text": "Open labs first."})
                assert kept.structured_content["attribution"] == "agent-reported"
                assert [e.text for e in engine.entries(bot)] == ["Open labs first."]
                other = await client.call_tool("list_entries", {"subject": "operator/dr-lee"})
                assert other.structured_content["type"] == "PERMISSION_DENIED"

    two_patients.run(scene)


def test_an_inference_is_kept_shown_and_goes_stale_by_every_door(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    record = {"resourceType": "Condition", "id": "c", "subject": {"reference": "Patient/p"}, "code": {"text": "Asthma"}}

    def sent(**more: Any) -> bytes:
        return json.dumps(record | more).encode()

    async def over_mcp(engine: Engine, fact: str) -> None:
        async with Client(mcp.create_server(engine, access=mcp.agent("bot"))) as client:
            given = {"patient_id": "p", "title": "Breath", "text": "May need a spacer.", "derived_from": [fact]}
            kept = await client.call_tool("record_inference", given)
            assert kept.structured_content["derivedFrom"] == [{"item": fact, "what": "fact"}]
            listed = await client.call_tool("browse_patient", {"patient_id": "p", "path": "/inferences/"})
            assert "Breath, an AI agent (bot)" in listed.content[0].text

    with Engine.open("iamata.db") as engine:
        engine.ingest("p", sent(), source="ehr")
        [fact] = engine.graph("p").facts
        two_patients.run(lambda: over_mcp(engine, fact))
        engine.ingest("p", sent(clinicalStatus={"coding": [{"code": "resolved"}]}), source="ehr")
        with running(engine) as url, httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
            [shown] = client.get("/v1/patients/p/entries").json()["data"]
            assert (shown["title"], shown["stale"], shown["changed"]) == ("Breath", True, [fact])
            assert shown["author"]["reference"] == "agent/bot"
            body = {"kind": "summary", "title": "S", "text": "Asthma.", "author": "scribe", "derivedFrom": [fact]}
            assert client.post("/v1/patients/p/entries", json=body).status_code == 201
            assert client.post("/v1/patients/p/entries", json=body | {"derivedFrom": []}).status_code == 400
            assert client.get("/v1/patients/nobody/entries").status_code == 404
            assert client.get("/v1/patients/p/vfs", params={"path": "/inferences"}).status_code == 200

    def run(*args: str) -> str:
        done = CliRunner().invoke(app, ["entry", *args])
        assert done.exit_code == 0, done.output
        return done.output

    assert "inference: Breath, version 1 of" in run("list", "patient/p")
    assert ", stale  et_" in run("list", "patient/p")
    said = ("--text", "Controlled.", "--author", "scribe", "--derived-from", fact)
    assert "patient/p: summary Now, version 1." in run("add", "patient/p", "summary", "Now", *said)
    assert len(json.loads(run("list", "patient/p", "--json"))["entries"]) == 3


def test_what_is_learned_is_listed_and_refused_by_http_and_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Engine.open("iamata.db") as engine:
        for number in range(6):
            engine.put_patient(f"p{number}")
            calls = [
                ToolCall("assemble_context", json.dumps({"task": "general"})),
                ToolCall("read_patient", json.dumps({"path": "/allergies/"})),
            ]
            engine.record_calls(f"p{number}", "s", calls, access=mcp.agent("bot"))
        with running(engine) as url, httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
            assert client.post("/v1/learn", json={"organization": "clinic-a"}).json() == {"data": []}
            made = client.post("/v1/learn", json={"organization": "clinic-a", "leastPatients": 6}).json()["data"]
            assert [each["kind"] for each in made] == ["cue", "habit", "habit", "pattern", "pattern"]
            assert client.post("/v1/learn", json={"leastPatients": 2}).status_code == 400
            cue = made[0]
            assert cue["text"] == "/patient/{id}/allergies (6 patients)"
            path = f"/v1/agents/bot/entries/{cue['id']}/refusal"
            assert client.post(path, json={"reason": "no"}).status_code == 204
            assert client.get("/v1/agents/bot/entries").json()["data"] == []
            assert client.post(path, json={"withdraw": True}).status_code == 204

    def run(*args: str) -> str:
        done = CliRunner().invoke(app, list(args))
        assert done.exit_code == 0, done.output
        return done.output

    learned = run("learn", "--organization", "clinic-a", "--least-patients", "6")
    assert "agent/bot, cue: For general: /patient/{id}/allergies (6 patients)" in " ".join(learned.split())
    assert "1 entry learned, changed or retired." in learned
    assert "It is refused" in run("entry", "refuse", "agent/bot", cue["id"])
    assert "0 entries learned" in run("learn", "--least-patients", "6")
    assert "It may be learned again." in run("entry", "refuse", "agent/bot", cue["id"], "--withdraw")

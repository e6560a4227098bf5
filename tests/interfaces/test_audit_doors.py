"""The audit log by its doors: what came through which, listed, exported as FHIR, sealed and verified offline."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from fhir.resources.R4B.auditevent import AuditEvent
from live import running
from mcp.client import Client
from typer.testing import CliRunner

from iamata import Engine
from iamata.interfaces import mcp
from iamata.interfaces.cli import app
from iamata.interfaces.wire.audits import audit_event
from iamata.model.audit import AuditRecord

CANARY = "Zwyxbar"
BUNDLE = {
    "resourceType": "Bundle",
    "type": "collection",
    "entry": [
        {"resource": {"resourceType": "Patient", "id": "p"}},
        {"resource": {"resourceType": "Condition", "id": "c", "code": {"text": CANARY}}},
    ],
}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path / "a.db") as engine:
        engine.ingest("p", json.dumps(BUNDLE).encode())
        yield engine


def iamata(tmp_path: Path, *args: str) -> Any:
    return CliRunner().invoke(app, [*args, "--db", str(tmp_path / "a.db")])


def test_each_door_leaves_its_name_and_http_its_request_id(engine: Engine, tmp_path: Path) -> None:
    with running(engine) as url, httpx.Client(base_url=url, trust_env=False) as client:
        answer = client.get("/v1/patients/p")
        listed = client.get("/v1/audit", params={"subject": "patient/p", "perPage": 5}).json()
    mine = [each for each in listed["data"] if each["request"] == answer.headers["x-request-id"]]
    assert {each["action"] for each in mine} == {"patient", "graph", "receipts"}
    assert {(each["door"], each["class"], each["purpose"]) for each in mine} == {("http", "read", "TREAT")}
    assert listed["meta"]["total"] == len(engine.audit_records(subject="patient/p"))

    async def scene() -> None:
        async with Client(mcp.create_server(engine, access=mcp.agent(patient="p"))) as client:
            await client.call_tool("get_patient_info", {})

    anyio.run(scene)
    assert engine.audit_records(per_page=1)[0].door == "mcp"
    assert iamata(tmp_path, "patients").exit_code == 0
    with Engine.open(tmp_path / "a.db") as again:
        assert {each.door for each in again.audit_records()} == {"python", "http", "mcp", "cli"}


def test_every_record_is_a_valid_audit_event(engine: Engine, tmp_path: Path) -> None:
    engine.retract("p", "nobody")
    engine.delete_patient("p")
    done = iamata(tmp_path, "audit", "export", "--format", "fhir")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(events) >= 3
    for event in events:
        AuditEvent.model_validate(event)
    by_verb = {event["entity"][-1]["what"]["identifier"]["value"]: event for event in events}
    erased = by_verb["iamata:delete_patient"]
    assert (erased["action"], erased["subtype"][0]["code"], erased["outcome"]) == ("D", "delete", "0")
    assert erased["entity"][0]["what"]["identifier"]["value"] == "p"
    assert erased["entity"][0]["role"]["code"] == "1"
    assert by_verb["iamata:ingest"]["action"] == "C"
    assert by_verb["iamata:retract"]["action"] == "U"
    assert erased["purposeOfEvent"][0]["coding"][0]["code"] == "TREAT"
    assert CANARY not in done.stdout
    with running(engine) as url, httpx.Client(base_url=url, trust_env=False) as client:
        for event in client.get("/v1/audit", params={"format": "fhir"}).json()["data"]:
            AuditEvent.model_validate(event)


def test_a_refusal_is_a_failure_with_its_reason(engine: Engine) -> None:
    refused = AuditRecord(
        at=engine.audit_records()[0].at,
        principal="agent/bot",
        on_behalf_of="dr-lee",
        purpose="TREAT",
        action="search",
        subject="patient/p",
        allowed=False,
        reasons=("no-relation-to-patient",),
    )
    event = audit_event(refused)
    AuditEvent.model_validate(event)
    assert (event["action"], event["outcome"], event["outcomeDesc"]) == ("E", "8", "no-relation-to-patient")
    assert [agent["requestor"] for agent in event["agent"]] == [True, False]


def test_an_exported_log_is_verified_without_the_database(engine: Engine, tmp_path: Path) -> None:
    log, kept = tmp_path / "log.ndjson", tmp_path / "kept.json"
    kept.write_text(iamata(tmp_path, "audit", "checkpoint").stdout, "utf-8")
    engine.put_patient("q")
    log.write_text(iamata(tmp_path, "audit", "export").stdout, "utf-8")
    key = json.loads(kept.read_text("utf-8"))["key"]
    offline = ("audit", "verify", "--export", str(log), "--checkpoint", str(kept), "--key", key)
    told = CliRunner().invoke(app, list(offline))
    assert told.exit_code == 0, told.output
    assert "whole" in told.stdout
    assert iamata(tmp_path, "audit", "verify", "--checkpoint", str(kept)).exit_code == 0
    log.write_text(log.read_text("utf-8").replace('"put_patient"', '"put_patienT"'), "utf-8")
    told = CliRunner().invoke(app, list(offline))
    assert told.exit_code == 4
    assert "was changed or moved" in told.stdout
    assert CliRunner().invoke(app, ["audit", "verify", "--export", str(tmp_path / "no")]).exit_code == 3


def test_the_log_is_listed_with_who_and_what(engine: Engine, tmp_path: Path) -> None:
    told = iamata(tmp_path, "audit", "list", "--subject", "patient/p", "--most", "1")
    assert "ingest patient/p, operator/local" in " ".join(told.stdout.split())
    listed = json.loads(iamata(tmp_path, "audit", "list", "--json").stdout)
    assert listed["records"][-1]["action"] == "ingest"
    assert listed["total"] == len(listed["records"]) == 2, "the ingest, and the listing before"

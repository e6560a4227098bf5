"""Erasing, holds and receipts by HTTP and the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from live import running
from typer.testing import CliRunner

from iamata import Engine, Speaker, Turn
from iamata.interfaces.cli import app
from iamata.policy.retention import read_policy

CANARY = "Zwyxbar"
BUNDLE = {
    "resourceType": "Bundle",
    "type": "collection",
    "entry": [
        {"resource": {"resourceType": "Patient", "id": "p"}},
        {"resource": {"resourceType": "Condition", "id": "c", "code": {"text": CANARY}}},
    ],
}
R4 = "/v1/patients/p/ingestions/fhir/r4"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path / "a.db") as engine:
        engine.ingest("p", json.dumps(BUNDLE).encode(), source="ehr")
        engine.append("p", "s", [Turn(Speaker.PATIENT, "I stopped taking lisinopril.")])
        yield engine


@pytest.fixture
def http(engine: Engine) -> Iterator[httpx.Client]:
    with running(engine) as url, httpx.Client(base_url=url, trust_env=False) as client:
        yield client


def iamata(tmp_path: Path, *args: str) -> Any:
    return CliRunner().invoke(app, [*args, "--db", str(tmp_path / "a.db")])


def test_a_document_a_session_and_a_memory_are_erased_over_http(engine: Engine, http: httpx.Client) -> None:
    memory = next(iter(engine.graph("p").memories))
    document = next(iter(engine.graph("p").documents))
    for kind, id in (("memory", memory), ("session", "s"), ("document", document)):
        answer = http.post("/v1/patients/p/erasures", json={"kind": kind, "id": id})
        assert answer.status_code == 201, answer.text
        receipt = answer.json()
        assert (receipt["kind"], receipt["by"]) == (kind, "operator/local")
        assert len(receipt["signature"]) == 128
        again = http.post("/v1/patients/p/erasures", json={"kind": kind, "id": id})
        assert (again.status_code, again.json()["type"]) == (410, "NOT_FOUND")
    assert http.get("/v1/erasures").json()["meta"]["total"] == 3
    assert http.get("/v1/patients/p/sessions/s").status_code == 410
    assert http.get(f"/v1/patients/p/documents/{document}/content").status_code == 410
    assert http.post("/v1/patients/p/erasures", json={"kind": "session", "id": "no"}).status_code == 404
    assert http.post("/v1/patients/p/erasures", json={"kind": "patient", "id": "p"}).status_code == 400


def test_a_patient_under_hold_is_not_deleted_and_then_is(http: httpx.Client) -> None:
    held = http.post("/v1/patients/p/holds", json={"reason": "a claim is open"})
    assert held.status_code == 201
    refused = http.delete("/v1/patients/p")
    assert (refused.status_code, refused.json()["type"]) == (409, "FAILED_PRECONDITION")
    assert held.json()["id"] in refused.json()["message"]
    assert "claim" not in refused.text
    id = held.json()["id"]
    assert http.post(f"/v1/patients/p/holds/{id}/lift", json={"reason": ""}).status_code == 400
    assert http.post(f"/v1/patients/p/holds/{id}/lift", json={"reason": "settled"}).status_code == 201
    assert [each["reason"] for each in http.get("/v1/patients/p/holds").json()["data"]] == [
        "a claim is open",
        "settled",
    ]
    deleted = http.delete("/v1/patients/p")
    assert deleted.status_code == 204
    [receipt] = http.get("/v1/erasures").json()["data"]
    assert deleted.headers["iamata-erasure"] == receipt["id"]
    assert "iamata-erasure" not in http.delete("/v1/patients/p").headers


def test_an_erased_patient_comes_back_by_put_or_by_an_explicit_word_and_not_by_a_feed(http: httpx.Client) -> None:
    http.delete("/v1/patients/p")
    refused = http.post(R4, json=BUNDLE)
    assert (refused.status_code, refused.json()["type"]) == (410, "NOT_FOUND")
    talk = {"sessions": [{"sessionId": "s", "messages": [{"role": "user", "content": "Hello."}]}]}
    assert http.post("/v1/patients/p/ingestions/sessions", json=talk).status_code == 410
    assert http.get("/v1/patients/p").status_code == 404
    assert http.put("/v1/patients/p").status_code == 200
    assert http.post(R4, json=BUNDLE).status_code == 200
    http.delete("/v1/patients/p")
    assert http.post(R4, json=BUNDLE, params={"afterErasure": "true"}).status_code == 200
    assert http.get("/v1/patients/p").status_code == 200


def test_the_command_line_erases_proves_and_lists(engine: Engine, tmp_path: Path) -> None:
    told = iamata(tmp_path, "erase", "session", "p", "s", "--yes")
    assert told.exit_code == 0, told.output
    assert "session erased" in told.stdout
    assert iamata(tmp_path, "erase", "session", "p", "s", "--yes").exit_code == 3
    assert iamata(tmp_path, "erase", "session", "p", "--yes").exit_code == 2
    assert iamata(tmp_path, "erase", "patient", "p").exit_code == 1, "nobody confirmed it"
    held = json.loads(iamata(tmp_path, "hold", "set", "p", "--reason", "a claim", "--json").stdout)
    assert iamata(tmp_path, "erase", "patient", "p", "--yes").exit_code == 4
    assert "1 hold on p" in iamata(tmp_path, "hold", "list", "p").stdout
    assert iamata(tmp_path, "hold", "lift", "p", held["id"], "--reason", "settled").exit_code == 0
    told = iamata(tmp_path, "erase", "patient", "p", "--yes", "--prove", "--word", CANARY, "--json")
    proof = json.loads(told.stdout)
    assert proof["holds"] is True
    assert proof["before"]["words"]["documents"] == 1
    assert proof["before"]["inFiles"] > 0
    assert (proof["after"]["words"], proof["after"]["inRows"], proof["after"]["inFiles"]) == ({}, 0, 0)
    assert "2 of 2 receipts" in " ".join(iamata(tmp_path, "erasure", "list").stdout.split())


def test_a_feed_of_an_erased_patient_is_refused_file_by_file(engine: Engine, tmp_path: Path) -> None:
    engine.delete_patient("p")
    file = tmp_path / "p.json"
    file.write_text(json.dumps(BUNDLE), "utf-8")
    told = iamata(tmp_path, "ingest", str(file))
    assert told.exit_code == 3, told.output
    assert iamata(tmp_path, "ingest", str(file), "--after-erasure").exit_code == 0
    assert "Zwyxbar" in str(engine.graph("p"))


def test_erasing_is_proved_on_canaries(engine: Engine, tmp_path: Path) -> None:
    told = iamata(tmp_path, "erasure", "verify")
    assert told.exit_code == 0, told.output
    assert "Nothing is left of it." in told.stdout
    assert "documents" in told.stdout
    assert [row.id for row in engine.patients()[0]] == ["p"]


def test_retention_is_previewed_and_applied_over_http(engine: Engine, http: httpx.Client) -> None:
    assert http.get("/v1/retention/preview").json()["meta"]["total"] == 0
    engine._retention = read_policy(
        '[[rule]]\nid = "r"\nscope = "patient"\nattribution = "any"\nclass = "session"\nkeep_days = 1\n'
        'source = "a test"\nreview = "somebody"\non = true\n',
        "mine.toml",
    )
    assert http.get("/v1/retention/preview").json()["data"] == []
    engine._clock = lambda: datetime.now(UTC) + timedelta(days=2)
    [due] = http.get("/v1/retention/preview", params={"patientId": "p"}).json()["data"]
    assert (due["kind"], due["id"], due["rule"], due["source"]) == ("session", "s", "r", "a test")
    done = http.post("/v1/retention/apply").json()
    assert [(each["kind"], each["by"]) for each in done["erased"]] == [("session", "retention/r")]
    assert done["kept"] == []
    assert http.get("/v1/patients/p/sessions/s").status_code == 410
    assert http.get("/v1/retention/preview", params={"patientId": "nobody"}).status_code == 404


def test_an_organization_and_an_entry_are_erased_over_http_and_by_command(
    engine: Engine, http: httpx.Client, tmp_path: Path
) -> None:
    body = {"kind": "guideline", "title": "T", "text": CANARY}
    one = http.post("/v1/organizations/clinic/entries", json=body).json()["id"]
    answer = http.delete(f"/v1/organizations/clinic/entries/{one}")
    assert (answer.status_code, answer.headers["Iamata-Erasure"][:3]) == (204, "er_")
    again = http.delete(f"/v1/organizations/clinic/entries/{one}")
    assert (again.status_code, again.json()["type"]) == (410, "NOT_FOUND")
    two = http.post("/v1/organizations/clinic/entries", json={**body, "text": f"{CANARY} two"}).json()["id"]
    told = iamata(tmp_path, "erase", "entry", "organization/clinic", two, "--yes")
    assert (told.exit_code, CANARY in told.output) == (0, False)
    assert "entry erased: 1 entry versions" in " ".join(told.output.split())
    http.post("/v1/organizations/clinic/entries", json={**body, "text": f"{CANARY} three"})
    told = iamata(tmp_path, "erase", "organization", "clinic", "--yes", "--json")
    assert json.loads(told.stdout)["erasure"]["counts"] == {"entry_versions": 1, "subjects": 1}
    gone = http.delete("/v1/organizations/clinic")
    assert (gone.status_code, "Iamata-Erasure" in gone.headers) == (204, False)
    assert "There is no organization clinic" in iamata(tmp_path, "erase", "organization", "clinic", "--yes").output
    assert iamata(tmp_path, "erase", "agent", "bot", "--prove", "--yes").exit_code == 2
    assert http.delete("/v1/patients/p/entries/et_x").status_code == 400

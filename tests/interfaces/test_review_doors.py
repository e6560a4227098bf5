"""People decide by every door: HTTP and the command line give what the engine gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from live import running
from typer.testing import CliRunner

from iamata import Engine
from iamata.interfaces.cli import app
from iamata.language.scripted import ScriptedModel


def bundle(*resources: dict[str, Any]) -> bytes:
    entries = [{"resource": {"resourceType": "Patient", "id": "p"}}, *({"resource": r} for r in resources)]
    return json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries}).encode()


def shot(id: str, **when: str) -> dict[str, Any]:
    return {
        "resourceType": "Immunization",
        "id": id,
        "status": "completed",
        "patient": {"reference": "Patient/p"},
        "vaccineCode": {"text": "MMR"},
        **when,
    }


def fill(engine: Engine) -> None:
    engine.ingest("p", bundle(shot("i1", occurrenceDateTime="2020-05-01")), source="one")
    engine.ingest("p", bundle(shot("i9", occurrenceString="as a child")), source="two")


def shots(engine: Engine) -> int:
    return sum(fact.kind == "immunization" for fact in engine.graph("p").facts.values())


def test_a_waiting_pair_is_ruled_on_withdrawn_and_a_source_taken_out_over_http() -> None:
    with Engine.open(":memory:") as engine:
        fill(engine)
        with running(engine) as url, httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
            waiting = client.get("/v1/patients/p/review").json()
            assert waiting["meta"]["total"] == 1
            [pair] = waiting["data"]
            assert pair["quality"] == "uncertain"
            body = {"kind": "same", "left": pair["left"], "right": pair["right"], "reason": "asked her"}
            made = client.post("/v1/patients/p/rulings", json=body)
            assert made.status_code == 201
            assert (made.json()["kind"], made.json()["by"]) == ("same", "operator/local")
            assert shots(engine) == 1
            assert client.get("/v1/patients/p/review").json()["meta"]["total"] == 0
            assert client.delete(f"/v1/patients/p/rulings/{made.json()['id']}").status_code == 204
            assert shots(engine) == 2
            assert client.delete("/v1/patients/p/rulings/ru_nothing").status_code == 404
            assert client.post("/v1/patients/p/rulings", json={"kind": "maybe", "left": "x"}).status_code == 400
            assert client.post("/v1/patients/p/retractions", json={"source": "two"}).status_code == 204
            assert shots(engine) == 1


def test_a_waiting_pair_is_adjudicated_over_http_and_shown_with_the_models_name() -> None:
    model = ScriptedModel([{"answer": "same", "reason": "told twice"}], name="small-1")
    with Engine.open(":memory:", model=model) as engine:
        fill(engine)
        with running(engine) as url, httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
            assert client.post("/v1/patients/p/adjudications", json={"most": 0}).status_code == 400
            made = client.post("/v1/patients/p/adjudications", json={})
            assert made.status_code == 200
            told = made.json()
            [answer] = told.pop("answers")
            assert (answer["answer"], answer["reason"], answer["prompt"]) == ("same", "told twice", "pairs-1")
            assert told == {
                "model": "small-1", "failed": {}, "withheld": 0, "otherKinds": 0, "answeredBefore": 0, "left": 0,
            }  # fmt: skip
            assert shots(engine) == 1
            assert client.get("/v1/patients/p/review").json()["meta"]["total"] == 0
            found = client.get("/v1/patients/p/graph/edges/resolution_decision/items").json()["data"]
            [edge] = [each for each in found if each["payload"].get("ruleId") == "model-adjudication"]
            assert edge["by"] == "language-model/small-1"
            assert edge["attribution"] == "agent-reported"
            assert edge["resolvedBy"].get("role") != "operator"
            assert edge["payload"]["steps"][-1]["right"] == "told twice"


def test_without_a_language_model_adjudication_is_unavailable() -> None:
    with Engine.open(":memory:") as engine:
        fill(engine)
        with running(engine) as url, httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
            refused = client.post("/v1/patients/p/adjudications", json={})
            assert refused.status_code == 503
            assert "IAMATA_MODEL_NAME" in refused.text


def test_a_waiting_pair_is_ruled_on_withdrawn_and_a_source_taken_out_by_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = tmp_path / "x.db"
    monkeypatch.setenv("IAMATA_DB", str(db))
    with Engine.open(db) as engine:
        fill(engine)

    def run(*words: str) -> Any:
        done = CliRunner().invoke(app, [*words, "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    [pair] = run("review", "p")["review"]
    told = CliRunner().invoke(app, ["review", "p"]).stdout
    assert "uncertain" in told
    assert "as a child" in told
    ruling = run("rule", "p", "same", pair["left"], pair["right"], "--reason", "asked her")
    assert run("review", "p")["total"] == 0
    assert run("withdraw", "p", ruling["id"])["withdraws"] == ruling["id"]
    assert run("review", "p")["total"] == 1
    run("retract", "p", "two")
    with Engine.open(db) as engine:
        assert shots(engine) == 1

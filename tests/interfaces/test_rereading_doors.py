"""Documents are read again by every door that puts in: HTTP and the command line give what the engine gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from live import running
from typer.testing import CliRunner

from iamata import Engine
from iamata.connectors import registry
from iamata.interfaces.cli import app
from iamata.model.statement import Kind
from iamata.ports import Parsed

BUNDLE = json.dumps(
    {
        "resourceType": "Bundle",
        "type": "collection",
        "entry": [
            {"resource": {"resourceType": "Patient", "id": "p"}},
            {
                "resource": {
                    "resourceType": "AllergyIntolerance",
                    "id": "a1",
                    "patient": {"reference": "Patient/p"},
                    "code": {"text": "Penicillin"},
                }
            },
        ],
    }
).encode()
READ = registry.READERS["fhir/r4"]


def without_allergies(body: bytes, **how: Any) -> Parsed:
    parsed = READ(body, **how)
    lost = {s.id for s in parsed.statements if s.kind is Kind.ALLERGY}
    return msgspec.structs.replace(
        parsed,
        statements=tuple(s for s in parsed.statements if s.id not in lost),
        sightings=tuple(s for s in parsed.sightings if s.item not in lost),
    )


@contextmanager
def an_earlier_version() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.READERS, "fhir/r4", without_allergies)
        yield


def test_documents_are_read_again_over_http() -> None:
    with Engine.open(":memory:") as engine:
        with an_earlier_version():
            document = engine.ingest("p", BUNDLE).document
        with running(engine) as url, httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
            nodes = "/v1/patients/p/graph/nodes/fact/items"
            assert len(client.get(nodes).json()["data"]) == 1
            answer = client.post("/v1/patients/p/rereadings")
            assert answer.status_code == 200
            made = answer.json()
            assert (made["documents"], made["changed"], made["kept"]) == (1, 1, [])
            [ingestion] = made["ingestions"]
            assert (ingestion["documentId"], ingestion["status"]) == (document, "succeeded")
            assert ingestion["staged"] == {"facts": 1, "events": 0, "narratives": 0, "messages": 0}
            assert [each["kind"] for each in ingestion["lines"]] == ["demographic", "allergy"]
            assert len(client.get(nodes).json()["data"]) == 2
            assert client.post("/v1/patients/p/rereadings").json()["changed"] == 0
            assert client.post("/v1/patients/nobody/rereadings").status_code == 404


def test_documents_are_read_again_at_the_command_line(tmp_path: Path) -> None:
    db = str(tmp_path / "m.db")
    with an_earlier_version(), Engine.open(db) as engine:
        engine.ingest("p", BUNDLE)
        engine.put_patient("q")
    run = CliRunner().invoke
    told = run(app, ["reread", "p", "--db", db])
    assert told.exit_code == 0
    said = " ".join(told.output.split())
    assert "p: 1 document read again, 1 of them said otherwise (new are 1 statement of facts)." in said
    assert "Next: iamata report p --since" in told.output
    again = json.loads(run(app, ["reread", "--all", "--db", db, "--json"]).output)
    assert [(each["patient"], each["documents"], each["changed"]) for each in again["patients"]] == [
        ("p", 1, 0),
        ("q", 0, 0),
    ]
    assert "nothing is said otherwise" in run(app, ["reread", "p", "--db", db]).output
    neither = run(app, ["reread", "--db", db])
    assert neither.exit_code == 2
    assert run(app, ["reread", "p", "--all", "--db", db]).exit_code == neither.exit_code

"""What changed since a moment, by every door: HTTP and the command line give what the engine gives."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from live import running
from typer.testing import CliRunner

from iamata import Engine
from iamata.interfaces.cli import app

START = datetime(2026, 2, 15, 10, tzinfo=UTC)


def bundle(id: str, text: str) -> bytes:
    held: list[dict[str, Any]] = [
        {"resourceType": "Patient", "id": "p"},
        {"resourceType": "Condition", "id": id, "subject": {"reference": "Patient/p"}, "code": {"text": text}},
    ]
    return json.dumps({"resourceType": "Bundle", "entry": [{"resource": each} for each in held]}).encode()


def filled(db: Path) -> Engine:
    """Asthma on the 15th, gout two days later, read on the 18th."""
    now = [START]
    engine = Engine.open(db, clock=lambda: now[0])
    engine.ingest("p", bundle("c1", "Asthma"), source="one")
    now[0] += timedelta(days=2)
    engine.ingest("p", bundle("c2", "Gout"), source="one")
    now[0] += timedelta(days=1)
    return engine


def test_changes_are_served_over_http_as_json_and_markdown(tmp_path: Path) -> None:
    with (
        filled(tmp_path / "x.db") as engine,
        running(engine) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=60) as client,
    ):
        found = client.get("/v1/patients/p/changes", params={"since": "2026-02-16T00:00:00Z"}).json()
        assert [each["display"] for each in found["added"]] == ["Gout"]
        assert (found["total"], found["gone"], found["since"]) == (1, [], "2026-02-16T00:00:00Z")
        # A date is its beginning.
        for day, total in (("2026-02-17", 1), ("2026-02-18", 0)):
            assert client.get("/v1/patients/p/changes", params={"since": day}).json()["total"] == total
        text = client.get("/v1/patients/p/changes", params={"since": "2026-02-16", "format": "markdown"})
        assert text.headers["content-type"].startswith("text/markdown")
        assert "## Added\n\n- Gout (condition, fa_" in text.text
        assert client.get("/v1/patients/p/changes").status_code == 400
        assert client.get("/v1/patients/p/changes", params={"since": "yesterday"}).status_code == 400
        assert client.get("/v1/patients/p/changes", params={"since": "2027-01-01"}).status_code == 400
        assert client.get("/v1/patients/nobody/changes", params={"since": "2026-02-16"}).status_code == 404


def test_a_report_is_of_the_reconciliation_or_of_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IAMATA_DB", str(tmp_path / "x.db"))
    filled(tmp_path / "x.db").close()

    def run(*args: str) -> str:
        done = CliRunner().invoke(app, ["report", *args])
        assert done.exit_code == 0, done.output
        return done.stdout

    assert run("p").startswith("# Reconciliation")
    assert json.loads(run("p", "--json"))["conflicts"] == 0
    assert "- Gout (condition" in run("p", "--since", "2026-02-16")
    assert json.loads(run("p", "--since", "2026-02-16", "--json"))["total"] == 1
    assert "Nothing became different." in run("p", "--since", "2026-02-18")
    assert CliRunner().invoke(app, ["report", "p", "--since", "soon"]).exit_code == 2
    assert CliRunner().invoke(app, ["report", "nobody"]).exit_code == 3

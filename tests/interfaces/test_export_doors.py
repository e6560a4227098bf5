"""A patient is taken elsewhere by every door: HTTP and the command line give what the engine gives."""

from __future__ import annotations

import io
import json
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from live import running
from typer.testing import CliRunner, Result

from iamata import Engine, Speaker, Turn
from iamata.interfaces.cli import app

CONDITION = {
    "resourceType": "Condition",
    "id": "c1",
    "subject": {"reference": "Patient/p"},
    "code": {"text": "Asthma"},
    "onsetDateTime": "2015",
}


def fill(engine: Engine, patient: str = "p") -> None:
    held: list[dict[str, Any]] = [{"resourceType": "Patient", "id": patient, "birthDate": "2001-02-03"}]
    held.append(CONDITION | {"subject": {"reference": f"Patient/{patient}"}})
    body = json.dumps({"resourceType": "Bundle", "entry": [{"resource": each} for each in held]}).encode()
    engine.ingest(patient, body, source="north")
    engine.append(patient, "s", [Turn(Speaker.PATIENT, "I am allergic to peanuts.")])


@pytest.fixture
def client() -> Iterator[tuple[Engine, httpx.Client]]:
    with Engine.open(":memory:") as engine:
        fill(engine)
        with running(engine) as url, httpx.Client(base_url=url, trust_env=False, timeout=60) as opened:
            yield engine, opened


# ------------------------------------------------------------------- HTTP


def test_a_summary_is_served_as_fhir(client: tuple[Engine, httpx.Client]) -> None:
    _engine, http = client
    answer = http.get("/v1/patients/p/$summary")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/fhir+json")
    assert answer.headers["cache-control"] == "no-store"
    bundle = answer.json()
    assert (bundle["type"], bundle["entry"][0]["resource"]["resourceType"]) == ("document", "Composition")
    assert http.get("/v1/patients/nobody/$summary").status_code == 404
    assert "Asthma" not in http.get("/v1/patients/p/$summary?known_at=2001-01-01").text


def test_an_export_is_served_and_comes_back_without_a_trace(client: tuple[Engine, httpx.Client]) -> None:
    engine, http = client
    answer = http.get("/v1/patients/p/export")
    assert answer.json()["type"] == "collection"
    before = engine.graph("p").hash
    media = {"content-type": "application/fhir+json"}
    sent = http.post("/v1/patients/p/ingestions/fhir/r4?wait=true", content=answer.content, headers=media)
    assert sent.status_code < 300
    assert engine.graph("p").hash == before


def test_archives_go_out_and_come_in_over_http(client: tuple[Engine, httpx.Client]) -> None:
    engine, http = client
    fill(engine, "q")
    one, all = http.get("/v1/patients/p/export?format=as-received"), http.get("/v1/export")
    for answer in (one, all):
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/zip")
    assert one.headers["content-disposition"] == 'attachment; filename="patient.zip"'
    with zipfile.ZipFile(io.BytesIO(all.content)) as opened:
        manifest = json.loads(opened.read("manifest.json"))
    assert ([p["id"] for p in manifest["patients"]], manifest["kind"]) == (["p", "q"], "workspace")
    media = {"content-type": "application/zip"}
    with (
        Engine.open(":memory:") as there,
        running(there) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=60) as other,
    ):
        taken = other.post("/v1/imports", content=one.content, headers=media)
        assert taken.json() == {"patients": ["p"], "hereAlready": [], "entries": 0}
        assert there.graph("p").hash == engine.graph("p").hash
        taken = other.post("/v1/imports", content=all.content, headers=media)
        assert taken.json() == {"patients": ["q"], "hereAlready": ["p"], "entries": 0}
        there.delete_patient("q")
        refused = other.post("/v1/imports", content=all.content, headers=media)
        assert (refused.status_code, refused.json()["type"]) == (409, "FAILED_PRECONDITION")
        taken = other.post("/v1/imports?evenErased=true", content=all.content, headers=media)
        assert taken.json()["patients"] == ["q"]


def test_what_is_no_archive_is_refused_over_http(client: tuple[Engine, httpx.Client]) -> None:
    engine, http = client
    for content, media, code in (
        (b"PK nothing", "application/zip", 400),
        (b"", "application/zip", 400),
        (b"{}", "application/json", 415),
    ):
        answer = http.post("/v1/imports", content=content, headers={"content-type": media})
        assert answer.status_code == code, answer.text
    assert http.get("/v1/patients/p/export?format=pdf").status_code == 400
    assert http.get("/v1/patients/p/export?format=as-received&known_at=2020-01-01").status_code == 400
    assert http.get("/v1/patients/nobody/export?format=as-received").status_code == 404
    assert engine.patients()[1] == 1


# ------------------------------------------------------------------- command line


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("IAMATA_DB", raising=False)
    with Engine.open("here.db") as engine:
        fill(engine)
        fill(engine, "q")

    def run(*args: str) -> Result:
        return CliRunner().invoke(app, [*args, "--db", "here.db"] if "--db" not in args else [*args])

    return run


def test_a_patient_is_written_as_fhir_or_as_a_summary(run: Any, tmp_path: Path) -> None:
    assert json.loads(run("export", "p").stdout)["type"] == "collection"
    assert json.loads(run("export", "p", "--summary").stdout)["type"] == "document"
    done = run("export", "p", "--summary", "-o", "ips.json", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout) == {
        "patient": "p",
        "sizeBytes": (tmp_path / "ips.json").stat().st_size,
        "file": "ips.json",
    }
    assert stat.S_IMODE((tmp_path / "ips.json").stat().st_mode) == 0o600
    again = run("export", "p", "-o", "ips.json")
    assert again.exit_code == 4
    assert "nothing is written over" in again.output


def test_an_archive_is_written_and_taken_in_elsewhere(run: Any, tmp_path: Path) -> None:
    done = run("export", "--workspace", "-o", "all.zip")
    assert (done.exit_code, done.stdout.splitlines()[0]) == (0, "Wrote 2 patients to all.zip.")
    done = run("import", "all.zip", "--db", "there.db")
    assert (done.exit_code, done.stdout.splitlines()[0]) == (0, "Took in 2 patients and 0 entries.")
    done = run("import", "all.zip", "--json", "--db", "there.db")
    assert json.loads(done.stdout) == {"patients": [], "hereAlready": ["p", "q"], "entries": 0}
    with Engine.open("here.db") as here, Engine.open("there.db") as there:
        assert here.graph("p").hash == there.graph("p").hash
    done = run("export", "p", "--as-received", "-o", "p.zip", "--json")
    assert json.loads(done.stdout)["patients"] == ["p"]


def test_a_damaged_archive_stops_and_leaves_nothing(run: Any, tmp_path: Path) -> None:
    run("export", "p", "--as-received", "-o", "p.zip")
    held = bytearray((tmp_path / "p.zip").read_bytes())
    with zipfile.ZipFile(tmp_path / "p.zip") as opened:
        part = opened.getinfo("patients/000001/statements.ndjson")
    held[part.header_offset + 30 + len(part.filename) + 40] ^= 0xFF  # within what is compressed
    (tmp_path / "bad.zip").write_bytes(held)
    done = run("import", "bad.zip", "--db", "there.db")
    assert done.exit_code == 2, done.output
    assert "patients/000001/statements.ndjson" in done.output
    with Engine.open("there.db") as there:
        assert there.patients() == ([], 0)
    assert run("import", "none.zip", "--db", "there.db").exit_code == 3


@pytest.mark.parametrize(
    "args",
    [
        ("export",),
        ("export", "p", "--workspace", "-o", "x"),
        ("export", "p", "--summary", "--as-received", "-o", "x"),
        ("export", "p", "--as-received", "--known-at", "2020-01-01", "-o", "x"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(run: Any, tmp_path: Path, args: tuple[str, ...]) -> None:
    assert run(*args).exit_code == 2
    assert not (tmp_path / "x").exists()


def test_an_export_that_fails_leaves_no_file(run: Any, tmp_path: Path) -> None:
    assert run("export", "nobody", "--as-received", "-o", "x.zip").exit_code == 3
    assert [each.name for each in tmp_path.iterdir() if "x.zip" in each.name] == []

"""`iamata ingest`: files of every format, archives, folders of everything, exports of many patients; what it tells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import leo
import pytest
import sent
from typer.testing import CliRunner, Result

from iamata.interfaces.cli import app

Run = Callable[..., Result]
SSN = "444222222"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `iamata ARGS` in an empty folder with a clean environment."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("IAMATA_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*args: str, input: bytes | None = None) -> Result:
        return CliRunner().invoke(app, list(args), input=input)

    return run


def answer(done: Result, code: int = 0) -> Any:
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def flat(text: str) -> str:
    return " ".join(text.split())


def kept(told: Any) -> list[tuple[str, str, str]]:
    """File, patient and format of what was kept."""
    return sorted((each["file"], each["patient"], each["receipt"]["family"]) for each in told["kept"])


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A folder with one file of each kind, two of which nobody can place."""
    folder = tmp_path / "in"
    folder.mkdir()
    folder.joinpath("a.json").write_text(json.dumps(leo.northside()), "utf-8")
    folder.joinpath("b.json").write_text(json.dumps(sent.r5()), "utf-8")
    folder.joinpath("c.xml").write_text(sent.cda(), "utf-8")
    folder.joinpath("d.hl7").write_bytes(sent.hl7())
    folder.joinpath("e.edi").write_bytes(sent.x12())
    folder.joinpath("f.zip").write_bytes(sent.zipped({"x/g.hl7": sent.hl7(value="9.9"), ".hidden": b"{"}))
    folder.joinpath("h.tgz").write_bytes(sent.tarred({"i.xml": sent.cda("Eczema", "43116000", id="doc-2").encode()}))
    folder.joinpath("y.hl7").write_bytes(sent.hl7("leo^^^E^MR~L-9"))
    folder.joinpath("z.bin").write_bytes(b"\x00\x01\x02\x03")
    return folder


def test_a_folder_of_everything_is_taken_in_each_file_in_its_format_for_the_patient_it_names(
    run: Run, mixed: Path
) -> None:
    told = answer(run("ingest", "in", "--json"), code=2)
    assert kept(told) == [
        ("in/a.json", "leo", "fhir/r4"),
        ("in/b.json", "leo", "fhir/r5"),
        ("in/c.xml", "leo", "cda/r2"),
        ("in/d.hl7", "leo", "hl7v2"),
        ("in/e.edi", "leo", "x12"),
        ("in/f.zip/x/g.hl7", "leo", "hl7v2"),
        ("in/h.tgz/i.xml", "leo", "cda/r2"),
    ]
    assert {each["format"]: each["documents"] for each in told["formats"]} == {
        "cda/r2": 2,
        "fhir/r4": 1,
        "fhir/r5": 1,
        "hl7v2": 2,
        "x12": 1,
    }
    assert [each["file"] for each in told["refused"]] == ["in/y.hl7", "in/z.bin"]
    assert "single id" in told["refused"][0]["error"]["message"]
    for each in told["kept"]:
        lines = each["receipt"]["lines"]
        assert all(line["place"] for line in lines if each["receipt"]["family"] != "fhir/r4")
        assert sum(item["received"] for item in each["receipt"]["intake"]) == len(lines)
    again = run("ingest", "in")
    assert "Kept 7 documents of leo: nothing new" in flat(again.stdout)
    assert "They are 2 cda/r2, 1 fhir/r4, 1 fhir/r5, 2 hl7v2 and 1 x12." in flat(again.stdout)
    assert SSN not in again.output


def test_explain_prints_the_place_of_what_was_left_in_each_format(run: Run, mixed: Path) -> None:
    shown = flat(run("ingest", "in", "--explain").stdout)
    assert "/entry/12/resource Basic: ignored (unsupported)" in shown
    assert "/1/ZZZ/1 ZZZ: ignored (unsupported)" in shown
    assert "in/e.edi: 4 items understood in full" in shown


def test_a_document_by_stdin_is_told_by_its_bytes(run: Run) -> None:
    assert kept(answer(run("ingest", "-", "--json", input=sent.hl7()))) == [("stdin", "leo", "hl7v2")]
    assert kept(answer(run("ingest", "-", "--json", input=sent.zipped({"a.xml": sent.cda().encode()})))) == [
        ("stdin/a.xml", "leo", "cda/r2")
    ]


def test_a_damaged_archive_is_refused_and_the_others_are_kept(run: Run, tmp_path: Path) -> None:
    tmp_path.joinpath("bad.zip").write_bytes(sent.zipped({"a.xml": sent.cda().encode()})[:-30])
    tmp_path.joinpath("good.hl7").write_bytes(sent.hl7())
    told = answer(run("ingest", "bad.zip", "good.hl7", "--json"), code=2)
    assert [each["file"] for each in told["refused"]] == ["bad.zip"]
    assert kept(told) == [("good.hl7", "leo", "hl7v2")]


# ------------------------------------------------------------------ exports


@pytest.fixture
def export(tmp_path: Path) -> Path:
    folder = tmp_path / "bulk"
    folder.mkdir()
    for name, body in sent.export().items():
        folder.joinpath(name).write_bytes(body)
    return folder


def test_an_export_is_split_by_patient_and_what_belongs_to_nobody_is_listed(run: Run, export: Path) -> None:
    told = answer(run("ingest", "bulk", "--source", "East", "--json"))
    assert kept(told) == [("the export (3 files)", id, "fhir/r4") for id in ("a1", "b2")]
    assert [(each["place"], each["outcome"]) for each in told["unassigned"]] == [("bulk/Location.ndjson/0", "ignored")]
    assert {each["id"] for each in answer(run("patients", "--json"))["patients"]} == {"a1", "b2"}
    shown = flat(run("ingest", "bulk", "--source", "East", "--explain").stdout)
    assert "Kept 2 documents of 2 patients: nothing new" in shown
    assert "bulk/Location.ndjson/0 Location: ignored (unsupported)" in shown


def test_an_export_in_an_archive_is_the_same_export(run: Run, export: Path, tmp_path: Path) -> None:
    answer(run("ingest", "bulk", "--source", "East", "--json"))
    tmp_path.joinpath("bulk.zip").write_bytes(sent.zipped(sent.export()))
    shown = flat(run("ingest", "bulk.zip", "--source", "East").stdout)
    assert "Kept 2 documents of 2 patients: nothing new" in shown


def test_a_patient_map_says_what_the_patients_of_a_source_are_called_here(
    run: Run, export: Path, tmp_path: Path
) -> None:
    tmp_path.joinpath("map.tsv").write_text("# theirs, ours\na1\tada\nleo,leonard\n", "utf-8")
    told = answer(run("ingest", "bulk", "--patient-map", "map.tsv", "--json"))
    assert [patient for _, patient, _ in kept(told)] == ["ada", "b2"]
    assert kept(answer(run("ingest", "-", "--patient-map", "map.tsv", "--json", input=sent.hl7()))) == [
        ("stdin", "leonard", "hl7v2")
    ]


@pytest.mark.parametrize("text", ["one", "a b c", "a _b", "a b\na c"])
def test_a_patient_map_that_cannot_be_is_refused_at_its_line(run: Run, tmp_path: Path, text: str) -> None:
    tmp_path.joinpath("map").write_text(text, "utf-8")
    done = run("ingest", "-", "--patient-map", "map", input=sent.hl7())
    assert done.exit_code == 2
    assert f"(at line {text.count(chr(10)) + 1})" in flat(done.stderr)


def test_lines_of_one_patient_are_kept_as_the_document_they_are(run: Run, tmp_path: Path) -> None:
    body = b"".join(
        json.dumps(each).encode() + b"\n"
        for each in (
            {
                "resourceType": "Condition",
                "id": "c",
                "subject": {"reference": "Patient/p7"},
                "code": {"text": "Asthma"},
            },
            {"resourceType": "Patient", "id": "p7"},
        )
    )
    tmp_path.joinpath("p7.ndjson").write_bytes(body)
    told = answer(run("ingest", "p7.ndjson", "--json"))
    assert kept(told) == [("p7.ndjson", "p7", "fhir/r4")]
    assert [line["place"] for line in told["kept"][0]["receipt"]["lines"]] == ["/0", "/1"]
    said = answer(run("ingest", "p7.ndjson", "--patient", "p8", "--json"))
    assert kept(said) == [("p7.ndjson", "p8", "fhir/r4")]


# ------------------------------------------------------------------ as it is typed


def test_the_command_itself_takes_in_a_folder(tmp_path: Path, mixed: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("IAMATA_")}
    done = subprocess.run(
        [sys.executable, "-c", "from iamata.interfaces.cli import main; main()", "ingest", "in", "--json"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 2, done.stderr.decode()
    assert len(json.loads(done.stdout)["kept"]) == 7
    assert b"Zebrafish" not in done.stderr
    assert tmp_path.joinpath("iamata.db").exists()


REAL = {
    "synthea_r4_bundles": ("*.json", 1, ()),
    "ips_bundles": ("**/*.json", 2, ()),
    "us_core_examples": ("*.json", 2, ("--patient", "example")),
    "fhir_r4_spec_examples": ("AllergyIntolerance-*.json", 4, ("--patient", "example")),
    "ccda_hl7_examples": ("Documents/**/*.xml", 2, ("--patient", "p1")),
    "ccda_microsoft_samples": ("*.ccda", 2, ("--patient", "p1")),
    "ccda_onc_cert": ("**/*.xml", 1, ("--patient", "p1")),
    "ai_authored": ("**/*.pdf", 1, ("--patient", "p1")),
    "ccda_vendor_samples": ("Kareo_Samples/*.xml", 1, ("--patient", "p1")),
    "hl7v2_messages": ("**/*.hl7", 4, ("--patient", "p1")),
    "x12_claims": ("**/*", 3, ("--patient", "p1")),
}


@pytest.mark.parametrize("folder", sorted(REAL))
def test_real_files_of_every_folder_are_taken_in_and_accounted_for(run: Run, data: Path, folder: str) -> None:
    pattern, count, options = REAL[folder]
    found = sorted(
        (
            path
            for path in data.joinpath(folder).glob(pattern)
            if path.is_file() and path.suffix not in (".md", ".txt") and path.stat().st_size > 500
        ),
        key=lambda path: (path.stat().st_size, path.name),
    )[:count]
    assert len(found) == count
    told = answer(run("ingest", *map(str, found), *options, "--json"))
    assert told["refused"] == []
    assert len(told["kept"]) >= count
    for each in told["kept"]:
        (item,) = each["receipt"]["intake"]
        assert item["received"] == len(each["receipt"]["lines"]) > 0


def test_a_real_bulk_export_is_split_by_patient(run: Run, data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bulk"
    folder.mkdir()
    patients: set[str] = set()
    for name in ("Patient", "AllergyIntolerance", "Condition"):
        lines = data.joinpath("bulk_ndjson_10pt", f"{name}.000.ndjson").read_bytes().splitlines(keepends=True)[:40]
        folder.joinpath(f"{name}.ndjson").write_bytes(b"".join(lines))
        for each in map(json.loads, lines):
            about = each.get("subject") or each.get("patient") or {"reference": f"Patient/{each['id']}"}
            patients.add(about["reference"].rpartition("/")[2])
    told = answer(run("ingest", "bulk", "--source", "Cumulus", "--json"))
    assert {patient for _, patient, _ in kept(told)} == patients
    assert told["refused"] == told["unassigned"] == []

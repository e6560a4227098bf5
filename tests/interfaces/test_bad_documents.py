"""Bad documents by the real doors, HTTP and command line: a clear refusal that names the place, nothing stored, nobody
registered, no word of the document in the answer; or a line of the intake for what was set aside."""

from __future__ import annotations

import gzip
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import httpx
import leo
import pytest
import sent
from live import running
from typer.testing import CliRunner, Result

from iamata.engine import Engine
from iamata.interfaces.cli import app
from iamata.settings import Settings

XML = '<?xml version="1.0" encoding="UTF-8"?>'
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
NOW = datetime(2026, 2, 15, 9, 0, tzinfo=UTC)
NAME = "Zebrafish"  # stands in every document of Leo and in no answer


MEDIA = {
    "cda/r2": "application/cda+xml",
    "fhir/r4": "application/fhir+json",
    "hl7v2": "application/hl7-v2",
    "x12": "application/edi-x12",
    "documents": "application/octet-stream",
}


class Bad(NamedTuple):
    """A document that cannot be read: its route, its bytes, and what the answer says of it and of its place."""

    route: str
    body: bytes
    said: str
    place: str
    code: int = 400


def _deep_json(depth: int) -> bytes:
    return b'{"resourceType":"Bundle","name":"Zebrafish","entry":' + b"[" * depth + b"]" * depth + b"}"


def _deep_xml(depth: int) -> bytes:
    inside = "<section>" * depth + "</section>" * depth
    return sent.cda().replace("<structuredBody>", f"<structuredBody>\n{inside}").encode()


def _bomb() -> bytes:
    """A Word document whose part inflates to 60 MB from 60 KB."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("word/document.xml", "w") as part:
        for _ in range(60):
            part.write(b" " * 1_000_000)
    return packed.getvalue()


def _locked_pdf() -> bytes:
    """A PDF whose encryption dictionary asks for a password (PDF 1.7, 7.6.3): no reader can open it without."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [] /Count 0 >>",
        b"<< /Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P -4 >>" % (b"00" * 32, b"11" * 32),
    ]
    body, at = b"%PDF-1.4\n", []
    for number, held in enumerate(objects, 1):
        at.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, held)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in at)
    trailer = b"<< /Size 4 /Root 1 0 R /Encrypt 3 0 R /ID [<00> <00>] >>"
    return (
        body
        + b"xref\n0 4\n0000000000 65535 f \n"
        + table
        + b"trailer\n%s\nstartxref\n%d\n%%%%EOF" % (trailer, len(body))
    )


CDA = sent.cda()
BUNDLE = json.dumps(leo.northside())
BAD = {
    "truncated XML": Bad("cda/r2", CDA[: len(CDA) // 2].encode(), "not well-formed XML", "line 1 column"),
    "truncated JSON": Bad("fhir/r4", BUNDLE[:-20].encode(), "not JSON", "line 1 column"),
    "wrong encoding of XML": Bad("cda/r2", CDA.replace("Leo", "Léo").encode("latin-1"), "not utf-8", "line 1 column"),
    "wrong encoding of JSON": Bad("fhir/r4", BUNDLE.encode() + b"\xff", "not UTF-8", "line 1 column"),
    "an encoding that is none": Bad("cda/r2", CDA.replace("UTF-8", "hex").encode(), "none for text", "line 1"),
    "billion laughs": Bad(
        "cda/r2",
        f'{XML}\n<!DOCTYPE x [<!ENTITY l0 "lol">{LAUGHS}]><ClinicalDocument>&l9;</ClinicalDocument>'.encode(),
        "entities are not allowed",
        "line 2",
    ),
    "an external entity": Bad(
        "cda/r2",
        f'{XML}<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]><ClinicalDocument>&e;</ClinicalDocument>'.encode(),
        "external entity",
        "line 1",
    ),
    "50,000 nested elements": Bad("cda/r2", _deep_xml(50_000), "nests too deep", "line 2 column", 413),
    "300 nested elements": Bad("cda/r2", _deep_xml(200), "nests deeper than the 200 levels", "line 2", 413),
    "50,000 nested lists": Bad(
        "fhir/r4", _deep_json(50_000), "nests deeper than the 200 levels", "line 1 column 252", 413
    ),
    "a zip bomb": Bad("documents", _bomb(), "larger than the 50000000 bytes", "word/document.xml", 413),
    "a PDF with a password": Bad("documents", _locked_pdf(), "password", ""),
    "an empty file": Bad("documents", b"", "empty", ""),
    "blanks alone": Bad("documents", b" \r\n\t", "empty", "", 415),
    "HL7 without MSH": Bad("hl7v2", sent.hl7().partition(b"\r")[2], "there is no MSH segment", "line 1"),
    "an HL7 header without delimiters": Bad("hl7v2", b"MSH" + sent.hl7()[8:], "delimiters", "line 1"),
    "trailing garbage after the JSON": Bad(
        "fhir/r4", BUNDLE.encode() + b' "Zebrafish"', "trailing characters", f"line 1 column {len(BUNDLE) + 2}"
    ),
    "an X12 header cut short": Bad("x12", sent.x12()[:60], "ISA is cut short", "segment/1, offset 0"),
}


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", clock=lambda: NOW) as engine:
        yield engine


@pytest.fixture
def http(engine: Engine) -> Iterator[httpx.Client]:
    with running(engine, Settings(idle_s=0.05)) as url, calling(url) as client:
        yield client


@pytest.fixture(scope="module")
def refusing() -> Iterator[httpx.Client]:
    """One server for all that it refuses: each leaves nothing, so the next finds it as it was."""
    with (
        Engine.open(":memory:", clock=lambda: NOW) as engine,
        running(engine, Settings(idle_s=0.05)) as url,
        calling(url) as client,
    ):
        yield client


def calling(url: str) -> httpx.Client:
    return httpx.Client(base_url=f"{url}/v1", trust_env=False, timeout=60)


def post(http: httpx.Client, route: str, body: bytes) -> httpx.Response:
    path = f"/patients/leo/ingestions/{route}?wait=true"
    return http.post(path, content=body, headers={"Content-Type": MEDIA[route]})


@pytest.mark.parametrize("name", BAD)
def test_a_bad_document_is_refused_at_its_place_and_leaves_nothing(refusing: httpx.Client, name: str) -> None:
    bad = BAD[name]
    answer = post(refusing, bad.route, bad.body)
    told = answer.json()
    assert answer.status_code == bad.code, answer.text
    assert bad.said in json.dumps(told), answer.text
    assert bad.place in json.dumps(told), answer.text
    assert NAME not in answer.text
    assert refusing.get("/patients").json()["meta"]["total"] == 0


Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `iamata ARGS` in an empty folder with a clean environment."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("IAMATA_")]:
        monkeypatch.delenv(name)
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize("name", BAD)
def test_the_command_line_refuses_a_bad_document_and_keeps_the_good_one_beside_it(
    name: str, run: Run, tmp_path: Path
) -> None:
    tmp_path.joinpath("bad").write_bytes(BAD[name].body)
    tmp_path.joinpath("good.hl7").write_bytes(sent.hl7())
    done = run("ingest", "bad", "good.hl7", "--patient", "leo", "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == (6 if BAD[name].code == 413 else 2)
    assert [each["file"] for each in told["kept"]] == ["good.hl7"]
    assert [each["file"] for each in told["refused"]] == ["bad"]
    assert NAME not in done.output


def test_an_archive_that_is_a_bomb_is_refused_by_name(run: Run, tmp_path: Path) -> None:
    tmp_path.joinpath("x.ndjson.gz").write_bytes(gzip.compress(b" " * 60_000_000))
    done = run("ingest", "x.ndjson.gz", "--patient", "leo")
    assert done.exit_code == 6
    assert "x.ndjson.gz" in done.output
    assert "the archive holds far more than its size allows" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("route", "body", "place"),
    [
        (
            "cda/r2",
            sent.cda().replace(
                "</recordTarget>",
                "</recordTarget><recordTarget><patientRole><id root='9' extension='mia'/></patientRole></recordTarget>",
            ),
            "/ClinicalDocument/recordTarget[2]",
        ),
        ("hl7v2", sent.hl7().decode() + sent.hl7("mia").decode().replace("444222222", "555333333"), "/2/PID/1"),
        (
            "fhir/r4",
            json.dumps(
                {
                    "resourceType": "Bundle",
                    "type": "collection",
                    "entry": [
                        {"resource": {"resourceType": "Patient", "id": "leo"}},
                        {"resource": {"resourceType": "Patient", "id": "mia"}},
                        *(
                            {
                                "resource": {
                                    "resourceType": "Condition",
                                    "id": f"c-{who}",
                                    "subject": {"reference": f"Patient/{who}"},
                                    "code": {"text": "Migraine"},
                                }
                            }
                            for who in ("leo", "mia")
                        ),
                    ],
                }
            ),
            "/entry/3/resource",
        ),
    ],
    ids=["cda/r2", "hl7v2", "fhir/r4"],
)
def test_of_two_patients_in_one_document_the_other_is_set_aside_with_a_line(
    http: httpx.Client, engine: Engine, route: str, body: str, place: str
) -> None:
    answer = post(http, route, body.encode())
    assert answer.status_code == 200, answer.text
    (receipt,), _ = engine.receipts("leo")
    said = {line.place: f"{line.outcome} {line.reason}" for line in receipt.intake}
    assert said[place] == "ignored unusable"
    assert "mia" not in {row.id for row in engine.patients()[0]}
    graph = engine.graph("leo")
    assert not any("mia" in str(statement.provenance.record) for statement in graph.statements.values())

"""Whose is a document, by its own word? The one patient's one id that can be an id here; never a guess."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from iamata.connectors.registry import READERS, detect, is_lines, patient_hint, patients_named
from iamata.errors import UnknownFormat
from iamata.model.scope import SUBJECT_ID


def fhir(*ids: str | None) -> bytes:
    people = [{"resourceType": "Patient"} | ({"id": id} if id is not None else {}) for id in ids]
    entry = [{"resource": each} for each in (*people, {"resourceType": "Basic", "id": "x"})]
    return json.dumps({"resourceType": "Bundle", "entry": entry}).encode()


def cda(*targets: str) -> bytes:
    held = "".join(f"<recordTarget><patientRole>{ids}</patientRole></recordTarget>" for ids in targets)
    return f'<ClinicalDocument xmlns="urn:hl7-org:v3">{held}</ClinicalDocument>'.encode()


def hl7(*pids: str) -> bytes:
    return "".join(f"MSH|^~\\&|A|B|||2025||ADT^A01|1|P|2.5\rPID|1||{pid}\r" for pid in pids).encode()


def x12(*members: str) -> bytes:
    segments = ["ISA*00*          *00*          *ZZ*S              *ZZ*R              *260101*1200*^*00501*1*0*T*:"]
    segments[0] = (
        "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260101*1200*^*00501*000000001*0*T*:"
    )
    segments += ["GS*HC*S*R*20260101*1200*1*X*005010X222A1", "ST*837*0001*005010X222A1"]
    segments += ["BHT*0019*00*1*20260110*0930*CH", "HL*1**20*1", "NM1*85*2*CLINIC*****XX*1111111112"]
    for n, member in enumerate(members, start=2):
        segments += [f"HL*{n}*1*22*0", "SBR*P*18*G*S*****CI", f"NM1*IL*1*REED*ANA*M***{member}", "DMG*D8*19800102*F"]
        segments += ["NM1*PR*2*PAYER*****PI*P55", f"CLM*A{n}*120***11:B:1*Y*A*Y*Y", "HI*ABK:J069", "LX*1"]
        segments += ["SV1*HC:99213*120*UN*1***1", "DTP*472*D8*20260105"]
    segments += [f"SE*{len(segments) - 1}*0001", "GE*1*1", "IEA*1*000000001", ""]
    return "~".join(segments).encode()


@pytest.mark.parametrize(
    ("body", "named", "hint"),
    [
        (fhir("leo"), 1, "leo"),
        (fhir("leo", "leo"), 1, "leo"),
        (fhir("leo", "mia"), 2, ""),
        (fhir("leo", None), 2, ""),
        (fhir(None), 1, ""),
        (fhir("a b"), 1, ""),
        (fhir(), 0, ""),
        (b'{"resourceType":"Patient","id":"leo"}\n{"resourceType":"Condition","id":"c"}\n', 1, "leo"),
        (b'{"resourceType":"Patient","id":"leo"', 0, ""),
        (cda('<id root="1.2" extension="leo"/>'), 1, "leo"),
        (cda('<id root="1.2" extension="leo"/><id root="2.16.840.1.113883.4.1" extension="444222222"/>'), 1, "leo"),
        (cda('<id root="2.16.840.1.113883.4.1" extension="444222222"/>'), 1, ""),
        (cda('<id root="1.2" extension="leo"/><id root="1.3" extension="L-7"/>'), 1, ""),
        (cda('<id root="1.2" extension="leo"/><id root="1.3" extension="a b"/>'), 1, "leo"),
        (cda('<id root="1.2" extension="leo" nullFlavor="MSK"/>'), 1, ""),
        (cda('<id root="1.2"/>'), 1, ""),
        (cda('<id root="1.2" extension="leo"/>', '<id root="1.2" extension="mia"/>'), 2, ""),
        (cda(), 0, ""),
        (hl7("77^^^N^MR||Ray^Leo"), 1, "77"),
        (hl7("77^^^N^MR~444222222^^^S^SS||Ray^Leo"), 1, "77"),
        (hl7("77^^^N^MR~88^^^M^MR||Ray^Leo"), 1, ""),
        (hl7("77^^^N^MR||Ray^Leo", "77^^^N^MR||Ray^Leo"), 1, "77"),
        (hl7("77^^^N^MR||Ray^Leo", "88^^^N^MR||Ray^Mia"), 2, ""),
        (hl7("||Ray^Leo||20150403"), 1, ""),
        (hl7("||Ray^Leo||20150403", "||Ray^Mia||20150403"), 2, ""),
        (b"MSH|^~\\&|A|B|||2025||ADT^A01|1|P|2.5\r", 0, ""),
        (x12("MI*M100"), 1, "M100"),
        (x12("MI*M100", "MI*M100"), 1, "M100"),
        (x12("SY*444222222"), 1, ""),
        (x12("MI*M100", "MI*M200"), 2, ""),
    ],
)
def test_a_document_names_its_one_patient_or_nobody(body: bytes, named: int, hint: str) -> None:
    format = detect(body)
    assert patients_named(body, format)[0] == named
    assert patient_hint(body, format) == hint


def test_a_format_whose_documents_name_nobody_gives_no_hint() -> None:
    assert patients_named(b"Leo, born in 2021", "document/text") == (0, ())
    assert patient_hint(b"", "zebra") == ""


@pytest.mark.parametrize(
    ("body", "name", "lines"),
    [
        (b'{"resourceType":"Patient"}\n{"resourceType":"Patient"}\n', "", True),
        (b'{"resourceType":"Patient"}\n', "", False),
        (b'{"resourceType":"Patient"}\n', "Patient.ndjson", True),
        (b'{\n"resourceType":"Patient"\n}\n', "x.json", False),
        (b'{"resourceType":"Patient"}\nand more', "x.json", False),
    ],
)
def test_lines_of_resources_are_told_from_one_document(body: bytes, name: str, lines: bool) -> None:
    assert is_lines(body, "fhir/r4", name) is lines
    assert is_lines(body, "x12", name) is False


def test_the_hints_of_real_files_are_ids_and_never_numbers_of_the_state(data: Path) -> None:
    hinted = dict.fromkeys(READERS, 0)
    for path in sorted(data.rglob("*")):
        if not path.is_file() or path.stat().st_size > 200_000 or "recon" in path.parts[-2]:
            continue
        body = path.read_bytes()
        try:
            format = detect(body, name=path.name)
        except UnknownFormat:
            continue
        hint = patient_hint(body, format)
        assert not hint or SUBJECT_ID.match(hint)
        assert hint.replace("-", "") not in ("444222222", "414122222", "111002330", "000000000")
        hinted[format] += bool(hint)
    assert hinted["fhir/r4"] > 40
    assert hinted["cda/r2"] > 60
    assert hinted["hl7v2"] > 60
    assert hinted["x12"] > 15

"""With which documents does the fuzzer begin? Small real files of the target's formats, and a few that are written
here, so that it also runs without a data folder."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from iamata.connectors import registry
from iamata.connectors.documents import FORMATS
from iamata.errors import UnknownFormat

# Longer ones are read too slowly to learn from; this many of each target, evenly taken from all by size.
_LONGEST: Final = 20_000
_LONGEST_OF: Final = {"documents": 60_000, "exports": 60_000}
_MOST: Final = 400
_FORMATS: Final[dict[str, tuple[str, ...]]] = {
    "fhir-r4": ("fhir/r4",),
    "fhir-r5": ("fhir/r5", "fhir/r4"),
    "cda": ("cda/r2",),
    "hl7v2": ("hl7v2",),
    "x12": ("x12",),
    "documents": FORMATS,
    "exports": ("fhir/r4",),
}

_PATIENT: Final = {"resourceType": "Patient", "id": "p", "name": [{"family": "Ray"}], "birthDate": "2015-04-03"}
_R5: Final[dict[str, Any]] = {
    "resourceType": "Bundle",
    "type": "collection",
    "entry": [
        {"fullUrl": "urn:uuid:1", "resource": _PATIENT},
        {
            "resource": {
                "resourceType": "MedicationRequest",
                "id": "m",
                "status": "active",
                "intent": "order",
                "subject": {"reference": "Patient/p"},
                "medication": {"concept": {"text": "Amoxicillin"}},
                "reason": [{"reference": {"reference": "Condition/c"}}],
                "note": [{"authorString": "Ann", "text": "with food"}],
            }
        },
        {
            "resource": {
                "resourceType": "Condition",
                "id": "c",
                "subject": {"reference": "Patient/p"},
                "clinicalStatus": {"coding": [{"code": "active"}]},
                "code": {"text": "Otitis media"},
                "participant": [{"function": {"coding": [{"code": "informant"}]}, "actor": {"reference": "Patient/p"}}],
            }
        },
        {
            "resource": {
                "resourceType": "Encounter",
                "id": "e",
                "status": "completed",
                "class": [{"coding": [{"code": "AMB"}]}],
                "subject": {"reference": "Patient/p"},
                "actualPeriod": {"start": "2026-02-10"},
                "reason": [{"value": [{"concept": {"text": "Earache"}}]}],
            }
        },
        {"request": {"method": "DELETE", "url": "Condition/old"}},
    ],
}
_CDA: Final = (
    '<ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><id root="1"/>'
    '<recordTarget><patientRole><id root="1.2" extension="leo"/></patientRole></recordTarget><component>'
    '<structuredBody><component><section><code code="11450-4"/><text><paragraph ID="a">Otitis media</paragraph></text>'
    '<entry><observation classCode="OBS" moodCode="EVN"><code code="55607006"/><text><reference value="#a"/></text>'
    '<effectiveTime value="2026"/><value xsi:type="CD" code="65363002" displayName="Otitis media"/></observation>'
    "</entry></section></component></structuredBody></component></ClinicalDocument>"
)
_HL7: Final = (
    "MSH|^~\\&|A|N|B|H|20250601083000||ORU^R01|1|P|2.5.1\rPID|1||77^^^N^MR||Ray^Leo||20150403|M\rORC|RE|1|2\r"
    "OBR|1|1|2|24323-8^Panel^LN|||20250601\rOBX|1|NM|2951-2^Sodium^LN||140|mmol/L|135-145|N|||F\rNTE|1||a note\r"
)
_X12: Final = (
    "ISA*00*          *00*          *ZZ*S              *ZZ*R              *260101*1200*^*00501*000000001*0*T*:~"
    "GS*HC*S*R*20260101*1200*1*X*005010X222A1~ST*837*0001*005010X222A1~BHT*0019*00*1*20260110*0930*CH~"
    "HL*1**20*1~NM1*85*2*CLINIC*****XX*1111111112~HL*2*1*22*0~SBR*P*18*****CI~NM1*IL*1*REED*ANA****MI*M100~"
    "CLM*A1*120***11:B:1*Y*A*Y*Y~HI*ABK:J069~LX*1~SV1*HC:99213*120*UN*1***1~DTP*472*D8*20260105~SE*13*0001~GE*1*1~"
    "IEA*1*000000001~"
)
_OWN: Final[dict[str, tuple[bytes, ...]]] = {
    "fhir-r4": (
        json.dumps({"resourceType": "Bundle", "type": "collection", "entry": [{"resource": _PATIENT}]}).encode(),
    ),
    "fhir-r5": (json.dumps(_R5).encode(),),
    "cda": (_CDA.encode(),),
    "hl7v2": (_HL7.encode(),),
    "x12": (_X12.encode(),),
    "documents": (
        b"Allergies: none\nPLAN\nrest",
        b"# Visit\n```\nx\n```\n",
        rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset204 A;}}{\info{\title T}{\author A}}"
        rb"\'e9\u8364? \par\bin2 xx\row}",
        b"<!doctype html><meta charset=utf-8><title>T</title><h1>Plan</h1><p>a &lt; b"
        b"<table><tr><td>x<td>y</table><pre>z</pre>",
    ),
    "exports": (b"\n".join(json.dumps(entry.get("resource", _R5)).encode() for entry in _R5["entry"]),),
    "transcripts": (
        b"mother: We stopped it on Thursday.\n[2026-02-15T09:00Z] clinician: Why?\ncaregiver (aunt): Hives.",
        b'{"messages": [{"role": "patient", "content": "It hurts", "sent_at": "2026-02-15T09:00:00Z"}]}',
        b'[{"speaker": "patient", "text": "It hurts"}]',
    ),
}


def seeds(target: str, data: Path) -> Iterator[bytes]:
    """The target's seeds: those written here, then real ones from short to long, at most `_MOST`."""
    yield from _OWN.get(target, ())
    if target == "documents":
        yield from (_docx(), _dicom())
    if target == "archives":
        yield from _archives()
        return
    found = sorted(_real(target, data), key=lambda body: (len(body), body))
    step = max(1, len(found) // _MOST)
    yield from found[::step]


def _real(target: str, data: Path) -> Iterator[bytes]:
    formats = _FORMATS.get(target, ())
    longest = _LONGEST_OF.get(target, _LONGEST)
    seen: set[bytes] = set()
    for path in sorted(data.rglob("*")) if data.is_dir() and formats else ():
        if not path.is_file() or path.stat().st_size > longest:
            continue
        body = path.read_bytes()
        try:
            format = registry.detect(body, name=path.name)
        except UnknownFormat:
            continue
        if format in formats and body not in seen:
            seen.add(body)
            yield body


def _docx() -> bytes:
    """A Word document with a heading, a table and a footnote."""
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    body = (
        '<w:p><w:pPr><w:pStyle w:val="H"/></w:pPr><w:r><w:t>Allergies</w:t></w:r></w:p><w:p><w:r><w:t>none</w:t></w:r>'
        "</w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
    )
    parts = {
        "[Content_Types].xml": "<Types/>",
        "word/document.xml": f"<w:document {space}><w:body>{body}</w:body></w:document>",
        "word/styles.xml": (
            f'<w:styles {space}><w:style w:styleId="H"><w:name w:val="heading 1"/><w:pPr><w:outlineLvl w:val="0"/>'
            "</w:pPr></w:style></w:styles>"
        ),
        "word/footnotes.xml": (
            f'<w:footnotes {space}><w:footnote w:id="1"><w:p><w:r><w:t>note</w:t></w:r></w:p></w:footnote>'
            "</w:footnotes>"
        ),
        "docProps/core.xml": '<c xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:creator>A</dc:creator></c>',
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return packed.getvalue()


def _dicom() -> bytes:
    """A basic text report of one finding (PS3.10 7, explicit VR little endian)."""

    def element(group: int, number: int, kind: str, value: bytes) -> bytes:
        value += (b"\0" if kind == "UI" else b" ") * (len(value) % 2)
        long = kind in ("SQ", "OB", "UT")
        size = b"\0\0" + len(value).to_bytes(4, "little") if long else len(value).to_bytes(2, "little")
        return group.to_bytes(2, "little") + number.to_bytes(2, "little") + kind.encode() + size + value

    def item(*elements: bytes) -> bytes:
        held = b"".join(elements)
        return b"\xfe\xff\x00\xe0" + len(held).to_bytes(4, "little") + held

    def coded(code: bytes, meaning: bytes) -> bytes:
        parts = ((0x0100, b"SH", code), (0x0102, b"SH", b"DCM"), (0x0104, b"LO", meaning))
        return item(*(element(0x0008, number, kind.decode(), value) for number, kind, value in parts))

    said = item(
        element(0x0040, 0xA010, "CS", b"CONTAINS"),
        element(0x0040, 0xA040, "CS", b"TEXT"),
        element(0x0040, 0xA043, "SQ", coded(b"121071", b"Finding")),
        element(0x0040, 0xA160, "UT", b"Small effusion."),
    )
    meta = element(0x0002, 0x0002, "UI", b"1.2.840.10008.5.1.4.1.1.88.11")
    meta += element(0x0002, 0x0010, "UI", b"1.2.840.10008.1.2.1")
    return (
        b"\0" * 128
        + b"DICM"
        + meta
        + b"".join(
            (
                element(0x0008, 0x0016, "UI", b"1.2.840.10008.5.1.4.1.1.88.11"),
                element(0x0008, 0x0018, "UI", b"1.2.3"),
                element(0x0008, 0x0020, "DA", b"20260210"),
                element(0x0008, 0x0060, "CS", b"SR"),
                element(0x0010, 0x0010, "PN", b"Ray^Leo"),
                element(0x0010, 0x0020, "LO", b"77"),
                element(0x0020, 0x000D, "UI", b"1.2.3.4"),
                element(0x0040, 0xA040, "CS", b"CONTAINER"),
                element(0x0040, 0xA043, "SQ", coded(b"121060", b"History")),
                element(0x0040, 0xA491, "CS", b"COMPLETE"),
                element(0x0040, 0xA730, "SQ", said),
            )
        )
    )


def _archives() -> Iterator[bytes]:
    held = [("a.json", json.dumps(_PATIENT).encode()), ("b/c.txt", b"words"), (".x", b"")]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in held:
            archive.writestr(zipfile.ZipInfo(name), body)
    yield packed.getvalue()
    for mode in ("w", "w:gz"):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode=mode) as tar:
            for name, body in held:
                entry = tarfile.TarInfo(name)
                entry.size = len(body)
                tar.addfile(entry, io.BytesIO(body))
        yield packed.getvalue()

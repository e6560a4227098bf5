"""What other systems than a FHIR server send of Leo: one small document of each kind. Made up, like every name here."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from typing import Any

_SCT = "2.16.840.1.113883.6.96"
_T = "2.16.840.1.113883.10.20.22.4."


def cda(concept: str = "Asthma", code: str = "195967001", *, id: str = "doc-1", patient: str = "leo") -> str:
    """A C-CDA of one problem, by Dr Ames of the custodian Northside."""
    problem = (
        f'<entry><act classCode="ACT" moodCode="EVN"><templateId root="{_T}3"/><id root="1.2.9" extension="{code}"/>'
        '<code code="CONC" codeSystem="2.16.840.1.113883.5.6"/><statusCode code="active"/>'
        f'<entryRelationship typeCode="SUBJ"><observation classCode="OBS" moodCode="EVN"><templateId root="{_T}4"/>'
        f'<id root="1.2.8" extension="{code}"/><code code="55607006" codeSystem="{_SCT}"/>'
        '<statusCode code="completed"/><effectiveTime><low value="20250301"/></effectiveTime>'
        f'<value xsi:type="CD" code="{code}" codeSystem="{_SCT}" displayName="{concept}"/>'
        "</observation></entryRelationship></act></entry>"
    )
    author = (
        '<author><time value="20260210"/><assignedAuthor><id root="2.16.840.1.113883.4.6" extension="111"/>'
        "<assignedPerson><name><prefix>Dr</prefix><family>Ames</family></name></assignedPerson></assignedAuthor>"
        "</author>"
    )
    custodian = (
        "<custodian><assignedCustodian><representedCustodianOrganization><name>Northside</name>"
        "</representedCustodianOrganization></assignedCustodian></custodian>"
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><ClinicalDocument xmlns="urn:hl7-org:v3" '
        f'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><id root="{id}"/><title>Summary</title>'
        f'<effectiveTime value="20260210"/><recordTarget><patientRole><id root="1.2.3" extension="{patient}"/>'
        '<id root="2.16.840.1.113883.4.1" extension="444222222"/><patient><name><given>Leo</given><family>Zebrafish'
        f'</family></name><birthTime value="20211224"/></patient></patientRole></recordTarget>{author}{custodian}'
        '<component><structuredBody><component><section><code code="11450-4" codeSystem="2.16.840.1.113883.6.1"/>'
        f"<title>Problems</title><text><paragraph>{concept}, since March.</paragraph></text>{problem}"
        "</section></component></structuredBody></component></ClinicalDocument>"
    )


def hl7(patient: str = "leo", *, value: str = "13.2") -> bytes:
    """An ORU of one result, with a segment of the sender's own."""
    return "".join(
        f"{line}\r"
        for line in (
            "MSH|^~\\&|LAB|EASTLAB|IN|HERE|20260211083000||ORU^R01|1|P|2.5.1",
            f"PID|1||{patient}^^^EAST^MR~444222222^^^SSA^SS||Zebrafish^Leo||20211224|M",
            "OBR|1||F1|718-7^Hemoglobin^LN|||20260211",
            f"OBX|1|NM|718-7^Hemoglobin^LN||{value}|g/dL^^UCUM|||||F",
            "ZZZ|1|more",
        )
    ).encode()


def x12(member: str = "leo") -> bytes:
    """A professional claim of one service."""
    segments = [
        "ISA*00*          *00*          *ZZ*CLEARING       *ZZ*RECEIVER       *260101*1200*^*00501*000000001*0*T*:",
        "GS*HC*CLEARING*RECEIVER*20260101*1200*1*X*005010X222A1",
        "ST*837*0001*005010X222A1",
        "BHT*0019*00*1*20260110*0930*CH",
        "HL*1**20*1",
        "NM1*85*2*RIVER CLINIC*****XX*1111111112",
        "HL*2*1*22*0",
        "SBR*P*18*GRP7*SILVER*****CI",
        f"NM1*IL*1*ZEBRAFISH*LEO****MI*{member}",
        "DMG*D8*20211224*M",
        "NM1*PR*2*GOOD PAYER*****PI*P55",
        "CLM*A1*120***11:B:1*Y*A*Y*Y",
        "HI*ABK:H6690",
        "LX*1",
        "SV1*HC:99213*120*UN*1***1",
        "DTP*472*D8*20260110",
    ]
    segments += [f"SE*{len(segments) - 1}*0001", "GE*1*1", "IEA*1*000000001", ""]
    return "~\n".join(segments).encode()


def r5() -> dict[str, Any]:
    """A bundle with shapes that only R5 has."""
    leo = {"reference": "Patient/leo"}
    resources: list[dict[str, Any]] = [
        {"resourceType": "Patient", "id": "leo", "name": [{"family": "Zebrafish"}]},
        {
            "resourceType": "MedicationRequest",
            "id": "m5",
            "status": "active",
            "intent": "order",
            "subject": leo,
            "medication": {"concept": {"text": "Ibuprofen 100 mg"}},
            "authoredOn": "2026-02-12",
        },
    ]
    return {
        "resourceType": "Bundle",
        "type": "collection",
        "entry": [{"fullUrl": f"urn:x:{each['id']}", "resource": each} for each in resources],
    }


def export() -> dict[str, bytes]:
    """The files of a bulk export of two patients; a location belongs to nobody."""

    def lines(*resources: dict[str, Any]) -> bytes:
        return b"".join(json.dumps(each).encode() + b"\n" for each in resources)

    def condition(id: str, patient: str, text: str) -> dict[str, Any]:
        return {
            "resourceType": "Condition",
            "id": id,
            "subject": {"reference": f"Patient/{patient}"},
            "code": {"text": text},
        }

    return {
        "Patient.ndjson": lines({"resourceType": "Patient", "id": "a1"}, {"resourceType": "Patient", "id": "b2"}),
        "Condition.ndjson": lines(condition("c1", "a1", "Asthma"), condition("c2", "b2", "Eczema")),
        "Location.ndjson": lines({"resourceType": "Location", "id": "l1", "name": "Ward"}),
    }


def zipped(held: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in held.items():
            archive.writestr(name, body)
    return made.getvalue()


def tarred(held: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, body in held.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(body)
            archive.addfile(entry, io.BytesIO(body))
    return made.getvalue()

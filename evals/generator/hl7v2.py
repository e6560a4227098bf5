"""How does a laboratory send a result as HL7 v2? One ORU^R01 message, one OBR and one OBX for each result.

Takes the FHIR form that the generator made and writes the same content in segments (HL7 v2.5.1 chapter 7).
"""

from __future__ import annotations

from typing import Any

FORMAT = "hl7v2"


def can(resource: dict[str, Any]) -> bool:
    """Is it a result with an amount? Other resources of such a source are sent as FHIR."""
    return resource["resourceType"] == "Observation" and "valueQuantity" in resource


def write(patient: dict[str, Any], resources: list[dict[str, Any]]) -> tuple[bytes, list[str]]:
    """The message, and the place of the patient and of each result in it."""
    name, number = patient["name"][0], patient["identifier"][0]["value"]
    segments = [
        "MSH|^~\\&|LAB|GEN|EHR|GEN|20261101120000-0500||ORU^R01^ORU_R01|1|P|2.5.1||||||UNICODE UTF-8",
        f"PID|1||{number}^^^GEN^MR||{name['family']}^{name['given'][0]}||{patient['birthDate'].replace('-', '')}"
        f"|{patient['gender'][0].upper()}",
    ]
    places = ["/1/PID/1"]
    for index, resource in enumerate(resources, start=1):
        when, test = _time(resource["effectiveDateTime"]), _coded(resource["code"])
        segments.append(f"OBR|{index}||{resource['id']}^LAB|{test}|||{when}|||||||||||||||||||F")
        amount = resource["valueQuantity"]
        unit = f"{_safe(amount['code'])}^{_safe(amount['unit'])}^UCUM" if amount.get("code") else _safe(amount["unit"])
        segments.append(f"OBX|1|NM|{test}||{amount['value']}|{unit}|||||F|||{when}")
        places.append(f"/1/OBX/{index}")
    return "\r".join([*segments, ""]).encode(), places


def _coded(concept: dict[str, Any]) -> str:
    """CWE: code, name, system (`LN` is LOINC in HL7 table 0396); a name alone stands in its second part."""
    for coding in concept.get("coding", []):
        return f"{coding['code']}^{_safe(coding.get('display', ''))}^LN"
    return f"^{_safe(concept['text'])}"


def _time(text: str) -> str:
    """YYYYMMDD[HHMMSS[+-ZZZZ]]; `Z` is +0000."""
    day, _, rest = text.partition("T")
    if not rest:
        return day.replace("-", "")
    clock, zone = rest[:8].replace(":", ""), rest[8:].replace(":", "").replace("Z", "+0000")
    return f"{day.replace('-', '')}{clock}{zone}"


def _safe(text: str) -> str:
    """Delimiters as escapes (HL7 v2.5.1, 2.7)."""
    for plain, escape in (("\\", "\\E\\"), ("|", "\\F\\"), ("^", "\\S\\"), ("&", "\\T\\"), ("~", "\\R\\")):
        text = text.replace(plain, escape)
    return text

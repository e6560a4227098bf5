"""How does a source write problems, medications, allergies and vaccines in a C-CDA? One continuity-of-care document.

Takes the FHIR form that the generator made and writes the same content as entries (C-CDA R2.1; template ids as in the
certification samples). Not here: narrative beyond a heading; what the reader does with it.
"""

from __future__ import annotations

import zlib
from typing import Any
from xml.sax.saxutils import escape, quoteattr

FORMAT = "cda/r2"
TEMPLATE = "2.16.840.1.113883.10.20.22"
ROOT = "2.16.840.1.113883.19.5.7"
OIDS = {
    "http://snomed.info/sct": "2.16.840.1.113883.6.96",
    "http://hl7.org/fhir/sid/icd-10-cm": "2.16.840.1.113883.6.90",
    "http://www.nlm.nih.gov/research/umls/rxnorm": "2.16.840.1.113883.6.88",
    "http://hl7.org/fhir/sid/ndc": "2.16.840.1.113883.6.69",
    "http://hl7.org/fhir/sid/cvx": "2.16.840.1.113883.12.292",
}
_CD = 'xsi:type="CD"'
# Resource type → section template, LOINC code of the section, its title.
SECTIONS = {
    "AllergyIntolerance": ("2.6.1", "48765-2", "Allergies"),
    "MedicationRequest": ("2.1.1", "10160-0", "Medications"),
    "Condition": ("2.5.1", "11450-4", "Problems"),
    "Immunization": ("2.2.1", "11369-6", "Immunizations"),
}


def can(resource: dict[str, Any]) -> bool:
    """An allergy goes only with its substance as a code: a finding ("allergy to …") has another place in C-CDA."""
    type = resource["resourceType"]
    if type == "AllergyIntolerance":
        codings = resource["code"].get("coding", [])
        return bool(codings) and "llergy" not in codings[0].get("display", "")
    return type in SECTIONS or type == "MedicationStatement"


def write(patient: dict[str, Any], resources: list[dict[str, Any]]) -> tuple[bytes, list[str]]:
    """The document, and the place of the patient and of each entry in it (XPath, an index only among several)."""
    groups: dict[str, list[dict[str, Any]]] = {type: [] for type in SECTIONS}
    for resource in resources:
        type = resource["resourceType"].replace("MedicationStatement", "MedicationRequest")
        groups[type].append(resource)
    filled = [type for type in SECTIONS if groups[type]]
    places: dict[int, str] = {}
    parts = []
    for number, type in enumerate(filled, start=1):
        template, code, title = SECTIONS[type]
        section = f"component[{number}]" if len(filled) > 1 else "component"
        entries = []
        for index, resource in enumerate(groups[type], start=1):
            entry = f"entry[{index}]" if len(groups[type]) > 1 else "entry"
            places[id(resource)] = f"/ClinicalDocument/component/structuredBody/{section}/section/{entry}"
            entries.append(f"<entry>{_ENTRIES[type](resource)}</entry>")
        parts.append(
            f'<component><section><templateId root="{TEMPLATE}.{template}"/>'
            f'<code code="{code}" codeSystem="2.16.840.1.113883.6.1"/><title>{title}</title>'
            f"<text>{title}</text>{''.join(entries)}</section></component>"
        )
    body = (
        _header(patient)
        + f"<component><structuredBody>{''.join(parts)}</structuredBody></component></ClinicalDocument>"
    )
    return body.encode(), ["/ClinicalDocument/recordTarget", *(places[id(resource)] for resource in resources)]


def _header(patient: dict[str, Any]) -> str:
    name, number = patient["name"][0], patient["identifier"][0]["value"]
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        '<realmCode code="US"/><typeId root="2.16.840.1.113883.1.3" extension="POCD_HD000040"/>'
        f'<templateId root="{TEMPLATE}.1.2"/><id root="{ROOT}" extension={quoteattr(f"doc-{number}")}/>'
        '<code code="34133-9" codeSystem="2.16.840.1.113883.6.1"/><title>Summary</title>'
        '<effectiveTime value="20261101120000-0500"/>'
        '<confidentialityCode code="N" codeSystem="2.16.840.1.113883.5.25"/>'
        '<languageCode code="en-US"/><recordTarget><patientRole>'
        f'<id root="{ROOT}.1" extension={quoteattr(number)}/><patient><name><given>{escape(name["given"][0])}</given>'
        f"<family>{escape(name['family'])}</family></name>"
        f'<administrativeGenderCode code="{patient["gender"][0].upper()}" codeSystem="2.16.840.1.113883.5.1"/>'
        f'<birthTime value="{_time(patient["birthDate"])}"/></patient></patientRole></recordTarget>'
        f'<author><time value="20261101120000-0500"/><assignedAuthor><id root="{ROOT}.2"/>'
        "<assignedPerson><name>Dr Sample</name></assignedPerson></assignedAuthor></author>"
        f'<custodian><assignedCustodian><representedCustodianOrganization><id root="{ROOT}.3"/>'
        "<name>Sample Clinic</name></representedCustodianOrganization></assignedCustodian></custodian>"
    )


def _time(text: str) -> str:
    return text.replace("-", "")


def _span(start: str | None, end: str | None = None) -> str:
    low = f'<low value="{_time(start)}"/>' if start else '<low nullFlavor="UNK"/>'
    high = f'<high value="{_time(end)}"/>' if end else ""
    return low + high


def _coded(tag: str, concept: dict[str, Any], attributes: str = "") -> str:
    """The first code with the others as translations; a name alone is an original text."""
    codings = concept.get("coding", [])
    text = f"<originalText>{escape(concept['text'])}</originalText>" if concept.get("text") else ""
    if not codings:
        return f'<{tag} {attributes} nullFlavor="OTH">{text}</{tag}>'
    first, *others = (_attributes(coding) for coding in codings)
    translations = "".join(f"<translation {other}/>" for other in others)
    return f"<{tag} {attributes} {first}>{text}{translations}</{tag}>"


def _attributes(coding: dict[str, str]) -> str:
    oid = OIDS.get(coding["system"], coding["system"].removeprefix("urn:oid:"))
    shown = f" displayName={quoteattr(coding['display'])}" if coding.get("display") else ""
    return f'code="{coding["code"]}" codeSystem="{oid}"{shown}'


def _id(resource: dict[str, Any], part: str = "") -> str:
    """Root and extension are unique in the world (HL7 II): each source has a root of its own."""
    subject = resource.get("subject") or resource["patient"]
    root = zlib.crc32(subject["reference"].encode())
    return f'<id root="{ROOT}.{root}" extension="{resource["resourceType"]}-{resource["id"]}{part}"/>'


def _asserted(resource: dict[str, Any]) -> str:
    return _by(resource["recordedDate"]) if resource.get("recordedDate") else ""


def _by(when: str) -> str:
    return f'<author><time value="{_time(when)}"/><assignedAuthor><id root="{ROOT}.2"/></assignedAuthor></author>'


def _concern(template: str, resource: dict[str, Any], over: bool, inner: str) -> str:
    return (
        f'<act classCode="ACT" moodCode="EVN"><templateId root="{TEMPLATE}.{template}"/>{_id(resource, "-c")}'
        '<code code="CONC" codeSystem="2.16.840.1.113883.5.6"/>'
        f'<statusCode code="{"completed" if over else "active"}"/>'
        f'<effectiveTime nullFlavor="UNK"/><entryRelationship typeCode="SUBJ">{inner}</entryRelationship></act>'
    )


def _problem(resource: dict[str, Any]) -> str:
    over = resource["clinicalStatus"]["coding"][0]["code"] != "active"
    value = _coded("value", resource["code"], 'xsi:type="CD"')
    span = _span(resource.get("onsetDateTime"), resource.get("abatementDateTime"))
    inner = (
        f'<observation classCode="OBS" moodCode="EVN"><templateId root="{TEMPLATE}.4.4"/>{_id(resource)}'
        '<code code="55607006" codeSystem="2.16.840.1.113883.6.96" displayName="Problem"/>'
        f'<statusCode code="completed"/><effectiveTime>{span}</effectiveTime>{value}{_asserted(resource)}</observation>'
    )
    return _concern("4.3", resource, over, inner)


def _allergy(resource: dict[str, Any]) -> str:
    reactions = "".join(
        f'<entryRelationship typeCode="MFST" inversionInd="true"><observation classCode="OBS" moodCode="EVN">'
        f'<templateId root="{TEMPLATE}.4.9"/>{_id(resource, "-r")}'
        '<code code="ASSERTION" codeSystem="2.16.840.1.113883.5.4"/><statusCode code="completed"/>'
        f"<effectiveTime>{_span(reaction.get('onset'))}</effectiveTime>"
        f"{_coded('value', reaction['manifestation'][0], _CD)}"
        "</observation></entryRelationship>"
        for reaction in resource.get("reaction", [])
    )
    inner = (
        f'<observation classCode="OBS" moodCode="EVN"><templateId root="{TEMPLATE}.4.7"/>{_id(resource)}'
        '<code code="ASSERTION" codeSystem="2.16.840.1.113883.5.4"/><statusCode code="completed"/>'
        '<effectiveTime><low nullFlavor="UNK"/></effectiveTime>'
        '<value xsi:type="CD" code="419199007" codeSystem="2.16.840.1.113883.6.96" displayName="Allergy to substance"/>'
        f'{_asserted(resource)}<participant typeCode="CSM"><participantRole classCode="MANU">'
        f'<playingEntity classCode="MMAT">{_coded("code", resource["code"])}</playingEntity></participantRole>'
        f"</participant>{reactions}</observation>"
    )
    return _concern("4.30", resource, False, inner)


def _medication(resource: dict[str, Any]) -> str:
    ordered = resource["resourceType"] == "MedicationRequest"
    dosage = resource["dosageInstruction" if ordered else "dosage"][0]
    if ordered:
        bounds = dosage["timing"]["repeat"].get("boundsPeriod", {})
        span = _span(resource["authoredOn"], bounds.get("end"))
    else:
        span = _span(resource["effectivePeriod"]["start"], resource["effectivePeriod"].get("end"))
    amount = dosage["doseAndRate"][0]["doseQuantity"]
    unit = f' unit="{amount["code"]}"' if amount.get("code") else ""
    route = f'<routeCode nullFlavor="OTH"><originalText>{dosage["route"]["text"]}</originalText></routeCode>'
    author = _by(resource["authoredOn"]) if ordered else ""
    return (
        f'<substanceAdministration classCode="SBADM" moodCode="{"INT" if ordered else "EVN"}">'
        f'<templateId root="{TEMPLATE}.4.16"/>{_id(resource)}'
        f'<statusCode code="{resource["status"]}"/><effectiveTime xsi:type="IVL_TS">{span}</effectiveTime>'
        '<effectiveTime xsi:type="PIVL_TS" institutionSpecified="true" operator="A"><period value="1" unit="d"/>'
        f'</effectiveTime>{route}<doseQuantity value="{amount["value"]}"{unit}/><consumable>'
        f'<manufacturedProduct classCode="MANU"><templateId root="{TEMPLATE}.4.23"/><manufacturedMaterial>'
        f"{_coded('code', resource['medicationCodeableConcept'])}</manufacturedMaterial></manufacturedProduct>"
        f"</consumable>{author}</substanceAdministration>"
    )


def _immunization(resource: dict[str, Any]) -> str:
    return (
        f'<substanceAdministration classCode="SBADM" moodCode="EVN" negationInd="false">'
        f'<templateId root="{TEMPLATE}.4.52"/>{_id(resource)}<statusCode code="completed"/>'
        f'<effectiveTime value="{_time(resource["occurrenceDateTime"])}"/><consumable>'
        f'<manufacturedProduct classCode="MANU"><templateId root="{TEMPLATE}.4.54"/><manufacturedMaterial>'
        f"{_coded('code', resource['vaccineCode'])}</manufacturedMaterial></manufacturedProduct></consumable>"
        "</substanceAdministration>"
    )


_ENTRIES = {
    "AllergyIntolerance": _allergy,
    "MedicationRequest": _medication,
    "Condition": _problem,
    "Immunization": _immunization,
}

"""Which medication, allergy and vaccine names and codes stand in a folder of FHIR, C-CDA and HL7 v2 files?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lxml import etree

from iamata.model.coding import CodedText, Coding

Found = tuple[str, str, CodedText]  # folder, "medication" | "allergy" | "vaccine", concept
_MEDICATION = {
    "MedicationRequest",
    "MedicationStatement",
    "MedicationAdministration",
    "MedicationDispense",
    "Medication",
}
_SEGMENTS = {"RXE": (2, "medication"), "RXO": (1, "medication"), "RXD": (2, "medication"), "RXA": (5, "vaccine")}
_SEGMENTS |= {"AL1": (3, "allergy"), "IAM": (3, "allergy")}
_IMMUNIZATIONS = "11369-6"
_PARSER = etree.XMLParser(recover=True, huge_tree=True, resolve_entities=False, no_network=True)


def harvest(root: Path) -> Iterator[Found]:
    """Every concept of every readable file under `root`, with the name of the folder directly under it."""
    for path in sorted(root.rglob("*")):
        folder = path.relative_to(root).parts[0]
        if not path.is_file():
            continue
        if path.suffix in (".json", ".ndjson"):
            text = path.read_text(encoding="utf-8-sig", errors="replace")
            for part in text.splitlines() if path.suffix == ".ndjson" else [text]:
                try:
                    yield from ((folder, *found) for found in _fhir(json.loads(part)))
                except json.JSONDecodeError:
                    continue
        elif path.suffix in (".xml", ".cda") or folder.startswith("ccda"):
            tree = _tree(path.read_bytes())
            if tree is not None:
                yield from ((folder, *found) for found in _cda(tree))
        elif folder == "hl7v2_messages":
            yield from ((folder, *found) for found in _hl7(path.read_text(errors="replace")))


def _fhir(node: Any) -> Iterator[tuple[str, CodedText]]:
    if isinstance(node, list):
        for item in node:
            yield from _fhir(item)
    elif isinstance(node, dict):
        kind = node.get("resourceType")
        keys = ("medicationCodeableConcept", "code", "medication") if kind in _MEDICATION else ()
        keys = ("code",) if kind == "AllergyIntolerance" else ("vaccineCode",) if kind == "Immunization" else keys
        word = "allergy" if kind == "AllergyIntolerance" else "vaccine" if kind == "Immunization" else "medication"
        for key in keys:
            concept = node.get(key)
            if isinstance(concept, dict):
                concept = concept.get("concept", concept)
                codings = [c for c in concept.get("coding", ()) if isinstance(c, dict)]
                made = tuple(Coding(*(str(c.get(k) or "") for k in ("system", "code", "display"))) for c in codings)
                if made or concept.get("text"):
                    yield word, CodedText(concept.get("text") or "", made)
        for item in node.values():
            yield from _fhir(item)


def _tree(content: bytes) -> etree._Element | None:
    content = content.removeprefix(b"\xef\xbb\xbf").lstrip()
    return etree.fromstring(content, _PARSER) if content.startswith(b"<") else None


def _local(element: etree._Element) -> str:
    return re.split("[}:]", element.tag)[-1] if isinstance(element.tag, str) else ""


def _cda(tree: etree._Element) -> Iterator[tuple[str, CodedText]]:
    for element in tree.iter():
        name = _local(element)
        parent = element.getparent()
        if name == "manufacturedMaterial":
            word = "vaccine" if _section(element) == _IMMUNIZATIONS else "medication"
        elif name == "playingEntity" and parent is not None and parent.get("classCode") == "MANU":
            word = "allergy"
        else:
            continue
        for code in element:
            if _local(code) == "code":
                parts = [code, *(part for part in code if _local(part) == "translation")]
                made = [Coding(*(p.get(k) or "" for k in ("codeSystem", "code", "displayName"))) for p in parts]
                kept = tuple(coding for coding in made if coding.code or coding.display)
                if kept:
                    yield word, CodedText("", kept)


def _section(element: etree._Element) -> str:
    for above in element.iterancestors():
        if _local(above) == "section":
            return next((child.get("code") or "" for child in above if _local(child) == "code"), "")
    return ""


def _hl7(text: str) -> Iterator[tuple[str, CodedText]]:
    for line in re.split(r"[\r\n]+", text):
        fields = line.split("|")
        place = _SEGMENTS.get(fields[0].strip())
        if place and len(fields) > place[0]:
            code, name, system, *_ = [*fields[place[0]].split("^"), "", ""]
            if name:
                yield place[1], CodedText("", (Coding(system, code, name),))

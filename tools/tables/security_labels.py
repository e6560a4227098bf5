"""What do the codes of security labels mean? `security_labels.tsv`, from HL7's terminology sources and tables of v2.

Of v3-ActCode the codes below InformationSensitivityPolicy, ObligationPolicy, RefrainPolicy and the US privacy laws, of
v3-ActReason those below PurposeOfUse, of v3-Confidentiality the levels and the codes that ActCode has replaced.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple
from xml.etree import ElementTree

from tools.tables import table

COMMENTS: Final = (
    "What a security label says. system: its short name (security_systems.tsv); kind: confidentiality, sensitivity, "
    "law, refrain,",
    "obligation or purpose; means: the code that is meant; under: the codes that it is a kind of; rank: of "
    "confidentiality, low to high.",
    "Made by tools/tables/security_labels.py from the HL7 Unified Terminology Governance sources.",
)
COLUMNS: Final = ("system", "code", "kind", "means", "under", "rank", "name", "source")
COMMIT: Final = "a19c263"
LEVELS: Final = ("U", "L", "M", "N", "R", "V")
REPLACED: Final = ("ETH", "HIV", "PSY", "SDV")
# Retired codes, and what HL7 says instead (NORDSLCD: the display is that of NORDSCLCD; SICKLE: sickle cell).
INSTEAD: Final = {"NORDSLCD": "NORDSCLCD", "SICKLE": "SCA"}
ROOTS: Final = {
    "_InformationSensitivityPolicy": "sensitivity",
    "ObligationPolicy": "obligation",
    "RefrainPolicy": "refrain",
    "_ActUSPrivacyLaw": "law",
}
_0717: Final = "HL7 v2 table 0717 as on integrationsoup.com/hl7-reference/tables/0717"
_0177: Final = "HL7 v2-to-FHIR (8c9b414), table 0177 to v3-Confidentiality"
V2: Final = (
    ("v2-0717", "HIV", "sensitivity", "HIV", "HIV status and results", _0717),
    ("v2-0717", "PSY", "sensitivity", "PSY", "Psychiatric Mental health", _0717),
    ("v2-0717", "STD", "sensitivity", "STD", "Sexually transmitted diseases", _0717),
    ("v2-0717", "DRG", "sensitivity", "DRGIS", "Drug", _0717),
    ("v2-0717", "DEM", "sensitivity", "DEMO", "All demographic data", _0717),
    ("v2-0717", "LOC", "sensitivity", "PATLOC", "Patient Location", _0717),
    ("v2-0717", "PID-7", "sensitivity", "DOB", "Date of Birth", _0717),
    ("v2-0717", "PID-17", "sensitivity", "REL", "Religion", _0717),
    ("v2-0177", "V", "confidentiality", "V", "Very restricted", _0177),
    ("v2-0177", "R", "confidentiality", "R", "Restricted", _0177),
    ("v2-0177", "PSY", "sensitivity", "PSY", "Psychiatric patient", _0177),
    ("v2-0177", "AID", "sensitivity", "HIV", "AIDS patient", _0177),
    ("v2-0177", "HIV", "sensitivity", "HIV", "HIV(+) patient", _0177),
)
_FHIR: Final = "{http://hl7.org/fhir}"


class Concept(NamedTuple):
    display: str
    parents: tuple[str, ...]
    retired: bool


def concepts(text: str) -> dict[str, Concept]:
    """Code → concept, from the XML of a FHIR CodeSystem."""
    found = {}
    for each in ElementTree.fromstring(text).iter(f"{_FHIR}concept"):
        parents, retired = [], False
        for held in each.findall(f"{_FHIR}property"):
            value = held[-1].get("value", "")
            name = _value(held, "code")
            if name == "subsumedBy":
                parents.append(value)
            retired = retired or (name == "status" and value == "retired")
        found[_value(each, "code")] = Concept(_value(each, "display"), tuple(parents), retired)
    return found


def build(act_code: str, confidentiality: str, act_reason: str) -> str:
    """The table, from the XML of the three code systems."""
    rows = [*_levels(concepts(confidentiality)), *_of_acts(concepts(act_code)), *_purposes(concepts(act_reason))]
    ranks = {code: str(rank) for rank, code in enumerate(LEVELS)}
    for system, code, kind, means, name, source in V2:
        rows.append((system, code, kind, means, "-", ranks[code] if kind == "confidentiality" else "-", name, source))
    return table.render(COMMENTS, COLUMNS, rows)


Row = tuple[str, ...]


def _levels(of: dict[str, Concept]) -> Iterator[Row]:
    source = f"HL7 UTG v3-Confidentiality ({COMMIT})"
    order = f"{source}; order: {' < '.join(LEVELS)} of the concept definitions"
    for rank, code in enumerate(LEVELS):
        yield "v3-Confidentiality", code, "confidentiality", code, "-", str(rank), of[code].display, order
    for code in REPLACED:
        told = f"{source}: replaced by ActCode.{code}"
        yield "v3-Confidentiality", code, "sensitivity", code, "-", "-", of[code].display, told


def _of_acts(of: dict[str, Concept]) -> Iterator[Row]:
    for root, kind in ROOTS.items():
        for code in _below(of, root):
            if code.startswith("_") or " " in code:
                continue
            parents = [each for each in of[code].parents if each not in ROOTS and not each.startswith("_")]
            source = f"HL7 UTG v3-ActCode ({COMMIT}){': retired' if of[code].retired else ''}"
            means = INSTEAD.get(code, code)
            yield "v3-ActCode", code, kind, means, ",".join(parents) or "-", "-", of[code].display, source


def _purposes(of: dict[str, Concept]) -> Iterator[Row]:
    below = _below(of, "PurposeOfUse")
    for code in below:
        parents = [each for each in of[code].parents if each in below]
        source = f"HL7 UTG v3-ActReason ({COMMIT})"
        yield "v3-ActReason", code, "purpose", code, ",".join(parents) or "-", "-", of[code].display, source


def _below(of: dict[str, Concept], root: str) -> list[str]:
    """The codes that are a kind of the root, in the order of the file's hierarchy."""
    found: list[str] = []
    for code, concept in of.items():
        if root in concept.parents and code not in found:
            found += [code, *(each for each in _below(of, code) if each not in found)]
    return found


def _value(of: ElementTree.Element, name: str) -> str:
    held = of.find(f"{_FHIR}{name}")
    return held.get("value", "") if held is not None else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--utg", type=Path, required=True, help="`input/sourceOfTruth/v3/codeSystems` of HL7/UTG")
    parser.add_argument("--check", action="store_true", help="compare with the committed table, write nothing")
    said = parser.parse_args()
    texts = [
        (said.utg / f"{name}.xml").read_text(encoding="utf-8")
        for name in ("v3-ActCode", "v3-Confidentiality", "v3-ActReason")
    ]
    return table.finish("security_labels", build(*texts), check=said.check)


if __name__ == "__main__":
    raise SystemExit(main())

"""Which labels do the privacy markings of a CDA document (HL7 DS4P) give, and to what?

A privacy markings section speaks for the document, a privacy annotation in an entry for that entry, one that is an
entry of another section for that section. Templates and shapes as in ONC's DS4P test documents. A code that no table
knows is kept with its system as sent. Not here: what a label means (`policy`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from iamata.connectors.ccda.nodes import Node
from iamata.model.statement import Label
from iamata.terminology import security

SECTION: Final = "2.16.840.1.113883.3.3251.1.5"
ANNOTATION: Final = "2.16.840.1.113883.3.3251.1.4"
# The notice that accompanies a disclosure names the law (42 CFR 2.32); ONC's documents spell it with full stops.
_NOTICE: Final = ("42 cfr part 2", "42 c.f.r. part 2")


def confidentiality(node: Node, around: tuple[Label, ...]) -> tuple[Label, ...]:
    """The labels of a document, section or act: its own confidentialityCode and what is around it. N (normal) labels
    none."""
    code = node.one("confidentialityCode")
    if code is None or not code.get("code") or code.get("code") == "N":
        return around
    return tuple(sorted({*around, Label(security.CONFIDENTIALITY, code.get("code"))}))


def is_annotation(node: Node) -> bool:
    """Is this act a privacy annotation, and no statement about the patient?"""
    return ANNOTATION in node.templates()


def of_annotation(node: Node) -> set[Label]:
    """The labels that an annotation gives: the values of its security observations."""
    found = set()
    for each in node.iter():
        if each.name == "value" and (code := each.get("code")):
            known = security.known(code)
            found.add(known or Label(f"urn:oid:{each.get('codeSystem')}", code))
    return found


def of_document(root: Node) -> set[Label]:
    """The labels of every privacy markings section of a document, and that of the law whose notice it carries."""
    found: set[Label] = set()
    for section in _sections(root):
        if SECTION not in section.templates():
            continue
        for entry in section.all("entry"):
            found |= of_annotations(entry.children)
        text = section.one("text")
        words = text.words.lower() if text is not None else ""
        if any(name in words for name in _NOTICE):
            found.add(security.label("42CFRPart2"))
    return found


def of_section(section: Node) -> set[Label]:
    """The labels of a section's own privacy marking entries."""
    found: set[Label] = set()
    for entry in section.all("entry"):
        found |= of_annotations(entry.children)
    return found


def of_annotations(acts: Iterable[Node]) -> set[Label]:
    found: set[Label] = set()
    for act in acts:
        if is_annotation(act):
            found |= of_annotation(act)
    return found


def _sections(root: Node) -> Iterable[Node]:
    for component in root.all("component"):
        for child in component.children:
            if child.name == "section":
                yield child
            elif child.name == "structuredBody":
                yield from (each for inner in child.all("component") for each in inner.all("section"))

"""What does a CDA document say of its patient? Decode, read the header, read the body, name what was read.

Whole documents (C-CDA R1.1, R2.1, CCD 1.0 and IHE PCC ancestors), unstructured ones, and fragments without a
ClinicalDocument around them, which are said to be so.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from iamata.connectors.ccda import header, markings, values
from iamata.connectors.ccda.decoding import FRAGMENT, LIMIT_BYTES, LIMIT_DEPTH, LIMIT_ELEMENTS, decode
from iamata.connectors.ccda.drafts import Draft
from iamata.connectors.ccda.naming import make
from iamata.connectors.ccda.narrative import Anchors
from iamata.connectors.ccda.nodes import Node, find, markup
from iamata.connectors.ccda.readings import READINGS
from iamata.connectors.ccda.sections import LAYOUT, Body
from iamata.connectors.ccda.walking import ACTS, Scope, Walk
from iamata.errors import BadInput, UnknownFormat
from iamata.model.document import IntakeLine, Outcome, Reason
from iamata.model.identifiers import IdMint
from iamata.model.passage import Passage
from iamata.model.provenance import Place
from iamata.model.scope import Subject
from iamata.model.sighting import Sighting
from iamata.model.statement import Label, Statement
from iamata.ports import Parsed

FORMAT: Final = "cda/r2"
_HEADER: Final = frozenset(
    {
        *("recordTarget", "author", "dataEnterer", "informant", "custodian", "informationRecipient"),
        *("legalAuthenticator", "authenticator", "participant", "inFulfillmentOf", "documentationOf"),
        *("relatedDocument", "authorization", "componentOf"),
    }
)
# Elements that are parts of an entry or of the header: alone they say nothing of a patient.
_SCRAPS: Final = frozenset(
    {
        *("participantRole", "manufacturedProduct", "externalDocument", "assignedAuthor", "encounterParticipant"),
        *(
            "signatureText",
            "serviceEvent",
            "relatedSubject",
            "addr",
            "performer",
            "entryRelationship",
            "subject",
            "reference",
            "value",
        ),
        *(
            "effectiveTime",
            "code",
            "name",
            "telecom",
            "precondition",
            "criterion",
            "specimen",
            "assignedEntity",
            "relatedEntity",
        ),
    }
)
FRAGMENTS: Final = frozenset({*ACTS, *_HEADER, *_SCRAPS, "section", "component", "entry", "structuredBody", FRAGMENT})


# What tells a part of a CDA document from other XML whose root has the same name.
_MARKS: Final = (
    b"templateId",
    b"codeSystem",
    b"urn:hl7-org:v3",
    b"moodCode",
    b"<assigned",
    b"<effectiveTime",
    b"<nonXMLBody",
    b"<order",
    b"<parentDocument",
    b"<patientRole",
    b"<streetAddressLine",
    b"<intendedRecipient",
    b"<associatedEntity",
    b"<serviceEvent",
    b"sdtc:signatureText",
    b"<entry",
    b"nullFlavor",
)

_ROOT = re.compile(
    rb"(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>)*<(?:[A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)",
    re.DOTALL,
)


def read(
    body: bytes,
    *,
    subject: Subject,
    source: str,
    mint: IdMint,
    document: str,
    received_at: datetime,
    limit_bytes: int = LIMIT_BYTES,
    limit_depth: int = LIMIT_DEPTH,
    limit_elements: int = LIMIT_ELEMENTS,
) -> Parsed:
    """Statements, passages, sightings and an intake line for every header element, section and entry.

    Raises BadInput (not XML, entities or a document type, wrong encoding), UnknownFormat (XML that is no CDA) or
    TooLarge. Equal items are one statement with several sightings. Not promised: that references lead anywhere.
    """
    decoded = decode(body, limit_bytes=limit_bytes, limit_depth=limit_depth, limit_elements=limit_elements)
    root, warnings = decoded.root, list(decoded.warnings)
    walk = Walk(root, READINGS)
    set_aside = 0
    if root.name == "ClinicalDocument":
        listed, set_aside = _document(walk, root)
    else:
        listed = _fragment(walk, root, warnings)
    people = list(walk.people.drafts())
    for person in people:
        person.labels = listed.labels
    drafts = [*walk.drafts, *people]
    made = make(drafts, walk.notes, listed, subject=subject, source=source, mint=mint)
    statements: dict[str, Statement] = {}
    passages: dict[str, Passage] = {}
    sightings: list[Sighting] = []
    for statement, pointer in made.statements:
        statements.setdefault(statement.id, statement)
        sightings.append(Sighting(statement.id, document, Place(pointer), received_at))
    for passage, pointer, note in made.passages:
        passages.setdefault(passage.id, passage)
        place = Place(pointer) if note.whole else Place(pointer, note.start, note.start + len(note.text))
        sightings.append(Sighting(passage.id, document, place, received_at))
    return Parsed(
        format=FORMAT,
        statements=tuple(statements.values()),
        passages=tuple(passages.values()),
        sightings=tuple(sightings),
        intake=tuple(walk.lines),
        warnings=tuple(warnings),
        set_aside=set_aside,
    )


def _document(walk: Walk, root: Node) -> tuple[Draft, int]:
    """A whole document: its list, and how many other patients were set aside."""
    listed = header.document(walk, root)
    set_aside = _header(walk, root, listed)
    bodies = root.all("component")
    body = Body(walk, listed)
    held = 0
    for component in bodies:
        for child in component.children:
            if child.name == "structuredBody":
                body.sections([child], "", markings.confidentiality(child, listed.labels))
                held += 1
            elif child.name == "nonXMLBody":
                body.unstructured(child, markings.confidentiality(child, listed.labels))
                held += 1
            elif child.name == "section":
                body.section(child, f"section/{held}", listed.labels)
                held += 1
            elif child.name not in LAYOUT:
                body.unread(child)
    if not held:
        detail = "a document without a body"
        walk.lines.append(IntakeLine("document", root.place, Outcome.IGNORED, Reason.EMPTY, root.name, detail))
    return listed, set_aside


def _header(walk: Walk, root: Node, listed: Draft) -> int:
    labels = listed.labels
    targets = root.all("recordTarget")
    for target in targets[:1]:
        walk.people.patient = header.patient(walk, target, labels)
    for target in targets[1:]:
        detail = "of another patient"
        walk.lines.append(
            IntakeLine("demographic", target.place, Outcome.IGNORED, Reason.UNUSABLE, "recordTarget", detail)
        )
    header.participations(walk, root, listed)
    held: list[Draft | None] = [walk.people.patient]
    held += [header.encounter(walk, each, labels) for each in root.all("componentOf")]
    held += [header.service(walk, each, labels) for each in root.all("documentationOf")]
    for each in root.all("authorization"):
        made = header.consent(walk, each, labels)
        held.append(made)
        if made is None:
            detail = "says nothing"
            walk.lines.append(IntakeLine("directive", each.place, Outcome.IGNORED, Reason.EMPTY, each.name, detail))
    for index, draft in enumerate(filter(None, held)):
        listed.references.append((f"entry/{index}", draft))
    header.unread(walk, root)
    return max(0, len(targets) - 1)


def _fragment(walk: Walk, root: Node, warnings: list[str]) -> Draft:
    """What a part of a document says; the rest of the document is missing, and said to be."""
    root.name = root.name.rpartition(":")[2]  # a prefix that nothing declares
    if root.name not in FRAGMENTS:
        raise UnknownFormat(
            f"the document is XML but no CDA: its root is {root.name[:60]}", format="xml", place=root.place
        )
    parts = root.children if root.name == FRAGMENT else [root]
    warnings.append(
        f"a fragment of a CDA document ({', '.join(dict.fromkeys(p.name for p in parts))[:200]}), no ClinicalDocument"
    )
    whole = Node("ClinicalDocument", {}, None)
    listed = header.document(walk, whole)
    listed.place = root.place
    top = Node("ClinicalDocument", {}, None)
    top.children = [part for part in parts if part.name in _HEADER and part.name != "component"]
    if top.children:
        _header(walk, top, listed)
    else:
        header.participations(walk, top, listed)
    if top.children and not walk.lines:
        line = top.children[0]
        walk.lines.append(IntakeLine(line.name, line.place, Outcome.STRUCTURED, label=line.name))
    body = Body(walk, listed)
    scope = Scope("section/0", None, ())
    for number, part in enumerate(each for each in parts if each.name not in _HEADER):
        _part(walk, body, part, number, scope)
    return listed


def _part(walk: Walk, body: Body, part: Node, number: int, scope: Scope) -> None:
    labels: tuple[Label, ...] = ()
    if part.name == "section":
        body.section(part, f"section/{number}", labels)
    elif part.name in ("component", "structuredBody"):
        inner = part.one("structuredBody") or part
        holders = inner.all("component") or [inner]
        acts = [child for child in part.children if child.name in ACTS]
        if acts:
            body.entry(part, scope, f"section/0/entry/{number}")
        elif any(holder.all("section") for holder in holders):
            body.sections(holders, "", labels)
        else:
            _scrap(walk, part)
    elif part.name in ("entry", "entryRelationship"):
        body.entry(part, scope, f"section/0/entry/{number}")
    elif part.name in ACTS:
        holder = Node("entry", {}, None)
        holder.children = [part]
        body.entry(holder, scope, f"section/0/entry/{number}")
    else:
        _scrap(walk, part)


def _scrap(walk: Walk, part: Node) -> None:
    detail = "a part of an entry or header that says nothing alone: kept in the document, not read"
    walk.lines.append(IntakeLine(part.name, part.place, Outcome.IGNORED, Reason.UNSUPPORTED, part.name, detail))


def is_cda(text: bytes) -> bool:
    """Is the root a ClinicalDocument, or a part of one that says so by a template or a code system? Looks at the start
    only; `text` is in an encoding that spells ASCII as it is."""
    found = _ROOT.match(text[:20_000])
    if found is None:
        return False
    name = found.group(1).decode("ascii", "replace")
    if name == "ClinicalDocument":
        return True
    return name in FRAGMENTS and any(mark in text for mark in _MARKS)


def at(body: bytes, pointer: str) -> str:
    """What stands at this place: the words of a `text` or those in the narrative that it refers to, else the element as
    XML. Empty if nothing is there."""
    try:
        root = decode(body).root
    except BadInput:
        return ""
    if pointer.startswith(f"/{root.name.rpartition(':')[2]}"):
        root.name = root.name.rpartition(":")[2]  # as a fragment's root is called whose prefix nobody declares
    node = find(root, pointer)
    if node is None:
        return ""
    if node.name == "text":
        return values.Values(Anchors(root)).text(node)
    return markup(node)


def custodian(body: bytes) -> str:
    """The name of the organization that keeps the document, else its id; empty if none or unreadable."""
    try:
        root = decode(body).root
    except BadInput:
        return ""
    node = root.at("custodian", "assignedCustodian", "representedCustodianOrganization")
    return (values.name(node) or values.first_id(node)) if node is not None else ""

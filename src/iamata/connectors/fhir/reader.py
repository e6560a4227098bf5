"""What does a FHIR R4 document say of one patient? Decode, list the items, keep the patient's, read each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from iamata.connectors.fhir.decoding import LIMIT_BYTES, LIMIT_DEPTH, Root, decode
from iamata.connectors.fhir.entries import Item, entries, ignored, kind_of_line
from iamata.connectors.fhir.patients import MINE, Patients
from iamata.connectors.fhir.statements import Reader
from iamata.errors import UnknownFormat
from iamata.model.document import IntakeLine, Reason
from iamata.model.identifiers import IdMint
from iamata.model.passage import Passage
from iamata.model.provenance import Place
from iamata.model.scope import Subject
from iamata.model.sighting import Sighting
from iamata.model.statement import Statement
from iamata.ports import Parsed

FORMAT: Final = "fhir/r4"

# Types that came with R5, and elements whose R5 shape differs (FHIR R5, differences to R4 on each page).
_R5_TYPES = frozenset({"DeviceUsage", "MedicationUsage", "InventoryItem", "InventoryReport", "Permission", "Transport"})
_CODEABLE_REFERENCES = {
    "MedicationRequest": "medication",
    "MedicationStatement": "medication",
    "MedicationAdministration": "medication",
    "MedicationDispense": "medication",
    "DeviceRequest": "code",
}


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
) -> Parsed:
    """Statements, passages, sightings and an intake line for every entry and contained resource, in document order.

    A bundle of any type, a single resource, or NDJSON of one patient. Raises BadInput (not JSON, not UTF-8, not FHIR,
    empty), UnknownFormat (R5) or TooLarge; one bad item spoils only itself. Equal items are one statement with several
    sightings. Not promised: that references lead anywhere.
    """
    roots = decode(body, limit_bytes=limit_bytes, limit_depth=limit_depth)
    found = entries(roots)
    _refuse_r5(roots, found.items)
    patients = Patients(found.items, subject.id)
    reader = Reader(subject, source, mint)
    statements: dict[str, Statement] = {}
    passages: dict[str, Passage] = {}
    sightings: list[Sighting] = []
    lines: list[IntakeLine] = list(found.lines)
    set_aside = 0
    for item in found.items:
        belonging = patients.belonging(item)
        if belonging is not MINE:
            set_aside += belonging.other
            lines.append(
                ignored(kind_of_line(item.type), item.place, Reason.UNUSABLE, label=item.type, detail=belonging.reason)
            )
            continue
        reading = reader.read(item, is_subject=item.type != "Patient" or patients.is_subject(item))
        lines += reading.lines
        for statement, pointer in reading.statements:
            statements.setdefault(statement.id, statement)
            sightings.append(Sighting(statement.id, document, Place(pointer), received_at, item.record.url))
        for passage, pointer in reading.passages:
            passages.setdefault(passage.id, passage)
            sightings.append(Sighting(passage.id, document, Place(pointer), received_at))
    return Parsed(
        format=FORMAT,
        statements=tuple(statements.values()),
        passages=tuple(passages.values()),
        sightings=tuple(sightings),
        intake=tuple(lines),
        warnings=tuple(found.warnings),
        set_aside=set_aside,
    )


def meta_source(roots: Sequence[Root]) -> str:
    """`meta.source` of the document, else of the first resource that has one; empty if none does."""
    for _pointer, value, _fault in roots:
        if not isinstance(value, dict):
            continue
        held = value.get("entry")
        inner = [entry.get("resource") for entry in held if isinstance(entry, dict)] if isinstance(held, list) else []
        for resource in (value, *inner):
            meta = resource.get("meta") if isinstance(resource, dict) else None
            named = meta.get("source") if isinstance(meta, dict) else None
            if isinstance(named, str) and named:
                return named.partition("#")[0] or named
    return ""


def _refuse_r5(roots: Sequence[Root], items: Sequence[Item]) -> None:
    """Raises UnknownFormat if items have shapes that only R5 has and none has a shape that only R4 has."""
    if any(item.type in _R5_TYPES or _r5_shape(item.resource) for item in items if item.container is None) and not any(
        _r4_shape(item.resource) for item in items
    ):
        raise UnknownFormat("this is FHIR R5, which is not read yet", format="fhir/r5", place=roots[0].pointer)


def _r5_shape(resource: dict[str, Any]) -> bool:
    element = _CODEABLE_REFERENCES.get(resource["resourceType"], "")
    held = resource.get(element)
    if isinstance(held, dict) and (isinstance(held.get("concept"), dict) or isinstance(held.get("reference"), dict)):
        return True
    return resource["resourceType"] == "Encounter" and (
        isinstance(resource.get("class"), list) or "actualPeriod" in resource
    )


def _r4_shape(resource: dict[str, Any]) -> bool:
    if "medicationCodeableConcept" in resource or "medicationReference" in resource or "performedDateTime" in resource:
        return True
    return resource["resourceType"] == "Encounter" and isinstance(resource.get("class"), dict)

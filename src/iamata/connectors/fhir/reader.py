"""What does a FHIR document (R4, R5) say of one patient? Decode, list the items, keep the patient's, read each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from iamata.connectors.fhir.decoding import LIMIT_BYTES, LIMIT_DEPTH, Root, decode
from iamata.connectors.fhir.entries import Entries, entries, ignored, kind_of_line
from iamata.connectors.fhir.patients import MINE, Patients
from iamata.connectors.fhir.r5 import as_r4, looks_r5
from iamata.connectors.fhir.statements import R5_READER, Reader
from iamata.connectors.fhir.values import Json
from iamata.errors import BadInput, UnknownFormat
from iamata.model.document import IntakeLine, Reason
from iamata.model.identifiers import IdMint
from iamata.model.passage import Passage
from iamata.model.provenance import Place
from iamata.model.roots import copied
from iamata.model.scope import Subject
from iamata.model.sighting import Sighting
from iamata.model.statement import Statement
from iamata.ports import Parsed

FORMAT: Final = "fhir/r4"
R5_FORMAT: Final = "fhir/r5"

# What stands in every document that `looks_r5` could be true of, but for a lone Procedure with `occurrence[x]`.
_R5_MARK: Final = re.compile(
    rb'"(?:concept|reference|function)"\s*:\s*\{|"(?:actualPeriod|plannedStartDate|adherence|admission|grantor|paymentBy)"'
    rb'|"(?:decision|kind)"\s*:\s*"|"class"\s*:\s*\[|"reported(?:Boolean|Reference)"|"participant"\s*:\s*\[\s*\{\s*"actor"'
    rb'|"(?:DeviceUsage|DeviceAssociation|NutritionIntake|ImagingSelection|EncounterHistory|Permission|Transport)"'
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
) -> Parsed:
    """Statements, passages, sightings and an intake line for every entry and contained resource, in document order.

    A bundle of any type, a single resource, or NDJSON of one patient. Raises BadInput (not JSON, not UTF-8, not FHIR,
    empty), UnknownFormat (R5: send it as that) or TooLarge; one bad item spoils only itself. Equal items are one
    statement with several sightings. Not promised: that references lead anywhere.
    """
    roots = decode(body, limit_bytes=limit_bytes, limit_depth=limit_depth)
    found = entries(roots)
    if looks_r5(item.resource for item in found.items):
        raise UnknownFormat("this is FHIR R5: send it as fhir/r5", format=R5_FORMAT, place=roots[0].pointer)
    return _parsed(found, FORMAT, Reader(subject, source, mint), document, received_at)


def read_r5(
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
    """As `read`, of an R5 document. An item keeps its own canonical bytes as identity, and its own element names."""
    found = entries(decode(body, limit_bytes=limit_bytes, limit_depth=limit_depth), shape=as_r4)
    return _parsed(found, R5_FORMAT, Reader(subject, source, mint, name=R5_READER), document, received_at)


def _parsed(found: Entries, format: str, reader: Reader, document: str, received_at: datetime) -> Parsed:
    patients = Patients(found.items, reader.subject.id)
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
    for deletion in found.deletions:
        reading = reader.deletion(deletion)
        lines += reading.lines
        for statement, pointer in reading.statements:
            statements.setdefault(statement.id, statement)
            sightings.append(Sighting(statement.id, document, Place(pointer), received_at))
    copies = sum(bool(copied(statement)) for statement in statements.values())
    if copies:
        found.warnings.append(f"{copies} records are copies from an export of iamata: what is held already counts once")
    return Parsed(
        format=format,
        statements=tuple(statements.values()),
        passages=tuple(passages.values()),
        sightings=tuple(sightings),
        intake=tuple(lines),
        warnings=tuple(found.warnings),
        set_aside=set_aside,
    )


def meta_source(roots: Sequence[Root]) -> str:
    """`meta.source` of the document, else of the first resource that has one; empty if none does."""
    for _pointer, value, _fault, _repeated in roots:
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


def is_r5(body: bytes) -> bool:
    """Do these bytes hold shapes that only R5 has, and none that only R4 has? Never raises for a bad document."""
    lone = b'"Procedure"' in body and b'"occurrence' in body and b'"performed' not in body
    if not lone and not _R5_MARK.search(body):
        return False
    try:
        return looks_r5(_resources(root.value for root in decode(body)))
    except BadInput:
        return False


def _resources(values: Iterable[Any]) -> Iterator[Json]:
    """Every resource of some JSON values, those of bundles and contained ones too."""
    for value in values:
        if not isinstance(value, dict) or not isinstance(value.get("resourceType"), str):
            continue
        yield value
        entry = value.get("entry")
        if value["resourceType"] == "Bundle" and isinstance(entry, list):
            yield from _resources(each.get("resource") for each in entry if isinstance(each, dict))
        contained = value.get("contained")
        if isinstance(contained, list):
            yield from _resources(contained)

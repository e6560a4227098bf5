"""Whose lines are these? Splits the NDJSON files of an export of many patients into one document for each patient.

A patient's document holds the lines about that patient and those of no patient that they refer to, directly or through
each other (practitioners, organizations, locations, medications). Lines are kept byte for byte and stand in one order
(type, id, bytes), so that the same content is the same document however an export cuts and orders its files. What
belongs to nobody is listed. Deletions (the `deleted` files of FHIR Bulk Data Access) say only which record is gone:
whose it was, those know who hold it.

Not here: reading the items (`reader`), opening archives (`archives`), and which patient of ours a patient of the source
is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from iamata.connectors.fhir.decoding import LIMIT_DEPTH, check_depth, number
from iamata.connectors.fhir.entries import TYPE_NAME, ignored
from iamata.connectors.fhir.patients import SUBJECTS
from iamata.connectors.fhir.references import literal_type, without_version
from iamata.connectors.fhir.values import Json
from iamata.errors import TooLarge
from iamata.model.document import IntakeLine, Reason
from iamata.model.identifiers import canonical_bytes

LIMIT_BYTES: Final = 2_000_000_000

# Where the patients of a type without a subject are named (FHIR R4, patient compartment).
_NAMED_IN: Final = {
    "Account": ("subject",),
    "Appointment": ("participant/actor",),
    "AppointmentResponse": ("actor",),
    "AuditEvent": ("agent/who", "entity/what"),
    "EnrollmentRequest": ("candidate",),
    "Patient": (),
    "Person": ("link/target",),
    "Provenance": ("target",),
    "Schedule": ("actor",),
}
_SUBJECT_NAMES: Final = ("subject", "patient", "beneficiary")


class PatientDocument(NamedTuple):
    """`patient` is the id of the Patient in the export, `body` the NDJSON lines of its document."""

    patient: str
    body: bytes


class Deleted(NamedTuple):
    """`record` is `Type/id`, `body` a transaction bundle that deletes it: a document for whoever holds the record."""

    record: str
    body: bytes


class Export(NamedTuple):
    """Documents by patient id, deletions by record, and a line of the intake for every line that is in none of them.

    `place` of a line is `file/line`, the line counted from 0.
    """

    documents: tuple[PatientDocument, ...]
    deletions: tuple[Deleted, ...]
    lines: tuple[IntakeLine, ...]


class _Line(msgspec.Struct, gc=False):
    """One resource of the export: its bytes, its names, the records it names, and whose it is (patient ids)."""

    body: bytes
    place: str
    type: str
    name: str
    identifiers: tuple[str, ...]
    named: tuple[str, ...]
    owners: frozenset[str]


def split(
    files: Iterable[tuple[str, bytes]], *, limit_bytes: int = LIMIT_BYTES, limit_depth: int = LIMIT_DEPTH
) -> Export:
    """The export by patient. `files` are names and bytes (of NDJSON, or of one JSON text); names only say where a line
    stood. A line that is no JSON or no resource is listed, the others are kept. Raises TooLarge for more than
    `limit_bytes` in all or for deeper nesting.

    Memory: the bytes of the files and about as much again. Linear in their size.
    """
    found: list[_Line] = []
    intake: list[IntakeLine] = []
    deletions: dict[str, Deleted] = {}
    size = 0
    for name, body in files:
        size += len(body)
        if size > limit_bytes:
            raise TooLarge(f"the export has more than the {limit_bytes} bytes allowed", place=name)
        if b"\0" in body[:4096]:
            intake.append(ignored("file", name, Reason.UNSUPPORTED, detail="no text"))
            continue
        check_depth(body, limit_depth)
        for place, raw, value in _values(name, body, intake):
            _register(value, raw, place, found, deletions, intake)
    return _grouped(found, deletions, intake)


def _values(name: str, body: bytes, intake: list[IntakeLine]) -> Iterator[tuple[str, bytes, Any]]:
    """Place, bytes and value of each line, or of the file where the whole of it is one JSON text."""
    body = body.removeprefix(b"\xef\xbb\xbf")
    lines = [(index, line.strip()) for index, line in enumerate(body.split(b"\n")) if line.strip()]
    if len(lines) > 1:
        try:
            value = _decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass
        else:
            yield f"{name}/0", canonical_bytes(value), value
            return
    for index, line in lines:
        place = f"{name}/{index}"
        try:
            value = _decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            intake.append(ignored("line", place, Reason.UNUSABLE, detail="not JSON"))
            continue
        yield place, line, value


_decode: Final = msgspec.json.Decoder(float_hook=number).decode


def _register(
    value: Any,
    raw: bytes,
    place: str,
    found: list[_Line],
    deletions: dict[str, Deleted],
    intake: list[IntakeLine],
) -> None:
    type = value.get("resourceType") if isinstance(value, dict) else None
    if not isinstance(type, str) or not type:
        intake.append(ignored("line", place, Reason.UNUSABLE, detail="not a FHIR resource: no resourceType"))
    elif not TYPE_NAME.match(type):
        intake.append(ignored("line", place, Reason.UNUSABLE, detail="resourceType is no name of a type"))
    elif type != "Bundle":
        found.append(_line(value, raw, place, type))
    else:
        entries = value.get("entry")
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            at = f"{place}/entry/{index}"
            if not isinstance(entry, dict):
                intake.append(ignored("entry", at, Reason.UNUSABLE, detail="no object"))
            elif isinstance(entry.get("request"), dict) and entry["request"].get("method") == "DELETE":
                _delete(value, entry, at, deletions, intake)
            else:
                resource = entry.get("resource")
                inner = canonical_bytes(resource)
                _register(resource, inner, at, found, deletions, intake)


def _delete(bundle: Json, entry: Json, at: str, deletions: dict[str, Deleted], intake: list[IntakeLine]) -> None:
    url = entry["request"].get("url")
    record = _tail(url) if isinstance(url, str) else ""
    if not record:
        intake.append(ignored("deletion", at, Reason.UNUSABLE, label="DELETE", detail="names no record"))
        return
    kept: Json = {name: bundle[name] for name in ("resourceType", "type", "timestamp", "meta") if name in bundle}
    kept["entry"] = [entry]
    body = canonical_bytes(kept)
    held = deletions.get(record)
    if held is None or held.body < body:
        deletions[record] = Deleted(record, body)


def _line(value: Json, raw: bytes, place: str, type: str) -> _Line:
    id = value.get("id")
    named: set[str] = set()
    _references(value, named)
    return _Line(
        raw,
        place,
        type,
        f"{type}/{id}" if isinstance(id, str) and id else "",
        tuple(_identifiers(value.get("identifier"))),
        tuple(sorted(named)),
        frozenset(_owners(value, type)),
    )


def _owners(value: Json, type: str) -> Iterator[str]:
    """The patients that the resource is about, each as `Patient/id`, or as `system|value` where only that is said."""
    if type == "Patient":
        id = value.get("id")
        if isinstance(id, str) and id:
            yield f"Patient/{id}"
        return
    paths = _NAMED_IN.get(type) or (SUBJECTS.get(type, "subject"), *_SUBJECT_NAMES)
    for path in paths:
        for reference in _at(value, path.split("/")):
            name = _name(reference)
            if name.startswith("Patient/") or ("|" in name and type != "Provenance" and path in _SUBJECT_NAMES):
                yield name


def _at(value: Any, path: list[str]) -> Iterator[Json]:
    if isinstance(value, list):
        for each in value:
            yield from _at(each, path)
    elif isinstance(value, dict):
        if path:
            yield from _at(value.get(path[0]), path[1:])
        else:
            yield value


def _references(value: Any, found: set[str]) -> None:
    """The names of all records that a resource refers to, the contained ones' too."""
    stack = [value]
    while stack:
        held = stack.pop()
        if isinstance(held, list):
            stack.extend(held)
        elif isinstance(held, dict):
            if name := _name(held):
                found.add(name)
            if isinstance(held.get("url"), str) and (name := _tail(held["url"])).startswith("Binary/"):
                found.add(name)
            stack.extend(each for each in held.values() if isinstance(each, dict | list))


def _name(reference: Json) -> str:
    """`Type/id` of a reference, else `system|value` of one by identifier alone; empty if it is neither."""
    literal = reference.get("reference")
    if isinstance(literal, str):
        if "?identifier=" in literal:
            return literal.partition("?identifier=")[2].partition("&")[0].replace("%7C", "|").replace("%7c", "|")
        return _tail(literal)
    identifier = reference.get("identifier")
    if isinstance(identifier, dict):
        return next(_identifiers(identifier), "")
    return ""


def _tail(literal: str) -> str:
    """`Type/id` of a relative or absolute reference without its version; empty for any other form."""
    name = without_version(literal)
    type = literal_type(name) if "?" not in name else ""
    return "/".join(name.rsplit("/", 2)[-2:]) if type and name.rsplit("/", 1)[-1] else ""


def _identifiers(value: Any) -> Iterator[str]:
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict) and isinstance(number := each.get("value"), str) and number:
            system = each.get("system")
            yield f"{system if isinstance(system, str) else ''}|{number}"


def _grouped(found: list[_Line], deletions: dict[str, Deleted], intake: list[IntakeLine]) -> Export:
    by_identifier: dict[str, str] = {}
    by_name: dict[str, list[_Line]] = defaultdict(list)
    for line in sorted(found, key=lambda each: (each.name, each.body)):
        if line.name:
            by_name[line.name].append(line)
            for identifier in line.identifiers:
                by_identifier.setdefault(f"{line.type}~{identifier}", line.name)
                by_identifier.setdefault(identifier, line.name)
    owned: dict[str, dict[bytes, _Line]] = defaultdict(dict)
    shared: dict[str, list[_Line]] = defaultdict(list)
    nobody: list[_Line] = []
    for line in found:
        owners = {_patient(owner, by_identifier) for owner in line.owners} - {""}
        if line.type == "Provenance" and not owners:
            owners = {
                _patient(owner, by_identifier)
                for target in line.named
                for held in by_name.get(target, ())
                for owner in held.owners
            } - {""}
        for owner in owners:
            owned[owner][line.body] = line
        if not owners and line.name:
            shared[line.name].append(line)
        elif not owners:
            nobody.append(line)
    taken: set[str] = set()
    documents = []
    for patient in sorted(owned):
        mine = owned[patient]
        taken |= _pull(mine, shared, by_identifier)
        order = sorted(mine.values(), key=lambda each: (each.type != "Patient", each.type, each.name, each.body))
        documents.append(PatientDocument(patient, b"\n".join(each.body for each in order) + b"\n"))
    nobody += [line for name, lines in shared.items() if name not in taken for line in lines]
    for line in sorted(nobody, key=lambda each: each.place):
        detail = "no patient of the export, and no item of a patient refers to it"
        intake.append(ignored(line.type, line.place, Reason.UNSUPPORTED, label=line.type, detail=detail))
    return Export(
        tuple(documents),
        tuple(deletions[record] for record in sorted(deletions)),
        tuple(sorted(intake, key=lambda each: each.place)),
    )


def _patient(owner: str, by_identifier: dict[str, str]) -> str:
    """The id of a patient named by reference or identifier; empty if no Patient of the export has the identifier."""
    name = owner if owner.startswith("Patient/") else by_identifier.get(f"Patient~{owner}", "")
    return name.removeprefix("Patient/")


def _pull(mine: dict[bytes, _Line], shared: dict[str, list[_Line]], by_identifier: dict[str, str]) -> set[str]:
    """Adds to a patient's lines those of nobody that they refer to, and so on; returns the names of what was added."""
    added: set[str] = set()
    waiting = [name for line in mine.values() for name in line.named]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        name = by_identifier.get(name, name)
        if name in shared and name not in added:
            added.add(name)
            for line in shared[name]:
                mine[line.body] = line
                waiting.extend(line.named)
    return added


def not_taken(kind: str, place: str, why: str) -> IntakeLine:
    """The line of a document or a deletion that was not taken in after all."""
    return ignored(kind, place, Reason.UNUSABLE, label=kind, detail=why)

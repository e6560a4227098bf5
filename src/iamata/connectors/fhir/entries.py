"""Which items does a submission hold, each with its place and its own identity?

An item is a resource of its own: the single resource, a bundle's entry, a contained resource, a resource of a bundle
inside a bundle. A deletion is told apart; what is no item (an empty entry) is a line of the intake at once. Not here:
whose items they are (`patients`), what they say (`statements`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from iamata.connectors.fhir.decoding import Root
from iamata.connectors.fhir.labels import spread
from iamata.connectors.fhir.mappings import MAPPINGS
from iamata.connectors.fhir.r5 import Rewritten, sent_path
from iamata.connectors.fhir.values import Json, WrongShape, first_code, identifiers, mapping, objects, string
from iamata.errors import BadInput
from iamata.model.document import IntakeLine, Outcome, Reason
from iamata.model.identifiers import canonical_bytes
from iamata.model.provenance import RecordIdentity
from iamata.model.statement import Kind, Label

# FHIR names a type by letters alone.
TYPE_NAME = re.compile(r"[A-Za-z]{1,64}\Z")
_RECORD = re.compile(r"(?:^|/)(?P<type>[A-Z][A-Za-z]+)/(?P<id>[A-Za-z0-9.-]{1,64})/?$")


class Item(msgspec.Struct, kw_only=True):
    """One resource. `place` is its JSON pointer; `container` the item that contains it, `contained` those it contains.

    `canonical` are the canonical bytes of the resource as it stands, its contained resources included. `resource` has
    the shape of R4; `moved` says where its values stand in the document if it was sent in another (`r5`).
    """

    resource: Json
    type: str
    place: str
    record: RecordIdentity
    canonical: bytes
    container: Item | None = None
    contained: tuple[Item, ...] = ()
    moved: dict[str, str] = {}
    around: tuple[Label, ...] = ()  # those of the bundles that hold it

    def sent(self, path: str) -> str:
        """The path in the document of a path in `resource`."""
        return sent_path(path, self.moved)

    @property
    def label(self) -> str:
        """Type and first code, never a display: `Condition 44054006`."""
        for element in ("code", "vaccineCode", "medicationCodeableConcept", "type", "category"):
            if code := first_code(self.resource.get(element)):
                return f"{self.type} {code[:64]}"
        return self.type


class Deletion(NamedTuple):
    """The source says that it deleted this record; `updated` is when, as sent, empty if it does not say."""

    type: str
    id: str
    place: str
    updated: str


Shape = Callable[[Json], Rewritten]


def _as_it_is(resource: Json) -> Rewritten:
    return Rewritten(resource, {})


class Entries(msgspec.Struct):
    """Items and deletions in document order, the lines of what is neither, and warnings (places only)."""

    shape: Shape
    items: list[Item]
    deletions: list[Deletion]
    lines: list[IntakeLine]
    warnings: list[str]


def entries(roots: Iterable[Root], *, shape: Shape = _as_it_is) -> Entries:
    """Every item of the roots, each brought into the shape of R4 by `shape`. Raises BadInput if a JSON document is no
    FHIR resource; an odd NDJSON line is a line."""
    found = Entries(shape, [], [], [], [])
    for pointer, value, fault, repeated in roots:
        found.warnings += [f"a key stands twice, the last value is kept: {place}" for place in repeated[:20]]
        if fault:
            found.lines.append(ignored("line", pointer, Reason.UNUSABLE, detail=fault))
        elif isinstance(value, dict) and isinstance(value.get("resourceType"), str):
            _resource(value, pointer, "", found)
        elif pointer:
            found.lines.append(ignored("line", pointer, Reason.UNUSABLE, detail="not a FHIR resource: no resourceType"))
        else:
            raise BadInput("the document is not FHIR: it has no resourceType", place="/resourceType")
    found.warnings.extend(_twice(found.items))
    return found


def ignored(kind: str, place: str, reason: Reason, *, label: str = "", detail: str = "") -> IntakeLine:
    return IntakeLine(kind, place, Outcome.IGNORED, reason, label, detail)


def _resource(value: Json, place: str, full_url: str, found: Entries, around: tuple[Label, ...] = ()) -> None:
    if value["resourceType"] == "Bundle":
        try:
            labels = tuple(sorted({*around, *spread(value)}))
        except WrongShape as wrong:  # what restricts it cannot be read: nothing of it is
            found.lines.append(unusable_shape(value, place, wrong))
            return
        _bundle(value, place, found, labels)
        return
    if not TYPE_NAME.match(value["resourceType"]):  # whatever stands there is no name, and is not repeated
        detail = f"{place}/resourceType is no name of a type"
        found.lines.append(ignored("resource", place, Reason.UNUSABLE, detail=detail))
        return
    try:
        found.items.extend(_item(value, place, full_url, found.shape, around))
    except WrongShape as wrong:
        found.lines.append(unusable_shape(value, place, wrong))


def unusable_shape(resource: Json, place: str, wrong: WrongShape, moved: dict[str, str] | None = None) -> IntakeLine:
    """The line of an item spoiled by a value of the wrong JSON type, with the pointer of that value."""
    type = resource["resourceType"]
    detail = f"{place}/{sent_path(wrong.path_in(resource), moved or {})} is no {wrong.wanted}"
    return ignored(kind_of_line(type), place, Reason.UNUSABLE, label=type, detail=detail)


def kind_of_line(type: str) -> str:
    """What the intake calls items of a type: the kind of its statements, or the type itself if none is made of it."""
    how = MAPPINGS.get(type)
    return str(how.kind) if how is not None else str(Kind.ANSWER) if type == "QuestionnaireResponse" else type


def _bundle(bundle: Json, place: str, found: Entries, labels: tuple[Label, ...]) -> None:
    held = bundle.get("entry")
    if held is None or held == []:
        found.lines.append(ignored("Bundle", place, Reason.EMPTY, label="Bundle", detail="a bundle without entries"))
        return
    if not isinstance(held, list):
        found.lines.append(
            ignored("Bundle", place, Reason.UNUSABLE, label="Bundle", detail=f"{place}/entry is no list")
        )
        return
    for index, entry in enumerate(held):
        _entry(entry, f"{place}/entry/{index}", bundle, found, labels)


def _entry(entry: Any, place: str, bundle: Json, found: Entries, labels: tuple[Label, ...]) -> None:
    if not isinstance(entry, dict):
        found.lines.append(ignored("entry", place, Reason.UNUSABLE, detail=f"{place} is no object"))
        return
    request, resource, full_url = entry.get("request"), entry.get("resource"), entry.get("fullUrl")
    if isinstance(request, dict) and request.get("method") == "DELETE":
        _deletion(entry, request, place, bundle, found)
    elif resource is None:
        found.lines.append(ignored("entry", place, Reason.EMPTY, detail="an entry without a resource"))
    elif not isinstance(resource, dict) or not isinstance(resource.get("resourceType"), str):
        detail = f"{place}/resource is no FHIR resource: no resourceType"
        found.lines.append(ignored("entry", f"{place}/resource", Reason.UNUSABLE, detail=detail))
    else:
        _resource(resource, f"{place}/resource", full_url if isinstance(full_url, str) else "", found, labels)


def _deletion(entry: Json, request: Json, place: str, bundle: Json, found: Entries) -> None:
    """FHIR R4 http, delete: `Type/id`. A conditional one (`Type?…`) names no record."""
    url = request.get("url")
    name = _RECORD.search(url) if isinstance(url, str) else None
    if name is None:
        detail = f"{place}/request/url names no record: a conditional deletion is not applied"
        found.lines.append(ignored("deletion", place, Reason.UNUSABLE, label="DELETE", detail=detail))
        return
    response, meta = entry.get("response"), bundle.get("meta")
    said = (
        response.get("lastModified") if isinstance(response, dict) else None,
        bundle.get("timestamp"),
        meta.get("lastUpdated") if isinstance(meta, dict) else None,
    )
    updated = next((each for each in said if isinstance(each, str) and each), "")
    found.deletions.append(Deletion(name["type"], name["id"], place, updated))


def _item(resource: Json, place: str, full_url: str, shape: Shape, around: tuple[Label, ...] = ()) -> list[Item]:
    """The item and, after it, those it contains."""
    rewritten = shape(resource)
    item = Item(
        resource=rewritten.resource,
        moved=rewritten.moved,
        type=resource["resourceType"],
        place=place,
        record=_record(resource, full_url),
        canonical=canonical_bytes(resource),
        around=around,
    )
    inner: list[Item] = []
    for index, contained in objects(resource, "contained"):
        at = f"contained/{index}"
        type = string(contained, "resourceType")
        if not type:
            raise WrongShape(at, "FHIR resource (it has no resourceType)")
        if not TYPE_NAME.match(type):
            raise WrongShape(f"{at}/resourceType", "name of a type")
        rewritten = shape(contained)
        inner.append(
            Item(
                resource=rewritten.resource,
                moved=rewritten.moved,
                type=type,
                place=f"{place}/{at}",
                record=_contained_record(contained, type, item.record),
                canonical=canonical_bytes(contained),
                container=item,
                around=around,
            )
        )
    item.contained = tuple(inner)
    return [item, *inner]


def _record(resource: Json, full_url: str) -> RecordIdentity:
    type, id = resource["resourceType"], string(resource, "id")
    meta = resource.get("meta")
    meta = mapping(meta, "meta") if meta is not None else {}
    return RecordIdentity(
        type=type,
        reference=f"{type}/{id}" if id else "",
        url=full_url,
        version=string(meta, "versionId"),
        updated=string(meta, "lastUpdated"),
        identifiers=identifiers(resource) if "identifier" in resource else (),
    )


def _contained_record(resource: Json, type: str, container: RecordIdentity) -> RecordIdentity:
    """`Type/id#x` after its container (FHIR R4 references 2.3.0.1); without a name of its container its content is its
    identity."""
    id = string(resource, "id").removeprefix("#")
    named = bool(id)
    return RecordIdentity(
        type=type,
        reference=f"{container.reference}#{id}" if named and container.reference else "",
        url=f"{container.url}#{id}" if named and container.url else "",
        version=container.version,
        updated=container.updated,
        identifiers=identifiers(resource) if "identifier" in resource else (),
    )


def _twice(items: Iterable[Item]) -> list[str]:
    """A warning for each record that stands more than once in one version: both are kept."""
    places: dict[tuple[str, str], list[str]] = {}
    for item in items:
        if item.container is None and item.record.reference:
            places.setdefault((item.record.reference, item.record.version), []).append(item.place)
    return [
        f"{reference.partition('/')[0]} with one id stands {len(at)} times: {', '.join(sorted(at)[:5])}"
        for (reference, _version), at in places.items()
        if len(at) > 1
    ]

"""Which security labels does an item carry? Those of the whole, and those that stand on single elements of it.

A label on an element (HL7 DS4P inline label) counts for the whole item: nothing can be shown without an element that is
not known to be in it. Not here: what a label means for a reader (`policy`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from iamata.connectors.fhir.values import Json, WrongShape, mapping, objects, string
from iamata.model.roots import EXPORT_TAG
from iamata.model.statement import Label

INLINE_LABEL = "http://hl7.org/fhir/uv/security-label-ds4p/StructureDefinition/extension-inline-sec-label"
_CONFIDENTIALITY = "http://terminology.hl7.org/CodeSystem/v3-Confidentiality"
_MARK = INLINE_LABEL.encode()


def security(resource: Json, canonical: bytes) -> set[Label]:
    """`meta.security`, inline labels, and what a document says of its confidentiality. `canonical` are the bytes of the
    resource, looked through for inline labels only where they can be."""
    found = tagged(resource)
    found |= {Label(system, code) for _path, system, code in inline_labels(resource, canonical)}
    if resource["resourceType"] == "Composition" and (code := string(resource, "confidentiality")):
        found.add(Label(_CONFIDENTIALITY, code))
    if resource["resourceType"] == "DocumentReference":
        for index, concept in objects(resource, "securityLabel"):
            for _position, label in objects(concept, "coding"):
                if code := string(label, "code"):
                    found.add(Label(string(label, "system"), code))
            if not concept.get("coding") and not string(concept, "text"):
                raise WrongShape(f"securityLabel/{index}", "label")
    return found


def tagged(resource: Json) -> set[Label]:
    """`meta.security` alone."""
    found = set()
    meta = resource.get("meta")
    if meta is not None:
        for _index, label in objects(mapping(meta, "meta"), "security"):
            if code := string(label, "code"):
                found.add(Label(string(label, "system"), code))
    return found


def spread(bundle: Json) -> set[Label]:
    """What a bundle says of everything in it. An export of ours labels its resources one by one, and the bundle with
    all of these together: that holds for each of them only where none has a label left."""
    found = tagged(bundle)
    if not found:
        return found
    tags = objects(mapping(bundle["meta"], "meta"), "tag")
    ours = any(string(tag, "system") == EXPORT_TAG for _index, tag in tags)
    entries = bundle.get("entry")
    return set() if ours and isinstance(entries, list) and any(map(_has_labels, entries)) else found


def _has_labels(entry: Any) -> bool:
    resource = entry.get("resource") if isinstance(entry, dict) else None
    meta = resource.get("meta") if isinstance(resource, dict) else None
    return isinstance(meta, dict) and bool(meta.get("security"))


def inline_labels(resource: Json, canonical: bytes) -> Iterator[tuple[str, str, str]]:
    """Path of the labelled element, system and code of each inline label, contained resources aside."""
    if _MARK in canonical:
        for name, value in resource.items():
            if name not in ("contained", "meta"):
                yield from _inline(value, name)


def _inline(value: Any, path: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _inline(each, f"{path}/{index}")
    elif isinstance(value, dict):
        if value.get("url") == INLINE_LABEL and isinstance(coding := value.get("valueCoding"), dict):
            if code := string(coding, "code"):
                yield path.rpartition("/extension")[0] or path, string(coding, "system"), code
            return
        for name, each in value.items():
            if isinstance(each, dict | list):
                yield from _inline(each, f"{path}/{name}")

"""Which other records does an item name, and how? References are kept as sent; the fold resolves them.

Every form of FHIR R4 (References, 2.3.0) is kept: relative, absolute, `urn:uuid:`, contained `#x`, versioned,
conditional, by identifier only, by display only. Nothing is ever fetched.
"""

from __future__ import annotations

from typing import Any

from iamata.connectors.fhir.values import Json, WrongShape, mapping, string
from iamata.model.statement import Reference

_ALTERNATE = "http://hl7.org/fhir/StructureDefinition/alternate-reference"
# Elements without references that are not worth walking, and those that are items or narrative of their own.
_SKIPPED = frozenset({"resourceType", "text", "meta", "contained", "extension", "modifierExtension", "identifier"})
_OF_REFERENCE = frozenset({"reference", "type", "identifier", "display", "id", "extension"})
# Its elements are told by how they relate: `relatesTo:replaces/0/target`.
_RELATES = "relatesTo"
# Elements of type Coding: `{"display": …}` there is no reference.
_CODINGS = frozenset({"coding", "class", "modality", "bodySite", "format", "valueCoding", "sopClass", "laterality"})


def reference(value: object, element: str) -> Reference | None:
    """A Reference as sent, or None if it names nothing. One to a type that its element does not allow stands in an
    extension (alternate-reference), and is what is meant."""
    holder = _alternate(mapping(value, element))
    literal, type, display = string(holder, "reference"), string(holder, "type"), string(holder, "display")
    identifier = identifier_of(holder, element)
    if not literal and not identifier and not display:
        return None
    return Reference(element, literal, identifier, type, display)


def _alternate(holder: Json) -> Json:
    extensions = holder.get("extension")
    for each in extensions if isinstance(extensions, list) else ():
        if isinstance(each, dict) and each.get("url") == _ALTERNATE and isinstance(each.get("valueReference"), dict):
            return dict(each["valueReference"])
    return holder


def identifier_of(holder: Json, element: str) -> str:
    """The identifier of a logical reference as `system|value`; empty if there is none."""
    value = holder.get("identifier")
    if value is None:
        return ""
    identifier = mapping(value, f"{element}/identifier")
    number = string(identifier, "value")
    return f"{string(identifier, 'system')}|{number}" if number else ""


def references(resource: Json) -> tuple[Reference, ...]:
    """Every reference of a resource outside its contained resources and extensions, in the order of its elements."""
    found: list[Reference] = []
    for name, value in resource.items():
        if name not in _SKIPPED and isinstance(value, dict | list):
            _walk(value, name, name, found)
    return tuple(sorted(found, key=lambda r: r.element)) if len(found) > 1 else tuple(found)


def _walk(value: Any, name: str, path: str, found: list[Reference]) -> None:
    if isinstance(value, list):
        for index, each in enumerate(value):
            if isinstance(each, dict):
                at = f"{path}/{index}"
                if path == _RELATES:
                    at = f"{path}:{_relation(each)}/{index}"
                    if identifier := identifier_of({"identifier": each.get("targetIdentifier")}, at):
                        found.append(Reference(f"{at}/targetIdentifier", identifier=identifier))
                _walk(each, name, at, found)
        return
    if "coding" in value:
        return
    value = _alternate(value) if "extension" in value else value
    literal = value.get("reference")
    if isinstance(literal, str) or (
        ("display" in value or "identifier" in value) and name not in _CODINGS and value.keys() <= _OF_REFERENCE
    ):
        if literal is not None and not isinstance(literal, str):
            raise WrongShape(f"{path}/reference", "string")
        each = reference(value, path)
        if each is not None:
            found.append(each)
        return
    for key, inner in value.items():
        if isinstance(inner, dict | list) and key not in _SKIPPED:
            _walk(inner, key, f"{path}/{key}", found)


def _relation(of: Json) -> str:
    """How a document relates to another: `code` (R4, and R5 made like it), `type` of R5's Composition."""
    code = of.get("code", of.get("type"))
    return code if isinstance(code, str) else ""


def literal_type(literal: str, declared: str = "") -> str:
    """The type that a reference names by itself: declared, or in `Type/id`, `…/Type/id`, `Type?…`; else empty."""
    if declared:
        return declared.rsplit("/", 1)[-1]
    if not literal or literal.startswith(("#", "urn:")):
        return ""
    name = without_version(literal)
    if "?" in name:
        return name.partition("?")[0].rsplit("/", 1)[-1]
    parts = name.rsplit("/", 2)
    type = parts[-2] if len(parts) > 1 else ""
    return type if type[:1].isupper() and type.isalpha() else ""


def without_version(literal: str) -> str:
    return literal.partition("/_history/")[0]

"""What does the OpenAPI document say of the bodies that the routes read themselves?"""

from __future__ import annotations

from typing import Any

import msgspec

Schema = dict[str, Any]


def body_schema(shape: type) -> Schema:
    """The request body of this shape, written out whole (no references into another document)."""
    (root,), parts = msgspec.json.schema_components([shape], ref_template="{name}")
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": _inline(root, parts)}}}}


def _inline(node: Any, parts: dict[str, Any]) -> Any:
    if isinstance(node, dict):
        if "$ref" in node:
            return _inline(parts[node["$ref"]], parts)
        return {name: _inline(each, parts) for name, each in node.items()}
    if isinstance(node, list):
        return [_inline(each, parts) for each in node]
    return node


def fhir_schema() -> Schema:
    """A FHIR Bundle or resource: an object that names its type."""
    resource = {"type": "object", "required": ["resourceType"], "properties": {"resourceType": {"type": "string"}}}
    media = {"schema": resource}
    return {"requestBody": {"required": True, "content": {"application/fhir+json": media, "application/json": media}}}


PROBLEM: Schema = {
    "type": "object",
    "required": ["code", "type", "message", "requestId"],
    "properties": {
        "code": {"type": "integer"},
        "type": {"type": "string"},
        "message": {"type": "string"},
        "requestId": {"type": "string"},
        "details": {"type": "array", "items": {"type": "object"}},
    },
}

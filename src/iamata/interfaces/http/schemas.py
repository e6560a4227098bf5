"""What does the OpenAPI document say of the bodies that the routes read themselves?"""

from __future__ import annotations

import inspect
from typing import Any

import msgspec

from iamata.interfaces.http.asking import MOST_PER_PAGE
from iamata.interfaces.http.replies import NDJSON
from iamata.interfaces.wire import queries

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


def documents_schema(*accepted: str) -> Schema:
    """A document as the body, of one of these media types (any, if none is named), or several as parts."""
    document = {"type": "string", "format": "binary"}
    parts = {
        "type": "object",
        "required": ["documents"],
        "properties": {"documents": {"type": "array", "minItems": 1, "items": document}},
    }
    content = {each: {"schema": document} for each in accepted or ("*/*",)}
    return {"requestBody": {"required": True, "content": content | {"multipart/form-data": {"schema": parts}}}}


def query_schema() -> Schema:
    """A query, with the grammar in words: a filter nests, which a schema without references cannot say."""
    schema = body_schema(queries.QueryBody)
    (content,) = schema["requestBody"]["content"].values()
    content["schema"]["properties"]["filter"]["description"] = inspect.cleandoc(queries.__doc__ or "")
    content["schema"]["properties"]["page"] |= {"minimum": 0}
    content["schema"]["properties"]["perPage"] |= {"minimum": 1, "maximum": MOST_PER_PAGE}
    content["schema"]["additionalProperties"] = False
    content["example"] = {
        "filter": {"payload.type": "condition", "payload.effectivePeriod.start": {"gte": "2025"}},
        "sort": ["-payload.effectivePeriod.start"],
        "perPage": 20,
    }
    return schema


# What a list says of its answers: a page, or by `Accept` every item as a line.
LISTED: dict[int | str, Schema] = {
    200: {
        "description": "A page; as NDJSON every item, one a line: page and perPage do not count.",
        "content": {"application/json": {"schema": {}}, NDJSON: {"schema": {"type": "string"}}},
    }
}
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

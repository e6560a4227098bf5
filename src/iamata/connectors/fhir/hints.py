"""Whose is a FHIR document, by its own word? Its Patient resources and their ids; nothing is read further."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

_BOM = b"\xef\xbb\xbf"


class _Resource(msgspec.Struct):
    resourceType: str = ""
    id: str = ""


class _Entry(msgspec.Struct):
    resource: _Resource | None = None


class _Document(_Resource):
    entry: list[_Entry] = []


def patients_named(body: bytes) -> tuple[int, tuple[str, ...]]:
    """How many Patient resources of different ids stand in the document (a Bundle, a resource, or NDJSON of them), and
    the id of the one if there is one. One without an id counts. Nobody is named by what is no JSON."""
    found = {each.id for each in _resources(body) if each.resourceType == "Patient"}
    return len(found), tuple(found) if len(found) == 1 else ()


def is_lines(body: bytes, name: str = "") -> bool:
    """Is it NDJSON: named so, or two or more lines that each are an object?"""
    if name.lower().endswith((".ndjson", ".jsonl")):
        return True
    first, _, rest = body.removeprefix(_BOM).strip().partition(b"\n")
    return first.startswith(b"{") and first.rstrip().endswith(b"}") and rest.lstrip().startswith(b"{")


def _resources(body: bytes) -> Iterator[_Resource]:
    for document in _documents(body.removeprefix(_BOM)):
        yield document
        yield from (each.resource for each in document.entry if each.resource is not None)


def _documents(body: bytes) -> Iterable[_Document]:
    try:
        if not is_lines(body):
            return [_decode(body)]
        return [_decode(line) for line in body.split(b"\n") if line.strip()]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return []


_decode = msgspec.json.Decoder(_Document).decode

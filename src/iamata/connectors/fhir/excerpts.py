"""What stands at a JSON pointer of a document? For showing a person the bytes behind a line."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from iamata.connectors.fhir.decoding import decode
from iamata.errors import BadInput

_INDEX = re.compile(r"\d{1,9}\Z")
_laid_out = msgspec.json.Encoder(decimal_format="number")


def at(body: bytes, pointer: str) -> str:
    """The JSON at this pointer (RFC 6901; the first token is the line in NDJSON), two blanks a level; a text as it is.

    Empty if nothing is there or the document cannot be read.
    """
    try:
        roots = decode(body)
    except BadInput:
        return ""
    for root in roots:
        if pointer == root.pointer or pointer.startswith(root.pointer + "/"):
            found = _step(root.value, pointer[len(root.pointer) :].split("/")[1:])
            if isinstance(found, str):
                return found
            return msgspec.json.format(_laid_out.encode(found), indent=2).decode() if found is not None else ""
    return ""


def _step(value: Any, tokens: list[str]) -> Any:
    for token in tokens:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            # An object where a list belongs is read as a list of one: its place is that of the first.
            value = value if name == "0" and name not in value else value.get(name)
        elif isinstance(value, list) and _INDEX.match(name) and int(name) < len(value):
            value = value[int(name)]
        elif isinstance(value, list):
            # A list where an object belongs is read as its objects.
            value = next((each[name] for each in value if isinstance(each, dict) and name in each), None)
        else:
            return None
    return value

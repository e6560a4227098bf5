"""What stands at a place of an interchange? For showing a person the segments behind a line."""

from __future__ import annotations

import re

from iamata.connectors.x12.decoding import decode, text_of
from iamata.errors import BadInput

_PLACE = re.compile(r"segments?/(\d{1,9})(?:-(\d{1,9}))?\Z")


def at(body: bytes, pointer: str) -> str:
    """The segments of a place (`segment/7`, `segments/7-12`), one a line, as they stand without their terminator.

    Empty if nothing is there or the document cannot be read.
    """
    match = _PLACE.match(pointer)
    if match is None:
        return ""
    first = int(match.group(1))
    last = int(match.group(2) or first)
    try:
        segments = decode(body).segments
    except BadInput:
        return ""
    text, _is_utf8 = text_of(body)
    return "\n".join(text[s.at : s.at + s.size] for s in segments if first <= s.number <= last)


def sender(body: bytes) -> str:
    """Who sent the first interchange (ISA05 and ISA06), such as `ZZ:123456789012345`; empty if there is none."""
    head = body[:4096].lstrip()
    try:
        isa = decode(head).segments[0]
    except (BadInput, IndexError):
        return ""
    return ":".join(filter(None, (isa.get(5).strip(), isa.get(6).strip())))

"""What stands at a place of a document? For showing a person the bytes behind a line.

`/2/OBX/3` is the third OBX of the second message, `/2/OBX/3/5` its fifth field, `/2/OBX/3-7/5` that field of five OBX
in a row; `/0/BHS/1` stands around the messages.
"""

from __future__ import annotations

import re

from iamata.connectors.hl7v2.decoding import decode
from iamata.errors import BadInput

_POINTER = re.compile(r"/(\d+)/([A-Z][A-Z0-9]{2}|line)/(\d+)(?:-(\d+))?(?:/(\d+))?\Z")


def at(body: bytes, pointer: str) -> str:
    """A segment as it was sent, or a field as text with its escapes undone; lines of a run below each other.

    Empty if nothing is there or the document cannot be read.
    """
    match = _POINTER.match(pointer)
    if match is None:
        return ""
    try:
        document = decode(body)
    except BadInput:
        return ""
    number, name, first, last, field = match.groups()
    segments = [*document.envelope, *(s for message in document.messages for s in message.segments)]
    found = []
    by_place = {segment.place: segment for segment in segments}
    for index in range(int(first), int(last or first) + 1):
        segment = by_place.get(f"/{number}/{name}/{index}")
        if segment is None:
            break
        if field is None:
            found.append(segment.raw)
        else:
            found += [each.literal.strip("\n") for each in segment.repetitions(int(field))]
    return "\n".join(found)

"""Which system sent a document? MSH-4 with MSH-3 of its first message."""

from __future__ import annotations

from iamata.connectors.hl7v2.decoding import decode
from iamata.errors import BadInput


def source_of(body: bytes) -> str:
    """The sending facility, else the sending application; empty if it names neither or cannot be read."""
    try:
        document = decode(body)
    except BadInput:
        return ""
    header = document.messages[0].segments[0]
    return header.text(4) or header.text(4, 2) or header.text(3)

"""What text does an encapsulated value (ED) hold? Text, HTML, RTF, PDF and DOCX are read; the rest is kept.

CDA R2 nonXMLBody and Note Activity: `mediaType`, `representation` and `compression`. Not here: how files are read
(`connectors.text`).
"""

from __future__ import annotations

import binascii
import zlib
from base64 import b64decode
from typing import Final

from iamata.connectors.ccda.nodes import Node
from iamata.connectors.ccda.values import Values
from iamata.connectors.text import attached, html, named, reads

_TEXT: Final = ("text/plain", "text/html", "text/markdown", "")
_RTF: Final = ("text/rtf", "application/rtf")
# HL7 v3 CompressionAlgorithm → window bits of zlib: RFC 1951, RFC 1952, RFC 1950.
_COMPRESSIONS: Final = {"DF": -15, "GZ": 31, "ZL": 15}
LIMIT_BYTES: Final = 50_000_000


def embedded(node: Node, readings: Values) -> tuple[str, str]:
    """The words, and what was left unread (names of elements and media types only); both where a part is read."""
    media_type = node.get("mediaType").lower()
    base64 = node.get("representation").upper() == "B64"
    reference = node.one("reference")
    if reference is not None and reference.get("value") and not reference.get("value").startswith("#"):
        return "", f"text/reference ({named(media_type, 'no mediaType')}) is not fetched"
    if not base64:
        if media_type in _RTF and node.text.lstrip().startswith("{\\rtf"):
            return _read(node.text.encode(), media_type)
        if media_type and media_type not in _TEXT and "xml" not in media_type:
            words = readings.text(node) if reference is not None else ""
            return (
                words,
                "" if words else f"text ({named(media_type, 'no mediaType')}) is kept in the document, not read",
            )
        as_written = media_type in ("text/plain", "text/markdown") and not node.children
        words = node.text.strip() if as_written else readings.text(node)
        return (html.plain(words) if media_type == "text/html" else words), "" if words else "text is empty"
    narrative = readings.text(node) if reference is not None else ""
    if narrative:
        return narrative, ""
    try:
        raw = b64decode("".join(node.text.split()), validate=True)
    except (binascii.Error, ValueError):
        return "", "text is no base64"
    compression = node.get("compression").upper()
    if compression:
        inflated = _inflated(raw, compression)
        if inflated is None:
            return "", "text is compressed in a way that cannot be opened"
        raw = inflated
    return _read(raw, media_type or "text/plain")


def _read(raw: bytes, media_type: str) -> tuple[str, str]:
    if not raw.strip():
        return "", "text is empty"
    found = attached(raw, media_type)
    if not found.text.strip() and not reads(media_type):
        return "", f"text ({named(media_type, 'no mediaType')}) is kept in the document, not read"
    left = "; ".join(f"text ({named(media_type, 'no mediaType')}): {each}" for each in found.left)
    return found.text, left or ("" if found.text.strip() else "text is empty")


def _inflated(raw: bytes, compression: str) -> bytes | None:
    """None for an algorithm that is not known, damaged bytes, or more than LIMIT_BYTES."""
    bits = _COMPRESSIONS.get(compression)
    if bits is None:
        return None
    stream = zlib.decompressobj(bits)
    try:
        found = stream.decompress(raw, LIMIT_BYTES)
    except zlib.error:
        return None
    return found if stream.eof else None

"""What text does an encapsulated value (ED) hold? Plain text, base64 text and HTML are decoded; the rest is kept.

CDA R2 nonXMLBody and Note Activity: `mediaType` and `representation`. Not here: reading PDF, RTF or images.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from html.parser import HTMLParser
from typing import Final

from iamata.connectors.ccda.nodes import Node
from iamata.connectors.ccda.values import Values

_TEXT: Final = ("text/plain", "text/html", "text/markdown", "")
_BLOCKS: Final = frozenset({"p", "br", "div", "tr", "li", "h1", "h2", "h3", "h4", "h5", "h6", "table", "ul", "ol"})


def embedded(node: Node, readings: Values) -> tuple[str, str]:
    """The words, and what was left unread (names of elements and media types only); one of both is empty."""
    media_type = node.get("mediaType").lower()
    base64 = node.get("representation").upper() == "B64"
    reference = node.one("reference")
    if reference is not None and reference.get("value") and not reference.get("value").startswith("#"):
        return "", f"text/reference ({media_type[:60] or 'no mediaType'}) is not fetched"
    if not base64:
        if media_type and media_type not in _TEXT and "xml" not in media_type:
            words = readings.text(node) if reference is not None else ""
            return words, "" if words else f"text ({media_type[:60]}) is kept in the document, not read"
        as_written = media_type in ("text/plain", "text/markdown") and not node.children
        words = node.text.strip() if as_written else readings.text(node)
        return (_plain_html(words) if media_type == "text/html" else words), "" if words else "text is empty"
    narrative = readings.text(node) if reference is not None else ""
    if narrative:
        return narrative, ""
    if media_type not in _TEXT:
        return "", f"text ({media_type[:60]}) is kept in the document, not read"
    try:
        raw = b64decode("".join(node.text.split()), validate=True)
    except (binascii.Error, ValueError):
        return "", "text is no base64"
    if raw.startswith(b"%PDF"):
        return "", "text is a PDF, which is kept in the document, not read"
    try:
        words = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "", "text is base64 of no UTF-8"
    if media_type == "text/html":
        words = _plain_html(words)
    return words, "" if words.strip() else "text is empty"


class _Html(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def _plain_html(text: str) -> str:
    parser = _Html()
    parser.feed(text)
    parser.close()
    lines = (" ".join(line.split()) for line in "".join(parser.parts).split("\n"))
    return "\n".join(line for line in lines if line)

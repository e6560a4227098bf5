"""Which reader gives the text of this file? One for each format; bounds are checked here, before and after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from iamata.connectors.text import docx, html, images, pdf, plain, rtf
from iamata.connectors.text.pages import Extract, Limits, check_size, within

TEXT: Final = "document/text"
MARKDOWN: Final = "document/markdown"
HTML: Final = "document/html"
RTF: Final = "document/rtf"
PDF: Final = "document/pdf"
DOCX: Final = "document/docx"
PNG: Final = "image/png"
JPEG: Final = "image/jpeg"
TIFF: Final = "image/tiff"

_READERS: Final[dict[str, Callable[[bytes, Limits, str], Extract]]] = {
    TEXT: lambda body, limits, declared: plain.read(body, limits, declared=declared),
    MARKDOWN: lambda body, limits, declared: plain.read(body, limits, markdown=True, declared=declared),
    HTML: lambda body, limits, declared: html.read(body, declared=declared),
    RTF: lambda body, limits, declared: rtf.read(body, limits),
    PDF: lambda body, limits, declared: pdf.read(body, limits),
    DOCX: lambda body, limits, declared: docx.read(body, limits),
    PNG: lambda body, limits, declared: images.read(body, limits),
    JPEG: lambda body, limits, declared: images.read(body, limits),
    TIFF: lambda body, limits, declared: images.read(body, limits),
}
FORMATS: Final = tuple(_READERS)
# First bytes of formats that are no plain text (their published signatures).
_SIGNATURES: Final = (
    (b"%PDF-", PDF),
    (b"{\\rtf", RTF),
    (b"\x89PNG\r\n\x1a\n", PNG),
    (b"\xff\xd8\xff", JPEG),
    (b"II*\x00", TIFF),
    (b"MM\x00*", TIFF),
)


def extract(body: bytes, format: str, *, limits: Limits | None = None, declared: str = "") -> Extract:
    """The pages of a file in this format (one of FORMATS). `declared` is the charset its sender names.

    Raises BadInput (empty, damaged, a password, no text) or TooLarge.
    """
    limits = limits or Limits()
    check_size(body, limits)
    return within(_READERS[format](body, limits, declared), limits)


def by_signature(body: bytes) -> str:
    """The format that the first bytes tell; empty if they tell none (text, HTML, what is not known here)."""
    head = body[:64].lstrip()
    for signature, format in _SIGNATURES:
        if head.startswith(signature):
            return format
    return DOCX if docx.is_docx(body) else ""

"""Which document or image is this? By first bytes, then by markup, then by media type and name; the rest is text.

Not here: records that are text too (HL7 v2, X12, JSON, XML), which the registry asks for first.
"""

from __future__ import annotations

import re
from typing import Final

from iamata.connectors.documents import dicom
from iamata.connectors.text import reading as files

HTML: Final = files.HTML
FORMATS: Final = (*files.FORMATS, dicom.FORMAT)
MEDIA_TYPES: Final = {
    files.TEXT: "text/plain",
    files.MARKDOWN: "text/markdown",
    files.HTML: "text/html",
    files.RTF: "application/rtf",
    files.PDF: "application/pdf",
    files.DOCX: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    files.PNG: "image/png",
    files.JPEG: "image/jpeg",
    files.TIFF: "image/tiff",
    dicom.FORMAT: "application/dicom",
}
# PS3.10 7.1: 128 bytes of preamble, then these.
_DICOM: Final = b"DICM"
_DICOM_AT: Final = 128
_HTML: Final = re.compile(rb"<!doctype\s+html|<html[\s>]|<body[\s>]", re.IGNORECASE)
_HEAD: Final = 4_096
_HTML_NAMES: Final = (".html", ".htm", ".xhtml")
_HTML_TYPES: Final = ("text/html", "application/xhtml+xml")
_MARKDOWN_NAMES: Final = (".md", ".markdown")
# Bytes that no text has, in any of the character sets that are read without two bytes a character.
_CONTROLS: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def by_signature(body: bytes, text: bytes) -> str:
    """The format that its first bytes tell (`text`: the body without mark and blanks before it); empty if none."""
    if body[_DICOM_AT : _DICOM_AT + 4] == _DICOM:
        return dicom.FORMAT
    return files.by_signature(body) or files.by_signature(text[:64])


def is_html(text: bytes, media_type: str, name: str) -> bool:
    """Is this markup HTML? It says so itself, or its sender does."""
    if media_type.partition(";")[0].strip().lower() in _HTML_TYPES or name.lower().endswith(_HTML_NAMES):
        return True
    return _HTML.search(text[:_HEAD]) is not None


def of_text(text: bytes, media_type: str, name: str) -> str:
    """Markdown or plain text; empty for what is no text. UTF-16 comes here with its mark taken off, or without one."""
    head = text[:_HEAD]
    controls = len(_CONTROLS.findall(head))
    wide = head[1::2].count(0) > len(head) * 0.35 or head[::2].count(0) > len(head) * 0.35
    if (controls > 8 + len(head) * 0.01 and not wide) or (b"\0" in head and not wide):
        return ""
    kind = media_type.partition(";")[0].strip().lower()
    if kind in _HTML_TYPES or (name.lower().endswith(_HTML_NAMES) and kind != "text/plain"):
        return files.HTML
    if kind == "text/markdown" or (name.lower().endswith(_MARKDOWN_NAMES) and kind != "text/plain"):
        return files.MARKDOWN
    return files.TEXT

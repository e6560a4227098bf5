"""Which parts does a multipart/form-data body hold? RFC 7578 and RFC 2046, over a body that is at hand.

Not here: how much may be sent (`asking` bounds the body before it is held), and what the parts are.
"""

from __future__ import annotations

import re
from email.message import Message
from email.parser import HeaderParser
from typing import Final

import msgspec

from iamata.errors import BadInput, TooLarge

MOST_PARTS: Final = 200
_BOUNDARY = re.compile(r"[\x20-\x7e]{1,70}\Z")
_PADDING = re.compile(rb"[ \t]*\r\n")
# RFC 7578 4.7: senders do not encode parts; what a gateway may have written down is fine where it changes nothing.
_PLAIN: Final = frozenset({"", "7bit", "8bit", "binary"})


class Part(msgspec.Struct, frozen=True):
    """One part: the field it belongs to, its file name and media type as sent (either may be empty), its bytes."""

    field: str
    name: str
    media_type: str
    body: bytes


def parts(body: bytes, content_type: str) -> list[Part]:
    """The parts in their order. Raises BadInput for a body that is cut short or malformed, TooLarge for too many."""
    header = Message()
    header["content-type"] = content_type
    boundary = header.get_boundary() or ""
    if not _BOUNDARY.match(boundary):
        raise BadInput("a multipart body names its boundary in the Content-Type")
    pieces = (b"\r\n" + body).split(b"\r\n--" + boundary.encode("ascii"))
    found: list[Part] = []
    for piece in pieces[1:]:  # what stands before the first boundary is no part
        if piece.startswith(b"--"):
            return found
        padding = _PADDING.match(piece)
        if padding is None:
            raise BadInput("a boundary is not alone on its line", place=f"part {len(found)}")
        if len(found) == MOST_PARTS:
            raise TooLarge(f"a body has at most {MOST_PARTS} parts")
        found.append(_part(piece[padding.end() :], len(found)))
    raise BadInput("the multipart body ends before its last boundary")


def file_name(disposition: str) -> str:
    """The file name of a Content-Disposition (RFC 6266), also in its encoded form; empty if it names none."""
    header = Message()
    header["content-disposition"] = disposition
    return header.get_filename("") or ""


def _part(piece: bytes, number: int) -> Part:
    head, blank, body = (b"", b"\r\n", piece[2:]) if piece.startswith(b"\r\n") else piece.partition(b"\r\n\r\n")
    if not blank:
        raise BadInput("a part has no end of its headers", place=f"part {number}")
    headers = HeaderParser().parsestr(head.decode("utf-8", "replace"))
    if str(headers.get("content-transfer-encoding", "")).strip().lower() not in _PLAIN:
        raise BadInput("a part is sent as it is, without a transfer encoding", place=f"part {number}")
    field = headers.get_param("name", "", header="content-disposition")
    if not isinstance(field, str) or not field:
        raise BadInput("a part names its field in its Content-Disposition", place=f"part {number}")
    media_type = str(headers.get("content-type", "")).partition(";")[0].strip().lower()
    return Part(field, headers.get_filename("") or "", media_type, body)

"""Which of our errors is a problem that the server answered with? The way back of the table in the HTTP interface.

What the wire does not tell apart comes back as the wider class: an InvalidValue as BadInput.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from iamata.errors import (
    BadInput,
    Bug,
    Conflict,
    Gone,
    IamataError,
    InvalidValue,
    NotAllowed,
    NotFound,
    TooLarge,
    Unauthenticated,
    Unavailable,
    UnknownFormat,
)


class _Told(msgspec.Struct):
    """The one shape of problems; another server's answer has none of it."""

    type: str = ""
    message: str = ""
    requestId: str = ""  # as it stands on the wire
    details: list[dict[str, Any]] = []


def error_of(status: int, body: bytes, request_id: str = "") -> IamataError:
    """The error, with the server's words and its request id."""
    try:
        told = msgspec.json.decode(body, type=_Told)
    except (msgspec.DecodeError, UnicodeDecodeError):
        told = _Told()
    error = _error(status, told)
    error.request_id = told.requestId or request_id
    if error.request_id:
        error.add_note(f"request id: {error.request_id}")
    return error


def _error(status: int, told: _Told) -> IamataError:
    place = next(_said(told.details, "place"), "")
    said = told.message or f"the server answered {status}"
    # Our errors put the place behind their words themselves.
    words = said.removesuffix(f" (at {place})") if place else said
    reasons = tuple(_said(told.details, "reason"))
    match status:
        case 400 if told.type == "OUT_OF_RANGE":
            return InvalidValue(words, place=place)
        case 401:
            return Unauthenticated(said, reasons=reasons)
        case 403:
            return NotAllowed(said, reasons=reasons)
        case 404:
            return NotFound(said)
        case 409:
            return Conflict(said)
        case 410:
            return Gone(said)
        case 413:
            return TooLarge(words, place=place)
        case 415:
            return UnknownFormat(words, format=next(_said(told.details, "format"), ""), place=place)
        case 429 | 502 | 503 | 504:
            return Unavailable(said)
        case _ if 400 <= status < 500:
            return BadInput(words, place=place)
        case _:
            return Bug(said)


def _said(details: Iterable[dict[str, Any]], name: str) -> Iterator[str]:
    return (str(each[name]) for each in details if each.get(name))

"""What JSON do these bytes hold, within the limits? A JSON text is one root, NDJSON one root a line.

Numbers keep their digits (Decimal). Of a key that stands twice in one object the last value is kept, and the place is
named. Not here: whether
the JSON is FHIR (`reader`).
"""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import msgspec

from iamata.errors import BadInput, TooLarge

LIMIT_BYTES = 100_000_000
LIMIT_DEPTH = 200

_BRACKETS = bytes(set(range(256)) - set(b'"[]{}'))
_COLONS = bytes(set(range(256)) - set(b'":'))
# A string (whole, or cut short) or a bracket.
_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
# Longer whole numbers are not decoded (nor is any a number of a clinical record).
_TOO_LONG = re.compile(rb"\d{300,}")
_BOM = b"\xef\xbb\xbf"


class Root(NamedTuple):
    """One JSON value and its JSON pointer in the document (`""`, or `/3` for the fourth line of NDJSON).

    `fault` is not empty for a line that is no JSON; then `value` is None. `repeated` are the pointers of keys that
    stand more than once in one object.
    """

    pointer: str
    value: Any
    fault: str = ""
    repeated: tuple[str, ...] = ()


def decode(body: bytes, *, limit_bytes: int = LIMIT_BYTES, limit_depth: int = LIMIT_DEPTH) -> list[Root]:
    """The roots in file order, at least one. Raises BadInput (empty, not UTF-8, not JSON; with line and column) or
    TooLarge (bytes, depth; found before anything is decoded)."""
    if len(body) > limit_bytes:
        raise TooLarge(f"the document has {len(body)} bytes, more than the {limit_bytes} allowed")
    if body.startswith(_BOM):
        body = body[len(_BOM) :]
    if not body.strip():
        raise BadInput("the document is empty")
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput("the document is not UTF-8", place=_line_and_column(body, error.start)) from None
    check_depth(body, limit_depth)
    lines = _lines(body)
    if lines:
        return [_line(number, line) for number, line in lines]
    try:
        value = _decoder.decode(body)
        return [Root("", value, "", _repeated(body, value, ""))]
    except msgspec.DecodeError as error:
        message, place = _fault(error, body)
        raise BadInput(f"the document is not JSON: {message}", place=place) from None


def check_depth(body: bytes, limit: int) -> None:
    """Raises TooLarge if brackets nest deeper than `limit` outside strings. One linear pass, no recursion."""
    outside = _outside(body, _BRACKETS)
    depth = deepest = 0
    for char in outside:
        if char in b"[{":
            depth += 1
            if depth > deepest:
                deepest = depth
                if deepest > limit:
                    place = _line_and_column(body, _too_deep(body, limit))
                    raise TooLarge(f"the document nests deeper than the {limit} levels allowed", place=place)
        else:
            depth -= 1


def _too_deep(body: bytes, limit: int) -> int:
    """The offset of the bracket that opens one level too many."""
    depth = 0
    for found in _BRACKET.finditer(body):
        if found.group() in (b"[", b"{"):
            depth += 1
            if depth > limit:
                return found.start()
        elif found.group() in (b"]", b"}"):
            depth -= 1
    return 0


def _outside(body: bytes, deleted: bytes) -> bytes:
    """What stands outside of strings, without the `deleted` bytes."""
    if b"\\" in body:
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(body.translate(None, deleted).split(b'"')[::2])


def _repeated(body: bytes, value: Any, pointer: str) -> tuple[str, ...]:
    """The places of keys that repeat in one object. Looked for only where more keys were sent than are kept: outside of
    strings a colon follows each key (RFC 8259) and stands nowhere else."""
    kept = msgspec.json.encode(value)
    if _outside(body, _COLONS).count(b":") == _outside(kept, _COLONS).count(b":"):
        return ()
    found: list[str] = []
    _walk(json.loads(body, object_pairs_hook=list), pointer, found)
    return tuple(found)


def _walk(value: Any, pointer: str, found: list[str]) -> None:
    """An object is a list of pairs here, so that nothing is lost."""
    if not isinstance(value, list):
        return
    seen: dict[str, bool] = {}  # name → whether it is told
    for index, each in enumerate(value):
        if isinstance(each, tuple):
            name, inner = each
            at = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')[:64]}"
            if seen.get(name) is False:
                found.append(at)
            seen[name] = name in seen
        else:
            at, inner = f"{pointer}/{index}", each
        _walk(inner, at, found)


def _lines(body: bytes) -> list[tuple[int, bytes]]:
    """The lines that hold something with their numbers from 0, if this is NDJSON: two or more, each `{…}`."""
    first = body.lstrip().partition(b"\n")[0].rstrip()
    if not first.startswith(b"{") or not first.endswith(b"}"):
        return []
    lines = [(n, line.strip()) for n, line in enumerate(body.split(b"\n")) if line.strip()]
    if len(lines) < 2 or not all(line.startswith(b"{") for _n, line in lines):
        return []
    return lines


def _line(number: int, line: bytes) -> Root:
    try:
        value = _decoder.decode(line)
        return Root(f"/{number}", value, "", _repeated(line, value, f"/{number}"))
    except msgspec.DecodeError as error:
        return Root(f"/{number}", None, f"not JSON: {_fault(error, line)[0]}")


def number(text: str) -> Decimal | str:
    """A JSON number with its digits."""
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond all bounds: kept as text, so that only its item is spoiled
        return text


_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(float_hook=number)


def _fault(error: msgspec.DecodeError, body: bytes) -> tuple[str, str]:
    """The fault and its place; msgspec names the place as `(byte N)`."""
    message, found, rest = str(error).partition(" (byte ")
    message = message.removeprefix("JSON is malformed: ").lower()
    if "out of range" in message:
        number = _TOO_LONG.search(body)
        return "a number of too many digits", _line_and_column(body, number.start()) if number else ""
    if not found:  # msgspec names no place for a text that ends too early: it is the end
        return message, _line_and_column(body, len(body)) if "truncated" in message else ""
    offset = int(rest.rstrip(")"))
    # msgspec has read one byte beyond where the trailing characters begin.
    return message, _line_and_column(body, offset - 1 if message.startswith("trailing") else offset)


def _line_and_column(body: bytes, offset: int) -> str:
    before = body[:offset]
    return f"line {before.count(10) + 1} column {offset - before.rfind(10)}"

"""Which messages and segments do these bytes hold, in which characters? Frames, batches, line ends, character sets.

Anything that can be read is read, and what was odd is said in the warnings. Not here: what a segment says.
"""

from __future__ import annotations

import codecs
import re
from typing import Final, NamedTuple

from iamata.connectors.hl7v2.segments import Delimiters, Segment, Trace
from iamata.errors import BadInput, TooLarge
from iamata.terminology.hl7v2 import codec

LIMIT_BYTES: Final = 64 * 1024 * 1024
LIMIT_SEGMENTS: Final = 200_000

_ENVELOPE: Final = frozenset({"FHS", "BHS", "BTS", "FTS"})
_HEADERS: Final = frozenset({"MSH", "FHS", "BHS"})
_NAME = re.compile(r"[A-Z][A-Z0-9]{2}\Z")
_LINE_END = re.compile(r"\r\n|\r|\n")
# MLLP: <VT> message <FS><CR>.
_FRAME = re.compile("[\x0b\x1c]")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    ("MSH".encode("utf-16-le"), "utf-16-le"),
    ("MSH".encode("utf-16-be"), "utf-16-be"),
)
# Codecs of more than one byte a character: a header that was found byte by byte is in none of them.
_WIDE: Final = frozenset({"utf-16", "utf-32"})


class Message(NamedTuple):
    """`number` counts from 1; `fault` says why it cannot be read, else empty. The first segment is MSH."""

    number: int
    segments: tuple[Segment, ...]
    fault: str = ""


class Document(NamedTuple):
    """`envelope` holds the segments around the messages (batch headers and trailers), and those that stand nowhere."""

    messages: tuple[Message, ...]
    envelope: tuple[Segment, ...]
    warnings: tuple[str, ...]


class _Line(NamedTuple):
    number: int
    text: str


def decode(body: bytes, *, limit_bytes: int = LIMIT_BYTES, limit_segments: int = LIMIT_SEGMENTS) -> Document:
    """The messages of a document, in order.

    Raises BadInput if it is empty, holds no MSH, or its only message has no usable delimiters; TooLarge above a limit.
    Each message is decoded by its own MSH-18. Not promised: that a message has the segments its event asks for.
    """
    if len(body) > limit_bytes:
        raise TooLarge(f"the document has {len(body)} bytes, more than {limit_bytes}")
    warnings: list[str] = []
    bom = next((name for mark, name in _BOMS if body.startswith(mark)), "")
    if bom and bom != "utf-8":
        try:
            text, forced = body.decode(bom), bom
        except UnicodeDecodeError as error:
            raise BadInput(f"the document is no {bom.upper()}", place=f"byte {error.start}") from None
    else:
        text, forced = body.removeprefix(codecs.BOM_UTF8).decode("latin-1"), ""
    lines = [
        _Line(number, line)
        for number, line in enumerate(_LINE_END.split(_FRAME.sub("\n", text)), 1)
        if line.strip(" \t\0\ufeff\x1a")
    ]
    if not lines:
        raise BadInput("the document is empty")
    if len(lines) > limit_segments:
        raise TooLarge(
            f"the document has {len(lines)} lines, more than {limit_segments}", place=f"line {limit_segments}"
        )
    blocks, loose = _blocks(lines)
    if not blocks:
        raise BadInput("no message begins here: there is no MSH segment", place=f"line {lines[0].number}")
    trace = Trace()
    messages = tuple(
        _message(block, number, trace, forced, bom == "utf-8", warnings) for number, block in enumerate(blocks, 1)
    )
    if len(messages) == 1 and messages[0].fault:
        raise BadInput(messages[0].fault, place=f"line {blocks[0][0].number}")
    return Document(messages, tuple(_envelope(loose, trace, forced)), tuple(warnings))


def _blocks(lines: list[_Line]) -> tuple[list[list[_Line]], list[_Line]]:
    """The lines of each message, and those around them."""
    blocks: list[list[_Line]] = []
    loose: list[_Line] = []
    inside = False
    for line in lines:
        name = line.text.lstrip()[:3]
        if name == "MSH":
            blocks.append([line._replace(text=line.text.lstrip())])
            inside = True
        elif name in _ENVELOPE:
            loose.append(line._replace(text=line.text.lstrip()))
            inside = False
        elif inside:
            blocks[-1].append(line)
        else:
            loose.append(line)
    return blocks, loose


def _message(
    lines: list[_Line], number: int, trace: Trace, forced: str, utf8_mark: bool, warnings: list[str]
) -> Message:
    at = f"/{number}/MSH/1"
    delimiters, fault, odd = _delimiters(lines[0].text)
    if odd:
        warnings.append(f"{at}: {odd}")
    name = forced or ("utf-8" if utf8_mark else "")
    if not name:
        fields = lines[0].text.split(delimiters.field)
        name, said = _charset(fields[17] if len(fields) > 17 else "", delimiters, lines)
        if said:
            warnings.append(f"{at}: {said}")
    texts: list[str] = []
    for line in lines:
        text = line.text if forced else line.text.encode("latin-1").decode(name, errors="replace")
        if texts and not (_NAME.match(text[:3]) and text[3:4] in ("", delimiters.field)):
            trimmed = text.lstrip()
            if _NAME.match(trimmed[:3]) and trimmed[3:4] == delimiters.field:
                text = trimmed  # an indented segment
            else:
                warnings.append(f"line {line.number} begins no segment: read as more of the segment before it")
                texts[-1] += "\n" + text
                continue
        texts.append(text)
    counts: dict[str, int] = {}
    segments = []
    for text in texts:
        counts[text[:3]] = counts.get(text[:3], 0) + 1
        segments.append(Segment(text, f"/{number}/{text[:3]}/{counts[text[:3]]}", delimiters, trace, name))
    return Message(number, tuple(segments), fault)


def _envelope(lines: list[_Line], trace: Trace, forced: str) -> list[Segment]:
    counts: dict[str, int] = {}
    found = []
    delimiters = Delimiters()
    for line in lines:
        text = line.text if forced else line.text.encode("latin-1").decode("utf-8", errors="replace")
        name = text[:3]
        if name in _HEADERS:
            delimiters, _fault, _odd = _delimiters(text)
        counts[name] = counts.get(name, 0) + 1
        found.append(Segment(text, f"/0/{_token(name)}/{counts[name]}", delimiters, trace))
    return found


def _token(name: str) -> str:
    return name if _NAME.match(name) else "line"


def _delimiters(header: str) -> tuple[Delimiters, str, str]:
    """The delimiters of a header segment, why they cannot be used, and what is odd about them."""
    separator = header[3:4]
    if not separator or separator.isalnum() or separator.isspace():
        return Delimiters(), "MSH-1 names no field separator", ""
    characters = header[4:].split(separator, 1)[0]
    distinct = "".join(dict.fromkeys(characters))
    odd = ""
    if distinct != characters:
        odd = "MSH-2 names a delimiter twice: the second is passed over"
    if any(c.isalnum() or c.isspace() for c in distinct) or not distinct or separator in distinct:
        return Delimiters(separator), "MSH-2 names no usable delimiters", odd
    component, repetition, escape, subcomponent, truncation, *_more = *distinct, "", "", "", ""
    return Delimiters(separator, component, repetition or "\0", escape, subcomponent or "\0", truncation), "", odd


def _charset(sent: str, delimiters: Delimiters, lines: list[_Line]) -> tuple[str, str]:
    """The codec of a message, and what is to be said of it.

    HL7 v2 2.15.9.18: MSH-18 empty means ASCII. Bytes that are not in what is declared are read as UTF-8 if they are
    that, else as Windows-1252.
    """
    names = [name.strip() for name in sent.split(delimiters.repetition)]
    declared = names[0]
    raw = b"\n".join(line.text.encode("latin-1") for line in lines)
    more = ""
    if any(names[1:]):
        more = "; further character sets (MSH-18) are not switched to"
    name = codec(declared) if declared else "ascii"
    if not name:
        guessed = _guess(raw)
        return guessed, f"the character set of MSH-18 is not known: read as {guessed}{more}"
    try:
        if name in _WIDE:
            raise UnicodeDecodeError(name, b"", 0, 1, "one byte a character")
        raw.decode(name)
    except UnicodeDecodeError:
        guessed = _guess(raw)
        what = "MSH-18 declares a character set that" if declared else "MSH-18 is empty and"
        return guessed, f"{what} the bytes are not in: read as {guessed}{more}"
    return name, more.lstrip("; ")


def _guess(raw: bytes) -> str:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"

"""Which segments do these bytes hold? Delimiters from each ISA, any line ends, several interchanges in one document.

Not here: what segments mean, and which belong together (`envelopes`).
"""

from __future__ import annotations

import re

import msgspec

from iamata.errors import BadInput, TooLarge

LIMIT_BYTES = 100_000_000
LIMIT_SEGMENTS = 2_000_000

_BOM = b"\xef\xbb\xbf"
# X12.5: ISA has sixteen elements of fixed widths; the last is the component separator, then comes the terminator.
_ISA_ELEMENTS = 16
_ISA_LENGTH = 106
# Not str.strip(): that takes the separators U+001C to U+001F for blanks too.
_BLANKS = " \t\r\n"
_ID = re.compile(r"[A-Z][A-Z0-9]{1,2}\Z")
# Composite elements in which the component separator must show: segment → element (005010 implementation guides).
_COMPOSITES = {"HI": 1, "SV1": 1, "SV2": 2, "SV3": 1, "SVC": 1, "CLM": 5, "STC": 1}
_OTHER_SEPARATOR = re.compile(r"[A-Z0-9]{1,3}([^\w\s.\-])\w")


class Segment(msgspec.Struct, frozen=True, gc=False):
    """One segment. `number` counts from 1 over the whole document; `at` is the offset of its first character, `size`
    its length without its terminator.

    `elements` are as sent without surrounding blanks, those after the segment's id; trailing empty ones are dropped.
    """

    id: str
    elements: tuple[str, ...]
    number: int
    at: int
    size: int
    component: str
    repetition: str

    def get(self, position: int) -> str:
        """The element at this position (from 1), empty if it is not there."""
        return self.elements[position - 1] if position <= len(self.elements) else ""

    def parts(self, position: int) -> tuple[str, ...]:
        """The components of an element, without trailing empty ones."""
        return components(self.get(position), self.component)

    def repeats(self, position: int) -> tuple[str, ...]:
        """The repetitions of an element that are not empty."""
        held = self.get(position)
        return tuple(filter(None, held.split(self.repetition) if self.repetition else (held,)))

    @property
    def place(self) -> str:
        return f"segment/{self.number}"


class Decoded(msgspec.Struct):
    """Segments in file order, at least an ISA; `stray` are texts that are no segments (number and offset); warnings
    name places."""

    segments: list[Segment]
    stray: list[tuple[int, int]]
    warnings: list[str]


def components(element: str, separator: str) -> tuple[str, ...]:
    found = [part.strip(_BLANKS) for part in element.split(separator)] if separator else [element]
    while found and not found[-1]:
        found.pop()
    return tuple(found)


def text_of(body: bytes) -> tuple[str, bool]:
    """The document as text, and whether it is UTF-8; else every byte is one character (X12 leaves encodings open)."""
    body = body.removeprefix(_BOM)
    try:
        return body.decode("utf-8"), True
    except UnicodeDecodeError:
        return body.decode("latin-1"), False


def decode(body: bytes, *, limit_bytes: int = LIMIT_BYTES, limit_segments: int = LIMIT_SEGMENTS) -> Decoded:
    """The segments of all interchanges. Raises BadInput (empty, no ISA, an ISA cut short, delimiters that cannot be) or
    TooLarge."""
    if len(body) > limit_bytes:
        raise TooLarge(f"the document has {len(body)} bytes, more than the {limit_bytes} allowed")
    text, is_utf8 = text_of(body)
    decoded = Decoded([], [], [] if is_utf8 else ["the document is not UTF-8: read byte by byte as ISO 8859-1"])
    at = len(text) - len(text.lstrip(_BLANKS))
    if at == len(text):
        raise BadInput("the document is empty")
    if not text.startswith("ISA", at):
        raise BadInput("an X12 interchange begins with ISA", place=f"offset {at}")
    number = 0
    while at < len(text):
        separator, component, repetition, terminator = _delimiters(text, at, number + 1)
        while at < len(text):
            end = text.find(terminator, at)
            raw = text[at : end if end >= 0 else len(text)]
            start, raw = at + len(raw) - len(raw.lstrip(_BLANKS)), raw.strip(_BLANKS)
            at = end + len(terminator) if end >= 0 else len(text)
            if raw:
                number += 1
                if number > limit_segments:
                    raise TooLarge(f"the document has more than the {limit_segments} segments allowed")
                _segment(raw, number, start, separator, component, repetition, decoded)
                if end < 0:
                    decoded.warnings.append(f"segment/{number} does not end: the document was cut short there")
            rest = at + len(text[at : at + 4096]) - len(text[at : at + 4096].lstrip(_BLANKS))
            if text.startswith("ISA", rest) and raw.startswith("IEA"):
                at = rest
                break
    return decoded


def _delimiters(text: str, at: int, number: int) -> tuple[str, str, str, str]:
    """Element, component and repetition separator, and segment terminator, of the ISA that stands here."""
    separator = text[at + 3 : at + 4]
    place = f"segment/{number}, offset {at}"
    if not separator or separator.isalnum() or separator in _BLANKS:
        raise BadInput("ISA is not followed by an element separator", place=place)
    # By counting separators rather than by widths: senders that do not pad their elements are read too.
    position = at
    ends: list[int] = []
    for _ in range(_ISA_ELEMENTS):
        position = text.find(separator, position + 1, at + 4 * _ISA_LENGTH)
        if position < 0:
            raise BadInput(f"ISA is cut short: it has {len(ends)} of its {_ISA_ELEMENTS} elements", place=place)
        ends.append(position)
    component, terminator = text[position + 1 : position + 2], text[position + 2 : position + 3]
    if terminator == "\r" and text[position + 3 : position + 4] == "\n":
        terminator = "\r\n"
    if not component or not terminator or component.isalnum() or terminator.isalnum():
        raise BadInput("ISA is cut short: it does not say how components and segments end", place=place)
    if len({separator, component, terminator}) < 3:
        raise BadInput("ISA gives one character for two delimiters", place=place)
    # ISA11 is the repetition separator from version 00402 on; before, it is the letter of the control standard.
    repetition = text[ends[10] + 1 : ends[11]].strip()
    if len(repetition) != 1 or repetition.isalnum() or repetition in (separator, component, terminator):
        repetition = ""
    return separator, component, repetition, terminator


def _segment(raw: str, number: int, at: int, separator: str, component: str, repetition: str, decoded: Decoded) -> None:
    id, *elements = raw.split(separator)
    if not _ID.match(id):
        decoded.stray.append((number, at))
        return
    # Blanks are padding, but in ISA16 the separator itself is the value.
    held = [element.strip(_BLANKS) for element in elements] if id != "ISA" else elements
    while held and not held[-1]:
        held.pop()
    decoded.segments.append(Segment(id, tuple(held), number, at, len(raw), component, repetition))


def other_component(segments: list[Segment]) -> str:
    """The component separator that composites really use where none of them holds the declared one; else empty.

    Some senders convert the ISA of a file and not its body (as in several of the guides' own examples).
    """
    found: set[str] = set()
    for segment in segments:
        held = segment.get(_COMPOSITES[segment.id]) if segment.id in _COMPOSITES else ""
        if segment.component in held:
            return ""
        match = _OTHER_SEPARATOR.match(held)
        if match and match.group(1) != segment.repetition:
            found.add(match.group(1))
    return found.pop() if len(found) == 1 else ""

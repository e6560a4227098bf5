"""How is a segment taken apart? Fields, repetitions, components and subcomponents, with the message's own delimiters.

Escapes are undone in each smallest part, after cutting. Every field that is looked at is remembered: the intake says
which were not, and an item's identity is made from what it was read from. Not here: what a field means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

# A field as plain values: repetitions, components, subcomponents. Empty ends are cut.
Plain: TypeAlias = list[list[list[str]]]

# HL7 v2 2.6.6: two double quotes say that the value is to be deleted; an empty field says nothing.
DELETED: Final = '""'
# Segments whose first field is a number that only counts them (SI): no part of what they say.
_COUNTED: Final = frozenset(
    {
        *(
            "PID",
            "NK1",
            "AL1",
            "IAM",
            "DG1",
            "PR1",
            "IN1",
            "GT1",
            "OBR",
            "OBX",
            "NTE",
            "TXA",
            "SPM",
            "FT1",
            "PV1",
            "DB1",
        ),
        *("AIS", "AIG", "AIL", "AIP", "RGS", "TQ1", "TQ2", "ARV", "CON", "IN3", "RXD"),
    }
)
_HEADERS: Final = frozenset({"MSH", "FHS", "BHS"})
# Commands of formatted text (HL7 v2 2.7.6) that break the line; all others only move the pen.
_BREAKS = re.compile(r"\.(?:br|sp|ce|fi|nf|in|ti|sk)(?:[+-]?\d+)?\Z", re.IGNORECASE)
_SKIPS = re.compile(r"\.(?:fi|nf|in|ti|sk)(?:[+-]?\d+)?\Z", re.IGNORECASE)
_HEX = re.compile(r"X(?:[0-9A-Fa-f]{2})+\Z")


class Delimiters(NamedTuple):
    """The characters of MSH-1 and MSH-2; `truncation` (v2.7) is empty if there is none."""

    field: str = "|"
    component: str = "^"
    repetition: str = "~"
    escape: str = "\\"
    subcomponent: str = "&"
    truncation: str = ""


class Trace:
    """Which fields were looked at since `begin`? Shared by the segments of a document."""

    def __init__(self) -> None:
        self._touched: dict[tuple[int, int], tuple[Segment, int]] | None = None

    def begin(self) -> None:
        self._touched = {}

    def touch(self, segment: Segment, number: int) -> None:
        if self._touched is not None:
            self._touched.setdefault((id(segment), number), (segment, number))

    def end(self) -> list[tuple[Segment, int]]:
        """The fields looked at, in the order of first looking."""
        touched = list(self._touched.values()) if self._touched is not None else []
        self._touched = None
        return touched


class Repetition:
    """One repetition of a field. Components and subcomponents count from 1, as in HL7; what is absent is empty."""

    __slots__ = ("_components", "_delimiters", "codec", "raw")

    def __init__(self, raw: str, delimiters: Delimiters, codec: str) -> None:
        self.raw = raw
        self.codec = codec
        self._delimiters = delimiters
        self._components: list[str] | None = None

    def component(self, number: int) -> str:
        """The component as sent, escapes and all."""
        if self._components is None:
            self._components = self.raw.split(self._delimiters.component)
        return self._components[number - 1] if number <= len(self._components) else ""

    def text(self, component: int = 1, subcomponent: int = 1) -> str:
        """A subcomponent without its escapes and outer blanks; empty if it is absent or is to be deleted."""
        parts = self.component(component).split(self._delimiters.subcomponent)
        raw = parts[subcomponent - 1] if subcomponent <= len(parts) else ""
        return "" if raw == DELETED else unescape(raw, self._delimiters, self.codec).strip()

    def subcomponents(self, component: int) -> list[str]:
        """All parts of a component, without escapes and outer blanks; at least one, empty if there is none."""
        parts = self.component(component).split(self._delimiters.subcomponent)
        return ["" if part == DELETED else unescape(part, self._delimiters, self.codec).strip() for part in parts]

    @property
    def size(self) -> int:
        """How many components there are, empty ends not counted."""
        return len(self.raw.rstrip(self._delimiters.component).split(self._delimiters.component)) if self.raw else 0

    @property
    def literal(self) -> str:
        """The whole as one text: for types that have no components, whose senders do not always escape."""
        return "" if self.raw == DELETED else unescape(self.raw, self._delimiters, self.codec)

    def plain(self) -> list[list[str]]:
        found = []
        for component in self.raw.split(self._delimiters.component):
            parts = [
                unescape(p, self._delimiters, self.codec).strip()
                for p in component.split(self._delimiters.subcomponent)
            ]
            while len(parts) > 1 and not parts[-1]:
                parts.pop()
            found.append(parts)
        while len(found) > 1 and found[-1] == [""]:
            found.pop()
        return found


class Segment:
    """One segment. `place` is its pointer (`/1/OBX/3`); fields count from 1; MSH-1 is the field separator itself."""

    __slots__ = ("_fields", "_repetitions", "codec", "delimiters", "name", "place", "raw", "trace", "used")

    def __init__(self, raw: str, place: str, delimiters: Delimiters, trace: Trace, codec: str = "utf-8") -> None:
        self.raw = raw
        self.place = place
        self.delimiters = delimiters
        self.codec = codec
        self.name = raw[:3]
        self.trace = trace
        fields = raw.split(delimiters.field)
        if self.name in _HEADERS:
            fields.insert(1, delimiters.field)
        self._fields = fields
        self._repetitions: dict[int, tuple[Repetition, ...]] = {}
        self.used: set[int] = {1} if self.name in _COUNTED else set()

    def __len__(self) -> int:
        """The number of its last field."""
        return len(self._fields) - 1

    def peek(self, number: int) -> str:
        """A field as sent, without being noted as read."""
        return self._fields[number] if number < len(self._fields) else ""

    def field(self, number: int) -> str:
        """A field as sent, noted as read."""
        self.used.add(number)
        self.trace.touch(self, number)
        return self.peek(number)

    def repetitions(self, number: int) -> tuple[Repetition, ...]:
        """The repetitions of a field that are not empty."""
        raw = self.field(number)
        found = self._repetitions.get(number)
        if found is None:
            parts = [raw] if number <= 2 and self.name in _HEADERS else raw.split(self.delimiters.repetition)
            found = tuple(Repetition(part, self.delimiters, self.codec) for part in parts if part.strip())
            self._repetitions[number] = found
        return found

    def first(self, number: int) -> Repetition | None:
        """The first repetition that says something; None if the field is empty or its value is to be deleted."""
        for repetition in self.repetitions(number):
            if repetition.raw.strip() != DELETED:
                return repetition
        return None

    def text(self, number: int, component: int = 1, subcomponent: int = 1) -> str:
        """A subcomponent of the first repetition, without escapes; empty if absent."""
        found = self.first(number)
        return found.text(component, subcomponent) if found is not None else ""

    def literal(self, number: int) -> str:
        """The whole field as one text, escapes undone, delimiters inside it kept; empty if absent."""
        raw = self.field(number)
        return "" if raw.strip() == DELETED else unescape(raw, self.delimiters, self.codec).strip()

    def deletes(self, number: int) -> bool:
        """Is the value of this field to be deleted (two double quotes)?"""
        return self.field(number).strip() == DELETED

    def valued(self, number: int) -> bool:
        """Does the field say anything, if only that its value is to be deleted?"""
        return bool(self.field(number).strip())

    def plain(self, number: int) -> Plain:
        """The field as plain values, whatever the delimiters of its message are."""
        raw = self.peek(number)
        if not raw or (number <= 2 and self.name in _HEADERS):
            return [[[raw]]]
        parts = [
            Repetition(part, self.delimiters, self.codec).plain() for part in raw.split(self.delimiters.repetition)
        ]
        while len(parts) > 1 and parts[-1] == [[""]]:
            parts.pop()
        return parts

    def content(self) -> list[Plain]:
        """All fields but the count of its first, as plain values, empty ends cut: what the segment says."""
        first = 2 if self.name in _COUNTED else 1
        found = [self.plain(number) for number in range(first, len(self._fields))]
        while found and found[-1] == [[[""]]]:
            found.pop()
        return found

    def unread(self) -> Iterator[int]:
        """The fields that say something and were not looked at."""
        for number in range(1, len(self._fields)):
            if number not in self.used and self._fields[number].strip():
                yield number

    def says_nothing(self) -> bool:
        first = 2 if self.name in _COUNTED else 1
        return not any(field.strip() for field in self._fields[first:])


def unescape(text: str, delimiters: Delimiters, codec: str = "utf-8") -> str:
    """Undo the escapes of HL7 v2 2.7: delimiters, hexadecimal bytes, formatting. An escape that is not known, of a
    changed character set or local, stays as it was sent."""
    escape = delimiters.escape
    if not escape or escape not in text:
        return text
    parts = text.split(escape)
    found = [parts[0]]
    index = 1
    while index < len(parts):
        command = _command(parts[index], delimiters, codec) if index + 1 < len(parts) else None
        if command is None:
            found.append(escape + parts[index])
            index += 1
        else:
            found.append(command + parts[index + 1])
            index += 2
    return "".join(found)


def _command(name: str, delimiters: Delimiters, codec: str) -> str | None:
    """What an escape stands for; None if it is none that we undo."""
    match name:
        case "F":
            return delimiters.field
        case "S":
            return delimiters.component
        case "T":
            return delimiters.subcomponent
        case "R":
            return delimiters.repetition
        case "E":
            return delimiters.escape
        case "P":
            return delimiters.truncation or None
        case "H" | "N":
            return ""
    if _HEX.match(name):
        raw = bytes.fromhex(name[1:])
        try:
            return raw.decode(codec).replace("\r\n", "\n").replace("\r", "\n")
        except (UnicodeDecodeError, LookupError):
            return None
    if _SKIPS.match(name):
        return ""
    if _BREAKS.match(name):
        return "\n"
    return None

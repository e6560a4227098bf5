"""Which stretches of a section have a writer of their own: entries of a log, rows of a table, posts of a thread?

An entry names its writer with a date or time; a table names its column of writers. Not here: sections and what their
headings say (`headings`), the writer of the whole document (`outline`).
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from iamata.connectors.documents import headings
from iamata.connectors.documents.labels import fields
from iamata.connectors.documents.persons import Person, person
from iamata.terminology import narrative

_LINE: Final = re.compile(r"[^\r\n]+")
_MONTH: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE: Final = (
    rf"(?:\d{{1,4}}[-/.]\d{{1,2}}(?:[-/.]\d{{1,4}})?|\d{{1,2}}\.?\s+{_MONTH}\.?(?:,?\s+\d{{4}})?|"
    rf"{_MONTH}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?)"
)
_TIME: Final = r"\d{1,2}[:.]?\d{2}(?::\d\d)?\s*(?:am|pm|h|hrs?)?"
_DAY: Final = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
_STAMP: Final = rf"{_DAY}(?:{_DATE}(?:[,T\s]+(?:at\s+)?{_TIME})?|{_TIME})"
_ENTRY: Final = re.compile(
    rf"\s*[*•-]?\s*[\[(]?{_STAMP}[\])]?\s*(?:[-–—|:,]\s*)?([^:\n]{{3,100}}?):\s+\S", re.IGNORECASE
)
_ENTRY_AFTER: Final = re.compile(
    rf"\s*[*•-]?\s*([^:\n\d]{{3,80}}?)[\s,(\[-]{{1,4}}{_STAMP}[\])]?\s*[:–—-]\s+\S", re.IGNORECASE
)
_BYLINE: Final = re.compile(rf"\s*(.{{3,100}}?)[\s,(\[|·–—-]{{1,6}}{_STAMP}[\])]?\s*\Z", re.IGNORECASE)
_BYLINE_BEFORE: Final = re.compile(rf"\s*[\[(]?{_STAMP}[\])]?[\s,|·:–—-]{{1,6}}(.{{3,100}}?)\s*\Z", re.IGNORECASE)
_COLUMNS: Final = re.compile(r"\t|\s*\|\s*|\s{2,}")
_SIGNED: Final = re.compile(r"\A\s*/s/\s*", re.IGNORECASE)
_NUMBER: Final = re.compile(r"\d")
_LONGEST_ENTRY: Final = 160
_FEWEST_COLUMNS: Final = 2
_FEWEST_ENTRIES: Final = 2
_LONGEST_BYLINE: Final = 120


class Block(NamedTuple):
    """Characters `start`:`end` of the text. `part` and `who` of its own writer or source; None if it names none."""

    start: int
    end: int
    part: str = ""
    who: Person | None = None


class _Line(NamedTuple):
    start: int
    end: int
    text: str
    after_blank: bool

    @property
    def is_dated(self) -> bool:
        """May it hold a date or a time?"""
        return _NUMBER.search(self.text[:_LONGEST_ENTRY]) is not None


def blocks(text: str, start: int, end: int) -> tuple[Block, ...]:
    """The stretch cut into blocks in order, without a gap: where writers change."""
    lines = _lines(text, start, end)
    owned = _rows(lines) or _entries(lines) or _posts(lines)
    for number, source in _sources(lines).items():
        owned.setdefault(number, source)
    if not owned:
        return (Block(start, end),)
    found: list[Block] = []
    for at, line in enumerate(lines):
        part, who = owned.get(at, ("", None))
        if found and (found[-1].part, found[-1].who) == (part, who):
            found[-1] = found[-1]._replace(end=line.end)
        else:
            found.append(Block(line.start, line.end, part, who))
    return tuple(found)


def signer_of(line: str) -> Person | None:
    """Who alone stands on a line with or without a date, with words that say who they are; None for any other line."""
    if len(line) > _LONGEST_BYLINE or ";" in line or ":" in re.sub(r"\d:\d", "", line):
        return None
    if narrative.ends_with("title", line) or narrative.heading(line) is not None:
        return None
    line = _SIGNED.sub("", line)
    match = _BYLINE.match(line) or _BYLINE_BEFORE.match(line)
    who = person(match.group(1) if match is not None else line.strip())
    return who if who is not None and who.name and who.type else None


Owned = dict[int, tuple[str, Person | None]]


def _lines(text: str, start: int, end: int) -> list[_Line]:
    found: list[_Line] = []
    last = start
    for match in _LINE.finditer(text, start, end):
        if match.group().strip():
            gap = text[last : match.start()]
            found.append(_Line(match.start(), match.end(), match.group(), gap.count("\n") + gap.count("\r\r") > 1))
            last = match.end()
    return found


def _rows(lines: list[_Line]) -> Owned:
    """Rows below a head that names a column of writers or sources."""
    owned: Owned = {}
    column, wide, part = -1, 0, ""
    for at, line in enumerate(lines):
        cells = [cell.strip() for cell in _COLUMNS.split(line.text.strip().strip("|").strip())]
        if len(cells) < _FEWEST_COLUMNS:
            column = -1
            continue
        heads = [index for index, cell in enumerate(cells) if narrative.means("column", cell)]
        sources = [index for index, cell in enumerate(cells) if narrative.folded(cell) in ("source", "informant")]
        if ((heads or sources) and person(cells[(heads or sources)[0]]) is None) or (heads and _is_head(cells)):
            column, wide, part = (heads or sources)[0], len(cells), "author" if heads else "informant"
            continue
        if column < 0 or len(cells) != wide:
            continue
        who = person(cells[column])
        if who is not None and (part == "author" or who.is_own):
            owned[at] = (part, who)
    return owned


def _is_head(cells: list[str]) -> bool:
    return not any(char.isdigit() for cell in cells for char in cell)


def _entries(lines: list[_Line]) -> Owned:
    """Lines `date writer: text`; an entry goes on to the next one, or to a blank line after the last."""
    starts: dict[int, Person] = {}
    for at, line in enumerate(lines):
        if not line.is_dated:
            continue
        match = _ENTRY.match(line.text) or _ENTRY_AFTER.match(line.text)
        who = person(match.group(1)) if match is not None else None
        if who is not None and who.type:
            starts[at] = who
    if len(starts) < _FEWEST_ENTRIES and not any(who.name for who in starts.values()):
        return {}
    owned: Owned = {}
    current: Person | None = None
    last = max(starts, default=-1)
    for at, line in enumerate(lines):
        if at in starts:
            current = starts[at]
        elif at > last and line.after_blank:
            break
        elif line.is_dated and _ENTRY.match(line.text) is not None:
            current = None  # an entry of somebody whom its words do not tell
            owned[at] = ("author", Person(""))
            continue
        if current is not None:
            owned[at] = ("author", current)
    return owned


def _posts(lines: list[_Line]) -> Owned:
    """Lines that hold a writer and a date alone: each begins what follows, or each ends what is before."""
    signed = {
        at: who for at, line in enumerate(lines) if _dated(line.text) and (who := signer_of(line.text)) is not None
    }
    if not signed:
        return {}
    first, last = min(signed), max(signed)
    owned: Owned = {}
    current: Person | None = None
    if first == 0 and last < len(lines) - 1 and len(signed) >= _FEWEST_ENTRIES:
        for at in range(len(lines)):
            current = signed.get(at, current)
            owned[at] = ("author", current)
    elif last == len(lines) - 1 and first > 0 and len(signed) >= _FEWEST_ENTRIES:
        for at in reversed(range(len(lines))):
            current = signed.get(at, current)
            owned[at] = ("author", current)
    return owned


def _dated(line: str) -> bool:
    return len(line) <= _LONGEST_BYLINE and (_BYLINE.match(line) or _BYLINE_BEFORE.match(line)) is not None


def _sources(lines: list[_Line]) -> Owned:
    """Lines whose label names the patient or a relative as their source, with what they say on the same line."""
    owned: Owned = {}
    for at, line in enumerate(lines):
        label, colon, rest = line.text.partition(":")
        if not colon or not rest.strip() or len(label) > _LONGEST_BYLINE:
            continue
        begun = headings.told(label)
        if begun is not None and begun.part == "informant" and not fields(line.text):
            owned[at] = (begun.part, begun.who)
    return owned

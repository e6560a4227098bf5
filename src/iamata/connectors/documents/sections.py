"""Into which sections does a page fall? By the headings the format marks, and lines that are headings by their words.

Every character of a page is in a piece, in the title of a piece, or blank. Not here: what a section means
(`terminology.narrative`), and any reading of its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from iamata.connectors.documents import headings
from iamata.connectors.documents.labels import label
from iamata.connectors.documents.persons import person
from iamata.connectors.text import Page
from iamata.terminology.narrative import heading, names_relative

# A passage is a few paragraphs at most: longer sections are cut between paragraphs, lines or words.
LIMIT_CHARACTERS: Final = 8_000
# A page with more headings is no note: it is cut by length alone, and nothing of it is lost.
LIMIT_HEADINGS: Final = 2_000
_LINE: Final = re.compile(r"[^\r\n]+")
_MARKS: Final = "#*_= \t\xa0"
_SEPARATOR: Final = re.compile(r"\s[-–—]\s")
_LONGEST_HEADING: Final = 80
_LONGEST_CAPITALS: Final = 60
# Words of this many letters or fewer are abbreviations: in a line of their own they need a colon or capitals.
_ABBREVIATION: Final = 3
_FEWEST_LOOSE: Final = 2
_SENTENCE_END: Final = (". ", ".\n", "; ")


class Piece(NamedTuple):
    """Characters `start`:`end` of a page, and the title of the section they stand in, as written. `section` counts the
    headings of the page before it, 0 before the first; `level` is that of a heading the format marks, else 0."""

    title: str
    start: int
    end: int
    section: int = 0
    level: int = 0


class _Mark(NamedTuple):
    """A heading: what is before `line` belongs to the section before, what is from `text` on to this one."""

    line: int
    text: int
    title: str
    loose: bool = False  # a line like any other but for its words
    level: int = 0


class Cut(NamedTuple):
    """The pieces in order; `empty` counts headings without a text; `last` is the title that the next page continues."""

    pieces: tuple[Piece, ...]
    empty: int
    last: str
    too_many: bool = False  # headings: the page was cut by length alone


def cut(page: Page, *, title: str = "", limit_characters: int = LIMIT_CHARACTERS) -> Cut:
    """The passages of a page. `title`: of the section that goes on from the page before."""
    text = page.text
    marks = _marks(page)
    too_many = len(marks) > LIMIT_HEADINGS
    if too_many:
        marks = []
    pieces: list[Piece] = []
    empty = 0
    begin, named, level = 0, title, 0
    for number, mark in enumerate([*marks, _Mark(len(text), len(text), "")]):
        found = list(_pieces(text, named, begin, mark.line, limit_characters))
        empty += not found and begin > 0
        pieces += [piece._replace(section=number, level=level) for piece in found]
        begin, named, level = mark.text, mark.title, mark.level
    return Cut(tuple(pieces), empty, marks[-1].title if marks else title, too_many)


def _pieces(text: str, title: str, start: int, end: int, limit: int) -> Iterator[Piece]:
    """The stretch without the blanks around it, cut where it is longer than the limit."""
    while True:
        while start < end and text[start].isspace():
            start += 1
        if start >= end:
            return
        stop = end
        if end - start > limit:
            stop = _break(text, start, start + limit)
        last = stop
        while text[last - 1].isspace():
            last -= 1
        yield Piece(title, start, last)
        start = stop


def _break(text: str, start: int, end: int) -> int:
    """The best place to cut before `end`: between paragraphs, lines, sentences, words, else just there."""
    middle = (start + end) // 2
    for between in ("\n\n", "\n", *_SENTENCE_END, " "):
        at = text.rfind(between, middle, end)
        if at > start:
            return at + len(between)
    return end


def _marks(page: Page) -> list[_Mark]:
    """The headings of a page in order, none within another."""
    found: list[_Mark] = []
    done = -1
    formal = iter(page.headings)
    following = next(formal, None)
    blank_before = True
    at = 0
    for match in _LINE.finditer(page.text):
        blank_before = (
            blank_before or page.text.count("\n", at, match.start()) > 1 or _two_returns(page.text, at, match)
        )
        while following is not None and following.end <= match.start():
            following = next(formal, None)
        mark: _Mark | None = None
        if following is not None and following.start < match.end():
            title = " ".join(page.text[following.start : following.end].split())
            listed = (heading(title.strip(":")) or None) is not None
            mark = _Mark(match.start(), following.end if listed else match.start(), title, level=following.level)
            if listed:
                mark = mark._replace(text=_past_marks(page.text, following.end))
            following = next(formal, None)
        elif match.start() > done:
            mark = _by_writer(match, blank_before) or _by_words(page.text, match, blank_before)
        if mark is not None and mark.title:
            found.append(mark)
            done = mark.text - 1 if mark.text > match.start() else done
        blank_before = not match.group().strip()
        at = match.end()
    # One such line alone is rather a cell of a table or the end of a sentence: headings come in the plural.
    if len({mark.title for mark in found}) < _FEWEST_LOOSE:
        found = [mark for mark in found if not mark.loose]
    return found


def _two_returns(text: str, start: int, match: re.Match[str]) -> bool:
    return "\n" not in text[start : match.start()] and text.count("\r", start, match.start()) > 1


def _past_marks(text: str, at: int) -> int:
    """After the colon and the closing marks of a heading."""
    while at < len(text) and text[at] in "#*_=: \t":
        at += 1
    return at


def _by_writer(match: re.Match[str], blank_before: bool) -> _Mark | None:
    """A line that begins a part by naming its writer or source; it stays in its passage, as it says more than a title.
    A heading of the table is one by its words."""
    line = match.group()
    if headings.begins(line, blank_before=blank_before) is None:
        return None
    title = line.strip(_MARKS).rstrip(":").strip()
    return None if _begins(title) else _Mark(match.start(), match.start(), title)


def _by_words(text: str, match: re.Match[str], blank_before: bool) -> _Mark | None:
    """A line that begins a section by its words: `Allergies: …`, `PMH - …`, or a line of its own."""
    line = match.group()
    lead = len(line) - len(line.lstrip(_MARKS))
    marks, words = line[:lead], line[lead:]
    if not words[:1].isalpha() or marks.strip() == "*":  # a lone star marks an item of a list
        return None
    head, colon, rest = words.partition(":")
    if len(head) > _LONGEST_HEADING:
        return None
    title = head.strip(_MARKS)
    if colon:
        if _begins(title) and not rest.startswith("//") and not _copies(title, rest):
            return _Mark(match.start(), match.start() + lead + _after(words, len(head) + 1), title)
        return _capitals(match, title, blank_before) if not rest.strip(_MARKS) else None
    separator = _SEPARATOR.search(words)
    if separator is not None and words[:1].isupper():
        title = words[: separator.start()].strip(_MARKS)
        if len(title) > _ABBREVIATION and _begins(title):
            return _Mark(match.start(), match.start() + lead + separator.end(), title)
        return None
    known = words[:1].isupper() and _begins(title)
    if known and (len(title) > _ABBREVIATION or title.isupper()):
        return _Mark(match.start(), match.end(), title, loose=not blank_before and not title.isupper())
    return _capitals(match, title, blank_before)


def _begins(title: str) -> bool:
    """Is it the heading of a section (not of a whole document, which begins none)?"""
    found = heading(title)
    return found is not None and found.kind == "section"


def _copies(title: str, rest: str) -> bool:
    """`cc: Ann Lee` names who gets a copy; `CC: cough` is the chief complaint."""
    if title.isupper() or label(title) is None:
        return False
    who = person(rest.split(";")[0])
    return who is not None and (bool(who.type) or len(who.name.split()) > 1)


def _after(words: str, at: int) -> int:
    while at < len(words) and words[at] in _MARKS:
        at += 1
    return at


def _capitals(match: re.Match[str], title: str, blank_before: bool) -> _Mark | None:
    """A line in capitals after a blank line or with a colon at its end is a heading that the table does not know; it
    stays in its passage, as it may be more than that. A relative in capitals is not: the family history goes on."""
    letters = [char for char in title if char.isalpha()]
    if (
        not (blank_before or match.group().rstrip().endswith(":"))
        or len(letters) <= _ABBREVIATION
        or len(title) > _LONGEST_CAPITALS
        or not title.isupper()
        or title.endswith((".", ",", ";", "?", "!"))
        or any(char.isdigit() or char in "\t,[]" for char in title)
        or names_relative(title)
    ):
        return None
    known = heading(title)
    if known is not None and known.kind == "document":
        return None
    return _Mark(match.start(), match.start(), title)

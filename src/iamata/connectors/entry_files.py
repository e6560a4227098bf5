"""What does a file of an organization say, part by part? A guideline by its sections, a table by its rows.

Markdown, PDF, HTML, DOCX, RTF and plain text are cut where patients' documents are; CSV here. Nothing is interpreted:
every passage is a stretch of the file with its place and the headings above it. Not here: whose knowledge it is.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Final

import msgspec

from iamata.connectors import registry
from iamata.connectors.documents.sections import cut
from iamata.connectors.text import Extract, Limits, Page
from iamata.connectors.text import reading as files
from iamata.connectors.text.charsets import decode
from iamata.connectors.text.pages import check_size
from iamata.errors import BadInput, TooLarge, UnknownFormat
from iamata.model.document import IntakeLine, Outcome, Reason
from iamata.model.statement import Form

CSV: Final = "table/csv"
FORMATS: Final = (files.TEXT, files.MARKDOWN, files.HTML, files.RTF, files.PDF, files.DOCX, CSV)
MOST_PASSAGES: Final = 50_000
_CSV_NAMES: Final = (".csv", ".tsv")
_CSV_TYPES: Final = ("text/csv", "text/tab-separated-values")
_DELIMITERS: Final = ",;\t|"
_LONGEST_CELL: Final = 32_000
_LONGEST_HEADING: Final = 200
# The line under a heading that is marked by it (CommonMark 0.31, 4.3).
_UNDERLINE: Final = re.compile(r"\s*\n?(?:=+|-+)[ \t]*(?=\n)")


class Stretch(msgspec.Struct, frozen=True):
    """A passage before it has an id; as `model.entry.EntryPassage`."""

    text: str
    pointer: str
    heading: tuple[str, ...] = ()
    start: int = 0
    end: int = 0


class EntryFile(msgspec.Struct, frozen=True):
    """`title` and `author` are what the file says of itself, empty if nothing. `lines`: what was not read, and why."""

    format: str
    media_type: str
    form: Form
    passages: tuple[Stretch, ...]
    title: str = ""
    author: str = ""
    lines: tuple[IntakeLine, ...] = ()
    warnings: tuple[str, ...] = ()


def read(
    body: bytes, *, name: str = "", media_type: str = "", format: str = "", limits: Limits | None = None
) -> EntryFile:
    """The passages of a file in their order, at least one.

    Raises UnknownFormat for a file that is neither text nor a table, BadInput for one that holds no text, TooLarge.
    """
    limits = limits or Limits()
    check_size(body, limits)
    format = format or _detect(body, name, media_type)
    if format not in FORMATS:
        raise UnknownFormat(f"entries are read from {', '.join(FORMATS)}, not from {format!r}", format=format)
    found = _table(body, media_type) if format == CSV else _text(body, format, media_type, limits)
    if not found.passages:
        raise BadInput("there is no text in this file")
    if len(found.passages) > MOST_PASSAGES:
        raise TooLarge(f"a file has at most {MOST_PASSAGES} passages or rows; send it in pieces")
    return found


def at(body: bytes, format: str, pointer: str) -> str:
    """The text at a pointer of a file (`/text`, `/page/3`, `/row/2`); empty if there is none."""
    if format == CSV:
        try:
            rows = {row.pointer: row.text for row in _table(body, "").passages}
        except BadInput:
            return ""
        return rows.get(pointer, "")
    try:
        pages = files.extract(body, format).pages
    except BadInput:
        return ""
    return next((page.text for page in pages if page.pointer == pointer), "")


def _detect(body: bytes, name: str, media_type: str) -> str:
    kind = media_type.partition(";")[0].strip().lower()
    if name.lower().endswith(_CSV_NAMES) or kind in _CSV_TYPES:
        return CSV
    return registry.detect(body, media_type=media_type, name=name)


def _text(body: bytes, format: str, media_type: str, limits: Limits) -> EntryFile:
    extract: Extract = files.extract(body, format, limits=limits)
    found: list[Stretch] = []
    above: list[tuple[int, str]] = []
    last = ""
    lines = [
        IntakeLine("page", each.pointer, Outcome.IGNORED, reason=each.reason, label="page", detail=each.why)
        for each in extract.unread
    ]
    for page in extract.pages:
        pieces = cut(page, title=last)
        last = pieces.last
        marked = iter(page.headings)
        following = next(marked, None)
        for piece in pieces.pieces:
            first_line = page.text.find("\n", piece.start)
            until = first_line if first_line >= 0 else len(page.text)
            while following is not None and following.start <= min(until, piece.end):
                title = " ".join(page.text[following.start : following.end].split())[:_LONGEST_HEADING]
                above = [each for each in above if each[0] < following.level] + [(following.level, title)]
                following = next(marked, None)
            start = _after_heading(page, piece.start, piece.end)
            found.append(
                Stretch(
                    text=page.text[start : piece.end],
                    pointer=page.pointer,
                    heading=_path(above, piece.title, page),
                    start=start,
                    end=piece.end,
                )
            )
        if page.left:
            detail = "; ".join(page.left)
            lines.append(IntakeLine("page", page.pointer, Outcome.TEXT_ONLY, label="page", detail=detail))
        elif not pieces.pieces:
            lines.append(IntakeLine("page", page.pointer, Outcome.IGNORED, reason=Reason.EMPTY, label="page"))
    return EntryFile(
        format=format,
        media_type=media_type or registry.media_type(format),
        form=Form.UNSTRUCTURED,
        passages=tuple(_without_bare_headings(found)),
        title=" ".join(extract.title.split())[:_LONGEST_HEADING],
        author=extract.author,
        lines=tuple(lines),
        warnings=extract.warnings,
    )


def _after_heading(page: Page, start: int, end: int) -> int:
    """Where the words begin under a heading line that the format marks; unchanged if nothing stands under it."""
    line_end = page.text.find("\n", start, end)
    if line_end < 0 or not any(start <= each.start < line_end for each in page.headings):
        return start
    rest = _UNDERLINE.match(page.text, line_end, end)
    at = rest.end() if rest is not None else line_end
    while at < end and page.text[at].isspace():
        at += 1
    return at if at < end else start


def _without_bare_headings(found: list[Stretch]) -> Iterator[Stretch]:
    """All but those that say nothing but their heading, where what follows stands under it and says it too."""
    for stretch, following in zip_longest(found, found[1:]):
        words = stretch.text.strip("#=- \n").strip()
        bare = bool(stretch.heading) and " ".join(words.split()) == stretch.heading[-1]
        if not (bare and following is not None and following.heading[: len(stretch.heading)] == stretch.heading):
            yield stretch


def _path(above: list[tuple[int, str]], title: str, page: Page) -> tuple[str, ...]:
    """The headings above a passage, outermost first; one that is a heading by its words alone comes last."""
    path = [words for _, words in above if words]
    plain = " ".join(title.split())[:_LONGEST_HEADING]
    if plain and plain not in path and not page.headings:
        path.append(plain)
    return tuple(path)


def _table(body: bytes, media_type: str) -> EntryFile:
    """A passage for each row: its cells by the names of the header. The row's first cell is its heading."""
    decoded = decode(body)
    text = decoded.text
    head = text.lstrip("\ufeff").split("\n", 1)[0]
    delimiter = max(_DELIMITERS, key=lambda sign: (head.count(sign), -_DELIMITERS.index(sign)))
    names: list[str] = []
    found: list[Stretch] = []
    lines: list[IntakeLine] = []
    number = 0
    try:
        for number, cells in enumerate(csv.reader(io.StringIO(text), delimiter=delimiter, strict=True), start=1):
            if number == 1:
                names = [" ".join(cell.split()) for cell in cells]
                if not any(names):
                    raise BadInput("a table begins with a header that names its columns", place="/row/1")
                continue
            place = f"/row/{number}"
            if not any(cell.strip() for cell in cells):
                lines.append(IntakeLine("row", place, Outcome.IGNORED, reason=Reason.EMPTY, label="row"))
                continue
            if len(cells) > len(names):
                detail = f"{len(cells)} cells for {len(names)} columns"
                lines.append(
                    IntakeLine("row", place, Outcome.IGNORED, reason=Reason.UNUSABLE, label="row", detail=detail)
                )
                continue
            found.append(_row(place, names, cells))
    except csv.Error:
        why = "this is no table: a quotation mark does not end where it should"
        raise BadInput(why, place=f"/row/{number + 1}") from None
    return EntryFile(
        format=CSV,
        media_type=media_type or "text/csv",
        form=Form.STRUCTURED,
        passages=tuple(found),
        lines=tuple(lines),
        warnings=decoded.warnings,
    )


def _row(place: str, names: list[str], cells: list[str]) -> Stretch:
    said = [" ".join(cell.split())[:_LONGEST_CELL] for cell in cells]
    told = [f"{name}: {cell}" if name else cell for name, cell in zip(names, said, strict=False) if cell]
    first = next(cell for cell in said if cell)
    return Stretch(text="; ".join(told), pointer=place, heading=(first[:_LONGEST_HEADING],))

"""What are the pages of plain text and of Markdown? Form feeds part pages; Markdown marks its headings.

Not here: which lines of plain text look like headings (`documents.sections`).
"""

from __future__ import annotations

import re
from typing import Final

from iamata.connectors.text.charsets import decode
from iamata.connectors.text.pages import Extract, Heading, Limits, Page, Unread

# CommonMark 0.31: ATX headings 4.2, setext headings 4.3, fenced code blocks 4.5.
_ATX: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+|$)")
_SETEXT: Final = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE: Final = re.compile(r" {0,3}(?:`{3,}|~{3,})")
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_MARKED: Final = re.compile(r"[ \t]*(?:#+[ \t]*)?$")


def read(body: bytes, limits: Limits, *, markdown: bool = False, declared: str = "") -> Extract:
    """One part `/text`, or pages where form feeds part them. Raises BadInput for what is no text."""
    decoded = decode(body, declared=declared)
    parts = decoded.text.split("\f")
    if len(parts) > 1 and not parts[-1].strip():
        parts.pop()
    pages: list[Page] = []
    unread: list[Unread] = []
    for number, part in enumerate(parts, 1):
        pointer = "/text" if len(parts) == 1 else f"/page/{number}"
        if number > limits.pages:
            unread.append(Unread(f"/page/{number}", f"beyond the {limits.pages} pages that are read of one document"))
            break
        pages.append(Page(pointer, part, tuple(headings(part)) if markdown else ()))
    if len(parts) > limits.pages + 1:
        unread[-1] = Unread(f"/page/{limits.pages + 1}", f"{len(parts) - limits.pages} pages {unread[-1].why}")
    title = next((page.text[h.start : h.end] for page in pages for h in page.headings if h.level == 1), "")
    return Extract(tuple(pages), tuple(unread), title=title, warnings=decoded.warnings)


def headings(text: str) -> list[Heading]:
    """The headings that Markdown marks, by their words without the marks."""
    found: list[Heading] = []
    fenced = False
    before: tuple[int, str] | None = None  # a line of a paragraph that may be a setext heading
    for match in _LINE.finditer(text):
        line = match.group().rstrip("\r\n")
        if _FENCE.match(line):
            fenced = not fenced
            before = None
            continue
        if fenced:
            continue
        if atx := _ATX.match(line):
            end = match.start() + len(line) - len((_MARKED.search(line[atx.end() :]) or atx).group())
            if end > match.start() + atx.end():
                found.append(Heading(match.start() + atx.end(), end, len(atx.group(1))))
            before = None
        elif before is not None and (under := _SETEXT.match(line)):
            start, words = before
            blank = len(words) - len(words.lstrip())
            found.append(Heading(start + blank, start + len(words.rstrip()), 1 if under.group(1)[0] == "=" else 2))
            before = None
        else:
            before = (match.start(), line) if line.strip() else None
    return found

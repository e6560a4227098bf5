"""What does reading the text of a file come to? Pages of characters in order, and what was left unread."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from iamata.errors import BadInput, TooLarge
from iamata.model.document import Reason


class Limits(NamedTuple):
    """Bounds of one document; what is beyond `pages`, `characters` and `recognised` (pages) is listed, never lost.

    `size_bytes` beyond is refused. `pixels` is the size up to which an image is opened."""

    size_bytes: int = 100_000_000
    pages: int = 2_000
    characters: int = 5_000_000
    recognised: int = 50
    pixels: int = 50_000_000


class Heading(NamedTuple):
    """A heading as the format marks it (not as its words look): characters `start`:`end` of its page's text."""

    start: int
    end: int
    level: int


class Page(msgspec.Struct, frozen=True):
    """A page, or another stretch of text with a place of its own (a header, footnotes, a part without pages).

    `text` is decoded and never changed again: offsets count its characters. `confidence` (0..1, the mean of its lines)
    is set when the text was recognised in an image. `left` says what on the page was not read.
    """

    pointer: str
    text: str
    headings: tuple[Heading, ...] = ()
    confidence: float | None = None
    left: tuple[str, ...] = ()


class Unread(NamedTuple):
    """A part that was not read, and why (places and names of formats, never contents)."""

    pointer: str
    why: str
    reason: Reason = Reason.UNSUPPORTED


class Extract(msgspec.Struct, frozen=True):
    """`title`, `author` and `created` (ISO 8601, as precise as stated) are what the file's own metadata says."""

    pages: tuple[Page, ...] = ()
    unread: tuple[Unread, ...] = ()
    title: str = ""
    author: str = ""
    created: str = ""
    warnings: tuple[str, ...] = ()


def check_size(body: bytes, limits: Limits) -> None:
    """Raises TooLarge, or BadInput for a file that holds nothing."""
    if len(body) > limits.size_bytes:
        raise TooLarge(f"the document has {len(body)} bytes, more than the {limits.size_bytes} allowed")
    if not body.strip():
        raise BadInput("the document is empty")


def within(extract: Extract, limits: Limits) -> Extract:
    """The pages up to the limit of characters; the rest is listed as unread."""
    left = limits.characters
    pages: list[Page] = []
    unread = list(extract.unread)
    for page in extract.pages:
        if len(page.text) <= left:
            pages.append(page)
            left -= len(page.text)
            continue
        why = f"beyond the {limits.characters} characters that are read of one document"
        if left == 0:
            unread.append(Unread(page.pointer, why))
            continue
        kept = tuple(each for each in page.headings if each.end <= left)
        why = f"{len(page.text) - left} characters are {why}"
        pages.append(msgspec.structs.replace(page, text=page.text[:left], headings=kept, left=(*page.left, why)))
        left = 0
    return msgspec.structs.replace(extract, pages=tuple(pages), unread=tuple(unread))

"""What does a file inside a record say in words? For connectors whose records carry files, as base64 or bytes.

Not here: pictures, because most of those in records are portraits and logos; sent as documents they are read.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from iamata.connectors.text import reading
from iamata.connectors.text.pages import Limits
from iamata.errors import BadInput

_MEDIA_TYPES: Final = {
    "application/pdf": reading.PDF,
    "application/rtf": reading.RTF,
    "text/rtf": reading.RTF,
    "text/richtext": reading.RTF,
    "text/html": reading.HTML,
    "application/xhtml+xml": reading.HTML,
    "text/markdown": reading.MARKDOWN,
    "text/plain": reading.TEXT,
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": reading.DOCX,
}
# RFC 6838, 4.2 and 4.2.7: the registered top-level types, then a name; and the unregistered `chemical`, `x-…`.
_NAMED: Final = re.compile(
    r"(?:application|audio|chemical|font|haptics|image|message|model|multipart|text|video|x-[a-z]{1,20})"
    r"/[a-z0-9][a-z0-9!#$&^_.+-]{0,80}\Z"
)
# An attachment is a part of a record: fewer pages of it are read, and scans only a few (each takes seconds).
LIMITS: Final = Limits(pages=500, characters=1_000_000, recognised=10)


class Attached(NamedTuple):
    """The text, its pages parted by a form feed; `left` says what of the file was not read; one of both may be empty.
    `confidence` (0..1) is set when any of it was recognised in an image."""

    text: str
    left: tuple[str, ...] = ()
    confidence: float | None = None


def named(media_type: str, otherwise: str) -> str:
    """A media type as a message may tell it: its type and subtype, if they are names; else `otherwise`, because what
    stands there may be anything."""
    found = media_type.partition(";")[0].strip().lower()
    return found if _NAMED.match(found) else otherwise


def reads(media_type: str) -> bool:
    """Is there a reader for files of this type?"""
    return media_type.partition(";")[0].strip().lower() in _MEDIA_TYPES


def attached(body: bytes, media_type: str, *, limits: Limits = LIMITS) -> Attached:
    """The text of a file. What its first bytes tell counts more than the type it is said to have.

    Never raises for a bad file: `left` says what is wrong with it (no contents).
    """
    type, _, parameters = media_type.lower().partition(";")
    format = reading.by_signature(body) or _MEDIA_TYPES.get(type.strip(), "")
    if format not in _MEDIA_TYPES.values():
        return Attached("", (f"{named(media_type, 'a file of no known type')} is kept in the document, not read",))
    charset = parameters.partition("charset=")[2].partition(";")[0].strip().strip('"')
    try:
        found = reading.extract(body, format, limits=limits, declared=charset)
    except BadInput as error:
        return Attached("", (str(error),))
    left = [*found.warnings]
    left += [f"{page.pointer}: {why}" for page in found.pages for why in page.left]
    left += [f"{each.pointer}: {each.why}" for each in found.unread]
    sure = [page.confidence for page in found.pages if page.confidence is not None]
    text = "\f".join(page.text for page in found.pages if page.text.strip())
    return Attached(text, tuple(left), min(sure) if sure else None)

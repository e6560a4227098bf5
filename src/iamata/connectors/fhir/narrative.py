"""Which narrative text does an item hold, where, and who wrote it? Text is decoded and cut, never interpreted.

Notes, free-text elements, attachments that are text or hold some (PDF, RTF, DOCX), sections without entries, and an
item's own narrative where it says nothing else or says more. Attachments named by URL are never fetched; files of other
types stay in the document.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any, NamedTuple

from iamata.connectors.fhir.authorship import nobody, note_author, person
from iamata.connectors.fhir.entries import Item
from iamata.connectors.fhir.mappings import Mapping
from iamata.connectors.fhir.values import Json, mapping, objects, string
from iamata.connectors.text import attached, named, reads
from iamata.connectors.text.charsets import codec_of
from iamata.model.attribution import AuthorshipEvidence, Part

# Annotations that stand deeper than an item's own notes (FHIR R4).
_DEEPER_NOTES = {
    "AllergyIntolerance": (("reaction", "note"),),
    "CarePlan": (("activity", "progress"),),
    "FamilyMemberHistory": (("condition", "note"),),
}
# Text whose characters are read just as declared; other files say themselves what they are.
_AS_SENT = ("text/plain", "text/markdown")
_BLOCK = re.compile(r"address|article|br|caption|dd|div|dl|dt|h[1-6]|hr|li|ol|p|pre|table|tbody|tr|ul")

Evidence = tuple[AuthorshipEvidence, ...]


class Text(NamedTuple):
    """`part` is the relative pointer of the element that holds it; `written` its own time as sent, or empty."""

    part: str
    text: str
    title: str
    evidence: Evidence
    written: str = ""


class Narrative(NamedTuple):
    """The texts, how many of them are notes, and what was left unread (element names only)."""

    texts: list[Text]
    notes: int
    left: list[str]


def narrative(item: Item, how: Mapping, evidence: Evidence, *, bare: bool) -> Narrative:
    """Every passage of an item in the order of its parts. `bare`: the item says nothing but its narrative."""
    found = Narrative([], 0, [])
    resource = item.resource
    notes = list(_notes(item.type, resource, how, evidence))
    found.texts.extend(notes)
    for path in how.texts:
        for part, value in _at(resource, path):
            if isinstance(value, str) and value.strip():
                found.texts.append(Text(part, value, "", evidence))
    if item.type == "Binary":
        _attachment({**resource, "title": ""}, "data", evidence, found)
    for path in how.attachments:
        for part, value in _at(resource, path):
            _attachment(mapping(value, part), part, evidence, found)
    if item.type == "Composition":
        whole = tuple(each for each in evidence if not each.element.startswith("section/"))
        _sections(resource, "", whole or nobody(item.type), found)
    text = resource.get("text")
    if isinstance(text, dict) and (bare or text.get("status") == "additional"):
        div = plain(string(text, "div"))
        if div:
            found.texts.append(Text("text/div", div, "", evidence))
    return found._replace(notes=len(notes))


def _notes(type: str, resource: Json, how: Mapping, evidence: Evidence) -> Iterator[Text]:
    if how.notes:
        for index, note in objects(resource, how.notes):
            yield from _note(note, f"{how.notes}/{index}", evidence)
    for outer, inner in _DEEPER_NOTES.get(type, ()):
        for index, holder in objects(resource, outer):
            for position, note in objects(holder, inner):
                yield from _note(note, f"{outer}/{index}/{inner}/{position}", evidence)


def _note(note: Json, part: str, evidence: Evidence) -> Iterator[Text]:
    text = string(note, "text")
    if text.strip():
        yield Text(part, text, "", note_author(note, part, evidence), string(note, "time"))


def _at(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The values at a path (`*` for every element of a list) with their own paths."""
    steps = [("", value)]
    for name in path.split("/"):
        following = []
        for part, each in steps:
            if name == "*":
                if not isinstance(each, list):
                    following.append((part, each))
                    continue
                following += [(f"{part}/{index}", inner) for index, inner in enumerate(each) if inner is not None]
            else:
                inner = mapping(each, part).get(name)
                if inner is not None:
                    following.append((f"{part}/{name}" if part else name, inner))
        steps = following
    yield from steps


def _attachment(attachment: Json, part: str, evidence: Evidence, found: Narrative) -> None:
    """Text as a passage; everything else is left, and the intake says so."""
    full_type = string(attachment, "contentType")
    media_type, _, parameters = full_type.lower().partition(";")
    media_type = media_type.strip()
    data = string(attachment, "data")
    if not data:
        if attachment.get("url") is not None:
            found.left.append(f"{part}/url is not fetched")
        return
    if not reads(media_type):
        found.left.append(f"{part} ({named(media_type, 'no contentType')}) is kept in the document, not read")
        return
    try:
        raw = b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        found.left.append(f"{part}/data is no base64")
        return
    if media_type not in _AS_SENT:
        file = attached(raw, full_type)
        found.left.extend(f"{part} ({named(media_type, 'no contentType')}): {each}" for each in file.left)
        if file.text.strip():
            title, written = string(attachment, "title"), string(attachment, "creation")
            found.texts.append(Text(part, file.text, title, evidence, written))
        return
    charset = parameters.partition("charset=")[2].partition(";")[0].strip().strip('"') or "utf-8"
    codec = codec_of(charset)
    if not codec:
        found.left.append(f"{part}/data is not in the charset it declares (none that is known)")
        return
    try:
        text = raw.decode("utf-8-sig" if codec == "utf-8" else codec)
    except UnicodeError:
        found.left.append(f"{part}/data is not in the charset it declares ({codec})")
        return
    if text.strip():
        found.texts.append(Text(part, text, string(attachment, "title"), evidence, string(attachment, "creation")))


def _sections(holder: Json, path: str, evidence: Evidence, found: Narrative) -> None:
    """Sections that say something only in words: those without entries, and those whose text is additional.

    A section's text is written by its own author, else by that of the section around it (FHIR R4
    Composition.section.author).
    """
    for index, section in objects(holder, "section"):
        part = f"{path}section/{index}"
        own = tuple(
            each
            for number, author in objects(section, "author")
            if (each := person(author, f"{part}/author/{number}", Part.AUTHOR)) is not None
        )
        writers = own or evidence
        text = section.get("text")
        if isinstance(text, dict) and (not section.get("entry") or text.get("status") == "additional"):
            div = plain(string(text, "div"))
            if div:
                found.texts.append(Text(f"{part}/text", div, string(section, "title"), writers))
        _sections(section, f"{part}/", writers, found)


class _Plain(HTMLParser):
    """Collects text; blocks break lines, cells are set apart by a tab. Scripts and styles are no text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style", "title"):
            self._hidden += 1
        elif _BLOCK.fullmatch(tag):
            self.parts.append("\n")
        elif tag in ("td", "th"):
            self.parts.append("\t")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style", "title"):
            self._hidden = max(0, self._hidden - 1)
        elif _BLOCK.fullmatch(tag):
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)


def plain(html: str) -> str:
    """XHTML or HTML as text: one line a block, blanks folded, no markup. Empty if it says nothing."""
    if not html:
        return ""
    parser = _Plain()
    parser.feed(html)
    parser.close()
    lines = (" ".join(line.split()) for line in "".join(parser.parts).split("\n"))
    return "\n".join(line for line in lines if line)

"""Which items does a document hold, and which of them did a reading not account for? Counted without the readers.

The bytes may be anything: what cannot be counted (no JSON, no well-formed XML) has no items here. Not here: whether
what was made of an item is right.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from lxml import etree

from iamata.model.document import Outcome
from iamata.ports import Parsed


def unaccounted(body: bytes, format: str, parsed: Parsed) -> list[str]:
    """The places of items without a line in the intake, and the ids of statements and passages without a place; sorted.
    An intake that is empty is one miss (`intake`)."""
    sighted = {sighting.item for sighting in parsed.sightings}
    missing = [id for id in (*(s.id for s in parsed.statements), *(p.id for p in parsed.passages)) if id not in sighted]
    if not parsed.intake:
        missing.append("intake")
    if format.startswith("fhir/"):
        missing += _unlisted(fhir_items(body), parsed)
    elif format.startswith("hl7v2"):
        missing += set(hl7v2_segments(body)) - {line.place for line in parsed.intake}
    elif format == "x12":
        missing += [f"segment/{number}" for number in x12_segments(body) - _covered(parsed)]
    elif format == "cda/r2":
        missing += _silent(list(cda_items(body)), parsed)
    return sorted(missing)


def _unlisted(places: Iterator[str], parsed: Parsed) -> Iterator[str]:
    """What has no line of its own, and is not inside of something that was ignored as a whole."""
    lines = Counter(x.place for x in parsed.intake if not (x.kind == "answer" and "/item/" in x.place))
    whole = {line.place for line in parsed.intake if line.outcome is Outcome.IGNORED}
    for place in (Counter(places) - lines).elements():
        parts = place.split("/")
        if not any("/".join(parts[:end]) in whole for end in range(1, len(parts))):
            yield place


def fhir_items(body: bytes) -> Iterator[str]:
    """The places of all entries and contained resources."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return
    value = _json(text)
    if value is not None:
        yield from _resources(value, "")
        return
    for number, line in enumerate(text.split("\n")):
        if line.strip():
            held = _json(line)
            if held is None:
                yield f"/{number}"
            else:
                yield from _resources(held, f"/{number}")


def _json(text: str) -> Any:
    """The value; None if it is no JSON (or null). Numbers stay text: they count nothing here."""
    try:
        return json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None


def _resources(value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, dict) or value.get("resourceType") != "Bundle":
        yield place
        held = value.get("contained") if isinstance(value, dict) else None
        if isinstance(held, list):
            yield from (f"{place}/contained/{index}" for index, each in enumerate(held) if each not in (None, []))
        return
    entries = value.get("entry")
    if not entries or not isinstance(entries, list):
        yield place
        return
    for index, entry in enumerate(entries):
        at = f"{place}/entry/{index}"
        request = entry.get("request") if isinstance(entry, dict) else None
        deletion = isinstance(request, dict) and request.get("method") == "DELETE"
        if deletion or not isinstance(entry, dict) or entry.get("resource") is None:
            yield at
        else:
            yield from _resources(entry["resource"], f"{at}/resource")


_BATCH: Final = frozenset({"FHS", "BHS", "BTS", "FTS"})
_NAME = re.compile(r"[A-Z][A-Z0-9]{2}\Z")


def hl7v2_segments(body: bytes) -> Iterator[str]:
    """The places of all segments: `/1/OBX/2` is the second OBX of the first message, `/0/…` stands around the messages.

    Of documents that spell ASCII as it is; none of UTF-16. A line that begins no segment belongs to the one before it.
    """
    if body.startswith((b"\xff\xfe", b"\xfe\xff")) or b"M\0S\0H" in body[:8]:
        return
    message, seen, separator, inside = 0, Counter[str](), "|", False
    loose = Counter[str]()
    for line in re.split(r"[\r\n\x0b\x1c]+", body.decode("latin-1").removeprefix("\xef\xbb\xbf")):
        segment = line.lstrip()
        name = segment[:3]
        if name in _BATCH:
            inside = False
            loose[name] += 1
        elif name == "MSH":
            message, seen, inside = message + 1, Counter({"MSH": 1}), True
            sent = segment[3:4]
            separator = "|" if not sent or sent.isalnum() or sent.isspace() else sent
            yield f"/{message}/MSH/1"
        elif inside and _NAME.match(name) and segment[3:4] == separator:
            seen[name] += 1
            yield f"/{message}/{name}/{seen[name]}"
        elif not inside and _NAME.match(line[:3]):
            loose[name] += 1
            yield f"/0/{name}/{loose[name]}"


# Segments that hold others together and are no item of their own.
_STRUCTURE: Final = frozenset(["ISA", "GS", "ST", "SE", "GE", "IEA", "BHT", "BGN", "HL", "LX", "BPR", "CUR"])


def x12_segments(body: bytes) -> set[int]:
    """The numbers of the segments that must be part of an item or listed: of a document with one interchange.

    The terminator is what stands after the component separator, after sixteen elements of ISA (X12.5).
    """
    try:
        text = body.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError:
        text = body.decode("latin-1")
    text = text.strip(" \t\r\n")
    separator = text[3:4]
    head = re.match(rf"ISA(?:{re.escape(separator)}[^{re.escape(separator)}]*){{15}}{re.escape(separator)}.(.)", text)
    if not separator or head is None or head.group(1).isalnum():
        return set()
    end = head.group(1)
    pieces = [piece.strip(" \t\r\n") for piece in text.split(end)]
    pieces = [piece for piece in pieces if piece]
    if sum(piece.startswith("ISA") for piece in pieces) != 1:
        return set()
    named = [piece.partition(separator)[0] for piece in pieces]
    dated = [piece.startswith(f"DTM{separator}405") for piece in pieces]
    return {n for n, name in enumerate(named, 1) if name not in _STRUCTURE and not dated[n - 1]}


def _covered(parsed: Parsed) -> set[int]:
    covered: set[int] = set()
    for line in parsed.intake:
        found = re.fullmatch(r"segments?/(\d+)(?:-(\d+))?", line.place)
        if found:
            covered |= set(range(int(found[1]), int(found[2] or found[1]) + 1))
    return covered


_CDA: Final = ("urn:hl7-org:v3", None)
_PARTS: Final = frozenset({"section", "entry", "nonXMLBody"})


def cda_items(body: bytes) -> Iterator[str]:
    """The places (XPath by local names) of the sections, entries and unstructured bodies of a whole document whose XML
    needs no mending."""
    try:
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
        root = etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError, LookupError):
        return
    if _local(root) != "ClinicalDocument":
        return
    stack = [(each, "/ClinicalDocument") for each in root if _local(each) == "component"]
    stack = [(element, _step(element, at)) for element, at in stack]
    while stack:
        element, place = stack.pop()
        if _local(element) in _PARTS:
            yield place
        if _local(element) in ("component", "structuredBody", "section"):
            inside = ("component", "structuredBody", "section", "nonXMLBody", "entry")
            stack += [(child, _step(child, place)) for child in element if _local(child) in inside]


def _local(element: etree._Element) -> str:
    """The local name of an element of CDA, empty for others and for comments."""
    if not isinstance(element.tag, str):
        return ""
    name = etree.QName(element)
    return name.localname if name.namespace in _CDA else ""


def _step(element: etree._Element, above: str) -> str:
    parent = element.getparent()
    same = [child for child in parent if _local(child) == _local(element)] if parent is not None else [element]
    number = f"[{same.index(element) + 1}]" if len(same) > 1 else ""
    return f"{above}/{_local(element)}{number}"


def _silent(places: list[str], parsed: Parsed) -> Iterator[str]:
    """The places with no line at, below, or (ignored as a whole) above them."""
    said = {line.place for line in parsed.intake}
    whole = {line.place for line in parsed.intake if line.outcome is Outcome.IGNORED}
    below: set[str] = set()
    for place in said:
        parts = place.split("/")
        below.update("/".join(parts[:end]) for end in range(2, len(parts) + 1))
    for place in places:
        parts = place.split("/")
        if place not in below and not any("/".join(parts[:end]) in whole for end in range(2, len(parts))):
            yield place

"""Which connector reads these bytes? Looks at the bytes first, at media type and name only where they leave it open.

Not here: any reading. A connector says what it found; formats that are known and not read yet are named and refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Final

from iamata.connectors import ccda, documents, fhir, hl7v2, x12
from iamata.connectors.fhir.decoding import decode
from iamata.connectors.fhir.reader import meta_source
from iamata.errors import BadInput, UnknownFormat
from iamata.model.identifiers import IdMint
from iamata.model.provenance import Place
from iamata.model.scope import SUBJECT_ID, Subject
from iamata.ports import Parsed

READERS: Final[dict[str, Callable[..., Parsed]]] = {
    fhir.FORMAT: fhir.read,
    fhir.R5_FORMAT: fhir.read_r5,
    x12.FORMAT: x12.read,
    ccda.FORMAT: ccda.read,
    hl7v2.FORMAT: hl7v2.read,
    **{format: partial(documents.read, format=format) for format in documents.FORMATS},
}
# Changes whenever a reader could read the same bytes otherwise.
READERS_VERSION: Final = f"{fhir.READER} {fhir.R5_READER} {x12.READER} {ccda.READER} {hl7v2.READER} {documents.READER}"
_MEDIA_TYPES: Final = {
    fhir.FORMAT: "application/fhir+json",
    fhir.R5_FORMAT: "application/fhir+json; fhirVersion=5.0",
    x12.FORMAT: "application/edi-x12",
    ccda.FORMAT: "application/cda+xml",
    hl7v2.FORMAT: "application/hl7-v2",
    **documents.MEDIA_TYPES,
}
# Connectors that lay out a place by themselves.
_AT: Final[dict[str, Callable[[bytes, str], str]]] = {
    x12.FORMAT: x12.at,
    ccda.FORMAT: ccda.at,
    hl7v2.FORMAT: hl7v2.at,
    **{format: partial(documents.at, format=format) for format in documents.FORMATS},
}
_FHIR: Final = frozenset({fhir.FORMAT, fhir.R5_FORMAT})
# Connectors whose documents name their patients by numbers: how many patients, and the numbers of the one.
_NAMED: Final[dict[str, Callable[[bytes], tuple[int, tuple[str, ...]]]]] = {
    fhir.FORMAT: fhir.patients_named,
    fhir.R5_FORMAT: fhir.patients_named,
    x12.FORMAT: x12.patients_named,
    ccda.FORMAT: ccda.patients_named,
    hl7v2.FORMAT: hl7v2.patients_named,
}

# First bytes of formats that are no text (the published file signatures).
_SIGNATURES: Final = (
    (b"PK\x03\x04", "archive/zip", "a ZIP archive"),
    (b"\x1f\x8b", "archive/gzip", "a gzip archive"),
    (b"\xd0\xcf\x11\xe0", "ole", "a Word document of before 2007, or one with a password (send DOCX or PDF)"),
)
_HL7V2 = re.compile(rb"(?:\x0b|\s)*(?:MSH|FHS|BHS)[^\w\s]")
# A message that lost its header: it begins with a segment that stands near the beginning of one, another follows.
_HL7V2_HEADLESS = re.compile(
    rb"(?:\x0b|\s)*(?:SFT|UAC|EVN|PID|PD1|NK1|PV1|ORC|OBR|OBX|TXA|SCH|RXE|RXA)\|[^\r\n]*[\r\n]+[A-Z][A-Z0-9]{2}\|"
)
_X12 = re.compile(rb"\s*ISA[^\w\s]")
_MARKUP = re.compile(rb"<[A-Za-z!?_/]")
# A value of JSON (RFC 8259) that is an object or a list; `[**` and `[Report` of notes are none.
_JSON = re.compile(rb"\{|\[\s*(?:[\"{\[\]]|-?\d|true|false|null|\Z)")
_RESOURCE_TYPE = re.compile(rb'"resourceType"\s*:\s*"')
_R5 = re.compile(r"fhirversion\s*=\s*\"?5\.")


def detect(body: bytes, *, media_type: str = "", name: str = "") -> str:
    """The format of a document, such as `fhir/r4`: one that a connector reads.

    Raises UnknownFormat, whose message says what it looks like and whose `format` names it (`empty`, `ccda` …).
    Whether the document is sound is for its connector to find.
    """
    text = body.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text:
        raise UnknownFormat("the document is empty", format="empty")
    if found := documents.by_signature(body, text):
        return found
    for signature, format, what in _SIGNATURES:
        if text.startswith(signature):
            raise _not_yet(what, format)
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = body.decode("utf-16", errors="replace").encode().lstrip()
        if text.startswith(b"{"):
            raise UnknownFormat("this looks like JSON in UTF-16; FHIR JSON is UTF-8", format="json")
    if _MARKUP.match(text):
        if ccda.is_cda(text):
            return ccda.FORMAT
        if documents.is_html(text, media_type, name):
            return documents.HTML
        raise _not_yet(*_xml(text))
    if _HL7V2.match(text) or _HL7V2_HEADLESS.match(text):
        return hl7v2.FORMAT
    if _X12.match(text):
        return x12.FORMAT
    if _JSON.match(text):
        if text[:1] == b"{" and _RESOURCE_TYPE.search(text):
            if _R5.search(media_type.lower()) or fhir.is_r5(body):
                return fhir.R5_FORMAT
            return fhir.FORMAT
        raise UnknownFormat("this looks like JSON that is not FHIR: it has no resourceType", format="json")
    if "fhir" in media_type.lower() and "json" in media_type.lower():
        return fhir.FORMAT  # announced as FHIR JSON: its connector says what is wrong with it
    if found := documents.of_text(text, media_type, name):
        return found
    raise UnknownFormat("this is no text, and not a format known here", format="binary")


def parse(
    body: bytes,
    *,
    format: str,
    subject: Subject,
    source: str,
    mint: IdMint,
    document: str,
    received_at: datetime,
) -> Parsed:
    """What the connector of this format reads. Raises UnknownFormat for a format without one, BadInput or TooLarge as
    the connector does; then nothing has been read."""
    reader = READERS.get(format)
    if reader is None:
        raise UnknownFormat(f"no connector reads {format!r}; known: {', '.join(READERS)}", format=format)
    return reader(body, subject=subject, source=source, mint=mint, document=document, received_at=received_at)


def media_type(format: str) -> str:
    """The media type of a format when its sender named none."""
    return _MEDIA_TYPES.get(format, "application/octet-stream")


def excerpt(body: bytes, format: str, place: Place) -> str:
    """The bytes at a place as text: for JSON the item, laid out, with its digits; empty if the place is not there."""
    at = fhir.at if format in _FHIR else _AT.get(format)
    if at is None:
        return ""
    found = at(body, place.pointer)
    return found if place.start is None else found[place.start : place.end]


def source_hint(body: bytes, format: str) -> str:
    """The system that a document says it comes from (FHIR `meta.source` of the bundle, else of the first resource that
    has one, without its fragment), else empty. Never raises for a bad document."""
    if format == x12.FORMAT:
        return x12.sender(body)
    if format == ccda.FORMAT:
        return ccda.custodian(body)
    if format == hl7v2.FORMAT:
        return hl7v2.source_of(body)
    if format not in _FHIR or b'"source"' not in body:
        return ""
    try:
        return meta_source(decode(body))
    except BadInput:
        return ""


def patients_named(body: bytes, format: str) -> tuple[int, tuple[str, ...]]:
    """How many patients a document says it is about, and the ids it gives the one if it is one. Never raises for a bad
    document: it names nobody."""
    named = _NAMED.get(format)
    return named(body) if named is not None else (0, ())


def patient_hint(body: bytes, format: str) -> str:
    """The id that a document gives its patient: its one patient's one id that can be an id here; else empty."""
    usable = [id for id in patients_named(body, format)[1] if SUBJECT_ID.match(id)]
    return usable[0] if len(usable) == 1 else ""


def is_lines(body: bytes, format: str, name: str = "") -> bool:
    """May it be a file of an export: FHIR with a resource a line?"""
    return format in _FHIR and fhir.is_lines(body, name)


def _not_yet(what: str, format: str) -> UnknownFormat:
    return UnknownFormat(f"this looks like {what}, which is not read yet", format=format)


def _xml(text: bytes) -> tuple[str, str]:
    head = text[:4096].lower()
    if b"http://hl7.org/fhir" in head:
        return "FHIR in XML (only FHIR in JSON is read)", "fhir/xml"
    return "an XML document", "xml"

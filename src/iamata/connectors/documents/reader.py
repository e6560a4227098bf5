"""What does a document say of one patient? The document itself, and its text in passages; nothing in it is interpreted.

Not read from the text: who the patient is, and when anything happened. A document's own date is when it was prepared.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from iamata.connectors.documents import dicom
from iamata.connectors.documents.drafts import Draft, Writer
from iamata.connectors.documents.outline import Outline, outline
from iamata.connectors.text import Extract, Limits, Page
from iamata.connectors.text import reading as files
from iamata.errors import BadInput, Unavailable
from iamata.model.attribution import AuthorshipEvidence, Part
from iamata.model.clinical_time import Clock, parse_time
from iamata.model.coding import CodedText, Coding
from iamata.model.document import Outcome, Reason
from iamata.model.identifiers import IdMint, content_digest
from iamata.model.scope import Subject
from iamata.model.statement import Form, Kind
from iamata.ports import Parsed
from iamata.terminology.narrative import heading
from iamata.terminology.systems import normal

_LOINC: Final = "http://loinc.org"
# A line that says what the document is stands among the first of its text.
_TITLE_LINES: Final = 12
_NAMES: Final = {
    files.TEXT: "Text document",
    files.MARKDOWN: "Text document",
    files.HTML: "HTML document",
    files.RTF: "RTF document",
    files.PDF: "PDF document",
    files.DOCX: "Word document",
    files.PNG: "Image",
    files.JPEG: "Image",
    files.TIFF: "Image",
}


def read(
    body: bytes,
    *,
    format: str,
    subject: Subject,
    source: str,
    mint: IdMint,
    document: str,
    received_at: datetime,
    limits: Limits | None = None,
) -> Parsed:
    """A `document` statement, a passage for each section of its text, and an intake line for every page.

    `format` is one of FORMATS. Raises BadInput (empty, damaged, a password, no text) or TooLarge; then nothing has been
    read. A page without text, beyond a limit, or that needs software which is not installed is listed as ignored.
    """
    limits = limits or Limits()
    writer = Writer(subject, source, mint, document, received_at)
    warnings: tuple[str, ...]
    if format == dicom.FORMAT:
        study = dicom.read(body, limits)
        warnings = dicom.write(study, writer)
        if study.report is not None:
            _write(study.report, study.content, writer, study.outline())
            warnings += study.content.warnings
    else:
        extract = files.extract(body, format, limits=limits)
        parts = outline(extract.pages, author=extract.author, title=extract.title)
        _write(_document(body, format, extract, parts), extract, writer, parts)
        warnings = extract.warnings
    return Parsed(
        format=format,
        statements=tuple(writer.statements.values()),
        passages=tuple(writer.passages.values()),
        sightings=tuple(writer.sightings),
        intake=tuple(writer.lines),
        warnings=warnings,
    )


def _document(body: bytes, format: str, extract: Extract, parts: Outline) -> Draft:
    """The document as a statement: what it calls itself, who has a hand in it, and what its metadata says."""
    draft = Draft(
        kind=Kind.DOCUMENT,
        type="document",
        content=content_digest(body),
        form=Form.UNSTRUCTURED,
        evidence=parts.evidence,
        fields={},
        times=[],
    )
    title = " ".join(extract.title.split())[:300]
    draft.concept = _called(extract.pages) or CodedText(title or _NAMES[format])
    draft.set("title", title)
    if extract.created:
        draft.time(Clock.PREPARED, parse_time(extract.created))
    return draft


def _called(pages: tuple[Page, ...]) -> CodedText | None:
    """What kind of document it says it is in one of its first lines (`Discharge Summary`), with its LOINC code."""
    lines = [line.strip(" \t#*_=:") for page in pages[:1] for line in page.text[:4_000].splitlines() if line.strip()]
    for line in lines[:_TITLE_LINES]:
        found = heading(line)
        if found is not None and found.kind == "document":
            coding = Coding(_LOINC, found.code, found.section, normal(_LOINC, found.code))
            return CodedText(line, (coding,) if found.code else ())
    return None


def _write(draft: Draft, extract: Extract, writer: Writer, outlined: Outline) -> None:
    """The statement of a document with the passages of its pages, and a line for each page and unread part."""
    statement = writer.statement(draft)
    label = draft.concept.codings[0].display if draft.concept is not None and draft.concept.codings else draft.type
    writer.line(str(draft.kind), draft.place, Outcome.STRUCTURED, label=label, detail="; ".join(_parts(extract)))
    for page, stretches, found in zip(extract.pages, outlined.pages, outlined.cuts, strict=True):
        for title, start, end, named in stretches:
            text = page.text[start:end]
            evidence = _recognised(named, page)
            writer.passage(statement, page.pointer, text, start=start, title=_title(title, page), evidence=evidence)
        parts = [f"{len(stretches)} passages"] if len(stretches) != 1 else ["1 passage"]
        if page.confidence is not None:
            parts.append(f"recognised in an image, confidence {page.confidence}")
        if found.empty:
            parts.append(f"{found.empty} headings without a text")
        if found.too_many:
            parts.append("too many headings: cut by length alone")
        parts += page.left
        if stretches:
            writer.line("page", page.pointer, Outcome.TEXT_ONLY, label="page", detail="; ".join(parts))
        else:
            detail = "says nothing"
            writer.line("page", page.pointer, Outcome.IGNORED, label="page", detail=detail, reason=Reason.EMPTY)
    for pointer, why, reason in extract.unread:
        writer.line("page", pointer, Outcome.IGNORED, label="page", detail=why, reason=reason)


def _recognised(evidence: tuple[AuthorshipEvidence, ...], page: Page) -> tuple[AuthorshipEvidence, ...]:
    """Of a recognised page also that a machine read it, and how sure it was."""
    if page.confidence is None:
        return evidence
    recogniser = AuthorshipEvidence(
        Part.INSTRUMENT,
        f"{page.pointer.strip('/')}/recognised",
        type="Device",
        display=f"text recognition, confidence {page.confidence}",
        value=str(page.confidence),
    )
    return (*evidence, recogniser)


def _title(title: str, page: Page) -> str:
    """The section's own title; text that a machine recognised says so, as it may be wrong."""
    if page.confidence is None:
        return title
    return f"{title or page.pointer.strip('/').replace('/', ' ')} (recognised in an image)"


def _parts(extract: Extract) -> list[str]:
    pages = len(extract.pages)
    found = [f"{pages} pages with text" if pages != 1 else "1 page with text"]
    if extract.unread:
        found.append(f"{len(extract.unread)} parts not read")
    return found


def at(body: bytes, pointer: str, *, format: str, limits: Limits | None = None) -> str:
    """The text at a pointer (`/text`, `/page/3`, `/header`), of which a passage is a span; all of it for an empty one.

    Empty if nothing is there or the document cannot be read now. Recognised text is recognised again.
    """
    limits = limits or Limits()
    try:
        if format == dicom.FORMAT:
            study = dicom.read(body, limits)
            pages = study.content.pages
            if not pointer:
                return dicom.shown(study)
            if pointer == "/comments":
                return study.comment
        else:
            pages = files.extract(body, format, limits=limits).pages
    except (BadInput, Unavailable):
        return ""
    if not pointer:
        return "\n".join(page.text for page in pages)
    return next((page.text for page in pages if page.pointer == pointer), "")

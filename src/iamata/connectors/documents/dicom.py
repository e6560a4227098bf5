"""What do a DICOM header and a structured report say? pydicom (extra `documents`); pixel data are never read.

DICOM PS3.3: patient C.7.1.1, study C.7.2.1, series C.7.3.1, SR document C.17. All images of a series are one statement.
"""

from __future__ import annotations

import io
import logging
import re
import warnings
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from iamata.connectors.documents.drafts import Draft, Writer
from iamata.connectors.documents.outline import Outline, Stretch, inherited, outline
from iamata.connectors.documents.persons import person
from iamata.connectors.documents.sections import Piece, cut
from iamata.connectors.text import Extract, Heading, Limits, Page, Unread, pdf
from iamata.connectors.text.pages import check_size, within
from iamata.errors import BadInput
from iamata.model.attribution import AuthorshipEvidence, Part
from iamata.model.clinical_time import ClinicalTime, Clock, parse_time
from iamata.model.coding import BusinessIdentifier, CodedText, Coding
from iamata.model.document import Outcome
from iamata.model.statement import Aspect, Component, Domain, Form, Kind, Reference, Standing
from iamata.terminology.dicom import word
from iamata.terminology.systems import normal

FORMAT: Final = "image/dicom"
INSTALL: Final = "to read DICOM: pip install 'iamata[documents]'"
# A data set that is deflated as a whole (PS3.5 A.5) would be inflated without a bound.
_DEFLATED: Final = b"1.2.840.10008.1.2.1.99"
_ENCAPSULATED_PDF: Final = "1.2.840.10008.5.1.4.1.1.104.1"
_UIDS: Final = "urn:dicom:uid"  # FHIR R4 ImagingStudy.identifier, for a DICOM UID as urn:oid
_LIMIT_ITEMS: Final = 50_000
_LIMIT_DEPTH: Final = 100
_DATE: Final = re.compile(r"(\d{4})(?:[.:]?(\d\d)(?:[.:]?(\d\d))?)?\Z")
_TIME: Final = re.compile(r"(\d\d):?(\d\d)(?::?(\d\d))?")
_ZONE: Final = re.compile(r"([+-]\d\d)(\d\d)\Z")
_PEOPLE: Final = (
    ("PerformingPhysicianName", Part.PERFORMER, "Practitioner"),
    ("NameOfPhysiciansReadingStudy", Part.PERFORMER, "Practitioner"),
    ("OperatorsName", Part.PERFORMER, ""),
    ("InstitutionName", Part.CUSTODIAN, "Organization"),
)
_SHOWN: Final = (
    *("Modality", "StudyDate", "StudyTime", "StudyDescription", "SeriesDescription", "BodyPartExamined", "Laterality"),
    *("StudyInstanceUID", "SeriesInstanceUID", "SOPClassUID", "AccessionNumber", "InstitutionName", "Manufacturer"),
    *("ManufacturerModelName", "PatientID", "PatientName", "PatientBirthDate", "PatientSex"),
)


class Observed(NamedTuple):
    """Characters `start`:`end` of the content stand in a container that names its own observer (PS3.16 TID 1001)."""

    start: int
    end: int
    evidence: tuple[AuthorshipEvidence, ...]


class Study(msgspec.Struct):
    """The patient and the study as drafts, the report as a draft with its content. Without pydicom all are empty and
    `content` says what is not read."""

    patient: Draft | None = None
    imaging: Draft | None = None
    report: Draft | None = None
    content: Extract = Extract()
    header: tuple[tuple[str, str], ...] = ()
    observed: tuple[Observed, ...] = ()
    is_letter: bool = False  # a PDF, whose own words name who wrote it
    comment: str = ""
    warnings: tuple[str, ...] = ()

    def outline(self) -> Outline:
        """The report's pages cut by their headings; its observers wrote what names none of its own."""
        whole = inherited(self.report.evidence if self.report is not None else ())
        if self.is_letter:
            said = outline(self.content.pages)
            pages = tuple(tuple(each._replace(evidence=_or(each.evidence, whole)) for each in p) for p in said.pages)
            return Outline(pages, said.cuts, said.evidence)
        cuts = tuple(cut(page) for page in self.content.pages)
        pages = tuple(
            tuple(Stretch(p.title, p.start, p.end, self._observed(p) or whole) for p in found.pieces) for found in cuts
        )
        return Outline(pages, cuts, ())

    def _observed(self, piece: Piece) -> tuple[AuthorshipEvidence, ...]:
        """The observer of the innermost container of the content that a piece stands in and that names one."""
        around = [each for each in self.observed if each.start <= piece.start < each.end]
        return max(around, key=lambda each: each.start).evidence if around else ()


def _or(said: tuple[AuthorshipEvidence, ...], header: tuple[AuthorshipEvidence, ...]) -> tuple[AuthorshipEvidence, ...]:
    return said if any(each.part in (Part.AUTHOR, Part.PERFORMER) for each in said) else header


def read(body: bytes, limits: Limits) -> Study:
    """Raises BadInput for what is no sound DICOM, TooLarge beyond the size allowed."""
    check_size(body, limits)
    try:
        import pydicom
    except ImportError:
        return Study(content=Extract(unread=(Unread("/header", f"a DICOM header is not read; {INSTALL}"),)))
    if _DEFLATED in body[:2_048]:
        unread = Unread("/header", "a deflated data set is not read")
        return Study(content=Extract(unread=(unread,)))
    # Its messages quote values, such as names.
    logging.getLogger("pydicom").setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # values that break a rule are kept as they are
            return _study(pydicom.dcmread(io.BytesIO(body), stop_before_pixels=True), body, limits)
    except BadInput:
        raise
    except Exception as error:  # pydicom raises more than it says, from wherever a value is looked at
        raise BadInput(f"the DICOM file is damaged or cut off: {type(error).__name__}") from None


def write(study: Study, writer: Writer) -> tuple[str, ...]:
    """The patient's and the study's statements with their lines; the warnings."""
    if study.patient is not None:
        writer.statement(study.patient)
        writer.line(str(Kind.DEMOGRAPHIC), "/header", Outcome.STRUCTURED, label="Patient")
    if study.imaging is not None:
        imaged = writer.statement(study.imaging)
        if study.comment:
            writer.passage(
                imaged, "/comments", study.comment, start=0, title="Image comments", evidence=imaged.authorship
            )
            writer.line("page", "/comments", Outcome.TEXT_ONLY, label="DICOM", detail="1 passage")
        modality = next((c.concept.codings[0].code for c in study.imaging.components if c.concept.codings), "")
        writer.line(str(Kind.IMAGING_STUDY), "/header", Outcome.STRUCTURED, label=f"study {modality}".strip())
    if study.report is None:
        for pointer, why, reason in study.content.unread:
            writer.line("page", pointer, Outcome.IGNORED, label="DICOM", detail=why, reason=reason)
    return study.warnings


def shown(study: Study) -> str:
    """The header as lines `keyword: value`, those that are read."""
    return "\n".join(f"{name}: {value}" for name, value in study.header)


def _study(data: Any, body: bytes, limits: Limits) -> Study:
    is_document = "ContentSequence" in data or "EncapsulatedDocument" in data
    found = Study(
        patient=_patient(data),
        imaging=None if is_document else _imaging(data),
        header=tuple((name, text) for name in _SHOWN if (text := _text(data, name))),
    )
    unread = []
    if "ContentSequence" in data:
        content, observed = _content(data)
        found.report = _report(data, next((each.evidence for each in observed if each.start == 0), ()))
        found.content = within(content, limits)
        found.observed = tuple(each for each in observed if each.start)
    elif _text(data, "SOPClassUID") == _ENCAPSULATED_PDF and "EncapsulatedDocument" in data:
        found.report = _report(data, ())
        found.is_letter = True
        found.content = within(pdf.read(bytes(data.EncapsulatedDocument), limits), limits)
    else:
        found.comment = _text(data, "ImageComments")
        unread.append(Unread("/pixels", "the picture itself is not read"))
        found.content = Extract(unread=tuple(unread))
    if found.patient is None and found.imaging is None and found.report is None:
        raise BadInput("the DICOM file names no patient, study or report")
    return found


def _text(data: Any, keyword: str) -> str:
    value = data.get(keyword)
    if value is None:
        return ""
    if isinstance(value, str):
        return " ".join(value.split())
    return "; ".join(" ".join(str(each).split()) for each in value) if _is_many(value) else str(value).strip()


def _is_many(value: Any) -> bool:
    return isinstance(value, list | tuple) or type(value).__name__ == "MultiValue"


def _name(text: str) -> str:
    """`Family^Given^Middle^Prefix^Suffix` (PS3.5 6.2.1.2) in the order in which it is said; of its writings one."""
    parts = [part.strip() for part in text.partition("=")[0].split("^")]
    family, given, middle, prefix, suffix = (*parts, "", "", "", "", "")[:5]
    return " ".join(filter(None, (prefix, given, middle, family, suffix)))


def _date(date: str, time: str = "", zone: str = "") -> ClinicalTime | None:
    """DA with TM as precise as they are; None for what is no date. No zone is invented."""
    match = _DATE.match(date.strip())
    if match is None:
        return None
    text = "-".join(filter(None, match.groups()))
    clock = _TIME.match(time.strip())
    if clock is not None and match.group(3):
        text += f"T{clock.group(1)}:{clock.group(2)}" + (f":{clock.group(3)}" if clock.group(3) else "")
        offset = _ZONE.match(zone.strip())
        text += f"{offset.group(1)}:{offset.group(2)}" if offset else ""
    return parse_time(text)


def _coded(item: Any) -> CodedText | None:
    """A code sequence item (PS3.3 8.8)."""
    code, scheme, meaning = _text(item, "CodeValue"), _text(item, "CodingSchemeDesignator"), _text(item, "CodeMeaning")
    if not code and not meaning:
        return None
    system = word("CodingSchemeDesignator", scheme) or scheme
    return CodedText(meaning, (Coding(system, code, meaning, normal(system, code)),) if code else ())


def _first(data: Any, keyword: str) -> Any:
    sequence = data.get(keyword)
    return sequence[0] if sequence else None


def _patient(data: Any) -> Draft | None:
    """Who the header says the patient is."""
    id, name = _text(data, "PatientID"), _name(_text(data, "PatientName"))
    born, sex = _date(_text(data, "PatientBirthDate")), _text(data, "PatientSex")
    issuer = _text(data, "IssuerOfPatientID")
    if not id and not name:
        return None
    draft = Draft(
        kind=Kind.DEMOGRAPHIC,
        type="Patient",
        place="",
        content=[issuer, id, name, str(born or ""), sex],
        own=f"Patient/{issuer}|{id}" if id else "",
        identifiers=(BusinessIdentifier(issuer, id),) if id else (),
        domain=Domain.ADMINISTRATIVE,
        fields={},
        times=[],
    )
    draft.set("name", name)
    draft.set("birth_date", born)
    draft.set("sex", word("PatientSex", sex) or sex)
    return draft


def _people(data: Any) -> tuple[AuthorshipEvidence, ...]:
    found = []
    for keyword, part, type in _PEOPLE:
        text = _text(data, keyword)
        for number, each in enumerate(filter(None, text.split("; "))):
            display = each if type == "Organization" else _name(each)
            found.append(AuthorshipEvidence(part, f"{keyword}/{number}", type=type, display=display))
    machine = " ".join(filter(None, (_text(data, "Manufacturer"), _text(data, "ManufacturerModelName"))))
    if machine:
        found.append(AuthorshipEvidence(Part.INSTRUMENT, "Manufacturer", type="Device", display=machine))
    return tuple(found)


def _imaging(data: Any) -> Draft | None:
    """The study, by one of its series; nothing in it is of one image alone."""
    study, series = _text(data, "StudyInstanceUID"), _text(data, "SeriesInstanceUID")
    modality, site = _text(data, "Modality"), _text(data, "BodyPartExamined")
    description = _text(data, "StudyDescription")
    if not study and not modality:
        return None
    ids = [BusinessIdentifier(_UIDS, f"urn:oid:{study}")] if study else []
    if accession := _text(data, "AccessionNumber"):
        ids.append(BusinessIdentifier("", accession))
    procedure = _first(data, "ProcedureCodeSequence")
    concept = _coded(procedure) if procedure is not None else None
    system = word("CodingSchemeDesignator", "DCM")
    coded = CodedText("", (Coding(system, modality, "", normal(system, modality)),)) if modality else None
    people = _people(data)
    when = _date(_text(data, "StudyDate"), _text(data, "StudyTime"), _text(data, "TimezoneOffsetFromUTC"))
    draft = Draft(
        kind=Kind.IMAGING_STUDY,
        type="ImagingStudy",
        place="",
        content=[
            *(study, series, accession, modality, site, description, _text(data, "SeriesDescription"), str(when or "")),
            [p.display for p in people],
        ],
        own=f"ImagingSeries/{series}" if series else f"ImagingStudy/{study}" if study else "",
        aspect=Aspect.DONE,
        identifiers=tuple(ids),
        evidence=people,
        concept=concept or (CodedText(description) if description else coded),
        fields={},
        components=[],
        times=[],
    )
    draft.set("description", description)
    draft.set("series_description", _text(data, "SeriesDescription"))
    draft.set("reason", _text(data, "ReasonForStudy"))
    if coded is not None:
        side = " ".join(filter(None, (_text(data, "Laterality"), site)))
        draft.components.append(Component(coded, CodedText(side) if side else None))
    draft.time(Clock.EFFECTIVE, when)
    return draft


def _report(data: Any, observers: tuple[AuthorshipEvidence, ...]) -> Draft:
    """The document: an SR document, or a PDF in a DICOM file. `observers`: whom its content names for all of it."""
    title = _first(data, "ConceptNameCodeSequence")
    concept = _coded(title) if title is not None else None
    named = _text(data, "DocumentTitle") or _text(data, "SeriesDescription")
    uid = _text(data, "SOPInstanceUID")
    flags = [_text(data, name) for name in ("CompletionFlag", "VerificationFlag")]
    observing = tuple(_observers(data))
    has_author = any(each.part is Part.AUTHOR for each in observing)
    evidence = (*observing, *(() if has_author else observers)) or _people(data)
    when = _date(_text(data, "ContentDate"), _text(data, "ContentTime"), _text(data, "TimezoneOffsetFromUTC"))
    draft = Draft(
        kind=Kind.DOCUMENT,
        type="document",
        place="",
        content=[uid, flags, [e.display for e in evidence], str(when or ""), _digestible(data)],
        own=f"document/{uid}" if uid else "",
        identifiers=(BusinessIdentifier(_UIDS, f"urn:oid:{uid}"),) if uid else (),
        form=Form.UNSTRUCTURED,
        evidence=evidence,
        concept=concept or CodedText(named or "DICOM document"),
        status=" ".join(filter(None, flags)),
        fields={},
        times=[],
    )
    meanings = [word(name, flag) for name, flag in zip(("CompletionFlag", "VerificationFlag"), flags, strict=True)]
    draft.standing = Standing(next(filter(None, meanings), Standing.UNKNOWN))
    draft.set("title", named)
    draft.time(Clock.AUTHORED, when)
    if study := _text(data, "StudyInstanceUID"):
        draft.references = (Reference("study", identifier=f"{_UIDS}|urn:oid:{study}", type="ImagingStudy"),)
    for observer in data.get("VerifyingObserverSequence") or ():
        signed = _date(_text(observer, "VerificationDateTime")[:8], _text(observer, "VerificationDateTime")[8:])
        draft.time(Clock.VERIFIED, signed)
        break
    return draft


def _digestible(data: Any) -> str:
    """What tells two contents of one report apart."""
    if "ContentSequence" in data:
        return "\n".join(text for text, _heading in _lines(data))
    return bytes(data.get("EncapsulatedDocument") or b"").hex()


def _observers(data: Any) -> Iterator[AuthorshipEvidence]:
    for sequence, part in (("AuthorObserverSequence", Part.AUTHOR), ("VerifyingObserverSequence", Part.VERIFIER)):
        for number, each in enumerate(data.get(sequence) or ()):
            name = _name(_text(each, "PersonName") or _text(each, "VerifyingObserverName"))
            device = _text(each, "ObserverType") == "DEV"
            display = name or _text(each, "StationName") or _text(each, "ManufacturerModelName")
            if display:
                yield _observer(data, part, f"{sequence}/{number}", display, device=device)


def _observer(data: Any, part: Part, element: str, display: str, *, device: bool) -> AuthorshipEvidence:
    """A person, or a device: one that reasons where the report is of computer-aided detection, else it measures."""
    if not device:
        return AuthorshipEvidence(part, element, type="Practitioner", display=display)
    if word("SOPClassUID", _text(data, "SOPClassUID")) == "reasoning" or _is_reasoning(display):
        return AuthorshipEvidence(part, element, type="Device", display=display, value="reasoning")
    return AuthorshipEvidence(part, element, type="DeviceMetric", display=display, value="instrument")


def _is_reasoning(display: str) -> bool:
    who = person(display)
    return who is not None and who.capacity == "reasoning"


def _content(data: Any) -> tuple[Extract, tuple[Observed, ...]]:
    """The content tree as lines: a container's name is a heading, other items read `name: value`. With the observers
    that its containers name, those for all of it at 0."""
    parts: list[str] = []
    headings: list[Heading] = []
    observed: list[Observed] = []
    size = 0
    left = 0
    open: list[tuple[int, int, list[AuthorshipEvidence]]] = [(0, 0, [])]  # level, start, observers
    for text, level, depth, who in _items(data):
        while len(open) > 1 and depth <= open[-1][0]:
            _closed(open.pop(), size, observed)
        if level < 0:
            left += 1
            continue
        if who is not None:
            open[-1][2].append(who)
        if level > 0:
            headings.append(Heading(size, size + len(text), level))
            open.append((depth, size, []))
        parts.append(text)
        size += len(text) + 1
    while open:
        _closed(open.pop(), size + 1, observed)
    unread = (Unread("/references", f"{left} references to images or other objects are not followed"),) if left else ()
    page = Page("/content", "\n".join(parts), tuple(headings))
    return Extract((page,) if page.text.strip() else (), unread), tuple(observed)


def _closed(container: tuple[int, int, list[AuthorshipEvidence]], end: int, observed: list[Observed]) -> None:
    _level, start, observers = container
    if observers:
        observed.append(Observed(start, end, tuple(observers)))


def _lines(data: Any) -> Iterator[tuple[str, int]]:
    return ((text, level) for text, level, _depth, _who in _items(data))


def _items(data: Any) -> Iterator[tuple[str, int, int, AuthorshipEvidence | None]]:
    """Each item in document order: its text, the level of its heading (0 for a line, -1 for what is not text), its
    depth, and the observer that it names."""
    stack: list[tuple[Any, int]] = [(each, 1) for each in reversed(data.get("ContentSequence") or ())]
    for _ in range(_LIMIT_ITEMS):
        if not stack:
            return
        item, depth = stack.pop()
        named = _first(item, "ConceptNameCodeSequence")
        concept = _coded(named) if named is not None else None
        name = concept.display if concept is not None else ""
        kind = _text(item, "ValueType")
        value = _value(item, kind)
        if kind == "CONTAINER":
            if name:
                yield name, min(depth, 6), depth, None
        elif value:
            who = word("ObserverName", concept.codings[0].code) if concept is not None and concept.codings else ""
            named = _observer(data, Part.AUTHOR, f"content/{who}", value, device=who == "device") if who else None
            yield (f"{name}: {value}" if name else value), 0, depth, named
        elif kind in ("IMAGE", "COMPOSITE", "WAVEFORM", "SCOORD", "SCOORD3D", "TCOORD"):
            yield "", -1, depth, None
        if depth < _LIMIT_DEPTH:
            stack += [(each, depth + 1) for each in reversed(item.get("ContentSequence") or ())]
    raise BadInput(f"the report has more than the {_LIMIT_ITEMS} items allowed")


def _value(item: Any, kind: str) -> str:
    match kind:
        case "TEXT":
            return str(item.get("TextValue") or "").replace("\r\n", "\n").replace("\r", "\n").strip()
        case "CODE":
            code = _first(item, "ConceptCodeSequence")
            found = _coded(code) if code is not None else None
            return found.display if found is not None else ""
        case "NUM":
            measured = _first(item, "MeasuredValueSequence")
            if measured is None:
                return ""
            unit = _first(measured, "MeasurementUnitsCodeSequence")
            return f"{_text(measured, 'NumericValue')} {_text(unit, 'CodeValue') if unit is not None else ''}".strip()
        case "PNAME":
            return _name(_text(item, "PersonName"))
        case "DATE":
            return str(_date(_text(item, "Date")) or _text(item, "Date"))
        case "TIME":
            return _text(item, "Time")
        case "DATETIME":
            text = _text(item, "DateTime")
            return str(_date(text[:8], text[8:14]) or text)
        case _:
            return ""

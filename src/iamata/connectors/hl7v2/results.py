"""What does a result say? OBR as a report and its order, each OBX as an observation, texts as passages.

Not here: documents (TXA), whose OBX are their text; immunizations and doses, whose OBX are findings beside them.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator
from typing import Final

from iamata.connectors.hl7v2.authorship import evidence, participants
from iamata.connectors.hl7v2.context import Context, concept_key, key_of, lines_of, notes, withdraw
from iamata.connectors.hl7v2.drafts import Draft, Text
from iamata.connectors.hl7v2.grouping import Group
from iamata.connectors.hl7v2.medicines import administration_record
from iamata.connectors.hl7v2.orders import filler_number, order_numbers, ordered, placer_number
from iamata.connectors.hl7v2.segments import Repetition, Segment
from iamata.connectors.hl7v2.values import (
    clinician_name,
    coded,
    coded_in,
    entity_in,
    joined,
    organization_name,
    period,
    person_name,
    quantity,
    reference_range,
    structured_number,
    time_in,
    time_of,
    unit_of,
    words_of,
)
from iamata.connectors.text import Attached, attached, named
from iamata.model.clinical_time import ClinicalTime, Clock, Period
from iamata.model.coding import CodedText, Coding, Range
from iamata.model.statement import Aspect, Kind, Standing, Value
from iamata.terminology.hl7v2 import category, stands_for, status, word
from iamata.terminology.statuses import kind_rules

# Types whose value is text: cut into no components.
TEXTS: Final = frozenset({"TX", "FT"})
# Below a TXA strings are text of the document too.
DOCUMENT_TEXTS: Final = frozenset({"TX", "FT", "ST", ""})
_PLAIN: Final = frozenset({"ST", "TX", "FT", "IS", "ID", "SI", "TM", "GTS", ""})
_ATTACHED: Final = frozenset({"ED", "RP", "AD"})
_TEXT_SUBTYPES: Final = frozenset({"PLAIN", "TXT", "TEXT", "MARKDOWN"})
# Types of HL7 v2 table 0191 (type of referenced data) by the names of MIME.
_KINDS: Final = {"IM": "image", "AU": "audio", "AP": "application", "TX": "text"}
# Subtypes of HL7 v2 table 0291 (MIME subtypes) whose files have words.
_FILES: Final = {
    "PDF": "application/pdf",
    "RTF": "application/rtf",
    "HTML": "text/html",
    "VND.OPENXMLFORMATS-OFFICEDOCUMENT.WORDPROCESSINGML.DOCUMENT": "application/vnd.openxmlformats-officedocument"
    ".wordprocessingml.document",
}
_CATEGORY: Final = "http://terminology.hl7.org/CodeSystem/observation-category"
# A single text longer than this, or of several lines, is narrative rather than a value.
_LONG: Final = 200


def report(group: Group, context: Context) -> Iterator[Draft]:
    """OBR: the report (with its texts), the order behind it, or both, as its message says."""
    reported = has_report(group, context)
    if reported:
        yield _report(group, context)
    if "order" in stands_for(context.code) and (order_numbers(group) or not reported):
        yield from ordered(group, context, notes_of_detail=not reported)


def has_report(group: Group, context: Context) -> bool:
    """Is this OBR a report here: by its message, or because results with a status stand below it?"""
    if group.name != "OBR":
        return False
    if "report" in stands_for(context.code):
        return True
    if group.reported is None:
        meanings = (status("OBX-11", member.head.peek(11)) for member in group.members)
        group.reported = any(each is not None and each.standing is not Standing.UNKNOWN for each in meanings)
    return group.reported


def report_record(group: Group) -> str:
    """The report's own name: filler number (else placer) and service; empty if it has no number."""
    number = filler_number(group) or placer_number(group)
    if number is None:
        return ""
    return f"report/{number}/{concept_key(coded_in(group.head, 4))}".rstrip("/")


def _report(group: Group, context: Context) -> Draft:
    head = group.head
    draft = Draft(
        head=head,
        kind=Kind.REPORT,
        type="OBR",
        aspect=Aspect.DONE,
        record=report_record(group),
        concept=coded_in(head, 4),
        evidence=[*evidence("report", head), *participants(group), *context.transmitter()],
    )
    draft.name(*order_numbers(group))
    code = head.text(25)
    draft.means(code, status("OBR-25", code))
    draft.set("category", coded_in(head, 24, table="0074"))
    draft.set("reason", coded_in(head, 31))
    draft.set("clinical_information", head.literal(13))
    draft.set("specimen", specimen_of(group))
    draft.set("priority", word("0485", head.text(5)) or head.text(5))
    draft.time(Clock.EFFECTIVE, observed(group))
    draft.time(Clock.ISSUED, time_in(head, 22))
    withdraw(draft, context)
    if order_numbers(group):
        draft.refer("basedOn/OBR-2", order_reference(group))
    context.refer_to_visit(draft)
    notes(draft, group)
    for run in narrative_runs(group):
        _narrative(draft, run)
    attached = [said for member in group.members for said in attachments(member, draft)]
    draft.set("attachment", "; ".join(dict.fromkeys(attached)))
    return draft


def order_reference(group: Group) -> str:
    from_placer = placer_number(group) or filler_number(group)
    return f"order/{from_placer}/{concept_key(coded_in(group.head, 4))}".rstrip("/") if from_placer else ""


def observed(group: Group) -> ClinicalTime | Period | None:
    """OBR-7 to OBR-8, else when the specimen was taken (SPM-17)."""
    found = period(time_in(group.head, 7), time_in(group.head, 8))
    if found is None and group.specimen is not None:
        taken = group.specimen.first(17)
        found = period(time_of(taken, 1), time_of(taken, 2))
    return found


def specimen_of(group: Group) -> str:
    """The kind of specimen in words: SPM-4 (with its source site SPM-8), else OBR-15 (SPS)."""
    if group.specimen is not None:
        kind = words_of(coded_in(group.specimen, 4, table="0487"))
        site = words_of(coded_in(group.specimen, 8))
        return f"{kind} ({site})" if kind and site else kind or site
    if group.name != "OBR":
        return ""
    source = group.head.first(15)
    if source is None:
        return ""
    parts = source.subcomponents(1)
    return (parts[1] if len(parts) > 1 and parts[1] else parts[0]).strip()


def narrative_runs(group: Group) -> list[list[Group]]:
    """The OBX below a report that are its narrative: lines of text under one name, or one long text.

    Looks at the fields without noting them: whether a neighbour is narrative is no part of what a result says.
    """
    if group.narrative is not None:
        return group.narrative
    runs: list[list[Group]] = []
    before = None
    for member in group.members:
        head = member.head
        if head.peek(2).strip().upper() not in TEXTS:
            before = None
            continue
        named = (head.peek(3), head.peek(4))
        if runs and named == before:
            runs[-1].append(member)
        else:
            runs.append([member])
        before = named
    group.narrative = [run for run in runs if len(run) > 1 or _is_narrative(run[0].head)]
    for run in group.narrative:
        for member in run:
            member.narrates = True
    return group.narrative


def standing_text(head: Segment) -> bool:
    """Is this text not withdrawn (OBX-11 D or W)?"""
    meaning = status("OBX-11", head.text(11))
    return meaning is None or meaning.standing is not Standing.ENTERED_IN_ERROR


def _is_narrative(head: Segment) -> bool:
    raw = head.peek(5)
    several = head.delimiters.repetition in raw or "\n" in raw
    return bool(raw.strip()) and (not head.peek(3).strip() or several or len(raw) > _LONG)


def is_narrative(member: Group) -> bool:
    """Does this OBX stand in the narrative of its report?"""
    if member.parent is None:
        return member.head.peek(2).strip().upper() in TEXTS and _is_narrative(member.head)
    narrative_runs(member.parent)
    return member.narrates


def _narrative(draft: Draft, run: list[Group]) -> None:
    segments = tuple(member.head for member in run if standing_text(member.head))
    for member in run:
        for number in (2, 3, 4):
            member.head.field(number)
        notes(draft, member)
    text = lines_of(segments, 5)
    if not text.strip():
        return
    own = evidence("OBX", segments[0])
    draft.texts.append(Text(segments, 5, text, words_of(coded_in(segments[0], 3)), tuple(own or draft.evidence)))


def attachments(member: Group, draft: Draft) -> Iterator[str]:
    """ED, RP and AD: text is read, everything else named and left in the document; pointers are never fetched."""
    head = member.head
    type = head.text(2).upper()
    if type not in _ATTACHED:
        return
    notes(draft, member)
    for repetition in head.repetitions(5):
        if type == "RP":
            draft.left.append(f"{head.place}/5 points to a document elsewhere: not fetched")
            yield "/".join(filter(None, (repetition.text(3), repetition.text(4)))).lower() or "reference"
            continue
        kind, subtype, encoding = (repetition.text(n).upper() for n in (2, 3, 4))
        found = _attached(repetition, subtype, encoding)
        if found.text.strip():
            title = words_of(coded_in(head, 3))
            draft.texts.append(Text((head,), 5, found.text, title, tuple(evidence("OBX", head) or draft.evidence)))
            draft.left += [f"{head.place}/5: {why}" for why in found.left]
            continue
        said = "/".join(filter(None, (_KINDS.get(kind, kind), subtype))).lower() or "attachment"
        draft.left += [f"{head.place}/5 ({named(said, 'a file')}) {why}" for why in found.left or (_NOT_READ,)]
        yield said


_NOT_READ: Final = "is kept in the document, not read"


def _attached(repetition: Repetition, subtype: str, encoding: str) -> Attached:
    """The words of an encapsulated text or file (HL7 v2.5.1 chapter 2, ED); of others none."""
    if subtype not in _TEXT_SUBTYPES and subtype not in _FILES:
        return Attached("")
    data = repetition.text(5)
    if encoding != "BASE64":
        if subtype not in _TEXT_SUBTYPES:
            return attached(data.encode(), _FILES[subtype]) if data.strip() else Attached("")
        return Attached(data)
    try:
        raw = b64decode("".join(data.split()), validate=True)
        if subtype in _TEXT_SUBTYPES:
            return Attached(raw.decode(repetition.codec))
    except (binascii.Error, ValueError, LookupError):
        return Attached("", ("is no base64 of what it says, and is kept in the document",))
    return attached(raw, _FILES[subtype]) if raw else Attached("")


def observation(member: Group, context: Context) -> Iterator[Draft]:
    """OBX: one finding. Nothing for a line of narrative or an attachment: their report or document has them."""
    head = member.head
    type = head.text(2).upper()
    parent = member.parent
    if parent is not None and parent.name == "TXA":
        if type in DOCUMENT_TEXTS or type in _ATTACHED:
            return
    elif parent is not None and has_report(parent, context) and (type in _ATTACHED or is_narrative(member)):
        return
    if type not in _ATTACHED and not standing_text(head) and is_narrative(member) and not _record(member, None):
        return
    concept = coded_in(head, 3)
    record = _record(member, concept)
    draft = Draft(
        head=head,
        kind=_kind(concept),
        type="OBX",
        aspect=Aspect.MEASURED,
        record=record,
        concept=concept,
        evidence=[*evidence("OBX", head), *participants(member), *context.transmitter()],
    )
    if draft.kind is Kind.SOCIAL_HISTORY:
        draft.aspect = Aspect.LIVED
    draft.name(entity_in(head, 21))
    if type in _ATTACHED or is_narrative(member):
        draft.kind, draft.aspect = Kind.DOCUMENT, Aspect.RECORDED
        if type in _ATTACHED:
            draft.set("attachment", "; ".join(attachments(member, draft)))
        else:
            _narrative(draft, [member])
    else:
        unit = unit_of(head.first(6))
        draft.set("value", value_of(head, unit))
        draft.set("reference_range", _range(head, unit))
    code = head.text(11)
    meaning = status("OBX-11", code)
    draft.means(code, meaning)
    if "value" not in draft.fields and draft.kind is not Kind.DOCUMENT:
        draft.set("absent", word("absent", code))
    draft.set("interpretation", coded_in(head, 8, table="0078"))
    draft.set("method", coded_in(head, 17))
    draft.set("body_site", coded_in(head, 20, table="0163"))
    draft.set("sub_id", head.text(4))
    draft.set("specimen", specimen_of(member) or (specimen_of(parent) if parent is not None else ""))
    at: ClinicalTime | Period | None = time_in(head, 14)
    if at is None and parent is not None and parent.name == "OBR":
        at = observed(parent)
    if at is None and parent is not None and parent.name == "RXA":
        at = time_in(parent.head, 3)
    draft.time(Clock.EFFECTIVE, at)
    if parent is not None and parent.name == "OBR":
        draft.time(Clock.ISSUED, time_in(parent.head, 22))
        draft.refer("partOf/OBR-3", report_record(parent))
        if order_numbers(parent):
            draft.refer("basedOn/OBR-2", order_reference(parent))
        _parent_result(draft, parent)
    elif parent is not None and parent.name == "RXA":
        draft.refer("partOf/RXA", administration_record(parent))
    if _says_nothing(draft, head):
        return
    if draft.kind is Kind.OBSERVATION:
        draft.set("category", category_of(member, context, concept))
    withdraw(draft, context)
    context.refer_to_visit(draft)
    if draft.kind is not Kind.DOCUMENT:
        notes(draft, member)
    yield draft


def _says_nothing(draft: Draft, head: Segment) -> bool:
    """No value, no reason for that, nothing taken back: such as a change to final (U) that repeats no value."""
    told = "value" in draft.fields or "absent" in draft.fields or draft.withdrawn or draft.kind is Kind.DOCUMENT
    return not told and not head.deletes(5)


def category_of(member: Group, context: Context, concept: CodedText | None) -> CodedText | None:
    """Vital sign, laboratory or imaging, where the message says so."""
    signs = [("loinc", c.code) for c in (concept.codings if concept else ()) if c.normal.startswith("loinc|")]
    parent = member.parent
    if parent is not None and parent.name == "OBR":
        signs.append(("OBR-24", parent.head.text(24).upper()))
    signs.append(("message", context.code))
    if member.specimen is not None:
        signs.append(("specimen", "SPM"))
    found = category(*signs)
    return CodedText("", (Coding(_CATEGORY, found),)) if found else None


def _record(member: Group, concept: CodedText | None) -> str:
    """Filler number, service, OBX-3 and OBX-4; without a numbered report the instance identifier OBX-21."""
    head, parent = member.head, member.parent
    base = ""
    if parent is not None and parent.name == "OBR":
        base = report_record(parent).removeprefix("report/")
    elif parent is not None:
        number = filler_number(parent) or placer_number(parent)
        base = f"{number}/{concept_key(coded_in(parent.head, 5))}" if number is not None else ""
    if base:
        return f"observation/{key_of(base, concept or '-', head.text(4))}"
    instance = entity_in(head, 21)
    return f"observation/{instance}/{concept_key(concept)}" if instance is not None else ""


def _parent_result(draft: Draft, parent: Group) -> None:
    """OBR-26 and OBR-29: the result that this one refines (a susceptibility of an isolate)."""
    result = parent.head.first(26)
    if result is not None:
        draft.set("parent_result", " ".join(filter(None, (result.text(1, 2) or result.text(1), result.text(3)))))
        draft.set("parent_sub_id", result.text(2))
    child_of = parent.head.first(29)
    if child_of is not None and result is not None:
        filler = child_of.subcomponents(2)
        draft.set("parent_order", filler[0] or child_of.subcomponents(1)[0])


def _kind(concept: CodedText | None) -> Kind:
    """The kind of a finding by its code, by the same rows as a FHIR Observation."""
    codes = {coding.code for coding in concept.codings if coding.normal} if concept is not None else set()
    for rule in kind_rules("Observation"):
        if rule.element == "code" and rule.code in codes:
            return rule.kind
    return Kind.OBSERVATION


def _range(head: Segment, unit: tuple[str, str, str]) -> Range | str | None:
    texts = [each.literal.strip() for each in head.repetitions(7)]
    if len(texts) == 1:
        return reference_range(texts[0], unit)
    return "; ".join(filter(None, texts)) or None


def value_of(head: Segment, unit: tuple[str, str, str]) -> Value | None:
    """OBX-5 as OBX-2 says it is; several repetitions of a number or text are told in words."""
    type = head.text(2).upper()
    repetitions = [each for each in head.repetitions(5) if each.raw.strip() != '""']
    if not repetitions:
        return None
    if type in ("CWE", "CE", "CNE", "CF"):
        return joined([c for each in repetitions if (c := coded(each)) is not None])
    if len(repetitions) > 1:
        words = [str(each) for each in (_one(type, r, unit) for r in repetitions) if each is not None]
        shown = "; ".join(words)
        return shown if type in _PLAIN or not unit[0] or unit[0] in shown else f"{shown} {unit[0]}"
    return _one(type, repetitions[0], unit)


def _one(type: str, repetition: Repetition, unit: tuple[str, str, str]) -> Value | None:
    match type:
        case "NM":
            return quantity(repetition.literal, unit) or repetition.literal.strip() or None
        case "SN":
            return structured_number(repetition, unit)
        case "CQ":
            parts = repetition.subcomponents(2)
            own = (parts[0], "", "") if parts[0] else unit
            return quantity(repetition.text(1), own) or repetition.literal.strip() or None
        case "NR":
            low, high = quantity(repetition.text(1), unit), quantity(repetition.text(2), unit)
            return Range(low, high) if low or high else None
        case "MO" | "CP":
            amount, currency = repetition.subcomponents(1)[0], repetition.text(2) or repetition.text(1, 2)
            return quantity(amount, (currency, "", "")) or repetition.literal.strip() or None
        case "DT" | "TS" | "DTM":
            return time_of(repetition)
        case "DR":
            return period(time_of(repetition, 1), time_of(repetition, 2))
        case "XCN" | "CNN":
            return clinician_name(repetition) or None
        case "XPN" | "PN":
            return person_name(repetition) or None
        case "XON":
            return organization_name(repetition)[0] or None
        case "CX" | "EI" | "HD" | "XAD" | "XTN" | "PL":
            return " ".join(filter(None, (part for c in range(1, 9) for part in repetition.subcomponents(c)))) or None
        case "IS" | "ID":
            return CodedText("", (Coding("", repetition.text(1)),)) if repetition.text(1) else None
    text = repetition.literal.strip()
    # A number sent as a string, with a unit beside it, is an amount.
    return (quantity(text, unit) if type == "ST" and unit[0] else None) or text or None

"""What does an item say about who wrote or said it? Every field that bears on it, as evidence.

Which field plays which part is a row of `hl7v2_evidence.tsv`. Not here: who the author is; that is resolved when facts
are formed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from iamata.connectors.hl7v2.grouping import Group
from iamata.connectors.hl7v2.segments import Repetition, Segment
from iamata.connectors.hl7v2.values import (
    authority,
    clinician_name,
    coded,
    entity,
    listed_name,
    organization_name,
    person_name,
    time_of,
)
from iamata.model.attribution import AuthorshipEvidence, Part
from iamata.model.clinical_time import ClinicalTime
from iamata.terminology.hl7v2 import (
    EvidenceRule,
    administration_origin,
    evidence_rules,
    relationship_type,
    role_part,
)

# Where FHIR and HL7 v2 say the same of an immunization report, its evidence has the same names.
_PRIMARY, _ORIGIN = "primarySource/RXA-9", "reportOrigin/RXA-9"
_ROLE_FIELDS: Final = {"ROL": (3, 4), "PRT": (4, 5)}


def evidence(item: str, *sources: Segment | None) -> list[AuthorshipEvidence]:
    """The evidence of an item of this sort in the segments that make it, in the order of the table."""
    by_name = {segment.name: segment for segment in sources if segment is not None}
    found = []
    for rule in evidence_rules(item):
        segment = by_name.get(rule.segment)
        if segment is None:
            continue
        several = segment.repetitions(rule.field)
        for index, repetition in enumerate(several):
            element = f"{rule.segment}-{rule.field}" + (f"/{index + 1}" if len(several) > 1 else "")
            each = _of(rule, repetition, element)
            if each is not None:
                found.append(each)
    return found


def participants(group: Group) -> list[AuthorshipEvidence]:
    """Persons attached to an item by ROL or PRT whose role bears on authorship."""
    found = []
    for segment in group.attached:
        fields = _ROLE_FIELDS.get(segment.name)
        if fields is None:
            continue
        part = role_part(segment.text(fields[0]))
        if part is None:
            continue
        for repetition in segment.repetitions(fields[1]):
            element = f"{segment.name}-{fields[1]}"
            each = _of(EvidenceRule(segment.name, fields[1], part, "Practitioner", "XCN"), repetition, element)
            if each is not None:
                found.append(each)
    return found


def transmitter(header: Segment) -> list[AuthorshipEvidence]:
    """MSH-4 sent it; that never makes it the author."""
    repetition = header.first(4)
    if repetition is None:
        return []
    name = repetition.text(1) or repetition.text(2)
    return [AuthorshipEvidence(Part.TRANSMITTER, "MSH-4", type="Organization", display=name)] if name else []


def reporter(segment: Segment) -> list[AuthorshipEvidence]:
    """IAM-14 and IAM-15: who reported an allergy. SEL is the patient; a relationship that tells nothing, nobody."""
    relationship = coded(segment.first(15))
    type = relationship_type(segment.text(15))
    name = person_name(segment.first(14))
    if not name and not type:
        return []
    said = relationship.display if relationship is not None and type == "RelatedPerson" else ""
    display = f"{name} ({said})" if name and said else name or said
    return [AuthorshipEvidence(Part.INFORMANT, "IAM-14", type=type, display=display, value=segment.text(15))]


def administration_source(segment: Segment) -> list[AuthorshipEvidence]:
    """RXA-9: is it the administering party's own record, and if not, whose?"""
    found = []
    for repetition in segment.repetitions(9):
        origin = administration_origin(repetition.text(1))
        if origin is None or (repetition.text(3) and repetition.text(3).upper() != "NIP001"):
            continue
        said = repetition.text(2) or origin.word
        found.append(
            AuthorshipEvidence(Part.FLAG, _PRIMARY, display=said, value="true" if origin.primary_source else "false")
        )
        if origin.origin:
            found.append(AuthorshipEvidence(Part.FLAG, _ORIGIN, display=said, value=origin.origin))
    return found


def note_author(note: Segment, item: Iterable[AuthorshipEvidence]) -> tuple[AuthorshipEvidence, ...]:
    """A note's own author (NTE-5) alone, if it names one. A comment of the placer (NTE-2) is not the filler's: then
    nobody is named. Else the item's evidence."""
    own = evidence("note", note)
    if own:
        at = time_of(note.first(6))
        return tuple(_dated(each, at) for each in own)
    if note.text(2).upper() == "P":
        return (AuthorshipEvidence(Part.NONE, "NTE-2", value="P"),)
    return tuple(item)


def nobody(type: str) -> tuple[AuthorshipEvidence, ...]:
    """The evidence of an item that names nobody."""
    return (AuthorshipEvidence(Part.NONE, type),)


def _dated(each: AuthorshipEvidence, at: ClinicalTime | None) -> AuthorshipEvidence:
    if at is None:
        return each
    return AuthorshipEvidence(
        each.part, each.element, each.reference, each.type, each.identifier, each.display, each.value, at.text
    )


def _of(rule: EvidenceRule, repetition: Repetition, element: str) -> AuthorshipEvidence | None:
    match rule.form:
        case "XCN":
            id, name, system = repetition.text(1), clinician_name(repetition), authority(repetition, 9)
            time = ""
        case "PPN":
            id, name, system = repetition.text(1), clinician_name(repetition), authority(repetition, 9)
            at = time_of(repetition, 15)
            time = at.text if at is not None else ""
        case "NDL":
            id, name, system = listed_name(repetition)
            time = ""
        case "XON":
            name, id, system = organization_name(repetition)
            time = ""
        case "CWE":
            concept = coded(repetition)
            name = concept.display if concept is not None else ""
            id, system, time = repetition.text(1), "", ""
        case _:
            identifier = entity(repetition)
            id, system = (identifier.value, identifier.system) if identifier is not None else ("", "")
            name, time = "", ""
    if not id and not name:
        return None
    # A reference of the person's type and number: a number alone could be a patient's or an order's of that authority.
    number = f"{system}|{id}" if system else id
    reference = f"{rule.type}/{number}" if rule.type and id else ""
    return AuthorshipEvidence(rule.part, element, reference, rule.type, display=name or id, time=time)

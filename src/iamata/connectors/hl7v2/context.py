"""What holds for every item of one patient's part of a message: its header, event, visit, and how records are named.

How a record names itself in its source, by type (a later content of the same name supersedes the earlier):

| record                | named by                                                                            |
|-----------------------|-------------------------------------------------------------------------------------|
| `Patient/…`           | the first PID-3 (else PID-2); what is not identity has records of its own below it  |
| `encounter/…`         | PV1-19 visit number, else PV1-50, else PID-18 account number                        |
| `order/…`             | placer number (ORC-2, OBR-2), else filler number; and the service (OBR-4)           |
| `report/…`            | filler number (OBR-3, ORC-3), else placer number; and the service (OBR-4)           |
| `observation/…`       | the report's name, OBX-3 and OBX-4; without a report OBX-21                         |
| `condition/…`         | PRB-4; DG1-20, else visit, DG1-3 and DG1-6                                          |
| `allergy/…`           | IAM-7, else the allergen (AL1-3, IAM-3)                                             |
| `medication/…`        | placer number, else filler number, and the drug                                     |
| `dispense/…`          | filler number and RXD-7 prescription number, RXD-1                                  |
| `administration/…`, `immunization/…` | filler number, else placer number, and the drug, and RXA-3           |
| `procedure/…`         | PR1-19, else visit, PR1-3 and PR1-5                                                 |
| `document/…`          | TXA-12 unique document number                                                       |
| `appointment/…`       | SCH-2 filler appointment id, else SCH-1                                             |
| `insurance/…`         | IN1-3 company and IN1-36 policy, IN1-49 insured's id or IN2-61 member number        |
| `claim/…`             | FT1-2 transaction id                                                                |
| `goal/…`, `referral/…`| GOL-4; RF1-6, else RF1-11                                                           |

An item that has none of these is named by its content. Two items of one message under one name are told apart by `#2`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from iamata.connectors.hl7v2.authorship import note_author, transmitter
from iamata.connectors.hl7v2.drafts import Draft, Text
from iamata.connectors.hl7v2.grouping import Group, PatientGroup
from iamata.connectors.hl7v2.segments import Segment
from iamata.connectors.hl7v2.values import extended_id, time_in, time_of
from iamata.model.attribution import AuthorshipEvidence
from iamata.model.clinical_time import ClinicalTime, Clock
from iamata.model.coding import BusinessIdentifier, CodedText

# Clocks that tell when the thing itself was or will be, and say nothing of when it was said.
_OF_THE_THING: Final = (Clock.EFFECTIVE, Clock.OCCURRED, Clock.PLANNED, Clock.HANDED_OVER, Clock.EXPIRES)


class Context:
    """The header, the event, the patient and the visit of the items that are read."""

    def __init__(self, header: Segment, patient: PatientGroup, event: Segment | None) -> None:
        self.header = header
        self.event = event
        self.patient = patient.patient
        self.groups = patient.groups
        visit = patient.first("PV1")
        self.visit = visit.head if visit is not None else None
        self.code = header.text(9, 1).upper()
        self.trigger = (header.text(9, 2) or (event.text(1) if event is not None else "")).upper()
        self.encounter = self._encounter()

    def transmitter(self) -> list[AuthorshipEvidence]:
        return transmitter(self.header)

    def happened(self) -> ClinicalTime | None:
        """When the message's event was recorded: EVN-2, else MSH-7. Only for acts that are events by themselves."""
        at = time_in(self.event, 2) if self.event is not None else None
        return at or time_in(self.header, 7)

    def visit_number(self) -> BusinessIdentifier | None:
        """PV1-19, else the alternate visit id PV1-50, else the account number PID-18."""
        if self.visit is None:
            return None
        number = extended_id(self.visit.first(19)) or extended_id(self.visit.first(50))
        if number is None and self.patient is not None:
            number = extended_id(self.patient.head.first(18))
        return number

    def _encounter(self) -> str:
        number = self.visit_number()
        return f"encounter/{number}" if number is not None else ""

    def refer_to_visit(self, draft: Draft) -> None:
        """This item belongs to the visit of its message."""
        draft.refer("encounter/PV1-19", self.encounter)


def key_of(*parts: object) -> str:
    """Parts of a record's name; empty if the first says nothing."""
    told = [concept_key(part) if isinstance(part, CodedText) else str(part or "") for part in parts]
    return "/".join(told).rstrip("/") if told and told[0] else ""


def concept_key(concept: CodedText | None) -> str:
    """What tells a concept from others in a record's name: its first code as sent, else its text, folded."""
    if concept is None:
        return ""
    for coding in concept.codings:
        if coding.code:
            return f"{coding.system}|{coding.code}"
    return " ".join(concept.display.casefold().split())


def notes(draft: Draft, group: Group, *more: Segment) -> None:
    """The notes of an item as texts with their own authors; notes of one author that follow each other are one."""
    runs: list[list[Segment]] = []
    for note in [*(s for s in group.attached if s.name == "NTE"), *more]:
        if not note.literal(3):
            continue
        alike = runs and _signature(runs[-1][-1]) == _signature(note)
        if alike:
            runs[-1].append(note)
        else:
            runs.append([note])
    for run in runs:
        lines = [line for note in run for line in _lines(note)]
        first = run[0]
        title = first.text(4, 2) or first.text(4, 1)
        draft.texts.append(
            Text(
                tuple(run),
                3,
                "\n".join(lines),
                title,
                note_author(first, draft.evidence),
                time_of(first.first(6)) or time_of(first.first(7)),
            )
        )
    if runs:
        before = draft.fields.get("note_count", 0)
        draft.set("note_count", len(runs) + (before if isinstance(before, int) else 0))


def withdraw(draft: Draft, context: Context) -> None:
    """A delete or a cancellation is an act of its message: its time orders it after what it takes back."""
    if draft.withdrawn:
        draft.times = [timed for timed in draft.times if timed.clock in _OF_THE_THING]
        draft.time(Clock.STATUS_CHANGED, context.happened())


def _signature(note: Segment) -> tuple[str, ...]:
    return tuple(note.field(number) for number in (2, 4, 5, 6, 7))


def _lines(segment: Segment) -> list[str]:
    """NTE-3 repeats for lines."""
    return [each.literal.strip("\n") for each in segment.repetitions(3)]


def lines_of(segments: Iterable[Segment], number: int) -> str:
    """The text of one field over several segments, a line for each repetition."""
    return "\n".join(each.literal.strip("\n") for segment in segments for each in segment.repetitions(number))

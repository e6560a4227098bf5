"""Whose is a message or batch, by its own word? The numbers (PID-3) of its patients."""

from __future__ import annotations

from typing import Final

from iamata.connectors.hl7v2.decoding import decode
from iamata.connectors.hl7v2.grouping import patients
from iamata.connectors.hl7v2.values import person_name
from iamata.errors import BadInput

# Identifier types that are numbers of the state (HL7 table 0203: social security), no names for a record.
_WITHHELD: Final = frozenset({"SS"})


def patients_named(body: bytes) -> tuple[int, tuple[str, ...]]:
    """How many patients the messages are about (told apart by PID-3, without one by name and birth), and the numbers of
    the one if there is one."""
    try:
        decoded = decode(body)
    except BadInput:
        return 0, ()
    heads = [
        part.patient.head
        for message in decoded.messages
        if not message.fault
        for part in patients(message.segments)
        if part.patient is not None
    ]
    people: list[set[str]] = []
    for head in heads:
        repeated = [each for each in head.repetitions(3) if each.text()]
        ids = {f"#{each.text()}" for each in repeated if each.text(5) not in _WITHHELD}
        marks = ids or {f"{person_name(head.first(5)).casefold()}|{head.text(7)[:8]}"}
        joined = [person for person in people if person & marks]
        people = [person for person in people if not person & marks]
        people.append(marks.union(*joined))
    if len(people) != 1:
        return len(people), ()
    return 1, tuple(sorted(mark[1:] for mark in people[0] if mark.startswith("#")))

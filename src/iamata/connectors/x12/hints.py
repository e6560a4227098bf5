"""Whose is an interchange, by its own word? The numbers (NM109) that its patients are named with."""

from __future__ import annotations

from typing import Final

from iamata.connectors.x12.decoding import decode
from iamata.connectors.x12.envelopes import envelopes
from iamata.connectors.x12.people import Patients
from iamata.connectors.x12.reader import items_of
from iamata.errors import BadInput

# A number of the state is no name for a record: it must not stand in paths and logs.
_SOCIAL_SECURITY: Final = "http://hl7.org/fhir/sid/us-ssn"


def patients_named(body: bytes) -> tuple[int, tuple[str, ...]]:
    """How many patients the items are about, and the numbers of the one if there is one."""
    try:
        found = envelopes(decode(body).segments)
        items = [item for transaction in found.transactions for item in items_of(transaction)[0]]
    except BadInput:
        return 0, ()
    persons = [item.person for item in items if item.person is not None]
    count = Patients(persons, "").count
    if count != 1:
        return count, ()
    withheld = {
        each.value
        for item in items
        for draft in item.drafts
        for each in draft.identifiers
        if each.system == _SOCIAL_SECURITY
    }
    return 1, tuple(sorted({id for person in persons for id in person.ids} - withheld))

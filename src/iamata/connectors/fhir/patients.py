"""Whose items are these? One submission is one patient's; items of another patient are set aside, never formed.

The submission's patient is the one most items name, else the only Patient resource. A tie is broken by the
subject of a Composition, then by the id the submission is filed under; what stays a tie names nobody, and everything
that names a patient is set aside. The order of entries never matters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from iamata.connectors.fhir.entries import Item
from iamata.connectors.fhir.references import literal_type, reference, without_version
from iamata.connectors.fhir.values import WrongShape
from iamata.model.statement import Reference

# The element that says who an item is about (FHIR R4 patient compartment), by type; `subject` where not listed.
SUBJECTS = {
    "AllergyIntolerance": "patient",
    "Claim": "patient",
    "ClaimResponse": "patient",
    "Consent": "patient",
    "Coverage": "beneficiary",
    "DetectedIssue": "patient",
    "Device": "patient",
    "DeviceUsage": "patient",
    "ExplanationOfBenefit": "patient",
    "FamilyMemberHistory": "patient",
    "Immunization": "patient",
    "NutritionOrder": "patient",
    "RelatedPerson": "patient",
}
# Types whose items are about somebody or something other than a patient when their subject is one of these.
_OTHERS = {
    "Group": "a group",
    "Device": "a device",
    "Location": "a location",
    "Practitioner": "a practitioner",
    "PractitionerRole": "a practitioner",
    "RelatedPerson": "a related person",
    "Organization": "an organization",
    "Specimen": "a specimen",
    "Substance": "a substance",
    "Medication": "a medication",
}
# Subjects of an Observation's focus that make it a finding about somebody else (FHIR R4 Observation.focus).
_OTHER_PEOPLE = frozenset({"Patient", "RelatedPerson", "Group"})


class Belonging(NamedTuple):
    """`other`: of another patient. `reason`: why it is not an item of this patient; both empty if it is."""

    other: bool
    reason: str


MINE = Belonging(False, "")


class Patients:
    """Decides for each item of one submission whether it is about the submission's patient."""

    def __init__(self, items: Iterable[Item], subject_id: str) -> None:
        items = list(items)
        self._types: dict[str, str] = {}
        self._identifiers: dict[str, str] = {}
        self._systems: dict[str, set[str]] = {}
        self._alias: dict[str, str] = {}
        outer = [item for item in items if item.container is None]
        self._types.update((item.record.url, item.type) for item in outer if item.record.url)
        people = [item for item in outer if item.type == "Patient"]
        # Those with an id first, so that a resource named by URL alone finds the id that its URL belongs to.
        people.sort(key=lambda item: (not item.record.reference, item.record.reference, item.record.url))
        own = {self._register(item) for item in people}
        self._chosen = self._choose(items, own, subject_id)

    def _register(self, patient: Item) -> str:
        """The key of a Patient resource; its other names lead to it."""
        record = patient.record
        names = [_tail(name) for name in (record.reference, record.url) if name]
        key = self._alias.get(names[0], names[0]) if names else patient.place
        for name in names:
            self._alias[name] = key
        for identifier in record.identifiers:
            self._identifiers[str(identifier)] = key
            self._systems.setdefault(identifier.system, set()).add(key)
        return key

    def _choose(self, items: list[Item], own: set[str], subject_id: str) -> str | None:
        """The key of the submission's patient; None if nothing names one, empty if several are named equally often."""
        votes: Counter[str] = Counter()
        composed: set[str] = set()
        for item in items:
            if item.type in ("Patient", "Provenance") or item.container is not None:
                continue
            key = self._key(_subject(item), item)
            if key:
                votes[key] += 1
                if item.type == "Composition":
                    composed.add(key)
        if not votes:
            if len(own) > 1:
                return subject_id if subject_id in own else ""
            return next(iter(own), None)
        most = max(votes.values())
        leaders = {key for key, count in votes.items() if count == most}
        for narrower in (composed, {subject_id}, own):
            if len(leaders) > 1 and leaders & narrower:
                leaders &= narrower
        return leaders.pop() if len(leaders) == 1 else ""

    def belonging(self, item: Item) -> Belonging:
        """Is this item the patient's? Items that name nobody, and persons, places and things beside them, are."""
        if item.container is not None:
            outer = self.belonging(item.container)
            if outer is not MINE:
                return Belonging(outer.other, f"contained in an item {outer.reason}")
        if item.type == "Patient":
            if item.container is not None:
                return MINE
            names = [_tail(name) for name in (item.record.reference, item.record.url) if name]
            key = self._alias.get(names[0], names[0]) if names else item.place
            return MINE if self._chosen in (key, None) else self._not_mine()
        subject = _subject(item)
        if subject is None:
            return MINE
        if item.type == "Observation" and (about := self._focus(item)):
            return Belonging(False, about)
        type = self._type(subject, item)
        if type in _OTHERS:
            return Belonging(False, f"about {_OTHERS[type]}, not about a patient")
        key = self._key(subject, item)
        if not key or self._chosen is None or key == self._chosen:
            return MINE
        return self._not_mine()

    def is_subject(self, patient: Item) -> bool:
        """Is this contained Patient the one its container is about?"""
        if patient.container is None:
            return True
        subject = _subject(patient.container)
        name = patient.resource.get("id")
        return subject is not None and isinstance(name, str) and subject.reference.removeprefix("#") == name

    def _not_mine(self) -> Belonging:
        if self._chosen == "":
            return Belonging(True, "of one of several patients that are named equally often")
        return Belonging(True, "of another patient")

    def _focus(self, item: Item) -> str:
        focus = item.resource.get("focus")
        for each in focus if isinstance(focus, list) else ():
            found = _named(each, "focus")
            if found is None:
                continue
            type = self._type(found, item)
            if type in _OTHER_PEOPLE and not (type == "Patient" and self._key(found, item) == self._chosen):
                return "about its focus, not about the patient"
        return ""

    def _type(self, subject: Reference, item: Item) -> str:
        literal = without_version(subject.reference)
        if literal.startswith("#"):
            container = item.container or item
            for inner in container.contained:
                if inner.resource.get("id") == literal[1:]:
                    return inner.type
            return ""
        return self._types.get(literal) or literal_type(literal, subject.type)

    def _key(self, subject: Reference | None, item: Item) -> str:
        """What tells the patient named by this reference from others; empty if it does not tell."""
        if subject is None:
            return ""
        literal = without_version(subject.reference)
        if literal.startswith("#"):
            for inner in (item.container or item).contained:
                if inner.type == "Patient" and inner.resource.get("id") == literal[1:]:
                    return next((k for i in inner.record.identifiers if (k := self._identifiers.get(str(i)))), "")
            return ""
        identifier = subject.identifier
        if "?" in literal:
            query = literal.partition("identifier=")[2].partition("&")[0]
            literal, identifier = "", query.replace("%7C", "|").replace("%7c", "|") or identifier
        if literal:
            type = self._type(subject, item)
            if type and type != "Patient":
                return ""
            tail = _tail(literal)
            return self._alias.get(tail, tail)
        if not identifier:
            return ""
        if identifier in self._identifiers:
            return self._identifiers[identifier]
        # A number of a system whose numbers the chosen patient states otherwise is another patient's.
        system = identifier.rpartition("|")[0]
        return identifier if self._systems.get(system) else ""


def _subject(item: Item) -> Reference | None:
    """The reference of the element that says who the item is about; None if it is absent or no reference."""
    element = SUBJECTS.get(item.type, "subject")
    value = item.resource.get(element)
    if isinstance(value, list):
        value = value[0] if value else None
    return _named(value, element) if value is not None else None


def _named(value: object, element: str) -> Reference | None:
    """A reference, or None if it names nothing or is none (then reading the item says so)."""
    try:
        return reference(value, element)
    except WrongShape:
        return None


def _tail(name: str) -> str:
    """The last part of a name: the id in `Type/id`, `https://server/Type/id` and `urn:uuid:id`."""
    return name.rsplit("/", 1)[-1].removeprefix("urn:uuid:").removeprefix("urn:oid:")

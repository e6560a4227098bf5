"""Who has a hand in a document and its parts? Persons, institutions and devices, and evidence of what each did.

CDA R2: `assignedAuthor`, `assignedEntity`, `relatedEntity`, `associatedEntity` and `participantRole`. A participation
may give an id only, when the person is described elsewhere in the document (C-CDA R2.1, Author Participation). Not
here: who counts as the author; that is resolved when facts are formed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from iamata.connectors.ccda import values
from iamata.connectors.ccda.drafts import Draft, Evidence
from iamata.connectors.ccda.nodes import Node
from iamata.connectors.ccda.values import Values
from iamata.model.attribution import AuthorshipEvidence, Part
from iamata.model.statement import Domain, Kind
from iamata.terminology import cda
from iamata.terminology.names import fold

ROLES: Final = ("assignedAuthor", "assignedEntity", "relatedEntity", "associatedEntity", "intendedRecipient")
_PERSONS: Final = ("assignedPerson", "relatedPerson", "associatedPerson", "informationRecipient", "playingEntity")
_ORGANIZATIONS: Final = (
    "representedOrganization",
    "scopingOrganization",
    "receivedOrganization",
    "representedCustodianOrganization",
    "scopingEntity",
)
_WORDS: Final = {
    "Practitioner": "practitioner",
    "RelatedPerson": "related_person",
    "Organization": "organization",
    "Device": "device",
}
# HL7 RoleCode, RoleClass: codes of a role in these systems may say what somebody is to the patient.
_RELATIONSHIPS: Final = frozenset({"2.16.840.1.113883.5.111", "2.16.840.1.113883.5.110", ""})
# Health Care Provider Taxonomy (NUCC) and SNOMED CT: code systems of a provider's role in C-CDA.
_PROVIDERS: Final = frozenset({"2.16.840.1.113883.6.101", "2.16.840.1.113883.6.96"})
# Participations of an entry and the part each plays (CDA R2; `author` and `informant` are read by themselves).
# Of each part, from an act to each act inside it: many acts would otherwise keep many authors each.
MOST_INHERITED: Final = 100
PARTS: Final = {"author": Part.AUTHOR, "informant": Part.INFORMANT, "performer": Part.PERFORMER}


class Person:
    """One role element read: what it is, its first id, its name, and the element with most about it."""

    __slots__ = ("draft", "id", "name", "node", "organization", "type")

    def __init__(self, type: str, id: str, name: str, organization: str, node: Node) -> None:
        self.type = type
        self.id = id
        self.name = name
        self.organization = organization
        self.node = node
        self.draft: Draft | None = None


class People:
    """The people of one document. `patient` is the draft of the patient's demographics, once it is known."""

    def __init__(self, root: Node, readings: Values) -> None:
        self._values = readings
        self._patient_ids = _patient_ids(root)
        self._described: dict[str, Node] = {}
        self._known: dict[tuple[str, str, str], Person] = {}
        self.patient: Draft | None = None
        for node in root.iter():
            if node.name in ROLES and (id := values.first_id(node)):
                best = self._described.get(id)
                if _says_who(node) and (best is None or _fullness(node) > _fullness(best)):
                    self._described[id] = node

    def drafts(self) -> Iterator[Draft]:
        """Everyone met so far, in the order of meeting."""
        for person in self._known.values():
            if person.draft is not None:
                yield person.draft

    def person(self, node: Node) -> Person | None:
        """Who a role element is; None if it says nothing. The patient in another role is the patient."""
        id = values.first_id(node)
        full = node
        if not _says_who(node) and id in self._described:
            full = self._described[id]
        type, name, organization = self._type(node, full), self._name(full), self._organization(full)
        if not (id or name or organization):
            return None
        if type == "Patient" and self.patient is not None:
            found = Person("Patient", id, name, organization, full)
            found.draft = self.patient
            return found
        key = (type, id, fold(name or organization))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Person(type, id, name, organization, full)
            known.draft = self._draft(known) if type in _WORDS else None
        elif _fullness(full) > _fullness(known.node):
            known.node = full
            if known.draft is not None:
                self._describe(known, known.draft)
        return known

    def _type(self, node: Node, full: Node) -> str:
        """Patient, RelatedPerson, Practitioner, Organization or Device; empty when nothing tells."""
        if self._patient_ids & {str(i) for i in values.identifiers(node)}:
            return "Patient"
        told = _relationship(node) or _relationship(full)
        if told:
            return told
        if full.one("assignedAuthoringDevice") is not None and full.one("assignedPerson") is None:
            return "Device"
        if full.name in ("relatedEntity", "associatedEntity"):
            told = cda.role("class", full.get("classCode"))
            if told:
                return told
            if full.name == "relatedEntity":
                return "RelatedPerson"
        if self._name(full):
            return "Practitioner"
        if self._organization(full):
            return "Organization"
        code = full.one("code")  # a role by its code alone: a taxonomy of providers, or a role in SNOMED CT
        return "Practitioner" if code is not None and code.get("codeSystem") in _PROVIDERS else ""

    def _name(self, node: Node) -> str:
        for element in _PERSONS:
            found = values.name(node.one(element))
            if found:
                return found
        device = node.one("assignedAuthoringDevice")
        if device is not None:
            return self.device_name(device)
        return ""

    def device_name(self, device: Node) -> str:
        named = (device.one("softwareName"), device.one("manufacturerModelName"))
        return next(
            (said for each in named if each is not None and (said := each.get("displayName") or each.words)), ""
        )

    def _organization(self, node: Node) -> str:
        for element in _ORGANIZATIONS:
            found = node.one(element)
            if found is not None and (said := values.name(found) or _described(found)):
                return said
        return ""

    def organization(self, node: Node) -> Draft | None:
        """An organization element (`providerOrganization`, a custodian's) as a person that can be an author."""
        name = values.name(node)
        id = values.first_id(node)
        if not name and not id:
            return None
        key = ("Organization", id, fold(name))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Person("Organization", id, name, name, node)
            known.draft = self._draft(known)
        return known.draft

    def _draft(self, person: Person) -> Draft:
        draft = Draft(
            kind=Kind.PERSON,
            type=person.type,
            place=person.node.place,
            content=[],
            own_id=person.id,
            evidence=[(AuthorshipEvidence(Part.NONE, person.type), None)],
            domain=Domain.ADMINISTRATIVE,
            fields={},
        )
        self._describe(person, draft)
        return draft

    def _describe(self, person: Person, draft: Draft) -> None:
        """Name, role and contact; what depends on the occasion (times, functions) is not part of the person."""
        node = person.node
        draft.ids = values.identifiers(node)
        draft.set("name", person.name or person.organization)
        draft.set("type", _WORDS.get(person.type, ""))
        if person.organization and person.organization != person.name and person.type != "Organization":
            draft.set("organization", person.organization)
        draft.set("telecom", values.telecoms(node))
        draft.set("address", values.addresses(node))
        draft.set("npi", values.npi(node))
        code = self._values.coded(node.one("code"))
        if code is not None:
            draft.set("relationship" if person.type == "RelatedPerson" else "specialty", code)
        if person.type == "RelatedPerson" and code is None and node.get("classCode"):
            draft.set("relationship", node.get("classCode"))
        draft.content = [
            person.type,
            [str(i) for i in draft.ids],
            [[n, str(v)] for n, v in sorted(draft.fields.items())],
        ]

    def evidence(self, node: Node, element: str, part: Part) -> Iterator[Evidence]:
        """The evidence of one participation with the draft it refers to: the person or device, and whose behalf."""
        role = next((child for child in node.children if child.name in (*ROLES, "participantRole")), None)
        if role is None:
            return
        person = self.person(role)
        time = node.one("time")
        at = (time.get("value") or (time.one("low") or time).get("value")) if time is not None else ""
        if person is None:
            return
        shown = person.name or person.organization
        if person.type == "Device":
            part = Part.INSTRUMENT if part is Part.PERFORMER else part
        code = role.one("code")
        said = code.get("code") if code is not None else ""
        type = person.type
        yield AuthorshipEvidence(part, element, "", type, _identifier(person.id), shown, said, at), person.draft
        if person.organization and type not in ("Organization", "Patient"):
            yield AuthorshipEvidence(Part.ON_BEHALF_OF, element, display=person.organization), None

    def of(self, node: Node, ancestors: Iterable[Node]) -> list[Evidence]:
        """Evidence of an entry: its own participations, else those of the acts around it in the same entry.

        Each part is inherited by itself, nearest first, at most MOST_INHERITED of it. `element` is `author/0`,
        inherited `act/author/0`.
        """
        found: list[Evidence] = []
        around = list(ancestors)
        for name, part in PARTS.items():
            own = list(self._named(node, name, part, ""))
            for ancestor in reversed(around):
                if own:
                    break
                own = list(self._named(ancestor, name, part, f"{ancestor.name}/", MOST_INHERITED))
            found += own
        return found

    def _named(self, node: Node, name: str, part: Part, prefix: str, most: int | None = None) -> Iterator[Evidence]:
        for index, each in enumerate(node.all(name)[:most]):
            yield from self.evidence(each, f"{prefix}{name}/{index}", part)


def _patient_ids(root: Node) -> frozenset[str]:
    roles = [node for target in root.all("recordTarget") if (node := target.one("patientRole")) is not None]
    if root.name == "recordTarget" and (role := root.one("patientRole")) is not None:
        roles.append(role)
    return frozenset(str(i) for role in roles[:1] for i in values.identifiers(role))


def _relationship(node: Node) -> str:
    code = node.one("code")
    if code is None or code.get("codeSystem") not in _RELATIONSHIPS:
        return ""
    return cda.role("code", code.get("code"))


def _says_who(node: Node) -> bool:
    return any(
        child.name in _PERSONS or child.name in _ORGANIZATIONS or child.name == "assignedAuthoringDevice"
        for child in node.children
    )


def _fullness(node: Node) -> int:
    return sum(1 for _ in node.iter())


def _identifier(id: str) -> str:
    return id if "|" in id or not id else f"|{id}"


def _described(node: Node) -> str:
    """A scoping entity has a description instead of a name."""
    description = node.one("desc")
    return description.words if description is not None else ""

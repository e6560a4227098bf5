"""Which source holds which thing, how often, and what does each then send? Builds the documents and remembers the truth.

A `Draft` is an item on its way: what was written, of which thing, in which round its source sends it. Not here: what a
rendering looks like (`fhir`) and which conflicts are planted (`plants`).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evals.generator import fhir
from evals.generator.fhir import Written
from evals.generator.noise import Profile, profiles
from evals.generator.person import Identity
from evals.generator.truth import Clash, Document, Item, Marks, Thing, World, fhir_document

WRITERS: Mapping[str, Callable[[Thing, Profile, random.Random], Written]] = {
    "condition": fhir.condition,
    "allergy": fhir.allergy,
    "immunization": fhir.immunization,
    "observation": fhir.observation,
    "social_history": fhir.smoking,
    "encounter": fhir.encounter,
    "procedure": fhir.procedure,
    "family_history": fhir.relative,
    "insurance": fhir.coverage,
}
NUMBERED = ("observation", "medication", "encounter", "immunization", "procedure")
SUBJECT = {
    "AllergyIntolerance": "patient",
    "Immunization": "patient",
    "FamilyMemberHistory": "patient",
    "Coverage": "beneficiary",
}


@dataclass(eq=False)
class Draft:
    """An item on its way. `owner_id` is the logical id of the Patient it names in its source."""

    source: str
    resource: dict[str, Any]
    marks: Marks
    kind: str
    truth: str
    round: int = 0
    owner: str = "self"
    owner_id: str = ""
    set_aside: bool = False
    open: bool = False


class Scatter:
    """The patient over sources, being made. `drafts` are in the order of making; ids are given by `world`."""

    def __init__(self, seed: str, noise: str, who: Identity, sources: int, chance: random.Random) -> None:
        self.seed, self.noise, self.who, self.chance = seed, noise, who, chance
        self.profiles = profiles(noise, sources, chance)
        self.things: dict[str, Thing] = {}
        self.drafts: list[Draft] = []
        self.clashes: list[tuple[tuple[str, ...], list[Draft], list[Draft], str, bool]] = []
        self.superseded: list[Draft] = []
        self.open_pairs: set[tuple[str, str]] = set()
        self.strangers: dict[str, Identity] = {}
        self._numbers = 0

    def number(self) -> str:
        """A fresh logical id within this world."""
        self._numbers += 1
        return f"{self._numbers:04}"

    def know(self, thing: Thing) -> Thing:
        self.things[thing.id] = thing
        return thing

    def holders(self, thing: Thing) -> list[Profile]:
        """The sources that hold a thing: most are held by two or three."""
        count = min(len(self.profiles), self.chance.choice([1, 2, 2, 3, 3, 4]))
        return self.chance.sample(self.profiles, count)

    def put(
        self, profile: Profile, thing: Thing, written: Written, *, identifier: str = "", id: str = "", round: int = 0
    ) -> Draft:
        """Add one item; `identifier` is the number that every source with identifiers writes."""
        resource, marks = written
        resource = {
            "resourceType": resource["resourceType"],
            "id": id or f"{profile.name[:2]}{self.number()}",
            **resource,
        }
        resource = resource | {"id": id or resource["id"]}
        if identifier:
            resource["identifier"] = [{"system": "https://ids.example.org/orders", "value": identifier}]
            marks = replace(marks, identifiers=frozenset({identifier}))
        elif thing.kind in NUMBERED:
            own = f"{profile.name}-{self.number()}"
            resource["identifier"] = [{"system": f"https://{profile.name}.example.org/ids", "value": own}]
            marks = replace(marks, identifiers=frozenset({own}), noise=(*marks.noise, "other identifiers"))
        draft = Draft(profile.name, resource, marks, thing.kind, thing.id, round)
        self.drafts.append(draft)
        return draft

    def spread(self, thing: Thing) -> list[Draft]:
        """Write a thing down in some of the sources, each in its own way."""
        self.know(thing)
        made = []
        if thing.kind == "medication":
            for number, course in enumerate(thing.about["courses"]):
                shared = f"{self.seed}-{thing.id.rpartition('/')[2]}-{number}"
                for profile in self.holders(thing):
                    written = fhir.medication(thing, profile, course)
                    made.append(self.put(profile, thing, written, identifier=shared if profile.identifiers else ""))
            return made
        write = fhir.blood_pressure if thing.about.get("panel") else WRITERS[thing.kind]
        shared = f"{self.seed}-{thing.id.replace('/', '-')}" if thing.kind in NUMBERED else ""
        for profile in self.holders(thing):
            written = write(thing, profile, self.chance)
            made.append(self.put(profile, thing, written, identifier=shared if profile.identifiers else ""))
        return made

    def clash(
        self, kinds: tuple[str, ...], left: list[Draft], right: list[Draft], why: str, *, required: bool = True
    ) -> None:
        self.clashes.append((kinds, left, right, why, required))

    def resend(self, source: str, share: float) -> None:
        """The source sends some of what it sent again, unchanged, in a later document."""
        sent = [d for d in self.drafts if d.source == source and d.round == 0 and not d.set_aside]
        for draft in self.chance.sample(sent, int(len(sent) * share)):
            marks = replace(draft.marks, noise=(*draft.marks.noise, "sent again"))
            self.drafts.append(replace(draft, round=1, marks=marks))

    def world(self, doubted: Sequence[str] = ()) -> World:
        """Give out ids and write the documents, round by round."""
        documents: list[Document] = []
        items: list[Item] = []
        ids: dict[int, str] = {}
        for round in sorted({draft.round for draft in self.drafts}):
            for source in dict.fromkeys(draft.source for draft in self.drafts if draft.round == round):
                mine = [d for d in self.drafts if d.source == source and d.round == round]
                number = len(documents)
                entries: list[dict[str, Any]] = []
                for owner in dict.fromkeys(d.owner_id for d in mine):
                    entries.append(self._patient(source, owner))
                for index, entry in enumerate(entries):
                    aside = any(
                        d.set_aside
                        for d in mine
                        if f"Patient/{d.owner_id or f'{source}-pat'}" == f"Patient/{entry['id']}"
                    )
                    owner = "stranger" if entry["id"] in self.strangers else "self"
                    items.append(
                        Item(
                            f"{number}:{index}",
                            source,
                            number,
                            index,
                            f"Patient/{entry['id']}",
                            "demographic",
                            owner,
                            Marks(),
                            owner,
                            aside,
                            True,
                        )
                    )
                for draft in mine:
                    index = len(entries)
                    entries.append(self._owned(draft))
                    ids[id(draft)] = f"{number}:{index}"
                    items.append(
                        Item(
                            f"{number}:{index}",
                            source,
                            number,
                            index,
                            f"{draft.resource['resourceType']}/{draft.resource['id']}",
                            draft.kind,
                            draft.truth,
                            draft.marks,
                            draft.owner,
                            draft.set_aside,
                            draft.open,
                        )
                    )
                documents.append(fhir_document(source, entries))
        clashes = tuple(
            Clash(kinds, tuple(ids[id(d)] for d in left), tuple(ids[id(d)] for d in right), why, required)
            for kinds, left, right, why, required in self.clashes
        )
        return World(
            self.seed,
            self.noise,
            dict(self.things),
            tuple(documents),
            tuple(items),
            clashes,
            tuple(ids[id(d)] for d in self.superseded),
            frozenset(self.open_pairs),
            frozenset(doubted),
        )

    def _owned(self, draft: Draft) -> dict[str, Any]:
        resource: dict[str, Any] = json.loads(json.dumps(draft.resource))
        element = SUBJECT.get(resource["resourceType"], "subject")
        resource[element] = {"reference": f"Patient/{draft.owner_id or f'{draft.source}-pat'}"}
        return resource

    def _patient(self, source: str, owner: str) -> dict[str, Any]:
        who = self.strangers.get(owner, self.who)
        number = who.number if owner else f"{source}-{who.number}"
        return {
            "resourceType": "Patient",
            "id": owner or f"{source}-pat",
            "identifier": [{"system": f"https://{source}.example.org/mrn", "value": number}],
            "name": [{"family": who.family, "given": [who.given]}],
            "gender": who.sex,
            "birthDate": who.born,
        }

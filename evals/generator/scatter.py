"""Which source holds which thing, how often, and what does each send of it? Builds documents, remembers the truth.

A `Draft` is an item on its way: what was written, of which thing, in which round its source sends it. Not here: what a
rendering looks like (`fhir`) and which conflicts are planted (`plants`).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evals.generator import ccda, fhir, hl7v2
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
OTHER_FORMATS = {"ccda": ccda, "hl7v2": hl7v2}
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
    free: bool = False  # may be written in another format


def _freed(drafts: list[Draft]) -> list[Draft]:
    for draft in drafts:
        draft.free = True
    return drafts


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
        self._counters: dict[str, int] = {}

    def number(self) -> str:
        """A fresh logical id within this world."""
        self._numbers += 1
        return f"{self._numbers:04}"

    def _local(self, source: str) -> int:
        """Each source counts its own records, so two sources call two things by one logical id."""
        self._counters[source] = self._counters.get(source, 0) + 1
        return self._counters[source]

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
        own_id = id or f"i{self._local(profile.name)}"
        resource = {"resourceType": resource["resourceType"], "id": own_id, **resource}
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
            return _freed(made)
        write = fhir.blood_pressure if thing.about.get("panel") else WRITERS[thing.kind]
        shared = f"{self.seed}-{thing.id.replace('/', '-')}" if thing.kind in NUMBERED else ""
        for profile in self.holders(thing):
            written = write(thing, profile, self.chance)
            made.append(self.put(profile, thing, written, identifier=shared if profile.identifiers else ""))
        return _freed(made)

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
        """Give out ids and write the documents, round by round, each source in its formats."""
        documents: list[Document] = []
        items: list[Item] = []
        ids: dict[int, str] = {}
        formats = {profile.name: profile.format for profile in self.profiles}
        for round in sorted({draft.round for draft in self.drafts}):
            for source in dict.fromkeys(draft.source for draft in self.drafts if draft.round == round):
                mine = [d for d in self.drafts if d.source == source and d.round == round]
                format = formats.get(source, "fhir")
                other = [
                    d for d in mine if d.free and format in OTHER_FORMATS and OTHER_FORMATS[format].can(d.resource)
                ]
                for drafts, write in (([d for d in mine if d not in other], self._bundle), (other, self._message)):
                    if drafts:
                        body, places = write(source, format, drafts)
                        number = len(documents)
                        documents.append(body)
                        self._list(number, source, drafts, places, items, ids)
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

    def _list(
        self, number: int, source: str, drafts: list[Draft], places: list[str], items: list[Item], ids: dict[int, str]
    ) -> None:
        """The items of one document: its people first, then the drafts, in the order of their places."""
        people = places[: len(places) - len(drafts)]
        for index, (place, owner_id) in enumerate(zip(people, dict.fromkeys(d.owner_id for d in drafts), strict=False)):
            owner = "stranger" if owner_id in self.strangers else "self"
            aside = any(d.set_aside for d in drafts if d.owner_id == owner_id)
            reference = f"Patient/{owner_id or f'{source}-pat'}"
            items.append(
                Item(
                    f"{number}:{index}",
                    source,
                    number,
                    place,
                    reference,
                    "demographic",
                    owner,
                    Marks(),
                    owner,
                    aside,
                    True,
                )
            )
        for index, (place, draft) in enumerate(zip(places[len(people) :], drafts, strict=True), start=len(people)):
            ids[id(draft)] = f"{number}:{index}"
            marks = draft.marks
            if not place.startswith("/entry/"):  # another format writes its own numbers
                own = frozenset({f"{source} {draft.resource['id']}"})
                marks = replace(marks, identifiers=own, noise=(*marks.noise, self._format(source)))
            items.append(
                Item(
                    f"{number}:{index}",
                    source,
                    number,
                    place,
                    f"{draft.resource['resourceType']}/{draft.resource['id']}",
                    draft.kind,
                    draft.truth,
                    marks,
                    draft.owner,
                    draft.set_aside,
                    draft.open,
                )
            )

    def _format(self, source: str) -> str:
        return next(profile.format for profile in self.profiles if profile.name == source)

    def _bundle(self, source: str, format: str, drafts: list[Draft]) -> tuple[Document, list[str]]:
        entries = [self._patient(source, owner) for owner in dict.fromkeys(d.owner_id for d in drafts)]
        entries += [self._owned(draft) for draft in drafts]
        return fhir_document(source, entries), [f"/entry/{index}/resource" for index in range(len(entries))]

    def _message(self, source: str, format: str, drafts: list[Draft]) -> tuple[Document, list[str]]:
        writer = OTHER_FORMATS[format]
        body, places = writer.write(self._patient(source, ""), [self._owned(draft) for draft in drafts])
        return Document(source, writer.FORMAT, body), places

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

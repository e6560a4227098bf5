"""Whose items are these? Persons named in a document, told apart by member number, name and birth date.

One submission is of one patient: the one whose number is the submission's own patient id, else the one most often
named. Items of others are set aside. Not here: reading names (`values`), and whether two sources mean one person.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from iamata.terminology.names import fold


class Person(msgspec.Struct, frozen=True):
    """A patient as one item names them; any of it may be missing."""

    family: str = ""
    given: str = ""
    born: str = ""
    ids: frozenset[str] = frozenset()

    @property
    def name(self) -> tuple[str, str]:
        return fold(self.family), fold(self.given)


class _Group:
    def __init__(self, first: Person) -> None:
        self.name = first.name
        self.born = first.born
        self.ids = set(first.ids)

    def holds(self, person: Person) -> bool:
        """One person: nothing contradicts, and the name or a number agrees."""
        if self.born and person.born and self.born != person.born:
            return False
        shared = bool(self.ids & person.ids)
        if not any(self.name) or not any(person.name):
            return shared
        return self.name == person.name and (shared or not self.ids or not person.ids)

    def take(self, person: Person) -> None:
        self.ids |= person.ids
        self.born = self.born or person.born
        if not any(self.name):
            self.name = person.name


class Patients:
    """Decides whether an item is the submission's patient's."""

    def __init__(self, persons: Iterable[Person], subject_id: str) -> None:
        self._group_of: dict[Person, int] = {}
        self._groups: list[_Group] = []
        near: dict[object, list[int]] = {}
        votes: Counter[int] = Counter()
        for person in persons:
            known = self._group_of.get(person)
            if known is None:
                known = self._join(person, near)
                self._group_of[person] = known
            votes[known] += 1
        self.chosen = self._choose(votes, subject_id)

    @property
    def count(self) -> int:
        return len(self._groups)

    def _join(self, person: Person, near: dict[object, list[int]]) -> int:
        keys: list[object] = [*sorted(person.ids), *([person.name] if any(person.name) else [])]
        for key in keys:
            for index in near.get(key, ()):
                if self._groups[index].holds(person):
                    self._groups[index].take(person)
                    self._remember(index, keys, near)
                    return index
        self._groups.append(_Group(person))
        self._remember(len(self._groups) - 1, keys, near)
        return len(self._groups) - 1

    def _remember(self, index: int, keys: list[object], near: dict[object, list[int]]) -> None:
        for key in keys:
            held = near.setdefault(key, [])
            if index not in held and len(held) < 50:  # a number shared by a whole family, not by a whole file
                held.append(index)

    def _choose(self, votes: Counter[int], subject_id: str) -> int | None:
        named = [index for index, group in enumerate(self._groups) if subject_id in group.ids]
        if len(named) == 1:
            return named[0]
        most = max((votes[index] for index in named or votes), default=0)
        leaders = [index for index in named or votes if votes[index] == most]
        return leaders[0] if len(leaders) == 1 else None

    def mine(self, person: Person | None) -> bool:
        """What is about nobody is kept with the patient."""
        return person is None or self._group_of[person] == self.chosen

    @property
    def reason(self) -> str:
        """Why an item that is not the patient's is set aside."""
        if self.chosen is None:
            return "of one of several patients that are named equally often"
        return "of another patient"

"""Which facts can be related to others though no source says so, and what are they to the knowledge tables?

Kept as facts come and go, so that one more result costs one look. Relates nothing: `inferred` does.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

import msgspec

from iamata.formation.recorded.said import Said
from iamata.model.clinical_time import ClinicalTime
from iamata.model.fact import Currency, Fact
from iamata.model.statement import Domain, Kind, Polarity, Standing, Verification
from iamata.terminology import knowledge

DAY_S: Final = 86_400
LONG_AGO: Final = -(10**15)
MOST: Final = 3  # conditions or drugs that one row of knowledge relates a fact to
KINDS: Final = frozenset({Kind.MEDICATION, Kind.CONDITION, Kind.OBSERVATION, Kind.ALLERGY, Kind.ENCOUNTER})
_NOT_SO: Final = frozenset({Standing.ENTERED_IN_ERROR, Standing.CANCELLED, Standing.NOT_DONE, Standing.DRAFT})


class Thing(msgspec.Struct, frozen=True, gc=False):
    """A fact with what the tables know it as, and the seconds at which it can have begun and ended."""

    fact: Fact
    group: str
    parts: frozenset[str]
    start: int
    end: int | None

    @property
    def order(self) -> tuple[int, str]:
        return self.start, self.fact.digest

    def meets(self, other: Thing) -> bool:
        """Can both have been so at one time? What has no known end may go on."""
        return (self.end is None or self.end + DAY_S >= other.start) and (
            other.end is None or other.end + DAY_S >= self.start
        )


class Shelf:
    """Things by what they are and what they are a kind of; the nearest in time of each own group can be asked for."""

    def __init__(self, things: Iterable[tuple[str, Thing]]) -> None:
        found: dict[str, dict[str, list[Thing]]] = defaultdict(lambda: defaultdict(list))
        for key, thing in things:
            found[key][thing.group].append(thing)
        self._things = {
            key: {group: sorted(all, key=lambda thing: thing.order) for group, all in sorted(groups.items())}
            for key, groups in found.items()
        }
        self._starts = {
            (key, group): [thing.start for thing in all]
            for key, groups in self._things.items()
            for group, all in groups.items()
        }

    def near(
        self, key: str, to: Thing, fits: Callable[[Thing, Thing], bool] = lambda thing, to: True
    ) -> Iterator[Thing]:
        """Of each group under this key the last that began before `to`, else the first after, if it fits and both can
        have been so at one time; the group itself first, at most `MOST`."""
        groups = self._things.get(key, {})
        found = 0
        for group in sorted(groups, key=lambda group: group != key):
            all = groups[group]
            at = bisect_right(self._starts[key, group], to.start if to.start != LONG_AGO else 10**15)
            for thing in all[max(at - 1, 0) : at + 1]:
                if thing.fact.id != to.fact.id and thing.meets(to) and fits(thing, to):
                    yield thing
                    found += 1
                    break
            if found == MOST:
                return

    def begun_within(self, key: str, start: int, end: int) -> Iterator[Thing]:
        """Of each group under this key the first that began from `start` to `end`; at most `MOST`."""
        for group, all in list(self._things.get(key, {}).items())[:MOST]:
            at = bisect_left(self._starts[key, group], start)
            if at < len(all) and all[at].start <= end:
                yield all[at]


class Things:
    """The facts of the `KINDS` that someone says are or were so; of results only those of tests that are known to be
    repeated for something."""

    def __init__(self, facts: Iterable[Fact], items: Mapping[str, Said]) -> None:
        """`items` are the statements by id."""
        self._by_id: dict[str, Thing] = {}
        self._by_kind: dict[Kind, list[Thing]] = defaultdict(list)
        self._by_test: dict[str, list[Thing]] = defaultdict(list)
        self._shelves: dict[Kind, Shelf] = {}
        for fact in facts:
            if (thing := _thing(fact, items)) is not None:
                self._by_id[fact.id] = thing
                self._row(thing)[0].append(thing)
        for all in self._by_kind.values():
            all.sort(key=_content)
        for all in self._by_test.values():
            all.sort(key=_moment)

    def change(self, gone: Iterable[str], come: Iterable[Fact], items: Mapping[str, Said]) -> None:
        """Take out the facts with these ids and put in these facts, in this order."""
        for id in gone:
            if (old := self._by_id.pop(id, None)) is not None:
                row, key = self._row(old)
                del row[bisect_left(row, key(old), key=key)]
                self._shelves.pop(old.fact.kind, None)
        for fact in come:
            if (new := _thing(fact, items)) is not None:
                self._by_id[fact.id] = new
                row, key = self._row(new)
                insort(row, new, key=key)
                self._shelves.pop(fact.kind, None)

    def _row(self, thing: Thing) -> tuple[list[Thing], Callable[[Thing], tuple[object, ...]]]:
        """Where it stands, and in which order."""
        if thing.fact.kind is Kind.OBSERVATION:
            return self._by_test[thing.group], _moment
        return self._by_kind[thing.fact.kind], _content

    def of(self, kind: Kind) -> Sequence[Thing]:
        """Those of a kind, but results, in the order of their content."""
        return self._by_kind[kind]

    def results(self) -> Iterator[tuple[str, Sequence[Thing]]]:
        """The results of each test, earliest first; not those that the tables know as several tests."""
        return ((test, all) for test, all in sorted(self._by_test.items()) if test and all)

    @property
    def conditions(self) -> Shelf:
        """The conditions by what they are and by what that is told of."""
        return self._shelf(Kind.CONDITION, lambda thing: knowledge.told_of(thing.group))

    @property
    def drugs(self) -> Shelf:
        """The medications by each of their ingredients."""
        return self._shelf(Kind.MEDICATION, lambda thing: thing.parts)

    def _shelf(self, kind: Kind, keys: Callable[[Thing], Iterable[str]]) -> Shelf:
        if kind not in self._shelves:
            self._shelves[kind] = Shelf((key, thing) for thing in self._by_kind[kind] for key in sorted(keys(thing)))
        return self._shelves[kind]


def _content(thing: Thing) -> tuple[object, ...]:
    return thing.fact.digest, thing.fact.id


def _moment(thing: Thing) -> tuple[object, ...]:
    return thing.start, thing.fact.digest, thing.fact.id


def _holds(fact: Fact) -> bool:
    """Does anyone say that it is or was so? What is denied, refuted, planned or billed only relates nothing."""
    return (
        bool(fact.members)
        and fact.polarity is Polarity.AFFIRMED
        and fact.standing not in _NOT_SO
        and fact.verification not in (Verification.REFUTED, Verification.ENTERED_IN_ERROR)
        and fact.currency is not Currency.PLANNED
        and fact.domain is Domain.CLINICAL
    )


def _groups(fact: Fact, items: Mapping[str, Said]) -> frozenset[str]:
    if len(fact.members) == 1:
        return items[fact.members[0]].groups
    return frozenset().union(*(items[member].groups for member in fact.members))


@cache
def _is_repeated(group: str) -> bool:
    """Is this group a test that is known to be repeated for something?"""
    return bool(knowledge.monitored(group.partition(":")[2]))


def _thing(fact: Fact, items: Mapping[str, Said]) -> Thing | None:
    if fact.kind not in KINDS or not _holds(fact):
        return None
    groups = _groups(fact, items)
    if fact.kind is Kind.OBSERVATION and not any(map(_is_repeated, groups)):
        return None
    names = sorted(group.partition(":")[2] for group in groups)
    name = names[0] if len(names) == 1 else ""  # members that the tables know as different things say nothing
    parts = frozenset(name.replace(" + ", " / ").split(" / ")) - {""}
    start = fact.when.start if fact.when else None
    end = fact.when.end if fact.when else None
    point = fact.when is not None and isinstance(fact.when.at, ClinicalTime)
    lasts = point and fact.kind not in (Kind.OBSERVATION, Kind.ENCOUNTER)
    return Thing(
        fact,
        name,
        parts,
        LONG_AGO if start is None or start.earliest is None else start.earliest,
        None if lasts or end is None else end.latest,
    )

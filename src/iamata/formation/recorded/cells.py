"""Which statements can have to do with each other at all? Connected by whatever could bring two of them together.

A cell is resolved by itself (`resolving`): what is said in one cell changes nothing in another. Joins only what
`candidates` could compare, a ruling names, or history ties together; decides nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping

from iamata.formation.recorded.candidates import SLACK_S
from iamata.formation.recorded.comparison import MODES
from iamata.formation.recorded.rulings import Rulings
from iamata.formation.recorded.said import Said
from iamata.formation.references import identifier_key
from iamata.model.ruling import RecordRef
from iamata.model.statement import Kind

_DAY_S = 86_400
# What may be true for longer is put with everything of its name: a day each would be more work than it saves.
_MOST_DAYS = 4


class Cells:
    """Items joined as they come; the order in which they come does not matter. `past` is for each statement that no
    longer counts the one whose fact keeps it."""

    def __init__(self, rulings: Rulings, past: Mapping[str, str]) -> None:
        self._past = past
        self._ruled: dict[RecordRef, list[int]] = defaultdict(list)
        for number, (left, right) in enumerate(rulings.pairs):
            self._ruled[left].append(number)
            self._ruled[right].append(number)
        self._parent: list[int] = []
        self._members: dict[int, list[Said]] = {}
        self._named: dict[Hashable, int] = {}
        self._days: dict[Hashable, set[int]] = defaultdict(set)  # (kind, key) → the days that hold something
        self._whole: set[Hashable] = set()  # (kind, key) that is not told apart by days

    def add(self, items: Iterable[Said]) -> None:
        for item in items:
            node = len(self._parent)
            self._parent.append(node)
            self._members[node] = [item]
            for token in self._tokens(item):
                other = self._named.setdefault(token, node)
                if other != node:
                    node = self._join(self._root(other), self._root(node))

    def __iter__(self) -> Iterator[list[Said]]:
        """The cells, each in the order of its content; the cells in no order."""
        return (sorted(members, key=lambda item: item.digest) for members in self._members.values())

    def of(self, items: Iterable[Said]) -> list[list[Said]]:
        """The cells that hold these items, each once, in the order of its content."""
        roots = dict.fromkeys(self._root(self._named["item", item.id]) for item in items)
        return [sorted(self._members[root], key=lambda item: item.digest) for root in roots]

    def _tokens(self, item: Said) -> Iterator[Hashable]:
        """Everything that another item could share with this one."""
        kind = item.kind
        yield "item", item.id
        if item.id in self._past:
            yield "item", self._past[item.id]
        if self._ruled:
            for number in self._ruled.get(RecordRef.of(item.statement), ()):
                yield "ruling", number
        for identifier in item.statement.identifiers:
            if key := identifier_key(identifier):
                yield kind, "identifier", key
        mode = MODES.get(kind)
        if mode == "one" or kind is Kind.ALLERGY:  # "no known allergies" speaks of them all
            yield kind, "all"
        elif mode != "keyed":
            for key in (*item.keys, *item.groups, item.name):
                if key:
                    yield from self._by_day(item, (kind, key)) if mode == "point" else ((kind, key),)

    def _by_day(self, item: Said, key: Hashable) -> Iterator[Hashable]:
        """Of things that last a moment only those meet that can have been at one time."""
        start = (item.happened.start or item.happened.end) if item.happened else None
        if start is not None and start.earliest is not None and start.latest is not None and key not in self._whole:
            days = range(start.earliest // _DAY_S, (start.latest + SLACK_S) // _DAY_S + 1)
            if len(days) <= _MOST_DAYS:
                self._days[key].update(days)
                for day in days:
                    yield key, day
                return
        yield key
        if key not in self._whole:
            self._whole.add(key)
            for day in self._days.pop(key, ()):
                yield key, day

    def _root(self, node: int) -> int:
        parent = self._parent
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    def _join(self, a: int, b: int) -> int:
        if a == b:
            return a
        if len(self._members[a]) < len(self._members[b]):
            a, b = b, a
        self._parent[b] = a
        self._members[a] += self._members.pop(b)
        return a

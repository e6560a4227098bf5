"""Which statements end up together? Connected by merge verdicts, kept apart by the pairs that must not meet.

Edges are taken strongest first, then by content, so that the outcome is a function of the set. No chain merges two
statements that were told apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from iamata.formation.recorded.comparison import Comparison, keeps_apart
from iamata.formation.recorded.said import Said
from iamata.model.decision import Evidence, Quality, Verdict

_STRENGTH = {Quality.CONFIRMED: 0, Quality.PROBABLE: 1, Quality.UNCERTAIN: 2}

_LAST = 3


class Clusters:
    """The clusters, each a list of statements sorted by content, and the comparisons that counted: `joined` two of
    them, or were `refused` because two statements inside must not meet."""

    def __init__(
        self,
        items: Iterable[Said],
        comparisons: Iterable[Comparison],
        doubted: frozenset[frozenset[str]] = frozenset(),
    ) -> None:
        """`doubted` are pairs of sources that may speak of two persons: no language model brings them together."""
        self._doubted = doubted
        self._items = {item.id: item for item in items}
        self._parent = {id: id for id in self._items}
        self._enemies: dict[str, set[str]] = {}
        self._members: dict[str, list[str]] = {id: [id] for id in self._items}
        kept = list(comparisons)
        ruled = {frozenset({c.left.id, c.right.id}) for c in kept if c.ruling is not None}
        kept = [c for c in kept if c.ruling is not None or frozenset({c.left.id, c.right.id}) not in ruled]
        for comparison in kept:
            if comparison.apart:
                self._enemies.setdefault(comparison.left.id, set()).add(comparison.right.id)
                self._enemies.setdefault(comparison.right.id, set()).add(comparison.left.id)
        merges = [c for c in kept if c.verdict is Verdict.MERGE]
        merges.sort(key=_edge_order)
        self.joined: list[Comparison] = []
        self.refused: list[Comparison] = []
        for comparison in merges:
            adjudged = comparison.adjudication is not None
            if adjudged and self._must_not_meet(comparison.left.id, comparison.right.id):
                self.refused.append(_overruled(comparison))
                continue
            match self._join(comparison.left.id, comparison.right.id, told=comparison.ruling is not None):
                case True:
                    self.joined.append(comparison)
                case False:
                    self.refused.append(_overruled(comparison) if adjudged else comparison)

    def _root(self, id: str) -> str:
        while self._parent[id] != id:
            self._parent[id] = self._parent[self._parent[id]]
            id = self._parent[id]
        return id

    def _bridges(self, left: str, right: str) -> bool:
        """Would what a text names bring two together that were sent, and that nothing else brings together?"""
        if not (self._items[left].is_mention or self._items[right].is_mention):
            return False
        return all(
            any(not self._items[id].is_mention for id in self._members[self._root(end)]) for end in (left, right)
        )

    def _must_not_meet(self, left: str, right: str) -> bool:
        """Does a firm rule keep any two apart that would meet if a language model joined these two?"""
        a, b = self._root(left), self._root(right)
        if a == b:
            return False
        ours = list({self._items[id].digest: self._items[id] for id in self._members[a]}.values())
        theirs = list({self._items[id].digest: self._items[id] for id in self._members[b]}.values())
        return any(
            frozenset({one.source, other.source}) in self._doubted or keeps_apart(one, other)
            for one in ours
            for other in theirs
        )

    def _join(self, left: str, right: str, *, told: bool) -> bool | None:
        """True if two clusters became one, False if they must stay apart, None if they were one already. `told` by a
        person they become one whatever the engine holds against it."""
        a, b = self._root(left), self._root(right)
        if a == b:
            return None
        if len(self._members[a]) < len(self._members[b]):
            a, b = b, a
        inside = set(self._members[a])
        if not told and self._bridges(left, right):
            return False
        if not told and any(not self._enemies.get(id, set()).isdisjoint(inside) for id in self._members[b]):
            return False
        self._parent[b] = a
        self._members[a] += self._members.pop(b)
        return True

    def __iter__(self) -> Iterator[list[Said]]:
        groups = [sorted((self._items[id] for id in ids), key=lambda s: s.digest) for ids in self._members.values()]
        return iter(sorted(groups, key=lambda group: group[0].digest))


def _overruled(comparison: Comparison) -> Comparison:
    """What a language model would have joined and a rule keeps apart: it waits for a person, as before."""
    evidence = (*comparison.evidence, Evidence("language-model", "overruled", "a rule keeps apart what would meet"))
    return msgspec.structs.replace(
        comparison,
        verdict=Verdict.REJECT,
        quality=Quality.UNCERTAIN,
        rule=f"{comparison.rule}-overruled",
        evidence=evidence,
        adjudication=None,
    )


def _edge_order(comparison: Comparison) -> tuple[bool, int, bool, int, str, str]:
    """What was sent among itself before what a text names, which so parts nothing; strongest first; then what is dated,
    latest first (an undated mention joins the latest episode); then content."""
    times = [t.happened.start for t in (comparison.left, comparison.right) if t.happened and t.happened.start]
    latest = max((t.earliest or 0 for t in times), default=0)
    undated = len(times) < 2 and comparison.rule != "identifier"
    digests = sorted((comparison.left.digest, comparison.right.digest))
    strength = _STRENGTH[comparison.quality] if comparison.ruling is None else -1  # a person comes first
    strength = _LAST if comparison.adjudication is not None else strength  # and a language model last
    named = comparison.ruling is None and (comparison.left.is_mention or comparison.right.is_mention)
    return (named, strength, undated, -latest, digests[0], digests[1])

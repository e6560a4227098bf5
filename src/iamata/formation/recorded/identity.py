"""Do the sources speak of one person? Sources that disagree on birth date and family name are in doubt.

Two sources in doubt are never merged with each other; a person decides. Disagreeing on one of the two is a conflict of
a field, not doubt.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations

from iamata.formation.recorded.said import Said
from iamata.formation.recorded.values import same_value
from iamata.model.statement import Kind
from iamata.terminology.names import fold


def doubted_sources(items: Iterable[Said]) -> frozenset[frozenset[str]]:
    """The pairs of sources that may be about two persons, by what says both a name and a birth date (an address alone
    says nothing of who it is)."""
    people: dict[str, list[Said]] = defaultdict(list)
    for item in items:
        if item.kind is Kind.DEMOGRAPHIC and item.statement.field("birth_date") and item.statement.field("name"):
            people[item.source].append(item)
    return frozenset(
        frozenset({a, b})
        for a, b in combinations(sorted(people), 2)
        if all(_two_persons(left, right) for left in people[a] for right in people[b])
    )


def _two_persons(left: Said, right: Said) -> bool:
    births = left.statement.field("birth_date"), right.statement.field("birth_date")
    names = (
        fold(str(left.statement.field("name") or "")).split(),
        fold(str(right.statement.field("name") or "")).split(),
    )
    if None in births or not names[0] or not names[1]:
        return False
    family_differs = names[0][-1] not in names[1] and names[1][-1] not in names[0]
    return same_value(*births) is False and family_differs

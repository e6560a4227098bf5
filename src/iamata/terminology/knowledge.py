"""What do public documents say of drugs, tests and conditions together: uses, monitoring, complications, reactions?

Lookups over `data/kb_*.tsv`. Each row names the document that states it; `unreviewed` rows are never loaded. Not here:
whether it holds for a patient (`formation.recorded.inferred`), or how two concepts relate (`conditions`, `drugs`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from functools import cache
from typing import Final, NamedTuple

from iamata.terminology import conditions, loaded
from iamata.terminology.tables import rows

UNREVIEWED: Final = "unreviewed"


class Known(NamedTuple):
    """What a thing relates to, and the source that says so. `kind`: condition (a group) or drug (an ingredient);
    `type`: the word for the relation in the table."""

    type: str
    kind: str
    id: str
    source: str


class Due(NamedTuple):
    """A test that is due in a condition: any of `tests` (ids of `labs`) at least every `days`."""

    what: str
    tests: frozenset[str]
    group: str
    days: int
    source: str


def indications(ingredients: Set[str]) -> tuple[Known, ...]:
    """The conditions that a drug of just these ingredients is used for, else those of its parts; sorted, each once."""
    return _of_drug(_indications(), ingredients)


def reactions(ingredients: Set[str]) -> tuple[Known, ...]:
    """The conditions that a drug of these ingredients, or a part of it, was seen to bring about; sorted, each once."""
    return _of_drug(_reactions(), ingredients)


def monitored(test: str) -> tuple[Known, ...]:
    """The conditions and drugs for which a test (an id of `labs`) is repeated, sorted."""
    return _monitored().get(test, ())


def brought_about_by(group: str) -> tuple[Known, ...]:
    """The conditions of which this group is a complication or manifestation, or for which it is a risk; sorted."""
    return _relations().get(group, ())


def due(groups: Iterable[str]) -> tuple[Due, ...]:
    """The tests that are due for a patient with these conditions; sorted by test and condition."""
    found = {row for group in groups for above in told_of(group) for row in _due().get(above, ())}
    return tuple(sorted(found, key=lambda row: (row.what, row.group)))


@loaded.until_changed
@cache
def told_of(group: str) -> frozenset[str]:
    """The groups whose rows hold for this group: its own; those of which it is a plain code, with no other group
    between; and those of which the table says that this kind shares what is said of them. None for an empty group."""
    if not group:
        return frozenset()
    found = {group}
    if conditions.is_code(group):
        above = conditions.lineage(group) - found
        groups = {other for other in above if not conditions.is_code(other)}
        between = {higher for other in groups for higher in conditions.lineage(other) - {other}}
        found |= above - between
    return frozenset(found | {of for one in found for of in _kinds().get(one, ())})


def confidence(name: str) -> float:
    """How far a link by this rule, or by the class of this source, is trusted, 0 to 1. Raises KeyError if unknown."""
    return _confidence()[_classes().get(name, name)]


def _of_drug(table: Mapping[str, tuple[Known, ...]], ingredients: Set[str]) -> tuple[Known, ...]:
    whole = table.get(" / ".join(sorted(ingredients)))
    if whole is not None:
        return whole
    found: dict[str, Known] = {}
    for part in sorted(ingredients):
        for known in table.get(part, ()):
            found.setdefault(known.id, known)
    return tuple(sorted(found.values()))


def _reviewed(table: str) -> Iterable[dict[str, str]]:
    return (row for row in rows(table) if row["source"] != UNREVIEWED)


def _by(pairs: Iterable[tuple[str, Known]]) -> dict[str, tuple[Known, ...]]:
    found: dict[str, set[Known]] = {}
    for key, known in pairs:
        found.setdefault(key, set()).add(known)
    return {key: tuple(sorted(all)) for key, all in found.items()}


@cache
def _indications() -> dict[str, tuple[Known, ...]]:
    table = _reviewed("kb_indications")
    return _by((row["ingredient"], Known("used_for", "condition", row["group"], row["source"])) for row in table)


@cache
def _reactions() -> dict[str, tuple[Known, ...]]:
    table = _reviewed("kb_reactions")
    return _by((row["ingredient"], Known("brings_about", "condition", row["group"], row["source"])) for row in table)


@cache
def _monitored() -> dict[str, tuple[Known, ...]]:
    table = _reviewed("kb_monitoring")
    return _by((row["test"], Known("monitors", row["of"], row["id"], row["source"])) for row in table)


@cache
def _relations() -> dict[str, tuple[Known, ...]]:
    table = _reviewed("kb_relations")
    return _by((row["group"], Known(row["type"], "condition", row["of"], row["source"])) for row in table)


@cache
def _due() -> dict[str, tuple[Due, ...]]:
    found: dict[str, list[Due]] = {}
    for row in _reviewed("kb_overdue"):
        one = Due(row["what"], frozenset(row["tests"].split()), row["group"], int(row["days"]), row["source"])
        found.setdefault(one.group, []).append(one)
    return {group: tuple(all) for group, all in found.items()}


@cache
def _kinds() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for row in _reviewed("kb_kinds"):
        found.setdefault(row["kind"], []).append(row["group"])
    return {kind: tuple(all) for kind, all in found.items()}


@cache
def _confidence() -> dict[str, float]:
    return {row["class"]: float(row["confidence"]) for row in rows("kb_confidence")}


@cache
def _classes() -> dict[str, str]:
    return {row["id"]: row["class"] for row in rows("kb_sources")}

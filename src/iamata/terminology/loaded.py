"""Which licensed terminologies is this process using? A registry that the engine sets when it starts, and lookups.

Everything that reads it is a function of the tables in the package and of what is registered here; nothing looks for
files by itself. One registry a process: setting another replaces it for all engines of the process, and the knowledge
version says so. Not here: how files are read and compiled (`loading`), what their names and codes decide
(`drug_tables`, `conditions`, `labs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Protocol, TypeVar

import msgspec

from iamata.terminology.sorted_text import SortedText


class Kind(StrEnum):
    RXNORM = "rxnorm"
    SNOMED = "snomed"
    LOINC = "loinc"
    UMLS = "umls"


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """What a compiled set says of itself. `version` hashes its tables; `release` is what its files are called, or
    empty; `rows` counts the lines of each table."""

    kind: Kind
    version: str
    release: str = ""
    rows: dict[str, int]


class Loaded(msgspec.Struct, frozen=True):
    """A compiled set, opened."""

    description: Description
    tables: Mapping[str, SortedText]


class _Cached(Protocol):
    def cache_clear(self) -> None: ...


C = TypeVar("C", bound=_Cached)

_sets: dict[Kind, Loaded] = {}
_dependent: list[_Cached] = []


def until_changed(cached: C) -> C:
    """Marks a cached function whose answers rest on what is loaded: it forgets them when that changes."""
    _dependent.append(cached)
    return cached


def use(sets: Iterable[Loaded]) -> None:
    """Use these sets and no other from now on. Not while a graph is being formed: the engine does it as it opens."""
    fresh = {each.description.kind: each for each in sets}
    changed = versions(fresh.values()) != versions(_sets.values())
    _sets.clear()
    _sets.update(fresh)
    if changed:
        for cached in _dependent:
            cached.cache_clear()


def versions(sets: Iterable[Loaded]) -> tuple[str, ...]:
    """`kind version` of each set, sorted."""
    return tuple(sorted(f"{each.description.kind.value} {each.description.version}" for each in sets))


def in_use() -> tuple[str, ...]:
    """The versions of what is used now; none if nothing is loaded."""
    return versions(_sets.values())


def table(kind: Kind, name: str) -> SortedText | None:
    """A table of a set that is used; None if that set is not."""
    found = _sets.get(kind)
    return found.tables.get(name) if found is not None else None


def values(kind: Kind, name: str, key: str) -> tuple[str, ...]:
    """What a table of a set says of a key, sorted; none if the set is not used."""
    found = table(kind, name)
    return found.all(key) if found is not None and key else ()


class Layered(Mapping[str, str]):
    """What `first` answers, else what `below` holds. Only `below` is counted and walked: `first` may be very large."""

    def __init__(self, first: Callable[[str], str], below: Mapping[str, str]) -> None:
        self._first = first
        self._below = below

    def __getitem__(self, key: str) -> str:
        return self._first(key) or self._below[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._below)

    def __len__(self) -> int:
        return len(self._below)

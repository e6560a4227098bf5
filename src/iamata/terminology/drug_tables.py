"""What do the drug tables say? Reads `data/drug_*.tsv` and `data/route_groups.tsv` once into plain lookups.

The rows come from the FDA's NDC directory and UNII names list and from published example files (`drug_sources.tsv`
says which is which). Rows whose source is `unreviewed` are not loaded. A licensed source (RxNorm RRF) adds rows with
`Tables.with_names` and `Tables.with_codes`. Decides nothing: `drug_names` reads names, `drugs` compares.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files

import msgspec

from iamata.terminology.tables import rows

_UNREVIEWED = "unreviewed"
_WORD = re.compile(r"[a-z0-9]+(?:[.,][0-9]+)*%?")


def fold(text: str) -> str:
    """Lower case, without accents, apostrophes and signs: the form of every name in the drug and vaccine tables."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(char for char in plain if not unicodedata.combining(char))
    return " ".join(_WORD.findall(plain.replace("'", "").replace("’", "")))


class Form(msgspec.Struct, frozen=True, gc=False):
    """What words say of form, route group and release class; empty parts say nothing."""

    form: str
    route: str
    release: str


class Brand(msgspec.Struct, frozen=True, gc=False):
    """A brand: its ingredients, what salt, route and release all its products share, and whether that settles a pair.

    `sure` is False for a name that one list alone gives to one ingredient (the UNII names list).
    """

    ingredients: frozenset[str]
    salts: frozenset[str]
    route: str
    release: str
    sure: bool


class Profile(msgspec.Struct, frozen=True, gc=False):
    """What products of an ingredient set exist: the usual route group (or empty), the only release class by route."""

    route: str
    releases: Mapping[str, str]
    several: frozenset[str]  # route groups with more than one kind of extended release


class Tables(msgspec.Struct, frozen=True):
    """All lookups. Keys are folded; `ingredients` maps a name to (normal ingredient, salt that the name fixes)."""

    ingredients: Mapping[str, tuple[str, str]]
    brands: Mapping[str, Brand]
    salts: Mapping[str, str]  # word -> "salt" or "water"
    apart: Mapping[tuple[str, str], str]  # (ingredient, salt) -> group
    apart_ingredients: frozenset[str]
    profiles: Mapping[frozenset[str], Profile]
    forms: Mapping[str, Form]
    fillers: frozenset[str]
    routes: Mapping[str, str]
    codes: Mapping[str, str]  # `system|code` -> the name seen with it
    classes: Mapping[str, frozenset[str]]  # class -> members
    class_names: Mapping[str, str]
    broader: Mapping[str, frozenset[str]]
    allergens: Mapping[str, str]

    def with_names(self, names: Iterable[tuple[str, str, str]]) -> Tables:
        """These tables and more (name, ingredient, salt); names that are known keep their meaning."""
        more = {fold(name): (ingredient, salt) for name, ingredient, salt in names}
        return msgspec.structs.replace(self, ingredients={**more, **self.ingredients})

    def with_codes(self, codes: Iterable[tuple[str, str]]) -> Tables:
        """These tables and more (`system|code`, name), such as a user's own RxNorm gives; known codes stay."""
        return msgspec.structs.replace(self, codes={**dict(codes), **self.codes})


def _lines(name: str) -> Iterator[list[str]]:
    """The cells of a long table, row by row, without the header; the short way round `tables.rows`."""
    text = files("iamata.terminology").joinpath("data", f"{name}.tsv").read_text(encoding="utf-8")
    body = iter(line for line in text.split("\n") if line and line[0] != "#")
    next(body)
    return (line.split("\t") for line in body)


def _kept(name: str) -> Iterator[dict[str, str]]:
    return (row for row in rows(name) if row["source"] != _UNREVIEWED)


@cache
def _set(cell: str) -> frozenset[str]:
    return frozenset(cell.split(" / ")) if cell else frozenset()


def _profiles() -> dict[frozenset[str], Profile]:
    usual: dict[frozenset[str], str] = {}
    releases: dict[frozenset[str], dict[str, str]] = {}
    several: dict[frozenset[str], set[str]] = {}
    for cell, route, is_usual, release, durations, _source in _lines("drug_profiles"):
        key = _set(cell)
        if is_usual:
            usual[key] = route
        if release:
            releases.setdefault(key, {})[route] = release
        if durations:
            several.setdefault(key, set()).add(route)
    keys = {*usual, *releases, *several}
    return {k: Profile(usual.get(k, ""), releases.get(k, {}), frozenset(several.get(k, ()))) for k in keys}


@cache
def tables() -> Tables:
    """The tables that come with the project, read once."""
    members: dict[str, set[str]] = {}
    for row in _kept("drug_classes"):
        members.setdefault(row["class"], set()).add(row["member"])
    broader: dict[str, set[str]] = {}
    for row in _kept("drug_broader"):
        broader.setdefault(row["ingredient"], set()).add(row["broader"])
    apart = {(row["ingredient"], row["salt"]): row["group"] for row in _kept("drug_salts_apart")}
    return Tables(
        ingredients={name: (base, salt) for name, base, salt, _source in _lines("drug_ingredients")},
        brands={
            name: Brand(_set(ingredients), _set(salts), route, release, source != "unii")
            for name, ingredients, salts, route, release, source in _lines("drug_brands")
        },
        salts={row["word"]: row["kind"] for row in _kept("drug_salts")},
        apart=apart,
        apart_ingredients=frozenset(ingredient for ingredient, _ in apart),
        profiles=_profiles(),
        forms={row["words"]: Form(row["form"], row["route"], row["release"]) for row in _kept("drug_forms")},
        fillers=frozenset(row["word"] for row in _kept("drug_fillers")),
        routes={row["name"]: row["route"] for row in _kept("route_groups")},
        codes={row["code"]: row["name"] for row in _kept("drug_codes")},
        classes={name: frozenset(found) for name, found in members.items()},
        class_names={row["name"]: row["class"] for row in _kept("drug_class_names")},
        broader={name: frozenset(found) for name, found in broader.items()},
        allergens={row["name"]: row["substance"] for row in _kept("allergen_names")},
    )


@cache
def member_classes() -> Mapping[str, frozenset[str]]:
    """ingredient -> classes, the other way round of `Tables.classes`."""
    found: dict[str, set[str]] = {}
    for name, members in tables().classes.items():
        for member in members:
            found.setdefault(member, set()).add(name)
    return {member: frozenset(names) for member, names in found.items()}

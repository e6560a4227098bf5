"""What do the drug tables say? Reads `data/drug_*.tsv` and `data/route_groups.tsv` once into plain lookups.

The rows come from the FDA's NDC directory and UNII names list and from published example files (`drug_sources.tsv`
says which is which). Rows whose source is `unreviewed` are not loaded. A licensed source that is in use (RxNorm, UMLS)
adds to them: what its codes are called wins over what files called them, while names and brands that the tables know
keep their meaning. Decides nothing: `drug_names` reads names, `drugs` compares.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files

import msgspec

from iamata.terminology import loaded
from iamata.terminology.loaded import Kind, Layered
from iamata.terminology.tables import rows

_UNREVIEWED = "unreviewed"
_NDC_DIGITS = 11
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

    def with_brands(self, brands: Mapping[str, frozenset[str]]) -> Tables:
        """These tables and more brands (folded name → ingredients as named); brands that settle a pair stay."""
        known = self.ingredients
        more = {
            name: Brand(frozenset(known.get(fold(one), (fold(one), ""))[0] for one in named), frozenset(), "", "", True)
            for name, named in brands.items()
        }
        return msgspec.structs.replace(
            self, brands={**self.brands, **{k: b for k, b in more.items() if not (k in known or self._settled(k))}}
        )

    def _settled(self, brand: str) -> bool:
        return brand in self.brands and self.brands[brand].sure

    def with_codes(self, codes: Iterable[tuple[str, str]] | Callable[[str], str]) -> Tables:
        """These tables and more (`system|code`, name), or a lookup (empty: unknown), such as a user's own RxNorm gives.
        It wins over what the tables call a code."""
        if callable(codes):
            return msgspec.structs.replace(self, codes=Layered(codes, self.codes))
        return msgspec.structs.replace(self, codes={**self.codes, **dict(codes)})


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


@loaded.until_changed
@cache
def tables() -> Tables:
    """The tables that come with the project, read once, and what a licensed terminology in use adds to them."""
    found = own_tables()
    if loaded.table(Kind.UMLS, "titles") is not None:
        found = found.with_codes(_umls_name)
    ingredients, brands = loaded.table(Kind.RXNORM, "ingredients"), loaded.table(Kind.RXNORM, "brands")
    if ingredients is None or brands is None:
        return found
    found = found.with_names(_loaded_names(ingredients.items(), found))
    of_brand: dict[str, set[str]] = {}
    for brand, ingredient in brands.items():
        of_brand.setdefault(brand, set()).add(ingredient)
    return found.with_brands({k: frozenset(v) for k, v in of_brand.items()}).with_codes(_rxnorm_name)


def _loaded_names(named: Iterable[tuple[str, str]], known: Tables) -> Iterator[tuple[str, str, str]]:
    """Names of ingredients; the salt of a precise one is what its name says beyond the ingredient's."""
    for name, ingredient in named:
        plain = fold(ingredient)
        salt = name.removeprefix(plain).strip() if name.startswith(f"{plain} ") else ""
        yield name, known.ingredients.get(plain, (plain, ""))[0], salt


def _umls_name(key: str) -> str:
    return next((value.partition("\t")[2] for value in loaded.values(Kind.UMLS, "titles", key)), "")


def _rxnorm_name(key: str) -> str:
    """What RxNorm calls the drug of an RXCUI, or of an NDC by way of it; empty if it knows neither."""
    system, _, code = key.partition("|")
    if system == "rxnorm":
        cuis = {code}
    elif system == "ndc":
        cuis = {cui for digits in _eleven_digits(code) for cui in loaded.values(Kind.RXNORM, "ndc", digits)}
    else:
        return ""
    names = {value for cui in cuis for value in loaded.values(Kind.RXNORM, "names", cui)[:1]}
    return names.pop().split("\t", 2)[2] if len(names) == 1 else ""


def _eleven_digits(code: str) -> tuple[str, ...]:
    """The 11-digit forms that an NDC without dashes can have: a 10-digit one lacks a zero in one of three places
    (4-4-2, 5-3-2 and 5-4-1 digits become 5-4-2; HIPAA form, as RxNorm writes them)."""
    if len(code) == _NDC_DIGITS:
        return (code,)
    if len(code) == _NDC_DIGITS - 1:
        return tuple(f"{code[:at]}0{code[at:]}" for at in (0, 5, 9))
    return ()


@cache
def own_tables() -> Tables:
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

"""Which drug is meant, are two the same medication, and which substance or class does an allergy name?

Identity is design 04: the same ingredient set, the salt or ester where release or effect differs, route group and
release class; brand equals generic; what is not said is not equal to what is said. Names are read by `drug_names` over
`drug_tables`; codes count where the code was seen with its name. Doses, orders and courses are not compared here.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache

import msgspec

from iamata.model.coding import CodedText
from iamata.terminology import drug_names, loaded
from iamata.terminology.drug_tables import Profile, fold, member_classes, tables
from iamata.terminology.systems import normal

_CACHE = 20_000


class Relation(StrEnum):
    SAME = "same"
    REFINES = "refines"  # one is a part of the other, or the less specific name of it
    DIFFERENT = "different"
    REVIEW = "review"  # cannot be told without a person: something that matters is not said on one side


class Drug(msgspec.Struct, frozen=True, gc=False):
    """One medication as said. `salts` are "ingredient salt"; empty strings are "not said".

    `how`: `code` (a known code and its name), `grammar` (ingredients named), `brand` (a brand of the NDC directory),
    `name` (a brand that only the UNII names list gives to an ingredient, or a foreign spelling: never settles a pair).
    """

    ingredients: frozenset[str]
    salts: frozenset[str] = frozenset()
    strength: str = ""
    form: str = ""
    route: str = ""
    release: str = ""
    brand: str = ""
    how: str = "grammar"


def read(concept: CodedText) -> Drug | None:
    """The drug, or None when nothing is understood or code, display and text name different ingredients.

    Codes whose name we know come first, then displays, then the text; what one leaves out another may say.
    """
    return _read(concept)


@loaded.until_changed
@lru_cache(maxsize=_CACHE)
def _read(concept: CodedText) -> Drug | None:
    found: list[Drug] = []
    for coding in concept.codings:
        name = tables().codes.get(_code_key(coding.system, coding.code, coding.normal))
        by_code = _of_text(name, "code") if name else None
        by_name = _of_text(coding.display, "") if coding.display else None
        found.extend(drug for drug in (by_code, by_name) if drug is not None)
    if concept.text:
        said = _of_text(concept.text, "")
        if said is not None:
            found.append(said)
    if not found:
        return None
    most = max(found, key=lambda drug: len(drug.ingredients))
    for drug in found:
        if drug.ingredients == most.ingredients:
            continue
        # A combination may carry the codes of its parts; a text that names less than a code contradicts it.
        if drug.how != "code" or not drug.ingredients < most.ingredients or most.how == "code":
            return None
    return _together([drug for drug in found if drug.ingredients == most.ingredients])


def _code_key(system: str, code: str, known: str) -> str:
    key = known or normal(system, code)
    alias, bar, value = key.partition("|")
    return f"ndc|{value.replace('-', '')}" if bar and alias == "ndc" else key


@loaded.until_changed
@lru_cache(maxsize=_CACHE)
def _of_text(text: str, how: str) -> Drug | None:
    reading = drug_names.read(text, tables())
    if reading is None:
        return None
    kind = "name" if not reading.sure else how or ("brand" if reading.by_brand else "grammar")
    return Drug(
        reading.ingredients,
        reading.salts,
        reading.strength,
        reading.form,
        reading.route,
        reading.release,
        reading.brand,
        kind,
    )


_ORDER = ("code", "grammar", "brand", "name")


def _together(drugs: list[Drug]) -> Drug | None:
    """One drug from readings that agree on ingredients; None if they state different routes or releases."""
    drugs = sorted(drugs, key=lambda drug: _ORDER.index(drug.how))
    first = drugs[0]
    for other in drugs[1:]:
        if first.route and other.route and first.route != other.route:
            return None
        if first.release and other.release and first.release != other.release:
            longer, shorter = sorted((first.release, other.release), key=len, reverse=True)
            if not longer.startswith(shorter):
                return None
            first = msgspec.structs.replace(first, release=longer)
        first = Drug(
            first.ingredients,
            first.salts if first.salts else other.salts,
            first.strength or other.strength,
            first.form or other.form,
            first.route or other.route,
            first.release or other.release,
            first.brand or other.brand,
            first.how,
        )
    return first


def same(a: Drug, b: Drug) -> Relation:
    """How two drugs relate. Symmetric; a drug is the same as itself. Strength, form and brand do not count."""
    if a == b:
        return Relation.SAME
    if a.ingredients != b.ingredients:
        return _other_ingredients(a, b)
    profile = tables().profiles.get(a.ingredients, _NO_PROFILE)
    routes = (a.route or profile.route, b.route or profile.route)
    if all(routes) and routes[0] != routes[1]:
        return Relation.DIFFERENT
    doubts = [not all(routes) and routes[0] != routes[1]]
    for answer in (_salts(a, b), _releases(a, b, routes[0] or routes[1], profile)):
        if answer is Relation.DIFFERENT:
            return answer
        doubts.append(answer is Relation.REVIEW)
    doubts.append("name" in (a.how, b.how) and not (a.brand and a.brand == b.brand))
    return Relation.REVIEW if any(doubts) else Relation.SAME


_NO_PROFILE = Profile("", {}, frozenset())


def _other_ingredients(a: Drug, b: Drug) -> Relation:
    if a.ingredients < b.ingredients or b.ingredients < a.ingredients:
        return Relation.REFINES
    for wide, narrow in ((a, b), (b, a)):
        if len(wide.ingredients) == 1:
            (name,) = wide.ingredients
            if all(name in tables().broader.get(part, ()) for part in narrow.ingredients):
                return Relation.REFINES
    return Relation.DIFFERENT


def _salts(a: Drug, b: Drug) -> Relation:
    """Salts count where the table says that they are things apart; no salt said is unknown there."""
    answer = Relation.SAME
    for ingredient in a.ingredients & tables().apart_ingredients:
        groups = _salt_group(a, ingredient), _salt_group(b, ingredient)
        if groups[0] == groups[1]:
            continue
        if all(groups):
            return Relation.DIFFERENT
        answer = Relation.REVIEW
    return answer


def _salt_group(drug: Drug, ingredient: str) -> str:
    """The group of the salt that is said; a salt that is in no row is a group of its own; empty: none said."""
    prefix = f"{ingredient} "
    for salt in drug.salts:
        if salt.startswith(prefix):
            word = salt[len(prefix) :]
            return tables().apart.get((ingredient, word)) or word
    return ""


def _releases(a: Drug, b: Drug, route: str, profile: Profile) -> Relation:
    """Equal, or the only one of this route. Kinds of extended release count where products of several kinds exist."""
    only = profile.releases.get(route, "")
    left, right = a.release or only, b.release or only
    if left == right:
        return Relation.SAME
    if not left or not right:
        # A concentrate or mix is what is said specially: silence is the ordinary product, but no proof.
        return Relation.REVIEW
    kinds = left.partition(" "), right.partition(" ")
    if kinds[0][0] != kinds[1][0]:
        if "modified" in (kinds[0][0], kinds[1][0]) and "immediate" not in (kinds[0][0], kinds[1][0]):
            return Relation.REVIEW
        if {kinds[0][0], kinds[1][0]} == {"immediate", "concentrate"} and not (a.release and b.release):
            return Relation.REVIEW
        return Relation.DIFFERENT
    details = kinds[0][2], kinds[1][2]
    if all(details):
        hours = [detail for detail in details if detail.endswith("h") and detail[:-1].isdigit()]
        if len(hours) == 2 or set(details) == {"sr", "xl"}:
            return Relation.DIFFERENT
        return Relation.REVIEW if route in profile.several or not route else Relation.SAME
    return Relation.REVIEW if route in profile.several or not route else Relation.SAME


def route_group(name: str) -> str:
    """The route group of a route's name ("Oral use", "SUBCUTANEOUS"); empty if it is not known."""
    return tables().routes.get(_bare(name), "") or _one_route(name)


def _one_route(name: str) -> str:
    form = tables().forms.get(_bare(name))
    return form.route if form and not form.form else ""


@lru_cache(maxsize=20_000)
def _bare(name: str) -> str:
    return fold(name.partition(" (")[0])


def substance(concept: CodedText) -> str | None:
    """The normal name of an allergy's substance; None if unknown, or if code, displays and text name different ones.

    It is an ingredient (of a combination several, joined by " / "), a class (`members_of` knows it) or an allergen that
    is no medicine. Of a medication only the ingredients count.
    """
    found = {name for name in map(_substance_of, _said(concept)) if name}
    if len(found) > 1:
        narrow = min(found, key=lambda name: (len(members_of(name)), name))
        if all(members_of(narrow) and members_of(narrow) <= members_of(name) for name in found):
            return narrow
    return found.pop() if len(found) == 1 else None


def _said(concept: CodedText) -> Iterator[CodedText]:
    for coding in concept.codings:
        yield CodedText("", (coding,))
    yield CodedText(concept.text)


@loaded.until_changed
@lru_cache(maxsize=_CACHE)
def _substance_of(concept: CodedText) -> str | None:
    words = _class_words(concept.display)
    for table in (tables().class_names, tables().allergens):
        if words in table:
            return table[words]
    drug = _read(concept) or _read(CodedText(words))
    return " / ".join(sorted(drug.ingredients)) if drug else None


@lru_cache(maxsize=20_000)
def _class_words(name: str) -> str:
    words = fold(name.partition(" (")[0]) or fold(name)
    for before in ("allergy to ", "intolerance to ", "product containing "):
        words = words.removeprefix(before)
    return words.removesuffix(" allergy")


def classes_of(substance: str) -> frozenset[str]:
    """The classes an ingredient belongs to (FDA EPC and chemical structure); of a combination those of its parts."""
    found = [member_classes().get(part, frozenset()) for part in substance.split(" / ")]
    return frozenset().union(*found)


def members_of(cls: str) -> frozenset[str]:
    """The ingredients of a class, by its own name or another that the table gives it; empty if there is none."""
    return tables().classes.get(cls) or tables().classes.get(tables().class_names.get(fold(cls), ""), frozenset())

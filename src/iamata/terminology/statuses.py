"""What does a sent status mean, what does an item of this type testify to, and which codes say "none known"?

Lookups over `data/statuses.tsv`, `data/aspects.tsv` and `data/negations.tsv`. Not here: which of two statuses wins (the
fold decides), or how an item's elements are read (a connector asks with the codes it found).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from iamata.model.attribution import Part
from iamata.model.coding import CodedText
from iamata.model.statement import Aspect, Kind, Polarity, Standing, Verification
from iamata.terminology.names import fold
from iamata.terminology.systems import alias
from iamata.terminology.tables import rows


class Meaning(NamedTuple):
    """What one status code says; None where it says nothing of that."""

    standing: Standing | None
    verification: Verification | None
    polarity: Polarity | None


class AspectRule(NamedTuple):
    """`element` empty: always holds; `code` None: holds when the element is present."""

    element: str
    code: str | None
    aspect: Aspect


class Negation(NamedTuple):
    """A code that says "none known" (`denied`) or "no information" (not denied) of a kind and category (`all`: any)."""

    kind: str
    category: str
    denied: bool


@cache
def _meanings() -> dict[tuple[str, str, str], Meaning]:
    return {
        (row["type"], row["element"], row["code"]): Meaning(
            None if row["standing"] == "-" else Standing(row["standing"]),
            None if row["verification"] == "-" else Verification(row["verification"]),
            None if row["polarity"] == "-" else Polarity(row["polarity"]),
        )
        for row in rows("statuses")
    }


def meaning(type: str, element: str, code: str) -> Meaning | None:
    """What this code of this element of a FHIR R4 type means; None for a code that the table does not know."""
    return _meanings().get((type, element, code))


@cache
def status_elements(type: str) -> tuple[str, ...]:
    """The elements of a FHIR R4 type that carry a status, in the order of the table: the first is the thing's own."""
    return tuple(dict.fromkeys(element for (of, element, _code) in _meanings() if of == type))


@cache
def aspect_rules(type: str) -> tuple[AspectRule, ...]:
    """The rules of a FHIR R4 type in the order in which they are tried; the last always holds."""
    found = []
    for row in (row for row in rows("aspects") if row["type"] in (type, "*")):
        element, equals, code = ("" if row["condition"] == "-" else row["condition"]).partition("=")
        found.append(AspectRule(element, code if equals else None, Aspect(row["aspect"])))
    return tuple(found)


@cache
def _negations() -> dict[tuple[str, str], Negation]:
    return {
        (alias(row["system"]) or row["system"], row["code"]): Negation(
            row["kind"], row["category"], row["meaning"] == "denied"
        )
        for row in rows("negations")
    }


@cache
def _negation_phrases() -> dict[str, Negation]:
    return {fold(row["phrase"]): Negation(row["kind"], row["category"], True) for row in rows("negation_phrases")}


def negation(concept: CodedText | None) -> Negation | None:
    """The negation that a concept states: by one of its codes, else, without any code that we know the system of, by
    words that say nothing else (`No known drug allergies`). None if it states none."""
    if concept is None:
        return None
    table = _negations()
    for coding in concept.codings:
        found = table.get((alias(coding.system) or coding.system, coding.code))
        if found is not None:
            return found
    if any(coding.normal for coding in concept.codings):
        return None
    return _negation_phrases().get(fold(concept.display))


@cache
def _stop_reasons() -> frozenset[str]:
    return frozenset(f"{alias(row['system'])}|{row['code']}" for row in rows("stop_reasons"))


def not_borne(reason: CodedText) -> bool:
    """Does the reason of a status say that the patient does not bear the substance (allergy, intolerance)?"""
    return any(f"{alias(coding.system)}|{coding.code}" in _stop_reasons() for coding in reason.codings)


@cache
def _agents() -> dict[str, Part]:
    return {row["code"]: Part(row["part"]) for row in rows("agents")}


def agent_part(code: str) -> Part | None:
    """The part that a Provenance agent of this type or role code plays in authorship; None for a code unknown here."""
    return _agents().get(code)


class KindRule(NamedTuple):
    """An item of the type is of this kind where one of the element's codes is `code`."""

    element: str
    code: str
    kind: Kind


@cache
def kind_rules(type: str) -> tuple[KindRule, ...]:
    """The rules that make items of a FHIR R4 type another kind than the type's own, in the order of trying."""
    found = []
    for row in (row for row in rows("kinds") if row["type"] == type):
        element, _, code = row["condition"].partition("=")
        found.append(KindRule(element, code, Kind(row["kind"])))
    return tuple(found)

"""What do the codes of HL7 v2 mean: statuses, events, words of coded fields, roles, character sets, coding systems?

Lookups over `data/hl7v2_*.tsv`. Not here: how a message is cut into segments, or which of two statuses wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from iamata.model.attribution import Part
from iamata.model.statement import Aspect, Polarity, Standing, Verification
from iamata.terminology.tables import rows


class Meaning(NamedTuple):
    """What a status, action or event says; None where it says nothing of that. `word` is the code in plain words."""

    standing: Standing | None
    verification: Verification | None
    polarity: Polarity | None
    word: str


class EvidenceRule(NamedTuple):
    """`segment`-`field` plays this part; `type` of the person is empty where the field does not tell."""

    segment: str
    field: int
    part: Part
    type: str
    form: str


class Origin(NamedTuple):
    """Where an immunization report comes from; `origin` is a row of report_origins or empty."""

    primary_source: bool
    origin: str
    word: str


@cache
def _statuses() -> Mapping[tuple[str, str], Meaning]:
    return {
        (row["element"], row["code"]): Meaning(
            None if row["standing"] == "-" else Standing(row["standing"]),
            None if row["verification"] == "-" else Verification(row["verification"]),
            None if row["polarity"] == "-" else Polarity(row["polarity"]),
            row["word"],
        )
        for row in rows("hl7v2_statuses")
    }


def status(element: str, code: str) -> Meaning | None:
    """What this code of a field such as `OBX-11` means; None for one that the table does not know."""
    return _statuses().get((element, code.strip().upper()))


@cache
def _events() -> Mapping[tuple[str, str], Meaning]:
    return {
        (row["segment"], row["event"]): Meaning(
            None if row["standing"] == "-" else Standing(row["standing"]),
            Verification.ENTERED_IN_ERROR if row["standing"] == Standing.ENTERED_IN_ERROR else None,
            None,
            row["word"],
        )
        for row in rows("hl7v2_events")
    }


def event(segment: str, trigger: str) -> Meaning | None:
    """What a trigger event (`A11`) says of the item in this segment; None if nothing."""
    return _events().get((segment, trigger.upper()))


@cache
def _words() -> Mapping[tuple[str, str], str]:
    return {(row["table"], row["code"]): row["word"] for row in rows("hl7v2_words")}


def word(table: str, code: str) -> str:
    """A code of an HL7 table in the words of our fields; empty if the table does not list it."""
    return _words().get((table, code.strip().upper()), "")


@cache
def evidence_rules(item: str) -> tuple[EvidenceRule, ...]:
    """The fields that bear on who wrote an item of this sort, in the order in which they are looked at."""
    found = []
    for row in (row for row in rows("hl7v2_evidence") if row["item"] == item):
        segment, _, number = row["element"].partition("-")
        found.append(EvidenceRule(segment, int(number), Part(row["part"]), row["type"], row["form"]))
    return tuple(found)


@cache
def _roles() -> Mapping[str, Part]:
    return {row["code"]: Part(row["part"]) for row in rows("hl7v2_roles")}


def role_part(code: str) -> Part | None:
    """The part that a role of ROL-3 or PRT-4 plays in authorship; None if it plays none."""
    return _roles().get(code.strip().upper())


@cache
def _relationships() -> Mapping[str, str]:
    return {row["code"]: row["type"] for row in rows("hl7v2_relationships")}


def relationship_type(code: str) -> str:
    """`Patient` or `RelatedPerson` for a relationship to the patient (table 0063); empty if it does not tell."""
    return _relationships().get(code.strip().upper(), "")


@cache
def _origins() -> Mapping[str, Origin]:
    return {
        row["code"]: Origin(row["primary_source"] == "true", row["origin"], row["word"])
        for row in rows("hl7v2_administration_notes")
    }


def administration_origin(code: str) -> Origin | None:
    """What RXA-9 (NIP001) says of where the report comes from; None for a code that is not listed."""
    return _origins().get(code.strip())


@cache
def _charsets() -> Mapping[str, str]:
    return {row["charset"]: row["codec"] for row in rows("hl7v2_charsets")}


def codec(charset: str) -> str:
    """The codec of a character set named in MSH-18; empty for one that is not known."""
    return _charsets().get(" ".join(charset.upper().split()), "")


@cache
def _systems() -> Mapping[str, str]:
    return {row["name"]: row["url"] for row in rows("hl7v2_systems")}


def system_url(name: str) -> str:
    """The URL of a coding system named as in table 0396, else the name as it is."""
    return _systems().get(name.strip().upper(), name)


class AspectRule(NamedTuple):
    """`verification` is None where the type says nothing of how sure it is."""

    aspect: Aspect
    verification: Verification | None


@cache
def aspect(segment: str, message: str, type: str = "") -> AspectRule:
    """What this segment testifies to in a message of this code. Raises LookupError for a segment without a row."""
    for row in rows("hl7v2_aspects"):
        if row["segment"] == segment and row["message"] in (message, "*") and row["type"] in (type.upper(), "*"):
            sure = None if row["verification"] == "-" else Verification(row["verification"])
            return AspectRule(Aspect(row["aspect"]), sure)
    raise LookupError(segment)


@cache
def stands_for(message: str) -> frozenset[str]:
    """`report`, `order` or both: what an OBR is in a message of this code."""
    for row in rows("hl7v2_orders"):
        if row["message"] in (message, "*"):
            return frozenset(row["stands_for"].split())
    return frozenset()


@cache
def _categories() -> Mapping[tuple[str, str], str]:
    return {(row["basis"], row["code"]): row["category"] for row in rows("hl7v2_categories")}


def category(*signs: tuple[str, str]) -> str:
    """The observation-category of a result by the first of these signs (basis, code) that tells; empty if none does."""
    table = _categories()
    return next((table[sign] for sign in signs if sign in table), "")

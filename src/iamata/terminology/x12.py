"""What do the codes of X12 transactions mean? Lookups over `data/x12_*.tsv`; no code list that may not be shipped.

Not here: descriptions of procedures, adjustment reasons and status codes, which belong to the AMA, the ADA and X12.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from iamata.model.statement import Standing
from iamata.terminology.tables import rows


class CodeList(NamedTuple):
    """The code list that a qualifier names. `what`: diagnosis, procedure, information …; `role`: its use on a bill."""

    system: str
    what: str
    role: str


@cache
def _lists() -> dict[tuple[str, str], CodeList]:
    return {
        (row["composite"], row["qualifier"]): CodeList(row["system"], row["what"], row["role"])
        for row in rows("x12_code_lists")
    }


def code_list(composite: str, qualifier: str) -> CodeList | None:
    """The list named by a qualifier of `health` (C022) or `procedure` (C003) codes; None for one not listed here."""
    return _lists().get((composite, qualifier))


@cache
def _meanings() -> dict[tuple[str, str], str]:
    return {(row["element"], row["code"]): row["meaning"] for row in rows("x12_meanings")}


def meaning(element: str, code: str) -> str:
    """A code in plain words; empty if it is not listed here."""
    return _meanings().get((element, code), "")


@cache
def _standings() -> dict[tuple[str, str], Standing]:
    return {(row["element"], row["code"]): Standing(row["standing"]) for row in rows("x12_statuses")}


def standing(element: str, code: str) -> Standing:
    """What a status code means for the thing itself: its own row, else that of its first character and `*`."""
    found = _standings()
    return found.get((element, code)) or found.get((element, f"{code[:1]}*")) or Standing.UNKNOWN


@cache
def _identifier_systems() -> dict[str, str]:
    return {row["qualifier"]: row["system"] for row in rows("x12_identifiers")}


def identifier_system(qualifier: str) -> str:
    """The system of a number with this qualifier (element 66); one of ours where no public one is known."""
    return _identifier_systems().get(qualifier) or f"urn:x12:66:{qualifier or '-'}"


class Guide(NamedTuple):
    """What a transaction is called by its implementation guide, and how it is read."""

    title: str
    reading: str


@cache
def _guides() -> dict[tuple[str, str], Guide]:
    return {(row["type"], row["guide"]): Guide(row["title"], row["reading"]) for row in rows("x12_guides")}


def guide(type: str, name: str) -> Guide | None:
    """The guide of a transaction set (`837`, `005010X222A1`), by the letter and number after the version (`X222`),
    else by type alone; None for a transaction that is not read."""
    found = _guides()
    number = name[6:10] if len(name) >= 10 else ""
    return found.get((type, number)) or found.get((type, "-"))

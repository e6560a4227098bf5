"""What do templates, section codes, moods, statuses and roles of CDA documents mean? Lookups over the `ccda_*` tables.

Not here: how an entry is read (the connector asks with the ids and codes it found).
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from iamata.model.coding import CodedText, Coding
from iamata.model.statement import Aspect, Standing
from iamata.terminology.names import fold
from iamata.terminology.systems import normal
from iamata.terminology.tables import rows

_SNOMED = "2.16.840.1.113883.6.96"


class Template(NamedTuple):
    """How entries of a template are read; `code` is what they are about where they only assert, or None;
    `named`: its name stands for a code without a display."""

    name: str
    reading: str
    code: CodedText | None
    named: bool


class Section(NamedTuple):
    """`readings`: element → reading for entries without a known template. `rows`: its text repeats its entries."""

    name: str
    readings: dict[str, str]
    rows: bool
    category: str


@cache
def _templates() -> dict[str, Template]:
    return {
        row["template"]: Template(row["name"], row["reading"], _coded(row["code"]), row["code"] == "name")
        for row in rows("ccda_templates")
    }


def _coded(cell: str) -> CodedText | None:
    if cell in ("-", "name"):
        return None
    system, code, display = cell.split("|")
    return CodedText("", (Coding(system, code, display, normal(system, code)),))


def template(id: str) -> Template | None:
    """The template with this id, or None if the table does not know it."""
    return _templates().get(id)


@cache
def _sections() -> dict[str, Section]:
    found: dict[str, Section] = {}
    for row in rows("ccda_sections"):
        pairs = [] if row["readings"] == "-" else [pair.partition("=") for pair in row["readings"].split()]
        readings = {element: reading for element, _, reading in pairs}
        category = "" if row["category"] == "-" else row["category"]
        section = Section(row["name"], readings, row["text"] == "rows", category)
        found.setdefault(row["code"], section)
        found.setdefault(row["template"], section)
        found.setdefault(f"{row['template']}.1", section)  # the same section with entries required
    return found


def section(code: str, templates: tuple[str, ...]) -> Section | None:
    """The section by its LOINC code, else by the first template id that is known; None if neither is."""
    table = _sections()
    for key in (code, *templates):
        if key in table:
            return table[key]
    return None


@cache
def _standings() -> dict[tuple[str, str, str], Standing]:
    return {(row["use"], row["element"], row["code"]): Standing(row["standing"]) for row in rows("ccda_statuses")}


def standing(use: str, element: str, code: str) -> Standing | None:
    """The standing that a status code of this use says (`act`: statusCode, `observation`: a status observation)."""
    return _standings().get((use, element, code))


class Mood(NamedTuple):
    aspect: Aspect
    standing: Standing | None


@cache
def _moods() -> dict[tuple[str, str], Mood]:
    return {
        (row["use"], row["mood"]): Mood(
            Aspect(row["aspect"]), None if row["standing"] == "-" else Standing(row["standing"])
        )
        for row in rows("ccda_moods")
    }


def mood(use: str, code: str) -> Mood | None:
    return _moods().get((use, code))


@cache
def _denials() -> dict[tuple[str, str], CodedText]:
    return {
        (row["kind"], row["code"]): CodedText(
            row["display"], (Coding(_SNOMED, row["denial"], row["display"], normal(_SNOMED, row["denial"])),)
        )
        for row in rows("ccda_negations")
    }


def denial(kind: str, code: str) -> CodedText | None:
    """What a negated entry of this kind denies when its value is this unspecific code; None for a particular one."""
    return _denials().get((kind, code))


@cache
def _words() -> dict[tuple[str, str], str]:
    return {(row["use"], row["code"]): row["word"] for row in rows("ccda_words")}


def word(use: str, code: str) -> str:
    """This engine's word for a code; empty if the table has none."""
    return _words().get((use, code), "")


@cache
def _roles() -> dict[tuple[str, str], str]:
    return {(row["element"], row["code"]): row["type"] for row in rows("ccda_roles")}


def role(element: str, code: str) -> str:
    """`Patient`, `RelatedPerson` or `Practitioner` for a role `code` or `class`; empty if it says neither."""
    return _roles().get((element, code), "")


@cache
def _links() -> dict[tuple[str, str], str]:
    return {(row["kind"], row["type"]): row["element"] for row in rows("ccda_links")}


def link(kind: str, type_code: str) -> str:
    """What a reference between entries is called; `entryRelationship` where the table has no name for it."""
    table = _links()
    return table.get((kind, type_code)) or table.get((kind, "*")) or "entryRelationship"


@cache
def _absences() -> re.Pattern[str]:
    phrases = "|".join(".*".join(fold(part) for part in row["phrase"].split("*")) for row in rows("ccda_absences"))
    return re.compile(f"(?:{phrases})")


def says_nothing(words: str) -> bool:
    """Do these words only say that nothing is recorded? Never a denial: that nothing is known is another matter."""
    return _absences().fullmatch(fold(words)) is not None

"""Which codes, names and factors may the generator write? The rows of data/*.tsv, each with the file it was seen in.

Not here: what is one thing and what is not in a patient (`person`, `plants`); the tables say it of codes alone.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DATA = Path(__file__).parent / "data"
LOOK_ALIKE = Path(__file__).parents[2] / "tests" / "terminology" / "look_alike.tsv"

# System key of the tables → the URL that FHIR R4 gives it (hl7.org/fhir/R4/terminologies-systems.html), and its OID.
URLS = {
    "SCT": ("http://snomed.info/sct", "2.16.840.1.113883.6.96"),
    "ICD10CM": ("http://hl7.org/fhir/sid/icd-10-cm", "2.16.840.1.113883.6.90"),
    "RXN": ("http://www.nlm.nih.gov/research/umls/rxnorm", "2.16.840.1.113883.6.88"),
    "NDC": ("http://hl7.org/fhir/sid/ndc", "2.16.840.1.113883.6.69"),
    "LNC": ("http://loinc.org", "2.16.840.1.113883.6.1"),
    "CVX": ("http://hl7.org/fhir/sid/cvx", "2.16.840.1.113883.12.292"),
}
Line = dict[str, str]


@dataclass(frozen=True, order=True)
class Code:
    """A code as a table has it: `system` is a key of URLS."""

    system: str
    code: str
    name: str

    @property
    def key(self) -> str:
        return f"{self.system}|{self.code.replace('-', '') if self.system == 'NDC' else self.code}"


def read(path: Path) -> list[Line]:
    """The rows of a table as dicts by column name; lines that begin with `#` are remarks."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    columns = lines[0].split("\t")
    return [dict(zip(columns, line.split("\t") + [""] * len(columns), strict=False)) for line in lines[1:]]


@cache
def table(name: str) -> tuple[Line, ...]:
    """Rows of data/NAME.tsv, in their order. Treat them as frozen."""
    return tuple(read(DATA / f"{name}.tsv"))


@cache
def look_alikes() -> tuple[tuple[str, str], ...]:
    """Published look-alike and sound-alike pairs of drug names; empty when the file is not here."""
    if not LOOK_ALIKE.is_file():
        return ()
    return tuple((row["left"], row["right"]) for row in read(LOOK_ALIKE))


def grouped(name: str) -> dict[str, list[Line]]:
    """Rows by their `key`, in order."""
    found: dict[str, list[Line]] = {}
    for row in table(name):
        found.setdefault(row["key"], []).append(row)
    return found


@cache
def single(key: str) -> Code:
    """One code by its key in data/single_codes.tsv."""
    row = next(row for row in table("single_codes") if row["key"] == key)
    return Code(row["system"], row["code"], row["name"])


def plain(name: str) -> str:
    """A name as a person would type it: without the bracket that says what sort of thing it is."""
    return re.sub(r"\s*\((disorder|finding|substance|situation|procedure|organism|product)\)$", "", name, flags=re.I)


def folded(name: str) -> str:
    """Two names that fold alike are one name without any table: case, accents, punctuation and brackets of the sort."""
    bare = unicodedata.normalize("NFKD", plain(name).casefold())
    return " ".join(re.findall(r"[a-z0-9.%/]+", "".join(c for c in bare if not unicodedata.combining(c))))

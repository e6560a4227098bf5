"""Which SQL does the store run? Reads the statements and their marks from `sql/*.sql`. Runs nothing.

A statement stands in a file as

    -- name: insert_statement
    -- mark: one patient
    -- One statement.
    insert into statements …;

Values are bound as `:name`. A mark says whether the statement touches one patient (then it binds `:patient`) or reads
and writes across patients. A database that needs other words for a statement repeats its name in `dialects/<it>.sql`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import msgspec

ONE_PATIENT = "one patient"
ACROSS_PATIENTS = "across patients"

_STATEMENT = re.compile(
    r"^-- name: (?P<name>\w+)\n-- mark: (?P<mark>one patient|across patients)\n"
    r"(?P<purpose>(?:-- [^\n]+\n)+)(?P<text>[^;]+);\n",
    re.MULTILINE,
)
_BINDING = re.compile(r"(?<!:):([a-z]\w*)")


class Query(msgspec.Struct, frozen=True):
    """One statement: `text` without its semicolon, values bound as `:name`."""

    name: str
    mark: str
    purpose: str
    text: str

    @property
    def bindings(self) -> tuple[str, ...]:
        """The names it binds, in order of appearance."""
        return tuple(dict.fromkeys(_BINDING.findall(self.text)))


def parse_queries(text: str) -> dict[str, Query]:
    """Every statement of a file, by name. Raises ValueError if one lacks a name, mark or purpose, or is there twice."""
    found: dict[str, Query] = {}
    for match in _STATEMENT.finditer(text):
        name, mark, purpose, body = match.group("name", "mark", "purpose", "text")
        if name in found:
            raise ValueError(f"two statements are named {name}")
        found[name] = Query(name, mark, purpose.replace("-- ", "").strip(), body.strip())
    if len(found) != sum(line.rstrip().endswith(";") for line in text.splitlines()):
        raise ValueError("a statement lacks its name, mark or purpose")
    return found


@cache
def load_queries(dialect: str) -> Mapping[str, Query]:
    """All statements for one database, by name: the shared ones, with its own words for some of them."""
    root = files(__package__)
    queries: dict[str, Query] = {}
    for file in sorted((root / "sql").iterdir(), key=lambda file: file.name):
        if file.name != "schema.sql":
            queries |= parse_queries(file.read_text("utf-8"))
    own = parse_queries((root / "dialects" / f"{dialect}.sql").read_text("utf-8"))
    if unknown := sorted(own.keys() - queries.keys()):
        raise ValueError(f"{dialect}.sql words statements that nobody runs: {', '.join(unknown)}")
    return queries | own


def named_bindings(text: str) -> str:
    """`:name` → `%(name)s`, percent signs doubled: the form that psycopg binds."""
    return _BINDING.sub(r"%(\1)s", text.replace("%", "%%"))

"""How does a database come to the schema? The numbered migrations, and how their text is cut. Runs nothing itself.

The files are written once for both databases: `blob` is the type of bytes, a line `-- append only: <table>` asks for
the trigger that refuses UPDATE. Each dialect turns them into its own words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files

_APPEND_ONLY = re.compile(r"^-- append only: (\w+)$")


@cache
def migrations() -> tuple[str, ...]:
    """The text of every migration, in order; the n-th brings a database from version n-1 to n."""
    folder = files(__package__) / "migrations"
    named = sorted((file.name, file) for file in folder.iterdir() if file.name.endswith(".sql"))
    for number, (name, _file) in enumerate(named, start=1):
        if not name.startswith(f"{number:04}_"):
            raise ValueError(f"migration {name} should be number {number}")
    return tuple(file.read_text("utf-8") for _name, file in named)


@cache
def schema() -> str:
    """The whole schema as one text: what the migrations come to."""
    return (files(__package__) / "sql" / "schema.sql").read_text("utf-8")


def cut(text: str, append_only: Callable[[str], list[str]]) -> list[str]:
    """The statements of a schema text, without comments and semicolons, in order. `append_only` gives the statements
    that make UPDATE of a table fail."""
    statements: list[str] = []
    lines: list[str] = []
    for line in text.splitlines():
        if match := _APPEND_ONLY.match(line):
            statements += append_only(match[1])
        elif line.strip() and not line.startswith("--"):
            lines.append(line)
            if line.rstrip().endswith(";"):
                statements.append("\n".join(lines).rstrip().rstrip(";"))
                lines = []
    if lines:
        raise ValueError("a schema text ends within a statement")
    return statements

"""Writes the reference pages from the code: `python -m docs.generate` writes them, `--check` says which are out of date.

JSON Schemas come from the nouns, the command line from its own help, HTTP from the OpenAPI document, tables from their
rows. What is written by hand lies beside `reference/` and is not touched.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections import Counter
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import typer
from typer.main import get_command

from iamata import Engine
from iamata.assembly import pipeline as assembly
from iamata.connectors.fhir import mappings
from iamata.formation.attribution import Resolver
from iamata.interfaces.cli import app
from iamata.interfaces.http import create_app
from iamata.model.context import Authority, Context
from iamata.model.fact import Fact
from iamata.model.memory import Memory
from iamata.model.statement import Statement
from iamata.settings import Settings
from iamata.terminology.tables import rows

REFERENCE = Path(__file__).parent / "reference"
HEADER = "<!-- Written by `make docs` from the code; changes here are lost. -->\n\n"


def schemas() -> dict[str, str]:
    """JSON Schemas of the nouns that others build on. A change needs a line in the changelog."""
    nouns: dict[str, Any] = {
        "statement": Statement,
        "fact": Fact,
        "memory": Memory,
        "context": Context,
        "authority": Authority,
    }
    return {
        f"schemas/{name}.schema.json": json.dumps(msgspec.json.schema(noun), indent=1, sort_keys=True) + "\n"
        for name, noun in nouns.items()
    }


def python() -> str:
    """Every public verb of the engine with its signature and what it promises."""
    text = [f"{HEADER}# Python: `iamata.Engine`\n", inspect.cleandoc(Engine.__doc__ or ""), ""]
    for name, verb in inspect.getmembers(Engine, inspect.isroutine):
        if not name.startswith("_"):
            signature = str(inspect.signature(verb)).replace("'", "")
            signature = re.sub(r"<function .*?<lambda> at 0x[0-9a-f]+>", "…", signature)
            text += [f"## `{name}`\n", f"```python\n{name}{signature}\n```\n", inspect.cleandoc(verb.__doc__ or ""), ""]
    return "\n".join(text)


def command_line() -> str:
    """The help of every command, as it is printed."""
    root = get_command(app)
    assert isinstance(root, typer.core.TyperGroup)
    text = [f"{HEADER}# Command line: `iamata`\n", inspect.cleandoc(root.help or ""), ""]
    for name, command in sorted(root.commands.items()):
        text += [f"## `iamata {name}`\n", inspect.cleandoc(command.help or ""), ""]
        for parameter in command.params:
            given = ", ".join(f"`{option}`" for option in parameter.opts) or f"`{parameter.name}`"
            if parameter.param_type_name == "argument":
                given = f"`{(parameter.human_readable_name or parameter.name or '').upper()}`"
            said = " ".join((getattr(parameter, "help", "") or "").split())
            text.append(f"- {given}: {said}" if said else f"- {given}")
        text.append("")
    return "\n".join(text)


def http() -> str:
    """Every route, by path."""
    with Engine.open(":memory:") as engine:
        document = create_app(engine, Settings(), now=lambda: datetime(2026, 1, 1, tzinfo=UTC)).openapi()
    text = [f"{HEADER}# HTTP\n", "| method | path | what |", "|---|---|---|"]
    for path, methods in sorted(document["paths"].items()):
        for method, route in sorted(methods.items()):
            said = " ".join((route.get("description") or route.get("summary") or "").split())
            text.append(f"| {method.upper()} | `{path}` | {said.replace('|', '/')} |")
    return "\n".join([*text, ""])


def settings() -> str:
    """Every setting with its meaning."""
    return f"{HEADER}# Settings\n\n{inspect.cleandoc(Settings.__doc__ or '')}\n"


def attribution() -> str:
    """The precedence, as the code holds it, with the tables it reads."""
    text = [f"{HEADER}# Attribution: which rule decided?\n", "Tried in this order; the first that answers decides.\n"]
    text += [f"- {' '.join((rule.__doc__ or '').split())}" for rule in Resolver.RULES]
    for table in ("integrity_labels", "report_origins"):
        text += ["", f"## `{table}.tsv`", "", _table(rows(table))]
    return "\n".join([*text, ""])


def fhir() -> str:
    """What becomes of each FHIR R4 type."""
    text = [f"{HEADER}# FHIR R4: what becomes of each type\n", "| type | kind of statement |", "|---|---|"]
    text += [f"| {type} | {mapping.kind} |" for type, mapping in sorted(mappings.MAPPINGS.items())]
    text += ["", "Every other type is kept in its document and listed in the intake as `ignored`, `unsupported`.", ""]
    return "\n".join(text)


def knowledge() -> str:
    """Every table of knowledge: rows, and the share that nobody has reviewed."""
    text = [f"{HEADER}# Knowledge tables\n", "| table | rows | unreviewed | sources |", "|---|---|---|---|"]
    folder = files("iamata.terminology").joinpath("data")
    for name in sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".tsv")):
        table = rows(name.removesuffix(".tsv"))
        sources = Counter(row["source"] for row in table)
        unreviewed = sources.pop("unreviewed", 0)
        shown = "; ".join(source for source, _ in sources.most_common(3))
        text.append(f"| `{name}` | {len(table)} | {unreviewed} | {shown.replace('|', '/')} |")
    return "\n".join([*text, ""])


def task_profiles() -> str:
    """Every task profile."""
    text = [f"{HEADER}# Task profiles\n", "| task | what for |", "|---|---|"]
    text += [f"| `{name}` | {' '.join(assembly.profile_of(name).summary.split())} |" for name in assembly.tasks()]
    return "\n".join([*text, ""])


def _table(found: tuple[dict[str, str], ...]) -> str:
    head = list(found[0])
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row[name].replace('|', '/') for name in head)} |" for row in found)])


def pages() -> dict[str, str]:
    """Path under `reference/` → content."""
    return {
        **schemas(),
        "python.md": python(),
        "cli.md": command_line(),
        "http.md": http(),
        "settings.md": settings(),
        "attribution.md": attribution(),
        "fhir.md": fhir(),
        "knowledge.md": knowledge(),
        "profiles.md": task_profiles(),
    }


def main() -> int:
    check = "--check" in sys.argv[1:]
    stale = []
    for name, text in pages().items():
        file = REFERENCE / name
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            stale.append(name)
            if not check:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
    if check and stale:
        print(f"out of date: {', '.join(stale)} (run `make docs`)", file=sys.stderr)
        return 1
    print(f"{len(stale)} written" if not check else "reference pages are current")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Are the pages that come from the code current? `python -m docs.generate` writes them, `--check` names the stale ones.

Reference pages come from the code: JSON Schemas from the nouns, the command line from its own help, HTTP from the
OpenAPI document, tables from their rows. The other pages are written by hand; the commands they show are run again and
their output is put in (`docs.replay`).
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import typer
from typer.main import get_command

import iamata
from docs import agents, policies, queries, replay
from iamata import Engine
from iamata.authority import profiles
from iamata.connectors import registry
from iamata.formation.attribution import Resolver
from iamata.interfaces.cli import app
from iamata.interfaces.cli.failures import EXIT_CODES
from iamata.interfaces.http import asking, create_app, problems
from iamata.model.attribution import AttributionKind, Certainty, Directness, Part, Role
from iamata.model.context import Authority, Context
from iamata.model.fact import Fact
from iamata.model.memory import Memory
from iamata.model.statement import Statement
from iamata.settings import Settings
from iamata.terminology.tables import rows

REFERENCE = Path(__file__).parent / "reference"
HEADER = "<!-- Written by `make docs` from the code; changes here are lost. -->\n\n"
_WIDE = 100
_SOURCES_SHOWN = 2
_SOURCE_CHARS = 90
# Of parameters that the routes do not describe.
_PARAMETERS = {
    "Iamata-Source": "The same as `source`; `source` counts.",
    "Idempotency-Key": "Names the session of a transcript that names none, so that a repeat finds it.",
    "format": "How it is written.",
    "order": "Ascending or descending.",
    "perPage": f"How many a page holds: 1 to {asking.MOST_PER_PAGE}, default {asking.PER_PAGE}.",
    "sort": "By what it is sorted.",
}

Table = Sequence[Sequence[object]]


# ------------------------------------------------------------------------------------------------------- the pages


def schemas() -> dict[str, str]:
    """JSON Schemas of the nouns that others build on. A change needs a line in the changelog."""
    nouns: dict[str, Any] = {
        "statement": Statement,
        "fact": Fact,
        "memory": Memory,
        "context": Context,
        "authority": Authority,
    }
    made = {
        f"schemas/{name}.schema.json": json.dumps(msgspec.json.schema(noun), indent=1, sort_keys=True) + "\n"
        for name, noun in nouns.items()
    }
    lines = [
        (f"[{name}.schema.json]({name}.schema.json)", _said(noun).split(". ")[0].rstrip("."))
        for name, noun in nouns.items()
    ]
    made["schemas/README.md"] = (
        f"{HEADER}# JSON Schemas\n\nWhat others may build on. A change of one is told in the "
        f"[changelog](../../../CHANGELOG.md).\n\n{_table(('schema', 'what'), lines)}\n"
    )
    return made


def python() -> str:
    """The public names: the engine's verbs in the order of their code, then the values and errors."""
    text = [f"{HEADER}# Python: `from iamata import Engine`\n", _doc(Engine), "", "## Verbs", ""]
    for name, verb in _public(Engine):
        text += [f"### `{name}`", "", f"```python\n{_signature(name, verb)}\n```", "", _doc(verb), ""]
    values: list[str] = []
    errors: list[tuple[str, str]] = []
    for name in sorted(iamata.__all__):
        noun = getattr(iamata, name)
        if noun is Engine:
            continue
        if isinstance(noun, type) and issubclass(noun, Exception):
            errors.append((f"`{name}`", _said(noun)))
        else:
            values += [f"### `{name}`", "", *_value(name, noun), ""]
    text += ["## Values", "", *values, "## Errors", "", "By what the caller can do:", ""]
    tree = inspect.cleandoc(iamata.errors.__doc__ or "").split("\n\n")[1]
    text += [f"```text\n{tree}\n```", "", _table(("error", "meaning"), errors), ""]
    return "\n".join(text)


def _commands(group: typer.core.TyperGroup, before: str = "") -> Iterable[tuple[str, Any]]:
    """Every command by its words, a group before those in it."""
    for name, command in group.commands.items():
        yield before + name, command
        if isinstance(command, typer.core.TyperGroup):
            yield from _commands(command, f"{before}{name} ")


def command_line() -> str:
    """Every command with its help and options."""
    root = get_command(app)
    assert isinstance(root, typer.core.TyperGroup)
    text = [f"{HEADER}# Command line: `iamata`\n", _doc_text(root.help or ""), "", EXIT_CODES, ""]
    text += ["The database is `--db`, else `IAMATA_DB`, else `iamata.db` here. Reading never makes one.", ""]
    commands = list(_commands(root))
    links = [(f"[`{n}`](#iamata-{n.replace(' ', '-')})", _first(c.help or "")) for n, c in commands]
    text += [_table(("command", "what"), links)]
    for name, command in commands:
        text += ["", f"## `iamata {name}`", ""]
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        options = [p for p in command.params if p.param_type_name == "option"]
        usage = " ".join(["iamata", name, *(p.metavar or p.name.upper() for p in arguments), "[OPTIONS]"])
        text += [f"```text\n{usage}\n```", "", _doc_text(command.help or ""), ""]
        lines = []
        for each in [*arguments, *options]:
            shown = each.metavar or (each.name or "").upper() if each in arguments else _option(each)
            needed = "required" if each.required and each in options else ""
            lines.append((f"`{shown}`", _one_line(getattr(each, "help", "") or ""), needed or _default(each)))
        if any(extra for _, _, extra in lines):
            text += [_table(("", "what", "default"), lines)]
        elif lines:
            text += [_table(("", "what"), [line[:2] for line in lines])]
    return "\n".join([*text, ""])


def http() -> str:
    """Every route, by what it is about, with what it takes."""
    with Engine.open(":memory:") as engine:
        document = create_app(engine, Settings(), now=lambda: datetime(2026, 1, 1, tzinfo=UTC)).openapi()
    groups: dict[str, list[tuple[str, str, dict[str, Any]]]] = defaultdict(list)
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            groups[(route.get("tags") or ["others"])[-1]].append((method.upper(), path, route))
    text = [f"{HEADER}# HTTP\n"]
    text += [
        "`iamata serve` listens on this machine only, unless tokens are configured: then every request but `GET /`",
        "and `GET /openapi.json` (the whole description) carries one as `Authorization: Bearer`. Answers are JSON;",
        "each has an `X-Request-Id`. Answers under a read stamp carry it as their `ETag`, other answers from a",
        "patient's graph the digest of what this reader is told: `If-None-Match` answers 304 while it is the same.",
        "`Iamata-Warning` is to be read beside an answer. Patients, memories, nodes, edges and their queries leave as",
        "NDJSON (`Accept: application/x-ndjson`): every item, one a line, in the order of the pages; `page` and",
        "`perPage` do not count. An error before the first line is a problem; after it the answer breaks off.",
    ]
    bodies: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for group, routes in groups.items():
        lines = []
        for method, path, route in routes:
            said = _one_line(route.get("description") or route.get("summary") or "")
            old = " *Deprecated.*" if route.get("deprecated") else ""
            takes = [p["name"] for p in route.get("parameters", ()) if p["in"] != "path"]
            for media, content in sorted(route.get("requestBody", {}).get("content", {}).items()):
                title = content["schema"].get("title")
                if title:
                    bodies.setdefault(title, (content["schema"], []))[1].append(f"`{method} {path}`")
                    takes.insert(0, f"body {title}")
                else:
                    takes.insert(0, f"body {media}")
            lines.append((method, f"`{path}`", f"{said}{old}", ", ".join(takes)))
        text += ["", f"## {group.capitalize()}", "", _table(("method", "path", "what", "takes"), lines)]
    text += ["", "## Parameters", ""]
    text += [_table(("parameter", "in", "meaning"), _parameters(document))]
    text += ["", "## Bodies"]
    for title, (schema, where) in sorted(bodies.items()):
        text += ["", f"### {title}", "", f"{schema.get('description', '')} Taken by {', '.join(where)}.", ""]
        text += [_table(("field", "type", "needed"), list(_body(schema)))]
    shape = '`{"code", "type", "message", "requestId"}`'
    text += ["", "## Problems", "", f"Every error has one shape: {shape}, and `details` where there are any.", ""]
    table = [(status, f"`{type}`", f"`{error.__name__}`: {_said(error)}") for error, status, type in problems.TABLE]
    text += [_table(("status", "type", "error"), table)]
    return "\n".join([*text, ""])


def settings() -> str:
    """Every setting with its meaning and default."""
    defaults = [
        (f"`{field.name}`", f"`IAMATA_{field.name.upper()}`", f"`{field.default}`")
        for field in msgspec.structs.fields(Settings)
    ]
    return "\n".join(
        [
            f"{HEADER}# Settings\n",
            _doc(Settings),
            "",
            _table(("setting", "environment", "default"), defaults),
            "",
        ]
    )


def attribution() -> str:
    """The precedence, as the code holds it, with the tables it reads and the words it answers with."""
    text = [f"{HEADER}# Attribution: which rule decided?\n"]
    text += [
        "About the author, never about the system that sent it. The rules are tried in this order; the first that",
        "answers decides. How it is meant: [attribution](../explanation/attribution.md).",
        "",
    ]
    text += [_table(("what it reads", "the rule that an answer names"), [_rule(rule) for rule in Resolver.RULES])]
    text += ["", "## Words", ""]
    words: list[tuple[str, type[StrEnum]]] = [
        ("kind", AttributionKind),
        ("role of the author", Role),
        ("directness", Directness),
        ("certainty", Certainty),
        ("part an element plays", Part),
    ]
    text += [_table(("what", "values"), [(name, ", ".join(f"`{v.value}`" for v in enum)) for name, enum in words])]
    for table in ("integrity_labels", "report_origins", "author_roles", "agents"):
        text += ["", f"## `{table}.tsv`", "", _rows(rows(table))]
    return "\n".join([*text, ""])


def formats() -> dict[str, str]:
    """One page for each connector that reads something, and a page that lists them."""
    packages: dict[str, list[str]] = defaultdict(list)
    for format, reader in registry.READERS.items():
        module = getattr(reader, "func", reader).__module__.split(".")
        packages[".".join(module[:3])].append(format)
    made: dict[str, str] = {}
    index = []
    for package, read in sorted(packages.items()):
        name = package.rpartition(".")[2]
        said = _one_line(import_module(package).__doc__ or "")
        made[f"{name}.md"] = _connector(package, said, read)
        kinds = ", ".join(f"`{format}`" for format in read)
        index.append(
            (kinds, f"[{said.rstrip('.')}]({name}.md)", ", ".join(f"`{registry.media_type(f)}`" for f in read))
        )
    made["formats.md"] = "\n".join(
        [
            f"{HEADER}# Formats\n",
            "What a document is, is seen from its bytes; media type and name count only where the bytes leave it open.",
            "A format that is recognised and not read yet is refused by name. Conversations are no documents: see",
            "[append a conversation](../how-to/append-a-conversation.md).",
            "",
            _table(("format", "read by", "media type"), index),
            "",
        ]
    )
    return made


def knowledge() -> str:
    """Every table of knowledge: what it answers, its rows, and where they come from."""
    text = [f"{HEADER}# Knowledge tables\n"]
    text += [
        "Clinical rules are rows of tables, each with its source. `iamata doctor` prints the hash over those of",
        "`terminology/data` as `knowledge`.",
        "",
    ]
    for package in ("terminology", "authority"):
        lines = []
        folder = files(f"iamata.{package}").joinpath("data")
        for entry in sorted((e for e in folder.iterdir() if e.name.endswith(".tsv")), key=lambda e: e.name):
            head, found = _tsv(entry.read_text(encoding="utf-8"))
            sources = Counter(row["source"] for row in found)
            shown = [textwrap.shorten(source, _SOURCE_CHARS, placeholder=" …") for source, _ in sources.most_common()]
            more = [f"and {len(shown) - _SOURCES_SHOWN} more"] if len(shown) > _SOURCES_SHOWN else []
            lines.append((f"`{entry.name}`", head, len(found), "; ".join([*shown[:_SOURCES_SHOWN], *more])))
        text += [f"## `{package}/data`", "", _table(("table", "what it holds", "rows", "sources"), lines), ""]
    return "\n".join(text)


def task_profiles() -> str:
    """Every task profile: what it asks, and the numbers of its own with what they rest on."""
    text = [f"{HEADER}# Task profiles\n"]
    text += [
        "What counts for a task. Weights are nats (natural log-odds); `E…` and `R…` name published evidence, rows of",
        "`authority/data/evidence.tsv`; where no study gives the number, the judgement says why. How the numbers are",
        "used: [authority](../explanation/authority.md).",
        "",
        _table(("task", "what it asks"), [(f"`{n}`", _one_line(profiles.load(n).summary)) for n in profiles.names()]),
    ]
    base = profiles.load("general")
    for name in ("general", *(n for n in profiles.names() if n != "general")):
        profile = profiles.load(name)
        own = [row for row in profile.standing if name == "general" or row not in base.standing]
        aspects = {k: a for k, a in profile.aspects.items() if name == "general" or base.aspects.get(k) != a}
        if not own and not aspects:
            continue
        text += ["", f"## `{name}`", ""]
        if name != "general":
            text += ["What differs from `general`.", ""]
        if aspects:
            asked = [(kind.replace("_", " "), ", ".join(a.value for a in asks)) for kind, asks in aspects.items()]
            text += [_table(("asked about", "which aspect, the usual one first"), asked), ""]
        if own:
            lines = [
                (
                    row.aspect,
                    row.role,
                    row.via or row.klass or "",
                    f"{row.yes:+.2f}",
                    f"{row.no:+.2f}",
                    "; ".join(part for part in (" ".join(row.evidence), row.judgement) if part),
                )
                for row in own
            ]
            text += [_table(("aspect", "who says so", "as", "yes", "no", "rests on"), lines)]
    return "\n".join([*text, ""]).replace("\n\n\n", "\n\n")


def reference() -> str:
    """The list of the pages."""
    lines = [
        ("[python.md](python.md)", "the engine's verbs, values and errors"),
        ("[cli.md](cli.md)", "the command line"),
        ("[http.md](http.md)", "routes, parameters, bodies, problems"),
        ("[queries.md](queries.md)", "what nodes and edges can be asked for: filters, order, fields"),
        ("[mcp.md](mcp.md)", "tools, resources and prompts for agents"),
        ("[settings.md](settings.md)", "settings and their environment variables"),
        ("[policy.md](policy.md)", "who may what: the rows of the packaged policy"),
        ("[formats.md](formats.md)", "what documents are read, and what becomes of each type"),
        ("[attribution.md](attribution.md)", "the rules that say who wrote or said it"),
        ("[profiles.md](profiles.md)", "what counts for each task, and the evidence behind it"),
        ("[knowledge.md](knowledge.md)", "the tables of clinical knowledge and their sources"),
        ("[schemas/](schemas/README.md)", "JSON Schemas of statement, fact, memory, context, authority"),
    ]
    return f"{HEADER}# Reference\n\n{_table(('page', 'what'), lines)}\n"


def pages() -> dict[Path, str]:
    """Each page that comes from the code → its content."""
    made = {
        **schemas(),
        "README.md": reference(),
        "python.md": python(),
        "cli.md": command_line(),
        "http.md": http(),
        "queries.md": f"{HEADER}{queries.page(_table)}",
        "mcp.md": f"{HEADER}{agents.page(_table, _json_type)}",
        "settings.md": settings(),
        "policy.md": f"{HEADER}{policies.page(_table)}",
        "attribution.md": attribution(),
        **formats(),
        "knowledge.md": knowledge(),
        "profiles.md": task_profiles(),
    }
    return {REFERENCE / name: text for name, text in made.items()}


# ------------------------------------------------------------------------------------------------- pieces of pages


def _connector(package: str, said: str, formats: Sequence[str]) -> str:
    """What a connector reads: what becomes of each type if it declares that, and the questions its modules answer."""
    title, _, rest = said.partition(":")
    text = [f"{HEADER}# {title.strip()}\n", f"Read as {', '.join(f'`{format}`' for format in formats)}:{rest}", ""]
    modules = {}
    for entry in sorted(files(package).iterdir(), key=lambda each: each.name):
        if entry.name.endswith(".py") and not entry.name.startswith("_"):
            modules[entry.name] = import_module(f"{package}.{entry.name.removesuffix('.py')}")
    mappings = getattr(modules.get("mappings.py"), "MAPPINGS", {})
    kinds = [(f"`{type}`", each.kind.value, each.domain.value) for type, each in sorted(mappings.items())]
    if kinds:
        text += [_table(("type", "kind of statement", "domain"), kinds), ""]
        text += [
            "Items of one type can be of another kind by their content (`terminology/data/kinds.tsv`). Every other type"
        ]
        text += ["is kept in its document and listed in the intake as `ignored`, `unsupported`.", ""]
    text += ["## In the code", "", f"`{package.replace('.', '/')}/`, each module by the question it answers:", ""]
    text += [
        _table(("module", "question"), [(f"`{name}`", _first(each.__doc__)) for name, each in modules.items()]),
        "",
    ]
    return "\n".join(text)


def _public(of: type) -> Iterable[tuple[str, Any]]:
    """The public methods, of the class and then of those it is made of, each in the order in which they are written."""
    seen: set[str] = set()
    for base in (each for each in of.__mro__ if each.__module__.startswith("iamata")):
        for name, member in vars(base).items():
            if not name.startswith("_") and callable(getattr(of, name)) and name not in seen:
                seen.add(name)
                yield name, getattr(of, name) if isinstance(member, classmethod) else member


def _signature(name: str, verb: Any) -> str:
    """The signature without self; one parameter a line when it is long."""
    signature = inspect.signature(verb)
    parts: list[str] = []
    for each in signature.parameters.values():
        if each.name == "self":
            continue
        if each.kind is each.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        default = "" if each.default is each.empty else f" = {_value_text(each.default)}"
        parts.append(f"{each.name}: {each.annotation}{default}".replace("'", '"'))
    returns = "" if signature.return_annotation is signature.empty else f" -> {signature.return_annotation}"
    line = f"{name}({', '.join(parts)}){returns}"
    if len(line) <= _WIDE:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){returns}"])


def _value_text(value: object) -> str:
    """A default as it is written in code; `…` for a function."""
    if isinstance(value, StrEnum):
        return f"{type(value).__name__}.{value.name}"
    if value == frozenset() and isinstance(value, frozenset):
        return "frozenset()"
    return "…" if callable(value) else repr(value).replace("'", '"')


def _value(name: str, noun: Any) -> list[str]:
    """A public value: a struct with its fields, a closed set with its words, or a function."""
    if isinstance(noun, type) and issubclass(noun, StrEnum):
        return [_doc(noun), "", f"One of {', '.join(f'`{member.value}`' for member in noun)}."]
    if isinstance(noun, type) and issubclass(noun, msgspec.Struct):
        fields = [
            (f"`{f.name}`", f"`{_type(f.encode_name, noun)}`", _field_default(f)) for f in msgspec.structs.fields(noun)
        ]
        text = [_doc(noun), "", _table(("field", "type", "default"), fields)]
        for method, member in _public(noun):
            text += ["", f"```python\n{_signature(f'{name}.{method}', member)}\n```", "", _doc(member)]
        return text
    return [f"```python\n{_signature(name, noun)}\n```", "", _doc(noun)]


def _type(field: str, noun: type) -> str:
    for base in noun.__mro__:
        if field in getattr(base, "__annotations__", {}):
            return str(base.__annotations__[field])
    return ""


def _field_default(field: Any) -> str:
    if field.required:
        return "needed"
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return f"`{_value_text(value)}`"


def _option(option: Any) -> str:
    wide = ", ".join([*option.opts, *option.secondary_opts])
    if option.is_flag:
        return wide
    return f"{wide} {option.metavar or (option.name or '').upper()}"


def _default(parameter: Any) -> str:
    value = parameter.default
    if parameter.required or value in (None, "", False) or getattr(parameter, "show_default", True) is False:
        return ""
    return f"`{value.value if isinstance(value, StrEnum) else value}`"


def _parameters(document: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Every parameter in a query or header, once: what any route says of it, and the words that it may be."""
    said: dict[tuple[str, str], str] = {}
    words: dict[tuple[str, str], set[str]] = defaultdict(set)
    for methods in document["paths"].values():
        for each in (each for route in methods.values() for each in route.get("parameters", ())):
            if each["in"] == "path":
                continue
            key = (each["name"], each["in"])
            schema = each.get("schema", {})
            said[key] = said.get(key) or _one_line(each.get("description", "")) or _PARAMETERS.get(each["name"], "")
            words[key] |= set(schema.get("enum", ())) | set(re.findall(r"\w+", schema.get("pattern", "")))
            words[key] |= set(_schema_enum(document, schema))
    found = []
    for (name, where), meaning in sorted(said.items(), key=lambda item: (item[0][1], item[0][0])):
        allowed = ", ".join(f"`{word}`" for word in sorted(words[name, where]))
        found.append(
            (f"`{name}`", where, " ".join(part for part in (meaning, allowed and f"One of {allowed}.") if part))
        )
    return found


def _schema_enum(document: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    return list(document.get("components", {}).get("schemas", {}).get(name, {}).get("enum", ()))


def _body(schema: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str, str]]:
    """Each field of a body, those of its parts with the path to them."""
    needed = set(schema.get("required", ()))
    for name, field in schema.get("properties", {}).items():
        yield f"`{prefix}{name}`", _json_type(field), "yes" if name in needed else ""
        items = field.get("items", {})
        if "properties" in items:
            yield from _body(items, f"{prefix}{name}[].")


def _json_type(field: Mapping[str, Any]) -> str:
    if "enum" in field:
        return "one of " + ", ".join(f"`{value}`" for value in field["enum"])
    if "anyOf" in field:
        return " or ".join(_json_type(each) for each in field["anyOf"] if each.get("type") != "null")
    if field.get("type") == "array":
        return f"list of {_json_type(field.get('items', {}))}"
    limits = [f"{word} {field[key]}" for key, word in (("minimum", "from"), ("maximum", "to")) if key in field]
    return " ".join([str(field.get("format") or field.get("type", "object")), *limits])


def _rule(rule: Any) -> tuple[str, str]:
    """What a rule reads, and the ids that its answers carry: the hyphenated words of its code."""
    ids = dict.fromkeys(re.findall(r'"([a-z]+(?:-[a-z]+)+)"', inspect.getsource(rule)))
    return _said(rule), ", ".join(f"`{id}`" for id in ids)


def _tsv(text: str) -> tuple[str, list[dict[str, str]]]:
    """The first sentence of a table's comment, and its rows."""
    lines = [line for line in text.splitlines() if line.strip()]
    comment = " ".join(line.lstrip("# ") for line in lines if line.startswith("#"))
    cells = [line.split("\t") for line in lines if not line.startswith("#")]
    sentence = re.split(r"(?<=[.?])\s", comment, maxsplit=1)[0] or f"Columns: {', '.join(cells[0])}."
    return sentence, [dict(zip(cells[0], row, strict=True)) for row in cells[1:]]


def _rows(found: Sequence[Mapping[str, str]]) -> str:
    head = list(found[0])
    return _table(head, [[row[name] for name in head] for row in found])


def _table(head: Sequence[str], lines: Table) -> str:
    """A Markdown table. A bar or a line break inside a cell would end it, so both are written otherwise."""
    made = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    made += [f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines]
    return "\n".join(made)


def _cell(cell: object) -> str:
    return _one_line(str(cell)).replace("|", "\\|")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _doc(of: object) -> str:
    return inspect.cleandoc(getattr(of, "__doc__", None) or "")


def _doc_text(text: str) -> str:
    return inspect.cleandoc(text).replace("\f", "").strip()


def _said(of: object) -> str:
    """A docstring on one line."""
    return _one_line(_doc(of))


def _first(text: str | None) -> str:
    """The first paragraph of a help, on one line."""
    return _one_line(inspect.cleandoc(text or "").split("\n\n")[0])


# --------------------------------------------------------------------------------------------------------- command


def main() -> int:
    check = "--check" in sys.argv[1:]
    made = pages()
    made.update({page: replay.replayed(page) for page in replay.pages()})
    stale = []
    for file, text in made.items():
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            stale.append(str(file.relative_to(replay.ROOT)))
            if not check:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
    left = sorted(str(f.relative_to(replay.ROOT)) for f in REFERENCE.rglob("*") if f.is_file() and f not in made)
    if check and (stale or left):
        sys.stderr.write("".join(f"out of date: {name}\n" for name in stale))
        sys.stderr.write("".join(f"no longer written: {name} (delete it)\n" for name in left))
        sys.stderr.write("run `make docs`\n")
        return 1
    sys.stdout.write("all pages are current\n" if check else f"{len(stale)} written\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

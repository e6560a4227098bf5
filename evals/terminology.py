"""How many of the conditions and results that the public documents name do the terminology tables know?

A distinct concept is a set of codes with a folded name, counted once per folder; what is known is asked of the tables
that reconciliation asks. Rows of the tables by source, and the share that is unreviewed, stand in the figures.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.resources import files as package_files

from evals.reading import expectations, files
from evals.shape import Figures, Options, Outcome, Row, skipped
from iamata.connectors import registry
from iamata.errors import IamataError
from iamata.model.coding import CodedText
from iamata.model.identifiers import IdMint
from iamata.model.scope import patient
from iamata.model.statement import Kind
from iamata.terminology import body_sites, conditions, labs
from iamata.terminology.names import fold
from iamata.terminology.tables import rows as table

_MINT = IdMint(b"evaluation of terminology key 32")
_NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
_TABLES = ("condition_", "lab_", "unit_factors", "body_", "abbreviations")


def run(options: Options) -> Outcome:
    if not options.data.is_dir():
        return skipped("terminology", f"no folder {options.data.name}/")
    named = concepts(options)
    rows = [row for folder in sorted(named) for row in folder_rows(folder, named[folder])]
    misses = [f"{row['folder']}: {row['kind']} {name}" for row in rows for name in row.pop("unknown")]
    figures: Figures = {
        kind: {
            "named": sum(row["named"] for row in rows if row["kind"] == kind),
            "known": sum(row["known"] for row in rows if row["kind"] == kind),
        }
        for kind in ("condition", "course", "test", "site")
    }
    figures["tables"] = {
        "groups": len(table("condition_groups")),
        "tests": len(table("lab_tests")),
        "rows": (counted := shares())["rows"],
        "unreviewed": counted["unreviewed"],
    }
    return Outcome("terminology", sorted(named), figures, rows, misses)


def concepts(options: Options) -> dict[str, dict[Kind, list[CodedText]]]:
    """Folder → kind → the distinct concepts that its documents name."""
    expected = expectations()
    seen: dict[str, dict[Kind, dict[object, CodedText]]] = defaultdict(lambda: defaultdict(dict))
    for path in files(options.data):
        name = path.relative_to(options.data).as_posix()
        if expected.get(name):
            continue
        body = path.read_bytes()
        try:
            parsed = registry.parse(
                body,
                format=registry.detect(body, name=path.name),
                subject=patient("eval"),
                source="eval",
                mint=_MINT,
                document="en",
                received_at=_NOW,
            )
        except IamataError:
            continue
        for statement in parsed.statements:
            if statement.kind in (Kind.CONDITION, Kind.OBSERVATION) and isinstance(statement.concept, CodedText):
                concept = statement.concept
                if concept.keys or fold(concept.display):
                    seen[name.partition("/")[0]][statement.kind][concept.keys, fold(concept.display)] = concept
    return {folder: {kind: list(found.values()) for kind, found in kinds.items()} for folder, kinds in seen.items()}


def folder_rows(folder: str, named: dict[Kind, list[CodedText]]) -> list[Row]:
    """One row for conditions, their courses, sites, and tests; `unknown` are the names that no table knows."""
    found = []
    problems, results = named.get(Kind.CONDITION, []), named.get(Kind.OBSERVATION, [])
    asked: tuple[tuple[str, list[CodedText], Callable[[CodedText], bool]], ...] = (
        ("condition", problems, lambda concept: bool(conditions.group(concept))),
        ("course", problems, lambda concept: bool(conditions.course(concept))),
        ("site", problems, lambda concept: bool(body_sites.site(concept).site)),
        ("test", results, lambda concept: labs.test(concept) is not None),
    )
    for kind, concepts, known in asked:
        unknown = sorted(concept.display for concept in concepts if not known(concept))
        row: Row = {"folder": folder, "kind": kind, "named": len(concepts), "known": len(concepts) - len(unknown)}
        found.append({**row, "unknown": unknown if kind in ("condition", "test") else []})
    return found


def shares() -> dict[str, dict[str, int]]:
    """Rows of each table, and how many of them are unreviewed."""
    counted: Counter[str] = Counter()
    unreviewed: Counter[str] = Counter()
    for entry in package_files("iamata.terminology").joinpath("data").iterdir():
        name = entry.name.removesuffix(".tsv")
        if entry.name.endswith(".tsv") and name.startswith(_TABLES):
            counted[name] = len(table(name))
            unreviewed[name] = sum(row["source"] == conditions.UNREVIEWED for row in table(name))
    return {"rows": dict(sorted(counted.items())), "unreviewed": {n: v for n, v in sorted(unreviewed.items()) if v}}

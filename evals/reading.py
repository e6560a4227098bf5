"""How many of the public documents are read, and is every item of them accounted for?

Every file of the data folder whose bytes are of a format that is read now, or that the project means to read (C-CDA,
HL7 v2, X12), is a document. Which files are broken on purpose, or look like a format and are none, is
`gold/reading_expected.csv`. Items are counted without the readers (`accounting`).
"""

from __future__ import annotations

import csv
import re
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from evals.accounting import unaccounted
from evals.shape import Figures, Options, Outcome, Row, skipped
from iamata.connectors import registry
from iamata.errors import IamataError, UnknownFormat
from iamata.model.identifiers import IdMint
from iamata.model.scope import patient

EXPECTED = Path(__file__).parent / "gold" / "reading_expected.csv"
MEANT = frozenset({"ccda", "hl7v2", "x12"})
_WHOLE = re.compile(rb"<(?:[\w-]+:)?ClinicalDocument[\s>]")
_MINT = IdMint(b"evaluation of reading, key of 32")
_NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def run(options: Options) -> Outcome:
    if not options.data.is_dir():
        return skipped("reading", f"no folder {options.data.name}/")
    expected = expectations()
    rows = [row for path in files(options.data) if (row := read(path, options.data, expected)) is not None]
    if not rows:
        return skipped("reading", "no document of a known format")
    misses = [f"{row['file']}: {row['why'] or 'items unaccounted for'}" for row in rows if _missed(row)]
    return Outcome("reading", sorted({row["folder"] for row in rows}), figures(rows), rows, misses)


def files(data: Path) -> Iterator[Path]:
    return (path for path in sorted(data.rglob("*")) if path.is_file() and path.suffix != ".md")


def expectations() -> dict[str, Mapping[str, str]]:
    """File → its row: `refused` (broken on purpose) or `other` (not of the format it looks like)."""
    with EXPECTED.open(encoding="utf-8", newline="") as file:
        return {row["file"]: row for row in csv.DictReader(file)}


def read(path: Path, data: Path, expected: Mapping[str, Mapping[str, str]]) -> Row | None:
    """One document; None for a file that is none."""
    name = path.relative_to(data).as_posix()
    body = path.read_bytes()
    wanted = expected.get(name, {}).get("expect", "read")
    format, unknown = _format(body, path)
    if wanted == "other" or not format:
        return None
    row: Row = {"file": name, "folder": name.partition("/")[0], "format": _label(format, body), "expected": wanted}
    row |= {"state": "failed", "items": 0, "unaccounted": 0, "ms": None, "why": ""}
    if unknown is not None:
        row["state"] = "refused" if wanted == "refused" else "failed"
        return {**row, "why": "" if wanted == "refused" else str(unknown)}
    start = time.perf_counter()
    try:
        parsed = registry.parse(
            body, format=format, subject=patient("eval"), source="eval", mint=_MINT, document="en", received_at=_NOW
        )
    except IamataError as refusal:
        row["state"] = "refused" if wanted == "refused" else "failed"
        return {**row, "why": "" if wanted == "refused" else f"refused: {refusal}"}
    except Exception as error:
        return {**row, "why": f"{type(error).__name__}"}
    row["ms"] = round((time.perf_counter() - start) * 1000, 3)
    row["items"] = len(parsed.intake)
    row["unaccounted"] = len(unaccounted(body, format, parsed))
    if wanted == "refused":
        return {**row, "why": "read, though it is broken on purpose"}
    return {**row, "state": "read"}


def _format(body: bytes, path: Path) -> tuple[str, UnknownFormat | None]:
    """The format, and the refusal if no connector reads it yet; empty for what is no document of ours."""
    try:
        return registry.detect(body, name=path.name), None
    except UnknownFormat as unknown:
        if unknown.format in MEANT:
            return unknown.format, unknown
        if unknown.format == "xml" and any(part.startswith("ccda") for part in path.parts):
            return "ccda", unknown
        return "", None


def _label(format: str, body: bytes) -> str:
    """Whole C-CDA documents are counted apart from fragments (an example of one section or entry)."""
    if format.startswith(("cda", "ccda")):
        return "ccda" if _WHOLE.search(body.replace(b"\0", b"")) else "ccda fragment"
    return format


def figures(rows: Sequence[Row]) -> Figures:
    """Per format, and over all."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["format"]].append(row)
    found: Figures = {**_count(rows)}
    for name in sorted(groups):
        found[name] = _count(groups[name])
    folders: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        folders[row["folder"]].append(row)
    for name in sorted(folders):
        found[f"folder {name}"] = _count(folders[name])
    return found


def _count(rows: Sequence[Row]) -> Figures:
    times = [row["ms"] for row in rows if row["ms"] is not None]
    return {
        "documents": len(rows),
        "read": sum(row["state"] == "read" for row in rows),
        "refused_as_expected": sum(row["state"] == "refused" for row in rows),
        "failed": sum(row["state"] == "failed" for row in rows),
        "unaccounted": sum(row["unaccounted"] for row in rows),
        "median_ms": round(statistics.median(times), 2) if times else None,
    }


def _missed(row: Row) -> bool:
    return bool(row["state"] == "failed" or row["unaccounted"] > 0)

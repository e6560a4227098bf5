"""Is the writer of each labelled stretch of a free document named right? The labels of `gold/documents`.

A label names a stretch of text. It is found in the shortest passage that holds it after its heading (white space
apart), else in a
statement that holds it; what is judged is the attribution of that. `a|b` in a label allows either, `open` is not
counted, a row whose kind is open is left out. Each document is made, named by its format alone, and read by itself as
from an EHR. The documents kept apart are read only when asked for, and no line tells their misses.

Does not judge how a document is cut, nor what is said in it: the aspect counts only where a statement holds the text.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from evals.documents_made import made
from evals.shape import Figures, Row
from iamata.model.attribution import Attribution, Author
from iamata.model.graph import Graph

LABELS = {"tuned": "attribution.csv", "unopened": "attribution_unopened.csv"}
COLUMNS = ("kind", "role", "name", "rule")
OPEN = "open"
Gold = Mapping[str, str]
# The bytes and the name of one document → its graph, or None if it is refused.
Read = Callable[[bytes, str], Graph | None]


def judged(folder: Path, read: Read, *, source: str, unopened: bool = False) -> Iterator[Row]:
    """One row for each counted label, in the order of the labels; none if the folder is not there. `source` is what
    `read` calls the sender: as the author's name it names nobody, because it is not in the document."""
    for part, labels in LABELS.items():
        if not (folder / labels).is_file() or (part == "unopened" and not unopened):
            continue
        with (folder / labels).open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["expected_kind"] != OPEN]
        graphs: dict[str, Graph | None] = {}
        for row in rows:
            if row["document"] not in graphs:
                graphs[row["document"]] = _graph(folder / part / row["document"], read)
            yield _judge(row, graphs[row["document"]], part, source)


def _graph(source: Path, read: Read) -> Graph | None:
    """None if the document is refused, or cannot be made because the extra `documents` is not installed."""
    try:
        name, body = made(source)
    except ImportError:
        return None
    return read(body, f"document{Path(name).suffix}")


def figures(rows: Sequence[Row]) -> Figures:
    """For each side and each format on it: rows, right, and for every column how many are right of those counted."""
    sets: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        sets[row["set"]].append(row)
        sets[f"{row['set']} {row['format']}"].append(row)
    return {name: _count(sets[name]) for name in sorted(sets)}


def _count(rows: Sequence[Row]) -> Figures:
    told: Figures = {"rows": len(rows), "right": sum(row["right"] for row in rows)}
    for column in (*COLUMNS, "informant", "aspect"):
        counted = [row[f"{column}_right"] for row in rows if row[f"{column}_right"] is not None]
        told[f"{column}_right"], told[f"{column}_counted"] = sum(counted), len(counted)
    return told


def _judge(row: Gold, graph: Graph | None, part: str, source: str) -> Row:
    found, aspects = _held(graph, row["span"]) if graph is not None else (None, set())
    got = {
        "kind": found.kind.value if found else "",
        "role": found.author.role.value if found else "",
        "name": found.author.display if found and found.author.display != source else "",
        "rule": found.rule if found else "",
    }
    right: dict[str, bool | None] = {}
    for column in COLUMNS:
        wanted = row[f"expected_{column}"]
        same = _named if column == "name" else _among
        right[column] = None if wanted == OPEN else found is not None and same(wanted, got[column])
    wanted = row["expected_informant"]
    told = found.informant if found else None
    right["informant"] = None if wanted == OPEN else found is not None and _informed(wanted, told)
    wanted = row["expected_aspect"]
    right["aspect"] = None if wanted == OPEN or not aspects else bool(aspects & set(wanted.split("|")))
    missing = "no passage" if graph is not None else "refused"
    return {
        "set": "documents" if part == "tuned" else "documents unopened",
        "format": row["document"].partition("-")[0],
        "file": row["document"],
        "item": row["span"],
        "expected": " · ".join(row[f"expected_{column}"] or "-" for column in COLUMNS),
        "found": " · ".join(got[column] or "-" for column in COLUMNS) if found else missing,
        **{f"{column}_right": value for column, value in right.items()},
        "right": all(right[column] is not False for column in COLUMNS),
    }


def _held(graph: Graph, span: str) -> tuple[Attribution | None, set[str]]:
    """The attribution of the shortest passage with the text, else of a statement with it; the statements' aspects."""
    wanted = _plain(span)
    passages = [p for p in graph.passages.values() if wanted in _plain(f"{p.title}: {p.text}")]
    sent = [s for s in graph.statements.values() if not s.is_mention]
    statements = [s for s in sent if any(wanted in _plain(text) for text in _texts(s))]
    nearest = sorted((len(p.text), p.id) for p in passages) or sorted((0, s.id) for s in statements)
    found = graph.attributions.get(nearest[0][1]) if nearest else None
    return found, {statement.aspect.value for statement in statements}


def _texts(item: object) -> Iterator[str]:
    def within(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            for each in value.values():
                yield from within(each)
        elif isinstance(value, list | tuple):
            for each in value:
                yield from within(each)

    yield from within(msgspec.to_builtins(item))


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _among(wanted: str, found: str) -> bool:
    return found in wanted.split("|")


def _named(wanted: str, found: str) -> bool:
    """The name in the label stands whole in the name found, beside titles, degrees or a trade of a few words."""
    has = _words(found)
    for name in wanted.split("|"):
        words = _words(name)
        if not words and not has:
            return True
        places = range(len(has) - len(words) + 1) if words else ()
        if any(has[at : at + len(words)] == words for at in places) and len(has) - len(words) <= 4:
            return True
    return False


def _words(name: str) -> list[str]:
    return re.findall(r"\w+", unicodedata.normalize("NFC", name).casefold().replace("^", " "))


def _informed(wanted: str, found: Author | None) -> bool:
    if not wanted or found is None:
        return not wanted and found is None
    role, _, name = wanted.partition(":")
    return found.role.value == role.strip() and (not name.strip() or _named(name.strip(), found.display))

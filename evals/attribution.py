"""Is everybody who wrote or said something named right, with the rule that decided? Hand-labelled public items.

`gold/attribution_index.csv` (FHIR) names an item by file, type, id and element; a row without an id pairs with the
items of that type that have the element as labelled and no id, in file order; a Provenance row expects what it gives
its target. Each `gold/attribution_FORMAT.csv` names an item by file and place, and where it needs to by type, by `item`
(a kind, or `passage`) and by the patient (`subject`) whom the file is read for. Each file is read by itself, as from an
EHR. The free documents of `gold/documents` are ours and need no folder: `attribution_documents` judges them.
"""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evals import attribution_documents as documents
from evals.shape import Figures, Options, Outcome, Row, skipped
from iamata.connectors import registry
from iamata.engine import Engine
from iamata.errors import IamataError
from iamata.formation.attribution import Resolver
from iamata.formation.references import Directory
from iamata.model.attribution import Attribution, AuthorshipEvidence, Part
from iamata.model.graph import Graph
from iamata.model.provenance import Provenance, RecordIdentity
from iamata.model.scope import patient
from iamata.model.statement import Aspect, Kind, Statement

GOLD = Path(__file__).parent / "gold"
INDEX = "attribution_index.csv"
_SUBJECT, _SOURCE = "eval", "ehr"
# Test messages are dated in the future too; what is later than the clinical now takes no part in a graph.
_LATER = datetime(2100, 1, 1, tzinfo=UTC)
Gold = dict[str, str]


def run(options: Options) -> Outcome:
    rows: list[Row] = []
    absent = 0
    for gold in sorted(GOLD.glob("attribution_*.csv")):
        with gold.open(encoding="utf-8", newline="") as file:
            labelled = [_named(row) for row in csv.DictReader(file)]
        there = [row for row in labelled if _path(options.data, row["file"]) is not None]
        absent += len(labelled) - len(there)
        rows += judged(there, options.data, gold.stem.removeprefix("attribution_"))
    free = list(documents.judged(GOLD / "documents", _free, source=_SOURCE, unopened=options.held_out))
    if not rows and not free:
        return skipped("attribution", "none of the labelled files is here")
    misses = [
        f"{row['file']} {row['item']}: {row['found']}, expected {row['expected']}"
        for row in [*rows, *free]
        if not row["right"] and row["set"] != "documents unopened"
    ]
    note = f"{absent} rows whose files are not here" if absent else ""
    if not options.data.is_dir():
        note = f"no folder {options.data.name}/: {note}"
    told = {**(figures(rows) if rows else {}), **documents.figures(free)}
    return Outcome("attribution", sorted({row["set"] for row in [*rows, *free]}), told, [*rows, *free], misses, note)


def _free(body: bytes, name: str) -> Graph | None:
    return _graph(body, _SUBJECT, name)


def figures(rows: Sequence[Row]) -> Figures:
    sets: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        sets[row["set"]].append(row)
    return {**_count(rows), **{name: _count(sets[name]) for name in sorted(sets)}}


def _count(rows: Sequence[Row]) -> Figures:
    return {
        "rows": len(rows),
        "right": sum(row["right"] for row in rows),
        "kind_right": sum(row["kind_right"] for row in rows),
        "role_right": sum(row["role_right"] for row in rows),
        "rule_right": sum(row["rule_right"] for row in rows),
    }


def _path(data: Path, file: str) -> Path | None:
    """The labelled file: named from the data folder, or from one of the folders in it."""
    if not data.is_dir():
        return None
    found = [data / file, *sorted(folder / file for folder in data.iterdir() if folder.is_dir())]
    return next((path for path in found if path.is_file()), None)


def _named(row: Mapping[str, str]) -> Gold:
    """One naming of the columns: `expected_kind` also where a set calls it `kind`."""
    wanted = {f"expected_{name}": row[name] for name in ("kind", "role", "rule") if name in row}
    return {**row, **wanted}


def judged(labelled: Sequence[Gold], data: Path, name: str) -> Iterator[Row]:
    """One row for each label, in the order of the labels."""
    files: dict[tuple[str, str], list[Gold]] = defaultdict(list)
    for row in labelled:
        files[row["file"], row.get("subject") or _SUBJECT].append(row)
    for (file, subject), mine in files.items():
        path = _path(data, file)
        body = path.read_bytes() if path else b""
        graph = _graph(body, subject, Path(file).name)
        nth: dict[tuple[str, str], int] = defaultdict(int)
        for row in mine:
            found: Attribution | None = None
            if graph is not None and name == "index":
                key = (row["type"], row["element"])
                found = _indexed(graph, body, row, nth[key])
                nth[key] += not row["id"]
            elif graph is not None:
                found = _placed(graph, row)
            yield _judge(name, row, found)


def _judge(name: str, row: Gold, found: Attribution | None) -> Row:
    wanted = (row["expected_kind"], row["expected_role"], row["expected_rule"])
    got = (found.kind.value, found.author.role.value, found.rule) if found else ("", "", "")
    item = " ".join(filter(None, (row.get(part) for part in ("item", "type", "id", "element", "place"))))
    return {
        "set": name,
        "file": row["file"],
        "item": item,
        "expected": " ".join(wanted),
        "found": " ".join(got) if found else "no such statement",
        "kind_right": got[0] == wanted[0],
        "role_right": got[1] == wanted[1],
        "rule_right": got[2] == wanted[2],
        "right": got == wanted,
    }


def _graph(body: bytes, subject: str, name: str) -> Graph | None:
    """The file read by itself; None if it is refused. A file is of the patient it names: its own id, if it has one."""
    try:
        format = registry.detect(body, name=name)
        with Engine.open(":memory:") as engine:
            engine.ingest(subject, body, source=_SOURCE, format=format)
            return engine.graph(subject, true_at=_LATER)
    except IamataError:
        return None


def _indexed(graph: Graph, body: bytes, row: Gold, nth: int) -> Attribution | None:
    if row["type"] == "Provenance":
        return _given(graph, row["id"])
    if row["id"]:
        held = [s for s in graph.statements.values() if s.provenance.record.reference == f"{row['type']}/{row['id']}"]
        held = [s for s in held if not s.part] or held
    else:
        places = list(_unnamed(json.loads(body.decode("utf-8-sig")), row))
        if nth >= len(places):
            return None
        held = [graph.statements[id] for id in _at(graph, places[nth]) if id in graph.statements]
    found = {graph.attributions[statement.id] for statement in held}
    return found.pop() if len(found) == 1 else None


def _given(graph: Graph, id: str) -> Attribution | None:
    """What a Provenance gives its (first) target, which need not be in the file."""
    for statement in graph.statements.values():
        if statement.kind is not Kind.PROVENANCE or statement.provenance.record.reference != f"Provenance/{id}":
            continue
        target = next((r.reference for r in statement.references if r.element.startswith("target")), "")
        name, _, version = target.partition("/_history/")
        stub = Statement(
            id="st_stub",
            subject=patient(_SUBJECT),
            kind=Kind.OBSERVATION,
            provenance=Provenance(_SOURCE, "eval/1", RecordIdentity(name.partition("/")[0], name, version=version)),
            authorship=(AuthorshipEvidence(Part.NONE, "-"),),
            aspect=Aspect.RECORDED,
            digest="stub",
        )
        everything = [*graph.statements.values(), stub]
        return Resolver(everything, Directory(everything), {}).resolve(stub)
    return None


def _unnamed(value: Any, row: Gold, place: str = "") -> Iterator[str]:
    """The places of items of the row's type without an id whose element is as labelled, in file order."""
    if not isinstance(value, Mapping):
        return
    if value.get("resourceType") == "Bundle":
        for index, entry in enumerate(value.get("entry") or []):
            yield from _unnamed(entry.get("resource"), row, f"{place}/entry/{index}/resource")
        return
    held = value.get(row["element"])
    labelled = held is not None and (not isinstance(held, bool) or str(held) == row["ref"])
    if value.get("resourceType") == row["type"] and labelled and not value.get("id"):
        yield place


def _at(graph: Graph, place: str) -> Iterable[str]:
    return [id for id, seen in graph.sightings.items() if any(each.place.pointer == place for each in seen)]


def _placed(graph: Graph, row: Gold) -> Attribution | None:
    """The attribution at a place: the statement whose place it is, else the narrowest stretch that holds it."""
    best: tuple[int, str] | None = None
    for id, seen in graph.sightings.items():
        statement = graph.statements.get(id)
        if statement is not None and row.get("type") and statement.provenance.record.type != row["type"]:
            continue
        if row.get("item") and row["item"] != ("passage" if statement is None else statement.kind):
            continue
        for each in seen:
            width = _width(each.place.pointer, row["place"])
            if width is not None and (best is None or (width, id) < best):
                best = (width, id)
    return graph.attributions.get(best[1]) if best else None


_STRETCH = re.compile(r"segments?/(\d+)(?:-(\d+))?\Z")


def _width(pointer: str, place: str) -> int | None:
    """0 for the same place, else how far the place lies within the pointer's path or stretch of segments, or around it;
    None if it is elsewhere."""
    if pointer == place:
        return 0
    longer, shorter = max(pointer, place, key=len), min(pointer, place, key=len)
    if shorter and longer.startswith(f"{shorter}/"):
        return longer[len(shorter) :].count("/")
    held, wanted = _STRETCH.match(pointer), _STRETCH.match(place)
    if held is None or wanted is None:
        return None
    first, last, at = int(held[1]), int(held[2] or held[1]), int(wanted[1])
    return last - first if first <= at <= last else None

"""Do items of one thing become one fact, and only those? The generator's worlds, and Synthea bundles over sources.

    python -m evals.reconciliation_pairs [--patients N] [--seed S] [--json] [--data DIR] [--unopened] [--noise NAME]

Seeds S to S + N - 1 (tuned ones are 1 to 50). `--unopened` runs 1001 to 1025 instead, and then names no miss: for a
closing note only. Figures are computed from the rows alone. Knows the engine by its public names, nothing of the fold.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from evals.generator import NOISES, UNOPENED, VERSION, World, make, synthea
from evals.generator.gold import KINDS, LEVELS, other_substance, pairs
from evals.generator.truth import Clash, Item
from evals.shape import DATA, Figures, Options, Outcome, Row
from iamata import Engine
from iamata.model.conflict import Conflict
from iamata.model.graph import Graph

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
PATIENT = "p"


@dataclass
class Formed:
    """A world after the engine: for each item its statements and its facts."""

    graph: Graph
    statements: dict[str, frozenset[str]]
    facts: dict[str, frozenset[str]]
    lost: list[Item]
    ingest_ms: float
    graph_ms: float
    items_of: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


def form(world: World) -> Formed:
    """Send the documents in order and read the graph once. An item is found by document and place, never by guess."""
    ticks = iter(range(100_000_000))
    with Engine.open(
        ":memory:", clock=lambda: NOW + timedelta(milliseconds=next(ticks)), ids=lambda: f"{next(ticks):020x}"
    ) as engine:
        began = time.perf_counter()
        receipts = [
            engine.ingest(PATIENT, document.body, source=document.source, format=document.format)
            for document in world.documents
        ]
        ingested = time.perf_counter()
        graph = engine.graph(PATIENT)
        read = time.perf_counter()
    numbers: dict[str, list[int]] = defaultdict(list)
    for number, receipt in enumerate(receipts):
        numbers[receipt.document].append(number)
    standing: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for id, sightings in graph.sightings.items():
        for sighting in sightings:
            for number in numbers.get(sighting.document, ()):
                standing[number].append((sighting.place.pointer, id))
    lines = [[line.place for line in receipt.intake] for receipt in receipts]
    statements, facts, lost = {}, {}, []
    for item in world.items:
        mine = frozenset(
            id for place, id in standing[item.document] if _within(place, item.place) and id in graph.statements
        )
        of_kind = frozenset(id for id in mine if graph.statements[id].kind == item.kind) or mine
        statements[item.id] = of_kind
        facts[item.id] = frozenset(graph.fact_of[id] for id in of_kind if id in graph.fact_of)
        if not mine and not any(_within(place, item.place) for place in lines[item.document]):
            lost.append(item)
    formed = Formed(graph, statements, facts, lost, (ingested - began) * 1000, (read - ingested) * 1000)
    for item in world.items:
        for id in statements[item.id]:
            formed.items_of[id].add(item.id)
    return formed


def _within(place: str, whole: str) -> bool:
    """Is this place the item's own or below it?"""
    return place == whole or place.startswith(f"{whole}/")


def judge(world: World, formed: Formed) -> tuple[list[Row], list[str]]:
    """The rows of one world, and a line for each miss."""
    head = {"seed": world.seed, "noise": world.noise}
    misses: list[str] = []

    def miss(what: str, kind: str, *ids: str) -> None:
        told = " ".join(f"{id} ({_item(world, id)})" for id in ids)
        misses.append(f"seed {world.seed} {world.noise} {what} {kind}: {told}")

    counts: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: dict.fromkeys(("tp", "fp", "fn", "open"), 0))
    mates: dict[str, set[str]] = defaultdict(set)
    truths: dict[str, set[str]] = defaultdict(set)
    excused: dict[str, set[str]] = defaultdict(set)
    wrong_drug = wrong_patient = 0
    for left, right, relation, level in pairs(world):
        merged = bool(formed.facts[left.id] & formed.facts[right.id])
        count = counts[left.kind, level]
        if merged:
            mates[left.id].add(right.id)
            mates[right.id].add(left.id)
        if relation == "open":
            count["open"] += merged
            excused[left.id].add(right.id)
            excused[right.id].add(left.id)
        elif relation == "same":
            truths[left.id].add(right.id)
            truths[right.id].add(left.id)
            count["tp" if merged else "fn"] += 1
            if not merged:
                miss(f"not merged [{level}]", left.kind, left.id, right.id)
        elif merged:
            count["fp"] += 1
            if left.owner != right.owner:
                wrong_patient += 1
            elif other_substance(world, left, right):
                wrong_drug += 1
            miss(f"wrongly merged [{level}]", left.kind, left.id, right.id)
    rows: list[Row] = [
        {**head, "what": "pairs", "kind": kind, "level": level, **count} for (kind, level), count in counts.items()
    ]
    rows += [{**head, "what": "bcubed", **row} for row in _bcubed(world, mates, truths, excused)]
    rows += [{**head, "what": "conflicts", **row} for row in _conflicts(world, formed, miss)]
    history = _history(world, formed, miss)
    for item in formed.lost:
        miss("lost", item.kind, item.id)
    aside = [item for item in world.items if item.set_aside and item.kind != "demographic"]
    formed_anyway = [item for item in aside if formed.facts[item.id]]
    for item in formed_anyway:
        miss("not set aside", item.kind, item.id)
    doubted = {
        formed.graph.statements[id].source
        for conflict in formed.graph.conflicts.values()
        if conflict.kind == "identity"
        for side in conflict.sides
        for id in side.items
        if id in formed.graph.statements
    }
    if doubted != world.doubted:
        misses.append(
            f"seed {world.seed} {world.noise} identity in doubt: {sorted(doubted)}, expected {sorted(world.doubted)}"
        )
    rows.append(
        {
            **head,
            "what": "patient",
            "items": len(world.items),
            "lost": len(formed.lost),
            "wrong_drug_merges": wrong_drug,
            "wrong_patient_merges": wrong_patient,
            "not_set_aside": len(formed_anyway),
            "doubt_right": doubted == world.doubted,
            "superseded": len(world.superseded),
            "superseded_right": history[0],
            "superseded_shown": history[1],
            "comparisons": len(formed.graph.decisions),
            "ingest_ms": round(formed.ingest_ms, 1),
            "graph_ms": round(formed.graph_ms, 1),
        }
    )
    return rows, misses


def _item(world: World, id: str) -> str:
    item = next(item for item in world.items if item.id == id)
    noise = ", ".join(item.marks.noise)
    return f"{item.source} {item.reference} = {item.truth}{f'; {noise}' if noise else ''}"


def _bcubed(
    world: World, mates: dict[str, set[str]], truths: dict[str, set[str]], excused: dict[str, set[str]]
) -> Iterable[Row]:
    """B-cubed (Bagga and Baldwin 1998): per item, the share of its mates that are right and of the right ones that are
    its mates, itself counted; mates that the design leaves open are not counted on either side."""
    for kind in KINDS:
        mine = [item.id for item in world.items if item.kind == kind and not item.set_aside and not item.open]
        precision = recall = 0.0
        for id in mine:
            together = (mates[id] - excused[id]) | {id}
            wanted = truths[id] | {id}
            precision += len(together & wanted) / len(together)
            recall += len(together & wanted) / len(wanted)
        if mine:
            yield {"kind": kind, "items": len(mine), "precision": round(precision, 6), "recall": round(recall, 6)}


def _conflicts(world: World, formed: Formed, miss: Callable[..., None]) -> Iterable[Row]:
    """Expected conflicts found, and raised ones that were expected. Identity conflicts are judged apart; so are those
    on the patient's own data, which the generator does not plant."""
    raised = [
        conflict
        for conflict in formed.graph.conflicts.values()
        if conflict.kind != "identity"
        and conflict.fact in formed.graph.facts
        and formed.graph.facts[conflict.fact].kind in KINDS
    ]
    kind_of = {item.id: item.kind for item in world.items}
    rows: dict[str, dict[str, int]] = defaultdict(
        lambda: dict.fromkeys(("expected", "found", "raised", "raised_right"), 0)
    )
    for clash in world.clashes:
        if not clash.required:
            continue
        row = rows[kind_of[clash.right[0]]]
        row["expected"] += 1
        if any(_is(conflict, clash, formed) for conflict in raised):
            row["found"] += 1
        else:
            miss(f"conflict not found ({clash.why})", kind_of[clash.right[0]], clash.left[0], clash.right[0])
    for conflict in raised:
        row = rows[str(formed.graph.facts[conflict.fact].kind)]
        row["raised"] += 1
        if any(_is(conflict, clash, formed) for clash in world.clashes):
            row["raised_right"] += 1
        else:
            sides = [{item for id in side.items for item in formed.items_of.get(id, ())} for side in conflict.sides]
            ids = [min(side) for side in sides if side]
            miss(f"conflict not expected ({conflict.kind}, {conflict.field}, {conflict.rule})", "", *ids[:2])
    for kind, counted in rows.items():
        yield {"kind": kind, **counted}


def _is(conflict: Conflict, clash: Clash, formed: Formed) -> bool:
    """Is this the planted conflict: its kind, with statements of either side on different sides?"""
    if conflict.kind not in clash.kinds:
        return False
    left = {id for item in clash.left for id in formed.statements[item]}
    right = {id for item in clash.right for id in formed.statements[item]}
    sides = [set(side.items) for side in conflict.sides]
    return any(one & left and other & right for n, one in enumerate(sides) for m, other in enumerate(sides) if n != m)


def _history(world: World, formed: Formed, miss: Callable[..., None]) -> tuple[int, int]:
    """How many of the superseded items are kept and among no fact's members; and how many are in a fact's history."""
    members = {id for fact in formed.graph.facts.values() for id in fact.members}
    past = {id for fact in formed.graph.facts.values() for id, _ in fact.history}
    right = shown = 0
    for id in world.superseded:
        mine = formed.statements[id]
        right += bool(mine) and not mine & members
        shown += bool(mine) and mine <= past
        if not mine or mine & members:
            miss("not superseded", _kind(world, id), id)
        elif not mine <= past:
            miss("superseded, in no fact's history", _kind(world, id), id)
    return right, shown


def _kind(world: World, id: str) -> str:
    return next(item.kind for item in world.items if item.id == id)


def _share(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 1.0


def _f1(precision: float, recall: float) -> float:
    return round(2 * precision * recall / (precision + recall), 4) if precision + recall else 0.0


def _pair_figures(rows: Iterable[Row]) -> Figures:
    tp = fp = fn = 0
    for row in rows:
        tp, fp, fn = tp + row["tp"], fp + row["fp"], fn + row["fn"]
    precision, recall = _share(tp, tp + fp), _share(tp, tp + fn)
    return {
        "pairs": tp + fn,
        "pairs_precision": precision,
        "pairs_recall": recall,
        "pairs_f1": _f1(precision, recall),
        "wrong": fp,
    }


def _bcubed_f1(rows: Sequence[Row]) -> float:
    items = sum(row["items"] for row in rows)
    precision = _share(sum(row["precision"] for row in rows), items)
    return _f1(precision, _share(sum(row["recall"] for row in rows), items))


def figures_of(rows: Sequence[Row]) -> Figures:
    """All figures, from rows alone: overall, then per kind, level, noise, and with no need of terminology."""
    by: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by[row["what"]].append(row)
    patients, clashes = by["patient"], by["conflicts"]
    overall = _pair_figures(by["pairs"])
    total = {name: sum(row[name] for row in clashes) for name in ("expected", "found", "raised", "raised_right")}
    found: Figures = {
        "patients": len(patients),
        "items": sum(row["items"] for row in patients),
        "pairs": overall["pairs"],
        **{name: overall[name] for name in ("pairs_precision", "pairs_recall", "pairs_f1")},
        "bcubed_f1": _bcubed_f1(by["bcubed"]),
        "conflicts": total["expected"],
        "conflict_recall": _share(total["found"], total["expected"]),
        "conflict_precision": _share(total["raised_right"], total["raised"]),
    }
    for name in ("wrong_drug_merges", "wrong_patient_merges", "lost", "not_set_aside", "comparisons"):
        found[name] = sum(row[name] for row in patients)
    found["history_recall"] = _share(
        sum(row["superseded_right"] for row in patients), sum(row["superseded"] for row in patients)
    )
    found["history_shown"] = _share(
        sum(row["superseded_shown"] for row in patients), sum(row["superseded"] for row in patients)
    )
    found["doubt_right"] = sum(row["doubt_right"] for row in patients)
    found["ingest_ms"] = round(sum(row["ingest_ms"] for row in patients), 1)
    found["graph_ms"] = round(sum(row["graph_ms"] for row in patients), 1)
    for name, mine in (("no terminology needed", LEVELS[:-1]), *((f"level {level}", (level,)) for level in LEVELS)):
        if some := [row for row in by["pairs"] if row["level"] in mine]:
            found[name] = _pair_figures(some)
    for kind in KINDS:
        if some := [row for row in by["pairs"] if row["kind"] == kind]:
            counted = {name: sum(r[name] for r in clashes if r["kind"] == kind) for name in total}
            found[f"kind {kind}"] = {
                **_pair_figures(some),
                "bcubed_f1": _bcubed_f1([row for row in by["bcubed"] if row["kind"] == kind]),
                "conflict_recall": _share(counted["found"], counted["expected"]),
                "conflict_precision": _share(counted["raised_right"], counted["raised"]),
            }
    for noise in dict.fromkeys(row["noise"] for row in patients):
        counted = {name: sum(r[name] for r in clashes if r["noise"] == noise) for name in total}
        found[f"noise {noise}"] = {
            **_pair_figures(row for row in by["pairs"] if row["noise"] == noise),
            "bcubed_f1": _bcubed_f1([row for row in by["bcubed"] if row["noise"] == noise]),
            "conflict_recall": _share(counted["found"], counted["expected"]),
            "conflict_precision": _share(counted["raised_right"], counted["raised"]),
        }
    return found


def measure(
    seed: int = 1, patients: int = 20, data: Path = DATA, *, unopened: bool = False, noise: str = ""
) -> Outcome:
    """Run seeds `seed` to `seed + patients - 1`, and one Synthea bundle for every four of them where there are any."""
    if not unopened and any(number in UNOPENED for number in range(seed, seed + patients)):
        raise ValueError("seeds 1001 to 1025 are run with `unopened` only")
    seeds = list(UNOPENED) if unopened else list(range(seed, seed + patients))
    paths = synthea.bundles(data)
    start = seed % len(paths) if paths else 0
    chosen = [paths[(start + n) % len(paths)] for n in range(min(len(seeds) // 4, len(paths)))] if paths else []
    rows: list[Row] = []
    misses: list[str] = []
    for number in seeds:
        world = make(number, noise)
        some, told = judge(world, form(world))
        rows, misses = rows + some, misses + told
    for path in chosen:
        world = synthea.make(path, seed)
        some, told = judge(world, form(world))
        rows, misses = rows + some, misses + told
    read = [f"generator {VERSION}, seeds {seeds[0]} to {seeds[-1]}", *(["synthea_r4_bundles"] if chosen else [])]
    note = "" if paths else "no Synthea bundles: generated patients only"
    return Outcome("reconciliation_pairs", read, figures_of(rows), rows, [] if unopened else misses, note)


def figures(seed: int, patients: int, data: Path) -> tuple[Figures, Sequence[Row], Sequence[str]]:
    """Figures, rows and misses, for whoever joins them with other evaluations."""
    outcome = measure(seed, patients, data)
    return outcome.figures, outcome.rows, outcome.misses


def run(options: Options) -> Outcome:
    return measure(options.seed or 1, 20, options.data, unopened=options.held_out)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.reconciliation_pairs")
    parser.add_argument("--patients", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--noise", choices=NOISES, default="")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--unopened", action="store_true", help="seeds 1001 to 1025, for a closing note only")
    given = parser.parse_args(arguments)
    outcome = measure(given.seed, given.patients, given.data, unopened=given.unopened, noise=given.noise)
    if given.json:
        print(json.dumps(outcome.as_json(), ensure_ascii=False))
        return 0
    flat = {name: value for name, value in outcome.figures.items() if not isinstance(value, dict)}
    for name, value in flat.items():
        print(f"{name:24} {value}")
    for name, value in outcome.figures.items():
        if isinstance(value, dict):
            print(f"{name:24} " + "  ".join(f"{key} {each}" for key, each in value.items()))
    if given.misses:
        for line in outcome.misses:
            print(f"  miss  {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

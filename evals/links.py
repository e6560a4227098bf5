"""Does what is said get the right link to the fact it is about? Supports, conflicts, refines, or none of them.

    python -m evals.links [--seed S] [--json] [--opened] [--unopened]      also: python -m evals links

Each case of `evals.generator.talk` is a record with one fact and a bystander, and one turn. A link of another type, or
to the bystander, is wrong. A `refines` may come with a `supports` (what is refined is also said). The second set of
phrasings was written apart from the engine and has figures of its own; it also asks for `explains` (which may come with
any that does not conflict), `about` (with a `supports` at most: my asthma is one that I have) and `new` (nothing is
linked to the fact); what these three mean is the writer's reading (tests/cases/memories/README.md). `--opened` also
runs what was kept apart until it was opened, `--unopened` all that is kept apart, and of what was unopened it names no
miss. The baseline reads bare words: a "not", "never" or "stopped" conflicts, a number or a "since" refines, anything
else supports. Intervals are of the F1 when whole cases are drawn again.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from evals import intervals
from evals.generator.talk import SAID_AT, SETS, TYPES, TalkCase, cases
from evals.intervals import Counts
from evals.kept_apart import Part
from evals.shape import Figures, Options, Outcome, Row
from iamata import Engine
from iamata.model.graph import Graph
from iamata.model.session import Speaker, Turn

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
PATIENT = "p"
KINDS = ("medication", "allergy", "condition", "social_history")
PARTS: tuple[Part, ...] = ("tuned", "opened", "unopened")
FURTHER = ("explains", "about")  # judged in the second set alone, as is `new`
# What may come with a link.
_BESIDE = {"refines": {"supports"}, "explains": {"supports", "refines", "about"}, "about": {"supports"}}


def run(options: Options) -> Outcome:
    return measure(options)


def measure(options: Options) -> Outcome:
    rows: list[Row] = []
    misses: list[str] = []
    read: list[str] = []
    for name, part in ((name, part) for name in SETS for part in PARTS if options.runs(part)):
        some = cases(options.seed, set=name, part=part)
        read += [f"generator talk, seed {options.seed}, {name}, {part}"] if some else []
        for case in some:
            row = judge(case)
            rows.append(row)
            if not row["right"] and part != "unopened":
                found = " ".join(row["found"]) or "nothing"
                misses.append(f"seed {options.seed} {case.id}: {found}; {case.speaker}: {case.text}")
    return Outcome("links", read, figures(rows, options.seed), rows, misses)


def judge(case: TalkCase) -> Row:
    """What links the turn's memories got."""
    ticks = iter(range(1_000_000))
    with Engine.open(
        ":memory:", clock=lambda: NOW + timedelta(milliseconds=next(ticks)), ids=lambda: f"{next(ticks):020x}"
    ) as engine:
        bundle = {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": e} for e in case.entries]}
        engine.ingest(PATIENT, json.dumps(bundle).encode(), source="ehr", format="fhir/r4")
        turn = Turn(Speaker(case.speaker), case.text, relationship=case.relationship, said_at=SAID_AT)
        engine.append(PATIENT, "s", [turn])
        graph = engine.graph(PATIENT)
    return _row(case, graph)


def _row(case: TalkCase, graph: Graph) -> Row:
    about = {
        fact for id, fact in graph.fact_of.items() if graph.statements[id].provenance.record.reference.endswith("/fact")
    }
    further = FURTHER if case.link in (*FURTHER, "new") else ()
    every = [link for link in graph.links.values() if link.origin in graph.memories]
    links = [link for link in every if link.type in (*TYPES, *further)]
    to_fact = {str(link.type) for link in links if link.target in about}
    elsewhere = [str(link.type) for link in links if link.target not in about]
    conflicts = {link.conflict_kind for link in links if link.target in about and link.type == "conflicts"}
    told = to_fact | ({"new"} if case.link == "new" and any(link.type == "new" for link in every) else set())
    hit = case.link in told or (case.link == "none" and not to_fact)
    wrong = [*sorted(to_fact - {case.link} - _BESIDE.get(case.link, set())), *elsewhere]
    kind_right = not case.conflict or case.conflict == "*" or case.conflict in conflicts
    return {
        "id": case.id,
        "set": case.set,
        "part": case.part,
        "kind": case.kind,
        "link": case.link,
        "conflict": case.conflict,
        "found": [*sorted(told), *(f"{type}, of the bystander" for type in elsewhere)],
        "hit": hit,
        "wrong": wrong,
        "baseline": by_words(case.text),
        "conflict_kind_right": kind_right if case.link == "conflicts" and hit else None,
        "right": hit and not wrong,
    }


_AGAINST = re.compile(r"\b(?:not|never|no|stopped|quit|\w+n't)\b", re.IGNORECASE)
_MORE = re.compile(r"\d|\b(?:since|when|before|after|at)\b", re.IGNORECASE)


def by_words(text: str) -> str:
    """The link that a bare word of the turn gives."""
    if _AGAINST.search(text):
        return "conflicts"
    return "refines" if _MORE.search(text) else "supports"


def _counted(row: Row, type: str) -> Counts:
    hit = row["link"] == type and row["hit"]
    return Counts(int(hit), row["wrong"].count(type), int(row["link"] == type and not row["hit"]))


def _worded(row: Row, type: str) -> Counts:
    said, gold = row["baseline"] == type, row["link"] == type
    return Counts(int(said and gold), int(said and not gold), int(gold and not said))


def figures(rows: Sequence[Row], seed: int = 0) -> Figures:
    """The headline is of the tuned phrasings of the first set; then those of each further set and part, under its
    name."""
    found: Figures = {}
    for name, part in ((name, part) for name in SETS for part in PARTS):
        if some := [row for row in rows if row["set"] == name and row["part"] == part]:
            mark = "" if (name, part) == (SETS[0], "tuned") else f"{name} {part} "
            found |= {f"{mark}{figure}": value for figure, value in _figures(some, seed).items()}
    return found


def _figures(rows: Sequence[Row], seed: int) -> Figures:
    """F1 per link type, over all kinds and per kind, with intervals and the baseline; how often a found conflict has
    its kind; turns that got none."""
    types = [*TYPES, *(type for type in (*FURTHER, "new") if any(row["link"] == type for row in rows))]
    found: Figures = {"cases": len(rows), "right": sum(row["right"] for row in rows)}
    for type in types:
        found[f"{type}_f1"] = _f1(rows, type)
    kinds = [row["conflict_kind_right"] for row in rows if row["conflict_kind_right"] is not None]
    found["conflict_kind_right"] = round(sum(kinds) / len(kinds), 4) if kinds else 0.0
    none = [row for row in rows if row["link"] == "none"]
    found["none_right"] = round(sum(row["right"] for row in none) / len(none), 4) if none else 0.0
    for type in types:
        found[f"{type}"] = intervals.scored([_counted(row, type) for row in rows], seed)
        found[f"{type}, baseline"] = intervals.scored([_worded(row, type) for row in rows], seed)
    for kind in KINDS:
        if some := [row for row in rows if row["kind"] == kind]:
            found[f"kind {kind}"] = {
                "cases": len(some),
                "right": sum(row["right"] for row in some),
                **{f"{type}_f1": _f1(some, type) for type in types},
            }
    return found


def _f1(rows: Sequence[Row], type: str) -> float:
    tp = sum(row["link"] == type and row["hit"] for row in rows)
    fn = sum(row["link"] == type and not row["hit"] for row in rows)
    fp = sum(row["wrong"].count(type) for row in rows)
    return round(2 * tp / (2 * tp + fp + fn), 4) if tp else 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.links")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--opened", action="store_true", help="also the phrasings kept apart that were opened before")
    parser.add_argument("--unopened", action="store_true", help="all phrasings kept apart, for a closing note only")
    given = parser.parse_args(arguments)
    outcome = measure(Options(seed=given.seed, held_out=given.unopened, opened=given.opened))
    if given.json:
        print(json.dumps(outcome.as_json(), ensure_ascii=False))
        return 0
    for name, value in outcome.figures.items():
        shown = "  ".join(f"{key} {each}" for key, each in value.items()) if isinstance(value, dict) else value
        print(f"{name:24} {shown}")
    for line in outcome.misses:
        print(f"  miss  {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

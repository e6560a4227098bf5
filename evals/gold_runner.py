"""Runs the reconciliation gold (tests/cases/reconciliation) against the engine and says which assertions fail.

Used by the tests (tuned cases) and by `evals.reconciliation` (all, held-out apart). Knows the vocabulary of the cases'
README and nothing of how the fold works.
"""

from __future__ import annotations

import json
import random
import re
import unicodedata
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from evals.shape import ROOT
from iamata.engine import Engine
from iamata.model.conflict import Conflict
from iamata.model.document import Receipt
from iamata.model.fact import Fact
from iamata.model.graph import Graph
from iamata.model.reading import Format
from iamata.model.statement import Statement

CASES = ROOT / "tests" / "cases" / "reconciliation" / "cases.json"
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
PATIENT = "gold"
Case = dict[str, Any]


def load() -> list[Case]:
    cases = json.loads(CASES.read_text(encoding="utf-8"))
    return list(cases["cases"] if isinstance(cases, dict) else cases)


def submissions(case: Case, data: Path | None) -> list[tuple[str, list[Any]]] | None:
    """(source, entries) in order; None when the case's file is not here."""
    if "sources" in case:
        return [
            (s["name"], s.get("entries") or [{"resource": resource} for resource in s["resources"]])
            for s in case["sources"]
        ]
    if data is None:
        return None
    wanted = case["ref"].partition("/")[2]
    micro = json.loads((data / "recon_micro_cases" / "cases.json").read_text(encoding="utf-8"))
    found = next(each for each in micro if each["id"] == wanted)
    return [("ehr-a", [{"resource": resource} for resource in found["resources"]])]


class Run:
    """One case, ingested."""

    def __init__(self, sent: list[tuple[str, list[Any]]]) -> None:
        ticks = iter(range(1_000_000))
        self.engine = Engine.open(
            ":memory:", clock=lambda: NOW + timedelta(milliseconds=next(ticks)), ids=lambda: f"{next(ticks):020x}"
        )
        self.receipts: list[Receipt] = []
        for source, entries in sent:
            body = json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries}).encode()
            self.receipts.append(self.engine.ingest(PATIENT, body, source=source, format="fhir/r4"))
        self.graph: Graph = self.engine.graph(PATIENT)

    def close(self) -> None:
        self.engine.close()

    def statements(self, source: str, record: str) -> list[Statement]:
        return [
            s
            for s in self.graph.statements.values()
            if s.provenance.source == source and s.provenance.record.reference.partition("#")[0] == record
        ]

    def facts(self, kind: str, polarity: str = "") -> list[Fact]:
        return [
            f
            for f in self.graph.facts.values()
            if f.kind == kind and f.members and (not polarity or f.polarity == polarity)
        ]

    def named(self, kind: str, part: str) -> list[Fact]:
        return [f for f in self.facts(kind) if fold(part) in fold(name(f))]

    def conflicts(self, kind: str = "") -> list[Conflict]:
        judged = {"status", "verification", "dose", "route", "date", "value", "laterality", "severity", "existence"}
        return [c for c in self.graph.conflicts.values() if (c.kind == kind if kind else c.kind in judged)]


def name(fact: Fact) -> str:
    codings = fact.concept.codings if fact.concept else ()
    return " ".join([fact.display, *(c.display for c in codings)])


def fold(text: object) -> str:
    plain = unicodedata.normalize("NFKD", str(text).casefold())
    return " ".join(re.findall(r"[\w.]+", "".join(c for c in plain if not unicodedata.combining(c))))


def check(run: Run, case: Case, sent: list[tuple[str, list[Any]]]) -> list[str]:
    """The assertions of the case that do not hold, each with what was found."""
    misses = []
    for assertion in case["expect"]:
        judge = _CHECKS.get(assertion["check"])
        if judge is None:
            misses.append(f"no judge for {assertion['check']}")
            continue
        found = judge(run, assertion) if assertion["check"] != "order_free" else _order_free(run, sent)
        if found is not None:
            misses.append(f"{json.dumps(assertion, ensure_ascii=False)} → {found}")
    return misses


def _equal(found: object, wanted: object) -> str | None:
    return None if found == wanted else str(found)


def _exactly_one(facts: Iterable[Fact], holds: Callable[[Fact], object | None]) -> str | None:
    answers = [holds(fact) for fact in facts]
    if not answers:
        return "no such fact"
    good = [answer for answer in answers if answer is None]
    return None if len(good) == 1 else f"{len(good)} of {len(answers)} hold: {[str(a) for a in answers if a][:3]}"


def _values(run: Run, fact: Fact, field: str, *, history: bool = False) -> list[str]:
    aliases = {"performed": ("performed", "occurrence"), "occurrence": ("occurrence", "performed")}
    if field == "component":
        shown = [" ".join(_shown(c.concept) + " " + _shown(c.value) for c in fact.components)]
        return shown if not history else [_shown(s.components) for s in _history(run, fact)]
    if field == "verification":
        return [fact.verification if fact.verification in ("confirmed", "refuted", "") else "suspected"]
    if field == "dose":
        names: tuple[str, ...] = ("dose", "dose_quantity", "dosage_text", "strength")
    elif field == "value" and fact.kind == "answer":
        names = ("value",)
    else:
        names = aliases.get(field, (field,))
    found = []
    for name in names:
        resolved = fact.field(name)
        if resolved is None:
            continue
        found += [_shown(o.value) for o in resolved.others] if history else [_shown(resolved.value)]
    if history:
        for statement in _history(run, fact):
            found += [_shown(f.value) for f in statement.fields if f.name in names]
            found += [_shown(t.at) for t in statement.times]
    return found


def _history(run: Run, fact: Fact) -> list[Statement]:
    return [run.graph.statements[id] for id, _ in fact.history]


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return " ".join(_shown(v) for v in value)
    if hasattr(value, "concept"):
        return _shown(value.concept) + " " + _shown(value.value)
    return value.display if hasattr(value, "display") else str(value)


def _fact_count(run: Run, a: Case) -> str | None:
    return _equal(len(run.facts(a["kind"], a.get("polarity", ""))), a["count"])


def _members(run: Run, a: Case) -> str | None:
    return _exactly_one(run.named(a["kind"], a["display_contains"]), lambda f: _equal(len(f.members), a["count"]))


def _fact_status(run: Run, a: Case) -> str | None:
    return _exactly_one(run.named(a["kind"], a["display_contains"]), lambda f: _equal(f.standing, a["status"]))


def _field(run: Run, a: Case) -> str | None:
    def holds(fact: Fact) -> object | None:
        values = _values(run, fact, a["field"], history=a["check"] == "history")
        if "value" in a:
            good = any(fold(v) == fold(a["value"]) for v in values)
        else:
            good = any(fold(a["value_contains"]) in fold(v) for v in values)
        return None if good else values

    return _exactly_one(run.named(a["kind"], a["display_contains"]), holds)


def _kept(run: Run, a: Case) -> str | None:
    return None if run.statements(a["source"], a["record"]) else "no statement"


def _folded_out(run: Run, a: Case) -> str | None:
    statements = run.statements(a["source"], a["record"])
    if not statements:
        return "no statement"
    members = {id for fact in run.graph.facts.values() for id in fact.members}
    if any(s.id in members for s in statements):
        return "it contributes"
    reasons = {why for f in run.graph.facts.values() for id, why in f.history if id in {s.id for s in statements}}
    return None if not reasons or a["reason"] in reasons else str(reasons)


def _attribution(run: Run, a: Case) -> str | None:
    kinds = {run.graph.attributions[s.id].kind for s in run.statements(a["source"], a["record"])}
    return _equal(sorted(map(str, kinds)), [a["attribution"]])


def _supported_by(run: Run, a: Case) -> str | None:
    wanted = sorted(a["attributions"])
    return _exactly_one(
        run.named(a["kind"], a["display_contains"]),
        lambda f: _equal(sorted({str(s.kind) for s in f.supported_by}), wanted),
    )


def _together(run: Run, a: Case) -> str | None:
    sides = [
        {run.graph.fact_of.get(s.id) for s in run.statements(a[side]["source"], a[side]["record"])} for side in "ab"
    ]
    if not sides[0] or not sides[1] or None in sides[0] | sides[1]:
        return "a statement is in no fact"
    same = bool(sides[0] & sides[1])
    return _equal(same, a["check"] == "same_fact")


def _link(run: Run, a: Case) -> str | None:
    def holds(link: Any) -> bool:
        if link.type != a["type"] or (a.get("source") and link.source != a["source"]):
            return False
        origin, target = run.graph.facts.get(link.origin), run.graph.facts.get(link.target)
        if origin is None or target is None:
            return False
        return fold(a.get("from_contains", "")) in fold(name(origin)) and fold(a.get("to_contains", "")) in fold(
            name(target)
        )

    found = [link for link in run.graph.links.values() if holds(link)]
    if a["check"] == "no_link":
        return None if not found else f"{len(found)} links"
    return None if found else str([(x.type, x.origin, x.target) for x in run.graph.links.values()][:4])


def _unresolved(run: Run, a: Case) -> str | None:
    ids = {s.id for s in run.statements(a["source"], a["record"])}
    found = [u.reference for u in run.graph.unresolved if u.statement in ids]
    return None if a["target"] in found else str(found)


def _set_aside(run: Run, a: Case) -> str | None:
    if any(s.id in run.graph.fact_of for s in run.statements(a["source"], a["record"])):
        return "it is in a fact"
    return None


def _doubt(run: Run, a: Case) -> str | None:
    sides = {
        run.graph.statements[id].provenance.source
        for c in run.graph.conflicts.values()
        if c.kind == "identity"
        for side in c.sides
        for id in side.items
    }
    return _equal(sorted(sides), sorted(a["sources"]))


def _intake(run: Run, a: Case) -> str | None:
    lines = [line for receipt in run.receipts for line in receipt.intake]
    found = [x for x in lines if x.outcome == a["outcome"] and (not a.get("reason") or x.reason == a["reason"])]
    return _equal(len(found), a["count"])


def _text(run: Run, a: Case) -> str | None:
    folder = {"allergy": "allergies", "condition": "conditions", "medication": "medications"}[a["kind"]]
    text = fold(run.engine.read(f"/patient/{PATIENT}/{folder}", format=Format.NARRATIVE).text)
    if "contains" in a:
        return None if fold(a["contains"]) in text else text[:200]
    return None if fold(a["lacks"]) not in text else text[:200]


def _order_free(run: Run, sent: list[tuple[str, list[Any]]]) -> str | None:
    """The same graph with the entries of each submission, and the submissions of different sources, in other orders."""
    for seed in range(3):
        chance = random.Random(seed)
        shuffled = [(source, chance.sample(entries, len(entries))) for source, entries in sent]
        if len({source for source, _ in sent}) == len(sent):
            chance.shuffle(shuffled)
        other = Run(shuffled)
        try:
            if other.graph.hash != run.graph.hash:
                return f"another graph (seed {seed})"
        finally:
            other.close()
    return None


_CHECKS: dict[str, Callable[[Run, Case], str | None]] = {
    "fact_count": _fact_count,
    "conflict": lambda run, a: _equal(len(run.conflicts(a["kind"])), a["count"]),
    "no_conflict": lambda run, a: _equal([(str(c.kind), c.field) for c in run.conflicts()], []),
    "members": _members,
    "fact_status": _fact_status,
    "field": _field,
    "history": _field,
    "kept": _kept,
    "folded_out": _folded_out,
    "attribution": _attribution,
    "supported_by": _supported_by,
    "same_fact": _together,
    "different_facts": _together,
    "link": _link,
    "no_link": _link,
    "unresolved_reference": _unresolved,
    "set_aside": _set_aside,
    "identity_in_doubt": _doubt,
    "intake": _intake,
    "text": _text,
    "order_free": lambda run, a: None,
}

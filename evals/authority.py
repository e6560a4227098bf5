"""Does the weight order pairs of items as people did beforehand?

Reads `pairs.json` and `pairs_second.json` of `tests/cases/authority`. Each item of a pair is weighed on its own, as one
side with just the witnesses it is given. Held-out pairs are weighed only with `--held-out`, and then only counted.
Only what is about a patient can be weighed here: a pair of another scope counts as not agreeing, and the misses say so.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from evals.shape import Figures, Options, Outcome, Row, skipped
from iamata import authority
from iamata.model.attribution import (
    Attribution,
    AttributionKind,
    Author,
    AuthorshipEvidence,
    Certainty,
    Directness,
    Part,
    Role,
)
from iamata.model.clinical_time import Clock, Timed, parse_time
from iamata.model.coding import CodedText
from iamata.model.conflict import Conflict, ConflictKind, Side
from iamata.model.context import Authority
from iamata.model.fact import Currency, Fact, FieldVerdict, ResolvedField
from iamata.model.graph import Graph
from iamata.model.provenance import Provenance, RecordIdentity
from iamata.model.scope import patient
from iamata.model.stamp import Moment
from iamata.model.statement import Aspect, Form, Kind, Polarity, Standing, Statement, Verification

# Kinds of memories, as the statements that speak of the same.
STATED = {
    "symptom": Kind.CONDITION,
    "preference": Kind.GOAL,
    "adherence": Kind.MEDICATION,
    "side_effect": Kind.ADVERSE_EVENT,
}
PAIRS = Path(__file__).parents[1] / "tests" / "cases" / "authority" / "pairs.json"
SECOND = PAIRS.with_name("pairs_second.json")
NOW = datetime(2026, 2, 15, 9, tzinfo=UTC)


def pairs(path: Path = PAIRS) -> list[dict[str, Any]]:
    """All pairs, in file order."""
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def weighed(pair: Mapping[str, Any], which: str) -> Authority:
    """The authority of one item of a pair, for the pair's task, aspect and patient."""
    aspect = Aspect(pair["aspect"]) if pair.get("aspect") else None
    graph = _graph(pair[which], (pair.get("patient") or {}).get("age_years"))
    profile = authority.profiles.load(pair["task"])
    return authority.weigh(graph, "st_item", profile=profile, aspect=aspect, moment=graph.moment)


def agrees(pair: Mapping[str, Any]) -> bool:
    """Is the item that must weigh more strictly the heavier one?"""
    more = pair["more"]
    return weighed(pair, more).weight > weighed(pair, "b" if more == "a" else "a").weight


def _graph(item: Mapping[str, Any], age_years: float | None) -> Graph:
    """The item, and its witnesses: further clinicians, each in a system of their own. A kind that only memories have
    (a symptom, a preference) is told in the kind of statement that speaks of the same."""
    role = Role(item["author_role"])
    kind_of = STATED.get(item["kind"]) or (Kind(item["kind"]) if item["kind"] in list(Kind) else Kind.ANSWER)
    statements: dict[str, Statement] = {}
    attributions: dict[str, Attribution] = {}

    def add(id: str, role: Role, polarity: Polarity, *, age_days: float, source: str, first: bool = False) -> None:
        said = (NOW - timedelta(days=age_days)).strftime("%Y-%m-%dT%H:%M:%SZ")
        statements[id] = Statement(
            id=id,
            subject=patient("p"),
            kind=kind_of,
            provenance=Provenance(source, "eval/1", RecordIdentity(item["kind"], f"{item['kind']}/{id}")),
            authorship=(AuthorshipEvidence(Part.NONE, "-"),),
            aspect=Aspect(item["aspect"]),
            digest=f"digest of {id}",
            concept=CodedText(item["says"]),
            polarity=polarity,
            standing=Standing.ACTIVE,
            verification=Verification(item.get("verification") or "") if first else Verification.NONE,
            times=(Timed(Clock.ASSERTED, parse_time(said)),),
            form=Form.UNSTRUCTURED if first and item.get("extracted") else Form.STRUCTURED,
        )
        kind = AttributionKind(item["attribution"]) if first else AttributionKind.SYSTEM
        attributions[id] = Attribution(
            kind,
            Author(role, f"{role}/{id}"),
            rule="eval",
            directness=Directness(item.get("directness") or "unknown") if first else Directness.FIRST_HAND,
            certainty=Certainty(item.get("certainty") or "stated") if first else Certainty.STATED,
        )

    said = Polarity(item["polarity"])
    age = float(item.get("age_days") or 0)
    add("st_item", role, said, age_days=age, source="own", first=True)
    against = Polarity.AFFIRMED if said is Polarity.DENIED else Polarity.DENIED
    agree = [f"st_for_{n}" for n in range(int(item.get("witnesses_for") or 0))]
    differ = [f"st_against_{n}" for n in range(int(item.get("witnesses_against") or 0))]
    for n, id in enumerate(agree):
        add(id, Role.CLINICIAN, said, age_days=age + (n + 1) / 24, source=f"for {n}")
    for n, id in enumerate(differ):
        add(id, Role.CLINICIAN, against, age_days=age + (n + 1) / 24, source=f"against {n}")
    members = tuple(sorted(("st_item", *agree)))
    conflict = ("co_x",) if differ else ()
    facts = [
        Fact(
            id="fa_item",
            kind=kind_of,
            display=item["says"],
            members=members,
            polarity=said,
            currency=Currency.CURRENT,
            conflicts=conflict,
        )
    ]
    if age_years is not None:
        date = parse_time((NOW - timedelta(days=365.25 * float(age_years) + 30)).date().isoformat())
        field = ResolvedField("birth_date", FieldVerdict.PICKED, date, "st_born")
        facts.append(Fact(id="fa_born", kind=Kind.DEMOGRAPHIC, display="person", members=("st_born",), fields=(field,)))
    sides = (Side("so", members), Side("not so", tuple(differ))) if differ else ()
    return Graph(
        subject=patient("p"),
        version=1,
        moment=Moment(true_at=NOW),
        hash="",
        statements=statements,
        passages={},
        sightings={},
        documents={},
        sessions={},
        memories={},
        attributions=attributions,
        facts={fact.id: fact for fact in facts},
        fact_of=dict.fromkeys(members, "fa_item"),
        links={},
        conflicts={"co_x": Conflict("co_x", ConflictKind.EXISTENCE, "fa_item", "", sides, "eval")} if sides else {},
        decisions={},
        unresolved=(),
        references={},
    )


def run(options: Options) -> Outcome:
    if not PAIRS.is_file():
        return skipped("authority", "no pairs.json")
    rows: list[Row] = []
    misses = []
    for pair in [*pairs(), *pairs(SECOND)]:
        held_out = bool(pair.get("held_out"))
        if held_out and not options.held_out:
            continue
        if (scope := pair.get("scope", "patient")) != "patient":
            rows.append({"id": pair["id"], "held_out": held_out, "agrees": False})
            if not held_out:
                misses.append(f"{pair['id']}: {pair['task']}, {pair['aspect']}; not weighed, scope {scope}")
            continue
        right = agrees(pair)
        rows.append({"id": pair["id"], "held_out": held_out, "agrees": right})
        if not right and not held_out:
            a, b = weighed(pair, "a"), weighed(pair, "b")
            said = f"a {a.log_odds:.3f}, b {b.log_odds:.3f}, more {pair['more']}"
            misses.append(f"{pair['id']}: {pair['task']}, {a.aspect}; {said}")
    return Outcome(
        "authority", [f"tests/cases/authority/{path.name}" for path in (PAIRS, SECOND)], figures(rows), rows, misses
    )


def figures(rows: Sequence[Row]) -> Figures:
    """How many pairs, and how many agree: all, and held-out ones apart."""
    found = _count(rows)
    for name, held_out in (("tuned", False), ("held_out", True)):
        if some := [row for row in rows if row["held_out"] is held_out]:
            found[name] = _count(some)
    return found


def _count(rows: Sequence[Row]) -> Figures:
    return {"pairs": len(rows), "agree": sum(row["agrees"] for row in rows)}


if __name__ == "__main__":
    from evals.__main__ import main

    raise SystemExit(main(["authority", *sys.argv[1:]]))

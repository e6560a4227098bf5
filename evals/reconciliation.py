"""Does what is known of a patient come together as it should? Cases written before the fold, all assertions of a case.

And the documents of the certification on reconciliation (`certification`). Cases that need a table of terminology are
counted apart from those that do not. Held-out cases are run only with `--held-out`, and then only counted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from evals import certification
from evals import gold_runner as gold
from evals.shape import Figures, Options, Outcome, Row, skipped


def run(options: Options) -> Outcome:
    if not gold.CASES.is_file():
        return skipped("reconciliation", "no cases.json")
    data = options.data if (options.data / "recon_micro_cases" / "cases.json").is_file() else None
    rows: list[Row] = []
    misses: list[str] = []
    absent = 0
    for case in gold.load():
        held_out = bool(case.get("held_out"))
        if held_out and not options.held_out:
            continue
        sent = gold.submissions(case, data)
        if sent is None:
            absent += 1
            continue
        why = _judge(case, sent)
        rows.append(
            {
                "id": case["id"],
                "needs": case["needs"],
                "held_out": held_out,
                "right": not why,
                "assertions": len(case["expect"]),
                "failed": len(why),
            }
        )
        if why and not held_out:
            misses.append(f"{case['id']}: {why[0]}" + (f" (and {len(why) - 1} more)" if len(why) > 1 else ""))
    read = ["tests/cases/reconciliation/cases.json", *(["recon_micro_cases/cases.json"] if data else [])]
    if (options.data / certification.GOLD).is_file():
        read.append(str(certification.GOLD))
        for name, why in certification.faults(options.data).items():
            rows.append({"id": name, "needs": "onc", "held_out": False, "right": not why})
            misses += [f"{name}: {each}" for each in why]
    note = f"{absent} cases whose data are not here" if absent else ""
    return Outcome("reconciliation", read, figures(rows), rows, misses, note)


def _judge(case: gold.Case, sent: list[tuple[str, list[Any]]]) -> list[str]:
    try:
        attempt = gold.Run(sent)
    except Exception as error:
        return [json.dumps({"raised": type(error).__name__})]
    try:
        return gold.check(attempt, case, sent)
    finally:
        attempt.close()


def figures(rows: Sequence[Row]) -> Figures:
    """Cases and cases right; core and terminology, tuned and held out apart, each with its number; and of the pairs of
    documents of the certification how many come out exactly."""
    onc = [row for row in rows if row["needs"] == "onc"]
    rows = [row for row in rows if row["needs"] != "onc"]
    found: Figures = _count(rows)
    if onc:
        found |= {"onc": len(onc), "onc_exact": sum(row["right"] for row in onc)}
    for name, held_out in (("tuned", False), ("held out", True)):
        mine = [row for row in rows if row["held_out"] is held_out]
        for needs in ("core", "terminology"):
            if some := [row for row in mine if row["needs"] == needs]:
                found[f"{name}, {needs}"] = _count(some)
    return found


def _count(rows: Sequence[Row]) -> Figures:
    return {"cases": len(rows), "cases_right": sum(row["right"] for row in rows)}

"""Are the pairs of both gold files well formed and many enough? Their scores are no matter of this test."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

FOLDER = next(p for p in Path(__file__).parents if p.name == "tests") / "cases" / "authority"
TASKS = {
    "medication_reconciliation",
    "allergy_check",
    "symptom_triage",
    "diagnosis_review",
    "pediatric_history",
    "care_coordination",
    "prior_authorization",
    "claims_adjudication",
    "scheduling",
    "patient_education",
    "discharge_planning",
    "general",
}
SCOPES = {"patient", "organization", "operator", "agent"}


def _pairs() -> list[dict[str, Any]]:
    names = ("pairs.json", "pairs_second.json")
    return [pair for name in names for pair in json.loads((FOLDER / name).read_text(encoding="utf-8"))]


def test_every_pair_has_its_own_id_a_known_task_and_scope_an_order_and_a_reason() -> None:
    pairs = _pairs()
    assert len({pair["id"] for pair in pairs}) == len(pairs)
    assert {pair["task"] for pair in pairs} == TASKS
    assert {pair.get("scope", "patient") for pair in pairs} == SCOPES
    assert {pair["more"] for pair in pairs} == {"a", "b"}
    assert all(pair["why"] and pair["a"] != pair["b"] for pair in pairs)


def test_there_are_120_pairs_24_outside_the_patient_scope_and_12_couples_that_flip() -> None:
    pairs = _pairs()
    couples = defaultdict(list)
    for pair in pairs:
        if "couple" in pair:
            couples[pair["couple"]].append(pair)
    flips = [
        one["couple"]
        for one, two in (halves for halves in couples.values() if len(halves) == 2)
        if (one["a"], one["b"]) == (two["a"], two["b"]) and one["more"] != two["more"]
    ]
    assert len(pairs) >= 120
    assert sum(pair.get("scope", "patient") != "patient" for pair in pairs) >= 24
    assert len(flips) >= 12


def test_the_halves_of_a_couple_are_held_out_together() -> None:
    held = defaultdict(set)
    for pair in _pairs():
        if "couple" in pair:
            held[pair["couple"]].add(bool(pair.get("held_out")))
    assert all(len(which) == 1 for which in held.values())

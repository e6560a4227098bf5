"""Hand-made conversation cases with the memories they should give. The evaluation alone reads the held-out ones."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

_PATH = Path(__file__).parents[3] / "evals" / "first_memories.py"
_SPEC = importlib.util.spec_from_file_location("first_memories", _PATH)
assert _SPEC is not None
assert _SPEC.loader is not None
scoring = importlib.util.module_from_spec(_SPEC)
sys.modules["first_memories"] = scoring
_SPEC.loader.exec_module(scoring)

TUNED: list[dict[str, Any]] = [case for case in scoring.cases() if not case.get("held_out")]


@pytest.mark.parametrize("case", TUNED, ids=[case["id"] for case in TUNED])
def test_a_case_gives_the_memories_it_should(case: dict[str, Any]) -> None:
    assert scoring.misses(case) == []


def test_the_score_over_the_tuned_cases_is_whole() -> None:
    figures = scoring.score(TUNED)
    print(f"tuned n {figures['n']} score {figures['score']}")
    assert figures["n"] >= 90
    assert figures["score"] == 1.0


def test_what_must_not_be_held_is_recognised() -> None:
    """The scoring itself: a wrong memory would fail the case."""
    case = {
        "speaker": "patient", "text": "I take metformin.", "said_at": "2026-02-15T09:30:00-05:00",
        "expect": [], "not": [{"type": "medication", "concept": "metformin"}], "attribution": "user-reported",
    }  # fmt: skip
    assert scoring.misses(case) == ["must not hold medication metformin"]

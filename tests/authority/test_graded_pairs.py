"""The order that people gave to pairs of items before there was a profile. Held-out pairs are not read here."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def _eval() -> ModuleType:
    spec = importlib.util.spec_from_file_location("authority_eval", ROOT / "evals" / "authority.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_weights_order_the_open_pairs_as_people_did() -> None:
    graded = _eval()
    if not graded.PAIRS.is_file():
        pytest.skip("no graded pairs")
    rows = [row for row in graded.pairs() if not row.get("held_out")]
    assert len(rows) >= 50
    agree = [row["id"] for row in rows if graded.agrees(row)]
    assert len(agree) / len(rows) >= 0.95, sorted({row["id"] for row in rows} - set(agree))

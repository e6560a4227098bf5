"""What does an evaluation take and give? The one shape that the command prints, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evals.kept_apart import Part

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"

Row = dict[str, Any]
Figures = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """`data` is the folder of public files beside the project; `held_out` opens cases kept apart (for a closing note
    only); `opened` also runs those that were opened before; `seed` shuffles what an evaluation shuffles."""

    data: Path = DATA
    seed: int = 0
    held_out: bool = False
    opened: bool = False

    def runs(self, part: Part) -> bool:
        """Is this part of a set (`evals.kept_apart`) run?"""
        return part == "tuned" or self.held_out or (part == "opened" and self.opened)


@dataclass(frozen=True)
class Outcome:
    """`data` names what was read, `figures` are computed from `rows` alone, `misses` has one line for each miss (never
    of an unopened case). `skipped` says why nothing, or less, was measured."""

    eval: str
    data: Sequence[str] = ()
    figures: Figures = field(default_factory=dict)
    rows: Sequence[Row] = ()
    misses: Sequence[str] = ()
    skipped: str = ""

    def as_json(self) -> Mapping[str, Any]:
        told = {
            "eval": self.eval,
            "data": list(self.data),
            "figures": self.figures,
            "rows": list(self.rows),
            "misses": list(self.misses),
        }
        return {**told, "skipped": self.skipped} if self.skipped else told


def skipped(name: str, why: str) -> Outcome:
    """Nothing was measured."""
    return Outcome(name, skipped=why)

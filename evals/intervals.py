"""How sure is a score? Precision, recall and F1 of counted rows, with intervals of 95 %.

Shares have Wilson's interval (E. B. Wilson, J Am Stat Assoc 1927, 22:209-212); F1 is no share, so its interval is a
percentile bootstrap over the items (B. Efron, Ann Stat 1979, 7:1-26), seeded.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_Z = 1.959963984540054  # the 97.5 % point of the normal distribution
_DRAWS = 500


@dataclass(frozen=True)
class Counts:
    """Hits, wrong ones and missed ones of one item (a dialogue, a sentence)."""

    hit: int = 0
    wrong: int = 0
    missed: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.hit + other.hit, self.wrong + other.wrong, self.missed + other.missed)


def total(items: Sequence[Counts]) -> Counts:
    """The sum, for a micro average."""
    return sum(items, Counts())


def f1(counts: Counts) -> float | None:
    """None when there is neither gold nor an answer."""
    every = 2 * counts.hit + counts.wrong + counts.missed
    return 2 * counts.hit / every if every else None


def wilson(right: int, of: int) -> tuple[float, float]:
    """The interval of a share; (0, 1) when nothing was counted."""
    if not of:
        return 0.0, 1.0
    share = right / of
    middle = share + _Z * _Z / (2 * of)
    reach = _Z * math.sqrt(share * (1 - share) / of + _Z * _Z / (4 * of * of))
    whole = 1 + _Z * _Z / of
    return max(0.0, (middle - reach) / whole), min(1.0, (middle + reach) / whole)


def bootstrap(items: Sequence[Counts], seed: int) -> tuple[float, float]:
    """The interval of the micro-averaged F1 when whole items are drawn again; (0, 1) without items."""
    if not items:
        return 0.0, 1.0
    draw = random.Random(seed)
    scores = sorted(f1(total(draw.choices(items, k=len(items)))) or 0.0 for _ in range(_DRAWS))
    return scores[int(0.025 * _DRAWS)], scores[int(0.975 * _DRAWS) - 1]


def scored(items: Sequence[Counts], seed: int) -> dict[str, Any]:
    """Gold count `n`, precision, recall, F1 and the interval of the F1, rounded to three places."""
    counts = total(items)
    said, gold = counts.hit + counts.wrong, counts.hit + counts.missed
    low, high = bootstrap(items, seed)
    return {
        "n": gold,
        "precision": round(counts.hit / said, 3) if said else None,
        "recall": round(counts.hit / gold, 3) if gold else None,
        "f1": rounded(f1(counts)),
        "ci95": [round(low, 3), round(high, 3)],
    }


def share(right: int, of: int) -> dict[str, Any]:
    """`n`, the share and its interval."""
    low, high = wilson(right, of)
    return {"n": of, "share": round(right / of, 4) if of else None, "ci95": [round(low, 3), round(high, 3)]}


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)

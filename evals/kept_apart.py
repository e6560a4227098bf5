"""Which items of a data set may be looked at while working? Two thirds are tuned on, one third is kept apart.

By a hash of the item's own key, so that the split needs no file, does not move when items are added, and is the same
on every machine. The part kept apart is `unopened` until it is scored, for a closing note, with `--unopened`; then its
set is named here, and the part is `opened`: it is tuned on like the rest, run with `--opened`, and no figure of it says
how well unseen words are read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date
from typing import Final, Literal

Part = Literal["tuned", "opened", "unopened"]

# Set → the day its part kept apart was opened.
OPENED: Final[Mapping[str, date]] = dict.fromkeys(
    (
        "first", "second", "third", "allergy-turns", "allergy-turns-second", "assertions", "assertions_second", "negex",
        "simord", "mts-dialog", "aci-bench", "primock57", "osce-fareez", "medmemorybench-sample", "simsum-spans",
        "phrasings",
    ),
    date(2026, 11, 30),
)  # fmt: skip


def part_in(set: str, key: str) -> Part:
    """The part of its set that the item with this key belongs to, as it stands today."""
    return standing(set, kept_apart=part_of(key) == "unopened")


def standing(set: str, *, kept_apart: bool) -> Part:
    """What an item of the set is today, when it was kept apart and when it was not."""
    if not kept_apart:
        return "tuned"
    return "opened" if set in OPENED else "unopened"


def part_of(key: str) -> Literal["tuned", "unopened"]:
    """The side that the item with this key falls on, `unopened` when it was kept apart. The key is trimmed and
    caseless: sentences that differ in nothing else fall on one side."""
    plain = " ".join(key.lower().split())
    return "unopened" if hashlib.sha256(plain.encode()).digest()[0] % 3 == 0 else "tuned"

"""Which items of a public data set may be looked at while working? Two thirds are tuned on, one third is unopened.

By a hash of the item's own key, so that the split needs no file, does not move when items are added, and is the same
on every machine. The unopened third is scored only with `--unopened`, for a closing note.

The unopened parts of the talks, turns and sentences that judge the extractor were opened on 2026-11-30 and are tuned on
since: there is no unopened figure for it until a new set is written.
"""

from __future__ import annotations

import hashlib
from typing import Literal

Part = Literal["tuned", "unopened"]


def part_of(key: str) -> Part:
    """The part that the item with this key belongs to. The key is trimmed and caseless: sentences that differ in
    nothing else fall on one side."""
    plain = " ".join(key.lower().split())
    return "unopened" if hashlib.sha256(plain.encode()).digest()[0] % 3 == 0 else "tuned"

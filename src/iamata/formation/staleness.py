"""For how long is an active state taken to be current when nobody stands behind it any more? A cited table by kind.

Says only that it may be out of date: an old statement is never turned into its opposite.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from iamata.model.statement import Kind
from iamata.terminology.tables import rows

_DAY_S: Final = 86_400


@cache
def _days() -> Mapping[str, int]:
    return {row["kind"]: int(row["days"]) for row in rows("staleness")}


def long_unconfirmed(kind: Kind, last_said_s: int | None, now_s: float) -> bool:
    """Was it last said longer ago than its kind is expected to hold? False when undated, or for a kind that keeps."""
    days = _days().get(kind)
    return days is not None and last_said_s is not None and now_s - last_said_s > days * _DAY_S

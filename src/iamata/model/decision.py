"""The record of one comparison of two statements."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from iamata.model.clinical_time import check_aware


class Verdict(StrEnum):
    MERGE = "merge"
    REJECT = "reject"


class Quality(StrEnum):
    CONFIRMED = "confirmed"
    PROBABLE = "probable"
    UNCERTAIN = "uncertain"


class Evidence(msgspec.Struct, frozen=True, gc=False):
    """One thing that was compared: `step` (identifier, code, name, time …), `outcome` (equal, compatible, different,
    missing) and what was read on both sides."""

    step: str
    outcome: str
    left: str = ""
    right: str = ""


class Decision(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Two statements were compared. `left` < `right` by id; `rule` settled it. `by` is empty for the engine, else the
    operator (`operator/…`) or the language model (`language-model/…`) that decided; `decided_at` then says when."""

    id: str
    left: str
    right: str
    verdict: Verdict
    quality: Quality
    rule: str
    evidence: tuple[Evidence, ...] = ()
    by: str = ""
    decided_at: datetime | None = None

    def __post_init__(self) -> None:
        check_aware("decided_at", self.decided_at)

"""Which rules say how a memory relates to a fact? The rows of `link_rules.tsv`, as verdicts."""

from __future__ import annotations

from functools import cache

import msgspec

from iamata.model.link import LinkType
from iamata.terminology.tables import rows


class Verdict(msgspec.Struct, frozen=True):
    """How a memory relates to a fact: a row of `link_rules.tsv`, with its confidence for this pair."""

    type: LinkType
    rule: str
    confidence: float
    reasoning: str
    conflict: str = ""


@cache
def _rules() -> dict[str, Verdict]:
    return {
        row["rule"]: Verdict(
            LinkType(row["type"]), row["rule"], float(row["confidence"]), row["reasoning"], row["conflict"]
        )
        for row in rows("link_rules")
    }


def rule(name: str, sure: float = 1.0) -> Verdict:
    """The verdict of the rule with this id; `sure` in 0..1 lowers its confidence."""
    verdict = _rules()[name]
    return msgspec.structs.replace(verdict, confidence=verdict.confidence * sure) if sure < 1.0 else verdict

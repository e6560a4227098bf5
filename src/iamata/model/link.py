"""A typed, reasoned relation between any two items."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class LinkSource(StrEnum):
    """How an edge is known."""

    EXPLICIT_REFERENCE = "explicit_reference"
    KNOWLEDGE_BASE = "knowledge_base"
    TEMPORAL_INFERENCE = "temporal_inference"
    LLM_INFERRED = "llm_inferred"
    NARRATIVE_VERIFICATION = "narrative_verification"
    RULE = "rule"


class LinkType(StrEnum):
    """Between facts, and between a memory and a fact (the last six)."""

    PRESCRIBED_FOR = "prescribed_for"
    TREATS = "treats"
    MONITORS = "monitors"
    COMPLICATION_OF = "complication_of"
    RISK_FACTOR_FOR = "risk_factor_for"
    MANIFESTATION_OF = "manifestation_of"
    CAUSED_BY = "caused_by"
    ADVERSE_REACTION_TO = "adverse_reaction_to"
    STOPPED_BECAUSE_OF = "stopped_because_of"
    PART_OF = "part_of"
    PERFORMED_DURING = "performed_during"
    RESULT_OF = "result_of"
    BASED_ON = "based_on"
    REPLACES = "replaces"
    DOCUMENTED_IN = "documented_in"
    DERIVED_FROM = "derived_from"
    EVIDENCE_FOR = "evidence_for"
    REASON_FOR = "reason_for"

    SUPPORTS = "supports"
    CONFLICTS = "conflicts"
    REFINES = "refines"
    EXPLAINS = "explains"
    ABOUT = "about"
    NEW = "new"


class Link(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """`origin` relates to `target` (fact, memory or passage ids). `confidence` in 0..1; an inferred link is
    agent-reported. `conflict_kind` is set where type is `conflicts`."""

    id: str
    type: LinkType
    origin: str
    target: str
    source: LinkSource
    rule: str
    confidence: float
    reasoning: str = ""
    conflict_kind: str = ""
    digest: str = ""

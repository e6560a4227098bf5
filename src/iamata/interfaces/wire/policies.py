"""How do access and its policy look: rows, decisions with their reasons, relations of principals to patients?"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

import msgspec

from iamata.engine.policies import Policy, Rule
from iamata.engine.relating import Explained
from iamata.interfaces.wire.values import Json, given, instant
from iamata.model.access import Purpose
from iamata.model.relation import PatientRelation, RelationKind
from iamata.model.scope import Subject

Words = Annotated[str, msgspec.Meta(min_length=1)]


class RelationBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST …/relations`: who (`operator/dr-lee`) is what to the patient, from when to when."""

    principal: Words
    kind: RelationKind
    since: datetime | None = None
    until: datetime | None = None
    reason: str = ""


class BreakGlassBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST …/break-glass`: why, and for how long."""

    reason: Words
    minutes: int | None = None


class PolicyQuestionBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST /v1/policy/explain`: what would be decided for whom. Without a subject about a listing."""

    principal: Words
    act: Words
    subject: str = ""
    roles: list[str] = []
    purpose: Purpose = Purpose.TREATMENT
    kind: str = ""
    on_behalf_of: str = ""


def asked_about(subject: str) -> Subject | None:
    return Subject.parse(subject) if subject else None


def relation(of: PatientRelation) -> Json:
    return given(
        {
            "id": of.id,
            "patientId": of.patient,
            "principal": of.principal,
            "kind": of.kind.value,
            "since": instant(of.since),
            "until": instant(of.until) if of.until else None,
            "by": of.by,
            "at": instant(of.at),
            "reason": of.reason,
        }
    )


def relations(of: Iterable[PatientRelation], now: datetime) -> list[Json]:
    """Each with whether it holds now."""
    return [relation(each) | {"holds": each.holds_at(now)} for each in of]


def policy(of: Policy) -> Json:
    return {
        "version": of.version,
        "file": of.name,
        "breakGlassMinutes": of.break_glass_minutes,
        "rules": [_rule(each) for each in of.rules],
    }


def _rule(of: Rule) -> Json:
    """Columns as lists of words; `*` for any."""
    words = {name: getattr(of, name) for name in ("act", "scope", "kind", "role", "relation", "purpose")}
    return {
        "id": of.id,
        "line": of.line,
        "effect": "permit" if of.permit else "deny",
        **{name: ["*"] if each is None else sorted(each) for name, each in words.items()},
        "reason": of.reason,
        "source": of.source,
    }


def explained(of: Explained) -> Json:
    decision = of.decision
    return {
        "allowed": decision.allowed,
        "reasons": list(decision.reasons),
        "rule": decision.rule,
        "line": of.line,
        "source": of.source,
        "loud": decision.loud,
        "relations": list(of.relations),
        "policy": of.policy,
    }

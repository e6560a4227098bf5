"""May this principal do this to this subject? Default deny; every answer has its reasons.

What a policy allows is its rows (`rules`); here are the laws that no row changes, and how both come to a decision. Not
here: which items of a patient exist for the reader (`view`).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import msgspec

from iamata.model.access import Access, PrincipalKind
from iamata.model.relation import PatientRelation
from iamata.model.scope import Scope, Subject
from iamata.policy.rules import LISTING, Policy, packaged

_CHANGES: Final = frozenset({"write", "decide", "learn", "erase", "move", "relate", "break-glass"})
# Archives hold bytes and keys, which no label can be taken out of.
MOVES: Final = "move"
# Of an agent its own cues; of nobody what is done for everybody.
LEARNS: Final = "learn"
# What a person does, and no agent or system for it.
_OF_PEOPLE: Final = frozenset({"decide", "relate", "break-glass"})
# Every decision that rests on an open break-glass has this among its reasons.
BREAK_GLASS: Final = "break-glass"


class Decision(msgspec.Struct, frozen=True):
    """`reasons` name the rule of the policy that decided, never content; `rule` is the id of the row, empty for a law.
    `loud` when nothing but an open break-glass allows it."""

    allowed: bool
    reasons: tuple[str, ...]
    rule: str = ""
    loud: bool = False


def decide(
    access: Access, act: str, subject: Subject | None, *, policy: Policy | None = None, kind: str = ""
) -> Decision:
    """A function of policy, principal (with its purpose and the relations it carries), act and subject, and of nothing
    else. `act` is one of `rules.ACTS`; `subject` None: a listing, filtered afterwards (`learn`: what is done for
    everybody); `kind` is that of an entry.

    An agent is decided for as itself and as the operator it acts for: it may what both may, but for its own scope.
    """
    policy = policy or packaged()
    if act in _CHANGES and not access.may_write:
        return Decision(False, ("principal-may-not-write",))
    if act == "read" and not access.may_read:
        return Decision(False, ("principal-may-not-read",))
    if act == "read" and access.seen is not None and subject is not None and subject.scope is not Scope.PATIENT:
        return Decision(False, ("token-opens-records-only",))
    if act in _OF_PEOPLE and access.kind is not PrincipalKind.OPERATOR:
        return Decision(False, ("operators-decide",))
    if access.kind is PrincipalKind.AGENT and access.by_relation and not access.on_behalf_of:
        return Decision(False, ("agent-acts-for-nobody",))
    of_patient = subject is not None and subject.scope is Scope.PATIENT
    if of_patient and subject is not None and access.patients is not None and subject.id not in access.patients:
        return Decision(False, ("no-relation-to-patient",))
    if act == LEARNS and access.patients is not None:
        # What an agent that is bound to a patient has learned could carry that patient to the next one's agent.
        return Decision(False, ("learning-is-asked-for-by-owners" if subject is None else "bound-to-patients",))
    if act == MOVES and (access.withheld or access.seen is not None):
        return Decision(False, ("something-may-be-withheld",))
    if act == MOVES and access.patients is not None and subject is None:
        return Decision(False, ("no-relation-to-every-patient",))
    decision = _by_rows(policy, access, act, subject, kind)
    if not decision.allowed or access.kind is not PrincipalKind.AGENT or not access.on_behalf_of:
        return decision
    if subject is not None and subject.scope is Scope.AGENT and _is_own(access, subject):
        return decision  # what an agent is for is its own, whomever it acts for
    behind = msgspec.structs.replace(access, kind=PrincipalKind.OPERATOR, id=access.on_behalf_of, on_behalf_of="")
    theirs = _by_rows(policy, behind, act, subject, kind)
    if not theirs.allowed:
        return theirs
    reasons = tuple(dict.fromkeys((*theirs.reasons, *decision.reasons)))
    return Decision(True, reasons, theirs.rule, theirs.loud or decision.loud)


def _by_rows(policy: Policy, access: Access, act: str, subject: Subject | None, kind: str) -> Decision:
    scope = LISTING if subject is None else subject.scope.value
    relations = _relations(access, subject)
    rule = policy.first(access, act, scope, kind, relations)
    if rule is None:
        return Decision(False, ("no-rule-allows-it",))
    if not rule.permit or BREAK_GLASS not in relations:
        return Decision(rule.permit, (rule.reason,), rule.id)
    without = policy.first(access, act, scope, kind, relations - {BREAK_GLASS} or _NONE)
    loud = without is None or not without.permit
    reasons = (rule.reason,) if not loud or rule.reason == BREAK_GLASS else (rule.reason, BREAK_GLASS)
    return Decision(True, reasons, rule.id, loud)


_NONE: Final = frozenset({"none"})
_GIVEN: Final = frozenset({"given"})
_LAUNCH: Final = frozenset({"launch"})
_OWN: Final = frozenset({"own"})


def _relations(access: Access, subject: Subject | None) -> frozenset[str]:
    """What the principal is to the subject. That it is in `access.patients`, if those are limited, was seen before."""
    if subject is None:
        return _NONE
    if subject.scope is not Scope.PATIENT:
        return _OWN if _is_own(access, subject) else _NONE
    if not access.by_relation:
        return _GIVEN
    held = frozenset(access.relations)
    if access.launch and access.patients is not None:
        return held | _LAUNCH
    return held or _NONE


def _is_own(access: Access, subject: Subject) -> bool:
    """An operator's own scope is that of the operator (and of an agent for it), an agent's that of the agent. An equal
    id in another scope is somebody else's."""
    if subject.scope is Scope.OPERATOR:
        return access.person == str(subject)
    return subject.scope is Scope.AGENT and access.kind is PrincipalKind.AGENT and access.id == subject.id


def related(access: Access, held: Iterable[PatientRelation], now: datetime) -> Access:
    """The access with the relations that hold now, and none other, whatever it carried before."""
    kinds = sorted({each.kind.value for each in held if each.holds_at(now)})
    return msgspec.structs.replace(access, relations=tuple(kinds))

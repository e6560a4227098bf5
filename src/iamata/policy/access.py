"""May this principal do this to this subject? Default deny; every answer has its reasons.

Not here: which items of a patient exist for the reader (`view`).
"""

from __future__ import annotations

import msgspec

from iamata.errors import NotAllowed, NotFound
from iamata.model.access import Access, PrincipalKind
from iamata.model.scope import Scope, Subject

POLICY_VERSION = "local/2"
_READS = "read"
_WRITES = "write"
_AUDITS = "audit"
_DECIDES = "decide"
_MOVES = "move"


class Decision(msgspec.Struct, frozen=True):
    """`reasons` name the rule of the policy that decided, never content."""

    allowed: bool
    reasons: tuple[str, ...]


def decide(access: Access, act: str, subject: Subject | None) -> Decision:
    """`act` is `read`, `write`, `decide` (rule on records), `audit` (read the audit log) or `move` (archives of all
    that is held); `subject` None: a listing, filtered afterwards."""
    if act == _MOVES:
        return _moves(access, subject)
    if act == _AUDITS:
        return Decision("owner" in access.roles, ("owner" if "owner" in access.roles else "audit-is-read-by-owners",))
    if act in (_WRITES, _DECIDES) and not access.may_write:
        return Decision(False, ("principal-may-not-write",))
    if act == _DECIDES and access.kind is not PrincipalKind.OPERATOR:
        return Decision(False, ("operators-decide",))
    if subject is None:
        return Decision(True, ("listing-is-filtered",))
    if subject.scope is Scope.PATIENT:
        if access.patients is not None and subject.id not in access.patients:
            return Decision(False, ("no-relation-to-patient",))
        return Decision(True, ("owner" if "owner" in access.roles else "relation-to-patient",))
    if act == _WRITES and access.kind is PrincipalKind.AGENT:
        return Decision(False, ("agents-do-not-write-entries",))
    if "owner" in access.roles or subject.id in (access.id, access.on_behalf_of):
        return Decision(True, ("owner" if "owner" in access.roles else "own-scope",))
    if subject.scope is Scope.ORGANIZATION and act == _READS:
        return Decision(True, ("organization-knowledge-is-read-by-its-operators",))
    return Decision(False, ("not-own-scope",))


def _moves(access: Access, subject: Subject | None) -> Decision:
    """An archive holds bytes and keys, which no label can be taken out of: it is for who sees everything there is."""
    if not access.may_write:
        return Decision(False, ("principal-may-not-write",))
    if "owner" not in access.roles:
        return Decision(False, ("archives-are-for-owners",))
    if access.withheld:
        return Decision(False, ("something-may-be-withheld",))
    if access.patients is not None and (subject is None or subject.id not in access.patients):
        return Decision(False, ("no-relation-to-every-patient",))
    return Decision(True, ("owner",))


def require(access: Access, act: str, subject: Subject | None) -> Decision:
    """The decision, if it allows. A patient that may not be read is as absent as one that does not exist."""
    decision = decide(access, act, subject)
    if decision.allowed:
        return decision
    if subject is not None and subject.scope is Scope.PATIENT and act == _READS:
        raise NotFound(what="patient", id=subject.id)
    raise NotAllowed(reasons=decision.reasons)

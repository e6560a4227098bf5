"""May this principal do this to this subject, and which items exist for it? Default deny; every answer has its reasons.

Access comes before the fold: an item with a withheld label does not exist for the reader, in no text, count or weight.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from iamata.errors import NotAllowed, NotFound
from iamata.model.access import Access, PrincipalKind
from iamata.model.identifiers import canonical_bytes, content_digest
from iamata.model.scope import Scope, Subject
from iamata.model.statement import Label

POLICY_VERSION = "local/1"
_READS = "read"
_WRITES = "write"
_AUDITS = "audit"
_DECIDES = "decide"
_LEARNS = "learn"
_MOVES = "move"


class Decision(msgspec.Struct, frozen=True):
    """`reasons` name the rule of the policy that decided, never content."""

    allowed: bool
    reasons: tuple[str, ...]


def decide(access: Access, act: str, subject: Subject | None) -> Decision:
    """`act` is `read`, `write`, `decide` (rule on records), `learn` (an agent's own cues; of None: from what is
    done for everybody), `audit` (read the audit log) or `move` (archives of all that is held); `subject` None else: a
    listing, filtered afterwards."""
    if act == _MOVES:
        return _moves(access, subject)
    if act == _AUDITS:
        return Decision("owner" in access.roles, ("owner" if "owner" in access.roles else "audit-is-read-by-owners",))
    if act in (_WRITES, _DECIDES, _LEARNS) and not access.may_write:
        return Decision(False, ("principal-may-not-write",))
    if act == _DECIDES and access.kind is not PrincipalKind.OPERATOR:
        return Decision(False, ("operators-decide",))
    if act == _LEARNS and subject is None:
        # From what was done for every patient, for everybody: the owner's to ask for, and no agent's.
        owns = "owner" in access.roles and access.kind is not PrincipalKind.AGENT and access.patients is None
        return Decision(owns, ("owner" if owns else "learning-is-asked-for-by-owners",))
    if subject is None:
        return Decision(True, ("listing-is-filtered",))
    if subject.scope is Scope.PATIENT:
        if access.patients is not None and subject.id not in access.patients:
            return Decision(False, ("no-relation-to-patient",))
        return Decision(True, ("owner" if "owner" in access.roles else "relation-to-patient",))
    if act == _LEARNS and access.kind is PrincipalKind.AGENT and subject == Subject(Scope.AGENT, access.id):
        # What an agent that is bound to a patient has learned could carry that patient to the next one's agent.
        bound = access.patients is not None
        return Decision(not bound, ("bound-to-patients" if bound else "own-cues",))
    if act in (_WRITES, _LEARNS) and access.kind is PrincipalKind.AGENT:
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


def visible(access: Access) -> Callable[[tuple[Label, ...]], bool]:
    """Does an item with these labels exist for this reader?"""
    withheld = access.withheld
    if not withheld:
        return lambda labels: True
    return lambda labels: withheld.isdisjoint(labels)


def view_key(access: Access) -> str:
    """Readers with the same key see the same items."""
    return content_digest(canonical_bytes(sorted(map(str, access.withheld))))[:16] if access.withheld else "all"

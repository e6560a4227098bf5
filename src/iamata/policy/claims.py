"""Whose token is it, and what may its bearer do? From claims whose signature, issuer and times were verified before.

A token names an operator, with `act` an agent acting for it, or a client that acts for itself (`system` scopes alone).
Patients exist for it by relations held as data and by policy; a patient that the token is bound to is the only one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from iamata.errors import Unauthenticated
from iamata.model.access import Access, PrincipalKind, Purpose
from iamata.model.relation import PRINCIPAL_ID
from iamata.model.scope import SUBJECT_ID
from iamata.policy.rules import ROLES
from iamata.policy.smart import Opened, scopes


class Naming(msgspec.Struct, frozen=True):
    """What the issuer calls the claims that are not standard."""

    roles: str = "roles"
    purpose: str = "purpose_of_use"
    patient: str = "patient"


class Principal(msgspec.Struct, frozen=True):
    """Who comes, and what of the token was left aside (`notes`, without its words)."""

    access: Access
    notes: tuple[str, ...] = ()


def principal(claims: Mapping[str, Any], naming: Naming) -> Principal:
    """Raises Unauthenticated, with the claim, for what cannot be an id here; a role that nobody knows is no role."""
    sub = _id(claims, "sub")
    client = _text(claims, "client_id") or _text(claims, "azp")
    if client and not PRINCIPAL_ID.match(client):
        raise _bad("client")
    read = scopes(_words(claims, "scope", "scp"))
    purpose = _purpose(claims, naming.purpose)
    roles = set(_words(claims, naming.roles).split()) & ROLES
    user_type, user_id = _fhir_user(claims)
    if user_type == "Patient":
        roles.add("patient")
    elif user_type == "RelatedPerson":
        roles.add("proxy")
    bound = _text(claims, naming.patient)
    if bound and not SUBJECT_ID.match(bound):
        raise _bad(naming.patient)
    if not bound and user_type == "Patient":
        bound = user_id
    levels = read.levels
    if "system" in levels and not levels.keys() & {"user", "patient"}:
        opened = levels["system"]
        kind = PrincipalKind.SYSTEM
        roles = set()
    else:
        # `patient/` opens nothing where no patient is named; `system/` nothing for somebody who has logged in.
        opened = _both(levels.get("user", Opened()), levels.get("patient", Opened()) if bound else Opened())
        kind = PrincipalKind.OPERATOR
    access = Access(
        kind=kind,
        id=sub,
        roles=tuple(sorted(roles)),
        purpose=purpose,
        patients=frozenset({bound}) if bound else None,
        by_relation=True,
        launch=bool(bound),
        may_read=opened.reads,
        may_write=opened.writes,
        seen=opened.seen,
        client=client,
    )
    return Principal(_acted(access, claims), read.notes)


def _acted(access: Access, claims: Mapping[str, Any]) -> Access:
    """RFC 8693, 4.1: `act` names who acts for the subject; of a chain the outermost acts now."""
    actor = claims.get("act")
    if actor is None:
        return access
    if not isinstance(actor, dict) or access.kind is not PrincipalKind.OPERATOR:
        raise _bad("act")
    return acting_for(access, _id(actor, "sub"))


def acting_for(access: Access, agent: str) -> Access:
    """An agent acting for this operator, never more than both."""
    return msgspec.structs.replace(access, kind=PrincipalKind.AGENT, id=agent, on_behalf_of=access.id)


def _both(one: Opened, other: Opened) -> Opened:
    seen = None if one.seen is None or other.seen is None else one.seen | other.seen
    return Opened(one.reads or other.reads, one.writes or other.writes, seen)


def _purpose(claims: Mapping[str, Any], name: str) -> Purpose:
    said = _text(claims, name)
    if not said:
        return Purpose.TREATMENT
    try:
        return Purpose(said)
    except ValueError:
        raise _bad(name) from None


def _fhir_user(claims: Mapping[str, Any]) -> tuple[str, str]:
    """`…/Patient/p1` as type and id; both empty without the claim. The address before it is never looked at."""
    said = _text(claims, "fhirUser")
    if not said:
        return "", ""
    type, _, id = said.removesuffix("/").rpartition("/")
    if not SUBJECT_ID.match(id):
        raise _bad("fhirUser")
    return type.rpartition("/")[2], id


def _id(claims: Mapping[str, Any], name: str) -> str:
    said = claims.get(name)
    # `local` is the person at this machine, in the audit log too.
    if not isinstance(said, str) or not PRINCIPAL_ID.match(said) or said == "local":
        raise _bad(name)
    return said


def _text(claims: Mapping[str, Any], name: str) -> str:
    said = claims.get(name, "")
    if not isinstance(said, str):
        raise _bad(name)
    return said


def _words(claims: Mapping[str, Any], *names: str) -> str:
    """A claim that is a text of words, or a list of them; of the first name that is there."""
    for name in names:
        said = claims.get(name)
        if said is None:
            continue
        if isinstance(said, str):
            return said
        if isinstance(said, list) and all(isinstance(each, str) for each in said):
            return " ".join(said)
        raise _bad(name)
    return ""


def _bad(claim: str) -> Unauthenticated:
    return Unauthenticated("the token is not good", reasons=(f"claim {claim}",))

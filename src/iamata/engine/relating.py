"""The verbs about access itself: who is related to a patient, break-glass, and what the policy says and why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from iamata.engine.door import Door
from iamata.errors import BadInput, InvalidValue, NotFound
from iamata.model.access import Access, PrincipalKind, Purpose
from iamata.model.relation import PRINCIPAL_ID, PatientRelation, RelationKind
from iamata.model.scope import Scope, Subject
from iamata.model.scope import patient as patient_subject
from iamata.policy import access as policy
from iamata.policy.access import Decision
from iamata.policy.rules import ACTS, ROLES, Policy

_REASON_CHARS = 500


class Explained(msgspec.Struct, frozen=True):
    """A decision with what it rests on: the policy's version, the row that decided (0: a law of the program, or that
    nothing allows it) and the relations that hold now."""

    decision: Decision
    policy: str
    line: int
    source: str
    relations: tuple[str, ...]


class Relating(Door):
    """Relations, break-glass, and the policy."""

    def relate(
        self,
        patient: str,
        principal: str,
        kind: RelationKind | str,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        reason: str = "",
        access: Access | None = None,
    ) -> PatientRelation:
        """Say that a principal (`operator/dr-lee`) is related to a patient: care team, self or proxy, from now or
        `since`, until `until` or until it is ended. It decides which patients exist for principals that come by token.

        For administrators, privacy officers and the owner. Raises NotFound for an unknown patient, InvalidValue for a
        principal or a relation that is none, BadInput for break-glass, which a person opens for itself, and for an end
        before its beginning.
        """
        access, subject = self._begin("relate", "relate", access, patient_subject(patient))
        if kind not in list(RelationKind):
            raise InvalidValue(f"a relation is one of {', '.join(RelationKind)}")
        kind = RelationKind(kind)
        if kind is RelationKind.BREAK_GLASS:
            raise BadInput("break-glass is opened by the person who needs it", place="kind")
        now = self._clock()
        since = since or now
        if until is not None and until <= since:
            raise BadInput("a relation ends after it begins", place="until")
        made = PatientRelation(
            id=f"rl_{self._ids()}",
            patient=patient,
            principal=principal,
            kind=kind,
            since=since,
            until=until,
            by=f"{access.kind}/{access.id}",
            at=now,
            reason=_short(reason),
        )
        self._store.put_relation(made)
        self._audit("relate", access, subject, (made.id,))
        return made

    def end_relation(self, patient: str, relation: str, *, access: Access | None = None) -> PatientRelation:
        """End a relation, or an open break-glass, now. What has ended stays as it is. Raises NotFound."""
        access, subject = self._begin("end_relation", "relate", access, patient_subject(patient))
        self._registered(patient)
        held = next((each for each in self._store.relations_of_patient(patient) if each.id == relation), None)
        if held is None:
            raise NotFound(what="relation", id=relation)
        now = self._clock()
        if held.until is None or held.until > now:
            ended = max(now, held.since)  # one that has not begun ends where it would begin
            held = msgspec.structs.replace(
                held, until=ended, at=now, by=f"{access.kind}/{access.id}", version=held.version + 1
            )
            self._store.put_relation(held)
        self._audit("end_relation", access, subject, (relation,))
        return held

    def relations(self, patient: str, *, access: Access | None = None) -> list[PatientRelation]:
        """Who is and was related to a patient, break-glass among it, by id. For those who may set relations."""
        access, subject = self._begin("relations", "govern", access, patient_subject(patient))
        self._registered(patient)
        found = self._store.relations_of_patient(patient)
        self._audit("relations", access, subject, tuple(each.id for each in found))
        return found

    def break_glass(
        self, patient: str, reason: str, *, minutes: int | None = None, access: Access | None = None
    ) -> PatientRelation:
        """Open a patient to oneself in an emergency, with a reason, for at most so many minutes as the policy allows
        (default: all of them). It ends by itself. Every look is recorded with `break-glass` among its reasons, and
        contexts say it. Raises NotAllowed for whom the policy does not let, BadInput without a reason or for a longer
        time, NotFound for an unknown patient."""
        access, subject = self._begin("break_glass", "break-glass", access, patient_subject(patient))
        most = self._policy.break_glass_minutes
        if not reason.strip():
            raise BadInput("say why, in a few words", place="reason")
        if minutes is not None and not 1 <= minutes <= most:
            raise BadInput(f"the policy allows 1 to {most} minutes", place="minutes")
        now = self._clock()
        made = PatientRelation(
            id=f"rl_{self._ids()}",
            patient=patient,
            principal=access.person,
            kind=RelationKind.BREAK_GLASS,
            since=now,
            until=now + timedelta(minutes=minutes or most),
            by=f"{access.kind}/{access.id}",
            at=now,
            reason=_short(reason),
        )
        self._store.put_relation(made)
        self._audit("break_glass", access, subject, (made.id,))
        return made

    def broken_glass(self, *, access: Access | None = None) -> list[PatientRelation]:
        """Every break-glass there was, open or ended, in the order in which they were opened, with its reason. For
        privacy officers, administrators and the owner; bound to patients only theirs."""
        access, _ = self._begin("broken_glass", "govern", access, None)
        found = self._store.relations_of_kind(RelationKind.BREAK_GLASS)
        if access.patients is not None:
            found = [each for each in found if each.patient in access.patients]
        self._audit("broken_glass", access, None, tuple(each.id for each in found))
        return found

    def policy(self, *, access: Access | None = None) -> Policy:
        """The policy in force, with its rows in order."""
        access, _ = self._begin("policy", "list", access, None)
        self._audit("policy", access, None)
        return self._policy

    def explain_policy(
        self,
        principal: str,
        act: str,
        subject: Subject | None = None,
        *,
        roles: Sequence[str] = (),
        purpose: Purpose = Purpose.TREATMENT,
        kind: str = "",
        on_behalf_of: str = "",
        access: Access | None = None,
    ) -> Explained:
        """What would be decided for a principal (`operator/dr-lee`, `agent/triage`) that comes by token with these
        roles, and why. About a patient with the relations that are held now; a patient that is not registered is
        decided about like one without relations. For those who may set relations."""
        access, _ = self._begin("explain_policy", "govern", access, None)
        if subject is not None and subject.scope is Scope.PATIENT and access.patients is not None:
            self._begin("explain_policy", "govern", access, subject)
        if act not in ACTS:
            raise BadInput(f"an act is one of {', '.join(sorted(ACTS))}", place="act")
        asked = self._related(principal_of(principal, roles=roles, purpose=purpose, on_behalf_of=on_behalf_of), subject)
        decision = policy.decide(asked, act, subject, policy=self._policy, kind=kind)
        row = next((rule for rule in self._policy.rules if rule.id == decision.rule), None)
        self._audit("explain_policy", access, subject)
        return Explained(
            decision,
            self._policy.version,
            row.line if row else 0,
            row.source if row else "",
            asked.relations if subject is not None and subject.scope is Scope.PATIENT else (),
        )


def principal_of(
    said: str, *, roles: Sequence[str] = (), purpose: Purpose = Purpose.TREATMENT, on_behalf_of: str = ""
) -> Access:
    """`operator/dr-lee` as somebody who comes by token: patients exist for it by roles and relations only.

    Raises InvalidValue for any other shape, and for a role that nobody knows.
    """
    unknown = sorted(set(roles) - ROLES)
    if unknown:
        raise InvalidValue(f"a role is one of {', '.join(sorted(ROLES))}")
    kind, _, id = said.partition("/")
    if kind not in list(PrincipalKind) or not PRINCIPAL_ID.match(id):
        raise InvalidValue(f"a principal reads kind/id with a kind of {', '.join(PrincipalKind)}")
    return Access(
        kind=PrincipalKind(kind),
        id=id,
        roles=tuple(roles),
        purpose=purpose,
        on_behalf_of=on_behalf_of,
        by_relation=True,
    )


def _short(reason: str) -> str:
    if len(reason) > _REASON_CHARS:
        raise BadInput(f"a reason has at most {_REASON_CHARS} characters", place="reason")
    return reason.strip()

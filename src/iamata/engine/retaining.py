"""The verbs of retention: what is due by the policy, and the erasing of it. Holds win."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from iamata.engine.forgetting import Forgetting
from iamata.errors import Conflict, NotFound
from iamata.model.access import Access
from iamata.model.attribution import AttributionKind
from iamata.model.erasure import Applied, Due, Erasable, Erasure
from iamata.model.graph import Held
from iamata.model.patient import PatientRow
from iamata.model.scope import Subject
from iamata.model.scope import patient as patient_subject
from iamata.model.stamp import Moment
from iamata.policy.retention import Item

_PAGE = 500
_BY = "retention/"


class Retaining(Forgetting):
    """Previewing and applying the retention policy that the engine was opened with."""

    def retention_preview(self, patient: str | None = None, *, access: Access | None = None) -> list[Due]:
        """What is no longer to be kept, of one patient or of everybody (organizations, operators and agents too), and
        why: the rule, its source, since when and until when; by whose it is, kind and id. Changes nothing. What a legal
        hold keeps is listed with the hold."""
        access, subject = self._begin(
            "retention_preview", "audit", access, patient_subject(patient) if patient else None
        )
        due = self._due(patient, access)
        self._audit("retention_preview", access, subject, tuple(each.id for each in due))
        return due

    def retention_apply(self, patient: str | None = None, *, access: Access | None = None) -> Applied:
        """Erase what is due, of one patient or of everybody: the receipts, which name the rule, and what holds kept. If
        it is cut off, applying again goes on."""
        access, subject = self._begin("retention_apply", "erase", access, patient_subject(patient) if patient else None)
        erased: list[Erasure] = []
        kept: list[Due] = []
        fewer: set[Subject] = set()
        due = self._due(patient, access)
        for each in sorted(due, key=lambda d: (d.patient, d.kind is not Erasable.PATIENT)):  # whole patients first
            if each.held:
                kept.append(each)
                continue
            whose = Subject.parse(each.subject) if each.subject else patient_subject(each.patient)
            learned = self._store.learned_from(each.patient)
            try:
                receipt = self._erase_due(each)
            except Conflict:  # a hold was set meanwhile
                kept.append(each)
                continue
            except NotFound:  # it went with something else that was due
                continue
            if not self._store.learned_from(each.patient):
                fewer.update(learned)
            if receipt is not None:
                erased.append(receipt)
                self._audit("retention_apply", access, whose, (receipt.id, each.id))
        self._audit("retention_apply", access, subject, tuple(receipt.id for receipt in erased))
        self._learn_anew(fewer)
        return Applied(erased=tuple(erased), kept=tuple(kept))

    def _erase_due(self, due: Due) -> Erasure | None:
        by = f"{_BY}{due.rule}"
        receipt: Erasure | None
        if due.subject:
            subject = Subject.parse(due.subject)
            receipt = self._store.erase_entry(subject, due.id, self._clock(), by)
            self._clear(subject)
            return receipt
        if due.kind is Erasable.PATIENT:
            receipt = self._store.erase_patient(due.patient, self._clock(), by)
            self._drop(due.patient)
            return receipt
        return self._erase_part(due.patient, due.kind, due.id, by)

    def _due(self, patient: str | None, access: Access) -> list[Due]:
        if not any(rule.on for rule in self._retention.rules):
            return []
        found: list[Due] = []
        for row in self._rows(patient, access):
            holds = tuple(hold.id for hold in self._standing(row.id))
            due = self._retention.due(self._items(row), self._clock())
            found += [msgspec.structs.replace(each, held=holds) for each in due]
        if patient is None and access.patients is None:
            found += self._retention.due(self._entries(), self._clock())
        return found

    def _entries(self) -> Iterator[Item]:
        """The retired entries of organizations, operators and agents: what is in force has no period."""
        for subject in self._store.subjects():
            newest = {each.id: each for each in self._shelves.versions(subject)}
            for entry in newest.values():
                if entry.retired:
                    yield Item(
                        patient="",
                        subject=str(subject),
                        kind=Erasable.ENTRY,
                        id=entry.id,
                        since=entry.recorded_at,
                        attributions=frozenset({entry.attribution.kind.value}),
                    )

    def _rows(self, patient: str | None, access: Access) -> Iterator[PatientRow]:
        if patient is not None:
            row = self._store.patient(patient)
            if row is None:
                raise NotFound(what="patient", id=patient)
            yield row
            return
        page = 0
        while True:
            rows, _ = self._store.patients(offset=page * _PAGE, limit=_PAGE)
            yield from (row for row in rows if access.patients is None or row.id in access.patients)
            if len(rows) < _PAGE:
                return
            page += 1

    def _items(self, row: PatientRow) -> list[Item]:
        """What of a patient has a period. Attributions are those that the fold resolves, for somebody who sees all."""
        held = self._graphs.held(row.id)
        everyone = Access.local()
        graph = self._graphs.load(row.id, Moment.of(self._clock(), known_at=None, true_at=None), everyone).graph
        spoken = {m.id: m.attribution.kind.value for m in held.ever_learned}
        said_in = {s.id: frozenset(spoken[m.id] for m in held.ever_learned if m.session == s.id) for s in held.sessions}
        kinds = {id: attribution.kind.value for id, attribution in graph.attributions.items()}
        last = {s.id: max((m.received_at for m in s.messages), default=s.created_at) for s in held.sessions}
        items = [Item(patient=row.id, kind=Erasable.PATIENT, id=row.id, since=row.updated_at, attributions=frozenset())]
        items += [
            Item(
                patient=row.id,
                kind=Erasable.DOCUMENT,
                id=d.id,
                since=d.received_at,
                attributions=_attributions(held, d.id, kinds),
            )
            for d in held.documents
        ]
        items += [
            Item(patient=row.id, kind=Erasable.SESSION, id=s.id, since=last[s.id], attributions=said_in[s.id])
            for s in held.sessions
        ]
        items += [
            Item(
                patient=row.id,
                kind=Erasable.MEMORY,
                id=m.id,
                since=m.received_at,
                attributions=frozenset({spoken[m.id]}),
            )
            for m in held.ever_learned
        ]
        newest = {entry.id: entry for entry in held.entries}
        items += [
            Item(
                patient=row.id,
                kind=Erasable.INFERENCE,
                id=entry.id,
                since=entry.recorded_at,
                attributions=frozenset({entry.attribution.kind.value}),
            )
            for entry in newest.values()
        ]
        items += [
            Item(patient=row.id, kind=Erasable.CONTEXT, id=id, since=at, attributions=frozenset())
            for id, at in self._store.contexts_kept(row.id)
        ]
        items += [
            Item(
                patient=row.id,
                kind=Erasable.TOOL_CALL,
                id=call.id,
                since=call.received_at,
                attributions=frozenset({AttributionKind.AGENT.value}),
            )
            for session in self._store.called_sessions(row.id)
            for call in self._store.tool_calls(row.id, session)
        ]
        return items


def _attributions(held: Held, document: str, kinds: dict[str, str]) -> frozenset[str]:
    """By whom what stands in a document was said."""
    return frozenset(kinds[s.item] for s in held.sightings if s.document == document and s.item in kinds)

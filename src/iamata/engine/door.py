"""What do all verbs share? The one door for access, the audit of what came through it, and the loading of a graph.

The door looks up how a principal is related to the patient; what that allows is for `policy`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime

import msgspec

from iamata.engine import beside
from iamata.engine.graphs import Graphs, Loaded
from iamata.engine.origin import current
from iamata.engine.shelves import Shelf, Shelves
from iamata.errors import Gone, NotAllowed, NotFound
from iamata.formation.learned import echoes
from iamata.model.access import Access
from iamata.model.audit import Act, AuditRecord, DoorName
from iamata.model.erasure import Erasable
from iamata.model.relation import RelationKind
from iamata.model.scope import Scope, Subject
from iamata.model.scope import patient as patient_subject
from iamata.model.stamp import Moment
from iamata.policy import access as policy
from iamata.policy.retention import Policy as Retention
from iamata.policy.retention import shipped
from iamata.policy.rules import Policy, packaged
from iamata.policy.view import Privacy, sees_all
from iamata.ports import KeyStore, LanguageModel, Store

# What a verb does where it does not read.
_WRITES = (
    "put_patient",
    "ingest",
    "append",
    "record_calls",
    "reread",
    "retract",
    "put_entry",
    "ingest_entry",
    "retire_entry",
)
# How many texts that were given out are remembered in memory, by their hashes.
_MOST_TOLD = 4096
_DECIDES = ("rule", "withdraw_ruling", "adjudicate", "refuse_entry")
_ERASES = ("delete_patient", "erase", "delete_subject", "erase_entry", "retention_apply", "set_hold", "lift_hold")
_AUDITS = (
    "audit_records",
    "audit_checkpoint",
    "audit_export",
    "audit_verify",
    "erasures",
    "verify_erasure",
    "retention_preview",
)
_ACTS = {
    **dict.fromkeys(_WRITES, "write"),
    **dict.fromkeys(_DECIDES, "decide"),
    **dict.fromkeys(_ERASES, "erase"),
    **dict.fromkeys(_AUDITS, "audit"),
    **dict.fromkeys(("export_archive", "import_archive"), "move"),
    "learn": "learn",
    "policy": "list",
    "explain_policy": "govern",
    "relate": "relate",
    "end_relation": "relate",
    "relations": "govern",
    "broken_glass": "govern",
    "break_glass": "break-glass",
}
# These are recorded before their answer leaves (design 10).
_CHANGES = frozenset({"write", "decide", "learn", "erase", "move", "relate", "break-glass"})
# The class of a record where it is another than the act that policy decides about.
_CLASSES = {
    **dict.fromkeys(("relate", "end_relation", "set_hold", "lift_hold"), Act.DECIDE),
    **dict.fromkeys(("policy", "explain_policy", "relations", "broken_glass"), Act.READ),
}


class Door:
    """What a verb works with: the store, the graphs cached over it, the clock, ids of submissions, and the language
    model if there is one, with what it is asked for."""

    def __init__(
        self,
        store: Store,
        keys: KeyStore,
        *,
        clock: Callable[[], datetime],
        ids: Callable[[], str],
        model: LanguageModel | None = None,
        model_for: frozenset[str] = frozenset(),
        door: DoorName = DoorName.PYTHON,
        retention: Retention | None = None,
        policy: Policy | None = None,
        acting: Access | None = None,
        privacy: Privacy | None = None,
    ) -> None:
        self._store = store
        self._graphs = Graphs(store, keys, clock=clock, privacy=privacy)
        self._shelves = Shelves(store, keys)
        self._clock = clock
        self._ids = ids
        self._model = model
        self._model_for = model_for
        self._door = door
        self._retention = retention or shipped()
        self._policy = policy or packaged()
        self._acting = acting or Access.local()
        self._told: OrderedDict[bytes, None] = OrderedDict()
        self._lock = threading.Lock()
        self._replay_erasures()

    def _replay_erasures(self) -> None:
        """Before anything is answered: what a restored backup brought back is erased again (`forgetting`)."""

    def _begin(self, action: str, act: str, access: Access | None, subject: Subject | None) -> tuple[Access, Subject]:
        """The one door: decides, and leaves an audit record of a refusal. The subject comes back as given, the access
        with the relations that hold now."""
        access = self._related(access or self._acting, subject)
        decision = policy.decide(access, act, subject, policy=self._policy)
        if not decision.allowed:
            self._audit(action, access, subject, act=act, allowed=False)
            # A patient that may not be read is as absent as one that does not exist.
            if subject is not None and subject.scope is Scope.PATIENT and act in ("read", "govern"):
                raise NotFound(what="patient", id=subject.id)
            raise NotAllowed(reasons=decision.reasons)
        if decision.loud and subject is not None:
            beside.tell(self._loudly(access, subject.id))
        return access, subject  # type: ignore[return-value]  # None only for listings, which do not use it

    def _related(self, access: Access, subject: Subject | None) -> Access:
        """The access with the relations of its principal that hold now, whatever it carried before."""
        if not access.by_relation:
            return access
        if subject is None or subject.scope is not Scope.PATIENT:
            return msgspec.structs.replace(access, relations=())
        return policy.related(access, self._store.relations_between(access.person, subject.id), self._clock())

    def _may(self, access: Access, act: str, patient: str) -> bool:
        """Would the door let this principal do that to the patient? Leaves no record: for listings."""
        subject = patient_subject(patient)
        return policy.decide(self._related(access, subject), act, subject, policy=self._policy).allowed

    def _loudly(self, access: Access, patient: str) -> str:
        """What is told beside everything that only an opened break-glass allows."""
        now = self._clock()
        held = self._store.relations_between(access.person, patient)
        ends = [each.until for each in held if each.kind is RelationKind.BREAK_GLASS and each.holds_at(now)]
        until = max(end for end in ends if end) if any(ends) else now
        return f"opened by break-glass until {until.isoformat(timespec='minutes')}; every look is recorded"

    def _audit(
        self,
        action: str,
        access: Access,
        subject: Subject | None,
        items: tuple[str, ...] = (),
        *,
        act: str = "",
        allowed: bool = True,
        reasons: tuple[str, ...] = (),
    ) -> None:
        act = act or _ACTS.get(action, "read")
        self._store.audit(self._record(action, access, subject, items, act=act, allowed=allowed, reasons=reasons))
        if act in _CHANGES:
            self._store.audit_flush()

    def _record(
        self,
        action: str,
        access: Access,
        subject: Subject | None,
        items: tuple[str, ...] = (),
        *,
        act: str = "",
        allowed: bool = True,
        reasons: tuple[str, ...] = (),
    ) -> AuditRecord:
        """What the log says of it; for a change that is committed together with its record."""
        act = act or _ACTS.get(action, "read")
        origin = current()
        return AuditRecord(
            at=self._clock(),
            principal=f"{access.kind}/{access.id}",
            on_behalf_of=access.on_behalf_of,
            purpose=access.purpose,
            action=action,
            subject=str(subject) if subject else "",
            allowed=allowed,
            reasons=reasons or policy.decide(access, act, subject, policy=self._policy).reasons,
            items=items[:1000],
            act=_CLASSES.get(action, act),
            door=origin.door if origin else self._door,
            request=origin.request if origin else "",
        )

    def _registered(self, patient: str) -> None:
        if self._store.patient(patient) is None:
            raise NotFound(what="patient", id=patient)

    def _absent(self, patient: str, kind: Erasable, id: str, access: Access) -> NotFound:
        """There is none, or it was erased. For a reader from whom anything may be hidden it never was: which of
        what was erased they could have seen cannot be told any more."""
        if sees_all(access) and self._store.erased(patient, kind, id) is not None:
            return Gone(f"{kind} {id!r} was erased", what=kind, id=id)
        return NotFound(what=kind, id=id)

    def _take_back(self, patient: str, kind: Erasable, id: str, access: Access, after_erasure: bool) -> tuple[str, ...]:
        """May this come in? If it was erased only by explicit word: the ids of the erasures that it lifts. Raises
        Gone."""
        if self._store.erased(patient, kind, id) is None:
            return ()
        if not after_erasure:
            raise Gone(
                f"this {kind} was erased; what is sent again after that needs an explicit word (after_erasure)",
                what=kind,
                id=id,
            )
        return self._store.allow_again(patient, kind, id, self._clock(), f"{access.kind}/{access.id}")

    def _remember_shown(self, patient: str, text: str) -> None:
        """Keep the words of a text that is given out, as keyed hashes; what was given out lately is kept already."""
        mint = self._graphs.mint(patient)
        whole = mint.mark(text)  # of a patient who was erased and registered again another one
        with self._lock:
            if whole in self._told:
                self._told.move_to_end(whole)
                return
        self._store.put_shown(patient, {mint.mark(words) for words in echoes.shown(text)}, self._clock())
        with self._lock:
            self._told[whole] = None
            while len(self._told) > _MOST_TOLD:
                self._told.popitem(last=False)

    def _load(self, subject: Subject, known_at: datetime | None, true_at: datetime | None, access: Access) -> Loaded:
        if subject.scope is not Scope.PATIENT:
            raise NotFound(what="patient", id=subject.id)
        moment = Moment.of(self._clock(), known_at=known_at, true_at=true_at)
        return self._graphs.load(subject.id, moment, access)

    def _shelf(self, subject: Subject, known_at: datetime | None, true_at: datetime | None) -> Shelf:
        """The entries of a subject of another scope, as they were known and in force."""
        return self._shelves.load(subject, Moment.of(self._clock(), known_at=known_at, true_at=true_at))

    def _planted(self, subject: Subject, known_at: datetime | None, true_at: datetime | None) -> Shelf:
        """As `_shelf`. Raises NotFound for a subject of which nothing was ever held."""
        shelf = self._shelf(subject, known_at, true_at)
        if not shelf.tree.version:
            raise NotFound(what=subject.scope.value, id=subject.id)
        return shelf

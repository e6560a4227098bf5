"""What do all verbs share? The one door for access, the audit of what came through it, and the loading of a graph."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime

from iamata.engine.graphs import Graphs, Loaded
from iamata.engine.origin import current
from iamata.engine.shelves import Shelf, Shelves
from iamata.errors import Gone, IamataError, NotFound
from iamata.formation.learned import echoes
from iamata.model.access import Access
from iamata.model.audit import Act, AuditRecord, DoorName
from iamata.model.erasure import Erasable
from iamata.model.scope import Scope, Subject
from iamata.model.stamp import Moment
from iamata.policy import access as policy
from iamata.policy.retention import Policy as Retention
from iamata.policy.retention import shipped
from iamata.ports import KeyStore, LanguageModel, Store

# What a verb does where it does not read.
_WRITES = (
    "put_patient",
    "delete_patient",
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
_DECIDES = (
    "rule",
    "withdraw_ruling",
    "adjudicate",
    "erase",
    "set_hold",
    "lift_hold",
    "retention_apply",
    "refuse_entry",
)
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
    **dict.fromkeys(_AUDITS, "audit"),
    **dict.fromkeys(("export_archive", "import_archive"), "move"),
    "learn": "learn",
}
# The class of a record where it is another than the act that policy decides about.
_CLASSES = {"delete_patient": Act.ERASE, "erase": Act.ERASE, "retention_apply": Act.ERASE}


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
    ) -> None:
        self._store = store
        self._graphs = Graphs(store, keys)
        self._shelves = Shelves(store, keys)
        self._clock = clock
        self._ids = ids
        self._model = model
        self._model_for = model_for
        self._door = door
        self._retention = retention or shipped()
        self._told: OrderedDict[bytes, None] = OrderedDict()
        self._lock = threading.Lock()
        self._replay_erasures()

    def _replay_erasures(self) -> None:
        """Before anything is answered: what a restored backup brought back is erased again (`forgetting`)."""

    def _begin(self, action: str, act: str, access: Access | None, subject: Subject | None) -> tuple[Access, Subject]:
        """The one door: decides, and leaves an audit record of a refusal. The subject comes back as given."""
        access = access or Access.local()
        try:
            policy.require(access, act, subject)
        except IamataError:
            self._audit(action, access, subject, act=act, allowed=False)
            raise
        return access, subject  # type: ignore[return-value]  # None only for listings, which do not use it

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
        origin = current()
        self._store.audit(
            AuditRecord(
                at=self._clock(),
                principal=f"{access.kind}/{access.id}",
                on_behalf_of=access.on_behalf_of,
                purpose=access.purpose,
                action=action,
                subject=str(subject) if subject else "",
                allowed=allowed,
                reasons=reasons or policy.decide(access, act, subject).reasons,
                items=items[:1000],
                act=_CLASSES.get(action, act),
                door=origin.door if origin else self._door,
                request=origin.request if origin else "",
            )
        )
        if act in ("write", "decide", "learn", "move"):  # recorded before the answer leaves (design 10)
            self._store.audit_flush()

    def _registered(self, patient: str) -> None:
        if self._store.patient(patient) is None:
            raise NotFound(what="patient", id=patient)

    def _absent(self, patient: str, kind: Erasable, id: str, access: Access) -> NotFound:
        """There is none, or it was erased. For a reader from whom labels are withheld it never was: which of what was
        erased they could have seen cannot be told any more."""
        if not access.withheld and self._store.erased(patient, kind, id) is not None:
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

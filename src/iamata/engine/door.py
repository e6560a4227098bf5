"""What do all verbs share? The one door for access, the audit of what came through it, and the loading of a graph."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime

from iamata.engine.graphs import Graphs, Loaded
from iamata.engine.shelves import Shelf, Shelves
from iamata.errors import IamataError, NotFound
from iamata.formation.learned import echoes
from iamata.model.access import Access
from iamata.model.audit import AuditRecord
from iamata.model.scope import Scope, Subject
from iamata.model.stamp import Moment
from iamata.policy import access as policy
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
_DECIDES = ("rule", "withdraw_ruling", "adjudicate", "refuse_entry")
_ACTS = {**dict.fromkeys(_WRITES, "write"), **dict.fromkeys(_DECIDES, "decide"), "audit_records": "audit"}


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
    ) -> None:
        self._store = store
        self._graphs = Graphs(store, keys)
        self._shelves = Shelves(store, keys)
        self._clock = clock
        self._ids = ids
        self._model = model
        self._model_for = model_for
        self._told: OrderedDict[bytes, None] = OrderedDict()
        self._lock = threading.Lock()

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
    ) -> None:
        act = act or _ACTS.get(action, "read")
        self._store.audit(
            AuditRecord(
                at=self._clock(),
                principal=f"{access.kind}/{access.id}",
                on_behalf_of=access.on_behalf_of,
                purpose=access.purpose,
                action=action,
                subject=str(subject) if subject else "",
                allowed=allowed,
                reasons=policy.decide(access, act, subject).reasons,
                items=items[:1000],
            )
        )
        if act in ("write", "decide", "learn"):  # recorded before the answer leaves (design 10)
            self._store.audit_flush()

    def _registered(self, patient: str) -> None:
        if self._store.patient(patient) is None:
            raise NotFound(what="patient", id=patient)

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

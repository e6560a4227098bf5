"""Which graph does this reader see now? Loads a patient once per version, folds once per view, keeps what fits.

Bounded by statements held, least recently used first out. A graph is shared by its readers and never changed.
"""

from __future__ import annotations

import gc
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

from iamata.assembly.navigation import tree
from iamata.assembly.retrieval import Index
from iamata.assembly.tree import Tree
from iamata.engine import terminologies
from iamata.engine.sight import Seen, Sight
from iamata.errors import NotFound
from iamata.formation import pipeline as formation
from iamata.formation.growth import grow
from iamata.formation.inferences import inferred
from iamata.formation.mentioned import Mentions
from iamata.formation.pipeline import Fold
from iamata.model.access import Access
from iamata.model.entry import Inferred
from iamata.model.graph import Graph, Held
from iamata.model.identifiers import IdMint
from iamata.model.stamp import Moment
from iamata.model.statement import Label
from iamata.policy.view import Privacy
from iamata.ports import KeyStore, Store
from iamata.terminology.synonyms import drug_names, synonyms

# About 8 MB per 1,000 entries: some 800 MB when full.
MOST_STATEMENTS: Final = 100_000
# From so many statements on a fold is kept to be taken further: a smaller one is folded anew in less than a breath.
GROWS_FROM: Final = 2_000


def everything(labels: tuple[Label, ...]) -> bool:
    """What is hidden was taken out of what is held: the rest exists."""
    return True


@contextmanager
def uncollected() -> Iterator[None]:
    """Without looking for cycles of garbage: a fold makes none, and looking walks everything that is loaded."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class Built:
    """A graph with what is built from it on first use. Shared by the readers who see the same."""

    def __init__(self, graph: Graph, inferred: Mapping[str, Inferred]) -> None:
        self.graph = graph
        self.inferred = inferred
        self._tree: Tree | None = None
        self._index: Index | None = None
        self._lock = threading.Lock()

    @property
    def tree(self) -> Tree:
        with self._lock:
            if self._tree is None:
                self._tree = tree(self.graph, self.inferred)
            return self._tree

    @property
    def index(self) -> Index:
        on = self.tree
        with self._lock:
            if self._index is None:
                self._index = Index(on, synonyms=synonyms, names=drug_names)
            return self._index


class Loaded:
    """What one reader sees: the graph with its tree and index, and what was hidden from it."""

    def __init__(self, built: Built, seen: Seen) -> None:
        self.built = built
        self.graph = built.graph
        self.inferred = built.inferred
        self.seen = seen

    @property
    def tree(self) -> Tree:
        return self.built.tree

    @property
    def index(self) -> Index:
        return self.built.index


class Graphs:
    """The cache. Right under concurrent writes: the version is asked of the store at every read."""

    def __init__(
        self,
        store: Store,
        keys: KeyStore,
        *,
        most_statements: int = MOST_STATEMENTS,
        grows_from: int | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        privacy: Privacy | None = None,
    ) -> None:
        self._clock = clock
        self._sight = Sight(privacy or Privacy())
        self._store = store
        self._keys = keys
        self._most = most_statements
        self._grows_from = GROWS_FROM if grows_from is None else grows_from
        self._folds: dict[tuple[str, datetime, str], Fold] = {}
        self._held: OrderedDict[str, Held] = OrderedDict()
        self._born: dict[str, datetime] = {}
        self._mentions: dict[str, tuple[datetime, str, Mentions]] = {}  # as long as the patient is held
        self._loaded: OrderedDict[tuple[str, datetime, int, str, Moment], Loaded] = OrderedDict()
        self._lock = threading.Lock()

    def mint(self, patient: str) -> IdMint:
        """The id mint of a patient, whose key is made on first use."""
        return IdMint(self._keys.get_or_create(patient))

    def held(self, patient: str) -> Held:
        """Everything stored of the patient at its present version. Raises NotFound for an unknown patient."""
        return self._current(patient)[0]

    def seen(self, patient: str, access: Access) -> Seen:
        """What this reader may see of everything stored, now. Raises NotFound for an unknown patient."""
        return self._seen(*self._current(patient), access)

    def _seen(self, held: Held, born: datetime, access: Access) -> Seen:
        def reading() -> tuple[Mentions, IdMint]:
            with self._lock:
                mentions = self._mentions_of(held.subject.id, born)
            return mentions, self.mint(held.subject.id)

        return self._sight.seen(held, access, self._clock(), reading)

    def _current(self, patient: str) -> tuple[Held, datetime]:
        """What is held, and when this patient was registered: an erased one that is registered again is another."""
        row = self._store.patient(patient)
        if row is None:
            self.forget(patient)
            raise NotFound(what="patient", id=patient)
        with self._lock:
            known = self._held.get(patient)
            born = self._born.get(patient)
        if born != row.created_at:
            self.forget(patient)  # erased and registered again, perhaps by another process: versions began anew
        elif known is not None and known.version == row.version:
            with self._lock:
                if patient in self._held:
                    self._held.move_to_end(patient)
            return known, row.created_at
        fresh = self._store.held(patient, known if born == row.created_at else None)
        after = self._store.patient(patient)
        if fresh is None or after is None or after.created_at != row.created_at:
            self.forget(patient)  # erased while it was loaded: nothing of what was held before may stand beside what is
            return self._current(patient)
        with self._lock:
            self._held[patient] = fresh
            self._born[patient] = row.created_at
            self._held.move_to_end(patient)
            self._evict()
        return fresh, row.created_at

    def load(self, patient: str, moment: Moment, access: Access) -> Loaded:
        """The graph that this reader may see at this moment."""
        held, born = self._current(patient)
        with uncollected():
            seen = self._seen(held, born, access)
        view = f"{seen.digest} {terminologies.in_use()}"
        key = (patient, born, held.version, f"{seen.view.key} {view}", moment)
        with self._lock:
            known = self._loaded.get(key)
            if known is not None:
                self._loaded.move_to_end(key)
                return known
            # Another view that hides the same has the same graph.
            alike = next(
                (
                    each
                    for other, each in self._loaded.items()
                    if (other[:3], other[3].partition(" ")[2], other[4]) == (key[:3], view, moment)
                ),
                None,
            )
            if alike is not None:
                fresh = self._loaded.setdefault(key, Loaded(alike.built, seen))
                self._evict()
                return fresh
        fold = self._folded((patient, born, view), seen.held, moment)
        shown = inferred(seen.held.entries, fold.graph)
        with self._lock:
            fresh = self._loaded.setdefault(key, Loaded(Built(fold.graph, shown), seen))
            for old in [k for k in self._loaded if k[0] == patient and k[1:3] != (born, held.version)]:
                del self._loaded[old]
            self._evict()
        return fresh

    def _folded(self, of: tuple[str, datetime, str], held: Held, moment: Moment) -> Fold:
        """The last fold of this view taken further if it can be, else a new one. Large ones are kept for the next."""
        mint = self.mint(held.subject.id)
        with self._lock:
            before = self._folds.pop(of, None)  # who takes it has it alone
            mentions = self._mentions_of(of[0], of[1])
        fold = None
        with uncollected():
            if before is not None and before.graph.moment == moment:
                fold = grow(before, held, mint=mint, visible=everything, mentions=mentions)
            fold = fold or formation.fold(held, moment=moment, mint=mint, mentions=mentions)
        if moment.known_at is None and len(held.statements) >= self._grows_from:
            with self._lock:
                self._folds[of] = fold
        return fold

    def _mentions_of(self, patient: str, born: datetime) -> Mentions:
        """What this patient's passages were found to mention; anew for another registration and other terminologies."""
        using = terminologies.in_use()
        kept = self._mentions.get(patient)
        if kept is not None and kept[:2] == (born, using):
            return kept[2]
        fresh = Mentions()
        if self._born.get(patient) == born:  # not of one that was erased meanwhile
            self._mentions[patient] = (born, using, fresh)
        return fresh

    def forget(self, patient: str) -> None:
        """Drop everything cached of the patient."""
        self._sight.forget(patient)
        with self._lock:
            self._held.pop(patient, None)
            self._born.pop(patient, None)
            self._mentions.pop(patient, None)
            for fold in [k for k in self._folds if k[0] == patient]:
                del self._folds[fold]
            for key in [k for k in self._loaded if k[0] == patient]:
                del self._loaded[key]

    def _evict(self) -> None:
        while len(self._held) > 1 and sum(len(h.statements) for h in self._held.values()) > self._most:
            patient, _ = self._held.popitem(last=False)
            self._mentions.pop(patient, None)
            self._sight.forget(patient)
            for fold in [k for k in self._folds if k[0] == patient]:
                del self._folds[fold]
            for key in [k for k in self._loaded if k[0] == patient]:
                del self._loaded[key]
        while len(self._loaded) > 1 and sum(len(x.graph.statements) for x in self._loaded.values()) > self._most:
            self._loaded.popitem(last=False)

"""Which entries of an organization, operator or agent are in force now? Opens a subject once per change, keeps few.

A shelf is shared by its readers and never changed. Who may read it was decided before.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from iamata.assembly.entry_index import EntryIndex
from iamata.assembly.entry_tree import EntryTree
from iamata.model.entry import Entry
from iamata.model.identifiers import IdMint
from iamata.model.scope import Subject
from iamata.model.stamp import Moment
from iamata.ports import KeyStore, Store
from iamata.terminology.synonyms import drug_names, synonyms

_MOST: Final = 64
# How often the entries changed, and of whom: one that was erased and written anew counts from 1 again.
_State = tuple[int, bytes]


class Shelf:
    """The entries of one subject at one moment, with what is built from them on first use."""

    def __init__(self, tree: EntryTree) -> None:
        self.tree = tree
        self._index: EntryIndex | None = None
        self._lock = threading.Lock()

    @property
    def index(self) -> EntryIndex:
        with self._lock:
            if self._index is None:
                self._index = EntryIndex(self.tree, synonyms=synonyms, names=drug_names)
            return self._index


class Shelves:
    """The cache. Right under concurrent writes: the version is asked of the store at every read."""

    def __init__(self, store: Store, keys: KeyStore) -> None:
        self._store = store
        self._keys = keys
        self._versions: OrderedDict[Subject, tuple[_State, list[Entry]]] = OrderedDict()
        self._shelves: OrderedDict[tuple[Subject, _State, Moment], Shelf] = OrderedDict()
        self._lock = threading.Lock()

    def mint(self, subject: Subject) -> IdMint:
        """The id mint of a subject, whose key is made on first use."""
        return IdMint(self._keys.get_or_create(str(subject)))

    def versions(self, subject: Subject) -> list[Entry]:
        """Every version of every entry, by id and version."""
        return self._current(subject)[1]

    def _current(self, subject: Subject) -> tuple[_State, list[Entry]]:
        state = self._store.subject_state(subject)
        with self._lock:
            known = self._versions.get(subject)
            if known is not None and known[0] == state:
                self._versions.move_to_end(subject)
                return known
        # Read after the version was asked for: what came meanwhile is found again under the next one.
        fresh = (state, self._store.entries(subject))
        with self._lock:
            self._versions[subject] = fresh
            self._versions.move_to_end(subject)
            while len(self._versions) > _MOST:
                self._versions.popitem(last=False)
        return fresh

    def load(self, subject: Subject, moment: Moment) -> Shelf:
        """What is in force at this moment; of a subject of which nothing is held, nothing."""
        state, versions = self._current(subject)
        key = (subject, state, moment)
        with self._lock:
            known = self._shelves.get(key)
            if known is not None:
                self._shelves.move_to_end(key)
                return known
        fresh = Shelf(EntryTree(subject, versions, moment, version=state[0]))
        with self._lock:
            for old in [each for each in self._shelves if each[0] == subject and each[1] != state]:
                del self._shelves[old]
            self._shelves[key] = fresh
            while len(self._shelves) > _MOST:
                self._shelves.popitem(last=False)
        return fresh

    def forget(self, subject: Subject) -> None:
        """Nothing of it stays in this process."""
        with self._lock:
            self._versions.pop(subject, None)
            for old in [each for each in self._shelves if each[0] == subject]:
                del self._shelves[old]

"""Where does every entry of an organization, operator or agent stand? The tree of one subject, and the way back.

    /organization/clinic-a/guidelines/hypertension-7f3c/{entry.md, versions.md, raw.json, passages/treatment-a2k4.md}

An address ends in the tail of an id, so that old ones still lead to the item. What is in a file is `entry_pages`'
business.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from typing import Final

import msgspec

from iamata.assembly.addresses import segments
from iamata.assembly.tree import INDEX, RAW, TAIL, Path, Tails, plain
from iamata.assembly.wording import rows, slug
from iamata.errors import NotFound
from iamata.model.entry import CELLS, Entry, EntryKind, EntryPassage, in_force, known_by
from iamata.model.scope import Scope, Subject
from iamata.model.stamp import Moment

ENTRY: Final = "entry.md"
VERSIONS: Final = "versions.md"
PASSAGES: Final = "passages"


class KindRow(msgspec.Struct, frozen=True, gc=False):
    """A row of `entry_kinds.tsv`. `place` is a directory, or with `.md` the one file of its kind; `binding` is `no`,
    `first` (told before the rest) or `always` (told before all order)."""

    kind: EntryKind
    place: str
    hint: str
    aspect: str
    binding: str
    relevance: float

    @property
    def single(self) -> bool:
        return self.place.endswith(".md")


@cache
def kind_rows() -> dict[EntryKind, KindRow]:
    """By kind, in the order of the tree."""
    return {
        EntryKind(row["kind"]): KindRow(
            EntryKind(row["kind"]), row["place"], row["hint"], row["aspect"], row["binding"], float(row["relevance"])
        )
        for row in rows("entry_kinds.tsv")
    }


@cache
def _places(scope: Scope) -> dict[str, KindRow]:
    """The places of a scope, in the order of the tree."""
    kinds = {kind for (held, _), cell in CELLS.items() if held is scope for kind in cell}
    return {row.place: row for kind, row in kind_rows().items() if kind in kinds}


class Leaf(StrEnum):
    """What an address of this tree leads to."""

    DIRECTORY = "directory"
    INDEX = "index"
    KIND = "kind"  # the one file of a kind, such as purpose.md
    ENTRY = "entry"  # the directory of an entry; reading it reads its entry.md
    TEXT = "text"
    VERSIONS = "versions"
    RAW = "raw"
    PASSAGE = "passage"


class Spot(msgspec.Struct, frozen=True, gc=False):
    """What an address leads to: the path below the subject, and the id of its entry or passage (empty: of none)."""

    address: str
    leaf: Leaf
    path: Path
    item: str = ""


class EntryTree:
    """The tree of one subject's entries that are in force at a moment. Build once; read only.

    `entries` in force by id, `versions` of each that were known by then, `passages` by id with their entry.
    """

    def __init__(self, subject: Subject, versions: Sequence[Entry], moment: Moment, *, version: int = 0) -> None:
        self.subject = subject
        self.moment = moment
        self.version = version
        self.root = f"/{subject}"
        known = known_by(versions, moment.known_at)
        self.entries: dict[str, Entry] = {each.id: each for each in in_force(known, moment)}
        self.versions: dict[str, tuple[Entry, ...]] = {
            id: tuple(each for each in known if each.id == id) for id in self.entries
        }
        self.passages: dict[str, tuple[Entry, EntryPassage]] = {
            passage.id: (entry, passage) for entry in self.entries.values() for passage in entry.passages
        }
        self.places: dict[str, Path] = {}
        self.items: dict[Path, str] = {}
        self.tails = Tails()
        self._plant()

    def _plant(self) -> None:
        ids: dict[str, str] = {}
        for id in sorted({*self.entries, *self.passages}):
            ids.setdefault(plain(id), id)
        self.tails.build(ids)
        for entry in self.entries.values():
            row = kind_rows()[entry.kind]
            path = (row.place,) if row.single else self._free((row.place, self._name(entry.title, entry.id)))
            self.places[entry.id] = path
            if not row.single:
                self.items[path] = entry.id
            for passage in entry.passages:
                title = passage.heading[-1] if passage.heading else passage.pointer
                above = ("passages", self._name(entry.title, entry.id)) if row.single else (*path, PASSAGES)
                file = self._free((*above, f"{self._name(title, passage.id)}.md"))
                self.places[passage.id] = file
                self.items[file] = passage.id

    def _name(self, title: str, id: str) -> str:
        held = plain(id)
        tail = self.tails.of(held) if self.tails.owner.get(held) == id else held
        return f"{slug(title, 'entry')}-{tail}"

    def _free(self, path: Path) -> Path:
        """The path, or with a number where another item of a like id has it."""
        number = 2
        free = path
        while free in self.items:
            stem, dot, ending = path[-1].rpartition(".md")
            free = (*path[:-1], f"{stem or ending}-{number}{'.md' if dot else ''}")
            number += 1
        return free

    def address(self, path: Path, *, directory: bool = False) -> str:
        return "/".join((self.root, *path)) + ("/" if directory else "")

    def address_of(self, item: str) -> str:
        """Of an entry its text, of a passage its file, of anything else the root."""
        path = self.places.get(item)
        if path is None:
            return f"{self.root}/"
        return self.address((*path, ENTRY) if item in self.entries and path in self.items else path)

    def group(self, place: str) -> list[Entry]:
        """The entries of a directory, newest first, ties by title and id."""
        held = [entry for entry in self.entries.values() if kind_rows()[entry.kind].place == place]
        held.sort(key=lambda entry: (entry.title, entry.id))
        return sorted(held, key=lambda entry: entry.recorded_at, reverse=True)

    def kinds(self) -> dict[str, KindRow]:
        """The places of this subject's scope, held in or not."""
        return _places(self.subject.scope)


def resolve(tree: EntryTree, path: str) -> Spot:
    """What this address leads to. Raises InvalidValue for a path that is none, NotFound with the nearest address."""
    parts = segments(path)
    if parts[:2] != tuple(str(tree.subject).split("/")):
        raise NotFound(f"nothing at this address; this tree begins at {tree.root}/", what="address", id=path)
    below = parts[2:]
    spot = _exact(tree, below) or _by_tail(tree, below)
    if spot is not None:
        return spot
    names = [*tree.kinds(), INDEX]
    alike = difflib.get_close_matches(below[0], names, n=1, cutoff=0.6) if below else []
    nearest = tree.address((alike[0],), directory=not alike[0].endswith(".md")) if alike else f"{tree.root}/"
    raise NotFound(f"nothing at this address; the nearest is {nearest}", what="address", id=path)


def _exact(tree: EntryTree, path: Path) -> Spot | None:
    kinds = tree.kinds()
    match path:
        case ():
            return Spot(f"{tree.root}/", Leaf.DIRECTORY, path)
        case (name,) if name == INDEX:
            return Spot(tree.address(path), Leaf.INDEX, ())
        case (name,) if name in kinds:
            if not kinds[name].single:
                return Spot(tree.address(path, directory=True), Leaf.DIRECTORY, path)
            held = tree.group(name)
            return Spot(tree.address(path), Leaf.KIND, path, held[0].id if len(held) == 1 else "")
        case (name, file) if file == INDEX and name in kinds and not kinds[name].single:
            return Spot(tree.address(path), Leaf.INDEX, (name,))
    item = tree.items.get(path, "")
    if item in tree.entries:
        return Spot(tree.address(path, directory=True), Leaf.ENTRY, path, item)
    if item in tree.passages:
        return Spot(tree.address(path), Leaf.PASSAGE, path, item)
    holder = tree.items.get(path[:-1], "")
    if holder in tree.entries:
        return _file(tree, path, holder)
    if path[-1:] == (INDEX,) and path[-2:-1] == (PASSAGES,):
        holder = tree.items.get(path[:-2], "")
        if holder in tree.entries and tree.entries[holder].passages:
            return Spot(tree.address(path), Leaf.INDEX, path[:-1], holder)
    return None


def _file(tree: EntryTree, path: Path, id: str) -> Spot | None:
    files = {ENTRY: Leaf.TEXT, INDEX: Leaf.TEXT, VERSIONS: Leaf.VERSIONS, RAW: Leaf.RAW}
    name = path[-1]
    if name in files:
        place = (*path[:-1], ENTRY if name == INDEX else name)
        return Spot(tree.address(place), files[name], place, id)
    if name == PASSAGES and tree.entries[id].passages:
        return Spot(tree.address(path, directory=True), Leaf.DIRECTORY, path, id)
    return None


def _by_tail(tree: EntryTree, path: Path) -> Spot | None:
    """The item whose id ends as some part does, when it stands in the directory that the path names."""
    for depth in range(1, len(path)):
        tail = path[depth].removesuffix(".md").rpartition("-")[2]
        found = {
            id
            for id in (tree.tails.find(tail) if len(tail) >= TAIL else ())
            if id in tree.places and tree.places[id][:1] == path[:1]
        }
        if len(found) != 1:
            continue
        (item,) = found
        rest = path[depth + 1 :]
        place = tree.places[item]
        if item in tree.passages and not rest:
            return Spot(tree.address(place), Leaf.PASSAGE, place, item)
        if item in tree.entries and (spot := _exact(tree, (*place, *rest))) is not None:
            return spot
    return None

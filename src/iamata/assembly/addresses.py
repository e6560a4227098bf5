"""What does this path lead to? The way back from an address to the item, old addresses included.

Nothing in a path is decoded or understood beyond plain segments. Where items stand is `tree`'s business.
"""

from __future__ import annotations

import difflib
import re
from typing import Final

import msgspec

from iamata.assembly.tree import (
    INDEX,
    RAW,
    SOURCES,
    STORY,
    TAIL,
    Path,
    Place,
    Tree,
    What,
    as_tree,
    bare,
    known_directories,
    plain,
)
from iamata.errors import InvalidValue, NotFound
from iamata.model.graph import Graph

_LONGEST_PATH: Final = 2048
_SEGMENT = re.compile(r"[A-Za-z0-9._~:@-]+\Z")
_LAST_WORD = re.compile(r"(?:.*-)?([a-z0-9]+)(?:\.[a-z]+)?\Z")


class Target(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What an address leads to: its canonical `address`, the `path` below the patient, and the full id of the `item`
    for a file of one item (empty otherwise; for a source its name, for a timeline its year)."""

    address: str
    what: What
    path: Path
    item: str = ""


def segments(path: str) -> Path:
    """A path in its parts. Raises InvalidValue for one that is no plain absolute path: nothing is decoded, and `..`,
    `.`, empty parts and percent-escapes are refused rather than understood."""
    if not path.startswith("/") or len(path) > _LONGEST_PATH:
        raise InvalidValue(f"a path begins with / and has at most {_LONGEST_PATH} characters", place="path")
    trimmed = path[1:-1] if path.endswith("/") and len(path) > 1 else path[1:]
    if not trimmed:
        return ()
    parts = tuple(trimmed.split("/"))
    for part in parts:
        if not _SEGMENT.match(part) or part in (".", ".."):
            raise InvalidValue("a path has plain segments: no empty one, no . or .., no percent-escape", place="path")
    return parts


def resolve(graph: Graph | Tree, path: str) -> Target:
    """What this address leads to. Raises InvalidValue for a path that is none, NotFound with the nearest address.

    An old address (another state, other words) leads to the item whose id ends in its tail.
    """
    tree = as_tree(graph)
    parts = segments(path)
    here = tuple(str(tree.graph.subject).split("/"))
    if parts[:2] != here:
        raise NotFound(f"nothing at this address; this tree begins at {tree.root}/", what="address", id=path)
    below = parts[2:]
    return _exact(tree, below) or _by_tail(tree, below) or _nothing(tree, below, path)


def _exact(tree: Tree, path: Path) -> Target | None:
    if path in tree.directories or path in known_directories():
        if path[:1] == ("sources",) and len(path) == 2:
            return Target(tree.address(path, directory=True), What.SOURCE, path, _named(tree, path).item)
        return Target(tree.address(path, directory=True), What.DIRECTORY, path)
    if path[-1:] == (INDEX,) and (path[:-1] in tree.directories or path[:-1] in known_directories()):
        if path[:1] == ("sources",) and len(path) == 3:
            return Target(tree.address(path), What.INDEX, path, _named(tree, path[:-1]).item)
        return Target(tree.address(path), What.INDEX, path)
    if path[:-1] in tree.directories:
        for place in tree.directories[path[:-1]]:
            if place.name == path[-1]:
                return Target(tree.address(path, directory=place.what is What.FACT), place.what, path, place.item)
    return None


def _named(tree: Tree, path: Path) -> Place:
    return next(place for place in tree.directories[path[:-1]] if place.name == path[-1])


def _by_tail(tree: Tree, path: Path) -> Target | None:
    """The item whose id ends in the tail of some part, when it stands in the section that the path names."""
    for depth in range(1, len(path)):
        item = _item(tree, path[:1], path[depth])
        if item is None:
            continue
        place = tree.places[item]
        rest = path[depth + 1 :]
        if item not in tree.graph.facts:
            if rest:
                return None
            return _named_or_statement(tree, place, item)
        return _within(tree, item, place, rest)
    return None


def _named_or_statement(tree: Tree, place: Path, item: str) -> Target:
    what = What.STATEMENT
    for entry in tree.directories.get(place[:-1], ()):
        if entry.item == item:
            what = entry.what
    return Target(tree.address(place), what, place, item)


def _within(tree: Tree, fact: str, place: Path, rest: Path) -> Target | None:
    files = {STORY: What.STORY, INDEX: What.STORY, SOURCES: What.SOURCES, RAW: What.RAW}
    match rest:
        case ():
            return Target(tree.address(place, directory=True), What.FACT, place, fact)
        case (name,) if name in files:
            path = (*place, STORY if name == INDEX else name)
            return Target(tree.address(path), files[name], path, fact)
        case ("sources",):
            return Target(tree.address((*place, SOURCES)), What.SOURCES, (*place, SOURCES), fact)
        case ("sources", name):
            match = _LAST_WORD.match(name)
            tail = match[1] if match else ""
            held = tree.graph.facts[fact]
            for id in (*held.members, *(id for id, _ in held.history)):
                if len(tail) >= TAIL and plain(bare(id)).endswith(tail) and id in tree.places:
                    return Target(tree.address(tree.places[id]), What.STATEMENT, tree.places[id], id)
    return None


def _item(tree: Tree, section: Path, segment: str) -> str | None:
    match = _LAST_WORD.match(segment)
    if not match:
        return None
    found = {id for id in tree.tails.find(match[1]) if id in tree.places and tree.places[id][:1] == section}
    if len(found) > 1:
        words = segment[: match.start(1)].rstrip("-")
        found = {id for id in found if tree.places[id][-1].startswith(words)}
    return found.pop() if len(found) == 1 else None


def _nothing(tree: Tree, path: Path, asked: str) -> Target:
    deepest: Path = ()
    for depth in range(len(path), 0, -1):
        if path[:depth] in tree.directories:
            deepest = path[:depth]
            break
    names = {place.name: place for place in tree.directories[deepest]}
    nearest = tree.address(deepest, directory=True)
    wrong = path[len(deepest)] if len(path) > len(deepest) else ""
    alike = difflib.get_close_matches(wrong, list(names), n=1, cutoff=0.6) if wrong else []
    if alike:
        place = names[alike[0]]
        nearest = tree.address((*deepest, place.name), directory=place.what in (What.DIRECTORY, What.FACT, What.SOURCE))
    raise NotFound(f"nothing at this address; the nearest is {nearest}", what="address", id=asked)

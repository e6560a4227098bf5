"""What does a file of an entry tree say, and what does a directory of it hold?

Every line ends in a citation that resolves to the entry, its version, its author, and the place in the file it came
from. What people and agents wrote stands in quotation marks; nothing in it can act as markup or as an instruction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from iamata.assembly.entry_tree import (
    ENTRY,
    PASSAGES,
    VERSIONS,
    EntryTree,
    Leaf,
    Spot,
    kind_rows,
    resolve,
)
from iamata.assembly.sheets import Block, Line, Part, Sheet, lay_out
from iamata.assembly.tree import INDEX, RAW, Path
from iamata.assembly.wording import counted, inert, name, quote, short
from iamata.errors import InvalidValue
from iamata.model.attribution import AttributionKind
from iamata.model.entry import Entry, EntryPassage
from iamata.model.reading import Citation, Format, Node, Page
from iamata.ports import TokenCounter

_HANDLE: Final = 8
_NEWEST: Final = 10_000


class _Handles:
    """The brackets of one page: the last eight characters of an id, more where two end alike."""

    def __init__(self, tree: EntryTree) -> None:
        self._tree = tree
        self._of: dict[str, str] = {}

    def cite(self, item: str) -> str:
        handle = self._of.get(item, "")
        if not handle:
            length = _HANDLE
            while (handle := item[-length:]) in self._of.values() and length < len(item):
                length += 1
            self._of[item] = handle
        return f" [{handle}]"

    def entries_of(self, items: Iterable[str]) -> tuple[Citation, ...]:
        return tuple(citation(self._tree, item, self._of[item]) for item in dict.fromkeys(items))


def citation(tree: EntryTree, item: str, handle: str = "") -> Citation:
    """What a bracket for an entry or a passage stands for: who says so, since when, in which file and where in it."""
    entry, passage = _held(tree, item)
    return Citation(
        handle,
        item,
        entry.attribution,
        entry.attribution.author.display or str(entry.subject),
        entry.document,
        place_words(passage) if passage is not None else f"version {entry.version}",
        entry.recorded_at.date().isoformat(),
    )


def place_words(passage: EntryPassage) -> str:
    return passage.pointer if not passage.end else f"{passage.pointer} [{passage.start}:{passage.end}]"


def _held(tree: EntryTree, item: str) -> tuple[Entry, EntryPassage | None]:
    if item in tree.passages:
        return tree.passages[item]
    return tree.entries[item], None


def said(entry: Entry, text: str) -> str:
    """The words of an entry on one line: an institution's as they are, everybody else's in quotation marks."""
    return inert(text) if entry.attribution.kind is AttributionKind.SYSTEM else quote(text)


def read(
    tree: EntryTree, path: str, *, format: Format, token_budget: int | None, count: TokenCounter, stamp: str
) -> Page:
    """Any file or directory of the tree; as `rendering.read` for patients."""
    if token_budget is not None and token_budget < 0:
        raise InvalidValue("token_budget is 0 or more", place="token_budget")
    spot = resolve(tree, path)
    handles = _Handles(tree)
    wanted = Format.STRUCTURED if spot.leaf is Leaf.RAW else format
    laid = lay_out(_sheet(tree, spot, handles), wanted, token_budget, count)
    return Page(
        address=spot.address,
        format=wanted,
        text=laid.text,
        tokens=laid.tokens,
        shortened=laid.shortened,
        citations=handles.entries_of(laid.cites),
        stamp=stamp,
    )


# Directories


def browse(tree: EntryTree, path: str, *, count: TokenCounter) -> tuple[Node, ...]:
    """The lines of a directory: its page, directories and files, then entries newest first; of a file its own line.

    A directory without entries has one line that says so. Raises InvalidValue and NotFound as `resolve` does.
    """
    spot = resolve(tree, path)
    match spot.leaf:
        case Leaf.DIRECTORY:
            return tuple(_directory(tree, spot, count))
        case Leaf.ENTRY:
            return tuple(_files(tree, spot, count))
        case _:
            return (_file_node(tree, spot, count),)


def _directory(tree: EntryTree, spot: Spot, count: TokenCounter) -> Iterator[Node]:
    index = Spot(tree.address((*spot.path, INDEX)), Leaf.INDEX, spot.path, spot.item)
    if spot.path == ():
        yield Node(INDEX, index.address, False, "everything held, on one page", _cost(tree, index, count), 0)
        for place, row in tree.kinds().items():
            held = tree.group(place)
            if row.single:
                file = Spot(tree.address((place,)), Leaf.KIND, (place,))
                yield Node(place, file.address, False, row.hint, _cost(tree, file, count), len(held))
            elif held:
                hint = f"{row.hint}, {counted(len(held), 'entry', 'entries')}"
                yield Node(f"{place}/", tree.address((place,), directory=True), True, hint, 0, len(held))
        return
    if spot.item:
        entry = tree.entries[spot.item]
        yield Node(INDEX, index.address, False, "the headings, on one page", _cost(tree, index, count), 0)
        for passage in entry.passages:
            path = tree.places[passage.id]
            file = Spot(tree.address(path), Leaf.PASSAGE, path, passage.id)
            yield Node(path[-1], file.address, False, _passage_hint(passage), _cost(tree, file, count))
        return
    row = tree.kinds()[spot.path[0]]
    held = tree.group(row.place)
    hint = f"this directory on one page: {row.hint}" if held else _nothing(row.place)
    yield Node(INDEX, index.address, False, hint, _cost(tree, index, count), 0)
    for entry in held:
        path = tree.places[entry.id]
        text = Spot(tree.address((*path, ENTRY)), Leaf.TEXT, (*path, ENTRY), entry.id)
        cost = _cost(tree, text, count)
        items = max(1, len(entry.passages))
        yield Node(f"{path[-1]}/", tree.address(path, directory=True), True, _hint(entry), cost, items)


def _files(tree: EntryTree, spot: Spot, count: TokenCounter) -> Iterator[Node]:
    entry = tree.entries[spot.item]
    versions = len(tree.versions[entry.id])
    files = (
        (ENTRY, Leaf.TEXT, _hint(entry), max(1, len(entry.passages))),
        (VERSIONS, Leaf.VERSIONS, f"what changed, by whom and when: {counted(versions, 'version')}", versions),
        (RAW, Leaf.RAW, "the entry as data", 1),
    )
    for file, leaf, hint, items in files:
        path = (*spot.path, file)
        at = Spot(tree.address(path), leaf, path, entry.id)
        yield Node(file, at.address, False, hint, _cost(tree, at, count), items)
    if entry.passages:
        path = (*spot.path, PASSAGES)
        hint = f"its file, by heading or row: {counted(len(entry.passages), 'passage')}"
        yield Node(f"{PASSAGES}/", tree.address(path, directory=True), True, hint, 0, len(entry.passages))


def _file_node(tree: EntryTree, spot: Spot, count: TokenCounter) -> Node:
    if spot.item in tree.passages:
        hint = _passage_hint(tree.passages[spot.item][1])
    elif spot.item in tree.entries:
        hint = _hint(tree.entries[spot.item])
    else:
        hint = tree.kinds()[spot.path[0]].hint if spot.path else "overview"
    return Node(spot.address.rpartition("/")[2], spot.address, False, hint, _cost(tree, spot, count))


def _cost(tree: EntryTree, spot: Spot, count: TokenCounter) -> int:
    """Exactly the tokens of reading it whole in narrative form (`raw.json` has one form)."""
    format = Format.STRUCTURED if spot.leaf is Leaf.RAW else Format.NARRATIVE
    return lay_out(_sheet(tree, spot, _Handles(tree)), format, None, count).tokens


def _hint(entry: Entry) -> str:
    return f"{name(entry.title)}, {_force(entry)}"


def _passage_hint(passage: EntryPassage) -> str:
    return " › ".join(name(each) for each in passage.heading) or name(passage.pointer)


def _force(entry: Entry) -> str:
    """`version 2 of 2026-02-15, in force since 2026-01-01 until 2026-12-31`."""
    words = f"version {entry.version} of {entry.recorded_at.date().isoformat()}"
    if entry.effective_from:
        words += f", in force since {entry.effective_from}"
    if entry.effective_to:
        words += f"{',' if not entry.effective_from else ''} until {entry.effective_to}"
    return words


def _nothing(place: str) -> str:
    return f"Nothing is held under {place.removesuffix('.md').replace('_', ' ')}."


# Pages


def _sheet(tree: EntryTree, spot: Spot, handles: _Handles) -> Sheet:
    match spot.leaf:
        case Leaf.PASSAGE:
            return _passage(tree, spot, handles)
        case Leaf.VERSIONS:
            return _versions(tree, spot, handles)
        case Leaf.ENTRY | Leaf.TEXT:
            entry = tree.entries[spot.item]
            return _made(spot, name(entry.title), [("", _lines(entry, handles))], [_value(tree, entry)])
        case Leaf.RAW:
            entry = tree.entries[spot.item]
            part = Part("entry", msgspec.to_builtins(entry), listed=False)
            return Sheet(address=spot.address, title=name(entry.title), blocks=(), parts=(part,))
        case Leaf.KIND:
            return _single(tree, spot, handles)
        case Leaf.DIRECTORY | Leaf.INDEX:
            return _index(tree, spot, handles)


def _made(spot: Spot, title: str, blocks: list[tuple[str, list[Line]]], values: list[Any]) -> Sheet:
    lines = [line for _, held in blocks for line in held]
    return Sheet(
        address=spot.address,
        title=title,
        blocks=tuple(Block(heading, tuple(held)) for heading, held in blocks if held),
        compact=tuple(lines),
        parts=tuple(Part("items", value, rank=rank) for rank, value in enumerate(values)),
    )


def _lines(entry: Entry, handles: _Handles, *, rank: int = 0) -> list[Line]:
    """What the entry says, then who says so since when, then its file passage by passage."""
    lines = [
        Line(f"{said(entry, words)}{handles.cite(entry.id)}", rank + number, (entry.id,))
        for number, words in enumerate(part for part in entry.text.split("\n\n") if part.strip())
    ]
    lines.append(Line(f"{_origin(entry)}{handles.cite(entry.id)}", rank, (entry.id,)))
    heading: tuple[str, ...] = ()
    for number, passage in enumerate(entry.passages):
        under = f"{_passage_hint(passage)}: " if passage.heading and passage.heading != heading else ""
        heading = passage.heading
        words = f"{under}{said(entry, passage.text)}{handles.cite(passage.id)}"
        lines.append(Line(words, rank + 1 + number, (passage.id,)))
    return lines


def _origin(entry: Entry) -> str:
    """`Guideline, system-reported by Northside, version 2 of 2026-02-15; tags: …`."""
    author = entry.attribution.author
    by = f" by {name(author.display)}" if author.display else f" by {author.role}"
    words = f"{entry.kind.value.replace('_', ' ').capitalize()}, {entry.attribution.kind}{by}, {_force(entry)}"
    if entry.domain != "clinical":
        words += f", {entry.domain}"
    return f"{words}; tags: {', '.join(name(tag) for tag in entry.tags)}" if entry.tags else words


def _passage(tree: EntryTree, spot: Spot, handles: _Handles) -> Sheet:
    entry, passage = tree.passages[spot.item]
    words = Line(f"{said(entry, passage.text)}{handles.cite(passage.id)}", 0, (passage.id,))
    of = Line(f"from {name(entry.title)}, {_force(entry)}{handles.cite(entry.id)}", 1, (entry.id,))
    value = {"entry": entry.id, "address": spot.address, **msgspec.to_builtins(passage)}
    return _made(spot, _passage_hint(passage), [("", [words, of])], [value])


def _versions(tree: EntryTree, spot: Spot, handles: _Handles) -> Sheet:
    lines: list[Line] = []
    values: list[Any] = []
    for rank, each in enumerate(sorted(tree.versions[spot.item], key=lambda one: -one.version)):
        recorder = each.attribution.recorder
        by = f" by {name(recorder.reference or recorder.display)}" if recorder is not None else ""
        what = (
            "retired"
            if each.retired
            else f"{name(each.title)}: {said(each, short(each.text))}"
            if each.text
            else (f"{name(each.title)}, {counted(len(each.passages), 'passage')}")
        )
        why = f"; because {quote(each.reason)}" if each.reason else ""
        lines.append(Line(f"{_force(each)}{by}: {what}{why}{handles.cite(each.id)}", rank, (each.id,)))
        values.append(_value(tree, each))
    return _made(spot, f"Versions of {name(tree.entries[spot.item].title)}", [("", lines)], values)


def _single(tree: EntryTree, spot: Spot, handles: _Handles) -> Sheet:
    """The one file of a kind: every entry of it that is in force."""
    held = tree.group(spot.path[0])
    row = tree.kinds()[spot.path[0]]
    if not held:
        return _made(spot, _title(spot.path), [("", [Line(_nothing(row.place), 0)])], [])
    blocks = [(name(entry.title), _lines(entry, handles, rank=n)) for n, entry in enumerate(held)]
    return _made(spot, _title(spot.path), blocks, [_value(tree, entry) for entry in held])


def _index(tree: EntryTree, spot: Spot, handles: _Handles) -> Sheet:
    if spot.item:
        entry = tree.entries[spot.item]
        lines = [
            Line(
                f"{tree.places[p.id][-1]}: {_passage_hint(p)}: {said(entry, short(p.text))}{handles.cite(p.id)}",
                n,
                (p.id,),
            )
            for n, p in enumerate(entry.passages)
        ]
        values = [{"id": p.id, "address": tree.address_of(p.id), "heading": list(p.heading)} for p in entry.passages]
        return _made(spot, f"Passages of {name(entry.title)}", [("", lines)], values)
    if spot.path:
        held = tree.group(spot.path[0])
        if not held:
            return _made(spot, _title(spot.path), [("", [Line(_nothing(spot.path[0]), 0)])], [])
        lines = [_entry_line(entry, handles, rank) for rank, entry in enumerate(held)]
        return _made(spot, _title(spot.path), [("", lines)], [_value(tree, entry) for entry in held])
    return _overview(tree, spot, handles)


def _overview(tree: EntryTree, spot: Spot, handles: _Handles) -> Sheet:
    """The first page of a subject: what binds, what it is for, then what there is, by kind."""
    blocks: list[tuple[str, list[Line]]] = []
    values: list[Any] = []
    more: list[Line] = []
    for place, row in tree.kinds().items():
        held = tree.group(place)
        if not held:
            continue
        binds = 0 if row.binding != "no" else _NEWEST
        lines = [_entry_line(entry, handles, binds + n) for n, entry in enumerate(held)]
        blocks.append((_title((place,)), lines))
        values += [_value(tree, entry) for entry in held]
        where = place if row.single else f"{place}/"
        more.append(Line(f"{where} ({len(held)}): {row.hint}", 2 * _NEWEST))
    if not blocks:
        nothing = Line(f"Nothing is held of this {tree.subject.scope}.", 0)
        return _made(spot, str(tree.subject), [("", [nothing])], [])
    title = f"{tree.subject.scope.value.capitalize()} {tree.subject.id}"
    return _made(spot, title, [*blocks, ("Directories", more)], values)


def _entry_line(entry: Entry, handles: _Handles, rank: int) -> Line:
    """Whole where it binds; else as far as a line goes."""
    binds = kind_rows()[entry.kind].binding == "always"
    words = entry.text if binds else short(entry.text)
    if not words and entry.passages:
        words = ""
    told = f": {said(entry, words)}" if words.strip() else f" ({counted(len(entry.passages), 'passage')})"
    return Line(f"{name(entry.title)}{told}, {_force(entry)}{handles.cite(entry.id)}", rank, (entry.id,))


def _title(path: Path) -> str:
    return path[0].removesuffix(".md").replace("_", " ").capitalize()


def _value(tree: EntryTree, entry: Entry) -> dict[str, Any]:
    """An entry as data, its passages by count: `raw.json` holds them."""
    value: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(entry, passages=()))
    more = {"passageCount": len(entry.passages)} if entry.passages else {}
    return {"address": tree.address_of(entry.id), **value, **more}

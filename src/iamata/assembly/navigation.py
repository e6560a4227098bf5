"""What is there, under which address, and what does it cost to read?

The tree itself and its addresses are `tree`'s; this module lists directories with a hint and the exact token cost of
every file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from iamata.assembly.addresses import Target, resolve
from iamata.assembly.citations import Citations
from iamata.assembly.inferences import stale_words
from iamata.assembly.lines import session_line
from iamata.assembly.pages import in_year, nothing_words, sheet, under
from iamata.assembly.phrases import clauses, headline, of_fact
from iamata.assembly.sheets import lay_out
from iamata.assembly.speakers import author_words, memory_speaker
from iamata.assembly.tree import (
    INDEX,
    RAW,
    SOURCES,
    STORY,
    Path,
    Place,
    Tree,
    What,
    address,
    as_tree,
    fact_directory,
    hint_of,
    tree,
)
from iamata.assembly.wording import coded, counted, name, short
from iamata.model.graph import Graph
from iamata.model.reading import Format, Node
from iamata.model.scope import Scope, Subject
from iamata.ports import TokenCounter

_HINT_CHARS: Final = 120


def root(patients: Sequence[str], others: Sequence[Subject] = ()) -> tuple[Node, ...]:
    """What stands at `/`: a directory for each scope that has subjects, then each subject of it, in the given order."""
    subjects = [Subject(Scope.PATIENT, id) for id in patients] + list(others)
    nodes: list[Node] = []
    for scope in Scope:
        held = [subject for subject in subjects if subject.scope is scope]
        if not held:
            continue
        nodes.append(Node(f"{scope}/", f"/{scope}/", True, counted(len(held), scope.value), 0, len(held)))
        nodes += [Node(f"{subject}/", f"/{subject}/", True, f"{scope} {subject.id}", 0) for subject in held]
    return tuple(nodes)


def browse(graph: Graph | Tree, path: str, *, count: TokenCounter) -> tuple[Node, ...]:
    """The lines of a directory in the order of the tree: its page (`_index.md`), directories, then items newest first.

    The directory of a fact lists its files; the address of a file gives that file's line alone. A known directory that
    holds nothing has one line that says so. Raises InvalidValue and NotFound as `resolve` does.
    """
    tree = as_tree(graph)
    target = resolve(tree, path)
    match target.what:
        case What.FACT:
            return _files(tree, target, count)
        case What.DIRECTORY | What.SOURCE:
            return _directory(tree, target, count)
        case _:
            return (_file(tree, target, count),)


def _directory(tree: Tree, target: Target, count: TokenCounter) -> tuple[Node, ...]:
    path = target.path
    index = Target(tree.address((*path, INDEX)), What.INDEX, (*path, INDEX), target.item)
    if not tree.directories.get(path) and path != ("gaps",) and target.what is not What.SOURCE:
        hint = nothing_words(path)
        return (Node(INDEX, index.address, False, hint, _cost(tree, index, count), 0),)
    nodes = [
        Node(
            INDEX,
            index.address,
            False,
            f"this directory on one page: {hint_of(path) or 'overview'}",
            _cost(tree, index, count),
            0,
        )
    ]
    nodes += [_node(tree, path, place, count) for place in tree.directories.get(path, ())]
    return tuple(nodes)


def _node(tree: Tree, path: Path, place: Place, count: TokenCounter) -> Node:
    below = (*path, place.name)
    if place.what is What.DIRECTORY:
        items = len(list(under(tree, below)))
        return Node(
            f"{place.name}/", tree.address(below, directory=True), True, _group_hint(tree, below, items), 0, items
        )
    directory = place.what in (What.FACT, What.SOURCE)
    target = Target(tree.address(below, directory=directory), place.what, below, place.item)
    slash = "/" if directory else ""
    items = 1
    if place.what is What.TIMELINE:
        items = len(in_year(tree, place.item))
    return Node(
        f"{place.name}{slash}", target.address, directory, hint(tree, target), _cost(tree, target, count), items
    )


def _group_hint(tree: Tree, path: Path, items: int) -> str:
    """What a directory holds: its fixed hint, or for a test the newest result."""
    fixed = hint_of(path)
    if not fixed:
        first = next(iter(under(tree, path)), "")
        if first in tree.graph.facts and len(path) > 1:
            fixed = f"newest: {_fact_hint(tree, first)}"
    return f"{fixed}, {counted(items, 'item')}" if fixed else counted(items, "item")


def _files(tree: Tree, target: Target, count: TokenCounter) -> tuple[Node, ...]:
    fact = tree.graph.facts[target.item]
    held = len(fact.members) + len(fact.history)
    files = (
        (STORY, What.STORY, _fact_hint(tree, fact.id), 1),
        (SOURCES, What.SOURCES, f"who says so and where: {counted(held, 'statement')}", held),
        (RAW, What.RAW, "the fact, its statements and links as data", 1),
    )
    nodes = []
    for file, what, words, items in files:
        path = (*target.path, file)
        at = Target(tree.address(path), what, path, target.item)
        nodes.append(Node(file, at.address, False, words, _cost(tree, at, count), items))
    return tuple(nodes)


def _file(tree: Tree, target: Target, count: TokenCounter) -> Node:
    return Node(target.path[-1], target.address, False, hint(tree, target), _cost(tree, target, count))


def _cost(tree: Tree, target: Target, count: TokenCounter) -> int:
    """Exactly the tokens of reading it whole in narrative form (`raw.json` has one form)."""
    citations = Citations.handles(tree)
    whole = sheet(tree, target, tree.graph.moment, citations)
    format = Format.STRUCTURED if target.what is What.RAW else Format.NARRATIVE
    return lay_out(whole, format, None, count).tokens


def hint(tree: Tree, target: Target) -> str:
    """One line on what an address leads to, without citations."""
    graph = tree.graph
    match target.what:
        case What.FACT | What.STORY:
            return _fact_hint(tree, target.item)
        case What.MEMORY:
            memory = graph.memories[target.item]
            said = f" ({memory.change})" if memory.change else ""
            return f"{coded(memory.concept)}{said}, {memory_speaker(tree, memory)} {tree.by_day[memory.id]}"
        case What.INFERENCE:
            held = tree.inferred[target.item]
            who = author_words(tree, held.entry.attribution)
            return _clip(f"{name(held.entry.title)}, {who} {tree.by_day[target.item]}{stale_words(tree, held)}")
        case What.CONFLICT:
            conflict = tree.clashes[target.item]
            return _clip(" vs ".join(name(side.says) for side in conflict.sides))
        case What.PASSAGE:
            passage = graph.passages[target.item]
            return f"{name(passage.title) or 'note'}, {counted(len(passage.text), 'character')}"
        case What.DOCUMENT:
            document = graph.documents[target.item]
            return f"{document.format} from {name(document.source)}, received {document.received_at.date().isoformat()}"
        case What.SESSION:
            return _clip(session_line(tree.sessions[target.item]))
        case What.SOURCE:
            return name(target.item)
        case What.TIMELINE:
            return f"what is dated {target.item}"
        case What.STATEMENT:
            statement = graph.statements[target.item]
            shown = name(statement.concept.display) if statement.concept else ""
            return f"{statement.kind.value.replace('_', ' ')} {shown}".strip()
        case _:
            return hint_of(target.path[:-1]) or "overview"


def _fact_hint(tree: Tree, id: str) -> str:
    fact = tree.graph.facts[id]
    telling = of_fact(tree.graph, fact)
    conflict = ("⚠ conflict",) if tree.neighbours.disputed(id) else ()
    return _clip(", ".join((*conflict, headline(telling), *clauses(telling))))


def _clip(text: str) -> str:
    """Whole words of a hint, which is a label and no clinical line."""
    line = short(text)
    return line if len(line) <= _HINT_CHARS else f"{line[: line.rfind(' ', 0, _HINT_CHARS)]} …"


__all__ = [
    "Target",
    "Tree",
    "What",
    "address",
    "browse",
    "fact_directory",
    "hint",
    "resolve",
    "root",
    "tree",
]

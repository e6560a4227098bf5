"""What does each bracket in a text stand for? Gives out handles while a text is written, and resolves them.

Contexts number them (`[1]`); files of the tree use the last eight characters of the item's id, so that the same line
has the same bracket in every file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from iamata.assembly.neighbours import statement_day
from iamata.assembly.speakers import attribution_of
from iamata.assembly.tree import Tree, as_tree, bare, passage_day
from iamata.assembly.wording import name
from iamata.model.graph import Graph
from iamata.model.reading import Citation

_HANDLE: Final = 8


class Citations:
    """The brackets of one text, in the order of their first use. Not shared between texts."""

    def __init__(self, graph: Graph | Tree, *, numbered: bool) -> None:
        self._tree = as_tree(graph)
        self._numbered = numbered
        self._handles: dict[str, str] = {}
        self._taken: set[str] = set()
        self._log: list[str] = []

    @classmethod
    def numbers(cls, graph: Graph | Tree) -> Citations:
        """`[1]`, `[2]` …: for contexts, resolved by the context's legend."""
        return cls(graph, numbered=True)

    @classmethod
    def handles(cls, graph: Graph | Tree) -> Citations:
        """`[7f3c2a4d]`: for files of the tree. A handle grows when two ids end alike."""
        return cls(graph, numbered=False)

    def __len__(self) -> int:
        return len(self._handles)

    def handle(self, item: str) -> str:
        """The handle of a statement, memory, turn of talk, passage or document, the same for every use in this text."""
        self._log.append(item)
        handle = self._handles.get(item, "")
        if not handle:
            if self._numbered:
                handle = str(len(self._handles) + 1)
            else:
                tail = bare(item)
                length = _HANDLE
                while (handle := tail[-length:]) in self._taken and length < len(tail):
                    length += 1
            self._handles[item] = handle
            self._taken.add(handle)
        return handle

    def cite(self, *items: str) -> str:
        """` [1, 2]`, with the blank before it; empty for nothing to cite."""
        return f" [{', '.join(self.handle(item) for item in items)}]" if items else ""

    def log(self) -> int:
        """How many citations have been written, counting repeats."""
        return len(self._log)

    def cited_since(self, log: int) -> tuple[str, ...]:
        """The ids cited since then, in order, repeats left out: those of the line just written."""
        return tuple(dict.fromkeys(self._log[log:]))

    def mark(self) -> int:
        """A point to return to: how many handles are out."""
        return len(self._handles)

    def back_to(self, mark: int) -> None:
        """Take back every handle given out since, as if the lines after the mark had not been written."""
        for item in list(self._handles)[mark:]:
            self._taken.discard(self._handles.pop(item))

    def items(self) -> tuple[str, ...]:
        """The ids cited so far, in the order of their first use."""
        return tuple(self._handles)

    def entries(self) -> tuple[Citation, ...]:
        """Every bracket resolved, in the order of first use."""
        return tuple(citation(self._tree, item, handle) for item, handle in self._handles.items())

    def entries_of(self, items: Iterable[str]) -> tuple[Citation, ...]:
        """The brackets of these items resolved, in the given order, repeats left out."""
        return tuple(citation(self._tree, item, self._handles[item]) for item in dict.fromkeys(items))


def citation(graph: Graph | Tree, item: str, handle: str = "") -> Citation:
    """What a bracket for this statement, memory, turn, passage or document stands for. Of several sightings the
    first one."""
    tree = as_tree(graph)
    graph = tree.graph
    attribution = attribution_of(tree, item)
    memory = graph.memories.get(item)
    if memory is not None:
        said = (memory.said_at or memory.received_at).date().isoformat()
        place = f"{memory.message} [{memory.start}:{memory.end}]"
        return Citation(handle, item, attribution, "conversation", memory.session, place, said)
    message = tree.neighbours.messages.get(item)
    if message is not None:
        said = (message.turn.said_at or message.received_at).date().isoformat()
        return Citation(handle, item, attribution, "conversation", message.session, f"turn {message.index + 1}", said)
    held = tree.inferred.get(item)
    if held is not None:
        recorded = held.entry.recorded_at.date().isoformat()
        return Citation(handle, item, attribution, "agent", "", f"version {held.entry.version}", recorded)
    document = graph.documents.get(item)
    if document is not None:
        received = document.received_at.date().isoformat()
        return Citation(handle, item, attribution, document.source, document.id, "", received)
    statement, passage = graph.statements.get(item), graph.passages.get(item)
    seen = min(graph.sightings.get(item, ()), key=lambda s: (s.received_at, s.document, s.place.pointer), default=None)
    source = statement.source if statement else passage.provenance.source if passage else ""
    date = statement_day(statement) if statement else passage_day(passage) if passage else ""
    if seen is None:
        return Citation(handle, item, attribution, source, "", "", date)
    return Citation(handle, item, attribution, source, seen.document, str(seen.place), date)


def entry_words(entry: Citation) -> str:
    """One citation in words, for a list of sources: source, date, document and place."""
    parts = [name(entry.source) or "unknown source", entry.date]
    if entry.document and entry.place:
        parts.append(f"{entry.document} at {name(entry.place)}")
    return ", ".join(part for part in parts if part)

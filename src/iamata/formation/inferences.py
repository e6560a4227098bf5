"""What does an agent's inference about a patient rest on, and does that still say the same?

Inferences are no part of the fold: they are never a witness, for nothing, and so not for their own sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from iamata.errors import BadInput, NotFound
from iamata.model.entry import Basis, Entry, Inferred, in_force
from iamata.model.graph import Graph
from iamata.model.identifiers import content_digest
from iamata.model.link import Link, LinkType

MOST_SOURCES: Final = 200
_ENTRY: Final = "et_"


def basis_of(graph: Graph, items: Iterable[str]) -> tuple[Basis, ...]:
    """Items of the graph as they are now, to rest an inference on; each once. Raises NotFound for one that the graph
    does not hold, BadInput for another inference: an agent's word is no ground for an agent's word."""
    now = _Now(graph)
    found: dict[str, Basis] = {}
    for item in items:
        if item.startswith(_ENTRY):
            why = "an inference rests on what was recorded or said, not on another inference"
            raise BadInput(why, place="derived_from")
        what = now.what(item)
        if not what:
            raise NotFound(what="item", id=item)
        found[item] = Basis(item=item, what=what, digest=now.digest(item), roots=now.roots(item))
    if not 0 < len(found) <= MOST_SOURCES:
        raise BadInput(f"name what it was derived from: 1 to {MOST_SOURCES} items", place="derived_from")
    return tuple(found.values())


def inferred(entries: Iterable[Entry], graph: Graph) -> dict[str, Inferred]:
    """The inferences in force at the graph's moment that this graph can show, by id.

    One of which a root is not in the graph is left out whole: its reader may not see it, or it was retracted, refused
    or erased. Not told apart here, because the answer must be the same.
    """
    now = _Now(graph)
    found: dict[str, Inferred] = {}
    for entry in in_force(entries, graph.moment):
        if shows(graph, entry):
            found[entry.id] = Inferred(
                entry, tuple(b.item for b in entry.derived_from if now.digest(b.item) != b.digest)
            )
    return found


def shows(graph: Graph, entry: Entry) -> bool:
    """Is everything that this version rests on in the graph?"""
    return all(
        root in graph.statements or root in graph.memories or root in graph.passages or root in graph.documents
        for basis in entry.derived_from
        for root in basis.roots
    )


class _Now:
    """What items of a graph say now. Talk against facts is looked up once."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._against: dict[str, list[str]] | None = None

    def what(self, item: str) -> str:
        graph = self._graph
        for what, held in (
            ("statement", graph.statements),
            ("memory", graph.memories),
            ("passage", graph.passages),
            ("document", graph.documents),
        ):
            if item in held:
                return what
        return "fact" if graph.resolve(item) is not None else ""

    def digest(self, item: str) -> str:
        """Of a fact what it says and what talk holds against it, of a statement whether it counts: its own words never
        change, nor do those of a memory, passage or document. `gone` for what is not there."""
        graph = self._graph
        if item in graph.statements:
            holder = graph.facts.get(graph.fact_of.get(item, ""))
            return "" if holder is None else dict(holder.history).get(item, "member")
        fact = graph.resolve(item)
        if fact is None:
            return "" if self.what(item) else "gone"
        return content_digest(fact.digest, *self._talk_against().get(fact.id, ()))[:32]

    def roots(self, item: str) -> tuple[str, ...]:
        graph = self._graph
        if item in graph.documents:
            seen = (s.item for sightings in graph.sightings.values() for s in sightings if s.document == item)
            return (item, *sorted(set(seen)))
        fact = None if item in graph.statements else graph.resolve(item)
        if fact is None:
            return (item,)
        # What its digest rests on: its statements, and the other sides of its conflicts, in records and in talk.
        sides = [side for id in fact.conflicts if id in graph.conflicts for side in graph.conflicts[id].sides]
        against = {link.origin for link in self._conflicts() if graph.resolve(link.target) is fact}
        return tuple(
            sorted(
                {*fact.members, *(id for id, _ in fact.history), *(id for side in sides for id in side.items), *against}
            )
        )

    def _conflicts(self) -> Iterator[Link]:
        for link in self._graph.links.values():
            if link.type is LinkType.CONFLICTS and link.origin in self._graph.memories:
                yield link

    def _talk_against(self) -> dict[str, list[str]]:
        """Fact → digests of the conflicts of talk with it, sorted."""
        if self._against is None:
            found: dict[str, list[str]] = {}
            for link in self._conflicts():
                fact = self._graph.resolve(link.target)
                if fact is not None:
                    found.setdefault(fact.id, []).append(link.digest or link.id)
            self._against = {id: sorted(digests) for id, digests in found.items()}
        return self._against

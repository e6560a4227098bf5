"""One graph, indexed for serving: which items have which type, when was each seen, which passages are one narrative?

Worked out once per graph and kept with it; nothing here looks beyond what the reader of this graph may see.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import msgspec

from iamata.interfaces.wire.ids import fact_type, statement_type
from iamata.interfaces.wire.values import instant
from iamata.model.fact import Fact
from iamata.model.graph import Graph
from iamata.model.passage import Passage
from iamata.model.sighting import Sighting


class Narrative(msgspec.Struct, frozen=True):
    """The passages of one part of one record in one version: the contract's extracted narrative.

    `id` is `en_` and the tail of the smallest passage id. `content` places every passage at its offset, so that
    `content[offset:offset + len(text)]` is the passage; gaps are blanks.
    """

    id: str
    passages: tuple[Passage, ...]  # by offset

    @property
    def content(self) -> str:
        done = 0
        parts: list[str] = []
        for passage in self.passages:
            parts += [" " * (passage.start - done), passage.text]
            done = passage.start + len(passage.text)
        return "".join(parts)


class GraphView:
    """A graph and its indexes. `introduced` maps a document id to the ingestion that first brought it."""

    def __init__(self, graph: Graph, introduced: Mapping[str, str] | None = None) -> None:
        self.graph = graph
        self.introduced = introduced or {}

    @cached_property
    def statements(self) -> dict[str, list[str]]:
        """Statement ids by node type, sorted."""
        return _grouped((statement_type(each.kind), each.id) for each in self.graph.statements.values())

    @cached_property
    def facts(self) -> dict[str, list[str]]:
        """Fact ids by node type, sorted."""
        return _grouped((fact_type(each.kind), each.id) for each in self.graph.facts.values())

    @cached_property
    def narratives(self) -> dict[str, Narrative]:
        """Every narrative by its id."""
        return {each.id: each for each in _narratives(self.graph.passages.values())}

    @cached_property
    def narrative_of(self) -> dict[str, str]:
        """Passage id → the id of its narrative."""
        return {passage.id: each.id for each in self.narratives.values() for passage in each.passages}

    @cached_property
    def history(self) -> dict[str, str]:
        """Statement id → why it is history in its fact, for those that are."""
        return {item: why for fact in self.graph.facts.values() for item, why in fact.history}

    def seen(self, item: str) -> tuple[Sighting, ...]:
        """The sightings of a statement or passage, oldest first."""
        found = self.graph.sightings.get(item, ())
        return tuple(sorted(found, key=lambda each: (each.received_at, each.document, each.place)))

    def received(self, *items: str) -> tuple[str, str]:
        """When any of these was seen first and last, for a person reading; the graph's own moment if none ever was."""
        moments = [sighting.received_at for item in items for sighting in self.graph.sightings.get(item, ())]
        moments += [self.graph.memories[item].received_at for item in items if item in self.graph.memories]
        if not moments:
            now = instant(self.graph.moment.known_at or self.graph.moment.true_at)
            return now, now
        return instant(min(moments)), instant(max(moments))

    def ingestion(self, item: str) -> str:
        """The ingestion that introduced a statement or passage; empty if its receipt is not known."""
        seen = self.seen(item)
        return self.introduced.get(seen[0].document, "") if seen else ""

    def format(self, item: str) -> str:
        """The format of the document that an item was first seen in; empty if that is not known."""
        seen = self.seen(item)
        document = self.graph.documents.get(seen[0].document) if seen else None
        return document.format if document is not None else ""


def members(fact: Fact) -> tuple[str, ...]:
    """Every statement of a fact: those that contribute, then its history."""
    return (*fact.members, *(item for item, _ in fact.history))


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name, id in sorted(pairs):
        groups.setdefault(name, []).append(id)
    return groups


def _narratives(passages: Iterable[Passage]) -> list[Narrative]:
    """Passages of one source, record, version and part belong together; one that would overlap another does not."""
    groups: dict[tuple[str, ...], list[Passage]] = {}
    for passage in passages:
        record = passage.provenance.record
        # A record that names itself nowhere is known by its content alone: its passages stay apart.
        name = record.key or passage.id
        key = (passage.provenance.source, name, record.version, record.updated, passage.part)
        groups.setdefault(key, []).append(passage)
    found: list[Narrative] = []
    for group in groups.values():
        rows: list[list[Passage]] = []
        for passage in sorted(group, key=lambda each: (each.start, each.id)):
            for row in rows:
                if row[-1].start + len(row[-1].text) <= passage.start:
                    row.append(passage)
                    break
            else:
                rows.append([passage])
        for row in rows:
            tail = min(each.id for each in row).partition("_")[2]
            found.append(Narrative(f"en_{tail}", tuple(row)))
    return found

"""What touches what in one graph: links, conflicts and talk by item, persons by reference.

One pass over the graph, so that each of many lines need not search it. Holds no words and no addresses.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from iamata.model.clinical_time import Clock
from iamata.model.conflict import Conflict
from iamata.model.fact import Fact
from iamata.model.graph import Graph
from iamata.model.link import Link, LinkType
from iamata.model.memory import Memory
from iamata.model.session import Message
from iamata.model.statement import Kind, Statement

# How talk bears on a fact, the most telling first (a `new` memory bears on none).
TALK: Final = (
    LinkType.CONFLICTS,
    LinkType.SUPPORTS,
    LinkType.REFINES,
    LinkType.EXPLAINS,
    LinkType.ABOUT,
)

_SPOKEN: Final = frozenset(
    {Clock.EFFECTIVE, Clock.OCCURRED, Clock.ASSERTED, Clock.AUTHORED, Clock.ISSUED, Clock.ORDERED, Clock.HANDED_OVER}
)


class Neighbours:
    """Built once for a graph; read only.

    `links[item]` has the links that touch an item (either end), by id; `conflicts[item]` the conflicts of a fact or of
    a memory, by id; `against[fact]` the links by which talk contradicts it, newest talk first; `talk[fact]` the
    memories about it with how each bears on it, newest first; `facts_of[memory]` the other way round; `persons[(source,
    reference)]` the person statements; `messages[id]` the turns.
    """

    __slots__ = ("against", "conflicts", "facts_of", "links", "messages", "persons", "talk")

    def __init__(self, graph: Graph) -> None:
        links: defaultdict[str, list[Link]] = defaultdict(list)
        talk: defaultdict[str, list[tuple[LinkType, Memory]]] = defaultdict(list)
        facts_of: defaultdict[str, list[tuple[LinkType, str]]] = defaultdict(list)
        for _, link in sorted(graph.links.items()):
            links[link.origin].append(link)
            if link.target != link.origin:
                links[link.target].append(link)
            memory = graph.memories.get(link.origin) or graph.memories.get(link.target)
            if memory is not None and link.type in TALK:
                other = link.target if link.origin == memory.id else link.origin
                fact = graph.resolve(other)
                if fact is not None:
                    talk[fact.id].append((link.type, memory))
                    facts_of[memory.id].append((link.type, fact.id))
        conflicts: defaultdict[str, list[Conflict]] = defaultdict(list)
        for _, conflict in sorted(graph.conflicts.items()):
            owners = {fact.id if (fact := graph.resolve(conflict.fact)) else conflict.fact}
            for side in conflict.sides:
                for item in side.items:
                    owners.add(item if item in graph.memories else graph.fact_of.get(item, conflict.fact))
            for owner in sorted(owners):
                conflicts[owner].append(conflict)
        self.links: dict[str, list[Link]] = dict(links)
        self.conflicts: dict[str, list[Conflict]] = dict(conflicts)
        self.talk: dict[str, list[tuple[LinkType, Memory]]] = {
            fact: sorted(told, key=lambda pair: (_said(pair[1]), pair[1].id), reverse=True)
            for fact, told in talk.items()
        }
        self.against: dict[str, list[Link]] = {}
        for fact_id, told in self.talk.items():
            by_memory = {link.origin: link for link in links[fact_id] if link.type is LinkType.CONFLICTS}
            by_memory |= {link.target: link for link in links[fact_id] if link.type is LinkType.CONFLICTS}
            found = [
                by_memory[memory.id] for how, memory in told if how is LinkType.CONFLICTS and memory.id in by_memory
            ]
            if found:
                self.against[fact_id] = found
        self.facts_of: dict[str, list[tuple[LinkType, str]]] = dict(facts_of)
        self.persons: dict[tuple[str, str], Statement] = {
            (statement.source, statement.provenance.record.key): statement
            for _, statement in sorted(graph.statements.items())
            if statement.kind is Kind.PERSON and statement.provenance.record.key
        }
        self.messages: dict[str, Message] = {
            message.id: message for session in graph.sessions.values() for message in session.messages
        }

    def disputed(self, fact: str) -> bool:
        """Is there a conflict on this fact, between statements or with talk?"""
        return fact in self.conflicts or fact in self.against


def _said(memory: Memory) -> str:
    return (memory.said_at or memory.received_at).isoformat()


def statements_of(graph: Graph, fact: Fact) -> list[Statement]:
    """The visible member statements of a fact, newest first (those without a day last), ties by id."""
    return newest_first([graph.statements[id] for id in fact.members if id in graph.statements])


def newest_first(statements: list[Statement]) -> list[Statement]:
    return sorted(sorted(statements, key=lambda s: s.id), key=statement_day, reverse=True)


def statement_day(statement: Statement) -> str:
    """The last day on which the author spoke, as far as the statement tells: of all its times but plans and ends to
    come (asserted, authored, issued, ordered, occurred, effective start); empty when it tells none."""
    return max((t.start.day for t in statement.times if t.start is not None and t.clock in _SPOKEN), default="")

"""Who is an independent witness? Collapses statements and memories to the roots they come from.

Independence is decided by author, original document and content, never by connector: the same author speaking in two
systems is one witness, and so is a report that travelled. Half of the words in charts are copies, nearly half of
those of another author (evidence row E266). Does not weigh; says also on which side of which conflict an item stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from iamata.authority.evidence import folded, relation
from iamata.errors import NotFound
from iamata.model.attribution import Attribution, AttributionKind, Author, Role
from iamata.model.clinical_time import Clock
from iamata.model.coding import CodedText
from iamata.model.conflict import Conflict
from iamata.model.fact import Fact
from iamata.model.graph import Graph
from iamata.model.link import Link, LinkType
from iamata.model.memory import Memory, MemoryKind
from iamata.model.roots import roots_of
from iamata.model.statement import EVENT_KINDS, Aspect, Kind, Polarity, Standing, Statement, Verification

# Times at which somebody stood behind a statement; `prepared` and `handed-over` tell of documents, not of entries.
_STOOD = (
    Clock.ASSERTED,
    Clock.AUTHORED,
    Clock.ISSUED,
    Clock.VERIFIED,
    Clock.SIGNED,
    Clock.STATUS_CHANGED,
    Clock.ORDERED,
    Clock.OCCURRED,
    Clock.EFFECTIVE,
)
_RECORDED = (Clock.ASSERTED, Clock.AUTHORED, Clock.ISSUED, Clock.ORDERED)
_HAPPENED = (Clock.EFFECTIVE, Clock.OCCURRED)
_RECORD_KEEPERS = frozenset(
    {Role.CLINICIAN, Role.INSTITUTION, Role.COORDINATOR, Role.STAFF, Role.OPERATOR, Role.SOFTWARE, Role.UNKNOWN}
)
# What a memory of each kind testifies to, in the words of statements.
_SPEAKS_OF = {
    MemoryKind.SYMPTOM: Aspect.EXPERIENCED,
    MemoryKind.ADHERENCE: Aspect.TAKEN,
    MemoryKind.PREFERENCE: Aspect.WANTED,
    MemoryKind.CONCERN: Aspect.EXPERIENCED,
    MemoryKind.MEDICATION: Aspect.TAKEN,
    MemoryKind.ALLERGY: Aspect.REACTED,
    MemoryKind.SIDE_EFFECT: Aspect.REACTED,
    MemoryKind.CONDITION: Aspect.DIAGNOSED,
    MemoryKind.FAMILY_HISTORY: Aspect.DIAGNOSED,
    MemoryKind.SOCIAL: Aspect.LIVED,
    MemoryKind.HISTORY: Aspect.DIAGNOSED,
    MemoryKind.OBSERVATION: Aspect.MEASURED,
    MemoryKind.GOAL: Aspect.WANTED,
    MemoryKind.BARRIER: Aspect.LIVED,
    MemoryKind.INSTRUCTION: Aspect.ORDERED,
    MemoryKind.PLAN: Aspect.PROPOSED,
}
# How many worked-out items, terms and authorities are kept at a time: a context asks again for some of what was asked
# last, and keeping all would cost more memory than the graph.
MOST_KEPT = 256
_NOT_TAKING = frozenset({"stopped", "skipped", "reduced", "ran-out"})
_UNATTRIBUTED = Attribution(AttributionKind.UNDETERMINED, Author(Role.UNKNOWN), rule="none")


class Item(msgspec.Struct, frozen=True):
    """A statement or a memory as a witness: who speaks, about what, when, and whether it denies.

    `stood_at` is the latest moment (UTC seconds) at which somebody stood behind it, None if undated; `mechanism` the
    way the knowledge came: `person`, `record`, or the role itself.
    """

    id: str
    kind: str
    name: str
    testifies: Aspect
    denies: bool
    attribution: Attribution
    stood_at: int | None
    in_error: bool
    mechanism: str
    keys: frozenset[str]
    author_keys: frozenset[str]
    statement: Statement | None = None
    memory: Memory | None = None

    @property
    def role(self) -> Role:
        return self.attribution.author.role


class Witnesses:
    """The witnesses of one graph. Reads the graph only; what it has worked out last it keeps."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._items: dict[str, Item] = {}
        self._relations: dict[tuple[str, str], str] | None = None
        self.conflicts_of: dict[str, list[Conflict]] = {}
        for id in sorted(graph.conflicts):
            conflict = graph.conflicts[id]
            for key in {conflict.fact, *(item for side in conflict.sides for item in side.items)}:
                self.conflicts_of.setdefault(key, []).append(conflict)
        self.memories_of: dict[str, list[Link]] = {}
        self.links_of_memory: dict[str, list[Link]] = {}
        self.derived_from: dict[str, list[str]] = {}
        for id in sorted(graph.links):
            link = graph.links[id]
            if link.origin in graph.memories:
                self.memories_of.setdefault(link.target, []).append(link)
                self.links_of_memory.setdefault(link.origin, []).append(link)
            elif link.type is LinkType.DERIVED_FROM:
                self.derived_from.setdefault(link.origin, []).append(link.target)
        self.superseded: dict[str, str] = {}
        for fact in graph.facts.values():
            self.superseded.update(fact.history)

    def item(self, id: str) -> Item:
        """The statement or memory with this id. Raises NotFound for any other."""
        found = self._items.get(id)
        if found is None:
            if id in self.graph.statements:
                found = self._statement(self.graph.statements[id])
            elif id in self.graph.memories:
                found = self._memory(self.graph.memories[id])
            else:
                raise NotFound(what="statement or memory", id=id)
            if len(self._items) >= MOST_KEPT:
                self._items.clear()
            self._items[id] = found
        return found

    def known(self, ids: Iterable[str]) -> tuple[str, ...]:
        """Those of these ids that are statements or memories of this graph, sorted, each once."""
        return tuple(sorted({id for id in ids if id in self.graph.statements or id in self.graph.memories}))

    def members(self, fact: Fact) -> tuple[str, ...]:
        """Its members that are visible here."""
        return self.known(fact.members)

    def roots(self, ids: Iterable[str]) -> dict[str, str]:
        """For each item the smallest id among the items of its root: items that share an author, a record or their
        content are one root, and what a document's text mentions is one with what it sends as an item, whoever wrote
        either. Does not depend on order."""
        parent: dict[str, str] = {}

        def find(key: str) -> str:
            while parent.setdefault(key, key) != key:
                parent[key] = parent[parent[key]]
                key = parent[key]
            return key

        wanted = sorted(set(ids))
        for id in wanted:
            for key in sorted(self.item(id).keys):
                left, right = find(f"item {id}"), find(key)
                parent[max(left, right)] = min(left, right)
        for id, other in self._repeated(wanted):
            left, right = find(f"item {id}"), find(f"item {other}")
            parent[max(left, right)] = min(left, right)
        smallest: dict[str, str] = {}
        for id in wanted:
            smallest.setdefault(find(f"item {id}"), id)
        return {id: smallest[find(f"item {id}")] for id in wanted}

    def _repeated(self, ids: Iterable[str]) -> list[tuple[str, str]]:
        """Each mention with one item that a document holds beside its words: of several the one by its author, else the
        smallest id. One, since two authors of items in one document stay two witnesses."""
        statements = [self.graph.statements[id] for id in ids if id in self.graph.statements]
        mentions = [statement for statement in statements if statement.is_mention]
        if not mentions:
            return []
        held: dict[str, list[str]] = {}
        for statement in statements:
            if not statement.is_mention:
                for document in self._documents(statement.id):
                    held.setdefault(document, []).append(statement.id)
        found = []
        for mention in mentions:
            beside = {id for document in self._documents(mention.id) for id in held.get(document, ())}
            authors = self.item(mention.id).author_keys
            if beside:
                found.append((mention.id, min(beside, key=lambda id: (not authors & self.item(id).author_keys, id))))
        return found

    def _documents(self, id: str) -> set[str]:
        return {sighting.document for sighting in self.graph.sightings.get(id, ())}

    def source_of_agent(self, id: str) -> tuple[str, ...]:
        """What an agent's item was derived from, if a link says so."""
        return self.known(self.derived_from.get(id, ()))

    def _statement(self, statement: Statement) -> Item:
        attribution = self.graph.attributions.get(statement.id, _UNATTRIBUTED)
        author_keys = self._author_keys(attribution, statement.source)
        keys = set(author_keys)
        keys.update(f"digest {root}" for root in roots_of(statement))
        keys.update(f"record {identifier}" for identifier in statement.identifiers if identifier.value)
        keys.update(self._content_keys(statement, attribution.author.role))
        denies = (
            statement.polarity is Polarity.DENIED
            or statement.verification is Verification.REFUTED
            or statement.standing is Standing.NOT_DONE
        )
        return Item(
            id=statement.id,
            kind=str(statement.kind),
            name=statement.concept.display if statement.concept else "",
            testifies=statement.aspect,
            denies=denies,
            attribution=attribution,
            stood_at=_stood_at(statement, self.graph.moment.true_at),
            in_error=statement.standing is Standing.ENTERED_IN_ERROR
            or statement.verification is Verification.ENTERED_IN_ERROR,
            mechanism=_mechanism(attribution.author.role),
            keys=frozenset(keys),
            author_keys=frozenset(author_keys),
            statement=statement,
        )

    def _memory(self, memory: Memory) -> Item:
        attribution = self.graph.attributions.get(memory.id, memory.attribution)
        author_keys = self._author_keys(attribution, f"session {memory.session}")
        said = memory.said_at or memory.received_at
        return Item(
            id=memory.id,
            kind=str(memory.kind),
            name=memory.concept.display,
            testifies=_SPEAKS_OF[memory.kind],
            denies=memory.polarity is Polarity.DENIED or memory.change in _NOT_TAKING,
            attribution=attribution,
            stood_at=int(said.timestamp()),
            in_error=False,
            mechanism=_mechanism(attribution.author.role),
            keys=frozenset({*author_keys, f"message {memory.message}"}),
            author_keys=frozenset(author_keys),
            memory=memory,
        )

    def _author_keys(self, attribution: Attribution, source: str) -> set[str]:
        """By what an author is known: the patient is one person everywhere, a proxy by the relation, others by
        reference within their source or by name; a default author is the source itself."""
        author = attribution.author
        if author.role is Role.PATIENT:
            return {"author patient"}
        if author.role is Role.PROXY:
            told = self._relation(source, author.reference) or author.display
            return {f"author proxy {relation(told)}"}
        keys = set()
        if author.reference:
            keys.add(f"author {source} {author.reference}")
        name = folded(author.display).strip()
        if name:
            keys.add(f"author named {name}")
        return keys or {f"author {author.role} of {source}"}

    def _relation(self, source: str, reference: str) -> str:
        if self._relations is None:
            self._relations = {}
            for id in sorted(self.graph.statements):
                statement = self.graph.statements[id]
                if statement.kind is Kind.PERSON and statement.provenance.record.reference:
                    value = statement.field("relationship")
                    told = value.display if isinstance(value, CodedText) else value if isinstance(value, str) else ""
                    self._relations[(statement.source, statement.provenance.record.reference)] = told
        return self._relations.get((source, reference), "") if reference else ""

    def _content_keys(self, statement: Statement, role: Role) -> set[str]:
        """One report through two systems: the same thing said the same way at the same recorded time by a kept
        record. Not for what people say: two people may say the same on one day."""
        if role in (Role.PATIENT, Role.PROXY, Role.AGENT):
            return set()
        group = "record" if role in _RECORD_KEEPERS else str(role)
        concept = statement.concept
        names = {*(concept.keys if concept else ()), folded(concept.display).strip() if concept else ""} - {""}
        clocks = (*_RECORDED, *_HAPPENED) if statement.kind in EVENT_KINDS else _RECORDED
        value = str(statement.field("value") or "")
        times = {
            timed.start.text
            for timed in statement.times
            if timed.clock in clocks
            and timed.start is not None
            and timed.start.earliest is not None
            # A year or a month is no recording time that two systems would share only by copying.
            and len(timed.start.text) >= 10
        }
        return {
            f"content {group} {statement.kind} {statement.aspect} {statement.polarity} {name} {value} {time}"
            for name in names
            for time in times
        }


def _mechanism(role: Role) -> str:
    if role in (Role.PATIENT, Role.PROXY):
        return "person"
    if role in (Role.LAB, Role.INSTRUMENT):
        return "measurement"
    return "record" if role in _RECORD_KEEPERS else str(role)


def _stood_at(statement: Statement, true_at: datetime) -> int | None:
    """The latest time, not after the clinical now, at which somebody stood behind it. The earliest second of a coarse
    time counts: nothing is assumed newer than it must be."""
    now = int(true_at.timestamp())
    found: list[int] = []
    for timed in statement.times:
        if timed.clock in _STOOD:
            for time in (timed.start, timed.end):
                if time is not None and time.earliest is not None and time.earliest <= now:
                    found.append(time.earliest)
    return max(found) if found else None

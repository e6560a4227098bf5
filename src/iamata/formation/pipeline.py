"""What do all statements of one patient come to, for one reader at one moment? The fold: pure, order-free.

Takes everything held and returns a graph; saves nothing. What is not visible to the reader, or was not known by then,
does not take part.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from datetime import datetime

import msgspec

from iamata.formation import linking
from iamata.formation.attribution import Resolver
from iamata.formation.recorded.candidates import comparisons
from iamata.formation.recorded.clustering import Clusters
from iamata.formation.recorded.comparison import Comparison
from iamata.formation.recorded.concepts import groups_of
from iamata.formation.recorded.identity import doubted_sources
from iamata.formation.recorded.inferred import inferred
from iamata.formation.recorded.merging import merge
from iamata.formation.recorded.negations import category, covers, ended_by
from iamata.formation.recorded.relationships import explicit
from iamata.formation.recorded.rulings import Rulings, in_force
from iamata.formation.recorded.rulings import comparisons as ruled_comparisons
from iamata.formation.recorded.said import Said, said
from iamata.formation.recorded.supersession import deleted, superseded
from iamata.formation.references import Directory
from iamata.formation.rereadings import as_read
from iamata.model.attribution import Attribution
from iamata.model.clinical_time import Clock
from iamata.model.coding import CodedText
from iamata.model.conflict import Conflict, ConflictKind, Side
from iamata.model.decision import Decision, Quality, Verdict
from iamata.model.document import Document
from iamata.model.fact import Fact
from iamata.model.graph import Graph, Held, Unresolved
from iamata.model.identifiers import IdMint, canonical_bytes, content_digest
from iamata.model.link import Link
from iamata.model.memory import Memory
from iamata.model.passage import Passage
from iamata.model.session import Session
from iamata.model.sighting import Sighting
from iamata.model.stamp import Moment
from iamata.model.statement import SUPPORTING_KINDS, Aspect, Kind, Label, Reference, Statement

# Changes whenever the same statements could fold to something else.
FOLD_VERSION = "fold/3"
# References that stand for the concept of their statement.
_NAMING = frozenset({"medicationReference", "medication", "device"})
_NEAR_MISSES = frozenset({"identifier-on-other-concept", "other-side", "done-and-not-done"})
# A date later than `true_at` on one of these means that nobody had said it by then; on one of the others that it had
# not happened, which leaves out everything but what can be said beforehand.
_SAID_CLOCKS = frozenset(
    {Clock.ASSERTED, Clock.AUTHORED, Clock.ORDERED, Clock.ISSUED, Clock.STATUS_CHANGED, Clock.SIGNED, Clock.VERIFIED}
)
_HAPPENED_CLOCKS = frozenset({Clock.EFFECTIVE, Clock.OCCURRED, Clock.HANDED_OVER})
_SAID_BEFOREHAND = frozenset({Kind.APPOINTMENT, Kind.CARE_PLAN, Kind.GOAL, Kind.INSURANCE, Kind.ORDER, Kind.ENCOUNTER})


def form(
    held: Held, *, moment: Moment, mint: IdMint, visible: Callable[[tuple[Label, ...]], bool] = lambda labels: True
) -> Graph:
    """Fold what is held. `visible` says whether an item with these labels exists for the reader."""
    held = as_read(held, moment.known_at)
    sightings = _sightings(held, moment)
    rulings = in_force(held.rulings, moment.known_at)
    statements = [
        s
        for s in held.statements
        if s.id in sightings and visible(s.labels) and _dated_by(s, moment) and s.source not in rulings.foreign
    ]
    statements.sort(key=lambda s: s.digest)
    passages = {p.id: p for p in held.passages if p.id in sightings and visible(p.labels)}
    last_seen = {s.id: max(seen.received_at for seen in sightings[s.id]) for s in statements}
    replaced = superseded(statements, last_seen)
    gone = deleted(statements, replaced)
    passages = {id: p for id, p in passages.items() if (p.provenance.source, p.provenance.record.key) not in gone}
    urls = {s.id: {seen.url for seen in sightings[s.id] if seen.url} for s in statements}
    directory = Directory(statements, superseded=frozenset(replaced), urls=urls)
    resolver = Resolver(statements, directory, dict(held.sources))
    attributions = {s.id: resolver.resolve(s) for s in statements}
    for passage in passages.values():
        attributions[passage.id] = resolver.resolve(_as_statement(passage))

    found, references, unresolved = _references(statements, directory)
    items = [
        _said(s, directory, attributions[s.id], sightings[s.id][0].received_at)
        for s in statements
        if s.kind not in SUPPORTING_KINDS
    ]
    facts, fact_of, conflicts, decisions = _resolve(items, replaced, rulings, moment, mint)
    links = explicit(found, facts, fact_of, mint=mint)
    links |= inferred(facts, items, links, mint=mint)
    sessions, memories = _talk(held, moment)
    if memories:
        links |= {link.id: link for link in linking.link(memories.values(), facts.values(), mint=mint)}
    shown = {s.id for s in held.statements if visible(s.labels)} | passages.keys()
    documents = _documents(held, moment, {seen.document for id in shown for seen in sightings.get(id, ())})
    return Graph(
        subject=held.subject,
        version=held.version,
        moment=moment,
        hash=_graph_hash(facts.values(), memories.values(), links.values()),
        statements={s.id: s for s in statements},
        passages=passages,
        sightings={id: sightings[id] for id in [*(s.id for s in statements), *passages]},
        documents=documents,
        sessions=sessions,
        memories=memories,
        attributions=attributions,
        facts=facts,
        fact_of=fact_of,
        links=links,
        conflicts=conflicts,
        decisions=decisions,
        unresolved=tuple(sorted(unresolved)),
        references=references,
    )


def _sightings(held: Held, moment: Moment) -> dict[str, tuple[Sighting, ...]]:
    """Item id → its sightings that were known by then and whose source was not retracted since, earliest first."""
    known = moment.known_at
    retracted = _retracted(held, moment)
    source_of = {document.id: document.source for document in held.documents} if retracted else {}
    seen: dict[str, list[Sighting]] = defaultdict(list)
    for sighting in held.sightings:
        if known is not None and sighting.received_at > known:
            continue
        until = retracted.get(source_of.get(sighting.document, ""))
        if until is None or sighting.received_at > until:
            seen[sighting.item].append(sighting)
    return {id: tuple(sorted(all, key=lambda s: (s.received_at, s.document, s.place))) for id, all in seen.items()}


def _retracted(held: Held, moment: Moment) -> dict[str, datetime]:
    """Source → the moment up to which it was taken out, as known by then."""
    retracted: dict[str, datetime] = {}
    for retraction in held.retractions:
        if moment.known_at is None or retraction.at <= moment.known_at:
            retracted[retraction.source] = max(retraction.at, retracted.get(retraction.source, retraction.at))
    return retracted


def _documents(held: Held, moment: Moment, speaking: Set[str]) -> dict[str, Document]:
    """The documents known by then, but those of a retracted source and those of which all items are hidden.

    `speaking` are those with an item that counts for the reader. A document without items is not hidden by their
    labels, only by a retraction.
    """
    known, retracted = moment.known_at, _retracted(held, moment)
    holding = {seen.document for seen in held.sightings if known is None or seen.received_at <= known}
    found = {}
    for document in held.documents:
        until = retracted.get(document.source)
        counts = document.id not in holding and (until is None or document.received_at > until)
        if (known is None or document.received_at <= known) and (document.id in speaking or counts):
            found[document.id] = document
    return found


def _dated_by(statement: Statement, moment: Moment) -> bool:
    """Had it been said by the clinical now, and had it happened or can it be said beforehand?"""
    now = moment.true_at.timestamp()
    for timed in statement.times:
        start = timed.start
        if start is None or start.earliest is None or start.earliest <= now:
            continue
        if timed.clock in _SAID_CLOCKS:
            return False
        if timed.clock in _HAPPENED_CLOCKS and statement.kind not in _SAID_BEFOREHAND:
            return False
    return True


def _as_statement(passage: Passage) -> Statement:
    """A passage carries authorship like a statement; the resolver reads it as one of its record."""
    return Statement(
        id=passage.id,
        subject=passage.subject,
        kind=Kind.DOCUMENT,
        provenance=passage.provenance,
        authorship=passage.authorship,
        aspect=Aspect.RECORDED,
        digest=passage.id,
        part=passage.part,
    )


def _references(
    statements: Iterable[Statement], directory: Directory
) -> tuple[
    list[tuple[Statement, Reference, Statement]], dict[str, tuple[tuple[Reference, str], ...]], list[Unresolved]
]:
    found: list[tuple[Statement, Reference, Statement]] = []
    resolved: dict[str, tuple[tuple[Reference, str], ...]] = {}
    unresolved: list[Unresolved] = []
    for statement in statements:
        mine: list[tuple[Reference, str]] = []
        for reference in statement.references:
            target = directory.find(reference, origin=statement)
            if target is not None:
                found.append((statement, reference, target))
                mine.append((reference, target.id))
            elif reference.reference or reference.identifier:
                unresolved.append(
                    Unresolved(statement.id, reference.element, reference.reference or reference.identifier)
                )
        if mine:
            resolved[statement.id] = tuple(mine)
    return found, resolved, unresolved


def _said(statement: Statement, directory: Directory, attribution: Attribution, received_at: datetime) -> Said:
    concept = _concept(statement, directory)
    return said(statement, concept, attribution, received_at, groups_of(statement, concept))


def _concept(statement: Statement, directory: Directory) -> CodedText | None:
    """The statement's own concept, or that of the medication or device it refers to, or the name shown beside it."""
    if statement.concept is not None and statement.concept.display:
        return statement.concept
    for reference in statement.references:
        if reference.element.partition("/")[0] not in _NAMING:
            continue
        target = directory.find(reference, origin=statement)
        if target is not None and target.concept is not None and target.concept.display:
            return target.concept
        if reference.display:
            return CodedText(reference.display)
    return statement.concept


def _resolve(
    items: list[Said], replaced: Mapping[str, str], rulings: Rulings, moment: Moment, mint: IdMint
) -> tuple[dict[str, Fact], dict[str, str], dict[str, Conflict], dict[str, Decision]]:
    history = {item.id: "superseded" for item in items if item.id in replaced}
    history |= {item.id: "entered-in-error" for item in items if item.in_error}
    counting = [item for item in items if item.id not in history]
    doubted = doubted_sources(counting)
    ended, disputes = _negations(counting, doubted)
    history |= dict.fromkeys(ended, "superseded")
    compared = [*ruled_comparisons(rulings, counting), *comparisons(counting, doubted)]
    clusters = Clusters(counting, compared)
    edges: dict[str, Comparison] = {}
    for comparison in clusters.joined:
        for side in (comparison.left, comparison.right):
            best = edges.get(side.id)
            if best is None or (comparison.quality, comparison.rule) > (best.quality, best.rule):
                edges[side.id] = comparison

    facts: dict[str, Fact] = {}
    fact_of: dict[str, str] = {}
    conflicts: dict[str, Conflict] = {}
    past = _past_of(items, history, replaced) | ended
    for cluster in clusters:
        ids = {item.id for item in cluster}
        old = {id: why for id, why in history.items() if past.get(id) in ids and id not in ids}
        gone = {id: history[id] for id in ids & history.keys()}
        if len(gone) == len(ids):
            continue  # nothing of it counts any more: the statements stay, no fact is left
        mine = [edges[id] for id in sorted(ids) if id in edges]
        weakest = max(mine, key=lambda c: (c.quality, c.rule), default=None)
        fact, found = merge(
            cluster,
            {**old, **gone},
            quality=weakest.quality if weakest else Quality.CONFIRMED,
            rule=weakest.rule if weakest else "single",
            rulings=rulings,
            true_at=moment.true_at,
            mint=mint,
        )
        facts[fact.id] = fact
        conflicts |= {conflict.id: conflict for conflict in found}
        fact_of |= dict.fromkeys([*fact.members, *(id for id, _ in fact.history)], fact.id)
    facts, conflicts = _between_facts(facts, fact_of, conflicts, disputes, mint)
    for conflict in _identity_conflicts(facts, counting, doubted, mint):
        conflicts[conflict.id] = conflict
        facts[conflict.fact] = _contested(facts[conflict.fact], conflict)
    near = [c for c in compared if _near_miss(c) and (c.ruling is not None or rulings.about(c.left, c.right) is None)]
    decisions = {d.id: d for d in (_decision(c, mint) for c in (*clusters.joined, *clusters.refused, *near))}
    order = dict(sorted(facts.items()))
    return order, fact_of, dict(sorted(conflicts.items())), dict(sorted(decisions.items()))


def _past_of(items: list[Said], history: Mapping[str, str], replaced: Mapping[str, str]) -> dict[str, str]:
    """For each statement that no longer counts, the statement whose fact keeps it in its history."""
    past: dict[str, str] = {}
    named: dict[tuple[Kind, str], str] = {}
    for item in items:
        if item.id not in history:
            for key in (*sorted(item.keys), item.name):
                if key:
                    named.setdefault((item.kind, key), item.id)
    for item in items:
        if item.id in replaced:
            past[item.id] = replaced[item.id]
        elif item.in_error:
            for key in (*sorted(item.keys), item.name):
                if (item.kind, key) in named:
                    past[item.id] = named[item.kind, key]
                    break
    return past


def _negations(items: list[Said], doubted: frozenset[frozenset[str]]) -> tuple[dict[str, str], list[tuple[Said, Said]]]:
    """Statements of "no known …" that a later first reaction ended (id → that reaction's), and the pairs that
    contradict each other. Sources that may speak of two persons do neither."""
    denials = [(item, kind) for item in items if (kind := category(item)) is not None]
    ended: dict[str, str] = {}
    disputes: list[tuple[Said, Said]] = []
    if not denials:
        return ended, disputes
    allergies = [i for i in items if i.kind is Kind.ALLERGY and not i.denies]
    for denial, kind in denials:
        against = [
            allergy
            for allergy in allergies
            if covers(kind, allergy) and frozenset({denial.source, allergy.source}) not in doubted
        ]
        if any(ended_by(denial, allergy) for allergy in against) and all(ended_by(denial, a) for a in against):
            ended[denial.id] = min(against, key=lambda a: (a.stated_s or 0, a.digest)).id
        else:
            disputes += [(denial, allergy) for allergy in against if not ended_by(denial, allergy)]
    return ended, disputes


def _between_facts(
    facts: dict[str, Fact],
    fact_of: Mapping[str, str],
    conflicts: dict[str, Conflict],
    disputes: list[tuple[Said, Said]],
    mint: IdMint,
) -> tuple[dict[str, Fact], dict[str, Conflict]]:
    """A "no known …" against an allergy is one conflict between two facts, shown on both."""
    pairs: dict[tuple[str, str], None] = {}
    for denial, allergy in disputes:
        a, b = fact_of.get(allergy.id), fact_of.get(denial.id)
        if a and b and a != b:
            pairs[a, b] = None
    by_allergy: dict[str, list[str]] = defaultdict(list)
    for a, b in pairs:
        by_allergy[a].append(b)
    for a, denials in sorted(by_allergy.items()):
        sides = [Side(facts[a].display, facts[a].members)]
        sides += [Side(facts[b].display, facts[b].members) for b in sorted(denials)]
        conflict = Conflict(
            mint.id("cf", (a, ConflictKind.EXISTENCE, "existence")),
            ConflictKind.EXISTENCE,
            a,
            "existence",
            tuple(sorted(sides, key=lambda side: side.says)),
            "no-known-and-known",
        )
        conflicts[conflict.id] = conflict
        for id in (a, *denials):
            facts[id] = _contested(facts[id], conflict)
    return facts, conflicts


def _identity_conflicts(
    facts: Mapping[str, Fact], items: Iterable[Said], doubted: frozenset[frozenset[str]], mint: IdMint
) -> list[Conflict]:
    """Sources that may speak of two persons: one conflict for each pair, on the first one's demographic fact."""
    people: dict[str, list[Said]] = defaultdict(list)
    for item in items:
        if item.kind is Kind.DEMOGRAPHIC:
            people[item.source].append(item)
    found = []
    for pair in sorted(doubted, key=sorted):
        sides = tuple(Side(source, tuple(sorted(s.id for s in people[source]))) for source in sorted(pair))
        fact = next(f.id for f in facts.values() if set(f.members) & set(sides[0].items))
        id = mint.id("cf", (fact, ConflictKind.IDENTITY, *sorted(pair)))
        rule = "birth-date-and-family-name-differ"
        found.append(Conflict(id, ConflictKind.IDENTITY, fact, "identity", sides, rule))
    return found


def _contested(fact: Fact, conflict: Conflict) -> Fact:
    """The fact with one more conflict, which counts as part of its content."""
    digest = content_digest(fact.digest, *(side.says for side in conflict.sides))
    return msgspec.structs.replace(fact, conflicts=(*fact.conflicts, conflict.id), digest=digest)


def _near_miss(comparison: Comparison) -> bool:
    """A shared key and one contradiction, an uncertain pair that waits for a person, or what a person told apart."""
    return comparison.verdict is Verdict.REJECT and (
        comparison.quality is Quality.UNCERTAIN or comparison.rule in _NEAR_MISSES or comparison.ruling is not None
    )


def _decision(comparison: Comparison, mint: IdMint) -> Decision:
    left, right = sorted((comparison.left.id, comparison.right.id))
    return Decision(
        mint.id("rd", (left, right)),
        left,
        right,
        comparison.verdict,
        comparison.quality,
        comparison.rule,
        comparison.evidence,
        by=comparison.ruling.by if comparison.ruling else "",
        decided_at=comparison.ruling.decided_at if comparison.ruling else None,
    )


def _talk(held: Held, moment: Moment) -> tuple[dict[str, Session], dict[str, Memory]]:
    """Sessions and memories as they were known by then."""
    known = moment.known_at
    sessions = {}
    for session in held.sessions:
        messages = tuple(m for m in session.messages if known is None or m.received_at <= known)
        if messages or known is None:
            sessions[session.id] = msgspec.structs.replace(session, messages=messages)
    now = moment.true_at
    memories = [
        m
        for m in held.memories
        if (known is None or m.received_at <= known) and (m.said_at is None or m.said_at <= now)
    ]
    return sessions, {m.id: m for m in sorted(memories, key=lambda m: (m.session, m.message, m.start, m.kind, m.id))}


def _graph_hash(facts: Iterable[Fact], memories: Iterable[Memory], links: Iterable[Link]) -> str:
    """A sum of content hashes modulo 2^256: order-free, and an item can be added or taken out alone."""
    total = 0
    for fact in facts:
        total += int(content_digest("fact", fact.digest), 16)
    for memory in memories:
        content = (memory.quote, memory.kind, memory.polarity, memory.experiencer, memory.change, memory.since)
        said_at = memory.said_at.isoformat() if memory.said_at else ""
        total += int(content_digest("memory", canonical_bytes(content), memory.attribution.kind, said_at), 16)
    for link in links:
        total += int(content_digest("link", link.digest), 16)
    return f"{total % (1 << 256):064x}"

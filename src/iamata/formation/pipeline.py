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
from iamata.formation.extraction.passages import READER as EXTRACTED_BY
from iamata.formation.learned import with_evidence
from iamata.formation.learned.relearning import as_learned
from iamata.formation.mentioned import Mentioned, Mentions, mentioned, still_said, without_repeats
from iamata.formation.recorded import adjudication
from iamata.formation.recorded.cells import Cells
from iamata.formation.recorded.concepts import groups_of, sides_of
from iamata.formation.recorded.identity import doubted_sources
from iamata.formation.recorded.inferred import inferred
from iamata.formation.recorded.relationships import explicit
from iamata.formation.recorded.replacement import replaced_with_documents
from iamata.formation.recorded.resolving import Around, Resolved, kept_by_name, past_of, resolve
from iamata.formation.recorded.returned import any_copies, returned
from iamata.formation.recorded.rulings import Rulings, in_force
from iamata.formation.recorded.said import Said, said
from iamata.formation.recorded.supersession import deleted, superseded
from iamata.formation.recorded.things import Things
from iamata.formation.references import Directory
from iamata.formation.rereadings import as_read
from iamata.model.attribution import Attribution
from iamata.model.clinical_time import Clock
from iamata.model.coding import CodedText
from iamata.model.document import Document
from iamata.model.fact import Fact
from iamata.model.graph import Graph, Held, Unresolved
from iamata.model.identifiers import IdMint, canonical_bytes, content_digest
from iamata.model.link import Link
from iamata.model.memory import Memory, Temporality
from iamata.model.passage import Passage
from iamata.model.session import Session
from iamata.model.sighting import Sighting
from iamata.model.stamp import Moment
from iamata.model.statement import SUPPORTING_KINDS, Aspect, Kind, Label, Reference, Statement

# Changes whenever the same statements could fold to something else.
FOLD_VERSION = f"fold/5 {EXTRACTED_BY}"
# References that stand for the concept of their statement.
_NAMING = frozenset({"medicationReference", "medication", "device"})
# A date later than `true_at` on one of these means that nobody had said it by then; on one of the others that it had
# not happened, which leaves out everything but what can be said beforehand.
_SAID_CLOCKS = frozenset(
    {Clock.ASSERTED, Clock.AUTHORED, Clock.ORDERED, Clock.ISSUED, Clock.STATUS_CHANGED, Clock.SIGNED, Clock.VERIFIED}
)
_HAPPENED_CLOCKS = frozenset({Clock.EFFECTIVE, Clock.OCCURRED, Clock.HANDED_OVER})
_SAID_BEFOREHAND = frozenset({Kind.APPOINTMENT, Kind.CARE_PLAN, Kind.GOAL, Kind.INSURANCE, Kind.ORDER, Kind.ENCOUNTER})


# A reference that leads somewhere: whose it is, as sent, and to what.
Found = tuple[Statement, Reference, Statement]


class Fold(msgspec.Struct, frozen=True, kw_only=True):
    """A graph, and what it was worked out from: enough to see what a few more statements change (`growth`).

    `touching` are the references that lead somewhere, by either end; `items` what each statement
    that can be a fact comes to, by id; `copies` says whether anything held is a copy of what may come.
    """

    held: Held
    graph: Graph
    directory: Directory
    resolver: Resolver
    replaced: Mapping[str, str]
    touching: dict[str, list[Found]]
    items: dict[str, Said]
    around: Around
    cells: Cells
    things: Things
    looked_for: set[tuple[Kind, str]]
    copies: bool


def form(
    held: Held,
    *,
    moment: Moment,
    mint: IdMint,
    visible: Callable[[tuple[Label, ...]], bool] = lambda labels: True,
    mentions: Mentions | None = None,
) -> Graph:
    """Fold what is held. `visible` says whether an item with these labels exists for the reader; `mentions` keeps from
    fold to fold what passages of this patient mention, which changes nothing but how long it takes."""
    return fold(held, moment=moment, mint=mint, visible=visible, mentions=mentions).graph


def fold(
    held: Held,
    *,
    moment: Moment,
    mint: IdMint,
    visible: Callable[[tuple[Label, ...]], bool] = lambda labels: True,
    mentions: Mentions | None = None,
) -> Fold:
    """As `form`, with what it took."""
    raw, held = held, as_read(held, moment.known_at)
    sightings = sightings_of(held, held.sightings, moment)
    rulings = in_force(held.rulings, moment.known_at)
    known_talk = [m for m in held.ever_learned if moment.known_at is None or m.received_at <= moment.known_at]
    back = returned(held.statements, known_talk, sightings)
    statements = [
        s
        for s in held.statements
        if s.id in sightings
        and s.id not in back
        and visible(s.labels)
        and dated_by(s, moment)
        and s.source not in rulings.foreign
    ]
    statements.sort(key=lambda s: s.digest)
    passages = {p.id: p for p in held.passages if p.id in sightings and visible(p.labels)}
    last_seen = {s.id: max(seen.received_at for seen in sightings[s.id]) for s in statements}
    replaced = superseded(statements, last_seen)
    gone = deleted(statements, replaced)
    gone |= {(s.source, s.provenance.record.key) for s in back.values() if s.provenance.record.key}
    passages = {id: p for id, p in passages.items() if (p.provenance.source, p.provenance.record.key) not in gone}
    urls = {s.id: called(sightings[s.id]) for s in statements}
    directory = Directory(statements, superseded=frozenset(replaced), urls=urls)
    resolver = Resolver(statements, directory, dict(held.sources))
    found, references, unresolved = references_of(statements, directory)
    seen_in = {id: {seen.document for seen in all} for id, all in sightings.items()}
    outdated = replaced_with_documents({s.id: s for s in statements}, found, seen_in, replaced)
    passages = _standing(passages, [s for s in statements if s.id in outdated], seen_in)
    attributions = {s.id: resolver.resolve(s) for s in statements}
    attributions |= {passage.id: resolver.resolve(as_statement(passage)) for passage in passages.values()}
    outdated_ids = replaced.keys() | outdated.keys()
    told = mentions_of(passages, statements, outdated_ids, attributions, sightings, moment, rulings, mint, mentions)
    if told.statements:
        statements = sorted([*statements, *told.statements], key=lambda s: s.digest)
        attributions |= told.attributions
        sightings |= told.sightings

    items = [
        said_by(s, directory, attributions[s.id], sightings[s.id][0].received_at)
        for s in statements
        if s.kind not in SUPPORTING_KINDS
    ]
    counting = [item for item in items if item.id not in outdated_ids and not item.in_error]
    around = Around(
        outdated=outdated_ids,
        past=past_of(items, replaced, outdated_ids),
        doubted=doubted_sources(counting),
        rulings=rulings,
        answers=adjudication.in_force(held.adjudications, moment.known_at),
        true_at=moment.true_at,
        mint=mint,
    )
    by_id = {item.id: item for item in items}
    cells = Cells(rulings, around.past)
    cells.add(items)
    resolved = Resolved()
    for cell in cells:
        resolved.add(resolve(cell, around))
    facts, fact_of = resolved.facts, resolved.fact_of
    links = explicit(found, facts, fact_of, mint=mint)
    things = Things(facts.values(), by_id)
    links |= inferred(things, facts, links, mint=mint)
    sessions, memories, hidden = talk(held, moment, rulings)
    links |= spoken(memories, facts, mint)
    shown = {s.id for s in held.statements if visible(s.labels)} | passages.keys()
    speaking = {seen.document for id in shown for seen in sightings.get(id, ())}
    known = moment.known_at
    holding = {seen.document for seen in held.sightings if known is None or seen.received_at <= known}
    graph = Graph(
        subject=held.subject,
        version=held.version,
        moment=moment,
        hash=graph_hash(facts.values(), memories.values(), links.values()),
        statements={s.id: s for s in statements},
        passages=passages,
        sightings={id: sightings[id] for id in [*(s.id for s in statements), *passages]},
        documents=documents_of(held, held.documents, moment, holding=holding, speaking=speaking),
        sessions=sessions,
        memories=memories,
        attributions=attributions,
        facts=dict(sorted(facts.items())),
        fact_of=fact_of,
        links=dict(sorted(links.items())),
        conflicts=dict(sorted(resolved.conflicts.items())),
        decisions=dict(sorted(resolved.decisions.items())),
        unresolved=tuple(sorted(unresolved)),
        references=references,
        hidden=hidden,
    )
    return Fold(
        held=raw,
        graph=graph,
        directory=directory,
        resolver=resolver,
        replaced=replaced,
        touching=touching(found),
        items=by_id,
        around=around,
        cells=cells,
        things=things,
        looked_for=kept_by_name(items, outdated_ids, replaced),
        copies=any_copies(held.statements),
    )


def sightings_of(held: Held, sightings: Iterable[Sighting], moment: Moment) -> dict[str, tuple[Sighting, ...]]:
    """Item id → those of these sightings that were known by then and whose source was not retracted since, earliest
    first."""
    known = moment.known_at
    retracted = _retracted(held, moment)
    source_of = {document.id: document.source for document in held.documents} if retracted else {}
    seen: dict[str, list[Sighting]] = defaultdict(list)
    for sighting in sightings:
        if known is not None and sighting.received_at > known:
            continue
        until = retracted.get(source_of.get(sighting.document, ""))
        if until is None or sighting.received_at > until:
            seen[sighting.item].append(sighting)
    return {id: tuple(all) if len(all) == 1 else in_order(all) for id, all in seen.items()}


def touching(found: Iterable[Found]) -> dict[str, list[Found]]:
    """The references of or to each statement, by id."""
    ends: dict[str, list[Found]] = defaultdict(list)
    for each in found:
        ends[each[0].id].append(each)
        if each[2].id != each[0].id:
            ends[each[2].id].append(each)
    return ends


def called(sightings: Iterable[Sighting]) -> set[str]:
    """What the documents called an item."""
    return {seen.url for seen in sightings if seen.url}


def spoken(memories: Mapping[str, Memory], facts: Mapping[str, Fact], mint: IdMint) -> dict[str, Link]:
    """The links of memories to facts, by id."""
    if not memories:
        return {}
    return {link.id: link for link in linking.link(memories.values(), facts.values(), mint=mint)}


def in_order(sightings: Iterable[Sighting]) -> tuple[Sighting, ...]:
    return tuple(sorted(sightings, key=lambda s: (s.received_at, s.document, s.place)))


def _retracted(held: Held, moment: Moment) -> dict[str, datetime]:
    """Source → the moment up to which it was taken out, as known by then."""
    retracted: dict[str, datetime] = {}
    for retraction in held.retractions:
        if moment.known_at is None or retraction.at <= moment.known_at:
            retracted[retraction.source] = max(retraction.at, retracted.get(retraction.source, retraction.at))
    return retracted


def documents_of(
    held: Held, documents: Iterable[Document], moment: Moment, *, holding: Set[str], speaking: Set[str]
) -> dict[str, Document]:
    """Those of these documents that were known by then, but those of a retracted source and those of which all items
    are hidden.

    `holding` are those with an item, `speaking` those with one that counts for the reader. A document without items is
    not hidden by their labels, only by a retraction.
    """
    known, retracted = moment.known_at, _retracted(held, moment)
    found = {}
    for document in documents:
        until = retracted.get(document.source)
        counts = document.id not in holding and (until is None or document.received_at > until)
        if (known is None or document.received_at <= known) and (document.id in speaking or counts):
            found[document.id] = document
    return found


def dated_by(statement: Statement, moment: Moment) -> bool:
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


def as_statement(passage: Passage) -> Statement:
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


def _standing(
    passages: Mapping[str, Passage], outdated: Iterable[Statement], seen_in: Mapping[str, Set[str]]
) -> dict[str, Passage]:
    """The passages but those of records that were replaced with their document, and that stand in no other one."""
    gone = {(s.provenance.source, s.provenance.record.key) for s in outdated if s.provenance.record.key}
    documents = {document for s in outdated for document in seen_in[s.id]}
    return {
        id: p
        for id, p in passages.items()
        if not ((p.provenance.source, p.provenance.record.key) in gone and seen_in[id] <= documents)
    }


def mentions_of(
    passages: Mapping[str, Passage],
    statements: Iterable[Statement],
    outdated: Set[str],
    attributions: Mapping[str, Attribution],
    sightings: Mapping[str, tuple[Sighting, ...]],
    moment: Moment,
    rulings: Rulings,
    mint: IdMint,
    kept: Mentions | None,
) -> Mentioned:
    """What those of these passages mention that still count, by the clinical now. `statements` are those that can hold
    one of the passages."""
    if not passages:
        return Mentioned()
    telling = [
        p for p in still_said(passages, statements, outdated, sightings) if p.provenance.source not in rulings.foreign
    ]
    found = mentioned(telling, attributions, sightings, mint=mint, kept=kept or Mentions())
    alone = without_repeats(found.statements, statements, sightings, found.sightings)
    said = tuple(s for s in alone if dated_by(s, moment))
    return Mentioned(said, {s.id: found.attributions[s.id] for s in said}, {s.id: found.sightings[s.id] for s in said})


def references_of(
    statements: Iterable[Statement], directory: Directory
) -> tuple[list[Found], dict[str, tuple[tuple[Reference, str], ...]], list[Unresolved]]:
    found: list[Found] = []
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


def said_by(statement: Statement, directory: Directory, attribution: Attribution, received_at: datetime) -> Said:
    concept = _concept(statement, directory)
    groups, sides = groups_of(statement, concept), sides_of(statement, concept)
    return said(statement, concept, attribution, received_at, groups, sides)


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


def talk(held: Held, moment: Moment, rulings: Rulings) -> tuple[dict[str, Session], dict[str, Memory], dict[str, str]]:
    """Sessions and memories as they were known by then, and the rulings by which memories are left out."""
    known = moment.known_at
    sessions = {}
    for session in held.sessions:
        messages = tuple(m for m in session.messages if known is None or m.received_at <= known)
        if messages or known is None:
            sessions[session.id] = msgspec.structs.replace(session, messages=messages)
    now = moment.true_at
    memories = [
        m
        for m in as_learned(held, known)
        if (known is None or m.received_at <= known) and (m.said_at is None or m.said_at <= now)
    ]
    memories = with_evidence(memories, (r for r in held.readings if known is None or r.received_at <= known))
    memories.sort(key=lambda m: (m.session, m.message, m.start, m.kind, m.id))
    hidden = {m.id: ruling.id for m in memories if (ruling := rulings.hides(m)) is not None}
    memories = [msgspec.structs.replace(m, temporality=Temporality.PAST) if rulings.is_past(m) else m for m in memories]
    return sessions, {m.id: m for m in memories if m.id not in hidden}, dict(sorted(hidden.items()))


def graph_hash(facts: Iterable[Fact], memories: Iterable[Memory], links: Iterable[Link]) -> str:
    """A sum of content hashes modulo 2^256: order-free, and an item can be added or taken out alone."""
    total = 0
    for items in (facts, memories, links):
        total += sum(map(content_of, items))
    return hash_text(total)


def hash_text(total: int) -> str:
    return f"{total % (1 << 256):064x}"


def content_of(item: Fact | Memory | Link) -> int:
    """What an item of the graph adds to its hash."""
    match item:
        case Fact():
            return int(content_digest("fact", item.digest), 16)
        case Link():
            return int(content_digest("link", item.digest), 16)
    content = (item.quote, item.kind, item.polarity, item.experiencer, item.change, item.since)
    said_at = item.said_at.isoformat() if item.said_at else ""
    return int(content_digest("memory", canonical_bytes(content), item.attribution.kind, said_at), 16)

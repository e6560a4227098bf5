"""What does the file of one item tell, in which order of importance?

The story of a fact, its sources, its raw form; a statement, a memory, a conflict, a note. Every clinical line ends in a
citation. Pages of many items are `pages`' business, what fits into a budget is `sheets`'.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from iamata.assembly.addresses import Target
from iamata.assembly.citations import Citations, citation, entry_words
from iamata.assembly.lines import against_words, conflict_words, fact_line, line, memory_line, source_line
from iamata.assembly.neighbours import newest_first
from iamata.assembly.phrases import headline, of_fact
from iamata.assembly.sheets import Block, Line, Part, Sheet
from iamata.assembly.speakers import attribution_of, author_words
from iamata.assembly.tree import RAW, Tree
from iamata.assembly.wording import name, quote
from iamata.model.fact import Fact
from iamata.model.link import Link, LinkSource, LinkType
from iamata.model.stamp import Moment
from iamata.model.statement import Statement

# Of one relation, or of one group of a directory's page, so many are told; the rest is named by number and address.
RELATED: Final = 12
_PIECE_CHARS: Final = 400
_SENTENCE = re.compile(r"(?<=[.!?;:])\s+")

# How a relation is called from its origin, and from its target. Between a memory and a fact it is told as talk.
_RELATIONS: Final[dict[LinkType, tuple[str, str]]] = {
    LinkType.PRESCRIBED_FOR: ("Prescribed for", "Treated with"),
    LinkType.TREATS: ("Treats", "Treated with"),
    LinkType.MONITORS: ("Monitors", "Monitored by"),
    LinkType.COMPLICATION_OF: ("Complication of", "Complications"),
    LinkType.RISK_FACTOR_FOR: ("Risk factor for", "Risk factors"),
    LinkType.MANIFESTATION_OF: ("Sign of", "Shows as"),
    LinkType.CAUSED_BY: ("Caused by", "Causes"),
    LinkType.ADVERSE_REACTION_TO: ("Reaction to", "Reactions to it"),
    LinkType.STOPPED_BECAUSE_OF: ("Stopped because of", "Led to stopping"),
    LinkType.REASON_FOR: ("Reason for", "Because of"),
    LinkType.EVIDENCE_FOR: ("Evidence for", "Evidence"),
    LinkType.RESULT_OF: ("Result of", "Results"),
    LinkType.BASED_ON: ("Based on", "Led to"),
    LinkType.REPLACES: ("Replaces", "Replaced by"),
    LinkType.PART_OF: ("Part of", "Includes"),
    LinkType.PERFORMED_DURING: ("At the visit", "Done at this visit"),
    LinkType.DOCUMENTED_IN: ("Documented in", "Documents"),
    LinkType.DERIVED_FROM: ("Derived from", "Used for"),
}
_ORDER: Final = {heading: place for place, pair in enumerate(_RELATIONS.values()) for heading in pair}


class Pen:
    """Writes lines of one sheet, keeping what each cites."""

    def __init__(self, tree: Tree, moment: Moment, citations: Citations) -> None:
        self.tree = tree
        self.moment = moment
        self.citations = citations

    def fact(self, fact: Fact, rank: int, *, before: str = "", sides: bool = False) -> Line:
        log = self.citations.log()
        text = fact_line(self.tree, fact, self.moment, self.citations, sides=sides)
        return Line(before + text, rank, self.citations.cited_since(log))

    def item(self, id: str, rank: int, before: str = "") -> Line:
        log = self.citations.log()
        text = line(self.tree, id, moment=self.moment, citations=self.citations)
        return Line(before + text, rank, self.citations.cited_since(log))

    def against(self, link: str, rank: int, before: str = "") -> Line:
        """What talk holds against a fact."""
        log = self.citations.log()
        text = against_words(self.tree, self.tree.graph.links[link], self.citations)
        return Line(before + text, rank, self.citations.cited_since(log))

    def say(self, text: str, rank: int, *items: str) -> Line:
        return Line(text + self.citations.cite(*items), rank, tuple(items))


def made(target: Target, title: str, blocks: Iterable[Block], parts: Iterable[Part], compact: Iterable[Line]) -> Sheet:
    return Sheet(
        address=target.address,
        title=title,
        blocks=tuple(block for block in blocks if block.lines),
        compact=tuple(compact),
        parts=tuple(parts),
    )


# One fact


def story(pen: Pen, fact: Fact, target: Target) -> Sheet:
    tree = pen.tree
    graph = tree.graph
    main = pen.fact(fact, 0)
    conflicts = tree.neighbours.conflicts.get(fact.id, [])
    against = [_conflict_line(pen, conflict.id, 1) for conflict in conflicts]
    told = {item for conflict in conflicts for side in conflict.sides for item in side.items}
    for link in tree.neighbours.against.get(fact.id, []):
        if not told & {link.origin, link.target}:
            against.append(pen.against(link.id, 1))
    talk = [pen.item(memory.id, 2) for _, memory in tree.neighbours.talk.get(fact.id, [])]
    related = list(_related(pen, fact))
    statements = newest_first([graph.statements[id] for id in fact.members if id in graph.statements])
    sources = [_source_line(pen, statement, 6, of=fact) for statement in statements]
    former = []
    for id, reason in sorted(fact.history, key=lambda pair: pair[0]):
        if id in graph.statements:
            former.append(_source_line(pen, graph.statements[id], 7, f"{name(reason) or 'history'}: "))
    blocks = [
        Block("", (main,)),
        Block("Conflicts", tuple(against)),
        Block("Said in conversation", tuple(talk)),
        *related,
        Block("Sources", tuple(sources)),
        Block("No longer counted", tuple(former)),
    ]
    parts = list(_fact_parts(tree, fact))
    compact = [pen.fact(fact, 0, sides=True), *talk]
    return made(target, headline(of_fact(graph, fact)), blocks, parts, compact)


def _conflict_line(pen: Pen, id: str, rank: int) -> Line:
    log = pen.citations.log()
    text = conflict_words(pen.tree, pen.tree.clashes[id], pen.citations, marked=True)
    return Line(text, rank, pen.citations.cited_since(log))


def _source_line(pen: Pen, statement: Statement, rank: int, before: str = "", *, of: Fact | None = None) -> Line:
    log = pen.citations.log()
    text = source_line(pen.tree, statement, of, pen.citations)
    return Line(before + text, rank, pen.citations.cited_since(log))


def _related(pen: Pen, fact: Fact) -> Iterator[Block]:
    """The items a fact is linked to, by relation, the newest first; an inferred link is said to be one."""
    tree = pen.tree
    graph = tree.graph
    found: dict[str, dict[str, Link]] = {}
    for link in tree.neighbours.links.get(fact.id, ()):
        names = _RELATIONS.get(link.type)
        other = link.target if link.origin == fact.id else link.origin
        if names is None or (other not in graph.facts and other not in graph.passages) or other == fact.id:
            continue
        heading = names[0] if link.origin == fact.id else names[1]
        known = found.setdefault(heading, {}).get(other)
        if known is None or known.source is not LinkSource.EXPLICIT_REFERENCE:
            found[heading][other] = link
    for heading in sorted(found, key=lambda heading: _ORDER[heading]):
        others = sorted(sorted(found[heading]), key=lambda id: tree.by_day.get(id, ""), reverse=True)
        lines = []
        for id in others[:RELATED]:
            inferred = found[heading][id].source is not LinkSource.EXPLICIT_REFERENCE
            before = "(link inferred) " if inferred else ""
            rank = 4 if inferred or heading in ("Done at this visit", "At the visit") else 3
            if id in graph.facts:
                lines.append(pen.fact(graph.facts[id], rank, before=before))
            else:
                lines.append(pen.item(id, 4, before))
        if len(others) > RELATED:
            raw = tree.address((*tree.places[fact.id], RAW))
            lines.append(Line(f"{len(others) - RELATED} more: {raw}", 5))
        yield Block(heading, tuple(lines))


def sources(pen: Pen, fact: Fact, target: Target) -> Sheet:
    """Every statement behind a fact: what it says, by whom and by which rule we think so, and where it stands."""
    graph = pen.tree.graph
    lines, parts = [], []
    reasons = dict(fact.history)
    held = [graph.statements[id] for id in (*fact.members, *reasons) if id in graph.statements]
    for statement in newest_first(held):
        lines += _testimony(pen, statement, reasons.get(statement.id, ""), 0)
        parts.append(Part("statements", _statement_value(pen.tree, statement, reasons.get(statement.id, "member"))))
    decisions = [d for d in graph.decisions.values() if d.left in graph.fact_of and graph.fact_of[d.left] == fact.id]
    merged = [
        Line(f"{d.verdict.value} ({d.quality.value}), by {name(d.by) or 'the engine'}: {name(d.rule)}", 2)
        for d in sorted(decisions, key=lambda d: d.id)
    ]
    title = f"Sources: {headline(of_fact(graph, fact))}"
    compact = [_source_line(pen, statement, 0) for statement in newest_first(held)]
    blocks = [Block("Statements", tuple(lines)), Block("Why they are one", tuple(merged))]
    return made(target, title, blocks, parts, compact)


def _testimony(pen: Pen, statement: Statement, reason: str, rank: int) -> list[Line]:
    tree = pen.tree
    lines = [_source_line(pen, statement, rank, f"{name(reason)}: " if reason else "")]
    attribution = attribution_of(tree, statement.id)
    because = f" because of {name(attribution.because)}" if attribution.because else ""
    who = author_words(tree, attribution, statement.source)
    rule = f"{attribution.certainty.value}, rule {name(attribution.rule)}{because}"
    words = f"{attribution.kind.value}, author {who} ({rule})"
    lines.append(pen.say(words, rank + 1, statement.id))
    for seen in sorted(tree.graph.sightings.get(statement.id, ())):
        received = seen.received_at.date().isoformat()
        where = f"seen in {seen.document} at {name(str(seen.place))}, received {received}"
        lines.append(pen.say(where, rank + 1, statement.id))
    return lines


def raw(pen: Pen, fact: Fact, target: Target) -> Sheet:
    """The whole fact as data; it has no other form."""
    return made(target, headline(of_fact(pen.tree.graph, fact)), (), _fact_parts(pen.tree, fact), ())


def _fact_parts(tree: Tree, fact: Fact) -> Iterator[Part]:
    graph = tree.graph
    yield Part("fact", fact_value(tree, fact), listed=False)
    for conflict in tree.neighbours.conflicts.get(fact.id, []):
        yield Part("conflicts", built(conflict), rank=1)
    for how, memory in tree.neighbours.talk.get(fact.id, []):
        yield Part("memories", {"how": how.value, **built(memory)}, rank=2)
    reasons = dict(fact.history)
    held = [graph.statements[id] for id in (*fact.members, *reasons) if id in graph.statements]
    for statement in newest_first(held):
        yield Part("statements", _statement_value(tree, statement, reasons.get(statement.id, "member")), rank=3)
    for link in tree.neighbours.links.get(fact.id, ()):
        other = link.target if link.origin == fact.id else link.origin
        where = {"address": tree.address(tree.places[other])} if other in tree.places else {}
        yield Part("links", {**built(link), **where}, rank=4)


def fact_value(tree: Tree, fact: Fact) -> dict[str, Any]:
    """A fact as data, with its address."""
    return {"address": tree.address(tree.places[fact.id], directory=True), **built(fact)}


def _statement_value(tree: Tree, statement: Statement, role: str) -> dict[str, Any]:
    seen = [built(sighting) for sighting in sorted(tree.graph.sightings.get(statement.id, ()))]
    return {
        "role": role,
        **built(statement),
        "attribution": built(attribution_of(tree, statement.id)),
        "sightings": seen,
    }


def built(value: Any) -> dict[str, Any]:
    """A noun as plain data, its names in camel case."""
    plain = _camel(msgspec.to_builtins(value, str_keys=True))
    assert isinstance(plain, dict)
    return plain


def _camel(value: Any) -> Any:
    if isinstance(value, dict):
        return {re.sub(r"_([a-z])", lambda m: m[1].upper(), str(key)): _camel(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_camel(inner) for inner in value]
    return value


def statement(pen: Pen, statement: Statement, target: Target) -> Sheet:
    lines = _testimony(pen, statement, "", 0)
    parts = [Part("statement", _statement_value(pen.tree, statement, "statement"), listed=False)]
    title = f"Statement: {name(statement.concept.display) if statement.concept else statement.kind.value}"
    return made(target, title, [Block("", tuple(lines))], parts, lines[:1])


# What is no fact


def memory(pen: Pen, target: Target) -> Sheet:
    tree = pen.tree
    memory = tree.graph.memories[target.item]
    log = pen.citations.log()
    main = Line(memory_line(tree, memory, pen.citations), 0, pen.citations.cited_since(log))
    about: dict[LinkType, list[Line]] = {}
    for how, id in tree.neighbours.facts_of.get(memory.id, []):
        about.setdefault(how, []).append(pen.fact(tree.graph.facts[id], 1))
    conflicts = tree.neighbours.conflicts.get(memory.id, [])
    blocks = [
        Block("", (main,)),
        Block("Conflicts", tuple(_conflict_line(pen, conflict.id, 1) for conflict in conflicts)),
        *(Block(f"In the record: it {_BEARS[how]} this", tuple(lines)) for how, lines in about.items()),
        Block("Where it was said", (pen.say(entry_words(citation(tree, memory.id)), 2, memory.id),)),
    ]
    parts = [Part("memory", {"address": target.address, **built(memory)}, listed=False)]
    parts += [Part("links", built(link), rank=1) for link in tree.neighbours.links.get(memory.id, ())]
    return made(target, "Said in conversation", blocks, parts, [main])


_BEARS: Final = {
    LinkType.SUPPORTS: "supports",
    LinkType.CONFLICTS: "conflicts with",
    LinkType.REFINES: "refines",
    LinkType.EXPLAINS: "explains",
    LinkType.ABOUT: "is about",
}


def conflict(pen: Pen, target: Target) -> Sheet:
    tree = pen.tree
    conflict = tree.clashes[target.item]
    main = _conflict_line(pen, conflict.id, 0)
    blocks = [Block("", (main,))]
    for side in conflict.sides:
        lines = [pen.item(id, 1) for id in side.items if id in tree.graph.statements or id in tree.graph.memories]
        blocks.append(Block(f"Side: {name(side.says) or 'something else'}", tuple(lines)))
    fact = tree.graph.resolve(conflict.fact)
    if fact is not None:
        blocks.append(Block("In the record", (pen.fact(fact, 2),)))
    title = f"Conflict on {conflict.kind.value}{': ' + name(fact.display) if fact else ''}"
    parts = [Part("conflict", {"address": target.address, **built(conflict)}, listed=False)]
    return made(target, title, blocks, parts, [pen.item(conflict.id, 0)])


def passage(pen: Pen, target: Target) -> Sheet:
    """A note, paragraph by paragraph; every paragraph is quoted on one line and stands as it was written."""
    tree = pen.tree
    passage = tree.graph.passages[target.item]
    attribution = attribution_of(tree, passage.id)
    who = author_words(tree, attribution, passage.provenance.source)
    lines = [pen.say(quote(piece), rank, passage.id) for rank, piece in enumerate(pieces(passage.text))]
    source = entry_words(citation(tree, passage.id))
    where = pen.say(f"{attribution.kind.value}, author {who}; {source}", len(lines), passage.id)
    blocks = [Block("", tuple(lines)), Block("Sources", (where,))]
    parts = [Part("passage", {"address": target.address, **built(passage)}, listed=False)]
    return made(target, name(passage.title) or "Note", blocks, parts, [pen.item(passage.id, 0)])


def pieces(text: str) -> list[str]:
    """Paragraphs; a long one in runs of whole sentences. None of a blank text."""
    return list(_pieces(text))


def _pieces(text: str) -> Iterator[str]:
    for paragraph in text.splitlines():
        if len(paragraph) <= _PIECE_CHARS:
            if paragraph.strip():
                yield paragraph
            continue
        run = ""
        for sentence in _SENTENCE.split(paragraph):
            if run and len(run) + len(sentence) > _PIECE_CHARS:
                yield run
                run = ""
            run = f"{run} {sentence}" if run else sentence
        if run.strip():
            yield run


def item_value(tree: Tree, fact: Fact) -> dict[str, Any]:
    """A fact in short, as data: enough to choose whether to open it."""
    return {
        "id": fact.id,
        "kind": fact.kind.value,
        "address": tree.address(tree.places[fact.id], directory=True),
        "display": fact.display,
        "polarity": fact.polarity.value,
        "standing": fact.standing.value,
        "currency": fact.currency.value,
        "date": tree.by_day.get(fact.id, ""),
        "conflicts": list(fact.conflicts),
        "supportedBy": [
            {"kind": s.kind.value, "role": s.role.value, "statements": s.statements} for s in fact.supported_by
        ],
    }

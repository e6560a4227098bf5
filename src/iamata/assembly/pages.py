"""What does each page of the tree tell? Finds the writer for an address, and writes the pages of many items.

A directory, the first page of a patient, a year, a source, a file as received, and what is missing. One item is told by
`stories`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from iamata.assembly.addresses import Target
from iamata.assembly.citations import Citations
from iamata.assembly.gaps import Overdue, overdue
from iamata.assembly.inferences import about, inference_line
from iamata.assembly.lines import session_line, turn_line
from iamata.assembly.sheets import Block, Line, Part, Sheet
from iamata.assembly.speakers import attribution_of
from iamata.assembly.stories import (
    RELATED,
    Pen,
    built,
    conflict,
    item_value,
    made,
    memory,
    passage,
    pieces,
    raw,
    sources,
    statement,
    story,
)
from iamata.assembly.tree import Path, Tree, What, hint_of
from iamata.assembly.wording import counted, name
from iamata.errors import NotFound
from iamata.model.fact import Currency, Fact
from iamata.model.stamp import Moment
from iamata.model.statement import Domain, Kind, Standing


def sheet(tree: Tree, target: Target, moment: Moment, citations: Citations) -> Sheet:
    """The sheet of any target of the tree. Raises NotFound for a target of another graph."""
    pen = Pen(tree, moment, citations)
    graph = tree.graph
    match target.what:
        case What.FACT | What.STORY:
            return story(pen, graph.facts[target.item], target)
        case What.SOURCES:
            return sources(pen, graph.facts[target.item], target)
        case What.RAW:
            return raw(pen, graph.facts[target.item], target)
        case What.STATEMENT:
            return statement(pen, graph.statements[target.item], target)
        case What.MEMORY:
            return memory(pen, target)
        case What.INFERENCE:
            return _inference(pen, target)
        case What.CONFLICT:
            return conflict(pen, target)
        case What.PASSAGE:
            return passage(pen, target)
        case What.DOCUMENT:
            return _document(pen, target)
        case What.SESSION:
            return _session(pen, target)
        case What.SOURCE:
            return _source(pen, target)
        case What.TIMELINE:
            return _timeline(pen, target)
        case What.DIRECTORY | What.INDEX:
            path = target.path[:-1] if target.what is What.INDEX else target.path
            if path[:1] == ("sources",) and len(path) == 2:
                return _source(pen, target)
            return _directory(pen, target, path)
    raise NotFound(what="address", id=target.address)


def _session(pen: Pen, target: Target) -> Sheet:
    """A conversation turn by turn, from its beginning; a budget keeps the end."""
    session = pen.tree.sessions[target.item]
    last = len(session.messages)
    lines: list[Line] = []
    for message in session.messages:
        for words in pieces(message.turn.text) or [""]:
            log = pen.citations.log()
            text = turn_line(message, pen.citations, words)
            lines.append(Line(text, last - message.index, pen.citations.cited_since(log)))
    parts = [Part("session", {"address": target.address, "id": session.id, "turns": last}, listed=False)]
    parts += [Part("messages", built(message), rank=last - message.index) for message in session.messages]
    title = session_line(session)
    return made(target, title, [Block("", tuple(lines))], parts, [Line(title, 0)])


def _inference(pen: Pen, target: Target) -> Sheet:
    """What an agent inferred, whole, then what it rests on as that stands now."""
    tree = pen.tree
    held = tree.inferred[target.item]
    log = pen.citations.log()
    main = Line(inference_line(tree, held, pen.citations, whole=True), 0, pen.citations.cited_since(log))
    rests = []
    for basis in held.entry.derived_from:
        mark = "changed since: " if basis.item in held.changed else ""
        known = basis.item in tree.places or tree.graph.resolve(basis.item) is not None
        rests.append(pen.item(basis.item, 1, mark) if known else Line(f"{mark}{about(tree, basis.item)}", 1))
    value = {"address": target.address, "stale": held.stale, "changed": list(held.changed), **built(held.entry)}
    blocks = [Block("", (main,)), Block("Derived from", tuple(rests))]
    return made(target, name(held.entry.title), blocks, [Part("inference", value, listed=False)], [main, *rests])


def _document(pen: Pen, target: Target) -> Sheet:
    tree = pen.tree
    graph = tree.graph
    document = graph.documents[target.item]
    held = sorted({graph.fact_of[s.item] for s in _seen_in(tree, document.id) if s.item in graph.fact_of})
    facts = [graph.facts[id] for id in held if id in graph.facts]
    counts = ", ".join(f"{counted(n, 'item')} of {kind}" for kind, n in _kinds(facts))
    lines = [pen.item(document.id, 0)]
    if counts:
        lines.append(pen.say(f"holds {counts}", 1, document.id))
    newest = sorted(facts, key=lambda fact: (tree.by_day.get(fact.id, ""), fact.id), reverse=True)
    told = [pen.fact(fact, 2) for fact in newest[: 4 * RELATED]]
    if len(newest) > len(told):
        told.append(Line(f"{len(newest) - len(told)} more: browse {tree.root}/", 3))
    parts = [Part("document", {"address": target.address, **built(document)}, listed=False)]
    parts += [Part("items", item_value(tree, fact), rank=1) for fact in newest]
    return made(target, "File as received", [Block("", tuple(lines)), Block("In it", tuple(told))], parts, lines)


def _seen_in(tree: Tree, document: str) -> Iterator[Any]:
    for sightings in tree.graph.sightings.values():
        for sighting in sightings:
            if sighting.document == document:
                yield sighting


def _kinds(facts: Iterable[Fact]) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for fact in facts:
        kind = fact.kind.value.replace("_", " ")
        counts[kind] = counts.get(kind, 0) + 1
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def _source(pen: Pen, target: Target) -> Sheet:
    tree = pen.tree
    graph = tree.graph
    source = target.item
    statements = [s for s in graph.statements.values() if s.source == source]
    facts = {graph.fact_of[s.id] for s in statements if s.id in graph.fact_of}
    counts = ", ".join(f"{n} {kind}" for kind, n in _kinds(graph.facts[id] for id in facts if id in graph.facts))
    documents = sorted((d for d in graph.documents.values() if d.source == source), key=lambda d: (d.received_at, d.id))
    held = f"{counted(len(statements), 'statement')}, {counted(len(facts), 'fact or event', 'facts and events')}"
    summary = f"{name(source)}: {held}"
    lines = [Line(f"{summary}{' (' + counts + ')' if counts else ''}", 0)]
    files = [pen.item(document.id, 1) for document in reversed(documents)]
    parts = [
        Part("source", {"address": target.address, "name": source, "statements": len(statements)}, listed=False),
        *(Part("documents", built(document), rank=1) for document in documents),
    ]
    blocks = [Block("", tuple(lines)), Block("Files", tuple(files))]
    return made(target, f"Source: {name(source)}", blocks, parts, [*lines, *files])


def _timeline(pen: Pen, target: Target) -> Sheet:
    """Everything dated in one year, from its beginning; a budget keeps the end."""
    tree = pen.tree
    year = target.item
    facts = in_year(tree, year)
    ranks = _time_ranks(facts)
    lines = []
    for fact, rank in zip(facts, ranks, strict=True):
        said = pen.fact(fact, rank)
        day = tree.by_day[fact.id]
        before = f"{'' if day in said.text else day + ' '}{fact.kind.value.replace('_', ' ')}: "
        lines.append(Line(before + said.text, rank, said.cites))
    parts = [Part("items", item_value(tree, fact), rank=rank) for fact, rank in zip(facts, ranks, strict=True)]
    return made(target, year, [Block("", tuple(lines))], parts, lines)


# Directories


def _directory(pen: Pen, target: Target, path: Path) -> Sheet:
    tree = pen.tree
    if path == ():
        return _patient(pen, target)
    if path == ("gaps",):
        return _gaps(pen, target)
    graph = tree.graph
    title = "/".join(path).replace("_", " ")
    lines: list[Line] = []
    parts: list[Part] = []
    blocks: list[Block] = []
    for heading, ids in _groups(tree, path):
        told: list[Line] = []
        for id in ids:
            if id in tree.clashes and id not in graph.conflicts:
                continue  # told below, each by the line of its fact
            rank = len(lines) + len(told)
            told.append(pen.item(id, rank, _of_how_many(tree, id) if heading == _NEWEST else ""))
            parts.append(Part("items", _value_of(tree, id), rank=rank))
        lines += told
        blocks.append(Block(heading, tuple(told)))
    if path == ("conflicts",):
        spoken = [pen.item(id, len(lines) + n) for n, id in enumerate(sorted(tree.neighbours.against))]
        lines += spoken
        blocks.append(Block("Said against the record", tuple(spoken)))
        parts += [
            Part("saidAgainst", item_value(tree, graph.facts[id]), rank=len(parts))
            for id in sorted(tree.neighbours.against)
        ]
    more = [Line(f"{place}: {words}", 10_000) for place, words in _ways(tree, path)]
    if not lines and not more:
        nothing = Line(nothing_words(path), 0)
        return made(target, title, [Block("", (nothing,))], [], [nothing])
    return made(target, title, [*blocks, Block("", tuple(more))], parts, lines or more)


def _ways(tree: Tree, path: Path) -> Iterator[tuple[str, str]]:
    """What the lines of a directory's page do not show: its years and sources, each with what is there."""
    for place in tree.directories.get(path, ()):
        match place.what:
            case What.TIMELINE:
                yield place.name, counted(len(in_year(tree, place.item)), "dated item")
            case What.SOURCE:
                held = sum(statement.source == place.item for statement in tree.graph.statements.values())
                yield f"{place.name}/", f"{name(place.item)}, {counted(held, 'statement')}"
            case _:
                pass


def in_year(tree: Tree, year: str) -> list[Fact]:
    """The facts and events that are dated in a year, day by day; of one day the visit first, its claims last."""
    facts = [fact for id, fact in tree.graph.facts.items() if tree.by_day[id][:4] == year]
    return sorted(facts, key=lambda fact: (tree.by_day[fact.id], _of_a_day(fact), fact.id))


def _of_a_day(fact: Fact) -> int:
    return _DAY.index(fact.kind) if fact.kind in _DAY else len(_DAY) * (2 if fact.domain is Domain.FINANCIAL else 1)


_DAY: Final = (
    Kind.ENCOUNTER,
    Kind.CONDITION,
    Kind.ALLERGY,
    Kind.PROCEDURE,
    Kind.MEDICATION,
    Kind.MEDICATION_EVENT,
    Kind.IMMUNIZATION,
    Kind.REPORT,
    Kind.OBSERVATION,
)


def _time_ranks(facts: list[Fact]) -> list[int]:
    """A budget keeps the newest, and what is clinical before what is not."""
    last = len(facts)
    return [last - n + (last if fact.domain is not Domain.CLINICAL else 0) for n, fact in enumerate(facts)]


def nothing_words(path: Path) -> str:
    """What an empty directory says: that nothing is recorded, which is not that there is nothing."""
    if path == ("allergies",):
        return 'No allergy information recorded. This is not the same as "no known allergies".'
    if not path:
        return "Nothing recorded of this patient."
    what = path[-1].replace("_", " ")
    return f"Nothing recorded under {what}."


_NEWEST: Final = "Newest of each test"


def _of_how_many(tree: Tree, id: str) -> str:
    n = len(list(under(tree, tree.places[id][:-1])))
    return f"(newest of {n}) " if n > 1 else ""


def _groups(tree: Tree, path: Path) -> Iterator[tuple[str, list[str]]]:
    """What the page of a directory tells, by group. Of a test only the newest result, unless it is the directory."""
    apart = (What.SOURCE, What.TIMELINE)
    here = [place.item for place in tree.directories.get(path, ()) if place.item and place.what not in apart]
    if here:
        yield "", here
    tests = path in (("labs",), ("vitals",), ("others", "observation"), ("social_history",))
    newest = []
    for place in tree.directories.get(path, ()):
        if place.what is not What.DIRECTORY:
            continue
        below = list(under(tree, (*path, place.name)))
        if not below:
            continue
        if tests and place.name not in ("denied", "entered_in_error"):
            newest.append(below[0])
        else:
            yield place.name.replace("_", " "), below
    if newest:
        yield _NEWEST, newest


def under(tree: Tree, path: Path) -> Iterator[str]:
    """The ids of all items below a directory, in the order of the tree. Statements of supporting kinds are left out."""
    for place in tree.directories.get(path, ()):
        if place.what is What.DIRECTORY:
            yield from under(tree, (*path, place.name))
        elif place.what not in (What.TIMELINE, What.SOURCE, What.STATEMENT) and place.item:
            yield place.item


def _value_of(tree: Tree, id: str) -> dict[str, Any]:
    graph = tree.graph
    if id in graph.facts:
        return item_value(tree, graph.facts[id])
    if id in tree.sessions:
        session = tree.sessions[id]
        return {"address": tree.address(tree.places[id]), "id": session.id, "turns": len(session.messages)}
    if id in tree.inferred:
        held = tree.inferred[id]
        stale = {"stale": held.stale, "changed": list(held.changed)}
        return {"address": tree.address(tree.places[id]), **stale, **built(held.entry)}
    for items in (graph.memories, tree.clashes, graph.passages, graph.documents):
        if id in items:
            return {"address": tree.address(tree.places[id]), **built(items[id])}
    return {"id": id}


def _patient(pen: Pen, target: Target) -> Sheet:
    """The first page of a patient: who it is, what must not be missed, what is going on, and where the rest is."""
    tree = pen.tree
    graph = tree.graph
    facts = list(graph.facts.values())
    groups: list[tuple[str, list[str], int]] = [
        ("Patient", [f.id for f in facts if f.kind is Kind.DEMOGRAPHIC], 0),
        ("Allergies and intolerances", list(_safe(tree, ("allergies",))), 1),
        ("Alerts and directives", [*under(tree, ("others", "flag")), *under(tree, ("directives",))], 1),
        ("Active problems", list(under(tree, ("conditions", "active"))), 3),
        ("Current medicines", list(under(tree, ("medications", "current"))), 3),
        ("Other conflicts", [], 2),
        ("Said in conversation, newest", _newest(tree, graph.memories)[:5], 4),
        ("Newest laboratory results", _heads(tree, "labs")[:10], 5),
        ("Newest vital signs", _heads(tree, "vitals")[:8], 5),
        ("Recent visits", _recent_visits(tree)[:3], 6),
    ]
    told_before = {id for _, ids, _ in groups for id in ids}
    elsewhere = [id for id in under(tree, ("conflicts",)) if id in graph.conflicts]
    elsewhere = [id for id in elsewhere if graph.conflicts[id].fact not in told_before]
    elsewhere += [id for id in sorted(tree.neighbours.against) if id not in told_before]
    blocks: list[Block] = []
    parts: list[Part] = []
    lines: list[Line] = []
    for heading, ids, rank in groups:
        ids = elsewhere if heading == "Other conflicts" else ids
        told = [pen.item(id, rank) for id in ids]
        if not told and heading == "Allergies and intolerances":
            told = [Line(nothing_words(("allergies",)), rank)]
        lines += told
        blocks.append(Block(heading, tuple(told)))
        parts += [Part(_key(heading), _value_of(tree, id), rank=rank) for id in ids]
    more = []
    for place in tree.directories[()]:
        if place.what is What.DIRECTORY and place.name != "gaps":
            n = len(list(under(tree, (place.name,)))) or len(tree.directories.get((place.name,), ()))
            more.append(Line(f"{place.name}/ ({n}): {hint_of((place.name,))}", 7))
            parts.append(Part("directories", {"name": place.name, "items": n, "hint": hint_of((place.name,))}, rank=7))
    blocks.append(Block("Directories", tuple(more)))
    return made(target, f"Patient {graph.subject.id}", blocks, parts, lines)


def _key(heading: str) -> str:
    first, *rest = heading.lower().replace(",", "").split()
    return first + "".join(word.capitalize() for word in rest)


def _safe(tree: Tree, path: Path) -> Iterator[str]:
    for id in under(tree, path):
        if tree.graph.facts[id].standing is not Standing.ENTERED_IN_ERROR and "entered_in_error" not in tree.places[id]:
            yield id


def _newest(tree: Tree, ids: Iterable[str]) -> list[str]:
    return sorted(sorted(ids), key=lambda id: tree.by_day.get(id, ""), reverse=True)


def _heads(tree: Tree, section: str) -> list[str]:
    """The newest result of each test of a section, newest first."""
    heads = []
    for place in tree.directories.get((section,), ()):
        if place.name != "entered_in_error":
            heads += list(under(tree, (section, place.name)))[:1]
    return _newest(tree, heads)


def _recent_visits(tree: Tree) -> list[str]:
    visits = [f.id for f in tree.graph.facts.values() if f.kind is Kind.ENCOUNTER]
    return _newest(tree, (id for id in visits if tree.graph.facts[id].currency is not Currency.PLANNED))


def _gaps(pen: Pen, target: Target) -> Sheet:
    """What should be there and is not: silent sections, tests overdue, references that lead nowhere, states long
    unconfirmed."""
    tree = pen.tree
    graph = tree.graph
    silent = [
        Line(nothing_words((name,)), 0)
        for name in ("allergies", "conditions", "medications", "immunizations", "demographics")
        if (name,) not in tree.directories
    ]
    old = [
        pen.fact(fact, 1)
        for fact in graph.facts.values()
        if fact.currency is Currency.UNKNOWN and fact.standing is Standing.ACTIVE
    ]
    late = overdue(graph)
    due = [pen.say(_late_words(pen, one), 1, one.condition, *filter(None, (one.newest,))) for one in late]
    lost = []
    for missing in graph.unresolved:
        words = f"{name(missing.element)} leads to {name(missing.reference) or 'nothing'}, which no source has sent"
        lost.append(pen.say(words, 2, missing.statement))
    unsaid = [
        pen.item(id, 3)
        for id in sorted(graph.statements)
        if attribution_of(tree, id).kind.value == "undetermined" and id in graph.fact_of
    ]
    blocks = [
        Block("Nothing recorded", tuple(silent)),
        Block("Active but long unconfirmed", tuple(old)),
        Block("Monitoring overdue", tuple(due)),
        Block("References that lead nowhere", tuple(lost)),
        Block("No author given", tuple(unsaid)),
    ]
    if not any(block.lines for block in blocks):
        blocks = [Block("", (Line("No gaps found.", 0),))]
    parts = [Part("unresolved", built(missing)) for missing in graph.unresolved]
    parts += [Part("overdue", _late_value(one)) for one in late]
    return made(target, "gaps", blocks, parts, [line for block in blocks for line in block.lines])


def _late_words(pen: Pen, one: Overdue) -> str:
    """What is due, how often and by whose word, and what is here."""
    tree = pen.tree
    condition = name(tree.graph.facts[one.condition].display)
    here = f"the newest here is of {tree.by_day.get(one.newest, '')}" if one.newest else "none is here"
    return f"{one.due.what} is due every {one.due.days} days in {condition} ({one.due.source}): {here}"


def _late_value(one: Overdue) -> dict[str, Any]:
    due = one.due
    return {
        "test": due.what,
        "intervalDays": due.days,
        "source": due.source,
        "condition": one.condition,
        "newest": one.newest or None,
    }

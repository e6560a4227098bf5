"""Where does every item of one patient's graph stand? The places, and the address of each.

The address of an item ends in the tail of its id; `addresses.resolve` finds the way back by it, so that the words
before it and the directories that say what state the item is in may be old ones. What a directory costs to read, and
what is in a file, is `navigation`'s and `stories`' business.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Final

import msgspec

from iamata.assembly.neighbours import Neighbours, newest_first, statement_day
from iamata.assembly.wording import coded, day, rows, slug
from iamata.errors import NotFound
from iamata.model.coding import CodedText
from iamata.model.entry import Inferred
from iamata.model.fact import Currency, Fact
from iamata.model.graph import Graph
from iamata.model.identifiers import content_digest
from iamata.model.memory import MemoryKind
from iamata.model.passage import Passage
from iamata.model.session import Session
from iamata.model.statement import Kind, Polarity, Standing, Verification

TAIL: Final = 4

INDEX: Final = "_index.md"
STORY: Final = "story.md"
SOURCES: Final = "sources.md"
RAW: Final = "raw.json"

Path = tuple[str, ...]


class What(StrEnum):
    """What an address leads to."""

    DIRECTORY = "directory"
    INDEX = "index"
    FACT = "fact"  # the directory of one fact or event; reading it reads its story
    STORY = "story"
    SOURCES = "sources"
    RAW = "raw"
    STATEMENT = "statement"
    MEMORY = "memory"
    INFERENCE = "inference"
    CONFLICT = "conflict"
    PASSAGE = "passage"
    DOCUMENT = "document"
    SOURCE = "source"
    TIMELINE = "timeline"
    SESSION = "session"


class Section(msgspec.Struct, frozen=True, gc=False):
    """A row of `sections.tsv`."""

    path: Path
    grouping: str
    known: bool
    hint: str


@cache
def sections() -> dict[str, Section]:
    """By kind, and for observations by category code."""
    return {
        row["key"]: Section(tuple(row["section"].split("/")), row["grouping"], row["known"] == "yes", row["hint"])
        for row in rows("sections.tsv")
    }


# Directories that exist for every patient beside those of `sections.tsv`, in the order of the tree.
_BESIDE: Final = {
    "timeline": "what happened, by year",
    "documents": "notes, document records and files as received",
    "memories": "what the patient, a caregiver or a clinician said in conversation",
    "sessions": "conversations, turn by turn",
    "inferences": "what agents summed up or inferred, and whether what it rests on has changed",
    "conflicts": "statements that cannot all be true, with every side",
    "gaps": "what should be there and is not",
    "sources": "the systems that sent information",
    "others": "everything else",
}
_DEEPER: Final = {
    ("conditions", "active"): "problems that are active",
    ("conditions", "resolved"): "problems that are over",
    ("conditions", "inactive"): "problems that are no longer active",
    ("medications", "current"): "medicines that are current",
    ("medications", "discontinued"): "medicines that were stopped or completed",
    ("documents", "notes"): "notes and other narrative text, by passage",
    ("documents", "received"): "files exactly as received",
}
_STATES: Final = {
    "denied": "said not to be so, or ruled out",
    "entered_in_error": "recorded by mistake; never to be used",
    "planned": "planned, not begun",
    "status_unknown": "no source says whether it is so now",
    "undated": "without a date",
}
_ORDER: Final = (
    "demographics",
    "allergies",
    "conditions",
    "medications",
    "labs",
    "vitals",
    "immunizations",
    "procedures",
    "encounters",
    "timeline",
    "family_history",
    "social_history",
    "devices",
    "directives",
    "goals",
    "care_team",
    "reports",
    "documents",
    "answers",
    "insurance",
    "others",
    "memories",
    "sessions",
    "inferences",
    "conflicts",
    "gaps",
    "sources",
)


def hint_of(path: Path) -> str:
    """What a directory holds, in a few words."""
    if not path:
        return "everything held of the patient"
    if path in _DEEPER:
        return _DEEPER[path]
    for section in sections().values():
        if section.path == path:
            return section.hint
    if len(path) == 1:
        return _BESIDE.get(path[0], "")
    return _STATES.get(path[-1], "")


@cache
def known_directories() -> frozenset[Path]:
    """Directories that answer "nothing recorded" when they hold nothing."""
    known = {section.path for section in sections().values() if section.known}
    return frozenset(known | {(name,) for name in _BESIDE} | set(_DEEPER))


@cache
def known_names() -> frozenset[str]:
    """Every name that a directory or file can have for any patient: none of them says anything of anybody."""
    paths = [*known_directories(), *(section.path for section in sections().values())]
    names = {part for path in paths for part in path}
    names |= {*_STATES, *(kind.value for kind in Kind), *(kind.value for kind in MemoryKind), "events"}
    return frozenset(names | {INDEX, STORY, SOURCES, RAW, SOURCES.removesuffix(".md")})


class Place(msgspec.Struct, frozen=True, gc=False):
    """An entry of a directory: a file or directory of one item, or (item empty) a plain directory."""

    name: str
    what: What
    item: str = ""


class Tree:
    """The tree of one graph. Build it once per graph (`tree`) and pass it wherever a graph is taken; read only.

    `directories[path]` lists what a directory holds, in the order of the tree; `places[item]` the path of the file or
    directory of an item (of a turn of talk that of its session); `clashes` every conflict by id, between records and of
    talk with the record; `sessions` the conversations by the id that they have in a tree; `inferred` by id what agents
    inferred, as far as this reader may see what it rests on.
    """

    __slots__ = (
        "by_day",
        "clashes",
        "directories",
        "graph",
        "inferred",
        "neighbours",
        "places",
        "root",
        "sessions",
        "tails",
    )

    def __init__(self, graph: Graph, inferred: Mapping[str, Inferred] | None = None) -> None:
        self.graph = graph
        self.inferred = inferred or {}
        self.neighbours = Neighbours(graph)
        self.root = f"/{graph.subject}"
        self.clashes = graph.conflicts | {conflict.id: conflict for conflict in graph.spoken_conflicts()}
        self.sessions = {session_item(session.id): session for session in graph.sessions.values()}
        self.places: dict[str, Path] = {}
        self.directories: dict[Path, list[Place]] = {(): []}
        self.by_day: dict[str, str] = {}
        self.tails = Tails()
        _plant(self)

    def address(self, path: Path, *, directory: bool = False) -> str:
        return "/".join((self.root, *path)) + ("/" if directory else "")


def tree(graph: Graph, inferred: Mapping[str, Inferred] | None = None) -> Tree:
    """Every item in its place. Pure; a few milliseconds per thousand facts: keep it beside the graph."""
    return Tree(graph, inferred)


def as_tree(graph: Graph | Tree) -> Tree:
    return graph if isinstance(graph, Tree) else Tree(graph)


class Tails:
    """The shortest tails of ids, four characters or more, that tell the items of a patient apart.

    Every id that ever leads to an item (all its statements) counts, so that an address from before a merge still leads
    to the item.
    """

    def __init__(self) -> None:
        self.owner: dict[str, str] = {}

    def build(self, ids: dict[str, str]) -> None:
        """`ids` maps the tail part of each id to the item that owns it."""
        self.owner = ids
        self._taken: list[dict[str, tuple[str, ...]]] = []
        for length in range(TAIL, 33):
            seen: dict[str, tuple[str, ...]] = {}
            for bare, owner in ids.items():
                tail = bare[-length:]
                owners = seen.get(tail, ())
                if owner not in owners:
                    seen[tail] = (*owners, owner)
            self._taken.append(seen)
            if all(len(owners) == 1 for owners in seen.values()):
                break

    def of(self, bare: str) -> str:
        for offset, taken in enumerate(self._taken):
            tail = bare[-(TAIL + offset) :]
            if len(taken[tail]) == 1:
                return tail
        return bare

    def find(self, tail: str) -> set[str]:
        """The items with an id that ends so."""
        offset = len(tail) - TAIL
        if offset < 0:
            return set()
        if offset < len(self._taken):
            return set(self._taken[offset].get(tail, ()))
        return {owner for bare, owner in self.owner.items() if bare.endswith(tail)}


def bare(id: str) -> str:
    """An id without its prefix."""
    return id.partition("_")[2] or id


def plain(text: str) -> str:
    """An id's tail as it can stand in an address: lower-case letters and digits."""
    if text.isascii() and text.isalnum() and text.islower():
        return text
    return re.sub(r"[^a-z0-9]", "", text.lower()) or "x"


def _plant(tree: Tree) -> None:
    graph = tree.graph
    ids: dict[str, str] = {}
    for id, owner in graph.fact_of.items():
        ids[plain(bare(id))] = owner
    for id in graph.facts:
        ids.setdefault(plain(bare(id)), id)
    for items in (graph.memories, tree.clashes, graph.documents, graph.passages, tree.sessions, tree.inferred):
        for id in items:
            ids.setdefault(plain(bare(id)), id)
    for id in graph.statements:
        ids.setdefault(plain(bare(id)), id)
    tree.tails.build(ids)
    leaves: defaultdict[Path, list[tuple[str, Place]]] = defaultdict(list)

    def put(path: Path, what: What, item: str, order: str = "") -> None:
        tree.places[item] = path
        leaves[path[:-1]].append((order, Place(path[-1], what, item)))

    def tail(id: str) -> str:
        return tree.tails.of(plain(bare(id)))

    for id, fact in graph.facts.items():
        when = fact_day(graph, fact)
        tree.by_day[id] = when
        section, name = _stand(graph, fact, when)
        put((*section, f"{name}-{tail(id)}"), What.FACT, id, when)
    for id, memory in graph.memories.items():
        said = (memory.said_at or memory.received_at).date().isoformat()
        tree.by_day[id] = said
        name = slug(coded(memory.concept), memory.kind)
        put(("memories", memory.kind.value, f"{name}-{tail(id)}.md"), What.MEMORY, id, said)
    for id, session in tree.sessions.items():
        began = session_day(session)
        tree.by_day[id] = began
        put(("sessions", f"{began}-{tail(id)}.md"), What.SESSION, id, began)
        tree.places.update((message.id, tree.places[id]) for message in session.messages)
    for id, held in tree.inferred.items():
        recorded = held.entry.recorded_at.date().isoformat()
        tree.by_day[id] = recorded
        put(("inferences", f"{slug(held.entry.title, held.entry.kind)}-{tail(id)}.md"), What.INFERENCE, id, recorded)
    for id, conflict in tree.clashes.items():
        about = graph.resolve(conflict.fact)
        name = slug(f"{conflict.kind} {about.display if about else ''}", conflict.kind)
        put(("conflicts", f"{name}-{tail(id)}.md"), What.CONFLICT, id, tree.by_day.get(conflict.fact, ""))
    for id, document in graph.documents.items():
        received = document.received_at.date().isoformat()
        name = slug(f"{received} {document.format}", "document")
        put(("documents", "received", f"{name}-{tail(id)}.md"), What.DOCUMENT, id, received)
    for id, passage in graph.passages.items():
        when = passage_day(passage)
        tree.by_day[id] = when
        name = slug(f"{when} {passage.title or 'note'}", "note")
        put(("documents", "notes", f"{name}-{tail(id)}.md"), What.PASSAGE, id, when)
    names = source_names(graph)
    for source, name in names.items():
        leaves[("sources",)].append(("", Place(name, What.SOURCE, source)))
        tree.directories[("sources", name)] = []
    for id, statement in graph.statements.items():
        holder = graph.fact_of.get(id)
        if holder is not None and holder in tree.places:
            tree.places[id] = (*tree.places[holder], "sources", f"{names[statement.source]}-{plain(bare(id))[-8:]}.md")
        else:
            path = ("sources", names[statement.source], f"{statement.kind}-{tail(id)}.md")
            put(path, What.STATEMENT, id)
    years = sorted({when[:4] for id, when in tree.by_day.items() if when and id in graph.facts}, reverse=True)
    for year in years:
        leaves[("timeline",)].append((year, Place(f"{year}.md", What.TIMELINE, year)))
    if graph.statements:
        tree.directories[("gaps",)] = []
    _grow(tree, leaves)


def _grow(tree: Tree, leaves: dict[Path, list[tuple[str, Place]]]) -> None:
    """Directories from their leaves: newest first, undated last, ties by name; plain directories before them."""
    for path, places in leaves.items():
        places.sort(key=lambda pair: pair[1].name)
        places.sort(key=lambda pair: pair[0], reverse=True)
        tree.directories.setdefault(path, []).extend(place for _, place in places)
    for path in sorted(tree.directories):
        for depth in range(len(path)):
            parent, name = path[:depth], path[depth]
            holder = tree.directories.setdefault(parent, [])
            if not any(place.name == name for place in holder):
                holder.append(Place(name, What.DIRECTORY))
    for path, entries in tree.directories.items():
        plain = [place for place in entries if place.what is What.DIRECTORY]
        rest = [place for place in entries if place.what is not What.DIRECTORY]
        if path == ():
            plain.sort(key=lambda place: (_ORDER.index(place.name) if place.name in _ORDER else 99, place.name))
        elif plain and all(place.name[:4].isdigit() or place.name == "undated" for place in plain):
            plain.sort(key=lambda place: (place.name == "undated", [-ord(c) for c in place.name]))
        else:
            plain.sort(key=lambda place: _standing_order(place.name))
        tree.directories[path] = plain + rest


def _standing_order(name: str) -> tuple[int, str]:
    states = ("active", "current", "planned", "status_unknown", "inactive", "resolved", "discontinued", "denied")
    if name in states:
        return states.index(name), name
    return (99 if name in ("entered_in_error", "events") else 50), name


def _stand(graph: Graph, fact: Fact, when: str) -> tuple[Path, str]:
    """The directory of a fact, and the words of its slug."""
    section = _section(graph, fact)
    state = _state(fact)
    # A person's name has no place in an address.
    name = fact.kind.value if fact.kind is Kind.DEMOGRAPHIC else slug(fact.display, fact.kind.value)
    match section.grouping:
        case "condition" | "medication":
            return (*section.path, state or _now(fact, section.grouping)), name
        case "test":
            group = (*section.path, test_name(fact))
            return (group if not state else (*section.path, state)), slug(f"{when} {name if state else ''}", name)
        case "year":
            return (*section.path, state or when[:4] or "undated"), slug(f"{when[5:]} {name}", name)
        case _:
            return ((*section.path, state) if state == "entered_in_error" else section.path), name


def _section(graph: Graph, fact: Fact) -> Section:
    table = sections()
    if fact.kind is Kind.OBSERVATION:
        for category in _categories(graph, fact):
            if category in table:
                return table[category]
    return table.get(fact.kind.value) or Section(("others", fact.kind.value), "flat", False, "")


def _categories(graph: Graph, fact: Fact) -> list[str]:
    found: list[str] = []
    value = fact.value("category")
    values = [value] if value is not None else []
    if not values:
        statements = [graph.statements[id] for id in fact.members if id in graph.statements]
        values = [given for s in newest_first(statements) if (given := s.field("category")) is not None]
    for given in values:
        if isinstance(given, CodedText):
            found += [coding.code.casefold() for coding in given.codings] + [given.text.casefold().replace(" ", "-")]
        elif isinstance(given, str):
            found += [part.strip().casefold() for part in given.split(",")]
    return found


def test_name(fact: Fact) -> str:
    """The directory of a test: its words, and its first code, so that two tests of like names stay apart."""
    code = next((c.code for c in fact.concept.codings if c.code), "") if fact.concept else ""
    words = slug(fact.display, "test")
    return f"{words}-{slug(code, '')}".rstrip("-") if code else words


def _state(fact: Fact) -> str:
    if Standing.ENTERED_IN_ERROR is fact.standing or fact.verification is Verification.ENTERED_IN_ERROR:
        return "entered_in_error"
    if not fact.members and fact.history and all("error" in reason for _, reason in fact.history):
        return "entered_in_error"
    if fact.kind in (Kind.CONDITION, Kind.MEDICATION) and (
        fact.polarity is Polarity.DENIED or fact.verification is Verification.REFUTED
    ):
        return "denied"
    return ""


def _now(fact: Fact, grouping: str) -> str:
    """The directory that says what a condition or a medication is now."""
    is_condition = grouping == "condition"
    on, over, gone = ("active", "resolved", "inactive") if is_condition else ("current", "discontinued", "discontinued")
    match fact.currency:
        case Currency.CURRENT:
            return on
        case Currency.PLANNED:
            return "planned"
        case Currency.PAST:
            return over if fact.standing in (Standing.RESOLVED, Standing.COMPLETED) else gone
        case Currency.UNKNOWN:
            pass
    match fact.standing:
        case Standing.ACTIVE | Standing.ON_HOLD:
            return on
        case Standing.RESOLVED | Standing.COMPLETED:
            return over
        case Standing.INACTIVE | Standing.STOPPED | Standing.CANCELLED | Standing.NOT_DONE:
            return gone
        case Standing.PLANNED | Standing.DRAFT:
            return "planned"
        case _:
            return "status_unknown"


def fact_day(graph: Graph, fact: Fact) -> str:
    """The day (or month, or year) that orders a fact: its clinical time, else the newest day its statements tell."""
    if fact.when is not None:
        start = fact.when.start or fact.when.end
        if start is not None and start.day:
            return start.day
    held = [*fact.members, *(id for id, _ in fact.history)]
    return max((statement_day(graph.statements[id]) for id in held if id in graph.statements), default="")


def passage_day(passage: Passage) -> str:
    return max((day(t.start) for t in passage.times if t.start is not None and t.start.day), default="")


def session_item(id: str) -> str:
    """What a session is called in a tree: its own id is its sender's words."""
    return f"sn_{content_digest(id)[:20]}"


def session_day(session: Session) -> str:
    """The day of the first turn that says when, else of its receipt."""
    said = next((m.turn.said_at for m in session.messages if m.turn.said_at is not None), session.created_at)
    return said.date().isoformat()


def source_names(graph: Graph) -> dict[str, str]:
    """The directory name of each source that has sent something: its words, with a number where two are alike."""
    found = {s.source for s in graph.statements.values()} | {d.source for d in graph.documents.values()}
    found |= {p.provenance.source for p in graph.passages.values()}
    names: dict[str, str] = {}
    for source in sorted(found):
        words = name = slug(source, "source")
        number = 2
        while name in names.values():
            name, number = f"{words}-{number}", number + 1
        names[source] = name
    return names


def address(graph: Graph | Tree, item_id: str) -> str:
    """The address of any fact, event, memory, inference, conflict, document, passage or statement; of a fact its story,
    of a turn of talk its session.

    A former fact id has the address of the fact that holds its member now. Raises NotFound.
    """
    tree = as_tree(graph)
    path = tree.places.get(item_id)
    if path is None:
        fact = tree.graph.resolve(item_id)
        if fact is None:
            raise NotFound(what="item", id=item_id)
        item_id, path = fact.id, tree.places[fact.id]
    return tree.address((*path, STORY) if item_id in tree.graph.facts else path)


def fact_directory(graph: Graph | Tree, fact_id: str) -> str:
    """The directory of a fact, for shorter texts; it reads as its story."""
    tree = as_tree(graph)
    return tree.address(tree.places[fact_id], directory=True)

"""Which statements do the passages of a patient mention, and where do their words stand?

Each is its author's, as the passage is: it has the passage's attribution, labels and sightings. What one author says
in the same words of fact more than once in one record is one statement that is seen at several places. Not here: what
a text mentions (`extraction`), and what that comes to beside what was sent in codes (`recorded`).
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Set
from typing import Final

import msgspec

from iamata.formation.extraction.passages import statements_of, words_of
from iamata.model.attribution import Attribution, Role
from iamata.model.identifiers import IdMint
from iamata.model.passage import Passage
from iamata.model.provenance import Place, Provenance
from iamata.model.sighting import Sighting
from iamata.model.statement import Kind, Standing, Statement

# Of so many passages of a patient it is kept what they mention; those that were asked for last.
MOST_PASSAGES: Final = 2_000

Record = tuple[str, str]
Seen = Mapping[str, tuple[Sighting, ...]]


class Mentions:
    """What passages mention, read once and kept: the text of a passage does not change, the reading of it costs
    milliseconds. For one patient's mint; whoever keeps it drops it with the patient. Threads may share it."""

    def __init__(self, most_passages: int = MOST_PASSAGES) -> None:
        self._most = most_passages
        self._kept: OrderedDict[tuple[str, Role], tuple[Passage, tuple[Statement, ...]]] = OrderedDict()

    def of(self, passage: Passage, attribution: Attribution, mint: IdMint) -> tuple[Statement, ...]:
        """As `statements_of`."""
        key = passage.id, attribution.author.role  # nothing else of the attribution bears on what is read
        kept = self._kept.get(key)
        if kept is not None and (kept[0] is passage or kept[0] == passage):
            return kept[1]
        found = statements_of(passage, attribution, mint=mint)
        self._kept[key] = passage, found
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return found


class Mentioned(msgspec.Struct, frozen=True):
    """`statements` by the place of their first words; by id their `attributions` and `sightings`, earliest first."""

    statements: tuple[Statement, ...] = ()
    attributions: dict[str, Attribution] = {}
    sightings: dict[str, tuple[Sighting, ...]] = {}


def mentioned(
    passages: Iterable[Passage],
    attributions: Mapping[str, Attribution],
    sightings: Seen,
    *,
    mint: IdMint,
    kept: Mentions,
) -> Mentioned:
    """What these passages mention. Order-free; whole records must be given, since what is said twice in one record is
    one statement."""
    groups: dict[object, list[tuple[Passage, Statement]]] = {}
    for passage in passages:
        by = attributions[passage.id]
        for statement in kept.of(passage, by, mint):
            # A record that names itself nowhere is its passage alone.
            record = passage.provenance if record_of(passage.provenance)[1] else passage.id
            content = msgspec.structs.replace(statement, id="-", digest="-", part="")
            groups.setdefault((record, by, content), []).append((passage, statement))
    firsts: list[tuple[tuple[object, ...], Statement]] = []
    found = Mentioned((), {}, {})
    for group in groups.values():
        group.sort(key=lambda pair: (pair[1].source, *_place(pair[1])))
        statement = group[0][1]
        firsts.append(((statement.source, statement.provenance.record.key, *_place(statement)), statement))
        found.attributions[statement.id] = attributions[group[0][0].id]
        seen = {
            _seen_at(statement.id, words_of(each), sighting)
            for passage, each in group
            for sighting in sightings[passage.id]
        }
        found.sightings[statement.id] = tuple(sorted(seen, key=lambda s: (s.received_at, s.document, s.place)))
    firsts.sort(key=lambda pair: pair[0])
    return msgspec.structs.replace(found, statements=tuple(statement for _, statement in firsts))


# What a section's text lays out as its entries do, in other words: no reading of names tells that the two are one.
_LAID_OUT: Final = frozenset({Kind.OBSERVATION, Kind.SOCIAL_HISTORY})
_TEXT: Final = "/text"
_ENTRY: Final = re.compile(r"/entry(?:\[\d+\])?/")


def without_repeats(
    said: Iterable[Statement], statements: Iterable[Statement], seen: Seen, of: Seen
) -> list[Statement]:
    """Those of these mentions (seen as `of` says) that do not stand in the text of a section whose entries are of
    their kind, if it is measurements or habits: that text is the entries once more, in words."""
    said = list(said)
    sections = {
        (sighting.document, _section(sighting.place.pointer))
        for statement in said
        if statement.kind in _LAID_OUT
        for sighting in of[statement.id]
        if _section(sighting.place.pointer)
    }
    if not sections:
        return said
    held: set[tuple[str, str, Kind]] = set()
    for statement in statements:
        if statement.kind in _LAID_OUT and not statement.is_mention:
            for sighting in seen[statement.id]:
                section = _ENTRY.split(sighting.place.pointer, maxsplit=1)[0]
                if (sighting.document, section) in sections:
                    held.add((sighting.document, section, statement.kind))
    return [
        s
        for s in said
        if not any((sighting.document, _section(sighting.place.pointer), s.kind) in held for sighting in of[s.id])
    ]


def _section(pointer: str) -> str:
    """The section whose text stands at this place; empty for any other place."""
    head, found, _ = pointer.rpartition(_TEXT)
    return head if found else ""


def _place(statement: Statement) -> tuple[str, int, int, str]:
    start, end = words_of(statement)
    return statement.part.rpartition("@")[0], start, end, statement.digest


def _seen_at(id: str, words: tuple[int, int], passage: Sighting) -> Sighting:
    return Sighting(id, passage.document, Place(passage.place.pointer, *words), passage.received_at)


def record_of(provenance: Provenance) -> Record:
    """Source and name there of the record that holds it."""
    return provenance.source, provenance.record.key


def still_said(
    passages: Mapping[str, Passage], statements: Iterable[Statement], outdated: Set[str], seen: Seen
) -> list[Passage]:
    """The passages whose record still says so, by id: not those of a content that was replaced, or that was entered in
    error. A passage is of the content of its record that has its version and stands in a document with it."""
    records = {record_of(p.provenance) for p in passages.values()} - {("", "")}
    contents: dict[Record, list[Statement]] = {}
    for statement in statements:
        name = record_of(statement.provenance)
        if name in records and name[1] and not statement.is_mention:
            contents.setdefault(name, []).append(statement)

    def counts(passage: Passage) -> bool:
        record = passage.provenance.record
        documents = {sighting.document for sighting in seen[passage.id]}
        mine = [
            s
            for s in contents.get(record_of(passage.provenance), ())
            if (s.provenance.record.version, s.provenance.record.updated) == (record.version, record.updated)
            and any(sighting.document in documents for sighting in seen[s.id])
        ]
        return not mine or any(s.id not in outdated and s.standing is not Standing.ENTERED_IN_ERROR for s in mine)

    return [passages[id] for id in sorted(passages) if counts(passages[id])]

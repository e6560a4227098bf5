"""What do a few more statements change? The fold of what came before, taken further without folding it again.

Gives what `pipeline.fold` would give, or nothing where something that is held already could come out otherwise by more
than its own cell: then everything is folded. New records of most kinds, talk, and things seen again are taken further.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from itertools import islice
from operator import is_
from typing import TypeVar

import msgspec

from iamata.formation import pipeline
from iamata.formation.mentioned import Mentioned, Mentions, record_of
from iamata.formation.pipeline import Fold
from iamata.formation.recorded.inferred import inferred, rule_of, rules_about
from iamata.formation.recorded.relationships import explicit
from iamata.formation.recorded.replacement import may_replace
from iamata.formation.recorded.resolving import Resolved, names_of, resolve
from iamata.formation.recorded.returned import any_copies
from iamata.formation.recorded.said import Said
from iamata.model.document import Document
from iamata.model.fact import Fact
from iamata.model.graph import Held
from iamata.model.identifiers import IdMint
from iamata.model.link import Link, LinkSource
from iamata.model.memory import Memory
from iamata.model.passage import Passage
from iamata.model.sighting import Sighting
from iamata.model.statement import SUPPORTING_KINDS, Kind, Label, Standing, Statement, Verification

T = TypeVar("T")
# What one of these says bears on statements of any cell: who wrote them, whose they are, which document holds them.
_FAR_REACHING = frozenset({Kind.PROVENANCE, Kind.LIST, Kind.DEMOGRAPHIC})


def grow(
    before: Fold,
    held: Held,
    *,
    mint: IdMint,
    visible: Callable[[tuple[Label, ...]], bool],
    mentions: Mentions | None = None,
) -> Fold | None:
    """`before` taken further to `held`, for the same reader, moment and ids; None where that cannot be told from what
    is new alone. `before` is used up either way: it must not be asked again. `mentions` as for `pipeline.fold`."""
    moment = before.graph.moment
    more = _more(before.held, held)
    if more is None or moment.known_at is not None or before.copies or any_copies(more.statements):
        return None
    sightings = pipeline.sightings_of(held, more.sightings, moment)

    def counts(statement: Statement) -> bool:
        return (
            visible(statement.labels)
            and pipeline.dated_by(statement, moment)
            and statement.source not in before.around.rulings.foreign
        )

    statements = [s for s in more.statements if s.id in sightings and counts(s)]
    passages = {p.id: p for p in more.passages if p.id in sightings and visible(p.labels)}
    again = {id: seen for id, seen in sightings.items() if id in before.graph.sightings}
    others = sightings.keys() - again.keys()
    if (
        (others and any(s.id in others and counts(s) for s in before.held.statements))
        or (others and any(p.id in others and visible(p.labels) for p in before.held.passages))
        or not _new_and_near(before, statements, passages.values())
        or not _of_new_records(before, passages, again)
        or not _as_before(before, again)
        or not _named(before, statements, again, sightings)
    ):
        return None
    before.resolver.knows(dict(held.sources))
    return _Growing(before, held, mint, mentions).grown(statements, passages, sightings, visible)


class _More(msgspec.Struct, frozen=True):
    statements: tuple[Statement, ...]
    passages: tuple[Passage, ...]
    sightings: tuple[Sighting, ...]


def _more(before: Held, held: Held) -> _More | None:
    """What came to be held since; None if anything but that changed, besides talk."""
    kinds = dict(held.sources)
    same = (
        held.subject == before.subject
        and held.erasures == before.erasures
        and held.rulings == before.rulings
        and held.adjudications == before.adjudications
        and held.retractions == before.retractions
        and held.rereadings is before.rereadings
        and held.relearnings == before.relearnings
        and all(kinds.get(source) is kind for source, kind in dict(before.sources).items())
    )
    statements, passages = _tail(before.statements, held.statements), _tail(before.passages, held.passages)
    sightings, documents = _tail(before.sightings, held.sightings), _tail(before.documents, held.documents)
    if not same or statements is None or passages is None or sightings is None or documents is None:
        return None
    return _More(statements, passages, sightings)


def _tail(before: tuple[T, ...], now: tuple[T, ...]) -> tuple[T, ...] | None:
    """What stands in `now` after all of `before`, which must be the very same items."""
    if len(now) < len(before) or not all(map(is_, before, now)):
        return None
    return now[len(before) :]


def _new_and_near(before: Fold, statements: list[Statement], passages: Iterable[Passage]) -> bool:
    """Does none of these correct a record, replace a document, or bear on statements of any cell?"""
    contents = Counter((s.source, s.provenance.record.key, s.part) for s in statements if s.provenance.record.key)
    if any(count > 1 for count in contents.values()) or any(
        s.kind in _FAR_REACHING
        or s.standing is Standing.ENTERED_IN_ERROR
        or s.verification is Verification.ENTERED_IN_ERROR
        or may_replace(s)
        for s in statements
    ):
        return False
    known = before.graph.statements
    ended = {record_of(known[id].provenance) for id in before.around.outdated}
    return not any(record_of(p.provenance) in ended for p in passages)


def _of_new_records(before: Fold, passages: Mapping[str, Passage], again: Mapping[str, tuple[Sighting, ...]]) -> bool:
    """Is no passage seen again, and none of a record that held some already? What one record says twice is said once
    (`mentioned`), so that its other passages would have to be looked at."""
    told = before.graph.passages
    if not passages:
        return not any(id in told for id in again)
    records = {record_of(p.provenance) for p in told.values() if p.provenance.record.key}
    return not any(id in told for id in again) and not any(
        record_of(p.provenance) in records for p in passages.values()
    )


def _as_before(before: Fold, again: Mapping[str, tuple[Sighting, ...]]) -> bool:
    """Does seeing these again leave them as they were? Not what was seen earlier than we knew, is one of several
    contents of its record, or stood in a document that was replaced."""
    contested = {*before.around.outdated, *before.replaced.values()}
    return not any(
        id in contested or seen[0].received_at < before.graph.sightings[id][0].received_at for id, seen in again.items()
    )


def _named(
    before: Fold,
    statements: list[Statement],
    again: Mapping[str, tuple[Sighting, ...]],
    sightings: Mapping[str, tuple[Sighting, ...]],
) -> bool:
    """Enter what these are called; False if that would answer a question otherwise than it was answered."""
    called = {s.id: pipeline.called(sightings[s.id]) for s in statements}
    for id, seen in again.items():
        names = pipeline.called(seen) - pipeline.called(before.graph.sightings[id])
        if names and id in before.graph.statements:
            called[id] = names
    known = [before.graph.statements[id] for id in again if id in called]
    return before.directory.extend(statements, known, called)


class _Growing:
    """One step: what the new statements come to, and what of the graph that touches."""

    def __init__(self, before: Fold, held: Held, mint: IdMint, mentions: Mentions | None) -> None:
        self._before, self._held, self._mint, self._mentions = before, held, mint, mentions
        self._graph = before.graph

    def grown(
        self,
        statements: list[Statement],
        passages: Mapping[str, Passage],
        sightings: Mapping[str, tuple[Sighting, ...]],
        visible: Callable[[tuple[Label, ...]], bool],
    ) -> Fold | None:
        before, graph = self._before, self._graph
        found, references, unresolved = pipeline.references_of(statements, before.directory)
        attributions = {s.id: before.resolver.resolve(s) for s in statements}
        attributions |= {p.id: before.resolver.resolve(pipeline.as_statement(p)) for p in passages.values()}
        told = (
            pipeline.mentions_of(
                passages,
                [*graph.statements.values(), *statements],
                before.around.outdated,
                attributions,
                {**graph.sightings, **sightings},
                graph.moment,
                before.around.rulings,
                self._mint,
                self._mentions,
            )
            if passages
            else Mentioned()
        )
        attributions |= told.attributions
        statements, sightings = [*statements, *told.statements], {**sightings, **told.sightings}
        fresh = [
            pipeline.said_by(s, before.directory, attributions[s.id], sightings[s.id][0].received_at)
            for s in statements
            if s.kind not in SUPPORTING_KINDS
        ]
        if before.looked_for & {name for item in fresh for name in names_of(item)}:
            return None
        items = before.items
        items.update((item.id, item) for item in fresh)
        resolved, changed = self._resolved(fresh)
        facts = resolved.facts
        for id, ends in pipeline.touching(found).items():
            before.touching.setdefault(id, []).extend(ends)
        stated, others, stale = self._standing(resolved, changed)
        standing = stated.keys() | others.keys()
        new = self._explicit(resolved, changed)
        stated |= new
        things = before.things
        things.change(changed, (facts[id] for id in sorted(changed) if id in facts), items)
        new |= inferred(things, facts, stated, mint=self._mint, rules=stale)
        sessions, memories, hidden = pipeline.talk(self._held, graph.moment, before.around.rulings)
        new |= pipeline.spoken(memories, facts, self._mint)
        links = stated | others | new
        held = list(graph.statements.values())
        statements.sort(key=lambda s: s.digest)
        places = [(bisect_right(held, s.digest, key=lambda s: s.digest), s.id) for s in statements]
        seen = {
            id: pipeline.in_order((*graph.sightings.get(id, ()), *new))
            for id, new in sightings.items()
            if id in attributions or id in graph.sightings
        }
        grown = msgspec.structs.replace(
            graph,
            version=self._held.version,
            hash=self._hash(
                [*_those(graph.facts, changed), *graph.memories.values(), *_without(graph.links, standing)],
                [*_those(facts, changed), *memories.values(), *new.values()],
            ),
            statements=_put_in(graph.statements, {s.id: s for s in statements}, places),
            passages=graph.passages | dict(passages),
            sightings=_put_in(graph.sightings, seen, places),
            documents=self._documents(sightings, visible),
            sessions=sessions,
            memories=memories,
            hidden=hidden,
            attributions=graph.attributions | attributions,
            facts=facts,
            fact_of=resolved.fact_of,
            links={id: links[id] for id in sorted(links)},
            conflicts=resolved.conflicts,
            decisions=resolved.decisions,
            unresolved=tuple(sorted((*graph.unresolved, *unresolved))) if unresolved else graph.unresolved,
            references=graph.references | references,
        )
        return msgspec.structs.replace(before, held=self._held, graph=grown, items=items)

    def _resolved(self, fresh: list[Said]) -> tuple[Resolved, set[str]]:
        """Everything resolved, the cells of what is new again; and the ids of facts that came, went or changed."""
        graph = self._graph
        self._before.cells.add(fresh)
        cells = self._before.cells.of(fresh)
        new = Resolved()
        for cell in cells:
            new.add(resolve(cell, self._before.around))
        ids = {item.id for cell in cells for item in cell}
        old = {graph.fact_of[id] for id in ids if id in graph.fact_of}
        changed = {id for id in old | new.facts.keys() if graph.facts.get(id) != new.facts.get(id)}
        facts = _sorted_with(graph.facts, old & changed, {id: new.facts[id] for id in changed if id in new.facts})
        fact_of = dict(graph.fact_of)
        for id in ids:
            fact_of.pop(id, None)
        fact_of |= new.fact_of
        conflicts = {id: c for id, c in graph.conflicts.items() if c.fact not in old} | new.conflicts
        decisions = {id: d for id, d in graph.decisions.items() if d.left not in ids} | new.decisions
        resolved = Resolved(
            facts=facts,
            fact_of=fact_of,
            conflicts=dict(sorted(conflicts.items())),
            decisions=dict(sorted(decisions.items())),
        )
        return resolved, changed

    def _standing(
        self, resolved: Resolved, changed: Set[str]
    ) -> tuple[dict[str, Link], dict[str, Link], frozenset[str]]:
        """The links that stand: those that sources state between facts that are what they were, those of rules that
        look at no kind of which a fact changed; and the other rules."""
        kinds = {facts[id].kind for facts in (self._graph.facts, resolved.facts) for id in changed if id in facts}
        stale = rules_about(kinds)
        stated: dict[str, Link] = {}
        told: dict[str, Link] = {}
        for id, link in self._graph.links.items():
            if link.source is LinkSource.EXPLICIT_REFERENCE:
                if link.origin not in changed and link.target not in changed:
                    stated[id] = link
            elif (rule := rule_of(link)) is not None and rule not in stale:
                told[id] = link
        return stated, told, stale

    def _explicit(self, resolved: Resolved, changed: Set[str]) -> dict[str, Link]:
        """The links that sources state, of the facts that changed."""
        facts = [facts[id] for facts in (self._graph.facts, resolved.facts) for id in changed if id in facts]
        ends = {end for fact in facts for end in (*fact.members, *(former for former, _ in fact.history))}
        touching = {id(each): each for end in ends for each in self._before.touching.get(end, ())}.values()
        return explicit(touching, resolved.facts, resolved.fact_of, mint=self._mint)

    def _documents(
        self, sightings: Mapping[str, tuple[Sighting, ...]], visible: Callable[[tuple[Label, ...]], bool]
    ) -> dict[str, Document]:
        """The documents that can be seen, the new ones among them as `pipeline` says."""
        before = self._before.held
        shown = self._graph.sightings.keys() & sightings.keys()
        if len(shown) < len(sightings):
            shown |= {s.id for s in self._held.statements if s.id in sightings and visible(s.labels)}
            shown |= {p.id for p in self._held.passages if p.id in sightings and visible(p.labels)}
        speaking = {seen.document for id in shown for seen in sightings[id]}
        new = self._held.documents[len(before.documents) :]
        late = [d for d in before.documents if d.id in speaking and d.id not in self._graph.documents]
        holding = {seen.document for seen in self._held.sightings[len(before.sightings) :]}
        found = pipeline.documents_of(self._held, (*late, *new), self._graph.moment, holding=holding, speaking=speaking)
        every = self._graph.documents | found
        return {d.id: d for d in self._held.documents if d.id in every}

    def _hash(self, gone: Iterable[Fact | Memory | Link], come: Iterable[Fact | Memory | Link]) -> str:
        """The graph hash, from the last one by what went and what came."""
        total = int(self._graph.hash, 16)
        return pipeline.hash_text(total - sum(map(pipeline.content_of, gone)) + sum(map(pipeline.content_of, come)))


def _those(all: Mapping[str, T], ids: Iterable[str]) -> list[T]:
    return [all[id] for id in ids if id in all]


def _without(all: Mapping[str, T], ids: Set[str]) -> list[T]:
    return [all[id] for id in all.keys() - ids]


def _sorted_with(old: Mapping[str, T], gone: Iterable[str], new: Mapping[str, T]) -> dict[str, T]:
    """What is sorted by id, without some and with others: sorted."""
    kept = dict(old)
    for id in gone:
        kept.pop(id, None)
    keys = list(kept)
    return _put_in(kept, new, [(bisect_right(keys, id), id) for id in sorted(new) if id not in kept])


def _put_in(old: Mapping[str, T], new: Mapping[str, T], places: Iterable[tuple[int, str]]) -> dict[str, T]:
    """The same with the new ones: those with a place before what stands there, in rising order, the others last."""
    rest, passed, merged = iter(old.items()), 0, dict[str, T]()
    for place, id in places:
        merged.update(islice(rest, place - passed))
        merged[id], passed = new[id], place
    merged.update(rest)
    merged.update(new)
    return merged

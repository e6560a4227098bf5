"""What do the statements of one cell come to? Facts, conflicts and the decisions between them.

A cell holds everything that could have to do with each other (`cells`): folding cell by cell gives what folding all
statements at once would give.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from datetime import datetime

import msgspec

from iamata.formation.recorded import adjudication
from iamata.formation.recorded.candidates import comparisons
from iamata.formation.recorded.clustering import Clusters
from iamata.formation.recorded.comparison import Comparison
from iamata.formation.recorded.merging import merge
from iamata.formation.recorded.negations import category, covers, ended_by
from iamata.formation.recorded.rulings import Rulings
from iamata.formation.recorded.rulings import comparisons as ruled_comparisons
from iamata.formation.recorded.said import Said
from iamata.model.conflict import Conflict, ConflictKind, Side
from iamata.model.decision import Decision, Quality, Verdict
from iamata.model.fact import Fact
from iamata.model.identifiers import IdMint, content_digest
from iamata.model.model_answers import Adjudication
from iamata.model.statement import Kind

_NEAR_MISSES = frozenset({"identifier-on-other-concept", "other-side", "done-and-not-done"})


class Around(msgspec.Struct, frozen=True):
    """What holds for all cells. `outdated` are statements that were replaced (by another, or with their document),
    `past` says for what no longer counts whose fact keeps it, `doubted` which sources may speak of two persons,
    `answers` what a language model said of pairs that nobody could tell."""

    outdated: Set[str]
    past: Mapping[str, str]
    doubted: frozenset[frozenset[str]]
    rulings: Rulings
    answers: Mapping[tuple[str, str], Adjudication]
    true_at: datetime
    mint: IdMint


class Resolved(msgspec.Struct):
    """What statements came to. `fact_of` leads from a statement (member or history) to its fact."""

    facts: dict[str, Fact] = {}
    fact_of: dict[str, str] = {}
    conflicts: dict[str, Conflict] = {}
    decisions: dict[str, Decision] = {}

    def add(self, other: Resolved) -> None:
        self.facts |= other.facts
        self.fact_of |= other.fact_of
        self.conflicts |= other.conflicts
        self.decisions |= other.decisions


def past_of(items: Iterable[Said], replaced: Mapping[str, str], outdated: Set[str]) -> dict[str, str]:
    """For each statement that no longer counts, the statement whose fact keeps it in its history: what replaced it,
    else what still says the same."""
    gone = [item for item in items if item.id in outdated or item.in_error]
    if not gone:
        return {}
    kinds = {item.kind for item in gone}
    out = {item.id for item in gone}
    named: dict[tuple[Kind, str], str] = {}
    for item in items:
        if item.kind in kinds and item.id not in out:
            for key in _names(item):
                named.setdefault((item.kind, key), item.id)
    past: dict[str, str] = {}
    for item in gone:
        if item.id in replaced:
            past[item.id] = replaced[item.id]
            continue
        for key in _names(item):
            if (item.kind, key) in named:
                past[item.id] = named[item.kind, key]
                break
    return past


def kept_by_name(items: Iterable[Said], outdated: Set[str], replaced: Mapping[str, str]) -> set[tuple[Kind, str]]:
    """The names by which what no longer counts looks for what still says the same."""
    gone = [item for item in items if item.id not in replaced and (item.id in outdated or item.in_error)]
    return {(item.kind, name) for item in gone for name in _names(item)}


def names_of(item: Said) -> set[tuple[Kind, str]]:
    """The names under which it is found by what no longer counts."""
    return {(item.kind, name) for name in _names(item)}


def _names(item: Said) -> list[str]:
    return [key for key in (*sorted(item.keys), item.name) if key]


def resolve(items: list[Said], around: Around) -> Resolved:
    """One cell, given in the order of its content."""
    if len(items) == 1:
        return _resolve_one(items[0], around)
    history = {item.id: "superseded" for item in items if item.id in around.outdated}
    history |= {item.id: "entered-in-error" for item in items if item.in_error}
    counting = [item for item in items if item.id not in history]
    ended, disputes = _negations(counting, around.doubted)
    history |= dict.fromkeys(ended, "superseded")
    ruled = {record for pair in around.rulings.pairs for record in pair}
    told = (adjudication.adjudicated(c, around.answers) for c in comparisons(counting, around.doubted, ruled))
    compared = [*ruled_comparisons(around.rulings, counting), *told]
    clusters = Clusters(counting, compared, around.doubted)
    edges: dict[str, Comparison] = {}
    for comparison in clusters.joined:
        for side in (comparison.left, comparison.right):
            best = edges.get(side.id)
            if best is None or (comparison.quality, comparison.rule) > (best.quality, best.rule):
                edges[side.id] = comparison

    found = Resolved()
    past = {id: around.past[id] for id in history if id in around.past} | ended
    for cluster in clusters:
        ids = {item.id for item in cluster}
        old = {id: why for id, why in history.items() if past.get(id) in ids and id not in ids}
        gone = {id: history[id] for id in ids & history.keys()}
        if len(gone) == len(ids) or all(_only_denied(item) for item in cluster if item.id not in gone):
            continue  # nothing of it counts any more, or nobody says so: the statements stay, no fact is left
        mine = [edges[id] for id in sorted(ids) if id in edges]
        weakest = max(mine, key=lambda c: (c.quality, c.rule), default=None)
        fact, conflicts = merge(
            cluster,
            {**old, **gone},
            quality=weakest.quality if weakest else Quality.CONFIRMED,
            rule=weakest.rule if weakest else "single",
            rulings=around.rulings,
            true_at=around.true_at,
            mint=around.mint,
        )
        found.facts[fact.id] = fact
        found.conflicts |= {conflict.id: conflict for conflict in conflicts}
        found.fact_of |= dict.fromkeys([*fact.members, *(id for id, _ in fact.history)], fact.id)
    _between_facts(found, disputes, around.mint)
    for conflict in _identity_conflicts(found.facts, counting, around.doubted, around.mint):
        found.conflicts[conflict.id] = conflict
        found.facts[conflict.fact] = _contested(found.facts[conflict.fact], conflict)
    near = [
        c for c in compared if _near_miss(c) and (c.ruling is not None or around.rulings.about(c.left, c.right) is None)
    ]
    decided = (_decision(c, around.mint) for c in (*clusters.joined, *clusters.refused, *near))
    found.decisions = {decision.id: decision for decision in decided}
    return found


def _only_denied(item: Said) -> bool:
    """Does a text say that it is not so? Alone that is no fact of the patient, but for a "no known …" and a habit that
    the patient does not have."""
    return item.is_mention and item.denies and category(item) is None and item.kind is not Kind.SOCIAL_HISTORY


def _resolve_one(item: Said, around: Around) -> Resolved:
    """What nothing else can have to do with: as it was said."""
    found = Resolved()
    if item.id in around.outdated or item.in_error or _only_denied(item):
        return found
    fact, conflicts = merge(
        [item],
        {},
        quality=Quality.CONFIRMED,
        rule="single",
        rulings=around.rulings,
        true_at=around.true_at,
        mint=around.mint,
    )
    found.facts[fact.id] = fact
    found.conflicts = {conflict.id: conflict for conflict in conflicts}
    found.fact_of = dict.fromkeys([*fact.members, *(id for id, _ in fact.history)], fact.id)
    return found


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


def _between_facts(found: Resolved, disputes: list[tuple[Said, Said]], mint: IdMint) -> None:
    """A "no known …" against an allergy is one conflict between two facts, shown on both."""
    facts, fact_of = found.facts, found.fact_of
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
        found.conflicts[conflict.id] = conflict
        for id in (a, *denials):
            facts[id] = _contested(facts[id], conflict)


def _identity_conflicts(
    facts: Mapping[str, Fact], items: Iterable[Said], doubted: frozenset[frozenset[str]], mint: IdMint
) -> list[Conflict]:
    """Sources that may speak of two persons: one conflict for each pair, on the first one's demographic fact."""
    people: dict[str, list[Said]] = defaultdict(list)
    if not doubted:
        return []
    for item in items:
        if item.kind is Kind.DEMOGRAPHIC:
            people[item.source].append(item)
    found = []
    for pair in sorted(doubted, key=sorted):
        if not any(people[source] for source in pair):
            continue
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
    """A shared key and one contradiction, an uncertain pair that waits for a person, or what a person or a language
    model told apart."""
    return comparison.verdict is Verdict.REJECT and (
        comparison.quality is Quality.UNCERTAIN
        or comparison.rule in _NEAR_MISSES
        or comparison.ruling is not None
        or comparison.adjudication is not None
    )


def _decision(comparison: Comparison, mint: IdMint) -> Decision:
    left, right = sorted((comparison.left.id, comparison.right.id))
    ruling, answer = comparison.ruling, comparison.adjudication
    return Decision(
        mint.id("rd", (left, right)),
        left,
        right,
        comparison.verdict,
        comparison.quality,
        comparison.rule,
        comparison.evidence,
        by=ruling.by if ruling else answer.by if answer else "",
        decided_at=ruling.decided_at if ruling else answer.received_at if answer else None,
    )

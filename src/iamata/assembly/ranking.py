"""In which order do items deserve a place? Relevance to the task and the question, times authority, less what is said.

An item already said costs, a section not yet told gains. The safety set stands before all order. Does not count
tokens and writes no text.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Final

import msgspec

from iamata.assembly.wording import rows
from iamata.authority import PatientContext, Profile
from iamata.authority.evidence import folded
from iamata.model.clinical_time import ClinicalTime
from iamata.model.entry import Inferred
from iamata.model.fact import Currency, Fact
from iamata.model.graph import Graph
from iamata.model.link import LinkType
from iamata.model.memory import Experiencer, Memory, Temporality
from iamata.model.scope import Scope
from iamata.model.statement import FACT_KINDS, Kind, Polarity, Standing

# Headings in the order of the text, from most to least permanent, and the kinds told under each.
SECTIONS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("Agent", (Scope.AGENT,)),
    ("Organization", (Scope.ORGANIZATION,)),
    ("Operator", (Scope.OPERATOR,)),
    ("Patient", (Kind.DEMOGRAPHIC,)),
    ("Allergies", (Kind.ALLERGY, Kind.ADVERSE_EVENT)),
    ("Directives and flags", (Kind.DIRECTIVE, Kind.FLAG, Kind.RISK)),
    ("Pregnancy", (Kind.PREGNANCY,)),
    ("Problems", (Kind.CONDITION,)),
    ("Medications", (Kind.MEDICATION, Kind.MEDICATION_EVENT)),
    ("Family history", (Kind.FAMILY_HISTORY,)),
    ("Social history", (Kind.SOCIAL_HISTORY, Kind.ANSWER)),
    ("Immunizations", (Kind.IMMUNIZATION,)),
    ("Devices", (Kind.DEVICE,)),
    ("Procedures", (Kind.PROCEDURE, Kind.IMAGING_STUDY)),
    ("Plans and care team", (Kind.GOAL, Kind.CARE_PLAN, Kind.CARE_TEAM, Kind.ORDER, Kind.APPOINTMENT)),
    ("Coverage and claims", (Kind.INSURANCE, Kind.AUTHORIZATION, Kind.CLAIM, Kind.REMITTANCE)),
    ("Results", (Kind.OBSERVATION, Kind.REPORT)),
    ("Visits", (Kind.ENCOUNTER, Kind.COMMUNICATION)),
    ("Notes", ("passage", Kind.DOCUMENT)),
    ("Said in conversation", ("memory",)),
    ("Inferred by agents", ("inference",)),
)
_SECTION_OF: Final = {kind: number for number, (_, kinds) in enumerate(SECTIONS) for kind in kinds}
_OTHER_SECTION: Final = _SECTION_OF["passage"]
ALLERGIES: Final = _SECTION_OF[Kind.ALLERGY]

# Below this an item is left out as not relevant, even with room to spare.
LEAST_RELEVANCE: Final = 0.05
# How much the question moves the order against the task's own.
_QUERY_SHARE: Final = 0.6
# A weight of 0 still leaves this share: authority orders and words items, it does not silence them.
_LEAST_WEIGHT: Final = 0.4
# The second item of one thing (one test, one visit type) is worth less; so is each further half dozen of a section.
_SAME_THING: Final = 0.35
_SAME_SECTION: Final = 0.8
_SECTION_STEP: Final = 6
_ALREADY_SAID: Final = 0.4
_STATE: Final = {Currency.CURRENT: 1.0, Currency.UNKNOWN: 0.75, Currency.PLANNED: 0.7, Currency.PAST: 0.4}
# What only words of a note name comes after what somebody entered.
_ONLY_NAMED: Final = 0.6
_EVENT_HALF_LIFE_S: Final = 730 * 86_400.0
_TALK_HALF_LIFE_S: Final = 180 * 86_400.0
# What an agent inferred from what has changed since is told late, and marked.
_STALE_INFERENCE: Final = 0.4
_OLDEST_EVENT: Final = 0.15
_OLDEST_TALK: Final = 0.3
# Kinds of which every item is a thing of its own, and kinds that tell little without a name.
_EACH_ITS_OWN: Final = frozenset({Kind.CLAIM, Kind.REMITTANCE, Kind.AUTHORIZATION, Kind.INSURANCE})
_NAMED: Final = frozenset({Kind.ORDER, Kind.PROCEDURE, Kind.OBSERVATION, Kind.REPORT, Kind.APPOINTMENT})


class Card(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the order needs to know of one item. `section` is its place in SECTIONS, `thing` what would be said twice,
    `state` 0..1 how present it is, `day` the day it tells of, `with_` the facts that must be told with it (a memory
    that conflicts with them), `says_too` the facts it repeats. `only_named`: only words of notes say so."""

    id: str
    kind: str
    section: int
    thing: str
    state: float
    day: str
    words: str
    memory: bool = False
    current: bool = True
    stale: bool = False
    only_named: bool = False
    conflict: str = ""
    with_: tuple[str, ...] = ()
    says_too: tuple[str, ...] = ()


def cards(graph: Graph, inferred: Mapping[str, Inferred] | None = None) -> dict[str, Card]:
    """A card for every fact, memory, passage and inference of the graph, by id, at the graph's moment."""
    now = graph.moment.true_at.timestamp()
    conflict_of: dict[str, str] = {}
    for id in sorted(graph.conflicts):
        conflict = graph.conflicts[id]
        for side in conflict.sides:
            for item in side.items:
                conflict_of.setdefault(graph.fact_of.get(item, item), id)
        fact = graph.resolve(conflict.fact)
        conflict_of[fact.id if fact else conflict.fact] = id
    against: dict[str, set[str]] = {}
    repeats: dict[str, set[str]] = {}
    for id in sorted(graph.links):
        link = graph.links[id]
        if link.origin in graph.memories and (target := graph.resolve(link.target)) is not None:
            if link.type is LinkType.CONFLICTS:
                against.setdefault(link.origin, set()).add(target.id)
                conflict_of.setdefault(target.id, id)
                conflict_of.setdefault(link.origin, id)
            elif link.type in (LinkType.SUPPORTS, LinkType.REFINES):
                repeats.setdefault(link.origin, set()).add(target.id)
    for id in sorted(graph.conflicts):
        fact = graph.resolve(graph.conflicts[id].fact)
        for item in (item for side in graph.conflicts[id].sides for item in side.items):
            if item in graph.memories and fact is not None:
                against.setdefault(item, set()).add(fact.id)
    found = {
        id: _fact_card(graph.facts[id], now, conflict_of.get(id, ""), _only_named(graph, graph.facts[id]))
        for id in sorted(graph.facts)
    }
    for id in sorted(graph.memories):
        with_, says_too = against.get(id, set()), repeats.get(id, set())
        found[id] = _memory_card(graph.memories[id], now, conflict_of.get(id, ""), sorted(with_), sorted(says_too))
    for id in sorted(graph.passages):
        passage = graph.passages[id]
        day = max((timed.start.day for timed in passage.times if timed.start is not None), default="")
        found[id] = Card(
            id=id,
            kind="document",
            section=_SECTION_OF["passage"],
            thing=id,
            state=1.0,
            day=day,
            words=folded(passage.title),
        )
    for id, held in (inferred or {}).items():
        found[id] = Card(
            id=id,
            kind=held.entry.kind.value,
            section=_SECTION_OF["inference"],
            thing=id,
            state=_STALE_INFERENCE if held.stale else 1.0,
            day=held.entry.recorded_at.date().isoformat(),
            words=folded(held.entry.title),
            stale=held.stale,
        )
    return found


def _only_named(graph: Graph, fact: Fact) -> bool:
    """Do only words of notes say so?"""
    return bool(fact.members) and all(graph.statements[id].is_mention for id in fact.members)


def _fact_card(fact: Fact, now: float, conflict: str, only_named: bool) -> Card:
    start = fact.when.start if fact.when is not None else None
    name = folded(fact.display)
    keys = fact.concept.keys if fact.concept is not None else ()
    state = _STATE[fact.currency]
    if fact.kind not in FACT_KINDS and _latest(start) is not None:
        age = max(0.0, now - (_latest(start) or 0.0))
        state = max(_OLDEST_EVENT, 2.0 ** (-age / _EVENT_HALF_LIFE_S))
    if fact.standing is Standing.ENTERED_IN_ERROR or not fact.members:
        state *= 0.1
    if fact.concept is None and fact.kind in _NAMED:
        state *= 0.3
    if only_named:
        state *= _ONLY_NAMED
    return Card(
        id=fact.id,
        kind=str(fact.kind),
        section=_SECTION_OF.get(fact.kind, _OTHER_SECTION),
        thing=fact.id if fact.kind in _EACH_ITS_OWN else f"{fact.kind} {keys[0] if keys else name}",
        state=state,
        day=start.day if start is not None else "",
        words=name,
        current=fact.currency is not Currency.PAST and fact.polarity is Polarity.AFFIRMED,
        stale=fact.currency is Currency.UNKNOWN and fact.standing is Standing.ACTIVE,
        only_named=only_named,
        conflict=conflict,
    )


def _memory_card(memory: Memory, now: float, conflict: str, with_: Sequence[str], says_too: Sequence[str]) -> Card:
    said = (memory.said_at or memory.received_at).timestamp()
    state = max(_OLDEST_TALK, 2.0 ** (-max(0.0, now - said) / _TALK_HALF_LIFE_S))
    if memory.experiencer is not Experiencer.PATIENT:
        state *= 0.6
    if memory.temporality is Temporality.HYPOTHETICAL or not memory.certain:
        state *= 0.6
    name = folded(memory.concept.display)
    return Card(
        id=memory.id,
        kind=str(memory.kind),
        section=_SECTION_OF["memory"],
        thing=f"said {memory.kind} {name} {memory.polarity} {memory.change}",
        state=state,
        day=(memory.said_at or memory.received_at).date().isoformat(),
        words=name,
        memory=True,
        conflict=conflict,
        with_=tuple(with_),
        says_too=tuple(says_too),
    )


def _latest(time: ClinicalTime | None) -> float | None:
    return None if time is None or time.latest is None else float(time.latest)


def relevance(card: Card, profile: Profile) -> float:
    """How much it matters to the task when nothing is asked, 0..1, before authority."""
    return profile.relevance_of(card.kind, memory=card.memory) * card.state


def asked(relevance: float, score: float) -> float:
    """How much it matters when something is asked; `score` 0..1 says how well it answers, against the best answer."""
    return (1 - _QUERY_SHARE) * relevance + _QUERY_SHARE * score


class SafetyRule(msgspec.Struct, frozen=True):
    """A row of `data/safety.tsv`: `what` is the word before the colon, `name` the one after it."""

    rank: int
    what: str
    name: str
    current: bool


@cache
def safety_rules(task: str) -> tuple[SafetyRule, ...]:
    """The rows for this task and for every task, by rank."""
    found = []
    for row in rows("safety.tsv"):
        if row["task"] in ("*", task):
            what, name, *rest = row["selector"].split(":")
            found.append(SafetyRule(int(row["rank"]), what, name, "current" in rest))
    return tuple(sorted(found, key=lambda rule: (rule.rank, rule.what, rule.name)))


@cache
def in_group(group: str, name: str) -> bool:
    """Does this folded name have a word of the group, and none that rules that row out?"""
    for row in rows("high_risk.tsv"):
        if row["group"] == group and folded(row["words"]) in name:
            unless = [folded(word) for word in row["unless"].split(",") if word != "-"]
            if not any(word in name for word in unless):
                return True
    return False


def safety_set(known: Mapping[str, Card], task: str, patient: PatientContext) -> list[Card]:
    """What must never be dropped, by rank, then current before past, newest first, then id; each item once."""
    chosen: dict[str, tuple[int, Card]] = {}
    for rule in safety_rules(task):
        for card in _matching(rule, known, patient):
            chosen.setdefault(card.id, (rule.rank, card))
    # A memory that only repeats a fact of the set is told with it.
    kept = {id: pair for id, pair in chosen.items() if not any(fact in chosen for fact in pair[1].says_too)}
    for _, card in list(kept.values()):
        for fact in card.with_:
            if fact in known:
                kept.setdefault(fact, (chosen[card.id][0], known[fact]))
    ordered = sorted(kept.values(), key=lambda pair: pair[1].id)
    ordered.sort(key=lambda pair: pair[1].day, reverse=True)
    ordered.sort(key=lambda pair: (pair[0], not pair[1].current))
    return [card for _, card in ordered]


def _matching(rule: SafetyRule, known: Mapping[str, Card], patient: PatientContext) -> Iterable[Card]:
    match rule.what:
        case "kind":
            for card in known.values():
                if not card.memory and card.kind == rule.name and (card.current or not rule.current):
                    yield card
        case "memory":
            yield from (card for card in known.values() if card.memory and card.kind == rule.name)
        case "conflict":
            yield from (card for card in known.values() if card.conflict and card.kind == rule.name and not card.memory)
        case "words":
            for card in known.values():
                if card.kind == Kind.MEDICATION and card.current and in_group(rule.name, card.words):
                    yield card
        case "newest" | "child":
            if rule.what == "child" and (patient.age is None or patient.age >= 18):
                return
            found = [c for c in known.values() if c.kind == Kind.OBSERVATION and in_group(rule.name, c.words)]
            if found:
                yield max(found, key=lambda card: (card.day, card.id))


class Queue:
    """Gives out cards best first: relevance x authority x novelty, ties by id, each once. `take` says what was
    accepted, which lowers what would repeat it. An authority is only asked for things that may come next.

    Of one thing (one test, one vaccine) only the best card left stands in the heap, so that a thousand results of a
    few tests cost no more than the tests.
    """

    def __init__(
        self, relevant: Mapping[str, float], known: Mapping[str, Card], weight: Callable[[Card], float]
    ) -> None:
        self._known = known
        self._relevant = relevant
        self._weight = weight
        self._groups: dict[str, list[str]] = {}
        self._value: dict[str, float] = {}
        self._taken: set[str] = set()
        self._things: dict[str, int] = {}
        self._sections: dict[int, int] = {}
        bounds: dict[str, float] = {}
        for id, value in relevant.items():
            thing = known[id].thing
            self._groups.setdefault(thing, []).append(id)
            bounds[thing] = max(bounds.get(thing, 0.0), value)
        # (minus the worth or a bound of it, id of the card or empty for a bound, thing)
        self._heap = [(-bound, "", thing) for thing, bound in bounds.items()]
        heapq.heapify(self._heap)

    def take(self, card: Card) -> None:
        """This card is in: what repeats it is worth less from now on."""
        if card.id not in self._taken:
            self._taken.add(card.id)
            self._things[card.thing] = self._things.get(card.thing, 0) + 1
            self._sections[card.section] = self._sections.get(card.section, 0) + 1

    def next(self) -> Card | None:
        """The best card not given out yet; None at the end."""
        while self._heap:
            bound, given, thing = heapq.heappop(self._heap)
            best = self._best(thing)
            if best is None:
                continue
            worth, id = best
            # Worth only falls, so a card that is still worth its bound is the best one left.
            if id == given and worth >= -bound - 1e-12:
                self._groups[thing].remove(id)
                if self._groups[thing]:
                    heapq.heappush(self._heap, (bound, "", thing))
                return self._known[id]
            heapq.heappush(self._heap, (-worth, id, thing))
        return None

    def _best(self, thing: str) -> tuple[float, str] | None:
        """The card of this thing that is worth most now, and what it is worth."""
        left = [id for id in self._groups[thing] if id not in self._taken]
        self._groups[thing] = left
        if not left:
            return None
        for id in left:
            if id not in self._value:
                weight = round(self._weight(self._known[id]), 6)
                self._value[id] = self._relevant[id] * (_LEAST_WEIGHT + (1 - _LEAST_WEIGHT) * weight)
        card = self._known[left[0]]
        novelty = _SAME_THING ** self._things.get(thing, 0)
        novelty *= _SAME_SECTION ** (self._sections.get(card.section, 0) // _SECTION_STEP)
        value, id = min((-self._now(id), id) for id in left)
        return -value * novelty, id

    def _now(self, id: str) -> float:
        says_too = self._known[id].says_too
        repeated = bool(says_too) and any(fact in self._taken for fact in says_too)
        return self._value[id] * (_ALREADY_SAID if repeated else 1.0)

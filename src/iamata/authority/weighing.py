"""How much does an item count, for this task, on this aspect, now? A weight with the factors that add up to it.

    log_odds = base + standing + recency + corroboration - contradiction + verification + directness + certainty
               + extraction;  weight = 1 / (1 + exp(-log_odds))

The sum is of one side of a question, each independent witness once; an item shows its own term, and the rest of its
side as `corroboration`. Entered in error counts 0, whatever else: log_odds is then `IN_ERROR`, which is as far below
every sum that can arise as a number in JSON needs to be. Reads only; the same input gives the same weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

from iamata.authority.factors import Term, term
from iamata.authority.patient_context import PatientContext, patient_context
from iamata.authority.profiles import Profile
from iamata.authority.witness import MOST_KEPT, Item, Witnesses
from iamata.errors import NotFound
from iamata.model.attribution import Role
from iamata.model.conflict import Conflict, ConflictKind, Side
from iamata.model.context import Authority, Factor
from iamata.model.fact import Fact
from iamata.model.graph import Graph
from iamata.model.link import LinkType
from iamata.model.stamp import Moment
from iamata.model.statement import Aspect

# exp(-1000) is 0.0: the weight is exactly 0, and the number is valid JSON where -inf is not.
IN_ERROR: Final = -1000.0
# Sides closer than this are a tie: a remark, never used to sort (design 06).
TIE: Final = 0.05
# What the sides are called where a link, and no conflict with words of its own, sets a memory against a fact.
RECORD: Final = "the record"
SAID: Final = "what was said"

_ORDER = (
    "base",
    "standing",
    "recency",
    "corroboration",
    "contradiction",
    "verification",
    "directness",
    "certainty",
    "extraction",
)
_WHETHER = (ConflictKind.EXISTENCE, ConflictKind.VERIFICATION, ConflictKind.IDENTITY)
_NOW = (Aspect.TAKEN, Aspect.EXPERIENCED, Aspect.DIAGNOSED, Aspect.WANTED, Aspect.COVERED, Aspect.LIVED)


def logistic(log_odds: float) -> float:
    """1 / (1 + exp(-x)) without overflow."""
    if log_odds >= 0:
        return 1.0 / (1.0 + math.exp(-log_odds))
    odds = math.exp(log_odds)
    return odds / (1.0 + odds)


def weigh(graph: Graph, item_id: str, *, profile: Profile, aspect: Aspect | None, moment: Moment) -> Authority:
    """The authority of a fact (its side), a statement or a memory, on the named aspect; None: on the one that the task
    usually asks of this kind (a statement within a fact is asked what the fact is). The answer says which was used.

    Raises NotFound for an id that is none of these.
    """
    return Scale(graph, profile, moment).authority(item_id, aspect)


def sides(
    graph: Graph, id: str, *, profile: Profile, aspect: Aspect | None, moment: Moment
) -> tuple[tuple[Side, Authority], ...]:
    """The sides of a conflict (or of a link by which a memory conflicts, or of the first conflict of a fact, existence
    before the rest; a fact without one is its own only side), in descending weight rounded to 1e-6, then by what they
    say. Raises NotFound."""
    return Scale(graph, profile, moment).sides(id, aspect)


def tied(weighed: tuple[tuple[Side, Authority], ...]) -> bool:
    """Are the first two sides within 0.05? A remark for the reader."""
    return len(weighed) > 1 and abs(weighed[0][1].weight - weighed[1][1].weight) < TIE


class Scale:
    """One graph weighed for one task at one time; keeps all weights, and what it has worked out last.

    Threads may share it: what is kept depends on nothing but the graph, the profile and the moment.
    """

    def __init__(self, graph: Graph, profile: Profile, moment: Moment, witnesses: Witnesses | None = None) -> None:
        self.graph = graph
        self.profile = profile
        self.moment = moment
        self.witnesses = witnesses or Witnesses(graph)
        self.patient: PatientContext = patient_context(graph, moment.true_at)
        self._terms: dict[tuple[str, Aspect], Term] = {}
        self._weighed_before: dict[tuple[str, Aspect | None], Authority] = {}
        self._weights: dict[tuple[str, Aspect | None], float] = {}

    def aspect_for(self, kind: str, asked: Aspect | None) -> Aspect:
        """The asked aspect if this kind has it, else the task's usual one: for a question to items of many kinds."""
        has = self.profile.aspects_of(kind)
        return asked if asked is not None and asked in has else has[0]

    def authority(self, id: str, aspect: Aspect | None = None) -> Authority:
        """As `weigh`."""
        found = self._weighed_before.get((id, aspect))
        if found is None:
            found = self._authority(id, aspect)
            if len(self._weighed_before) >= MOST_KEPT:
                self._weighed_before.clear()
            self._weighed_before[(id, aspect)] = found
        return found

    def weight(self, id: str, aspect: Aspect | None = None) -> float:
        """The weight alone, which is kept for every item."""
        found = self._weights.get((id, aspect))
        if found is None:
            found = self._weights[(id, aspect)] = self.authority(id, aspect).weight
        return found

    def _authority(self, id: str, aspect: Aspect | None) -> Authority:
        fact = self.graph.facts.get(id)
        if fact is not None:
            asked = aspect or self.profile.aspects_of(fact.kind)[0]
            support, opposition = self._of_fact(fact, asked)
            return self._weighed(support, opposition, asked)
        item = self.witnesses.item(id)
        asked = self._aspect_of(item, aspect)
        support, opposition = self._of_item(item, asked)
        return self._weighed(support, opposition, asked, lead=id)

    def sides(self, id: str, aspect: Aspect | None = None) -> tuple[tuple[Side, Authority], ...]:
        """As the function `sides`."""
        conflict = self.graph.conflicts.get(id) or self._between(id)
        fact = self.graph.facts.get(conflict.fact if conflict else id)
        if conflict is None:
            if fact is None:
                raise NotFound(what="conflict or fact", id=id)
            found = sorted(self.witnesses.conflicts_of.get(fact.id, ()), key=_severity)
            if not found:
                return ((Side(fact.display, self.witnesses.members(fact)), self.authority(fact.id, aspect)),)
            conflict = found[0]
        if fact is not None:
            asked = aspect or self.profile.aspects_of(fact.kind)[0]
        else:
            items = self.witnesses.known(item for side in conflict.sides for item in side.items)
            asked = self._aspect_of(self.witnesses.item(items[0]), aspect) if items else Aspect.RECORDED
        weighed = []
        for side in conflict.sides:
            mine = self._standing_on(conflict, side)
            others = {id for s in conflict.sides if s is not side for id in self._standing_on(conflict, s)} - mine
            weighed.append((side, self._weighed(mine, others, asked)))
        return tuple(sorted(weighed, key=lambda pair: (-round(pair[1].weight, 6), pair[0].says)))

    def _between(self, link_id: str) -> Conflict | None:
        """A link that says that a memory conflicts with a fact, as a conflict of two sides."""
        link = self.graph.links.get(link_id)
        fact = self.graph.resolve(link.target) if link is not None and link.type is LinkType.CONFLICTS else None
        if link is None or fact is None or link.origin not in self.graph.memories:
            return None
        kind = ConflictKind(link.conflict_kind) if link.conflict_kind in list(ConflictKind) else ConflictKind.STATUS
        both = (Side(RECORD, self.witnesses.members(fact)), Side(SAID, (link.origin,)))
        return Conflict(link.id, kind, fact.id, "", both, link.rule)

    def term(self, item: Item, aspect: Aspect) -> Term:
        """The item's own term. An agent carries at most its source's weight times its fidelity (design 06)."""
        key = (item.id, aspect)
        found = self._terms.get(key)
        if found is None:
            found = term(
                item,
                aspect,
                profile=self.profile,
                patient=self.patient,
                true_at=self.moment.true_at,
                superseded=self.witnesses.superseded.get(item.id, ""),
            )
            if item.role is Role.AGENT:
                found = self._agent(item, aspect, found)
            if len(self._terms) >= MOST_KEPT:
                self._terms.clear()
            self._terms[key] = found
        return found

    def _agent(self, item: Item, aspect: Aspect, own: Term) -> Term:
        sources = [i for i in self.witnesses.source_of_agent(item.id) if i != item.id]
        told = [self.witnesses.item(i) for i in sources]
        behind = [self.term(source, aspect).nats for source in told if source.role is not Role.AGENT]
        if not behind:
            return own
        fidelity = self.profile.retain["agent-fidelity"]
        nats = max(behind) * fidelity.value
        why = f"an agent carries its source's weight x {fidelity.value:.2f} [{', '.join(fidelity.evidence)}]"
        rest = tuple(Factor(factor.name, 0.0, "in the source's weight") for factor in own.factors[1:])
        return Term((Factor("standing", nats, why), *rest), nats)

    def _aspect_of(self, item: Item, asked: Aspect | None) -> Aspect:
        fact = self.graph.facts.get(self.graph.fact_of.get(item.id, ""))
        return asked or self.profile.aspects_of(fact.kind if fact is not None else item.kind)[0]

    def _of_fact(self, fact: Fact, aspect: Aspect) -> tuple[set[str], set[str]]:
        """Who stands for the fact as it is shown, and who against it on this aspect."""
        members = set(self.witnesses.members(fact)) or set(self.witnesses.known(id for id, _ in fact.history))
        support = {id for id in members if self.graph.statements[id].polarity is fact.polarity} or set(members)
        opposition = members - support
        for conflict in self._conflicts_of(fact):
            if self._touches(conflict.kind, aspect):
                opposition |= self._against(conflict, support)
        for link in self.witnesses.memories_of.get(fact.id, ()):
            if link.type in (LinkType.SUPPORTS, LinkType.REFINES):
                support.add(link.origin)
            elif link.type is LinkType.CONFLICTS and self._touches(link.conflict_kind, aspect):
                opposition.add(link.origin)
        return support - opposition, opposition

    def _of_item(self, item: Item, aspect: Aspect) -> tuple[set[str], set[str]]:
        support, opposition = {item.id}, set[str]()
        found = [
            conflict
            for conflict in self.witnesses.conflicts_of.get(item.id, ())
            if any(item.id in side.items for side in conflict.sides)
            and (conflict.kind is not ConflictKind.STATUS or aspect in _NOW)
        ]
        for conflict in found:
            for side in conflict.sides:
                (support if item.id in side.items else opposition).update(self._standing_on(conflict, side))
        fact = self.graph.facts.get(self.graph.fact_of.get(item.id, ""))
        if fact is not None and not found:
            stands, against = self._of_fact(fact, aspect)
            mine, theirs = (against, stands) if item.id in against else (stands, against)
            support, opposition = support | mine, opposition | theirs
        for link in self.witnesses.links_of_memory.get(item.id, ()) if not found else ():
            target = self.graph.facts.get(link.target)
            if target is None:
                continue
            stands, against = self._of_fact(target, aspect)
            if link.type in (LinkType.SUPPORTS, LinkType.REFINES):
                support, opposition = support | stands, opposition | against
            elif link.type is LinkType.CONFLICTS:
                opposition |= stands - {item.id}
        opposition.discard(item.id)
        return support - opposition, opposition

    def _conflicts_of(self, fact: Fact) -> list[Conflict]:
        """The conflicts on this fact, and those in which it is itself a side (a "no known …" against an allergy)."""
        found = {c.id: c for c in self.witnesses.conflicts_of.get(fact.id, ()) if c.fact == fact.id}
        for member in fact.members:
            for conflict in self.witnesses.conflicts_of.get(member, ()):
                if conflict.kind is ConflictKind.EXISTENCE:
                    found[conflict.id] = conflict
        return [found[id] for id in sorted(found)]

    def _standing_on(self, conflict: Conflict, side: Side) -> set[str]:
        """Who stands on a side: its items, and where sides are whole facts, the talk that supports them."""
        found = set(self.witnesses.known(side.items))
        if conflict.kind is ConflictKind.EXISTENCE:
            facts = {self.graph.fact_of.get(id, "") for id in side.items}
            links = (link for id in sorted(facts) for link in self.witnesses.memories_of.get(id, ()))
            found |= {link.origin for link in links if link.type in (LinkType.SUPPORTS, LinkType.REFINES)}
        return found

    def _touches(self, kind: str, aspect: Aspect) -> bool:
        """Does a conflict of this kind bear on whether the fact is so? Status does where the aspect is about now."""
        return kind in _WHETHER or (kind == ConflictKind.STATUS and aspect in _NOW)

    def _against(self, conflict: Conflict, support: set[str]) -> set[str]:
        """The items of the sides on which no supporter stands; where they stand on all, those of the smaller sides."""
        for_us = [side for side in conflict.sides if support & set(side.items)]
        if len(for_us) == len(conflict.sides):
            most = max(for_us, key=lambda side: (len(support & set(side.items)), side.says))
            for_us = [most]
        against = {id for side in conflict.sides if side not in for_us for id in self._standing_on(conflict, side)}
        return against - {id for side in for_us for id in side.items}

    def _weighed(self, support: Iterable[str], opposition: Iterable[str], aspect: Aspect, lead: str = "") -> Authority:
        mine = [self.witnesses.item(id) for id in sorted(set(support))]
        if (lead and self.witnesses.item(lead).in_error) or all(item.in_error for item in mine):
            factor = Factor("entered_in_error", IN_ERROR, "entered in error: never counts")
            return Authority(self.profile.name, aspect, 0.0, IN_ERROR, (factor,))
        mine = [item for item in mine if not item.in_error]
        theirs = [item for id in sorted(set(opposition)) if not (item := self.witnesses.item(id)).in_error]
        theirs = [item for item in theirs if not _took_back(item, mine)]
        roots = self.witnesses.roots(item.id for item in (*mine, *theirs))
        first = self.witnesses.item(lead) if lead else max(mine, key=lambda i: (self.term(i, aspect).nats, i.id))
        own = self.term(first, aspect)
        total, witnesses = self._pooled(mine, roots, aspect)
        against, opponents = self._pooled(theirs, roots, aspect)
        spread = f"[{', '.join(self.profile.corroboration_row.evidence)}]"
        named: dict[str, Factor] = {factor.name: factor for factor in own.factors}
        named["base"] = self._base(first, aspect)
        agree = f"{witnesses} independent witness{'es' if witnesses != 1 else ''} on this side, copies not counted"
        named["corroboration"] = Factor("corroboration", total - own.nats, f"{agree} {spread}")
        if against > 0:
            other = f"{opponents} independent witness{'es' if opponents != 1 else ''} on the other side {spread}"
            named["contradiction"] = Factor("contradiction", -against, other)
        else:
            named["contradiction"] = Factor("contradiction", 0.0, "nobody says otherwise")
        factors = tuple(named[name] for name in _ORDER)
        log_odds = math.fsum(sorted(factor.log_odds for factor in factors))
        return Authority(self.profile.name, aspect, logistic(log_odds), log_odds, factors)

    def _pooled(self, items: list[Item], roots: Mapping[str, str], aspect: Aspect) -> tuple[float, int]:
        """What independent witnesses are worth together: the strongest of each root, roots of one mechanism and then
        mechanisms with diminishing returns. Never less than the strongest, never less for one more."""
        strongest: dict[str, tuple[float, str]] = {}
        for item in items:
            nats = max(0.0, self.term(item, aspect).nats)
            strongest[roots[item.id]] = max(strongest.get(roots[item.id], (-1.0, "")), (nats, item.mechanism))
        by_mechanism: dict[str, list[float]] = {}
        for nats, mechanism in strongest.values():
            by_mechanism.setdefault(mechanism, []).append(nats)
        within, across = self.profile.corroboration_within, self.profile.corroboration_across
        groups = sorted(
            (
                math.fsum(nats * within**rank for rank, nats in enumerate(sorted(found, reverse=True)))
                for found in by_mechanism.values()
            ),
            reverse=True,
        )
        return math.fsum(nats if rank == 0 else nats * across for rank, nats in enumerate(groups)), len(strongest)

    def _base(self, item: Item, aspect: Aspect) -> Factor:
        for row in self.profile.base:
            if row.aspect in (aspect, "*") and row.polarity in ("", "denied" if item.denies else "affirmed"):
                return Factor("base", row.nats, f"base rate [{', '.join(row.evidence) or row.judgement}]")
        return Factor("base", 0.0, "no base rate is published for this")


def _took_back(item: Item, mine: list[Item]) -> bool:
    """Has the same author later said what this side says? Then the earlier word is no witness against it."""
    return any(
        item.stood_at is not None
        and other.stood_at is not None
        and item.stood_at < other.stood_at
        and item.author_keys & other.author_keys
        for other in mine
    )


def _severity(conflict: Conflict) -> tuple[int, str]:
    return list(ConflictKind).index(conflict.kind), conflict.id

"""Which facts belong together though no source says so? By knowledge tables and by days, between what the patient has.

Every link here is agent-reported: its rule begins with `agent:`, its confidence is below 1 and its reasoning names the
source. It changes no fact, and gives way to any explicit link between the same two facts. Each fact looks at a bounded
number of others (the nearest in time of each condition or drug), so that the work grows with the number of facts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from datetime import date, timedelta
from functools import cached_property, lru_cache
from typing import Final

from iamata.formation.recorded.things import DAY_S, LONG_AGO, MOST, Thing, Things
from iamata.model.coding import CodedText
from iamata.model.fact import Fact
from iamata.model.identifiers import IdMint, content_digest
from iamata.model.link import Link, LinkSource, LinkType
from iamata.model.statement import Kind, Standing
from iamata.terminology import conditions, knowledge
from iamata.terminology.statuses import not_borne

_NEWEST: Final = 3  # results of a test that are linked to what it monitors
_LONGEST_STAY_DAYS: Final = 31  # encounters longer than this hold too much to say anything
_REACTION_WITHIN_S: Final = 365 * DAY_S  # of a drug whose end nobody says
_STOPPED_SOON_S: Final = 14 * DAY_S  # after a reaction began, or around the day of which an allergy is recorded
_REASONS: Final = frozenset({LinkType.PRESCRIBED_FOR, LinkType.TREATS})


# What each rule looks at, and which rule says what stands in `Link.rule` after `agent:`.
_LOOKS_AT: Final[Mapping[str, frozenset[Kind]]] = {
    "uses": frozenset({Kind.MEDICATION, Kind.CONDITION}),
    "monitors": frozenset({Kind.OBSERVATION, Kind.MEDICATION, Kind.CONDITION}),
    "consequences": frozenset({Kind.CONDITION}),
    "reactions": frozenset({Kind.MEDICATION, Kind.CONDITION, Kind.ALLERGY}),  # goes with `stops`: both tell reactions
    "allergies": frozenset({Kind.ALLERGY, Kind.MEDICATION}),
    "stops": frozenset({Kind.MEDICATION, Kind.CONDITION, Kind.ALLERGY}),
    "visits": frozenset({Kind.ENCOUNTER, Kind.CONDITION}),
}
_RULE_OF: Final[Mapping[str, str]] = {
    "stated-reason": "uses",
    "indication": "uses",
    "monitoring": "monitors",
    "consequence": "consequences",
    "reaction": "reactions",
    "same-substance": "allergies",
    "stated-reaction": "stops",
    "stated-stop": "stops",
    "reaction-and-stop": "stops",
    "allergy-and-stop": "stops",
    "encounter-day": "visits",
}


def inferred(
    things: Things,
    facts: Mapping[str, Fact],
    explicit: Mapping[str, Link],
    *,
    mint: IdMint,
    rules: Set[str] = frozenset(_LOOKS_AT),
) -> dict[str, Link]:
    """Links that no source states, by id; none between two facts that `explicit` relates in whatever way. `things` are
    of these `facts`; `rules` limits it to what some rules say."""
    return _Inference(things, facts, explicit, mint).links(rules)


def rules_about(kinds: Set[Kind]) -> frozenset[str]:
    """The rules that look at facts of any of these kinds."""
    return frozenset(rule for rule, looked_at in _LOOKS_AT.items() if kinds & looked_at)


def rule_of(link: Link) -> str | None:
    """The rule that a link is of; None for one that was not inferred here."""
    return _named(link.rule)


@lru_cache(maxsize=1_000)
def _named(rule: str) -> str | None:
    _, agent, name = rule.rpartition("agent:")
    return _RULE_OF.get(name.partition("/")[0]) if agent else None


class _Inference:
    def __init__(self, things: Things, facts: Mapping[str, Fact], explicit: Mapping[str, Link], mint: IdMint) -> None:
        self._things, self._facts, self._explicit, self._mint = things, facts, explicit, mint
        self._conditions, self._drugs = things.conditions, things.drugs
        self._related = {(link.origin, link.target) for link in explicit.values()}

    @cached_property
    def _explained(self) -> set[str]:
        """The facts for which a source names the condition that they are for."""
        reasons = [link for link in self._explicit.values() if link.type in _REASONS and link.target in self._facts]
        return {link.origin for link in reasons if self._facts[link.target].kind is Kind.CONDITION}

    @cached_property
    def _visited(self) -> set[str]:
        """The facts for which a source names the encounter."""
        return {link.origin for link in self._explicit.values() if link.type is LinkType.PERFORMED_DURING}

    def links(self, rules: Set[str]) -> dict[str, Link]:
        best: dict[str, Link] = {}
        every = {
            "uses": self._uses,
            "monitors": self._monitors,
            "consequences": self._consequences,
            "reactions": self._reactions,
            "allergies": self._allergies,
            "stops": self._stops,
            "visits": self._visits,
        }
        for rule in (every[name] for name in _LOOKS_AT if name in rules):
            for link in rule():
                other = best.get(link.id)
                if other is None or (link.confidence, link.rule) > (other.confidence, other.rule):
                    best[link.id] = link
        return best

    def _uses(self) -> Iterator[Link]:
        """A medication and the condition it is for: its own stated reason, else what it is used for."""
        for drug in self._things.of(Kind.MEDICATION):
            if drug.fact.id in self._explained:
                continue
            reason = drug.fact.value("reason")
            own = conditions.group(reason) if isinstance(reason, CodedText) else ""
            if own:
                for condition in self._conditions.near(own, drug):
                    words = "the reason that its source gives in words or codes names this condition"
                    yield from self._link(LinkType.PRESCRIBED_FOR, drug, condition, "stated-reason", words)
            elif reason is None:
                for use in knowledge.indications(drug.parts):
                    for condition in self._conditions.near(use.id, drug):
                        words = f"{drug.group} is used for {_name(use.id)}"
                        yield from self._known(LinkType.TREATS, drug, condition, "indication", use, words)

    def _monitors(self) -> Iterator[Link]:
        """The newest results of each test, and the condition or drug for which it is repeated."""
        for test, all in self._things.results():
            of = knowledge.monitored(test)
            for result in reversed(all[-_NEWEST:]) if of else ():
                for known in of:
                    shelf = self._drugs if known.kind == "drug" else self._conditions
                    what = known.id if known.kind == "drug" else _name(known.id)
                    for target in shelf.near(known.id, result):
                        words = f"this test is repeated in or under {what}"
                        yield from self._known(LinkType.MONITORS, result, target, "monitoring", known, words)

    def _consequences(self) -> Iterator[Link]:
        """A condition and another that it is a complication or manifestation of, or a risk for, if it began later (a
        risk: earlier) or nobody says when."""
        for condition in self._things.of(Kind.CONDITION):
            for own in sorted(knowledge.told_of(condition.group)):
                for known in knowledge.brought_about_by(own):
                    fits = _later if known.type == LinkType.RISK_FACTOR_FOR else _earlier
                    for target in self._conditions.near(known.id, condition, fits):
                        how = known.type.replace("_", " ")
                        words = f"{_name(own)} can be a {how} {_name(known.id)}"
                        yield from self._known(LinkType(known.type), condition, target, "consequence", known, words)

    def _reactions(self) -> Iterator[Link]:
        """A condition that began while a drug was taken which was seen to bring it about and is not used for it."""
        for drug in self._things.of(Kind.MEDICATION):
            if drug.start == LONG_AGO:
                continue
            uses = {known.id for known in knowledge.indications(drug.parts)}
            for known in knowledge.reactions(drug.parts):
                if known.id in uses:
                    continue
                until = drug.start + _REACTION_WITHIN_S if drug.end is None else drug.end
                for condition in self._conditions.begun_within(known.id, drug.start, until):
                    words = f"{drug.group} was seen to bring about {_name(known.id)}, which began while it was taken"
                    yield from self._known(LinkType.ADVERSE_REACTION_TO, condition, drug, "reaction", known, words)

    def _allergies(self) -> Iterator[Link]:
        """An allergy to a substance and the medications that have it."""
        for allergy in self._things.of(Kind.ALLERGY):
            for part in sorted(allergy.parts):
                for drug in self._drugs.near(part, allergy):
                    words = f"the medication has the substance of the allergy: {part}"
                    yield from self._link(LinkType.ADVERSE_REACTION_TO, allergy, drug, "same-substance", words)

    def _stops(self) -> Iterator[Link]:
        """A medication that was stopped and why: the reason or the reaction that its source tells, else what is known
        to go with it and began shortly before. What is held back, ended as planned or never taken was not stopped."""
        for drug in self._things.of(Kind.MEDICATION):
            reason, reaction = drug.fact.value("status_reason"), drug.fact.value("reaction")
            told = conditions.group(reaction) if isinstance(reaction, CodedText) else ""
            for condition in self._conditions.near(told, drug) if told else ():
                words = "the source of the medication names this as a reaction to it"
                yield from self._link(LinkType.ADVERSE_REACTION_TO, condition, drug, "stated-reaction", words)
            if drug.fact.standing is not Standing.STOPPED:
                continue
            if isinstance(reason, CodedText):
                yield from self._stopped_as_told(drug, reason)
            elif told:
                for condition in self._conditions.near(told, drug):
                    words = "its source names this as a reaction to it, and it was stopped"
                    yield from self._link(LinkType.STOPPED_BECAUSE_OF, drug, condition, "reaction-and-stop", words)
            elif drug.end is not None:
                yield from self._stopped_after(drug, drug.end)

    def _stopped_as_told(self, drug: Thing, reason: CodedText) -> Iterator[Link]:
        own = conditions.group(reason)
        for condition in self._conditions.near(own, drug) if own else ():
            words = "the reason that its source gives for the stop names this condition"
            yield from self._link(LinkType.STOPPED_BECAUSE_OF, drug, condition, "stated-stop", words)
        for allergy in self._intolerances(drug) if not_borne(reason) else ():
            words = "its source says that it was stopped because the patient does not bear it"
            yield from self._link(LinkType.STOPPED_BECAUSE_OF, drug, allergy, "stated-stop", words)

    def _stopped_after(self, drug: Thing, end: int) -> Iterator[Link]:
        for allergy in self._intolerances(drug):
            if allergy.start != LONG_AGO and abs(allergy.start - end) <= _STOPPED_SOON_S:
                words = "it was stopped about the day of this allergy to its substance"
                yield from self._link(
                    LinkType.STOPPED_BECAUSE_OF,
                    drug,
                    allergy,
                    "allergy-and-stop",
                    words,
                    source=LinkSource.TEMPORAL_INFERENCE,
                )
        uses = {known.id for known in knowledge.indications(drug.parts)}
        began = max(drug.start, end - _STOPPED_SOON_S)
        for known in knowledge.reactions(drug.parts) if drug.start != LONG_AGO else ():
            for condition in self._conditions.begun_within(known.id, began, end) if known.id not in uses else ():
                words = (
                    f"{drug.group} is known for {_name(known.id)}, which began while it was taken, and was stopped soon"
                )
                yield from self._known(LinkType.STOPPED_BECAUSE_OF, drug, condition, "reaction-and-stop", known, words)

    def _intolerances(self, drug: Thing) -> list[Thing]:
        return [allergy for allergy in self._things.of(Kind.ALLERGY) if allergy.parts & drug.parts][:MOST]

    def _visits(self) -> Iterator[Link]:
        """A condition that began on a day of exactly one encounter, where its source names none."""
        on: dict[str, list[Thing]] = defaultdict(list)
        for visit in self._things.of(Kind.ENCOUNTER):
            for day in _days(visit.fact):
                on[day].append(visit)
        for condition in self._things.of(Kind.CONDITION):
            began = condition.fact.when.start if condition.fact.when else None
            visits = on.get(began.day, []) if began is not None and condition.fact.id not in self._visited else []
            if len(visits) == 1:
                words = "it began on a day of this encounter, and of no other"
                yield from self._link(
                    LinkType.PERFORMED_DURING,
                    condition,
                    visits[0],
                    "encounter-day",
                    words,
                    source=LinkSource.TEMPORAL_INFERENCE,
                )

    def _known(
        self, type: LinkType, origin: Thing, target: Thing, rule: str, known: knowledge.Known, words: str
    ) -> Iterator[Link]:
        named = known.id in (origin.group, target.group) or known.kind == "drug"
        trust = knowledge.confidence(known.source) * (1.0 if named else knowledge.confidence("broader"))
        yield from self._link(
            type,
            origin,
            target,
            f"{rule}/{known.source}",
            f"{words}, says {known.source}",
            source=LinkSource.KNOWLEDGE_BASE,
            confidence=round(trust, 3),
        )

    def _link(
        self,
        type: LinkType,
        origin: Thing,
        target: Thing,
        rule: str,
        words: str,
        *,
        source: LinkSource = LinkSource.RULE,
        confidence: float | None = None,
    ) -> Iterator[Link]:
        a, b = origin.fact, target.fact
        if a.id == b.id or (a.id, b.id) in self._related or (b.id, a.id) in self._related:
            return
        yield Link(
            self._mint.id("rl", (type, a.members[0], b.members[0])),
            type,
            a.id,
            b.id,
            source,
            f"agent:{rule}",
            knowledge.confidence(rule) if confidence is None else confidence,
            words,
            digest=content_digest("agent", type, rule, a.digest, b.digest),
        )


def _earlier(one: Thing, other: Thing) -> bool:
    """Can it have begun first? Two of one day can, whichever hour is said."""
    return other.start == LONG_AGO or one.start <= other.start + DAY_S


def _later(one: Thing, other: Thing) -> bool:
    return _earlier(other, one)


def _days(fact: Fact) -> Iterator[str]:
    """The days of an encounter as its source wrote them; none if it has no day or is too long to say anything."""
    start = fact.when.start.day if fact.when and fact.when.start else ""
    end = fact.when.end.day if fact.when and fact.when.end else start
    if len(start) != len("2020-01-01") or len(end) != len(start):
        return
    first, last = date.fromisoformat(start), date.fromisoformat(end)
    if 0 <= (last - first).days <= _LONGEST_STAY_DAYS:
        for day in range((last - first).days + 1):
            yield (first + timedelta(days=day)).isoformat()


def _name(group: str) -> str:
    return conditions.name(group) or group.partition("|")[2] or group

"""Which facts belong together though no source says so? By knowledge tables and by days, between what the patient has.

Every link here is agent-reported: its rule begins with `agent:`, its confidence is below 1 and its reasoning names the
source. It changes no fact, and gives way to any explicit link between the same two facts. Each fact looks at a bounded
number of others (the nearest in time of each condition or drug), so that the work grows with the number of facts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from datetime import date, timedelta
from functools import cache
from typing import Final

import msgspec

from iamata.formation.recorded.said import Said
from iamata.model.clinical_time import ClinicalTime
from iamata.model.coding import CodedText
from iamata.model.fact import Currency, Fact
from iamata.model.identifiers import IdMint, content_digest
from iamata.model.link import Link, LinkSource, LinkType
from iamata.model.statement import Domain, Kind, Polarity, Standing, Verification
from iamata.terminology import conditions, knowledge
from iamata.terminology.statuses import not_borne

_DAY_S: Final = 86_400
_LONG_AGO: Final = -(10**15)
_NEWEST: Final = 3  # results of a test that are linked to what it monitors
_MOST: Final = 3  # conditions or drugs that one row of knowledge relates a fact to
_LONGEST_STAY_DAYS: Final = 31  # encounters longer than this hold too much to say anything
_REACTION_WITHIN_S: Final = 365 * _DAY_S  # of a drug whose end nobody says
_STOPPED_SOON_S: Final = 14 * _DAY_S  # after a reaction began, or around the day of which an allergy is recorded
_NOT_SO: Final = frozenset({Standing.ENTERED_IN_ERROR, Standing.CANCELLED, Standing.NOT_DONE, Standing.DRAFT})
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


class _Thing(msgspec.Struct, frozen=True, gc=False):
    """A fact with what the tables know it as, and the seconds at which it can have begun and ended."""

    fact: Fact
    group: str
    parts: frozenset[str]
    start: int
    end: int | None

    @property
    def order(self) -> tuple[int, str]:
        return self.start, self.fact.digest

    def meets(self, other: _Thing) -> bool:
        """Can both have been so at one time? What has no known end may go on."""
        return (self.end is None or self.end + _DAY_S >= other.start) and (
            other.end is None or other.end + _DAY_S >= self.start
        )


class _Shelf:
    """Things by what they are and what they are a kind of; the nearest in time of each own group can be asked for."""

    def __init__(self, things: Iterable[tuple[str, _Thing]]) -> None:
        found: dict[str, dict[str, list[_Thing]]] = defaultdict(lambda: defaultdict(list))
        for key, thing in things:
            found[key][thing.group].append(thing)
        self._things = {
            key: {group: sorted(all, key=lambda thing: thing.order) for group, all in sorted(groups.items())}
            for key, groups in found.items()
        }
        self._starts = {
            (key, group): [thing.start for thing in all]
            for key, groups in self._things.items()
            for group, all in groups.items()
        }

    def near(
        self, key: str, to: _Thing, fits: Callable[[_Thing, _Thing], bool] = lambda thing, to: True
    ) -> Iterator[_Thing]:
        """Of each group under this key the last that began before `to`, else the first after, if it fits and both can
        have been so at one time; the group itself first, at most `_MOST`."""
        groups = self._things.get(key, {})
        found = 0
        for group in sorted(groups, key=lambda group: group != key):
            all = groups[group]
            at = bisect_right(self._starts[key, group], to.start if to.start != _LONG_AGO else 10**15)
            for thing in all[max(at - 1, 0) : at + 1]:
                if thing.fact.id != to.fact.id and thing.meets(to) and fits(thing, to):
                    yield thing
                    found += 1
                    break
            if found == _MOST:
                return

    def begun_within(self, key: str, start: int, end: int) -> Iterator[_Thing]:
        """Of each group under this key the first that began from `start` to `end`; at most `_MOST`."""
        for group, all in list(self._things.get(key, {}).items())[:_MOST]:
            at = bisect_left(self._starts[key, group], start)
            if at < len(all) and all[at].start <= end:
                yield all[at]


def inferred(
    facts: Mapping[str, Fact],
    items: Mapping[str, Said],
    explicit: Mapping[str, Link],
    *,
    mint: IdMint,
    rules: Set[str] = frozenset(_LOOKS_AT),
) -> dict[str, Link]:
    """Links that no source states, by id; none between two facts that `explicit` relates in whatever way. `items` are
    the statements by id; `rules` limits it to what some rules say."""
    return _Inference(facts, items, explicit, mint, {kind for rule in rules for kind in _LOOKS_AT[rule]}).links(rules)


def rules_about(kinds: Set[Kind]) -> frozenset[str]:
    """The rules that look at facts of any of these kinds."""
    return frozenset(rule for rule, looked_at in _LOOKS_AT.items() if kinds & looked_at)


def rule_of(link: Link) -> str | None:
    """The rule that a link is of; None for one that was not inferred here."""
    _, agent, rule = link.rule.rpartition("agent:")
    return _RULE_OF.get(rule.partition("/")[0]) if agent else None


class _Inference:
    def __init__(
        self,
        facts: Mapping[str, Fact],
        items: Mapping[str, Said],
        explicit: Mapping[str, Link],
        mint: IdMint,
        kinds: Set[Kind],
    ) -> None:
        self._mint = mint
        self._related = {frozenset((link.origin, link.target)) for link in explicit.values()}
        self._explained = {
            link.origin
            for link in explicit.values()
            if link.type in _REASONS and link.target in facts and facts[link.target].kind is Kind.CONDITION
        }
        self._visited = {link.origin for link in explicit.values() if link.type is LinkType.PERFORMED_DURING}
        self._by_kind: dict[Kind, list[_Thing]] = defaultdict(list)
        looked_at = []
        for fact in facts.values():
            if fact.kind in kinds and _holds(fact):
                groups = _groups(fact, items)
                if fact.kind is not Kind.OBSERVATION or any(map(_is_repeated, groups)):
                    looked_at.append((fact, groups))
        for fact, groups in sorted(looked_at, key=lambda each: each[0].digest):
            self._by_kind[fact.kind].append(_thing(fact, groups))
        self._conditions = _Shelf(
            (above, thing)
            for thing in self._by_kind[Kind.CONDITION]
            for above in sorted(knowledge.told_of(thing.group))
        )
        self._drugs = _Shelf((part, thing) for thing in self._by_kind[Kind.MEDICATION] for part in sorted(thing.parts))

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
        for drug in self._by_kind[Kind.MEDICATION]:
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
        results: dict[str, list[_Thing]] = defaultdict(list)
        for result in self._by_kind[Kind.OBSERVATION]:
            if result.group:
                results[result.group].append(result)
        for test, all in sorted(results.items()):
            of = knowledge.monitored(test)
            for result in sorted(all, key=lambda thing: thing.order, reverse=True)[:_NEWEST] if of else ():
                for known in of:
                    shelf = self._drugs if known.kind == "drug" else self._conditions
                    what = known.id if known.kind == "drug" else _name(known.id)
                    for target in shelf.near(known.id, result):
                        words = f"this test is repeated in or under {what}"
                        yield from self._known(LinkType.MONITORS, result, target, "monitoring", known, words)

    def _consequences(self) -> Iterator[Link]:
        """A condition and another that it is a complication or manifestation of, or a risk for, if it began later (a
        risk: earlier) or nobody says when."""
        for condition in self._by_kind[Kind.CONDITION]:
            for own in sorted(knowledge.told_of(condition.group)):
                for known in knowledge.brought_about_by(own):
                    fits = _later if known.type == LinkType.RISK_FACTOR_FOR else _earlier
                    for target in self._conditions.near(known.id, condition, fits):
                        how = known.type.replace("_", " ")
                        words = f"{_name(own)} can be a {how} {_name(known.id)}"
                        yield from self._known(LinkType(known.type), condition, target, "consequence", known, words)

    def _reactions(self) -> Iterator[Link]:
        """A condition that began while a drug was taken which was seen to bring it about and is not used for it."""
        for drug in self._by_kind[Kind.MEDICATION]:
            if drug.start == _LONG_AGO:
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
        for allergy in self._by_kind[Kind.ALLERGY]:
            for part in sorted(allergy.parts):
                for drug in self._drugs.near(part, allergy):
                    words = f"the medication has the substance of the allergy: {part}"
                    yield from self._link(LinkType.ADVERSE_REACTION_TO, allergy, drug, "same-substance", words)

    def _stops(self) -> Iterator[Link]:
        """A medication that was stopped and why: the reason or the reaction that its source tells, else what is known
        to go with it and began shortly before. What is held back, ended as planned or never taken was not stopped."""
        for drug in self._by_kind[Kind.MEDICATION]:
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

    def _stopped_as_told(self, drug: _Thing, reason: CodedText) -> Iterator[Link]:
        own = conditions.group(reason)
        for condition in self._conditions.near(own, drug) if own else ():
            words = "the reason that its source gives for the stop names this condition"
            yield from self._link(LinkType.STOPPED_BECAUSE_OF, drug, condition, "stated-stop", words)
        for allergy in self._intolerances(drug) if not_borne(reason) else ():
            words = "its source says that it was stopped because the patient does not bear it"
            yield from self._link(LinkType.STOPPED_BECAUSE_OF, drug, allergy, "stated-stop", words)

    def _stopped_after(self, drug: _Thing, end: int) -> Iterator[Link]:
        for allergy in self._intolerances(drug):
            if allergy.start != _LONG_AGO and abs(allergy.start - end) <= _STOPPED_SOON_S:
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
        for known in knowledge.reactions(drug.parts) if drug.start != _LONG_AGO else ():
            for condition in self._conditions.begun_within(known.id, began, end) if known.id not in uses else ():
                words = (
                    f"{drug.group} is known for {_name(known.id)}, which began while it was taken, and was stopped soon"
                )
                yield from self._known(LinkType.STOPPED_BECAUSE_OF, drug, condition, "reaction-and-stop", known, words)

    def _intolerances(self, drug: _Thing) -> list[_Thing]:
        return [allergy for allergy in self._by_kind[Kind.ALLERGY] if allergy.parts & drug.parts][:_MOST]

    def _visits(self) -> Iterator[Link]:
        """A condition that began on a day of exactly one encounter, where its source names none."""
        on: dict[str, list[_Thing]] = defaultdict(list)
        for visit in self._by_kind[Kind.ENCOUNTER]:
            for day in _days(visit.fact):
                on[day].append(visit)
        for condition in self._by_kind[Kind.CONDITION]:
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
        self, type: LinkType, origin: _Thing, target: _Thing, rule: str, known: knowledge.Known, words: str
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
        origin: _Thing,
        target: _Thing,
        rule: str,
        words: str,
        *,
        source: LinkSource = LinkSource.RULE,
        confidence: float | None = None,
    ) -> Iterator[Link]:
        a, b = origin.fact, target.fact
        if a.id == b.id or frozenset((a.id, b.id)) in self._related:
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


def _earlier(one: _Thing, other: _Thing) -> bool:
    """Can it have begun first? Two of one day can, whichever hour is said."""
    return other.start == _LONG_AGO or one.start <= other.start + _DAY_S


def _later(one: _Thing, other: _Thing) -> bool:
    return _earlier(other, one)


def _holds(fact: Fact) -> bool:
    """Does anyone say that it is or was so? What is denied, refuted, planned or billed only relates nothing."""
    return (
        bool(fact.members)
        and fact.polarity is Polarity.AFFIRMED
        and fact.standing not in _NOT_SO
        and fact.verification not in (Verification.REFUTED, Verification.ENTERED_IN_ERROR)
        and fact.currency is not Currency.PLANNED
        and fact.domain is Domain.CLINICAL
    )


def _groups(fact: Fact, items: Mapping[str, Said]) -> frozenset[str]:
    if len(fact.members) == 1:
        return items[fact.members[0]].groups
    return frozenset().union(*(items[member].groups for member in fact.members))


@cache
def _is_repeated(group: str) -> bool:
    """Is this group a test that is known to be repeated for something?"""
    return bool(knowledge.monitored(group.partition(":")[2]))


def _thing(fact: Fact, groups: frozenset[str]) -> _Thing:
    names = sorted(group.partition(":")[2] for group in groups)
    name = names[0] if len(names) == 1 else ""  # members that the tables know as different things say nothing
    parts = frozenset(name.replace(" + ", " / ").split(" / ")) - {""}
    start = fact.when.start if fact.when else None
    end = fact.when.end if fact.when else None
    point = fact.when is not None and isinstance(fact.when.at, ClinicalTime)
    lasts = point and fact.kind not in (Kind.OBSERVATION, Kind.ENCOUNTER)
    return _Thing(
        fact,
        name,
        parts,
        _LONG_AGO if start is None or start.earliest is None else start.earliest,
        None if lasts or end is None else end.latest,
    )


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

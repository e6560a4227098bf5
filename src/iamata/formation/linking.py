"""How does what was said in a conversation relate to the record? One typed, reasoned link per memory and fact of the same thing.

The fact is never touched. Sameness is by names alone: the terms of our tables found in the fact's names, else the
words themselves. A denial, a stop, another dose against the record is a conflict to show, not a thing to settle here:
who is right is worked out at read time. Not symmetric, because facts do not speak about memories.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import cache
from typing import Final

import msgspec

from iamata.formation.extraction.amounts import find_doses, find_frequencies
from iamata.model.coding import CodedText, Quantity
from iamata.model.fact import Currency, Fact
from iamata.model.identifiers import IdMint, content_digest
from iamata.model.link import Link, LinkSource, LinkType
from iamata.model.memory import Experiencer, Memory, MemoryKind, Temporality
from iamata.model.statement import Kind, Polarity, Standing, Verification
from iamata.terminology.lexicon import clinical, kinship, split_words
from iamata.terminology.names import words as folded_words
from iamata.terminology.tables import rows

_GENERAL: Final = {
    "Known allergies": "", "Known drug allergies": "medication", "Known food allergies": "food",
    "Known environmental allergies": "environment",
}  # fmt: skip
_FACT_KINDS: Final = {
    MemoryKind.MEDICATION: (Kind.MEDICATION,),
    MemoryKind.ADHERENCE: (Kind.MEDICATION,),
    MemoryKind.INSTRUCTION: (Kind.MEDICATION,),
    MemoryKind.PLAN: (Kind.MEDICATION,),
    MemoryKind.ALLERGY: (Kind.ALLERGY, Kind.MEDICATION),
    MemoryKind.SIDE_EFFECT: (Kind.ALLERGY, Kind.MEDICATION, Kind.CONDITION),
    MemoryKind.SYMPTOM: (Kind.CONDITION, Kind.ALLERGY),
    MemoryKind.CONDITION: (Kind.CONDITION,),
    MemoryKind.HISTORY: (Kind.CONDITION,),
    MemoryKind.OBSERVATION: (Kind.OBSERVATION,),
    MemoryKind.FAMILY_HISTORY: (Kind.FAMILY_HISTORY,),
    MemoryKind.SOCIAL: (Kind.SOCIAL_HISTORY,),
    MemoryKind.CONCERN: (Kind.CONDITION, Kind.MEDICATION, Kind.ALLERGY),
    MemoryKind.PREFERENCE: (Kind.MEDICATION,),
}
_ENDED: Final = (
    Standing.STOPPED,
    Standing.COMPLETED,
    Standing.CANCELLED,
    Standing.INACTIVE,
    Standing.NOT_DONE,
    Standing.RESOLVED,
)
_NOT_TAKING: Final = ("stopped", "not-started", "ran-out")
_ALIASES: Final = {"hba1c": frozenset(("hemoglobin", "a1c")), "tobacco use": frozenset(("tobacco",))}
_EMPTY_WORDS: Final = frozenset(["disorder", "disease", "of", "the", "in", "and", "or", "finding", "situation", "unspecified", "nos", "mellitus", "chronic", "acute", "use", "history", "status", "current", "to", "with", "by", "without", "other"])  # fmt: skip
_PER_DAY: Final = {
    "once": 1.0, "twice": 2.0, "three times": 3.0, "3 times": 3.0, "four times": 4.0, "4 times": 4.0, "two times": 2.0, "2 times": 2.0,
}  # fmt: skip
_NAMED_STRENGTH: Final = re.compile(r"[a-z]{4,}\s+\d", re.IGNORECASE)
_STATED_TIMING: Final = re.compile(r"(\d+(?:\.\d+)?) per (\d+(?:\.\d+)?) ?(h|d|wk|mo)\b")
_EVERY: Final = re.compile(r"(?:every|q)\s*(\d+|two|three|four|six|eight|twelve)\s*h")
_NUMBERS: Final = {"two": 2, "three": 3, "four": 4, "six": 6, "eight": 8, "twelve": 12}


class Sameness(StrEnum):
    SAME = "same"
    PART = "part"  # the fact holds it among further ingredients, or is wider or narrower
    REACTION = "reaction"  # the memory names a reaction of the allergy


class Verdict(msgspec.Struct, frozen=True):
    """How a memory relates to a fact: a row of `link_rules.tsv`, with its confidence for this pair."""

    type: LinkType
    rule: str
    confidence: float
    reasoning: str
    conflict: str = ""


@cache
def _rules() -> dict[str, Verdict]:
    return {
        row["rule"]: Verdict(
            LinkType(row["type"]), row["rule"], float(row["confidence"]), row["reasoning"], row["conflict"]
        )
        for row in rows("link_rules")
    }


def _rule(rule: str, sure: float = 1.0) -> Verdict:
    """The verdict of this rule; `sure` in 0..1 lowers its confidence."""
    verdict = _rules()[rule]
    return msgspec.structs.replace(verdict, confidence=verdict.confidence * sure) if sure < 1.0 else verdict


class _Named(msgspec.Struct, frozen=True):
    """A fact with what its names come to: concepts of our tables by kind of row, folded words, reactions."""

    fact: Fact
    concepts: frozenset[str]
    words: frozenset[str]
    names: tuple[str, ...]
    reactions: frozenset[str] = frozenset()


def link(memories: Iterable[Memory], facts: Iterable[Fact], *, mint: IdMint) -> tuple[Link, ...]:
    """The links from each memory to the facts of the same thing, sorted by memory, target and type.

    A memory without any has one link `new` to itself. Memories of somebody who is neither patient nor family have
    none. The same memories and facts in any order give the same links.
    """
    index = _Index(facts)
    links: list[Link] = []
    for memory in memories:
        if memory.experiencer is Experiencer.OTHER:
            continue
        found = [_link(memory, named.fact, verdict, mint) for named, verdict in _related(memory, index)]
        links.extend(found or [_new(memory, mint)])
    return tuple(sorted(links, key=lambda link: (link.origin, link.target, link.type, link.id)))


def _link(memory: Memory, fact: Fact, verdict: Verdict, mint: IdMint) -> Link:
    doubt = 1.0 if memory.certain else 0.6
    return Link(
        id=mint.id("rl", (verdict.type, memory.id, fact.members[0] if fact.members else fact.id)),
        type=verdict.type,
        origin=memory.id,
        target=fact.id,
        source=LinkSource.RULE,
        rule=verdict.rule,
        confidence=round(verdict.confidence * doubt, 3),
        reasoning=verdict.reasoning,
        conflict_kind=verdict.conflict,
        digest=content_digest(
            verdict.type, memory.quote, memory.kind, memory.concept.display, fact.digest, verdict.conflict
        ),
    )


def _new(memory: Memory, mint: IdMint) -> Link:
    verdict = _rule("no-fact-of-this")
    return Link(
        id=mint.id("rl", (verdict.type, memory.id)),
        type=verdict.type,
        origin=memory.id,
        target=memory.id,
        source=LinkSource.RULE,
        rule=verdict.rule,
        confidence=verdict.confidence,
        reasoning=verdict.reasoning,
        digest=content_digest(verdict.type, memory.quote, memory.kind, memory.concept.display),
    )


class _Index:
    """Facts by kind and by the concepts and words of their names."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self.named: dict[Kind, list[_Named]] = defaultdict(list)
        self._by: dict[tuple[Kind, str], list[_Named]] = defaultdict(list)
        for fact in sorted(facts, key=lambda fact: fact.id):
            if not fact.members:
                continue  # all of it is history
            named = _name(fact)
            self.named[fact.kind].append(named)
            for key in named.concepts | named.words | named.reactions:
                self._by[fact.kind, key].append(named)

    def candidates(self, kind: Kind, keys: Iterable[str]) -> Iterator[_Named]:
        seen: set[str] = set()
        for key in sorted(set(keys)):
            for named in self._by.get((kind, key), ()):
                if named.fact.id not in seen:
                    seen.add(named.fact.id)
                    yield named


def _name(fact: Fact) -> _Named:
    names = [fact.display]
    if fact.concept is not None:
        names += [fact.concept.text, *(coding.display for coding in fact.concept.codings)]
    if fact.kind is Kind.FAMILY_HISTORY:
        names += [component.concept.display for component in fact.components]
    unique = tuple(dict.fromkeys(name for name in names if name))
    reactions: set[str] = set()
    if fact.kind is Kind.ALLERGY:
        for component in fact.components:
            reactions |= _concepts(component.concept.display) or {
                " ".join(sorted(folded_words(component.concept.display)))
            }
    concepts = set().union(*(_concepts(name) for name in unique)) if unique else set()
    every_word = frozenset().union(*(folded_words(name) for name in unique)) if unique else frozenset()
    return _Named(fact, frozenset(concepts), every_word, unique, frozenset(reactions))


def _concepts(name: str) -> set[str]:
    """The normal names (lower case) that our tables find in a name; a combination counts as its ingredients."""
    spots = [spot.word for spot in split_words(name)]
    found: set[str] = set()
    for hit in clinical().longest(spots):
        if hit.term.kind != "medicine":
            found |= {part.strip().lower() for part in hit.term.concept.split(" / ")}
    return found


def _keys(memory: Memory) -> set[str]:
    text = memory.concept.display
    keys = (
        {part.strip().lower() for part in text.split(" / ")} | _concepts(text) | set(folded_words(text)) - _EMPTY_WORDS
    )
    agent = dict(memory.detail).get("agent", "")
    if agent:
        keys |= {part.strip().lower() for part in agent.split(" / ")} | set(folded_words(agent))
    return keys | set(_ALIASES.get(text.lower(), ()))


def _related(memory: Memory, index: _Index) -> list[tuple[_Named, Verdict]]:
    if memory.experiencer is Experiencer.FAMILY and memory.kind is not MemoryKind.FAMILY_HISTORY:
        return []
    found: list[tuple[_Named, Verdict]] = []
    keys = _keys(memory)
    if memory.kind is MemoryKind.ALLERGY:
        found += _general_allergies(memory, index)
        if memory.concept.display in _GENERAL:
            return found
    seen = {named.fact.id for named, _verdict in found}
    for kind in _FACT_KINDS.get(memory.kind, ()):
        hits = [
            (named, verdict)
            for named in index.candidates(kind, keys)
            if named.fact.id not in seen and (verdict := _judge(memory, named)) is not None
        ]
        found += _latest(hits) if kind is Kind.OBSERVATION else hits
    return found


def _latest(hits: list[tuple[_Named, Verdict]]) -> list[tuple[_Named, Verdict]]:
    """Of measurements, the latest only: a home reading stands beside it."""

    def when(hit: tuple[_Named, Verdict]) -> tuple[str, str]:
        timed = hit[0].fact.when
        start = timed.start if timed else None
        return (start.text if start else "", hit[0].fact.digest)

    return [max(hits, key=when)] if hits else []


# sameness


def _sameness(concept: str, named: _Named) -> Sameness | None:
    """Do the fact's names name this concept?"""
    parts = {part.strip().lower() for part in concept.split(" / ")}
    drugs = named.concepts
    if parts & drugs:
        if parts == drugs or (parts <= drugs and not _more_than(parts, drugs, named)):
            return Sameness.SAME if not _compound(parts, named) else Sameness.PART
        return Sameness.PART
    said = folded_words(concept) - _EMPTY_WORDS or _ALIASES.get(concept.lower(), frozenset())
    said = _ALIASES.get(concept.lower(), said)
    if not said:
        return None
    for name in named.names:
        held = folded_words(name) - _EMPTY_WORDS
        if held == said:
            return Sameness.SAME
    if said <= named.words:
        return Sameness.PART
    return None


def _more_than(parts: set[str], held: frozenset[str], named: _Named) -> bool:
    """Further drugs or findings in the names; a second name for the same thing is none."""
    extra = held - parts
    return any(not any(part in other or other in part for part in parts) for other in extra)


def _compound(parts: set[str], named: _Named) -> bool:
    """A product whose display tells more named strengths than the memory has ingredients."""
    if named.fact.kind is not Kind.MEDICATION:
        return False
    return max((len(_NAMED_STRENGTH.findall(name)) for name in named.names if "/" in name), default=0) > len(parts)


# verdicts


def _judge(memory: Memory, named: _Named) -> Verdict | None:
    fact = named.fact
    match fact.kind:
        case Kind.MEDICATION:
            return _judge_medication(memory, named)
        case Kind.ALLERGY:
            return _judge_allergy(memory, named)
        case Kind.CONDITION:
            return _judge_condition(memory, named)
        case Kind.FAMILY_HISTORY:
            return _judge_family(memory, named)
        case _:
            same = _sameness(memory.concept.display, named)
            if same is None:
                return None
            return _rule("same-name")


def _ended(fact: Fact) -> bool:
    return fact.standing in _ENDED or (fact.currency is Currency.PAST and fact.standing is not Standing.ACTIVE)


def _active(fact: Fact) -> bool:
    return not _ended(fact) and (
        fact.standing in (Standing.ACTIVE, Standing.ON_HOLD) or fact.currency is Currency.CURRENT
    )


def _denied(fact: Fact) -> bool:
    return fact.polarity is Polarity.DENIED or fact.verification is Verification.REFUTED


def _judge_medication(memory: Memory, named: _Named) -> Verdict | None:
    detail = dict(memory.detail)
    fact = named.fact
    if memory.kind is MemoryKind.SIDE_EFFECT:
        same = _sameness(detail.get("agent", ""), named) if detail.get("agent") else None
        return _rule("effect-of-drug") if same else None
    same = _sameness(memory.concept.display, named)
    if same is None:
        return None
    if memory.kind is MemoryKind.ALLERGY:
        return _rule("allergy-to-drug")
    if memory.kind in (MemoryKind.CONCERN, MemoryKind.PREFERENCE):
        return _rule("same-drug")
    if same is Sameness.PART:
        return _rule("one-ingredient")
    if memory.temporality in (Temporality.PLANNED, Temporality.HYPOTHETICAL, Temporality.PAST) or memory.kind in (
        MemoryKind.INSTRUCTION, MemoryKind.PLAN,
    ):  # fmt: skip
        return _rule("not-now")
    return _judge_use(memory, named, fact)


def _judge_use(memory: Memory, named: _Named, fact: Fact) -> Verdict:
    """A use or a change of use now, against what the record says is active, ended or denied."""
    not_taking = memory.polarity is Polarity.DENIED or (
        memory.kind is MemoryKind.ADHERENCE and memory.change in _NOT_TAKING
    )
    if not_taking:
        if _active(fact):
            return _rule("not-taken-but-active")
        if _ended(fact) or _denied(fact):
            return _rule("not-taken-and-ended")
        return _rule("not-taken-status-unknown")
    if _denied(fact):
        return _rule("taken-but-denied")
    if _ended(fact):
        return _rule("taken-but-ended")
    if memory.kind is MemoryKind.ADHERENCE and memory.change in ("reduced", "extra"):
        return _rule("other-amount-taken")
    if memory.kind is MemoryKind.ADHERENCE and memory.change == "skipped":
        return _rule("taken-irregularly")
    return _judge_amounts(memory, named)


def _judge_amounts(memory: Memory, named: _Named) -> Verdict:
    detail = dict(memory.detail)
    dose = _same_dose(detail.get("dose", ""), named)
    if dose is False:
        return _rule("other-dose")
    said, held = _per_day(detail.get("frequency", "")), _fact_per_day(named.fact)
    if said is not None and held is not None and abs(said - held) > 0.01:
        return _rule("other-frequency")
    more = (detail.get("dose") and dose is None and not _doses(named)) or (said is not None and held is None)
    if more:
        return _rule("taken-with-more-detail")
    return _rule("taken-and-recorded")


def _text_of(value: object) -> str:
    if isinstance(value, CodedText):
        return value.display
    return str(value) if value is not None else ""


def _doses(named: _Named) -> list[tuple[float, str, bool]]:
    """(number, unit, is the ordered dose rather than the product's strength) that the fact tells."""
    fact = named.fact
    found: list[tuple[float, str, bool]] = []
    quantity = fact.value("dose_quantity")
    if isinstance(quantity, Quantity):
        found += _read_dose(str(quantity), True)
    for name in ("dose", "dosage_text"):
        if not found:
            found += _read_dose(_text_of(fact.value(name)), True)
    if not found:
        for text in (*named.names, _text_of(fact.value("strength"))):
            found += _read_dose(text, False)
    return found


def _read_dose(text: str, ordered: bool) -> list[tuple[float, str, bool]]:
    found = []
    for amount in find_doses(text, 0, len(text)):
        number, _blank, unit = amount.text.partition(" ")
        try:
            found.append((float(number.split("/")[0]), unit.rstrip("s") if amount.piece else unit, ordered))
        except ValueError:
            continue
    return found


def _same_dose(said: str, named: _Named) -> bool | None:
    """True or False where both tell an amount in one unit, else None. A product's strength agrees with its multiples:
    how many pieces are taken is not known."""
    read = _read_dose(said, True)
    if not read:
        return None
    number, unit, _ordered = read[0]
    comparable = [(n, ordered) for n, u, ordered in _doses(named) if u == unit and n > 0]
    if not comparable:
        return None
    for held, ordered in comparable:
        if abs(held - number) < 1e-9 or (
            not ordered and (abs(number / held % 1) < 1e-9 or abs(number / held - 0.5) < 1e-9)
        ):
            return True
    return False


def _per_day(text: str) -> float | None:
    """How many times a day, where the words tell a number for every day."""
    text = text.lower()
    if not text:
        return None
    every = _EVERY.search(text)
    if every:
        hours = int(every[1]) if every[1].isdigit() else _NUMBERS[every[1]]
        return 24 / hours if hours else None
    short = {"bid": 2.0, "tid": 3.0, "qid": 4.0, "qd": 1.0, "qhs": 1.0, "daily": 1.0, "nightly": 1.0}.get(text)
    if short is not None:
        return short
    for words, times in _PER_DAY.items():
        if text.startswith(words) and ("day" in text or "daily" in text):
            return times
    if text in (
        "every day",
        "every morning",
        "every night",
        "every evening",
        "at bedtime",
        "at night",
        "every single day",
        "in the morning",
        "each morning",
    ):
        return 1.0
    return None


def _fact_per_day(fact: Fact) -> float | None:
    text = _text_of(fact.value("frequency")).lower()
    stated = _STATED_TIMING.search(text)
    if stated:
        days = {"h": 1 / 24, "d": 1.0, "wk": 7.0, "mo": 30.0}[stated[3]] * float(stated[2])
        return float(stated[1]) / days if days else None
    for source in (text, _text_of(fact.value("dosage_text"))):
        for amount in find_frequencies(source, 0, len(source)):
            per_day = _per_day(amount.text)
            if per_day is not None:
                return per_day
    return None


# allergies


def _negation_category(fact: Fact) -> str | None:
    """What a denial of allergies covers: a category of `negations.tsv`, `` for all, None when it is of one substance."""
    codes = {
        row["code"]: row["category"]
        for row in rows("negations")
        if row["kind"] == Kind.ALLERGY and row["meaning"] == "denied"
    }
    for coding in fact.concept.codings if fact.concept else ():
        if coding.code in codes:
            return "" if codes[coding.code] == "all" else codes[coding.code]
    text = f"{fact.display} {fact.concept.text if fact.concept else ''}".lower()
    if "no known" in text or "no allerg" in text or "nkda" in text or "nka" in text.split():
        if "drug" in text or "medication" in text or "nkda" in text:
            return "medication"
        return "food" if "food" in text else ""
    return None


def _covers(category: str, fact: Fact) -> bool:
    sent = _text_of(fact.value("category")).lower()
    return not category or not sent or category in sent


def _general_allergies(memory: Memory, index: _Index) -> list[tuple[_Named, Verdict]]:
    """ "No known allergies" on either side."""
    found: list[tuple[_Named, Verdict]] = []
    general = memory.concept.display in _GENERAL
    for named in index.named.get(Kind.ALLERGY, ()):
        fact = named.fact
        category = _negation_category(fact)
        if general and memory.polarity is Polarity.DENIED:
            if category is not None:
                found.append((named, _rule("both-deny-allergies")))
            elif not _denied(fact) and not _ended(fact) and _covers(_GENERAL[memory.concept.display], fact):
                found.append((named, _rule("allergies-denied")))  # fmt: skip
        elif not general and memory.polarity is Polarity.AFFIRMED and memory.temporality is Temporality.CURRENT and category is not None and fact.currency is not Currency.PAST and _may_be_of(memory, category):  # fmt: skip
            found.append((named, _rule("allergy-told-none-recorded")))  # fmt: skip
    return found


def _may_be_of(memory: Memory, category: str) -> bool:
    if not category:
        return True
    kinds = {term.kind for term in clinical().exact(memory.concept.display)}
    if category == "medication":
        return "drug" in kinds or not kinds
    return category == "food" and "drug" not in kinds


def _judge_allergy(memory: Memory, named: _Named) -> Verdict | None:
    detail = dict(memory.detail)
    fact = named.fact
    if memory.kind is MemoryKind.ALLERGY:
        same = _sameness(memory.concept.display, named)
        return None if same is None else _judge_substance(memory, named, same)
    if memory.kind is MemoryKind.CONCERN:
        return _rule("same-name") if _sameness(memory.concept.display, named) else None
    reaction = memory.concept.display.lower() in named.reactions
    agent = detail.get("agent", "")
    of_agent = bool(agent) and _sameness(agent, named) is not None
    if reaction and of_agent and memory.polarity is Polarity.AFFIRMED and not _denied(fact):
        return _rule("reaction-told")
    if of_agent and memory.polarity is Polarity.AFFIRMED and not _denied(fact):
        return _rule("further-reaction")
    if reaction and memory.polarity is Polarity.AFFIRMED and not _denied(fact):
        if agent:
            return None
        return _rule("reaction-told-without-cause")
    return None


def _judge_substance(memory: Memory, named: _Named, same: Sameness) -> Verdict:
    fact = named.fact
    sure = 0.9 if same is Sameness.SAME else 0.6
    if memory.polarity is Polarity.DENIED:
        if _denied(fact):
            return _rule("both-deny", sure)
        return _rule("allergy-denied", sure)
    if _denied(fact):
        return _rule("allergy-told-denied-in-record", sure)
    if memory.temporality is Temporality.PAST:
        if _ended(fact):
            return _rule("both-past", sure)
        return _rule("allergy-over", sure)
    reaction = dict(memory.detail).get("reaction", "").lower()
    if reaction and reaction not in named.reactions:
        return _rule("allergy-with-reaction", sure)
    return _rule("same-allergy", sure)


# conditions, family


def _judge_condition(memory: Memory, named: _Named) -> Verdict | None:
    same = _sameness(memory.concept.display, named)
    if same is None:
        return None
    fact = named.fact
    sure = 0.9 if same is Sameness.SAME else 0.7
    if memory.kind in (MemoryKind.CONCERN, MemoryKind.SIDE_EFFECT):
        return _rule("same-name", sure)
    if memory.polarity is Polarity.DENIED:
        if _denied(fact) or _ended(fact):
            return _rule("both-deny-or-over", sure)
        return _rule("symptom-denied" if memory.kind is MemoryKind.SYMPTOM else "condition-denied", sure)
    if _denied(fact):
        return _rule("condition-told-denied-in-record", sure)  # fmt: skip
    past = memory.temporality is Temporality.PAST
    if memory.temporality in (Temporality.PLANNED, Temporality.HYPOTHETICAL):
        return _rule("only-supposed")
    if past and _active(fact):
        return _rule("over-but-active", sure)
    if not past and _ended(fact):
        return _rule("present-but-over", sure)
    if memory.since and fact.when is None:
        return _rule("same-with-beginning", sure)
    return _rule("same-condition", sure)


def _judge_family(memory: Memory, named: _Named) -> Verdict | None:
    same = _sameness(memory.concept.display, named)
    if same is None:
        return None
    relation = _text_of(named.fact.value("relationship")).lower()
    told = memory.relation.split(" ")[-1]
    known = {
        hit.term.concept.split(" ")[-1] for hit in kinship().longest([spot.word for spot in split_words(relation)])
    }
    if told and known and told not in known:
        return None
    denied = memory.polarity is Polarity.DENIED
    if denied != _denied(named.fact):
        if not told or not denied:
            return _rule("family-denied")
        return None
    if told and not known:
        return _rule("family-with-relation")
    return _rule("same-family-history")

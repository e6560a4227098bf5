"""Does what was said support, refine or contradict a fact that its names reach? One verdict, or none, for each pair."""

from __future__ import annotations

from typing import Final

from iamata.formation.linking.habits import judge_habit
from iamata.formation.linking.names import Index, Named, Sameness, sameness
from iamata.formation.linking.regimen import (
    doses,
    fact_moments,
    fact_per_day,
    moments,
    per_day,
    same_dose,
    text_of,
)
from iamata.formation.linking.rules import Verdict, rule
from iamata.model.fact import Currency, Fact
from iamata.model.memory import Memory, MemoryKind, Temporality
from iamata.model.statement import Kind, Polarity, Standing, Verification
from iamata.terminology.lexicon import clinical, kinship, split_words
from iamata.terminology.tables import rows

GENERAL: Final = {
    "Known allergies": "", "Known drug allergies": "medication", "Known food allergies": "food",
    "Known environmental allergies": "environment",
}  # fmt: skip
_ENDED: Final = (
    Standing.STOPPED,
    Standing.COMPLETED,
    Standing.CANCELLED,
    Standing.INACTIVE,
    Standing.NOT_DONE,
    Standing.RESOLVED,
)
_NOT_TAKING: Final = ("stopped", "not-started", "ran-out")


def judge(memory: Memory, named: Named) -> Verdict | None:
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
        case Kind.SOCIAL_HISTORY:
            return judge_habit(memory, named)
        case _:
            same = sameness(memory.concept.display, named)
            if same is None:
                return None
            return rule("same-name")


def _ended(fact: Fact) -> bool:
    return fact.standing in _ENDED or (fact.currency is Currency.PAST and fact.standing is not Standing.ACTIVE)


def _active(fact: Fact) -> bool:
    return not _ended(fact) and (
        fact.standing in (Standing.ACTIVE, Standing.ON_HOLD) or fact.currency is Currency.CURRENT
    )


def _denied(fact: Fact) -> bool:
    return fact.polarity is Polarity.DENIED or fact.verification is Verification.REFUTED


def _judge_medication(memory: Memory, named: Named) -> Verdict | None:
    detail = dict(memory.detail)
    fact = named.fact
    if memory.kind is MemoryKind.SIDE_EFFECT:
        same = sameness(detail.get("agent", ""), named) if detail.get("agent") else None
        if same is None or memory.polarity is Polarity.DENIED:
            return rule("effect-of-drug") if same else None
        return rule("effect-of-ended-drug") if _ended(fact) else rule("effect-of-drug")
    same = sameness(memory.concept.display, named)
    if same is None:
        return None
    if memory.kind is MemoryKind.ALLERGY:
        return rule("allergy-to-drug")
    if memory.kind in (MemoryKind.CONCERN, MemoryKind.PREFERENCE):
        return rule("same-drug")
    if same is Sameness.PART:
        return rule("one-ingredient")
    if memory.temporality in (Temporality.PLANNED, Temporality.HYPOTHETICAL, Temporality.PAST) or memory.kind in (
        MemoryKind.INSTRUCTION, MemoryKind.PLAN,
    ):  # fmt: skip
        return rule("not-now")
    return _judge_use(memory, named, fact)


def _judge_use(memory: Memory, named: Named, fact: Fact) -> Verdict:
    """A use or a change of use now, against what the record says is active, ended or denied."""
    not_taking = memory.polarity is Polarity.DENIED or (
        memory.kind is MemoryKind.ADHERENCE and memory.change in _NOT_TAKING
    )
    if not_taking:
        if _active(fact):
            return rule("not-taken-but-active")
        if _ended(fact) or _denied(fact):
            return rule("not-taken-and-ended")
        return rule("not-taken-status-unknown")
    if _denied(fact):
        return rule("taken-but-denied")
    if _ended(fact):
        return rule("taken-but-ended")
    if memory.kind is MemoryKind.ADHERENCE and memory.change in ("reduced", "extra"):
        return rule("other-amount-taken")
    if memory.kind is MemoryKind.ADHERENCE and memory.change == "skipped":
        return rule("taken-irregularly")
    return _judge_amounts(memory, named)


def _judge_amounts(memory: Memory, named: Named) -> Verdict:
    detail = dict(memory.detail)
    dose = same_dose(detail.get("dose", ""), named)
    if dose is False:
        return rule("other-dose")
    said, held = per_day(detail.get("frequency", "")), fact_per_day(named.fact)
    if said is not None and held is not None and abs(said - held) > 0.01:
        return rule("other-frequency")
    more = (detail.get("dose") and dose is None and not doses(named)) or (said is not None and held is None)
    begins = memory.change == "started" or memory.since_said.lower().startswith(_BEGINS)
    if begins and memory.since_said and _earlier(memory, named.fact):
        return rule("taken-since")
    if more or moments(memory.quote) - fact_moments(named.fact):
        return rule("taken-with-more-detail")
    return rule("taken-and-recorded")


_BEGINS: Final = ("since", "for ", "ever since", "starting")


def _earlier(memory: Memory, fact: Fact) -> bool:
    """Is the beginning that is told before the record's, or of no date where the record has none?"""
    start = fact.when.start if fact.when is not None else None
    if start is None:
        return True
    return bool(memory.since) and memory.since < start.text[: len(memory.since)]


def _negation_category(fact: Fact) -> str | None:
    """What a denial of allergies covers: a category of `negations.tsv`, empty for all, None if of one substance."""
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
    sent = text_of(fact.value("category")).lower()
    return not category or not sent or category in sent


def general_allergies(memory: Memory, index: Index) -> list[tuple[Named, Verdict]]:
    """ "No known allergies" on either side."""
    found: list[tuple[Named, Verdict]] = []
    general = memory.concept.display in GENERAL
    for named in index.named.get(Kind.ALLERGY, ()):
        fact = named.fact
        category = _negation_category(fact)
        if general and memory.polarity is Polarity.DENIED:
            if category is not None:
                found.append((named, rule("both-deny-allergies")))
            elif not _denied(fact) and not _ended(fact) and _covers(GENERAL[memory.concept.display], fact):
                found.append((named, rule("allergies-denied")))  # fmt: skip
        elif (
            not general
            and memory.polarity is Polarity.AFFIRMED
            and memory.temporality is Temporality.CURRENT
            and category is not None
            and fact.currency is not Currency.PAST
            and _may_be_of(memory, category)
        ):
            found.append((named, rule("allergy-told-none-recorded")))  # fmt: skip
    return found


def _may_be_of(memory: Memory, category: str) -> bool:
    if not category:
        return True
    kinds = {term.kind for term in clinical().exact(memory.concept.display)}
    if category == "medication":
        return "drug" in kinds or not kinds
    return category == "food" and "drug" not in kinds


def _judge_allergy(memory: Memory, named: Named) -> Verdict | None:
    detail = dict(memory.detail)
    fact = named.fact
    if memory.kind is MemoryKind.ALLERGY:
        same = sameness(memory.concept.display, named)
        return None if same is None else _judge_substance(memory, named, same)
    if memory.kind is MemoryKind.CONCERN:
        return rule("same-name") if sameness(memory.concept.display, named) else None
    reaction = memory.concept.display.lower() in named.reactions
    agent = detail.get("agent", "")
    of_agent = bool(agent) and sameness(agent, named) is not None
    if reaction and of_agent and memory.polarity is Polarity.AFFIRMED and not _denied(fact):
        return rule("reaction-told")
    if of_agent and memory.polarity is Polarity.AFFIRMED and not _denied(fact):
        return rule("further-reaction")
    if reaction and memory.polarity is Polarity.AFFIRMED and not _denied(fact):
        if agent:
            return None
        return rule("reaction-told-without-cause")
    return None


def _judge_substance(memory: Memory, named: Named, same: Sameness) -> Verdict:
    fact = named.fact
    sure = 0.9 if same is Sameness.SAME else 0.6
    if memory.polarity is Polarity.DENIED:
        if _denied(fact):
            return rule("both-deny", sure)
        return rule("allergy-denied", sure)
    if _denied(fact):
        return rule("allergy-told-denied-in-record", sure)
    if memory.temporality is Temporality.PAST:
        if _ended(fact):
            return rule("both-past", sure)
        return rule("allergy-over", sure)
    if memory.since_said and fact.when is None:
        return rule("allergy-with-beginning", sure)
    reaction = dict(memory.detail).get("reaction", "").lower()
    if reaction and reaction not in named.reactions:
        return rule("allergy-with-reaction", sure)
    return rule("same-allergy", sure)


def _judge_condition(memory: Memory, named: Named) -> Verdict | None:
    same = sameness(memory.concept.display, named)
    if same is None:
        return None
    fact = named.fact
    sure = 0.9 if same is Sameness.SAME else 0.7
    if memory.kind in (MemoryKind.CONCERN, MemoryKind.SIDE_EFFECT):
        return rule("same-name", sure)
    if same is Sameness.PART and memory.kind is MemoryKind.SYMPTOM:
        return rule("wider-symptom")
    if memory.polarity is Polarity.DENIED:
        if _denied(fact) or _ended(fact):
            return rule("both-deny-or-over", sure)
        return rule("symptom-denied" if memory.kind is MemoryKind.SYMPTOM else "condition-denied", sure)
    if _denied(fact):
        return rule("condition-told-denied-in-record", sure)  # fmt: skip
    past = memory.temporality is Temporality.PAST
    if memory.kind is MemoryKind.HISTORY:
        return rule("same-condition", sure)  # "history of …" is told of the past and not thereby over
    if memory.temporality in (Temporality.PLANNED, Temporality.HYPOTHETICAL):
        return rule("only-supposed")
    if past and _active(fact):
        return rule("over-but-active", sure)
    if not past and _ended(fact):
        return rule("present-but-over", sure)
    if (memory.since or memory.since_said) and fact.when is None:
        return rule("same-with-beginning", sure)
    if dict(memory.detail).get("severity") and not text_of(fact.value("severity")):
        return rule("same-with-severity", sure)
    if dict(memory.detail).get("course"):
        return rule("same-with-course", sure)
    return rule("same-condition", sure)


def _judge_family(memory: Memory, named: Named) -> Verdict | None:
    same = sameness(memory.concept.display, named)
    if same is None:
        return None
    relation = text_of(named.fact.value("relationship")).lower()
    told = memory.relation.split(" ")[-1]
    known = {
        hit.term.concept.split(" ")[-1] for hit in kinship().longest([spot.word for spot in split_words(relation)])
    }
    if told and known and told not in known:
        return None
    denied = memory.polarity is Polarity.DENIED
    if denied != _denied(named.fact):
        if not told or not denied:
            return rule("family-denied")
        return None
    if told and not known:
        return rule("family-with-relation")
    return rule("same-family-history")

"""How does what was said in a conversation relate to the record? One typed link per memory and fact of a thing.

The fact is never touched. A denial, a stop, another dose against the record is a conflict to show, not a thing to
settle here: who is right is worked out at read time. Not symmetric, because facts do not speak about memories.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from iamata.formation.linking.names import Index, Named, concepts_in, keys, sameness
from iamata.formation.linking.rules import Verdict, rule
from iamata.formation.linking.verdicts import GENERAL, general_allergies, judge
from iamata.model.fact import Fact
from iamata.model.identifiers import IdMint, content_digest
from iamata.model.link import Link, LinkSource, LinkType
from iamata.model.memory import Experiencer, Memory, MemoryKind
from iamata.model.statement import Kind

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


def link(memories: Iterable[Memory], facts: Iterable[Fact], *, mint: IdMint) -> tuple[Link, ...]:
    """The links from each memory to the facts of the same thing, sorted by memory, target and type.

    A memory without any has one link `new` to itself. Memories of somebody who is neither patient nor family have
    none. The same memories and facts in any order give the same links.
    """
    index = Index(facts)
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
    verdict = rule("no-fact-of-this")
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


def _related(memory: Memory, index: Index) -> list[tuple[Named, Verdict]]:
    if memory.experiencer is Experiencer.FAMILY and memory.kind is not MemoryKind.FAMILY_HISTORY:
        return []
    found: list[tuple[Named, Verdict]] = []
    wanted = keys(memory)
    if memory.kind is MemoryKind.ALLERGY:
        found += general_allergies(memory, index)
        if memory.concept.display in GENERAL:
            return found
    seen = {named.fact.id for named, _verdict in found}
    for kind in _FACT_KINDS.get(memory.kind, ()):
        hits = [
            (named, verdict)
            for named in index.candidates(kind, wanted)
            if named.fact.id not in seen and (verdict := judge(memory, named)) is not None
        ]
        found += _latest(hits) if kind is Kind.OBSERVATION else hits
    return [*found, *_reasons(memory, found), *_named_in_wish(memory, index, found)]


def _named_in_wish(memory: Memory, index: Index, found: Sequence[tuple[Named, Verdict]]) -> list[tuple[Named, Verdict]]:
    """ "I'm worried about what lisinopril does to my kidneys": about all that the words of a worry, wish, goal or
    hindrance name."""
    said = concepts_in(memory.quote) if memory.kind in _WISHES else set()
    seen = {named.fact.id for named, _verdict in found}
    return [
        (named, rule("same-name"))
        for kind in (Kind.MEDICATION, Kind.ALLERGY, Kind.CONDITION)
        for named in index.candidates(kind, said)
        if named.fact.id not in seen and any(sameness(name, named) for name in said)
    ]


_WISHES: Final = (MemoryKind.CONCERN, MemoryKind.PREFERENCE, MemoryKind.GOAL, MemoryKind.BARRIER)


def _reasons(memory: Memory, found: Sequence[tuple[Named, Verdict]]) -> list[tuple[Named, Verdict]]:
    """Where the memory also says why: what a medicine is taken for, what a disease comes from."""
    if not dict(memory.detail).get("reason"):
        return []
    of = {MemoryKind.MEDICATION: Kind.MEDICATION, MemoryKind.CONDITION: Kind.CONDITION}.get(memory.kind)
    return [
        (named, rule("told-why"))
        for named, verdict in found
        if named.fact.kind is of and verdict.type in (LinkType.SUPPORTS, LinkType.REFINES)
    ]


def _latest(hits: list[tuple[Named, Verdict]]) -> list[tuple[Named, Verdict]]:
    """Of measurements, the latest only: a home reading stands beside it."""

    def when(hit: tuple[Named, Verdict]) -> tuple[str, str]:
        timed = hit[0].fact.when
        start = timed.start if timed else None
        return (start.text if start else "", hit[0].fact.digest)

    return [max(hits, key=when)] if hits else []

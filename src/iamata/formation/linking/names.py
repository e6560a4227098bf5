"""Does a fact's name name what was said? Facts by what their names come to: terms of our tables, else the words.

No codes, because what is said has none; no spelling errors, because a near name of a drug is another drug.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final

import msgspec

from iamata.model.fact import Fact
from iamata.model.memory import Memory
from iamata.model.statement import Kind
from iamata.terminology.lexicon import clinical, split_words
from iamata.terminology.names import words as folded_words

_ALIASES: Final = {"hba1c": frozenset(("hemoglobin", "a1c")), "tobacco use": frozenset(("tobacco",))}
# Words that tell no thing from another.
_EMPTY_WORDS: Final = frozenset(
    ["disorder", "disease", "of", "the", "in", "and", "or", "finding", "situation", "unspecified", "nos",
     "mellitus", "chronic", "acute", "use", "history", "status", "current", "to", "with", "by", "without", "other"]
)  # fmt: skip
_NAMED_STRENGTH: Final = re.compile(r"[a-z]{4,}\s+\d", re.IGNORECASE)


class Sameness(StrEnum):
    """How nearly the names name one thing."""

    SAME = "same"
    PART = "part"  # the fact holds it among further ingredients, or is wider or narrower


class Named(msgspec.Struct, frozen=True):
    """A fact with what its names come to: concepts of our tables by kind of row, folded words, reactions."""

    fact: Fact
    concepts: frozenset[str]
    words: frozenset[str]
    names: tuple[str, ...]
    reactions: frozenset[str] = frozenset()


class Index:
    """Facts by kind and by the concepts and words of their names."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self.named: dict[Kind, list[Named]] = defaultdict(list)
        self._by: dict[tuple[Kind, str], list[Named]] = defaultdict(list)
        for fact in sorted(facts, key=lambda fact: fact.id):
            if not fact.members:
                continue  # all of it is history
            named = _name(fact)
            self.named[fact.kind].append(named)
            for key in named.concepts | named.words | named.reactions:
                self._by[fact.kind, key].append(named)

    def candidates(self, kind: Kind, keys: Iterable[str]) -> Iterator[Named]:
        seen: set[str] = set()
        for key in sorted(set(keys)):
            for named in self._by.get((kind, key), ()):
                if named.fact.id not in seen:
                    seen.add(named.fact.id)
                    yield named


def _name(fact: Fact) -> Named:
    names = [fact.display]
    if fact.concept is not None:
        names += [fact.concept.text, *(coding.display for coding in fact.concept.codings)]
    if fact.kind is Kind.FAMILY_HISTORY:
        names += [component.concept.display for component in fact.components]
    unique = tuple(dict.fromkeys(name for name in names if name))
    reactions: set[str] = set()
    if fact.kind is Kind.ALLERGY:
        for component in fact.components:
            reactions |= concepts_in(component.concept.display) or {
                " ".join(sorted(folded_words(component.concept.display)))
            }
    concepts = set().union(*(concepts_in(name) for name in unique)) if unique else set()
    every_word = frozenset().union(*(folded_words(name) for name in unique)) if unique else frozenset()
    return Named(fact, frozenset(concepts), every_word, unique, frozenset(reactions))


def concepts_in(name: str) -> set[str]:
    """The normal names (lower case) that our tables find in a name; a combination counts as its ingredients."""
    spots = [spot.word for spot in split_words(name)]
    found: set[str] = set()
    for hit in clinical().longest(spots):
        if hit.term.kind != "medicine":
            found |= {part.strip().lower() for part in hit.term.concept.split(" / ")}
    return found


def keys(memory: Memory) -> set[str]:
    text = memory.concept.display
    keys = (
        {part.strip().lower() for part in text.split(" / ")}
        | concepts_in(text)
        | set(folded_words(text)) - _EMPTY_WORDS
    )
    agent = dict(memory.detail).get("agent", "")
    if agent:
        keys |= {part.strip().lower() for part in agent.split(" / ")} | set(folded_words(agent))
    return keys | set(_ALIASES.get(text.lower(), ()))


def sameness(concept: str, named: Named) -> Sameness | None:
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


def _more_than(parts: set[str], held: frozenset[str], named: Named) -> bool:
    """Further drugs or findings in the names; a second name for the same thing is none."""
    extra = held - parts
    return any(not any(part in other or other in part for part in parts) for other in extra)


def _compound(parts: set[str], named: Named) -> bool:
    """A product whose display tells more named strengths than the memory has ingredients."""
    if named.fact.kind is not Kind.MEDICATION:
        return False
    return max((len(_NAMED_STRENGTH.findall(name)) for name in named.names if "/" in name), default=0) > len(parts)

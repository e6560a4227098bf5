"""Which other words mean the same as these? Lay words, brands and abbreviations, from the lexicon; for finding only.

What is found by a synonym is a hit and nothing more: no statement is merged, and nothing is decided, by these words.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache, lru_cache
from typing import Final

from iamata.terminology import lexicon

# Of so many words for one thing the shortest are tried: a thing with more is a class of things.
_MOST: Final = 12


@lru_cache(maxsize=20_000)
def synonyms(phrase: str) -> tuple[str, ...]:
    """The other words for what this phrase names, word for word: what it stands for first, then the shortest of those
    that stand for the same; at most 13, empty for a phrase that the lexicon does not know."""
    terms = lexicon.clinical().exact(phrase)
    found: dict[str, None] = {}
    for concept in dict.fromkeys(term.concept for term in terms):
        found[concept.casefold()] = None
        found.update(dict.fromkeys(_words_for().get(concept, ())))
    found.pop(phrase.casefold(), None)
    return tuple(found)


@cache
def _words_for() -> dict[str, tuple[str, ...]]:
    """What stands for each concept, the shortest first."""
    words: defaultdict[str, set[str]] = defaultdict(set)
    for term in lexicon.clinical().terms():
        words[term.concept].add(" ".join(term.words))
    return {concept: tuple(sorted(all, key=lambda text: (len(text), text))[:_MOST]) for concept, all in words.items()}


@cache
def drug_names() -> tuple[str, ...]:
    """The names of drugs of one word that the lexicon knows, sorted: what a misspelt name may have meant."""
    return tuple(sorted({term.words[0] for term in lexicon.clinical().of("drug") if len(term.words) == 1}))

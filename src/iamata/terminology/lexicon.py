"""Which words name a drug, a finding, an allergen, a relative, or turn an assertion round?

Word lists are tables (`data/lexicon_*.tsv`: term, concept, kind, source); `data/lexicon_sources.tsv` says what each
source is. Decides nothing about a sentence: that is `formation.extraction`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Final

import msgspec

from iamata.terminology.tables import rows

# A word keeps its inner apostrophes; every other sign is a word of its own.
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]|_")
_GAP: Final = "*"
_GAP_WORDS: Final = 5


class Term(msgspec.Struct, frozen=True, order=True, gc=False):
    """One row: the words (folded), the normal name they stand for, the kind of row and the id of its source."""

    words: tuple[str, ...]
    concept: str
    kind: str
    source: str


class Hit(msgspec.Struct, frozen=True, order=True, gc=False):
    """Words `first` to before `last` of a text are this term."""

    first: int
    last: int
    term: Term


class Spot(msgspec.Struct, frozen=True, gc=False):
    """One word of a text: its folded form and its characters `start`:`end`."""

    word: str
    start: int
    end: int


def fold(word: str) -> str:
    """Lower case, one form of apostrophe. Letters and accents stay: nothing is guessed."""
    return word.lower().replace("’", "'")


def split_words(text: str, offset: int = 0) -> list[Spot]:
    """The words and signs of a text in order; `offset` is added to the characters."""
    return [Spot(fold(m.group()), m.start() + offset, m.end() + offset) for m in _WORD.finditer(text)]


@lru_cache(maxsize=20_000)
def variants(word: str) -> tuple[str, ...]:
    """The word itself, without a possessive, and its plain singular: what a row may be written as."""
    forms = [word]
    base = word[:-2] if word.endswith("'s") and len(word) > 3 else word
    if base != word:
        forms.append(base)
    if len(base) > 3 and base.endswith("s") and not base.endswith(("ss", "us", "is")):
        forms.append(base[:-1])
        if base.endswith("ies") and len(base) > 4:
            forms.append(base[:-3] + "y")
        elif base.endswith("es") and len(base) > 4:
            forms.append(base[:-2])
    return tuple(forms)


class Lexicon:
    """Terms indexed by their first two words. Immutable after it is made; lookups are pure."""

    def __init__(self, terms: Iterable[Term]) -> None:
        single: dict[str, list[Term]] = {}
        longer: dict[str, dict[str, list[Term]]] = {}
        whole: dict[str, list[Term]] = {}
        for term in terms:
            if len(term.words) == 1:
                single.setdefault(term.words[0], []).append(term)
            else:
                longer.setdefault(term.words[0], {}).setdefault(term.words[1], []).append(term)
            whole.setdefault(" ".join(term.words), []).append(term)
        kinds: dict[str, list[Term]] = {}
        for alike in whole.values():
            for term in alike:
                kinds.setdefault(term.kind, []).append(term)
        self._kinds = {kind: sorted(found) for kind, found in kinds.items()}
        self._single, self._longer = single, longer
        self._whole = whole

    def __len__(self) -> int:
        return sum(len(found) for found in self._whole.values())

    def terms(self) -> Iterator[Term]:
        """Every term."""
        return (term for found in self._whole.values() for term in found)

    def of(self, kind: str) -> list[Term]:
        """Every term of this kind, sorted."""
        return self._kinds.get(kind, [])

    def exact(self, text: str) -> tuple[Term, ...]:
        """The terms that are this text, word for word (folded; plural and possessive of the last word allowed)."""
        words = [spot.word for spot in split_words(text)]
        if not words:
            return ()
        for form in variants(words[-1]):
            found = self._whole.get(" ".join([*words[:-1], form]))
            if found:
                return tuple(found)
        return ()

    def longest(self, words: Sequence[str]) -> list[Hit]:
        """Left to right, the longest term at each place, without overlap. A place can carry several kinds."""
        hits: list[Hit] = []
        at = 0
        while at < len(words):
            here = self._at(words, at)
            if not here:
                at += 1
                continue
            end = max(hit.last for hit in here)
            hits.extend(hit for hit in here if hit.last == end)
            at = end
        return hits

    def every(self, words: Sequence[str]) -> list[Hit]:
        """Every term at every place; of one kind and concept, the longest at a place. Overlaps are kept."""
        hits: list[Hit] = []
        for at in range(len(words)):
            seen: set[tuple[str, str]] = set()
            for hit in self._at(words, at):
                key = (hit.term.kind, hit.term.concept)
                if key not in seen:
                    seen.add(key)
                    hits.append(hit)
        return hits

    def _at(self, words: Sequence[str], at: int) -> list[Hit]:
        found = []
        for form in variants(words[at]):
            found += [Hit(at, at + 1, term) for term in self._single.get(form, ())]
            longer = self._longer.get(form)
            if longer and at + 1 < len(words):
                for second in (*variants(words[at + 1]), _GAP):
                    for term in longer.get(second, ()):
                        end = _match(term.words, words, at)
                        if end:
                            found.append(Hit(at, end, term))
            if found and form == words[at]:
                break  # the word as said beats its singular
        if len(found) > 1:
            found.sort(key=lambda hit: (-hit.last, hit.term))
        return found


def _match(term: tuple[str, ...], words: Sequence[str], at: int) -> int:
    """The end of the term's words at `at`, or 0. `*` in a term stands for up to five words within the clause."""
    here = at + 1
    for place in range(1, len(term)):
        want = term[place]
        if want == _GAP:
            rest = term[place + 1 :]
            for skip in range(1, _GAP_WORDS + 1):
                if here + skip + len(rest) > len(words) or words[here + skip - 1] in (",", ";", ".", "but"):
                    break
                if list(rest) == list(words[here + skip : here + skip + len(rest)]):
                    return here + skip + len(rest)
            return 0
        if here >= len(words) or (words[here] != want and want not in variants(words[here])):
            return 0
        here += 1
    return here


def _read(name: str) -> list[Term]:
    return [
        Term(tuple(fold(word) for word in _WORD.findall(row["term"])), row["concept"], row["kind"], row["source"])
        for row in rows(f"lexicon_{name}")
    ]


@cache
def clinical() -> Lexicon:
    """Drugs, symptoms, conditions and allergens. Kinds: drug, drug_in_context (an everyday word too, as are
    symptom_in_context and condition_in_context), medicine (any
    medicine), symptom, condition, procedure, allergen; everyday hides an everyday phrase."""
    return Lexicon(term for name in ("drugs", "symptoms", "conditions", "allergens") for term in _read(name))


@cache
def body() -> Lexicon:
    """Parts of the body, sides, and what can be wrong with them (kinds part, side, quality)."""
    return Lexicon(_read("body"))


@cache
def cues() -> Lexicon:
    """Words that turn an assertion: negation, doubt, time, hypothesis, adherence, wishes …"""
    return Lexicon(_read("cues"))


@cache
def kinship() -> Lexicon:
    """Words for persons (kinds relative, other, patient, informant)."""
    return Lexicon(term for term in _read("kinship") if term.kind != "composed")


@cache
def composed() -> dict[tuple[str, str], str]:
    """(the speaker's relationship to the patient, the relation the speaker names) → the relation to the patient."""
    found = {}
    for row in rows("lexicon_kinship"):
        if row["kind"] == "composed":
            speaker, _bar, word = row["term"].partition("|")
            found[speaker, word] = row["concept"]
    return found


@cache
def wishes() -> Lexicon:
    """What preferences and concerns are about."""
    return Lexicon(_read("wishes"))


# Shorter names have too many neighbours among everyday words.
_SPELT: Final = 7
# Ingredients that the tables name otherwise.
_ALSO_INGREDIENTS: Final = frozenset(["paracetamol", "salbutamol", "beclometasone", "adrenaline"])


@cache
def _spellings() -> dict[tuple[str, int], list[str]]:
    """The names of ingredients by first letter and length. Not of brands: too many are one letter from an everyday
    word."""
    found: dict[tuple[str, int], list[str]] = {}
    for term in clinical().of("drug"):
        name = term.words[0]
        ingredient = name == term.concept.lower() or name in _ALSO_INGREDIENTS
        if len(term.words) == 1 and len(name) >= _SPELT and name.isalpha() and ingredient and name != "inhaler":
            found.setdefault((name[0], len(name)), []).append(name)
    return found


@lru_cache(maxsize=20_000)
def misspelt(word: str) -> Term | None:
    """The drug that this word is one letter away from (one more, one less, another, two swapped; never the first);
    None for a shorter word, one that a table knows, or where it could be two drugs."""
    if len(word) < _SPELT or not word.isalpha() or _is_known(word):
        return None
    names = [name for length in range(len(word) - 1, len(word) + 2) for name in _spellings().get((word[0], length), ())]
    near = [name for name in names if _one_off(word, name)]
    terms = {term.concept: term for name in near for term in clinical().exact(name) if term.kind == "drug"}
    return next(iter(terms.values())) if len(terms) == 1 else None


def _is_known(word: str) -> bool:
    return any(table().exact(word) for table in (clinical, cues, body, kinship, wishes))


def _one_off(word: str, name: str) -> bool:
    at = next((at for at, (one, other) in enumerate(zip(word, name, strict=False)) if one != other), len(word))
    if at == 0:
        return False
    if len(word) > len(name):
        return word[at + 1 :] == name[at:]
    if len(word) < len(name):
        return word[at:] == name[at + 1 :]
    swapped = word[at : at + 2] == name[at : at + 2][::-1]
    return word[at + 1 :] == name[at + 1 :] or (swapped and word[at + 2 :] == name[at + 2 :])

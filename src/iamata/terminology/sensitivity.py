"""Which sensitive matter do a code, a concept or some words speak of? Lookups over `data/sensitivity_*.tsv`.

Words are those of the table and the names of its conditions and drugs, so that a note is known by what a list would
say. Denials count: that somebody does not take drugs is about drugs. A lookup gives codes of HL7 v3 ActCode; none is a
law (42CFRPart2) but for the notice by which a text itself says so. Not here: whose item it is, what is linked to it
(`policy.sensitivity`), who may see it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Final

from iamata.model.coding import CodedText
from iamata.terminology import conditions, drugs, labs, loaded
from iamata.terminology.systems import normal
from iamata.terminology.tables import rows

UNREVIEWED: Final = "unreviewed"
LAW: Final = "42CFRPart2"
_WORD: Final = re.compile(r"[A-Za-z0-9]+")
# Names of one short word are words of other things too (ADD, SAD): they count in capitals only.
_SHORT: Final = 4
_CACHE: Final = 50_000
_ICD10: Final = "icd10cm|"

Codes = frozenset[str]
_NONE: Final[Codes] = frozenset()


def of_text(text: str) -> Codes:
    """The matters that words speak of; empty for a text that speaks of none. Nothing of it is kept."""
    if len(text) < 3:
        return _NONE
    spelled = _WORD.findall(text)
    words = [word.lower() for word in spelled]
    phrases = _phrases()
    found: set[str] = set()
    for at, word in enumerate(words):
        for rest, exact, code in phrases.get(word, ()):
            end = at + len(rest) + 1
            if words[at + 1 : end] == list(rest) and (not exact or " ".join(spelled[at:end]) in exact):
                found.add(code)
    return frozenset(found) if found else _NONE


def of_concept(concept: CodedText) -> Codes:
    """The matters of a concept: by its codes, the condition or the drug that it names, and its words."""
    return _of_concept(concept)


@loaded.until_changed
@lru_cache(maxsize=_CACHE)
def _of_concept(concept: CodedText) -> Codes:
    found = set(of_text(concept.text))
    for coding in concept.codings:
        found |= of_text(coding.display) | of_code(coding.normal or normal(coding.system, coding.code))
    for group in conditions.lineage(conditions.group(concept)):
        for code in conditions.icd10cm_codes(group):
            found |= _of_icd10(code)
    drug = drugs.read(concept)
    if drug is not None:
        found |= _of_ingredients(drug.ingredients)
    return frozenset(found)


def _of_ingredients(ingredients: frozenset[str]) -> Codes:
    """By each, and by all of them together (buprenorphine with naloxone is not what buprenorphine alone is for)."""
    found = _codes().get(("ingredient", " / ".join(sorted(ingredients))), _NONE)
    for ingredient in ingredients:
        found |= _codes().get(("ingredient", ingredient), _NONE)
    return found


@lru_cache(maxsize=_CACHE)
def of_code(key: str) -> Codes:
    """The matters of a code in its one form (`icd10cm|F1120`, `loinc|80203-3`); empty for one in no table."""
    system, _, code = key.partition("|")
    if not code:
        return _NONE
    if system == "icd10cm":
        return _of_icd10(code)
    named = of_text(labs.code_name(code)) if system == "loinc" else _NONE
    return _codes().get((system, code), _NONE) | named


@lru_cache(maxsize=_CACHE)
def _of_icd10(code: str) -> Codes:
    """By the code or the start of it that is in the table."""
    found = _NONE
    for length in range(3, len(code) + 1):
        found |= _codes().get(("icd10cm", code[:length]), _NONE)
    return found


@cache
def _codes() -> dict[tuple[str, str], Codes]:
    found: dict[tuple[str, str], Codes] = {}
    for row in rows("sensitivity_codes"):
        if row["source"] != UNREVIEWED:
            key = (row["system"], row["code"])
            found[key] = found.get(key, _NONE) | {row["label"]}
    return found


Phrase = tuple[tuple[str, ...], frozenset[str], str]


@cache
def _phrases() -> dict[str, tuple[Phrase, ...]]:
    """First word → the words after it, the spellings that count (any if none), the code."""
    found: dict[str, list[Phrase]] = {}
    for words, exact, code in dict.fromkeys(_all_phrases()):
        first, *rest = words
        found.setdefault(first, []).append((tuple(rest), exact, code))
    return {first: tuple(each) for first, each in found.items()}


def _all_phrases() -> Iterator[tuple[tuple[str, ...], frozenset[str], str]]:
    for row in rows("sensitivity_words"):
        if row["source"] != UNREVIEWED:
            exact = frozenset({row["words"]}) if row["case"] == "exact" else frozenset[str]()
            yield _split(row["words"]), exact, row["label"]
    for name, codes in _names():
        words = _split(name)
        if not words or words == ("hiv",):
            continue
        short = len(words) == 1 and len(words[0]) <= _SHORT
        for code in sorted(codes):
            yield words, frozenset({name.upper()}) if short else frozenset[str](), code


def _names() -> Iterable[tuple[str, Codes]]:
    """The names of conditions and drugs of the tables that are sensitive."""
    for row in rows("condition_names"):
        if row["source"] != UNREVIEWED and (codes := _of_group(row["group"])):
            yield row["name"], codes
    for row in rows("condition_icd10cm"):
        if codes := _of_icd10(row["code"]):
            yield row["name"], codes
    for row in rows("lexicon_conditions"):
        if codes := _of_group(conditions.named(row["concept"])) | _of_own_words(row["concept"]):
            yield row["term"], codes
    for row in rows("lexicon_drugs"):
        drug = drugs.read(CodedText(row["concept"]))
        if drug is not None and (codes := _of_ingredients(drug.ingredients)):
            yield row["term"], codes
    for (system, code), codes in _codes().items():
        if system == "ingredient":
            yield code, codes


def _of_own_words(name: str) -> Codes:
    """What a name says by the words of the table alone."""
    said = f" {' '.join(_split(name))} "
    return frozenset(
        row["label"]
        for row in rows("sensitivity_words")
        if row["source"] != UNREVIEWED and row["case"] == "any" and f" {' '.join(_split(row['words']))} " in said
    )


def _of_group(group: str) -> Codes:
    found = _NONE
    for one in conditions.lineage(group):
        for code in conditions.icd10cm_codes(one):
            found |= _of_icd10(code)
    return found


def _split(words: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(words))

"""Which condition does a concept name, how do two conditions relate, and does a condition last or come and go?

Lookups over `data/condition_*.tsv`: groups of codes (SNOMED CT as identifiers, ICD-10-CM, ICD-9-CM) and names that say
one condition. An ICD-10-CM code outside every group is its own group, `icd10cm|CODE`; its characters give its place in
the hierarchy. A SNOMED CT that the user has loaded (`loaded`) adds its conditions as groups of their own, named
`snomed|CODE`, with their names and what they are a kind of; a loaded UMLS says which codes share a concept with a code
here. Not here: sides of the body (`body_sites`), whether two statements are one episode, spelling errors.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final

from iamata.model.coding import CodedText
from iamata.terminology import loaded
from iamata.terminology.loaded import Kind
from iamata.terminology.names import fold
from iamata.terminology.systems import normal
from iamata.terminology.tables import rows

UNREVIEWED: Final = "unreviewed"
_ICD10: Final = "icd10cm|"
_SNOMED: Final = "snomed|"
_CACHE: Final = 20_000
_CATEGORY: Final = 3  # the characters of an ICD-10-CM category


class Relation(StrEnum):
    """How two conditions relate. `unknown`: one of them is in no table, so the tables say nothing."""

    SAME = "same"
    REFINES = "refines"
    SIBLING = "sibling"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


def group(concept: CodedText) -> str:
    """The id of the group that the concept names; empty if no table knows it.

    Codes come before words. Of several codes the most specific counts if the others are what it is a kind of, else the
    first in the order sent. Words count only where no code of a known condition is given.
    """
    found = [
        one
        for one in (_of_code(coding.normal or normal(coding.system, coding.code)) for coding in concept.codings)
        if one
    ]
    if found:
        best = found[0]
        for other in found[1:]:
            if best in _ancestors(other):
                best = other
        return best
    names = [concept.text, *(coding.display for coding in concept.codings)]
    return next((one for one in map(named, names) if one), "")


def named(name: str) -> str:
    """The group that these words alone name: an abbreviation as written, a name of a group, a name of ICD-10-CM."""
    meaning = _abbreviations().get(name.strip(), name)
    folded = fold(meaning)
    if not folded:
        return ""
    own = _names().get(folded) or _of_code(_icd_names().get(folded, "")) or _in_any_order().get(_word_set(folded), "")
    return own or _named_by_loaded(folded)


@loaded.until_changed
@lru_cache(maxsize=_CACHE)
def _named_by_loaded(folded: str) -> str:
    """The one group that the loaded names name: SNOMED CT's, else by the concepts of the UMLS that bear the name."""
    found = {_of_code(_SNOMED + code) for code in loaded.values(Kind.SNOMED, "names", folded)}
    if not found:
        concepts = loaded.values(Kind.UMLS, "names", folded)
        found = {owner for concept in concepts for owner in _of_concept(concept)}
    return found.pop() if len(found) == 1 else ""


def _of_concept(concept: str) -> set[str]:
    """The groups of the codes that the loaded UMLS puts in one concept, without going through the UMLS again."""
    return {owner for key in loaded.values(Kind.UMLS, "codes", concept) if (owner := _direct(key))}


def name(group: str) -> str:
    """What people call a group; the official name for a code of ICD-10-CM that the tables hold; else empty."""
    return _titles().get(group) or _icd_titles().get(group) or _title_by_loaded(group)


def _title_by_loaded(group: str) -> str:
    return next(iter(loaded.values(Kind.SNOMED, "titles", group.removeprefix(_SNOMED))), "")


def relation(left: CodedText, right: CodedText) -> Relation:
    """How the conditions of two concepts relate; the same either way round.

    `refines`: one is a kind of the other, or both are stages or grades of one condition. `sibling`: neither, but they
    share the category, block (ICD-10-CM) or parent: type 1 and type 2 diabetes. Only `same` says that they are one.
    """
    return relate(group(left), group(right))


@loaded.until_changed
@cache
def relate(left: str, right: str) -> Relation:
    """As `relation`, of two groups; `unknown` if one is empty."""
    if not left or not right:
        return Relation.UNKNOWN
    if left == right:
        return Relation.SAME
    if left in _ancestors(right) or right in _ancestors(left) or _stage_of(left) & _stage_of(right):
        return Relation.REFINES
    if _near(left) & _near(right):
        return Relation.SIBLING
    # The loaded is-a says nothing of a group outside SNOMED CT that it does not lead to.
    if left.startswith(_SNOMED) != right.startswith(_SNOMED):
        return Relation.UNKNOWN
    return Relation.DIFFERENT


def lineage(group: str) -> frozenset[str]:
    """The group and every group that it is a kind of; none for an empty group."""
    return _ancestors(group) | {group} if group else frozenset()


def is_code(group: str) -> bool:
    """Is the group one code of a terminology (`icd10cm|CODE`), and no group of the tables?"""
    return "|" in group


def contradiction(concept: CodedText) -> tuple[str, str] | None:
    """The groups of code and text when both are known and say unrelated things ("diabetes" coded as asthma)."""
    by_code = group(CodedText(codings=tuple(c for c in concept.codings if c.code)))
    by_text = named(concept.text)
    if by_code and by_text and relate(by_code, by_text) is Relation.DIFFERENT:
        return by_code, by_text
    return None


def course(concept: CodedText) -> str:
    """`chronic`: one fact over time; `episodic`: can come again; empty: the table does not say."""
    own = [coding.normal or normal(coding.system, coding.code) for coding in concept.codings]
    codes = [key.removeprefix(_ICD10) for key in own if key.startswith(_ICD10)]
    return _agreed(_course(code) for code in codes) if codes else _course_of(group(concept))


@loaded.until_changed
@cache
def _course_of(group: str) -> str:
    """By the group's own ICD-10-CM codes; a group without one takes what all groups directly below it agree on, or
    those above it (diabetes mellitus of its types, congestive heart failure of heart failure)."""
    codes = _icd_codes(group)
    if codes:
        return _agreed(_course(code) for code in codes)
    for others in (_below().get(group, ()), sorted(_parents().get(group) or _above_by_loaded(group))):
        found = _agreed(_agreed(_course(code) for code in _icd_codes(other)) for other in others)
        if found:
            return found
    return ""


def _agreed(values: Iterable[str]) -> str:
    """The one value that is given; empty if none or several are."""
    found = set(values) - {""}
    return found.pop() if len(found) == 1 else ""


@cache
def _below() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for child, parents in sorted(_parents().items()):
        for parent in parents:
            found[parent] = (*found.get(parent, ()), child)
    return found


@cache
def _course(code: str) -> str:
    table = _courses()
    for length in range(len(code), _CATEGORY - 1, -1):
        if code[:length] in table:
            return table[code[:length]]
    return ""


@cache
def _courses() -> dict[str, str]:
    return {row["prefix"]: row["course"] for row in rows("condition_course") if row["source"] != UNREVIEWED}


@cache
def _abbreviations() -> dict[str, str]:
    return {
        row["abbreviation"]: row["meaning"]
        for row in rows("abbreviations")
        if row["kind"] == "condition" and row["source"] != UNREVIEWED
    }


@cache
def _names() -> dict[str, str]:
    return {row["name"]: row["group"] for row in rows("condition_names") if row["source"] != UNREVIEWED}


# Words that tie parts of a name to each other: where one stands, the order of the words counts.
_TIES: Final = frozenset({"due", "to", "with", "without", "of", "in", "from", "by", "and", "or", "not", "no", "after"})


def _word_set(folded: str) -> tuple[str, ...]:
    """The words in one order (`diabetes mellitus type 2` = `type 2 diabetes mellitus`); none if the order counts."""
    words = folded.split()
    return () if len(words) < 2 or _TIES & set(words) else tuple(sorted(words))


@cache
def _in_any_order() -> dict[tuple[str, ...], str]:
    """Words of a name in one order → the group; only where one group has these words."""
    found: dict[tuple[str, ...], set[str]] = {}
    for folded, owner in _names().items():
        found.setdefault(_word_set(folded), set()).add(owner)
    return {words: next(iter(owners)) for words, owners in found.items() if words and len(owners) == 1}


@cache
def _titles() -> dict[str, str]:
    return {row["group"]: row["name"] for row in rows("condition_groups")}


@cache
def _icd_titles() -> dict[str, str]:
    return {_ICD10 + row["code"]: row["name"] for row in rows("condition_icd10cm")}


@cache
def _icd_names() -> dict[str, str]:
    """Folded official name → code; a name that two codes bear names the shorter, if the longer is under it."""
    found: dict[str, str] = {}
    for key, title in sorted(_icd_titles().items(), key=lambda item: (len(item[0]), item[0])):
        known = found.setdefault(fold(title), key)
        if not key.startswith(known):
            found[fold(title)] = ""
    return found


@cache
def _codes() -> dict[str, str]:
    return {
        f"{row['system']}|{row['code']}": row["group"] for row in rows("condition_codes") if row["source"] != UNREVIEWED
    }


@cache
def _unspecified() -> dict[str, str]:
    return {row["code"]: row["same_as"] for row in rows("condition_unspecified") if row["source"] != UNREVIEWED}


@loaded.until_changed
@lru_cache(maxsize=20_000)
def _of_code(key: str) -> str:
    """The group of a normal code: by the tables, else the one group of the codes with which the loaded UMLS puts it in
    a concept, else by its name in the loaded SNOMED CT, else (a condition there) itself."""
    known = _of_tables(key)
    if known or not key:
        return known
    found = {owner for concept in loaded.values(Kind.UMLS, "concepts", key) for owner in _of_concept(concept)}
    return found.pop() if len(found) == 1 else _direct(key)


def _direct(key: str) -> str:
    """As `_of_code`, without the UMLS."""
    known = _of_tables(key)
    title = "" if known or not key.startswith(_SNOMED) else _title_by_loaded(key)
    return known or (title and (_names().get(fold(title)) or key))


@cache
def _of_tables(key: str) -> str:
    """The group of a normal code: its row, else that of the shorter ICD-10-CM code which says the same, else itself."""
    known = _codes().get(key)
    if known or not key.startswith(_ICD10):
        return known or ""
    code = key.removeprefix(_ICD10)
    shorter = _unspecified().get(code)
    if shorter:
        return _of_tables(_ICD10 + shorter)
    return key if _ICD10 + code[:_CATEGORY] in _icd_titles() else ""


@cache
def _group_codes() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for key, owner in sorted(_codes().items()):
        if key.startswith(_ICD10):
            found[owner] = (*found.get(owner, ()), key.removeprefix(_ICD10))
    return found


def icd10cm_codes(group: str) -> tuple[str, ...]:
    """The ICD-10-CM codes of a group, without the dot, sorted; none if it has none."""
    return _icd_codes(group)


def _icd_codes(group: str) -> tuple[str, ...]:
    return (group.removeprefix(_ICD10),) if group.startswith(_ICD10) else _group_codes().get(group, ())


@cache
def _parents() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for row in rows("condition_parents"):
        if row["source"] != UNREVIEWED:
            found[row["group"]] = found.get(row["group"], frozenset()) | {row["parent"]}
    return found


def _above_by_loaded(group: str) -> frozenset[str]:
    """What the loaded SNOMED CT says a condition of its own is a kind of: its parents, and the ICD-10-CM code that
    classifies it. None for a group of the tables."""
    if not group.startswith(_SNOMED):
        return frozenset()
    code = group.removeprefix(_SNOMED)
    above = {_of_code(_SNOMED + parent) for parent in loaded.values(Kind.SNOMED, "parents", code)}
    above |= {_of_code(_ICD10 + target) for target in loaded.values(Kind.SNOMED, "icd10cm", code)}
    return frozenset(above - {"", group})


@loaded.until_changed
@cache
def _above(group: str) -> frozenset[str]:
    """The groups directly above: parents by table, the next shorter ICD-10-CM codes, and by the loaded SNOMED CT."""
    above = {*_parents().get(group, ()), *_above_by_loaded(group)}
    for code in _icd_codes(group):
        if len(code) > _CATEGORY:
            above.add(_of_code(_ICD10 + code[:-1]))
    return frozenset(above - {"", group})


@loaded.until_changed
@cache
def _ancestors(group: str) -> frozenset[str]:
    """Every group above this one."""
    found: set[str] = set()
    todo = [group]
    while todo:
        for one in _above(todo.pop()):
            if one not in found and one != group:
                found.add(one)
                todo.append(one)
    return frozenset(found)


@cache
def _stages() -> dict[str, str]:
    return {row["code"]: row["of"] for row in rows("condition_stages") if row["source"] != UNREVIEWED}


def _stage_of(group: str) -> frozenset[str]:
    """The codes of which this group is a stage, also by a shorter code of its own."""
    table = _stages()
    return frozenset(
        table[code[:length]]
        for code in _icd_codes(group)
        for length in range(_CATEGORY, len(code) + 1)
        if code[:length] in table
    )


@cache
def _blocks() -> tuple[tuple[str, str], ...]:
    return tuple(sorted((row["first"], row["last"]) for row in rows("condition_blocks")))


@loaded.until_changed
@cache
def _near(group: str) -> frozenset[str]:
    """What siblings share: the parent by table, the block of the category."""
    near = {f"group {parent}" for parent in (*_parents().get(group, ()), *_above_by_loaded(group))}
    blocks = _blocks()
    for code in _icd_codes(group):
        at = bisect_right(blocks, (code[:_CATEGORY], "~")) - 1
        if at >= 0 and blocks[at][0] <= code[:_CATEGORY] <= blocks[at][1]:
            near.add(f"block {blocks[at][0]}")
    return frozenset(near)

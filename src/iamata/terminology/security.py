"""What does a security label say, and which labels does one cover? Lookups over `data/security_*.tsv`.

Confidentiality, sensitivity, law, refrain, obligation and purpose, as HL7 v3 names them; HL7 v2's own codes by what
they mean there. A label of another system means nothing here and equals only itself. Not here: who may see what
(`policy`).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Final, Literal, NamedTuple

from iamata.model.statement import Label
from iamata.terminology.tables import rows

Sort = Literal["confidentiality", "sensitivity", "law", "refrain", "obligation", "purpose"]

ACT_CODE: Final = "http://terminology.hl7.org/CodeSystem/v3-ActCode"
CONFIDENTIALITY: Final = "http://terminology.hl7.org/CodeSystem/v3-Confidentiality"
ACT_REASON: Final = "http://terminology.hl7.org/CodeSystem/v3-ActReason"
_HOME: Final = {"v3-ActCode": ACT_CODE, "v3-Confidentiality": CONFIDENTIALITY, "v3-ActReason": ACT_REASON}
# Systems whose values are those of several others.
_ANY: Final = "any"
_NORMAL: Final = "N"


class Meaning(NamedTuple):
    """What a label says. `code` is HL7 v3's; `rank` of a confidentiality: 0 (unrestricted) to 5, else -1."""

    sort: Sort
    code: str
    rank: int = -1


def meaning(label: Label) -> Meaning | None:
    """None for a label of no system that the tables know, or a code that they do not."""
    return _meaning(label.system, label.code)


@lru_cache(maxsize=4096)
def _meaning(system: str, code: str) -> Meaning | None:
    alias = _aliases().get(system.removeprefix("urn:oid:"), "")
    for each in _HOME if alias == _ANY else (alias,):
        if (found := _codes().get((each, code))) is not None:
            return found
    return None


def label(code: str) -> Label:
    """The label with this code of HL7 v3; a code that the tables do not know is one of v3-ActCode."""
    home = next((system for system in _HOME if (system, code) in _codes()), "v3-ActCode")
    return Label(_HOME[home], code)


def known(code: str, *sorts: Sort) -> Label | None:
    """The HL7 v3 label of this code, if it is of one of these sorts (of any, if none is named)."""
    for system, home in _HOME.items():
        found = _codes().get((system, code))
        if found is not None and (not sorts or found.sort in sorts):
            return Label(home, found.code if found.code != code else code)
    return None


def rank(labels: Iterable[Label]) -> int:
    """The highest confidentiality among these; that of N (normal) if none says one."""
    ranks = [found.rank for each in labels if (found := meaning(each)) is not None and found.sort == "confidentiality"]
    return max(ranks, default=normal_rank())


@cache
def normal_rank() -> int:
    return _codes()["v3-Confidentiality", _NORMAL].rank


def codes(labels: Iterable[Label], *sorts: Sort) -> frozenset[str]:
    """The HL7 v3 codes of those of these labels that are of one of the sorts."""
    return frozenset(found.code for each in labels if (found := meaning(each)) is not None and found.sort in sorts)


def hides(withheld: Label, labels: Iterable[Label]) -> bool:
    """Is an item with these labels hidden from a reader from whom the first is withheld? If it carries it, one that is
    a kind of it or is read together with it, or a confidentiality at least as high."""
    said = meaning(withheld)
    if said is None:
        return withheld in set(labels)
    covered = covers(said.code)
    for each in labels:
        found = meaning(each)
        if found is None:
            continue
        if said.sort == "confidentiality":
            if found.sort == "confidentiality" and found.rank >= said.rank:
                return True
        elif found.code in covered and found.sort != "confidentiality":
            return True
    return False


@lru_cache(maxsize=512)
def covers(code: str) -> frozenset[str]:
    """The code, everything that is a kind of it, and what is withheld together with one of these."""
    found, waiting = set[str](), [code]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += [*_kinds().get(one, ()), *_families().get(one, ())]
    return frozenset(found)


@lru_cache(maxsize=512)
def is_kind_of(code: str, other: str) -> bool:
    """Is the first the second, or a kind of it (ETREAT of TREAT, OPIOIDUD of SUD)?"""
    found, waiting = set[str](), [code]
    while waiting:
        one = waiting.pop()
        if one == other:
            return True
        if one not in found:
            found.add(one)
            waiting += _parents().get(one, ())
    return False


@cache
def _aliases() -> dict[str, str]:
    return {row["name"]: row["alias"] for row in rows("security_systems")}


@cache
def _codes() -> dict[tuple[str, str], Meaning]:
    found: dict[tuple[str, str], Meaning] = {}
    for row in rows("security_labels"):
        sort: Sort = row["kind"]  # type: ignore[assignment]  # a test holds the table to these words
        found[row["system"], row["code"]] = Meaning(sort, row["means"], int(row["rank"]) if row["rank"] != "-" else -1)
    return found


@cache
def _parents() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for row in rows("security_labels"):
        if row["under"] != "-":
            found[row["code"]] = tuple(row["under"].split(","))
    return found


@cache
def _kinds() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for code, parents in _parents().items():
        for parent in parents:
            found[parent] = (*found.get(parent, ()), code)
    return found


@cache
def _families() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for row in rows("security_families"):
        found[row["withheld"]] = (*found.get(row["withheld"], ()), row["hides"])
    return found

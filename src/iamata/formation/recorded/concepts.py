"""Are two concepts the same, refining, different, or can't we say? Codes first, then folded names."""

from __future__ import annotations

from enum import StrEnum

from iamata.formation.recorded.said import Said
from iamata.terminology.names import fold

_LATERALITY = frozenset({"left", "right", "bilateral"})


class Relation(StrEnum):
    SAME_CODE = "same-code"
    SAME_NAME = "same-name"
    REFINES = "refines"  # the words of one are among the words of the other
    DIFFERENT = "different"
    UNKNOWN = "unknown"

    @property
    def same(self) -> bool:
        return self in (Relation.SAME_CODE, Relation.SAME_NAME)

    @property
    def compatible(self) -> bool:
        return self in (Relation.SAME_CODE, Relation.SAME_NAME, Relation.REFINES)


def relate(left: Said, right: Said) -> Relation:
    """How two statements' concepts relate.

    A shared code decides, unless both also carry another code of one system that differ and their names differ (a panel
    code next to a member code). With no shared code but codes of one system on both sides they are different, whatever
    the names say. Otherwise equal names are the same, and a name within the other refines it.
    """
    if left.keys & right.keys:
        return Relation.SAME_CODE
    comparable = {key.partition("|")[0] for key in left.keys} & {key.partition("|")[0] for key in right.keys}
    if comparable:
        a, b = set(left.name.split()), set(right.name.split())
        return Relation.REFINES if a and b and a != b and (a < b or b < a) else Relation.DIFFERENT
    if not left.name or not right.name:
        return Relation.UNKNOWN
    if left.name == right.name:
        return Relation.SAME_NAME
    a, b = set(left.name.split()), set(right.name.split())
    return Relation.REFINES if a < b or b < a else Relation.DIFFERENT


def laterality(item: Said) -> frozenset[str]:
    """The sides named in the concept or the body site: left, right, bilateral; empty if none is named."""
    words = set(item.name.split())
    site = item.statement.field("body_site")
    if site is not None:
        words |= set(fold(getattr(site, "display", str(site))).split())
    return frozenset(words & _LATERALITY)

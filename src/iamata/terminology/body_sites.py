"""Which site of the body is meant, and on which side? Lookups over `data/body_*.tsv`: codes first, then words.

Not here: whether two sites are parts of one another, or what is wrong there.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Final, NamedTuple

from iamata.model.coding import CodedText
from iamata.terminology.names import fold
from iamata.terminology.systems import normal
from iamata.terminology.tables import rows

_UNREVIEWED: Final = "unreviewed"
_NONE: Final = "-"


class Place(NamedTuple):
    """`site` by the name of the table or empty; `side` left, right, bilateral or empty when none is said."""

    site: str
    side: str


def site(concept: CodedText) -> Place:
    """The site and the side that a concept names: of a body site, or of a condition with the site in its name.

    The first code that the table knows gives the site, else the longest known words of the text or of a display. A side
    counts wherever it stands; left and right together are bilateral. A side inside a name (left ventricle) is no side.
    """
    found = [
        _codes()[key] for key in (c.normal or normal(c.system, c.code) for c in concept.codings) if key in _codes()
    ]
    place = next((one.site for one in found if one.site), "")
    sides = {one.side for one in found} - {""}
    for words in (concept.text, *(coding.display for coding in concept.codings)):
        named = _in_words(words)
        place = place or named.site
        sides |= {named.side} - {""}
    return Place(place, _one_side(sides))


def _one_side(sides: set[str]) -> str:
    if not sides:
        return ""
    return next(iter(sides)) if len(sides) == 1 else "bilateral"


@lru_cache(maxsize=20_000)
def _in_words(text: str) -> Place:
    words = fold(text).split()
    names = _names()
    inside: set[int] = set()
    best = ""
    for size in range(min(len(words), _most_words()), 0, -1):  # a longer name is never cut by a shorter one before it
        for at in range(len(words) - size + 1):
            stretch = range(at, at + size)
            named = names.get(" ".join(words[at : at + size]))
            if named and inside.isdisjoint(stretch):
                inside.update(stretch)
                best = best or named
    sides = {side for at, word in enumerate(words) if at not in inside and (side := _sides().get(word))}
    return Place(best, _one_side(sides))


@cache
def _names() -> dict[str, str]:
    return {row["name"]: row["site"] for row in rows("body_names") if row["source"] != _UNREVIEWED}


@cache
def _most_words() -> int:
    return max(len(name.split()) for name in _names())


@cache
def _sides() -> dict[str, str]:
    return {row["word"]: row["side"] for row in rows("body_sides") if row["source"] != _UNREVIEWED}


@cache
def _codes() -> dict[str, Place]:
    return {
        f"{row['system']}|{row['code']}": Place(row["site"].replace(_NONE, ""), row["side"].replace(_NONE, ""))
        for row in rows("body_codes")
        if row["source"] != _UNREVIEWED
    }

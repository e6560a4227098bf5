"""Who is named by these words of a document: a name, a credential, an occupation, a relation, a machine?

A name alone says nobody's role. A relative who is a nurse is a relative; a patient who is a physician is the patient.
Not here: where in a document persons are named (`labels`, `headings`, `blocks`), and what they did.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from iamata.terminology import narrative

LONGEST: Final = 160
# A segment of a naming: what stands between commas, brackets, dashes.
_SEGMENT: Final = re.compile(r"[^,;()\[\]|\n]+")
_DASHES: Final = re.compile(r"\s[-–—]\s")
_CHECKED: Final = re.compile(r"(?:\[\s*[xX✓✔]\s*\]|\(\s*[xX✓✔]\s*\)|[☒☑✓✔])\s*([^\[\]()☐☒☑✓✔]{1,60})")
_UNCHECKED: Final = re.compile(r"\[\s*\]|\(\s*\)|☐")
_PARTICLES: Final = frozenset(
    {"de", "da", "das", "do", "dos", "del", "della", "di", "van", "von", "der", "den", "ter", "la", "le", "el", "al",
     "bin", "ibn", "y", "e", "af", "av", "zu", "of", "and", "the"}
)  # fmt: skip
_MOST_NAME_WORDS: Final = 6
_MOST_GIVEN: Final = 2
_MOST_ROLE_WORDS: Final = 5
_BY: Final = re.compile(
    r"^(?:written|completed|added|entered|kept|recorded|filled (?:in|out)|signed|said)?\s*by\s+", re.I
)
_SPLIT: Final = re.compile(r"[,;(]|\s[-–—]\s")
_ABBREVIATION: Final = 4
_MADE: Final = re.compile(r"[\s-]+(?:generated|assisted|created|tool|system|model|software)\Z", re.IGNORECASE)
_EMBRACED: Final = re.compile(r"^[\s\"'“”‘’*_.:;,\-–—]+|[\s\"'“”‘’*_:;,\-–—]+$")
_NAME_WORD: Final = re.compile(r"[^\W\d_][\w.'’\-]*\Z")


class Person(NamedTuple):
    """`name` as written, with the words that say who it is; empty where only those words stand (`the patient`). `type`
    as in FHIR, empty if nothing says it; `capacity` a role of the model where the type alone does not say it."""

    name: str
    type: str = ""
    capacity: str = ""

    @property
    def is_own(self) -> bool:
        """The patient or somebody who speaks for them?"""
        return self.type in ("Patient", "RelatedPerson")


class _Segment(NamedTuple):
    start: int
    end: int
    found: narrative.Capacity | None
    is_name: bool
    is_trade: bool = False

    @property
    def is_shown(self) -> bool:
        """Is it shown after a name? A trade is left out: it says who somebody is and is no part of their name."""
        return self.found is not None and not self.is_name and not self.is_trade


def person(words: str) -> Person | None:
    """Who these words name; None if they name nobody."""
    said = _chosen(words[:LONGEST])
    if said is None:
        return None
    said = _BY.sub("", _EMBRACED.sub("", said))
    if not any(char.isalpha() for char in said):
        return None
    if software := _software(said):
        return software
    segments = _inverted(said, [_segment(said, start, end) for start, end in _segments(said)])
    kept = [each for each in segments if each.is_name or each.found is not None]
    if not kept or not _together(segments, kept):
        return None
    types = [each.found for each in kept if each.found is not None]
    best = min(types, key=_rank, default=narrative.Capacity(""))
    named = [each for each in kept if each.is_name]
    if not named:
        bare = said[kept[0].start : kept[0].end].strip()
        return Person(bare if best.type == "RelatedPerson" else "", best.type, best.capacity)
    told = _beside(segments, named[0])
    first, last = min(each.start for each in told), max(each.end for each in told)
    if named[0].start > first and best.type not in ("Patient", "RelatedPerson"):
        first = named[0].start
    name = said[first:last].strip(" .,;-–—") if last < len(said) else said[first:last].strip(" ,;-–—")
    if said[last : last + 1] == ")" and "(" in name:
        name += ")"
    return Person(name, best.type, best.capacity)


def _chosen(words: str) -> str | None:
    """Of boxes to tick the one that is; None if boxes stand there and none is ticked."""
    ticked = _CHECKED.findall(words)
    if ticked:
        return ticked[0].strip() if len(ticked) == 1 else None
    return None if _UNCHECKED.search(words) else words


def _segments(said: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for match in _SEGMENT.finditer(said):
        at = match.start()
        for dash in _DASHES.finditer(match.group()):
            found.append((at, match.start() + dash.start()))
            at = match.start() + dash.end()
        found.append((at, match.end()))
    return [(start, end) for start, end in found if said[start:end].strip()]


def _together(all: list[_Segment], kept: list[_Segment]) -> bool:
    """Does the naming begin with what names somebody? `On call (Dr. Ray)` is not a person."""
    return all[0] is kept[0] or (all[0].end - all[0].start) <= _ABBREVIATION


def _inverted(said: str, segments: list[_Segment]) -> list[_Segment]:
    """`Lee, Ann` is one name; a credential may follow it without a comma."""
    if len(segments) < 2 or not all(each.is_name for each in segments[:2]) or segments[0].found is not None:
        return segments
    family, given = segments[:2]
    tokens = said[given.start : given.end].split()
    if len(said[family.start : family.end].split()) > 1 or said[family.end : given.start].strip(" ,"):
        return segments
    earned = narrative.credential(tokens[-1].strip(".")) if len(tokens) > 1 else None
    if len(tokens) - (earned is not None) > _MOST_GIVEN:
        return segments
    return [_Segment(family.start, given.end, given.found or earned, True), *segments[2:]]


def _beside(segments: list[_Segment], named: _Segment) -> list[_Segment]:
    """The name with the segments beside it that say who it is."""
    at = segments.index(named)
    first = last = at
    while first > 0 and segments[first - 1].found is not None:
        first -= 1
    while last + 1 < len(segments) and segments[last + 1].is_shown:
        last += 1
    return segments[first : last + 1]


def _rank(found: narrative.Capacity) -> int:
    order = ("Patient", "RelatedPerson", "Practitioner")
    return order.index(found.type) if found.type in order else len(order)


def _segment(said: str, start: int, end: int) -> _Segment:
    """What one segment says: a name (with a title or credential), or who somebody is."""
    words = said[start:end]
    bare = _BY.sub("", words.strip())
    if (found := narrative.called(bare)) is not None:
        return _Segment(start, end, found, False, is_trade=found.type == "Practitioner")
    if narrative.is_relation(bare):
        return _Segment(start, end, narrative.Capacity("RelatedPerson"), False)
    tokens = words.split()
    if not tokens:
        return _Segment(start, end, None, False)
    if all(narrative.credential(token.strip(".")) for token in tokens):
        return _Segment(start, end, narrative.credential(tokens[0].strip(".")), False)
    entitled = narrative.title(tokens[0]) if len(tokens) > 1 else None
    if entitled is not None and _is_name(tokens[1:]):
        return _Segment(start, end, entitled, True)
    named, earned = list(tokens), None
    while len(named) > 2 and (one := narrative.credential(named[-1].strip("."))) is not None:
        named, earned = named[:-1], one
    if earned is not None and _is_name(named):
        return _Segment(start, end, earned, True)
    if (found := _introduced(tokens)) is not None:
        return _Segment(start, end, found, True)
    if len(tokens) <= _MOST_ROLE_WORDS and (found := narrative.occupation(words)) is not None:
        return _Segment(start, end, found, False, is_trade=True)
    if narrative.ends_with("instrument", words):
        return _Segment(start, end, narrative.Capacity("DeviceMetric", "instrument"), True)
    return _Segment(start, end, None, _is_name(tokens))


def _introduced(tokens: list[str]) -> narrative.Capacity | None:
    """`the daughter Ann Lee`, `staff nurse Bo Ray`: who somebody is, then a name."""
    for at in range(1, min(len(tokens), _MOST_ROLE_WORDS)):
        said, name = " ".join(tokens[:at]), tokens[at:]
        if not _is_name(name):
            continue
        if narrative.is_relation(said):
            return narrative.Capacity("RelatedPerson")
        found = narrative.occupation(said)
        if found is not None and found.type == "Practitioner" and len(name) > 1 and said.islower():
            return found
    return None


def _is_name(tokens: list[str]) -> bool:
    """Words that are written like a name: capitals or letters without case, particles between them, no numbers."""
    if not 0 < len(tokens) <= _MOST_NAME_WORDS or tokens[0] in _PARTICLES:
        return False
    for token in tokens:
        written = _NAME_WORD.match(token) and (token[0].isupper() or token[0] == token[0].swapcase())
        if not written and token.lower() not in _PARTICLES and not token.startswith(("d'", "d’", "al-", "el-")):
            return False
    return True


def _software(said: str) -> Person | None:
    """Software that reasons, by a word of its name; a tool or a person with such a name is none."""
    if not _words_for("reasoning").search(said) or said.isupper() or _words_for("no author").search(said):
        return None
    name = _SPLIT.split(said, maxsplit=1)[0].strip()
    tokens = said.replace(",", " ").split()
    if len(tokens) > 1 and (
        narrative.title(tokens[0]) or any(narrative.credential(t.strip(".()")) for t in tokens[1:])
    ):
        return None
    return Person("" if _is_generic(name) else name, "Device", "reasoning")


@cache
def _words_for(meaning: str) -> re.Pattern[str]:
    """The table's words for software of this sort. Abbreviations in capitals only: `Ai` is a name."""
    words = [word for word, meant in narrative.words_of("software").items() if meant == meaning]
    short = "|".join(re.escape(word.upper()) for word in words if len(word) <= _ABBREVIATION) or r"(?!)"
    long = "|".join(r"[\s-]+".join(map(re.escape, word.split())) for word in words if len(word) > _ABBREVIATION)
    return re.compile(rf"(?<!\w)(?:{short}|(?i:{long}))(?!\w)")


def _is_generic(name: str) -> bool:
    """Does it name a sort of software, not one (`AI-generated`, `an AI scribe`)?"""
    bare = _MADE.sub("", name)
    named = any(word[:1].isupper() and not word.isupper() for word in bare.split())
    return not named and narrative.ends_with("software", bare) != ""

"""Whose part does a heading begin: `Addendum by …`, `History (obtained from mother)`, `For office use only`?

Only words that say it: a role that a heading names without a person (`Nursing assessment`) says nothing. Not here:
which lines are headings (`sections`).
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from iamata.connectors.documents.labels import fields
from iamata.connectors.documents.persons import Person, person
from iamata.terminology import narrative

_LONGEST: Final = 140
_BRACKETS: Final = re.compile(r"\(([^()]{1,100})\)")
_BY: Final = re.compile(r"\A(.*?)\bby[:\s]+(.+)\Z", re.IGNORECASE | re.DOTALL)
_FROM: Final = re.compile(r"\A(.*?)\bfrom\s+(.+)\Z", re.IGNORECASE | re.DOTALL)
_WROTE: Final = re.compile(
    r"\A(.{3,120}?)\s+(?:wrote|writes|commented|replied|added|answered)\b(?:\s+(?:on|at|in)\b.{0,60}|\s+back)?\Z",
    re.IGNORECASE | re.DOTALL,
)
_ENDS: Final = (".", "?", "!", ";", ",")
_MOST_WORDS: Final = 16


class Begun(NamedTuple):
    """`part`: author, informant, other (a source that is neither patient nor relative), or office (what a patient's
    own paper leaves to the staff). `covers`: also the sections below it (an addendum)."""

    part: str
    who: Person | None
    covers: bool = False


def begins(line: str, *, blank_before: bool = False) -> Begun | None:
    """What a line of text begins if it is a heading that names its writer or source; None for any other line."""
    words = line.strip(" \t#*_=")
    if not words or len(words) > _LONGEST or not words[0].isalpha() or len(words.split()) > _MOST_WORDS:
        return None
    if words.endswith(":"):
        return told(words)
    lone = blank_before and not words.endswith(_ENDS)
    labelled = [field for field in fields(words) if field.said]
    if labelled:
        sources = [f for f in labelled if f.label.part == "informant"]
        if not sources or not lone or narrative.folded(sources[0].written).split()[:1] != ["source"]:
            return None
        return told(words) or Begun("other", None)
    if narrative.ends_with("block", words) == "office":
        return told(words)
    found = told(words) if lone and ":" not in words else None
    # Without a colon, a name makes the heading: `Patient reports` may begin a sentence.
    return found if found is not None and (words.isupper() or (found.who is not None and found.who.name)) else None


def told(title: str) -> Begun | None:
    """What the words of a heading say of its writer or source."""
    words = title[: _LONGEST + 1].strip(" \t#*_=:")
    if not words or len(title) > _LONGEST:
        return None
    if narrative.ends_with("block", words) == "office" or narrative.means("block", words.partition("(")[0]) == "office":
        return Begun("office", None)
    for field in fields(words):
        # `Physiotherapist: Jan Novak` as a heading
        if field.label.part in ("author", "performer") and field.who is not None and field.who.name:
            return Begun("author", field.who)
    brackets = [inner.strip() for inner in _BRACKETS.findall(words)]
    base = _BRACKETS.sub(" ", words).strip(" ,-–—:")
    named = [who for inner in brackets if (who := person(inner)) is not None]
    covers = any(
        narrative.means("block", word) == "addendum" for word in (*base.split()[:1], " ".join(base.split()[:2]))
    )
    for text in (base, *brackets):
        found = _source(text) or _by(text, base) or _from(text, is_bracket=text is not base)
        if found is not None:
            part, who = found
            if _unnamed(who) and named and (who.is_own or not named[0].is_own):
                who = Person(named[0].name, who.type, who.capacity)
            return Begun(part, who, covers and part == "author")
    for text in (*brackets, base):
        if (teller := _teller(text)) is not None:
            name = named[0].name if named and named[0].type in ("", teller.type) else teller.name
            return Begun("informant", teller._replace(name=name))
    if named and (named[0].type or narrative.folded(base) == "addendum") and (_is_block(base) or _is_occupation(base)):
        return Begun("author", named[0], covers)
    wrote = _WROTE.match(words)
    if wrote is not None and (writer := person(wrote.group(1))) is not None and writer.type:
        return Begun("author", writer)
    return None


def _source(text: str) -> tuple[str, Person] | None:
    """`History obtained from mother`, `Source: patient interview`, `per patient`."""
    said = text.split()
    for at in range(len(said)):
        for size in (4, 3, 2, 1):
            if at + size >= len(said) or narrative.label_part(" ".join(said[at : at + size])) != "informant":
                continue
            if size == 1 and at and narrative.folded(said[at]) != "per":
                continue
            rest = " ".join(said[at + size :]).lstrip(" :,-")
            who = person(rest) or _teller(rest)
            if who is not None and not who.is_own:
                who = _teller(rest) or who
            return ("informant", who) if who is not None and who.is_own else None
    return None


def _from(text: str, *, is_bracket: bool) -> tuple[str, Person] | None:
    """`History (from father)`, `History via interpreter from patient`."""
    match = _FROM.match(text)
    if match is None:
        return None
    first = (match.group(1).split() or [""])[0]
    if not (is_bracket or narrative.means("told from", first) or narrative.means("block", first) == "note"):
        return None
    who = person(match.group(2))
    if who is None or not who.is_own:
        return None
    wrote = not is_bracket and not narrative.means("told from", first)
    return "author" if wrote else "informant", who


def _by(text: str, base: str) -> tuple[str, Person] | None:
    """`Addendum by Dr. Ray`, `Patient's wishes, written by the patient`, `History, given by mother`."""
    match = _BY.match(text)
    if match is None:
        return None
    before, who = match.group(1).split(), person(match.group(2))
    if who is None:
        return None
    verb = " ".join([*(word.strip(",") for word in before[-1:]), "by"])
    part = narrative.label_part(verb) or narrative.label_part(" ".join([*before[-2:], "by"]))
    if part in ("reporter", "informant"):
        return ("informant", who) if who.is_own else (("author", who) if part == "reporter" else None)
    if part in ("verifier", "enterer", "nobody"):
        return None
    if part == "author" or any(narrative.means("block", word) in ("note", "addendum") for word in before):
        if not who.type and narrative.folded(" ".join(before[:1])) in ("patient", "patient s"):
            who = who._replace(type="Patient")
        return "author", who
    return None


def _teller(text: str) -> Person | None:
    """Whose words follow: `Patient's account`, `Mother reports`, `in the patient's own words`."""
    said = narrative.folded(text).split()
    for at, word in enumerate(said[:3]):
        if word in ("in", "the", "this", "verbatim"):
            continue
        rest = said[at + 1 :]
        rest = rest[1:] if rest[:1] == ["s"] else rest
        if not rest or not any(narrative.means("told", " ".join(rest[:size])) for size in (1, 2)):
            return None
        if word in ("patient", "patients", "pt", "self"):
            return Person("", "Patient")
        return Person(word, "RelatedPerson") if narrative.is_relation(word) else None
    return None


def _unnamed(who: Person) -> bool:
    return not who.name or narrative.is_relation(who.name)


def _is_block(base: str) -> bool:
    """A part that has a writer of its own, or by its whole words the discipline that writes it."""
    first = (base.split() or [""])[0]
    ends = (narrative.ends_with("block", base), narrative.means("block", first))
    return bool(narrative.means("block", base)) or any(meant in ("note", "addendum") for meant in ends)


def _is_occupation(base: str) -> bool:
    return narrative.occupation(base) is not None

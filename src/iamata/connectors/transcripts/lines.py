"""Which turns does plain text hold? One a line: a time if known, the speaker's label, the words.

    mother: We stopped it.            [2026-02-15T09:00Z] mother: We stopped it.
    [doctor] How is he?               00:01:23 Dr Ames: How is he?

An indented line goes on with the turn before it. A line without a label is refused, unless the sender says who speaks
where there is none, or that it goes on.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from iamata.connectors.transcripts.speakers import Labels
from iamata.connectors.transcripts.times import Times
from iamata.errors import BadInput
from iamata.model.session import Turn

_TIME = (
    r"(?:\[(?P<at>[^\]]*\d[^\]]*)\]|\((?P<in>\d[\d:.,]*)\)|(?P<bare>\d+(?::\d{1,2}){1,2}(?:[.,]\d{1,6})?))\s*(?:-\s+)?"
)
# A label has no sentence in it: up to six words, no quotation marks.
_LABEL = r"[^\s:\[\]\"“”][^:\[\]\"“”\n]{0,79}?"
LINE: Final = re.compile(
    rf"(?:{_TIME})?(?:(?P<who>{_LABEL})\s*:|\[(?P<bracketed>{_LABEL})\]:?)(?:\s+|\Z)(?P<text>.*)\Z"
)
_TIMED: Final = re.compile(rf"{_TIME}(?P<text>.*)\Z")
_MOST_WORDS: Final = 6
_NEWLINE: Final = re.compile(r"\r\n|\r|\n")
HOW: Final = (
    "a turn reads `mother: text`, with patient, clinician, coordinator, interpreter, agent, a relative or "
    "`caregiver (relation)` before the colon, and before it, if known, the time: `[2026-02-15T09:00Z] mother: text`"
)


def labelled(line: str) -> tuple[str, str] | None:
    """The label at the beginning of a line without a time, and the words after it."""
    match = LINE.match(line)
    if match is None or _time_of(match) or len(_who(match).split()) > _MOST_WORDS:
        return None
    return _who(match), match["text"]


def turns(text: str, labels: Labels, times: Times) -> list[Turn]:
    """The turns in order. Raises BadInput with the line; no word of it is in the message."""
    found: list[Turn] = []
    for number, line in enumerate(_NEWLINE.split(text), start=1):
        if not line.strip():
            continue
        if found and (line[0] in " \t" or labels.goes_on) and not _is_labelled(line.strip()):
            found[-1] = msgspec.structs.replace(found[-1], text=f"{found[-1].text}\n{line.strip()}")
            continue
        found.append(_turn(line.strip(), labels, times, f"line {number}"))
    if not found:
        raise BadInput(f"the transcript is empty: {HOW}")
    return found


def _is_labelled(line: str) -> bool:
    match = LINE.match(line)
    return match is not None and len(_who(match).split()) <= _MOST_WORDS


def _turn(line: str, labels: Labels, times: Times, place: str) -> Turn:
    match = LINE.match(line)
    if match is None or not _is_labelled(line):
        return _unlabelled(line, labels, times, place)
    voice = labels.voice(_who(match), place)
    at = times.said(_time_of(match), place)
    return Turn(voice.speaker, match["text"].strip(), voice.relationship, voice.name, at)


def _unlabelled(line: str, labels: Labels, times: Times, place: str) -> Turn:
    try:
        voice = labels.voice("", place)
    except BadInput:
        raise BadInput(f"no speaker is named: {HOW}", place=place) from None
    timed = _TIMED.match(line)
    at = times.said(_time_of(timed), place) if timed else None
    return Turn(voice.speaker, timed["text"].strip() if timed else line, voice.relationship, voice.name, at)


def _who(match: re.Match[str]) -> str:
    return (match["who"] or match["bracketed"]).strip()


def _time_of(match: re.Match[str]) -> str:
    return match["at"] or match["in"] or match["bare"] or ""

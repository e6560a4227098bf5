"""Which turns do subtitles hold? WebVTT and SubRip: one for each cue, or for each voice in it.

A cue's beginning counts from the talk's; its lines are one text. A cue that goes on in the middle of the sentence of
the same voice belongs to the turn before it. Comments, styles and regions are no talk, and are counted.
Sources: WebVTT (W3C, 4 April 2019), sections 4 and 6.4; SubRip has no standard: numbers, `00:00:01,000 --> …`, text.
"""

from __future__ import annotations

import html
import re
from typing import Final, NamedTuple

import msgspec

from iamata.connectors.transcripts.lines import HOW, labelled
from iamata.connectors.transcripts.speakers import Labels, Voice
from iamata.connectors.transcripts.times import Times, seconds_of
from iamata.errors import BadInput
from iamata.model.session import Turn

TIMING: Final = re.compile(
    r"\s*(?P<start>(?:\d{1,3}:)?\d{1,2}:\d{2}[.,]\d{1,3})\s*-->\s*(?:\d{1,3}:)?\d{1,2}:\d{2}[.,]\d{1,3}"
)
_NO_TALK: Final = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|\Z)")
_VOICE: Final = re.compile(r"<v(?:\.[^\s>]*)?\s+(?P<who>[^>]+)>")
_TAG: Final = re.compile(r"</?(?:[cibuv]|ruby|rt|lang|font)(?:[.\s][^<>]*)?>|<\d[\d:.]*>|\{\\[^{}]*\}", re.IGNORECASE)
_GOES_ON: Final = re.compile(r"[.!?…。？！][\"”’)\]]*\Z")


class _Cue(NamedTuple):
    id: str
    start: str
    lines: list[str]
    place: str


class Cues(NamedTuple):
    """The turns, and how many blocks were no talk."""

    turns: list[Turn]
    set_aside: int


def turns(text: str, labels: Labels, times: Times, *, webvtt: bool) -> Cues:
    """The turns in order. Raises BadInput with the line of what cannot be read."""
    cues, set_aside = _cues(text, webvtt=webvtt)
    found: list[Turn] = []
    for cue in cues:
        at = times.after(seconds_of(cue.start, cue.place), cue.place)
        for part, (label, said) in enumerate(_voices(cue, webvtt=webvtt)):
            voice = _voice(labels, label, cue.place, found[-1] if found else None)
            if not part and found and _continues(found[-1], voice, said):
                found[-1] = msgspec.structs.replace(found[-1], text=f"{found[-1].text} {said}")
                continue
            id = f"{cue.id}-{part + 1}" if part and cue.id else cue.id
            found.append(Turn(voice.speaker, said, voice.relationship, voice.name, at, id))
    if not found:
        raise BadInput("there is no cue in it", place="line 1")
    return Cues(found, set_aside)


def _cues(text: str, *, webvtt: bool) -> tuple[list[_Cue], int]:
    """The cues with the line of their timing, and how many blocks are none."""
    cues: list[_Cue] = []
    set_aside = 0
    for number, block in _blocks(text):
        first = block[0]
        if webvtt and number == 1 and first.startswith("WEBVTT"):
            continue
        if webvtt and _NO_TALK.match(first):
            set_aside += 1
            continue
        at = next((i for i, line in enumerate(block[:2]) if "-->" in line), None)
        if at is None:
            raise BadInput("a cue has a line with its times (00:01.000 --> 00:02.500)", place=f"line {number}")
        timing = TIMING.match(block[at])
        if timing is None:
            raise BadInput(
                "the times of a cue are written as 00:00:01.000 --> 00:00:02.500", place=f"line {number + at}"
            )
        id = block[0].strip() if at else ""
        cues.append(_Cue(id, timing["start"], block[at + 1 :], f"line {number + at}"))
    return cues, set_aside


def _blocks(text: str) -> list[tuple[int, list[str]]]:
    """Lines between blank lines, with the number of the first."""
    blocks: list[tuple[int, list[str]]] = []
    open_block = False
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        if not line.strip():
            open_block = False
        elif open_block:
            blocks[-1][1].append(line)
        else:
            blocks.append((number, [line]))
            open_block = True
    return blocks


def _voices(cue: _Cue, *, webvtt: bool) -> list[tuple[str, str]]:
    """Label and words of each voice in a cue."""
    payload = "\n".join(cue.lines)
    marks = list(_VOICE.finditer(payload)) if webvtt else []
    if not marks:
        return _by_lines([_plain(line, webvtt=webvtt) for line in cue.lines])
    found = []
    before = _plain(payload[: marks[0].start()], webvtt=webvtt)
    if before:
        found.append(("", before))
    for index, mark in enumerate(marks):
        end = marks[index + 1].start() if index + 1 < len(marks) else len(payload)
        found.append((html.unescape(mark["who"]), _plain(payload[mark.end() : end], webvtt=webvtt)))
    return found


def _by_lines(lines: list[str]) -> list[tuple[str, str]]:
    """A label may begin any line of a cue; a line without one goes on with the voice before it."""
    found: list[tuple[str, str]] = []
    for line in lines:
        head = labelled(line)
        if head is not None:
            found.append((head[0], head[1].strip()))
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line}".strip())
        else:
            found.append(("", line))
    return found or [("", "")]


def _plain(text: str, *, webvtt: bool) -> str:
    """Without markup; the lines of one voice as one text."""
    bare = _TAG.sub("", text)
    if webvtt:
        bare = html.unescape(bare)
    return " ".join(part.strip() for part in bare.splitlines() if part.strip()).strip("\u200e\u200f \t")


def _voice(labels: Labels, label: str, place: str, before: Turn | None) -> Voice:
    if label.strip():
        return labels.voice(label, place)
    if labels.goes_on and before is not None:
        return Voice(before.speaker, before.relationship, before.name)
    try:
        return labels.voice("", place)
    except BadInput:
        raise BadInput(
            f"this cue names no speaker, and none is assumed: <v Name> or `Name:` does, or {HOW}", place=place
        ) from None


def _continues(before: Turn, voice: Voice, said: str) -> bool:
    """The same voice in the middle of a sentence: nothing ended it, and this begins with a small letter."""
    same = (before.speaker, before.relationship, before.name) == (voice.speaker, voice.relationship, voice.name)
    return same and bool(before.text) and said[:1].islower() and not _GOES_ON.search(before.text)

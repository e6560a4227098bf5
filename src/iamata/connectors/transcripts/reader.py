"""What was said, by whom, when? Bytes of a transcript in any of its formats as the turns of one session of one patient.

Nothing is guessed: a label that nobody explains, a second patient and a time without a zone are refused with their
place. Not here: what is new of a transcript (`engine`), and what follows from it (`formation.learned`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec

from iamata.connectors.text.charsets import decode
from iamata.connectors.transcripts import contract, cues, lines, rows
from iamata.connectors.transcripts.speakers import Labels
from iamata.connectors.transcripts.times import Times
from iamata.errors import BadInput, UnknownFormat
from iamata.model.session import Turn

FORMATS: Final = ("json", "text", "vtt", "srt", "csv")
_JSON: Final = re.compile(r"\{|\[\s*[{\]]")
_NUMBER: Final = re.compile(r"\d+\Z")


class Transcript(msgspec.Struct, frozen=True):
    """The turns in order; the session that the transcript names, if any; `warnings` name counts and places."""

    turns: tuple[Turn, ...]
    format: str
    session: str = ""
    warnings: tuple[str, ...] = ()


def read(
    body: bytes,
    *,
    format: str = "",
    begins_at: datetime | None = None,
    time_zone: str = "",
    speakers: Mapping[str, str] | None = None,
    patients: tuple[str, ...] = (),
) -> Transcript:
    """Read one, whole or not at all.

    `begins_at`: when the talk began, for times that count from there. `time_zone`: of times without an offset.
    `speakers`: label → speaker (`caregiver:daughter`). `patients`: the ids by which the transcript may name its
    patient; empty: any one. Raises BadInput (UnknownFormat) with the place; no word of the talk is in the message.
    """
    if format and format not in FORMATS:
        raise UnknownFormat(f"a transcript is one of {', '.join(FORMATS)}", format=format, place="format")
    decoded = decode(body)
    text = decoded.text
    if not text.strip():
        raise BadInput(f"the transcript is empty: {lines.HOW}")
    format = format or _format_of(text)
    labels, times = Labels(speakers), Times(begins_at, time_zone)
    session, named = "", list[tuple[str, str]]()
    warnings = list(decoded.warnings)
    match format:
        case "json":
            turns, session, named = contract.transcript(text.encode(), times)
        case "vtt" | "srt":
            turns, set_aside = cues.turns(text, labels, times, webvtt=format == "vtt")
            if set_aside:
                warnings.append(f"{set_aside} blocks are no talk (notes, styles, regions) and were not read")
        case "csv":
            turns, session, named, unread = rows.turns(text, labels, times)
            if unread:
                warnings.append(f"{unread} columns have no name that is known here and were not read")
        case _:
            turns = lines.turns(text, labels, times)
    _one_patient(named, patients)
    if times.unknown:
        warnings.append(f"{times.unknown} times count from the beginning of the talk, which was not given: left out")
    return Transcript(tuple(turns), format, session, tuple(warnings))


def _format_of(text: str) -> str:
    start = text.lstrip()
    if start.startswith("WEBVTT"):
        return "vtt"
    if _JSON.match(start):
        return "json"
    first = [line.strip() for line in start[:2000].splitlines()[:2]]
    if cues.TIMING.match(first[0]) or (len(first) > 1 and _NUMBER.match(first[0]) and cues.TIMING.match(first[1])):
        return "srt"
    return "csv" if rows.is_table(start) else "text"


def _one_patient(named: list[tuple[str, str]], allowed: tuple[str, ...]) -> None:
    known = {*allowed} or {id for id, _place in named[:1]}
    for id, place in named:
        if id not in known:
            raise BadInput("this names another patient: a session is about exactly one", place=place)

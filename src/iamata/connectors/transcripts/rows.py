"""Which turns does a table hold? CSV with a header, one turn a row, in the order of the rows.

Columns are found by name, in any order and case; comma, semicolon or tab between them. What a column without a name
that is known holds is not read, and is counted.
"""

from __future__ import annotations

import csv
import io
from typing import Final, NamedTuple

from iamata.connectors.transcripts.speakers import Labels, Voice
from iamata.connectors.transcripts.times import Times
from iamata.errors import BadInput
from iamata.model.session import Speaker, Turn

_COLUMNS: Final = {
    "speaker": ("speaker", "role", "who", "speaker_label"),
    "text": ("text", "content", "message", "utterance", "transcript", "words"),
    "time": ("time", "said_at", "saidat", "timestamp", "start", "start_time", "datetime"),
    "turn": ("turn_id", "turnid", "turn", "id", "message_id", "messageid"),
    "relationship": ("relationship", "relation"),
    "name": ("name", "speaker_name"),
    "session": ("session", "session_id", "sessionid", "conversation_id"),
    "patient": ("patient", "patient_id", "patientid"),
}
_NAMED: Final = {name: column for column, names in _COLUMNS.items() for name in names}
_LONGEST_HEADER: Final = 4000
_DELIMITERS: Final = ",;\t"


class Table(NamedTuple):
    """The turns; the session that is named; the patients that are named, with their places; columns not read."""

    turns: list[Turn]
    session: str
    patients: list[tuple[str, str]]
    unread: int


def is_table(text: str) -> bool:
    """Does the first line name a column of speakers and one of words?"""
    return _header(text) is not None


def turns(text: str, labels: Labels, times: Times) -> Table:
    """Raises BadInput with the row, counted from 1 with the header."""
    head = _header(text)
    if head is None:
        raise BadInput("a table of turns begins with a header that has the columns speaker and text", place="row 1")
    delimiter, columns = head
    found: list[Turn] = []
    patients: list[tuple[str, str]] = []
    sessions: dict[str, None] = {}
    for number, cells in enumerate(_rows(text, delimiter), start=1):
        if number == 1 or not any(cell.strip() for cell in cells):
            continue
        place = f"row {number}"
        if len(cells) != len(columns):
            raise BadInput(f"this row has {len(cells)} cells, the header {len(columns)}", place=place)
        row = {column: cell for column, cell in zip(columns, cells, strict=True) if column}
        found.append(_turn(row, labels, times, place))
        if row.get("patient", "").strip():
            patients.append((row["patient"].strip(), place))
        if row.get("session", "").strip():
            sessions[row["session"].strip()] = None
            if len(sessions) > 1:
                raise BadInput("send one session at a time: another one begins here", place=place)
    if not found:
        raise BadInput("there is no turn in it", place="row 2")
    return Table(found, next(iter(sessions), ""), patients, columns.count(""))


def _turn(row: dict[str, str], labels: Labels, times: Times, place: str) -> Turn:
    voice = labels.voice(row["speaker"], place)
    relationship = row.get("relationship", "").strip().lower()
    if relationship and voice.speaker is not Speaker.CAREGIVER:
        raise BadInput("only a caregiver has a relation to the patient", place=place)
    voice = Voice(voice.speaker, relationship or voice.relationship, row.get("name", "").strip() or voice.name)
    at = times.said(row.get("time", ""), place)
    return Turn(voice.speaker, row["text"].strip(), voice.relationship, voice.name, at, row.get("turn", "").strip())


def _header(text: str) -> tuple[str, list[str]] | None:
    """What stands between cells, and the columns by our names (empty: one that is not known)."""
    first = next((line for line in text[:_LONGEST_HEADER].splitlines() if line.strip()), "")
    for delimiter in _DELIMITERS:
        cells = next(csv.reader([first], delimiter=delimiter), [])
        columns = [_NAMED.get(cell.strip().lower().replace(" ", "_"), "") for cell in cells]
        named = [column for column in columns if column]
        if "speaker" in named and "text" in named and len(named) == len(set(named)):
            return delimiter, columns
    return None


def _rows(text: str, delimiter: str) -> list[list[str]]:
    # The module's limit of 131,072 characters a cell is for all its readers: raised, never lowered.
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        raise BadInput("quotation marks in the table do not match") from None

"""Who is meant by the label before a turn? By what the sender says of it, else by `speaker_labels.tsv`; never guessed.

A label is a word of the table (`mother`), one of them before a name (`Dr Ames`), or a name with what they are in
parentheses (`Ada (patient)`, `caregiver (foster mother)`). Two patients in one transcript are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from iamata.errors import BadInput
from iamata.model.session import Speaker
from iamata.terminology.tables import rows

_SPACES = re.compile(r"[\s_]+")
_PARENTHESES = re.compile(r"(?P<outside>[^()]*?)\s*\((?P<inside>[^()]+)\)\s*\Z")
_NUMBERED = re.compile(r"(?:patient|pt)[\s_-]*(?P<which>\d{1,3}|[a-z])\Z")
BEFORE: Final = "before"
UNKNOWN: Final = (
    "it is not known who speaks: say it for this label (`speakers`, such as `Speaker 1=patient` or "
    "`Ms B=caregiver:daughter`), or use patient, clinician, coordinator, interpreter, agent, a relative, or "
    "`caregiver (relation)`"
)


class Voice(NamedTuple):
    """Who speaks: `relationship` is a caregiver's to the patient, `name` as the label gives it."""

    speaker: Speaker
    relationship: str = ""
    name: str = ""


class _Word(NamedTuple):
    voice: Voice
    before_name: bool


@cache
def _table() -> dict[str, _Word]:
    return {
        row["label"]: _Word(Voice(Speaker(row["speaker"]), row["relationship"]), row["before_name"] == "yes")
        for row in rows("speaker_labels")
    }


def folded(label: str) -> str:
    """A label as it is compared: lower case, single spaces, without the dot or colon at its end."""
    return _SPACES.sub(" ", label).strip().rstrip(".:").strip().lower()


class Labels:
    """The labels of one transcript. `said` is what the sender says of labels: a speaker, with a caregiver's relation
    after a colon (`caregiver:daughter`). The empty label stands for turns that have none; for it `before` says that
    they go on with the turn before them (`goes_on`).

    Raises BadInput for a speaker that there is not.
    """

    def __init__(self, said: Mapping[str, str] | None = None) -> None:
        told = dict(said or {})
        self.goes_on = told.get("", "").strip().lower() == BEFORE
        if self.goes_on:
            del told[""]
        self._said = {folded(label): _assigned(who) for label, who in told.items()}
        self._patients: dict[str, str] = {}

    def voice(self, label: str, place: str) -> Voice:
        """Who that is. Raises BadInput, which does not repeat the label, where nobody says it or it is a second
        patient."""
        found = self._said.get(folded(label)) or _known(label)
        if found is None:
            raise BadInput(UNKNOWN, place=place)
        if found.speaker is Speaker.PATIENT:
            numbered = _NUMBERED.match(folded(label))
            self._one_patient(numbered["which"] if numbered else "", place)
        return found

    def _one_patient(self, which: str, place: str) -> None:
        self._patients.setdefault(which, place)
        if len(self._patients) > 1:
            raise BadInput("a second patient speaks here: a session is about exactly one", place=place)


def _assigned(who: str) -> Voice:
    name, _, relationship = who.partition(":")
    try:
        speaker = Speaker(name.strip().lower())
    except ValueError:
        raise BadInput(f"a speaker is one of {', '.join(Speaker)}", place="speakers") from None
    if relationship.strip() and speaker is not Speaker.CAREGIVER:
        raise BadInput("only a caregiver has a relation to the patient", place="speakers")
    return Voice(speaker, relationship.strip().lower())


def _known(label: str) -> Voice | None:
    """By the table alone."""
    plain = folded(label)
    if (word := _table().get(plain)) is not None:
        return word.voice
    if (numbered := _NUMBERED.match(plain)) is not None and len(plain) > 2:
        return Voice(Speaker.PATIENT, name=numbered["which"])
    if (match := _PARENTHESES.match(label.strip())) is not None:
        return _with_parentheses(match["outside"], match["inside"])
    first, _, rest = _SPACES.sub(" ", label).strip().partition(" ")
    word = _table().get(folded(first))
    if word is not None and word.before_name and rest:
        return word.voice._replace(name=rest)
    return None


def _with_parentheses(outside: str, inside: str) -> Voice | None:
    """`caregiver (foster mother)`, `Ada (patient)`, `mother (Ruth)`."""
    word, role = _table().get(folded(outside)), _table().get(folded(inside))
    if word is not None and word.voice == Voice(Speaker.CAREGIVER):
        return Voice(Speaker.CAREGIVER, folded(inside))
    if word is not None:
        return word.voice if role is not None else word.voice._replace(name=inside.strip())
    if role is not None:
        return role.voice._replace(name=outside.strip())
    return None

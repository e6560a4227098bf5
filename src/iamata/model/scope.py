"""Who is a piece of information about?"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from iamata.errors import InvalidValue

# The public wire contract's form for new patient ids; ours for every subject.
SUBJECT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~:-]{0,127}\Z")


class Scope(StrEnum):
    """Who a piece of information is about; decides who reads it, who changes it and how long it is kept."""

    PATIENT = "patient"
    ORGANIZATION = "organization"
    OPERATOR = "operator"
    AGENT = "agent"


class Subject(msgspec.Struct, frozen=True, order=True):
    """One scope and the id of the one it is about; written `patient/p1`."""

    scope: Scope
    id: str

    def __post_init__(self) -> None:
        if not SUBJECT_ID.match(self.id):
            raise InvalidValue(f"a {self.scope} id must match [A-Za-z0-9][A-Za-z0-9._~:-]{{0,127}}")

    def __str__(self) -> str:
        return f"{self.scope}/{self.id}"

    @classmethod
    def parse(cls, text: str) -> Subject:
        """`patient/p1` → Subject; raises InvalidValue for any other shape."""
        scope, slash, id = text.strip("/").partition("/")
        if not slash or scope not in list(Scope):
            raise InvalidValue(f"a subject reads scope/id with a scope of {', '.join(Scope)}")
        return cls(Scope(scope), id)


def patient(id: str) -> Subject:
    """The patient with this id."""
    return Subject(Scope.PATIENT, id)

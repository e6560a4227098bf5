"""A learned memory: kept as it was said. Append-only; never merged, updated or deleted by new talk."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from iamata.errors import InvalidValue
from iamata.model.attribution import Attribution
from iamata.model.clinical_time import check_aware
from iamata.model.coding import CodedText
from iamata.model.statement import Polarity


class MemoryKind(StrEnum):
    """The contract's four first; the finer ones are ours."""

    SYMPTOM = "symptom"
    ADHERENCE = "adherence"
    PREFERENCE = "preference"
    CONCERN = "concern"
    MEDICATION = "medication"
    ALLERGY = "allergy"
    SIDE_EFFECT = "side_effect"
    CONDITION = "condition"
    FAMILY_HISTORY = "family_history"
    SOCIAL = "social"
    HISTORY = "history"
    OBSERVATION = "observation"
    GOAL = "goal"
    BARRIER = "barrier"
    INSTRUCTION = "instruction"
    PLAN = "plan"


class Experiencer(StrEnum):
    PATIENT = "patient"
    FAMILY = "family"
    OTHER = "other"


class Temporality(StrEnum):
    CURRENT = "current"
    PAST = "past"
    PLANNED = "planned"
    HYPOTHETICAL = "hypothetical"


class Memory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one speaker said about one thing.

    `quote` stands literally in the message at characters `start`:`end` (the whole clause). `concept` is what it is
    about; `detail` finer words as said (dose, frequency, reaction, severity), keys sorted. `since` is a date resolved
    against the message time (`2026-02-12`), `since_said` the words it came from. `extractors` are provenance, never the
    author.
    """

    id: str
    session: str
    message: str
    start: int
    end: int
    quote: str
    kind: MemoryKind
    concept: CodedText
    attribution: Attribution
    polarity: Polarity = Polarity.AFFIRMED
    experiencer: Experiencer = Experiencer.PATIENT
    temporality: Temporality = Temporality.CURRENT
    certain: bool = True
    relation: str = ""
    change: str = ""  # adherence: stopped, skipped, reduced, ran-out, started, taking
    since: str = ""
    since_said: str = ""
    detail: tuple[tuple[str, str], ...] = ()
    said_at: datetime | None = None
    received_at: datetime
    extractors: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.quote or self.end - self.start != len(self.quote):
            raise InvalidValue("a memory quotes its message, and the span is the quote's")
        check_aware("said_at", self.said_at)
        check_aware("received_at", self.received_at)


class Relearning(msgspec.Struct, frozen=True):
    """One time that the talk of a patient was read again by a better extractor: the memories that it finds and that are
    new or otherwise than before (content, or who found them), and the ids of those that it finds no more."""

    number: int
    at: datetime
    memories: tuple[Memory, ...] = ()
    left: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        check_aware("at", self.at)

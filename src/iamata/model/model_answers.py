"""What a language model answered, kept so that it is asked once and the fold can be done again without it.

Of talk: which messages it read and which memories it found. Of records: whether two of them are about one thing.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from iamata.errors import InvalidValue
from iamata.model.clinical_time import check_aware


class ModelReading(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="reading"
):
    """One reading of messages of a session. `model` as configured, `served` as its server names itself, `prompt` the
    version of what was asked. `outcome` is how it ended; `memories` are the ids of what was accepted, also of those
    that the offline extractor had found; `dropped` counts what was not, by reason, sorted. `received_at` is when."""

    id: str
    session: str
    messages: tuple[str, ...]
    model: str
    prompt: str
    outcome: str
    received_at: datetime
    served: str = ""
    memories: tuple[str, ...] = ()
    dropped: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        check_aware("received_at", self.received_at)

    @property
    def extractor(self) -> str:
        """The provenance of a memory that it found."""
        return extractor(self.model, self.prompt)


class Sameness(StrEnum):
    SAME = "same"
    NOT_SAME = "not-same"
    UNSURE = "unsure"


class Adjudication(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="adjudication"
):
    """What a language model said of two records. `left` < `right` are the digests of their contents: another content
    is another question. `reason` is the model's own words, bounded, and binds nobody."""

    id: str
    left: str
    right: str
    says: Sameness
    model: str
    prompt: str
    received_at: datetime
    reason: str = ""
    served: str = ""

    def __post_init__(self) -> None:
        check_aware("received_at", self.received_at)
        if not self.left < self.right:
            raise InvalidValue("an adjudication is about two records, in the order of their digests")

    @property
    def by(self) -> str:
        """Who says so, beside `operator/…` of a person's ruling."""
        return f"language-model/{self.model}"


class Adjudicated(msgspec.Struct, frozen=True, kw_only=True):
    """What became of asking a language model about a patient's uncertain pairs.

    `answers` are new ones. `failed` counts the questions that got none, by how they ended, sorted. `withheld` pairs
    were not asked about because of a security label, `other_kinds` because records of their kind are not shown to a
    model; `answered_before` pairs have an answer to the same question; `left` pairs may be asked about another time.
    """

    model: str
    answers: tuple[Adjudication, ...] = ()
    failed: tuple[tuple[str, int], ...] = ()
    withheld: int = 0
    other_kinds: int = 0
    answered_before: int = 0
    left: int = 0


ModelAnswer = ModelReading | Adjudication


def extractor(model: str, prompt: str) -> str:
    """How an extractor with a language model is named among those that found a memory."""
    return f"language-model/{model}/{prompt}"

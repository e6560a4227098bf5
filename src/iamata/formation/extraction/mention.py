"""What does one mention say? A thing named in a text, with how it was asserted, by exact characters."""

from __future__ import annotations

import msgspec

from iamata.errors import InvalidValue
from iamata.model.coding import CodedText
from iamata.model.memory import Experiencer, MemoryKind, Temporality
from iamata.model.statement import Polarity


class Mention(msgspec.Struct, frozen=True, kw_only=True, order=False):
    """One thing named in a text.

    `start`:`end` are the characters of the whole clause, `anchor_start`:`anchor_end` those of the naming words (for an
    answer to a question: the answering words, since the name stands in the question). `concept.text` is the normal
    name of our tables, or the words as said when no row knows them. `relation` is relative to the patient.
    `change` is of adherence (stopped, skipped, reduced, ran-out, resumed, not-started, extra, taking, started).
    `since` is `YYYY`, `YYYY-MM` or `YYYY-MM-DD`, empty when `since_said` cannot be dated. `detail` is sorted by key.
    """

    kind: MemoryKind
    concept: CodedText
    start: int
    end: int
    anchor_start: int
    anchor_end: int
    polarity: Polarity = Polarity.AFFIRMED
    experiencer: Experiencer = Experiencer.PATIENT
    relation: str = ""
    temporality: Temporality = Temporality.CURRENT
    certain: bool = True
    change: str = ""
    since: str = ""
    since_said: str = ""
    detail: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.anchor_start < self.anchor_end <= self.end:
            raise InvalidValue("a mention's anchor lies within its clause")

    def get(self, name: str) -> str:
        """The detail of this name, or empty."""
        return dict(self.detail).get(name, "")


def details(**values: str) -> tuple[tuple[str, str], ...]:
    """Named values as a mention keeps them: empty ones dropped, sorted by name."""
    return tuple(sorted((name, value) for name, value in values.items() if value))

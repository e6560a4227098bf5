"""What is known about one clause before it is read? Its words, cues, names, times and persons, found once."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property

from iamata.formation.extraction.assertion import Cues
from iamata.formation.extraction.mention import Mention, details
from iamata.formation.extraction.people import PATIENT, People, Person
from iamata.formation.extraction.segmentation import Clause
from iamata.formation.extraction.times import When, find_times
from iamata.model.coding import CodedText
from iamata.model.memory import Experiencer, MemoryKind, Temporality
from iamata.model.statement import Polarity
from iamata.terminology import lexicon
from iamata.terminology.lexicon import Hit

_MAKES_ANOTHER: frozenset[str] = frozenset(
    ["shot", "shots", "vaccine", "vaccines", "vaccination", "vaccinations", "booster", "test", "tests", "testing",
     "screening", "screen", "check", "clinic", "support", "doctor", "specialist", "awareness", "walk", "charity",
     "foundation", "research", "medicine", "medication", "medications", "pill", "pills", "insurance", "ward",
     "unit", "nurse", "jab", "jabs", "one"]
)  # fmt: skip


class Scene:
    """One clause of one turn. Word places are indexes into `words`."""

    def __init__(
        self,
        text: str,
        clause: Clause,
        people: People,
        said_at: datetime | None,
        owner: Person | None = None,
        *,
        supposed: bool = False,
    ) -> None:
        self.text = text
        self.clause = clause
        self.words = clause.words
        self.people = people
        self.said_at = said_at
        self._owner = owner
        self._supposed = supposed
        self._doubted: frozenset[int] = frozenset()

    @cached_property
    def cues(self) -> Cues:
        return Cues(self.words, supposed=self._supposed)

    @cached_property
    def names(self) -> list[Hit]:
        """Drugs, symptoms, conditions, allergens: the longest at each place; not those that only help name another
        thing ("tetanus shot")."""
        found = lexicon.clinical().longest(self.words)
        found = sorted([*found, *self._guessed(found)]) if self.clause.spots else found
        return [hit for hit in found if hit.term.kind not in ("condition", "symptom") or not self._helps(hit)]

    def _guessed(self, found: list[Hit]) -> list[Hit]:
        """Words that no table knows and that are one letter from one drug: read as that drug, in doubt."""
        covered = {at for hit in found for at in range(hit.first, hit.last)}
        terms = [(at, lexicon.misspelt(word)) for at, word in enumerate(self.words) if at not in covered]
        hits = [Hit(at, at + 1, term) for at, term in terms if term is not None]
        self._doubted = frozenset(hit.first for hit in hits)
        return hits

    def _helps(self, hit: Hit) -> bool:
        return hit.last < len(self.words) and self.words[hit.last] in _MAKES_ANOTHER

    def of(self, *kinds: str) -> list[Hit]:
        return [hit for hit in self.names if hit.term.kind in kinds]

    @cached_property
    def times(self) -> list[When]:
        ahead = bool(self.cues.of("planned"))
        return find_times(self.text, self.clause.start, self.clause.end, self.said_at, ahead=ahead)

    @property
    def planned_ahead(self) -> bool:
        return any(when.future for when in self.times)

    def owner(self, first: int, last: int) -> Person:
        return self._owner or self.people.owner(self.words, first, last)

    def characters(self, first: int, last: int) -> tuple[int, int]:
        return self.clause.spots[first].start, self.clause.spots[last - 1].end

    def said(self, first: int, last: int) -> str:
        start, end = self.characters(first, last)
        return self.text[start:end]

    def place(self, character: int) -> int:
        """The word at or after this character (the number of words if there is none)."""
        for at, spot in enumerate(self.clause.spots):
            if spot.end > character:
                return at
        return len(self.words)

    def since(self) -> tuple[str, str]:
        """The date and words of the beginning that the clause tells, else of the point in time; empty if none."""
        times = sorted(self.times, key=lambda when: (not when.begins, not when.date, when.start))
        return (times[0].date, times[0].said) if times else ("", "")

    def mention(
        self,
        kind: MemoryKind,
        concept: str,
        first: int,
        last: int,
        *,
        polarity: Polarity | None = None,
        temporality: Temporality | None = None,
        certain: bool | None = None,
        person: Person | None = None,
        change: str = "",
        dated: bool = True,
        began: str = "",
        detail: Mapping[str, str] | None = None,
    ) -> Mention | None:
        """A mention of the thing named at these words, with the clause's assertion unless it is given. None when it
        is somebody's who is neither patient nor family, or a relative's that is no disease. `began` is a beginning that
        has no date, as said."""
        person = person or self.owner(first, last)
        if person.experiencer is Experiencer.OTHER:
            return None
        if person != PATIENT:
            if kind is MemoryKind.ALLERGY:
                concept = f"{concept} allergy" if "allerg" not in concept.lower() else concept
            elif kind not in (MemoryKind.CONDITION, MemoryKind.HISTORY, MemoryKind.FAMILY_HISTORY):
                return None
            kind = MemoryKind.FAMILY_HISTORY
        assertion = self.cues.assess(first, last)
        if self._doubted & set(range(first, last)):
            certain = False  # the name is not spelt so
        since, since_said = ("", began) if began else self.since() if dated else ("", "")
        start, end = self.characters(first, last)
        return Mention(
            kind=kind,
            concept=CodedText(text=concept),
            start=self.clause.start,
            end=self.clause.end,
            anchor_start=start,
            anchor_end=end,
            polarity=assertion.polarity if polarity is None else polarity,
            experiencer=person.experiencer,
            relation=person.relation,
            temporality=assertion.temporality if temporality is None else temporality,
            certain=assertion.certain if certain is None else certain,
            change=change,
            since=since,
            since_said=since_said,
            detail=details(**(detail or {})),
        )

"""Which answers are a thing in one's own words: an aim, a worry, a hindrance, a bad mood? By what the question asks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from iamata.formation.extraction.mention import Mention
from iamata.formation.extraction.openings import FILLERS
from iamata.formation.extraction.people import People
from iamata.formation.extraction.scene import Scene
from iamata.formation.extraction.segmentation import Sentence
from iamata.model.memory import MemoryKind, Temporality
from iamata.model.statement import Polarity
from iamata.terminology import lexicon

# What questions ask for that is answered in one's own words.
OWN_KINDS: Final = {"goal": MemoryKind.GOAL, "concern": MemoryKind.CONCERN, "barrier": MemoryKind.BARRIER}


def in_own_words(
    text: str, sentence: Sentence, told: str, people: People, said_at: datetime | None, kind: MemoryKind
) -> list[Mention]:
    """The answer to what somebody would like to be able to do, is worried about, or is hindered by."""
    words = sentence.words
    first = next(
        (at for at, word in enumerate(words) if word not in FILLERS | {"be", "being", "able", "to"}), len(words)
    )
    least = 2 if kind is MemoryKind.GOAL else 1
    if told in ("no", "yes", "unsure") or len(words) - first < least or len(sentence.clauses) > 2:
        return []
    scene = Scene(text, sentence.clauses[0], people, said_at)
    last = min(len(scene.words), first + 8)
    if first >= last:
        return []
    said = scene.said(first, last)
    made = scene.mention(
        kind, said[0].upper() + said[1:], first, last,
        polarity=Polarity.AFFIRMED, temporality=Temporality.CURRENT, dated=False,
        person=people.wisher(scene.words, first),
    )  # fmt: skip
    return [made] if made is not None else []


_VERY: Final = frozenset(["very", "pretty", "really", "fairly", "quite", "a", "bit", "it's", "is", "it", "so"])


def is_poor(words: Sequence[str]) -> bool:
    """ "Low.", "Very bad": the answer to how one's mood or sleep is."""
    plain = [word for word in words if word[0].isalnum()]
    while plain and plain[0] in _VERY | FILLERS:
        plain = plain[1:]
    hits = [hit for hit in lexicon.cues().every(plain[:3]) if hit.term.kind == "poor" and hit.first == 0]
    return any(hit.last == len(plain) for hit in hits)

"""Which of several things asked about does a short answer name, and is each affirmed or denied?

"Nausea yes, vomiting no", "Clammy, yes. Not sick.", "A few floaters, no flashes": pieces without a verb, each by its
own yes or no. A piece may repeat only some of the words of the question ("flashes" of "flashing lights").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from iamata.formation.extraction.mention import Mention
from iamata.formation.extraction.openings import FILLERS
from iamata.formation.extraction.questions import Question, Topic
from iamata.formation.extraction.segmentation import Sentence
from iamata.formation.extraction.stems import stem
from iamata.model.memory import MemoryKind
from iamata.model.statement import Polarity
from iamata.terminology import lexicon
from iamata.terminology.lexicon import Spot

_LONGEST: Final = 14
_YES: Final = frozenset(["yes", "yeah", "yep", "aye", "yea"])
_NO: Final = frozenset(["no", "nope", "nah"])
_DENIES: Final = frozenset(["not", "no", "never", "neither", "nor", "without"])
_ONLY: Final = ("just", "only", "mainly", "mostly")
_SMALL: Final = FILLERS | frozenset(
    ["the", "my", "a", "an", "in", "into", "to", "on", "of", "it", "it's", "that", "there", "there's", "any", "bit",
     "some", "few", "little", "just", "only", "mainly", "mostly", "more", "all", "really", "but", "then", "at", "his",
     "her", "is", "was", "with", "i", "i'm", "been", "he", "she", "felt", "feeling", "feel", "down", "maybe", "also",
     "very", "much", "had", "got", "have", "i've", "and", "up", "thankfully", "actually"]
)  # fmt: skip
_WELL: Final = frozenset(["fine", "normal", "ok", "okay", "good", "grand", "clear", "perfect"])
_PARTED: Final = frozenset([",", ";", "and", "but", "or", "-", "–", "—", ":"])
# Of a symptom or disease the words of a question may be said again in part; a medicine is named whole.
_BODILY: Final = (MemoryKind.SYMPTOM, MemoryKind.CONDITION, MemoryKind.SIDE_EFFECT, MemoryKind.HISTORY)


class Pick(msgspec.Struct, frozen=True):
    """One topic of the question as characters `start`:`end` of the answer affirm or deny it; 0:0 for all of it."""

    topic: Topic
    polarity: Polarity
    start: int = 0
    end: int = 0


def picked_of(question: Question, sentence: Sentence) -> list[Pick]:
    """The things asked about that the answer names, in order. Only in short pieces without a verb."""
    if not question.topics or len(sentence.words) > _LONGEST:
        return []
    named = _named(question, sentence)
    return [*named, *_in_part(question, sentence, {pick.topic.concept for pick in named})]


def said_otherwise(picked: Sequence[Pick], mention: Mention) -> bool:
    """Is it one of the things picked, or what a word of it says alone ("blood" of "blood in the motions")?"""
    name = mention.concept.text
    return any(name == pick.topic.concept or stem(name.lower()) in pick.topic.said for pick in picked)


def left(question: Question, sentence: Sentence, made: Sequence[Mention]) -> Question | None:
    """What of the question the next short sentence may still name ("Clammy, yes." "Not sick."); None if nothing is."""
    told = {mention.concept.text for mention in made}
    rest = tuple(topic for topic in question.topics if topic.concept not in told)
    if not rest or len(rest) == len(question.topics) or len(sentence.words) > _LONGEST // 2 or question.open:
        return None
    return msgspec.structs.replace(question, topics=rest, left=True)


def _named(question: Question, sentence: Sentence) -> list[Pick]:
    words = sentence.words
    asked = {topic.concept: topic for topic in question.topics}
    picked: dict[str, Polarity] = {}
    named = [hit for hit in lexicon.clinical().longest(words) if hit.term.concept in asked]
    alone = _alone(sentence)
    for hit in named:
        before = [word for word in words[max(0, hit.first - 3) : hit.first] if word != ","]
        at = hit.last + (words[hit.last : hit.last + 1] == [","])
        after = words[at : at + 1]
        if after and after[0] in _YES | _NO and words[at + 1 : at + 2] in ([], [","], ["and"], ["but"]):
            picked[hit.term.concept] = Polarity.AFFIRMED if after[0] in _YES else Polarity.DENIED
        elif before[-1:] == ["not"] and hit.first <= 4:
            picked[hit.term.concept] = Polarity.DENIED
        elif (hit.first in alone and Polarity.DENIED in picked.values()) or (  # "Not aspirin, but codeine."
            len(words) <= 5
            and (not before or before[-1] in _ONLY)
            and (hit.last == len(words) or words[hit.last] in (",", "not", "but", "no"))
        ):
            picked[hit.term.concept] = Polarity.AFFIRMED
    return [Pick(asked[concept], polarity) for concept, polarity in picked.items()]


def _alone(sentence: Sentence) -> set[int]:
    """The first words of the later clauses that have no more than a name's two words."""
    firsts, at = set(), 0
    for clause in sentence.clauses:
        if at and len(clause.words) <= 2:
            firsts.add(at)
        at += len(clause.words)
    return firsts


def _in_part(question: Question, sentence: Sentence, told: set[str]) -> list[Pick]:
    """Pieces that say some of the words by which the question named one of its things, and nothing else."""
    known = {hit.term.concept for hit in lexicon.clinical().longest(sentence.words)}
    topics = [t for t in question.topics if t.kind in _BODILY and t.said and t.concept not in told | known]
    picked: list[Pick] = []
    for piece in _pieces(sentence) if topics else ():
        words = [spot.word for spot in piece]
        rest = [word for word in words if word not in _SMALL | _YES | _NO | _DENIES | _WELL]
        if not rest or len(rest) > 2:
            continue
        meant = [topic for topic in topics if all(stem(word) in topic.said for word in rest)]
        if len(meant) != 1 or any(pick.topic == meant[0] for pick in picked):
            continue
        denied = words[-1] in _NO or bool((_DENIES | _WELL) & set(words))
        picked.append(Pick(meant[0], Polarity.DENIED if denied else Polarity.AFFIRMED, piece[0].start, piece[-1].end))
    return picked


def _pieces(sentence: Sentence) -> Iterator[list[Spot]]:
    """The stretches between commas and conjunctions; a yes or no after a comma belongs to what stands before it."""
    for clause in sentence.clauses:
        piece: list[Spot] = []
        for at, spot in enumerate(clause.spots):
            after = clause.spots[at + 1].word if at + 1 < len(clause.spots) else ""
            if spot.word == "," and after in _YES | _NO and piece and at + 2 == len(clause.spots):
                continue
            if spot.word in _PARTED:
                if piece:
                    yield piece
                piece = []
            elif spot.word[0].isalnum():
                piece.append(spot)
        if piece:
            yield piece

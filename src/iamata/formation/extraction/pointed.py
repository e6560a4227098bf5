"""What is asserted of a thing that somebody else found in a text? The finder only points at words.

Whose it is, denied or not, when and how sure: that is read here, by the same rules as what `reading` finds itself.
Where those rules hold that nothing is asserted, nothing is.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from iamata.formation.extraction import questions, reactions
from iamata.formation.extraction.mention import Mention
from iamata.formation.extraction.people import People
from iamata.formation.extraction.reading import order_in
from iamata.formation.extraction.scene import Scene
from iamata.formation.extraction.segmentation import Clause, Sentence, sentences
from iamata.model.memory import Experiencer, MemoryKind, Temporality
from iamata.model.session import Speaker
from iamata.model.statement import Polarity
from iamata.terminology import lexicon
from iamata.terminology.lexicon import Hit


class Refusal(StrEnum):
    """Why nothing is asserted there."""

    NOTHING_ASSERTED = "nothing-asserted"  # a question, an order to the machine, hearsay
    NO_CLAUSE = "no-clause"  # the words do not stand within one clause
    SOMEBODY_ELSE = "somebody-else"  # it is another person's, and no disease of the family
    OTHER_TYPE = "other-type"  # our tables know the words as something else
    NO_SUBSTANCE = "no-substance"  # allergies in general: only what we read ourselves may deny them


_DRUGS: Final = frozenset(["drug", "drug_in_context", "medicine"])
_DISEASES: Final = frozenset(["condition", "symptom"])
# As which kinds of words our tables must know a thing, if they know it, for it to be of this type.
SUITED: Final = {
    MemoryKind.MEDICATION: _DRUGS,
    MemoryKind.ADHERENCE: _DRUGS,
    MemoryKind.ALLERGY: _DRUGS | {"allergen"},
    MemoryKind.SYMPTOM: _DISEASES,
    MemoryKind.CONDITION: _DISEASES,
    MemoryKind.SIDE_EFFECT: _DISEASES,
    MemoryKind.FAMILY_HISTORY: _DISEASES,
}


def mention_at(
    text: str,
    start: int,
    end: int,
    kind: MemoryKind,
    *,
    change: str = "",
    before: Sequence[tuple[Speaker, str]] = (),
    said_at: datetime | None = None,
    speaker: Speaker | None = None,
    relationship: str = "",
) -> Mention | Refusal:
    """What the clause around characters `start`:`end` asserts of what they name, as a thing of this kind.

    The other arguments are those of `mentions`. The kind becomes family history where it is a relative's. It is not
    certain where the rules cannot tell: an answer to a question, an allergy in words that tell none, a change of use.
    """
    people = People(speaker, relationship)
    people.talk_of([words[-1500:] for _who, words in before[-4:]] + [text[:3000]])
    question = questions.asked(before, speaker, relationship)
    for sentence in sentences(text):
        order = order_in(sentence.words)
        silent = order == "machine" or sentence.question
        if start < sentence.end:
            if silent or (order == "chart" and kind is not MemoryKind.ALLERGY):
                return Refusal.NOTHING_ASSERTED
            found = _in(sentence, text, start, end, kind, change, people, said_at)
            if isinstance(found, Mention) and (order == "chart" or question is not None):
                if order == "chart" and found.polarity is not Polarity.AFFIRMED:
                    return Refusal.NOTHING_ASSERTED
                return msgspec.structs.replace(found, certain=False)
            return found
        if not silent:
            for clause in sentence.clauses:
                people.follow(clause.words)
        if order != "machine":
            question = None
    return Refusal.NO_CLAUSE


def _in(
    sentence: Sentence,
    text: str,
    start: int,
    end: int,
    kind: MemoryKind,
    change: str,
    people: People,
    said_at: datetime | None,
) -> Mention | Refusal:
    for clause in sentence.clauses:
        if clause.start <= start and end <= clause.end:
            return _of(Scene(text, clause, people, said_at), start, end, kind, change)
        people.follow(clause.words)
    return Refusal.NO_CLAUSE


def _of(scene: Scene, start: int, end: int, kind: MemoryKind, change: str) -> Mention | Refusal:
    first, last = _words(scene.clause, start, end)
    if first == last:
        return Refusal.NO_CLAUSE
    if scene.cues.of("hearsay") or reactions.is_general(scene):
        return Refusal.NOTHING_ASSERTED
    if kind is MemoryKind.ALLERGY and reactions.names_no_substance(scene.words[first:last]):
        return Refusal.NO_SUBSTANCE
    named = [hit for hit in scene.names if hit.first < last and first < hit.last]
    suited = _suited(named, kind)
    if named and not suited and kind in SUITED:
        return Refusal.OTHER_TYPE
    concept = scene.said(first, last)
    if suited:
        first, last, concept = suited[0].first, suited[0].last, suited[0].term.concept
    mention = scene.mention(kind, concept, first, last, change=change)
    if mention is None:
        return Refusal.SOMEBODY_ELSE
    if kind is MemoryKind.FAMILY_HISTORY and mention.experiencer is Experiencer.PATIENT:
        return Refusal.SOMEBODY_ELSE  # said to be a relative's, and no relative is seen: never the patient's
    certain = mention.certain and not (
        kind is MemoryKind.ADHERENCE or (kind is MemoryKind.ALLERGY and not reactions.is_about_allergy(scene))
    )
    ahead = mention.temporality is Temporality.CURRENT and (scene.cues.planned(first) or scene.planned_ahead)
    temporality = Temporality.PLANNED if ahead else mention.temporality
    return msgspec.structs.replace(mention, certain=certain, temporality=temporality)


def _suited(named: Sequence[Hit], kind: MemoryKind) -> list[Hit]:
    wanted = SUITED.get(kind)
    return [hit for hit in named if wanted is None or hit.term.kind in wanted]


def _words(clause: Clause, start: int, end: int) -> tuple[int, int]:
    """The words of the clause that these characters are; none at all if they are only signs, or cut a word."""
    touched = [at for at, spot in enumerate(clause.spots) if spot.start < end and start < spot.end]
    touched = [at for at in touched if clause.spots[at].word[0].isalnum()]
    if not touched or clause.spots[touched[0]].start < start or clause.spots[touched[-1]].end > end:
        return 0, 0
    return touched[0], touched[-1] + 1


def folded(text: str) -> tuple[str, ...]:
    """The words of a concept, for comparing two of them."""
    return tuple(spot.word for spot in lexicon.split_words(text))

"""What takes back what was said just before: a second thought, a mistake owned, another person's after all?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from iamata.formation.extraction import openings
from iamata.formation.extraction.mention import Mention
from iamata.formation.extraction.scene import Scene
from iamata.formation.extraction.segmentation import Sentence
from iamata.model.memory import Experiencer, MemoryKind, Temporality
from iamata.model.statement import Polarity
from iamata.terminology import lexicon

# A sentence that takes back what stands before it is short ("That was a mistake, sorry.").
_TAKES_BACK: Final = 7
_SHORT: Final = 8
_BEFORE_REPAIR: Final = 12  # characters
_AGAIN: Final = frozenset(["actually", "wait", "sorry", "hang", "hold", "on", "well", "oh"])
_EARLIER: Final = (["that", "was"], ["it", "was"])


def takes_back(sentence: Sentence) -> bool:
    """Does the sentence only say that what was said before it is not so?"""
    words = [word for word in sentence.words if word[0].isalnum()]
    hits = [hit for hit in lexicon.cues().every(words) if hit.term.kind == "taken_back"]
    return len(words) <= _TAKES_BACK and any(hit.first <= 2 for hit in hits)


def without_last(found: Sequence[Mention], sentence: Sentence) -> list[Mention]:
    """Without what the sentence before said, and what was said of the same thing earlier in the turn. An allergy or a
    disease is then denied, in a stretch that holds the sentence which takes it back."""
    end = max(mention.end for mention in found)
    wrong = {(m.kind, m.concept.text) for m in found if m.end == end}
    kept = [m for m in found if (m.kind, m.concept.text) not in wrong]
    for mention in found:
        if mention.end == end and mention.experiencer is Experiencer.PATIENT:
            turned = retracted(mention)
            if turned is not mention:
                kept.append(msgspec.structs.replace(turned, end=sentence.end))
    return kept


def thought_again(text: str, start: int, end: int, bare: Sequence[Mention]) -> list[Mention]:
    """ "Yes." "Actually no, …": what the yes or no before said, turned round, in the stretch of the second thought; or
    empty. "…, that was last year" leaves it true, and past."""
    spots = [spot for spot in lexicon.split_words(text[start:end], start) if spot.word not in (".", "!")]
    words = [spot.word for spot in spots if spot.word != ","]
    at = next((at for at, word in enumerate(words) if word not in _AGAIN), len(words))
    told, after = openings.stance(words[at:])
    plain = at > 0 and told in ("yes", "no")
    wanted = Polarity.AFFIRMED if told == "no" else Polarity.DENIED
    if not plain or any(mention.polarity is not wanted for mention in bare):
        return []
    past = told == "no" and words[at + after : at + after + 2] in _EARLIER
    return [
        msgspec.structs.replace(
            mention, start=spots[0].start, end=spots[-1].end, anchor_start=spots[0].start, anchor_end=spots[-1].end,
            polarity=Polarity.DENIED if told == "no" and not past else Polarity.AFFIRMED,
            temporality=Temporality.PAST if past else mention.temporality,
        )
        for mention in bare
    ]  # fmt: skip


def is_anothers(scene: Scene) -> bool:
    """ "(No, sorry,) that's my sister": what was told before is another person's."""
    if scene.words[:1] not in (["that's"], ["it's"], ["that"]) or len(scene.words) > _SHORT:
        return False
    led = lexicon.split_words(scene.text[max(0, scene.clause.start - _BEFORE_REPAIR) : scene.clause.start])
    if not scene.clause.repair and not {"no", "sorry", "wait", "not"} & {spot.word for spot in led}:
        return False
    people = [hit for hit in lexicon.kinship().longest(scene.words) if hit.term.kind in ("relative", "other")]
    return any(hit.last == len(scene.words) for hit in people)


def retracted(mention: Mention) -> Mention:
    """What was believed and is taken back ("… but it turns out I'm not") is denied."""
    if mention.kind in (MemoryKind.ALLERGY, MemoryKind.CONDITION) and mention.polarity is Polarity.AFFIRMED:
        return msgspec.structs.replace(mention, polarity=Polarity.DENIED)
    return mention

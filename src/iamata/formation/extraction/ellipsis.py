"""Of whom does a clause without its verb say what the clause before said? "My wife smokes but I don't", "so do I"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from iamata.formation.extraction.mention import Mention
from iamata.formation.extraction.people import People, Person
from iamata.formation.extraction.scene import Scene
from iamata.formation.extraction.segmentation import Clause
from iamata.model.memory import MemoryKind, Temporality
from iamata.model.statement import Polarity
from iamata.terminology import lexicon

_SUBJECTS: Final = frozenset(["i", "he", "she", "we"])
_SHORT: Final = frozenset(["i'm", "he's", "she's", "we're"])
_AUX: Final = frozenset(
    ["do", "does", "did", "am", "is", "are", "have", "has", "was", "can", "don't", "doesn't", "didn't", "isn't",
     "haven't", "hasn't", "wasn't", "aren't", "can't"]
)  # fmt: skip
_PERSONAL: Final = _SUBJECTS | frozenset(["they", "you", "my", "his", "her", "it", "that"])
_TAILS: Final = frozenset(["too", "either", "though", "myself", "also"])
_LONGEST: Final = 5


def owner(clause: Clause, people: People) -> Person | None:
    """Whom an elliptical clause is about; None when it is no such clause."""
    words = _plain(clause)
    if not words or len(words) > _LONGEST:
        return None
    bare = (words[0] in _SUBJECTS and words[1:2] != [] and words[1] in _AUX and words[2:] in ([], ["not"])) or (
        words[0] in _SHORT and words[1:] == ["not"]
    )
    # "… and so do I": the conjunctions before it are no part of a clause
    turned = clause.joined and words[0] in _AUX and len(words) > 1 and words[1] not in ("you", "we")
    inverted = turned or (words[0] in ("so", "neither", "nor") and len(words) > 2 and words[1] in _AUX)
    if not bare and not inverted:
        return None
    return people.owner(words, len(words), len(words))


def read(clause: Clause, before: Clause, meant: Sequence[Mention]) -> list[Mention]:
    """`meant`, what the clause before says when it is said of that person, as this clause affirms or denies it. The
    stretch is of both clauses."""
    words = _plain(clause)
    denied = words[0] in ("neither", "nor") or "not" in words or any(word.endswith("n't") for word in words)
    polarity = Polarity.DENIED if denied else Polarity.AFFIRMED
    return [
        msgspec.structs.replace(mention, polarity=polarity, start=before.start, end=clause.end) for mention in meant
    ]


def takes_back(again: Mention, before: Mention) -> bool:
    """ "I was told I had gout, and I haven't": the clause denies of the same person what was just told."""
    same = (again.kind, again.concept, again.experiencer) == (before.kind, before.concept, before.experiencer)
    now = before.polarity is Polarity.AFFIRMED and before.temporality is Temporality.CURRENT
    return same and now and again.polarity is Polarity.DENIED  # "I used to smoke but I don't" takes nothing back


def likewise(scene: Scene, found: Sequence[Mention]) -> Mention | None:
    """ "Kiwi makes my lips swell, and so does mango": the same allergy to another substance; None when it is no such
    clause, or of a person."""
    words = scene.words
    led = scene.text[: scene.clause.start].split()[-1:]
    if led != ["so"] or words[:1] not in (["does"], ["do"], ["did"]) or not 1 < len(words) <= _LONGEST or not found:
        return None
    like = found[-1]
    if like.kind is not MemoryKind.ALLERGY or words[1] in _PERSONAL or lexicon.kinship().longest(words):
        return None
    named = [(hit.first, hit.last, hit.term.concept) for hit in scene.of("drug", "allergen")]
    first, last, concept = (named or [(1, len(words), scene.said(1, len(words)).capitalize())])[0]
    made = scene.mention(
        like.kind, concept, first, last,
        polarity=like.polarity, temporality=like.temporality, dated=False, detail=dict(like.detail),
    )  # fmt: skip
    return None if made is None else msgspec.structs.replace(made, start=like.start)


def _plain(clause: Clause) -> list[str]:
    words = [word for word in clause.words if word[0].isalnum()]
    while words and words[-1] in _TAILS:
        words.pop()
    return words

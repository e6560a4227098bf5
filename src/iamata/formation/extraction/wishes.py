"""Which preferences, worries, goals and hindrances does a clause tell? By the words that open them."""

from __future__ import annotations

from typing import Final

from iamata.formation.extraction.mention import Mention
from iamata.formation.extraction.scene import Scene
from iamata.model.memory import MemoryKind, Temporality
from iamata.model.statement import Polarity
from iamata.terminology import lexicon
from iamata.terminology.lexicon import Hit

_KINDS: Final = {
    "concern": MemoryKind.CONCERN, "goal": MemoryKind.GOAL, "preference": MemoryKind.PREFERENCE,
    "barrier": MemoryKind.BARRIER,
}  # fmt: skip
# Openers that are said of anything: they count only before a topic our tables know.
_BROAD: Final = frozenset(
    ("i want", "i'd like", "i would like", "we'd like", "i like", "we like", "i hate", "i can't stand", "i'd love",
     "call me", "please call", "please use", "please write", "please send", "please contact", "i only want",
     "i want to try", "i don't do", "prefer")
)  # fmt: skip
_SKIP: Final = frozenset(
    ["to", "a", "an", "the", "my", "his", "her", "our", "any", "some", "of", "about", "that", "it", "is", "be",
     "being", "getting", "get", "going", "have", "having", "if", "for", "with", "on", "i", "he", "she", "we", "not",
     "no", "really", "very", "so", "more", "maybe", "would", "in", "me", "him", "them", "us", "this"]
)  # fmt: skip
_DOING: Final = frozenset(["lose", "quit", "walk"])  # the verb is part of the goal
_WITHIN: Final = frozenset(["really", "just", "also", "definitely", "honestly", "actually", "only", "still", "truly"])
_STOP: Final = frozenset((",", ";", ".", "but", "because", "so", "if", "when", "and", "instead", "than", "rather"))


def read(scene: Scene) -> list[Mention]:
    """Preferences, concerns, goals and barriers of the clause; at most one of each kind."""
    mentions = []
    hits = _cues(scene)
    for kind, memory in _KINDS.items():
        hit = next((h for h in hits if h.term.kind == kind and not scene.cues.masked(h)), None)
        if hit is None:
            continue
        made = _wish(scene, hit, memory)
        if made is not None:
            mentions.append(made)
            if memory is not MemoryKind.BARRIER:
                break
    return mentions


def _cues(scene: Scene) -> list[Hit]:
    """The opening words, found through what may stand within them ("I really want to …")."""
    plain = [at for at, word in enumerate(scene.words) if word not in _WITHIN]
    if len(plain) == len(scene.words):
        return scene.cues.hits
    found = lexicon.cues().every([scene.words[at] for at in plain])
    return [Hit(plain[hit.first], plain[hit.last - 1] + 1, hit.term) for hit in found]


def _wish(scene: Scene, hit: Hit, kind: MemoryKind) -> Mention | None:
    opener = " ".join(scene.words[hit.first : hit.last])
    first, last, concept = _topic(scene, hit, kind, clinical=opener not in _BROAD)
    if not concept and opener.startswith("please") and (person := _person(scene, hit)):
        first, last, concept = person
    if not concept and opener not in _BROAD:
        first, last, concept = _rest(scene, hit)
    alone = kind is MemoryKind.CONCERN and hit.last == len(scene.words) and hit.last - hit.first > 2
    if not concept and (alone or kind in (MemoryKind.BARRIER, MemoryKind.GOAL)):
        first, last, concept = hit.first, hit.last, opener[0].upper() + opener[1:]
    if not concept:
        return None
    denied = kind is MemoryKind.CONCERN and scene.cues.negated(hit.first, hit.last)
    return scene.mention(
        kind, concept, first, last,
        polarity=Polarity.DENIED if denied else Polarity.AFFIRMED, temporality=Temporality.CURRENT,
        person=scene.people.wisher(scene.words, hit.first), dated=False,
    )  # fmt: skip


def _person(scene: Scene, hit: Hit) -> tuple[int, int, str] | None:
    """ "Please call my daughter": who is to be spoken to."""
    for person in lexicon.kinship().longest(scene.words):
        if person.term.kind == "relative" and 0 <= person.first - hit.last <= 2:
            return person.first, person.last, f"{scene.said(hit.first, person.last)[len('please ') :].capitalize()}"
    return None


def _topic(scene: Scene, hit: Hit, kind: MemoryKind, *, clinical: bool) -> tuple[int, int, str]:
    """What it is about by our tables: a topic first, then anything clinical, within or after the opening words."""
    for topic in lexicon.wishes().longest(scene.words):
        if topic.first >= hit.first and topic.last > hit.first:
            return topic.first, topic.last, topic.term.concept
    for name in scene.names:
        everyday = kind is MemoryKind.GOAL and name.term.kind in ("allergen", "drug_in_context")  # "walk my dog"
        if clinical and not everyday and name.first >= hit.last and name.term.kind != "medicine":
            return name.first, name.last, name.term.concept
    return 0, 0, ""


def _rest(scene: Scene, hit: Hit) -> tuple[int, int, str]:
    """The words after the opener, up to six and to the first comma, without leading small words."""
    at = hit.last - (scene.words[hit.last - 1] in _DOING)
    if scene.words[hit.first] in ("what", "matters", "the", "most") and "is" in scene.words[hit.last :]:
        at = scene.words.index("is", hit.last)  # "what matters most to Mom is …"
    while at < len(scene.words) and scene.words[at] in _SKIP:
        at += 1
    first = at
    while at < len(scene.words) and scene.words[at] not in _STOP and at - first < 6:
        at += 1
    if at == first:
        return 0, 0, ""
    said = scene.said(first, at)
    return first, at, said[0].upper() + said[1:]

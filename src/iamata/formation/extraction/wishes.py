"""Which preferences, worries, goals, hindrances and habits does a clause tell? By the words that open them."""

from __future__ import annotations

import re
from typing import Final

from iamata.formation.extraction.mention import Mention
from iamata.formation.extraction.scene import Scene
from iamata.model.memory import MemoryKind, Temporality
from iamata.model.session import Speaker
from iamata.model.statement import Polarity
from iamata.terminology import lexicon
from iamata.terminology.lexicon import Hit

_KINDS: Final = {
    "concern": MemoryKind.CONCERN, "preference": MemoryKind.PREFERENCE, "goal": MemoryKind.GOAL,
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
_STOP: Final = frozenset((",", ";", ".", "but", "because", "so", "if", "when", "and", "instead", "than", "rather"))
_SMOKE_PAST: Final = re.compile(r"\b(?:used to|quit|stopped|former|ex-smoker|gave up|smoked)\b")
_TOLD_OF: Final = frozenset(
    ["i", "i'm", "i've", "i'd", "he", "she", "we", "he's", "she's", "my", "me", "his", "her", "they", "day", "week",
     "night", "patient", "smoker", "you", "you're", "packs", "never", "no"]
)  # fmt: skip
_ADVISED: Final = frozenset(["should", "important", "avoid", "recommend", "must", "need", "consider"])
HABITS: Final = {"smoking": "Tobacco use", "alcohol": "Alcohol use", "substance": "Substance use"}


def read(scene: Scene) -> list[Mention]:
    """Preferences, concerns, goals and barriers of the clause; at most one of each kind."""
    mentions = []
    for kind, memory in _KINDS.items():
        hit = next((h for h in scene.cues.of(kind) if not scene.cues.masked(h)), None)
        if hit is None:
            continue
        made = _wish(scene, hit, memory)
        if made is not None:
            mentions.append(made)
            if memory in (MemoryKind.CONCERN, MemoryKind.PREFERENCE):
                break
    return mentions


def _wish(scene: Scene, hit: Hit, kind: MemoryKind) -> Mention | None:
    opener = " ".join(scene.words[hit.first : hit.last])
    first, last, concept = _topic(scene, hit, clinical=opener not in _BROAD)
    if not concept and opener not in _BROAD:
        first, last, concept = _rest(scene, hit)
    if not concept and kind in (MemoryKind.BARRIER, MemoryKind.GOAL):
        first, last, concept = hit.first, hit.last, opener[0].upper() + opener[1:]
    if not concept:
        return None
    denied = kind is MemoryKind.CONCERN and scene.cues.negated(hit.first, hit.last)
    return scene.mention(
        kind, concept, first, last,
        polarity=Polarity.DENIED if denied else Polarity.AFFIRMED, temporality=Temporality.CURRENT,
        person=scene.people.wisher(scene.words, hit.first), dated=False,
    )  # fmt: skip


def _topic(scene: Scene, hit: Hit, *, clinical: bool) -> tuple[int, int, str]:
    """What it is about by our tables: a topic first, then anything clinical, within or after the opening words."""
    for topic in lexicon.wishes().longest(scene.words):
        if topic.first >= hit.first and topic.last > hit.first:
            return topic.first, topic.last, topic.term.concept
    for name in scene.names:
        if clinical and name.first >= hit.last and name.term.kind != "medicine":
            return name.first, name.last, name.term.concept
    return 0, 0, ""


def _rest(scene: Scene, hit: Hit) -> tuple[int, int, str]:
    """The words after the opener, up to six and to the first comma, without leading small words."""
    at = hit.last
    while at < len(scene.words) and scene.words[at] in _SKIP:
        at += 1
    first = at
    while at < len(scene.words) and scene.words[at] not in _STOP and at - first < 6:
        at += 1
    if at == first:
        return 0, 0, ""
    said = scene.said(first, at)
    return first, at, said[0].upper() + said[1:]


def read_habits(scene: Scene, speaker: Speaker | None) -> list[Mention]:
    """Tobacco, alcohol and other substances, used or not."""
    mentions = []
    for kind, concept in HABITS.items():
        hit = next(iter(scene.cues.of(kind)), None)
        if hit is None or scene.cues.hypothetical(hit.first):
            continue
        if not _TOLD_OF & set(scene.words) or _ADVISED & set(scene.words):
            continue
        past = bool(_SMOKE_PAST.search(" ".join(scene.words))) and "still" not in scene.words
        denied = scene.cues.negated(hit.first, hit.last)
        made = scene.mention(
            MemoryKind.SOCIAL, concept, hit.first, hit.last,
            temporality=Temporality.PAST if past and not denied else Temporality.CURRENT,
        )  # fmt: skip
        if made is not None and speaker is not Speaker.AGENT:
            mentions.append(made)
    return mentions

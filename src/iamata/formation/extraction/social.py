"""What does a clause tell of how the patient lives: habits, home, work, money, people? By cues with normal names."""

from __future__ import annotations

import re
from typing import Final

from iamata.formation.extraction.mention import Mention
from iamata.formation.extraction.scene import Scene
from iamata.model.memory import MemoryKind, Temporality
from iamata.model.session import Speaker
from iamata.model.statement import Polarity

_SMOKE_PAST: Final = re.compile(
    r"\b(?:used to|quit|stopped|former|ex-smoker|gave up|smoked|was a smoker|instead of smoking|sober"
    r"|off (?:the )?(?:drink|fags|booze|cigarettes))\b"
)
_TO_QUIT: Final = re.compile(r"\b(?:to|trying|help me|help him|help her|should|could|can't|cannot) (?:quit|stop)\b")
_TOLD_OF: Final = frozenset(
    ["i", "i'm", "i've", "i'd", "he", "she", "we", "he's", "she's", "my", "me", "his", "her", "they", "day", "week",
     "night", "patient", "smoker", "you", "you're", "packs", "never", "no"]
)  # fmt: skip
_NEVER: Final = frozenset(["don't", "doesn't", "never", "teetotal"])
_ADVISED: Final = frozenset(["should", "important", "avoid", "recommend", "must", "need", "consider"])
HABITS: Final = {"smoking": "Tobacco use", "vaping": "Vaping", "alcohol": "Alcohol use", "substance": "Substance use"}


def read(scene: Scene, speaker: Speaker | None) -> list[Mention]:
    """Habits and circumstances, as the clause asserts them."""
    return [*read_circumstances(scene), *read_habits(scene, speaker)]


def read_circumstances(scene: Scene) -> list[Mention]:
    """Home, work, money and family of the patient: `social` rows name them; one of each."""
    made: dict[str, Mention] = {}
    for hit in scene.cues.of("social"):
        if scene.cues.hypothetical(hit.first) or hit.term.concept in made:
            continue
        found = scene.mention(MemoryKind.SOCIAL, hit.term.concept, hit.first, hit.last)
        if found is not None:
            made[hit.term.concept] = found
    return list(made.values())


def read_habits(scene: Scene, speaker: Speaker | None) -> list[Mention]:
    """Tobacco, alcohol and other substances, used or not."""
    mentions = []
    for kind, concept in HABITS.items():
        hit = next(iter(scene.cues.of(kind)), None)
        if hit is None or scene.cues.hypothetical(hit.first):
            continue
        if not _TOLD_OF & set(scene.words) or _ADVISED & set(scene.words):
            continue
        text = " ".join(scene.words)
        past = bool(_SMOKE_PAST.search(text)) and "still" not in scene.words and not _TO_QUIT.search(text)
        denied = scene.cues.negated(hit.first, hit.last) or bool(_NEVER & set(scene.words[hit.first : hit.last]))
        denied = denied or "non" in scene.words[max(0, hit.first - 2) : hit.first]  # "a non-smoker"
        made = scene.mention(
            MemoryKind.SOCIAL, concept, hit.first, hit.last,
            polarity=Polarity.DENIED if denied else Polarity.AFFIRMED,
            temporality=Temporality.PAST if past and not denied else Temporality.CURRENT,
        )  # fmt: skip
        if made is not None and speaker is not Speaker.AGENT:
            mentions.append(made)
    return mentions

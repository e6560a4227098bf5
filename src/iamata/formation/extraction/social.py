"""What does a clause tell of how the patient lives: habits, home, work, money, people? By cues with normal names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from iamata.formation.extraction.mention import Mention
from iamata.formation.extraction.people import PATIENT
from iamata.formation.extraction.scene import Scene
from iamata.model.memory import MemoryKind, Temporality
from iamata.model.session import Speaker
from iamata.model.statement import Polarity
from iamata.terminology import lexicon

_SMOKE_PAST: Final = re.compile(
    r"\b(?:used to|quit|stopped|former|ex|gave up|given up|packed in|packed it in|kicked|came off|smoked|was a smoker"
    r"|instead of smoking|sober|since (?:my|his|her) last (?:cigarette|smoke|fag|cigar|drink|pint)"
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
    return [*read_circumstances(scene), *read_help(scene, speaker), *read_habits(scene, speaker)]


# A verb of help by itself, and those that are help only where they are done for the patient.
_HELPS: Final = re.compile(
    r"^(?:helps|help|helping|looks after|look after|looking after|cares for|care for|takes care of|take care of"
    r"|checks (?:in )?on|checks up on|check on|looks in on|look in on|pops in on|stays with|sits with|sees to) "
    r"(?:out )?(?:me|us)\b|^(?:helps|help|helping) (?:out )?with (?:my|our)\b"
    r"|^(?:does|do|doing|cooks|cook|cleans|clean|shops|shop|drives|drive|brings|bring|gives me|give me|fills|fill"
    r"|sorts|sort|manages|manage|washes|wash|dresses|dress|collects|collect) "
    r"(?:(?:out|all|most|all of|most of) )?(?:my|our|for me|for us)\b"
    r"|^(?:drives|drive|brings|bring|takes|take) me to\b"
)
_BETWEEN: Final = 9
_OTHER_VERB: Final = frozenset(
    ["gave", "bought", "got", "said", "says", "told", "thinks", "recommended", "has", "had", "is", "was", "never",
     "not",
     "doesn't", "don't", "didn't", "can't", "cannot", "won't", "used", "if", "would", "could", "should", "to", "until"]
)  # fmt: skip
_CARERS: Final = frozenset(["carer", "carers", "caregiver", "caregivers", "aide", "aides", "homecare"])
_COME: Final = re.compile(  # "I've a carer in twice a day", "the carers come at eight"
    r"\b(?:i've|i have|we've|we have|got) (?:a |an |some |two |three |home )?(?:carers?|aides?|caregivers?|homecare)\b"
    r"|\b(?:carers?|aides?|caregivers?|homecare) (?:\w+ )?(?:come|comes|coming|visit|visits)\b"
)


def read_help(scene: Scene, speaker: Speaker | None) -> list[Mention]:
    """ "My daughter comes every evening and helps me wash": who helps the patient at home. Told by the patient; another
    speaker's "helps her" may be of anybody. Not that nobody helps, and not help that is only wished for."""
    if speaker is not Speaker.PATIENT:
        return []
    words = scene.words
    people = [
        (hit.first, hit.last, f"Help from {hit.term.concept}")
        for hit in lexicon.kinship().longest(words)
        if hit.term.kind in ("relative", "other") and hit.term.concept != "animal"
    ]
    spoken_of = scene.people.spoken_of
    if spoken_of is not None and spoken_of.relation and words[:1] in (["he"], ["she"]):
        people.append((0, 1, f"Help from {spoken_of.relation}"))  # "my daughter is here, she helps me with washing"
    carers = [(at, at + 1, "Help from carers") for at, word in enumerate(words) if word in _CARERS]
    people += carers
    for first, last, concept in sorted(people):
        if words[last - 1].endswith("'s") or scene.cues.hypothetical(first):
            continue
        comes = (first, last, concept) in carers and bool(_COME.search(" ".join(words)))
        if comes or _helps(words, last):
            made = scene.mention(
                MemoryKind.SOCIAL, concept, first, last, polarity=Polarity.AFFIRMED, person=PATIENT, dated=False
            )
            return [made] if made is not None else []
    return []


def _helps(words: Sequence[str], last: int) -> bool:
    for at in range(last, min(len(words), last + _BETWEEN)):
        if words[at] in _OTHER_VERB:
            return False
        if _HELPS.match(" ".join(words[at : at + 5])):
            return True
    return False


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

"""How does an answer open: yes, no, unsure, or by thinking again? What it then says is `answers`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from iamata.terminology import lexicon

# Words that lead to an answer and say nothing.
FILLERS: Final = frozenset(
    ["well", "um", "uh", "oh", "actually", "honestly", "so", "hmm", ",", "ah", "and", "like", "mmm", "hm", "mm", "ohh",
     "er", "erm", "god", "gosh", "lord", "heavens", "fine", "okay", "ok", "right", "sure", "grand", "look", "em", "ehm"]
)  # fmt: skip
_ECHOED: Final = frozenset(
    (who, verb)
    for who in ("it", "i", "that", "he", "she", "they", "we")
    for verb in ("would", "does", "do", "did", "is", "was", "am", "has", "have", "are", "can", "could")
)


def stance(words: Sequence[str]) -> tuple[str, int]:
    """`yes`, `no`, `unsure` or empty, and the word after it, for how an answer opens."""
    at = 0
    while at < len(words) and words[at] in FILLERS:
        at += 1
    best: tuple[str, int] = ("", at)
    if tuple(words[at : at + 2]) in _ECHOED and words[at + 2 : at + 3] in ([], [","]):
        best = ("yes", at + 2)  # "It would.", "I would, yes"
    still = at + (words[at : at + 1] == ["i"])
    if words[still : still + 1] == ["still"] and words[still + 1 : still + 2] in (["am"], ["is"], ["do"], ["does"]):
        best = ("yes", still + 2)  # "Still am, unfortunately."
    for start in dict.fromkeys((0, at)):  # "uh-huh" begins with what else only fills
        for hit in lexicon.cues().every(words[start : start + 7]):
            further = start + hit.last > best[1] or (not best[0] and start + hit.last == best[1])
            if hit.first == 0 and hit.term.kind in ("yes", "no", "unsure") and further:
                best = (hit.term.kind, start + hit.last)
    return best


def thinks_again(words: Sequence[str]) -> bool:
    """ "… um, well, nickel": after a "no", a word of thinking again with a name soon after it."""
    again = [at for at, word in enumerate(words) if word in ("well", "oh", "actually", "wait")]
    rest = words[again[-1] + 1 :] if again else []
    return bool(rest) and len(rest) <= _SHORT_REST and not _HARMLESS & set(rest)


_SHORT_REST: Final = 6
_HARMLESS: Final = frozenset(["fine", "okay", "ok", "not", "no", "never", "take", "tolerate", "nothing", "none", "i"])

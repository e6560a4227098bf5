"""Which form do the inflections of a word share, so that an answer may say a question's words in another one?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from iamata.terminology.lexicon import variants

_ENDINGS: Final = ("ing", "ed", "y", "e")
_LEAST: Final = 3  # letters that must be left
_SAY_LITTLE: Final = frozenset(
    ["the", "my", "your", "his", "her", "a", "an", "in", "into", "to", "on", "of", "it", "or", "and", "any", "some",
     "more", "at", "is", "with", "when", "you", "i", "feel", "feeling", "up", "down", "off", "out", "bad", "high",
     "low", "trouble", "problems", "problem", "like"]
)  # fmt: skip


def stem(word: str) -> str:
    """A word without its plain ending: "flashes" and "flashing" are both "flash"."""
    base = sorted(variants(word), key=len)[0]
    for ending in _ENDINGS:
        if base.endswith(ending) and len(base) - len(ending) >= _LEAST:
            return base[: -len(ending)]
    return base


def stems(words: Iterable[str]) -> tuple[str, ...]:
    """The stems of those words that tell one thing from another, in order."""
    return tuple(stem(word) for word in words if word[0].isalnum() and word not in _SAY_LITTLE)

"""Which words does a text have, for finding it? Folded and cut to their stems; says nothing of what they mean.

Stems are those of the Snowball algorithm for English (Porter 2001): `walking` finds `walked`. Nothing is stemmed that
holds a digit.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

import snowballstemmer

WORD: Final = re.compile(r"[^\W_]+(?:[.'][^\W_]+)*")
_STEMMER: Final = snowballstemmer.stemmer("english")
STOP: Final = frozenset(
    WORD.findall(
        """
    a an and any are as at be been by can did do does for from had has have he her him his how i in is
    it its me my no not of on or our she so than that the their them there they this to was we were what
    when which who will with you your
    """
    )
)


def fold(text: str) -> Iterator[str]:
    """The words of a text in lower case without accents and English plurals, in their order."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    if not plain.isascii():
        plain = "".join(c for c in plain if not unicodedata.combining(c))
    for match in WORD.finditer(plain):
        word = match[0]
        yield _singular(word)
        if "." in word or "'" in word:
            yield from (_singular(part) for part in re.split(r"[.']", word) if part)


def stems(words: Iterable[str]) -> Iterator[str]:
    """What counts as the same word, of folded words, in their order."""
    return map(_stem, words)


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    return str(_STEMMER.stemWord(word)) if word.isalpha() and len(word) > 3 else word


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word

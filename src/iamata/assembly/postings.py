"""How well do texts answer some words? BM25 over counted words, exact, in memory; knows nothing of what the texts are.

Robertson and Zaragoza, The Probabilistic Relevance Framework (2009): k1 in 1.2..2, b 0.75.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping

_K1 = 1.2
_B = 0.75


class Postings:
    """Built once; read only. Texts are numbered in the order in which they come."""

    def __init__(self, texts: Iterable[Mapping[str, int]]) -> None:
        """`texts` count the words of each."""
        # word → number of a text, count, number, count …: a posting costs eight bytes
        self._postings: dict[str, array[int]] = {}
        self._lengths: array[int] = array("I")
        for number, counts in enumerate(texts):
            self._lengths.append(sum(counts.values()))
            for word, count in counts.items():
                postings = self._postings.get(word)
                if postings is None:
                    postings = self._postings[word] = array("I")
                postings.extend((number, count))
        self._average = sum(self._lengths) / len(self._lengths) if self._lengths else 1.0

    def __len__(self) -> int:
        return len(self._lengths)

    def __contains__(self, word: str) -> bool:
        return word in self._postings

    def words(self) -> Iterable[str]:
        """Every word of any text."""
        return self._postings.keys()

    def scores(self, words: Iterable[tuple[str, float]]) -> dict[int, float]:
        """The texts that hold any of these words, each with its score (> 0). A word counts by its weight."""
        scores: defaultdict[int, float] = defaultdict(float)
        n = len(self._lengths)
        for word, weight in words:
            postings = self._postings.get(word)
            if postings is None:
                continue
            holding = len(postings) // 2
            idf = math.log(1 + (n - holding + 0.5) / (holding + 0.5))
            for number, count in zip(postings[::2], postings[1::2], strict=True):
                norm = _K1 * (1 - _B + _B * self._lengths[number] / self._average)
                scores[number] += weight * idf * count * (_K1 + 1) / (count + norm)
        return dict(scores)

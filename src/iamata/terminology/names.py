"""When are two names the same words? Folding only: case, accents, punctuation and a terminology's own tags.

Not here: synonyms and spelling errors; those need a table or a person.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

from iamata.terminology.tables import rows

_WORD = re.compile(r"[a-z0-9]+(?:[.,][0-9]+)?%?|[^\W\d_a-z]+")
_TAG = re.compile(r"\s*\(([a-z /-]+)\)\s*\Z")


@cache
def _tags() -> frozenset[str]:
    return frozenset(row["tag"] for row in rows("semantic_tags"))


@lru_cache(maxsize=200_000)
def fold(name: str) -> str:
    """`Diabetes  Mellitus (disorder)` → `diabetes mellitus`; empty stays empty. Digits, units and word order count."""
    text = unicodedata.normalize("NFKD", name.casefold())
    text = "".join(char for char in text if not unicodedata.combining(char)).strip()
    tag = _TAG.search(text)
    if tag and tag.group(1) in _tags():
        text = text[: tag.start()]
    return " ".join(_WORD.findall(text))


def words(name: str) -> frozenset[str]:
    """The words of the folded name."""
    return frozenset(fold(name).split())

"""Which stretches of a turn are words that this engine had put into somebody's context? They are not said anew.

What is shown is remembered as runs of eight words and as whole quotations. A run counts only if at least three of its
words are the engine's own framing and not a quotation: a person who says the same sentence again says it again, and is
heard; a line of a context that is pasted, or an earlier memory within quotation marks or as a line of a list, is
content and is not learned. The keys that stand for the words are the caller's. Not recognised: less than eight words
of a line without its quotation, and another wording of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+")
_QUOTATION: Final = re.compile(r"\"([^\"\n]+)\"|“([^”]+)”|«([^»]+)»")
# A person does not speak in lists: a line of one that is a quotation is one.
_LISTED: Final = re.compile(r"^[ \t]*(?:[-*•–]|\d{1,3}[.)])[ \t]+(?P<words>\S.*)$", re.MULTILINE)
_TAG: Final = re.compile(r"</?[A-Za-z][^<>\n]{0,100}>")
_RUN: Final = 8
_OWN_WORDS: Final = 3
_SHORTEST_QUOTATION: Final = 3

Marked = tuple[str, int, int]


def shown(text: str) -> set[str]:
    """The runs and quotations of a text that is given out. A question that it answers stands in it as a quotation:
    whoever asked it says it without the marks, and is heard."""
    words = [(match.group().lower(), match.start()) for match in _WORD.finditer(text)]
    quoted = _in_quotation(text, [start for _, start in words])
    found: set[str] = set()
    for first in range(len(words) - _RUN + 1):
        if sum(not inside for inside in quoted[first : first + _RUN]) >= _OWN_WORDS:
            found.add(" ".join(word for word, _ in words[first : first + _RUN]))
    return found | {key for key, _, _ in _quotations(text)}


def told(text: str) -> list[Marked]:
    """The runs and quotations of a turn, each with its place: what may have been shown before."""
    words = [(match.group().lower(), match.start(), match.end()) for match in _WORD.finditer(text)]
    runs = [
        (" ".join(word for word, _, _ in words[first : first + _RUN]), words[first][1], words[first + _RUN - 1][2])
        for first in range(len(words) - _RUN + 1)
    ]
    return runs + _quotations(text) + _listed(text)


def injected(marked: Iterable[Marked], known: Callable[[str], bool]) -> tuple[tuple[int, int], ...]:
    """The stretches of those that are known, joined where they touch, in their order."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted((start, end) for key, start, end in marked if known(key)):
        if joined and start <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)


def without(text: str, stretches: Collection[tuple[int, int]]) -> str:
    """The text with these stretches as empty lines, so that every other character keeps its place."""
    for start, end in stretches:
        text = f"{text[:start]}{chr(10) * (end - start)}{text[end:]}"
    return text


def without_tags(text: str) -> str:
    """The text with blanks for markup (`</context> <system>`), which nobody says: it hides where a sentence begins."""
    return _TAG.sub(lambda match: " " * len(match.group()), text)


def _quotations(text: str) -> list[Marked]:
    found = []
    for match in _QUOTATION.finditer(text):
        words = [word.group().lower() for word in _WORD.finditer(match.group())]
        if len(words) >= _SHORTEST_QUOTATION:
            found.append((_key(words), match.start(), match.end()))
    return found


def _listed(text: str) -> list[Marked]:
    found = []
    for match in _LISTED.finditer(text):
        words = [word.group().lower() for word in _WORD.finditer(match["words"])]
        if len(words) >= _SHORTEST_QUOTATION:
            found.append((_key(words), match.start("words"), match.end("words")))
    return found


def _key(words: list[str]) -> str:
    return f'"{" ".join(words)}"'


def _in_quotation(text: str, places: list[int]) -> list[bool]:
    """For each place, in order, whether it stands within a quotation."""
    found = []
    spans = iter(_QUOTATION.finditer(text))
    span = next(spans, None)
    for place in places:
        while span is not None and span.end() <= place:
            span = next(spans, None)
        found.append(span is not None and span.start() <= place)
    return found

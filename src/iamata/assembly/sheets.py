"""How does a page of ranked lines become a text of at most N tokens?

A page that does not fit loses whole lines, the least important first, and says how many and where they are; a line is
never cut. Knows nothing of what the lines say.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from iamata.model.reading import Format
from iamata.ports import TokenCounter


class Line(msgspec.Struct, frozen=True, gc=False):
    """A line and how soon it is told: of rank 0 first. `cites` are the ids its brackets stand for."""

    text: str
    rank: int
    cites: tuple[str, ...] = ()


class Block(msgspec.Struct, frozen=True, gc=False):
    heading: str
    lines: tuple[Line, ...]


class Part(msgspec.Struct, frozen=True, gc=False):
    """One element of a structured page: a value for `key`, or one more for the list at `key`."""

    key: str
    value: Any
    listed: bool = True
    rank: int = 0


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """A page before it is laid out. `parts` are what its structured form holds."""

    address: str
    title: str
    blocks: tuple[Block, ...]
    compact: tuple[Line, ...] = ()
    parts: tuple[Part, ...] = ()


class Laid(msgspec.Struct, frozen=True):
    """The text, its exact tokens, whether something was left out, and the ids its brackets stand for, in order."""

    text: str
    tokens: int
    shortened: bool
    cites: tuple[str, ...]


def lay_out(sheet: Sheet, format: Format, token_budget: int | None, count: TokenCounter) -> Laid:
    """The page in this format within the budget (None: whole). The budget holds exactly, also at 0.

    A structured text is valid JSON at every budget of 1 or more; at 0 it is empty, because the smallest JSON text has
    one token.
    """
    match format:
        case Format.NARRATIVE:
            return _fit(_Narrative(sheet), token_budget, count)
        case Format.COMPACT:
            return _fit(_Compact(sheet), token_budget, count)
        case Format.STRUCTURED:
            return _fit(_Structured(sheet), token_budget, count)


class _Layout:
    """One form of a sheet. `size` is how many pieces it has; `text(k)` tells the `k` most important ones."""

    size: int

    def text(self, k: int) -> str:
        raise NotImplementedError

    def smallest(self) -> Sequence[str]:
        """What to say when not one piece fits, the best first."""
        raise NotImplementedError

    def cites(self, k: int) -> tuple[str, ...]:
        return ()


def _fit(layout: _Layout, budget: int | None, count: TokenCounter) -> Laid:
    whole = layout.text(layout.size)
    tokens = count.count(whole)
    if budget is None or tokens <= budget:
        return Laid(whole, tokens, False, layout.cites(layout.size))
    low, high = 0, layout.size  # text(low) is thought to fit; text(high) does not
    while high - low > 1:
        middle = (low + high) // 2
        if count.count(layout.text(middle)) <= budget:
            low = middle
        else:
            high = middle
    for k in range(low, 0, -1):
        text = layout.text(k)
        tokens = count.count(text)
        if tokens <= budget:
            return Laid(text, tokens, True, layout.cites(k))
    for text in layout.smallest():
        tokens = count.count(text)
        if tokens <= budget:
            return Laid(text, tokens, True, ())
    return Laid("", 0, True, ())


def _by_rank(ranks: Sequence[int]) -> list[int]:
    """The places of the pieces, the most important first, ties in the order of the page."""
    return sorted(range(len(ranks)), key=lambda place: (ranks[place], place))


class _Text(_Layout):
    """A page of lines: what narrative and compact have in common."""

    def __init__(self, address: str, lines: list[Line]) -> None:
        self.address = address
        self.lines = lines
        self.size = len(lines)
        self.order = _by_rank([line.rank for line in lines])

    def kept(self, k: int) -> list[int]:
        return sorted(self.order[:k])

    def left_out(self, k: int) -> str:
        n = self.size - k
        return f"({n} {'line' if n == 1 else 'lines'} left out for the budget; whole page: {self.address})"

    def smallest(self) -> Sequence[str]:
        n = self.size
        lines = f"{n} {'line' if n == 1 else 'lines'}"
        return (self.left_out(0), f"({lines} left out for the budget)", f"({lines} left out)", "(shortened)", "…")

    def cites(self, k: int) -> tuple[str, ...]:
        return tuple(dict.fromkeys(item for place in self.kept(k) for item in self.lines[place].cites))


class _Narrative(_Text):
    def __init__(self, sheet: Sheet) -> None:
        super().__init__(sheet.address, [line for block in sheet.blocks for line in block.lines])
        self.title = sheet.title
        self.headings = [block.heading for block in sheet.blocks for _ in block.lines]

    def text(self, k: int) -> str:
        out = [f"# {self.title}"]
        heading = ""
        for place in self.kept(k):
            if self.headings[place] != heading:
                heading = self.headings[place]
                out += ["", f"## {heading}"]
            out.append(f"- {self.lines[place].text}")
        if k < self.size:
            out += ["", self.left_out(k)]
        return "\n".join(out) + "\n"


class _Compact(_Text):
    def __init__(self, sheet: Sheet) -> None:
        super().__init__(sheet.address, list(sheet.compact))

    def text(self, k: int) -> str:
        out = [self.lines[place].text for place in self.kept(k)]
        if k < self.size:
            out.append(self.left_out(k))
        return "\n".join(out) + "\n" if out else ""


_COMPACT_JSON: Final = (",", ":")


class _Structured(_Layout):
    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.size = len(sheet.parts)
        self.order = _by_rank([part.rank for part in sheet.parts])

    def text(self, k: int) -> str:
        body: dict[str, Any] = {"address": self.sheet.address}
        for part in (self.sheet.parts[place] for place in sorted(self.order[:k])):
            if part.listed:
                body.setdefault(part.key, []).append(part.value)
            else:
                body[part.key] = part.value
        if k < self.size:
            body["leftOut"] = self.size - k
        return _json(body)

    def smallest(self) -> Sequence[str]:
        return (_json({"address": self.sheet.address, "leftOut": self.size}), _json({"leftOut": self.size}), "{}")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=_COMPACT_JSON)

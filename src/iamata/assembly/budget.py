"""Which items fit in N tokens, given their order? Does not decide the order, and writes no item's text.

Tokens of joined lines are not the sum of the tokens of the lines, so costs are only estimates here; `exact` counts
the whole text and is right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from iamata.ports import TokenCounter

T = TypeVar("T")


class Purse:
    """Tokens that are left. `spend` takes nothing and says False where they do not suffice."""

    def __init__(self, tokens: int) -> None:
        self.left = tokens

    def spend(self, tokens: int) -> bool:
        if tokens > self.left:
            return False
        self.left -= tokens
        return True


class Exact(Generic[T]):
    """A text and its exact token count, never above the budget. `dropped` are the items that did not fit after all."""

    def __init__(self, text: str, tokens: int, kept: list[T], dropped: list[T]) -> None:
        self.text = text
        self.tokens = tokens
        self.kept = kept
        self.dropped = dropped


def exact(items: list[T], write: Callable[[list[T]], str], budget_tokens: int, count: TokenCounter) -> Exact[T]:
    """The text of as many of the first items as fit, counted whole. With none of them that fits the text is what
    `write([])` gives if it fits, else empty. `items` stand in the order of importance."""
    kept = list(items)
    while True:
        text = write(kept)
        tokens = count.count(text)
        if tokens <= budget_tokens:
            return Exact(text, tokens, kept, items[len(kept) :])
        if not kept:
            return Exact("", count.count(""), [], list(items))
        # Drop as many of the last as the excess may be worth, at least one: never more than half at once.
        excess = (tokens - budget_tokens) / max(1, tokens)
        kept = kept[: len(kept) - max(1, min(len(kept) // 2, int(len(kept) * excess)))]

"""How is a benchmark's run told? A figure a line, beside what was asked of it."""

from __future__ import annotations

from collections.abc import Mapping


def put(figures: Mapping[str, float | int], asked: Mapping[str, str]) -> None:
    """Names, values and what was asked, in the order of the figures."""
    for name, value in figures.items():
        shown = f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"
        print(f"{name:<34}{shown:>12}   {asked.get(name, '')}".rstrip())

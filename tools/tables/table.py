"""How is a table of `terminology/data` written, and does the committed one say the same? Not here: what is in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

DATA: Final = Path(__file__).parents[2] / "src" / "iamata" / "terminology" / "data"


def render(comments: Sequence[str], columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The text of a table: comment lines, the names of the columns, the rows sorted, each once."""
    lines = [*(f"# {comment}" for comment in comments), "\t".join(columns)]
    return "\n".join([*lines, *sorted({"\t".join(row) for row in rows})]) + "\n"


def committed(name: str) -> str:
    """The text of the committed table; empty if there is none."""
    path = DATA / f"{name}.tsv"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a file of this form, as header → cell."""
    columns, *rows = (
        line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")
    )
    return [dict(zip(columns, row, strict=True)) for row in rows]


def finish(name: str, text: str, *, check: bool) -> int:
    """Write the table, or with `check` only compare it: 0 if it is the committed one, 1 with the lines that differ."""
    old = committed(name)
    if not check:
        (DATA / f"{name}.tsv").write_text(text, encoding="utf-8")
        print(f"{name}.tsv: {len(text.splitlines())} lines{'' if text == old else ', changed'}")
        return 0
    if text == old:
        print(f"{name}.tsv is what the sources give")
        return 0
    before, after = set(old.splitlines()), set(text.splitlines())
    print(
        *(f"- {line}" for line in sorted(before - after)), *(f"+ {line}" for line in sorted(after - before)), sep="\n"
    )
    return 1

"""What is written where, and how does it look? Answers go to stdout, progress and remarks to stderr.

Colour only on a terminal and without NO_COLOR (rich sees to both). Control characters of what sources sent never reach
a terminal. Lines are laid out for 80 columns where the output is no terminal, and for at most 100 where it is.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from rich.text import Text

# The key under which a command's context says that JSON was asked for.
JSON = "iamata.json"
_WIDEST = 100
# C0 and C1 controls (ECMA-48), but for tab and line feed: they can move the cursor and change what was shown.
_CONTROLS = {code: "�" for code in (*range(32), *range(127, 160)) if code not in (9, 10)}


def console(stream: TextIO | None = None) -> Console:
    """A console on stdout (or the given stream) as it is now."""
    made = Console(file=stream or sys.stdout, highlight=False, markup=False, emoji=False)
    if made.width > _WIDEST:
        made.width = _WIDEST
    return made


def clean(text: object) -> str:
    """The text without control characters."""
    return str(text).translate(_CONTROLS)


def put(what: RenderableType = "", *, indent: int = 0, style: str = "") -> None:
    """Write to stdout. Words are wrapped, lines end without blanks."""
    out = console()
    if isinstance(what, str):
        what = Text(clean(what), style=style)
    if indent:
        what = Padding(what, (0, 0, 0, indent))
    if out.is_terminal:
        out.print(what)
        return
    with out.capture() as captured:
        out.print(what)
    lines = captured.get().split("\n")
    out.file.write("\n".join(line.rstrip() for line in lines))


def put_hanging(first: str, text: str, *, style: str = "") -> None:
    """`first`, then the text; wrapped lines begin under the text."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(clean(first)), Text(clean(text), style=style))
    put(grid)


def put_line(text: str) -> None:
    """One line that is never wrapped, so that it can be copied."""
    sys.stdout.write(f"{clean(text)}\n")


def put_title(text: str) -> None:
    """A heading."""
    put(text, style="bold")


def put_text(text: str) -> None:
    """A text as it is when stdout is no terminal, so that it can be handed on; wrapped with hanging indents on one."""
    if not console().is_terminal:
        sys.stdout.write(text if text.endswith("\n") or not text else f"{text}\n")
        return
    for line in clean(text).rstrip("\n").split("\n"):
        body = line.lstrip()
        lead = line[: len(line) - len(body)]
        if body.startswith(("- ", "* ")):
            lead, body = f"{lead}-", body[2:]
            put_hanging(lead, body)
        else:
            put(line)


def put_json(document: object) -> None:
    """One JSON document on stdout, keys in the order they were given."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def put_table(headings: Sequence[str], rows: Iterable[Sequence[object]], *, right: Iterable[int] = ()) -> None:
    """A table without lines; columns in `right` are numbers. The last column takes what width is left."""
    numbers = set(right)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    last = len(headings) - 1
    for index, heading in enumerate(headings):
        table.add_column(
            heading,
            justify="right" if index in numbers else "left",
            overflow="fold",
            no_wrap=index in numbers,
            ratio=1 if index == last else None,
        )
    for row in rows:
        table.add_row(*(Text(clean(cell)) for cell in row))
    put(table)


def remark(text: str) -> None:
    """A remark beside the answer, on stderr."""
    console(sys.stderr).print(Text(clean(text), style="dim"))


def tell_failure(text: str, more: str = "") -> None:
    """What went wrong, on stderr."""
    err = console(sys.stderr)
    err.print(Text.assemble(("iamata: ", "bold red"), clean(text)))
    if more:
        err.print(Text(clean(more)))


def tell_failure_line(text: str) -> None:
    """One more line about it on stderr, never wrapped, so that a file's name can be copied."""
    sys.stderr.write(f"{clean(text)}\n")


@contextmanager
def progress(what: str, total: int) -> Iterator[Progress]:
    """A bar on stderr while it lasts; nothing if stderr is no terminal or there is one step only. One task, advanced by
    the caller with `bar.advance(bar.task_ids[0])`."""
    err = console(sys.stderr)
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal or total < 2,
    )
    with bar:
        bar.add_task(what, total=total)
        yield bar


def counted(number: int, one: str, many: str = "") -> str:
    """`1 fact`, `2 facts`, `1,204 facts`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def listed(values: Iterable[Any]) -> str:
    """`a, b and c`."""
    words = [str(value) for value in values]
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)

"""How is a large licensed file read? Line by line, in bounded memory, with a note of each line that cannot be used.

A file whose last line has no end was cut off while it was copied: it is refused before anything is written. A file cut
exactly between two lines cannot be told from a shorter one, unless a list of sizes lies beside it (`umls`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from iamata.errors import BadInput

_LONGEST_LINE: Final = 1_000_000  # bytes
_NAMED_LINES: Final = 20
_TOLD_EVERY: Final = 1 << 20  # bytes
_BOM: Final = "\N{BYTE ORDER MARK}"

# Called with the file's name, how many of its bytes are read, and its size.
Progress = Callable[[str, int, int], None]


def silent(_file: str, _done: int, _size: int) -> None:
    """Tells nobody."""


class BadLine(msgspec.Struct, frozen=True):
    """A line that was skipped: its file's name, its number from 1, and what is wrong, never its content."""

    file: str
    line: int
    why: str


class Account:
    """What reading came to: lines read, lines skipped as unusable, and the first twenty of these."""

    def __init__(self, progress: Progress = silent) -> None:
        self.progress = progress
        self.lines = 0
        self.bad = 0
        self.named: list[BadLine] = []

    def skip(self, file: str, line: int, why: str) -> None:
        self.bad += 1
        if len(self.named) < _NAMED_LINES:
            self.named.append(BadLine(file, line, why))


def check_whole(path: Path) -> None:
    """Raises BadInput if the file is empty or its last line has no end."""
    with path.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        if not size:
            raise BadInput("this file is empty", place=path.name)
        file.seek(size - 1)
        if file.read(1) != b"\n":
            raise BadInput("this file is cut off: its last line has no end. Nothing was loaded", place=path.name)


def lines(path: Path, account: Account) -> Iterator[tuple[int, str]]:
    """Each line with its number, without its end, in order. Lines that are no UTF-8 or too long are skipped."""
    size = path.stat().st_size
    told = done = 0
    with path.open("rb") as file:
        number = 0
        while raw := file.readline(_LONGEST_LINE):
            number += 1
            done += len(raw)
            if done - told >= _TOLD_EVERY:
                told = done
                account.progress(path.name, done, size)
            if not raw.endswith(b"\n"):
                while raw and not raw.endswith(b"\n"):
                    raw = file.readline(_LONGEST_LINE)
                    done += len(raw)
                account.skip(path.name, number, "longer than a line can be")
                continue
            try:
                text = raw.decode()
            except UnicodeDecodeError:
                account.skip(path.name, number, "not UTF-8")
                continue
            account.lines += 1
            yield number, text.rstrip("\r\n").removeprefix(_BOM if number == 1 else "")
    account.progress(path.name, size, size)


def rrf(path: Path, columns: Sequence[int], account: Account) -> Iterator[list[str]]:
    """The cells of each row of a Rich Release Format file (`|` after every cell); `columns` are the numbers of cells
    that a row of this file may have."""
    for number, text in lines(path, account):
        cells = text.split("|")
        if len(cells) - 1 not in columns or cells[-1]:
            account.skip(path.name, number, f"{len(cells) - 1} cells instead of {columns[0]}")
            continue
        yield cells


def rf2(path: Path, header: Sequence[str], account: Account) -> Iterator[dict[str, str]]:
    """The rows of a SNOMED CT Release Format 2 file. Raises BadInput if its header lacks one of these columns."""
    names: list[str] = []
    for number, text in lines(path, account):
        cells = text.split("\t")
        if not names:
            names = cells
            lacking = [name for name in header if name not in names]
            if lacking:
                raise BadInput(f"the header lacks {', '.join(lacking)}", place=path.name)
            continue
        if len(cells) != len(names):
            account.skip(path.name, number, f"{len(cells)} cells instead of {len(names)}")
            continue
        yield dict(zip(names, cells, strict=True))


def comma_separated(path: Path, header: Sequence[str], account: Account) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with a header, with the number of their last line. Raises BadInput if the header lacks one
    of these columns, or if a quotation is still open at the end."""
    reader = csv.reader((f"{text}\n" for _, text in lines(path, account)), strict=True)
    try:
        names = next(reader, [])
        lacking = [name for name in header if name not in names]
        if lacking:
            raise BadInput(f"the header lacks {', '.join(lacking)}", place=path.name)
        while True:
            try:
                cells = next(reader, None)
            except csv.Error as error:
                if "unexpected end" in str(error):
                    raise BadInput(
                        "this file is cut off: a quotation is open at its end. Nothing was loaded", place=path.name
                    ) from None
                account.skip(path.name, reader.line_num, "wrong quotation marks")
                continue
            if cells is None:
                return
            if len(cells) != len(names):
                account.skip(path.name, reader.line_num, f"{len(cells)} cells instead of {len(names)}")
                continue
            yield reader.line_num, dict(zip(names, cells, strict=True))
    except csv.Error:
        raise BadInput("the header is no line of a CSV file", place=path.name) from None

"""How are millions of names looked up without reading them all? Sorted text, `key TAB value` a line, searched in place.

The file is mapped into memory by the operating system and bisected; opening it costs nothing. Writing sorts in bounded
memory: full batches go to scratch files that are merged at the end. What keys and values mean is the callers' matter.
"""

from __future__ import annotations

import heapq
import mmap
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Final

# Lines held while sorting; at 100 bytes each this is some 40 MB.
BATCH_LINES: Final = 200_000
# What would break a line, or sort before the tab (C0 controls); a blank stands for each.
_BREAKS: Final = dict.fromkeys(range(32), " ")
_BREAKS_KEEPING_TABS: Final = {code: " " for code in range(32) if code != 9}


class SortedWriter:
    """Takes (key, value) in any order and writes each different pair once, sorted by the bytes of key, then value.

    A key has no tab; a value may have (its cells). Other control characters become blanks.
    """

    def __init__(self, path: Path, *, batch_lines: int = BATCH_LINES) -> None:
        self._path = path
        self._batch_lines = batch_lines
        self._lines: list[bytes] = []
        self._runs: list[Path] = []

    def add(self, key: str, value: str) -> None:
        line = f"{key.translate(_BREAKS)}\t{value.translate(_BREAKS_KEEPING_TABS)}\n"
        self._lines.append(line.encode())
        if len(self._lines) >= self._batch_lines:
            self._spill()

    def _spill(self) -> None:
        self._lines.sort()
        run = self._path.with_name(f"{self._path.name}.run{len(self._runs)}")
        with run.open("wb") as file:
            file.writelines(self._lines)
        self._runs.append(run)
        self._lines = []

    def finish(self) -> tuple[int, str]:
        """Write the file. How many lines it has, and the SHA-256 of its bytes."""
        digest = sha256()
        count = 0
        last = b""
        self._lines.sort()
        with ExitStack() as stack, self._path.open("wb") as out:
            runs = [stack.enter_context(run.open("rb")) for run in self._runs]
            for line in heapq.merge(*runs, self._lines):
                if line != last:
                    out.write(line)
                    digest.update(line)
                    count += 1
                    last = line
        for run in self._runs:
            run.unlink()
        self._runs, self._lines = [], []
        return count, digest.hexdigest()


class SortedText:
    """A written file, opened. Safe to share between threads; replaced files stay readable until this is dropped."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            empty = not file.read(1)
            self._bytes: mmap.mmap | bytes = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def all(self, key: str) -> tuple[str, ...]:
        """Every value of the key, sorted; none if it is not there."""
        return tuple(self._values(key))

    def first(self, key: str) -> str:
        """The first value of the key; empty if it is not there."""
        return next(self._values(key), "")

    def _values(self, key: str) -> Iterator[str]:
        wanted = key.encode() + b"\t"
        data = self._bytes
        at = self._place(wanted)
        while data[at : at + len(wanted)] == wanted:
            end = data.find(b"\n", at)
            yield data[at + len(wanted) : end].decode()
            at = end + 1

    def _place(self, wanted: bytes) -> int:
        """Where the first line stands that is not before `wanted`. The tab sorts before all that a key can hold, so a
        line compares as its key does."""
        data = self._bytes
        low, high = 0, len(data)
        while low < high:
            start = data.rfind(b"\n", low, (low + high) // 2) + 1 or low
            if data[start : start + len(wanted)] < wanted:
                low = data.find(b"\n", start) + 1
            else:
                high = start
        return low

    def items(self) -> Iterator[tuple[str, str]]:
        """Every (key, value), in order."""
        data = self._bytes
        at = 0
        while at < len(data):
            end = data.find(b"\n", at)
            key, _, value = data[at:end].decode().partition("\t")
            yield key, value
            at = end + 1

"""Which files were meant, what are their bytes, and what are the patients of a source called here?"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from iamata.errors import BadInput, NotFound, Unavailable
from iamata.model.scope import SUBJECT_ID

STDIN = "-"


class Found(msgspec.Struct, frozen=True):
    """One thing to read: a file, or stdin. `name` is its path as the caller would write it."""

    name: str
    path: Path | None

    def body(self) -> bytes:
        """The bytes. Raises NotFound or Unavailable, whose place is the file."""
        try:
            return sys.stdin.buffer.read() if self.path is None else self.path.read_bytes()
        except FileNotFoundError:
            raise NotFound("no file or folder of this name", what="file", id=self.name) from None
        except OSError as error:
            raise Unavailable(f"cannot be read: {error.strerror or type(error).__name__}") from None


def documents(paths: Iterable[str]) -> list[Found]:
    """What these paths mean: files as given, the files of folders and their folders by name. Hidden files and folders
    are passed over, and nothing is listed twice."""
    found: dict[str, Found] = {}
    for said in paths:
        if said == STDIN:
            found.setdefault(said, Found("stdin", None))
            continue
        path = Path(said)
        for file in _files(path) if path.is_dir() else (path,):
            found.setdefault(str(file), Found(str(file), file))
    if not found:
        raise BadInput("there is no file in what was given")
    return list(found.values())


def _files(folder: Path) -> Iterator[Path]:
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(at, name) for name in sorted(files) if not name.startswith("."))


def patient_map(path: Path | None) -> dict[str, str]:
    """What a source calls its patients → what they are called here, from lines of two ids (tab, comma or blanks between
    them). Raises BadInput with the line; NotFound or Unavailable for the file."""
    if path is None:
        return {}
    found: dict[str, str] = {}
    try:
        lines = Found(str(path), path).body().decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise BadInput("a patient map is UTF-8 text", place="--patient-map") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        ids = line.replace(",", " ").split()
        if len(ids) != 2 or not SUBJECT_ID.match(ids[1]) or found.get(ids[0], ids[1]) != ids[1]:
            raise BadInput(
                "two ids, the second one that can be an id here, each first one once", place=f"line {number}"
            )
        found[ids[0]] = ids[1]
    return found

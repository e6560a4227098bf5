"""Which documents were meant, what are their bytes, and whose are they when nobody said?"""

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
    """One document to read: a file, or stdin. `name` is its path as the caller would write it."""

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


class _Resource(msgspec.Struct):
    resourceType: str = ""
    id: str = ""


class _Entry(msgspec.Struct):
    resource: _Resource | None = None


class _Document(_Resource):
    entry: list[_Entry] = []


def patient_of(body: bytes) -> str:
    """The id of the one Patient in a FHIR document. Raises BadInput, which says what to give instead."""
    try:
        read = msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"), type=_Document)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise BadInput("it is no JSON document that names its patient: say whose it is with --patient ID") from None
    held = [read, *(each.resource for each in read.entry if each.resource is not None)]
    patients = sorted({each.id for each in held if each.resourceType == "Patient"})
    if len(patients) > 1:
        raise BadInput(f"it holds {len(patients)} patients: say whose it is with --patient ID")
    if not patients:
        raise BadInput("it holds no Patient resource: say whose it is with --patient ID")
    if not SUBJECT_ID.match(patients[0]):
        raise BadInput("its Patient has no id that can be used here: give --patient ID", place="Patient.id")
    return patients[0]

"""What stands in an archive of patients, and what became of one that was taken in? Nouns of the manifest only.

How the file is laid out and checked is `store.archiving`'s; docs/explanation/exports.md tells it to people.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from iamata.errors import InvalidValue
from iamata.model.clinical_time import check_aware
from iamata.model.scope import Scope

ARCHIVE_FORMAT: Final = "iamata-archive"
# Goes up when an older reader would understand an archive wrongly.
ARCHIVE_VERSION: Final = 1


class ArchiveKind(StrEnum):
    """One patient as received, or everything that an installation holds."""

    AS_RECEIVED = "as-received"
    WORKSPACE = "workspace"


class ArchivePart(msgspec.Struct, frozen=True):
    """One file of an archive: its path, the SHA-256 of its content in hex, its size in bytes before compression, and
    how many rows it has (0 for the bytes of a document)."""

    path: str
    sha256: str
    size_bytes: int
    rows: int


class ArchivedPatient(msgspec.Struct, frozen=True):
    """A patient in an archive: its files stand under `folder`."""

    id: str
    folder: str


class ArchivedSubject(msgspec.Struct, frozen=True):
    """An organization, operator or agent in an archive: its files stand under `folder`."""

    scope: Scope
    id: str
    folder: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """`manifest.json`, the last file of an archive: what it is and every other file in it, in the order written."""

    format: str
    version: int
    kind: ArchiveKind
    made_at: datetime
    patients: tuple[ArchivedPatient, ...]
    parts: tuple[ArchivePart, ...]
    subjects: tuple[ArchivedSubject, ...] = ()

    def __post_init__(self) -> None:
        check_aware("made_at", self.made_at)
        if len({patient.id for patient in self.patients}) != len(self.patients):
            raise InvalidValue("a patient stands twice in the manifest")
        if len({(each.scope, each.id) for each in self.subjects}) != len(self.subjects):
            raise InvalidValue("a subject stands twice in the manifest")
        if len({part.path for part in self.parts}) != len(self.parts):
            raise InvalidValue("a part stands twice in the manifest")


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an archive: the patients that were taken in and those that were here with the same content, by
    id; and how many versions of entries are new here."""

    patients: tuple[str, ...]
    here_already: tuple[str, ...]
    entries: int = 0

"""How do patients become one file, and how does the file come in again? A ZIP of lines and bytes, with a manifest.

    patients/000001/patient.json         who it is, its counters, its data key
    patients/000001/<table>.ndjson       a row a line (`moving`); a table without rows has no file
    patients/000001/documents/<id>.<x>   the bytes of each document exactly as received
    subjects/000001/…                    the same for an organization, operator or agent (workspace only): subject.json,
                                         entry_versions, entry_documents with their bytes, entry_refusals
    manifest.json                        what this is, and the SHA-256, size and rows of every file before it

Written and read in pages: memory does not grow with the archive. Nothing of it is believed before every byte of it was
checked; how it comes in then is for `taking_in`. The manifest guards against damage, not against whoever can write the
file: an archive holds everything in the clear, and the keys it was sealed under.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from hashlib import sha256
from typing import IO, Any, Final

import msgspec

from iamata.errors import BadInput, TooLarge
from iamata.model.archive import (
    ARCHIVE_FORMAT,
    ARCHIVE_VERSION,
    ArchivedPatient,
    ArchivedSubject,
    ArchiveKind,
    ArchivePart,
    Manifest,
)
from iamata.model.scope import Scope, Subject
from iamata.model.scope import patient as subject_of
from iamata.ports import KeyStore
from iamata.store import codec, knowledge
from iamata.store.database import Database
from iamata.store.moving import (
    ENTRY_TABLES,
    TABLES,
    WITH_BYTES,
    Table,
    lines_of,
    named,
    row_of,
)
from iamata.store.sealing import Sealer

MANIFEST: Final = "manifest.json"
LIMIT_LINE_BYTES: Final = 64_000_000
_LIMIT_MANIFEST_BYTES: Final = 256_000_000
# JSON shrinks to about a tenth; a part that shrinks to less than a thousandth is a bomb (DEFLATE can do 1,032 to 1).
_LIMIT_RATIO: Final = 1_000
_SMALL_BYTES: Final = 10_000_000
_CHUNK: Final = 1 << 20
# A name's ending tells people what they look at; nothing depends on it.
_ENDINGS: Final = {
    "json": ".json",
    "xml": ".xml",
    "pdf": ".pdf",
    "rtf": ".rtf",
    "html": ".html",
    "hl7": ".hl7",
    "plain": ".txt",
    "zip": ".zip",
    "ndjson": ".ndjson",
    "dicom": ".dcm",
}
# What zipfile raises for bytes that are no sound archive; OSError also for a disk that fails.
_DAMAGED: Final = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)

RandomBytes = Callable[[int], bytes]


class _PatientPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`patient.json`: `key` is the data key in hex."""

    id: str
    created_at: str
    updated_at: str
    version: int
    sequence: int
    key: str


class _SubjectPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`subject.json`: `key` is the data key in hex."""

    scope: Scope
    id: str
    created_at: str
    updated_at: str
    version: int
    key: str


_patients: Final = msgspec.json.Decoder(_PatientPart)
_subjects: Final = msgspec.json.Decoder(_SubjectPart)
_manifests: Final = msgspec.json.Decoder(Manifest)


class _Writing:
    """An archive that is being written, with the parts so far."""

    def __init__(self, to: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED)
        self.parts: list[ArchivePart] = []

    def part(self, path: str, chunks: Iterable[bytes], *, rows: bool = True) -> None:
        """A part of these chunks, one a row if `rows`; none if there are no chunks."""
        digest, size, count = sha256(), 0, 0
        first = next(chunks := iter(chunks), None)
        if first is None:
            return
        with self._zip.open(_named(path), "w", force_zip64=True) as out:
            chunk: bytes | None = first
            while chunk is not None:
                digest.update(chunk)
                size += len(chunk)
                count += 1
                out.write(chunk)
                chunk = next(chunks, None)
        self.parts.append(ArchivePart(path, digest.hexdigest(), size, count if rows else 0))

    def end(self, manifest: Manifest) -> None:
        self._zip.writestr(_named(MANIFEST), msgspec.json.format(codec.encode(manifest), indent=1))
        self._zip.close()


def _named(path: str) -> zipfile.ZipInfo:
    """The same archive has the same bytes: no part tells when it was written."""
    info = zipfile.ZipInfo(path)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def write(
    database: Database,
    keys: KeyStore,
    random_bytes: RandomBytes,
    to: IO[bytes],
    patients: Iterable[str],
    kind: ArchiveKind,
    now: datetime,
) -> Manifest:
    """Write these patients, each as it stands in one moment, and with a workspace every entry. Patients that are gone
    meanwhile are left out. `to` need not be seekable."""
    writing = _Writing(to)
    archived: list[ArchivedPatient] = []
    for patient in patients:
        folder = f"patients/{len(archived) + 1:06}"
        if _write_patient(database, keys, random_bytes, writing, patient, folder):
            archived.append(ArchivedPatient(patient, folder))
    subjects: list[ArchivedSubject] = []
    for subject in knowledge.subjects(database) if kind is ArchiveKind.WORKSPACE else ():
        folder = f"subjects/{len(subjects) + 1:06}"
        if _write_subject(database, keys, random_bytes, writing, subject, folder):
            subjects.append(ArchivedSubject(subject.scope, subject.id, folder))
    manifest = Manifest(
        format=ARCHIVE_FORMAT,
        version=ARCHIVE_VERSION,
        kind=kind,
        made_at=now,
        patients=tuple(archived),
        parts=tuple(writing.parts),
        subjects=tuple(subjects),
    )
    writing.end(manifest)
    return manifest


def _write_subject(
    database: Database, keys: KeyStore, random_bytes: RandomBytes, writing: _Writing, subject: Subject, folder: str
) -> bool:
    key = keys.get(str(subject))
    with database.reading() as tx:
        row = tx.rows("subject_head", **named(subject))
        if not row or key is None:
            return False
        created_at, updated_at, version = row[0]
        sealer = Sealer(str(subject), key, random_bytes)
        head = _SubjectPart(
            scope=subject.scope,
            id=subject.id,
            created_at=created_at,
            updated_at=updated_at,
            version=version,
            key=key.hex(),
        )
        writing.part(f"{folder}/subject.json", [msgspec.json.encode(head)])
        files: list[tuple[str, str]] = []
        for table in ENTRY_TABLES:
            lines = lines_of(tx, sealer, subject, table)
            if table.name in WITH_BYTES:
                lines = _noting(lines, sealer, files, "entry_documents about", "about")
            writing.part(f"{folder}/{table.name}.ndjson", (line for _row, line in lines))
        for document, ending in files:
            _about, sealed = tx.rows("entry_document", **named(subject), id=document)[0]
            body = sealer.open("entry_documents", document, sealed)
            writing.part(f"{folder}/documents/{document}{ending}", [body], rows=False)
    return True


def _write_patient(
    database: Database, keys: KeyStore, random_bytes: RandomBytes, writing: _Writing, patient: str, folder: str
) -> bool:
    key = keys.get(patient)
    with database.reading() as tx:
        row = tx.rows("patient", patient=patient)
        if not row or key is None:
            return False
        id, created_at, updated_at, version, _check = row[0]
        sealer = Sealer(patient, key, random_bytes)
        head = _PatientPart(
            id=id,
            created_at=created_at,
            updated_at=updated_at,
            version=version,
            sequence=tx.rows("counters", patient=patient)[0][0],
            key=key.hex(),
        )
        writing.part(f"{folder}/patient.json", [msgspec.json.encode(head)])
        files: list[tuple[str, str]] = []
        for table in TABLES:
            lines = lines_of(tx, sealer, subject_of(patient), table)
            if table.name in WITH_BYTES:
                lines = _noting(lines, sealer, files, "documents", "head")
            writing.part(f"{folder}/{table.name}.ndjson", (line for _row, line in lines))
        for document, ending in files:
            body = sealer.open(
                "document_bodies", document, tx.rows("document_body", patient=patient, id=document)[0][0]
            )
            writing.part(f"{folder}/documents/{document}{ending}", [body], rows=False)
    return True


def _noting(
    lines: Iterator[tuple[dict[str, Any], bytes]],
    sealer: Sealer,
    files: list[tuple[str, str]],
    sealed_in: str,
    column: str,
) -> Iterator[tuple[dict[str, Any], bytes]]:
    """The same lines; `files` gets each document and the ending of its file."""
    for row, line in lines:
        head = codec.documents.decode(sealer.open(sealed_in, row["id"], row[column]))
        subtype = head.media_type.partition(";")[0].rpartition("/")[2].rpartition("+")[2].strip().lower()
        files.append((row["id"], _ENDINGS.get(subtype, ".bin")))
        yield row, line


class Archive:
    """An archive that is open for reading. Nothing of it is believed before `check`."""

    def __init__(self, file: IO[bytes]) -> None:
        """Raises BadInput for what is no archive of ours, or of a later version."""
        with _damage(""):
            self._zip = zipfile.ZipFile(file)
            names = [info.filename for info in self._zip.infolist()]
        if len(set(names)) != len(names):
            raise BadInput("a part stands twice in the archive", place=MANIFEST)
        if MANIFEST not in names:
            raise BadInput("this is no archive of iamata: it has no manifest", place=MANIFEST)
        with _damage(MANIFEST), self._zip.open(MANIFEST) as opened:
            body = opened.read(_LIMIT_MANIFEST_BYTES + 1)
        try:
            stated = msgspec.json.decode(body[:_LIMIT_MANIFEST_BYTES])
            if not isinstance(stated, dict) or stated.get("format") != ARCHIVE_FORMAT:
                raise BadInput("this is no archive of iamata", place=MANIFEST)
            if stated.get("version") != ARCHIVE_VERSION:
                raise BadInput(f"this archive is not of version {ARCHIVE_VERSION}, the one read here", place=MANIFEST)
            self.manifest = _manifests.decode(body)
        except msgspec.MsgspecError:
            raise BadInput("the manifest cannot be read", place=MANIFEST) from None
        self.parts = {part.path: part for part in self.manifest.parts}
        if extra := sorted(set(names) - self.parts.keys() - {MANIFEST}):
            raise BadInput("the manifest does not name this part", place=extra[0])
        if missing := sorted(self.parts.keys() - set(names)):
            raise BadInput("a part is missing", place=missing[0])

    def check(self) -> None:
        """Read everything. Raises BadInput with the path of the first part that is damaged or says what no part can
        say, TooLarge for one that unpacks to far more than it is."""
        left = set(self.parts)
        for archived in self.manifest.patients:
            head = self.patient(archived)
            left.discard(f"{archived.folder}/patient.json")
            if head.sequence < 0 or head.version < 0:
                raise BadInput("a counter is below zero", place=f"{archived.folder}/patient.json")
            left -= self._check_tables(archived, TABLES)
        for other in self.manifest.subjects:
            self.subject(other)
            left.discard(f"{other.folder}/subject.json")
            left -= self._check_tables(other, ENTRY_TABLES)
        if left:
            raise BadInput("this part belongs to no patient and no subject", place=min(left))

    def _check_tables(self, archived: ArchivedPatient | ArchivedSubject, tables: Iterable[Table]) -> set[str]:
        """Read all rows and bytes: the paths that were read."""
        paths, documents = set[str](), set[str]()
        for table in tables:
            for row, _contents in self.rows(archived, table):
                if table.name in WITH_BYTES:
                    documents.add(row["id"])
            paths.add(f"{archived.folder}/{table.name}.ndjson")
        for document in sorted(documents):
            path = self.path_of(archived, document)
            for _chunk in self._chunks(path):
                pass
            paths.add(path)
        return paths

    def patient(self, archived: ArchivedPatient) -> _PatientPart:
        path = f"{archived.folder}/patient.json"
        try:
            subject_of(archived.id)
            head = _patients.decode(b"".join(self._chunks(path)))
            if head.id != archived.id or len(bytes.fromhex(head.key)) != 32:
                raise BadInput("this is not the patient that the manifest names", place=path)
            codec.moment_of(head.created_at), codec.moment_of(head.updated_at)
        except (msgspec.MsgspecError, ValueError) as error:
            raise BadInput("the patient cannot be read", place=path) from error
        return head

    def subject(self, archived: ArchivedSubject) -> _SubjectPart:
        path = f"{archived.folder}/subject.json"
        try:
            whose = Subject(archived.scope, archived.id)
            head = _subjects.decode(b"".join(self._chunks(path)))
            if whose.scope is Scope.PATIENT or (head.scope, head.id) != (whose.scope, whose.id):
                raise BadInput("this is not the subject that the manifest names", place=path)
            if len(bytes.fromhex(head.key)) != 32 or head.version < 0:
                raise BadInput("the subject cannot be read", place=path)
            codec.moment_of(head.created_at), codec.moment_of(head.updated_at)
        except (msgspec.MsgspecError, ValueError) as error:
            raise BadInput("the subject cannot be read", place=path) from error
        return head

    def path_of(self, archived: ArchivedPatient | ArchivedSubject, document: str) -> str:
        """The path of a document's bytes. Raises BadInput if there is none."""
        beginning = f"{archived.folder}/documents/{document}"
        for ending in (".bin", *_ENDINGS.values()):
            if beginning + ending in self.parts:
                return beginning + ending
        raise BadInput("a part is missing", place=beginning)

    def body(self, path: str) -> bytes:
        return b"".join(self._chunks(path))

    def rows(
        self, archived: ArchivedPatient | ArchivedSubject, table: Table
    ) -> Iterator[tuple[dict[str, Any], dict[str, bytes]]]:
        """The rows of a table, checked; none if it has no part."""
        path, whose = f"{archived.folder}/{table.name}.ndjson", whose_is(archived)
        for number, line in enumerate(self._lines(path), start=1):
            yield row_of(table, whose, line, f"{path}, row {number}")

    def _lines(self, path: str) -> Iterator[bytes]:
        part = self.parts.get(path)
        if part is None:
            return
        count = 0
        for line in self._read(part, lambda opened: opened.readline(LIMIT_LINE_BYTES + 1)):
            if not line.endswith(b"\n"):
                raise BadInput("a row does not end, or is longer than any row", place=path)
            count += 1
            yield line
        if count != part.rows:
            raise BadInput(f"the part has {count} rows, not the {part.rows} of the manifest", place=path)

    def _chunks(self, path: str) -> Iterator[bytes]:
        part = self.parts.get(path)
        if part is None:
            raise BadInput("a part is missing", place=path)
        yield from self._read(part, lambda opened: opened.read(_CHUNK))

    def _read(self, part: ArchivePart, read: Callable[[IO[bytes]], bytes]) -> Iterator[bytes]:
        """The content of a part, piece by piece. Raises where it is not what the manifest says, at the latest at its
        end: who writes down what comes out does so in a transaction."""
        digest, size = sha256(), 0
        with _damage(part.path):
            info = self._zip.getinfo(part.path)
            if info.file_size > max(_SMALL_BYTES, info.compress_size * _LIMIT_RATIO):
                raise TooLarge("the part unpacks to far more than an archive holds", place=part.path)
            opened = self._zip.open(info)
        with opened:
            while True:
                with _damage(part.path):
                    piece = read(opened)
                if not piece:
                    break
                digest.update(piece)
                size += len(piece)
                if size > part.size_bytes:
                    break
                yield piece
        if (size, digest.hexdigest()) != (part.size_bytes, part.sha256):
            raise BadInput("the part is damaged: it is not what the manifest says", place=part.path)


def whose_is(archived: ArchivedPatient | ArchivedSubject) -> Subject:
    return subject_of(archived.id) if isinstance(archived, ArchivedPatient) else Subject(archived.scope, archived.id)


@contextmanager
def _damage(path: str) -> Iterator[None]:
    try:
        yield
    except BadInput:
        raise
    except _DAMAGED as error:
        raise BadInput(f"the archive is damaged: {type(error).__name__}", place=path or "archive") from None

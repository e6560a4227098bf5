"""How do patients become one file, and how does the file come in again? A ZIP of lines and bytes, with a manifest.

    patients/000001/patient.json         who it is, its counters, its data key
    patients/000001/<table>.ndjson       a row a line (`moving`); a table without rows has no file
    patients/000001/documents/<id>.<x>   the bytes of each document exactly as received
    entries.ndjson                       knowledge of organizations, operators and agents (workspace only)
    manifest.json                        what this is, and the SHA-256, size and rows of every file before it

Written and read in pages: memory does not grow with the archive. Taken in only after every byte of it was checked, each
patient in one transaction; a patient that is held already is left as it is. The manifest guards against damage, not
against whoever can write the file: an archive holds everything in the clear, and the key of its patients.
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

from iamata.errors import BadInput, Conflict, TooLarge
from iamata.model.archive import (
    ARCHIVE_FORMAT,
    ARCHIVE_VERSION,
    ArchivedPatient,
    ArchiveKind,
    ArchivePart,
    Manifest,
    Moved,
)
from iamata.model.document import IngestionStatus
from iamata.model.scope import patient as subject_of
from iamata.ports import KeyStore
from iamata.store import codec
from iamata.store.database import Database, Transaction
from iamata.store.moving import OF_READERS, PAGE, TABLES, Table, bound, lines_of, pages, row_of
from iamata.store.sealing import Sealer, key_check

MANIFEST: Final = "manifest.json"
ENTRIES: Final = "entries.ndjson"
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
_ENTRY_KEY: Final = (("scope", ""), ("subject", ""), ("id", ""), ("version", -1))
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


class _EntryPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    scope: str
    subject: str
    id: str
    version: int
    kind: str
    body: msgspec.Raw


_patients: Final = msgspec.json.Decoder(_PatientPart)
_entries: Final = msgspec.json.Decoder(_EntryPart)
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
    if kind is ArchiveKind.WORKSPACE:
        with database.reading() as tx:
            writing.part(ENTRIES, (_entry_line(row) for page in pages(tx, "entries", _ENTRY_KEY) for row in page))
    manifest = Manifest(
        format=ARCHIVE_FORMAT,
        version=ARCHIVE_VERSION,
        kind=kind,
        made_at=now,
        patients=tuple(archived),
        parts=tuple(writing.parts),
    )
    writing.end(manifest)
    return manifest


def _entry_line(row: tuple[Any, ...]) -> bytes:
    scope, subject, id, version, kind, body = row
    part = _EntryPart(scope=scope, subject=subject, id=id, version=version, kind=kind, body=msgspec.Raw(body.encode()))
    return msgspec.json.encode(part) + b"\n"


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
        named: list[tuple[str, str]] = []
        for table in TABLES:
            lines = lines_of(tx, sealer, patient, table)
            if table.name == "documents":
                lines = _noting(lines, sealer, named)
            writing.part(f"{folder}/{table.name}.ndjson", (line for _row, line in lines))
        for document, ending in named:
            body = sealer.open(
                "document_bodies", document, tx.rows("document_body", patient=patient, id=document)[0][0]
            )
            writing.part(f"{folder}/documents/{document}{ending}", [body], rows=False)
    return True


def _noting(
    lines: Iterator[tuple[dict[str, Any], bytes]], sealer: Sealer, named: list[tuple[str, str]]
) -> Iterator[tuple[dict[str, Any], bytes]]:
    """The same lines; `named` gets each document and the ending of its file."""
    for row, line in lines:
        head = codec.documents.decode(sealer.open("documents", row["id"], row["head"]))
        subtype = head.media_type.partition(";")[0].rpartition("/")[2].rpartition("+")[2].strip().lower()
        named.append((row["id"], _ENDINGS.get(subtype, ".bin")))
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
        left = set(self.parts) - {ENTRIES}
        for archived in self.manifest.patients:
            head = self.patient(archived)
            left.discard(f"{archived.folder}/patient.json")
            documents = set()
            for table in TABLES:
                for row, _contents in self.rows(archived, table):
                    if table.name == "documents":
                        documents.add(row["id"])
                left.discard(f"{archived.folder}/{table.name}.ndjson")
            for document in sorted(documents):
                path = self.path_of(archived, document)
                for _chunk in self._chunks(path):
                    pass
                left.discard(path)
            if head.sequence < 0 or head.version < 0:
                raise BadInput("a counter is below zero", place=f"{archived.folder}/patient.json")
        for _entry in self.entries():
            pass
        if left:
            raise BadInput("this part belongs to no patient", place=min(left))

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

    def path_of(self, archived: ArchivedPatient, document: str) -> str:
        """The path of a document's bytes. Raises BadInput if there is none."""
        beginning = f"{archived.folder}/documents/{document}"
        for ending in (".bin", *_ENDINGS.values()):
            if beginning + ending in self.parts:
                return beginning + ending
        raise BadInput("a part is missing", place=beginning)

    def body(self, path: str) -> bytes:
        return b"".join(self._chunks(path))

    def rows(self, archived: ArchivedPatient, table: Table) -> Iterator[tuple[dict[str, Any], dict[str, bytes]]]:
        """The rows of a table, checked; none if it has no part."""
        path = f"{archived.folder}/{table.name}.ndjson"
        for number, line in enumerate(self._lines(path), start=1):
            yield row_of(table, archived.id, line, f"{path}, row {number}")

    def entries(self) -> Iterator[_EntryPart]:
        for number, line in enumerate(self._lines(ENTRIES), start=1):
            place = f"{ENTRIES}, row {number}"
            try:
                part = _entries.decode(line)
                entry = codec.entries.decode(bytes(part.body))
            except (msgspec.MsgspecError, ValueError) as error:
                raise BadInput("an entry cannot be read", place=place) from error
            stated = (part.scope, part.subject, part.id, part.version, part.kind)
            if stated != (entry.subject.scope, entry.subject.id, entry.id, entry.version, entry.kind):
                raise BadInput("an entry is not the one that its row names", place=place)
            yield part

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


@contextmanager
def _damage(path: str) -> Iterator[None]:
    try:
        yield
    except BadInput:
        raise
    except _DAMAGED as error:
        raise BadInput(f"the archive is damaged: {type(error).__name__}", place=path or "archive") from None


def take_in(
    database: Database,
    keys: KeyStore,
    random_bytes: RandomBytes,
    archive: Archive,
    now: datetime,
    *,
    even_erased: bool = False,
) -> Moved:
    """Take in what a checked archive holds. Raises Conflict, before anything is written, if a patient is here and lacks
    something of it, has another key, or was erased here (but with `even_erased`), or an entry differs. Each patient
    becomes durable whole; after a crash, taking it in again goes on with those that are missing."""
    new: list[ArchivedPatient] = []
    here: list[ArchivedPatient] = []
    for archived in archive.manifest.patients:
        held = _held_already(database, keys, random_bytes, archive, archived, even_erased)
        (here if held else new).append(archived)
    entries = _check_entries(database, archive)
    for archived in new:
        _take_in_patient(database, keys, random_bytes, archive, archived, now)
    if entries:
        with database.writing() as tx:
            for part in archive.entries():
                tx.run(
                    "insert_entry",
                    scope=part.scope,
                    subject=part.subject,
                    id=part.id,
                    version=part.version,
                    kind=part.kind,
                    body=bytes(part.body).decode(),
                )
    return Moved(patients=tuple(a.id for a in new), here_already=tuple(a.id for a in here), entries=entries)


def _held_already(
    database: Database,
    keys: KeyStore,
    random_bytes: RandomBytes,
    archive: Archive,
    archived: ArchivedPatient,
    even_erased: bool,
) -> bool:
    patient, key = archived.id, bytes.fromhex(archive.patient(archived).key)
    sealer = Sealer(patient, key, random_bytes)
    if keys.get(patient) not in (None, key):
        raise Conflict(f"patient {patient!r} is here under another key: nothing was taken in")
    with database.reading() as tx:
        if not tx.rows("patient", patient=patient):
            if not even_erased and erased_here(tx, sealer, patient):
                raise Conflict(f"patient {patient!r} was erased here: it is taken in only if that is asked for")
            return False
        for table in TABLES:
            if table.name in OF_READERS:
                continue
            names = [column for column, _first in table.key]
            held = {tuple(row[name] for name in names) for row, _line in lines_of(tx, sealer, patient, table)}
            for row, _contents in archive.rows(archived, table):
                if tuple(row[name] for name in names) not in held:
                    raise Conflict(f"patient {patient!r} is here and holds something else: nothing was taken in")
    return True


def erased_here(tx: Transaction, sealer: Sealer, patient: str) -> bool:
    """Was the patient with this very key erased in this store?"""
    return bool(tx.rows("tombstone", mark=sealer.mark("tombstone", patient)))


def _check_entries(database: Database, archive: Archive) -> int:
    """How many entries are new here."""
    new = 0
    with database.reading() as tx:
        for part in archive.entries():
            held = tx.rows("entry", scope=part.scope, subject=part.subject, id=part.id, version=part.version)
            if held and held[0][0].encode() != bytes(part.body):
                raise Conflict(f"version {part.version} of entry {part.id!r} is here and says something else")
            new += not held
    return new


def _take_in_patient(
    database: Database,
    keys: KeyStore,
    random_bytes: RandomBytes,
    archive: Archive,
    archived: ArchivedPatient,
    now: datetime,
) -> None:
    head, patient = archive.patient(archived), archived.id
    key = bytes.fromhex(head.key)
    had_key = keys.get(patient) is not None
    keys.put(patient, key)
    sealer = Sealer(patient, key, random_bytes)
    try:
        with database.writing() as tx:
            counters = msgspec.structs.asdict(head) | {"key_check": key_check(key)}
            row = {name: counters[name] for name in ("created_at", "updated_at", "version", "sequence", "key_check")}
            if not tx.run("move_in_patient", patient=patient, **row):
                raise Conflict(f"patient {patient!r} was registered while the archive was taken in")
            for table in TABLES:
                _take_in_table(tx, sealer, archive, archived, table, now)
            if keys.get(patient) != key:
                raise Conflict(f"patient {patient!r} was erased while the archive was taken in")
    except BaseException:
        if not had_key:
            keys.destroy(patient)
        raise


def _take_in_table(
    tx: Transaction, sealer: Sealer, archive: Archive, archived: ArchivedPatient, table: Table, now: datetime
) -> None:
    patient, waiting = archived.id, []
    rows: list[dict[str, Any]] = []

    def put() -> None:
        if rows:
            tx.many(f"move_in_{table.name}", rows)
            rows.clear()

    for row, contents in archive.rows(archived, table):
        values = bound(table, sealer, patient, row, contents)
        if table.name == "documents":
            body = archive.body(archive.path_of(archived, row["id"]))
            tx.run("insert_document", **values, body=sealer.seal("document_bodies", row["id"], body))
            continue
        rows.append(values)
        if table.name == "receipts" and row["status"] == IngestionStatus.PENDING.value:
            waiting.append((row["sequence"], row["id"]))
        if len(rows) >= PAGE:
            put()
    put()
    for sequence, ingestion in sorted(waiting):
        tx.run("insert_work", patient=patient, sequence=sequence, ingestion=ingestion, now=codec.text_of(now))

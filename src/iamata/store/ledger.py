"""What was erased, so that it stays so? A ledger of signed receipts in the database and in a file apart from it.

An entry holds keyed hashes (under a key of the key store) and counts: whoever has the ledger without that key can guess
nothing. It stands in the database, and in a file that a restored backup of the database or of the key store does not
bring back to an older state: what the file has and the database lacks is erased again when the store is opened. The
file is appended to and made durable before an erasure is committed, so that one that was cut off is finished then too.
Not promised: anything where database, key store and file are all restored to before the erasure.
"""

from __future__ import annotations

import os
import threading
from datetime import datetime
from hashlib import blake2b
from pathlib import Path

import msgspec

from iamata.errors import Unavailable
from iamata.model.erasure import Erasure
from iamata.model.identifiers import canonical_bytes
from iamata.store.codec import text_of
from iamata.store.database import Database, Transaction
from iamata.store.proving import Signer, is_signed
from iamata.store.sealing import derive

_entries = msgspec.json.Decoder(Erasure)


class Marks:
    """Keyed hashes of an installation: the same thing has the same mark, and only under its (audit) key."""

    def __init__(self, key: bytes) -> None:
        self._key = derive(key, b"erasures")

    def of(self, *parts: str) -> str:
        """32 hex digits."""
        mac = blake2b(key=self._key, digest_size=16)
        for part in parts:
            raw = part.encode("utf-8", "surrogatepass")
            mac.update(len(raw).to_bytes(8, "big"))
            mac.update(raw)
        return mac.hexdigest()

    def person(self, patient: str) -> str:
        """Of a patient's id, whoever is registered under it."""
        return self.of("person", patient)

    def registration(self, patient: str, created_at: str, key_check: bytes) -> str:
        """Of a patient as registered at one time: registered again it is another one."""
        return self.of("registration", patient, created_at, bytes(key_check).hex())

    def item(self, registration: str, kind: str, id: str) -> str:
        return self.of("item", registration, kind, id)


class Ledger:
    """The ledger over one database and one file (None: in the database only), under the installation's audit key.
    Thread-safe."""

    def __init__(self, database: Database, key: bytes, signer: Signer, file: Path | None) -> None:
        self.marks = Marks(key)
        self._database = database
        self._signer = signer
        self._file = file
        self._lock = threading.Lock()

    def signed(self, entry: Erasure) -> Erasure:
        bare = msgspec.structs.replace(entry, key=self._signer.public, signature="")
        return msgspec.structs.replace(bare, signature=self._signer.sign(_signed_bytes(bare)))

    def write(self, tx: Transaction, entry: Erasure, finished_at: str) -> None:
        """Into the database, within the transaction, and then into the file: durable when this returns."""
        tx.run(
            "insert_erasure",
            id=entry.id,
            at=text_of(entry.at),
            mark=entry.mark,
            allows=entry.allows,
            body=msgspec.json.encode(entry).decode(),
            finished_at=finished_at,
        )
        self._append([entry])

    def record(self, tx: Transaction, entry: Erasure) -> None:
        """An entry of the file whose work is done in this database."""
        tx.run(
            "insert_erasure",
            id=entry.id,
            at=text_of(entry.at),
            mark=entry.mark,
            allows=entry.allows,
            body=msgspec.json.encode(entry).decode(),
            finished_at=text_of(entry.at),
        )
        tx.run("finish_erasure", id=entry.id, now=text_of(entry.at))

    def finish(self, id: str, now: datetime) -> None:
        with self._database.writing() as tx:
            tx.run("finish_erasure", id=id, now=text_of(now))

    def standing(self, mark: str) -> Erasure | None:
        """The latest erasure of this after which nobody allowed it again."""
        with self._database.reading() as tx:
            rows = tx.rows("erasure_of", mark=mark)
        return _entries.decode(rows[0][1]) if rows else None

    def all_standing(self, tx: Transaction, mark: str) -> list[Erasure]:
        return [_entries.decode(body) for _id, body in tx.rows("erasure_of", mark=mark)]

    def page(self, offset: int, limit: int) -> tuple[list[Erasure], int]:
        """Newest first, and how many there are."""
        with self._database.reading() as tx:
            rows = tx.rows("erasure_page", offset=offset, limit=limit)
            count = int(tx.rows("count_erasures")[0][0])
        return [_entries.decode(body) for (body,) in rows], count

    def to_replay(self) -> list[Erasure]:
        """The entries whose work is not known to be done in this database, the earliest first: those of the file that
        it lacks, and its own that were cut off. What the file lacks is written into it."""
        with self._database.reading() as tx:
            held = tx.rows("every_erasure")
        lines = set(self._lines())
        known = {body.encode() for _id, body, _done in held}
        ids = {id for id, _body, _done in held}
        self._append([_entries.decode(body) for body in sorted(known - lines)])
        # Only what the database does not have word for word is decoded and verified: mostly nothing.
        missing = [entry for line in lines - known if (entry := self._ours(line)) is not None and entry.id not in ids]
        unfinished = [_entries.decode(body) for _id, body, done in held if not done]
        return sorted([*missing, *unfinished], key=lambda entry: (entry.at, entry.id))

    def _lines(self) -> list[bytes]:
        if self._file is None or not self._file.exists():
            return []
        try:
            return [line for line in self._file.read_bytes().split(b"\n") if line]
        except OSError as error:
            raise Unavailable(f"the ledger of erasures {self._file} cannot be read: {error.strerror}") from error

    def _ours(self, line: bytes) -> Erasure | None:
        """The entry of a line, if this installation signed it; one that was cut off while it was written is none."""
        try:
            entry = _entries.decode(line)
        except msgspec.MsgspecError:
            return None
        return entry if entry.key == self._signer.public and is_ours(entry) else None

    def _append(self, entries: list[Erasure]) -> None:
        if self._file is None or not entries:
            return
        text = b"".join(b"\n" + msgspec.json.encode(entry) for entry in entries) + b"\n"
        try:
            with self._lock:
                descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                try:
                    os.write(descriptor, text)
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
        except OSError as error:
            raise Unavailable(f"the ledger of erasures {self._file} cannot be written: {error.strerror}") from error


def is_ours(entry: Erasure) -> bool:
    """Does the signature of this receipt belong to the key that it names?"""
    return is_signed(_signed_bytes(msgspec.structs.replace(entry, signature="")), entry.signature, entry.key)


def _signed_bytes(entry: Erasure) -> bytes:
    return b"iamata erasure\0" + canonical_bytes(entry)

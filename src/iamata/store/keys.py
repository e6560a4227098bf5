"""Where are the patients' data keys? In a folder of files, or in memory. Does not know what is sealed under them.

A key store is kept and saved apart from the database: without it the database cannot be read, and destroying a key
erases all that was sealed under it, in backups too.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Final

from iamata.errors import Conflict, Unavailable

KEY_BYTES: Final = 32


class MemoryKeyStore:
    """Keys that end with the process: for tests and `:memory:`. Thread-safe."""

    def __init__(self, random_bytes: Callable[[int], bytes] = os.urandom) -> None:
        self._random_bytes = random_bytes
        self._keys: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def get_or_create(self, patient: str) -> bytes:
        with self._lock:
            if patient not in self._keys:
                self._keys[patient] = self._random_bytes(KEY_BYTES)
            return self._keys[patient]

    def get(self, patient: str) -> bytes | None:
        return self._keys.get(patient)

    def put(self, patient: str, key: bytes) -> None:
        _check(key)
        with self._lock:
            if self._keys.setdefault(patient, key) != key:
                raise Conflict("this patient has another data key")

    def destroy(self, patient: str) -> None:
        with self._lock:
            self._keys.pop(patient, None)


class FileKeyStore:
    """One file for each key, in a folder of mode 0700 (files 0600). Safe under several threads and processes.

    A file is named by the hash of the patient id and holds 32 bytes. It is written whole under another name and then
    linked into place, which fails if another process came first: then that one's key counts. Nothing is cached, so a
    key that another process destroyed is gone at once. Not promised: that a disk forgets what was overwritten (flash
    and copy-on-write file systems may not); keep the folder on an encrypted volume.
    """

    def __init__(self, path: str | Path, random_bytes: Callable[[int], bytes] = os.urandom) -> None:
        self.path = Path(path)
        self._random_bytes = random_bytes
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            # A process that died while it destroyed or wrote a key may have left one under a passing name.
            for left in self.path.glob("*.dead"):
                _wipe(left)
        except OSError as error:
            raise Unavailable(f"the key store {self.path} cannot be used: {error.strerror}") from error

    def get_or_create(self, patient: str) -> bytes:
        key = self.get(patient)
        if key is None:
            self._link(patient, self._random_bytes(KEY_BYTES))
            key = self.get(patient)
        if key is None:
            raise Unavailable("the data key was destroyed while it was made; try again")
        return key

    def get(self, patient: str) -> bytes | None:
        try:
            key = self._file(patient).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Unavailable(f"the key store {self.path} cannot be read: {error.strerror}") from error
        if len(key) != KEY_BYTES:
            raise Unavailable("a data key is damaged: it does not have 32 bytes")
        return key

    def put(self, patient: str, key: bytes) -> None:
        _check(key)
        if self.get(patient) is None:
            self._link(patient, key)
        if self.get(patient) != key:
            raise Conflict("this patient has another data key")

    def destroy(self, patient: str) -> None:
        file = self._file(patient)
        # Renamed first: a reader finds the whole key or none, never one that is half overwritten.
        dead = file.with_name(f"{file.stem}.{self._random_bytes(8).hex()}.dead")
        try:
            file.rename(dead)
            _sync_folder(file.parent)
            _wipe(dead)
        except FileNotFoundError:
            return
        except OSError as error:
            raise Unavailable(f"the key store {self.path} cannot be written: {error.strerror}") from error

    def _file(self, patient: str) -> Path:
        return self.path / f"{sha256(patient.encode()).hexdigest()}.key"

    def _link(self, patient: str, key: bytes) -> None:
        file = self._file(patient)
        passing = file.with_name(f"{file.stem}.{self._random_bytes(8).hex()}.new")
        try:
            descriptor = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                os.write(descriptor, key)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            try:
                file.hardlink_to(passing)
                _sync_folder(file.parent)
            except FileExistsError:
                pass  # another process came first
            finally:
                passing.unlink()
        except OSError as error:
            raise Unavailable(f"the key store {self.path} cannot be written: {error.strerror}") from error


def _check(key: bytes) -> None:
    if len(key) != KEY_BYTES:
        raise Conflict(f"a data key has {KEY_BYTES} bytes")


def _wipe(file: Path) -> None:
    """Overwrite and remove; fine if another process does the same."""
    try:
        with file.open("r+b") as open_file:
            open_file.write(bytes(KEY_BYTES))
            open_file.flush()
            os.fsync(open_file.fileno())
        file.unlink()
    except FileNotFoundError:
        return
    _sync_folder(file.parent)


def _sync_folder(folder: Path) -> None:
    """Make names durable. Windows cannot open a folder, and does not need it."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

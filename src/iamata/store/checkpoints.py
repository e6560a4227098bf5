"""Which signed checkpoint of the audit log was the last? One file apart from the database, replaced whole.

What was cut off from the log in the database, with its head or a whole chain, then shows though nobody kept a
checkpoint. When one is due, and whether it may take the place of the last, is for `auditing`. Not promised: anything
where somebody can also write or remove this file; copies that were exported elsewhere are for that.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from iamata.errors import Unavailable
from iamata.model.audit import Checkpoint
from iamata.store.proving import read_checkpoint


class KeptCheckpoint:
    """The newest checkpoint, in a file of mode 0600."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self) -> Checkpoint | None:
        """None if none was kept yet. Raises BadInput if it is damaged, Unavailable if it cannot be read."""
        try:
            return read_checkpoint(self._file.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Unavailable(f"the checkpoint {self._file} cannot be read: {error.strerror}") from error

    def write(self, checkpoint: Checkpoint) -> None:
        """Durable, and whole: a reader finds the last one or this one. Raises Unavailable."""
        passing = self._file.with_name(f"{self._file.name}.{os.getpid()}.new")
        try:
            descriptor = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                os.write(descriptor, msgspec.json.encode(checkpoint))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            passing.replace(self._file)
        except OSError as error:
            raise Unavailable(f"the checkpoint {self._file} cannot be written: {error.strerror}") from error

"""Which files does an archive hold? ZIP, tar and gzip are opened within bounds; everything else is a file as it is.

An archive inside an archive is not opened. Names are only shown, never used as paths. What is measured is what comes
out, not what the archive says of itself. Not here: what the files are.
"""

from __future__ import annotations

import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from iamata.connectors.text.docx import is_docx
from iamata.errors import BadInput, TooLarge

LIMIT_BYTES: Final = 2_000_000_000
LIMIT_FILES: Final = 10_000
# A text of FHIR shrinks to about a tenth; DEFLATE can do 1,032 to 1 (RFC 1951), which only a bomb does.
LIMIT_RATIO: Final = 200
# Below this size no ratio is looked at.
_SMALL: Final = 10_000_000
_CHUNK: Final = 1 << 20

_ZIP = b"PK\x03\x04"
_GZIP = b"\x1f\x8b"
# What the standard library raises for bytes that are no sound archive: its own errors, and those of its parsing.
_DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    ValueError,
    struct.error,
    LookupError,
)
_TAR = b"ustar"
_TAR_MAGIC_AT = 257


def is_archive(body: bytes) -> bool:
    """Is it a ZIP, gzip or tar file, by its first bytes? A DOCX document is a ZIP file and no archive."""
    if is_docx(body):
        return False
    return body.startswith((_ZIP, _GZIP)) or body[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == _TAR


def opened(
    files: Iterable[tuple[str, bytes]],
    *,
    limit_bytes: int = LIMIT_BYTES,
    limit_files: int = LIMIT_FILES,
    limit_ratio: int = LIMIT_RATIO,
) -> Iterator[tuple[str, bytes]]:
    """The files, each archive among them replaced by the files it holds, in its order, named `archive/inner`.

    Directories, links, sparse files and hidden files (`.x`, `__MACOSX`) of an archive are passed over. Raises TooLarge
    when more than `limit_bytes` come out, or more than `limit_files` files, or more than `limit_ratio` bytes for each
    byte of an archive; BadInput, with the archive's name as place, for one that is damaged or encrypted.
    """
    budget = _Budget(limit_bytes, limit_files)
    for name, body in files:
        if not is_archive(body):
            budget.file(name)
            budget.take(len(body), name)
            yield name, body
            continue
        bound = max(_SMALL, len(body) * limit_ratio)
        try:
            yield from _inner(name, body, _Bound(budget, bound, name))
        except _DAMAGED as error:
            raise BadInput(f"the archive cannot be opened: {type(error).__name__}", place=name) from None
        except (NotImplementedError, RuntimeError):
            raise BadInput("the archive is encrypted, or compressed in a way that is not known", place=name) from None


class _Stream(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class _Budget:
    """What may still come out of all archives together."""

    def __init__(self, limit_bytes: int, limit_files: int) -> None:
        self._bytes, self._files = limit_bytes, limit_files
        self._limit_bytes, self._limit_files = limit_bytes, limit_files

    def file(self, name: str) -> None:
        self._files -= 1
        if self._files < 0:
            raise TooLarge(f"there are more than the {self._limit_files} files allowed", place=name)

    def take(self, count: int, name: str) -> None:
        self._bytes -= count
        if self._bytes < 0:
            raise TooLarge(f"the files have more than the {self._limit_bytes} bytes allowed", place=name)


class _Bound:
    """What may come out of one archive, within the budget of all."""

    def __init__(self, budget: _Budget, limit: int, name: str) -> None:
        self._budget, self._left, self._name = budget, limit, name

    def file(self) -> None:
        self._budget.file(self._name)

    def read(self, stream: _Stream) -> bytes:
        """All of a stream; raises TooLarge as soon as it is more than what is left."""
        parts = []
        while chunk := stream.read(_CHUNK):
            self._left -= len(chunk)
            if self._left < 0:
                raise TooLarge("the archive holds far more than its size allows", place=self._name)
            self._budget.take(len(chunk), self._name)
            parts.append(chunk)
        return b"".join(parts)


def _inner(name: str, body: bytes, bound: _Bound) -> Iterator[tuple[str, bytes]]:
    if body.startswith(_ZIP):
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            for entry in archive.infolist():
                bound.file()
                if not entry.is_dir() and not _hidden(entry.filename):
                    with archive.open(entry) as stream:
                        yield f"{name}/{entry.filename}", bound.read(stream)
    elif body.startswith(_GZIP):
        yield from _gzip(name, body, bound)
    else:
        bound.read(io.BytesIO(body))
        yield from _tar(name, body, bound)


def _gzip(name: str, body: bytes, bound: _Bound) -> Iterator[tuple[str, bytes]]:
    """A tar inside a gzip file is opened too: together they are one archive, measured once."""
    with gzip.GzipFile(fileobj=io.BytesIO(body)) as stream:
        unpacked = bound.read(stream)
    if unpacked[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == _TAR:
        yield from _tar(name, unpacked, bound)
    else:
        bound.file()
        yield name.removesuffix(".gz"), unpacked


def _tar(name: str, body: bytes, bound: _Bound) -> Iterator[tuple[str, bytes]]:
    """A tar holds its files as they are: what it is made of has been measured."""
    with tarfile.open(fileobj=io.BytesIO(body), mode="r:") as archive:
        for entry in archive:
            bound.file()
            held = (
                archive.extractfile(entry)
                if entry.isreg() and not entry.issparse() and not _hidden(entry.name)
                else None
            )
            if held is not None:
                yield f"{name}/{entry.name}", held.read()


def _hidden(name: str) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in name.split("/"))

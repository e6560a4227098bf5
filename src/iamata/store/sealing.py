"""How does a body become unreadable without its patient's key? Compress, seal, bind to its row. Keeps no key.

A sealed body is a nonce of 12 bytes and an AES-256-GCM text. Inside stands one byte (0: as is, 1: deflated) and the
content. Associated data are patient, table and id: a body that was moved to another row does not open.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from hashlib import blake2b
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from iamata.errors import Unavailable

_NONCE_BYTES: Final = 12
# Below this many bytes deflating costs more time than it saves space.
_DEFLATE_FROM_BYTES: Final = 256
# Level 1: on FHIR JSON three times as fast as level 6, for a body a tenth larger.
_LEVEL: Final = 1
_AS_IS, _DEFLATED = b"\0", b"\1"


class Unreadable(Unavailable):
    """A sealed body does not open: it was changed, moved to another row, or sealed under another key."""


def derive(key: bytes, purpose: bytes) -> bytes:
    """32 bytes for one purpose (HKDF-SHA256, RFC 5869). Ids have their own derivation (`model.identifiers`)."""
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=b"iamata/1/" + purpose).derive(key)


def key_check(key: bytes) -> bytes:
    """Eight bytes that tell this key from another and say nothing else of it."""
    return derive(key, b"check")[:8]


class Sealer:
    """Seals and opens the bodies of one patient under its data key."""

    def __init__(self, patient: str, key: bytes, random_bytes: Callable[[int], bytes]) -> None:
        self._patient = patient.encode() + b"\0"
        self._aead = AESGCM(derive(key, b"bodies"))
        self._marks = derive(key, b"marks")
        self._random_bytes = random_bytes

    def seal(self, table: str, id: str, body: bytes) -> bytes:
        """A different text each time, even for the same body."""
        if len(body) >= _DEFLATE_FROM_BYTES:
            inner = _DEFLATED + zlib.compress(body, _LEVEL)
        else:
            inner = _AS_IS + body
        nonce = self._random_bytes(_NONCE_BYTES)
        return nonce + self._aead.encrypt(nonce, inner, self._row(table, id))

    def open(self, table: str, id: str, sealed: bytes) -> bytes:
        """The body as it was given to `seal`. Raises Unreadable, with the table and the id."""
        try:
            inner = self._aead.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], self._row(table, id))
            return zlib.decompress(inner[1:]) if inner[:1] == _DEFLATED else inner[1:]
        except (InvalidTag, ValueError, zlib.error) as error:
            raise Unreadable(f"the body of {table} {id} does not open under its patient's key") from error

    def mark(self, *parts: str) -> str:
        """A keyed hash of length-prefixed parts, 32 hex digits: the same parts have the same mark, and only under
        this key."""
        mac = blake2b(key=self._marks, digest_size=16)
        for part in parts:
            raw = part.encode()
            mac.update(len(raw).to_bytes(8, "big"))
            mac.update(raw)
        return mac.hexdigest()

    def _row(self, table: str, id: str) -> bytes:
        return self._patient + table.encode() + b"\0" + id.encode()

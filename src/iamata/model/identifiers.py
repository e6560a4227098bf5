"""How are ids made? From content under a patient's key, so that a repeat is harmless."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from hashlib import blake2b, sha256
from typing import Final

import msgspec

# 100 bits: a collision among a billion items of one patient has a chance below one in 10^12.
_ID_BYTES: Final = 13
_ID_CHARS: Final = 20

_canonical = msgspec.json.Encoder(order="sorted", decimal_format="number")


def canonical_bytes(value: object) -> bytes:
    """The one JSON form of a value: keys sorted, no blanks, numbers with the digits they came with."""
    return _canonical.encode(value)


def content_digest(*parts: bytes | str) -> str:
    """SHA-256 over length-prefixed parts, in hex. Not keyed: kept only inside sealed bodies and hashes of many."""
    digest = sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return digest.hexdigest()


class IdMint:
    """Makes the ids of one patient's items under one key.

    An id is `prefix_` and 20 characters of base32, a BLAKE2b-MAC over length-prefixed parts. The same parts give the
    same id for ever; without the key, which is destroyed with the patient, an id says nothing.
    """

    def __init__(self, key: bytes) -> None:
        self._key = blake2b(key, digest_size=32, person=b"iamata-ids").digest()

    def id(self, prefix: str, parts: Iterable[bytes | str]) -> str:
        mac = blake2b(key=self._key, digest_size=_ID_BYTES, person=prefix.encode().ljust(16, b"\0")[:16])
        for part in parts:
            raw = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
            mac.update(len(raw).to_bytes(8, "big"))
            mac.update(raw)
        return f"{prefix}_{base64.b32encode(mac.digest()).decode().lower()[:_ID_CHARS]}"

    def mark(self, text: str) -> bytes:
        """Ten bytes that stand for words, and say nothing without the key."""
        return blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=10, person=b"shown").digest()

    def statement(self, source: str, record: str, part: str, item: bytes) -> str:
        """Source + the record's own identity there + the canonical bytes of the item: never document or place."""
        return self.id("st", (source, record, part, item))

    def passage(self, source: str, record: str, part: str, text: str) -> str:
        return self.id("np", (source, record, part, text))

    def document(self, source: str, media_type: str, body: bytes) -> str:
        return self.id("en", (source, media_type, sha256(body).digest()))

    def message(self, session: str, index: int, speaker: str, text: str) -> str:
        return self.id("ms", (session, str(index), speaker, text))

    def memory(self, message: str, start: int, end: int, kind: str, concept: str) -> str:
        """Message, span, kind, concept: whichever extractor finds it, it is one memory."""
        return self.id("lm", (message, str(start), str(end), kind, concept))

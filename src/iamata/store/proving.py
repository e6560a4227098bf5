"""How does somebody without the installation's key see that an audit log is whole? Hashes, signatures, exported lines.

A record's hash is SHA-256 over the one before it, its number, its writer and its bytes, so anybody can follow a chain.
What nobody can do without the key is end one: heads are keyed in the database (`auditing`), and a checkpoint signs the
ends of all chains (Ed25519, RFC 8032). An exported log is one JSON line a record and a last line with a checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from iamata.errors import BadInput
from iamata.model.audit import AuditRecord, Checkpoint, Head
from iamata.model.identifiers import canonical_bytes
from iamata.store.sealing import derive

FIRST = b""


def record_hash(writer: str, sequence: int, previous: bytes, body: bytes) -> bytes:
    """The hash of a record; `previous` is that of the one before it (empty for the first)."""
    name = writer.encode()
    return sha256(
        b"iamata audit record\0%d\0%b%b%b" % (len(name), name, sequence.to_bytes(8, "big"), previous.ljust(32, b"\0"))
        + body
    ).digest()


class Signer:
    """Signs on behalf of an installation, under a key that is derived from its audit key."""

    def __init__(self, key: bytes) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(derive(key, b"signatures"))
        self.public = self._private.public_key().public_bytes_raw().hex()

    def sign(self, what: bytes) -> str:
        """The signature in hex, 128 digits."""
        return self._private.sign(what).hex()

    def checkpoint(self, heads: Iterable[Head], now: datetime) -> Checkpoint:
        """The heads by writer, signed."""
        bare = Checkpoint(at=now, heads=tuple(sorted(heads)), key=self.public)
        return msgspec.structs.replace(bare, signature=self.sign(signed_bytes(bare)))


def signed_bytes(of: Checkpoint) -> bytes:
    """What the signature of a checkpoint covers."""
    return b"iamata checkpoint\0" + canonical_bytes(msgspec.structs.replace(of, signature=""))


def is_signed(what: bytes, signature: str, key: str) -> bool:
    """Was this signed by the holder of this public key? False for whatever is no key or signature at all."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(bytes.fromhex(signature), what)
    except (InvalidSignature, ValueError):
        return False
    return True


class _Line(msgspec.Struct):
    writer: str = ""
    sequence: int = 0
    hash: str = ""
    record: msgspec.Raw = msgspec.Raw()
    checkpoint: Checkpoint | None = None


_lines = msgspec.json.Decoder(_Line)
_checkpoints = msgspec.json.Decoder(Checkpoint)
_records = msgspec.json.Decoder(AuditRecord)


def record_line(writer: str, sequence: int, hash: bytes, body: bytes) -> bytes:
    """One record of an exported log."""
    return msgspec.json.encode(
        {"writer": writer, "sequence": sequence, "hash": hash.hex(), "record": msgspec.Raw(body)}
    )


def checkpoint_line(of: Checkpoint) -> bytes:
    """The last line of an exported log."""
    return msgspec.json.encode({"checkpoint": of})


def read_checkpoint(text: bytes) -> Checkpoint:
    """A checkpoint that was written as JSON. Raises BadInput."""
    try:
        return _checkpoints.decode(text)
    except msgspec.MsgspecError:
        raise BadInput("this is no checkpoint of an audit log") from None


def faults(lines: Iterable[bytes], *, key: str = "", checkpoint: Checkpoint | None = None) -> Iterator[str]:
    """One line for each fault of an exported log, which needs nothing but itself and a public key.

    `key` is the key that must have signed; without one, that of `checkpoint` or of the log's own last line is taken,
    which proves only that it is whole in itself. `checkpoint` is one that was kept elsewhere. Found: a changed, missing
    or moved record, an end that was cut off, and, against a checkpoint, a chain that is missing whole. Not found: what
    was written and cut off after the last checkpoint that anybody kept.
    """
    ends: dict[str, Head] = {}
    hashes: dict[tuple[str, int], str] = {}
    wanted = {(head.writer, head.sequence) for head in checkpoint.heads} if checkpoint else set()
    keyed: set[str] = set()
    own: Checkpoint | None = None
    broken: dict[str, list[str]] = {}
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        try:
            line = _lines.decode(text)
        except msgspec.MsgspecError:
            yield f"line {number} cannot be read"
            continue
        if line.checkpoint is not None:
            own = line.checkpoint
            continue
        if own is not None:
            yield f"line {number} stands after the checkpoint that ends the log"
        end = ends.get(line.writer, Head(line.writer, 0, ""))
        found = broken.setdefault(line.writer, [])
        try:
            stored, previous = bytes.fromhex(line.hash), bytes.fromhex(end.hash)
            _records.decode(line.record)
        except (ValueError, msgspec.MsgspecError):
            yield f"line {number} cannot be read"
            continue
        if line.sequence != end.sequence + 1:
            if line.sequence > end.sequence:
                found.append(f"{line.writer}: records {end.sequence + 1} to {line.sequence - 1} are missing")
            else:
                found.append(f"{line.writer}: record {line.sequence} stands after record {end.sequence}")
        elif stored != record_hash(line.writer, line.sequence, previous, bytes(line.record)):
            found.append(f"{line.writer}: record {line.sequence} was changed or moved")
        ends[line.writer] = Head(line.writer, line.sequence, line.hash)
        if (line.writer, line.sequence) in wanted:
            hashes[line.writer, line.sequence] = line.hash
    for each in filter(None, (own, checkpoint)):
        keyed |= {head.writer for head in each.heads if head.keyed}
    for writer, found in broken.items():
        # The hashes of a keyed chain cannot be followed here; that they are as many, and end as signed, can be seen.
        yield from (fault for fault in found if writer not in keyed or "was changed" not in fault)
    if own is None:
        yield "the log does not end with a checkpoint: its last lines were cut off"
    else:
        yield from _signature_faults(own, key)
        yield from against(own, {(h.writer, h.sequence): h.hash for h in ends.values()}, ends)
        known = {head.writer for head in own.heads}
        yield from (f"{writer}: no such chain was signed" for writer in sorted(ends.keys() - known))
        yield from (
            f"{head.writer}: records after {head.sequence} were not signed"
            for head in own.heads
            if head.writer in ends and ends[head.writer].sequence > head.sequence
        )
    if checkpoint is not None:
        yield from _signature_faults(checkpoint, key or (own.key if own else ""))
        yield from against(checkpoint, hashes, ends)


def _signature_faults(of: Checkpoint, key: str) -> Iterator[str]:
    if key and of.key != key:
        yield f"the checkpoint of {of.at.isoformat()} was signed by another key"
    elif not is_signed(signed_bytes(of), of.signature, of.key):
        yield f"the signature of the checkpoint of {of.at.isoformat()} is wrong"


def against(of: Checkpoint, hashes: Mapping[tuple[str, int], str], ends: Mapping[str, Head]) -> Iterator[str]:
    """What a log lacks that this checkpoint names. `hashes` are those of its records at the signed ends, by writer and
    number, `ends` how long its chains are."""
    for head in of.heads:
        end = ends.get(head.writer)
        if end is None:
            yield f"{head.writer}: the chain is missing whole; the checkpoint has {head.sequence} records of it"
        elif end.sequence < head.sequence:
            yield f"{head.writer}: records {end.sequence + 1} to {head.sequence} were cut off after the checkpoint"
        elif hashes.get((head.writer, head.sequence)) != head.hash and end.sequence >= head.sequence:
            yield f"{head.writer}: a record up to {head.sequence} is not the one that the checkpoint signed"

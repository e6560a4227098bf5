"""Who did what, so that a change to the log shows? One chain of hashes for each writing process.

A record's hash covers the one before it, its number and its writer, so that anybody can follow an exported chain
(`proving`). The head says how long a chain is and how it ends, under a key of the key store: someone who can write to
the database but has no key cannot mend a chain. Not promised: that the removal of a whole chain *with* its head, or an
end that was cut off together with an older head, shows in the database; against a checkpoint it does.

Records are written in groups: by a thread of its own within 20 ms, at once by `flush`, or in the same commit as the
change that a record is about (`beside`): then there is neither without the other, and the disk is waited for once.
Whoever writes has its transaction first and the chain second, and holds both until the commit: so nobody waits for a
transaction with the chain in hand. The thread also signs a
checkpoint at a steady pace while records come, and at the end; it is kept apart (`checkpoints`). One that does not go
on from the last is not kept: the last stays, and says what is missing.
"""

from __future__ import annotations

import hmac
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

import msgspec

from iamata.errors import Conflict, IamataError
from iamata.model.audit import AuditRecord, Checkpoint, Head
from iamata.store import codec, proving
from iamata.store.checkpoints import KeptCheckpoint
from iamata.store.database import Bound, Database, Transaction, Transactions
from iamata.store.proving import Signer, record_hash
from iamata.store.sealing import derive

# Not a patient: patient ids begin with a letter or digit (model.scope), so no patient can have this name.
AUDIT_KEY_NAME: Final = "~audit"
_GROUP_S: Final = 0.015
_RETRY_S: Final = 0.5
_PAGE: Final = 5_000
# How much of the log may be cut off unseen, in seconds. Signing reads the end of every chain and waits for the disk:
# each second it would do so 60 times as often for a window that an attacker with the database alone can hardly use.
PACE_S: Final = 60.0


class _Row(msgspec.Struct, frozen=True):
    at: str
    subject: str
    body: bytes


class AuditLog:
    """This process's chain, and the reading of all chains. Thread-safe."""

    def __init__(
        self,
        database: Database,
        key: bytes,
        writer: str,
        *,
        kept: KeptCheckpoint | None = None,
        pace_s: float = PACE_S,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        """`kept` is where checkpoints go, every `pace_s` seconds of `ticks`; 0, or no place: none are made."""
        self._database = database
        self._key = derive(key, b"audit")
        self.signer = Signer(key)
        self._writer = writer
        self._waiting: list[_Row] = []
        self._lock = threading.Lock()  # guards _waiting and _thread
        self._chaining = threading.Lock()  # guards the chain: its groups are committed one after the other
        self._sequence = 0
        self._last = b""
        self._tried: int | None = None  # of those waiting, how many were in a commit that failed, and may be held
        self._some = threading.Event()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._kept = kept if pace_s > 0 else None
        self._pace_s = pace_s
        self._ticks = ticks
        self._kept_at = ticks()
        self._newest: datetime | None = None  # of what no checkpoint of this process covers yet

    def append(self, record: AuditRecord) -> None:
        # Encoded here, so that a record that cannot be written fails its own caller and not the whole group.
        row = _row(record)
        with self._lock:
            self._waiting.append(row)
        self._wake()

    def beside(self, record: AuditRecord | None) -> Transactions:
        """Transactions of the caller's, the first of which commits this record as its last, after all that were
        appended before: both durable or neither. With no record they are as the database gives them."""
        return self._database if record is None else _Beside(self, self._database, _row(record))

    def flush(self) -> None:
        """Everything appended so far is durable when this returns. What cannot be written waits for the next time."""
        with self._chaining, self._lock:  # whoever has taken some is done with them
            if not self._waiting:
                return
        with self.joined(None):
            pass

    @contextmanager
    def joined(self, row: _Row | None) -> Iterator[Transaction]:
        """A writing transaction that ends with what waits, and with this one. When it fails, what waited waits on, and
        this one is gone like the change that it is about."""
        with ExitStack() as chain:  # let go after the commit: what comes next goes on from what is durable
            group: list[_Row] = []
            try:
                with self._database.writing() as tx:
                    yield tx
                    chain.enter_context(self._chaining)
                    with self._lock:
                        group, self._waiting = self._waiting, []
                    if self._tried is not None:
                        group = self._not_held(tx, group, self._tried)
                    self._tried = len(group)
                    written = [*group, *([row] if row else [])]
                    sequence, last = self._write(tx, written)
            except BaseException:
                with self._lock:
                    self._waiting = group + self._waiting
                raise
            self._sequence, self._last, self._tried = sequence, last, None
            if written:
                self._newest = codec.moment_of(written[-1].at)
        if row:
            self._wake()  # a checkpoint may be due

    def close(self) -> None:
        self._closed.set()
        self._some.set()
        if self._thread is not None:
            self._thread.join()
        self.flush()
        self._keep(at_once=True)

    def records(self, subject: str | None, offset: int, limit: int) -> list[AuditRecord]:
        """Newest first, this process's own included."""
        self.flush()
        with self._database.reading() as tx:
            if subject is None:
                rows = tx.rows("audit_page", offset=offset, limit=limit)
            else:
                rows = tx.rows("audit_page_of", subject=subject, offset=offset, limit=limit)
        return [codec.audit_records.decode(body) for (body,) in rows]

    def count(self, subject: str | None) -> int:
        """How many records there are, or of this subject."""
        with self._database.reading() as tx:
            rows = tx.rows("count_audit") if subject is None else tx.rows("count_audit_of", subject=subject)
        return int(rows[0][0])

    def verify(self, checkpoint: Checkpoint | None = None) -> list[str]:
        """One line for each fault: the writer, the number of the record, and what is wrong with it. With a checkpoint
        of this installation also what is no longer as it was then; the one that was kept last is always looked at."""
        self.flush()
        with self._database.reading() as tx:
            writers = [writer for (writer,) in tx.rows("audit_writers")]
        found = [fault for writer in writers for fault in self._faults(writer)]
        try:
            kept = self._kept.read() if self._kept is not None else None
        except IamataError:
            kept = None
            found.append("the checkpoint that was kept last is damaged")
        for each in filter(None, (kept, checkpoint)):
            found += [fault for fault in self._against(each) if fault not in found]
        return found

    def _keep(self, *, at_once: bool = False) -> None:
        """Sign and keep a checkpoint, if one is due. What stands in the way is found by `verify`, and not told here."""
        if self._kept is None or self._newest is None:
            return
        if not at_once and self._ticks() - self._kept_at < self._pace_s:
            return
        now, self._newest, self._kept_at = self._newest, None, self._ticks()
        with suppress(IamataError):
            last = self._kept.read()
            if last is None or not self._against(last):
                self._kept.write(self.checkpoint(now))

    def checkpoint(self, now: datetime) -> Checkpoint:
        """All chains as they are now, signed. Raises Conflict if a head does not belong to its chain."""
        self.flush()
        with self._database.reading() as tx:
            ends = tx.rows("audit_ends")
        heads: dict[str, Head] = {}
        keyed: dict[str, bool] = {}
        for writer, length, head, sequence, body, hash in ends:
            if sequence == 1:
                keyed[writer] = hash != record_hash(writer, 1, proving.FIRST, body.encode())
            if sequence == length:
                if head != self._head(writer, sequence, hash):
                    raise Conflict("the audit log is not whole, and is not signed so: see `iamata audit verify`")
                heads[writer] = Head(writer, sequence, hash.hex(), keyed.get(writer, False))
        if len(heads) < len({writer for writer, *_ in ends}):
            raise Conflict("the audit log is not whole, and is not signed so: see `iamata audit verify`")
        return self.signer.checkpoint(heads.values(), now)

    def export(self, now: datetime) -> Iterator[bytes]:
        """The whole log as lines of JSON, chain by chain, and a checkpoint as the last. Raises as `checkpoint`."""
        sealed = self.checkpoint(now)
        for head in sealed.heads:
            for number, _at, _subject, body, hash in self._chain(head.writer):
                if number > head.sequence:
                    break
                yield proving.record_line(head.writer, number, hash, body.encode())
        yield proving.checkpoint_line(sealed)

    def _against(self, checkpoint: Checkpoint) -> list[str]:
        if checkpoint.key != self.signer.public:
            return ["the checkpoint was signed by another installation"]
        if not proving.is_signed(proving.signed_bytes(checkpoint), checkpoint.signature, checkpoint.key):
            return ["the signature of the checkpoint is wrong"]
        with self._database.reading() as tx:
            ends = {w: Head(w, length, "") for (w, length) in tx.rows("audit_lengths")}
            hashes = {
                (head.writer, head.sequence): bytes(hash).hex()
                for head in checkpoint.heads
                for (hash,) in tx.rows("audit_hash", writer=head.writer, sequence=head.sequence)
            }
        return list(proving.against(checkpoint, hashes, ends))

    def _write_groups(self) -> None:
        while not self._closed.is_set():
            # What came last is signed too, though nothing comes after it.
            self._some.wait(None if self._kept is None or self._newest is None else self._pace_s)
            self._some.clear()
            self._closed.wait(_GROUP_S)
            try:
                self.flush()
                self._keep()
            except IamataError:
                # Kept waiting; `flush` tells whoever must know.
                self._closed.wait(_RETRY_S)
                self._some.set()

    def _wake(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._write_groups, name="iamata-audit", daemon=True)
                self._thread.start()
        self._some.set()

    def _not_held(self, tx: Transaction, group: list[_Row], tried: int) -> list[_Row]:
        """Those of the group that are not on the disk yet, after a commit with the first `tried` of which nobody knows
        whether it got there. If it did, the chain goes on from that end."""
        ends = [tuple(row) for row in tx.rows("audit_head", writer=self._writer)]
        if not ends or ends[0][0] <= self._sequence:
            return group
        sequence, head = ends[0]
        last = [bytes(hash) for (hash,) in tx.rows("audit_hash", writer=self._writer, sequence=sequence)]
        if not last or not hmac.compare_digest(bytes(head), self._head(self._writer, sequence, last[0])):
            return group
        self._sequence, self._last = sequence, last[0]
        return group[tried:]

    def _write(self, tx: Transaction, group: list[_Row]) -> tuple[int, bytes]:
        """The end of the chain when this is committed."""
        sequence, last, rows = self._sequence, self._last, list[dict[str, Bound]]()
        for record in group:
            sequence += 1
            last = record_hash(self._writer, sequence, last, record.body)
            rows.append(
                {
                    "writer": self._writer,
                    "sequence": sequence,
                    "at": record.at,
                    "subject": record.subject,
                    "body": record.body.decode(),
                    "hash": last,
                }
            )
        if rows:
            head = self._head(self._writer, sequence, last)
            tx.many("insert_audit", rows)
            tx.run("put_audit_head", writer=self._writer, sequence=sequence, hash=head)
        return sequence, last

    def _faults(self, writer: str) -> Iterator[str]:
        sequence, last = 0, b""
        for number, at, subject, body, stored in self._chain(writer):
            if number != sequence + 1:
                yield f"{writer}: records {sequence + 1} to {number - 1} are missing"
            elif stored not in (
                record_hash(writer, number, last, body.encode()),
                self._keyed_hash(writer, number, last, body.encode()),
            ):
                yield f"{writer}: record {number} was changed or moved"
            elif not _columns_agree(at, subject, body):
                yield f"{writer}: record {number} was changed in its columns"
            sequence, last = number, stored
        with self._database.reading() as tx:
            head = tx.rows("audit_head", writer=writer)
        if not head:
            yield f"{writer}: the head is missing"
        elif head[0][0] > sequence:
            yield f"{writer}: records {sequence + 1} to {head[0][0]} are missing"
        elif head[0] != (sequence, self._head(writer, sequence, last)):
            yield f"{writer}: the head does not belong to the chain"

    def _chain(self, writer: str) -> Iterator[tuple[Any, ...]]:
        after = 0
        while True:
            with self._database.reading() as tx:
                rows = tx.rows("audit_chain", writer=writer, after=after, limit=_PAGE)
            yield from rows
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    def _keyed_hash(self, writer: str, sequence: int, previous: bytes, body: bytes) -> bytes:
        """The hash that records had before others could follow a chain."""
        text = b"record\0" + writer.encode() + b"\0" + sequence.to_bytes(8, "big") + previous.ljust(32, b"\0") + body
        return hmac.digest(self._key, text, sha256)

    def _head(self, writer: str, sequence: int, last: bytes) -> bytes:
        return hmac.digest(self._key, b"head\0" + writer.encode() + b"\0" + sequence.to_bytes(8, "big") + last, sha256)


class _Beside:
    """The database's transactions, with a record in the first that is committed."""

    def __init__(self, log: AuditLog, database: Database, row: _Row) -> None:
        self._log = log
        self._database = database
        self._row: _Row | None = row

    def reading(self) -> AbstractContextManager[Transaction]:
        return self._database.reading()

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        with self._log.joined(self._row) as tx:
            yield tx
        self._row = None


def _row(record: AuditRecord) -> _Row:
    return _Row(codec.text_of(record.at), record.subject, codec.encode(record))


def _columns_agree(at: str, subject: str, body: str) -> bool:
    """The columns that pages are chosen by say what the body says."""
    try:
        record = codec.audit_records.decode(body)
    except msgspec.MsgspecError:
        return False
    return (codec.text_of(record.at), record.subject) == (at, subject)

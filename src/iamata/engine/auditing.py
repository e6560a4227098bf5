"""The verbs about the audit log: who did what, and the proof that nothing of the account was changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from iamata.engine.door import Door
from iamata.model.access import Access
from iamata.model.audit import AuditRecord, Checkpoint
from iamata.store import proving


class Auditing(Door):
    """Listing, exporting, sealing and verifying the audit log. All of it is the owner's."""

    def audit_records(
        self, *, subject: str | None = None, page: int = 0, per_page: int = 100, access: Access | None = None
    ) -> list[AuditRecord]:
        """Who did what, newest first. Only for the owner."""
        return self.audit_page(subject=subject, page=page, per_page=per_page, access=access)[0]

    def audit_page(
        self, *, subject: str | None = None, page: int = 0, per_page: int = 100, access: Access | None = None
    ) -> tuple[list[AuditRecord], int]:
        """As `audit_records`, with how many there were when it was asked."""
        access, _ = self._begin("audit_records", "audit", access, None)
        found = self._store.audit_records(subject=subject, offset=page * per_page, limit=per_page)
        total = self._store.audit_count(subject)
        self._audit("audit_records", access, None)
        return found, total

    def audit_checkpoint(self, *, access: Access | None = None) -> Checkpoint:
        """All chains as they are now, signed: keep it somewhere else, and what is cut off or changed since shows.
        Raises Conflict if the log is not whole."""
        access, _ = self._begin("audit_checkpoint", "audit", access, None)
        self._audit("audit_checkpoint", access, None)
        return self._store.audit_checkpoint(self._clock())

    def audit_export(self, *, access: Access | None = None) -> Iterator[bytes]:
        """The whole log as lines of JSON, each record with its hash, and a signed checkpoint as the last line: what
        `verify_exported` needs. Raises Conflict if the log is not whole."""
        access, _ = self._begin("audit_export", "audit", access, None)
        self._audit("audit_export", access, None)
        return self._store.audit_export(self._clock())

    def audit_verify(self, *, checkpoint: Checkpoint | None = None, access: Access | None = None) -> list[str]:
        """One line for each fault: the writer of the chain, the number of the record and what is wrong with it; empty
        if the log is whole. With a checkpoint also whatever is no longer as it was then."""
        access, _ = self._begin("audit_verify", "audit", access, None)
        self._audit("audit_verify", access, None)
        return self._store.audit_verify(checkpoint)


def verify_exported(lines: Iterable[bytes], *, key: str = "", checkpoint: Checkpoint | None = None) -> list[str]:
    """The faults of an exported log, by itself: no database, no key store. `key` is the public key (hex) that must have
    signed it; without one, the log proves only that it is whole in itself. `checkpoint` is one that was kept apart."""
    return list(proving.faults(lines, key=key, checkpoint=checkpoint))


def read_checkpoint(text: bytes) -> Checkpoint:
    """A checkpoint that was written as JSON. Raises BadInput."""
    return proving.read_checkpoint(text)

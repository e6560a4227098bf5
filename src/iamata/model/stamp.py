"""Under what was this answer given? Same request and same stamp give the same bytes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from iamata.model.clinical_time import check_aware
from iamata.model.identifiers import canonical_bytes, content_digest


class Moment(msgspec.Struct, frozen=True):
    """The two times of every read, aware, in UTC: what was known, and when is now.

    `known_at` None: all that has been received. `true_at` is the clinical now.
    """

    true_at: datetime
    known_at: datetime | None = None

    def __post_init__(self) -> None:
        check_aware("true_at", self.true_at)
        check_aware("known_at", self.known_at)

    @classmethod
    def of(cls, now: datetime, *, known_at: datetime | None = None, true_at: datetime | None = None) -> Moment:
        """Defaults: everything received so far; clinically now, to the hour (so that answers repeat within it)."""
        hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
        return cls(true_at=true_at or hour, known_at=known_at)


class ReadStamp(msgspec.Struct, frozen=True):
    """Everything an answer depends on beside the request. Its digest is the ETag and the cache key."""

    subjects: tuple[tuple[str, int], ...]  # subject, graph version; sorted
    knowledge: str
    reader: str
    profile: str
    policy: str
    visible: str  # digest of what this reader's labels withhold
    tokenizer: str
    true_at: str
    known_at: str

    @property
    def digest(self) -> str:
        return content_digest(canonical_bytes(self))[:32]

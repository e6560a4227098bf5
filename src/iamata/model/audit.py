"""Who did what to whom, and by which decision."""

from __future__ import annotations

from datetime import datetime

import msgspec

from iamata.model.clinical_time import check_aware


class AuditRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One read or write. Ids and verbs only, never content, names or paths; `items` are the ids served or written."""

    at: datetime
    principal: str
    on_behalf_of: str
    purpose: str
    action: str
    subject: str
    allowed: bool
    reasons: tuple[str, ...]
    items: tuple[str, ...] = ()
    request: str = ""

    def __post_init__(self) -> None:
        check_aware("at", self.at)

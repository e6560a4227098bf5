"""Who did what to whom, by which decision, through which door; and what proves that nothing of it was changed."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from iamata.model.clinical_time import check_aware


class Act(StrEnum):
    """The class of an audit record: what sort of thing was done, allowed or not."""

    READ = "read"
    WRITE = "write"
    DECIDE = "decide"  # a person ruled on records, set or lifted a hold, applied retention
    LEARN = "learn"  # an agent kept its own cue, or practice was learned from recorded calls
    ERASE = "erase"
    MOVE = "move"  # everything of patients left as an archive, or came in from one
    AUDIT = "audit"  # the log itself was read, exported, verified or sealed
    BREAK_GLASS = "break-glass"


class DoorName(StrEnum):
    """Through which door a request came in."""

    PYTHON = "python"
    CLI = "cli"
    HTTP = "http"
    MCP = "mcp"


class AuditRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One thing done. Ids and verbs only, never content, names or paths; `items` are the ids served or written.

    `act` is its class and `door` where it came from (both empty in records from before there were any); `request` the
    id of the request that it was part of, if it had one.
    """

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
    act: str = ""
    door: str = ""

    def __post_init__(self) -> None:
        check_aware("at", self.at)


class Head(msgspec.Struct, frozen=True, order=True, omit_defaults=True):
    """How long one chain of the log was: `hash` (hex) is that of its record number `sequence`. The hashes of a `keyed`
    chain, from before the log could be verified by others, are known to the installation alone."""

    writer: str
    sequence: int
    hash: str
    keyed: bool = False


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """All chains of a log at one moment, signed: what was cut off, changed or taken out since shows against it.

    `key` is the public key (Ed25519, hex) of the installation; `signature` (hex) covers everything else.
    """

    at: datetime
    heads: tuple[Head, ...]
    key: str
    signature: str = ""

    def __post_init__(self) -> None:
        check_aware("at", self.at)

"""What was forgotten, and what must not be: receipts of erasures, legal holds, and what a search for remains finds."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from iamata.errors import InvalidValue
from iamata.model.clinical_time import check_aware


class Erasable(StrEnum):
    """What can be erased by itself."""

    PATIENT = "patient"
    DOCUMENT = "document"
    SESSION = "session"
    MESSAGE = "message"
    MEMORY = "memory"
    INFERENCE = "inference"
    CONTEXT = "context"
    TOOL_CALL = "tool-call"
    ORGANIZATION = "organization"
    OPERATOR = "operator"
    AGENT = "agent"
    ENTRY = "entry"


class Erasure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The receipt of an erasure, signed; without content, and without any id of what was erased.

    `mark` is a keyed hash of what was erased, `person` of the id of whom it was held, `registration` of the same as it
    was registered then: without the installation's key nothing can be guessed from them. `counts` says how much was
    deleted of what, by table, sorted. One that `allows` another takes nothing away: it is the explicit word by which
    what was erased may be sent again. `key` and `signature` (Ed25519, hex) as those of a checkpoint.
    """

    id: str
    kind: Erasable
    mark: str
    person: str
    registration: str
    at: datetime
    by: str
    counts: tuple[tuple[str, int], ...] = ()
    allows: str = ""
    key: str = ""
    signature: str = ""

    def __post_init__(self) -> None:
        check_aware("at", self.at)


class Hold(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A legal hold on a patient: nothing of it is erased until the hold is lifted. One that `lifts` another is the
    lifting of it. `reason` is a person's words."""

    id: str
    by: str
    at: datetime
    reason: str
    lifts: str = ""

    def __post_init__(self) -> None:
        check_aware("at", self.at)
        if not self.reason.strip():
            raise InvalidValue("a hold, and its lifting, have a reason", place="reason")


class Remains(msgspec.Struct, frozen=True, kw_only=True):
    """What a search for something found. `bodies` sealed bodies were opened and inflated; `words` says in how many of
    each table a word stood that was looked for, sorted. `sealed` beginnings of sealed bodies were looked for in the
    database's rows and files, and so many were found `in_rows` and `in_files`; `files` were read whole, free pages and
    write-ahead log included (none: the database's files cannot be read from here)."""

    bodies: int
    words: tuple[tuple[str, int], ...] = ()
    sealed: int = 0
    in_rows: int = 0
    in_files: int = 0
    files: tuple[str, ...] = ()

    @property
    def nothing(self) -> bool:
        """Was nothing found of what was looked for?"""
        return not self.words and not self.in_rows and not self.in_files


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """The same search before and after an erasure: what could be found, and that it cannot any more."""

    erasure: Erasure
    before: Remains
    after: Remains

    @property
    def holds(self) -> bool:
        """Did the search find what was there before, and nothing of it after?"""
        return bool(self.before.in_rows and self.before.bodies) and self.after.nothing


class Due(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that is no longer to be kept: since when its period ran, when it ended, by which rule of the policy and
    from which source. Of an organization, operator or agent `patient` is empty, and `subject` says whose it is. `held`
    are the legal holds that keep it all the same."""

    patient: str
    kind: Erasable
    id: str
    since: datetime
    until: datetime
    rule: str
    source: str
    held: tuple[str, ...] = ()
    subject: str = ""

    def __post_init__(self) -> None:
        check_aware("since", self.since)
        check_aware("until", self.until)


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """What applying a retention policy came to: the receipts of what was erased, and what holds kept."""

    erased: tuple[Erasure, ...]
    kept: tuple[Due, ...]

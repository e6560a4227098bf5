"""How is a principal related to a patient, from when to when, and who said so?"""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum

import msgspec

from iamata.errors import InvalidValue
from iamata.model.clinical_time import check_aware

# `operator/dr-lee`: an issuer's ids of people may hold `|`, `@`, `+` and `=`; never a slash, a space or another script.
PRINCIPAL_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~:@|+=-]{0,254}\Z")


class RelationKind(StrEnum):
    CARE_TEAM = "care-team"
    SELF = "self"
    PROXY = "proxy"
    BREAK_GLASS = "break-glass"


class PatientRelation(msgspec.Struct, frozen=True, kw_only=True):
    """That `principal` (`operator/dr-lee`) is so related to the patient from `since` until `until` (None: until it is
    ended). Break-glass always ends by itself and has a `reason`, which is kept sealed. Each end is a new `version`."""

    id: str
    patient: str
    principal: str
    kind: RelationKind
    since: datetime
    by: str
    at: datetime
    until: datetime | None = None
    reason: str = ""
    version: int = 1

    def __post_init__(self) -> None:
        for name in ("since", "at"):
            check_aware(name, getattr(self, name))
        if self.until is not None:
            check_aware("until", self.until)
        kind, _, id = self.principal.partition("/")
        if kind not in ("operator", "system") or not PRINCIPAL_ID.match(id):
            raise InvalidValue("a principal reads operator/id or system/id")
        if self.kind is RelationKind.BREAK_GLASS and (self.until is None or not self.reason.strip()):
            raise InvalidValue("break-glass has a reason and an end")

    def holds_at(self, now: datetime) -> bool:
        return self.since <= now and (self.until is None or now < self.until)

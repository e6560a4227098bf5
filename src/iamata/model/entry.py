"""One item of organization, operator or agent knowledge, versioned."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from iamata.errors import InvalidValue
from iamata.model.attribution import Attribution, AttributionKind
from iamata.model.clinical_time import check_aware
from iamata.model.scope import Scope, Subject
from iamata.model.statement import Domain, Form


class EntryKind(StrEnum):
    GUIDELINE = "guideline"
    PATHWAY = "pathway"
    FORMULARY = "formulary"
    POLICY = "policy"
    FEE_SCHEDULE = "fee_schedule"
    PROCEDURE = "procedure"
    STAFF_NOTE = "staff_note"
    PATTERN = "pattern"
    PROFILE = "profile"
    PREFERENCE = "preference"
    CORRECTION = "correction"
    HABIT = "habit"
    PURPOSE = "purpose"
    CONFIGURATION = "configuration"
    GUARDRAIL = "guardrail"
    CUE = "cue"


# The cells of the model (design 01): which kinds stand in which scope, and with which attribution.
CELLS: dict[tuple[Scope, AttributionKind], frozenset[EntryKind]] = {
    (Scope.ORGANIZATION, AttributionKind.SYSTEM): frozenset(
        {
            EntryKind.GUIDELINE,
            EntryKind.PATHWAY,
            EntryKind.FORMULARY,
            EntryKind.POLICY,
            EntryKind.FEE_SCHEDULE,
            EntryKind.PROCEDURE,
        }
    ),
    (Scope.ORGANIZATION, AttributionKind.USER): frozenset({EntryKind.STAFF_NOTE}),
    (Scope.ORGANIZATION, AttributionKind.AGENT): frozenset({EntryKind.PATTERN}),
    (Scope.OPERATOR, AttributionKind.SYSTEM): frozenset({EntryKind.PROFILE}),
    (Scope.OPERATOR, AttributionKind.USER): frozenset({EntryKind.PREFERENCE, EntryKind.CORRECTION}),
    (Scope.OPERATOR, AttributionKind.AGENT): frozenset({EntryKind.HABIT}),
    (Scope.AGENT, AttributionKind.SYSTEM): frozenset({EntryKind.PURPOSE, EntryKind.CONFIGURATION, EntryKind.GUARDRAIL}),
    (Scope.AGENT, AttributionKind.AGENT): frozenset({EntryKind.CUE}),
}


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One version of one item of knowledge; a change is a new version that supersedes this one."""

    id: str
    subject: Subject
    kind: EntryKind
    version: int
    title: str
    text: str
    attribution: Attribution
    recorded_at: datetime
    supersedes: int = 0
    retired: bool = False
    effective_from: str = ""
    effective_to: str = ""
    tags: tuple[str, ...] = ()
    document: str = ""
    domain: Domain = Domain.CLINICAL
    form: Form = Form.UNSTRUCTURED

    def __post_init__(self) -> None:
        if self.kind not in CELLS.get((self.subject.scope, self.attribution.kind), frozenset()):
            raise InvalidValue(f"a {self.kind} cannot be {self.attribution.kind} in the {self.subject.scope} scope")
        if self.version < 1:
            raise InvalidValue("versions count from 1")
        check_aware("recorded_at", self.recorded_at)

"""One item of knowledge in versions: of an organization, operator or agent, or what an agent inferred of a patient.
And which of its versions is in force when.

Which kinds there are in which cell of the model is data (`CELLS`). Who may write one is policy's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from iamata.errors import InvalidValue
from iamata.model.attribution import Attribution, AttributionKind
from iamata.model.clinical_time import check_aware
from iamata.model.scope import Scope, Subject
from iamata.model.stamp import Moment
from iamata.model.statement import Domain, Form

MOST_TEXT_CHARS: Final = 200_000
MOST_TITLE_CHARS: Final = 300
MOST_TAGS: Final = 50
# Ids of entries are ours, or the writer's own: a path segment of the tree can carry their tail.
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~:-]{0,127}\Z")
_DATE: Final = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?\Z")
_TAG: Final = re.compile(r"[^\s,]{1,64}\Z")


class EntryKind(StrEnum):
    SUMMARY = "summary"
    INFERENCE = "inference"
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
    (Scope.PATIENT, AttributionKind.AGENT): frozenset({EntryKind.SUMMARY, EntryKind.INFERENCE}),
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
# Why a cell does not exist, or holds no entries, where somebody may look for it.
_NO_CELL: Final = {
    (Scope.PATIENT, AttributionKind.SYSTEM): "what systems of record hold of a patient is ingested",
    (Scope.PATIENT, AttributionKind.USER): "what a patient or a proxy says is appended to a session",
    (Scope.AGENT, AttributionKind.USER): "nobody speaks for an agent: its owners' words are system-reported, its own "
    "agent-reported",
}


def attribution_of(kind: EntryKind, scope: Scope) -> AttributionKind:
    """The one column in which entries of this kind stand in this scope. Raises InvalidValue if it has none there."""
    for (held, attribution), kinds in CELLS.items():
        if held is scope and kind in kinds:
            return attribution
    known = sorted(each.value for (held, _), kinds in CELLS.items() if held is scope for each in kinds)
    raise InvalidValue(f"there is no {kind} in the {scope} scope; it has {', '.join(known)}", place="kind")


class EntryPassage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A stretch of an entry's document, as it stands there: `pointer` is its page or part, `start`:`end` characters of
    that part's text (of a table's row none: the row is the place). `heading` is the path of headings above it."""

    id: str
    text: str
    pointer: str
    heading: tuple[str, ...] = ()
    start: int = 0
    end: int = 0


class Basis(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One thing that an agent's inference rests on, as it was then.

    `item` is its id, `what` whether it is a fact, statement, memory, passage or document; `digest` stands for what it
    said; `roots` are the statements, memories, passages and documents it was made of: who may not see one of them does
    not see the inference.
    """

    item: str
    what: str
    digest: str = ""
    roots: tuple[str, ...] = ()


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One version of one item of knowledge; a change is a new version that supersedes this one.

    `effective_from` and `effective_to` are dates (YYYY, YYYY-MM or YYYY-MM-DD), both days included; empty: always. A
    version that is `retired` takes the item out of force from `effective_from` on. `passages` are of `document`, the id
    of the file it came from; `text` is then only what stands above them. `reason` says why it was changed or retired.
    What an agent inferred of a patient rests on something of that patient (`derived_from`), and on nothing else.
    """

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
    passages: tuple[EntryPassage, ...] = ()
    reason: str = ""
    derived_from: tuple[Basis, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in CELLS.get((self.subject.scope, self.attribution.kind), frozenset()):
            why = _NO_CELL.get((self.subject.scope, self.attribution.kind), "")
            raise InvalidValue(
                f"a {self.kind} cannot be {self.attribution.kind} in the {self.subject.scope} scope"
                + (f": {why}" if why else "")
            )
        if self.version < 1:
            raise InvalidValue("versions count from 1")
        if self.supersedes >= self.version:
            raise InvalidValue("a version supersedes an earlier one")
        if not _ID.match(self.id):
            raise InvalidValue("an entry's id must match [A-Za-z0-9][A-Za-z0-9._~:-]{0,127}", place="id")
        if bool(self.derived_from) is not (self.subject.scope is Scope.PATIENT):
            raise InvalidValue(
                "what is inferred of a patient names what it was derived from, and only that", place="derived_from"
            )
        check_aware("recorded_at", self.recorded_at)
        check_words(self.title, self.text, self.tags)
        check_dates(self.effective_from, self.effective_to)


class EntryDraft(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody writes: the engine adds id, version, attribution and time. With the `id` of an entry that is held
    it is the next version of it; then its kind stays. `author` says who speaks, if not who writes it down. Of a patient
    `derived_from` names ids or addresses of facts, statements, memories, passages or documents."""

    subject: Subject
    kind: EntryKind
    title: str
    text: str = ""
    id: str = ""
    author: str = ""
    effective_from: str = ""
    effective_to: str = ""
    tags: tuple[str, ...] = ()
    domain: Domain = Domain.CLINICAL
    reason: str = ""
    derived_from: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        attribution_of(self.kind, self.subject.scope)
        check_words(self.title, self.text, self.tags)
        check_dates(self.effective_from, self.effective_to)


class Inferred(msgspec.Struct, frozen=True):
    """What an agent inferred of a patient, as it stands now: `changed` are the ids it was derived from that say
    something else since. Then it is stale."""

    entry: Entry
    changed: tuple[str, ...] = ()

    @property
    def stale(self) -> bool:
        return bool(self.changed)


def check_words(title: str, text: str, tags: Sequence[str]) -> None:
    """Raises InvalidValue for what is too long or no tag."""
    if not title.strip() or len(title) > MOST_TITLE_CHARS:
        raise InvalidValue(f"an entry has a title of at most {MOST_TITLE_CHARS} characters", place="title")
    if len(text) > MOST_TEXT_CHARS:
        raise InvalidValue(f"an entry's text has at most {MOST_TEXT_CHARS} characters", place="text")
    if len(tags) > MOST_TAGS or not all(_TAG.match(tag) for tag in tags):
        raise InvalidValue(
            f"at most {MOST_TAGS} tags, each of 1 to 64 characters without blanks and commas", place="tags"
        )


def check_dates(start: str, end: str) -> None:
    """Raises InvalidValue for what is no date, or an end before the beginning."""
    for date, place in ((start, "effective_from"), (end, "effective_to")):
        if date and not _DATE.match(date):
            raise InvalidValue("a date is YYYY, YYYY-MM or YYYY-MM-DD", place=place)
    if start and end and _first(start) > _last(end):
        raise InvalidValue("this is before effective_from", place="effective_to")


def holds_on(entry: Entry, day: str) -> bool:
    """Does the version speak of this day (YYYY-MM-DD)?"""
    return (not entry.effective_from or _first(entry.effective_from) <= day) and (
        not entry.effective_to or day <= _last(entry.effective_to)
    )


def known_by(versions: Iterable[Entry], known_at: datetime | None) -> list[Entry]:
    """The versions that were recorded by then, in the given order."""
    return [each for each in versions if known_at is None or each.recorded_at <= known_at]


def in_force(versions: Iterable[Entry], moment: Moment) -> list[Entry]:
    """Of each entry the version in force at a moment, by subject and id.

    Of the versions known by then the newest that speaks of the clinical now decides; if it is retired, none is in
    force. So a version of next month leaves this month's in force, and a correction without dates holds for every day.
    """
    day = moment.true_at.date().isoformat()
    deciding: dict[tuple[Subject, str], Entry] = {}
    for each in known_by(versions, moment.known_at):
        if holds_on(each, day):
            held = deciding.get((each.subject, each.id))
            if held is None or held.version < each.version:
                deciding[each.subject, each.id] = each
    return [each for _, each in sorted(deciding.items()) if not each.retired]


def _first(date: str) -> str:
    return (date + "-01-01")[:10] if len(date) == 4 else (date + "-01")[:10]


def _last(date: str) -> str:
    return (date + "-12-31")[:10] if len(date) == 4 else (date + "-31")[:10]

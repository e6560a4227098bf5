"""What do the consents of a patient decide about an item, for this reader, now? Where it cannot be told, deny wins.

Only active consents about privacy decide (design 08). Each has a base and provisions, which are exceptions to what is
around them (FHIR R4 and R5 Consent.provision). A provision that may apply denies; it permits only if it does apply. A
permission counts, and a newer consent replaces an older one of the same grantor, only if its source is trusted for
consent or an operator has verified it: what merely arrives narrows, never widens. Not here: how a consent is read
(`connectors.fhir`), which labels an item has (`sensitivity`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum
from typing import Final

import msgspec

from iamata.model.clinical_time import Clock, Period, Precision, parse_time
from iamata.model.consent import RULES_FIELD, ConsentRules, Named, Provision, Within
from iamata.model.statement import Label, Standing, Statement
from iamata.terminology import security


class Verdict(StrEnum):
    PERMIT = "permit"
    DENY = "deny"
    NONE = "none"  # no consent that is in force says anything


class Asking(msgspec.Struct, frozen=True):
    """Who asks: `names` are the references by which records call the reader, `purpose` HL7 v3 PurposeOfUse, `now`
    aware, `zone` that of the reader's place, in which a date begins and ends (None: it is not known)."""

    purpose: str
    names: frozenset[str]
    now: datetime
    zone: tzinfo | None = None


class Matter(msgspec.Struct, frozen=True, kw_only=True):
    """What an item is, as far as consents can name it. `types` of its record and document, `codes` in it, `references`
    from it, `authors` as sent, `at` when it was so (UTC seconds, open ends None); None if nothing says when."""

    names: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    codes: frozenset[tuple[str, str]] = frozenset()
    references: frozenset[str] = frozenset()
    authors: frozenset[str] = frozenset()
    labels: frozenset[Label] = frozenset()
    at: tuple[int | None, int | None] | None = None


class Directive(msgspec.Struct, frozen=True, kw_only=True):
    """One consent that may decide. `signed` is its date as a window of UTC seconds; `widens` says that its source is
    trusted for consent, or that an operator has verified it."""

    id: str
    rules: ConsentRules
    signed: tuple[int, int] = (0, 0)
    widens: bool = False


# Whether something applies: it does, it does not, or it cannot be told.
YES: Final = 1
MAYBE: Final = 0
NO: Final = -1

# Actions by which what is read leaves (consentaction); a provision on others says nothing of reading.
_READING: Final = frozenset({"access", "use", "disclose"})
# Roles in which an actor is no reader: who keeps the data, and who wrote it (HL7 v3 ParticipationType).
_KEEPER: Final = "CST"
_AUTHOR: Final = "AUT"
_CONFIDENTIALITY: Final = "confidentiality"


def directive(statement: Statement, *, widens: bool) -> Directive | None:
    """The consent that a statement holds; None for one that is no consent, not about privacy or not active."""
    told = statement.field(RULES_FIELD)
    if not isinstance(told, str) or statement.standing is not Standing.ACTIVE:
        return None
    rules = msgspec.json.decode(told, type=ConsentRules)
    if not rules.privacy:
        return None
    signed = statement.time(Clock.AUTHORED)
    at = signed.start if signed is not None else None
    window = (at.earliest or 0, at.latest or 0) if at is not None else (0, 0)
    return Directive(id=statement.id, rules=rules, signed=window, widens=widens)


def standing(directives: Iterable[Directive]) -> list[Directive]:
    """Those that no newer one replaces. A newer one is signed surely later, by the same grantors, and may widen."""
    held = sorted(directives, key=lambda each: each.id)
    return [
        each
        for each in held
        if not any(
            other.widens and other.rules.grantors == each.rules.grantors and other.signed[0] > each.signed[1]
            for other in held
        )
    ]


def decide(directives: Sequence[Directive], matter: Matter, asking: Asking) -> Verdict:
    """What these consents, of which none replaces another, decide of one item. A denial of any of them wins."""
    permitted = False
    for each in directives:
        found = _of_one(each, matter, asking)
        if found is Verdict.DENY:
            return found
        permitted |= found is Verdict.PERMIT and each.widens
    return Verdict.PERMIT if permitted else Verdict.NONE


def _of_one(of: Directive, matter: Matter, asking: Asking) -> Verdict:
    rules = of.rules
    inside = _now_within(rules.period, asking)
    if inside == NO:
        return Verdict.NONE
    base = Verdict(rules.base)
    found = _of_provisions(rules.provisions, base, matter, asking)
    found = base if found is Verdict.NONE else found
    return Verdict.NONE if inside == MAYBE and found is Verdict.PERMIT else found


def _of_provisions(provisions: Iterable[Provision], around: Verdict, matter: Matter, asking: Asking) -> Verdict:
    """What provisions beside each other say; none where none applies."""
    found = Verdict.NONE
    for each in provisions:
        said = _of_provision(each, around, matter, asking)
        if said is Verdict.DENY:
            return said
        found = said if said is not Verdict.NONE else found
    return found


def _of_provision(of: Provision, around: Verdict, matter: Matter, asking: Asking) -> Verdict:
    own = _type_of(of, around)
    applies = _applies(of, own, matter, asking)
    if applies == NO:
        return Verdict.NONE
    inner = _of_provisions(of.nested, own, matter, asking)
    if own is Verdict.DENY:
        return inner if inner is Verdict.PERMIT else Verdict.DENY
    if inner is Verdict.DENY:
        return inner
    return Verdict.PERMIT if applies == YES else Verdict.NONE


def _type_of(of: Provision, around: Verdict) -> Verdict:
    """As it says; else the opposite of what its nested provisions all say, else of what is around it."""
    if of.type in (Verdict.PERMIT, Verdict.DENY):
        return Verdict(of.type)
    said = {each.type for each in of.nested}
    opposite = said.pop() if len(said) == 1 else ""
    return Verdict.PERMIT if (opposite or around) == Verdict.DENY else Verdict.DENY


def _applies(of: Provision, own: Verdict, matter: Matter, asking: Asking) -> int:
    """Does the reader, the moment and the item meet everything that the provision names?"""
    if of.actions and _READING.isdisjoint(of.actions):
        return NO
    return min(
        MAYBE if of.unknown else YES,
        _now_within(of.period, asking),
        _any(_is_actor(each, matter, asking) for each in of.actors) if of.actors else YES,
        _any(_for_purpose(each, asking) for each in of.purposes) if of.purposes else YES,
        YES if not of.classes or matter.types & {_last(each) for each in of.classes} else NO,
        YES if not of.codes or matter.codes & {(each.system, each.code) for each in of.codes} else NO,
        _labelled(of.labels, own is Verdict.DENY, matter) if of.labels else YES,
        _dated(of.data_period, matter, asking) if of.data_period else YES,
        _any(_is_data(each, matter) for each in of.data) if of.data else YES,
    )


def _any(found: Iterable[int]) -> int:
    return max(found, default=NO)


def _last(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _is_actor(actor: Named, matter: Matter, asking: Asking) -> int:
    if actor.role == _KEEPER:
        return MAYBE  # which items a custodian keeps, the records do not say
    if actor.role == _AUTHOR:
        return YES if actor.reference in matter.authors else NO if matter.authors else MAYBE
    if not actor.reference:
        return MAYBE  # a role alone: whether the reader has it is not known
    if actor.reference in asking.names or _last(actor.reference) in asking.names:
        return YES
    return NO


def _for_purpose(purpose: str, asking: Asking) -> int:
    return YES if security.is_kind_of(asking.purpose, purpose) else NO


def _labelled(labels: Iterable[Label], denies: bool, matter: Matter) -> int:
    """Has the item one of the labels? Of confidentiality a denial covers what is higher, a permission what is lower: a
    high-water mark, read to the safe side either way."""
    for label in labels:
        said = security.meaning(label)
        if said is not None and said.sort == _CONFIDENTIALITY:
            rank = security.rank(matter.labels)
            if rank >= said.rank if denies else rank <= said.rank:
                return YES
        elif security.hides(label, matter.labels) if denies else _carries(label, matter):
            return YES
    return NO


def _carries(label: Label, matter: Matter) -> bool:
    said = security.meaning(label)
    if said is None:
        return label in matter.labels
    return any(security.is_kind_of(code, said.code) for code in security.codes(matter.labels, said.sort))


def _is_data(data: Named, matter: Matter) -> int:
    if not data.reference:
        return MAYBE
    if data.reference in matter.names:
        return YES
    if data.role == "authoredby":
        return YES if data.reference in matter.authors else NO if matter.authors else MAYBE
    return YES if data.role in ("related", "dependents") and data.reference in matter.references else NO


def _now_within(period: Within, asking: Asking) -> int:
    if not period:
        return YES
    now = int(asking.now.timestamp())
    return _inside((now, now), _window(period, asking.zone))


def _dated(period: Within, matter: Matter, asking: Asking) -> int:
    return MAYBE if matter.at is None else _inside(matter.at, _window(period, asking.zone))


_Bounds = tuple[tuple[int, int], tuple[int, int]]
_EVER: Final = 1 << 62


def _inside(at: tuple[int | None, int | None], window: _Bounds) -> int:
    """Does something that was from when to when lie in a period whose two ends are each known within bounds?"""
    first = at[0] if at[0] is not None else -_EVER
    last = at[1] if at[1] is not None else _EVER
    (start_early, start_late), (end_early, end_late) = window
    if last < start_early or first > end_late:
        return NO
    return YES if first >= start_late and last <= end_early else MAYBE


def _window(period: Within, zone: tzinfo | None) -> _Bounds:
    """The earliest and latest moment at which the period can begin, and at which it can end."""
    begins, ends = _edge(period.start, zone, last=False), _edge(period.end, zone, last=True)
    return begins or (-_EVER, -_EVER), ends or (_EVER, _EVER)


def _edge(text: str, zone: tzinfo | None, *, last: bool) -> tuple[int, int] | None:
    """The bounds of one end; None if it is open. A date begins and ends with its day in the zone; where no zone is
    known, somewhere between the first and the last clock on earth. Words that are no date bound nothing."""
    if not text:
        return None
    at = parse_time(text)
    if at.earliest is None or at.latest is None:
        return (-_EVER, _EVER)
    if zone is None or at.precision not in (Precision.YEAR, Precision.MONTH, Precision.DAY):
        if at.precision in (Precision.YEAR, Precision.MONTH, Precision.DAY):
            first, final = _day_bounds(text)
            return (
                (_seconds(final) - 14 * 3600, _seconds(final) + 12 * 3600)
                if last
                else (
                    _seconds(first) - 14 * 3600,
                    _seconds(first) + 12 * 3600,
                )
            )
        return (at.earliest, at.latest)
    first, final = _day_bounds(text)
    edge = datetime.combine(final if last else first, time(), zone)
    moment = int(edge.timestamp()) - (1 if last else 0)
    return (moment, moment)


def _day_bounds(text: str) -> tuple[date, date]:
    """The first day of a year, month or day, and the day after its last."""
    parts = [int(part) for part in text[:10].split("-")]
    year, month, day = (*parts, 1, 1)[:3]
    first = date(year, month, day)
    if len(parts) == 1:
        return first, date(year + 1, 1, 1)
    if len(parts) == 2:
        return first, date(year + month // 12, month % 12 + 1, 1)
    return first, first + timedelta(days=1)


def _seconds(day: date) -> int:
    return int(datetime.combine(day, time(), UTC).timestamp())


def times_of(statement: Statement) -> tuple[int | None, int | None] | None:
    """When it was so: from the earliest to the latest that its effective time can mean, else when it was written."""
    timed = statement.time(Clock.EFFECTIVE, Clock.OCCURRED, Clock.AUTHORED, Clock.ASSERTED, Clock.ISSUED, Clock.ORDERED)
    if timed is None:
        return None
    start, end = timed.start, timed.end
    first = start.earliest if start is not None else None
    final = end.latest if end is not None else None
    if isinstance(timed.at, Period):
        return None if start is None and end is None else (first, final)
    return None if first is None else (first, final)

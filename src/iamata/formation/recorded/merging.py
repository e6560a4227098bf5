"""What do the statements of one cluster say together? A verdict per field, a status, and what time does not explain.

The pick is neutral and has one rule: what was sent before what was read out of a text, then latest said, then most
complete, then content. It is not authority; a read with a task picks again. Nothing is dropped: what was not picked
stays in the field, what no longer counts in the history.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache

from iamata.formation.recorded.concepts import analyte
from iamata.formation.recorded.rulings import Rulings
from iamata.formation.recorded.said import Said, neutral_order
from iamata.formation.recorded.supersession import rank
from iamata.formation.recorded.values import comparable, fields_of, same_value, value_of
from iamata.formation.references import identifier_key
from iamata.formation.staleness import long_unconfirmed
from iamata.model.clinical_time import ClinicalTime, Clock, Period, Precision, Timed
from iamata.model.coding import CodedText
from iamata.model.conflict import Conflict, ConflictKind, Side
from iamata.model.decision import Quality
from iamata.model.fact import Contribution, Currency, Fact, FieldVerdict, ResolvedField, Support, fact_id
from iamata.model.identifiers import IdMint, canonical_bytes, content_digest
from iamata.model.statement import (
    EVENT_KINDS,
    Aspect,
    Component,
    Kind,
    Polarity,
    Standing,
    Value,
    Verification,
)
from iamata.terminology.names import fold
from iamata.terminology.tables import rows

_SUSPECTED = frozenset({Verification.PROVISIONAL, Verification.DIFFERENTIAL, Verification.UNCONFIRMED})
_CONTESTABLE = frozenset({Kind.CONDITION, Kind.ALLERGY, Kind.MEDICATION, Kind.DEVICE, Kind.FLAG, Kind.PREGNANCY})
_PRECISION = {precision: index for index, precision in enumerate(Precision)}


@cache
def _rules() -> Mapping[tuple[str, str], tuple[str, str, tuple[str, ...]]]:
    """(kind, field) → how it compares, the kind of conflict, and the finer fields that are compared instead."""
    return {
        (row["kind"], row["field"]): (row["compare"], row["conflict"], tuple(filter(None, row["unless"].split(","))))
        for row in rows("fields")
    }


def explained_by_time(left: Said, right: Said) -> bool:
    """Both are dated and one was said clearly later: a change, not a contradiction."""
    a, b = left.stated_at, right.stated_at
    return a is not None and b is not None and a.earliest is not None and b.earliest is not None and not a.may_equal(b)


def _changed(left: Said, right: Said) -> bool:
    """Does time explain that the two differ? Not where a text tells later what a record does not: a reading of words
    changes no record, it contradicts it."""
    if left.is_mention is right.is_mention:
        return explained_by_time(left, right)
    text, record = (left, right) if left.is_mention else (right, left)
    told = text.statement.time(Clock.STATUS_CHANGED)
    at, sent = told.start if told is not None else text.stated_at, record.stated_at
    if at is None or sent is None or at.earliest is None or sent.earliest is None or at.may_equal(sent):
        return False
    return at.earliest < sent.earliest


def _of_one_text(left: Said, right: Said) -> bool:
    """Both read out of one record: what is named here and denied there is of two places or times, not two words."""
    a, b = left.statement.provenance, right.statement.provenance
    return left.is_mention and right.is_mention and a == b


def _disputed_by_text(left: Said, right: Said, picked: Value, value: Value, measured: str) -> bool:
    """Between what was sent and what a text tells: only amounts that can be compared dispute each other."""
    if left.is_mention and right.is_mention:
        return not _of_one_text(left, right)
    return left.is_mention is right.is_mention or comparable(picked, value, measured)


def merge(
    members: list[Said],
    history: Mapping[str, str],
    *,
    quality: Quality,
    rule: str,
    rulings: Rulings,
    true_at: datetime,
    mint: IdMint,
) -> tuple[Fact, list[Conflict]]:
    """One fact from the statements of one cluster. `history`: those of it that no longer count, with why."""
    history = {**history, **_overtaken(members)} if len(members) > 1 else history
    counting = sorted((m for m in members if m.id not in history), key=neutral_order)
    ids = tuple(sorted(m.id for m in counting))
    id = fact_id(ids)
    leading = counting[0]
    conflicts: list[Conflict] = []

    def conflict(kind: ConflictKind, field: str, sides: Iterable[tuple[str, Iterable[Said]]], rule: str) -> None:
        merged: dict[str, set[str]] = defaultdict(set)
        for says, who in sides:
            merged[says] |= {item.id for item in who}
        if len(merged) > 1:
            told = tuple(Side(says, tuple(sorted(items))) for says, items in sorted(merged.items()))
            conflicts.append(Conflict(mint.id("cf", (id, kind, field)), kind, id, field, told, rule))

    fields, components = _fields(counting, leading.kind, rulings, conflict)
    polarity, verification = _existence(counting, conflict)
    standing = _standing(counting, conflict)
    concept = _concept(counting)
    when = _when(counting)
    over = rulings.is_over(counting)
    support = Counter((m.attribution.kind, m.attribution.author.role) for m in counting)
    dated = [m.stated_at.day for m in counting if m.stated_at is not None and m.stated_at.day]
    fact = Fact(
        id=id,
        kind=leading.kind,
        display=concept.display if concept else _untitled(leading),
        members=ids,
        concept=concept,
        history=tuple(sorted(history.items())),
        polarity=polarity,
        standing=standing,
        verification=verification,
        currency=Currency.PAST if over else _currency(leading.kind, standing, when, counting, true_at),
        when=when,
        fields=fields,
        components=components,
        conflicts=tuple(c.id for c in conflicts),
        supported_by=tuple(sorted(Support(kind, role, n) for (kind, role), n in support.items())),
        quality=quality,
        rule=rule,
        last_supported=max(dated, default=""),
        labels=tuple(sorted({label for m in counting for label in m.statement.labels})),
        domain=leading.statement.domain,
        digest=_digest(counting, members, history, fields, standing, polarity, verification, conflicts, over),
    )
    return fact, conflicts


def _overtaken(members: list[Said]) -> dict[str, str]:
    """Preliminary < final < corrected under one identifier (or one record): the lower no longer counts."""
    best: dict[str, int] = {}
    for member in members:
        level = rank(member.statement.standing)
        if level is None or member.statement.domain != "clinical":
            continue
        for identifier in member.statement.identifiers:
            key = identifier_key(identifier)
            best[key] = max(best.get(key, level), level)
    found = {}
    for member in members:
        level = rank(member.statement.standing)
        keys = [identifier_key(identifier) for identifier in member.statement.identifiers]
        if level is not None and any(best.get(key, level) > level for key in keys):
            found[member.id] = "superseded"
    return found


def _fields(
    counting: list[Said], kind: Kind, rulings: Rulings, conflict: object
) -> tuple[tuple[ResolvedField, ...], tuple[Component, ...]]:
    values: dict[str, list[tuple[Said, Value]]] = defaultdict(list)
    for member in counting:
        for name, value in fields_of(member.statement).items():
            values[name].append((member, value))
    resolved = []
    measured = analyte(counting[0]) if len(counting) > 1 else ""
    for name in sorted(values):
        said = values[name]
        picker, picked = said[0]
        if len(said) == 1:
            resolved.append(ResolvedField(name, FieldVerdict.PICKED, picked, picker.id))
            continue
        if isinstance(picked, (ClinicalTime, Period)):
            picker, picked = _most_precise(said)
        ruled = next(((m, v) for m, v in said if rulings.is_right(m, name)), None)
        picker, picked = ruled or (picker, picked)
        compare, kind_name, unless = _rules().get((kind, name), ("free", "", ()))
        differing = [(m, v) for m, v in said if m is not picker and same_value(picked, v, measured) is not True]
        finer = [field for field in unless if any(m is picker for m, _ in values.get(field, ()))]
        disputed = [
            (m, v)
            for m, v in differing
            if ruled is None
            and _disputes(picker, m, compare)
            and _disputed_by_text(picker, m, picked, v, measured)
            and not any(m is other for field in finer for other, _ in values.get(field, ()))
        ]
        if disputed and kind_name and callable(conflict):
            agreeing = [m for m, v in said if (m, v) not in disputed and same_value(picked, v, measured) is True]
            sides = [(shown(picked), [picker, *agreeing]), *((shown(v), [m]) for m, v in disputed)]
            conflict(ConflictKind(kind_name), name, sides, f"field-{compare}")
        verdict = (
            FieldVerdict.CONFLICT
            if disputed and kind_name
            else FieldVerdict.AGREED
            if len(said) > 1 and not differing
            else FieldVerdict.PICKED
        )
        others = tuple(sorted((Contribution(m.id, v) for m, v in differing), key=lambda c: c.statement))
        resolved.append(ResolvedField(name, verdict, picked, picker.id, others))
    panels = [m for m in counting if m.statement.components]
    if panels and callable(conflict) and kind in (Kind.OBSERVATION, Kind.SOCIAL_HISTORY):
        picker = panels[0]
        rest = [m for m in panels[1:] if same_value(value_of(picker.statement), value_of(m.statement)) is False]
        if rest:
            sides = [(_panel(m.statement.components), [m]) for m in (picker, *rest)]
            conflict(ConflictKind.VALUE, "component", sides, "field-constant")
    if kind is Kind.ALLERGY and callable(conflict):
        for reaction, severities in _severities(counting).items():
            first, worst = severities[0]
            other = [(m, v) for m, v in severities if same_value(worst, v) is False and not explained_by_time(first, m)]
            if other:
                told = [(f"{reaction}: {shown(v)}", [m]) for m, v in ((first, worst), *other)]
                conflict(ConflictKind.SEVERITY, f"reaction {fold(reaction)}", told, "reaction-severity")
    components = _all_components(counting, kind)
    return tuple(resolved), components


def _severities(counting: list[Said]) -> dict[str, list[tuple[Said, Value]]]:
    """Reaction → who gives it which severity, in neutral order; the reaction as the first one names it."""
    named: dict[str, str] = {}
    found: dict[str, list[tuple[Said, Value]]] = defaultdict(list)
    for member in counting:
        for component in member.statement.components:
            if component.value is not None:
                key = (component.concept.keys or (fold(component.concept.display),))[0]
                found[named.setdefault(key, component.concept.display)].append((member, component.value))
    return found


def _all_components(counting: list[Said], kind: Kind) -> tuple[Component, ...]:
    """A panel is the first's; reactions and relatives' conditions add up over all members, each once."""
    if kind in (Kind.OBSERVATION, Kind.SOCIAL_HISTORY):
        return next((m.statement.components for m in counting if m.statement.components), ())
    found: dict[str, Component] = {}
    for member in counting:
        for component in member.statement.components:
            key = (component.concept.keys or (component.concept.display.casefold(),))[0]
            if key not in found or (found[key].value is None and component.value is not None):
                found[key] = component
    return tuple(found.values())


def _most_precise(said: list[tuple[Said, Value]]) -> tuple[Said, Value]:
    def precision(value: Value) -> int:
        point = value.start or value.end if isinstance(value, Period) else value
        return _PRECISION[point.precision] if isinstance(point, ClinicalTime) else 0

    return max(enumerate(said), key=lambda pair: (precision(pair[1][1]), -pair[0]))[1]


def _disputes(picker: Said, other: Said, compare: str) -> bool:
    match compare:
        case "constant":
            return True
        case "over_time":
            return not _changed(picker, other)
        case "same_course":
            return not _changed(picker, other) and not (picker.ended or other.ended)
    return False


def _existence(counting: list[Said], conflict: object) -> tuple[Polarity, Verification]:
    """Does anyone deny it? Support and denial about the same time are a conflict; the neutral side is the latest."""
    denying = [m for m in counting if m.denies]
    supporting = [m for m in counting if not m.denies]
    if denying and supporting and counting[0].kind in (Kind.CONDITION, Kind.ALLERGY) and callable(conflict):
        later = [m for m in denying if not all(explained_by_time(m, s) or _of_one_text(m, s) for s in supporting)]
        if later:
            conflict(
                ConflictKind.VERIFICATION,
                "verification",
                [("present", supporting), ("refuted", denying)],
                "support-and-denial",
            )
    # Words neither deny what was sent nor affirm it, nor make it doubtful: they stand in the conflict alone.
    telling = [m for m in counting if not m.is_mention] or counting
    supporting, denying = [m for m in telling if not m.denies], [m for m in telling if m.denies]
    polarity = telling[0].statement.polarity
    if supporting and denying and not explained_by_time(supporting[0], denying[0]):
        polarity = Polarity.AFFIRMED
    side = [m for m in telling if m.statement.polarity is polarity]
    levels = {m.statement.verification for m in side}
    if Verification.CONFIRMED in levels:
        return polarity, Verification.CONFIRMED
    for level in (side[0].statement.verification, *sorted(levels)):
        if level is not Verification.NONE:
            return polarity, level
    return polarity, Verification.NONE


def _standing(counting: list[Said], conflict: object) -> Standing:
    """The status of the latest that has one. Running and ended side by side are a conflict unless time explains it."""
    with_status = [m for m in counting if m.statement.standing is not Standing.UNKNOWN]
    if not with_status:
        return Standing.UNKNOWN
    leading = with_status[0]
    if counting[0].kind in _CONTESTABLE and callable(conflict):
        affirming = [m for m in with_status if not (m.denies and m.kind in (Kind.CONDITION, Kind.ALLERGY))]
        running = [m for m in affirming if m.running and not m.denies]
        ended = [m for m in affirming if m.ended or m.denies]
        disputed = [(a, b) for a in running for b in ended if not _changed(a, b) and not _other_course(a, b)]
        if disputed:
            sides = [
                ("active", {a.id: a for a, _ in disputed}.values()),
                *((m.statement.status or m.statement.standing, [m]) for m in {b.id: b for _, b in disputed}.values()),
            ]
            conflict(ConflictKind.STATUS, "status", sides, "running-and-ended")
    return leading.statement.standing


def _other_course(running: Said, ended: Said) -> bool:
    """Two orders of one drug in one source are two courses: the end of one says nothing of the other."""
    if running.source != ended.source or running.kind is not Kind.MEDICATION:
        return False
    a, b = running.statement.provenance.record, ended.statement.provenance.record
    same_author = running.statement.aspect is ended.statement.aspect is Aspect.ORDERED
    return same_author and a.key != b.key


def _concept(counting: list[Said]) -> CodedText | None:
    """The leading member's words, with every code that any member gives (each once, sorted)."""
    named = [m.concept for m in counting if m.concept is not None and m.concept.display]
    if not named:
        return None
    codings = {(c.key or c.display): c for concept in reversed(named) for c in concept.codings}
    return CodedText(named[0].display, tuple(sorted(codings.values())))


def _untitled(leading: Said) -> str:
    for name in ("title", "name", "plan", "description", "text", "conclusion"):
        value = leading.statement.field(name)
        if value is not None:
            return shown(value)[:120]
    return leading.statement.provenance.record.type or leading.kind


def _when(counting: list[Said]) -> Timed | None:
    """When it was, as the first says who tells more than when it was ordered or written. A course that was over when
    the latest was said to run tells nothing of that one: after a change of dose the former period has ended."""
    for member in counting:
        timed = member.happened
        if timed is not None and timed.clock in (Clock.EFFECTIVE, Clock.OCCURRED) and not _former(counting[0], member):
            return timed
    return next((m.happened for m in counting if m.happened is not None and not _former(counting[0], m)), None)


def _former(leading: Said, member: Said) -> bool:
    """Had what this one tells of ended when the leading one said that it runs, or on that day?"""
    end = member.happened.at.end if member.happened and isinstance(member.happened.at, Period) else None
    if member is leading or not leading.running or end is None or end.earliest is None:
        return False
    at = leading.stated_at
    return at is not None and at.latest is not None and end.earliest <= at.latest


def _currency(kind: Kind, standing: Standing, when: Timed | None, counting: list[Said], true_at: datetime) -> Currency:
    now = true_at.timestamp()
    start = when.start if when else None
    end = when.at.end if when and isinstance(when.at, Period) else None
    if standing is Standing.PLANNED or (start and start.earliest is not None and start.earliest > now):
        return Currency.PLANNED
    if kind in EVENT_KINDS:
        return Currency.PAST
    if standing in (Standing.ACTIVE, Standing.ON_HOLD):
        if end is not None and end.latest is not None and end.latest < now and kind is not Kind.ALLERGY:
            return Currency.PAST
        last = max((m.stated_s for m in counting if m.stated_s is not None), default=None)
        return Currency.UNKNOWN if long_unconfirmed(kind, last, now) else Currency.CURRENT
    if standing in (Standing.INACTIVE, Standing.RESOLVED, Standing.STOPPED, Standing.CANCELLED, Standing.NOT_DONE):
        return Currency.PAST
    if standing is Standing.COMPLETED:
        return Currency.PAST if kind is Kind.MEDICATION else Currency.CURRENT
    if end is not None and end.latest is not None and end.latest < now:
        return Currency.PAST
    if all(member.statement.aspect is Aspect.BILLED for member in counting):
        return Currency.UNKNOWN  # a bill says what was treated that day, not that it lasts
    if kind is Kind.CONDITION and all(member.is_mention for member in counting):
        return Currency.UNKNOWN  # a note names what was and what is
    if kind in (Kind.CONDITION, Kind.ALLERGY, Kind.SOCIAL_HISTORY, Kind.DEMOGRAPHIC, Kind.FAMILY_HISTORY):
        return Currency.CURRENT
    return Currency.UNKNOWN


def _digest(
    counting: list[Said],
    members: list[Said],
    history: Mapping[str, str],
    fields: tuple[ResolvedField, ...],
    standing: Standing,
    polarity: Polarity,
    verification: Verification,
    conflicts: list[Conflict],
    over: bool,
) -> str:
    """Over content, not ids: what the graph hash counts of this fact."""
    digest_of = {m.id: m.digest for m in members}
    content = (
        counting[0].kind,
        sorted(m.digest for m in counting),
        sorted((digest_of.get(id, ""), why) for id, why in history.items()),
        [(f.name, f.verdict, shown(f.value)) for f in fields],
        standing,
        polarity,
        verification,
        sorted(m.attribution.rule + m.attribution.kind + m.attribution.author.role for m in counting),
        [(c.kind, c.field, [s.says for s in c.sides]) for c in conflicts],
    )
    return content_digest(canonical_bytes(content), *(["no longer true"] if over else []))


def shown(value: object) -> str:
    """A value in words, as sent."""
    match value:
        case bool():
            return "yes" if value else "no"
        case CodedText():
            return value.display
        case Component():
            return f"{value.concept.display} {shown(value.value)}".strip()
        case None:
            return ""
    return str(value)


def _panel(components: tuple[Component, ...]) -> str:
    return ", ".join(shown(component) for component in components)

"""What does the contract's payload of one kind hold? The same for a statement and for the fact it resolves to.

A `Telling` is what both have in common: a display, codes, named values, times, a status. What only a statement has
(its source) or only a fact has (its members) is added by `nodes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from iamata.interfaces.wire.lists import look_up, values_of
from iamata.interfaces.wire.values import Json, codes, given, period, text
from iamata.model.clinical_time import ClinicalTime, Clock, Period, Timed
from iamata.model.coding import CodedText, Quantity
from iamata.model.statement import Aspect, Component, Kind, Polarity, Standing, Statement, Value, Verification

# On which clock an event is shown, best first, when the contract asks for one timestamp. Never PREPARED, which is the
# time of a message or document and of no entry (design 04): so the contract's `preparedAt` of a dispense is left out.
_SHOWN = (
    Clock.EFFECTIVE,
    Clock.OCCURRED,
    Clock.HANDED_OVER,
    Clock.AUTHORED,
    Clock.ORDERED,
    Clock.ASSERTED,
    Clock.ISSUED,
    Clock.PLANNED,
    Clock.STATUS_CHANGED,
)


class Telling(msgspec.Struct, frozen=True, kw_only=True):
    """What a statement or a fact tells, without who and where. `times` may hold several of one clock (those of a fact's
    members); the latest start counts. `fallback_time` is when it was received: used only where the contract demands a
    time and no source gave one."""

    kind: Kind
    display: str
    concept: CodedText | None
    value: Callable[[str], Value | None]
    times: tuple[Timed, ...]
    components: tuple[Component, ...]
    standing: Standing
    verification: Verification
    polarity: Polarity
    aspect: Aspect | None
    sent_status: str
    fallback_time: str


def telling(statement: Statement, received: str) -> Telling:
    return Telling(
        kind=statement.kind,
        display=display(statement),
        concept=statement.concept,
        value=statement.field,
        times=statement.times,
        components=statement.components,
        standing=statement.standing,
        verification=statement.verification,
        polarity=statement.polarity,
        aspect=statement.aspect,
        sent_status=statement.status,
        fallback_time=received,
    )


def display(statement: Statement) -> str:
    """What a reader calls it: its concept, else its name or title, else its kind."""
    if statement.concept is not None and statement.concept.display:
        return statement.concept.display
    for name in ("name", "title", "plan", "description", "text"):
        said = text(statement.field(name))
        if said:
            return said
    return statement.kind.value.replace("_", " ")


def _start(of: Telling, *clocks: Clock) -> ClinicalTime | None:
    """The latest start on the first of these clocks that there is."""
    for clock in clocks:
        starts = [each.start or each.end for each in of.times if each.clock is clock]
        known = [each for each in starts if each is not None]
        if known:
            return max(known, key=lambda each: (each.earliest is not None, each.earliest or 0, each.text))
    return None


def _date(of: Telling, *clocks: Clock) -> str | None:
    start = _start(of, *clocks)
    return start.text if start is not None else None


def _period(of: Telling, clock: Clock) -> Json | None:
    """The span on this clock whose start is latest; None if there is none."""
    spans = [each for each in of.times if each.clock is clock]
    if not spans:
        return None
    last = max(spans, key=lambda each: ((each.start and each.start.earliest) or 0, str(each.at)))
    return period(last.at) or None


def _points(of: Telling, clock: Clock) -> list[Json]:
    return [period(each.at) for each in of.times if each.clock is clock]


def _when(of: Telling) -> tuple[str, str]:
    """A time to show and the clock that it stands on; `received` when no source gave one."""
    for clock in _SHOWN:
        start = _start(of, clock)
        if start is not None:
            return start.text, clock.value
    return of.fallback_time, "received"


def status(of: Telling) -> str | None:
    """The contract's word for the status, or None where its list has no row for it."""
    name = f"status/{of.kind}"
    if Verification.ENTERED_IN_ERROR is of.verification or Standing.ENTERED_IN_ERROR is of.standing:
        return look_up(name, "entered-in-error")
    if of.verification is Verification.REFUTED:
        return look_up(name, "refuted", "denied")
    if of.polarity is Polarity.DENIED:
        return look_up(name, "denied", of.standing.value)
    if of.sent_status in values_of(f"sent/{of.kind}"):
        return of.sent_status
    return look_up(name, of.standing.value)


def _listed(name: str, value: Value | None) -> str | None:
    """The word of a closed list for a coded value (by its codes, then its text), or None."""
    if value is None:
        return None
    if isinstance(value, CodedText):
        return look_up(name, *(coding.code for coding in value.codings), value.text)
    return look_up(name, str(value))


def _words(value: Value | None) -> str | None:
    return text(value) or None


def _date_or_age(value: Value | None) -> str | float | None:
    """The contract's `date or age in years`: a number where the source counts years, else the words; never `yes`."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, Quantity) and value.ucum in ("a", "") and value.unit in ("a", "years", "year", "yr", ""):
        try:
            return float(value.value)
        except ValueError:
            return str(value)
    return text(value) or None


def _condition(of: Telling) -> Json:
    return {
        "effectivePeriod": _period(of, Clock.EFFECTIVE),
        "status": status(of),
        "assertedAt": _date(of, Clock.ASSERTED),
        "statusChangedAt": _date(of, Clock.STATUS_CHANGED),
    }


def _medication(of: Telling) -> Json:
    return {
        "status": status(of),
        "dosageInstructions": _dosage(of),
        "route": _words(of.value("route")),
        "effectivePeriod": _period(of, Clock.EFFECTIVE),
        "handedOverAt": _date(of, Clock.HANDED_OVER),
        "orderedAt": _date(of, Clock.ORDERED),
        "plannedPeriod": _period(of, Clock.PLANNED),
        "orderValidUntil": _date(of, Clock.EXPIRES),
        "assertedAt": _date(of, Clock.ASSERTED),
    }


def _dosage(of: Telling) -> str | None:
    """The dosage in the source's words, else dose and frequency side by side."""
    said = text(of.value("dosage_text"))
    if said:
        return said
    parts = [text(of.value(name)) for name in ("dose", "frequency")]
    return ", ".join(part for part in parts if part) or None


def _allergy(of: Telling) -> Json:
    category = text(of.value("category"))
    reactions = [each.concept.display for each in of.components if each.concept.display]
    return {
        "status": status(of),
        "criticality": _listed("allergy.criticality", of.value("criticality")),
        "category": [word for word in category.split(",") if word],
        "reactions": list(dict.fromkeys(reactions)),
        "effectivePeriod": _period(of, Clock.EFFECTIVE),
        "reactionPeriods": _points(of, Clock.OCCURRED),
        "lastReactionAt": _date(of, Clock.OCCURRED),
    }


def _family_history(of: Telling) -> Json:
    return {
        "relationship": text(of.value("relationship")),
        "sex": _listed("family_history.sex", of.value("sex")),
        "conditions": [
            given({"onset": _date_or_age(each.value)}) | {"display": each.concept.display} for each in of.components
        ],
        "birthDate": _words(of.value("born")),
        "death": _date_or_age(of.value("died")),
        "age": _date_or_age(of.value("age")),
    }


def _social_history(of: Telling) -> Json:
    return {
        "category": of.concept.display if of.concept is not None else None,
        "value": _words(of.value("value")),
        "effectivePeriod": _span(of),
        "occurredAt": _point(of),
        "issuedAt": _date(of, Clock.ISSUED),
    }


def _span(of: Telling) -> Json | None:
    """When it held, if that is a span and not a point."""
    spans = tuple(each for each in of.times if isinstance(each.at, Period))
    return _period(msgspec.structs.replace(of, times=spans), Clock.EFFECTIVE)


def _point(of: Telling) -> str | None:
    """When it happened, if that is a point."""
    points = tuple(each for each in of.times if isinstance(each.at, ClinicalTime))
    return _date(msgspec.structs.replace(of, times=points), Clock.OCCURRED, Clock.EFFECTIVE)


def _immunization(of: Telling) -> Json:
    return {
        "status": status(of),
        "occurredAt": _date(of, Clock.OCCURRED, Clock.EFFECTIVE),
        "expiresAt": _date(of, Clock.EXPIRES),
    }


def _device(of: Telling) -> Json:
    return {
        "status": status(of),
        "effectivePeriod": _period(of, Clock.EFFECTIVE),
        "expiresAt": _date(of, Clock.EXPIRES),
    }


def _demographic(of: Telling) -> Json:
    return {
        "birthDate": _words(of.value("birth_date")),
        "death": _date_or_age(of.value("deceased")),
        "sex": _words(of.value("sex")),
        "address": _words(of.value("address")),
    }


def _insurance(of: Telling) -> Json:
    return {
        "status": status(of),
        # The contract means the payer's name (Coverage.payor), which is not always the plan's.
        "planName": _words(of.value("payor")) or _words(of.value("plan")),
        "memberId": _words(of.value("member_id")),
        "effectivePeriod": _period(of, Clock.EFFECTIVE),
    }


def _directive(of: Telling) -> Json:
    return {
        "status": status(of),
        "notes": _words(of.value("description")),
        "effectivePeriod": _period(of, Clock.EFFECTIVE),
        "signedAt": _date(of, Clock.SIGNED),
        "verifiedAt": _date(of, Clock.VERIFIED),
    }


def _encounter(of: Telling) -> Json:
    reason = of.value("reason")
    return {
        "kind": _listed("encounter.kind", of.value("class")) or "unknown",
        "reasonCodes": codes(reason) if isinstance(reason, CodedText) else [],
        "location": _words(of.value("location")),
        "dischargeDisposition": _words(of.value("disposition")),
        "plannedPeriod": _period(of, Clock.PLANNED),
        "statusChangedAt": _date(of, Clock.STATUS_CHANGED),
    }


def _observation(of: Telling) -> Json:
    value = of.value("value")
    unit = (value.ucum or value.unit or value.code) if isinstance(value, Quantity) else None
    return {
        "kind": _listed("observation.kind", of.value("category")),
        "codes": codes(of.concept),
        "displayName": of.concept.display if of.concept is not None else None,
        "value": _words(value),
        "unit": unit,
        "interpretation": _listed("observation.interpretation", of.value("interpretation")),
        "referenceRange": _words(of.value("reference_range")),
        "status": status(of),
        "occurredAt": _point(of),
        "issuedAt": _date(of, Clock.ISSUED),
    }


def _procedure(of: Telling) -> Json:
    return {
        "codes": codes(of.concept),
        "bodySite": _words(of.value("body_site")),
        "outcome": _words(of.value("outcome")),
        "status": status(of),
        "occurredAt": _point(of),
        "orderedAt": _date(of, Clock.ORDERED),
        "plannedPeriod": _period(of, Clock.PLANNED),
    }


def _medication_event(of: Telling) -> Json:
    aspect = of.aspect.value if of.aspect is not None else ""
    return {
        "medicationDisplay": of.display,
        "medicationCodes": codes(of.concept),
        "kind": status(of) or look_up("medication_event.kind", aspect),
        "dose": _dosage(of),
        "route": _words(of.value("route")),
        "occurredAt": _point(of),
        "handedOverAt": _date(of, Clock.HANDED_OVER),
        "orderedAt": _date(of, Clock.ORDERED),
        "plannedPeriod": _period(of, Clock.PLANNED),
        "orderValidUntil": _date(of, Clock.EXPIRES),
        "statusChangedAt": _date(of, Clock.STATUS_CHANGED),
    }


_FACTS: dict[Kind, Callable[[Telling], Json]] = {
    Kind.CONDITION: _condition,
    Kind.MEDICATION: _medication,
    Kind.ALLERGY: _allergy,
    Kind.FAMILY_HISTORY: _family_history,
    Kind.SOCIAL_HISTORY: _social_history,
    Kind.IMMUNIZATION: _immunization,
    Kind.DEVICE: _device,
    Kind.DEMOGRAPHIC: _demographic,
    Kind.INSURANCE: _insurance,
    Kind.DIRECTIVE: _directive,
}

_EVENTS: dict[Kind, Callable[[Telling], Json]] = {
    Kind.ENCOUNTER: _encounter,
    Kind.OBSERVATION: _observation,
    Kind.PROCEDURE: _procedure,
    Kind.MEDICATION_EVENT: _medication_event,
}

# The contract demands these, so they stay when they are empty.
_DEMANDED = frozenset({"display", "relationship", "conditions", "summary", "timestamp", "medicationDisplay"})


def _kept(values: Json) -> Json:
    return given(values) | {name: values[name] for name in _DEMANDED & values.keys()}


def fact_payload(of: Telling) -> Json:
    """The payload that an `extracted_fact` and a `fact` of one of the ten kinds share."""
    shared: dict[str, Any] = {
        "type": of.kind.value,
        "display": of.display,
        "codes": codes(of.concept),
        "authoredAt": _date(of, Clock.AUTHORED, Clock.ASSERTED),
    }
    return _kept(shared | _FACTS[of.kind](of))


def event_payload(of: Telling) -> Json:
    """The payload that an `extracted_clinical_event` and a `clinical_event` of one of the four kinds share.

    `timestampClock` (ours) says which clock `timestamp` was read from; `received` means that no source gave a time.
    """
    timestamp, clock = _when(of)
    shared: dict[str, Any] = {
        "type": of.kind.value,
        "timestamp": timestamp,
        "timestampClock": clock,
        "effectivePeriod": _span(of),
        "summary": _summary(of),
        "authoredAt": _date(of, Clock.AUTHORED, Clock.ASSERTED),
    }
    return _kept(shared | _EVENTS[of.kind](of))


def _summary(of: Telling) -> str:
    """One line: the display, and the value where there is one."""
    value = text(of.value("value"))
    return f"{of.display}: {value}" if value else of.display


def further_payload(of: Telling, names: Iterable[str]) -> Json:
    """The payload of a kind that the contract does not know: the display, codes, and every named value."""
    timestamp, clock = _when(of)
    return {"type": of.kind.value, "display": of.display} | given(
        {
            "codes": codes(of.concept),
            "status": of.sent_status or of.standing.value,
            "timestamp": timestamp,
            "timestampClock": clock,
            "values": {name: text(of.value(name)) for name in names},
        }
    )

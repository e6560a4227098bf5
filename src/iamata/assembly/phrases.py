"""What is worth saying of an item of each kind, in which order and words?

Gives the name and the clauses; who says so, brackets and conflicts are added by `lines`. A clause is only made of what
a statement holds: a missing date, dose or status is not mentioned, and never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from iamata.assembly.neighbours import newest_first, statement_day
from iamata.assembly.wording import coded, day, frequency, name, quantity, quote, span, value_words
from iamata.model.clinical_time import ClinicalTime, Clock, Period, Timed
from iamata.model.coding import CodedText, Quantity
from iamata.model.fact import Currency, Fact
from iamata.model.graph import Graph
from iamata.model.statement import (
    UNSAID_ROLE,
    Aspect,
    Component,
    Kind,
    Polarity,
    Standing,
    Statement,
    Value,
    Verification,
)

# A reference as sent (`DiagnosticReport/f201`) says nothing to a reader; what it leads to is told as a link.
_REFERENCE = re.compile(r"(urn:uuid:|[A-Z][A-Za-z]+/)[A-Za-z0-9.-]+\Z")


class Telling(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a fact or one statement tells, in one shape.

    `currency` is None for a statement; `days` are those on which its statements were made, oldest first, each once.
    """

    kind: Kind
    display: str
    concept: CodedText | None
    polarity: Polarity
    standing: Standing
    verification: Verification
    currency: Currency | None
    aspects: frozenset[Aspect]
    times: dict[Clock, Timed]
    days: tuple[str, ...]
    fields: dict[str, Value]
    components: tuple[Component, ...]

    def words(self, *names: str) -> str:
        """The first of these fields that says something, in words."""
        for field in names:
            value = self.fields.get(field)
            if value is not None:
                words = value_words(value, field)
                if words and not _REFERENCE.match(words):
                    return words
        return ""

    def start(self, *clocks: Clock) -> str:
        """The day (at its precision) on the first of these clocks that has one."""
        for clock in clocks:
            timed = self.times.get(clock)
            if timed is not None and timed.start is not None:
                return day(timed.start)
        return ""


def of_statement(statement: Statement) -> Telling:
    """What one statement tells."""
    return Telling(
        kind=statement.kind,
        display=statement.concept.display if statement.concept else "",
        concept=statement.concept,
        polarity=statement.polarity,
        standing=statement.standing,
        verification=statement.verification,
        currency=None,
        aspects=frozenset((statement.aspect,)),
        times=_times([statement]),
        days=(statement_day(statement),),
        fields={field.name: field.value for field in statement.fields},
        components=statement.components,
    )


def of_fact(graph: Graph, fact: Fact) -> Telling:
    """What a fact tells: picked fields and clinical time; other clocks from the newest statement that has them."""
    held = fact.members or tuple(id for id, _ in fact.history)
    statements = newest_first([graph.statements[id] for id in held if id in graph.statements])
    times = _times(statements)
    if fact.when is not None:
        times[fact.when.clock] = fact.when
    return Telling(
        kind=fact.kind,
        display=fact.display,
        concept=fact.concept,
        polarity=fact.polarity,
        standing=fact.standing,
        verification=fact.verification,
        currency=fact.currency,
        aspects=frozenset(s.aspect for s in statements),
        times=times,
        days=tuple(sorted({day for s in statements if (day := statement_day(s))})),
        fields={field.name: field.value for field in fact.fields},
        components=fact.components,
    )


def _times(statements: list[Statement]) -> dict[Clock, Timed]:
    times: dict[Clock, Timed] = {}
    for statement in statements:
        for timed in statement.times:
            times.setdefault(timed.clock, timed)
    return times


def _title(t: Telling) -> str:
    """The name; the kind where the source gives no name, and before a name that says too little without it."""
    kind = t.kind.value.replace("_", " ").capitalize()
    if t.concept is None or not t.concept.display:
        given = t.words("title", "name", "plan", "description")
        if given:
            return given
        # A display that the source did not give is the name of a record type (`CarePlan`): no word for a reader.
        return name(t.display) if " " in t.display.strip() else kind
    only_code = not t.concept.text and any(t.display == coding.code for coding in t.concept.codings)
    if only_code or t.kind in (Kind.CLAIM, Kind.REMITTANCE):
        return f"{kind} ({name(t.display)})"
    return name(t.display)


_DENIALS: Final = (
    "no ",
    "not ",
    "none",
    "denies",
    "denied",
    "negative ",
    "never ",
    "without ",
    "absence of",
    "nka",
    "nkda",
)


def headline(telling: Telling) -> str:
    """The name of the item, said as a denial when it is one."""
    shown = _title(telling)
    if telling.polarity is not Polarity.DENIED:
        return shown
    if shown.casefold().startswith(_DENIALS):
        return shown[:1].upper() + shown[1:]
    match telling.kind:
        case Kind.ALLERGY:
            return f"No allergy to {shown}"
        case Kind.CONDITION:
            return f"No {shown}" if telling.verification is not Verification.REFUTED else f"{shown}: ruled out"
        case Kind.MEDICATION | Kind.MEDICATION_EVENT:
            return f"Not taken: {shown}" if Aspect.TAKEN in telling.aspects else f"Not given: {shown}"
        case Kind.IMMUNIZATION:
            return f"Not given: {shown}"
        case Kind.PROCEDURE:
            return f"Not done: {shown}"
        case _:
            return f"Denied: {shown}"


def clauses(telling: Telling) -> list[str]:
    """What is known of the item that matters, in the order in which it is said; empty when nothing is."""
    make = _KINDS.get(telling.kind, _other)
    return [*_remarks_before(telling), *(clause for clause in make(telling) if clause), *_remarks_after(telling)]


def _remarks_before(telling: Telling) -> Iterator[str]:
    if telling.standing is Standing.ENTERED_IN_ERROR or telling.verification is Verification.ENTERED_IN_ERROR:
        yield "recorded as entered in error, do not use"


def _remarks_after(telling: Telling) -> Iterator[str]:
    match telling.verification:
        case Verification.PROVISIONAL:
            yield "provisional"
        case Verification.DIFFERENTIAL:
            yield "a differential diagnosis, not confirmed"
        case Verification.UNCONFIRMED:
            yield "unconfirmed"
        case Verification.REFUTED if telling.polarity is not Polarity.DENIED:
            yield "ruled out"
        case _:
            pass


_STATUS: Final = {
    Standing.ACTIVE: "active",
    Standing.INACTIVE: "inactive",
    Standing.RESOLVED: "resolved",
    Standing.STOPPED: "stopped",
    Standing.ON_HOLD: "on hold",
    Standing.COMPLETED: "completed",
    Standing.PLANNED: "planned",
    Standing.NOT_DONE: "not done",
    Standing.PRELIMINARY: "preliminary",
    Standing.CORRECTED: "corrected",
    Standing.CANCELLED: "cancelled",
    Standing.DRAFT: "draft",
}


def status(t: Telling) -> str:
    """The standing in one word; empty where it goes without saying (final, unknown) or is said elsewhere."""
    if t.standing is Standing.ACTIVE and t.currency is Currency.PAST:
        return ""  # `lines` says that it is listed as active and over
    return _STATUS.get(t.standing, "")


def _with(label: str, words: str) -> str:
    return f"{label} {words}" if words else ""


def _condition(t: Telling) -> Iterator[str]:
    if t.polarity is Polarity.DENIED:
        yield _with("recorded", t.start(Clock.ASSERTED, Clock.AUTHORED, Clock.EFFECTIVE))
        return
    yield _only_billed(t)
    yield t.words("severity").casefold()
    yield t.words("stage")
    yield _with("site", t.words("body_site"))
    yield _lasting(t)
    if not span(_at(t, Clock.EFFECTIVE)):
        yield _with("onset at age", t.words("onset_age"))
        yield _with("recorded", t.start(Clock.ASSERTED, Clock.AUTHORED))
    yield _with("ended:", t.words("abatement_text"))


def _only_billed(t: Telling) -> str:
    """A code on a bill is neither a clinician's diagnosis nor a record of care."""
    return "as billed" if t.aspects == {Aspect.BILLED} else ""


def _lasting(t: Telling) -> str:
    """`active since 2019-03-02`, `resolved 2012-01-23 to 2012-02-13`; of what is over and has no end told, `resolved,
    began 2012-01-23`."""
    said, when = status(t), _since(t.times.get(Clock.EFFECTIVE))
    if said and said not in ("active", "planned", "on hold") and when.startswith("since "):
        return f"{said}, began {when[6:]}"
    return f"{said} {when}".strip()


def _since(timed: Timed | None) -> str:
    if timed is None:
        return ""
    if isinstance(timed.at, ClinicalTime):
        return f"since {day(timed.at)}"
    return span(timed.at)


_SAID: Final = (
    (Aspect.ORDERED, "ordered"),
    (Aspect.DISPENSED, "dispensed"),
    (Aspect.GIVEN, "given"),
    (Aspect.TAKEN, "reportedly taken"),
    (Aspect.PROPOSED, "proposed, not ordered"),
    (Aspect.BILLED, "billed"),
)


def dose(t: Telling) -> str:
    """`250 mg, oral, 3 times a day`: dose, route and frequency as far as they are known; else the dosage text."""
    shown = name(t.display).casefold()
    amount = t.words("dose", "dose_quantity")
    often = t.fields.get("frequency")
    parts = [
        amount,
        t.words("route").casefold(),
        frequency(often) if isinstance(often, str) else value_words(often) if often is not None else "",
        "as needed" if t.fields.get("as_needed") is True else "",
    ]
    given = [part for part in parts if part and part not in shown]
    if not amount and not often and t.words("dosage_text"):
        given.append(t.words("dosage_text"))
    if not amount and t.words("strength") and t.words("strength").casefold() not in shown:
        given.insert(0, t.words("strength"))
    return ", ".join(given)


def _medication(t: Telling) -> Iterator[str]:
    yield dose(t)
    said = [words for aspect, words in _SAID if aspect in t.aspects]
    intent = t.words("intent")
    if said and intent in ("proposed", "planned") and Aspect.ORDERED not in t.aspects:
        said = [f"{intent}, not ordered"]
    when = t.start(Clock.ORDERED, Clock.AUTHORED, Clock.ASSERTED, Clock.HANDED_OVER, Clock.OCCURRED)
    effective = t.times.get(Clock.EFFECTIVE)
    yield f"{' and '.join(said)} {when}".strip() if said and when else " and ".join(said)
    if effective is not None:
        taken = _since(effective)
        yield taken if taken not in (f"since {when}", when) else ""
    yield status(t)
    yield _with("for", t.words("reason"))


def _occasions(t: Telling, newest: str) -> str:
    """`2020-01-02`, `2020-01-02 and 2021-03-04`, `5 times from 2019-01-02 to 2021-03-04`: a medicine can be ordered
    again and again, and its line must not look like one order."""
    if len(t.days) < 2:
        return newest
    if len(t.days) == 2:
        return f"{t.days[0]} and {t.days[1]}"
    return f"{len(t.days)} times from {t.days[0]} to {t.days[-1]}"


def _medication_event(t: Telling) -> Iterator[str]:
    yield dose(t)
    when = t.start(Clock.EFFECTIVE, Clock.OCCURRED, Clock.HANDED_OVER, Clock.PREPARED)
    said = " and ".join(words for aspect, words in _SAID if aspect in t.aspects)
    yield f"{said} {when}".strip()
    yield status(t) if t.standing not in (Standing.COMPLETED, Standing.ACTIVE) else ""
    yield _with("supply", t.words("supply"))


def _allergy(t: Telling) -> Iterator[str]:
    if t.polarity is not Polarity.DENIED:
        kind = t.words("type")
        yield "intolerance" if kind == "intolerance" else ""
        yield " and ".join(_reaction(c) for c in t.components)
        yield t.words("criticality") if t.words("criticality") != "low criticality" else ""
        occurred = t.start(Clock.OCCURRED)
        yield _with("reaction", occurred)
        since = _since(t.times.get(Clock.EFFECTIVE))
        yield since if since != f"since {occurred}" else ""
        yield status(t) if t.standing is not Standing.ACTIVE else ""
    yield _with("recorded", t.start(Clock.ASSERTED, Clock.AUTHORED))


def _reaction(component: Component) -> str:
    severity = value_words(component.value) if component.value is not None else ""
    manifestation = coded(component.concept)
    return f"{manifestation} ({severity})" if severity and severity not in manifestation else manifestation


def _result(value: Value | None, absent: str) -> str:
    words = value_words(value, "value") if value is not None else ""
    if not words and absent:
        return f"no value ({value_words(absent, 'absent')})"
    return words


def result(t: Telling) -> str:
    """The value of an observation with its interpretation and reference range, or those of its parts."""
    parts = [_result(t.fields.get("value"), t.words("absent"))]
    parts += [
        f"{coded(c.concept)} {_result(c.value, c.absent)}"
        + (f" ({value_words(c.interpretation, 'interpretation')})" if c.interpretation else "")
        for c in t.components
        if c.value is not None or c.absent
    ]
    said = ", ".join(part for part in parts if part)
    remarks = [t.words("interpretation"), _with("reference", t.words("reference_range"))]
    judged = ", ".join(part for part in remarks if part)
    return f"{said} ({judged})" if judged and said else said or judged


def _observation(t: Telling) -> Iterator[str]:
    yield result(t)
    yield span(_at(t, Clock.EFFECTIVE, Clock.OCCURRED)) or _with("issued", t.start(Clock.ISSUED))
    yield _with("site", t.words("body_site"))
    yield status(t) if t.standing is not Standing.ACTIVE else ""


def _at(t: Telling, *clocks: Clock) -> ClinicalTime | Period | None:
    for clock in clocks:
        if clock in t.times:
            return t.times[clock].at
    return None


def _family(t: Telling) -> Iterator[str]:
    yield ", ".join(
        coded(c.concept) + (f" (onset {value_words(c.value)})" if c.value is not None else "") for c in t.components
    )
    yield _with("born", t.words("born"))
    died = t.fields.get("died")
    yield "deceased" if died is True else _with("died", t.words("died")) if died not in (None, False) else ""
    yield _with("age", t.words("age"))


def _immunization(t: Telling) -> Iterator[str]:
    yield span(_at(t, Clock.OCCURRED, Clock.EFFECTIVE))
    yield _with("dose", t.words("dose_number"))
    yield _with("lot", t.words("lot")) if t.polarity is not Polarity.DENIED else ""
    if t.standing is Standing.NOT_DONE and t.polarity is not Polarity.DENIED:
        yield "not done"
    yield _with("reason:", t.words("status_reason"))


def _encounter(t: Telling) -> Iterator[str]:
    shown = name(t.display).casefold()
    visit = t.words("class")
    yield visit if visit.casefold() not in shown else ""
    yield span(_at(t, Clock.EFFECTIVE, Clock.OCCURRED))
    yield _with("for", t.words("reason"))
    yield _with("at", t.words("location"))
    yield _with("discharged:", t.words("disposition"))
    yield status(t) if t.standing in (Standing.PLANNED, Standing.CANCELLED, Standing.ACTIVE) else ""


def _procedure(t: Telling) -> Iterator[str]:
    yield _only_billed(t)
    yield span(_at(t, Clock.OCCURRED, Clock.EFFECTIVE)) or _with("recorded", t.start(Clock.ASSERTED, Clock.AUTHORED))
    yield _with("site", t.words("body_site"))
    yield _with("for", t.words("reason"))
    yield _with("outcome:", t.words("outcome"))
    yield status(t) if t.standing is not Standing.COMPLETED and t.polarity is not Polarity.DENIED else ""
    yield _with("reason:", t.words("status_reason"))


def _report(t: Telling) -> Iterator[str]:
    yield span(_at(t, Clock.EFFECTIVE, Clock.OCCURRED)) or _with(
        "issued", t.start(Clock.ISSUED, Clock.AUTHORED, Clock.ASSERTED)
    )
    yield t.words("title", "conclusion_code")
    for field in ("conclusion", "description", "text"):
        value = t.fields.get(field)
        if isinstance(value, str) and value:
            yield quote(value) if len(value) <= 300 else value_words(value)
    yield _with("topic", t.words("topic"))
    yield status(t) if t.standing in (Standing.PRELIMINARY, Standing.CORRECTED, Standing.CANCELLED) else ""


def _answer(t: Telling) -> Iterator[str]:
    value = t.fields.get("value")
    yield quote(value) if isinstance(value, str) else value_words(value) if value is not None else "no answer"
    yield t.start(Clock.AUTHORED, Clock.ASSERTED, Clock.EFFECTIVE)


def _demographic(t: Telling) -> Iterator[str]:
    yield t.words("sex")
    yield _with("born", t.words("birth_date"))
    died = t.fields.get("deceased")
    yield "deceased" if died is True else _with("died", t.words("deceased")) if died not in (None, False) else ""
    for label, field in (("speaks", "language"), ("", "marital_status"), ("race", "race"), ("ethnicity", "ethnicity")):
        yield _with(label, t.words(field)).strip()
    if t.currency is None:  # what a source sent of it; a fact's line goes without
        yield _with("address", t.words("address"))
        yield _with("contact", t.words("telecom"))


def _insurance(t: Telling) -> Iterator[str]:
    shown = name(t.display).casefold()
    for label, field in (("plan", "plan"), ("payer", "payor"), ("type", "type"), ("group", "group")):
        words = t.words(field)
        yield _with(label, words) if words.casefold() not in shown else ""
    yield _with("member", t.words("member_id"))
    yield (
        _with("patient is the subscriber's", t.words("relationship"))
        if t.words("relationship").casefold() != "self"
        else ""
    )
    yield span(_at(t, Clock.EFFECTIVE))
    yield status(t)


def _directive(t: Telling) -> Iterator[str]:
    yield t.words("decision")
    yield t.words("category") if t.words("category") not in name(t.display) else ""
    yield _with("scope", t.words("scope"))
    yield quote(str(t.fields["description"])) if isinstance(t.fields.get("description"), str) else ""
    yield span(_at(t, Clock.EFFECTIVE)) or _with("signed", t.start(Clock.SIGNED, Clock.AUTHORED, Clock.ASSERTED))
    yield status(t)


def _device(t: Telling) -> Iterator[str]:
    for label, field in (("type", "type"), ("maker", "manufacturer"), ("model", "model"), ("lot", "lot")):
        yield _with(label, t.words(field)) if t.words(field) not in name(t.display) else ""
    yield _since(t.times.get(Clock.EFFECTIVE))
    yield status(t)


def _claim(t: Telling) -> Iterator[str]:
    yield t.words("use") if t.words("use") != t.kind.value else ""
    yield t.words("type") if t.words("type") not in name(t.display) else ""
    yield span(_at(t, Clock.EFFECTIVE, Clock.OCCURRED)) or t.start(Clock.AUTHORED, Clock.ASSERTED)
    total = t.fields.get("total")
    yield _with("total", quantity(total) if isinstance(total, Quantity) else t.words("total"))
    payment = t.fields.get("payment")
    yield _with("paid", quantity(payment) if isinstance(payment, Quantity) else t.words("payment"))
    owed = t.fields.get("patient_responsibility")
    yield _with("patient owes", quantity(owed)) if isinstance(owed, Quantity) else ""
    yield _with("adjusted:", t.words("adjustments"))
    yield _with("diagnoses as billed", t.words("diagnosis").replace("|", " ").strip())
    yield _with("insurer", t.words("insurer"))
    yield _with("outcome", t.words("outcome"))
    yield status(t) if t.standing is not Standing.ACTIVE else ""


def _goal(t: Telling) -> Iterator[str]:
    yield t.words("description") if t.words("description") not in name(t.display) else ""
    yield _with("target", t.words("target"))
    yield _with("due", t.words("due"))
    yield _with("achievement:", t.words("achievement"))
    yield _with("priority", t.words("priority"))
    yield _lasting(t)


def _plan(t: Telling) -> Iterator[str]:
    for field in ("title", "category"):
        yield t.words(field) if t.words(field) not in name(t.display) else ""
    yield _with("activities:", t.words("activity"))
    yield _lasting(t)


def _team(t: Telling) -> Iterator[str]:
    """Who belongs to it, each with the role that the source gives, if it gives one."""
    for field in ("title", "category"):
        yield t.words(field) if t.words(field) not in name(t.display) else ""
    members = [_member(each) for each in t.components]
    yield _with("with", "; ".join(filter(None, [*members, t.words("activity")])))
    yield _with("for", t.words("reason"))
    yield _lasting(t)


def _member(component: Component) -> str:
    role, who = coded(component.concept), value_words(component.value) if component.value is not None else ""
    return f"{who} ({role})" if who and role != UNSAID_ROLE else who or role


def _order(t: Telling) -> Iterator[str]:
    intent = t.words("intent")
    yield intent if intent != "ordered" else ""
    yield t.words("detail")
    yield _with("for", t.words("reason"))
    when = t.start(Clock.ORDERED, Clock.AUTHORED, Clock.ASSERTED)
    yield _with("ordered" if intent == "ordered" else "written", when)
    yield _with("due", span(_at(t, Clock.PLANNED, Clock.EFFECTIVE, Clock.OCCURRED)))
    yield status(t)


# Of any other kind: every field that is no bookkeeping, by its name.
_BOOKKEEPING: Final = frozenset({"note_count", "category", "link_id", "questionnaire", "evidence", "sort"})


def _other(t: Telling) -> Iterator[str]:
    yield result(t) if "value" in t.fields or t.components else ""
    for field in sorted(t.fields):
        if field not in _BOOKKEEPING and field not in ("value", "interpretation", "reference_range", "absent"):
            words = t.words(field)
            yield (
                f"{field.replace('_', ' ')} {words}"
                if words and words != "actual" and words not in name(t.display)
                else ""
            )
    yield span(_at(t, Clock.EFFECTIVE, Clock.OCCURRED, Clock.PLANNED, Clock.AUTHORED, Clock.ASSERTED, Clock.ISSUED))
    yield status(t)


_KINDS: Final[dict[Kind, Callable[[Telling], Iterator[str]]]] = {
    Kind.CONDITION: _condition,
    Kind.MEDICATION: _medication,
    Kind.MEDICATION_EVENT: _medication_event,
    Kind.ALLERGY: _allergy,
    Kind.OBSERVATION: _observation,
    Kind.SOCIAL_HISTORY: _observation,
    Kind.FAMILY_HISTORY: _family,
    Kind.IMMUNIZATION: _immunization,
    Kind.ENCOUNTER: _encounter,
    Kind.PROCEDURE: _procedure,
    Kind.REPORT: _report,
    Kind.DOCUMENT: _report,
    Kind.COMMUNICATION: _report,
    Kind.ANSWER: _answer,
    Kind.DEMOGRAPHIC: _demographic,
    Kind.INSURANCE: _insurance,
    Kind.DIRECTIVE: _directive,
    Kind.DEVICE: _device,
    Kind.AUTHORIZATION: _claim,
    Kind.CLAIM: _claim,
    Kind.REMITTANCE: _claim,
    Kind.GOAL: _goal,
    Kind.ORDER: _order,
    Kind.CARE_PLAN: _plan,
    Kind.CARE_TEAM: _team,
}

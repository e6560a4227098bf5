"""Two times on every read: what was known by then, and what was so then. And the stamp they are answered under."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from spec_patients import NOW, RESTRICTED, HandClock, bundle, condition, order, result

from iamata import Access, ContextRequest, Engine, InvalidValue, Speaker, Subject, Turn, patient
from iamata.model.access import PrincipalKind
from iamata.model.attribution import Attribution, AttributionKind, Author, Role
from iamata.model.entry import Entry, EntryKind
from iamata.model.scope import Scope
from iamata.model.statement import Label

P = patient("p")
ORGANIZATION = Subject(Scope.ORGANIZATION, "clinic")
Read = Callable[..., Any]


def request(task: str = "general", **more: Any) -> ContextRequest:
    return ContextRequest(subjects=(P, ORGANIZATION), task=task, budget_tokens=800, query="lisinopril", **more)


READS: dict[str, Read] = {
    "browse": lambda engine, **times: engine.browse("/patient/p/", **times),
    "read": lambda engine, **times: engine.read("/patient/p/medications", **times),
    "search": lambda engine, **times: engine.search(P, "lisinopril", **times),
    "context": lambda engine, **times: engine.context(request(), **times),
    "conflicts": lambda engine, **times: engine.conflicts("p", **times),
    "graph": lambda engine, **times: engine.graph("p", **times).hash,
}


def content(answer: Any) -> bytes:
    """The answer without what tells which version of the graph it was read from."""
    text = re.sub(rb'"(stamp|id)":"(?:ctx_)?[a-z0-9]{10,}"', b"", msgspec.json.encode(answer))
    return re.sub(rb'"graph_version":\d+|graph [0-9a-f]{8} v\d+', b"", text)


def displays(engine: Engine, **times: Any) -> set[str]:
    return {fact.display for fact in engine.graph("p", **times).facts.values() if fact.kind != "demographic"}


def test_what_arrives_is_known_from_its_arrival_on(engine: Engine, clock: HandClock) -> None:
    engine.ingest("p", bundle(condition("Asthma")), source="one")
    arrival = clock.wait(hours=1)
    engine.ingest("p", bundle(condition("Gout")), source="two")
    clock.wait(hours=1)
    assert displays(engine, known_at=arrival - timedelta(microseconds=1)) == {"Asthma"}
    assert displays(engine, known_at=arrival) == {"Asthma", "Gout"}
    assert displays(engine, known_at=arrival + timedelta(microseconds=1)) == {"Asthma", "Gout"}
    assert displays(engine) == {"Asthma", "Gout"}
    assert displays(engine, known_at=NOW - timedelta(seconds=1)) == set()


def test_what_was_said_is_known_from_the_turn_on(engine: Engine, clock: HandClock) -> None:
    engine.ingest("p", bundle(order("10 mg")), source="one")
    clock.wait(hours=1)
    engine.append("p", "s", [Turn(Speaker.PATIENT, "Good morning.", said_at=clock.now)])
    arrival = clock.wait(hours=1)
    engine.append("p", "s", [Turn(Speaker.PATIENT, "I stopped taking lisinopril last week.", said_at=arrival)])
    before = engine.graph("p", known_at=arrival - timedelta(microseconds=1))
    after = engine.graph("p", known_at=arrival)
    assert [len(session.messages) for session in before.sessions.values()] == [1]
    assert [len(session.messages) for session in after.sessions.values()] == [2]
    assert (len(before.memories), len(after.memories)) == (0, 1)
    assert engine.conflicts("p", known_at=arrival - timedelta(seconds=1)) == []
    assert [conflict.kind for conflict in engine.conflicts("p", known_at=arrival)] == ["status"]
    assert engine.graph("p", known_at=NOW).sessions == {}


def test_a_retraction_is_known_from_its_moment_on(engine: Engine, clock: HandClock) -> None:
    engine.ingest("p", bundle(condition("Asthma")), source="one")
    moment = clock.wait(hours=1)
    engine.retract("p", "one")
    assert displays(engine, known_at=moment - timedelta(microseconds=1)) == {"Asthma"}
    assert displays(engine, known_at=moment) == set()


@pytest.mark.parametrize("name", READS)
def test_every_read_answers_as_it_would_have_then(engine: Engine, clock: HandClock, name: str) -> None:
    engine.ingest("p", bundle(order("10 mg")), source="one")
    times = {"known_at": clock.now, "true_at": clock.now}
    before = content(READS[name](engine, **times))
    clock.wait(hours=1)
    engine.ingest("p", bundle(order("20 mg")), source="two")
    engine.append("p", "s", [Turn(Speaker.PATIENT, "I stopped lisinopril.", said_at=NOW)])
    assert content(READS[name](engine, **times)) == before
    assert content(READS[name](engine)) != before


def test_what_begins_later_is_not_so_yet(engine: Engine) -> None:
    engine.ingest("p", bundle(condition("Asthma", onset="2026-02-10T12:00:00Z")), source="one")
    onset = datetime(2026, 2, 10, 12, tzinfo=UTC)
    assert displays(engine, true_at=onset - timedelta(seconds=1)) == set()
    assert displays(engine, true_at=onset) == {"Asthma"}


def test_a_day_has_begun_when_it_has_begun_anywhere_on_earth(engine: Engine) -> None:
    engine.ingest("p", bundle(result("Glucose", 90, day="2026-02-10")), source="one")
    begins = datetime(2026, 2, 9, 10, tzinfo=UTC)  # midnight at UTC+14
    assert displays(engine, true_at=begins - timedelta(seconds=1)) == set()
    assert displays(engine, true_at=begins) == {"Glucose"}


def test_what_is_planned_for_later_stays(engine: Engine) -> None:
    appointment = {
        "resourceType": "Appointment",
        "id": "ap",
        "status": "booked",
        "description": "Eye check",
        "serviceType": [{"text": "Eye check"}],
        "start": "2026-06-01T09:00:00Z",
        "participant": [{"actor": {"reference": "Patient/p"}, "status": "accepted"}],
    }
    goal = {
        "resourceType": "Goal",
        "id": "g",
        "lifecycleStatus": "active",
        "subject": {"reference": "Patient/p"},
        "description": {"text": "Walk daily"},
        "startDate": "2026-06-01",
    }
    engine.ingest("p", bundle(appointment, goal, result("Glucose", 90, day="2026-06-01")), source="one")
    kinds = {fact.kind for fact in engine.graph("p").facts.values()}
    assert {"appointment", "goal"} <= kinds
    assert "observation" not in kinds


def test_what_was_said_later_was_not_said_yet(engine: Engine) -> None:
    engine.append("p", "s", [Turn(Speaker.PATIENT, "I have a headache.", said_at=NOW)])
    assert len(engine.graph("p", true_at=NOW).memories) == 1
    assert len(engine.graph("p", true_at=NOW - timedelta(seconds=1)).memories) == 0


@pytest.mark.parametrize("times", [{"known_at": datetime(2026, 1, 1)}, {"true_at": datetime(2026, 1, 1)}])  # noqa: DTZ001  # naive on purpose
def test_a_time_without_an_offset_is_refused(engine: Engine, times: dict[str, datetime]) -> None:
    engine.put_patient("p")
    with pytest.raises(InvalidValue, match="aware"):
        engine.graph("p", **times)


# ----------------------------------------------------------------------------- the stamp


@pytest.mark.parametrize("name", ["browse", "read", "search", "context"])
def test_the_same_request_under_the_same_stamp_gives_the_same_bytes(
    open_engine: Any, clock: HandClock, name: str
) -> None:
    engine, later = open_engine(), open_engine()
    engine.ingest("p", bundle(order("10 mg"), condition("Asthma")), source="one")
    engine.ingest("p", bundle(order("20 mg")), source="two")
    first = msgspec.json.encode(READS[name](engine))
    clock.wait(minutes=29)  # within the hour: the clinical now is to the hour
    assert msgspec.json.encode(READS[name](engine)) == first
    assert msgspec.json.encode(READS[name](later)) == first, "another engine on the database answers alike"


def stamps(engine: Engine, access: Access | None = None, **times: Any) -> tuple[str, str, str]:
    return (
        engine.browse("/patient/p/", access=access, **times).stamp,
        engine.read("/patient/p/medications", access=access, **times).stamp,
        engine.context(request(), access=access, **times).stamp,
    )


def note(version: int) -> Entry:
    staff = Attribution(AttributionKind.USER, Author(Role.STAFF), rule="entered")
    return Entry(
        id="note",
        subject=ORGANIZATION,
        kind=EntryKind.STAFF_NOTE,
        version=version,
        title="Hours",
        text="We open at eight.",
        attribution=staff,
        recorded_at=NOW,
    )


def test_the_stamp_changes_with_everything_it_names(engine: Engine, clock: HandClock) -> None:
    engine.ingest("p", bundle(order("10 mg")), source="one")
    engine.put_entry(note(1))
    seen = [stamps(engine)]
    assert stamps(engine) == seen[0]

    def now_differ(fresh: tuple[str, str, str], what: str) -> None:
        for old in seen:
            assert not set(fresh) & set(old), what
        seen.append(fresh)

    clerk = Access(kind=PrincipalKind.OPERATOR, id="clerk", withheld=frozenset({Label(**RESTRICTED)}))
    now_differ(stamps(engine, known_at=NOW), "known_at")
    now_differ(stamps(engine, true_at=NOW - timedelta(days=1)), "true_at")
    now_differ(stamps(engine, access=clerk), "visible labels")
    engine.ingest("p", bundle(condition("Asthma")), source="one")
    now_differ(stamps(engine), "graph version")
    clock.wait(hours=1)
    now_differ(stamps(engine), "the clinical now, to the hour")
    context = engine.context(request()).stamp
    engine.put_entry(note(2))
    assert engine.context(request()).stamp != context, "a new version of an entry"
    context = engine.context(request()).stamp
    assert engine.context(request("medication_reconciliation")).stamp != context, "profile"
    assert engine.context(request(tokenizer="cl100k_base")).stamp != context, "tokenizer"


def test_the_stamp_names_what_the_answer_rests_on(engine: Engine) -> None:
    from iamata.engine.stamps import stamp_of

    engine.ingest("p", bundle(order("10 mg")), source="one")
    stamp = stamp_of(engine.graph("p"), Access.local(), profile="general/1", others=[("organization/c", 1)])
    same = stamp.digest
    for field in msgspec.structs.fields(type(stamp)):
        held = getattr(stamp, field.name)
        other = (*held, ("agent/a", 1)) if isinstance(held, tuple) else f"{held}?"
        assert msgspec.structs.replace(stamp, **{field.name: other}).digest != same, field.name

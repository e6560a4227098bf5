"""What became different since a moment, or between two ways of receiving the same. On every store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spec_patients import NOW, HandClock, allergy, bundle, condition, order, result

from iamata import BadInput, Engine, NotFound, Speaker, Turn
from iamata.assembly.reports import difference
from iamata.interfaces.wire.changes import changes, changes_markdown
from iamata.model.difference import Difference, FactChange
from iamata.model.graph import Graph
from iamata.model.ruling import RulingKind
from iamata.store import MemoryKeyStore, open_store

OpenEngine = Callable[..., Engine]


@pytest.fixture
def started(engine: Engine, clock: HandClock) -> Engine:
    """One source has sent an order of 10 mg and asthma; an hour has passed."""
    engine.ingest("p", bundle(order("10 mg"), condition("Asthma")), source="one")
    clock.wait(hours=1)
    return engine


def since_start(engine: Engine) -> Difference:
    found = engine.report("p", since=NOW + timedelta(minutes=30)).changes
    assert found is not None
    return found


def clinical(changed: Iterable[FactChange]) -> list[FactChange]:
    """Without the registration, which every source sends again."""
    return [each for each in changed if each.fact.kind != "demographic"]


def displays(named: Any) -> list[str]:
    return [each.display for each in named]


def test_without_a_moment_a_report_is_of_the_graph_alone(started: Engine) -> None:
    report = started.report("p")
    assert report.changes is None
    assert report.graph == started.graph("p")


def test_nothing_is_different_when_nothing_came_or_a_thing_came_again(started: Engine, clock: HandClock) -> None:
    assert since_start(started).is_empty
    started.ingest("p", bundle(order("10 mg"), condition("Asthma")), source="one")
    assert since_start(started).is_empty
    clock.wait(days=400)
    assert since_start(started).is_empty, "time alone changes nothing"


def test_a_new_fact_is_added_and_a_retracted_one_is_gone(started: Engine, clock: HandClock) -> None:
    started.ingest("p", bundle(result("Glucose", 90)), source="two")
    found = since_start(started)
    assert displays(found.added) == ["Glucose"]
    assert (found.gone, clinical(found.changed), found.merged) == ((), [], ())
    moment = clock.wait(hours=1)
    clock.wait(minutes=1)
    started.retract("p", "two")
    assert since_start(started).is_empty
    after = started.report("p", since=moment).changes
    assert after is not None
    assert displays(after.gone) == ["Glucose"]
    assert after.added == ()


def test_a_field_that_says_something_else_is_shown_before_and_after_with_the_conflict(
    started: Engine, clock: HandClock
) -> None:
    started.ingest("p", bundle(order("40 mg", id="m2")), source="two")
    found = since_start(started)
    [opened] = found.conflicts_opened
    assert (opened.kind, sorted(side.says for side in opened.sides)) == ("dose", ["10 mg", "40 mg"])
    [change] = clinical(found.changed)
    assert (change.fact.display, len(change.joined), change.left) == ("Lisinopril", 1, ())
    moment = clock.wait(hours=1)
    clock.wait(minutes=1)
    started.retract("p", "two")
    after = started.report("p", since=moment).changes
    assert after is not None
    assert [conflict.id for conflict in after.conflicts_closed] == [opened.id]
    assert [each.left for each in clinical(after.changed)] == [change.joined]


def test_a_status_that_changed_is_shown_field_by_field(started: Engine) -> None:
    stopped = order("10 mg", status="stopped", meta={"versionId": "2", "lastUpdated": "2026-02-15T10:30:00Z"})
    started.ingest("p", bundle(stopped), source="one")
    [change] = since_start(started).changed
    fields = {each.name: (each.before, each.after) for each in change.fields}
    assert fields["standing"] == ("active", "stopped")


def test_a_merge_that_a_person_made_or_undid_is_shown_as_one(started: Engine, clock: HandClock) -> None:
    started.ingest("p", bundle(condition("Wheezy chest", id="c2")), source="two")
    graph = started.graph("p")
    left, right = sorted(s.id for s in graph.statements.values() if s.kind == "condition")
    moment = clock.wait(hours=1)
    clock.wait(minutes=1)
    ruling = started.rule("p", RulingKind.SAME, left, right)
    made = started.report("p", since=moment).changes
    assert made is not None
    [merged] = made.merged
    assert sorted(displays(merged.parts)) == ["Asthma", "Wheezy chest"]
    assert merged.whole.statements == (left, right)
    assert (made.added, made.gone, made.changed) == ((), (), ())
    later = clock.wait(hours=1)
    clock.wait(minutes=1)
    started.withdraw_ruling("p", ruling.id)
    undone = started.report("p", since=later).changes
    assert undone is not None
    [parted] = undone.parted
    assert sorted(displays(parted.parts)) == ["Asthma", "Wheezy chest"]
    assert started.report("p", since=moment).changes == Difference()


def test_what_was_said_is_a_memory_and_may_open_a_conflict(started: Engine, clock: HandClock) -> None:
    started.append("p", "s", [Turn(Speaker.PATIENT, "I stopped taking lisinopril last week.", said_at=clock.now)])
    found = since_start(started)
    assert len(found.memories_added) == 1
    assert [conflict.kind for conflict in found.conflicts_opened] == ["status"]
    assert found.changed == ()


def test_since_before_the_first_thing_came_everything_is_added(started: Engine) -> None:
    found = started.report("p", since=NOW - timedelta(days=1)).changes
    assert found is not None
    assert {"Asthma", "Lisinopril"} <= set(displays(found.added))
    assert {each.id for each in found.added} == set(started.graph("p").facts)


def test_two_moments_in_the_past_can_be_compared_but_not_backwards(started: Engine, clock: HandClock) -> None:
    middle = clock.wait(hours=1)
    started.ingest("p", bundle(result("Glucose", 90)), source="two")
    clock.wait(hours=1)
    started.ingest("p", bundle(condition("Gout", id="c9")), source="three")
    found = started.report("p", since=NOW, known_at=middle).changes
    assert found is not None
    assert displays(found.added) == ["Glucose"]
    with pytest.raises(BadInput):
        started.report("p", since=clock.now, known_at=middle)
    with pytest.raises(BadInput):
        started.report("p", since=clock.now + timedelta(days=1))
    with pytest.raises(NotFound):
        started.report("nobody", since=NOW)


def test_two_ingests_of_the_same_under_other_keys_are_no_difference(make_store: Any, clock: HandClock) -> None:
    graphs = []
    for name in ("one", "two"):
        store = make_store(name)
        engine = Engine(store, store.keys, clock=clock, ids=iter(f"{n:020x}" for n in range(9)).__next__)
        engine.ingest("p", bundle(order("10 mg"), allergy("Penicillin"), result("Glucose", 90)), source="one")
        engine.ingest("p", bundle(order("40 mg", id="m2")), source="two")
        graphs.append(engine.graph("p"))
        clock.wait(minutes=1)
    assert not graphs[0].statements.keys() & graphs[1].statements.keys()
    assert difference(*graphs).is_empty


def test_changes_are_told_as_json_and_in_words_that_cannot_draw(started: Engine) -> None:
    started.ingest("p", bundle(order("40 mg", id="m2"), condition("Pain | <b>worse", id="c3")), source="two")
    report = started.report("p", since=NOW + timedelta(minutes=30))
    told = changes(report)
    assert told["since"] == "2026-02-15T10:30:00Z"
    assert [each["display"] for each in told["added"]] == ["Pain | <b>worse"]
    assert told["total"] == 4  # the registration was sent again
    assert msgspec.json.decode(msgspec.json.encode(told)) == told
    words = changes_markdown(report)
    assert "# Changes since 2026-02-15T10:30:00Z" in words
    assert "Pain \\| &lt;b>worse" in words
    assert "- dose: 10 mg / 40 mg" in words
    nothing = started.report("p", since=report.graph.moment.true_at.replace(hour=11))
    assert "Nothing became different." in changes_markdown(nothing)


# ------------------------------------------------------------------- laws


SENT = [
    (order("10 mg"), "one"),
    (order("40 mg", id="m2"), "two"),
    (condition("Asthma"), "one"),
    (condition("Asthma", id="c7"), "two"),
    (allergy("Penicillin"), "two"),
    (result("Glucose", 90), "three"),
    (result("Glucose", 95, id="o2", day="2026-02-02"), "three"),
]


def graph_of(chosen: frozenset[int]) -> Graph:
    keys = MemoryKeyStore()
    keys.put("p", bytes(range(32)))
    clock = HandClock()
    store = open_store(":memory:", keys=keys)
    with Engine(store, keys, clock=clock, ids=iter(f"{n:020x}" for n in range(99)).__next__) as engine:
        engine.put_patient("p")
        for number in sorted(chosen):
            clock.now = NOW + timedelta(minutes=number)
            engine.ingest("p", bundle(SENT[number][0]), source=SENT[number][1])
        clock.now = NOW + timedelta(hours=1)
        return engine.graph("p")


SOME = st.frozensets(st.integers(0, len(SENT) - 1))


@settings(max_examples=15, deadline=None)
@given(SOME, SOME)
def test_a_difference_turned_round_says_the_opposite_and_of_a_thing_with_itself_nothing(
    left: frozenset[int], right: frozenset[int]
) -> None:
    before, after = graph_of(left), graph_of(right)
    assert difference(before, before).is_empty
    there, back = difference(before, after), difference(after, before)
    assert (there.added, there.gone) == (back.gone, back.added)
    assert [each.whole for each in there.merged] == [each.whole for each in back.parted]
    assert there.conflicts_opened == back.conflicts_closed
    assert {each.fact.id for each in there.changed} == {each.before for each in back.changed}
    touched = {each.id for each in there.added} | {each.fact.id for each in there.changed}
    touched |= {each.whole.id for each in there.merged} | {p.id for each in there.parted for p in each.parts}
    for id, fact in after.facts.items():
        if id not in touched:
            assert fact.display in {other.display for other in before.facts.values() if other.kind == fact.kind}

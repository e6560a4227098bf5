"""People decide: same, not the same, this value is right, not this patient; and take it back. On every store.

Written before the code. A ruling is about records, not parses: it survives re-ingestion, and withdrawing it gives
exactly the graph that would have been without it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from iamata import Access, BadInput, Engine, NotAllowed, NotFound
from iamata.model.access import PrincipalKind
from iamata.model.ruling import RulingKind
from iamata.store import DatabaseStore

NOW = datetime(2026, 2, 15, 10, tzinfo=UTC)


class Ticking:
    """A clock that moves a second with every look."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def engine(make_store: Callable[..., DatabaseStore], clock: Ticking) -> Engine:
    store = make_store()
    numbers = iter(range(10_000))
    return Engine(store, store.keys, clock=clock, ids=lambda: f"{next(numbers):020x}")


def bundle(*resources: dict[str, Any]) -> bytes:
    entries = [{"resource": {"resourceType": "Patient", "id": "p"}}, *({"resource": r} for r in resources)]
    return json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries}).encode()


def condition(id: str, text: str, **more: Any) -> dict[str, Any]:
    return {"resourceType": "Condition", "id": id, "subject": {"reference": "Patient/p"}, "code": {"text": text}} | more


def order(dose: str) -> dict[str, Any]:
    return {
        "resourceType": "MedicationRequest",
        "id": "m1",
        "status": "active",
        "intent": "order",
        "subject": {"reference": "Patient/p"},
        "medicationCodeableConcept": {"text": "Lisinopril"},
        "authoredOn": "2026-02-10",
        "dosageInstruction": [{"text": dose}],
    }


def statement(engine: Engine, source: str, kind: str = "condition") -> str:
    [found] = [s.id for s in engine.graph("p").statements.values() if (s.source, s.kind) == (source, kind)]
    return found


def facts(engine: Engine, kind: str = "condition") -> list[tuple[str, int]]:
    return sorted((f.display, len(f.members)) for f in engine.graph("p").facts.values() if f.kind == kind)


def two_names(engine: Engine) -> tuple[str, str]:
    engine.ingest("p", bundle(condition("c1", "High blood pressure")), source="one")
    engine.ingest("p", bundle(condition("c9", "Elevated arterial tension")), source="two")
    return statement(engine, "one"), statement(engine, "two")


def test_a_person_says_that_two_records_are_the_same_thing(engine: Engine) -> None:
    one, two = two_names(engine)
    assert len(facts(engine)) == 2
    engine.rule("p", RulingKind.SAME, one, two, reason="same problem, other words")
    [(_, members)] = facts(engine)
    assert members == 2
    [decision] = [d for d in engine.graph("p").decisions.values() if d.by]
    assert (decision.verdict, decision.rule, decision.by) == ("merge", "person", "operator/local")


def test_a_person_says_that_two_records_are_not_the_same_thing(engine: Engine) -> None:
    engine.ingest("p", bundle(condition("c1", "Asthma")), source="one")
    engine.ingest("p", bundle(condition("c9", "Asthma")), source="two")
    assert facts(engine) == [("Asthma", 2)]
    engine.rule("p", RulingKind.NOT_SAME, statement(engine, "one"), statement(engine, "two"))
    assert facts(engine) == [("Asthma", 1), ("Asthma", 1)]


def test_withdrawing_a_ruling_gives_exactly_the_graph_without_it(engine: Engine, clock: Ticking) -> None:
    one, two = two_names(engine)
    before = engine.graph("p").hash
    ruling = engine.rule("p", RulingKind.SAME, one, two)
    ruled, moment = engine.graph("p").hash, clock.now
    assert ruled != before
    engine.withdraw_ruling("p", ruling.id)
    assert engine.graph("p").hash == before
    assert engine.graph("p", known_at=moment).hash == ruled
    with pytest.raises(NotFound):
        engine.withdraw_ruling("p", "ru_nothing")


def test_a_ruling_survives_another_version_of_a_record(engine: Engine) -> None:
    one, two = two_names(engine)
    engine.rule("p", RulingKind.SAME, one, two)
    newer = condition("c1", "High blood pressure", meta={"versionId": "2"}, note=[{"text": "still high"}])
    engine.ingest("p", bundle(newer), source="one")
    [(_, members)] = facts(engine)
    assert members == 2


def test_a_person_says_which_value_is_right_and_the_conflict_is_settled(engine: Engine) -> None:
    engine.ingest("p", bundle(order("10 mg daily")), source="one")
    engine.ingest("p", bundle(order("20 mg daily")), source="two")
    [conflict] = engine.conflicts("p")
    wrong = engine.graph("p").facts[conflict.fact].value("dosage_text")
    right = next(side.items[0] for side in conflict.sides if side.says != wrong)
    engine.rule("p", RulingKind.VALUE_IS_RIGHT, right, field="dosage_text", reason="asked the pharmacy")
    assert engine.conflicts("p") == []
    field = engine.graph("p").facts[conflict.fact].field("dosage_text")
    assert field is not None
    assert (field.value != wrong, field.statement) == (True, right)
    assert [other.value for other in field.others] == [wrong], "what was not chosen stays"


def test_a_source_of_another_person_is_taken_out_by_a_person(engine: Engine) -> None:
    one, two = two_names(engine)
    engine.rule("p", RulingKind.NOT_THIS_PATIENT, two)
    assert facts(engine) == [("High blood pressure", 1)]
    assert engine.graph("p").resolve(one) is not None


def test_uncertain_pairs_and_near_misses_wait_for_review_and_leave_it_when_ruled_on(engine: Engine) -> None:
    shot = {"resourceType": "Immunization", "status": "completed", "patient": {"reference": "Patient/p"}}
    shot |= {"vaccineCode": {"text": "MMR"}}
    engine.ingest("p", bundle(shot | {"id": "i1", "occurrenceDateTime": "2020-05-01"}), source="one")
    engine.ingest("p", bundle(shot | {"id": "i9", "occurrenceString": "as a child"}), source="two")
    [pair] = engine.review("p")
    assert pair.quality == "uncertain"
    assert pair.evidence
    engine.rule("p", RulingKind.NOT_SAME, pair.left, pair.right)
    assert engine.review("p") == []


def test_a_ruling_names_records_that_exist(engine: Engine) -> None:
    one, _ = two_names(engine)
    with pytest.raises(NotFound):
        engine.rule("p", RulingKind.SAME, one, "st_nothing")
    with pytest.raises(BadInput):
        engine.rule("p", RulingKind.SAME, one)


def test_only_operators_decide(engine: Engine) -> None:
    one, two = two_names(engine)
    agent = Access(kind=PrincipalKind.AGENT, id="triage", on_behalf_of="dr-lee", roles=("owner",))
    with pytest.raises(NotAllowed) as refusal:
        engine.rule("p", RulingKind.SAME, one, two, access=agent)
    assert refusal.value.reasons == ("operators-decide",)
    assert len(facts(engine)) == 2

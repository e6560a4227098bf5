"""What a source deletes no longer counts, unless the source wrote it again afterwards."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fhir_small import OF_P, PATIENT, bundle, condition, line, read

from iamata.engine import Engine
from iamata.model.document import Reason
from iamata.model.statement import Kind, Standing

Json = dict[str, Any]
AT = {"meta": {"lastUpdated": "2026-01-05T00:00:00Z"}}


def deletion(url: str = "Condition/c", *, at: str = "", **more: Any) -> Json:
    entry: Json = {"request": {"method": "DELETE", "url": url}, **more}
    return {"resourceType": "Bundle", "type": "transaction", "entry": [entry]} | ({"timestamp": at} if at else {})


def conditions(*documents: Json, format: str = "fhir/r4") -> list[str]:
    ticks = itertools.count()

    def clock() -> datetime:
        return datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=next(ticks))

    with Engine.open(":memory:", clock=clock) as engine:
        for document in documents:
            engine.ingest("leo", json.dumps(document).encode(), source="northside", format=format)
        return sorted(f.display for f in engine.graph("leo").facts.values() if f.kind == "condition")


def test_a_deletion_is_a_statement_of_its_record_that_was_entered_in_error() -> None:
    parsed = read(deletion("https://x.example/fhir/Condition/c", at="2026-01-06T00:00:00Z"))
    (found,) = parsed.statements
    assert (found.kind, found.status, found.standing) == (Kind.CONDITION, "deleted", Standing.ENTERED_IN_ERROR)
    assert (found.provenance.record.reference, found.provenance.record.updated) == (
        "Condition/c",
        "2026-01-06T00:00:00Z",
    )
    assert line(parsed, "/entry/0").outcome == "structured"


@pytest.mark.parametrize("url", ["Condition?identifier=x|1", "Condition", "", 7])
def test_a_deletion_that_names_no_record_is_listed(url: Any) -> None:
    parsed = read(deletion(url))
    assert parsed.statements == ()
    assert line(parsed, "/entry/0").reason is Reason.UNUSABLE


def test_a_deleted_record_makes_no_fact() -> None:
    assert conditions(bundle(PATIENT, condition())) == ["Migraine"]
    assert conditions(bundle(PATIENT, condition()), deletion()) == []
    assert conditions(bundle(PATIENT, condition()), deletion(), format="fhir/r5") == []


def test_with_times_the_order_of_arrival_does_not_matter() -> None:
    old = bundle(PATIENT, condition(**AT))
    for documents in itertools.permutations([old, deletion(at="2026-01-06T00:00:00Z")]):
        assert conditions(*documents) == []
    for documents in itertools.permutations([old, deletion(at="2026-01-04T00:00:00Z")]):
        assert conditions(*documents) == ["Migraine"]


def test_a_record_that_is_written_again_after_its_deletion_counts_again() -> None:
    first, gone = bundle(PATIENT, condition(**AT)), deletion(at="2026-01-06T00:00:00Z")
    again = bundle(condition(code={"text": "Cluster headache"}, meta={"lastUpdated": "2026-01-07T00:00:00Z"}))
    for documents in itertools.permutations([first, gone, again]):
        assert conditions(*documents) == ["Cluster headache"]


def test_without_times_the_later_arrival_decides() -> None:
    assert conditions(deletion(), bundle(PATIENT, condition())) == ["Migraine"]


def test_a_higher_version_does_not_outlive_a_later_deletion() -> None:
    held = bundle(PATIENT, condition(meta={"versionId": "7", "lastUpdated": "2026-01-05T00:00:00Z"}))
    assert conditions(held, deletion(response={"lastModified": "2026-01-06T00:00:00Z"})) == []


def test_a_deletion_of_a_response_ends_all_its_answers() -> None:
    response = {
        "resourceType": "QuestionnaireResponse",
        "id": "q",
        "status": "completed",
        "subject": OF_P,
        "item": [{"linkId": str(n), "text": f"Q{n}", "answer": [{"valueString": "yes"}]} for n in range(3)],
    }
    with Engine.open(":memory:") as engine:
        engine.ingest("leo", json.dumps(bundle(PATIENT, response)).encode(), source="x")
        assert len([f for f in engine.graph("leo").facts.values() if f.kind == "answer"]) == 3
        engine.ingest("leo", json.dumps(deletion("QuestionnaireResponse/q")).encode(), source="x")
        assert [f for f in engine.graph("leo").facts.values() if f.kind == "answer"] == []


def test_the_notes_of_a_deleted_record_are_not_shown_any_more() -> None:
    held = bundle(PATIENT, condition(note=[{"text": "Worse before storms."}]))
    with Engine.open(":memory:") as engine:
        engine.ingest("leo", json.dumps(held).encode(), source="x")
        assert [p.text for p in engine.graph("leo").passages.values()] == ["Worse before storms."]
        engine.ingest("leo", json.dumps(deletion()).encode(), source="y")
        assert len(engine.graph("leo").passages) == 1
        engine.ingest("leo", json.dumps(deletion()).encode(), source="x")
        assert not engine.graph("leo").passages


def test_a_deletion_of_a_type_that_is_not_read_is_listed() -> None:
    parsed = read(deletion("StructureMap/1"))
    assert line(parsed, "/entry/0").reason is Reason.UNSUPPORTED

"""Which tests are overdue, by whose word, and when nothing is said."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from iamata.assembly import navigation, rendering
from iamata.assembly.gaps import overdue
from iamata.engine import Engine
from iamata.language.tokens import token_counter
from iamata.model.graph import Graph
from iamata.model.reading import Format

COUNT = token_counter()
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ME = {"reference": "Patient/p"}
DIABETES = {
    "resourceType": "Condition",
    "id": "d",
    "subject": ME,
    "code": {"text": "Type 2 diabetes mellitus"},
    "clinicalStatus": {
        "coding": [{"system": "http://terminology.hl7.org/CodeSystem/condition-clinical", "code": "active"}]
    },
    "onsetDateTime": "2015-01-01",
}


def a1c(on: str, status: str = "final") -> dict[str, Any]:
    return {
        "resourceType": "Observation",
        "id": f"a{on}",
        "subject": ME,
        "status": status,
        "code": {"coding": [{"system": "http://loinc.org", "code": "4548-4"}]},
        "effectiveDateTime": on,
        "valueQuantity": {"value": 7, "unit": "%"},
    }


def graph(*resources: dict[str, Any]) -> Graph:
    with opened(*resources) as engine:
        return engine.graph("p")


def opened(*resources: dict[str, Any]) -> Engine:
    engine = Engine.open(":memory:", clock=lambda: NOW)
    entries = [{"resource": r} for r in resources]
    body = json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries}).encode()
    engine.ingest("p", body, source="ehr", format="fhir/r4")
    return engine


def late(*resources: dict[str, Any]) -> dict[str, bool]:
    """Test → whether an older result is here."""
    return {one.due.what: bool(one.newest) for one in overdue(graph(*resources))}


def test_an_a1c_of_last_year_is_overdue_in_diabetes() -> None:
    assert late(DIABETES, a1c("2025-10-01"))["hemoglobin A1c"] is True


def test_an_a1c_of_this_autumn_is_not_overdue() -> None:
    assert "hemoglobin A1c" not in late(DIABETES, a1c("2025-10-01"), a1c("2026-09-01"))


def test_a_test_that_was_never_sent_is_overdue_once_the_condition_is_old_enough() -> None:
    assert late(DIABETES)["hemoglobin A1c"] is False
    assert late({**DIABETES, "onsetDateTime": "2026-10-01"}) == {}


def test_a_result_entered_in_error_does_not_count() -> None:
    assert late(DIABETES, a1c("2026-09-01", "entered-in-error"))["hemoglobin A1c"] is False


def test_nothing_is_due_without_the_condition_or_when_nobody_says_since_when() -> None:
    assert late(a1c("2020-01-01")) == {}
    undated = {key: value for key, value in DIABETES.items() if key != "onsetDateTime"}
    assert late(undated) == {}


def test_nothing_is_due_for_a_patient_who_died() -> None:
    person = {"resourceType": "Patient", "id": "p", "name": [{"family": "Small"}], "deceasedDateTime": "2026-01-01"}
    assert late(person, DIABETES, a1c("2020-01-01")) == {}


def test_the_page_of_gaps_says_what_is_due_and_by_whose_word() -> None:
    tree = navigation.tree(graph(DIABETES, a1c("2025-10-01")))
    text = rendering.read(tree, "/patient/p/gaps/", format=Format.NARRATIVE, count=COUNT, stamp="").text
    assert "Monitoring overdue" in text
    due = "hemoglobin A1c is due every 183 days in Type 2 diabetes mellitus (ada-glycemic)"
    assert f"{due}: the newest here is of 2025-10-01" in text
    never = "urine albumin to creatinine ratio is due every 366 days in Type 2 diabetes mellitus (ada-schedule)"
    assert f"{never}: none is here" in text

"""What nobody has stood behind for long is marked as maybe out of date, and never turned into its opposite."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from iamata import Engine

NOW = datetime(2026, 2, 15, 10, tzinfo=UTC)


def order(day: str) -> dict[str, Any]:
    return {
        "resourceType": "MedicationRequest",
        "id": f"m-{day}",
        "status": "active",
        "intent": "order",
        "subject": {"reference": "Patient/p"},
        "medicationCodeableConcept": {"text": "Lisinopril 10 mg"},
        "authoredOn": day,
    }


@pytest.mark.parametrize(
    ("days", "currency"),
    [(["2026-01-10"], "current"), (["2022-01-10"], "unknown"), (["2022-01-10", "2025-12-01"], "current")],
)
def test_an_active_order_is_current_for_as_long_as_somebody_stands_behind_it(days: list[str], currency: str) -> None:
    entries = [{"resource": {"resourceType": "Patient", "id": "p"}}, *({"resource": order(day)} for day in days)]
    body = json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries}).encode()
    with Engine.open(":memory:", clock=lambda: NOW) as engine:
        engine.ingest("p", body, source="ehr")
        [fact] = [f for f in engine.graph("p").facts.values() if f.kind == "medication"]
        assert (fact.standing, fact.currency) == ("active", currency)
        text = engine.read("/patient/p/medications").text
        assert ("may be out of date, last confirmed 2022-01-10" in text) is (currency == "unknown")
        then = engine.graph("p", true_at=datetime(2022, 3, 1, tzinfo=UTC))
        if days[0] < "2022-03":
            [before] = [f for f in then.facts.values() if f.kind == "medication"]
            assert before.currency == "current", "on an earlier day it was current"

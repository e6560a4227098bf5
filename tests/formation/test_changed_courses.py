"""A change of dose: the period of the former course is not that of the one in force."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from iamata import patient
from iamata.connectors import registry
from iamata.formation import pipeline
from iamata.model.fact import Currency, Fact
from iamata.model.graph import Held
from iamata.model.identifiers import IdMint
from iamata.model.stamp import Moment
from iamata.model.statement import Kind, Standing

NOW = datetime(2026, 6, 30, tzinfo=UTC)
MINT = IdMint(b"k" * 32)
FORMER = {"boundsPeriod": {"start": "2024-04-21", "end": "2025-12-12"}}


def order(id: str, dose: str, status: str, day: str, repeat: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "resourceType": "MedicationRequest",
        "id": id,
        "status": status,
        "intent": "order",
        "subject": {"reference": "Patient/p"},
        "medicationCodeableConcept": {"text": "Furosemide"},
        "authoredOn": day,
        "dosageInstruction": [{"text": dose} | ({"timing": {"repeat": repeat}} if repeat else {})],
    }


def taken(status: str, asserted: str, period: dict[str, str]) -> dict[str, Any]:
    return {
        "resourceType": "MedicationStatement",
        "id": f"s-{asserted}",
        "status": status,
        "subject": {"reference": "Patient/p"},
        "medicationCodeableConcept": {"text": "Furosemide"},
        "dateAsserted": asserted,
        "effectivePeriod": period,
    }


def furosemide(*resources: dict[str, Any]) -> Fact:
    entry = [{"resource": {"resourceType": "Patient", "id": "p"}}, *({"resource": each} for each in resources)]
    body = json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entry}).encode()
    read = registry.parse(
        body, format="fhir/r4", subject=patient("p"), source="ehr", mint=MINT, document="en_1", received_at=NOW
    )
    held = Held(subject=patient("p"), statements=read.statements, passages=read.passages, sightings=read.sightings)
    [fact] = [
        f for f in pipeline.form(held, moment=Moment.of(NOW), mint=MINT).facts.values() if f.kind is Kind.MEDICATION
    ]
    return fact


ENDED = taken("completed", "2025-12-13", {"start": "2024-04-21", "end": "2025-12-12"})


ORDERED = order("m1", "40 mg", "completed", "2024-04-21", FORMER)


@pytest.mark.parametrize(("former", "day"), [(ENDED, "2026-01-05"), (ORDERED, "2026-01-05"), (ORDERED, "2025-12-12")])
def test_the_dose_in_force_is_not_over_because_the_former_course_is(former: dict[str, Any], day: str) -> None:
    fact = furosemide(former, order("m2", "80 mg", "active", day))
    assert (fact.standing, fact.currency) == (Standing.ACTIVE, Currency.CURRENT)
    assert fact.when is not None
    assert str(fact.when.at) == day


def test_a_course_that_ended_after_it_was_said_to_run_is_over() -> None:
    fact = furosemide(order("m1", "40 mg", "active", "2024-04-21"), ENDED)
    assert fact.currency is Currency.PAST


def test_a_period_that_was_still_open_when_the_latest_was_said_holds() -> None:
    fact = furosemide(
        taken("active", "2025-01-01", {"start": "2024-04-21", "end": "2026-03-01"}),
        order("m2", "80 mg", "active", "2026-01-05"),
    )
    assert fact.when is not None
    assert fact.when.end is not None
    assert fact.when.end.day == "2026-03-01"

"""Why was a medication stopped? Only what its source tells, or what came shortly before; never for one that goes on."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from clinia_context_engine.generated import models
from pydantic import TypeAdapter

from iamata.assembly import navigation
from iamata.engine import Engine
from iamata.interfaces.wire import edges
from iamata.interfaces.wire.view import GraphView
from iamata.model.graph import Graph
from iamata.model.link import Link, LinkSource, LinkType

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ME = {"reference": "Patient/p"}
REASONS = "http://terminology.hl7.org/CodeSystem/medicationrequest-status-reason"


def taken(text: str, start: str, end: str, status: str = "stopped", **more: Any) -> dict[str, Any]:
    period = {"start": start} | ({"end": end} if end else {})
    return {
        "resourceType": "MedicationStatement",
        "id": "m",
        "subject": ME,
        "status": status,
        "medicationCodeableConcept": {"text": text},
        "effectivePeriod": period,
        **more,
    }


def condition(text: str, onset: str) -> dict[str, Any]:
    clinical = "http://terminology.hl7.org/CodeSystem/condition-clinical"
    return {
        "resourceType": "Condition",
        "id": "c",
        "subject": ME,
        "code": {"text": text},
        "clinicalStatus": {"coding": [{"system": clinical, "code": "active"}]},
        "onsetDateTime": onset,
    }


def allergy(text: str, recorded: str) -> dict[str, Any]:
    clinical = "http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical"
    return {
        "resourceType": "AllergyIntolerance",
        "id": "a",
        "patient": ME,
        "code": {"text": text},
        "clinicalStatus": {"coding": [{"system": clinical, "code": "active"}]},
        "onsetDateTime": recorded,
    }


def bundle(*resources: dict[str, Any]) -> bytes:
    entries = [{"fullUrl": f"http://ehr.test/{r['resourceType']}/{r['id']}", "resource": r} for r in resources]
    return json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries}).encode()


def graph(*resources: dict[str, Any]) -> Graph:
    with Engine.open(":memory:", clock=lambda: NOW) as engine:
        engine.ingest("p", bundle(*resources), source="ehr", format="fhir/r4")
        return engine.graph("p")


def stops(found: Graph) -> list[Link]:
    return [link for link in found.links.values() if link.type is LinkType.STOPPED_BECAUSE_OF]


def ends(found: Graph, link: Link) -> tuple[str, str]:
    return found.facts[link.origin].display, found.facts[link.target].display


def because(text: str = "", code: str = "") -> dict[str, Any]:
    concept = {"text": text} if text else {"coding": [{"system": REASONS, "code": code}]}
    return {"statusReason": [concept]}


def test_a_stop_reason_that_names_a_condition_of_the_patient_joins_the_medication_to_it() -> None:
    found = graph(
        taken("lisinopril 10 MG Oral Tablet", "2021-01-01", "2021-03-01", **because("Cough")),
        condition("Cough", "2021-02-01"),
    )
    [link] = stops(found)
    assert ends(found, link) == ("lisinopril 10 MG Oral Tablet", "Cough")
    assert (link.rule, link.confidence, link.source) == ("agent:stated-stop", 0.9, LinkSource.RULE)
    assert link.reasoning == "the reason that its source gives for the stop names this condition"


def test_the_same_reason_of_a_request_counts_too() -> None:
    request = {
        "resourceType": "MedicationRequest",
        "id": "m",
        "subject": ME,
        "status": "stopped",
        "intent": "order",
        "medicationCodeableConcept": {"text": "lisinopril 10 MG Oral Tablet"},
        "authoredOn": "2021-01-01",
        "statusReason": {"text": "Cough"},
    }
    assert [link.rule for link in stops(graph(request, condition("Cough", "2021-02-01")))] == ["agent:stated-stop"]


@pytest.mark.parametrize("status", ["active", "completed", "on-hold", "not-taken", "entered-in-error", "intended"])
def test_a_reason_for_another_status_stops_nothing(status: str) -> None:
    made = taken("lisinopril 10 MG Oral Tablet", "2021-01-01", "2021-03-01", status, **because("Cough"))
    assert stops(graph(made, condition("Cough", "2021-02-01"))) == []


@pytest.mark.parametrize("reason", ["DC'd by Discharge", "Asthma"])
def test_a_reason_that_names_nothing_the_patient_has_links_nothing_and_no_guess_replaces_it(reason: str) -> None:
    made = taken("lisinopril 10 MG Oral Tablet", "2021-01-01", "2021-03-01", **because(reason))
    assert stops(graph(made, condition("Cough", "2021-02-25"), allergy("Lisinopril", "2021-03-01"))) == []


def test_a_coded_intolerance_joins_the_medication_to_the_allergy_to_its_substance() -> None:
    made = taken("lisinopril 10 MG Oral Tablet", "2021-01-01", "2021-03-01", **because(code="sintol"))
    found = graph(made, allergy("Lisinopril", "2019-01-01"))
    [link] = stops(found)
    assert ends(found, link) == ("lisinopril 10 MG Oral Tablet", "Lisinopril")
    assert (link.rule, link.confidence) == ("agent:stated-stop", 0.9)
    other = graph(made, allergy("Amoxicillin", "2019-01-01"))
    assert stops(other) == []
    choice = taken("lisinopril 10 MG Oral Tablet", "2021-01-01", "2021-03-01", **because(code="altchoice"))
    assert stops(graph(choice, allergy("Lisinopril", "2021-03-01"))) == []


def test_an_allergy_of_about_the_day_of_the_stop_is_a_guess_of_little_confidence() -> None:
    found = graph(
        taken("lisinopril 10 MG Oral Tablet", "2021-01-01", "2021-03-01"), allergy("Lisinopril", "2021-03-05")
    )
    [link] = stops(found)
    assert (link.rule, link.confidence) == ("agent:allergy-and-stop", 0.4)
    assert link.source is LinkSource.TEMPORAL_INFERENCE
    late = graph(taken("lisinopril 10 MG Oral Tablet", "2021-01-01", "2021-03-01"), allergy("Lisinopril", "2021-06-05"))
    assert stops(late) == []


@pytest.mark.parametrize(
    ("start", "end", "onset", "linked"),
    [
        ("2021-01-01", "2021-03-01", "2021-02-25", True),
        ("2021-01-01", "2021-03-01", "2021-01-10", False),  # taken on for weeks after it began
        ("2021-01-01", "2021-03-01", "2021-03-10", False),  # began after the stop
        ("2021-02-20", "2021-03-01", "2021-02-18", False),  # began before the start
        ("2021-01-01", "", "2021-02-25", False),  # nobody says when it was stopped
    ],
)
def test_a_known_reaction_that_began_shortly_before_the_stop_may_be_why(
    start: str, end: str, onset: str, linked: bool
) -> None:
    found = graph(taken("alogliptin 25 MG Oral Tablet", start, end), condition("Acute pancreatitis", onset))
    links = stops(found)
    assert len(links) == linked
    if linked:
        assert (links[0].rule, links[0].confidence) == ("agent:reaction-and-stop/spl-adr", 0.4)
        assert links[0].source is LinkSource.KNOWLEDGE_BASE
        assert links[0].reasoning.endswith("says spl-adr")


def test_what_the_drug_is_used_for_or_is_not_known_for_is_no_guess() -> None:
    used = graph(
        taken("lisinopril 10 MG Oral Tablet", "2021-01-01", "2021-03-01"), condition("Hypertension", "2021-02-25")
    )
    assert stops(used) == []
    unknown = graph(taken("alogliptin 25 MG Oral Tablet", "2021-01-01", "2021-03-01"), condition("Gout", "2021-02-25"))
    assert stops(unknown) == []


def test_the_link_is_served_by_the_contract_and_told_in_the_story_of_the_medication() -> None:
    with Engine.open(":memory:", clock=lambda: NOW) as engine:
        made = taken("lisinopril 10 MG Oral Tablet", "2021-01-01", "2021-03-01", **because("Cough"))
        engine.ingest("p", bundle(made, condition("Cough", "2021-02-01")), source="ehr", format="fhir/r4")
        found = engine.graph("p")
        [link] = stops(found)
        edge = edges.one(edges.EDGE_TYPES["relationship"], GraphView(found, {}), link.id)
        read = TypeAdapter[Any](models.Edge).validate_python(edge)
        assert read.payload.type == "stopped_because_of"
        assert read.payload.confidence == 0.9
        assert read.payload.source is None  # the closed list of the contract has no word for a rule
        assert edge["payload"]["linkSource"] == "rule"
        told = {end: engine.read(navigation.address(found, end)).text for end in (link.origin, link.target)}
        assert "## Stopped because of\n- (link inferred) Cough" in told[link.origin]
        assert "## Led to stopping\n- (link inferred) lisinopril 10 MG Oral Tablet" in told[link.target]

"""Links that no source states: only between what the patient has, never against what a source says, the same in any
order."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iamata.engine import Engine
from iamata.model.graph import Graph
from iamata.model.link import Link, LinkSource, LinkType

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ME = {"reference": "Patient/p"}
LAB = [{"coding": [{"system": "http://terminology.hl7.org/CodeSystem/observation-category", "code": "laboratory"}]}]
CLINICAL = "http://terminology.hl7.org/CodeSystem/condition-clinical"
VERIFIED = "http://terminology.hl7.org/CodeSystem/condition-ver-status"


def condition(id: str, text: str, onset: str = "2020-01-01", **more: Any) -> dict[str, Any]:
    status = more.pop("status", "active")
    return {
        "resourceType": "Condition",
        "id": id,
        "subject": ME,
        "code": {"text": text},
        "clinicalStatus": {"coding": [{"system": CLINICAL, "code": status}]},
        "onsetDateTime": onset,
        **more,
    }


def refuted(id: str, text: str) -> dict[str, Any]:
    made = condition(id, text, verificationStatus={"coding": [{"system": VERIFIED, "code": "refuted"}]})
    del made["clinicalStatus"]
    return made


def medicine(id: str, text: str, on: str = "2021-01-01", **more: Any) -> dict[str, Any]:
    return {
        "resourceType": "MedicationRequest",
        "id": id,
        "subject": ME,
        "status": "active",
        "intent": "order",
        "medicationCodeableConcept": {"text": text},
        "authoredOn": on,
        **more,
    }


def result(id: str, loinc: str, value: float, on: str) -> dict[str, Any]:
    return {
        "resourceType": "Observation",
        "id": id,
        "subject": ME,
        "status": "final",
        "category": LAB,
        "code": {"coding": [{"system": "http://loinc.org", "code": loinc}]},
        "effectiveDateTime": on,
        "valueQuantity": {"value": value, "unit": "%"},
    }


def visit(id: str, start: str, end: str) -> dict[str, Any]:
    return {
        "resourceType": "Encounter",
        "id": id,
        "subject": ME,
        "status": "finished",
        "class": {"system": "http://terminology.hl7.org/CodeSystem/v3-ActCode", "code": "AMB"},
        "type": [{"text": f"visit {id}"}],
        "period": {"start": start, "end": end},
    }


def allergy(id: str, text: str) -> dict[str, Any]:
    return {
        "resourceType": "AllergyIntolerance",
        "id": id,
        "patient": ME,
        "code": {"text": text},
        "clinicalStatus": {
            "coding": [
                {"system": "http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical", "code": "active"}
            ]
        },
        "recordedDate": "2022-01-01",
    }


def graph(*resources: dict[str, Any], at: datetime = NOW) -> Graph:
    entries = [{"fullUrl": f"http://ehr.test/{r['resourceType']}/{r['id']}", "resource": r} for r in resources]
    body = json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries}).encode()
    with Engine.open(":memory:", clock=lambda: at) as engine:
        engine.ingest("p", body, source="ehr", format="fhir/r4")
        return engine.graph("p")


def told(graph: Graph) -> set[tuple[str, str, str]]:
    return {(graph.facts[link.origin].display, link.type.value, graph.facts[link.target].display) for link in of(graph)}


def of(graph: Graph) -> Iterator[Link]:
    return (link for link in graph.links.values() if link.rule.startswith("agent:"))


def only(graph: Graph) -> Link:
    (link,) = of(graph)
    return link


def test_a_medicine_treats_the_condition_that_its_label_names_and_the_patient_has() -> None:
    made = graph(medicine("m", "lisinopril 10 MG Oral Tablet"), condition("c", "Hypertension"))
    link = only(made)
    assert told(made) == {("lisinopril 10 MG Oral Tablet", "treats", "Hypertension")}
    assert link.source is LinkSource.KNOWLEDGE_BASE
    assert (link.rule, link.confidence) == ("agent:indication/labeledin", 0.8)
    assert link.reasoning == "lisinopril is used for hypertension, says labeledin"


@pytest.mark.parametrize(
    "others",
    [
        (),
        (condition("c", "Asthma"),),
        (refuted("c", "Hypertension"),),
        (condition("c", "Pulmonary hypertension"),),
        (
            condition(
                "c", "Hypertension", verificationStatus={"coding": [{"system": VERIFIED, "code": "entered-in-error"}]}
            ),
        ),
    ],
    ids=["nothing", "another condition", "a refuted one", "another kind", "an error"],
)
def test_nothing_is_linked_to_what_the_patient_does_not_have(others: tuple[dict[str, Any], ...]) -> None:
    assert list(of(graph(medicine("m", "lisinopril 10 MG Oral Tablet"), *others))) == []


def test_a_refused_or_cancelled_medicine_treats_nothing() -> None:
    for status in ("cancelled", "entered-in-error", "draft"):
        made = graph(medicine("m", "lisinopril 10 MG", status=status), condition("c", "Hypertension"))
        assert list(of(made)) == []


def test_a_condition_that_was_over_before_the_medicine_began_is_not_what_it_treats() -> None:
    past = condition("c", "Pneumonia", "2010-01-01", status="resolved", abatementDateTime="2010-02-01")
    assert list(of(graph(medicine("m", "azithromycin 250 MG Oral Tablet"), past))) == []


def test_of_several_episodes_the_one_that_began_last_before_the_medicine_is_meant() -> None:
    episodes = [
        condition(f"c{y}", "Pneumonia", f"{y}-01-01", status="resolved", abatementDateTime=f"{y}-02-01")
        for y in (2015, 2018, 2021)
    ]
    made = graph(medicine("m", "azithromycin 250 MG Oral Tablet", "2018-01-05"), *episodes)
    when = made.facts[only(made).target].when
    assert when is not None
    assert str(when.start) == "2018-01-01"


def test_an_explicit_reason_is_all_that_is_said_of_what_a_medicine_is_for() -> None:
    made = graph(
        medicine("m", "lisinopril 10 MG Oral Tablet", reasonReference=[{"reference": "Condition/f"}]),
        condition("f", "Heart failure"),
        condition("h", "Hypertension"),
    )
    explicit = [link for link in made.links.values() if link.type is LinkType.PRESCRIBED_FOR]
    assert [(made.facts[link.target].display, link.source) for link in explicit] == [
        ("Heart failure", LinkSource.EXPLICIT_REFERENCE)
    ]
    assert [t for t in told(made) if t[1] == "treats"] == []


def test_the_reason_that_the_source_gives_in_words_comes_before_what_drugs_are_used_for() -> None:
    made = graph(
        medicine("m", "lisinopril 10 MG Oral Tablet", reasonCode=[{"text": "Heart failure"}]),
        condition("f", "Heart failure"),
        condition("h", "Hypertension"),
    )
    uses = [link for link in of(made) if link.type in (LinkType.TREATS, LinkType.PRESCRIBED_FOR)]
    assert [(made.facts[u.target].display, u.type, u.rule) for u in uses] == [
        ("Heart failure", LinkType.PRESCRIBED_FOR, "agent:stated-reason")
    ]


def test_a_stated_reason_that_the_patient_has_no_condition_for_links_nothing() -> None:
    made = graph(
        medicine("m", "lisinopril 10 MG Oral Tablet", reasonCode=[{"text": "Heart failure"}]),
        condition("h", "Hypertension"),
    )
    assert list(of(made)) == []


def test_the_newest_three_results_of_a_test_monitor_the_condition() -> None:
    results = [result(f"r{n}", "4548-4", 6 + n / 10, f"2025-0{n}-10T09:00:00Z") for n in range(1, 7)]
    made = graph(condition("c", "Type 2 diabetes mellitus"), *results)
    days = sorted(str(made.facts[link.origin].when.start)[:10] for link in of(made))  # type: ignore[union-attr]
    assert days == ["2025-04-10", "2025-05-10", "2025-06-10"]
    assert {(link.type, link.rule) for link in of(made)} == {(LinkType.MONITORS, "agent:monitoring/ada-glycemic")}


def test_a_result_monitors_the_drug_that_it_is_repeated_under() -> None:
    made = graph(medicine("m", "warfarin 5 MG Oral Tablet"), result("r", "6301-6", 2.4, "2025-01-10"))
    link = only(made)
    assert (made.facts[link.target].display, link.type) == ("warfarin 5 MG Oral Tablet", LinkType.MONITORS)
    assert list(of(graph(medicine("m", "lisinopril 10 MG"), result("r", "6301-6", 2.4, "2025-01-10")))) == []


def test_a_complication_points_at_the_condition_it_comes_from() -> None:
    made = graph(condition("d", "Type 2 diabetes mellitus"), condition("k", "Chronic kidney disease", "2024-01-01"))
    assert told(made) == {("Chronic kidney disease", "complication_of", "Type 2 diabetes mellitus")}
    assert (only(made).rule, only(made).confidence) == ("agent:consequence/icd10cm-part", 0.5)


def test_what_began_before_a_condition_is_no_complication_of_it_and_no_risk_follows_what_it_is_a_risk_for() -> None:
    early = condition("k", "Chronic kidney disease", "2010-01-01")
    assert list(of(graph(condition("d", "Type 2 diabetes mellitus", "2020-01-01"), early))) == []
    infarction = condition("i", "Acute myocardial infarction", "2010-01-01")
    assert list(of(graph(condition("h", "Hypertension", "2020-01-01"), infarction))) == []


def test_a_risk_points_at_what_it_is_a_risk_for() -> None:
    made = graph(condition("h", "Hypertension"), condition("i", "Acute myocardial infarction", "2024-01-01"))
    assert ("Hypertension", "risk_factor_for", "Acute myocardial infarction") in told(made)


def test_a_condition_that_began_under_a_drug_known_for_it_may_be_its_reaction() -> None:
    drug = medicine("m", "lithium carbonate 300 MG Oral Tablet", "2021-01-01")
    during = graph(drug, condition("c", "Hypothyroidism", "2021-06-01"))
    assert [(link.type, link.rule, link.confidence) for link in of(during)] == [
        (LinkType.ADVERSE_REACTION_TO, "agent:reaction/cdr", 0.3)
    ]
    before = graph(drug, condition("c", "Hypothyroidism", "2019-06-01"))
    assert list(of(before)) == []


def test_an_allergy_points_at_the_medicine_that_has_its_substance() -> None:
    made = graph(
        allergy("a", "Amoxicillin"), medicine("m", "amoxicillin 250 MG Oral Capsule"), medicine("o", "aspirin 81 MG")
    )
    assert told(made) == {("Amoxicillin", "adverse_reaction_to", "amoxicillin 250 MG Oral Capsule")}


def test_a_condition_that_began_on_the_day_of_one_visit_is_put_there_with_little_confidence() -> None:
    one = visit("v", "2024-03-01T09:00:00Z", "2024-03-01T09:30:00Z")
    made = graph(condition("c", "Asthma", "2024-03-01"), one)
    link = only(made)
    assert (link.type, link.source, link.confidence) == (
        LinkType.PERFORMED_DURING,
        LinkSource.TEMPORAL_INFERENCE,
        0.3,
    )
    two = graph(condition("c", "Asthma", "2024-03-01"), one, visit("w", "2024-03-01T15:00:00Z", "2024-03-01T15:30:00Z"))
    assert list(of(two)) == []
    vague = graph(condition("c", "Asthma", "2024-03"), one)
    assert list(of(vague)) == []


def test_a_visit_that_the_source_names_is_not_inferred_again() -> None:
    made = graph(
        condition("c", "Asthma", "2024-03-01", encounter={"reference": "Encounter/w"}),
        visit("v", "2024-03-01T09:00:00Z", "2024-03-01T09:30:00Z"),
        visit("w", "2024-05-01T09:00:00Z", "2024-05-01T09:30:00Z"),
    )
    assert list(of(made)) == []


def test_inferred_links_change_no_fact() -> None:
    drug, problem = medicine("m", "lisinopril 10 MG Oral Tablet"), condition("c", "Hypertension")
    together = graph(drug, problem)
    apart = {fact.digest for one in (graph(drug), graph(problem)) for fact in one.facts.values()}
    assert {fact.digest for fact in together.facts.values()} == apart


def test_every_inferred_link_says_that_it_is_one_and_joins_two_facts() -> None:
    made = graph(*PATIENT)
    assert len(list(of(made))) >= 8
    for link in of(made):
        assert link.source is not LinkSource.EXPLICIT_REFERENCE
        assert 0 < link.confidence < 1
        assert link.reasoning
        assert {link.origin, link.target} <= made.facts.keys()


PATIENT = (
    condition("d", "Type 2 diabetes mellitus", "2015-01-01"),
    condition("h", "Hypertension", "2016-01-01"),
    condition("k", "Chronic kidney disease", "2020-01-01"),
    condition("i", "Acute myocardial infarction", "2022-05-04"),
    visit("v", "2022-05-04T09:00:00Z", "2022-05-06T09:30:00Z"),
    medicine("m", "metformin 500 MG Oral Tablet"),
    medicine("l", "lisinopril 10 MG Oral Tablet"),
    allergy("a", "Amoxicillin"),
    medicine("x", "amoxicillin 250 MG Oral Capsule"),
    *(result(f"r{n}", "4548-4", 7, f"2025-0{n}-10") for n in range(1, 5)),
)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6))
def test_the_order_of_what_was_sent_changes_nothing(seed: int) -> None:
    shuffled = list(PATIENT)
    random.Random(seed).shuffle(shuffled)
    whole, other = graph(*PATIENT), graph(*shuffled)
    assert told(other) == told(whole)
    assert other.hash == whole.hash


def test_many_episodes_and_orders_give_a_bounded_number_of_links() -> None:
    episodes = [
        condition(f"c{n}", "Pneumonia", f"{1950 + n}-01-01", status="resolved", abatementDateTime=f"{1950 + n}-02-01")
        for n in range(60)
    ]
    orders = [medicine(f"m{n}", "azithromycin 250 MG Oral Tablet", f"{1950 + n}-01-05") for n in range(60)]
    made = graph(*episodes, *orders)
    assert len(list(of(made))) <= len(made.facts)

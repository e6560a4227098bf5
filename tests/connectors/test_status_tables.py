"""The tables that say what codes mean: complete for what they bind, and without a row that cannot be used."""

from __future__ import annotations

import pytest

from iamata.connectors.fhir.details import DETAILS
from iamata.connectors.fhir.mappings import MAPPINGS
from iamata.model.attribution import Part
from iamata.model.coding import CodedText, Coding
from iamata.model.statement import Aspect, Kind, Polarity, Standing, Verification
from iamata.terminology.statuses import agent_part, aspect_rules, kind_rules, meaning, negation, status_elements
from iamata.terminology.tables import rows


@pytest.mark.parametrize("type", sorted(MAPPINGS))
def test_every_type_that_is_read_has_an_aspect_that_always_holds(type: str) -> None:
    assert aspect_rules(type)[-1].element == ""


def test_every_mapping_names_details_that_exist() -> None:
    assert {how.details for how in MAPPINGS.values()} - {""} == set(DETAILS)


def test_no_code_of_an_element_has_two_meanings() -> None:
    keys = [(row["type"], row["element"], row["code"]) for row in rows("statuses")]
    assert len(keys) == len(set(keys))


def test_entered_in_error_is_that_standing_wherever_it_can_be_sent() -> None:
    found = [row for row in rows("statuses") if row["code"] == "entered-in-error"]
    assert {row["standing"] for row in found} == {"entered-in-error"}
    assert len(found) > 30


def test_what_a_status_says_is_looked_up_by_type_and_element() -> None:
    assert meaning("Condition", "verificationStatus", "refuted") == (None, Verification.REFUTED, Polarity.DENIED)
    assert meaning("MedicationStatement", "status", "not-taken") == (Standing.NOT_DONE, None, Polarity.DENIED)
    assert meaning("Observation", "status", "amended") == (Standing.CORRECTED, None, None)
    assert meaning("Observation", "status", "nonsense") is None
    assert status_elements("Condition") == ("clinicalStatus", "verificationStatus")
    assert status_elements("Basic") == ()


def test_kinds_aspects_and_agents_are_looked_up() -> None:
    assert [rule.kind for rule in kind_rules("Observation")] == [
        Kind.PREGNANCY,
        Kind.SOCIAL_HISTORY,
        Kind.SOCIAL_HISTORY,
    ]
    assert aspect_rules("MedicationRequest")[0] == ("reportedReference", None, Aspect.TAKEN)
    assert (agent_part("AUT"), agent_part("nobody")) == (Part.AUTHOR, None)


@pytest.mark.parametrize(
    "system", ["http://snomed.info/sct", "2.16.840.1.113883.6.96", "urn:oid:2.16.840.1.113883.6.96"]
)
def test_a_negation_is_known_by_every_name_of_its_system(system: str) -> None:
    found = negation(CodedText("", (Coding("http://loinc.org", "1"), Coding(system, "716186003"))))
    assert found is not None
    assert (found.kind, found.category, found.denied) == ("allergy", "all", True)
    assert negation(None) is None


def test_words_that_say_nothing_else_are_a_negation_unless_a_known_code_says_otherwise() -> None:
    found = negation(CodedText("No Known Drug Allergies"))
    assert found is not None
    assert (found.kind, found.category, found.denied) == ("allergy", "medication", True)
    assert negation(CodedText("No known allergies to latex gloves")) is None
    coded = Coding("http://snomed.info/sct", "91936005", normal="snomed|91936005")
    assert negation(CodedText("No known allergies", (coded,))) is None


def test_negations_are_of_kinds_that_exist() -> None:
    assert {row["kind"] for row in rows("negations")} <= set(Kind)
    assert {row["meaning"] for row in rows("negations")} == {"denied", "no-information"}

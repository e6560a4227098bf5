"""Which labels rules give, and to what they spread."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from consent_small import Json, held, labels_of, patient_item

from iamata.model.coding import CodedText, Coding
from iamata.terminology import security, sensitivity
from iamata.terminology.systems import normal
from iamata.terminology.tables import rows

CASES = tomllib.loads((Path(__file__).parents[1] / "cases" / "labels" / "sensitivity.toml").read_text())
ICD10 = "http://hl7.org/fhir/sid/icd-10-cm"


@pytest.mark.parametrize("case", CASES["code"], ids=lambda case: case["code"])
def test_a_code_says_what_was_decided_by_hand(case: dict[str, Any]) -> None:
    coding = Coding(case["system"], case["code"], "", normal(case["system"], case["code"]))
    assert sensitivity.of_concept(CodedText("", (coding,))) == set(case["gives"])


@pytest.mark.parametrize("case", CASES["words"], ids=lambda case: case["text"])
def test_words_say_what_was_decided_by_hand(case: dict[str, Any]) -> None:
    assert sensitivity.of_text(case["text"]) == set(case["gives"])


def test_every_row_names_labels_that_exist_and_no_rule_on_codes_gives_a_law() -> None:
    for row in rows("sensitivity_codes"):
        assert security.known(row["label"], "sensitivity") is not None, row
    for row in rows("sensitivity_words"):
        assert security.known(row["label"], "sensitivity", "law") is not None, row
    for row in rows("security_families"):
        assert security.known(row["withheld"]) is not None
        assert security.known(row["hides"]) is not None
    sorts = {row["kind"] for row in rows("security_labels")}
    assert sorts == {"confidentiality", "sensitivity", "law", "refrain", "obligation", "purpose"}


def test_a_row_that_nobody_reviewed_is_off() -> None:
    assert any(row["words"] == "heroin" and row["source"] == "unreviewed" for row in rows("sensitivity_words"))
    assert sensitivity.of_text("heroin") == frozenset()


def test_what_covers_what() -> None:
    def hides(withheld: str, *labels: str) -> bool:
        return security.hides(security.label(withheld), [security.label(each) for each in labels])

    assert hides("SUD", "OPIOIDUD")
    assert hides("SPI", "OPIOIDUD"), "a kind of a kind"
    assert hides("SUD", "ETH"), "read together"
    assert hides("SUD", "42CFRPart2")
    assert not hides("OPIOIDUD", "SUD"), "what is wider is not a kind of it"
    assert not hides("HIV", "SUD")
    assert hides("R", "V"), "what is more confidential is hidden too"
    assert not hides("R", "N")
    assert hides("HIV", "HIV", "N")


def test_a_label_of_the_v2_table_means_what_it_says() -> None:
    from iamata.model.statement import Label

    sent = Label("http://terminology.hl7.org/CodeSystem/v2-0717", "HIV")
    assert security.hides(security.label("HIV"), [sent])
    assert security.meaning(Label("http://example.org", "HIV")) is None


# ------------------------------------------------------------------- spreading


def condition(id: str, code: str = "I10", **more: Any) -> Json:
    coded = {"coding": [{"system": ICD10, "code": code}], "text": "Something"}
    return patient_item("Condition", id, code=coded, **more)


def test_what_is_ordered_for_a_labelled_condition_is_labelled_one_step_far() -> None:
    order = patient_item(
        "MedicationRequest",
        "m",
        status="active",
        intent="order",
        medicationCodeableConcept={"text": "Modafinil"},
        reasonReference=[{"reference": "Condition/s"}],
    )
    later = patient_item(
        "MedicationDispense",
        "d",
        status="completed",
        medicationCodeableConcept={"text": "Modafinil"},
        authorizingPrescription=[{"reference": "MedicationRequest/m"}],
    )
    found = labels_of(held(condition("s", "F14.20"), order, later, condition("other")))
    assert found == {"Condition/s": {"SUD"}, "MedicationRequest/m": {"SUD"}}


def test_a_label_does_not_spread_along_who_and_where() -> None:
    visit = patient_item("Encounter", "e", status="finished", reasonCode=[{"text": "cocaine dependence"}])
    visit["class"] = {"code": "AMB"}
    other = condition("other", encounter={"reference": "Encounter/e"})
    found = labels_of(held(visit, other))
    assert found == {"Encounter/e": {"SUD"}}


def test_the_note_of_a_record_is_as_sensitive_as_the_record_and_the_other_way_round() -> None:
    noted = condition("n", note=[{"text": "Told me of the cocaine."}])
    coded = condition("c", "F14.20", note=[{"text": "Doing well."}])
    found = held(noted, coded)
    assert labels_of(found) == {"Condition/n": {"SUD"}, "Condition/c": {"SUD"}}
    assert len(found.passages) == 2
    assert {frozenset(each) for each in labels_of(found, passages=True).values()} == {frozenset({"SUD"})}


def test_a_notice_of_part_2_is_of_everything_in_its_document_and_is_never_made_of_a_code() -> None:
    notice = "42 CFR part 2 prohibits unauthorized disclosure of these records."
    letter = patient_item("Communication", "l", status="completed", payload=[{"contentString": notice}])
    found = labels_of(held(letter, condition("c")))
    assert found["Condition/c"] == {"42CFRPart2"}
    assert "42CFRPart2" not in labels_of(held(condition("s", "F11.20")))["Condition/s"]

"""The word lists: large enough, each row with a source that is described, and no everyday word taken for a drug."""

from __future__ import annotations

import pytest

from iamata.formation.extraction import mentions
from iamata.model.session import Speaker
from iamata.terminology import lexicon
from iamata.terminology.tables import rows

TABLES = ("drugs", "symptoms", "conditions", "allergens", "body", "cues", "kinship", "wishes")


def test_the_lists_are_as_large_as_they_need_to_be() -> None:
    found = lexicon.clinical()
    names = {kind: found.of(kind) for kind in ("drug", "symptom", "condition", "allergen")}
    assert len(names["drug"]) >= 1500
    assert len({term.concept for term in names["symptom"]}) >= 200
    assert len(names["symptom"]) >= 300
    assert len({term.concept for term in names["condition"]}) >= 300


@pytest.mark.parametrize("table", TABLES)
def test_every_row_names_a_source_that_is_described(table: str) -> None:
    known = {row["id"] for row in rows("lexicon_sources")}
    assert {row["source"] for row in rows(f"lexicon_{table}")} <= known


@pytest.mark.parametrize("table", TABLES)
def test_no_row_stands_twice(table: str) -> None:
    keys = [(row["term"], row["concept"], row["kind"]) for row in rows(f"lexicon_{table}")]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    "text",
    [
        "I take the bus and drink a lot of water.", "We have iron gates.", "I like sugar in my coffee.",
        "He made the choice in the spring.", "I got gold and silver.", "She is a real success.",
        "I use oxygen cleaner.",
        "Justice was done.", "I eat a lot of fish and nuts.", "My cat is on the sofa.", "It's cold out there.",
        "I had a stroke of luck.", "I'm sick of waiting.", "We took the train at night.",
    ],
)  # fmt: skip
def test_everyday_words_name_nothing_clinical(text: str) -> None:
    assert mentions(text, speaker=Speaker.PATIENT) == ()


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("I take Tylenol.", "Acetaminophen"), ("I take paracetamol.", "Acetaminophen"),
        ("I take Lantus.", "Insulin glargine"),
        ("I take statins.", "Statin"), ("I take a baby aspirin.", "Aspirin"),
        ("I take my iron pills.", "Iron supplement"),
        ("I take Augmentin.", "Amoxicillin / Clavulanate"), ("I take potassium.", "Potassium supplement"),
        ("I've got the runs.", "Diarrhea"), ("My tummy hurts.", "Abdominal pain"),
        ("I feel sick to my stomach.", "Nausea"),
        ("I threw up.", "Vomiting"), ("My head hurts.", "Headache"), ("I have high blood pressure.", "Hypertension"),
        ("I have sugar diabetes.", "Diabetes mellitus"), ("I had a heart attack.", "Myocardial infarction"),
        ("My big toe hurts.", "Toe pain"), ("My ankles are swollen.", "Ankle swelling"),
    ],
)  # fmt: skip
def test_lay_words_lead_to_the_normal_name(said: str, name: str) -> None:
    assert [found.concept.text for found in mentions(said, speaker=Speaker.PATIENT)] == [name]

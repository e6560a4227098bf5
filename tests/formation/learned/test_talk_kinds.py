"""Kinds of talk that were misread, each with what is right: run-ons, picked answers, ellipsis, whose it is."""

from __future__ import annotations

from datetime import datetime

import pytest

from iamata.formation.extraction import Mention, mentions
from iamata.formation.extraction.segmentation import sentences
from iamata.model.memory import Experiencer, MemoryKind, Temporality
from iamata.model.session import Speaker
from iamata.model.statement import Polarity
from iamata.terminology import lexicon

SAID_AT = datetime.fromisoformat("2026-02-15T09:30:00-05:00")


def said(text: str, asks: str = "", speaker: Speaker | None = Speaker.PATIENT, relationship: str = "") -> list[Mention]:
    before = [(Speaker.CLINICIAN, asks)] if asks else []
    return list(mentions(text, before=before, said_at=SAID_AT, speaker=speaker, relationship=relationship))


def told(found: list[Mention]) -> set[tuple[str, str, str]]:
    return {(m.kind.value, m.concept.text, m.polarity.value) for m in found}


def clauses(text: str) -> list[str]:
    return [text[clause.start : clause.end] for sentence in sentences(text) for clause in sentence.clauses]


def test_talk_without_marks_is_cut_where_clauses_open() -> None:
    text = (
        "okay so your knee looks good today and the swelling is down which is great i want you to start naproxen five "
        "hundred milligrams twice a day okay and then let's see you in two weeks"
    )
    assert clauses(text)[1:3] == [
        "the swelling is down which is great",
        "i want you to start naproxen five hundred milligrams twice a day",
    ]
    assert ("medication", "Naproxen", "affirmed") in told(said(text, speaker=Speaker.CLINICIAN))


@pytest.mark.parametrize("text", ["So.", "But -", "And so then.", "Because,", "So and but so."])
def test_bare_conjunctions_are_no_sentence_and_answer_nothing(text: str) -> None:
    assert list(sentences(text)) == []
    assert said(text, "Any allergies?") == []
    assert said("Any chest pain?", text) == []


def test_punctuated_talk_is_not_cut_at_a_bare_i() -> None:
    assert clauses("The pill I take is white.") == ["The pill I take is white"]


def test_a_question_within_a_run_on_sentence_asserts_nothing_and_can_be_answered() -> None:
    asks = (
        "okay well your blood sugars have been high for a while now and that worries me a bit because of your kidneys "
        "are you taking the metformin"
    )
    assert not [m for m in said(asks, speaker=Speaker.CLINICIAN) if m.concept.text == "Metformin"]
    assert told(said("yes", asks)) == {("medication", "Metformin", "affirmed")}


def test_a_denial_before_a_new_subject_does_not_deny_the_order() -> None:
    text = "until we know there is no fracture there i will give you some naproxen"
    order = next(m for m in said(text, speaker=Speaker.CLINICIAN) if m.concept.text == "Naproxen")
    assert (order.polarity, order.temporality) == (Polarity.AFFIRMED, Temporality.PLANNED)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("We have fexofenadine, which I can prescribe today.", "Fexofenadine"),
        ("Taking some acetaminophen can also help.", "Acetaminophen"),
        ("For the pain, take ibuprofen.", "Ibuprofen"),
        ("Take an anti-inflammatory such as naproxen.", "Naproxen"),
    ],
)
def test_orders_come_in_many_forms(text: str, name: str) -> None:
    found = [m for m in said(text, speaker=Speaker.CLINICIAN) if m.concept.text == name]
    assert [m.temporality for m in found] == [Temporality.PLANNED]


@pytest.mark.parametrize(
    ("asks", "text", "expected"),
    [
        (
            "Any nausea or vomiting?",
            "Nausea yes, vomiting no.",
            {("symptom", "Nausea", "affirmed"), ("symptom", "Vomiting", "denied")},
        ),
        (
            "So you're allergic to sulfa and penicillin?",
            "Just sulfa, not penicillin.",
            {("allergy", "Sulfonamides", "affirmed"), ("allergy", "Penicillin", "denied")},
        ),
        ("Any allergies?", "No. Oh wait, actually, codeine.", {("allergy", "Codeine", "affirmed")}),
        ("Any allergies?", "No allergies, no. Well, maybe dust.", {("allergy", "House dust mite", "affirmed")}),
        (
            "Any drug allergies?",
            "No, only peanuts.",
            {("allergy", "Peanut", "affirmed"), ("allergy", "Known drug allergies", "denied")},
        ),
        ("Any allergies?", "Nothing serious.", set()),
        ("Any allergies?", "No new ones.", set()),
        (
            "Do you have nausea or vomiting?",
            "Both.",
            {("symptom", "Nausea", "affirmed"), ("symptom", "Vomiting", "affirmed")},
        ),
        ("What dose of lisinopril are you on?", "Ten milligrams.", {("medication", "Lisinopril", "affirmed")}),
        ("Where is the pain?", "My left shoulder.", {("symptom", "Shoulder pain", "affirmed")}),
        ("Did you check your sugar this morning?", "Yeah, it was 96.", {("observation", "Blood glucose", "affirmed")}),
        ("", "Smoking? Never.", {("social", "Tobacco use", "denied")}),
    ],
)  # fmt: skip
def test_answers_say_what_was_asked(asks: str, text: str, expected: set[tuple[str, str, str]]) -> None:
    assert told(said(text, asks)) == expected


def test_what_stands_between_a_cue_and_a_medicine_can_be_another_matter() -> None:
    found = said("He hasn't had a seizure since they raised the Keppra.", "", Speaker.CAREGIVER, "father")
    assert not [m for m in found if m.kind is MemoryKind.ADHERENCE]
    assert [m.change for m in said("I haven't had my Keppra since Monday.")] == ["stopped"]


def test_a_bare_number_is_a_reading_only_in_its_range() -> None:
    assert said("12.", "What was your oxygen?") == []
    assert said("96 pills.", "What was your sugar?") == []


def test_every_animal_of_a_list_is_a_substance_and_no_person() -> None:
    found = said("I'm allergic to dogs, cats, and horses.")
    assert [m.concept.text for m in found] == ["Dog dander", "Cat dander", "Horse dander"]
    assert {m.experiencer for m in found} == {Experiencer.PATIENT}


def test_what_is_taken_back_is_denied() -> None:
    found = said("I thought I was allergic to shrimp but it turns out I'm not.")
    assert told(found) == {("allergy", "Shrimp", "denied")}


def test_an_allergy_before_its_to_and_a_device_beside_one() -> None:
    assert told(said("Latex is the one thing I'm allergic to.")) == {("allergy", "Latex", "affirmed")}
    carried = [m for m in said("I carry an EpiPen because of my peanut allergy.") if m.kind is MemoryKind.ALLERGY]
    assert [m.concept.text for m in carried] == ["Peanut"]


def test_an_elliptical_clause_says_the_same_of_another_person() -> None:
    mine = next(m for m in said("My wife smokes but I don't.") if m.kind is MemoryKind.SOCIAL)
    assert (mine.concept.text, mine.polarity) == ("Tobacco use", Polarity.DENIED)
    both = said("Both my parents have high blood pressure and so do I.")
    assert [m.experiencer for m in both] == [Experiencer.FAMILY, Experiencer.PATIENT]


@pytest.mark.parametrize(
    "text",
    [
        "The baby has croup.",
        "They found a lump in my sister's breast.",
        "Cancer took both of my uncles.",
        "Diabetes is all over my mother's family.",
        "Nobody had diabetes except my grandmother.",
        "My roommate has mono.",
    ],
)
def test_what_others_have_is_never_the_patients(text: str) -> None:
    assert not [m for m in said(text) if m.experiencer is Experiencer.PATIENT]


def test_a_caregivers_own_past_is_not_the_patients() -> None:
    found = said("I had preeclampsia with him.", speaker=Speaker.CAREGIVER, relationship="mother")
    assert [(m.kind, m.relation) for m in found] == [(MemoryKind.FAMILY_HISTORY, "mother")]


def test_the_brother_that_a_sister_is_asked_about_is_the_patient() -> None:
    found = list(
        mentions(
            "Every night, I watch him.",
            before=[(Speaker.CLINICIAN, "Is your brother taking the clozapine?")],
            speaker=Speaker.CAREGIVER,
            relationship="sister",
        )
    )
    assert told(found) == {("medication", "Clozapine", "affirmed")}


@pytest.mark.parametrize(
    ("text", "past"),
    [
        ("The vomiting stopped last night.", True),
        ("I had pneumonia in 2018.", True),
        ("I've had bronchitis before.", True),
        ("65 years old with a cough.", False),
        ("My headache started when I stopped coffee.", False),
    ],
)
def test_what_is_over_is_past(text: str, past: bool) -> None:
    found = [m for m in said(text, speaker=None) if m.kind in (MemoryKind.SYMPTOM, MemoryKind.CONDITION)]
    assert [m.temporality is Temporality.PAST for m in found] == [past]


@pytest.mark.parametrize(
    "text",
    [
        "You may notice some bruising.",
        "Some people get hives from this medicine.",
        "Make sure she doesn't get dehydrated.",
        "Take it as needed for nausea.",
    ],
)
def test_what_is_only_supposed_gives_no_memory_of_it(text: str) -> None:
    kinds = (MemoryKind.SYMPTOM, MemoryKind.CONDITION, MemoryKind.ALLERGY, MemoryKind.SIDE_EFFECT)
    assert not [m for m in said(text, speaker=Speaker.CLINICIAN) if m.kind in kinds]


def test_operations_are_history_or_plans() -> None:
    assert [(m.kind, m.temporality) for m in said("I had my appendix out when I was nine.")] == [
        (MemoryKind.HISTORY, Temporality.PAST)
    ]
    assert [(m.kind, m.temporality) for m in said("I'm getting my knee replaced in April.")] == [
        (MemoryKind.PLAN, Temporality.PLANNED)
    ]


def test_circumstances_of_life_have_normal_names() -> None:
    names = {m.concept.text for m in said("I live alone, I lost my job in May, and I'm behind on rent.")}
    assert {"Lives alone", "Unemployed", "Housing instability"} <= names


def test_a_wish_is_found_through_what_stands_within_it() -> None:
    found = next(m for m in said("I really want to quit smoking this year.") if m.kind is MemoryKind.GOAL)
    assert found.concept.text == "Quit smoking this year"


def test_a_shop_is_no_medicine_and_an_everyday_phrase_no_finding() -> None:
    assert not [t for t in lexicon.clinical().exact("walgreens") if t.kind == "drug"]
    assert said("I fell asleep on the couch.") == []
    assert told(said("I fell on Tuesday.")) == {("symptom", "Falls", "affirmed")}

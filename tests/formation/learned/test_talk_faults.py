"""Faults that real talk showed, each with what is right: allergies left out of denials, orders, whose body it is."""

from __future__ import annotations

import pytest

from iamata.formation.extraction import Mention, mentions
from iamata.formation.extraction.people import People
from iamata.formation.extraction.scene import Scene
from iamata.formation.extraction.segmentation import sentences
from iamata.model.memory import Experiencer, MemoryKind, Temporality
from iamata.model.session import Speaker
from iamata.model.statement import Polarity


def said(text: str, *before: tuple[Speaker, str], speaker: Speaker | None = Speaker.PATIENT) -> list[Mention]:
    return list(mentions(text, before=before, speaker=speaker))


def allergies(found: list[Mention]) -> set[tuple[str, str]]:
    return {(m.concept.text, m.polarity.value) for m in found if m.kind is MemoryKind.ALLERGY}


def asks(text: str) -> tuple[Speaker, str]:
    return (Speaker.CLINICIAN, text)


@pytest.mark.parametrize(
    ("question", "answer", "told"),
    [
        ("I have that you're allergic to penicillin. Any other allergies?", "Nope, just penicillin.", "Penicillin"),
        ("Any other allergies besides Penicillin?", "Um no.", "Penicillin"),
        ("Do you have any allergies to medications?", "Yes. Penicillin.", "Penicillin"),
        ("Any allergies to medications?", "Oh, allergies. Sulfa.", "Sulfonamides"),
    ],
)
def test_an_allergy_left_out_of_a_denial_stays_an_allergy(question: str, answer: str, told: str) -> None:
    assert allergies(said(answer, asks(question))) == {(told, "affirmed")}


def test_a_just_in_the_question_leaves_nothing_out_of_the_denial() -> None:
    assert allergies(said("No.", asks("Just to check, are you allergic to penicillin?"))) == {("Penicillin", "denied")}


def test_no_other_allergies_is_no_denial_of_all() -> None:
    assert allergies(said("Yeah, and no other allergies.")) == set()


def test_not_like_one_of_those_allergies_denies_nothing() -> None:
    assert (
        allergies(said("No, no, they said it's not like one of those allergies and it's just the seasonal ones."))
        == set()
    )


def test_an_entry_without_allergy_data_is_no_denial() -> None:
    assert allergies(said("No allergy data is available.", speaker=None)) == set()


def test_not_allergic_to_anything_denies_what_was_asked_about() -> None:
    found = said("No, not allergic to anything. Just the dust and stuff.", asks("Any drug allergies that you know of?"))
    assert allergies(found) == {("Known drug allergies", "denied")}


@pytest.mark.parametrize("answer", ["I don't know of any.", "Mm, not that I know of.", "Not that I'm aware of."])
def test_none_that_is_known_of_denies_allergies(answer: str) -> None:
    assert allergies(said(answer, asks("How about allergies?"))) == {("Known allergies", "denied")}


def test_what_is_taken_for_allergies_is_no_allergy() -> None:
    found = said("I take Allegra for seasonal allergies.")
    assert allergies(found) == set()
    assert [m.concept.text for m in found if m.kind is MemoryKind.MEDICATION] == ["Fexofenadine"]
    answered = said("Claritin.", asks("What are you taking for allergies?"))
    assert [(m.kind, m.concept.text) for m in answered] == [(MemoryKind.MEDICATION, "Loratadine")]


def test_having_reacted_poorly_is_an_allergy() -> None:
    found = said("I've reacted poorly to sulfa drugs and penicillin.")
    assert allergies(found) == {("Sulfonamides", "affirmed"), ("Penicillin", "affirmed")}


def test_an_auxiliary_verb_is_no_substance() -> None:
    assert (
        allergies(said("It seems like quite a severe allergy to it, is that right, OK.", speaker=Speaker.CLINICIAN))
        == set()
    )


def test_what_a_medicine_is_taken_for_is_no_side_effect() -> None:
    found = said("I take Prilosec and Tramadol when I have back pain.")
    assert {(m.kind, m.concept.text) for m in found} == {
        (MemoryKind.MEDICATION, "Omeprazole"),
        (MemoryKind.MEDICATION, "Tramadol"),
        (MemoryKind.SYMPTOM, "Back pain"),
    }


@pytest.mark.parametrize(
    ("text", "drug"),
    [
        ("We can prescribe you some meloxicam 15 mg once a day.", "Meloxicam"),
        ("So i want to increase the metformin to 1000 mg twice a day .", "Metformin"),
        ("i 'm gon na put you on a medicine called prednisone", "Prednisone"),
        ("Hey dragon, order aspirin 81 milligrams daily.", "Aspirin"),
        ("I will write her a prescription for clonidine.", "Clonidine"),
    ],
)
def test_what_a_clinician_orders_is_a_plan(text: str, drug: str) -> None:
    found = said(text, speaker=Speaker.CLINICIAN)
    assert [(m.kind, m.concept.text, m.temporality) for m in found] == [
        (MemoryKind.MEDICATION, drug, Temporality.PLANNED)
    ]


def test_to_go_on_with_a_medicine_is_an_instruction() -> None:
    found = said("I want you to continue the lisinopril 20 mg a day.", speaker=Speaker.CLINICIAN)
    assert [(m.kind, m.change, m.temporality) for m in found] == [
        (MemoryKind.INSTRUCTION, "taking", Temporality.PLANNED)
    ]


def test_what_somebody_else_prescribed_before_is_no_plan() -> None:
    found = said("I saw that Dr. Brown put you on buspirone.", speaker=Speaker.CLINICIAN)
    assert all(m.temporality is not Temporality.PLANNED for m in found)


def test_a_negation_cut_off_by_the_transcriber_still_denies() -> None:
    found = said("please do n't take anymore motrin", speaker=Speaker.CLINICIAN)
    assert [(m.concept.text, m.polarity) for m in found] == [("Ibuprofen", Polarity.DENIED)]


def test_a_denial_before_an_order_does_not_deny_what_is_ordered() -> None:
    text = "so that you do n't have another injury and i wan na go ahead and prescribe meloxicam fifteen milligrams"
    found = said(text, speaker=Speaker.CLINICIAN)
    assert [(m.concept.text, m.polarity) for m in found if m.kind is MemoryKind.MEDICATION] == [
        ("Meloxicam", Polarity.AFFIRMED)
    ]


def test_talk_about_a_father_puts_nothing_on_the_patient() -> None:
    before = [
        (
            Speaker.PATIENT,
            "My dad's blood pressure is high. He takes valsartan 80 mg in the morning and he feels dizzy.",
        ),
        (Speaker.AGENT, "Your dad could take it at night. Does he have swelling?"),
    ]
    found = said("There's basically been no obvious swelling. I'll fix valsartan at 8 p.m. It was 150/95.", *before)
    assert [m for m in found if m.experiencer is Experiencer.PATIENT] == []


def test_an_own_body_told_amid_talk_about_a_father_is_the_patients() -> None:
    before = [(Speaker.PATIENT, "My dad takes valsartan, he says he is dizzy, and his doctor saw him.")]
    found = said("I have a headache.", *before)
    assert [(m.concept.text, m.experiencer) for m in found] == [("Headache", Experiencer.PATIENT)]


def assertion(text: str, target: str) -> tuple[Polarity, bool]:
    start = text.index(target)
    for sentence in sentences(text):
        for clause in sentence.clauses:
            if clause.start <= start < clause.end:
                scene = Scene(text, clause, People(None, ""), None)
                first = scene.place(start)
                found = scene.cues.assess(first, scene.place(start + len(target) - 1) + 1)
                return found.polarity, found.certain
    raise AssertionError(target)


def test_a_heading_ends_what_the_line_before_it_denies() -> None:
    text = "COMPLICATIONS: None    POSTOPERATIVE DIAGNOSIS: internal hemorrhoids"
    assert assertion(text, "internal hemorrhoids")[0] is Polarity.AFFIRMED


def test_a_colon_right_after_the_cue_does_not_end_it() -> None:
    assert assertion("Denies: chest pain", "chest pain")[0] is Polarity.DENIED


def test_a_list_of_denials_is_as_long_as_its_words() -> None:
    text = "The patient denied any headache, neck pain, weakness, numbness or paraesthesias."
    assert assertion(text, "paraesthesias")[0] is Polarity.DENIED


def test_what_is_suspected_is_not_certain() -> None:
    assert assertion("Dr Davis is suspecting anemia", "anemia") == (Polarity.AFFIRMED, False)


def test_a_scale_of_points_is_no_body_weight() -> None:
    found = said("It is scored on a scale of 0-12.", speaker=None)
    assert [m for m in found if m.kind is MemoryKind.OBSERVATION] == []


def test_a_dose_raised_from_one_to_another_is_the_other() -> None:
    found = said("I'd like to increase the lisinopril from 10 mg to 20 mg a day.", speaker=Speaker.CLINICIAN)
    assert [m.get("dose") for m in found] == ["20 mg"]


def test_a_brand_of_several_ingredients_is_a_medicine() -> None:
    found = said("I'm taking Remeron for depression and Ziac for high blood pressure.")
    assert {m.concept.text for m in found if m.kind is MemoryKind.MEDICATION} == {
        "Mirtazapine",
        "Bisoprolol / Hydrochlorothiazide",
    }


def test_a_first_name_that_is_also_a_brand_is_no_medicine() -> None:
    assert said("Camila takes the bus.", speaker=Speaker.CLINICIAN) == []

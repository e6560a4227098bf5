"""Kinds of fault that the sets once kept apart showed, each in other words than theirs, with the right value."""

from __future__ import annotations

import pytest

from iamata.formation.extraction import Mention, mentions
from iamata.model.memory import Experiencer, MemoryKind, Temporality
from iamata.model.session import Speaker

Said = tuple[str, str, str]
PATIENT, CLINICIAN = Speaker.PATIENT, Speaker.CLINICIAN


def said(text: str, *before: tuple[Speaker, str]) -> list[Mention]:
    return list(mentions(text, before=before, speaker=PATIENT))


def told(text: str, *asked: str) -> set[Said]:
    found = said(text, *((CLINICIAN, question) for question in asked))
    return {(m.kind.value, m.concept.text, m.polarity.value) for m in found}


def allergies(text: str, *asked: str) -> set[tuple[str, str]]:
    return {(concept, polarity) for kind, concept, polarity in told(text, *asked) if kind == "allergy"}


@pytest.mark.parametrize(
    ("asked", "answer", "expected"),
    [
        ("Any food allergies?", "Cashews, and I keep an EpiPen in my bag.", {("Cashew", "affirmed")}),
        ("Are you allergic to anything?", "Wasp stings. I use cetirizine for it.", {("Wasp venom", "affirmed")}),
        ("Any allergies?", "Cats, so I take loratadine every day.", {("Cat dander", "affirmed")}),
        ("Any allergies?", "I can't take ibuprofen.", {("Ibuprofen", "affirmed")}),
    ],
)
def test_what_is_taken_against_an_allergy_is_no_allergen(
    asked: str, answer: str, expected: set[tuple[str, str]]
) -> None:
    assert allergies(answer, asked) == expected


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Are there any cats or dogs in the house?", "Yes, a cat."),
        ("Do you keep any birds or other pets at home?", "I've got a cat."),
        ("Any exposure to dust or mould where you live?", "There's some mould."),
    ],
)
def test_what_somebody_lives_with_is_no_allergy(asked: str, answer: str) -> None:
    assert allergies(answer, asked) == set()


@pytest.mark.parametrize(
    "text",
    [
        "Perhaps it's an allergic reaction to the codeine.",
        "I don't know, maybe, maybe it's some allergic reaction to the amoxicillin.",
        "It could be an allergic reaction to the codeine, I'm not sure.",
    ],
)
def test_a_guess_at_what_is_going_on_now_is_a_concern_and_no_allergy(text: str) -> None:
    assert allergies(text) == set()
    assert ("concern", "Allergic reaction", "affirmed") in told(text)


def test_an_allergic_reaction_that_is_told_stays_an_allergy() -> None:
    assert allergies("I had an allergic reaction to codeine.") == {("Codeine", "affirmed")}
    assert allergies("I might be allergic to penicillin.") == {("Penicillin", "affirmed")}


@pytest.mark.parametrize(
    "text",
    [
        "I raised ramipril to 10 mg as you said. His readings at breakfast are still 160/90, he has gout, and his "
        "ankles are fine.",
        "We switched her to metformin 500 mg last week. Her sugar is 180 most mornings, she has no nausea, and her "
        "weight is down.",
        "Hello doctor, I changed ramipril 5 mg to the evening. His pressure is 150 over 95, he has gout, and he has a "
        "cough.",
        "Doctor, I gave ramipril 5 mg. His pressure is 150 over 95, he has gout, and he has a cough.",
        "I gave bisoprolol 5 mg this morning. He has a cough, he takes it with food, and his pulse was 62.",
    ],
)
def test_what_is_told_of_somebody_who_is_only_called_he_or_she_is_not_the_speakers(text: str) -> None:
    assert all(m.experiencer is not Experiencer.PATIENT for m in said(text))


@pytest.mark.parametrize(
    "text",
    [
        "My last doctor was good, he put me on lisinopril, he said it was his choice, and he checked my kidneys.",
        "I take lisinopril. My doctor changed his mind, he has left, and his nurse told me to go on.",
    ],
)
def test_a_doctor_called_he_does_not_take_the_speakers_medicine(text: str) -> None:
    of = [m.experiencer for m in said(text) if m.kind in (MemoryKind.MEDICATION, MemoryKind.ADHERENCE)]
    assert of
    assert set(of) == {Experiencer.PATIENT}


@pytest.mark.parametrize(
    "text",
    ["I had assumed taking warfarin at noon was fine.", "I had never understood why warfarin goes with a low dose."],
)
def test_had_before_a_participle_claims_no_body(text: str) -> None:
    before = [(PATIENT, "My mum takes warfarin, she bruises, and her doctor saw her. She has gout.")]
    assert all(m.experiencer is not Experiencer.PATIENT for m in said(text, *before, (CLINICIAN, "I see.")))


@pytest.mark.parametrize(
    "asked",
    [
        "Can you recall which tablet you're allergic to?",
        "Do you know the name of what you're allergic to?",
        "Are your allergies any easier this spring?",
        "Did the allergies settle after the move?",
        "There are no allergies on your file, shall I put some in?",
    ],
)
def test_a_question_that_takes_allergies_for_granted_denies_none(asked: str) -> None:
    assert allergies("No.", asked) == set()
    assert allergies("Yes, please.", asked) == set()


@pytest.mark.parametrize(
    ("asked", "answer", "expected"),
    [
        ("Are you allergic to aspirin or codeine?", "Not aspirin, but codeine.", {("Aspirin", "-"), ("Codeine", "+")}),
        ("Is it codeine that you're allergic to?", "No, it's tramadol.", {("Codeine", "-"), ("Tramadol", "+")}),
        ("You're allergic to latex?", "No, to nickel.", {("Latex", "-"), ("Nickel", "+")}),
        ("Any allergies?", "Well, what do you call it, tramadol.", {("Tramadol", "+")}),
        ("Are you allergic to anything besides latex?", "Also tramadol.", {("Tramadol", "+")}),
        ("Are you still allergic to eggs?", "I still am.", {("Egg", "+")}),
        ("Still allergic to penicillin?", "Still am, yeah.", {("Penicillin", "+")}),
        ("No allergies to any tablets?", "No.", {("Known drug allergies", "-")}),
        ("Known allergies?", "Zero.", {("Known allergies", "-")}),
        ("Any food allergies?", "No, but I'm allergic to codeine.", {("Known food allergies", "-"), ("Codeine", "+")}),
        ("Any medication allergies?", "No, but I'm allergic to eggs.", {("Known drug allergies", "-"), ("Egg", "+")}),
        ("Could you please list your allergies?", "Codeine, latex.", {("Codeine", "+"), ("Latex", "+")}),
        ("Please tell me your allergies.", "Codeine and tramadol.", {("Codeine", "+"), ("Tramadol", "+")}),
        ("Any allergies?", "Latex. And, what's it called, clindamycin.", {("Latex", "+"), ("Clindamycin", "+")}),
    ],
)
def test_what_an_answer_about_allergies_puts_in_place_or_takes_for_granted(
    asked: str, answer: str, expected: set[tuple[str, str]]
) -> None:
    assert {(name, "+" if polarity == "affirmed" else "-") for name, polarity in allergies(answer, asked)} == expected


def ordered(text: str) -> set[tuple[str, str, str]]:
    found = mentions(text, speaker=CLINICIAN)
    planned = [m for m in found if m.temporality is Temporality.PLANNED]
    return {(m.concept.text, m.polarity.value, m.change) for m in planned}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("so what we're going to do is start naproxen 500 milligrams twice a day", {("Naproxen", "affirmed", "")}),
        ("what i would do is prescribe gabapentin at night", {("Gabapentin", "affirmed", "")}),
        ("i will prescribe one tablet and it's losartan fifty milligrams", {("Losartan", "affirmed", "")}),
        ("i'm gon na send in a cream and that's ketoconazole twice a day", {("Ketoconazole", "affirmed", "")}),
        (
            "I'd like you to take an antihistamine. You can buy cetirizine or loratadine.",
            {("Antihistamine", "affirmed", ""), ("Cetirizine", "affirmed", ""), ("Loratadine", "affirmed", "")},
        ),
        (
            "i want you to stop taking the painkillers you're taking the naproxen",
            {("Pain reliever", "affirmed", "stopped"), ("Naproxen", "affirmed", "stopped")},
        ),
        ("try not to use any naproxen for now", {("Naproxen", "denied", "")}),
        ("here is where we are going to look do you take any naproxen", set()),
    ],
)
def test_what_a_clinician_orders_in_running_talk(text: str, expected: set[tuple[str, str, str]]) -> None:
    assert ordered(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Dr Rao saw me. He took my dose down and he is happy with it. His nurse checked it. He was pleased. Chest "
            "pain since Tuesday. Taking metformin twice a day.",
            {"Chest pain", "Metformin"},
        ),
        (
            "Saw the surgeon, his clinic is far. He is cutting the dose. He was worried about it. He had it scanned. "
            "Knee pain is worse, taking ibuprofen.",
            {"Knee pain", "Ibuprofen"},
        ),
        ("He has it written down. He is changing it. He was sure of it. He took it off. Allergic to penicillin.",
         {"Penicillin"}),
        ("The doctor took my pulse, he has a cough, he took my pressure and his readings were high. Dizzy ever since.",
         {"Dizziness"}),
    ],
)  # fmt: skip
def test_what_a_professional_does_or_says_leaves_the_speakers_body_theirs(text: str, expected: set[str]) -> None:
    own = {m.concept.text for m in said(text) if m.experiencer is Experiencer.PATIENT}
    assert expected <= own


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("I come out in hives each time I use ibuprofen.", "Ibuprofen"),
        ("I used to take aspirin until it closed my throat.", "Aspirin"),
        ("Taking sulfa makes me swell up.", "Sulfonamides"),
        ("Latex, and taking sulfa makes me swell up.", "Sulfonamides"),
        ("Cats, and I get a rash when I use ibuprofen.", "Ibuprofen"),
    ],
)
def test_what_happens_when_a_medicine_is_taken_makes_it_no_remedy(answer: str, expected: str) -> None:
    assert (expected, "affirmed") in allergies(answer, "Any allergies?")


def test_a_remedy_after_a_refusal_is_no_allergen() -> None:
    assert ("Cetirizine", "affirmed") not in allergies("No, and I take cetirizine just in case.", "Any allergies?")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("No.", {("Known allergies", "denied")}),
        ("No, none.", {("Known allergies", "denied")}),
        ("No, I do have some.", set()),
        ("No. I do have some.", set()),
        ("No, that's wrong.", set()),
        ("No, sulfa.", {("Sulfonamides", "affirmed")}),
        ("No, sulfa and latex.", {("Sulfonamides", "affirmed"), ("Latex", "affirmed")}),
    ],
)
def test_a_no_to_no_allergies_agrees_only_when_nothing_else_is_said(
    answer: str, expected: set[tuple[str, str]]
) -> None:
    assert allergies(answer, "No allergies?") == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("No, sulfa.", {("Sulfonamides", "affirmed")}),
        ("No, I do have some.", set()),
        ("No, nothing.", {("Known allergies", "denied")}),
        ("No, I take metformin.", {("Known allergies", "denied")}),
    ],
)
def test_a_no_with_a_substance_or_some_behind_it_denies_no_allergies(
    answer: str, expected: set[tuple[str, str]]
) -> None:
    assert allergies(answer, "Any allergies?") == expected

"""Short answers in pieces without a verb, each with its own yes or no, and answers that are thought over again."""

from __future__ import annotations

import pytest

from iamata.formation.extraction import Mention, mentions
from iamata.formation.extraction.stems import stem
from iamata.model.memory import MemoryKind, Temporality
from iamata.model.session import Speaker

PATIENT, CLINICIAN = Speaker.PATIENT, Speaker.CLINICIAN


def answered(asks: str, text: str, speaker: Speaker = PATIENT, of: str = "") -> list[Mention]:
    return list(mentions(text, before=[(CLINICIAN, asks)], speaker=speaker, relationship=of))


def signs(found: list[Mention]) -> set[tuple[str, str]]:
    """Name and + or -."""
    return {(m.concept.text, "+" if m.polarity.value == "affirmed" else "-") for m in found}


@pytest.mark.parametrize(
    ("asks", "text", "expected"),
    [
        ("Any flashing lights or floaters?", "A few floaters, no flashes.", {"Floaters+", "Flashing lights-"}),
        ("Are you sweating or feeling sick with it?", "Clammy, yes. Not sick.", {"Sweating+", "Nausea-"}),
        ("Are you sweating or feeling sick with it?", "Sweating a bit, not sick.", {"Sweating+", "Nausea-"}),
        ("Chest pain or breathless?", "Chest pain no. Bit breathless.", {"Chest pain-", "Shortness of breath+"}),
        ("Any nausea or vomiting?", "Sick, yes. Never vomited.", {"Vomiting-"}),
        ("Any dizziness or fainting?", "Dizzy now and then, never fainted.", {"Dizziness+", "Fainting-"}),
        ("Does the pain go into your arm or jaw?", "The jaw, yeah. Never the arm.", {"Jaw pain+", "Arm pain-"}),
        ("Does it spread to the back, shoulder?", "Into the shoulder. Not the back.", {"Shoulder pain+", "Back pain-"}),
        ("Any headaches or blurred vision?", "Headaches, yeah. Vision's fine.", {"Headache+", "Blurred vision-"}),
        ("Any swelling or redness?", "Bit of redness. No swelling.", {"Redness+", "Swelling-"}),
        ("Any trouble swallowing or weight dropping off?", "Nah, neither.", {"Difficulty swallowing-", "Weight loss-"}),
        ("Any blood in the motions?", "No blood, only watery.", {"Blood in stool-"}),
        ("Any thoughts of harming yourself?", "God, no.", {"Suicidal thoughts-"}),
    ],
)  # fmt: skip
def test_each_piece_of_a_short_answer_has_its_own_yes_or_no(asks: str, text: str, expected: set[str]) -> None:
    assert {name + sign for name, sign in signs(answered(asks, text))} == expected


def test_a_piece_is_quoted_by_itself_and_a_word_that_fits_two_things_asked_about_names_neither() -> None:
    text = "Floaters yes, no flashes."
    found = {m.concept.text: text[m.start : m.end] for m in answered("Any flashing lights or floaters?", text)}
    assert found == {"Floaters": "Floaters yes", "Flashing lights": "no flashes"}
    pains = {m.concept.text for m in answered("Any chest pain or back pain?", "No cough, and the pain's bad.")}
    assert not {"Chest pain", "Back pain"} & pains


def test_blood_is_told_by_what_stands_around_it() -> None:
    assert signs(answered("Bringing anything up?", "Green stuff, no blood.")) >= {("Blood", "-")}
    for text in ("I gave blood on Monday.", "No blood tests for me.", "I faint at the sight of blood, that's all."):
        assert "Blood" not in {m.concept.text for m in answered("How are you?", text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fever is there, cough is not there.", {"Fever+", "Cough-"}),
        ("Vomiting also is there.", {"Vomiting+"}),
        ("Loose motions are there, vomiting isn't there.", {"Diarrhea+", "Vomiting-"}),
        ("Sugar is there, ten years. BP is not there.", {"Diabetes mellitus+", "Hypertension-"}),
        ("I have BP and sugar.", {"Hypertension+", "Diabetes mellitus+"}),
        ("I am a sugar patient since ten years.", {"Diabetes mellitus+"}),
        ("There is no sugar in my tea and I have pressure at work.", set()),
        ("I have sugar in my coffee.", set()),
        ("My BP is fine.", set()),
    ],
)  # fmt: skip
def test_what_is_there_or_not_there_is_affirmed_or_denied(text: str, expected: set[str]) -> None:
    assert {name + sign for name, sign in signs(answered("Tell me.", text))} == expected


def test_another_persons_sugar_is_the_familys() -> None:
    [found] = answered("Any illness in the family?", "My father is having sugar.")
    assert (found.kind, found.concept.text, found.relation) == (
        MemoryKind.FAMILY_HISTORY, "Diabetes mellitus", "father"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("asks", "text", "expected"),
    [
        ("Any chest pain?", "Yes. Wait, no.", {"Chest pain-"}),
        ("Any chest pain?", "No. Actually yes, last night.", {"Chest pain+"}),
        ("Are you diabetic?", "Yes. Sorry, no, prediabetic.", {"Diabetes mellitus-", "Prediabetes+"}),
        ("Do you take aspirin?", "Yes. Actually no, I stopped it.", {"Aspirin+"}),
        ("Any chest pain?", "Yes. No cough.", {"Chest pain+", "Cough-"}),
    ],
)  # fmt: skip
def test_a_yes_or_no_that_is_thought_over_is_turned_round(asks: str, text: str, expected: set[str]) -> None:
    assert {name + sign for name, sign in signs(answered(asks, text))} == expected


def test_what_is_turned_round_by_its_time_was_so_once() -> None:
    text = "Yes. Actually no, that was last year, with the piles."
    [found] = answered("Any blood when you wipe?", text)
    assert (found.concept.text, found.temporality) == ("Blood", Temporality.PAST)
    assert text[found.start : found.end] == "Actually no, that was last year, with the piles"
    stopped = answered("Do you take aspirin?", "Yes. Actually no, I stopped it.")
    assert [(m.kind, m.change) for m in stopped] == [(MemoryKind.ADHERENCE, "stopped")]


def test_a_word_is_known_by_its_stem_whatever_its_ending() -> None:
    assert stem("flashes") == stem("flashing") == "flash"
    assert stem("sick") == "sick"
    assert stem("wheezy") == stem("wheezing")

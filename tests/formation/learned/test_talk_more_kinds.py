"""What people say in ways that the extractor once lost or misread, by kind; each with the right value."""

from __future__ import annotations

from typing import Any

import pytest

from iamata.formation.extraction import Mention, mentions
from iamata.model.memory import Experiencer, MemoryKind, Temporality
from iamata.model.session import Speaker
from iamata.model.statement import Polarity
from iamata.terminology import lexicon

Said = tuple[str, str, str]
PATIENT, CLINICIAN, AGENT = Speaker.PATIENT, Speaker.CLINICIAN, Speaker.AGENT
AFFIRMED, DENIED = "affirmed", "denied"


def said(text: str, *before: tuple[Speaker, str], speaker: Speaker | None = PATIENT, of: str = "") -> list[Mention]:
    return list(mentions(text, before=before, speaker=speaker, relationship=of))


def briefly(found: list[Mention]) -> set[Said]:
    return {(m.kind.value, m.concept.text, m.polarity.value) for m in found}


def told(text: str, *before: tuple[Speaker, str], **how: Any) -> set[Said]:
    return briefly(said(text, *before, **how))


def readings(text: str, *before: tuple[Speaker, str]) -> list[tuple[str, str, str]]:
    found = said(text, *before)
    return [(m.concept.text, m.get("value"), text[m.start : m.end]) for m in found if m.kind is MemoryKind.OBSERVATION]


def test_each_of_several_readings_in_one_clause_has_a_stretch_of_its_own() -> None:
    assert readings("Peak flow's been 320 most mornings, 410 at night.") == [
        ("Peak flow", "320", "Peak flow's been 320 most mornings"),
        ("Peak flow", "410", "410 at night"),
    ]
    assert readings("It was 126 before breakfast and 190 after.") == [
        ("Blood glucose", "126", "It was 126 before breakfast"),
        ("Blood glucose", "190", "190 after"),
    ]


def test_readings_are_known_by_what_stands_beside_them_or_what_was_asked() -> None:
    assert readings("118 fasting.") == [("Blood glucose", "118", "118 fasting")]
    assert readings("It was 39.4 on the ear thermometer.")[0][:2] == ("Body temperature", "39.4")
    asked = [(PATIENT, "I'd like to get my A1c under seven."), (CLINICIAN, "What's it been?")]
    assert readings("8.3 at the last check.", *asked) == [("HbA1c", "8.3", "8.3 at the last check")]
    assert readings("94 sitting here, 89 after the stairs.", (CLINICIAN, "And your sats?")) == [
        ("Oxygen saturation", "94", "94 sitting here"),
        ("Oxygen saturation", "89", "89 after the stairs"),
    ]


@pytest.mark.parametrize("text", ["If your temperature goes over 38, ring us.", "I want to get my A1c under seven."])
def test_a_number_that_is_supposed_or_aimed_at_is_no_reading(text: str) -> None:
    assert readings(text) == []


@pytest.mark.parametrize("takes_back", ["That was a mistake.", "No, that's wrong, sorry.", "Scratch that."])
def test_a_sentence_of_its_own_takes_back_the_one_before(takes_back: str) -> None:
    [allergy] = said(f"I'm allergic to latex. {takes_back}")
    assert (allergy.concept.text, allergy.polarity) == ("Latex", Polarity.DENIED)
    assert f"I'm allergic to latex. {takes_back}"[allergy.start : allergy.end].startswith("I'm allergic to latex. ")


def test_what_is_taken_back_is_taken_back_wherever_the_turn_said_it_and_nothing_else_is() -> None:
    asked = (Speaker.COORDINATOR, "You wrote latex under allergies?")
    assert told("I did, yeah. I said I'm allergic to latex. That was a mistake.", asked) == {
        ("allergy", "Latex", DENIED)
    }
    assert told("I take metformin. I have a cough. That was a mistake.") == {("medication", "Metformin", AFFIRMED)}
    assert told("I have asthma. I went to the shop. That was a mistake.") == {("condition", "Asthma", AFFIRMED)}


@pytest.mark.parametrize(
    "text",
    [
        "The gabapentin isn't doing anything.", "Gabapentin does nothing for me.", "The gabapentin helps a bit.",
        "The gabapentin isnt touching it.", "My gabapentin doesn't work.",
    ],
)  # fmt: skip
def test_a_medicine_that_works_or_does_not_is_taken(text: str) -> None:
    assert ("medication", "Gabapentin", AFFIRMED) in told(text)
    assert not any(m.kind is MemoryKind.ADHERENCE for m in said(text))


def test_what_those_do_is_said_of_the_medicine_just_spoken_of_and_what_a_clinician_says_of_any() -> None:
    assert told("Those do help.", (CLINICIAN, "And the lidocaine patches?")) == {("medication", "Lidocaine", AFFIRMED)}
    assert told("Gabapentin helps a lot.", speaker=CLINICIAN) == set()
    assert told("Would gabapentin help?") == set()


def test_an_order_that_replaces_one_medicine_by_another_stops_the_one_and_plans_the_other() -> None:
    found = said("I'm going to switch you from lisinopril to losartan, 50 mg once a day.", speaker=CLINICIAN)
    assert [(m.concept.text, m.kind, m.change, m.temporality, m.get("dose")) for m in found] == [
        ("Lisinopril", MemoryKind.INSTRUCTION, "stopped", Temporality.PLANNED, ""),
        ("Losartan", MemoryKind.MEDICATION, "", Temporality.PLANNED, "50 mg"),
    ]
    found = said("They swapped my lisinopril for losartan.")
    assert [(m.concept.text, m.kind, m.change, m.temporality) for m in found] == [
        ("Lisinopril", MemoryKind.ADHERENCE, "stopped", Temporality.CURRENT),
        ("Losartan", MemoryKind.MEDICATION, "", Temporality.CURRENT),
    ]


def test_each_order_of_a_list_has_its_own_verb() -> None:
    found = said("It says stop clopidogrel on 1 March, continue aspirin 75 mg for life.", speaker=Speaker.CAREGIVER)
    assert ("Clopidogrel", "stopped") in {(m.concept.text, m.change) for m in found}
    [aspirin] = [m for m in found if m.concept.text == "Aspirin"]
    assert (aspirin.change, aspirin.get("dose")) != ("stopped", "75 mg")


@pytest.mark.parametrize(
    ("name", "ingredient"),
    [
        ("Epilim", "Valproic acid"), ("Movicol", "Macrogol"), ("Clenil", "Beclomethasone"),
        ("Piriton", "Chlorpheniramine"), ("frusemide", "Furosemide"), ("thyroxine", "Levothyroxine"),
        ("GTN", "Nitroglycerin"), ("Voltarol", "Diclofenac"), ("Seretide", "Fluticasone / Salmeterol"),
    ],
)  # fmt: skip
def test_british_names_are_their_ingredients(name: str, ingredient: str) -> None:
    assert told(f"I take {name}.") == {("medication", ingredient, AFFIRMED)}


def test_a_blood_test_of_a_hormone_is_no_order_of_it() -> None:
    assert told("We'll do some blood tests for your thyroxine.", speaker=CLINICIAN) == set()


@pytest.mark.parametrize(
    ("word", "name"),
    [("Ibuprofin", "Ibuprofen"), ("lisinipril", "Lisinopril"), ("amitriptylene", "Amitriptyline")],
)
def test_an_ingredient_spelt_one_letter_off_is_read_in_doubt(word: str, name: str) -> None:
    [found] = said(f"I take {word}.")
    assert (found.concept.text, found.certain) == (name, False)


@pytest.mark.parametrize("word", ["program", "relieve", "process", "inhaled", "estrogen", "moderate"])
def test_an_everyday_word_is_no_misspelt_drug(word: str) -> None:
    assert lexicon.misspelt(word) is None


def test_a_name_that_could_be_two_drugs_is_none() -> None:
    assert lexicon.misspelt("lisinopril") is None  # it is spelt right
    assert lexicon.misspelt("hydroxizine") is not None
    assert lexicon.misspelt("xylophone") is None


def test_what_an_interpreter_tells_of_her_is_the_patients() -> None:
    found = said("She says she hasn't vomited. She has pain on the right side.", speaker=Speaker.INTERPRETER)
    assert {(m.concept.text, m.polarity.value, m.experiencer) for m in found} == {
        ("Vomiting", DENIED, Experiencer.PATIENT),
        ("Pain", AFFIRMED, Experiencer.PATIENT),
    }
    [thyroid] = said("Only thyroxine, she says, 75 micrograms in the morning.", speaker=Speaker.INTERPRETER)
    assert (thyroid.get("dose"), thyroid.get("frequency")) == ("75 mcg", "in the morning")
    [mother] = said("Her mother has diabetes.", speaker=Speaker.INTERPRETER)
    assert (mother.experiencer, mother.relation) == (Experiencer.FAMILY, "mother")


@pytest.mark.parametrize(
    "text",
    [
        "The woman next door has just been diagnosed with Parkinson's.", "My flatmate has scabies.",
        "I saw a programme about lupus last night.", "A household contact has TB.",
    ],
)  # fmt: skip
def test_what_neighbours_and_programmes_have_is_nobodys(text: str) -> None:
    assert told(text) == set()


def test_a_pronoun_means_the_relative_that_was_asked_about() -> None:
    [found] = said("Her sister had breast cancer.", (CLINICIAN, "And on your mother's side?"))
    assert (found.kind, found.relation) == (MemoryKind.FAMILY_HISTORY, "aunt")


def test_a_relative_has_what_was_put_down_to_the_patient() -> None:
    asked = (AGENT, "Your mother told us that you have epilepsy. Is that correct?")
    [found] = said("That's my brother.", asked)
    assert (found.kind, found.concept.text, found.relation) == (MemoryKind.FAMILY_HISTORY, "Epilepsy", "brother")
    [father] = said("I had it myself as a baby.", (CLINICIAN, "Any family history of asthma?"),
                    speaker=Speaker.CAREGIVER, of="father")  # fmt: skip
    assert (father.kind, father.relation) == (MemoryKind.FAMILY_HISTORY, "father")


def test_relatives_have_what_they_are_treated_for() -> None:
    found = said("My dad had a heart attack, and both my brothers are on tablets for blood pressure.")
    assert {(m.concept.text, m.experiencer) for m in found} == {
        ("Myocardial infarction", Experiencer.FAMILY),
        ("Hypertension", Experiencer.FAMILY),
    }


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Can I ask you about allergies now?", "No, go ahead."),
        ("Do you mind if I ask about your allergies?", "No, not at all."),
        ("Did the nurse ask about your allergies?", "No, she asked about the pharmacy."),
        ("Have you been to the allergy clinic?", "No, not yet."),
        ("Is your allergy bracelet on you?", "No, I left it at home."),
        ("Could it be an allergy?", "No, I doubt it."),
        ("Has anyone updated your allergy list?", "No."),
    ],
)
def test_a_refusal_of_a_question_that_only_speaks_of_allergies_denies_none(asked: str, answer: str) -> None:
    assert told(answer, (CLINICIAN, asked)) == set()


@pytest.mark.parametrize(
    "asked",
    ["Any allergies?", "Do you have any allergies?", "How about allergies?", "Can I ask if you have any allergies?"],
)
def test_a_refusal_of_a_question_for_allergies_denies_them(asked: str) -> None:
    assert told("No.", (CLINICIAN, asked)) == {("allergy", "Known allergies", DENIED)}


@pytest.mark.parametrize(
    ("asked", "answer", "right"),
    [
        ("Anything you react to?", "Amoxicillin.", {("allergy", "Amoxicillin", AFFIRMED)}),
        ("Any allergies?", "Erm, no, um, well, nickel, from earrings.", {("allergy", "Nickel", AFFIRMED)}),
        ("Any allergies?", "No, I don't think so. Hang on, I tell a lie, latex.", {("allergy", "Latex", AFFIRMED)}),
        ("Any drug allergies?", "Penicillin. No, sorry, that's my sister, I've none.",
         {("allergy", "Known drug allergies", DENIED)}),
        ("And allergies?", "Nuts, all of them bar almonds.", {("allergy", "Tree nut", AFFIRMED)}),
        ("No allergies?", "Not to medicines, only to kiwis.",
         {("allergy", "Known drug allergies", DENIED), ("allergy", "Kiwi", AFFIRMED)}),
        ("Allergic to any antibiotics at all?", "Only the penicillins.", {("allergy", "Penicillin", AFFIRMED)}),
    ],
)  # fmt: skip
def test_answers_about_allergies_are_read_to_their_end(asked: str, answer: str, right: set[Said]) -> None:
    assert told(answer, (CLINICIAN, asked)) == right


def test_a_denial_of_one_of_several_things_asked_denies_that_one() -> None:
    asked = (CLINICIAN, "Any rash, any vomiting, is he drinking?")
    assert told("No rash.", asked, speaker=Speaker.CAREGIVER, of="mother") == {("symptom", "Rash", DENIED)}


def test_a_list_of_denials_goes_on_through_or() -> None:
    found = told("He hasn't had a fever, or a rash, or any diarrhoea, just the cough.", speaker=Speaker.CAREGIVER)
    assert found == {
        ("symptom", "Fever", DENIED), ("symptom", "Rash", DENIED), ("symptom", "Diarrhea", DENIED),
        ("symptom", "Cough", AFFIRMED),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Cannot exclude appendicitis.", "Appendicitis"), ("I'm not denying I have diabetes.", "Diabetes mellitus"),
        ("I never go a day without heartburn.", "Heartburn"), ("Nothing helps the itching.", "Itching"),
    ],
)  # fmt: skip
def test_what_only_sounds_like_a_denial_is_none(text: str, name: str) -> None:
    assert (name, AFFIRMED) in {(m.concept.text, m.polarity.value) for m in said(text)}


def test_what_a_supposition_goes_on_to_is_supposed_too() -> None:
    assert told("If it goes over 38, or you get a rash, go straight to A&E.", speaker=CLINICIAN) == set()


def test_what_has_stopped_was_felt_and_not_the_medicine() -> None:
    before = [(PATIENT, "I started Mounjaro four weeks ago."), (CLINICIAN, "Any tummy trouble with it?")]
    [found] = said("The first week I was throwing up. That's stopped.", *before)
    assert (found.concept.text, found.temporality) == ("Vomiting", Temporality.PAST)


def test_what_is_stated_and_asked_to_be_confirmed_is_asked() -> None:
    assert told("You're down for Lasix 40 in the morning. Is that how you take it?", speaker=CLINICIAN) == set()
    asked = (CLINICIAN, "It says here you're allergic to doxycycline. Is that still right?")
    assert told("That's right, yes.", asked) == {("allergy", "Doxycycline", AFFIRMED)}


def test_aims_and_moods_are_told_by_answers() -> None:
    [aim] = said("Getting back to five-a-side.", (CLINICIAN, "What are we working towards with the physio?"))
    assert aim.kind is MemoryKind.GOAL
    assert told("Low.", (CLINICIAN, "How's your mood been?")) == {("symptom", "Depressed mood", AFFIRMED)}
    assert told("Grand, thanks.", (CLINICIAN, "How's your mood been?")) == set()


@pytest.mark.parametrize(
    ("text", "dose", "frequency"),
    [
        ("I take methotrexate 15 on a Friday.", "15", "on a friday"),
        ("Lasix 40 in the morning.", "40", "in the morning"),
        ("I take Calpol five mils every six hours.", "5 ml", "every six hours"),
    ],
)  # fmt: skip
def test_doses_without_a_unit_and_days_of_the_week_are_read(text: str, dose: str, frequency: str) -> None:
    [found] = said(text)
    assert (found.get("dose"), found.get("frequency")) == (dose, frequency)


@pytest.mark.parametrize("text", ["I took aspirin 2 days ago.", "I take aspirin 3 times a day."])
def test_a_number_that_counts_something_else_is_no_dose(text: str) -> None:
    assert [m.get("dose") for m in said(text)] == [""]


def test_i_had_may_be_short() -> None:
    assert told("I've a sore toe from football.") == {("symptom", "Toe pain", AFFIRMED)}
    [past] = said("I'd a sore arm for a day.")
    assert past.temporality is Temporality.PAST


@pytest.mark.parametrize("text", ["I don't drink.", "I never drink.", "I'm teetotal."])
def test_not_drinking_denies_it(text: str) -> None:
    assert told(text) == {("social", "Alcohol use", DENIED)}


@pytest.mark.parametrize(
    ("text", "name"),
    [("NKDA", "Known drug allergies"), ("Allergies: nil.", "Known allergies"), ("NKA.", "Known allergies")],
)
def test_the_short_forms_of_notes_deny_allergies(text: str, name: str) -> None:
    assert told(text, speaker=None) == {("allergy", name, DENIED)}


def test_what_brings_somebody_out_in_hives_is_an_allergy_with_its_reaction() -> None:
    [food] = said("Shellfish brings me out in hives.")
    assert (food.kind, food.concept.text, food.get("reaction")) == (MemoryKind.ALLERGY, "Shellfish", "Hives")
    [drug] = said("Cefalexin, it brings me out in hives.", (CLINICIAN, "Any allergies?"))
    assert (drug.kind, drug.concept.text, drug.get("reaction")) == (MemoryKind.ALLERGY, "Cefalexin", "Hives")


def test_an_operation_that_is_waited_for_is_a_plan() -> None:
    [wait] = said("I'm waiting on a hip replacement.")
    assert (wait.kind, wait.temporality) == (MemoryKind.PLAN, Temporality.PLANNED)


@pytest.mark.parametrize(
    ("asked", "answer", "kind"),
    [
        ("What's worrying you most?", "That I'll end up like my mother.", MemoryKind.CONCERN),
        ("What's stopping you taking the tablets?", "The cost.", MemoryKind.BARRIER),
        ("What are you hoping to get out of this?", "To get back gardening.", MemoryKind.GOAL),
    ],
)
def test_what_is_asked_for_in_ones_own_words_is_kept_in_them(asked: str, answer: str, kind: MemoryKind) -> None:
    assert [m.kind for m in said(answer, (CLINICIAN, asked))] == [kind]


def test_the_other_side_is_put_in_place_of_the_one_that_was_asked_about() -> None:
    [knee] = said("No, the left one, sorry.", (CLINICIAN, "So it's the right knee that's sore?"))
    assert (knee.concept.text, knee.polarity, knee.get("laterality")) == ("Knee pain", Polarity.AFFIRMED, "left")


def test_drinking_is_told_by_how_often_and_how_much() -> None:
    assert told("Only socially.", (CLINICIAN, "Do you drink?")) == {("social", "Alcohol use", AFFIRMED)}
    assert told("About ten units.", (CLINICIAN, "How much do you drink in a week?")) == {
        ("social", "Alcohol use", AFFIRMED)
    }
    [past] = said("I've been off the drink six months.")
    assert past.temporality is Temporality.PAST


def test_as_a_child_names_no_child() -> None:
    found = said("I was told as a child it was penicillin.", (CLINICIAN, "Any allergies?"))
    assert all(m.experiencer is Experiencer.PATIENT for m in found)
    [asthma] = said("As a kid I had asthma.")
    assert (asthma.experiencer, asthma.temporality) == (Experiencer.PATIENT, Temporality.PAST)


def test_now_and_again_is_how_often() -> None:
    [panadol] = said("I take Panadol now and again.")
    assert (panadol.kind, panadol.change, panadol.get("frequency")) == (MemoryKind.MEDICATION, "", "now and again")


def test_tablets_are_medicines_that_may_be_asked_for() -> None:
    assert ("medication", "Ramipril", AFFIRMED) in told("Ramipril.", (CLINICIAN, "What tablets are you on?"))


@pytest.mark.parametrize(
    ("asked", "answer", "name"),
    [
        ("What are you on at the moment?", "Amlodipine.", "Amlodipine"),
        ("Anything for your heart?", "Yes, bisoprolol.", "Bisoprolol"),
        ("Do you take anything regularly?", "Nothing except vitamin D.", "Vitamin D"),
    ],
)
def test_medicines_are_asked_for_in_several_ways(asked: str, answer: str, name: str) -> None:
    assert told(answer, (CLINICIAN, asked)) == {("medication", name, AFFIRMED)}


def test_a_sugar_in_millimoles_is_a_reading_and_tablets_before_breakfast_are_none() -> None:
    assert readings("It was 6.8.", (CLINICIAN, "What was your sugar this morning?")) == [
        ("Blood glucose", "6.8", "It was 6.8")
    ]
    assert readings("7.2 fasting.")[0][1] == "7.2"
    assert readings("I take 2 before breakfast.") == []


def test_what_a_substance_does_is_no_allergy_where_the_allergy_was_denied() -> None:
    found = told("I'm not allergic to codeine, it just makes me sick.", (CLINICIAN, "Any allergies?"))
    assert found == {("allergy", "Codeine", DENIED), ("side_effect", "Nausea", AFFIRMED)}


@pytest.mark.parametrize("text", ["We'll take it from there.", "Take it easy."])
def test_what_is_taken_easy_is_no_medicine(text: str) -> None:
    assert told(text, (PATIENT, "I take warfarin."), speaker=CLINICIAN) == set()

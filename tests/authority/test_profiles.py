"""Profiles: all twelve exist, each number stands on a row that was read or on a reason, and bad ones are refused."""

from __future__ import annotations

import pytest

from iamata import authority
from iamata.authority import profiles
from iamata.authority.evidence import asked_aspect, item_class, relation, rows
from iamata.errors import InvalidValue

TASKS = (
    "allergy_check",
    "care_coordination",
    "claims_adjudication",
    "diagnosis_review",
    "discharge_planning",
    "general",
    "medication_reconciliation",
    "patient_education",
    "pediatric_history",
    "prior_authorization",
    "scheduling",
    "symptom_triage",
)
SMALL = 'name = "mine"\nversion = 1\nextends = "general"\n[aspects]\nallergy = ["reacted"]\n'


def test_all_twelve_tasks_have_a_profile() -> None:
    assert profiles.names() == TASKS
    for task in TASKS:
        assert profiles.load(task).name == task


def test_an_unknown_task_names_those_there_are() -> None:
    with pytest.raises(InvalidValue, match=r"allergy_check.*symptom_triage"):
        profiles.load("astrology")


def test_every_number_names_rows_that_exist_or_says_its_reason() -> None:
    known = authority.evidence()
    for task in TASKS:
        profile = profiles.load(task)
        every = [*profile.standing, *profile.base, *profile.context, *profile.half_life]
        every += [*profile.retain.values(), *profile.verification.values(), profile.corroboration_row]
        for row in every:
            assert row.evidence or row.judgement
            assert set(row.evidence) <= known.keys()


def test_every_evidence_row_is_used_and_says_where_it_was_read() -> None:
    cited = {id for task in TASKS for row in profiles.load(task).standing for id in row.evidence}
    cited |= {
        id
        for task in TASKS
        for row in (*profiles.load(task).context, *profiles.load(task).half_life)
        for id in row.evidence
    }
    text = "".join(profiles._text(task) for task in TASKS) + " ".join(row["source"] for row in rows("classes"))
    for id, row in authority.evidence().items():
        assert id in text
        assert "read:" in row.source
        assert row.figure


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('name = "mine"\nversion = 1\n', "no aspect"),
        (
            SMALL + '[standing]\nrows = [{aspect = "reacted", role = "proxy", yes = 1.0, no = 1.0}]',
            "neither evidence nor",
        ),
        (
            SMALL + '[standing]\nrows = [{aspect = "reacted", role = "proxy", yes = 1.0, no = 1.0, judgement = " "}]',
            "neither",
        ),
        (
            SMALL
            + '[standing]\nrows = [{aspect = "reacted", role = "proxy", yes = 1.0, no = 1.0, evidence = ["E999"]}]',
            "E999",
        ),
        (
            SMALL + '[standing]\nrows = [{aspect = "reacted", role = "wizard", yes = 1.0, no = 1.0, judgement = "x"}]',
            "role",
        ),
        (
            SMALL + '[standing]\nrows = [{aspect = "levitated", role = "proxy", yes = 1.0, no = 1.0, judgement = "x"}]',
            "aspect",
        ),
        (SMALL + "[relevance]\nallergy = 0.5", "neither"),
        (SMALL + '[relevance]\njudgement = "x"\nallergy = 7', "0 to 1"),
        ('name = "mine"\nversion = 1\n[aspects]\nallergy = ["floated"]\n', "floated"),
        ("name = [", "TOML"),
        ('name = "mine"\nversion = 1\nextends = "astrology"\n[aspects]\nallergy = ["reacted"]\n', "extends"),
        (
            SMALL + '[standing]\nrows = [{aspect = "reacted", role = "proxy", se = 1.0, sp = 0.5, judgement = "x"}]',
            "between 0 and 1",
        ),
    ],
)
def test_a_profile_without_aspects_or_grounds_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        profiles.parse(text)


def test_an_own_row_stands_before_an_inherited_one() -> None:
    text = SMALL + '[standing]\nrows = [{aspect = "reacted", role = "proxy", yes = 0.5, no = 0.25, judgement = "x"}]'
    assert profiles.parse(text).standing[0].yes == 0.5
    assert profiles.parse(text).cap_nats == 4.0


def test_a_question_says_which_aspect_it_asks_for() -> None:
    assert asked_aspect("Was it ordered?") == "ordered"
    assert asked_aspect("does he take it") == "taken"
    assert asked_aspect("Is she allergic to penicillin?") == "reacted"
    assert asked_aspect("What is new?") == ""


def test_an_item_has_the_finest_class_its_name_gives() -> None:
    assert item_class("condition", "Type 2 diabetes mellitus") == "chronic-clear"
    assert item_class("condition", "Gestational diabetes") == "pregnancy-condition"
    assert item_class("immunization", "Influenza, seasonal, injectable") == "influenza-vaccine"
    assert item_class("immunization", "MMR") == "vaccine"
    assert item_class("condition", "Asthma") == ""


def test_one_mother_has_one_name() -> None:
    assert relation("Mom") == relation("MTH") == relation("mother") == "mother"
    assert relation("aunt") == "aunt"

"""Do the evaluations of talk read their sets, keep a third closed, and compute their figures from their rows?"""

from __future__ import annotations

from pathlib import Path

import pytest
from evals.intervals import Counts, bootstrap, scored, wilson
from evals.kept_apart import part_of
from evals.learned import row_of
from evals.shape import Options
from evals.talks import ALLERGIES_SECOND, Talk, allergy_turns

from evals import assertion, first_memories, learned
from iamata.model.session import Speaker


def test_about_a_third_stays_unopened_and_case_and_blanks_move_nothing() -> None:
    keys = [f"item/{n}" for n in range(3000)]
    assert 900 < sum(part_of(key) == "unopened" for key in keys) < 1100
    assert all(part_of(key) == part_of(f"  {key.upper()} ") for key in keys)


def test_wilsons_interval_is_that_of_the_paper() -> None:
    low, high = wilson(81, 263)  # Newcombe, Stat Med 1998, 17:857-872, table I, method 3
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)
    assert wilson(0, 0) == (0.0, 1.0)


def test_a_bootstrap_with_one_seed_says_one_thing() -> None:
    items = [Counts(2, 1, 0), Counts(0, 0, 3), Counts(5, 0, 1)]
    assert bootstrap(items, 3) == bootstrap(items, 3)
    told = scored(items, 0)
    assert (told["n"], told["precision"], told["recall"], told["f1"]) == (11, 0.875, 0.636, 0.737)


def negex_folder(data: Path) -> None:
    folder = data / "negex"
    folder.mkdir(parents=True)
    rows = ["Report No.\tConcept\tSentence\tNegation"]
    rows += [f"1\tfever\tPatient {n} denies FEVER.\tNegated" for n in range(6)]
    rows += [f"1\tcough\tPatient {n} has COUGH.\tAffirmed" for n in range(6)]
    (folder / assertion.NEGATION).write_text("\n".join(rows) + "\n")
    (folder / assertion.EXPERIENCER).write_text("1\tasthma\tHis mother has ASTHMA.\tFamily member\n")
    (folder / assertion.TRIGGERS).write_text("denies\t\t[PREN]\nbut\t\t[CONJ]\n")


def test_assertion_scores_the_tuned_part_and_its_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    negex_folder(tmp_path)
    for own in ("OWN", "SECOND"):
        monkeypatch.setattr(assertion, own, tmp_path / "none.csv")
    closed = assertion.run(Options(data=tmp_path))
    opened = assertion.run(Options(data=tmp_path, held_out=True))
    assert {row["part"] for row in closed.rows} == {"tuned"}
    assert len(opened.rows) == 13 > len(closed.rows)
    assert closed.figures["negation_f1"] == 1.0
    assert closed.figures["historical_f1"] is None  # no gold of it there
    assert closed.figures["negation tuned, baseline"]["f1"] == 1.0
    assert assertion.figures(closed.rows) == closed.figures


def talk(*turns: tuple[Speaker, str], **more: object) -> Talk:
    return Talk("mts-dialog", "x", turns, **more)  # type: ignore[arg-type]  # what differs from case to case


def test_learned_counts_hits_wrong_ones_and_misses_by_ingredient() -> None:
    row = row_of(
        talk(
            (Speaker.CLINICIAN, "What medications are you taking?"),
            (Speaker.PATIENT, "I take Lipitor and ibuprofen."),
            gold=[("medication", "atorvastatin", "affirmed"), ("medication", "Benicar", "affirmed")],
            judged=["medication"],
        )
    )
    assert row["medication"] == [1, 1, 1]
    assert (row["missed_medication"], row["wrong_medication"]) == (["olmesartan affirmed"], ["ibuprofen affirmed"])
    assert row["quoted"] == row["speaker_right"] == row["memories"] == 2


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ("I take metformin every day.", "current"),
        ("I stopped taking metformin last month.", "past"),
        ("I don't take metformin.", "denied"),
        ("I skip the metformin sometimes.", "current"),
    ],
)
def test_what_is_said_of_a_medicine_in_the_last_turn_is_held_against_its_states(said: str, state: str) -> None:
    before = (Speaker.PATIENT, "I take ibuprofen.")  # context: not judged
    rows = [
        row_of(talk(before, (Speaker.PATIENT, said), states={"metformin": frozenset(states)}))
        for states in ({state}, {"current", "past", "denied"} - {state})
    ]
    assert [row["medication"] for row in rows] == [[1, 0, 0], [0, 1, 1]]
    assert rows[1]["wrong_medication"] == [f"metformin {state}"]


@pytest.mark.parametrize(("answer", "false"), [("No.", 1), ("Penicillin.", 0)])
def test_a_denial_of_all_where_the_gold_names_one_is_counted(answer: str, false: int) -> None:
    row = row_of(
        talk(
            (Speaker.CLINICIAN, "Do you have any allergies?"),
            (Speaker.PATIENT, answer),
            gold=[("allergy", "penicillin", "affirmed")],
            judged=["allergy"],
        )
    )
    assert row["false_no_known_allergies"] == false


def test_what_is_told_of_a_relatives_body_and_learned_of_the_patient_is_a_leak() -> None:
    leaky = talk((Speaker.PATIENT, "I have a headache."), all_family=True)
    assert row_of(leaky)["family_leaks"] == 1
    assert row_of(talk((Speaker.PATIENT, "I have a headache.")))["family_leaks"] == 0


def test_figures_of_learned_follow_from_its_rows(data: Path) -> None:
    if not (data / "mts-dialog").is_dir():
        pytest.skip("no mts-dialog")
    from evals.talks import TALKS

    rows = [row_of(each) for each in TALKS["mts-dialog"](data / "mts-dialog") if each.part == "tuned"]
    assert {row["part"] for row in rows} == {"tuned"}
    figures = learned.figures(rows)
    assert figures["quotes_present"] == 1.0
    assert figures["false_no_known_allergies"] == 0
    assert figures["allergy_f1"] >= 0.9


def test_the_open_cases_give_the_memories_that_they_gave_when_they_were_last_mended() -> None:
    figures = first_memories.run(Options()).figures
    assert figures["quotes_present"] == 1.0
    assert figures["first tuned"]["passed"] == figures["first tuned"]["n"] == 92
    assert figures["second tuned"]["passed"] == figures["second tuned"]["n"] == 120
    assert figures["third tuned with memories"]["share"] >= 0.85
    assert figures["third tuned with none"]["share"] == 1.0


def test_no_open_turn_on_allergies_gives_a_false_denial() -> None:
    turns = (allergy_turns(), allergy_turns(ALLERGIES_SECOND, "allergy-turns-second"))
    rows = [row_of(each) for set_ in turns for each in set_ if each.part == "tuned"]
    assert sum(row["false_no_known_allergies"] for row in rows) == 0
    of = learned.figures(rows)
    assert of["allergy allergy-turns (own) tuned"]["f1"] >= 0.95
    assert of["allergy allergy-turns-second (own) tuned"]["f1"] >= 0.95

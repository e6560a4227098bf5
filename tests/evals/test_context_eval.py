"""The context eval counts what it says, and its charts and questions hold what they promise."""

from __future__ import annotations

import pytest
from evals.generator import tables
from evals.generator.chart_items import Gold, Stale
from evals.generator.charts import chart
from evals.generator.questions import charts, part_of, questions

from evals import context
from iamata.assembly.pipeline import tasks

DOSE = Gold("medicines/lisinopril", (((("lisinopril", "Prinivil")), ("10 mg",)),))


def lines(text: str) -> list[tuple[str, str]]:
    return context.places(text)


def test_a_seed_gives_the_same_chart_and_another_seed_another() -> None:
    assert chart(3, child=False) == chart(3, child=False)
    assert chart(3, child=False).words != chart(4, child=False).words


def test_at_least_three_hundred_questions_over_every_task_are_asked_in_each_half() -> None:
    asked = [each for one in charts(0, context.ADULTS, context.CHILDREN) for each in questions(one)]
    assert {each.task for each in asked} == set(tasks())
    halves = [sum(part_of(each.kind) == part for each in asked) for part in ("tuned", "unopened")]
    assert min(halves) >= 300
    assert sum(halves) == len(asked) == len({each.id for each in asked})
    assert {bool(each.query) for each in asked} == {True, False}
    assert all(each.golds for each in asked)


def test_every_kind_of_question_says_why_and_is_asked_of_some_chart() -> None:
    rows = tables.table("task_questions")
    assert all(row["why"] for row in rows)
    assert {each.kind for one in charts(0, 2, 2) for each in questions(one)} == {row["kind"] for row in rows}


@pytest.mark.parametrize("child", [False, True])
def test_every_gold_fact_is_told_by_the_chart_itself(child: bool) -> None:
    for seed in range(4):
        one = chart(seed, child=child)
        told = lines("\n".join(chunk.words for chunk in context._chunks(one)))
        missing = [gold.key for golds in one.golds.values() for gold in golds if not all(context.told(gold, told))]
        assert missing == []


def test_a_fact_is_told_in_one_line_under_either_name_however_the_number_is_written() -> None:
    assert context.told(DOSE, lines("- Prinivil tablet, 10.0 mg, once a day")) == [True]
    assert context.told(DOSE, lines("- lisinopril\n- 10 mg of something else")) == [False]
    assert context.told(DOSE, lines("- lisinopril 110 mg")) == [False]
    assert context.told(DOSE, lines("## Question\n- lisinopril 10 mg")) == [False]


def test_a_conflict_is_told_side_by_side_or_half() -> None:
    gold = Gold("taken", (DOSE.sides[0], (("lisinopril",), ("stopped",))))
    assert context.told(gold, lines("- lisinopril 10 mg, active")) == [True, False]
    assert context.told(gold, lines("- lisinopril 10 mg, active; the patient says stopped")) == [True, True]


def test_what_has_ended_is_told_as_current_unless_its_line_says_so() -> None:
    ended = Stale("ended", (("pneumonia",),), until=("2024-05",))
    assert context.as_current(ended, lines("## Problems\n- Pneumonia, since 2024-04-20"))
    assert not context.as_current(ended, lines("## Problems\n- Pneumonia, resolved"))
    assert not context.as_current(ended, lines("## Problems\n- Pneumonia, 2024-04-20 to 2024-05-02"))
    assert not context.as_current(ended, lines("## Past problems\n- Pneumonia"))


def test_an_older_result_is_honest_only_with_its_date_and_beside_the_newest() -> None:
    older = Stale("older", (("potassium",), ("5.1",)), (("potassium",), ("4.2",)), ("2025-12",), dated=True)
    assert context.as_current(older, lines("- Potassium 5.1, 2025-12-02"))
    assert context.as_current(older, lines("- Potassium 5.1\n- Potassium 4.2"))
    assert not context.as_current(older, lines("- Potassium 5.1, 2025-12-02\n- Potassium 4.2, 2026-06-10"))
    assert not context.as_current(older, lines("- Potassium 4.2, before: 5.1"))


def test_a_medicine_in_force_that_is_only_called_ended_counts() -> None:
    assert context.as_past(DOSE, lines("- lisinopril 10 mg, listed as active, but over by 2026-06-30"))
    assert not context.as_past(DOSE, lines("- lisinopril 10 mg, stopped\n- lisinopril 10 mg, active"))
    assert not context.as_past(DOSE, lines("- metformin, stopped"))


def test_a_small_run_counts_gold_conflicts_and_budgets_for_all_methods() -> None:
    outcome = context.measure(5, adults=1, children=1)
    shown = outcome.figures
    assert shown == context.figures(outcome.rows)
    assert shown["questions"] == len(outcome.rows) > 30
    for method in ("", "raw_", "bm25_", "recent_"):
        shares = [shown[f"{method}gold_at_{budget}"] for budget in context.BUDGETS]
        assert 0 < shares[0] <= shares[-1] <= 1, method
        assert shown[f"{method}over_budget"] == 0
    assert shown["gold_at_2000"] > max(shown[f"{method}_gold_at_2000"] for method in ("raw", "bm25", "recent"))
    assert {part_of(row["kind"]) for row in outcome.rows} == {"tuned"}


def test_no_miss_of_the_unopened_half_is_named() -> None:
    outcome = context.measure(5, unopened=True, adults=0, children=1)
    assert outcome.rows
    assert outcome.misses == []
    assert {part_of(row["kind"]) for row in outcome.rows} == {"unopened"}

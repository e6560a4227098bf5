"""The parts of assembly that hold rules as data: the safety table, the order, the exact fit."""

from __future__ import annotations

from graphs import leo

from iamata.assembly import pipeline, ranking
from iamata.assembly.budget import Purse, exact
from iamata.assembly.retrieval import Index
from iamata.assembly.wording import rows
from iamata.authority import PatientContext, profiles
from iamata.language.tokens import token_counter
from iamata.model.entry import EntryKind
from iamata.model.memory import MemoryKind
from iamata.model.statement import Kind

COUNT = token_counter()
NOBODY = PatientContext(None, None)


def test_every_safety_rule_has_a_source_and_a_selector_that_can_match() -> None:
    groups = {row["group"] for row in rows("high_risk.tsv")}
    names = {
        "kind": set(Kind),
        "memory": set(MemoryKind),
        "entry": set(EntryKind),
        "conflict": set(Kind),
        "words": groups,
        "newest": groups,
        "child": groups,
    }
    for row in rows("safety.tsv"):
        what, name, *rest = row["selector"].split(":")
        assert name in names[what]
        assert rest in ([], ["current"])
        assert row["task"] in ("*", *profiles.names())
        assert row["source"]
    assert all(row["source"] for row in rows("high_risk.tsv"))


def test_allergies_stand_in_the_safety_set_of_every_task() -> None:
    cards = ranking.cards(leo().graph())
    for task in profiles.names():
        chosen = ranking.safety_set(cards, task, NOBODY)
        assert [card.kind for card in chosen][:2] == ["allergy", "allergy"]


def test_a_word_that_rules_a_name_out_keeps_it_out_of_the_group() -> None:
    assert ranking.in_group("renal", " creatinine ")
    assert ranking.in_group("renal", " glomerular filtration rate 1 73 sq m predicted ")
    assert not ranking.in_group("renal", " microalbumin creatinine ratio ")
    assert ranking.in_group("anticoagulant", " warfarin sodium 5 mg oral tablet ")
    assert not ranking.in_group("anticoagulant", " heparin flush ")
    assert not ranking.in_group("insulin", " metformin ")


def test_every_kind_has_a_section_of_the_text_and_none_has_two() -> None:
    told = [kind for _, kinds in ranking.SECTIONS for kind in kinds]
    assert len(told) == len(set(told))
    assert set(told) >= {"condition", "medication", "allergy", "memory", "passage", "agent", "operator", "organization"}


def test_the_best_comes_first_and_a_repeat_of_it_later() -> None:
    def card(id: str, thing: str) -> ranking.Card:
        return ranking.Card(id=id, kind="observation", section=1, thing=thing, state=1, day="", words="")

    cards = {"a": card("a", "glucose"), "b": card("b", "glucose"), "c": card("c", "sodium")}
    weights = {"a": 0.9, "b": 0.89, "c": 0.5}
    queue = ranking.Queue({"a": 1.0, "b": 1.0, "c": 0.9}, cards, lambda one: weights[one.id])
    given = []
    while (one := queue.next()) is not None:
        given.append(one.id)
        queue.take(one)
    assert given == ["a", "c", "b"]


def test_a_purse_spends_only_what_it_has() -> None:
    purse = Purse(10)
    assert purse.spend(7)
    assert not purse.spend(4)
    assert purse.left == 3


def test_the_exact_fit_drops_from_the_end_and_counts_the_whole_text() -> None:
    lines = [f"line number {n}" for n in range(30)]
    for budget in range(0, 120, 7):
        fit = exact(lines, "\n".join, budget, COUNT)
        assert fit.tokens == COUNT.count(fit.text) <= budget
        assert fit.kept + fit.dropped == lines
        assert fit.text == "\n".join(fit.kept)
    assert exact(lines, "\n".join, 10_000, COUNT).kept == lines


def test_the_engine_gets_profiles_and_weights_through_assembly() -> None:
    """Authority is imported by assembly alone (design 02), so assembly hands on what a reader asks of it."""
    assert pipeline.tasks() == profiles.names()
    assert pipeline.profile_of("general").name == "general"
    assert pipeline.profile_digest("general").startswith("general/1/")
    assert pipeline.profile_digest("general") != pipeline.profile_digest("allergy_check")
    small = leo()
    graph = small.graph()
    weighed = pipeline.weigh(
        graph,
        small.id("s6"),
        index=Index(graph),
        profile=profiles.load("pediatric_history"),
        aspect=None,
        moment=graph.moment,
    )
    assert weighed.weight > 0.8

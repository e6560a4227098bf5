"""What must hold for every patient, task and budget."""

from __future__ import annotations

import re

import msgspec
from graphs import Small
from hypothesis import given, settings
from hypothesis import strategies as st
from test_context import context

from iamata.assembly.pipeline import POLICY, legend
from iamata.assembly.retrieval import Index
from iamata.authority import profiles

drawn = settings(max_examples=25, deadline=None)

KINDS = ("condition", "medication", "allergy", "observation", "immunization", "procedure", "encounter", "directive")
NAMES = (
    "Asthma",
    "Warfarin 5 mg",
    "Penicillin",
    "Body weight",
    "Influenza",
    "Colonoscopy",
    "Ω≈ç√∫ 漢字 — long name " * 3,
)
SPEAKERS = ("clinician:Dr Ames", "patient", "proxy:mother", "lab:Acme", "payer:Plan", "undetermined")


@st.composite
def patients(draw: st.DrawFn) -> Small:
    small = Small("p")
    facts = draw(st.integers(0, 14))
    for n in range(facts):
        small.says(
            f"s{n}",
            draw(st.sampled_from(KINDS)),
            draw(st.sampled_from(NAMES)),
            by=draw(st.sampled_from(SPEAKERS)),
            on=draw(st.sampled_from(("", "2019", "2025-03", "2026-02-01"))),
            standing=draw(st.sampled_from(("active", "unknown", "entered-in-error", "resolved"))),
            denied=draw(st.booleans()),
        )
        small.fact(f"s{n}", currency=draw(st.sampled_from(("current", "past", "unknown", "planned"))))
    for n in range(draw(st.integers(0, 4))):
        small.remembers(
            f"m{n}",
            draw(st.sampled_from(("symptom", "adherence", "allergy", "concern"))),
            "thing",
            f"words {n} of mine",
        )
        if facts:
            target = draw(st.integers(0, facts - 1))
            how = draw(st.sampled_from(("conflicts", "supports", "about")))
            small.link(f"m{n}", how, f"s{target}")
            if how == "conflicts" and draw(st.booleans()):
                small.conflict("status", f"s{target}", ("so", (f"s{target}",)), (f"not so {n}", (f"m{n}",)))
    return small


@drawn
@given(
    patients(),
    st.sampled_from(profiles.names()),
    st.one_of(st.integers(0, 120), st.integers(0, 3000)),
    st.sampled_from(("", "asthma", "is it taken?")),
)
def test_the_budget_is_never_passed_and_the_end_is_always_the_same(
    small: Small, task: str, budget: int, query: str
) -> None:
    answer = context(small.graph(), task, budget, query=query)  # asserts the exact count
    assert answer.text == "" or answer.text.split("\n")[-1] == POLICY
    assert answer.fits == (answer.note == "")


@drawn
@given(patients(), st.sampled_from(profiles.names()), st.integers(0, 1500))
def test_nothing_is_lost_silently(small: Small, task: str, budget: int) -> None:
    """Every fact and memory is told, or told within another line, or counted as left out."""
    graph = small.graph()
    answer = context(graph, task, budget)
    told = {item.item for item in answer.items} | {id for item in answer.items for id in item.citations}
    missing = [id for id in (*graph.facts, *graph.memories) if id not in told]
    assert sum(out.items for out in answer.left_out) >= len(missing)


@drawn
@given(patients(), st.sampled_from(profiles.names()), st.integers(0, 800))
def test_both_sides_of_a_conflict_travel_together(small: Small, task: str, budget: int) -> None:
    graph = small.graph()
    answer = context(graph, task, budget)
    told = {item.item: item.text for item in answer.items}
    for conflict in graph.conflicts.values():
        memories = [i for side in conflict.sides for i in side.items if i in graph.memories]
        if any(i in told for i in memories):
            assert conflict.fact in told
        if conflict.fact in told:
            assert conflict.id in answer.conflicts
            assert all(side.says in told[conflict.fact] for side in conflict.sides)
    cited = {item.item: set(item.citations) for item in answer.items}
    for link in graph.links.values():
        if link.type == "conflicts" and link.target in told:
            against = {
                other.origin
                for other in graph.links.values()
                if other.type == "conflicts" and other.target == link.target
            }
            assert cited[link.target] & against, "talk that conflicts stands in the fact's line"
        if link.type == "conflicts" and link.origin in told:
            assert link.target in told


@drawn
@given(patients(), st.sampled_from(profiles.names()), st.integers(0, 800))
def test_safety_comes_first(small: Small, task: str, budget: int) -> None:
    """While an item of the safety set is missing, nothing else takes its room."""
    graph = small.graph()
    answer = context(graph, task, budget)
    told = {item.item for item in answer.items}
    allergies = [fact.id for fact in graph.facts.values() if fact.kind == "allergy"]
    if not set(allergies) <= told:
        assert not answer.fits
        assert all(item.safety for item in answer.items)


@drawn
@given(patients(), st.sampled_from(profiles.names()), st.integers(0, 1500))
def test_the_same_request_gives_the_same_bytes(small: Small, task: str, budget: int) -> None:
    graph = small.graph()
    mixed = msgspec.structs.replace(
        graph,
        facts=dict(reversed(graph.facts.items())),
        memories=dict(reversed(graph.memories.items())),
        links=dict(reversed(graph.links.items())),
        conflicts=dict(reversed(graph.conflicts.items())),
    )
    first = msgspec.json.encode(context(graph, task, budget, index=Index(graph)))
    assert msgspec.json.encode(context(mixed, task, budget)) == first


@drawn
@given(patients(), st.integers(0, 1500))
def test_numbers_run_through_the_text_in_order(small: Small, budget: int) -> None:
    answer = context(small.graph(), "general", budget)
    numbers = [int(n) for group in re.findall(r"(?<!\\)\[([\d, ]+)\]", answer.text) for n in group.split(", ")]
    first_uses = list(dict.fromkeys(numbers))
    assert first_uses == list(range(1, len(first_uses) + 1))
    assert len(legend(answer)) == len(first_uses)

"""Search inside one patient: words, codes, synonyms, neighbours, filters."""

from __future__ import annotations

import time

import graphs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iamata.assembly.retrieval import Index, fold
from iamata.errors import InvalidValue

SYNONYMS = {"ear infection": ("otitis media",), "antibiotic": ("amoxicillin",)}


@pytest.fixture(scope="module")
def small() -> graphs.Small:
    return graphs.leo()


@pytest.fixture(scope="module")
def index(small: graphs.Small) -> Index:
    return Index(small.graph(), synonyms=lambda text: SYNONYMS.get(text, ()))


def found(index: Index, query: str, **given: object) -> list[str]:
    return [hit.item for hit in index.search(query, **given)]  # type: ignore[arg-type]


def test_words_are_folded_over_case_accents_and_plurals() -> None:
    assert list(fold("ALLERGIES")) == ["allergy"]
    assert list(fold("Ménière")) == ["meniere"]
    assert list(fold("biopsies classes masses sinus")) == ["biopsy", "class", "mass", "sinus"]


def test_a_plural_finds_the_allergy(index: Index, small: graphs.Small) -> None:
    assert small.id("fact_of_s6") in found(index, "allergies")


def test_a_code_finds_what_carries_it_first(index: Index, small: graphs.Small) -> None:
    hit = index.search("65363002")[0]
    assert (hit.item, hit.matched) == (small.id("fact_of_s3"), ("65363002",))


def test_the_head_of_a_code_finds_its_children() -> None:
    small = graphs.Small("p1")
    small.says("s", "condition", "Asthma", code="http://hl7.org/fhir/sid/icd-10-cm|J45.909")
    small.says("t", "condition", "Other", code="http://hl7.org/fhir/sid/icd-10-cm|J459")
    small.fact("s")
    small.fact("t")
    assert found(Index(small.graph()), "J45") == [small.id("fact_of_s")]


def test_a_synonym_finds_what_is_recorded_in_other_words(index: Index, small: graphs.Small) -> None:
    assert found(index, "ear infection")[0] == small.id("fact_of_s3")


def test_a_neighbour_in_the_graph_is_found_after_what_was_named(index: Index, small: graphs.Small) -> None:
    hits = found(index, "otitis")
    assert hits == [small.id("fact_of_s3"), small.id("fact_of_s2")]


def test_filters_narrow_by_kind_source_attribution_and_time(index: Index, small: graphs.Small) -> None:
    assert found(index, "amoxicillin kind:medication") == [small.id("fact_of_s2")]
    assert set(found(index, "attribution:user kind:memory")) == {small.id(m) for m in ("m1", "m2", "m3")}
    assert found(index, "source:eastgate kind:condition") == [small.id("fact_of_s3")]
    assert found(index, "allergies after:2026-01 kind:allergy") == [small.id("fact_of_s6")]
    assert found(index, "allergies before:2026 kind:allergy") == [small.id("fact_of_s1")]
    assert found(index, "amoxicillin", kinds=["medication"]) == [small.id("fact_of_s2")]


def test_a_filter_that_is_none_is_refused_but_free_text_never_is(index: Index) -> None:
    with pytest.raises(InvalidValue):
        index.search("after:lunch")
    assert index.scores("amoxicillin after:lunch")


def test_a_person_of_care_can_be_searched_for_and_a_caregiver_cannot(index: Index) -> None:
    assert found(index, "Ames")
    small = graphs.Small("p1")
    small.says("s", "allergy", "Peanut", by="proxy:Jane Roe")
    small.fact("s")
    assert found(Index(small.graph()), "Jane Roe") == []


def test_a_snippet_holds_the_matched_words_on_one_line() -> None:
    small = graphs.Small("p1")
    small.passage("p", "Plan", "Nothing here.\n" * 40 + "Start [metformin] today.\n" + "More.\n" * 40)
    (hit,) = Index(small.graph()).search("metformin")
    assert "\\[metformin\\] today." in hit.snippet
    assert "\n" not in hit.snippet
    assert hit.matched == ("metformin",)


def test_a_query_of_a_megabyte_is_bounded(index: Index) -> None:
    started = time.process_time()
    assert index.search("amoxicillin " + "a b c 1 2 3 " * 90_000, limit=3)
    assert time.process_time() - started < 5


def test_hits_are_ordered_by_score_then_id_and_limited(index: Index) -> None:
    hits = index.search("amoxicillin", limit=3)
    assert len(hits) == 3
    assert [(-hit.score, hit.item) for hit in hits] == sorted((-hit.score, hit.item) for hit in hits)
    assert index.search("amoxicillin", limit=0) == []
    assert index.search("") == []


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_a_query_and_gives_the_same_answer_twice(query: str) -> None:
    graph = graphs.leo().graph()
    first, second = Index(graph), Index(graph)
    assert first.scores(query) == second.scores(query)
    assert all(score > 0 for score in first.scores(query).values())


def test_an_empty_graph_finds_nothing() -> None:
    assert Index(graphs.Small("new").graph()).search("anything") == []

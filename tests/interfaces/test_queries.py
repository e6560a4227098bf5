"""Queries: one grammar, typed, over declared fields alone; by hand on a made graph, then with the public client."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import leo
import made
import pytest
from calling import Calling, calling
from clinia_context_engine import APIStatusError
from hypothesis import given, settings
from hypothesis import strategies as st
from live import running

from iamata.engine import Engine
from iamata.errors import BadInput
from iamata.interfaces.wire.edges import EDGE_TYPES, one
from iamata.interfaces.wire.nodes import NODE_TYPES
from iamata.interfaces.wire.queries import MOST_CONDITIONS, OPERATORS, QueryField, fields_of, read_query
from iamata.interfaces.wire.view import GraphView
from iamata.settings import Settings

PATIENT = "leo"
ITEMS: list[dict[str, Any]] = [
    {"id": "a", "word": "Hives", "n": 3, "at": "2026-02-10", "yes": True, "inner": [{"code": "x"}, {"code": "y"}]},
    {"id": "b", "word": "fever", "n": "7.5", "at": "2026-02-10T10:00:00Z", "yes": False, "inner": []},
    {"id": "c", "word": "rash", "n": -1, "at": "2025", "inner": [{"code": "y"}]},
    {"id": "d", "at": "last winter", "n": "many"},
]
FIELDS = {
    name: QueryField(name, kind)  # type: ignore[arg-type]  # the kinds are literals
    for name, kind in (
        ("id", "token"),
        ("word", "text"),
        ("n", "number"),
        ("at", "time"),
        ("yes", "flag"),
        ("inner.code", "token"),
    )
}


def asked(filter: Any = None, sort: Any = None, **page: Any) -> list[str]:
    """The ids of the items that answer."""
    body = {"filter": filter or {}, "sort": sort or []} | page
    query = read_query(json.dumps(body).encode(), FIELDS, most_per_page=100)
    by_id = {each["id"]: each for each in ITEMS}
    found, total = query.answer(sorted(by_id), by_id.__getitem__)
    assert total >= len(found)
    return [each["id"] for each in found]


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        ({}, "abcd"),
        ({"id": "b"}, "b"),
        ({"id": ["a", "d"]}, "ad"),
        ({"id": {"ne": "a"}}, "bcd"),
        ({"inner.code": "y"}, "ac"),
        ({"inner.code": {"ne": "x"}}, "bcd"),
        ({"inner.code": {"exists": False}}, "bd"),
        ({"word": {"contains": "IV"}}, "a"),
        ({"word": {"startsWith": "f"}}, "b"),
        ({"word": "hives"}, ""),
        ({"n": {"gt": 3}}, "b"),
        ({"n": {"gte": 3, "lt": 8}}, "ab"),
        ({"n": -1}, "c"),
        ({"n": {"ne": 3}}, "bcd"),
        ({"yes": True}, "a"),
        ({"yes": {"exists": True}}, "ab"),
        ({"at": "2026-02-10"}, "ab"),
        ({"at": "2026"}, "ab"),
        ({"at": {"gte": "2025-06"}}, "abc"),
        ({"at": {"gt": "2025-06"}}, "ab"),
        ({"at": {"lt": "2026-02-10"}}, "c"),
        ({"at": {"lte": "2026-02-10T10:00:00+01:00"}}, "ac"),
        ({"at": {"gte": "2026-02-10T11:00:00+01:00"}}, "ab"),
        ({"and": [{"n": {"gt": 0}}, {"not": {"id": "a"}}]}, "b"),
        ({"or": [{"id": "c"}, {"yes": False}]}, "bc"),
        ({"id": ["a", "b"], "n": {"lt": 5}}, "a"),
    ],
)
def test_a_filter_keeps_what_it_says(filter: Any, found: str) -> None:
    assert "".join(asked(filter)) == found


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        (["-id"], "dcba"),
        (["n"], "cabd"),
        (["-n"], "bacd"),
        (["word"], "bacd"),
        (["at"], "cabd"),
        (["inner.code"], "acbd"),
        (["-inner.code"], "acbd"),
        (["-yes", "-id"], "abdc"),
    ],
)
def test_items_are_sorted_with_those_without_a_value_last(sort: list[str], order: str) -> None:
    assert "".join(asked(sort=sort)) == order


def test_pages_are_cut_after_filter_and_sort() -> None:
    assert asked({"n": {"gt": -5}}, ["-n"], page=1, perPage=2) == ["c"]
    assert asked(page=9, perPage=2) == []


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"filters": {}}, "/filters"),
        ({"filter": []}, "/filter"),
        ({"filter": {"zebra": 1}}, "/filter/zebra"),
        ({"filter": {"Zebra fish": 1}}, "/filter/?"),
        ({"filter": {"id": None}}, "/filter/id/eq"),
        ({"filter": {"id": {}}}, "/filter/id"),
        ({"filter": {"id": 1}}, "/filter/id/eq"),
        ({"filter": {"id": {"contains": "a"}}}, "/filter/id/contains"),
        ({"filter": {"word": {"gt": "a"}}}, "/filter/word/gt"),
        ({"filter": {"n": "3"}}, "/filter/n/eq"),
        ({"filter": {"n": True}}, "/filter/n/eq"),
        ({"filter": {"n": {"in": [1, "2"]}}}, "/filter/n/in/1"),
        ({"filter": {"n": []}}, "/filter/n/in"),
        ({"filter": {"at": {"gte": "winter"}}}, "/filter/at/gte"),
        ({"filter": {"at": {"in": ["2026"]}}}, "/filter/at/in"),
        ({"filter": {"yes": "true"}}, "/filter/yes/eq"),
        ({"filter": {"id": {"exists": 1}}}, "/filter/id/exists"),
        ({"filter": {"and": []}}, "/filter/and"),
        ({"filter": {"or": [{}, {"x": 1}]}}, "/filter/or/1/x"),
        ({"filter": {"not": 3}}, "/filter/not"),
        ({"sort": "id"}, "/sort"),
        ({"sort": ["id", "zebra"]}, "/sort/1"),
        ({"sort": [1]}, "/sort/0"),
        ({"sort": ["id"] * 6}, "/sort"),
        ({"page": -1}, "/page"),
        ({"page": True}, "/page"),
        ({"perPage": 0}, "/perPage"),
        ({"perPage": 101}, "/perPage"),
    ],
)
def test_what_the_grammar_does_not_know_is_refused_at_its_place(body: Any, place: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_query(json.dumps(body).encode(), FIELDS, most_per_page=100)
    assert caught.value.place == place
    assert "fish" not in str(caught.value)


def test_a_filter_has_bounds() -> None:
    deep: Any = {"id": "a"}
    for _ in range(9):
        deep = {"not": deep}
    with pytest.raises(BadInput, match="deep"):
        asked(deep)
    with pytest.raises(BadInput, match="conditions"):
        asked({"or": [{"id": str(n)} for n in range(MOST_CONDITIONS + 1)]})
    assert asked({"or": [{"id": "a"} for _ in range(MOST_CONDITIONS)]}) == ["a"]


_operand = st.sampled_from(["a", "2026", "2026-02-10", 3, 2.5, True, False, ["a", "b"], [1], "x"])
_filters = st.recursive(
    st.dictionaries(
        st.sampled_from(list(FIELDS)),
        _operand | st.dictionaries(st.sampled_from(OPERATORS["text"] + OPERATORS["number"]), _operand, max_size=2),
        max_size=2,
    ),
    lambda inner: st.fixed_dictionaries({"not": inner}) | st.fixed_dictionaries({"or": st.lists(inner, max_size=2)}),
    max_leaves=5,
)


@settings(max_examples=200, deadline=None)
@given(_filters)
def test_a_filter_and_its_opposite_part_the_items_or_both_are_refused(filter: Any) -> None:
    try:
        found = asked({"and": [filter]})
    except BadInput:
        with pytest.raises(BadInput):
            asked({"not": filter})
        return
    assert sorted(found + asked({"not": filter})) == ["a", "b", "c", "d"]


# ------------------------------------------------------------------ declared fields


# Fields that are empty throughout the made graph; each is written by `nodes`, `edges` or `payloads`.
NOT_MADE = {
    *("by", "decidedAt", "payload.because", "payload.reasoning"),
    *("codes.code", "codes.system", "extractors", "relation", "saidAt", "sinceSaid"),
    *("historyBecause", "labels.code", "verification"),
    *("payload.issuedAt", "payload.location", "payload.medicationCodes.code", "payload.medicationCodes.system"),
}


@pytest.fixture(scope="module")
def view() -> GraphView:
    return GraphView(made.graph(), {"en_doc": "ig_1"})


def items(view: GraphView, type: str) -> list[dict[str, Any]]:
    if type in NODE_TYPES:
        return [NODE_TYPES[type].one(view, id) for id in NODE_TYPES[type].ids(view)]
    return [one(EDGE_TYPES[type], view, id) for id in EDGE_TYPES[type].ids(view)]


def test_every_declared_field_is_one_that_items_have(view: GraphView) -> None:
    """Of the fields that several types share, one of them has a value."""
    seen: dict[str, bool] = {}
    for type in (*NODE_TYPES, *EDGE_TYPES):
        held = items(view, type)
        for name, field in fields_of(type).items():
            seen[name] = seen.get(name, False) or any(True for item in held for _ in field.values(item))
    assert {name for name, found in seen.items() if not found} == NOT_MADE


def test_every_type_declares_its_id_and_no_two_fields_of_one_name() -> None:
    for type in (*NODE_TYPES, *EDGE_TYPES):
        assert {"id", "createdAt", "attribution"} <= fields_of(type).keys()
    assert fields_of("zebra") == {}


# ------------------------------------------------------------------ over HTTP


@pytest.fixture(params=["sync", "async"])
def told(request: pytest.FixtureRequest, make_store: Callable[..., Any]) -> Iterator[Calling]:
    store = make_store()
    ticks = itertools.count()
    began = datetime(2026, 2, 15, 9, 0, tzinfo=UTC)
    with (
        Engine(
            store,
            store.keys,
            clock=lambda: began + timedelta(milliseconds=next(ticks)),
            ids=lambda: f"{next(ticks):020d}",
        ) as engine,
        running(engine, Settings(idle_s=0.05)) as url,
        calling(request.param, url) as api,
    ):
        api.ingest.ingest_fhir_r4(PATIENT, leo.northside())
        api.ingest.ingest_fhir_r4(PATIENT, leo.eastgate())
        api.ingest.ingest_sessions(PATIENT, {"sessions": [{"sessionId": "s1", "messages": leo.talk()}]})
        api.settle(PATIENT)
        yield api


def test_the_public_client_queries_every_type_of_node(told: Calling) -> None:
    ask = told.graph
    conditions = ask.query_extracted_fact_nodes(
        PATIENT, {"filter": {"payload.type": "condition", "form": "structured"}, "sort": ["-payload.assertedAt"]}
    )
    assert [(each.payload.source.origin, each.payload.asserted_at) for each in conditions.data] == [
        ("eastgate", "2026-02-11"),
        ("northside", "2026-02-10"),
    ]
    named = ask.query_extracted_fact_nodes(PATIENT, {"filter": {"form": "unstructured"}}).data
    assert {each.payload.source.ref for each in named} == {"DocumentReference/note"}
    east = ask.query_extracted_fact_nodes(PATIENT, {"filter": {"provenance.source": "eastgate"}, "perPage": 1})
    assert (east.meta.total >= 2, len(east.data), east.meta.per_page) == (True, 1, 1)
    (otitis,) = ask.query_fact_nodes(PATIENT, {"filter": {"payload.codes.code": "65363002"}}).data
    assert (otitis.payload.display, len(otitis.payload.members)) == ("Otitis media", 2)
    shared = ask.query_fact_nodes(PATIENT, {"filter": {"supportedBy.statements": {"gte": 2}}}).data
    assert otitis.id in {each.id for each in shared}
    (note,) = ask.query_extracted_narrative_nodes(
        PATIENT, {"filter": {"payload.content": {"contains": "EAR drum"}}}
    ).data
    (passage,) = ask.query_narrative_passage_nodes(
        PATIENT, {"filter": {"payload.extractedNarrativeId": note.id, "payload.offsetStart": 0}}
    ).data
    assert passage.payload.content in note.payload.content
    assert ask.query_narrative_nodes(PATIENT, {}).data == []
    stopped = ask.query_learned_memory_nodes(PATIENT, {"filter": {"payload.content": {"contains": "amoxicillin"}}})
    assert {each.payload.session_id for each in stopped.data} == {"s1"}
    assert stopped.meta.total == len(stopped.data) >= 1
    (weight,) = ask.query_extracted_clinical_event_nodes(PATIENT, {"filter": {"fields.value.value": {"gt": 16}}}).data
    assert (weight.payload.unit, weight.payload.timestamp) == ("kg", "2026-02-10T10:05:00Z")
    day = {"filter": {"payload.timestamp": "2026-02-10"}, "sort": ["payload.timestamp"]}
    assert ask.query_extracted_clinical_event_nodes(PATIENT, day).meta.total == 3


def test_the_public_client_queries_every_type_of_edge(told: Calling) -> None:
    ask = told.graph
    (otitis,) = ask.query_fact_nodes(PATIENT, {"filter": {"payload.codes.code": "65363002"}}).data
    edges = ask.query_resolves_to_edges(PATIENT, {"filter": {"to.id": otitis.id}, "sort": ["from.id"]})
    members = sorted(each.extracted_fact_id for each in otitis.payload.members)
    assert [each.from_.id for each in edges.data] == members
    decisions = ask.query_resolution_decision_edges(PATIENT, {"filter": {"from.id": members, "to.id": members}}).data
    assert decisions
    verdicts = {each.payload.verdict for each in decisions}
    for verdict in verdicts:
        same = ask.query_resolution_decision_edges(PATIENT, {"filter": {"payload.verdict": verdict}}).data
        assert {each.payload.verdict for each in same} == {verdict}
    chunks = ask.query_chunked_into_edges(PATIENT, {"sort": ["-payload.offsetStart"]})
    offsets = [each.payload["offsetStart"] for each in chunks.data]
    assert chunks.meta.total == len(chunks.data) >= 1
    assert offsets == sorted(offsets, reverse=True)
    links = ask.query_relationship_edges(PATIENT, {"filter": {"payload.source": "explicit_reference"}})
    assert links.meta.total == ask.list_edges(PATIENT, "relationship", per_page=500).meta.total


def test_an_empty_query_lists_as_the_items_route_does(told: Calling) -> None:
    for type in ("extracted_fact", "fact", "learned_memory", "narrative_passage"):
        listed = told.graph.list_nodes(PATIENT, type, per_page=500)
        queried = getattr(told.graph, f"query_{type}_nodes")(PATIENT, {"perPage": 500})
        assert [each.id for each in queried.data] == [each.id for each in listed.data]
        assert queried.meta.total == listed.meta.total
        third = getattr(told.graph, f"query_{type}_nodes")(PATIENT, {"page": 2, "perPage": 1})
        assert [each.id for each in third.data] == [each.id for each in listed.data[2:3]]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"filter": {"payload.zebra": 1}}, "/filter/payload.zebra"),
        ({"filter": {"payload.offsetStart": 1}}, "/filter/payload.offsetStart"),
        ({"perPage": 501}, "/perPage"),
    ],
)
def test_a_query_that_cannot_be_is_refused_in_the_contracts_shape(told: Calling, body: Any, place: str) -> None:
    with pytest.raises(APIStatusError) as caught:
        told.graph.query_fact_nodes(PATIENT, body)
    assert caught.value.error is not None
    assert (caught.value.status_code, caught.value.error.type) == (400, "INVALID_ARGUMENT")
    assert str(caught.value.error.message).endswith(f"(at {place})")

"""Every item has one address, and every address leads to its item."""

from __future__ import annotations

import graphs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iamata.assembly import navigation
from iamata.assembly.navigation import What
from iamata.errors import InvalidValue, NotFound
from iamata.language.tokens import token_counter
from iamata.model.graph import Graph
from iamata.model.scope import Scope, Subject

COUNT = token_counter()


def everything(graph: Graph) -> list[str]:
    return [
        id
        for items in (
            graph.facts,
            graph.memories,
            graph.conflicts,
            graph.documents,
            graph.passages,
            graph.statements,
        )
        for id in items
    ]


@st.composite
def some_patients(draw: st.DrawFn) -> graphs.Small:
    small = graphs.Small("p1")
    kinds = st.sampled_from(["condition", "medication", "allergy", "observation", "encounter", "person", "order"])
    words = st.sampled_from(["Asthma", "Émile's % disease", "a/b\nc", "[1]", "", "..", "x" * 90])
    standing = st.sampled_from(["active", "resolved", "unknown", "entered-in-error", "stopped"])
    for number in range(draw(st.integers(0, 12))):
        kind = draw(kinds)
        when = draw(st.sampled_from(["", "2019", "2020-02", "2021-03-04", "last spring"]))
        small.says(f"s{number}", kind, draw(words), when=when, standing=draw(standing), denied=draw(st.booleans()))
        if kind != "person":
            small.fact(f"s{number}", currency=draw(st.sampled_from(["current", "past", "unknown", "planned"])))
    for number in range(draw(st.integers(0, 3))):
        small.remembers(f"m{number}", "symptom", draw(words), "it hurts")
        small.passage(f"p{number}", draw(words), "Some text.")
        small.document(f"d{number}", source="Northside")
    return small


@settings(max_examples=40, deadline=None)
@given(some_patients())
def test_address_and_resolve_are_inverse_for_every_item(small: graphs.Small) -> None:
    tree = navigation.tree(small.graph())
    addresses = {id: navigation.address(tree, id) for id in everything(tree.graph)}
    assert len(set(addresses.values())) == len(addresses)
    for id, address in addresses.items():
        assert navigation.resolve(tree, address).item == id
        assert navigation.resolve(tree, address).address == address


@settings(max_examples=15, deadline=None)
@given(some_patients())
def test_every_address_that_browsing_shows_resolves_and_shows_each_item_once(small: graphs.Small) -> None:
    tree = navigation.tree(small.graph())
    seen: list[str] = []
    open_paths = [f"{tree.root}/"]
    while open_paths:
        path = open_paths.pop()
        for node in navigation.browse(tree, path, count=COUNT):
            target = navigation.resolve(tree, node.address)
            assert target.address == node.address
            assert "\n" not in node.hint
            if target.what is What.FACT or not node.directory:
                seen.append(target.item)
            if node.directory and target.what is not What.FACT:
                open_paths.append(node.address)
    items = {*tree.graph.facts, *tree.graph.memories, *tree.graph.conflicts, *tree.graph.passages}
    assert sorted(id for id in seen if id in items) == sorted(items)


def test_the_tree_of_leo_reads_like_a_chart() -> None:
    tree = navigation.tree(graphs.leo().graph())
    names = [node.name for node in navigation.browse(tree, "/patient/leo/", count=COUNT)]
    assert names == [
        "_index.md",
        "demographics/",
        "allergies/",
        "conditions/",
        "medications/",
        "timeline/",
        "documents/",
        "memories/",
        "sessions/",
        "conflicts/",
        "gaps/",
        "sources/",
    ]
    otitis = navigation.address(tree, graphs_id("fact_of_s3"))
    assert otitis.startswith("/patient/leo/conditions/active/otitis-media-")
    assert otitis.endswith("/story.md")
    files = navigation.browse(tree, otitis.removesuffix("story.md"), count=COUNT)
    assert [node.name for node in files] == ["story.md", "sources.md", "raw.json"]


def graphs_id(short: str) -> str:
    return graphs.leo().id(short)


def test_the_hint_of_a_medicine_says_its_dose_and_that_it_is_disputed() -> None:
    tree = navigation.tree(graphs.leo().graph())
    nodes = navigation.browse(tree, "/patient/leo/medications/current", count=COUNT)
    assert nodes[1].hint == "⚠ conflict, Amoxicillin, 250 mg, oral, 3 times a day, ordered 2026-02-10, active"


def test_an_old_address_leads_to_the_item_by_the_tail_of_its_id() -> None:
    small = graphs.leo()
    tree = navigation.tree(small.graph())
    now = navigation.address(tree, small.id("fact_of_s3"))
    tail = now.split("/")[-2].rpartition("-")[2]
    for old in (f"conditions/resolved/ear-infection-{tail}/story.md", f"conditions/active/{tail}/story.md"):
        assert navigation.resolve(tree, f"/patient/leo/{old}").address == now


def test_the_id_of_a_former_fact_or_of_any_member_has_an_address() -> None:
    small = graphs.leo()
    tree = navigation.tree(small.graph())
    member = small.id("s4")
    former = "fa_" + member.partition("_")[2]
    assert navigation.address(tree, former) == navigation.address(tree, small.id("fact_of_s3"))


def test_another_sections_item_is_not_found_by_its_tail() -> None:
    small = graphs.leo()
    tree = navigation.tree(small.graph())
    tail = navigation.address(tree, small.id("fact_of_s3")).split("/")[-2].rpartition("-")[2]
    with pytest.raises(NotFound):
        navigation.resolve(tree, f"/patient/leo/allergies/otitis-media-{tail}/story.md")


@pytest.mark.parametrize(
    "path",
    [
        "",
        "patient/leo",
        "/patient/leo/../other",
        "/patient/leo/./conditions",
        "/patient//leo",
        "/patient/leo/%2e%2e/x",
        "/patient/leo/conditions%2factive",
        "/patient/leo/a\\b",
        "/patient/leo/a b",
        "/patient/leo/\x00",
        "/patient/leo//",
        "/" + "a" * 5000,
    ],
)
def test_a_path_that_is_none_is_refused_and_never_understood(path: str) -> None:
    with pytest.raises(InvalidValue):
        navigation.resolve(graphs.leo().graph(), path)


def test_what_is_not_there_names_the_nearest_address() -> None:
    tree = navigation.tree(graphs.leo().graph())
    with pytest.raises(NotFound, match=r"the nearest is /patient/leo/conditions/$"):
        navigation.resolve(tree, "/patient/leo/condition/active")
    with pytest.raises(NotFound, match=r"the nearest is /patient/leo/conditions/active/otitis-media-"):
        navigation.resolve(tree, "/patient/leo/conditions/active/otitis-media/story.md")


def test_another_patients_address_is_not_found_here() -> None:
    with pytest.raises(NotFound, match="/patient/leo/"):
        navigation.resolve(graphs.leo().graph(), "/patient/mia/conditions")


def test_a_known_directory_that_holds_nothing_says_so() -> None:
    empty = graphs.Small("new").graph()
    (node,) = navigation.browse(empty, "/patient/new/allergies/", count=COUNT)
    assert node.hint == 'No allergy information recorded. This is not the same as "no known allergies".'
    with pytest.raises(NotFound):
        navigation.browse(empty, "/patient/new/allergies/penicillin/", count=COUNT)


def test_two_ids_that_end_alike_get_longer_tails() -> None:
    small = graphs.Small("p1")
    for number in range(400):
        small.says(f"s{number}", "condition", "Asthma", standing="active")
        small.fact(f"s{number}", currency="current")
    tree = navigation.tree(small.graph())
    assert len({navigation.address(tree, id) for id in tree.graph.facts}) == 400


def test_a_result_stands_under_its_test_and_the_newest_comes_first() -> None:
    small = graphs.Small("p1")
    category = graphs.coded("Laboratory", "http://terminology.hl7.org/CodeSystem/observation-category|laboratory")
    for day in ("2020-01-01", "2022-01-01", "2021-01-01"):
        code = "http://loinc.org|4548-4"
        small.says(f"a{day}", "observation", "Hemoglobin A1c", code=code, when=day, category=category)
        small.fact(f"a{day}")
    nodes = navigation.browse(small.graph(), "/patient/p1/labs/hemoglobin-a1c-4548-4/", count=COUNT)
    assert [node.name[:10] for node in nodes[1:]] == ["2022-01-01", "2021-01-01", "2020-01-01"]


def test_a_persons_name_is_in_no_address() -> None:
    tree = navigation.tree(graphs.leo().graph())
    assert "/demographics/demographic-" in navigation.address(tree, graphs_id("fact_of_d1"))


def test_the_cost_of_a_file_is_what_reading_it_costs() -> None:
    from iamata.assembly import rendering

    tree = navigation.tree(graphs.leo().graph())
    for folder in (
        "/patient/leo/allergies",
        "/patient/leo/memories/adherence",
        "/patient/leo/timeline",
        "/patient/leo",
    ):
        for node in navigation.browse(tree, folder, count=COUNT):
            if node.tokens:
                assert rendering.read(tree, node.address, count=COUNT, stamp="").tokens == node.tokens


def test_the_root_lists_scopes_and_patients() -> None:
    nodes = navigation.root(["leo", "mia"], [Subject(Scope.AGENT, "triage-bot")])
    assert [node.address for node in nodes] == [
        "/patient/",
        "/patient/leo/",
        "/patient/mia/",
        "/agent/",
        "/agent/triage-bot/",
    ]
    assert navigation.root([]) == ()

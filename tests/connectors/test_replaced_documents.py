"""A document that its source replaced counts no more: what only it said is history, what others say too stands."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest
from ccda_small import act, author, cd, concern, document, graph, section

from iamata import Engine
from iamata.model.graph import Graph


def problem(name: str, code: str = "65363002", id: str = "") -> str:
    own = f'<id root="9.9" extension="{id}"/>' if id else ""
    return section("11450-4", concern(act("observation", "4", own + cd(code, name))), text=f"He has {name}.")


def related(type: str, parent: str) -> str:
    return (
        f'<relatedDocument typeCode="{type}"><parentDocument><id root="{parent}"/></parentDocument></relatedDocument>'
    )


def summary(*sections: str, id: str, replaces: str = "", type: str = "RPLC", series: str = "") -> bytes:
    relation = related(type, replaces) if replaces else ""
    return document(*sections, id=id, authors=series + author() + relation)


def series(version: int) -> str:
    return f'<setId root="5.5"/><versionNumber value="{version}"/>'


def conditions(formed: Graph) -> list[str]:
    """What entries say; what only words say is `named`."""
    found = [f for f in formed.facts.values() if f.kind == "condition"]
    return sorted(f.display for f in found if not all(formed.statements[id].is_mention for id in f.members))


def named(formed: Graph) -> list[str]:
    found = [s for s in formed.statements.values() if s.is_mention and s.polarity == "affirmed"]
    return sorted(s.concept.display for s in found if s.concept)


def said_in_passages(formed: Graph) -> list[str]:
    return sorted(p.text for p in formed.passages.values())


def told(words: str) -> str:
    return section("10164-2", "", title="History", text=words)


FIRST = summary(problem("Asthma", "195967001"), problem("Otitis media"), told("Ear ache."), told("A cough."), id="d-1")


def test_what_only_the_replaced_document_says_counts_no_more_and_stays_stored() -> None:
    second = summary(problem("Asthma", "195967001"), told("A cough."), told("No ache."), id="d-2", replaces="d-1")
    formed = graph(("eastgate", FIRST), ("eastgate", second))
    assert conditions(formed) == ["Asthma"]
    assert len([s for s in formed.statements.values() if s.kind == "condition" and not s.is_mention]) == 2
    assert named(graph(("eastgate", FIRST))) == ["Cough", "Earache"]
    assert named(formed) == ["Cough"]
    assert said_in_passages(formed) == ["A cough.", "No ache."]


def test_the_order_of_arrival_does_not_matter() -> None:
    second = summary(problem("Asthma", "195967001"), id="d-2", replaces="d-1")
    third = summary(problem("Gout", "90560007"), id="d-3", replaces="d-2")
    hashes = {graph(*(("eastgate", body) for body in order)).hash for order in permutations([FIRST, second, third])}
    assert len(hashes) == 1
    assert conditions(graph(("eastgate", third), ("eastgate", FIRST), ("eastgate", second))) == ["Gout"]


def test_a_restated_entry_keeps_what_the_replaced_document_said_as_history() -> None:
    first = summary(problem("Otitis media", id="p1"), id="d-1")
    second = summary(problem("Otitis media, left", id="p1"), id="d-2", replaces="d-1")
    formed = graph(("eastgate", first), ("eastgate", second))
    [fact] = [f for f in formed.facts.values() if f.kind == "condition"]
    assert fact.display == "Otitis media, left"
    assert [why for _, why in fact.history] == ["superseded"]


def test_an_addendum_replaces_nothing() -> None:
    second = summary(problem("Gout", "90560007"), id="d-2", replaces="d-1", type="APND")
    assert conditions(graph(("eastgate", FIRST), ("eastgate", second))) == ["Asthma", "Gout", "Otitis media"]


def test_another_source_cannot_replace_a_document() -> None:
    second = summary(problem("Gout", "90560007"), id="d-2", replaces="d-1")
    assert conditions(graph(("eastgate", FIRST), ("westgate", second))) == ["Asthma", "Gout", "Otitis media"]


def test_what_a_third_document_says_too_stands() -> None:
    second = summary(problem("Gout", "90560007"), id="d-2", replaces="d-1")
    third = summary(problem("Otitis media"), id="d-3")
    formed = graph(("eastgate", FIRST), ("eastgate", second), ("eastgate", third))
    assert conditions(formed) == ["Gout", "Otitis media"]


def test_a_later_version_of_the_same_document_replaces_the_earlier() -> None:
    first = summary(problem("Asthma", "195967001"), problem("Otitis media"), id="d-1", series=series(1))
    second = summary(problem("Asthma", "195967001"), id="d-2", series=series(2))
    assert conditions(graph(("eastgate", second), ("eastgate", first))) == ["Asthma"]


def test_documents_that_replace_each_other_in_a_circle_replace_nothing() -> None:
    first = summary(problem("Asthma", "195967001"), id="d-1", replaces="d-2")
    second = summary(problem("Gout", "90560007"), id="d-2", replaces="d-1")
    assert conditions(graph(("eastgate", first), ("eastgate", second))) == ["Asthma", "Gout"]


def composition(id: str, condition: str, **more: Any) -> list[dict[str, Any]]:
    return [
        {
            "resourceType": "Composition",
            "id": id,
            "status": "final",
            "type": {"text": "Summary"},
            "subject": {"reference": "Patient/leo"},
            "date": "2026-02-10",
            "title": "Summary",
            "author": [{"display": "Dr Ames"}],
            "identifier": {"system": "urn:ids", "value": id},
            "section": [{"title": "Problems", "entry": [{"reference": f"Condition/{condition}"}]}],
            **more,
        },
        {
            "resourceType": "Condition",
            "id": condition,
            "subject": {"reference": "Patient/leo"},
            "code": {"text": f"Trouble {condition}"},
        },
    ]


def fhir(*documents: list[dict[str, Any]]) -> Graph:
    with Engine.open(":memory:") as engine:
        for resources in documents:
            bundle = {"resourceType": "Bundle", "type": "document", "entry": [{"resource": r} for r in resources]}
            engine.ingest("leo", json.dumps(bundle).encode(), source="northside")
        return engine.graph("leo")


@pytest.mark.parametrize(
    ("relates", "kept"),
    [
        ({"code": "replaces", "targetReference": {"reference": "Composition/one"}}, ["Trouble b"]),
        ({"code": "replaces", "targetIdentifier": {"system": "urn:ids", "value": "one"}}, ["Trouble b"]),
        ({"code": "appends", "targetReference": {"reference": "Composition/one"}}, ["Trouble a", "Trouble b"]),
        ({"code": "transforms", "targetIdentifier": {"system": "urn:ids", "value": "one"}}, ["Trouble a", "Trouble b"]),
    ],
)
def test_a_fhir_document_replaces_another_only_if_it_says_that_it_replaces_it(
    relates: dict[str, Any], kept: list[str]
) -> None:
    formed = fhir(composition("one", "a"), composition("two", "b", relatesTo=[relates]))
    assert conditions(formed) == kept


def test_only_the_items_of_the_replaced_document_go_with_it() -> None:
    stray = json.loads(json.dumps(composition("x", "c")[1]))
    relates = {"code": "replaces", "targetReference": {"reference": "Composition/one"}}
    formed = fhir([*composition("one", "a"), stray], composition("two", "b", relatesTo=[relates]))
    assert conditions(formed) == ["Trouble b", "Trouble c"]

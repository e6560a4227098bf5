"""The public client over whole synthetic records: every node and edge of every type is read by its models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from calling import Calling, calling
from live import running

from iamata.engine import Engine
from iamata.settings import Settings

NODES = (
    "extracted_fact",
    "fact",
    "extracted_narrative",
    "narrative_passage",
    "narrative",
    "learned_memory",
    "extracted_clinical_event",
)
EDGES = ("resolution_decision", "resolves_to", "chunked_into", "relationship")
OURS = ("nodes/statement", "nodes/clinical_event", "nodes/further_fact", "edges/memory_link", "edges/member_of")

# Two of the smaller records and one of the larger, by size: names of files change with the data.
CHOSEN = (0, 3, 14)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Calling]:
    folder = tmp_path_factory.mktemp("synthea")
    with (
        Engine.open(folder / "x.db") as engine,
        running(engine, Settings(idle_s=0.05)) as url,
        calling("sync", url) as api,
    ):
        yield api


@pytest.fixture(scope="module", params=CHOSEN)
def record(request: pytest.FixtureRequest, data: Path) -> dict[str, Any]:
    files = sorted((data / "synthea_r4_bundles").glob("*.json"), key=lambda each: each.stat().st_size)
    bundle: dict[str, Any] = json.loads(files[request.param].read_bytes())
    return bundle


@pytest.fixture(scope="module")
def patient(api: Calling, record: dict[str, Any]) -> str:
    id = next(each["resource"]["id"] for each in record["entry"] if each["resource"]["resourceType"] == "Patient")
    receipt = api.ingest.ingest_fhir_r4(id, record)
    assert receipt.staged.facts > 0
    assert receipt.intake[0].received >= len(record["entry"])
    api.settle(id)
    return str(id)


def pages(call: Any, *given: Any) -> Iterator[Any]:
    number = 0
    while True:
        page = call(*given, page=number, per_page=500)
        yield from page.data
        number += 1
        if number * 500 >= page.meta.total:
            return


def test_every_node_and_edge_is_read_by_the_client(api: Calling, patient: str, record: dict[str, Any]) -> None:
    held = {type: {each.id: each for each in pages(api.graph.list_nodes, patient, type)} for type in NODES}
    for type in ("extracted_fact", "fact", "extracted_clinical_event"):
        assert held[type]
    sent = {each["resource"]["id"] for each in record["entry"] if each["resource"]["resourceType"] == "Condition"}
    refs = {each.payload.source.ref.partition("/")[2] for each in held["extracted_fact"].values()}
    assert sent <= refs
    for each in held["fact"].values():
        assert {member.extracted_fact_id for member in each.payload.members} <= set(held["extracted_fact"])
    for type in EDGES:
        for edge in pages(api.graph.list_edges, patient, type):
            assert edge.from_.id in held[edge.from_.type]
            assert edge.to.id in held[edge.to.type]
    resolved = {edge.from_.id for edge in pages(api.graph.list_edges, patient, "resolves_to")}
    assert resolved == set(held["extracted_fact"])


def test_our_own_types_are_listed_whole(api: Calling, patient: str) -> None:
    with httpx.Client(base_url=f"{api.url}/v1/patients/{patient}/graph", trust_env=False, timeout=60) as client:
        for type in OURS:
            page = client.get(f"/{type}/items", params={"perPage": 500}).json()
            assert len(page["data"]) == min(page["meta"]["total"], 500)


def test_who_the_patient_is(api: Calling, patient: str, record: dict[str, Any]) -> None:
    sent = next(each["resource"] for each in record["entry"] if each["resource"]["resourceType"] == "Patient")
    found = api.patients.get_patient(patient)
    assert (found.birth_date, found.gender) == (sent["birthDate"], sent["gender"])
    assert sent["name"][0]["family"] in found.name
    report = api.patients.get_resolution(patient, per_page=500)
    assert report.meta.total == report.summary.total_facts


def test_every_directory_can_be_browsed_and_every_index_read(api: Calling, patient: str) -> None:
    seen = 0
    for top in api.vfs.browse_vfs(patient).children:
        if top.type == "directory":
            below = api.vfs.browse_vfs(patient, path=f"/{top.name}")
            assert below.type == "directory"
            seen += 1
        else:
            assert api.vfs.read_vfs(patient, path=f"/{top.name}").content
    assert seen > 5


def test_the_same_record_again_stages_nothing(api: Calling, patient: str, record: dict[str, Any]) -> None:
    staged = api.ingest.ingest_fhir_r4(patient, record).staged
    assert (staged.facts, staged.events, staged.narratives, staged.messages) == (0, 0, 0, 0)
    api.settle(patient)

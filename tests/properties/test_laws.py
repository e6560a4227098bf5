"""The four laws (order-free, repeat-safe, reversible, nothing lost) and `known_at`, on real patients and on small ones.

Graphs are compared by their hash, which counts content and not ids: each engine here has keys of its own.
"""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from iamata.engine import Engine
from iamata.model.session import Speaker, Turn

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
# The smallest of the real bundles, so that many permutations stay quick; the big ones are read whole in tests/cases.
PATIENTS = 6


def real_bundles(data: Path) -> list[list[Any]]:
    files = sorted((data / "synthea_r4_bundles").glob("*.json"), key=lambda file: (file.stat().st_size, file.name))
    return [json.loads(file.read_text(encoding="utf-8"))["entry"] for file in files[:PATIENTS]]


@pytest.fixture(scope="module")
def bundles(data: Path) -> list[list[Any]]:
    return real_bundles(data)


class Sending:
    """An engine whose clock moves one second with every look, and the bundles sent to it."""

    def __init__(self) -> None:
        self._ticks = iter(range(10_000_000))
        self.now = NOW
        self.engine = Engine.open(":memory:", clock=self._clock)

    def _clock(self) -> datetime:
        self.now = NOW + timedelta(milliseconds=next(self._ticks))
        return self.now

    def send(self, entries: list[Any], source: str = "ehr") -> Any:
        body = json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries}).encode()
        return self.engine.ingest("p", body, source=source, format="fhir/r4")

    @property
    def hash(self) -> str:
        return self.engine.graph("p").hash

    def __enter__(self) -> Sending:
        return self

    def __exit__(self, *exc: object) -> None:
        self.engine.close()


def hash_of(*sent: tuple[str, list[Any]]) -> str:
    with Sending() as sending:
        for source, entries in sent:
            sending.send(entries, source)
        return sending.hash


def test_the_order_of_items_in_a_bundle_does_not_matter(bundles: list[list[Any]]) -> None:
    for number, entries in enumerate(bundles):
        shuffled = random.Random(number).sample(entries, len(entries))
        assert hash_of(("ehr", shuffled)) == hash_of(("ehr", entries))


def test_the_order_in_which_sources_arrive_does_not_matter(bundles: list[list[Any]]) -> None:
    for entries in bundles:
        half = copied_elsewhere(entries)
        assert hash_of(("ehr", entries), ("other", half)) == hash_of(("other", half), ("ehr", entries))


def test_sending_a_bundle_twice_adds_sightings_and_nothing_else(bundles: list[list[Any]]) -> None:
    for entries in bundles:
        with Sending() as sending:
            first = sending.send(entries)
            before = sending.hash
            version = sending.engine.patient("p").version
            again = sending.send(entries)
            assert (again.staged.facts, again.staged.events, again.staged.narratives) == (0, 0, 0)
            assert first.staged.facts > 0
            assert sending.hash == before
            assert sending.engine.patient("p").version == version


def test_sending_a_bundle_in_pieces_gives_the_same_graph(bundles: list[list[Any]]) -> None:
    for number, entries in enumerate(bundles):
        patient, rest = entries[:1], entries[1:]
        cut = random.Random(number).randrange(1, len(rest))
        pieces = [("ehr", patient + rest[:cut]), ("ehr", patient + rest[cut:])]
        assert hash_of(*pieces) == hash_of(("ehr", entries))


def test_retracting_a_source_gives_exactly_the_graph_without_it(bundles: list[list[Any]]) -> None:
    for entries in bundles:
        with Sending() as sending:
            sending.send(entries, "ehr")
            alone = sending.hash
            sending.send(copied_elsewhere(entries), "other")
            assert sending.hash != alone
            sending.engine.retract("p", "other")
            assert sending.hash == alone
            sending.send(copied_elsewhere(entries), "other")
            assert sending.hash != alone, "what is sent after a retraction counts again"


def test_known_at_a_moment_equals_having_stopped_then(bundles: list[list[Any]]) -> None:
    for entries in bundles:
        with Sending() as sending:
            sending.send(entries, "ehr")
            stopped, moment = sending.hash, sending.now
            sending.send(copied_elsewhere(entries), "other")
            sending.engine.append("p", "s", [Turn(Speaker.PATIENT, "I stopped my aspirin last week.", said_at=NOW)])
            assert sending.hash != stopped
            assert sending.engine.graph("p", known_at=moment).hash == stopped


def test_no_item_is_lost(bundles: list[list[Any]]) -> None:
    for entries in bundles:
        with Sending() as sending:
            receipt = sending.send(entries)
            graph = sending.engine.graph("p")
            lines = {line.place: line for line in receipt.intake}
            stands = {s.place.pointer for seen in graph.sightings.values() for s in seen}
            for index in range(len(entries)):
                place = f"/entry/{index}/resource"
                line = lines[place]
                if line.outcome != "ignored":
                    assert any(pointer == place or pointer.startswith(place + "/") for pointer in stands), line
            for fact in graph.facts.values():
                assert set(fact.members) <= graph.statements.keys()
            for link in graph.links.values():
                ends = graph.facts.keys() | graph.memories.keys() | graph.passages.keys()
                assert {link.origin, link.target} <= ends


def copied_elsewhere(entries: list[Any]) -> list[Any]:
    """What a second system would hold: the patient, and half of the items under other ids, some of them changed."""
    kept = []
    for index, entry in enumerate(entries):
        resource = json.loads(json.dumps(entry["resource"]))
        kind = resource["resourceType"]
        if kind != "Patient" and index % 2:
            continue
        if kind in ("Condition", "MedicationRequest", "Observation", "Immunization"):
            resource["id"] = f"copy-{index}"
            entry = {"fullUrl": f"urn:uuid:00000000-0000-4000-8000-{index:012d}"}
            if kind == "MedicationRequest":
                resource["status"] = "stopped"
        kept.append({**entry, "resource": resource})
    return kept


# ------------------------------------------------------------------- small patients, many of them

CODES = st.sampled_from(["44054006", "38341003", "195967001"])
DATES = st.sampled_from(["2015", "2015-06", "2015-06-10", "2019-05-01", "2019-05-01T10:00:00Z"])


@st.composite
def resources(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["Condition", "AllergyIntolerance", "MedicationRequest", "Observation"]))
    code = {"coding": [{"system": "http://snomed.info/sct", "code": draw(CODES)}]}
    found: dict[str, Any] = {"resourceType": kind, "id": f"r{draw(st.integers(0, 5))}"}
    if draw(st.booleans()):
        found["identifier"] = [{"system": "urn:lab", "value": draw(st.sampled_from(["1", "2"]))}]
    match kind:
        case "Condition":
            found |= {"subject": {"reference": "Patient/p"}, "code": code, "onsetDateTime": draw(DATES)}
            status = draw(st.sampled_from(["active", "resolved"]))
            found["clinicalStatus"] = {"coding": [{"code": status}]}
        case "AllergyIntolerance":
            found |= {"patient": {"reference": "Patient/p"}, "code": code, "recordedDate": draw(DATES)}
        case "MedicationRequest":
            found |= {"subject": {"reference": "Patient/p"}, "medicationCodeableConcept": code, "intent": "order"}
            found |= {"status": draw(st.sampled_from(["active", "stopped"])), "authoredOn": draw(DATES)}
            found["dosageInstruction"] = [{"text": draw(st.sampled_from(["10 mg", "20 mg"]))}]
        case "Observation":
            found |= {"subject": {"reference": "Patient/p"}, "code": code, "effectiveDateTime": draw(DATES)}
            found |= {"status": draw(st.sampled_from(["preliminary", "final", "corrected"]))}
            found["valueQuantity"] = {"value": draw(st.integers(1, 3)), "unit": "mg/dL"}
    return found


PATIENT = {"resource": {"resourceType": "Patient", "id": "p"}}
bundles_of = st.lists(resources(), min_size=1, max_size=6, unique_by=lambda r: (r["resourceType"], r["id"]))


def entries_of(found: list[dict[str, Any]]) -> list[Any]:
    return [PATIENT, *({"resource": resource} for resource in found)]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(a=bundles_of, b=bundles_of, seed=st.integers(0, 1000))
def test_any_small_patient_comes_out_the_same_in_any_order_and_in_pieces(a: Any, b: Any, seed: int) -> None:
    one = hash_of(("a", entries_of(a)), ("b", entries_of(b)))
    chance = random.Random(seed)
    mixed = [PATIENT, *chance.sample(entries_of(a)[1:], len(a))]
    assert hash_of(("b", entries_of(b)), ("a", mixed)) == one
    pieces = [("a", [PATIENT, {"resource": resource}]) for resource in chance.sample(a, len(a))]
    assert hash_of(("b", entries_of(b)), *pieces, ("b", entries_of(b))) == one


def test_one_item_is_one_statement_whatever_its_bundles_call_it() -> None:
    """Sent with a `urn:uuid` and again under its server's address it is one item; references find it by both."""
    condition = {
        "resourceType": "Condition",
        "id": "c1",
        "subject": {"reference": "Patient/p"},
        "code": {"text": "Asthma"},
    }
    order = {
        "resourceType": "MedicationRequest",
        "id": "m1",
        "status": "active",
        "intent": "order",
        "subject": {"reference": "Patient/p"},
        "medicationCodeableConcept": {"text": "Salbutamol"},
        "reasonReference": [{"reference": "urn:uuid:5b4b8f8e-0000-4000-8000-000000000001"}],
    }
    first = [
        PATIENT,
        {"fullUrl": "urn:uuid:5b4b8f8e-0000-4000-8000-000000000001", "resource": condition},
        {"resource": order},
    ]
    second = [PATIENT, {"fullUrl": "https://ehr.example/fhir/Condition/c1", "resource": condition}]
    with Sending() as sending:
        sending.send(first, "ehr")
        sending.send(second, "ehr")
        graph = sending.engine.graph("p")
        conditions = [s for s in graph.statements.values() if s.kind == "condition"]
        assert len(conditions) == 1
        assert {seen.url for seen in graph.sightings[conditions[0].id]} == {
            "urn:uuid:5b4b8f8e-0000-4000-8000-000000000001",
            "https://ehr.example/fhir/Condition/c1",
        }
        assert [link.type for link in graph.links.values()] == ["prescribed_for"]
        assert graph.unresolved == ()
    assert hash_of(("ehr", first), ("ehr", second)) == hash_of(("ehr", second), ("ehr", first))

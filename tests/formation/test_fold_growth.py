"""Taking a fold further gives what folding everything gives, or declines; on real patients and on both stores."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from iamata.connectors import registry
from iamata.errors import BadInput
from iamata.formation import pipeline
from iamata.formation.growth import grow
from iamata.formation.recorded.inferred import rule_of
from iamata.model.document import Document
from iamata.model.graph import Graph, Held
from iamata.model.identifiers import IdMint
from iamata.model.provenance import SourceKind
from iamata.model.ruling import RecordRef, Ruling, RulingKind
from iamata.model.scope import patient
from iamata.model.stamp import Moment
from iamata.model.statement import Label

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
MINT = IdMint(b"k" * 32)
RESTRICTED = Label("http://terminology.hl7.org/CodeSystem/v3-Confidentiality", "R")


def everything(labels: tuple[Label, ...]) -> bool:
    return True


def nothing_restricted(labels: tuple[Label, ...]) -> bool:
    return RESTRICTED not in labels


class Chart:
    """A patient's documents one after the other, as the store would hold them."""

    def __init__(self) -> None:
        self.held = Held(subject=patient("p"))

    def add(self, body: bytes, *, source: str = "one", format: str = "", at: datetime = NOW) -> Held:
        number = len(self.held.documents)
        format = format or registry.detect(body)
        parsed = registry.parse(
            body,
            format=format,
            subject=self.held.subject,
            source=source,
            mint=MINT,
            document=f"en_{number}",
            received_at=at,
        )
        ids = {s.id for s in self.held.statements} | {p.id for p in self.held.passages}
        document = Document(
            id=f"en_{number}", subject=self.held.subject, source=source, media_type="x", format=format,
            sha256="", size_bytes=len(body), received_at=at,
        )  # fmt: skip
        self.held = msgspec.structs.replace(
            self.held,
            version=number + 1,
            statements=self.held.statements + tuple({s.id: s for s in parsed.statements if s.id not in ids}.values()),
            passages=self.held.passages + tuple({p.id: p for p in parsed.passages if p.id not in ids}.values()),
            sightings=self.held.sightings + parsed.sightings,
            documents=(*self.held.documents, document),
            sources=tuple(sorted({*self.held.sources, (source, SourceKind.EHR)})),
        )
        return self.held


def assert_equal(grown: Graph, whole: Graph) -> None:
    for name in Graph.__struct_fields__:
        a, b = getattr(grown, name), getattr(whole, name)
        assert a == b, name
        if name in ("statements", "facts", "links", "conflicts", "decisions", "memories", "passages", "documents"):
            assert list(a) == list(b), f"the order of {name}"

    unruled = [link.rule for link in whole.links.values() if link.rule.startswith("agent:") and rule_of(link) is None]
    assert not unruled, "a rule of inference that growth does not know"


def bundle(*resources: dict[str, Any]) -> bytes:
    return json.dumps(
        {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": r} for r in resources]}
    ).encode()


OF_P = {"subject": {"reference": "Patient/p"}}


def glucose(id: str, value: float = 100, day: str = "2026-02-01", **more: Any) -> dict[str, Any]:
    return {
        "resourceType": "Observation", "id": id, "status": "final", **OF_P,
        "code": {"coding": [{"system": "http://loinc.org", "code": "2345-7"}], "text": "Glucose"},
        "effectiveDateTime": day, "valueQuantity": {"value": value, "unit": "mg/dL", "code": "mg/dL"}, **more,
    }  # fmt: skip


def condition(id: str, text: str, **more: Any) -> dict[str, Any]:
    return {"resourceType": "Condition", "id": id, **OF_P, "code": {"text": text}, **more}


def order(id: str, text: str, **more: Any) -> dict[str, Any]:
    return {
        "resourceType": "MedicationRequest", "id": id, "status": "active", "intent": "order", **OF_P,
        "medicationCodeableConcept": {"text": text}, "authoredOn": "2026-02-10", **more,
    }  # fmt: skip


def note(id: str, text: str, **more: Any) -> dict[str, Any]:
    data = base64.b64encode(text.encode()).decode()
    return {
        "resourceType": "DocumentReference", "id": id, "status": "current", **OF_P, "date": "2026-02-11T09:00:00Z",
        "content": [{"attachment": {"contentType": "text/plain", "data": data}}], **more,
    }  # fmt: skip


FIRST = bundle(
    {"resourceType": "Patient", "id": "p", "birthDate": "1960-01-02"},
    {"resourceType": "Practitioner", "id": "dr", "name": [{"text": "Dr Ames"}]},
    glucose("g1"),
    glucose("g2", 140, "2026-03-01", performer=[{"reference": "Practitioner/dr"}]),
    condition("c1", "Diabetes mellitus type 2", encounter={"reference": "Encounter/later"}),
    order("m1", "Metformin 500 mg", reasonReference=[{"reference": "Condition/c1"}]),
)


def step(*bodies: bytes, visible: Any = everything, sources: tuple[str, ...] = ()) -> tuple[Graph | None, Graph]:
    """The fold of all but the last document taken further by the last, and the fold of all."""
    chart = Chart()
    for body, source in zip(bodies[:-1], sources or ["one"] * len(bodies), strict=False):
        chart.add(body, source=source)
    moment = Moment.of(NOW)
    before = pipeline.fold(chart.held, moment=moment, mint=MINT, visible=visible)
    held = chart.add(bodies[-1], source=sources[-1] if sources else "one", at=NOW + timedelta(minutes=1))
    grown = grow(before, held, mint=MINT, visible=visible)
    whole = pipeline.form(held, moment=moment, mint=MINT, visible=visible)
    return (grown.graph if grown else None), whole


@pytest.mark.parametrize(
    "more",
    [
        glucose("g3", 90, "2026-04-01"),
        glucose("g3", 101, "2026-02-01"),
        glucose("g3", 90, "2026"),
        glucose("g3", 90, ""),
        condition("c2", "Asthma"),
        condition("c2", "Diabetes mellitus type 2"),
        order("m2", "Metformin 1000 mg", reasonReference=[{"reference": "Condition/c1"}]),
        order("m2", "Lisinopril", reasonReference=[{"reference": "Condition/none"}]),
        note("n1", "She has asthma and takes metformin 500 mg twice a day. No fever."),
    ],
    ids=["result", "same-moment", "a-year", "undated", "condition", "same-condition", "order", "loose-order", "note"],
)
@pytest.mark.parametrize("sources", [("one", "one"), ("one", "two")], ids=["same-source", "other-source"])
def test_a_new_record_is_taken_further_to_the_same_graph(more: dict[str, Any], sources: tuple[str, str]) -> None:
    grown, whole = step(FIRST, bundle({k: v for k, v in more.items() if v != ""}), sources=sources)
    assert grown is not None
    assert_equal(grown, whole)


@pytest.mark.parametrize(
    "more",
    [
        glucose("g1", 99),
        glucose("g3", status="entered-in-error"),
        {"resourceType": "Patient", "id": "p", "birthDate": "1961-01-02"},
        {"resourceType": "Encounter", "id": "later", "status": "finished", "class": {"code": "AMB"}, **OF_P},
        {
            "resourceType": "Provenance",
            "target": [{"reference": "Observation/g1"}],
            "recorded": "2026-02-02T10:00:00Z",
            "agent": [{"who": {"reference": "Patient/p"}}],
        },
    ],
    ids=["correction", "in-error", "patient", "answers-an-open-reference", "provenance"],
)
def test_what_bears_on_what_is_known_is_folded_again(more: dict[str, Any]) -> None:
    grown, _whole = step(FIRST, bundle(more))
    assert grown is None


def test_the_same_items_in_another_document_are_taken_further() -> None:
    grown, whole = step(FIRST, FIRST + b" ")
    assert grown is not None
    assert_equal(grown, whole)
    assert all(len(seen) == 2 for seen in grown.sightings.values())


def test_what_the_reader_may_not_see_is_not_taken_further_into() -> None:
    secret = glucose("g9", 400, meta={"security": [{"system": RESTRICTED.system, "code": RESTRICTED.code}]})
    grown, whole = step(FIRST, bundle(secret, glucose("g3", 80)), visible=nothing_restricted)
    assert grown is not None
    assert_equal(grown, whole)
    assert len(grown.statements) == len(whole.statements) == 7


def test_rulings_in_force_hold_in_what_is_taken_further() -> None:
    chart = Chart()
    chart.add(FIRST)
    left, right = RecordRef("one", "Condition/c1"), RecordRef("two", "Condition/c2")
    ruling = Ruling(id="ru_1", kind=RulingKind.SAME, by="operator/x", decided_at=NOW, left=left, right=right)
    chart.held = msgspec.structs.replace(chart.held, rulings=(ruling,))
    before = pipeline.fold(chart.held, moment=Moment.of(NOW), mint=MINT)
    held = chart.add(bundle(condition("c2", "Sugar trouble")), source="two")
    grown = grow(before, held, mint=MINT, visible=everything)
    assert grown is not None
    assert_equal(grown.graph, pipeline.form(held, moment=Moment.of(NOW), mint=MINT))
    assert [len(f.members) for f in grown.graph.facts.values() if f.kind == "condition"] == [2]


def test_anything_but_additions_is_folded_again() -> None:
    chart = Chart()
    chart.add(FIRST)

    def taken_further(**changed: Any) -> bool:
        before = pipeline.fold(chart.held, moment=Moment.of(NOW), mint=MINT)
        return grow(before, msgspec.structs.replace(chart.held, **changed), mint=MINT, visible=everything) is not None

    ref = RecordRef("one", "Condition/c1")
    ruling = Ruling(id="ru_1", kind=RulingKind.NOT_THIS_PATIENT, by="operator/x", decided_at=NOW, left=ref)
    assert taken_further(version=2)
    assert not taken_further(statements=chart.held.statements[1:])
    assert not taken_further(sightings=chart.held.sightings[1:])
    assert not taken_further(rulings=(ruling,))
    assert not taken_further(sources=(("one", SourceKind.LAB),))


pieces = st.lists(
    st.one_of(
        st.builds(
            glucose,
            st.sampled_from(["g1", "g2", "g3", "g4"]),
            st.sampled_from([90, 100, 140]),
            st.sampled_from(["2026-02-01", "2026-02-01T08:00:00Z", "2026-02-02", "2026"]),
        ),
        st.builds(
            condition, st.sampled_from(["c1", "c2", "c3"]), st.sampled_from(["Asthma", "Gout", "Left knee pain"])
        ),
        st.builds(order, st.sampled_from(["m1", "m2"]), st.sampled_from(["Metformin", "Lisinopril 10 mg"])),
        st.builds(
            note,
            st.sampled_from(["n1", "n2"]),
            st.sampled_from(["She has asthma. No gout.", "Gout. Takes metformin 1000 mg.", "Denies asthma.", "Seen."]),
            status=st.sampled_from(["current", "current", "entered-in-error"]),
        ),
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(pieces, st.sampled_from(["one", "two"])), min_size=2, max_size=6))
def test_whatever_comes_in_whatever_order_growing_equals_folding(
    documents: list[tuple[list[dict[str, Any]], str]],
) -> None:
    chart, moment, fold = Chart(), Moment.of(NOW), None
    for number, (resources, source) in enumerate(documents):
        held = chart.add(bundle(*resources), source=source, at=NOW + timedelta(minutes=number))
        grown = grow(fold, held, mint=MINT, visible=everything) if fold else None
        fold = grown or pipeline.fold(held, moment=moment, mint=MINT)
        assert_equal(fold.graph, pipeline.form(held, moment=moment, mint=MINT))


def real(data: Path) -> Iterator[list[Path]]:
    for folder, kind in (("hl7v2_messages", "*"), ("ips_bundles", "*.json"), ("us_core_examples", "*.json")):
        files = sorted(path for path in (data / folder).rglob(kind) if path.is_file() and path.stat().st_size < 200_000)
        yield from (files[i : i + 12] for i in range(0, min(len(files), 36), 12))


def test_real_documents_one_after_the_other_are_taken_further_to_the_same_graph(data: Path) -> None:
    outcomes: Counter[bool] = Counter()
    moment = Moment.of(NOW)
    for files in real(data):
        chart, fold = Chart(), None
        for number, path in enumerate(files):
            try:
                held = chart.add(path.read_bytes(), source=f"s{number % 2}")
            except BadInput:
                continue
            grown = grow(fold, held, mint=MINT, visible=everything) if fold else None
            outcomes[grown is not None] += fold is not None
            fold = grown or pipeline.fold(held, moment=moment, mint=MINT)
            assert_equal(fold.graph, pipeline.form(held, moment=moment, mint=MINT))
    assert outcomes[True] > 20

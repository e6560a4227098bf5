"""Types beside the core ones, what is said to be absent, labels on single elements, references in an extension."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from fhir_small import OF_P, PATIENT, bundle, condition, line, observation, only, read, read_bytes, request, when, who

from iamata.engine import Engine
from iamata.model.clinical_time import Clock
from iamata.model.coding import CodedText
from iamata.model.document import Outcome, Reason
from iamata.model.statement import Aspect, Kind, Label, Polarity, Standing

Json = dict[str, Any]
ABSENT = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"
INLINE = "http://hl7.org/fhir/uv/security-label-ds4p/StructureDefinition/extension-inline-sec-label"
ALTERNATE = "http://hl7.org/fhir/StructureDefinition/alternate-reference"
ACT = "http://terminology.hl7.org/CodeSystem/v3-ActCode"
INTEGRITY = "http://terminology.hl7.org/CodeSystem/v3-ObservationValue"


def data(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def shown(value: object) -> str:
    assert isinstance(value, CodedText)
    return value.display


def labelled(code: str, system: str = ACT) -> Json:
    return {"url": INLINE, "valueCoding": {"system": system, "code": code}}


# Types


def test_media_is_a_document_by_its_operator() -> None:
    found = only(
        read(
            {
                "resourceType": "Media",
                "id": "m",
                "status": "completed",
                "subject": OF_P,
                "type": {"text": "photo"},
                "createdDateTime": "2024-01-02",
                "operator": {"reference": "Patient/p"},
                "content": {"contentType": "image/jpeg", "data": "AAAA", "title": "rash"},
            }
        )
    )
    assert (found.kind, shown(found.concept), found.field("title")) == (Kind.DOCUMENT, "photo", "rash")
    assert who(found) == [("performer", "operator", "Patient/p")]
    assert when(found, Clock.EFFECTIVE) == ["2024-01-02"]


def test_text_in_a_binary_is_a_passage() -> None:
    body = {"resourceType": "Binary", "id": "b", "contentType": "text/plain", "data": data("Dear colleague")}
    parsed = read(body)
    (passage,) = parsed.passages
    assert (passage.text, passage.part) == ("Dear colleague", "data")
    assert only(parsed).field("content_type") == "text/plain"


def test_a_binary_that_is_no_text_stays_in_the_document_and_the_intake_says_so() -> None:
    parsed = read({"resourceType": "Binary", "id": "b", "contentType": "application/pdf", "data": "JVBERg=="})
    assert parsed.passages == ()
    assert "application/pdf" in line(parsed, "").detail


def test_a_specimen_supports_a_result_and_is_no_fact() -> None:
    specimen = {
        "resourceType": "Specimen",
        "id": "s",
        "status": "available",
        "subject": OF_P,
        "type": {"text": "Venous blood"},
        "collection": {"collectedDateTime": "2024-01-02T08:00:00Z", "collector": {"reference": "Practitioner/dr"}},
    }
    with Engine.open(":memory:") as engine:
        body = bundle(PATIENT, specimen, observation(specimen={"reference": "Specimen/s"}, valueInteger=60))
        engine.ingest("leo", json.dumps(body).encode(), source="x")
        graph = engine.graph("leo")
    (found,) = [s for s in graph.statements.values() if s.provenance.record.type == "Specimen"]
    assert found.field("name") == "Venous blood"
    assert when(found, Clock.EFFECTIVE) == ["2024-01-02T08:00:00Z"]
    assert found.id not in graph.fact_of
    assert [each.element for each in graph.unresolved] == ["collection/collector"]


def test_a_nutrition_order_is_an_order_of_its_diet() -> None:
    found = only(
        read(
            {
                "resourceType": "NutritionOrder",
                "id": "n",
                "status": "active",
                "intent": "order",
                "patient": OF_P,
                "dateTime": "2024-01-02",
                "orderer": {"reference": "Practitioner/dr"},
                "oralDiet": {"type": [{"text": "Low sodium diet"}], "instruction": "Starting with lunch"},
                "supplement": [{"type": {"text": "Protein powder"}}],
            }
        )
    )
    assert (found.kind, found.aspect, shown(found.concept)) == (Kind.ORDER, Aspect.ORDERED, "Low sodium diet")
    assert [shown(c.concept) for c in found.components] == ["Low sodium diet", "Protein powder"]
    assert found.field("instruction") == "Starting with lunch"
    assert who(found) == [("author", "orderer", "Practitioner/dr")]
    assert when(found, Clock.ORDERED) == ["2024-01-02"]


def test_a_device_request_is_an_order() -> None:
    found = only(
        read(
            {
                "resourceType": "DeviceRequest",
                "id": "d",
                "status": "active",
                "intent": "plan",
                "subject": OF_P,
                "codeCodeableConcept": {"text": "Walking stick"},
                "authoredOn": "2024-01-02",
                "requester": {"reference": "Practitioner/dr"},
            }
        )
    )
    assert (found.kind, found.aspect, shown(found.concept)) == (Kind.ORDER, Aspect.PROPOSED, "Walking stick")
    assert when(found, Clock.AUTHORED) == ["2024-01-02"]


def test_a_request_to_tell_somebody_something_is_a_communication_that_was_ordered() -> None:
    parsed = read(
        {
            "resourceType": "CommunicationRequest",
            "id": "c",
            "status": "active",
            "subject": OF_P,
            "doNotPerform": True,
            "requester": {"reference": "Practitioner/dr"},
            "authoredOn": "2024-01-02",
            "payload": [{"contentString": "Remind the patient of the flu vaccine."}],
        }
    )
    found = only(parsed)
    assert (found.kind, found.aspect, found.polarity) == (Kind.COMMUNICATION, Aspect.ORDERED, Polarity.DENIED)
    assert found.standing is Standing.ACTIVE
    assert [p.text for p in parsed.passages] == ["Remind the patient of the flu vaccine."]


def test_a_type_that_is_not_known_is_listed_and_never_dropped() -> None:
    found = line(read({"resourceType": "Basic", "id": "b", "subject": OF_P}), "")
    assert (found.outcome, found.reason, found.label) == (Outcome.IGNORED, Reason.UNSUPPORTED, "Basic")


# Absence


def test_an_element_that_says_why_it_is_absent_is_told_in_the_statement_and_the_intake() -> None:
    masked = {"extension": [{"url": ABSENT, "valueCode": "masked"}]}
    parsed = read(condition(_recordedDate=masked, severity=masked))
    assert only(parsed).field("absent_elements") == "recordedDate: masked; severity: masked"
    assert line(parsed, "").detail == "recordedDate is absent: masked; severity is absent: masked"


def test_an_item_whose_code_is_absent_says_nothing_and_why() -> None:
    unknown = {"extension": [{"url": ABSENT, "valueCode": "unknown"}]}
    found = line(read(condition(code=unknown)), "")
    assert (found.reason, found.detail) == (Reason.EMPTY, "code is absent: unknown; says nothing")


def empty(code: str) -> Json:
    system = "http://terminology.hl7.org/CodeSystem/list-empty-reason"
    return {"emptyReason": {"coding": [{"system": system, "code": code}]}}


def test_a_section_that_says_why_it_is_empty_has_a_line_and_is_told_by_its_document() -> None:
    composition = {
        "resourceType": "Composition",
        "id": "ips",
        "status": "final",
        "subject": OF_P,
        "type": {"text": "Patient summary"},
        "author": [{"reference": "Practitioner/dr"}],
        "section": [
            {"title": "Medications", **empty("unavailable")},
            {
                "title": "Plan",
                "entry": [{"reference": "CarePlan/1"}],
                "section": [{"title": "Devices", **empty("nilknown")}],
            },
        ],
    }
    parsed = read(composition)
    assert only(parsed).field("absent") == "Medications: unavailable; Devices: nilknown"
    sections = [each for each in parsed.intake if each.kind == "section"]
    assert [(each.place, each.reason, each.detail) for each in sections] == [
        ("/section/0", Reason.EMPTY, "no information: unavailable"),
        ("/section/1/section/0", Reason.EMPTY, "no information: nilknown"),
    ]


def test_a_list_that_says_why_it_is_empty_is_kept_with_the_reason() -> None:
    parsed = read(
        {
            "resourceType": "List",
            "id": "l",
            "status": "current",
            "mode": "working",
            "subject": OF_P,
            **empty("notasked"),
        }
    )
    assert only(parsed).field("absent") == "notasked"
    assert line(parsed, "").detail == "says why it is empty: notasked"


def test_the_summaries_without_information_say_so(data: Path) -> None:
    file = data / "ips_bundles" / "connectathon_May2026" / "Bundle-NZPSNoClinicalInfoBundle.json"
    parsed = read_bytes(file.read_bytes())
    assert [each.detail for each in parsed.intake if each.kind == "section"]
    assert all(each.detail.startswith("no information: ") for each in parsed.intake if each.kind == "section")


# Labels and references in extensions


def test_a_label_on_one_element_counts_for_the_whole_item() -> None:
    note = {"text": "Talked about drinking.", "extension": [labelled("ETH")]}
    parsed = read(condition(note=[note], _recordedDate={"extension": [labelled("PSY")]}))
    assert only(parsed).labels == (Label(ACT, "ETH"), Label(ACT, "PSY"))
    assert parsed.passages[0].labels == only(parsed).labels


def test_what_software_is_said_to_have_asserted_by_a_label_on_the_value_is_its_own() -> None:
    value = {"value": 6, "unit": "%", "extension": [labelled("AIAST", INTEGRITY)]}
    found = only(read(observation(valueQuantity=value, performer=[{"reference": "Practitioner/dr"}])))
    assert ("label", "valueQuantity", "AIAST") in who(found)
    note = {"text": "Draft.", "extension": [labelled("AIAST", INTEGRITY)]}
    other = only(read(observation(note=[note], performer=[{"reference": "Practitioner/dr"}])))
    assert "label" not in {part for part, _element, _named in who(other)}
    assert Label(INTEGRITY, "AIAST") in other.labels


def test_a_reference_to_a_type_that_its_element_does_not_allow_is_read() -> None:
    device = {"extension": [{"url": ALTERNATE, "valueReference": {"reference": "Device/ai"}}]}
    found = only(read(observation(performer=[device], valueInteger=1)))
    assert who(found) == [("performer", "performer/0", "Device/ai")]
    assert [(r.element, r.reference) for r in found.references] == [
        ("performer/0", "Device/ai"),
        ("subject", "Patient/p"),
    ]


# Keys that repeat


@pytest.mark.parametrize(
    ("body", "places"),
    [
        ('{"resourceType":"Condition","id":"c","code":{"text":"a","text":"b"},"id":"d"}', ["/code/text", "/id"]),
        (
            '{"resourceType":"Bundle","entry":[{"resource":{"resourceType":"Patient","a/b":[{"x":1,"x":2}],"a/b":[]}}]}',
            ["/entry/0/resource/a~1b/0/x", "/entry/0/resource/a~1b"],
        ),
        ('{"resourceType":"Patient","name":[{"text":"x: \\"y\\": :"}]}', []),
        (
            '{"resourceType":"Patient"}\n{"resourceType":"Condition","code":{"text":"a"},"code":{"text":"b"}}',
            ["/1/code"],
        ),
    ],
)
def test_a_key_that_stands_twice_is_named(body: str, places: list[str]) -> None:
    warned = [w.rpartition(": ")[2] for w in read_bytes(body.encode()).warnings if "twice" in w]
    assert warned == places


def test_other_items_are_read_beside_the_further_types() -> None:
    parsed = read(PATIENT, request(), {"resourceType": "Media", "id": "m", "subject": OF_P, "content": "no object"})
    assert line(parsed, "/entry/2/resource").reason is Reason.UNUSABLE
    assert any(s.kind is Kind.MEDICATION for s in parsed.statements)

"""Documents: what is refused, what is accounted for, whose items they are, and what their ids depend on."""

from __future__ import annotations

import copy
import json
import random
from decimal import Decimal
from typing import Any

import pytest
from fhir_small import (
    MINT,
    OF_P,
    PATIENT,
    RECEIVED,
    bundle,
    condition,
    line,
    observation,
    only,
    read,
    read_bytes,
    request,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from iamata.connectors.fhir import read as read_fhir
from iamata.connectors.fhir.values import digits
from iamata.errors import BadInput, TooLarge, UnknownFormat
from iamata.model.document import Outcome, Reason
from iamata.model.scope import patient
from iamata.model.statement import Kind

# Refusals


@pytest.mark.parametrize(
    ("body", "said", "place"),
    [
        (b"", "empty", ""),
        (b"\xef\xbb\xbf \n", "empty", ""),
        (b'{"resourceType": "Patient",\n "id": }', "not JSON", "line 2 column 8"),
        (b'{"resourceType": "Patient"} x', "trailing", "line 1 column 29"),
        (b'{"resourceType": "Patient", "id": "\xff"}', "UTF-8", "line 1 column 36"),
        (b'{"id": "p"}', "no resourceType", "/resourceType"),
        (b"[]", "no resourceType", "/resourceType"),
        (b'{"resourceType": 7}', "no resourceType", "/resourceType"),
    ],
)
def test_a_document_that_cannot_be_read_is_refused_with_the_place(body: bytes, said: str, place: str) -> None:
    with pytest.raises(BadInput, match=said) as caught:
        read_bytes(body)
    assert caught.value.place == place


def test_a_document_over_the_limit_is_refused_by_its_size() -> None:
    with pytest.raises(TooLarge, match="27 bytes, more than the 20"):
        read_fhir(
            b'{"resourceType":"Patient" }',
            subject=patient("p"),
            source="s",
            mint=MINT,
            document="d",
            received_at=RECEIVED,
            limit_bytes=20,
        )


@pytest.mark.parametrize("opened", [b"[", b'{"a":'])
def test_deep_nesting_is_refused_before_anything_is_decoded(opened: bytes) -> None:
    with pytest.raises(TooLarge, match="200 levels"):
        read_bytes(b'{"resourceType":"Patient","x":' + opened * 100_000)


def test_brackets_inside_strings_do_not_count_as_nesting() -> None:
    body = json.dumps({**PATIENT, "name": [{"text": '\\"' + "[" * 500 + '\\\\"{'}]}).encode()
    assert only(read_bytes(body)).kind is Kind.DEMOGRAPHIC


def test_r5_that_is_sent_as_r4_is_refused_and_named() -> None:
    r5 = {
        "resourceType": "MedicationRequest",
        "subject": OF_P,
        "medication": {"concept": {"text": "Amoxicillin"}},
    }
    with pytest.raises(UnknownFormat, match="R5") as caught:
        read(PATIENT, r5)
    assert caught.value.format == "fhir/r5"


# The account of everything


def test_every_entry_and_contained_resource_has_a_line_at_its_place() -> None:
    inside = {"resourceType": "Medication", "id": "med", "code": {"text": "Amoxicillin"}}
    parsed = read_bytes(
        json.dumps(
            {
                "resourceType": "Bundle",
                "type": "transaction",
                "entry": [
                    {"resource": PATIENT},
                    {"resource": request(contained=[inside])},
                    {"request": {"method": "DELETE", "url": "Condition/7"}},
                    {"fullUrl": "urn:uuid:1", "search": {"mode": "match"}},
                    {"resource": {"resourceType": "OperationOutcome", "issue": []}},
                    {"resource": {"id": "nameless"}},
                    {"resource": bundle(condition(id="inner"))},
                    "odd",
                ],
            }
        ).encode()
    )
    assert [
        (each.place, each.outcome.value, each.reason.value) for each in sorted(parsed.intake, key=lambda i: i.place)
    ] == [
        ("/entry/0/resource", "structured", ""),
        ("/entry/1/resource", "structured", ""),
        ("/entry/1/resource/contained/0", "structured", ""),
        ("/entry/2", "structured", ""),
        ("/entry/3", "ignored", "empty"),
        ("/entry/4/resource", "ignored", "unsupported"),
        ("/entry/5/resource", "ignored", "unusable"),
        ("/entry/6/resource/entry/0/resource", "structured", ""),
        ("/entry/7", "ignored", "unusable"),
    ]
    assert line(parsed, "/entry/2").label == "DELETE Condition"
    assert line(parsed, "/entry/4/resource").label == "OperationOutcome"
    places = {sighting.place.pointer for sighting in parsed.sightings}
    assert {"/entry/1/resource/contained/0", "/entry/6/resource/entry/0/resource"} <= places


def test_an_empty_bundle_says_so() -> None:
    parsed = read({"resourceType": "Bundle", "type": "searchset", "total": 0})
    assert parsed.statements == ()
    assert [(each.place, each.reason) for each in parsed.intake] == [("", Reason.EMPTY)]


def test_ndjson_of_one_patient_is_read_line_by_line() -> None:
    lines = [PATIENT, condition(), {"x": 1}, request()]
    body = "\n".join([*(json.dumps(each) for each in lines), '{"resourceType": "Patient"', ""]).encode()
    parsed = read_bytes(body)
    assert sorted(s.kind.value for s in parsed.statements) == ["condition", "demographic", "medication"]
    assert line(parsed, "/2").reason is Reason.UNUSABLE
    assert "not JSON" in line(parsed, "/4").detail
    assert {s.place.pointer for s in parsed.sightings} == {"/0", "/1", "/3"}


def test_the_label_is_type_and_code_and_never_a_name() -> None:
    parsed = read(
        {**PATIENT, "name": [{"text": "Ida Moss"}]},
        condition(code={"coding": [{"system": "http://snomed.info/sct", "code": "37796009", "display": "Migraine"}]}),
        condition(id="d", code={"text": "what Ida has"}),
    )
    assert [each.label for each in parsed.intake] == ["Patient", "Condition 37796009", "Condition"]


def test_no_line_and_no_warning_repeats_what_the_document_says_of_the_patient() -> None:
    marker = "Zzyzx"
    parsed = read(
        {**PATIENT, "name": [{"text": marker}], "birthDate": marker},
        {"resourceType": "Practitioner", "id": "a", "name": marker},
        condition(code={"text": marker}, onsetDateTime=marker, note=[{"text": marker, "time": marker}]),
        condition(code=marker),
        observation(status=marker, valueQuantity={"value": marker}),
        {"resourceType": "Basic", "id": "b", "text": {"div": marker}},
        {"resourceType": "QuestionnaireResponse", "subject": OF_P, "item": [{"linkId": "1", "text": marker}]},
    )
    assert marker not in repr((parsed.intake, parsed.warnings))


@pytest.mark.parametrize(
    ("broken", "pointer"),
    [
        ({"code": "Migraine"}, "/entry/1/resource/code"),
        ({"code": {"coding": {"code": 5}}}, "/entry/1/resource/code/coding/code"),
        ({"code": {"coding": ["E11"]}}, "/entry/1/resource/code/coding/0"),
        ({"stage": [{"summary": []}]}, "/entry/1/resource/stage/0"),
        ({"note": "later"}, "/entry/1/resource/note"),
        ({"onsetAge": {"value": "40"}}, "/entry/1/resource/onsetAge/value"),
        ({"asserter": {"reference": 7}}, "/entry/1/resource/asserter"),
        ({"identifier": [{"value": 7}]}, "/entry/1/resource/identifier/0/value"),
        ({"contained": [{"id": "x"}]}, "/entry/1/resource/contained/0"),
        ({"meta": []}, "/entry/1/resource/meta"),
    ],
)
def test_a_value_of_the_wrong_type_spoils_only_its_item(broken: dict[str, object], pointer: str) -> None:
    parsed = read(PATIENT, condition(**broken), observation())
    assert sorted(s.kind.value for s in parsed.statements) == ["demographic", "observation"]
    spoiled = line(parsed, "/entry/1/resource")
    assert (spoiled.outcome, spoiled.reason) == (Outcome.IGNORED, Reason.UNUSABLE)
    assert spoiled.detail.startswith(pointer), spoiled.detail


@pytest.mark.parametrize(
    "broken",
    [
        {"modifierExtension": [{"url": "http://example.org/not"}]},
        {"stage": [{"modifierExtension": [{"url": "http://example.org/not"}]}]},
    ],
)
def test_an_unknown_modifier_makes_an_item_unusable(broken: dict[str, object]) -> None:
    parsed = read(PATIENT, condition(**broken))
    spoiled = line(parsed, "/entry/1/resource")
    assert spoiled.reason is Reason.UNUSABLE
    assert "http://example.org/not" in spoiled.detail


def test_a_modifier_of_a_contained_resource_spoils_that_resource_only() -> None:
    inside = {
        "resourceType": "Medication",
        "id": "m",
        "code": {"text": "x"},
        "modifierExtension": [{"url": "http://example.org/not"}],
    }
    parsed = read(PATIENT, condition(contained=[inside]))
    assert line(parsed, "/entry/1/resource").outcome is Outcome.STRUCTURED
    assert line(parsed, "/entry/1/resource/contained/0").reason is Reason.UNUSABLE


def test_implicit_rules_make_an_item_unusable() -> None:
    parsed = read(condition(implicitRules="http://example.org/rules"))
    assert line(parsed, "").reason is Reason.UNUSABLE


def test_one_id_twice_is_kept_twice_and_warned_of_with_places() -> None:
    parsed = read(PATIENT, condition(), condition(code={"text": "Headache"}))
    assert [s.concept.text for s in parsed.statements if s.concept] == ["Migraine", "Headache"]
    assert parsed.warnings == ("Condition with one id stands 2 times: /entry/1/resource, /entry/2/resource",)


def test_equal_items_are_one_statement_seen_twice() -> None:
    parsed = read(PATIENT, condition(), condition())
    found = only(parsed, Kind.CONDITION)
    assert [s.place.pointer for s in parsed.sightings if s.item == found.id] == [
        "/entry/1/resource",
        "/entry/2/resource",
    ]


# Whose items


def test_items_of_another_patient_are_set_aside_and_counted() -> None:
    parsed = read(
        PATIENT,
        {"resourceType": "Patient", "id": "q", "name": [{"text": "Somebody Else"}]},
        condition(),
        observation(),
        condition(id="d", subject={"reference": "Patient/q"}),
        condition(id="e", subject={"reference": "http://other.example/fhir/Patient/r/_history/2"}),
    )
    assert parsed.set_aside == 3
    assert [s.kind for s in parsed.statements] == [Kind.DEMOGRAPHIC, Kind.CONDITION, Kind.OBSERVATION]
    for place in ("/entry/1/resource", "/entry/4/resource", "/entry/5/resource"):
        aside = line(parsed, place)
        assert (aside.reason, aside.detail) == (Reason.UNUSABLE, "of another patient")


@pytest.mark.parametrize(
    "subject",
    [
        {"reference": "Patient/p"},
        {"reference": "urn:uuid:0d1"},
        {"reference": "https://ehr.example/fhir/Patient/p"},
        {"reference": "Patient/p/_history/3"},
        {"reference": "Patient?identifier=urn:mrn|4711"},
        {"identifier": {"system": "urn:mrn", "value": "4711"}},
        {"identifier": {"system": "urn:elsewhere", "value": "9"}},
        {"display": "Ida Moss"},
    ],
)
def test_every_form_of_reference_can_name_the_patient(subject: dict[str, object]) -> None:
    body = {
        "resourceType": "Bundle",
        "type": "collection",
        "entry": [
            {
                "fullUrl": "urn:uuid:0d1",
                "resource": {**PATIENT, "identifier": [{"system": "urn:mrn", "value": "4711"}]},
            },
            {"resource": observation()},
            {"resource": condition(subject=subject)},
        ],
    }
    parsed = read(body)
    assert only(parsed, Kind.CONDITION)
    assert parsed.set_aside == 0


def test_another_number_of_the_patients_own_system_is_another_patient() -> None:
    parsed = read(
        {**PATIENT, "identifier": [{"system": "urn:mrn", "value": "4711"}]},
        observation(),
        condition(subject={"identifier": {"system": "urn:mrn", "value": "4712"}}),
    )
    assert parsed.set_aside == 1


def test_two_patients_named_equally_often_are_nobodys_unless_one_is_filed_under_its_id() -> None:
    resources = (
        PATIENT,
        {"resourceType": "Patient", "id": "q"},
        condition(),
        observation(subject={"reference": "Patient/q"}),
    )
    assert read(*resources).set_aside == 4
    parsed = read(*resources, subject="q")
    assert [s.kind for s in parsed.statements] == [Kind.DEMOGRAPHIC, Kind.OBSERVATION]


@pytest.mark.parametrize(
    ("subject", "said"),
    [("Group/g", "a group"), ("Device/d", "a device"), ("Location/l", "a location")],
)
def test_items_about_no_patient_are_unusable_with_the_reason(subject: str, said: str) -> None:
    parsed = read(PATIENT, observation(subject={"reference": subject}))
    assert line(parsed, "/entry/1/resource").detail == f"about {said}, not about a patient"
    assert parsed.set_aside == 0


def test_a_finding_about_a_relative_is_not_the_patients() -> None:
    parsed = read(PATIENT, observation(focus=[{"reference": "RelatedPerson/fetus"}]), observation(id="x", focus=[OF_P]))
    assert [s.provenance.record.reference for s in parsed.statements] == ["Patient/p", "Observation/x"]


def test_a_related_person_and_a_contained_patient_are_no_second_patient() -> None:
    parsed = read(
        PATIENT,
        {"resourceType": "RelatedPerson", "id": "mom", "patient": OF_P, "name": [{"family": "Moss"}]},
        condition(contained=[{"resourceType": "Patient", "id": "x", "gender": "female"}], subject=OF_P),
        observation(contained=[{"resourceType": "Patient", "id": "me"}], subject={"reference": "#me"}),
    )
    assert parsed.set_aside == 0
    assert [
        (s.provenance.record.reference, s.kind.value)
        for s in parsed.statements
        if "Patient" in s.provenance.record.type
    ] == [
        ("Patient/p", "demographic"),
        ("Condition/c#x", "person"),
        ("Observation/o#me", "demographic"),
    ]


# Ids and digests


def test_an_id_depends_on_source_record_and_content_and_on_nothing_else() -> None:
    base = only(read(PATIENT, condition()), Kind.CONDITION)
    alone = only(read(condition(), document="en_2"))
    assert (alone.id, alone.digest) == (base.id, base.digest)
    assert alone == base
    reordered = dict(reversed(condition().items()))
    assert only(read(reordered)).id == base.id
    assert only(read(condition(), source="eastgate")).id != base.id
    assert only(read(condition(id="d"))).id != base.id
    assert only(read(condition(code={"text": "Headache"}))).id != base.id


def test_numbers_that_are_written_differently_are_different_items() -> None:
    def read_value(text: str) -> str:
        body = json.dumps(observation(valueQuantity={"value": 0})).replace('"value": 0', f'"value": {text}')
        return only(read_bytes(body.encode())).id

    assert len({read_value("1"), read_value("1.0"), read_value("1.00")}) == 3


def test_contained_resources_are_named_after_their_container_and_inherit_its_labels() -> None:
    inside = {"resourceType": "Medication", "id": "med", "code": {"text": "Amoxicillin"}}
    label = {"security": [{"system": "http://terminology.hl7.org/CodeSystem/v3-Confidentiality", "code": "R"}]}
    parsed = read(request(contained=[inside], meta=label, medicationReference={"reference": "#med"}))
    product = only(parsed, Kind.MEDICATION_PRODUCT)
    assert product.provenance.record.reference == "MedicationRequest/m#med"
    assert [str(each) for each in product.labels] == ["http://terminology.hl7.org/CodeSystem/v3-Confidentiality|R"]


_ITEMS = [
    PATIENT,
    {"resourceType": "Patient", "id": "q"},
    condition(),
    condition(id="d", subject={"reference": "Patient/q"}),
    observation(valueQuantity={"value": 72, "unit": "/min"}),
    request(contained=[{"resourceType": "Medication", "id": "x", "code": {"text": "y"}}]),
    request(),
    {
        "resourceType": "QuestionnaireResponse",
        "id": "qr",
        "subject": OF_P,
        "item": [{"linkId": "1", "answer": [{"valueInteger": 6}]}],
    },
    {"resourceType": "Binary", "id": "b"},
    condition(id="e", code="broken"),
]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), cut=st.integers(1, len(_ITEMS) - 1))
def test_the_order_of_entries_changes_nothing(seed: int, cut: int) -> None:
    shuffled = list(_ITEMS)
    random.Random(seed).shuffle(shuffled)
    whole, other = read(*_ITEMS), read(*shuffled)
    assert {s.id: s for s in whole.statements} == {s.id: s for s in other.statements}
    assert whole.set_aside == other.set_aside
    fates = [sorted((i.label, i.outcome, i.reason) for i in parsed.intake) for parsed in (whole, other)]
    assert fates[0] == fates[1]


def _nodes(value: Any, found: list[tuple[Any, Any]]) -> None:
    """Every place of a JSON value that could hold something else."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inner:
        found.append((value, name))
        _nodes(each, found)


_ODD: list[Any] = [
    None,
    True,
    0,
    1.5,
    "",
    "x",
    [],
    {},
    [[]],
    [None],
    ["x"],
    {"coding": "x"},
    {"reference": []},
    {"value": "x"},
]


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_whatever_stands_in_one_item_the_others_are_read(data: st.DataObject) -> None:
    broken = copy.deepcopy(data.draw(st.sampled_from(_ITEMS)))
    for _ in range(data.draw(st.integers(1, 3))):
        nodes: list[tuple[Any, Any]] = []
        _nodes(broken, nodes)
        if nodes:
            holder, name = data.draw(st.sampled_from(nodes))
            holder[name] = copy.deepcopy(data.draw(st.sampled_from(_ODD)))
    parsed = read({"resourceType": "Immunization", "id": "ok", "vaccineCode": {"text": "MMR"}}, broken)
    assert "Immunization/ok" in {s.provenance.record.reference for s in parsed.statements}
    assert len(parsed.intake) >= 2


def test_decimals_keep_their_digits() -> None:
    assert [digits(Decimal(text), "v") for text in ("7.10", "1E-8", "0.0", "1E+3")] == [
        "7.10",
        "0.00000001",
        "0.0",
        "1E+3",
    ]

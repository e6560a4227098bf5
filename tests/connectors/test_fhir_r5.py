"""FHIR R5 is read as R4 is: twins give equal statements, by their own names and with their own identity."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fhir_small import MINT, OF_P, PATIENT, RECEIVED, bundle, line, only, when, who
from fuzz.laws import lawful
from hypothesis import given, settings
from hypothesis import strategies as st
from r5_twins import NoTwin, twin

from iamata.connectors.fhir import is_r5
from iamata.connectors.registry import detect, excerpt, parse
from iamata.engine import Engine
from iamata.model.clinical_time import Clock
from iamata.model.coding import CodedText
from iamata.model.document import Reason
from iamata.model.provenance import Place, SourceKind
from iamata.model.scope import patient
from iamata.model.statement import Aspect, Kind, Polarity, Standing, Statement
from iamata.ports import Parsed
from iamata.terminology.tables import rows

Json = dict[str, Any]
CASES = Path(__file__).parents[1] / "cases"
ATTRIBUTION = json.loads((CASES / "attribution" / "fhir_r4.json").read_text(encoding="utf-8"))
ATTRIBUTION = ATTRIBUTION["cases"] if isinstance(ATTRIBUTION, dict) else ATTRIBUTION
# Codes that a status has only in one of the two releases; what they mean is the same.
_SAME_STATUS = {
    "taking": "active",
    "completed": "finished",
    "in-progress": "arrived",
}


def read(*resources: Json, format: str = "fhir/r5") -> Parsed:
    value = resources[0] if len(resources) == 1 else bundle(*resources)
    return parse(
        json.dumps(value).encode(),
        format=format,
        subject=patient("leo"),
        source="northside",
        mint=MINT,
        document="en_1",
        received_at=RECEIVED,
    )


def said(statement: Statement) -> tuple[object, ...]:
    """What a statement says, without its id, digest and reader, and without the names of elements."""
    record = statement.provenance.record
    people = sorted(
        (e.part, e.reference, e.type, e.identifier, e.display, "" if e.part == "none" else e.value, e.time)
        for e in statement.authorship
    )
    status = _SAME_STATUS.get(statement.status, statement.status)
    return (
        record.reference.replace("DeviceUsage/", "DeviceUseStatement/"),
        record.version,
        record.identifiers,
        statement.part,
        statement.kind,
        statement.aspect,
        statement.concept,
        statement.polarity,
        "arrived" if record.type == "Encounter" and status == "triaged" else status,
        statement.standing,
        statement.verification,
        statement.times,
        tuple(f for f in statement.fields if f.name != "coverage_kind"),
        statement.components,
        # Who is named as an author is compared below: R4 may name them in an extension, which is no reference.
        sorted(
            (r.reference, r.identifier, r.type, r.display)
            for r in statement.references
            if r.reference not in {e.reference for e in statement.authorship}
        ),
        statement.labels,
        statement.domain,
        people,
    )


def same(old: list[Json], new: list[Json]) -> None:
    r4 = read(bundle(*old), format="fhir/r4")
    r5 = read(bundle(*new))
    assert [said(s) for s in r5.statements] == [said(s) for s in r4.statements]
    assert {s.provenance.reader for s in r5.statements} <= {"fhir-r5/4"}
    assert [(x.outcome, x.reason, x.place) for x in r5.intake] == [(x.outcome, x.reason, x.place) for x in r4.intake]
    assert [p.text for p in r5.passages] == [p.text for p in r4.passages]


def twins(resources: list[Json]) -> list[Json] | None:
    try:
        return [twin(resource) for resource in resources]
    except NoTwin:
        return None


@pytest.mark.parametrize("case", ATTRIBUTION, ids=lambda case: case["id"])
def test_the_twin_of_an_attribution_case_says_the_same(case: Json) -> None:
    new = twins(case["resources"])
    assert new is not None
    same(case["resources"], new)


def test_the_twins_of_the_attribution_cases_are_attributed_alike() -> None:
    for case in ATTRIBUTION:
        new = twins(case["resources"])
        assert new is not None, case["id"]
        if case.get("full_urls"):
            continue
        target = case["target"].replace("DeviceUseStatement/", "DeviceUsage/")
        with Engine.open(":memory:") as engine:
            kind = SourceKind(case.get("source_kind", "ehr"))
            engine.ingest("gold", json.dumps(bundle(*new)).encode(), source="x", source_kind=kind, format="fhir/r5")
            graph = engine.graph("gold")
        found = {
            (a.kind.value, a.author.role.value, a.directness.value, a.certainty.value, a.rule)
            for s in graph.statements.values()
            if s.provenance.record.reference == target
            for a in [graph.attributions[s.id]]
        }
        wanted = tuple(case["expected"][n] for n in ("kind", "role", "directness", "certainty", "rule"))
        assert found == {wanted}, case["id"]


def _reconciliation() -> list[tuple[str, list[Json]]]:
    cases = json.loads((CASES / "reconciliation" / "cases.json").read_text(encoding="utf-8"))
    cases = cases["cases"] if isinstance(cases, dict) else cases
    found = []
    for case in cases:
        for source in case.get("sources", []):
            entries = source.get("entries") or [{"resource": r} for r in source["resources"]]
            found.append((f"{case['id']}-{source['name']}", [e["resource"] for e in entries if "resource" in e]))
    return found


# What these hold has no like in R5 (`NoTwin`).
WITHOUT_TWIN = {"device-same-serial-ehr-a", "device-same-serial-ehr-b", "not-taken-alone-portal"}


@pytest.mark.parametrize("case", _reconciliation(), ids=lambda case: case[0] if isinstance(case, tuple) else "")
def test_the_twin_of_a_reconciliation_case_says_the_same(case: tuple[str, list[Json]]) -> None:
    new = twins(case[1])
    assert (new is None) == (case[0] in WITHOUT_TWIN)
    if new is not None:
        same(case[1], new)


@pytest.mark.parametrize("folder", ["fhir_r4_spec_examples", "us_core_examples", "ips_bundles"])
def test_the_twins_of_the_standards_examples_say_the_same(folder: str, data: Path) -> None:
    compared = 0
    for file in sorted((data / folder).rglob("*.json")):
        resource = json.loads(file.read_text(encoding="utf-8-sig"))
        if not isinstance(resource, dict) or "resourceType" not in resource:
            continue
        try:
            new = twin(resource)
        except NoTwin:
            continue
        old = read(resource, format="fhir/r4")
        found = read(new)
        assert [said(s) for s in found.statements] == [said(s) for s in old.statements], file.name
        assert [p.text for p in found.passages] == [p.text for p in old.passages], file.name
        compared += 1
    assert compared > 5


# What only R5 says


def shown(value: object) -> str:
    assert isinstance(value, CodedText)
    return value.display


def participant(function: str, actor: str) -> Json:
    system = "http://terminology.hl7.org/CodeSystem/provenance-participant-type"
    return {"function": {"coding": [{"system": system, "code": function}]}, "actor": {"reference": actor}}


CONDITION: Json = {"resourceType": "Condition", "id": "c", "subject": OF_P, "code": {"text": "Migraine"}}


def test_participants_are_evidence_under_their_own_names() -> None:
    given = [
        participant("verifier", "Practitioner/v"),
        participant("informant", "RelatedPerson/mum"),
        participant("author", "Practitioner/dr"),
        participant("enterer", "Practitioner/clerk"),
        {"actor": {"reference": "Practitioner/some"}},
    ]
    found = only(read({**CONDITION, "participant": given}))
    assert who(found) == [
        ("informant", "participant/1/actor", "RelatedPerson/mum"),
        ("recorder", "participant/2/actor", "Practitioner/dr"),
        ("enterer", "participant/3/actor", "Practitioner/clerk"),
        ("verifier", "participant/0/actor", "Practitioner/v"),
    ]
    assert [r.element for r in found.references] == [f"participant/{n}/actor" for n in range(5)] + ["subject"]


def statement(**more: Any) -> Json:
    return {
        "resourceType": "MedicationStatement",
        "id": "m",
        "status": "recorded",
        "subject": OF_P,
        "medication": {"concept": {"text": "Warfarin"}},
        **more,
    }


def adherence(code: str) -> Json:
    system = "http://hl7.org/fhir/CodeSystem/medication-statement-adherence"
    return {"code": {"coding": [{"system": system, "code": code}]}}


@pytest.mark.parametrize(
    ("code", "standing", "polarity"),
    [
        ("taking", Standing.ACTIVE, Polarity.AFFIRMED),
        ("taking-not-as-directed", Standing.ACTIVE, Polarity.AFFIRMED),
        ("not-taking", Standing.NOT_DONE, Polarity.DENIED),
        ("stopped-as-directed", Standing.STOPPED, Polarity.AFFIRMED),
        ("on-hold", Standing.ON_HOLD, Polarity.AFFIRMED),
        ("unknown", Standing.UNKNOWN, Polarity.AFFIRMED),
    ],
)
def test_whether_it_is_taken_stands_in_the_adherence(code: str, standing: Standing, polarity: Polarity) -> None:
    found = only(read(statement(adherence=adherence(code))))
    assert (found.status, found.standing, found.polarity) == (code, standing, polarity)
    assert found.aspect is Aspect.TAKEN


def test_a_recorded_statement_without_adherence_does_not_say_that_it_is_taken() -> None:
    assert only(read(statement())).standing is Standing.UNKNOWN


def test_entered_in_error_wins_over_any_adherence() -> None:
    found = only(read(statement(status="entered-in-error", adherence=adherence("taking"))))
    assert found.standing is Standing.ENTERED_IN_ERROR


def test_every_source_of_the_information_is_kept() -> None:
    sources = [{"reference": "Practitioner/dr"}, {"reference": "Patient/p"}]
    found = only(read(statement(informationSource=sources)))
    assert who(found) == [
        ("informant", "informationSource/0", "Practitioner/dr"),
        ("informant", "informationSource/1", "Patient/p"),
    ]


def r5_request(**more: Any) -> Json:
    return {
        "resourceType": "MedicationRequest",
        "id": "m",
        "status": "active",
        "intent": "order",
        "subject": OF_P,
        "medication": {"concept": {"text": "Warfarin"}},
        **more,
    }


def test_a_request_that_is_reported_by_the_patient_is_taken_as_told() -> None:
    found = only(read(r5_request(reported=True, informationSource=[{"reference": "Patient/p"}])))
    assert found.aspect is Aspect.TAKEN
    assert ("informant", "informationSource/0", "Patient/p") in who(found)


def test_an_order_for_which_the_patient_gave_information_is_still_an_order() -> None:
    found = only(read(r5_request(reported=False, informationSource=[{"reference": "Patient/p"}])))
    assert found.aspect is Aspect.ORDERED
    assert ("informant", "informationSource/0", "Patient/p") in who(found)
    assert ("flag", "reported", "false") in who(found)


def test_a_reported_request_without_a_source_is_attributed_as_in_r4() -> None:
    with Engine.open(":memory:") as engine:
        body = r5_request(reported=True, requester={"reference": "Practitioner/dr"})
        engine.ingest("leo", json.dumps(bundle(PATIENT, body)).encode(), source="x", format="fhir/r5")
        graph = engine.graph("leo")
    (found,) = [graph.attributions[s.id] for s in graph.statements.values() if s.kind is Kind.MEDICATION]
    assert (found.rule, found.because) == ("reported-flag", "reported=true")


def test_reasons_keep_their_places_among_codes_and_references() -> None:
    reasons = [{"concept": {"text": "AF"}}, {"reference": {"reference": "Condition/af"}}]
    found = only(read(r5_request(reason=reasons)))
    assert shown(found.field("reason")) == "AF"
    assert [r.element for r in found.references if r.reference == "Condition/af"] == ["reason/1/reference"]


def test_a_link_of_a_reason_is_made_from_r5_too() -> None:
    with Engine.open(":memory:") as engine:
        body = bundle(
            PATIENT,
            {**CONDITION, "clinicalStatus": {"coding": [{"code": "active"}]}},
            r5_request(reason=[{"reference": {"reference": "Condition/c"}}]),
        )
        engine.ingest("leo", json.dumps(body).encode(), source="x")
        links = engine.graph("leo").links.values()
    assert ("prescribed_for", "MedicationRequest.reason") in {(link.type.value, link.rule) for link in links}


def test_an_encounter_is_read_with_its_list_of_classes_and_its_plan() -> None:
    amb = {"system": "http://terminology.hl7.org/CodeSystem/v3-ActCode", "code": "AMB"}
    found = only(
        read(
            {
                "resourceType": "Encounter",
                "id": "e",
                "status": "completed",
                "class": [{"coding": [amb]}],
                "subject": OF_P,
                "actualPeriod": {"start": "2024-02-01T10:00:00Z", "end": "2024-02-01T10:30:00Z"},
                "plannedStartDate": "2024-02-01T09:45:00Z",
                "reason": [{"value": [{"concept": {"text": "cough"}}]}],
                "diagnosis": [{"condition": [{"concept": {"text": "bronchitis"}}], "use": [{"text": "discharge"}]}],
            }
        )
    )
    assert found.standing is Standing.COMPLETED
    assert shown(found.field("class")) == "AMB"
    assert shown(found.field("reason")) == "cough"
    assert when(found, Clock.EFFECTIVE) == ["2024-02-01T10:00:00Z to 2024-02-01T10:30:00Z"]
    assert when(found, Clock.PLANNED)[0].startswith("2024-02-01T09:45:00Z")
    assert [(shown(c.concept), c.value) for c in found.components] == [("bronchitis", "discharge")]


def test_a_consent_says_its_decision() -> None:
    found = only(
        read(
            {
                "resourceType": "Consent",
                "id": "k",
                "status": "active",
                "subject": OF_P,
                "date": "2024-02-01",
                "grantor": [OF_P],
                "decision": "deny",
                "category": [
                    {"coding": [{"system": "http://loinc.org", "code": "59284-0"}]},
                    {
                        "coding": [
                            {"system": "http://terminology.hl7.org/CodeSystem/consentscope", "code": "patient-privacy"}
                        ]
                    },
                ],
                "provision": [{"period": {"start": "2024-02-01"}}],
            }
        )
    )
    assert found.field("decision") == "deny"
    assert shown(found.field("scope")) == "patient-privacy"
    assert who(found) == [("performer", "grantor/0", "Patient/p")]
    assert when(found, Clock.AUTHORED) == ["2024-02-01"]


def test_a_device_usage_is_told_by_who_told_it() -> None:
    body = {
        "resourceType": "DeviceUsage",
        "id": "u",
        "status": "active",
        "patient": OF_P,
        "device": {"concept": {"text": "insulin pump"}},
        "informationSource": {"reference": "RelatedPerson/mum"},
        "dateAsserted": "2024-03-01",
    }
    found = only(read(body))
    assert (found.kind, shown(found.concept)) == (Kind.DEVICE, "insulin pump")
    assert who(found) == [("informant", "informationSource", "RelatedPerson/mum")]
    assert found.provenance.record.reference == "DeviceUsage/u"


def test_what_an_immunization_was_told_by_is_a_code_or_a_person() -> None:
    base = {"resourceType": "Immunization", "id": "i", "status": "completed", "patient": OF_P}
    base |= {"vaccineCode": {"text": "MMR"}, "occurrenceDateTime": "2020", "primarySource": False}
    recall = {"concept": {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/immunization-origin"}]}}
    recall["concept"]["coding"][0]["code"] = "recall"
    coded = only(read({**base, "informationSource": recall}))
    assert ("flag", "informationSource/concept", "recall") in who(coded)
    told = only(read({**base, "informationSource": {"reference": {"reference": "RelatedPerson/mum"}}}))
    assert ("informant", "informationSource/reference", "RelatedPerson/mum") in who(told)


def test_an_item_is_its_own_bytes_not_those_of_its_rewriting() -> None:
    old = only(read(r5_request(), format="fhir/r5"))
    again = only(read(json.loads(json.dumps(r5_request(), sort_keys=True)), format="fhir/r5"))
    in_r4 = {**r5_request(), "medicationCodeableConcept": {"text": "Warfarin"}}
    del in_r4["medication"]
    assert old.id == again.id
    assert old.digest != only(read(in_r4, format="fhir/r4")).digest


def test_a_document_that_mixes_the_releases_is_read_when_it_is_announced_as_r5() -> None:
    r4 = {"resourceType": "Procedure", "id": "x", "status": "completed", "subject": OF_P, "code": {"text": "ECG"}}
    parsed = read({**r4, "performedDateTime": "2020-01-02"}, r5_request())
    assert [when(s, Clock.EFFECTIVE) for s in parsed.statements if s.kind is Kind.PROCEDURE] == [["2020-01-02"]]
    assert not is_r5(json.dumps(bundle({**r4, "performedDateTime": "2020"}, r5_request())).encode())


@pytest.mark.parametrize(
    "resource",
    [
        r5_request(),
        statement(adherence=adherence("taking")),
        {"resourceType": "Encounter", "class": [{"coding": [{"code": "AMB"}]}]},
        {"resourceType": "DeviceUsage"},
        {**CONDITION, "participant": [participant("author", "Practitioner/dr")]},
        {"resourceType": "Procedure", "occurrenceDateTime": "2020"},
        {"resourceType": "Consent", "decision": "deny"},
    ],
    ids=lambda resource: str(resource["resourceType"]),
)
def test_a_shape_that_only_r5_has_is_recognised(resource: Json) -> None:
    assert detect(json.dumps(bundle(PATIENT, resource)).encode()) == "fhir/r5"
    assert detect(json.dumps(resource, indent=2).encode()) == "fhir/r5"


def test_the_fault_of_a_value_names_its_place_in_the_document() -> None:
    parsed = read(PATIENT, r5_request(reason=["cough"]), {**CONDITION, "participant": "me"})
    assert line(parsed, "/entry/1/resource").reason is Reason.UNUSABLE
    assert "reason/0 is no object" in line(parsed, "/entry/1/resource").detail
    assert "participant is no list" in line(parsed, "/entry/2/resource").detail


def test_a_passage_stands_at_its_place_in_the_r5_document() -> None:
    body = {
        "resourceType": "Communication",
        "id": "m",
        "status": "completed",
        "subject": OF_P,
        "payload": [{"contentCodeableConcept": {"text": "I feel dizzy."}}],
    }
    parsed = read(body)
    (passage,) = parsed.passages
    assert passage.part == "payload/0/contentCodeableConcept/text"
    (place,) = [s.place for s in parsed.sightings if s.item == passage.id]
    assert excerpt(json.dumps(body).encode(), "fhir/r5", Place(place.pointer)) == "I feel dizzy."


def test_every_row_of_the_table_names_an_action() -> None:
    from iamata.connectors.fhir.r5 import _ACTIONS

    assert {row["action"] for row in rows("fhir_r5_elements")} == set(_ACTIONS)


_ELEMENTS = sorted({(row["type"], row["element"].split("/")[0]) for row in rows("fhir_r5_elements")})
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *(
                        "concept",
                        "reference",
                        "actor",
                        "function",
                        "value",
                        "coding",
                        "code",
                        "text",
                        "condition",
                        "party",
                    )
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(_ELEMENTS), _JSON)
def test_whatever_an_element_holds_spoils_at_most_its_item(at: tuple[str, str], value: Any) -> None:
    type, element = at
    other = {"resourceType": type, "id": "x", element: value}
    parsed = lawful(json.dumps(bundle(PATIENT, other, CONDITION)).encode(), "fhir/r5")
    assert parsed is not None
    assert {line.place for line in parsed.intake} == {f"/entry/{n}/resource" for n in range(3)}
    assert any(s.kind is Kind.CONDITION for s in parsed.statements)

"""A patient as FHIR R4 and as a summary: valid, as precise as it was said, with who said it, labelled, both sides told.

What these export is ingested first, through the whole engine: the words are those that a user sends.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from fhir_valid import faults
from hypothesis import given, settings
from hypothesis import strategies as st

from iamata import ContextRequest, Engine, patient
from iamata.assembly.fhir import values
from iamata.errors import BadInput
from iamata.model.access import Access, PrincipalKind
from iamata.model.clinical_time import Period, parse_time
from iamata.model.coding import BusinessIdentifier, CodedText, Coding, Quantity, Range, Ratio
from iamata.model.session import Speaker, Turn
from iamata.model.statement import Label

NOW = datetime(2026, 2, 15, 9, 30, tzinfo=UTC)
SNOMED = "http://snomed.info/sct"
CONFIDENTIALITY = "http://terminology.hl7.org/CodeSystem/v3-Confidentiality"
ACT = "http://terminology.hl7.org/CodeSystem/v3-ActCode"
P = {"reference": "Patient/leo"}


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", clock=lambda: NOW) as opened:
        yield opened


def send(engine: Engine, *resources: dict[str, Any], source: str = "Northside") -> None:
    held = [{"resourceType": "Patient", "id": "leo", "name": [{"text": "Leo Ames"}], "birthDate": "2021-05-01"}]
    bundle = {"resourceType": "Bundle", "entry": [{"resource": each} for each in (*held, *resources)]}
    engine.ingest("leo", json.dumps(bundle).encode(), source=source)


def told(engine: Engine, **more: Any) -> dict[str, Any]:
    """The export, found valid."""
    bundle: dict[str, Any] = json.loads(engine.export_fhir("leo", **more))
    assert faults(bundle) == []
    return bundle


def of(bundle: dict[str, Any], type: str) -> list[dict[str, Any]]:
    return [e["resource"] for e in bundle["entry"] if e["resource"]["resourceType"] == type]


def provenance_of(bundle: dict[str, Any], resource: dict[str, Any]) -> dict[str, Any]:
    [url] = [e["fullUrl"] for e in bundle["entry"] if e["resource"] is resource]
    [found] = [p for p in of(bundle, "Provenance") if p["target"] == [{"reference": url}]]
    return found


def coded(system: str, code: str, text: str = "") -> dict[str, Any]:
    return {"coding": [{"system": system, "code": code}]} | ({"text": text} if text else {})


ASTHMA: dict[str, Any] = {
    "resourceType": "Condition",
    "id": "c1",
    "identifier": [{"system": "urn:oid:1.2.3", "value": "77"}],
    "clinicalStatus": coded("http://terminology.hl7.org/CodeSystem/condition-clinical", "active"),
    "code": coded(SNOMED, "195967001", "Asthma, as written"),
    "subject": P,
    "onsetDateTime": "2015",
    "recordedDate": "2020-03-04T10:00:00+01:00",
    "recorder": {"reference": "Practitioner/ames", "display": "Dr Ames"},
}
NO_ALLERGIES: dict[str, Any] = {
    "resourceType": "AllergyIntolerance",
    "id": "a1",
    "clinicalStatus": coded("http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical", "active"),
    "code": coded(SNOMED, "716186003", "No known allergies"),
    "patient": P,
    "recordedDate": "2024-03-02",
}


def order(dose: str, **more: Any) -> dict[str, Any]:
    return {
        "resourceType": "MedicationRequest",
        "id": "m1",
        "status": "active",
        "intent": "order",
        "subject": P,
        "medicationCodeableConcept": {"text": "Lisinopril"},
        "authoredOn": "2026-02-10",
        "dosageInstruction": [{"text": dose}],
        **more,
    }


def test_a_fact_is_a_resource_with_codes_as_given_times_as_precise_as_said_and_its_identifiers(engine: Engine) -> None:
    send(engine, ASTHMA)
    [condition] = of(told(engine), "Condition")
    assert condition["code"]["coding"] == [{"system": SNOMED, "code": "195967001"}]
    assert condition["code"]["text"] == "Asthma, as written"
    assert condition["onsetDateTime"] == "2015"
    assert condition["recordedDate"] == "2020-03-04T10:00:00+01:00"
    assert condition["clinicalStatus"]["coding"][0]["code"] == "active"
    systems = [each["system"] for each in condition["identifier"]]
    assert systems == ["urn:iamata:root", "urn:oid:1.2.3"]
    graph = engine.graph("leo")
    [fact] = [f for f in graph.facts.values() if f.kind == "condition"]
    assert condition["identifier"][0]["value"] == graph.statements[fact.members[0]].digest


def test_a_provenance_names_the_authors_the_documents_and_the_records_there(engine: Engine) -> None:
    send(engine, ASTHMA)
    bundle = told(engine)
    [condition] = of(bundle, "Condition")
    provenance = provenance_of(bundle, condition)
    author, assembler = provenance["agent"]
    assert condition["recorder"] == {"type": "Practitioner", "display": "Dr Ames"}
    assert author["who"] == {"type": "Practitioner", "display": "Dr Ames"}
    assert author["type"]["coding"][0]["code"] == "author"
    assert author["role"] == [{"text": "clinician, system-reported"}]
    assert (assembler["type"]["coding"][0]["code"], assembler["who"]["display"]) == ("assembler", "iamata")
    assert provenance["recorded"] == "2026-02-15T09:30:00.000Z"
    [document] = engine.graph("leo").documents
    named = [each["what"]["identifier"] for each in provenance["entity"]]
    assert {"system": "urn:iamata:document", "value": document} in named
    assert {"system": "urn:iamata:source:Northside", "value": "Condition/c1"} in named


def test_labels_are_the_union_and_of_confidentiality_the_highest(engine: Engine) -> None:
    def labelled(*labels: tuple[str, str]) -> dict[str, Any]:
        return {"meta": {"security": [{"system": s, "code": c} for s, c in labels]}}

    send(engine, ASTHMA | labelled((CONFIDENTIALITY, "N"), (ACT, "PSY")))
    send(engine, ASTHMA | labelled((CONFIDENTIALITY, "R"), (ACT, "HIV")), source="Eastgate")
    bundle = told(engine)
    [condition] = of(bundle, "Condition")
    expected = [{"system": ACT, "code": "HIV"}, {"system": ACT, "code": "PSY"}]
    expected.append({"system": CONFIDENTIALITY, "code": "R"})
    for where in (condition, provenance_of(bundle, condition), bundle):
        assert where["meta"]["security"] == expected


def test_what_is_withheld_from_a_reader_is_in_no_resource_identifier_or_count(engine: Engine) -> None:
    send(engine, ASTHMA)
    secret = {"id": "h", "code": {"text": "Zwyxbar"}, "meta": {"security": [{"system": ACT, "code": "PSY"}]}}
    send(engine, ASTHMA | secret, order("10 mg"), source="Zwyxbar clinic")
    access = Access(kind=PrincipalKind.OPERATOR, id="x", withheld=frozenset({Label(ACT, "PSY")}))
    shown = json.dumps(told(engine, access=access))
    assert "Zwyxbar" in json.dumps(told(engine))
    assert shown.count("Zwyxbar disease") == 0
    assert "PSY" not in shown
    digest = next(s.digest for s in engine.graph("leo").statements.values() if s.provenance.record.key == "Condition/h")
    assert digest not in shown
    assert "Zwyxbar" not in json.dumps(of(json.loads(engine.summary("leo", access=access)), "Condition"))


def test_both_sides_of_a_conflict_are_told_with_who_says_what(engine: Engine) -> None:
    send(engine, order("10 mg", requester={"display": "Dr Ames", "type": "Practitioner"}))
    send(engine, order("20 mg"), source="Eastgate")
    bundle = told(engine)
    [issue] = of(bundle, "DetectedIssue")
    [medication] = of(bundle, "MedicationRequest")
    assert issue["code"]["coding"] == [{"system": "urn:iamata:conflict", "code": "dose"}]
    assert sorted(side["code"][0]["text"] for side in issue["evidence"]) == ["10 mg", "20 mg"]
    [url] = [e["fullUrl"] for e in bundle["entry"] if e["resource"] is medication]
    assert issue["implicated"] == [{"reference": url}]
    roots = {each["value"] for each in medication["identifier"] if each["system"] == "urn:iamata:root"}
    sides = {side["detail"][0]["identifier"]["value"] for side in issue["evidence"]}
    assert sides == roots
    assert issue["author"]["display"] == "iamata"
    [note] = medication["note"]
    assert (note["authorString"], "10 mg | 20 mg" in note["text"]) == ("iamata", True), "who reads it alone is warned"
    assert "10 mg | 20 mg" in issue["detail"]


def test_what_was_said_stays_what_was_said(engine: Engine) -> None:
    send(engine, order("10 mg"))
    engine.append("leo", "s", [Turn(Speaker.CAREGIVER, "We stopped the lisinopril.", "mother", said_at=NOW)])
    bundle = told(engine)
    [said] = of(bundle, "Communication")
    assert said["payload"] == [{"contentString": "We stopped the lisinopril"}]
    assert said["sender"]["type"] == "RelatedPerson"
    assert said["sent"] == "2026-02-15T09:30:00.000Z"
    [medication] = of(bundle, "MedicationRequest")
    assert medication["status"] == "active", "a memory changes no fact"
    [url] = [e["fullUrl"] for e in bundle["entry"] if e["resource"] is medication]
    assert {"reference": url} in said["about"]
    entities = provenance_of(bundle, said)["entity"]
    assert entities[0]["what"]["identifier"] == {"system": "urn:iamata:session", "value": "s"}
    [issue] = of(bundle, "DetectedIssue")
    [talk] = [e["fullUrl"] for e in bundle["entry"] if e["resource"] is said]
    assert {"reference": talk} in issue["implicated"]


def test_the_aspect_decides_what_a_medication_is(engine: Engine) -> None:
    taken = {"resourceType": "MedicationStatement", "id": "t", "status": "active", "subject": P}
    given = {"resourceType": "MedicationAdministration", "id": "g", "status": "completed", "subject": P}
    given |= {"effectiveDateTime": "2026-02-01", "medicationCodeableConcept": {"text": "Cefazolin"}}
    send(
        engine,
        order("10 mg"),
        taken | {"medicationCodeableConcept": {"text": "Metformin"}, "informationSource": P},
        given,
    )
    bundle = told(engine)
    assert [m["medicationCodeableConcept"]["text"] for m in of(bundle, "MedicationRequest")] == ["Lisinopril"]
    [metformin] = of(bundle, "MedicationStatement")
    assert metformin["medicationCodeableConcept"]["text"] == "Metformin"
    [leo] = [e["fullUrl"] for e in bundle["entry"] if e["resource"]["resourceType"] == "Patient"]
    assert metformin["informationSource"] == {"reference": leo, "type": "Patient"}
    assert provenance_of(bundle, metformin)["agent"][0]["role"] == [{"text": "patient, user-reported"}]
    assert [m["effectiveDateTime"] for m in of(bundle, "MedicationAdministration")] == ["2026-02-01"]


def test_a_status_that_nobody_gave_is_absent_and_not_guessed(engine: Engine) -> None:
    silent = {k: v for k, v in NO_ALLERGIES.items() if k != "clinicalStatus"} | {"code": {"text": "Peanut"}}
    send(engine, silent, {k: v for k, v in ASTHMA.items() if k != "clinicalStatus"})
    bundle = told(engine)
    [allergy] = of(bundle, "AllergyIntolerance")
    assert "coding" not in allergy["clinicalStatus"]
    assert allergy["clinicalStatus"]["extension"][0]["valueCode"] == "unknown"
    assert "clinicalStatus" not in of(bundle, "Condition")[0]


def test_a_denial_is_refuted_and_a_none_known_keeps_its_code(engine: Engine) -> None:
    refuted = ASTHMA | {
        "verificationStatus": coded("http://terminology.hl7.org/CodeSystem/condition-ver-status", "refuted")
    }
    send(engine, NO_ALLERGIES, refuted)
    bundle = told(engine)
    assert of(bundle, "Condition")[0]["verificationStatus"]["coding"][0]["code"] == "refuted"
    [none] = of(bundle, "AllergyIntolerance")
    assert none["code"]["coding"][0]["code"] == "716186003"
    assert "verificationStatus" not in none


def test_what_was_entered_in_error_is_not_exported(engine: Engine) -> None:
    wrong = ASTHMA | {
        "verificationStatus": coded("http://terminology.hl7.org/CodeSystem/condition-ver-status", "entered-in-error")
    }
    send(engine, wrong)
    assert of(told(engine), "Condition") == []


def test_kinds_without_a_resource_are_counted(engine: Engine) -> None:
    claim = {"resourceType": "Claim", "id": "k", "status": "active", "type": {"text": "x"}, "use": "claim"}
    send(engine, claim | {"patient": P, "created": "2026-01-01", "total": {"value": 3, "currency": "USD"}})
    [outcome] = of(told(engine), "OperationOutcome")
    assert outcome["issue"][0]["diagnostics"].startswith("1 of kind claim")


def test_numbers_keep_their_digits(engine: Engine) -> None:
    result = {"resourceType": "Observation", "id": "o", "status": "final", "subject": P, "code": {"text": "Potassium"}}
    body = json.dumps(result | {"effectiveDateTime": "2026-02-01", "valueQuantity": {"value": 12345, "unit": "mmol/L"}})
    engine.ingest("leo", body.replace("12345", "4.10").encode(), source="lab", format="fhir/r4")
    assert b'"value":4.10' in engine.export_fhir("leo")


def test_the_same_graph_gives_the_same_bytes(engine: Engine) -> None:
    send(engine, ASTHMA, NO_ALLERGIES, order("10 mg"))
    assert engine.export_fhir("leo") == engine.export_fhir("leo")
    assert engine.summary("leo") == engine.summary("leo")


# ------------------------------------------------------------------- the summary


def summed(engine: Engine) -> dict[str, Any]:
    bundle: dict[str, Any] = json.loads(engine.summary("leo"))
    assert faults(bundle) == []
    return bundle


def sections(bundle: dict[str, Any]) -> dict[str, dict[str, Any]]:
    composition = bundle["entry"][0]["resource"]
    assert composition["resourceType"] == "Composition"
    return {section["code"]["coding"][0]["code"]: section for section in composition["section"]}


def test_a_summary_says_no_information_where_there_is_none_and_never_that_there_is_none(engine: Engine) -> None:
    engine.put_patient("leo")
    bundle = summed(engine)
    held = sections(bundle)
    assert list(held) == ["48765-2", "10160-0", "11450-4"], "allergies, medications, problems are always there"
    for section in held.values():
        assert section["emptyReason"]["coding"][0]["code"] == "unavailable"
        assert "no information recorded" in section["text"]["div"]
        assert "does not say that there are none" in section["text"]["div"]
        assert "entry" not in section
    assert "known" not in json.dumps(held)


def test_a_summary_says_none_known_where_a_source_said_so(engine: Engine) -> None:
    send(engine, NO_ALLERGIES)
    bundle = summed(engine)
    allergies = sections(bundle)["48765-2"]
    assert "emptyReason" not in allergies
    [entry] = allergies["entry"]
    [said] = [e["resource"] for e in bundle["entry"] if e["fullUrl"] == entry["reference"]]
    assert said["code"]["coding"][0]["code"] == "716186003"
    assert "No known allergies" in allergies["text"]["div"]


def test_a_summary_is_a_document_that_holds_all_it_refers_to(engine: Engine) -> None:
    gone = ASTHMA | {"id": "c2", "code": {"text": "Pneumonia"}, "onsetDateTime": "2019"}
    gone |= {"clinicalStatus": coded("http://terminology.hl7.org/CodeSystem/condition-clinical", "resolved")}
    results = [
        {"resourceType": "Observation", "id": f"o{day}", "status": "final", "subject": P, "code": {"text": "Glucose"}}
        | {"effectiveDateTime": f"2026-02-0{day}", "valueQuantity": {"value": 90 + day, "unit": "mg/dL"}}
        for day in (1, 2, 3)
    ]
    send(engine, ASTHMA, gone, order("10 mg"), *results)
    engine.append("leo", "s", [Turn(Speaker.PATIENT, "I am worried about <b>my</b> heart & more.", said_at=NOW)])
    bundle = summed(engine)
    assert (bundle["type"], bundle["timestamp"]) == ("document", "2026-02-15T09:30:00.000Z")
    assert bundle["identifier"]["system"] == "urn:iamata:summary"
    held = sections(bundle)
    assert "Asthma" in held["11450-4"]["text"]["div"]
    assert "Pneumonia" in held["11348-0"]["text"]["div"]
    assert "Pneumonia" not in held["11450-4"]["text"]["div"]
    assert [e["valueQuantity"]["value"] for e in of(bundle, "Observation")] == [93], "the latest of each result"
    assert "&lt;b&gt;" in held["81338-6"]["text"]["div"]
    # What the IPS asks of Composition and Patient.
    composition = bundle["entry"][0]["resource"]
    assert composition["type"]["coding"][0]["code"] == "60591-5"
    assert {"status", "subject", "date", "author", "title"} <= composition.keys()
    [patient] = of(bundle, "Patient")
    assert patient["name"] == [{"text": "Leo Ames"}]
    assert patient["birthDate"] == "2021-05-01"


def test_a_summary_has_the_sections_that_published_summaries_have(data: Path, engine: Engine) -> None:
    """The codes of our sections are those of files from the IPS connectathons, under the same titles' codes."""
    seen: dict[str, int] = {}
    for file in sorted((data / "ips_bundles").rglob("*.json")):
        held = json.loads(file.read_text("utf-8"))
        for entry in held.get("entry", ()):
            if entry.get("resource", {}).get("resourceType") == "Composition":
                for section in entry["resource"].get("section", ()):
                    for coding in section.get("code", {}).get("coding", ()):
                        seen[coding.get("code", "")] = seen.get(coding.get("code", ""), 0) + 1
    from iamata.assembly.fhir.summary import SECTIONS

    assert {section.code for section in SECTIONS if section.required} <= seen.keys()
    assert [section.code for section in SECTIONS if section.code not in seen] == []


# ------------------------------------------------------------------- real files, and every value


KINDS = (
    "synthea_r4_bundles/*.json",
    "ips_bundles/**/*.json",
    "us_core_examples/*.json",
    "fhir_r4_spec_examples/*.json",
    "ccda_onc_cert/**/*.xml",
    "hl7v2_messages/**/*.hl7",
    "x12_claims/**/*.*",
)


@pytest.mark.parametrize("kind", KINDS)
def test_real_patients_are_valid_fhir(data: Path, kind: str, engine: Engine) -> None:
    files = sorted((f for f in data.glob(kind) if f.is_file()), key=lambda f: (f.stat().st_size, f.name))
    files = [f for f in files if f.stat().st_size < 600_000]
    exported = 0
    for file in files[:: max(1, len(files) // 8)]:
        try:
            engine.ingest("leo", file.read_bytes(), name=file.name, after_erasure=True)
        except BadInput:
            continue
        bundle = told(engine)
        summed(engine)
        graph = engine.graph("leo")
        resources = {e["resource"]["id"] for e in bundle["entry"]}
        left = sum(int(i["diagnostics"].split()[0]) for o in of(bundle, "OperationOutcome") for i in o["issue"])
        demographics = sum(f.kind == "demographic" for f in graph.facts.values())
        assert sum(id.replace("_", "-") in resources for id in graph.facts) + left + demographics == len(graph.facts)
        exported += 1
        engine.delete_patient("leo")
    assert exported >= 3


texts = st.text(max_size=12)
times = st.one_of(
    st.sampled_from(["2015", "2015-06", "2015-06-10", "2026-02-10T10:00Z", "2026-02-10T10:00:00", "in her twenties"]),
    st.datetimes(timezones=st.just(UTC)).map(lambda d: d.isoformat()),
    texts,
).map(parse_time)
numbers = st.one_of(st.decimals(allow_nan=True, allow_infinity=True).map(str), texts)
quantities = st.builds(
    Quantity, numbers, texts, texts, st.sampled_from(["", "<", ">=", "~"]), st.sampled_from(["", "mg"])
)
codes = st.builds(
    CodedText,
    texts,
    st.lists(st.builds(Coding, st.one_of(texts, st.just(SNOMED)), texts, texts), max_size=2).map(tuple),
)
EVERY = st.one_of(
    st.booleans(),
    st.integers(),
    texts,
    codes,
    quantities,
    st.builds(Range, st.none() | quantities, st.none() | quantities),
    st.builds(Ratio, quantities, quantities),
    times,
    st.builds(Period, st.none() | times, st.none() | times),
)
TYPES = frozenset(
    {"Quantity", "CodeableConcept", "string", "boolean", "integer", "Range", "Ratio", "dateTime", "Period"}
)


@settings(max_examples=300, deadline=None)
@given(value=EVERY)
def test_any_value_is_valid_or_left_out(value: Any) -> None:
    held = values.choice("value", value, TYPES)
    observation = {"resourceType": "Observation", "id": "x", "status": "final", "code": {"text": "x"}} | held
    bundle = {"resourceType": "Bundle", "type": "collection"}
    bundle |= {"entry": [{"fullUrl": "urn:x", "resource": json.loads(fhir_bytes(observation))}]}
    assert faults(bundle) == []


def fhir_bytes(resource: dict[str, Any]) -> bytes:
    from iamata.assembly.fhir import encode

    return encode(resource)


def test_times_are_told_no_more_precisely_than_they_were_said() -> None:
    told = {
        "2015": "2015",
        "2015-06": "2015-06",
        "2015-06-10": "2015-06-10",
        "2015-06-10T10:00": "2015-06-10",
        "2015-06-10T10:00:30": "2015-06-10",
        "2015-06-10T10:00+02:00": "2015-06-10T10:00:00+02:00",
        "2015-06-10T10:00:30.5Z": "2015-06-10T10:00:30.5Z",
        "2015-06-10T24:00:00Z": "2015-06-10",
        "last spring": "",
    }
    assert {said: values.moment(parse_time(said)) for said in told} == told
    backwards = Period(parse_time("2020-05-01"), parse_time("2019"))
    assert values.period(backwards) == {"start": "2020-05-01"}


def test_systems_are_addresses_and_other_names_are_left_out() -> None:
    assert values.system("2.16.840.1.113883.6.96") == SNOMED
    assert values.system("urn:oid:2.16.840.1.113883.6.1") == "http://loinc.org"
    assert values.system("1.2.3.4") == "urn:oid:1.2.3.4"
    assert values.system("L") == ""
    assert values.identifier(BusinessIdentifier("L", "7")) == {"value": "7"}
    assert values.number("4.10") == Decimal("4.10")
    assert values.number("positive") is None


def test_the_members_of_a_care_team_stand_in_its_line_and_go_out_again() -> None:
    """With the role that the source gives; of whom it gives none, only the name."""
    team = {
        "resourceType": "CareTeam", "id": "t", "status": "active", "name": "Heart team",
        "participant": [
            {"role": [{"text": "Cardiologist"}], "member": {"display": "Ida Berg"}},
            {"member": {"display": "Per Lund"}},
        ],
    }  # fmt: skip
    with Engine.open(":memory:") as engine:
        engine.ingest("p", json.dumps(team).encode(), source="ehr", format="fhir/r4")
        text = engine.context(
            ContextRequest(subjects=(patient("p"),), task="care_coordination", budget_tokens=500)
        ).text
        assert "Heart team, with Ida Berg (Cardiologist); Per Lund, active" in text
        out = json.loads(engine.export_fhir("p"))
    (sent,) = (each["resource"] for each in out["entry"] if each["resource"]["resourceType"] == "CareTeam")
    assert sent["participant"] == [
        {"role": [{"text": "Cardiologist"}], "member": {"display": "Ida Berg"}},
        {"member": {"display": "Per Lund"}},
    ]

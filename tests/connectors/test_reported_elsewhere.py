"""What users of other readers of records reported as lost or turned round, by kind: negation, null values, ids, dates,
encodings, references, segments. Each case stands in the smallest document that shows it."""

from __future__ import annotations

import json
from typing import Any

import ccda_small as cda
import fhir_small as fhir
import hl7_small as hl7
import pytest

from iamata import Engine
from iamata.model.clinical_time import Clock
from iamata.model.document import Outcome
from iamata.model.graph import Graph
from iamata.model.statement import Kind, Polarity, Standing, Verification

MI = cda.cd("22298006", "Myocardial infarction")


def problem(inner: str, *, attributes: str = 'moodCode="EVN"', status: str = "active", id: str = "") -> bytes:
    own = f'<id root="9.9" extension="{id}"/>' if id else ""
    observation = cda.act("observation", "4", own + inner, attributes)
    return cda.document(cda.section("11450-4", cda.concern(observation, status=status)))


def graph(*documents: tuple[str, list[dict[str, Any]]]) -> Graph:
    with Engine.open(":memory:") as engine:
        for source, resources in documents:
            engine.ingest("p", json.dumps(fhir.bundle(fhir.PATIENT, *resources)).encode(), source=source)
        return engine.graph("p")


def allergy(**more: Any) -> dict[str, Any]:
    return {"resourceType": "AllergyIntolerance", "id": "a", "patient": fhir.OF_P, "code": {"text": "Peanut"}, **more}


class TestNegation:
    def test_a_ruled_out_infarction_is_never_a_confirmed_one(self) -> None:
        said = cda.only(cda.read(problem(MI, attributes='moodCode="EVN" negationInd="true"')), Kind.CONDITION)
        assert said.polarity is Polarity.DENIED
        assert said.verification is not Verification.CONFIRMED

    def test_a_resolved_problem_is_not_active_because_its_concern_is(self) -> None:
        ended = f'<effectiveTime><low value="2020"/><high value="2021"/></effectiveTime>{MI}'
        assert cda.only(cda.read(problem(ended, status="active")), Kind.CONDITION).standing is Standing.RESOLVED

    def test_no_known_problems_is_said_and_not_absent(self) -> None:
        said = cda.only(cda.read(problem(cda.cd("160245001", "No current problems or disability"))), Kind.CONDITION)
        assert said.polarity is Polarity.DENIED

    def test_a_refuted_condition_is_refuted(self) -> None:
        refuted = fhir.condition(verificationStatus={"coding": [{"code": "refuted"}]})
        assert fhir.only(fhir.read(refuted)).verification is Verification.REFUTED

    def test_an_allergy_entered_in_error_is_no_fact(self) -> None:
        wrong = allergy(verificationStatus={"coding": [{"code": "entered-in-error"}]})
        assert [f for f in graph(("one", [wrong])).facts.values() if f.kind == "allergy"] == []

    def test_no_known_allergies_ends_with_the_first_later_allergy(self) -> None:
        none = allergy(
            id="n",
            code={"coding": [{"system": "http://snomed.info/sct", "code": "716186003", "display": "No known allergy"}]},
            recordedDate="2020-01-01",
        )
        later = allergy(recordedDate="2024-05-05", onsetDateTime="2024-05-01")
        formed = graph(("one", [none, later]))
        assert [f.display for f in formed.facts.values() if f.kind == "allergy"] == ["Peanut"]
        assert formed.conflicts == {}

    def test_an_allergy_to_a_drug_is_no_medication_of_the_patient(self) -> None:
        parsed = hl7.read("AL1|1|DA|7980^Penicillin^RXNORM|SV|HIVES", event="ADT^A01")
        assert hl7.all_of(parsed, Kind.MEDICATION) == []
        assert len(hl7.all_of(parsed, Kind.ALLERGY)) == 1


class TestNullValues:
    def test_a_null_code_with_words_is_told_by_its_words_and_has_no_code_null(self) -> None:
        value = '<value xsi:type="CD" nullFlavor="UNK"><originalText>Chest trouble</originalText></value>'
        said = cda.only(cda.read(problem(value)), Kind.CONDITION)
        assert said.concept is not None
        assert (said.concept.display, said.concept.keys) == ("Chest trouble", ())

    def test_an_unknown_onset_is_no_time(self) -> None:
        unknown = f'<effectiveTime><low nullFlavor="UNK"/></effectiveTime>{MI}'
        said = cda.only(cda.read(problem(unknown)), Kind.CONDITION)
        assert said.time(Clock.EFFECTIVE) is None or said.time(Clock.EFFECTIVE).start is None  # type: ignore[union-attr]

    def test_a_null_id_names_nothing(self) -> None:
        body = problem(f'<id nullFlavor="NI"/>{MI}')
        assert cda.only(cda.read(body), Kind.CONDITION).identifiers == ()

    def test_a_value_that_is_absent_says_why_and_is_no_zero(self) -> None:
        absent = fhir.observation(dataAbsentReason={"coding": [{"code": "not-performed"}]})
        said = fhir.only(fhir.read(absent))
        assert said.field("value") is None
        assert said.field("absent") == "not-performed"


class TestIds:
    def test_the_same_document_again_has_the_same_ids(self) -> None:
        first, again = cda.read(problem(MI, id="p1")), cda.read(problem(MI, id="p1"), document="d2")
        assert {s.id for s in first.statements} == {s.id for s in again.statements}

    def test_two_sources_may_use_one_id_for_two_things(self) -> None:
        formed = graph(("one", [fhir.condition()]), ("two", [fhir.condition(code={"text": "Gout"})]))
        assert sorted(f.display for f in formed.facts.values() if f.kind == "condition") == ["Gout", "Migraine"]

    def test_an_entry_without_an_id_that_stands_twice_is_one_statement(self) -> None:
        entry = cda.concern(cda.act("observation", "4", MI))
        parsed = cda.read(cda.document(cda.section("11450-4", entry + entry)))
        assert len([s for s in parsed.statements if s.kind is Kind.CONDITION]) == 1

    def test_entries_without_an_id_that_differ_are_all_kept(self) -> None:
        both = [cda.concern(cda.act("observation", "4", value)) for value in (MI, cda.cd("90560007", "Gout"))]
        parsed = cda.read(cda.document(cda.section("11450-4", "".join(both))))
        assert len([s for s in parsed.statements if s.kind is Kind.CONDITION]) == 2


class TestDates:
    @pytest.mark.parametrize(
        "sent", ["2024", "2024-03", "2024-03-01", "2024-03-01T10:00:00", "2024-03-01T23:30:00-05:00"]
    )
    def test_a_date_keeps_its_precision_and_its_offset(self, sent: str) -> None:
        assert fhir.when(fhir.only(fhir.read(fhir.condition(onsetDateTime=sent))), Clock.EFFECTIVE) == [sent]

    def test_a_day_stays_that_day_whatever_the_zone(self) -> None:
        said = fhir.only(fhir.read(fhir.condition(onsetDateTime="2024-03-01T23:30:00-05:00")))
        at = said.time(Clock.EFFECTIVE)
        assert at is not None
        assert at.start is not None
        assert at.start.day == "2024-03-01"

    def test_minutes_with_an_offset_are_read_in_cda(self) -> None:
        timed = f'<effectiveTime value="202403011015-0500"/>{MI}'
        said = cda.only(cda.read(problem(timed)), Kind.CONDITION)
        assert str(said.time(Clock.EFFECTIVE).at) == "2024-03-01T10:15-05:00"  # type: ignore[union-attr]

    def test_a_time_without_an_offset_gets_none_in_hl7(self) -> None:
        obx = "OBX|1|NM|2951-2^Sodium^LN||140||||||F|||20250601083000"
        said = hl7.one(hl7.read("OBR|1|P|F|1^A^L", obx), Kind.OBSERVATION)
        assert hl7.time(said, Clock.EFFECTIVE) == "2025-06-01T08:30:00"


class TestEncodings:
    @pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
    def test_a_byte_order_mark_is_no_fault(self, codec: str) -> None:
        text = problem(cda.cd("22298006", "Ménière")).decode().replace(' encoding="UTF-8"', "")
        said = cda.only(cda.read(text.encode(codec)), Kind.CONDITION)
        assert said.concept is not None
        assert said.concept.display == "Ménière"

    def test_a_document_without_an_xml_declaration_is_read(self) -> None:
        text = problem(MI).decode().partition("?>")[2]
        assert cda.only(cda.read(text.encode()), Kind.CONDITION).concept is not None

    def test_the_declared_character_set_of_a_message_counts(self) -> None:
        body = hl7.message("OBR|1|P|F|1^A^L", "OBX|1|ST|1^Ménière^L||für||||||F").decode()
        body = body.replace("2.5.1||||||", "2.5.1||||||8859/1")
        said = hl7.one(hl7.read_bytes(body.encode("latin-1")), Kind.OBSERVATION)
        assert said.field("value") == "für"

    def test_escapes_are_undone_and_an_unescaped_ampersand_is_kept(self) -> None:
        said = hl7.one(hl7.read("OBR|1|P|F|1^A^L", r"OBX|1|ST|1^N^L||a\T\b \X41\ & c||||||F"), Kind.OBSERVATION)
        assert said.field("value") == "a&b A & c"


class TestReferences:
    def test_references_within_a_bundle_and_to_contained_resources_are_found(self) -> None:
        bundle = {
            "resourceType": "Bundle",
            "type": "collection",
            "entry": [
                {"resource": fhir.PATIENT},
                {"fullUrl": "urn:uuid:11111111-1111-4111-8111-111111111111", "resource": fhir.condition()},
                {
                    "resource": fhir.request(
                        reasonReference=[{"reference": "urn:uuid:11111111-1111-4111-8111-111111111111"}],
                        contained=[{"resourceType": "Practitioner", "id": "x", "name": [{"text": "Dr Ames"}]}],
                        requester={"reference": "#x"},
                    )
                },
            ],
        }
        with Engine.open(":memory:") as engine:
            engine.ingest("p", json.dumps(bundle).encode())
            formed = engine.graph("p")
        assert [link.type for link in formed.links.values() if link.confidence == 1.0] == ["prescribed_for"]
        [order] = [s for s in formed.statements.values() if s.kind is Kind.MEDICATION]
        assert formed.attributions[order.id].author.display == "Dr Ames"
        assert formed.unresolved == ()

    def test_a_reference_that_leads_nowhere_is_told_and_spoils_nothing(self) -> None:
        formed = graph(("one", [fhir.request(reasonReference=[{"reference": "Condition/none"}])]))
        assert [each.reference for each in formed.unresolved] == ["Condition/none"]
        assert [f.display for f in formed.facts.values() if f.kind == "medication"] == ["Amoxicillin"]


class TestSegments:
    def test_results_after_a_specimen_are_kept(self) -> None:
        parsed = hl7.read("OBR|1|P|F|1^A^L", "SPM|1|||BLD", "OBX|1|NM|2951-2^Sodium^LN||140||||||F")
        assert hl7.one(parsed, Kind.OBSERVATION).field("value") is not None

    def test_repeated_segments_are_all_kept(self) -> None:
        parsed = hl7.read("AL1|1|DA|1^Penicillin^L", "AL1|2|FA|2^Peanut^L", event="ADT^A01")
        names = [s.concept.display for s in hl7.all_of(parsed, Kind.ALLERGY) if s.concept]
        assert sorted(names) == ["Peanut", "Penicillin"]

    def test_the_date_of_an_allergy_is_its_identification_and_no_reaction(self) -> None:
        said = hl7.one(hl7.read("AL1|1|DA|1^Penicillin^L|SV|HIVES|20200301", event="ADT^A01"), Kind.ALLERGY)
        assert [component.concept.display for component in said.components] == ["HIVES"]
        assert "2020-03-01" in {str(timed.at) for timed in said.times}

    def test_a_segment_of_ones_own_is_listed(self) -> None:
        parsed = hl7.read("ZPI|1|x", event="ADT^A01")
        assert [(line.place, line.outcome) for line in parsed.intake if line.label == "ZPI"] == [
            ("/1/ZPI/1", Outcome.IGNORED)
        ]

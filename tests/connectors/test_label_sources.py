"""Labels as sources send them: documents, sections and entries of CDA, bundles of FHIR, messages of HL7 v2."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import ccda_small
import fhir_small
import hl7_small
import pytest
from ccda_small import act, cd, concern, document, inside, section
from fhir_small import bundle, condition

from iamata.connectors.registry import parse
from iamata.model.document import Outcome
from iamata.model.scope import patient
from iamata.model.statement import Kind, Label, Statement
from iamata.ports import Parsed
from iamata.terminology import security

CASES = tomllib.loads((Path(__file__).parents[1] / "cases" / "labels" / "documents.toml").read_text())["document"]
ACT = security.ACT_CODE
R = Label(security.CONFIDENTIALITY, "R")


def codes(item: Any) -> set[str]:
    return {label.code for label in item.labels}


@pytest.mark.parametrize("case", CASES, ids=lambda case: Path(case["file"]).stem)
def test_a_labelled_document_labels_everything_in_it(case: dict[str, Any], data: Path) -> None:
    parsed = ccda_small.read((data / case["file"]).read_bytes())
    assert len(parsed.statements) > 20
    assert parsed.passages
    for item in (*parsed.statements, *parsed.passages):
        assert codes(item) == set(case["every"]), item.provenance.record.key
    assert any(each.kind is Kind.PERSON for each in parsed.statements)
    assert not any("SECCONOBS" in str(each.concept) or "SECCLASSOBS" in str(each.concept) for each in parsed.statements)
    told = [line for line in parsed.intake if line.kind == "label"]
    assert [line.outcome for line in told] == ([Outcome.STRUCTURED] if case["every"] else [])


def annotation(*values: str) -> str:
    observations = "".join(
        f'<component><observation classCode="OBS" moodCode="EVN"><value xsi:type="CE" code="{code}" '
        f'codeSystem="2.16.840.1.113883.5.1063"/></observation></component>'
        for code in values
    )
    template = '<templateId root="2.16.840.1.113883.3.3251.1.4"/>'
    return f'<organizer classCode="CLUSTER" moodCode="EVN">{template}{observations}</organizer>'


def problem(name: str, more: str = "") -> str:
    return concern(act("observation", "4", cd("1", name) + more))


def named(parsed: Parsed, name: str) -> Statement:
    return next(s for s in parsed.statements if s.concept is not None and s.concept.display == name)


def test_an_annotation_in_an_entry_is_of_that_entry_alone() -> None:
    body = problem("Secret", inside(annotation("SUD", "NORDSCLCD"))) + problem("Plain")
    parsed = ccda_small.read(document(section("11450-4", body)))
    assert codes(named(parsed, "Secret")) == {"SUD", "NORDSCLCD"}
    assert named(parsed, "Plain").labels == ()
    assert Label(ACT, "SUD") in named(parsed, "Secret").labels


def test_an_annotation_that_is_an_entry_of_a_section_is_of_that_section_alone() -> None:
    labelled = section(
        "11450-4", problem("Secret") + f"<entry>{annotation('ETH')}</entry>", text="Some words of prose."
    )
    parsed = ccda_small.read(document(labelled, section("48765-2", problem("Plain"))))
    assert codes(named(parsed, "Secret")) == {"ETH"}
    assert named(parsed, "Plain").labels == ()
    assert len(parsed.statements) == len(
        ccda_small.read(
            document(section("11450-4", problem("Secret")), section("48765-2", problem("Plain")))
        ).statements
    )


def test_a_confidentiality_of_an_act_is_of_that_act_alone() -> None:
    body = problem("Secret", '<confidentialityCode code="R"/>') + problem("Plain")
    parsed = ccda_small.read(document(section("11450-4", body)))
    assert named(parsed, "Secret").labels == (R,)
    assert named(parsed, "Plain").labels == ()


def test_a_code_that_no_table_knows_is_kept_as_sent() -> None:
    parsed = ccda_small.read(document(section("11450-4", problem("Secret", inside(annotation("XYZ"))))))
    assert [str(label) for label in named(parsed, "Secret").labels] == ["urn:oid:2.16.840.1.113883.5.1063|XYZ"]


# ------------------------------------------------------------------- FHIR


SECRET = {"meta": {"security": [{"system": ACT, "code": "HIV"}]}}


def test_the_labels_of_a_bundle_are_those_of_everything_in_it() -> None:
    one, plain = bundle(condition(), **SECRET), bundle(condition())
    outer = {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": one}]}
    for sent in (one, outer):
        found = fhir_small.only(fhir_small.read(sent), Kind.CONDITION)
        assert found.labels == (Label(ACT, "HIV"),)
        unlabelled = fhir_small.only(fhir_small.read(plain), Kind.CONDITION)
        assert unlabelled.labels == ()
        assert unlabelled.id != found.id, "labels are part of what was said"


def test_answers_and_what_is_contained_have_the_labels_of_their_bundle() -> None:
    answers = {
        "resourceType": "QuestionnaireResponse",
        "id": "q",
        "status": "completed",
        "subject": fhir_small.OF_P,
        "item": [{"linkId": "1", "text": "Any?", "answer": [{"valueString": "yes"}]}],
    }
    order = fhir_small.request(
        contained=[{"resourceType": "Medication", "id": "m", "code": {"text": "Drug"}}],
        medicationReference={"reference": "#m"},
    )
    order.pop("medicationCodeableConcept", None)
    parsed = fhir_small.read(bundle(answers, order, **SECRET))
    assert len(parsed.statements) == 3
    assert {codes(each) == {"HIV"} for each in parsed.statements} == {True}


def test_a_bundle_whose_labels_cannot_be_read_is_not_read() -> None:
    parsed = fhir_small.read(bundle(condition(), meta={"security": ["R"]}))
    assert parsed.statements == ()
    assert [(line.outcome, line.detail) for line in parsed.intake] == [
        (Outcome.IGNORED, "/meta/security/0 is no object")
    ]


# ------------------------------------------------------------------- HL7 v2


def hl7(*segments: str, msh: str = "") -> Parsed:
    head = hl7_small.header("ORU^R01") + msh
    body = "".join(f"{line}\r" for line in (head, *segments)).encode()
    return parse(
        body, format="hl7v2", subject=patient("leo"), source="north", mint=hl7_small.MINT, document="en_1",
        received_at=hl7_small.RECEIVED,
    )  # fmt: skip


ORDER = ("OBR|1|P1|F1|4548-4^HbA1c^LN", "OBX|1|NM|4548-4^HbA1c^LN||6.1|%|||||F")


def test_a_message_that_is_classified_labels_all_its_items() -> None:
    parsed = hl7(hl7_small.PID, *ORDER, msh="||||||||R|NORDSCLCD")
    assert len(parsed.statements) > 1
    assert {frozenset(codes(each)) for each in parsed.statements} == {frozenset({"R", "NORDSCLCD"})}


def test_an_access_restriction_labels_what_it_restricts() -> None:
    parsed = hl7(hl7_small.PID, "ARV|1|A|HIV|PAT", "ARV|2|A|DEM|PAT", "ARV|3|A|OO|PAT", *ORDER)
    kinds = {each.kind: codes(each) for each in parsed.statements}
    assert kinds[Kind.DEMOGRAPHIC] == {"HIV", "DEM"}
    assert kinds[Kind.OBSERVATION] == {"HIV"}
    assert not parsed.warnings
    assert [line.detail for line in parsed.intake if line.kind == "label"] == [
        "an access restriction: read as labels"
    ] * 3


def test_a_restriction_that_is_taken_back_labels_nothing_and_one_that_is_not_known_labels_everything() -> None:
    assert {each.labels for each in hl7(hl7_small.PID, "ARV|1|D|HIV|PAT", *ORDER).statements} == {()}
    parsed = hl7(hl7_small.PID, "ARV|1|A|OURS|PAT", *ORDER)
    assert {frozenset(codes(each)) for each in parsed.statements} == {frozenset({"OURS"})}


def test_a_confidential_order_labels_what_stands_under_it() -> None:
    orc = hl7_small.segment("ORC", _1="RE", _2="P1", _28="PSY")
    parsed = hl7(hl7_small.PID, orc, *ORDER)
    kinds = {each.kind: codes(each) for each in parsed.statements}
    assert kinds[Kind.OBSERVATION] == {"PSY"}
    assert kinds[Kind.DEMOGRAPHIC] == set()

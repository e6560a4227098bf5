"""The patient, persons beside them, coverage and charges, merges, and whose a submission is."""

from __future__ import annotations

from hl7_small import PID, all_of, fold, header, line, message, one, read, read_bytes

from iamata.model.clinical_time import ClinicalTime
from iamata.model.document import Reason
from iamata.model.fact import Fact
from iamata.model.statement import Aspect, Kind, Standing

LONG = (
    "PID|1||77^^^NORTH^MR~9^^^SSA^SS||Ray&van^Leo^B^Jr^^^L~Leo||201504031530|M|Lee|2106-3^White^CDCREC|"
    "1 Elm^^Town^ST^1||555|||M^Married||A1"
)


def demographic(parsed, field: str) -> object:  # type: ignore[no-untyped-def]
    found = [v for s in all_of(parsed, Kind.DEMOGRAPHIC) if (v := s.field(field)) is not None]
    assert len(found) <= 1
    return found[0] if found else None


def patient_fact(*bodies: bytes) -> Fact:
    (fact,) = [f for f in fold(*bodies).facts.values() if f.kind is Kind.DEMOGRAPHIC]
    return fact


def field(fact: Fact, name: str) -> object:
    return next((f.value for f in fact.fields if f.name == name), None)


def test_the_patient_has_name_birth_sex_and_further_matters_in_records_of_their_own() -> None:
    parsed = read(pid=LONG, event="ADT^A08")
    assert demographic(parsed, "name") == "Leo B Ray"
    assert demographic(parsed, "sex") == "male"
    birth = demographic(parsed, "birth_date")
    assert isinstance(birth, ClinicalTime)
    assert birth.text == "2015-04-03T15:30"
    assert demographic(parsed, "address") == "1 Elm, Town, ST, 1"
    assert demographic(parsed, "race") == "White"
    assert demographic(parsed, "other_names") == "Leo; Lee"
    names = {s.provenance.record.reference for s in all_of(parsed, Kind.DEMOGRAPHIC)}
    assert names == {f"Patient/NORTH|77{end}" for end in ("", "/address", "/telecom", "/marital_status", "/race")}


def test_what_a_later_message_leaves_out_stays_and_two_quotes_take_it_back() -> None:
    first, sparse = message(pid=LONG, event="ADT^A08"), message(event="ADT^A08")
    assert field(patient_fact(first, sparse), "address") == "1 Elm, Town, ST, 1"
    moved = message(pid=LONG.replace("1 Elm", "2 Oak"), event="ADT^A08")
    assert field(patient_fact(first, moved), "address") == "2 Oak, Town, ST, 1"
    taken = message(pid=PID + '|||""', event="ADT^A08")
    assert field(patient_fact(first, taken), "address") is None
    assert field(patient_fact(first, taken), "telecom") == "555"


def test_death_is_a_time_or_a_yes() -> None:
    assert str(demographic(read(pid=PID + "|" * 21 + "20250601|Y", event="ADT^A08"), "deceased")) == "2025-06-01"
    assert demographic(read(pid=PID + "|" * 22 + "Y", event="ADT^A08"), "deceased") is True
    assert demographic(read(pid=PID + "|" * 22 + "N", event="ADT^A08"), "deceased") is False


def test_a_deleted_person_is_entered_in_error() -> None:
    assert one(read(event="ADT^A29"), Kind.DEMOGRAPHIC).standing is Standing.ENTERED_IN_ERROR


def test_relatives_and_payers_are_persons_and_their_names_stay_out_of_the_intake() -> None:
    parsed = read("NK1|1|Ray^Mia|MTH^Mother^HL70063||555", "GT1|1||Ray^Pat||||||||FTH", event="ADT^A01")
    mother, payer = all_of(parsed, Kind.PERSON)
    assert (mother.field("name"), mother.provenance.record.type) == ("Mia Ray", "RelatedPerson")
    assert (payer.field("name"), payer.field("type")) == ("Pat Ray", "guarantor")
    assert not any(name in str(parsed.intake) + str(parsed.warnings) for name in ("Mia", "Ray", "Leo", "2015"))


def test_coverage_and_charges_are_read() -> None:
    parsed = read(
        "IN1|1|PPO^Gold|C1|Blue Cross||||G7||||20250101|20251231|||Ray^Mia|SPO" + "|" * 19 + "M123",
        "FT1|1|T5||20250601|20250602|CG|71045^X-ray^C4|||1|100&USD||||||||R07.9^Chest pain^I10C|6^Bill^Bo",
        event="DFT^P03",
    )
    cover, bill = one(parsed, Kind.INSURANCE), one(parsed, Kind.CLAIM)
    assert (cover.field("payor"), cover.field("plan"), cover.field("member_id")) == ("Blue Cross", "Gold", "M123")
    assert cover.provenance.record.reference == "insurance/|C1/M123"
    assert (str(bill.field("total")), bill.field("diagnosis"), bill.field("type")) == (
        "100 USD",
        "Chest pain",
        "charge",
    )
    assert bill.aspect is Aspect.BILLED


def test_a_merge_is_a_proposal_that_is_kept_and_merges_nothing() -> None:
    parsed = read("MRG|56^^^NORTH^MR||A9", event="ADT^A40")
    (proposal,) = all_of(parsed, Kind.PERSON)
    assert (proposal.field("type"), proposal.field("proposal")) == ("merge_proposal", "A40")
    assert (proposal.field("merged"), proposal.field("surviving")) == ("NORTH|56", "NORTH|77")
    assert proposal.provenance.record.reference == "merge/A40/NORTH|56/NORTH|77"
    assert proposal.identifiers == ()
    assert "nothing is merged" in line(parsed, "/1/MRG/1").detail
    assert [f.kind for f in fold(message("MRG|56^^^NORTH^MR", event="ADT^A40")).facts.values()] == [Kind.DEMOGRAPHIC]


OBX = "OBX|1|ST|{code}^a^L||x||||||F"
OTHER = "PID|1||88^^^NORTH^MR||Roe^Jane||20000101|F"


def test_another_patient_in_a_batch_is_set_aside_and_counted() -> None:
    mine = message(OBX.format(code=1), OBX.format(code=2))
    parsed = read_bytes(mine + message(OBX.format(code=3), pid=OTHER))
    assert len(all_of(parsed, Kind.OBSERVATION)) == 2
    assert parsed.set_aside == 2
    assert line(parsed, "/2/OBX/1").reason is Reason.UNUSABLE
    assert "another patient" in line(parsed, "/2/OBX/1").detail


def test_another_patient_in_one_message_is_set_aside_too() -> None:
    parsed = read(OBX.format(code=1), OBX.format(code=2), OTHER, OBX.format(code=3))
    assert len(all_of(parsed, Kind.OBSERVATION)) == 2
    assert {s.field("name") for s in all_of(parsed, Kind.DEMOGRAPHIC)} == {"Leo B Ray"}


def test_a_tie_names_nobody_unless_the_submission_is_filed_under_one_of_them() -> None:
    both = message(OBX.format(code=1)) + message(OBX.format(code=2), pid=OTHER)
    assert read_bytes(both).statements == ()
    assert {s.field("name") for s in all_of(read_bytes(both, subject="88"), Kind.DEMOGRAPHIC)} == {"Jane Roe"}


def test_a_shared_number_makes_one_patient_of_two_pids_and_one_without_numbers_is_told_by_name_and_birth() -> None:
    more = PID.replace("77^^^NORTH^MR", "77^^^NORTH^MR~5^^^SSA^SS")
    parsed = read_bytes(message(OBX.format(code=1)) + message(OBX.format(code=2), pid=more))
    assert len(all_of(parsed, Kind.OBSERVATION)) == 2
    nameless = "PID|1||||Ray^Leo||20150403"
    parsed = read_bytes(message(OBX.format(code=1), pid=nameless) + message(OBX.format(code=2), pid=nameless))
    assert len(all_of(parsed, Kind.OBSERVATION)) == 2


def test_a_message_without_a_patient_is_the_submissions_if_there_is_but_one() -> None:
    nobody = "\r".join((header(), OBX.format(code=3), "")).encode()
    assert len(all_of(read_bytes(nobody), Kind.OBSERVATION)) == 1
    assert len(all_of(read_bytes(message(OBX.format(code=1)) + nobody), Kind.OBSERVATION)) == 2
    several = message(OBX.format(code=1), OBX.format(code=2)) + message(pid=OTHER) + nobody
    assert len(all_of(read_bytes(several), Kind.OBSERVATION)) == 2


def test_sources_that_disagree_on_name_and_birth_are_in_doubt_though_matters_are_records_of_their_own() -> None:
    other = LONG.replace("Ray&van^Leo^B^Jr", "Roe^Max").replace("201504031530", "19800101").replace("~Leo|", "|")
    graph = fold(message(pid=LONG), message(pid=other), sources=("north", "south"))
    assert [conflict.kind for conflict in graph.conflicts.values() if conflict.field == "identity"] == ["identity"]
    same = fold(message(pid=LONG), message(pid=LONG), sources=("north", "south"))
    assert not same.conflicts

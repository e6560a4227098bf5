"""Condition groups: what is one, what is a kind of another, what lasts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iamata.model.coding import CodedText, Coding
from iamata.terminology import conditions
from iamata.terminology.conditions import Relation, relation
from iamata.terminology.names import fold
from iamata.terminology.systems import normal
from iamata.terminology.tables import rows

SNOMED = "http://snomed.info/sct"
ICD10 = "http://hl7.org/fhir/sid/icd-10-cm"
ICD9 = "http://hl7.org/fhir/sid/icd-9-cm"


def coded(system: str, code: str, text: str = "") -> CodedText:
    return CodedText(text, (Coding(system, code, "", normal(system, code)),))


def said(text: str) -> CodedText:
    return CodedText(text)


GROUPS = sorted({row["group"] for row in rows("condition_groups")})
ICD_CODES = sorted(row["code"] for row in rows("condition_icd10cm"))
SOME = st.one_of(
    st.sampled_from(ICD_CODES).map(lambda code: coded(ICD10, code)),
    st.sampled_from(rows("condition_names")).map(lambda row: said(row["name"])),
    st.just(said("no such thing")),
)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (coded(SNOMED, "38341003"), coded(ICD10, "I10")),
        (coded(SNOMED, "38341003"), coded(ICD9, "401.9")),
        (coded(SNOMED, "65363002"), coded(ICD10, "H66.9")),
        (coded(SNOMED, "44054006"), coded(ICD10, "E11.9")),
        (coded(SNOMED, "195967001"), coded(ICD10, "J45")),
        (coded(SNOMED, "195967001"), coded("urn:oid:2.16.840.1.113883.6.90", "J45909")),
        (coded(SNOMED, "233604007"), coded(ICD10, "J18.9")),
        (said("High blood pressure"), coded(ICD10, "I10")),
        (said("HTN"), said("Essential (primary) hypertension")),
        (said("Diabetes mellitus type 2"), said("Type 2 diabetes mellitus")),
    ],
)
def test_one_condition_under_several_systems_and_names_is_the_same(left: CodedText, right: CodedText) -> None:
    assert relation(left, right) is Relation.SAME


def test_an_unspecified_code_says_the_same_as_the_code_above_it() -> None:
    assert relation(coded(ICD10, "H66.90"), coded(ICD10, "H66.9")) is Relation.SAME
    assert relation(coded(ICD10, "H66.91"), coded(ICD10, "H66.9")) is Relation.REFINES


def test_a_code_below_another_refines_it() -> None:
    assert relation(coded(ICD10, "E11.22"), coded(ICD10, "E11")) is Relation.REFINES
    assert relation(coded(ICD10, "E11.22"), coded(SNOMED, "44054006")) is Relation.REFINES
    assert relation(coded(ICD10, "J45.40"), coded(SNOMED, "195967001")) is Relation.REFINES
    assert relation(said("diabetes"), coded(ICD10, "E11.9")) is Relation.REFINES


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (coded(SNOMED, "44054006"), coded(SNOMED, "46635009")),
        (coded(ICD10, "E10.9"), coded(ICD10, "E11.9")),
        (said("type 1 diabetes mellitus"), said("type 2 diabetes mellitus")),
        (coded(ICD10, "I10"), coded(ICD10, "I11.0")),
    ],
)
def test_siblings_are_never_the_same(left: CodedText, right: CodedText) -> None:
    assert relation(left, right) is Relation.SIBLING


def test_stages_of_one_condition_refine_it_and_each_other() -> None:
    assert relation(coded(ICD10, "N18.3"), coded(ICD10, "N18.4")) is Relation.REFINES
    assert relation(coded(ICD10, "N18.30"), coded(SNOMED, "431857002")) is Relation.REFINES
    assert relation(coded(ICD10, "N18.3"), coded(ICD10, "N18.9")) is Relation.REFINES


def test_unrelated_conditions_are_different_and_unknown_ones_are_not_judged() -> None:
    assert relation(coded(ICD10, "I10"), coded(ICD10, "J45")) is Relation.DIFFERENT
    assert relation(said("something nobody coded"), coded(ICD10, "J45")) is Relation.UNKNOWN
    assert conditions.group(coded(ICD10, "ZZ9")) == ""
    assert conditions.group(coded(SNOMED, "999999999")) == ""


def test_words_count_only_where_no_code_is_known() -> None:
    assert conditions.group(coded(ICD10, "J45", "diabetes mellitus")) == "asthma"
    assert conditions.group(coded("http://local", "77", "diabetes mellitus")) == "diabetes-mellitus"


def test_a_code_that_contradicts_its_text_is_told() -> None:
    assert conditions.contradiction(coded(ICD10, "J45", "diabetes mellitus")) == ("asthma", "diabetes-mellitus")
    assert conditions.contradiction(coded(ICD10, "E11.9", "diabetes mellitus")) is None
    assert conditions.contradiction(coded(ICD10, "J45", "as told by her aunt")) is None


def test_of_several_codes_the_most_specific_counts_in_any_order() -> None:
    one, two = Coding(ICD10, "E11", "", "icd10cm|E11"), Coding(ICD10, "E11.22", "", "icd10cm|E1122")
    assert conditions.group(CodedText(codings=(one, two))) == conditions.group(CodedText(codings=(two, one)))
    assert conditions.group(CodedText(codings=(one, two))) == "icd10cm|E1122"


@pytest.mark.parametrize(
    ("concept", "expected"),
    [
        (coded(SNOMED, "65363002"), "episodic"),
        (coded(ICD10, "H66.9"), "episodic"),
        (coded(SNOMED, "233604007"), "episodic"),
        (coded(SNOMED, "44054006"), "chronic"),
        (coded(SNOMED, "46635009"), "chronic"),
        (coded(ICD10, "J45.909"), "chronic"),
        (said("diabetes mellitus"), "chronic"),
        (coded(ICD10, "I21.9"), ""),  # the heart stays damaged, and it can happen again: not ours to say
        (coded(ICD10, "R05"), ""),
        (said("something nobody coded"), ""),
    ],
)
def test_the_course_is_that_of_the_chronic_condition_indicator(concept: CodedText, expected: str) -> None:
    assert conditions.course(concept) == expected


@settings(max_examples=150, deadline=None)
@given(SOME, SOME)
def test_the_relation_is_the_same_either_way_round(left: CodedText, right: CodedText) -> None:
    assert relation(left, right) is relation(right, left)


@settings(max_examples=100, deadline=None)
@given(SOME)
def test_a_known_condition_is_the_same_as_itself(one: CodedText) -> None:
    assert relation(one, one) is (Relation.SAME if conditions.group(one) else Relation.UNKNOWN)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([row["code"] for row in rows("condition_icd10cm") if len(row["code"]) > 3]))
def test_a_subcategory_is_its_category_or_refines_it(code: str) -> None:
    found = relation(coded(ICD10, code), coded(ICD10, code[:3]))
    assert found in (Relation.SAME, Relation.REFINES)


def test_no_code_and_no_name_belongs_to_two_groups() -> None:
    codes = [(row["system"], row["code"]) for row in rows("condition_codes")]
    names = [row["name"] for row in rows("condition_names")]
    assert len(codes) == len(set(codes))
    assert len(names) == len(set(names))
    assert {row["group"] for row in rows("condition_codes")} == set(GROUPS)
    assert {row["group"] for row in rows("condition_names")} <= set(GROUPS)


def test_there_is_no_circle_of_parents() -> None:
    for group in GROUPS:
        assert group not in conditions._ancestors(group)


def test_names_are_folded_and_there_are_500_groups_with_codes_of_two_systems() -> None:
    assert all(row["name"] == fold(row["name"]) for row in rows("condition_names"))
    systems: dict[str, set[str]] = {}
    for row in rows("condition_codes"):
        systems.setdefault(row["group"], set()).add(row["system"])
    assert sum(len(found) > 1 for found in systems.values()) >= 500
    assert sum({"snomed", "icd10cm"} <= found for found in systems.values()) >= 140


def test_every_source_is_told_and_none_is_unreviewed() -> None:
    known = {row["id"] for row in rows("condition_sources")}
    for table in ("condition_groups", "condition_codes", "condition_names", "condition_parents", "condition_course"):
        for row in rows(table):
            source = row["source"].partition("+")[0]
            assert source in known or source in FOLDERS or source.startswith("http"), (table, row)


FOLDERS = {
    "bulk_ndjson_10pt",
    "ccda_hl7_examples",
    "ccda_microsoft_samples",
    "ccda_onc_cert",
    "ccda_vendor_samples",
    "fhir_r4_spec_examples",
    "fhir_test_cases_misc",
    "ips_bundles",
    "synthea_r4_bundles",
    "us_core_examples",
}


def test_every_name_of_icd_10_cm_is_the_one_that_the_package_gives() -> None:
    icd = pytest.importorskip("simple_icd_10_cm")
    for row in rows("condition_icd10cm"):
        assert icd.get_description(row["code"]) == row["name"], row["code"]
    for row in rows("condition_codes"):
        if row["system"] == "icd10cm":
            assert icd.is_valid_item(row["code"]), row["code"]
    for row in rows("condition_unspecified"):
        assert "unspecified" in icd.get_description(row["code"]).lower()
        assert row["code"].startswith(row["same_as"])


def test_every_code_taken_from_a_folder_stands_there(data: Path) -> None:
    texts = {folder: [p.read_text("utf-8", "replace") for p in _text_files(data / folder)] for folder in FOLDERS}
    for table in ("condition_codes", "body_codes"):
        for row in rows(table):
            folder = row["source"].partition("+")[0]
            if folder in texts:
                code = row["code"]
                dotted = f"{code[:3]}.{code[3:]}"
                assert any(_quoted(code, text) or _quoted(dotted, text) for text in texts[folder]), (table, row)


def test_codes_side_by_side_in_a_group_stand_side_by_side_in_the_folder(data: Path) -> None:
    """Two systems, one folder without a mark: translations of each other in one document."""
    pairs: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows("condition_codes"):
        if row["source"] in FOLDERS:
            pairs.setdefault((row["group"], row["source"]), []).append(row)
    members: dict[str, list[tuple[str, str]]] = {}
    for row in rows("condition_codes"):
        members.setdefault(row["group"], []).append((row["system"], row["code"]))
    texts: dict[str, list[str]] = {}
    checked = 0
    for (group, folder), found in pairs.items():
        if folder not in texts:
            texts[folder] = [p.read_text("utf-8", "replace") for p in _text_files(data / folder)]
        for row in found:
            others = [code for system, code in members[group] if system != row["system"]]
            assert any(
                _either(row["code"], text) and any(_either(other, text) for other in others) for text in texts[folder]
            ), row
            checked += 1
    assert checked > 40


def _text_files(folder: Path) -> list[Path]:
    return [p for p in sorted(folder.rglob("*")) if p.is_file() and p.suffix not in (".pdf", ".png", ".jpg", ".zip")]


def _quoted(code: str, text: str) -> bool:
    return f'"{code}"' in text or f"'{code}'" in text


def _either(code: str, text: str) -> bool:
    return _quoted(code, text) or _quoted(f"{code[:3]}.{code[3:]}", text)

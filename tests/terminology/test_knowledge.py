"""What public documents say of drugs, tests and conditions together: every row is sourced, known and looked up."""

from __future__ import annotations

from collections import Counter

import pytest

from iamata.model.coding import CodedText, Coding
from iamata.terminology import conditions, drugs, knowledge, labs, tables
from iamata.terminology.tables import rows

TABLES = ("kb_indications", "kb_monitoring", "kb_relations", "kb_reactions", "kb_overdue")
INGREDIENTS = {row["ingredient"] for row in rows("drug_ingredients")}
GROUPS = {row["group"] for row in rows("condition_groups")}
SOURCES = {row["id"] for row in rows("kb_sources")}


def is_condition(group: str) -> bool:
    """A group of the tables, or a code that stands for itself."""
    if not group.startswith("icd10cm|"):
        return group in GROUPS
    code = group.removeprefix("icd10cm|")
    return conditions.group(CodedText("", (icd10(code),))) == group


def icd10(code: str) -> Coding:
    return Coding("http://hl7.org/fhir/sid/icd-10-cm", code, "", f"icd10cm|{code}")


def indicated(*ingredients: str) -> dict[str, str]:
    return {known.id: known.source for known in knowledge.indications(frozenset(ingredients))}


@pytest.mark.parametrize("table", TABLES)
def test_every_row_names_a_source_that_the_table_of_sources_explains(table: str) -> None:
    counts = Counter(row["source"] for row in rows(table))
    print(table, sum(counts.values()), dict(counts), f"unreviewed: {counts['unreviewed']}")
    assert set(counts) <= SOURCES


def test_every_class_of_source_has_a_confidence_below_certainty() -> None:
    for source in SOURCES - {"unreviewed"}:
        assert 0 < knowledge.confidence(source) < 1


def test_no_row_is_said_twice() -> None:
    for table, key in (
        ("kb_indications", ("ingredient", "group")),
        ("kb_monitoring", ("test", "of", "id")),
        ("kb_relations", ("group", "type", "of")),
        ("kb_reactions", ("ingredient", "group")),
        ("kb_kinds", ("kind", "group")),
    ):
        keys = [tuple(row[column] for column in key) for row in rows(table)]
        assert len(keys) == len(set(keys)), table


def test_every_drug_of_the_tables_is_an_ingredient_that_the_drug_tables_know() -> None:
    named = {part for row in rows("kb_indications") for part in row["ingredient"].split(" / ")}
    named |= {part for row in rows("kb_reactions") for part in row["ingredient"].split(" / ")}
    named |= {row["id"] for row in rows("kb_monitoring") if row["of"] == "drug"}
    assert named <= INGREDIENTS


def test_every_condition_of_the_tables_is_one_that_the_condition_tables_know() -> None:
    named = {row["group"] for table in ("kb_indications", "kb_relations", "kb_reactions") for row in rows(table)}
    named |= {row["of"] for row in rows("kb_relations")} | {row["group"] for row in rows("kb_overdue")}
    named |= {row["id"] for row in rows("kb_monitoring") if row["of"] == "condition"}
    named |= {row[column] for row in rows("kb_kinds") for column in ("kind", "group")}
    assert sorted(group for group in named if not is_condition(group)) == []


def test_every_test_of_the_tables_is_one_that_the_lab_tables_know() -> None:
    named = {row["test"] for row in rows("kb_monitoring")}
    named |= {test for row in rows("kb_overdue") for test in row["tests"].split()}
    assert named <= labs.tests().keys()


def test_a_reaction_rests_on_two_sections_of_a_label_or_two_abstracts_or_a_set_that_was_made_for_it() -> None:
    for row in rows("kb_reactions"):
        documents = set(row["documents"].split())
        if row["source"] == "spl-adr":
            assert len({one.rpartition(":")[2] for one in documents}) >= 2, row
        elif row["source"] == "cdr":
            assert len(documents) >= 2, row
        else:
            assert documents == {"-"}, row


def test_there_are_300_pairs_of_a_drug_and_its_reaction_and_150_tests_that_monitor_something() -> None:
    pairs = [row for row in rows("kb_reactions") if row["source"] != knowledge.UNREVIEWED]
    monitored = {row["test"] for row in rows("kb_monitoring") if row["source"] != knowledge.UNREVIEWED}
    print("pairs:", len(pairs), "tests that monitor something:", len(monitored))
    assert len(pairs) >= 300
    assert len(monitored) >= 150


def test_a_drug_is_known_for_what_its_label_warns_of_and_not_for_what_it_treats() -> None:
    alogliptin = {known.id: known.source for known in knowledge.reactions(frozenset({"alogliptin"}))}
    assert alogliptin["acute-pancreatitis"] == "spl-adr"
    isoniazid = {known.id: known.source for known in knowledge.reactions(frozenset({"isoniazid"}))}
    assert isoniazid["icd10cm|K71"] == "dilirank"
    assert "pain" not in {known.id for known in knowledge.reactions(frozenset({"capsaicin"}))}


def test_no_drug_is_said_to_bring_about_what_it_is_used_for() -> None:
    used = {(row["ingredient"], row["group"]) for row in rows("kb_indications")}
    assert not used & {(row["ingredient"], row["group"]) for row in rows("kb_reactions")}


def test_no_condition_brings_about_itself_and_no_kind_is_its_own() -> None:
    assert all(row["group"] != row["of"] for row in rows("kb_relations"))
    assert all(row["kind"] != row["group"] for row in rows("kb_kinds"))


def test_a_drug_is_used_for_what_its_label_says() -> None:
    assert indicated("lisinopril")["hypertension"] == "labeledin"
    assert indicated("metformin")["type-2-diabetes-mellitus"] == "labeledin"
    assert "asthma" not in indicated("lisinopril")


def test_a_combination_without_rows_of_its_own_is_used_for_what_its_parts_are() -> None:
    both = indicated("lisinopril", "hydrochlorothiazide")
    assert both["hypertension"] == "labeledin"
    assert set(both) == set(indicated("lisinopril")) | set(indicated("hydrochlorothiazide"))


def test_a_drug_that_no_table_knows_is_used_for_nothing() -> None:
    assert indicated("no such drug") == {}
    assert knowledge.reactions(frozenset({"no such drug"})) == ()


def test_what_is_monitored_is_a_condition_or_a_drug() -> None:
    a1c = {(known.kind, known.id) for known in knowledge.monitored("hemoglobin-a1c-hemoglobin-total-blood-fraction")}
    assert ("condition", "type-2-diabetes-mellitus") in a1c
    assert {(k.kind, k.id) for k in knowledge.monitored("inr-platelet-poor-plasma")} == {("drug", "warfarin")}
    assert knowledge.monitored("no such test") == ()


def test_a_complication_is_read_from_the_names_of_icd_10_cm() -> None:
    found = {(known.type, known.id) for known in knowledge.brought_about_by("icd10cm|E1122")}
    assert ("complication_of", "type-2-diabetes-mellitus") in found
    kidney = {(known.type, known.id) for known in knowledge.brought_about_by("chronic-kidney-disease")}
    assert ("complication_of", "hypertension") in kidney


def test_a_plain_code_shares_what_is_said_of_the_group_it_is_under() -> None:
    assert "type-2-diabetes-mellitus" in knowledge.told_of("icd10cm|E1122")


def test_a_kind_inherits_nothing_by_a_row_that_nobody_has_reviewed() -> None:
    """`kb_kinds` holds judgements of ours: a clinician has yet to look, so none of them reaches a link or a gap."""
    assert all(row["source"] == "unreviewed" for row in tables.rows("kb_kinds"))
    assert "diabetes-mellitus" not in knowledge.told_of("icd10cm|E1122")


def test_another_kind_does_not_share_what_is_said_of_the_wider_condition() -> None:
    assert "hypertension" not in knowledge.told_of("pulmonary-hypertension")
    assert "anemia" not in knowledge.told_of("iron-deficiency-anemia")
    assert knowledge.told_of("") == frozenset()


def test_a1c_is_due_twice_a_year_in_diabetes_by_the_word_of_the_ada() -> None:
    due = {one.what: one for one in knowledge.due(["icd10cm|E1122"]) if one.group == "type-2-diabetes-mellitus"}
    assert (due["hemoglobin A1c"].days, due["hemoglobin A1c"].source) == (183, "ada-glycemic")
    assert knowledge.due(["asthma"]) == ()


def test_unreviewed_rows_are_never_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {
        "kb_indications": ({"ingredient": "lisinopril", "group": "asthma", "source": "unreviewed"},),
        "kb_reactions": ({"ingredient": "lisinopril", "group": "asthma", "source": "unreviewed", "documents": ""},),
        "kb_monitoring": ({"test": "t", "of": "condition", "id": "asthma", "source": "unreviewed"},),
        "kb_relations": ({"group": "asthma", "type": "complication_of", "of": "gout", "source": "unreviewed"},),
        "kb_overdue": ({"what": "w", "tests": "t", "group": "asthma", "days": "1", "source": "unreviewed"},),
        "kb_kinds": ({"kind": "asthma", "group": "gout", "source": "unreviewed"},),
    }
    cached = (
        knowledge._indications,
        knowledge._reactions,
        knowledge._monitored,
        knowledge._relations,
        knowledge._due,
        knowledge._kinds,
        knowledge.told_of,
    )
    for one in cached:
        one.cache_clear()
    monkeypatch.setattr(knowledge, "rows", lambda name: made.get(name) or tables.rows(name))
    try:
        assert indicated("lisinopril") == {}
        assert knowledge.reactions(frozenset({"lisinopril"})) == ()
        assert knowledge.monitored("t") == ()
        assert knowledge.brought_about_by("asthma") == ()
        assert knowledge.due(["asthma"]) == ()
        assert knowledge.told_of("asthma") == {"asthma"}
    finally:
        for one in cached:
            one.cache_clear()


def test_what_a_medication_is_read_as_finds_its_uses() -> None:
    drug = drugs.read(CodedText("Glucophage 500 mg oral tablet"))
    assert drug is not None
    assert "type-2-diabetes-mellitus" in indicated(*drug.ingredients)

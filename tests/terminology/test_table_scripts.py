"""Do the scripts of `tools/tables` give the tables that are committed? The inputs of two are not ours to commit: there
a small one of the same form must give rows that stand in the committed table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tools.tables import icd10cm, indications, lab_units, monitoring, reactions, security_labels, table

from iamata.terminology import knowledge
from iamata.terminology.tables import rows


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")][1:]


def section(label: str, name: str, *words: str, seen_in: str = "human") -> dict[str, Any]:
    """A section of a label as the annotated set gives it; of each reaction only its words and in whom it was seen."""
    events = [[word, "", 0, "", 0, "0", "0", seen_in] for word in words]
    return {"label_id": label, "section_name": name, "section_text": "", "adverse_events": events}


NESINA = [
    section(
        "Nesina", "warnings and precautions", "acute pancreatitis", "anaphylaxis", "hypoglycemia", "hepatic failure"
    ),
    section("Nesina", "warnings and precautions", "stevens-johnson syndrome"),
    section("Nesina", "adverse reactions", "acute pancreatitis", "Anaphylaxis", "hypoglycemia", "headaches"),
    section("Nesina", "adverse reactions", "stevens-johnson syndrome", "nothing that a table knows"),
    section("Nesina", "boxed warnings", "headache", "hepatic failure", seen_in="animal"),
]
ABSTRACTS = """7337133|t|Made up for this test.
7337133|a|Acetaminophen and liver failure in one patient.
7337133\t0\t13\tAcetaminophen\tChemical\tD000082
7337133\t18\t31\thepatic failure\tDisease\tD017093
7337133\tCID\tD000082\tD017093

18004067|t|Made up for this test, too.
18004067|a|Once more.
18004067\tCID\tD000082\tD017093

1|t|In rats.
1|a|Seen in rats only.
1\t0\t4\tepinephrine\tChemical\tD004837
1\t5\t9\ttremor\tDisease\tD014202
1\tCID\tD004837\tD014202

2|t|In mice.
2|a|Seen in a mouse only.
2\tCID\tD004837\tD014202
"""


def test_the_monitoring_table_is_what_the_committed_readings_give() -> None:
    words = {row["words"]: row["tests"] for row in table.read(monitoring.HERE / "monitoring_words.tsv")}
    text = monitoring.build(table.read(monitoring.HERE / "monitoring_readings.tsv"), words)
    assert text == table.committed("kb_monitoring")


def test_each_reading_names_a_known_source_and_each_word_is_used() -> None:
    sources = {row["id"] for row in rows("kb_sources")}
    readings = table.read(monitoring.HERE / "monitoring_readings.tsv")
    used = {word for reading in readings for word in reading["words"].split("; ")}
    assert {reading["source"] for reading in readings} <= sources
    assert {row["words"] for row in table.read(monitoring.HERE / "monitoring_words.tsv")} <= used
    assert all(reading["where"] != "-" for reading in readings if reading["source"] == "fda-label")


def test_of_two_documents_the_one_whose_class_is_trusted_more_stands_in_the_table() -> None:
    said = {"of": "drug", "id": "warfarin", "words": "inr-blood"}
    text = monitoring.build([{**said, "source": "jia-monitoring"}, {**said, "source": "fda-label"}], {})
    assert lines(text) == ["inr-blood\tdrug\twarfarin\tfda-label"]


def test_two_sections_of_a_label_give_the_reactions_of_the_committed_table() -> None:
    built = lines(reactions.build(reactions.of_labels(NESINA)))
    committed = lines(table.committed("kb_reactions"))
    assert built == [line for line in committed if line.startswith("alogliptin\t")]
    assert len(built) == 4


def test_a_reaction_of_one_section_or_seen_in_animals_only_is_no_row() -> None:
    groups = {pair.group for pair in reactions.of_labels(NESINA)}
    assert "headache" not in groups
    assert "hepatic-failure" not in groups


def test_dilirank_counts_only_drugs_of_most_concern() -> None:
    made = [
        {"Compound Name": "isoniazid", "vDILIConcern": "vMost-DILI-Concern"},
        {"Compound Name": "lisinopril", "vDILIConcern": "vLess-DILI-Concern"},
    ]
    assert lines(reactions.build(reactions.of_dilirank(made))) == ["isoniazid\ticd10cm|K71\tdilirank\t-"]
    assert "isoniazid\ticd10cm|K71\tdilirank\t-" in lines(table.committed("kb_reactions"))


def test_only_the_positive_controls_of_a_reference_set_count() -> None:
    made = [
        {"exposureName": "rosuvastatin", "outcomeName": "Rhabdomyolysis #1", "groundTruth": 1},
        {"exposureName": "metformin", "outcomeName": "Rhabdomyolysis #1", "groundTruth": 0},
    ]
    built = lines(reactions.build(reactions.of_reference_set(made, "euadr-reference")))
    assert built == ["rosuvastatin\ticd10cm|M6282\teuadr-reference\t-"]
    assert set(built) <= set(lines(table.committed("kb_reactions")))


def test_two_abstracts_give_a_row_and_abstracts_on_animals_none() -> None:
    built = lines(reactions.build(reactions.of_abstracts([ABSTRACTS])))
    assert built == ["acetaminophen\thepatic-failure\tcdr\t7337133 18004067"]
    assert set(built) <= set(lines(table.committed("kb_reactions")))


def test_a_pair_stands_once_by_its_best_source_and_never_if_the_drug_is_used_for_it() -> None:
    assert "hypertension" in {known.id for known in knowledge.indications(frozenset({"lisinopril"}))}
    made = [
        reactions.Pair("isoniazid", "icd10cm|K71", "omop-reference"),
        reactions.Pair("isoniazid", "icd10cm|K71", "dilirank"),
        reactions.Pair("lisinopril", "hypertension", "spl-adr"),
        reactions.Pair("heparin", "pulmonary-embolism", "cdr"),
    ]
    assert lines(reactions.build(made)) == ["isoniazid\ticd10cm|K71\tdilirank\t-"]


def use(drug: str, disease: str, expert: str, crowd: str) -> dict[str, str]:
    return {"rxnorm_name": drug, "disease_mesh_name": disease, "expert": expert, "crowd": crowd}


def judged(drug: str, disease: str, category: str, curators: int, resources: int) -> dict[str, str]:
    counts = {"n_curators": str(curators), "n_resources": str(resources)}
    return {"drug": drug, "disease": disease, "category": category, **counts}


def test_labels_and_physicians_give_uses_of_the_committed_table() -> None:
    uses = [
        *indications.of_labels([use("Sulindac", "Arthritis, Rheumatoid", "0", "1"), use("Sulindac", "Gout", "0", "0")]),
        *indications.of_labels([use("Lisinopril", "Hypertension", "1", "0"), use("Diclofenac", "Epilepsy", "1", "1")]),
        *indications.of_physicians([judged("Abacavir", "acquired immunodeficiency syndrome", "DM", 2, 1)]),
        *indications.of_physicians([judged("Donepezil", "asthma", "DM", 1, 4), judged("Aspirin", "gout", "SYM", 3, 1)]),
    ]
    built = lines(indications.build(uses, table.read(indications.LEFT_OUT)))
    assert built == [
        "abacavir\tacquired-immunodeficiency-syndrome\tpharmacotherapydb",
        "lisinopril\thypertension\tlabeledin",
        "sulindac\trheumatoid-arthritis\tlabeledin-crowd",
    ]
    assert set(built) <= set(lines(table.committed("kb_indications")))


def test_a_module_gives_a_use_by_the_state_of_its_own_or_the_name_that_another_keeps() -> None:
    def coded(display: str, code: str = "0", system: str = "RxNorm") -> list[dict[str, str]]:
        return [{"system": system, "code": code, "display": display}]

    onset = {
        "type": "ConditionOnset",
        "codes": coded("Malignant neoplasm of breast (disorder)", "254837009", "SNOMED-CT"),
    }
    modules = [
        {"states": {"Found": {**onset, "assign_to_attribute": "breast_cancer"}}},
        {"states": {"Order": {"type": "MedicationOrder", "reason": "breast_cancer", "codes": coded("abemaciclib")}}},
        {"states": {"Other": {"type": "MedicationOrder", "reason": "nothing kept", "codes": coded("lisinopril")}}},
    ]
    built = lines(indications.build(indications.of_modules(modules), ()))
    assert built == ["abemaciclib\tbreast-cancer\tsynthea"]
    assert set(built) <= set(lines(table.committed("kb_indications")))


def test_nothing_that_was_left_out_stands_in_the_table_of_uses() -> None:
    committed = {tuple(line.split("\t")[:2]) for line in lines(table.committed("kb_indications"))}
    left_out = table.read(indications.LEFT_OUT)
    print("left out:", len(left_out), "not read:", sum(row["why"] == "not read" for row in left_out))
    assert {row["why"] for row in left_out} == {"read", "not read"}
    assert not committed & {(row["ingredient"], row["group"]) for row in left_out}


def test_the_names_of_icd_10_cm_are_those_of_the_tabular_list() -> None:
    pytest.importorskip("simple_icd_10_cm")
    assert icd10cm.build(icd10cm.tabular_list()) == table.committed("condition_icd10cm")


FLOWSHEET = """export default [
  { "B": "Vanc", "E": "20578-1", "Q": "mg/L", "R": 1449.2536, "V": "ug/mL" },
  { "B": "no unit that can be read", "E": "2160-0", "V": "[arb'U]/mL" },
]"""


def test_a_flowsheet_gives_the_unit_and_the_molar_mass_of_the_committed_tables() -> None:
    tests = {row["code"]: row["test"] for row in rows("lab_codes")}
    components = {code: row["component"] for row in rows("lab_tests") for code in tests if tests[code] == row["test"]}
    usual = lab_units.usual_units(lab_units.reported_in_flowsheet(FLOWSHEET), tests)
    masses = lab_units.molar_masses({"h17.js": FLOWSHEET}, components)
    assert usual == {"vancomycin-serum-or-plasma": ("ug/mL", "flowsheet")}
    assert masses == {"vancomycin": ("1449.2536", "h17.js")}
    [row] = [row for row in rows("lab_tests") if row["test"] == "vancomycin-serum-or-plasma"]
    assert (row["unit"], row["unit_source"], row["analyte"]) == ("ug/mL", "flowsheet", "vancomycin")
    [factor] = [row for row in rows("unit_factors") if row["name"] == "vancomycin"]
    assert (factor["from"], factor["to"], factor["factor"]) == ("g/L", "mol/L", "1/1449.2536")


def test_the_unit_that_example_files_use_most_comes_before_that_of_a_list(tmp_path: Path) -> None:
    def result(unit: str) -> dict[str, Any]:
        coding = [{"system": "http://loinc.org", "code": "2160-0"}]
        return {"code": {"coding": coding}, "valueQuantity": {"system": "http://unitsofmeasure.org", "code": unit}}

    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "one.json").write_text(json.dumps([result("mg/dl"), result("mg/dL"), result("umol/L")]))
    (tmp_path / "made" / "two.hl7").write_text("MSH|x\rOBX|1|NM|2160-0^Creatinine^LN||1|mg/dL^mg/dL^UCUM\r")
    (tmp_path / "made" / "three.json").write_text("no json")
    reported = [*lab_units.reported_in_examples(tmp_path), lab_units.Reported("2160-0", "mmol/L", "flowsheet")]
    assert len(reported) == 5
    assert lab_units.usual_units(reported, {"2160-0": "creatinine"}) == {"creatinine": ("mg/dL", "made")}


def test_filling_changes_only_units_their_sources_and_analytes() -> None:
    text = (
        "# A comment.\ntest\tcomponent\tproperty\tunit\tunit_source\tanalyte\tsource\n"
        "lead\tLead\tconcentration\tmg/L\tflowsheet\t-\telexis\n"
        "vancomycin\tVancomycin\tconcentration\t-\t-\t-\telexis\n"
    )
    filled = lab_units.fill_tests(text, {"vancomycin": ("ug/mL", "flowsheet")}, ["vancomycin"])
    assert filled.splitlines()[0] == "# A comment."
    assert lines(filled) == [
        "lead\tLead\tconcentration\t-\t-\t-\telexis",
        "vancomycin\tVancomycin\tconcentration\tug/mL\tflowsheet\tvancomycin\telexis",
    ]


def test_a_molar_mass_replaces_the_factors_between_mass_and_amount_and_no_other() -> None:
    text = (
        "kind\tname\tfrom\tto\tfactor\toffset\tsource\n"
        "unit\tg\tmass\t-\t1\t0\tUCUM\n"
        "analyte\tcalcium\tmg/dL\tmmol/L\t0.2495\t0\ta page\n"
        "analyte\tcalcium\tmeq/L\tmmol/L\t0.5\t0\ta page\n"
        "analyte\tiron\tug/dL\tumol/L\t0.1791\t0\ta page\n"
    )
    filled = lab_units.fill_factors(text, {"calcium": ("40.078", "h17.js")})
    assert [line.split("\t")[1:5] for line in lines(filled)] == [
        ["g", "mass", "-", "1"],
        ["calcium", "g/L", "mol/L", "1/40.078"],
        ["calcium", "meq/L", "mmol/L", "0.5"],
        ["iron", "ug/dL", "umol/L", "0.1791"],
    ]


def test_every_unit_names_where_it_was_seen_and_250_tests_have_one() -> None:
    with_unit = [row for row in rows("lab_tests") if row["unit"] != "-"]
    factors = {row["name"] for row in rows("unit_factors") if row["kind"] == "analyte" and row["to"].endswith("mol/L")}
    molar = [row for row in with_unit if row["analyte"] in factors]
    print("tests with a unit:", len(with_unit), "of these with a molar factor:", len(molar))
    assert len(with_unit) >= 250
    assert len(molar) >= 100
    assert all((row["unit"] == "-") == (row["unit_source"] == "-") for row in rows("lab_tests"))


def test_check_says_which_lines_differ_and_writes_nothing(capsys: Any) -> None:
    before = table.committed("kb_monitoring")
    assert table.finish("kb_monitoring", before, check=True) == 0
    assert table.finish("kb_monitoring", before.replace("\tkdigo-mbd", "\tmsd-kidney"), check=True) == 1
    said = capsys.readouterr().out
    assert "- phosphate-serum-or-plasma\tcondition\tchronic-kidney-disease\tkdigo-mbd" in said
    assert "+ phosphate-serum-or-plasma\tcondition\tchronic-kidney-disease\tmsd-kidney" in said
    assert table.committed("kb_monitoring") == before


def code_system(*concepts: str) -> str:
    return f'<CodeSystem xmlns="http://hl7.org/fhir">{"".join(concepts)}</CodeSystem>'


def concept(code: str, display: str, *parents: str, status: str = "active") -> str:
    under = "".join(f'<property><code value="subsumedBy"/><valueCode value="{each}"/></property>' for each in parents)
    told = f'<property><code value="status"/><valueCode value="{status}"/></property>'
    return f'<concept><code value="{code}"/><display value="{display}"/>{told}{under}</concept>'


def test_codes_of_labels_are_read_with_what_they_are_a_kind_of() -> None:
    act = code_system(
        concept("_ActInformationSensitivityPolicy", "x", "_InformationSensitivityPolicy"),
        concept("SPI", "specially protected information sensitivity", "_ActInformationSensitivityPolicy"),
        concept("SUD", "substance use disorder information sensitivity", "SPI"),
        concept("NORDSLCD", "no redisclosure without consent directive", "RefrainPolicy", status="retired"),
        concept("FFS", "something else"),
    )
    levels = ("unrestricted", "low", "moderate", "normal", "restricted", "very restricted")
    named = [concept(code, name) for code, name in zip(security_labels.LEVELS, levels, strict=True)]
    replaced = [concept(code, rows_of("v3-Confidentiality", code)["name"]) for code in security_labels.REPLACED]
    reason = code_system(
        concept("TREAT", "treatment", "PurposeOfUse"), concept("ETREAT", "Emergency Treatment", "TREAT")
    )
    built = lines(security_labels.build(act, code_system(*named, *replaced), reason))
    assert set(built) <= set(lines(table.committed("security_labels")))
    told = {tuple(line.split("\t")[:5]) for line in built}
    assert ("v3-ActCode", "SUD", "sensitivity", "SUD", "SPI") in told
    assert ("v3-ActCode", "NORDSLCD", "refrain", "NORDSCLCD", "-") in told
    assert ("v3-ActReason", "ETREAT", "purpose", "ETREAT", "TREAT") in told
    assert not any("FFS" in line for line in built)


def rows_of(system: str, code: str) -> dict[str, str]:
    return next(row for row in rows("security_labels") if (row["system"], row["code"]) == (system, code))

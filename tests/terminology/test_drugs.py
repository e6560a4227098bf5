"""What the drug tables and the grammar for drug names promise: brand is generic, salts and releases stay apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iamata.model.coding import CodedText, Coding
from iamata.terminology import drugs
from iamata.terminology.drug_tables import tables
from iamata.terminology.drugs import Drug, Relation
from iamata.terminology.tables import rows

RXNORM = "http://www.nlm.nih.gov/research/umls/rxnorm"


def drug(name: str) -> Drug:
    found = drugs.read(CodedText(name))
    assert found is not None, name
    return found


def relation(left: str, right: str) -> Relation:
    return drugs.same(drug(left), drug(right))


PAIRS = [
    tuple(line.split("\t"))
    for line in (Path(__file__).parent / "look_alike.tsv").read_text(encoding="utf-8").splitlines()[2:]
]


def test_at_least_sixty_published_pairs_are_tried() -> None:
    assert len(PAIRS) >= 60


@pytest.mark.parametrize(("left", "right", "source"), PAIRS)
def test_published_look_alikes_are_never_the_same(left: str, right: str, source: str) -> None:
    a, b = drugs.read(CodedText(left)), drugs.read(CodedText(right))
    assert source.startswith("http")
    assert a is None or b is None or drugs.same(a, b) is not Relation.SAME


def test_nearly_all_look_alikes_are_understood_so_that_the_test_above_tests_something() -> None:
    names = {name for left, right, _ in PAIRS for name in (left, right)}
    unread = {name for name in names if drugs.read(CodedText(name)) is None}
    assert len(unread) <= 4, unread


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("metoprolol tartrate", "metoprolol succinate"),
        ("Lopressor", "Toprol-XL"),
        ("metoprolol tartrate 25 MG Oral Tablet", "24 HR metoprolol succinate 25 MG Extended Release Oral Tablet"),
        ("bupropion SR", "bupropion XL"),
        ("Wellbutrin SR", "Wellbutrin XL"),
        ("12 HR bupropion hydrochloride 150 MG Extended Release Oral Tablet", "Wellbutrin XL"),
        ("morphine ER", "morphine IR"),
        ("morphine sulfate 15 MG Extended Release Oral Tablet", "morphine sulfate 15 MG Oral Tablet"),
        ("oxycodone hydrochloride 10 MG Oral Tablet", "OxyContin"),
        ("Depakote", "Depakene"),
        ("Depakote", "Depakote ER"),
        ("divalproex sodium 500 mg delayed release tablet", "valproic acid 250 MG Oral Capsule"),
        ("Humulin R", "Humulin N"),
        ("Humulin R", "Humulin 70/30"),
        ("Novolin R", "Novolin N"),
        ("Humalog", "Humalog Mix75/25"),
        ("NovoLog", "NovoLog Mix 70/30"),
        ("insulin lispro", "insulin aspart"),
        ("insulin glargine", "insulin detemir"),
        ("Lantus", "Toujeo"),
        ("Humulin R", "Humulin R U-500"),
        ("insulin glargine 100 UNT/ML", "insulin glargine 300 UNT/ML"),
        ("insulin human", "insulin glargine"),
        ("penicillin G benzathine", "penicillin G potassium"),
        ("penicillin G benzathine", "penicillin G procaine"),
        ("diclofenac sodium 50 MG Delayed Release Oral Tablet", "diclofenac potassium 50 MG Oral Tablet"),
        ("haloperidol decanoate", "haloperidol lactate"),
        ("testosterone cypionate", "testosterone enanthate"),
        ("methylprednisolone acetate", "methylprednisolone sodium succinate"),
        ("fluticasone propionate", "fluticasone furoate"),
        ("tenofovir disoproxil fumarate", "tenofovir alafenamide"),
        ("mycophenolate mofetil", "mycophenolate sodium"),
        ("doxorubicin", "doxorubicin liposomal"),
        ("Adriamycin", "Doxil"),
        ("AmBisome", "Abelcet"),
        ("isosorbide mononitrate", "isosorbide dinitrate"),
        ("metformin", "metformin hydrochloride 500 MG Extended Release Oral Tablet"),
        ("Glucophage", "Glucophage XR"),
        ("Ditropan XL", "oxybutynin chloride 5 MG Oral Tablet"),
        ("hydrocortisone 10 MG Oral Tablet", "hydrocortisone 10 MG/ML Topical Cream"),
        ("timolol 5 MG Oral Tablet", "timolol 5 MG/ML Ophthalmic Solution"),
        ("fentanyl 25 mcg/hour patch", "fentanyl citrate injection"),
        ("albuterol 2 MG Oral Tablet", "albuterol 0.09 MG/ACTUAT Metered Dose Inhaler"),
    ],
)
def test_salts_releases_insulins_and_routes_are_never_the_same(left: str, right: str) -> None:
    a, b = drugs.read(CodedText(left)), drugs.read(CodedText(right))
    assert a is None or b is None or drugs.same(a, b) is not Relation.SAME


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Lipitor", "atorvastatin 40 MG Oral Tablet"),
        ("Zocor", "simvastatin 20 MG Oral Tablet"),
        ("Zestril", "lisinopril"),
        ("Prinivil", "Lisinopril 10mg Oral Tablet"),
        ("Norvasc", "amlodipine besylate 5 MG Oral Tablet"),
        ("Coumadin", "warfarin sodium 5 MG Oral Tablet"),
        ("Plavix", "clopidogrel"),
        ("Lantus", "insulin glargine 100 UNT/ML Injectable Solution"),
        ("Humalog", "Insulin Lispro 100 UNT/ML Injectable Solution"),
        ("Toprol-XL", "24 HR metoprolol succinate 100 MG Extended Release Oral Tablet"),
        ("Tylenol", "paracetamol 500 MG Oral Tablet"),
        ("Tylenol with Codeine", "acetaminophen / codeine phosphate"),
        ("Bactrim", "Sulfamethoxazole 800 MG / Trimethoprim 160 MG Oral Tablet"),
        ("Augmentin", "Amoxicillin 250 MG / Clavulanate 125 MG Oral Tablet"),
        ("Zestoretic", "Hydrochlorothiazide 12.5 MG / Lisinopril 10 MG Oral Tablet"),
        (
            "Humulin 70/30",
            "insulin isophane, human 70 UNT/ML / insulin, regular, human 30 UNT/ML Injectable Suspension",
        ),
        ("Advil", "ibuprofen 200 MG Oral Tablet"),
        ("salbutamol 0.09 MG/ACTUAT Metered Dose Inhaler", "Ventolin HFA"),
        ("glibenclamide", "glyburide"),
        ("Xarelto", "rivaroxaban"),
        ("Eliquis", "apixaban 5 MG Oral Tablet"),
        ("Januvia", "sitagliptin phosphate 100 mg"),
    ],
)
def test_brand_is_generic_and_one_ingredient_has_several_names(left: str, right: str) -> None:
    assert relation(left, right) is Relation.SAME


def test_a_brand_that_only_one_list_explains_never_settles_a_pair() -> None:
    assert drug("Mounjaro").how == "name"
    assert relation("Mounjaro", "tirzepatide") is Relation.REVIEW
    assert relation("Mounjaro 5 mg", "mounjaro") is Relation.SAME


@pytest.mark.parametrize(
    ("whole", "part"),
    [
        ("Augmentin", "amoxicillin"),
        ("Percocet", "oxycodone hydrochloride"),
        ("Tylenol PM", "Tylenol"),
        ("Enalapril Maleate 10 MG / Hydrochlorothiazide 25 MG Oral Tablet", "enalapril"),
        ("insulin glargine", "insulin"),
    ],
)
def test_a_combination_refines_its_part(whole: str, part: str) -> None:
    assert relation(whole, part) is Relation.REFINES


def test_what_matters_and_is_not_said_goes_to_review() -> None:
    assert relation("metoprolol", "metoprolol tartrate") is Relation.REVIEW
    assert relation("metformin 500mg BID", "metformin hydrochloride 500 MG Oral Tablet") is Relation.REVIEW
    assert relation("hydrocortisone", "hydrocortisone 10 MG/ML Topical Cream") is Relation.REVIEW
    assert relation("lisinopril", "lisinopril 10 MG Oral Tablet") is Relation.SAME  # only one release exists


@pytest.mark.parametrize(
    ("name", "ingredients", "route", "release"),
    [
        ("24 HR Metformin hydrochloride 500 MG Extended Release Oral Tablet", {"metformin"}, "oral", "extended 24h"),
        ("NDA020800 0.3 ML Epinephrine 1 MG/ML Auto-Injector", {"epinephrine"}, "parenteral", ""),
        ("Cosopt (dorzolamide / timolol)", {"dorzolamide", "timolol"}, "ophthalmic", "immediate"),
        ("Aspirin 81 MG Enteric Coated Tablet", {"aspirin"}, "oral", "delayed"),
        ("Losartan potassium 50 mg tablet", {"losartan"}, "oral", ""),
        ("Zosyn (piperacillin/tazobactam) 4.5gm injection", {"piperacillin", "tazobactam"}, "parenteral", "immediate"),
        ("metformin (GLUCOPHAGE) tablet", {"metformin"}, "oral", ""),
        ("hydrocodone/acetaminophen 5/325 mg tablet", {"hydrocodone", "acetaminophen"}, "oral", ""),
        ("ANASTROZOL 1MG TABLET", {"anastrozole"}, "oral", ""),
    ],
)
def test_names_of_every_style_are_read(name: str, ingredients: set[str], route: str, release: str) -> None:
    found = drug(name)
    assert (found.ingredients, found.route, found.release) == (frozenset(ingredients), route, release)


@pytest.mark.parametrize(
    "name",
    ["", "Little Pink Pill for water retention", "lisinopril / unheardofin 5 MG Oral Tablet", "drug or medication"],
)
def test_a_name_with_an_unknown_part_is_not_read(name: str) -> None:
    assert drugs.read(CodedText(name)) is None


def test_a_code_that_names_another_drug_than_its_text_is_not_read() -> None:
    aspirin = Coding(RXNORM, "1191", "Aspirin")
    assert drugs.read(CodedText("Wheezing", (aspirin,))) is not None
    assert drugs.read(CodedText("lisinopril 10 mg", (aspirin,))) is None


def test_allergy_substances_and_classes() -> None:
    assert drugs.substance(CodedText("Penicillins (drug class)")) == "Penicillins"
    assert drugs.substance(CodedText("Allergy to Penicillin drugs")) == "Penicillins"
    assert drugs.substance(CodedText("Bicillin L-A")) == "penicillin g"
    assert drugs.substance(CodedText("Latex allergy")) == "Latex"
    assert drugs.substance(CodedText("No known allergies")) is None
    assert {"amoxicillin", "penicillin v"} <= drugs.members_of("Penicillins")
    assert "Penicillins" in drugs.classes_of("amoxicillin")
    assert "sulfamethoxazole" in drugs.members_of("sulfa drug")
    assert not drugs.members_of("Latex")


def test_routes_have_groups() -> None:
    names = ("SUBCUTANEOUS", "Oral use", "Intravenous route (qualifier value)", "Nasal", "nowhere")
    assert [drugs.route_group(name) for name in names] == ["parenteral", "oral", "parenteral", "nasal", ""]


def test_a_user_can_add_rows_that_never_change_ours() -> None:
    more = tables().with_names([("Newbrandine", "newbrandine", ""), ("aspirin", "other", "")])
    assert more.ingredients["newbrandine"] == ("newbrandine", "")
    assert more.ingredients["aspirin"] == ("aspirin", "")
    assert tables().with_codes([("rxnorm|1", "aspirin")]).codes["rxnorm|1"] == "aspirin"


NAMES = st.sampled_from(
    [
        *(row["name"] for row in rows("drug_codes")[:400]),
        *("Wellbutrin SR", "Lantus", "metoprolol", "Tylenol PM", "Augmentin", "insulin", "Mounjaro", "bupropion"),
    ]
)


@settings(max_examples=150, deadline=None)
@given(NAMES, NAMES)
def test_sameness_is_symmetric_and_reflexive(left: str, right: str) -> None:
    a, b = drugs.read(CodedText(left)), drugs.read(CodedText(right))
    if a is not None and b is not None:
        assert drugs.same(a, b) is drugs.same(b, a)
        assert drugs.same(a, a) is Relation.SAME


@settings(max_examples=100, deadline=None)
@given(NAMES)
def test_case_and_spacing_do_not_matter(name: str) -> None:
    assert drugs.read(CodedText(name)) == drugs.read(CodedText(f"  {name.upper()} ")) or "(" in name


def test_the_order_of_ingredients_does_not_matter() -> None:
    left, right = (
        "Amoxicillin 250 MG / Clavulanate 125 MG Oral Tablet",
        "Clavulanate 125 MG / Amoxicillin 250 MG Oral Tablet",
    )
    assert relation(left, right) is Relation.SAME


def test_every_code_names_a_drug_that_the_grammar_reads() -> None:
    unread = [row["code"] for row in rows("drug_codes") if drugs.read(CodedText(row["name"])) is None]
    assert unread == []


def test_the_tables_are_as_large_and_as_well_sourced_as_they_say() -> None:
    sources = {row["id"] for row in rows("drug_sources")}
    text = (
        "drug_ingredients drug_brands drug_salts drug_salts_apart drug_profiles drug_classes drug_class_names"
        " drug_forms drug_fillers drug_codes drug_broader route_groups vaccine_names vaccine_codes allergen_names"
    )
    for name in text.split():
        assert {row["source"] for row in rows(name)} <= sources, name
        open_rows = sum(row["source"] == "unreviewed" for row in rows(name))
        print(f"{name}: {len(rows(name))} rows, {open_rows} unreviewed")
    assert len({base for base, _ in tables().ingredients.values()}) >= 1_500
    assert sum(len(members) > 1 for members in tables().classes.values()) >= 150

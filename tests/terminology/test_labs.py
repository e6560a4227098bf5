"""Tests over LOINC codes: what spans unit and method, and what never does."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from iamata.model.coding import CodedText, Coding
from iamata.terminology import conversion, labs
from iamata.terminology.names import fold
from iamata.terminology.tables import rows


def loinc(code: str) -> CodedText:
    return CodedText(codings=(Coding("http://loinc.org", code, "", f"loinc|{code}"),))


def test_mass_and_molar_codes_are_one_test() -> None:
    mass, molar = labs.test(loinc("2345-7")), labs.test(loinc("14749-6"))
    assert mass is not None
    assert mass == molar
    assert (mass.component, mass.specimen, mass.unit, mass.analyte) == (
        "Glucose",
        "serum or plasma",
        "mg/dL",
        "glucose",
    )


@pytest.mark.parametrize("other", ["59261-8", "17856-6"])
def test_hemoglobin_a1c_is_one_test_over_calibrations_that_convert(other: str) -> None:
    ngsp = labs.test(loinc("4548-4"))
    assert ngsp is not None
    assert ngsp == labs.test(loinc(other))
    assert ngsp.analyte == "hemoglobin-a1c"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("2345-7", "2339-0"),  # serum, blood
        ("2345-7", "2342-4"),  # serum, cerebrospinal fluid
        ("2345-7", "5792-7"),  # serum, urine
        ("2345-7", "14771-0"),  # any moment, fasting
        ("2160-0", "14683-7"),  # serum, urine
        ("33914-3", "62238-1"),  # MDRD, CKD-EPI
        ("2089-1", "13457-7"),  # measured, calculated
        ("1988-5", "30522-7"),  # CRP, high sensitivity
        ("8480-6", "8462-4"),
        ("2085-9", "2089-1"),  # HDL, LDL
    ],
)
def test_specimen_timing_component_and_equation_are_never_crossed(left: str, right: str) -> None:
    a, b = labs.test(loinc(left)), labs.test(loinc(right))
    assert a is not None
    assert b is not None
    assert a.id != b.id


@pytest.mark.parametrize(
    ("code", "test", "unit"),
    [
        ("8310-5", "body-temperature", "Cel"),
        ("8867-4", "heart-rate", "/min"),
        ("9279-1", "respiratory-rate", "/min"),
        ("8480-6", "systolic-blood-pressure", "mm[Hg]"),
        ("8462-4", "diastolic-blood-pressure", "mm[Hg]"),
        ("29463-7", "body-weight", "kg"),
        ("3141-9", "body-weight", "kg"),
        ("8302-2", "body-height", "cm"),
        ("39156-5", "body-mass-index", "kg/m2"),
        ("59408-5", "oxygen-saturation", "%"),
    ],
)
def test_vital_signs_are_known_with_their_units(code: str, test: str, unit: str) -> None:
    found = labs.test(loinc(code))
    assert found is not None
    assert (found.id, found.unit, found.kind) == (test, unit, "vital")


def test_words_name_a_test_only_where_they_name_one() -> None:
    assert labs.test(CodedText("Glucose")) is None
    found = labs.test(CodedText("Glucose [Mass/volume] in Serum or Plasma"))
    assert found is not None
    assert found.id == "glucose-serum-or-plasma"
    assert labs.test(CodedText("HbA1c")) == labs.test(loinc("4548-4"))


def test_an_unknown_loinc_code_is_not_named_by_its_words() -> None:
    unknown = Coding("http://loinc.org", "99999-9", "HbA1c", "loinc|99999-9")
    assert labs.test(CodedText("HbA1c", (unknown,))) is None


def test_there_are_250_tests_and_a_unit_that_is_told_is_one_that_can_be_read() -> None:
    known = labs.tests()
    assert len(known) >= 250
    assert sum(bool(test.unit) for test in known.values()) >= 250
    for test in known.values():
        assert not test.unit or conversion.readable(test.unit), test.id
        if test.analyte and test.unit:
            assert conversion.convert(Decimal(1), test.unit, test.unit, test.analyte) == 1


def test_every_code_has_one_test_and_every_name_is_folded() -> None:
    codes = [row["code"] for row in rows("lab_codes")]
    assert len(codes) == len(set(codes))
    known = labs.tests()
    assert {row["test"] for row in rows("lab_codes")} == set(known)
    assert {row["test"] for row in rows("lab_names")} <= set(known)
    assert all(row["name"] == fold(row["name"]) for row in rows("lab_names"))
    assert all(_checked(code) for code in codes)


def _checked(code: str) -> bool:
    """LOINC's check digit (mod 10, LOINC Users' Guide, appendix C; the Luhn sum)."""
    digits, _, check = code.partition("-")
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value // 10 + value % 10
    return (10 - total % 10) % 10 == int(check)


def test_labunits_gives_the_names_and_factors_that_the_tables_took_from_it() -> None:
    labunits = pytest.importorskip("labunits")
    analytes = _analytes(Path(labunits.__file__).parent)
    for row in rows("lab_codes"):
        if row["source"] == "labunits":
            assert row["name"].startswith(str(analytes[row["code"]]["name"])), row
    factors = {
        (str(x["traditional_units"]).replace("μ", "u"), float(str(x["conversion_factor"]))) for x in analytes.values()
    }
    for row in rows("unit_factors"):
        if row["source"].startswith("labunits") and row["from"] != "meq/L":
            assert (row["from"], float(row["factor"])) in factors, row


def _analytes(folder: Path) -> dict[str, dict[str, object]]:
    import json

    found: dict[str, dict[str, object]] = json.loads((folder / "data" / "analytes.json").read_text(encoding="utf-8"))
    return found


def test_every_code_taken_from_a_folder_stands_there_with_that_name(data: Path) -> None:
    known = {row["id"] for row in rows("lab_sources")}
    texts: dict[str, list[str]] = {}
    for row in rows("lab_codes"):
        folder = row["source"]
        if folder in known:
            continue
        if folder not in texts:
            texts[folder] = [_plain(p) for p in sorted((data / folder).rglob("*")) if p.is_file()]
        name = fold(row["name"])
        assert any(row["code"] in text and name in text for text in texts[folder]), row


def _plain(path: Path) -> str:
    text = path.read_text("utf-8", "replace")
    text = text.replace("\\u200b", "").replace("\u200b", "").replace("&amp;", "&").replace("&#8203;", "")
    codes = " ".join(part for part in text.replace('"', " ").replace("'", " ").replace("^", " ").split() if "-" in part)
    return codes + "\n" + fold(text)

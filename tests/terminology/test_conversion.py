"""Amounts in other units: exact, both ways, and not at all where no factor is right."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iamata.model.coding import Quantity
from iamata.terminology.conversion import convert, same
from iamata.terminology.tables import rows

RULES = [row for row in rows("unit_factors") if row["kind"] == "analyte" and row["factor"] != "none"]
AMOUNTS = st.decimals(min_value=Decimal("0.01"), max_value=Decimal(5000), places=2)


def amount(value: str, unit: str, comparator: str = "") -> Quantity:
    return Quantity(value, unit, unit, comparator, unit)


# As published at https://www.smarterblood.org/blood-test-units-explained: "5.0 mmol/L AU = 90 mg/dL US" (glucose), "88
# umol/L AU = 1.0 mg/dL US" (creatinine), "5.7% = 39 mmol/mol, 6.5% = 48 mmol/mol", "17 umol/L AU = 1.0 mg/dL US"
# (bilirubin), "200 pmol/L AU = 271 pg/mL US" (vitamin B12), "140 g/L AU = 14.0 g/dL US"; and at
# https://www.health3.app/tools/blood-test-unit-converter: 100 mg/dL = 5.55 mmol/L of glucose.
@pytest.mark.parametrize(
    ("value", "unit", "to", "analyte", "expected", "places"),
    [
        ("90", "mg/dL", "mmol/L", "glucose", "5.0", "0.1"),
        ("100", "mg/dL", "mmol/L", "glucose", "5.55", "0.01"),
        ("1.0", "mg/dL", "umol/L", "creatinine", "88", "1"),
        ("6.5", "%", "mmol/mol", "hemoglobin-a1c", "48", "1"),
        ("5.7", "%", "mmol/mol", "hemoglobin-a1c", "39", "1"),
        ("48", "mmol/mol", "%", "hemoglobin-a1c", "6.5", "0.1"),
        ("1.0", "mg/dL", "umol/L", "bilirubin", "17", "1"),
        ("200", "pmol/L", "pg/mL", "cobalamin", "271", "1"),
        ("14.0", "g/dL", "g/L", "", "140", "1"),
        ("98.6", "[degF]", "Cel", "temperature", "37.0", "0.1"),
        ("154", "[lb_av]", "kg", "mass", "69.9", "0.1"),
        ("70", "[in_i]", "cm", "length", "177.8", "0.1"),
        ("7.2", "10*3/uL", "10*9/L", "", "7.2", "0.1"),
        ("4.5", "m[IU]/L", "u[IU]/mL", "", "4.5", "0.1"),
        ("140", "meq/L", "mmol/L", "sodium", "140", "1"),
    ],
)
def test_published_pairs_come_out(value: str, unit: str, to: str, analyte: str, expected: str, places: str) -> None:
    found = convert(Decimal(value), unit, to, analyte)
    assert found is not None
    assert found.quantize(Decimal(places)) == Decimal(expected)


@pytest.mark.parametrize(
    ("unit", "to", "analyte"),
    [
        ("mg/dL", "mmol/L", ""),  # mass to molar without an analyte
        ("mg/dL", "nmol/L", "lipoprotein-a"),  # particles of many sizes
        ("%", "mmol/mol", ""),  # a percentage of what?
        ("mL/min", "mL/min/{1.73_m2}", ""),  # of this body, of a standard one
        ("mg/dL", "mm[Hg]", "glucose"),
        ("[IU]/L", "U/L", "thyrotropin"),
        ("Cel", "[degF]", ""),
        ("mystery", "mg/dL", "glucose"),
        ("", "", "glucose"),
    ],
)
def test_what_does_not_convert_is_none(unit: str, to: str, analyte: str) -> None:
    assert convert(Decimal(5), unit, to, analyte) is None
    assert convert(Decimal(5), to, unit, analyte) is None


def test_lipoprotein_a_still_converts_within_mass() -> None:
    assert convert(Decimal(30), "mg/dL", "mg/L", "lipoprotein-a") == 300


def test_no_number_is_none() -> None:
    assert convert(Decimal("NaN"), "mg/dL", "g/L", "") is None
    assert convert(Decimal("Infinity"), "mg/dL", "g/L", "") is None


@settings(max_examples=200, deadline=None)
@given(AMOUNTS, st.sampled_from(RULES))
def test_there_and_back_is_the_same_amount(value: Decimal, rule: dict[str, str]) -> None:
    there = convert(value, rule["from"], rule["to"], rule["name"])
    assert there is not None
    back = convert(there, rule["to"], rule["from"], rule["name"])
    assert back is not None
    assert abs(back - value) <= Decimal("1e-18")


@settings(max_examples=200, deadline=None)
@given(AMOUNTS, AMOUNTS, st.sampled_from(RULES))
def test_same_is_the_same_either_way_round(a: Decimal, b: Decimal, rule: dict[str, str]) -> None:
    left, right = amount(str(a), rule["from"]), amount(str(b), rule["to"])
    assert same(left, right, rule["name"]) is same(right, left, rule["name"])
    assert same(left, left, rule["name"]) is True


def test_the_coarser_precision_decides() -> None:
    assert same(amount("90", "mg/dL"), amount("5.0", "mmol/L"), "glucose") is True
    assert same(amount("90", "mg/dL"), amount("5.00", "mmol/L"), "glucose") is True
    assert same(amount("90.0", "mg/dL"), amount("5.00", "mmol/L"), "glucose") is True
    assert same(amount("90.0", "mg/dL"), amount("5.000", "mmol/L"), "glucose") is False
    assert same(amount("90", "mg/dL"), amount("5.4", "mmol/L"), "glucose") is False
    assert same(amount("6.5", "%"), amount("48", "mmol/mol"), "hemoglobin-a1c") is True
    assert same(amount("6.5", "%"), amount("52", "mmol/mol"), "hemoglobin-a1c") is False


def test_what_cannot_be_compared_is_none() -> None:
    assert same(amount("90", "mg/dL"), amount("5.0", "mmol/L"), "") is None
    assert same(amount("5", "mg/dL", "<"), amount("5", "mg/dL"), "glucose") is None
    assert same(amount("high", "mg/dL"), amount("5", "mg/dL"), "glucose") is None
    assert same(Quantity("5", "blobs"), Quantity("5", "drops"), "") is None
    assert same(Quantity("5", "Blobs"), Quantity("5", "blobs"), "") is True


def test_spellings_of_one_unit_are_one_unit() -> None:
    assert same(Quantity("90", "mg/dL"), Quantity("90", "mg/dl"), "glucose") is True


def test_every_factor_agrees_with_the_others_on_what_it_converts() -> None:
    """A row may be named by one source only; two rows of an analyte that meet must not disagree by over 1 in 100."""
    seen: dict[tuple[str, str], Decimal] = {}
    for rule in RULES:
        found = convert(Decimal(1), rule["from"], rule["to"], rule["name"])
        assert found is not None
        key = rule["name"], rule["from"]
        assert key not in seen or abs(seen[key] - found) / found < Decimal("0.01"), key
        seen[key] = found

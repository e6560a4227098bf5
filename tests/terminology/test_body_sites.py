"""Sites and sides of the body, by code and by word."""

from __future__ import annotations

from itertools import product

import pytest

from iamata.model.coding import CodedText, Coding
from iamata.terminology.body_sites import Place, site
from iamata.terminology.names import fold
from iamata.terminology.tables import rows


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Pain in left knee", Place("knee", "left")),
        ("Otitis media, right ear", Place("ear", "right")),
        ("Both knees", Place("knee", "bilateral")),
        ("Bilateral primary osteoarthritis of knee", Place("knee", "bilateral")),
        ("Fracture of left femur and right femur", Place("femur", "bilateral")),
        ("Left ventricular failure", Place("left ventricular", "")),
        ("Unspecified injury of forearm", Place("forearm", "")),
        ("Rechts", Place("", "right")),
        (
            "Left anterior descending branch of left coronary artery",
            Place("left anterior descending coronary artery", "left"),
        ),
        ("Hypertension", Place("", "")),
        ("", Place("", "")),
    ],
)
def test_words_tell_site_and_side(text: str, expected: Place) -> None:
    assert site(CodedText(text)) == expected


def snomed(*codes: str) -> CodedText:
    return CodedText(codings=tuple(Coding("http://snomed.info/sct", code, "", f"snomed|{code}") for code in codes))


def test_codes_tell_site_and_side() -> None:
    assert site(snomed("82169009")) == Place("knee", "left")
    assert site(snomed("36701003")) == Place("knee", "bilateral")
    assert site(snomed("72696002", "24028007")) == Place("knee", "right")


def test_an_unreviewed_letter_is_no_side() -> None:
    assert site(CodedText("R knee")) == Place("knee", "")


def test_a_side_before_any_site_is_read() -> None:
    own = {row["name"]: row["site"] for row in rows("body_names")}
    for name, side in product(own, ("left", "right", "bilateral")):
        text = f"{side} {name}"
        longest = max((one for one in own if f" {one} " in f" {text} "), key=len)
        named = site(CodedText(text))
        if text in own:  # `left heart` is a site of its own in the table, and has no side
            assert named == Place(own[text], ""), text
        elif longest != name and longest.startswith(f"{side} "):  # `left heart valve structure` begins with one
            assert named.side == "", text
        else:
            assert named == Place(own[longest], side), text


def test_every_row_is_folded_and_every_icd_word_stands_in_an_official_name() -> None:
    icd = pytest.importorskip("simple_icd_10_cm")
    titles = " | ".join(fold(icd.get_description(code)) for code in icd.get_all_codes())
    for row in rows("body_names"):
        assert row["name"] == fold(row["name"])
        assert row["source"] != "icd10cm" or f" {row['name']} " in titles.replace("|", " ") + " ", row

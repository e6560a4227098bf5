"""Vaccine groups: combinations have all parts, and a code counts only with the name that files give it."""

from __future__ import annotations

import pytest

from iamata.model.coding import CodedText, Coding
from iamata.terminology import vaccines
from iamata.terminology.tables import rows

CVX = "http://hl7.org/fhir/sid/cvx"
MMR = {"measles", "mumps", "rubella"}


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("MMR", MMR),
        ("M-M-R II", MMR),
        ("Measles, Mumps and Rubella virus vaccine", MMR),
        ("Measles vaccine", {"measles"}),
        ("Tdap", {"tetanus", "diphtheria", "pertussis"}),
        ("Td (adult), 5 Lf tetanus toxoid, preservative free, adsorbed", {"tetanus", "diphtheria"}),
        ("Influenza, seasonal, injectable, preservative free", {"influenza"}),
        ("Haemophilus influenzae type b", {"Hib"}),
        ("Hib-Hep B", {"Hib", "hepatitis B"}),
        ("Twinrix (HepA/HepB)", {"hepatitis A", "hepatitis B"}),
        ("DTaP,IPV,Hib,HepB", {"tetanus", "diphtheria", "pertussis", "polio", "Hib", "hepatitis B"}),
        ("Pneumococcal conjugate PCV 13", {"pneumococcal conjugate"}),
        ("pneumococcal polysaccharide vaccine, 23 valent", {"pneumococcal polysaccharide"}),
        ("hepatitis B immune globulin", set()),
        ("no vaccine administered", set()),
    ],
)
def test_names_have_their_groups(name: str, groups: set[str]) -> None:
    assert vaccines.group(CodedText(name)) == groups


def test_a_code_without_a_name_has_the_groups_that_files_name() -> None:
    assert vaccines.group(CodedText("", (Coding(CVX, "03"),))) == MMR
    assert vaccines.group(CodedText("", (Coding("urn:oid:2.16.840.1.113883.12.292", "208"),))) == {"COVID-19"}


def test_a_code_that_contradicts_the_text_has_no_group() -> None:
    pneumo = Coding(CVX, "33", "Pneumococcal polysaccharide vaccine")
    assert vaccines.group(CodedText("Influenza virus vaccine", (pneumo,))) == frozenset()


def test_a_less_specific_name_yields_to_the_specific_code() -> None:
    pneumo = Coding(CVX, "33", "pneumococcal polysaccharide PPV23")
    assert vaccines.group(CodedText("pneumococcal", (pneumo,))) == {"pneumococcal polysaccharide"}


def test_codes_that_files_give_to_different_vaccines_are_in_no_row() -> None:
    codes = {row["code"] for row in rows("vaccine_codes")}
    assert not codes & {"cvx|103", "cvx|106", "cvx|82"}
    assert len(codes) >= 45

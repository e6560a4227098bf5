"""Who is independent of whom: author, original record and content decide, never the connector."""

from __future__ import annotations

from small import Said, graph, said

from iamata.authority import Witnesses
from iamata.model.attribution import Role
from iamata.model.statement import Aspect, Kind, Polarity


def roots(*statements: Said) -> int:
    g = graph(list(statements))
    return len(set(Witnesses(g).roots(g.statements).values()))


def voice(id: str, role: Role, **more: object) -> Said:
    return said(id, Kind.ALLERGY, "penicillin", role, aspect=Aspect.REACTED, **more)  # type: ignore[arg-type]  # a table of values


def test_the_same_author_in_two_systems_is_one_witness() -> None:
    assert (
        roots(voice("st_a", Role.PATIENT, source="app"), voice("st_b", Role.PATIENT, source="clinic", age_days=9)) == 1
    )
    ames = {"who": "Dr Ames", "reference": "Practitioner/1"}
    assert (
        roots(
            voice("st_a", Role.CLINICIAN, source="north", **ames),
            voice("st_b", Role.CLINICIAN, source="east", who="dr. ames", age_days=4),
        )
        == 1
    )


def test_the_same_reference_in_two_systems_is_not_one_author() -> None:
    one = voice("st_a", Role.CLINICIAN, source="north", reference="Practitioner/1")
    two = voice("st_b", Role.CLINICIAN, source="east", reference="Practitioner/1", age_days=4)
    assert roots(one, two) == 2


def test_a_mother_is_one_witness_under_every_name_and_a_father_another() -> None:
    assert roots(voice("st_a", Role.PROXY, who="mom"), voice("st_b", Role.PROXY, who="Mother", source="east")) == 1
    assert roots(voice("st_a", Role.PROXY, who="mother"), voice("st_b", Role.PROXY, who="father")) == 2


def test_a_report_that_travelled_is_one_witness() -> None:
    """Northside's entry, and Eastgate's copy of it with Northside as author (design 12, s1 and s5)."""
    first = voice("st_1", Role.CLINICIAN, who="Dr Ames", source="northside", polarity=Polarity.DENIED, age_days=715)
    copy = voice("st_5", Role.INSTITUTION, who="Northside", source="eastgate", polarity=Polarity.DENIED, age_days=715)
    assert roots(first, copy) == 1
    assert (
        roots(
            first,
            voice("st_5", Role.INSTITUTION, who="Eastgate", source="eastgate", polarity=Polarity.DENIED, age_days=3),
        )
        == 2
    )


def test_equal_content_is_one_witness() -> None:
    one = voice("st_a", Role.CLINICIAN, reference="Practitioner/1", source="north", digest="same", age_days=1)
    two = voice("st_b", Role.CLINICIAN, reference="Practitioner/9", source="east", digest="same", age_days=2)
    assert roots(one, two) == 1


def test_two_people_who_say_the_same_on_one_day_are_two_witnesses() -> None:
    assert roots(voice("st_a", Role.PATIENT), voice("st_b", Role.PROXY, who="mother")) == 2
    assert roots(voice("st_a", Role.CLINICIAN, who="Dr A"), voice("st_b", Role.PATIENT)) == 2

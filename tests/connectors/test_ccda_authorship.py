"""Who wrote or said it, from the elements of CDA to the attribution that the fold resolves."""

from __future__ import annotations

import pytest
from ccda_small import AMES, act, attribution, author, cd, concern, document, entry, graph, section

from iamata.engine import Engine
from iamata.model.attribution import AttributionKind, Certainty, Directness, Role
from iamata.model.statement import Kind, Polarity

OTITIS = cd("65363002", "Otitis media")
ONESELF = '<assignedAuthor><id root="4" extension="x"/><code code="ONESELF" codeSystem="2.16.840.1.113883.5.111"/><assignedPerson><name>Leo</name></assignedPerson></assignedAuthor>'  # fmt: skip # noqa: E501
MOTHER = ONESELF.replace("ONESELF", "MTH").replace("Leo", "Ann")
BY_ID = '<assignedAuthor><id root="1.2.3" extension="leo"/></assignedAuthor>'
DEVICE = (
    '<assignedAuthor><id root="4" extension="d"/><assignedAuthoringDevice><softwareName>Composer 1</softwareName>'
    "</assignedAuthoringDevice><representedOrganization><name>Maker</name></representedOrganization></assignedAuthor>"
)
NORTHSIDE = (
    '<assignedAuthor><id root="6" extension="north"/><representedOrganization><name>Northside</name>'
    "</representedOrganization></assignedAuthor>"
)


def related(code: str, kind: str = "PRS") -> str:
    return (
        f'<informant><relatedEntity classCode="{kind}"><code code="{code}" codeSystem="2.16.840.1.113883.5.111"/>'
        "<relatedPerson><name>Ann</name></relatedPerson></relatedEntity></informant>"
    )


def problem(people: str = "") -> str:
    return concern(act("observation", "4", OTITIS + people))


def of(body: bytes) -> tuple[AttributionKind, Role, str]:
    found = attribution(body, Kind.CONDITION)
    return found.kind, found.author.role, found.rule


SYSTEM, USER = AttributionKind.SYSTEM, AttributionKind.USER


@pytest.mark.parametrize(
    ("who", "role"),
    [(AMES, Role.CLINICIAN), (ONESELF, Role.PATIENT), (MOTHER, Role.PROXY), (BY_ID, Role.PATIENT)],
)
def test_the_author_of_an_entry_decides(who: str, role: Role) -> None:
    kind = SYSTEM if role is Role.CLINICIAN else USER
    assert of(document(section("11450-4", problem(author(who))))) == (kind, role, "element-author")


@pytest.mark.parametrize(
    ("who", "role"), [(AMES, Role.CLINICIAN), (ONESELF, Role.PATIENT), (MOTHER, Role.PROXY), (BY_ID, Role.PATIENT)]
)
def test_a_document_s_author_is_inherited(who: str, role: Role) -> None:
    kind = SYSTEM if role is Role.CLINICIAN else USER
    assert of(document(section("11450-4", problem()), authors=author(who))) == (kind, role, "enclosing-author")


def test_the_nearest_author_is_inherited() -> None:
    found = attribution(document(section("11450-4", problem(), more=author(NORTHSIDE))), Kind.CONDITION)
    assert (found.kind, found.author.display, found.rule) == (SYSTEM, "Northside", "enclosing-author")


def test_the_author_of_the_act_around_an_entry_is_its_author() -> None:
    inner = act("observation", "4", OTITIS)
    assert of(document(section("11450-4", concern(inner, more=author(MOTHER))))) == (USER, Role.PROXY, "element-author")


def test_composing_software_is_no_author() -> None:
    both = document(section("11450-4", problem()), authors=author(DEVICE) + author(AMES))
    assert of(both) == (SYSTEM, Role.CLINICIAN, "enclosing-author")
    assert of(document(section("11450-4", problem()), authors=author(DEVICE))) == (
        SYSTEM,
        Role.INSTITUTION,
        "source-default",
    )


def test_a_device_that_authors_a_measurement_is_an_instrument() -> None:
    code = cd("8867-4", "Heart rate", "2.16.840.1.113883.6.1", "code")
    body = entry(act("observation", "27", f'{code}<value xsi:type="PQ" value="80" unit="/min"/>{author(DEVICE)}'))
    found = attribution(document(section("8716-3", body)), Kind.OBSERVATION)
    assert (found.kind, found.author.role) == (SYSTEM, Role.INSTRUMENT)


def test_an_informant_of_an_entry_is_its_source_before_its_author() -> None:
    found = attribution(document(section("11450-4", problem(author() + related("MTH")))), Kind.CONDITION)
    assert (found.kind, found.author.role, found.rule) == (USER, Role.PROXY, "element-source")
    assert found.directness is Directness.PROXY
    assert of(document(section("11450-4", problem(author() + related("ONESELF"))))) == (
        USER,
        Role.PATIENT,
        "element-source",
    )


def test_an_informant_with_the_patient_s_id_is_the_patient() -> None:
    informant = f"<informant>{BY_ID.replace('assignedAuthor', 'assignedEntity')}</informant>"
    assert of(document(section("11450-4", problem(author() + informant)))) == (USER, Role.PATIENT, "element-source")


def test_an_informant_of_a_section_is_the_source_of_its_entries() -> None:
    body = document(section("11450-4", problem(), more=related("MTH")))
    assert of(body) == (USER, Role.PROXY, "element-source")
    inner = section("11348-0", problem(), more="")
    assert of(document(section("11450-4", inner, more=related("MTH")))) == (USER, Role.PROXY, "element-source")


def test_an_informant_of_a_section_beside_it_decides_nothing() -> None:
    body = document(section("29762-2", "", text="x y z", more=related("MTH")), section("11450-4", problem()))
    assert of(body) == (SYSTEM, Role.CLINICIAN, "enclosing-author")


def test_an_informant_of_the_header_never_decides() -> None:
    body = document(section("11450-4", problem()), authors=author() + related("MTH"))
    assert of(body) == (SYSTEM, Role.CLINICIAN, "enclosing-author")


def test_a_person_described_elsewhere_is_found_by_id() -> None:
    by_id = '<assignedAuthor><id root="2.16.840.1.113883.4.6" extension="111"/></assignedAuthor>'
    found = attribution(document(section("11450-4", problem(author(by_id)))), Kind.CONDITION)
    assert (found.author.role, found.author.display, found.rule) == (Role.CLINICIAN, "Dr Ames", "element-author")


def test_several_authors_keep_their_own_times() -> None:
    body = document(section("11450-4", problem(author(time="20260211") + author(MOTHER, "20260210"))))
    said = next(s for s in graph(("e", body)).statements.values() if s.kind is Kind.CONDITION)
    assert [(e.display, e.time) for e in said.authorship] == [("Dr Ames", "20260211"), ("Ann", "20260210")]


def test_the_words_of_a_section_belong_to_its_author_else_to_the_document_s() -> None:
    formed = graph(("e", document(section("8648-8", "", text="He sleeps well", more=author(MOTHER)))))
    (passage,) = formed.passages
    found = formed.attributions[passage]
    assert (found.author.role, found.rule, found.certainty) == (Role.PROXY, "element-author", Certainty.STATED)
    formed = graph(("e", document(section("8648-8", "", text="He sleeps well"), authors=author() + related("MTH"))))
    (passage,) = formed.passages
    found = formed.attributions[passage]
    assert (found.author.role, found.rule, found.certainty) == (Role.CLINICIAN, "enclosing-author", Certainty.INFERRED)
    assert found.because.startswith("document/author/0=")


# Design 12: Eastgate's document about Leo, with a copy of Northside's "No known allergies".


def eastgate() -> bytes:
    otitis = concern(
        act(
            "observation",
            "4",
            '<id root="e1" extension="otitis"/><effectiveTime><low value="20260210"/></effectiveTime>'
            + cd("H66.9", "Otitis media, unspecified", "2.16.840.1.113883.6.90"),
        )
    )
    none = concern(
        act(
            "observation",
            "7",
            '<effectiveTime><low nullFlavor="NA"/></effectiveTime>' + cd("419199007", "Allergy to substance"),
            'moodCode="EVN" negationInd="true"',
        ),
        template="30",
    )
    return document(
        section("11450-4", otitis), section("48765-2", none, more=author(NORTHSIDE, "20240302")), id="east-1"
    )


def test_eastgate_s_copy_of_no_known_allergies_is_northside_s() -> None:
    formed = graph(("eastgate", eastgate()))
    denial = next(s for s in formed.statements.values() if s.kind is Kind.ALLERGY)
    assert denial.concept is not None
    assert (denial.polarity, denial.concept.keys) == (Polarity.DENIED, ("snomed|716186003",))
    assert formed.attributions[denial.id].author.display == "Northside"
    assert formed.attributions[denial.id].rule == "enclosing-author"
    problem = next(s for s in formed.statements.values() if s.kind is Kind.CONDITION)
    assert formed.attributions[problem.id].author.display == "Dr Ames"


def test_the_engine_reads_eastgate_from_bytes_to_page_and_shows_its_place() -> None:
    engine = Engine.open(":memory:")
    receipt = engine.ingest("leo", eastgate(), source="eastgate")
    assert (receipt.format, receipt.media_type, receipt.status) == ("cda/r2", "application/cda+xml", "succeeded")
    page = engine.read("/patient/leo/_index.md").text
    assert "No known allergies" in page
    assert "Otitis media, unspecified, active since 2026-02-10" in page
    engine.close()


def test_sending_a_document_twice_or_its_parts_in_another_order_changes_nothing() -> None:
    once = graph(("eastgate", eastgate()))
    assert graph(("eastgate", eastgate()), ("eastgate", eastgate())).hash == once.hash

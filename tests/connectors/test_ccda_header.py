"""What the header says, how sections without entries are kept, and how records are named."""

from __future__ import annotations

from base64 import b64encode

from ccda_small import SNOMED, act, author, cd, concern, document, entry, only, read, section

from iamata.connectors import ccda
from iamata.model.clinical_time import Clock
from iamata.model.coding import BusinessIdentifier, CodedText
from iamata.model.document import Outcome, Reason
from iamata.model.statement import Kind, Label, Standing
from iamata.ports import Parsed

LEO = (
    '<recordTarget><patientRole><id root="1.2.3" extension="leo"/><id root="1.2.4" extension="L-1"/><addr use="HP">'
    "<streetAddressLine>1 Main St</streetAddressLine><city>Boston</city></addr><telecom value='tel:1'/><patient>"
    '<name use="P"><given>Lion</given></name><name use="L"><given>Leo</given><given>A.</given>'
    "<family>Small</family></name>"
    '<administrativeGenderCode code="F"/><birthTime value="20220103"/><sdtc:deceasedInd value="false"/>'
    '<maritalStatusCode code="S" displayName="Never Married"/><raceCode code="1" displayName="White"/>'
    '<sdtc:raceCode code="2" displayName="Asian"/><languageCommunication><languageCode code="en"/>'
    "</languageCommunication>"
    "</patient></patientRole></recordTarget>"
)


def test_the_patient_s_demographics() -> None:
    said = only(read(document(header=LEO)), Kind.DEMOGRAPHIC)
    assert said.provenance.record.reference == "Patient/1.2.3|leo"
    assert said.identifiers == (BusinessIdentifier("1.2.3", "leo"), BusinessIdentifier("1.2.4", "L-1"))
    assert (said.field("name"), said.field("other_names")) == ("Leo A. Small", "Lion")
    assert (said.field("sex"), str(said.field("birth_date")), said.field("deceased")) == ("female", "2022-01-03", False)
    assert (said.field("address"), said.field("race")) == ("1 Main St, Boston", "White; Asian")


def test_a_second_patient_is_set_aside() -> None:
    other = LEO.replace("leo", "mia").replace("Leo", "Mia")
    parsed = read(document(header=LEO + other))
    assert only(parsed, Kind.DEMOGRAPHIC).field("name") == "Leo A. Small"
    assert parsed.set_aside == 1
    assert [line.detail for line in parsed.intake if line.outcome is Outcome.IGNORED] == ["of another patient"]


def test_the_document_is_a_list_with_its_authors_and_everything_it_holds() -> None:
    verifier = (
        '<legalAuthenticator><time value="20260211"/><assignedEntity><id root="9" extension="2"/><assignedPerson>'
        "<name><family>Bell</family></name></assignedPerson></assignedEntity></legalAuthenticator>"
    )
    custodian = (
        '<custodian><assignedCustodian><representedCustodianOrganization><id root="8"/><name>Eastgate</name>'
        "</representedCustodianOrganization></assignedCustodian></custodian>"
    )
    body = document(
        section("11450-4", concern(act("observation", "4", cd("65363002", "Otitis media")))), header=LEO, id="doc-7",
        authors=author() + custodian + verifier,
    )  # fmt: skip
    listed = only(read(body), Kind.LIST)
    assert listed.provenance.record.reference == "ClinicalDocument/doc-7"
    assert [(e.part, e.element, e.display) for e in listed.authorship] == [
        ("author", "author/0", "Dr Ames"),
        ("verifier", "legalAuthenticator/0", "Bell"),
        ("custodian", "custodian", "Eastgate"),
    ]
    assert {r.element: r.reference.partition("/")[0] for r in listed.references} == {
        "section/0/entry/0": "condition",
        "entry/0": "Patient",
    }
    prepared = listed.time(Clock.PREPARED)
    assert prepared is not None
    assert str(prepared.at) == "2026-02-10"
    assert ccda.custodian(body) == "Eastgate"


def test_a_set_and_version_name_the_document() -> None:
    body = document(header=LEO + '<setId root="1.9" extension="s"/><versionNumber value="3"/>')
    record = only(read(body), Kind.LIST).provenance.record
    assert (record.reference, record.version) == ("ClinicalDocument/1.9|s", "3")


def test_relatives_in_the_header_are_persons_and_no_authors() -> None:
    mother = (
        '<participant typeCode="IND"><associatedEntity classCode="PRS"><code code="MTH" displayName="mother" '
        'codeSystem="2.16.840.1.113883.5.111"/><associatedPerson><name><given>Ann</given></name></associatedPerson>'
        "</associatedEntity></participant>"
    )
    parsed = read(document(header=LEO + mother))
    person = next(s for s in parsed.statements if s.provenance.record.type == "RelatedPerson")
    relationship = person.field("relationship")
    assert isinstance(relationship, CodedText)
    assert (person.field("name"), relationship.display) == ("Ann", "mother")
    assert all("participant" not in e.element for e in only(parsed, Kind.LIST).authorship)


def test_the_visit_the_document_is_about_and_who_cared() -> None:
    visit = (
        '<componentOf><encompassingEncounter><id root="5" extension="v1"/><code code="AMB" '
        'codeSystem="2.16.840.1.113883.5.4" '
        'displayName="Ambulatory"/><effectiveTime><low value="20260210"/><high value="20260211"/>'
        '</effectiveTime><location>'
        "<healthCareFacility><location><name>Clinic</name></location></healthCareFacility></location>"
        "</encompassingEncounter></componentOf>"
    )  # fmt: skip
    service = (
        '<documentationOf><serviceEvent classCode="PCPR"><effectiveTime><low value="2025"/></effectiveTime><performer>'
        '<functionCode code="PCP" displayName="primary care physician"/><assignedEntity><id root="9" extension="7"/>'
        "<assignedPerson><name><family>Bell</family></name></assignedPerson></assignedEntity></performer></serviceEvent>"
        "</documentationOf>"
    )
    parsed = read(document(header=LEO + service + visit))
    found = only(parsed, Kind.ENCOUNTER)
    assert (found.standing, found.field("location")) == (Standing.COMPLETED, "Clinic")
    assert only(parsed, Kind.CARE_TEAM).field("activity") == "Bell (primary care physician)"
    assert all(r.element.startswith("entry/") for r in only(parsed, Kind.LIST).references if "member" not in r.element)


def test_one_visit_in_header_and_section_has_one_identifier_to_meet_by() -> None:
    visit = (
        '<componentOf><encompassingEncounter><id root="5" extension="v1"/><effectiveTime><low value="20260210"/>'
        "</effectiveTime></encompassingEncounter></componentOf>"
    )
    body = entry(act("encounter", "49", '<id root="5" extension="v1"/><effectiveTime value="20260210"/>'))
    parsed = read(document(section("46240-8", body), header=LEO + visit))
    both = [s for s in parsed.statements if s.kind is Kind.ENCOUNTER]
    assert {s.identifiers for s in both} == {(BusinessIdentifier("5", "v1"),)}


# Sections


def test_a_section_of_words_is_a_passage_with_its_place() -> None:
    text = "<paragraph>Fever since Monday.</paragraph><list><item>rest</item><item>fluids</item></list>"
    body = document(section("8648-8", "", title="Course", text=text))
    parsed = read(body)
    passage = parsed.passages[0]
    assert (passage.text, passage.title) == ("Fever since Monday.\nrest\nfluids", "Course")
    place = next(s.place for s in parsed.sightings if s.item == passage.id)
    assert ccda.at(body, place.pointer) == passage.text
    assert [(line.outcome, line.label) for line in parsed.intake if line.kind == "section"] == [
        (Outcome.TEXT_ONLY, "section 8648-8")
    ]


def test_prose_beside_entries_is_kept_where_the_entries_do_not_say_it() -> None:
    goal = entry(act("observation", "121", cd("1", "Walk daily", SNOMED, "code"), 'moodCode="GOL"'))
    text = (
        "<paragraph>Walk daily with the family</paragraph><paragraph>He would like to play football again</paragraph>"
    )
    body = document(section("61146-7", goal, text=text))
    parsed = read(body)
    assert [p.text for p in parsed.passages] == ["He would like to play football again"]
    place = next(s.place for s in parsed.sightings if s.item == parsed.passages[0].id)
    assert ccda.at(body, place.pointer)[place.start : place.end] == "He would like to play football again"


def test_sections_nest_and_an_empty_one_is_said_to_be() -> None:
    inner = section("8648-8", "", text="Inner words here")
    parsed = read(document(section("11329-0", inner), section("30954-2", "")))
    assert [p.part for p in parsed.passages] == ["section/0/section/0/text"]
    lines = [(line.outcome, line.reason) for line in parsed.intake if line.kind == "section"]
    assert lines == [
        (Outcome.STRUCTURED, Reason.NONE),
        (Outcome.TEXT_ONLY, Reason.NONE),
        (Outcome.IGNORED, Reason.EMPTY),
    ]


def unstructured(text: str) -> Parsed:
    body = document().decode()
    start, end = body.index("<structuredBody>"), body.index("</component></ClinicalDocument>")
    return read((body[:start] + f"<nonXMLBody>{text}</nonXMLBody>" + body[end:]).encode())


def test_an_unstructured_body_is_a_passage_if_it_is_text() -> None:
    plain = unstructured('<text mediaType="text/plain">Dear colleague,\nLeo was seen.</text>')
    assert plain.passages[0].text == "Dear colleague,\nLeo was seen."
    coded = b64encode(b"Dear colleague").decode()
    assert (
        unstructured(f'<text mediaType="text/plain" representation="B64">{coded}</text>').passages[0].text
        == "Dear colleague"
    )
    html = b64encode(b"<p>Dear</p><p>colleague</p>").decode()
    assert (
        unstructured(f'<text mediaType="text/html" representation="B64">{html}</text>').passages[0].text
        == "Dear\ncolleague"
    )


def test_a_pdf_inside_is_kept_and_said_not_to_be_read() -> None:
    pdf = b64encode(b"%PDF-1.7").decode()
    for text in (
        f'<text mediaType="application/pdf" representation="B64">{pdf}</text>',
        f'<text representation="B64">{pdf}</text>',
        '<text mediaType="application/pdf"><reference value="UD_sample.pdf"/></text>',
        '<text representation="B64">***</text>',
    ):
        parsed = unstructured(text)
        assert parsed.passages == ()
        line = next(line for line in parsed.intake if line.label == "nonXMLBody")
        assert (line.outcome, line.reason) == (Outcome.IGNORED, Reason.UNSUPPORTED)


def test_labels_of_document_and_section_are_inherited_and_part_of_identity() -> None:
    problem = concern(act("observation", "4", cd("65363002", "Otitis media")))
    plain = read(document(section("11450-4", problem)))
    secret = read(document(section("11450-4", problem, more='<confidentialityCode code="R"/>')))
    label = Label("http://terminology.hl7.org/CodeSystem/v3-Confidentiality", "R")
    assert only(secret, Kind.CONDITION).labels == (label,)
    assert only(plain, Kind.CONDITION).labels == ()
    assert only(secret, Kind.CONDITION).id != only(plain, Kind.CONDITION).id


# Names of records


def problem(code: str, display: str, id: str = '<id root="7" extension="same"/>', time: str = "2026") -> str:
    return concern(
        act("observation", "4", f'{id}<effectiveTime><low value="{time}"/></effectiveTime>{cd(code, display)}')
    )


def names(parsed: Parsed) -> list[str]:
    return [s.provenance.record.reference for s in parsed.statements if s.kind is Kind.CONDITION]


def test_an_id_that_stands_on_different_things_names_different_records() -> None:
    parsed = read(document(section("11450-4", problem("65363002", "Otitis media") + problem("195967001", "Asthma"))))
    assert names(parsed) == ["condition/7|same/snomed|65363002", "condition/7|same/snomed|195967001"]
    assert {s.identifiers for s in parsed.statements if s.kind is Kind.CONDITION} == {
        (BusinessIdentifier("7", "same"),)
    }


def test_an_id_with_one_code_on_different_contents_is_told_apart_by_content() -> None:
    parsed = read(
        document(
            section("11450-4", problem("65363002", "Otitis media") + problem("65363002", "Otitis media", time="2020"))
        )
    )
    first, second = names(parsed)
    assert first != second
    assert first.startswith("condition/7|same/snomed|65363002~")


def test_what_names_itself_nowhere_is_named_by_its_content() -> None:
    one = read(document(section("11450-4", problem("65363002", "Otitis media", id=""))))
    two = read(document(section("11450-4", problem("65363002", "Otitis media", id=""), title="Other"), id="doc-2"))
    assert names(one) == names(two)
    assert names(one)[0].startswith("condition/~")
    assert only(one, Kind.CONDITION).id == only(two, Kind.CONDITION).id


def test_blanks_order_of_attributes_and_templates_do_not_change_an_id() -> None:
    body = document(section("11450-4", problem("65363002", "Otitis media")))
    spread = body.replace(b"><", b">\n  <").replace(b'root="7" extension="same"', b'extension="same"   root="7"')
    newer = spread.replace(b'22.4.4"/>', b'22.4.4" extension="2015-08-01"/>')
    assert only(read(newer), Kind.CONDITION).id == only(read(body), Kind.CONDITION).id


def test_the_place_of_a_statement_shows_the_entry() -> None:
    body = document(section("11450-4", problem("65363002", "Otitis media")))
    parsed = read(body)
    found = only(parsed, Kind.CONDITION)
    place = next(s.place.pointer for s in parsed.sightings if s.item == found.id)
    assert (
        place == "/ClinicalDocument/component/structuredBody/component/section/entry/act/entryRelationship/observation"
    )
    assert 'code="65363002"' in ccda.at(body, place)
    assert ccda.at(body, "/ClinicalDocument/nowhere") == ""


def test_names_and_words_of_the_patient_stay_out_of_intake_and_warnings() -> None:
    marker = "Zqxmarker"
    header = LEO.replace("Leo", marker).replace("Boston", marker)
    problems = problem("65363002", marker) + problem("195967001", marker, id="", time=marker)
    body = document(
        section("11450-4", problems, title=marker, text=f"<paragraph>{marker} is well today</paragraph>"),
        section("8648-8", entry("<act/>"), text=marker),
        header=header,
        authors=author(f"<assignedAuthor><assignedPerson><name>{marker}</name></assignedPerson></assignedAuthor>"),
    )
    parsed = read(body)
    assert marker in str(parsed.statements)
    assert marker not in f"{parsed.intake}{parsed.warnings}"

"""Into which passages does a document fall, who wrote it, and what became of every page?"""

from __future__ import annotations

import pytest
from document_files import docx, lines, p, passages, pdf, picture, read
from hypothesis import given, settings
from hypothesis import strategies as st

from iamata import Engine
from iamata.connectors import registry
from iamata.connectors.documents.outline import outline
from iamata.connectors.documents.persons import person
from iamata.connectors.documents.sections import cut
from iamata.connectors.text import Page, recognition
from iamata.model.attribution import AttributionKind, Part, Role
from iamata.model.clinical_time import Clock
from iamata.model.statement import Form, Kind
from iamata.ports import Parsed
from iamata.terminology.narrative import heading, names_relative
from iamata.terminology.tables import rows

NOTE = """Discharge Summary

CHIEF COMPLAINT
Cough.

Allergies: NKDA
PMH: Asthma
Family History:
  Mother: breast cancer

SOCIAL HISTORY

ASSESSMENT/PLAN:
1. Pneumonia
Electronically signed by: Ann Lee, MD on 03/07/2024
"""


def said(parsed: Parsed, body: bytes) -> None:
    """Every passage stands where its sighting says."""
    found = {each.id: each for each in parsed.passages}
    for sighting in parsed.sightings:
        if sighting.item in found:
            at = registry.excerpt(body, parsed.format, sighting.place)
            assert at == found[sighting.item].text
            assert sighting.place.start == found[sighting.item].start


def test_a_note_is_cut_by_its_headings_and_the_title_is_as_written() -> None:
    parsed = read(NOTE)
    assert passages(parsed) == [
        ("", "Discharge Summary"),
        ("CHIEF COMPLAINT", "Cough."),
        ("Allergies", "NKDA"),
        ("PMH", "Asthma"),
        ("Family History", "Mother: breast cancer"),
        ("ASSESSMENT/PLAN", "1. Pneumonia\nElectronically signed by: Ann Lee, MD on 03/07/2024"),
    ]
    said(parsed, NOTE.encode())
    assert lines(parsed) == [
        ("document", "", "structured", "1 page with text"),
        ("page", "/text", "text_only", "6 passages; 1 headings without a text"),
    ]


def test_a_document_says_what_it_is_in_its_first_lines() -> None:
    (document,) = read(NOTE).statements
    assert document.kind is Kind.DOCUMENT
    assert document.form is Form.UNSTRUCTURED
    assert document.concept is not None
    assert document.concept.text == "Discharge Summary"
    assert [(c.system, c.code) for c in document.concept.codings] == [("http://loinc.org", "18842-5")]
    assert document.times == ()
    (other,) = read("Dear colleague").statements
    assert other.concept is not None
    assert other.concept.display == "Text document"


@pytest.mark.parametrize(
    "line",
    [
        "• Plan: rest",
        "- Medications",
        "* Plan: rest",
        "1. Medications",
        "the plan: rest",
        "We spoke of the plan",
        "he has allergies",
        "Medicationsx: none",
        "Plan.x",
        "Imp",
        "http://allergies.example",
        "DOB: 1 May",
        "Neurological: normal",
    ],
)
def test_a_line_that_only_looks_like_a_heading_is_none(line: str) -> None:
    page = Page("/text", f"Before\n{line}\nafter")
    assert [piece.title for piece in cut(page).pieces] == [""]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("Allergies: none", "Allergies"),
        ("  ALLERGIES:", "ALLERGIES"),
        ("**Allergies:** none", "Allergies"),
        ("## Allergies", "Allergies"),
        ("Allergies & Adverse Reactions: none", "Allergies & Adverse Reactions"),
        ("Assessment / Plan", "Assessment / Plan"),
        ("Vital Signs (last filed)", "Vital Signs (last filed)"),
        ("FH: nil", "FH"),
        ("fh: nil", "fh"),
        ("HPI", "HPI"),
        ("Medications - none", "Medications"),
        ("Family history – none", "Family history"),
    ],
)
def test_a_heading_is_told_by_its_words(line: str, title: str) -> None:
    page = Page("/text", f"Before\n\n{line}\nafter")
    assert [piece.title for piece in cut(page).pieces] == ["", title]


def test_words_of_a_heading_alone_in_running_text_are_headings_only_where_there_are_more_of_them() -> None:
    assert [each.title for each in cut(Page("/page/1", "Table\nCare Team\nMembers\nof it")).pieces] == [""]
    found = cut(Page("/page/1", "Name\nMedications\nA\nAllergies\nB")).pieces
    assert [each.title for each in found] == ["", "Medications", "Allergies"]


def test_capitals_begin_a_section_that_the_table_does_not_know_and_relatives_do_not() -> None:
    text = "FAMILY HISTORY\n\nMOTHER\nbreast cancer\n\nWOUND CARE\nDaily."
    assert [(each.title, text[each.start : each.end]) for each in cut(Page("/text", text)).pieces] == [
        ("FAMILY HISTORY", "MOTHER\nbreast cancer"),
        ("WOUND CARE", "WOUND CARE\nDaily."),
    ]


def test_a_section_goes_on_over_pages_and_headers_do_not_carry_it() -> None:
    body = b"FAMILY HISTORY\nmother: asthma\fher brother: diabetes\n\nPLAN\nrest"
    parsed = read(body)
    assert [(each.part, each.title, each.text, each.start) for each in parsed.passages] == [
        ("page/1", "FAMILY HISTORY", "mother: asthma", 15),
        ("page/2", "FAMILY HISTORY", "her brother: diabetes", 0),
        ("page/2", "PLAN", "rest", 28),
    ]
    said(parsed, body)
    rtf = rb"{\rtf1{\header Page of Ann}Allergies: none\par}"
    assert passages(read(rtf)) == [("Allergies", "none"), ("", "Page of Ann")]


def test_headings_that_a_format_marks_begin_sections_whatever_their_words() -> None:
    html = (
        b"<html><body><h1>Visit</h1><p>Seen.</p><h2>Medications</h2><p>None</p><h2>Counselling</h2><p>Done</p></html>"
    )
    parsed = read(html)
    assert passages(parsed) == [
        ("Visit", "Visit\nSeen."),
        ("Medications", "None"),
        ("Counselling", "Counselling\nDone"),
    ]
    said(parsed, html)
    markdown = b"# Visit\nSeen.\n## Family History ##\nmother: asthma\n"
    assert passages(read(markdown, name="n.md")) == [("Visit", "# Visit\nSeen."), ("Family History", "mother: asthma")]


def test_long_sections_are_cut_between_paragraphs() -> None:
    text = "Plan:\n" + "\n\n".join(f"Paragraph {n}: " + "word " * 60 for n in range(60))
    parsed = read(text)
    assert len(parsed.passages) > 2
    assert all(each.title == "Plan" and len(each.text) <= 8_000 for each in parsed.passages)
    assert all(each.text.startswith("Paragraph") for each in parsed.passages)


def test_a_page_of_nothing_but_headings_is_cut_by_length_and_nothing_is_lost() -> None:
    parsed = read("Allergies: none\n" * 3_000)
    assert {title for title, _text in passages(parsed)} == {""}
    assert sum(text.count("Allergies: none") for _title, text in passages(parsed)) == 3_000
    assert parsed.intake[1].detail == "6 passages; too many headings: cut by length alone"


TEXT = st.text(st.sampled_from("aP:\n\r \t#*-.é"), max_size=60) | st.sampled_from(
    ["Allergies: none\n", "PLAN\n", "\nFamily History\n", "FH: x", "\r\n\r\n", "WOUND CARE\n", "## Plan\n"]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(TEXT, max_size=8).map("".join), st.integers(8, 60))
def test_no_character_is_lost_and_no_two_passages_overlap(text: str, limit: int) -> None:
    found = cut(Page("/text", text), limit_characters=limit)
    kept = list(text)
    last = 0
    for piece in found.pieces:
        assert last <= piece.start < piece.end
        assert text[piece.start : piece.end].strip() == text[piece.start : piece.end]
        last = piece.end
        kept[piece.start : piece.end] = " " * (piece.end - piece.start)
    for line in "".join(kept).splitlines():
        rest = line.strip("#*_=: \t\xa0-")
        assert not rest or heading(rest) is not None, "what is in no passage is a heading"


# --------------------------------------------------------------- who wrote it


def signed(text: str) -> list[tuple[Part, str, str]]:
    return [(each.part, each.type, each.display) for each in outline([Page("/text", text)]).evidence]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Electronically signed by: Ann Lee, MD on 03/07/2024", [(Part.AUTHOR, "Practitioner", "Ann Lee, MD")]),
        ("Electronically signed by Ann Lee M.D. 03/07/2024", [(Part.AUTHOR, "Practitioner", "Ann Lee M.D.")]),
        ("Dictated by: Ann Lee", [(Part.AUTHOR, "", "Ann Lee")]),
        ("Author: Ann Lee, RN | 10:15", [(Part.AUTHOR, "Practitioner", "Ann Lee, RN")]),
        ("**Author:** Dr. Lee", [(Part.AUTHOR, "Practitioner", "Dr. Lee")]),
        ("Completed by: patient", [(Part.AUTHOR, "Patient", "")]),
        ("Completed by: Ann Lee (mother)", [(Part.AUTHOR, "RelatedPerson", "Ann Lee (mother)")]),
        ("Signed by: Ann Lee", [(Part.VERIFIER, "", "Ann Lee")]),
        ("Signed by: Ann Lee, patient", [(Part.VERIFIER, "Patient", "Ann Lee, patient")]),
        (
            "Dictated by: Bo Ray, PA-C\nElectronically signed by: Ann Lee, MD\nTranscribed by: jk",
            [
                (Part.AUTHOR, "Practitioner", "Bo Ray, PA-C"),
                (Part.VERIFIER, "Practitioner", "Ann Lee, MD"),
                (Part.ENTERER, "", "jk"),
            ],
        ),
        ("The author: none knows", []),
        ("Author:", []),
        ("He was signed by the club", []),
        ("Patient: Ann Lee, MD", []),
        ("Author: 12345", []),
    ],
)
def test_lines_of_signature_are_evidence(text: str, found: list[tuple[Part, str, str]]) -> None:
    assert signed(text) == found


@pytest.mark.parametrize(
    ("name", "type"),
    [
        ("Ann Lee, MD, FACP", "Practitioner"),
        ("Lee, Ann", ""),
        ("Ann Lee", ""),
        ("Do, Ann", ""),
        ("Ann Patient", ""),
        ("Patient Services", ""),
        ("nurse practitioner", "Practitioner"),
        ("Patient's mother", "RelatedPerson"),
        ("the patient", "Patient"),
    ],
)
def test_only_a_word_for_a_role_says_what_sort_of_person_signs(name: str, type: str) -> None:
    found = person(name)
    assert found is not None
    assert found.type == type


def test_a_signature_with_a_credential_makes_the_passages_a_clinicians() -> None:
    with Engine.open(":memory:") as engine:
        engine.ingest("p", NOTE.encode(), source="clinic")
        engine.ingest("p", b"Author: Ann Lee\nAllergies: nuts", source="clinic")
        engine.ingest("p", b"Completed by: patient\nAllergies: eggs", source="clinic")
        graph = engine.graph("p")
    kinds = {
        each.text: (
            graph.attributions[each.id].kind,
            graph.attributions[each.id].author.role,
            graph.attributions[each.id].rule,
        )
        for each in graph.passages.values()
    }
    assert kinds["NKDA"] == (AttributionKind.SYSTEM, Role.CLINICIAN, "enclosing-author")
    assert kinds["nuts"] == (AttributionKind.SYSTEM, Role.INSTITUTION, "source-default")
    assert kinds["eggs"] == (AttributionKind.USER, Role.PATIENT, "enclosing-author")


@pytest.mark.parametrize(("author", "type"), [("Ann Lee, MD", "Practitioner"), ("Ann Lee", ""), ("scan01", "")])
def test_the_author_in_file_metadata_is_evidence_and_says_who_that_is_only_with_a_credential(
    author: str, type: str
) -> None:
    body = pdf(["Allergies: none"], info=f"<< /Author ({author}) /CreationDate (D:20240307) >>")
    (document,) = read(body).statements
    assert [(e.part, e.element, e.type, e.display) for e in document.authorship] == [
        (Part.AUTHOR, "metadata/author", type, author)
    ]
    assert [(t.clock, str(t.at)) for t in document.times] == [(Clock.PREPARED, "2024-03-07")]


# ------------------------------------------------------------------ identity, intake


def test_the_same_bytes_are_the_same_document_and_other_bytes_another() -> None:
    first, again, other = read(NOTE), read(NOTE), read(NOTE + " ")
    assert first == again
    assert first.statements[0].provenance.record.reference.startswith("document/~")
    assert first.statements[0].id != other.statements[0].id
    assert {each.id for each in first.passages}.isdisjoint(each.id for each in other.passages)


def test_two_sections_with_the_same_words_are_two_passages() -> None:
    parsed = read("Allergies: none\nMedications: none\n")
    assert passages(parsed) == [("Allergies", "none"), ("Medications", "none")]
    assert len({each.id for each in parsed.passages}) == 2


def test_every_page_of_a_pdf_has_a_line() -> None:
    body = pdf(["Allergies: none", "", "Plan: rest"])
    parsed = read(body)
    said(parsed, body)
    assert lines(parsed) == [
        ("document", "", "structured", "2 pages with text; 1 parts not read"),
        ("page", "/page/1", "text_only", "1 passage"),
        ("page", "/page/3", "text_only", "1 passage"),
        ("page", "/page/2", "ignored", "the page has no text"),
    ]


@pytest.mark.skipif(not recognition.available(), reason="nothing here recognises text in images")
def test_recognised_text_says_so_in_its_title_its_evidence_and_the_intake() -> None:
    body = picture("Allergies: penicillin")
    parsed = read(body)
    (passage,) = parsed.passages
    assert (passage.title, passage.text) == ("Allergies (recognised in an image)", "penicillin")
    assert [e.part for e in passage.authorship] == [Part.NONE, Part.INSTRUMENT]
    assert "recognised in an image, confidence " in parsed.intake[1].detail
    said(parsed, body)


def test_a_word_document_is_read_by_its_headings() -> None:
    styles = (
        '<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        '<w:style w:styleId="H"><w:name w:val="heading 2"/></w:style></w:styles>'
    )
    body = docx(p("Family History", "H") + p("mother: asthma") + p("Plan", "H") + p("rest"), word__styles_xml=styles)
    parsed = read(body)
    assert passages(parsed) == [("Family History", "mother: asthma"), ("Plan", "rest")]
    said(parsed, body)


def test_a_place_that_is_not_there_gives_nothing() -> None:
    for pointer in ("/page/9", "/nowhere", "text"):
        assert registry.documents.at(NOTE.encode(), pointer, format="document/text") == ""
    assert registry.documents.at(b"%PDF-1.4 broken", "/page/1", format="document/pdf") == ""


def test_tables_of_headings_are_in_the_form_they_are_looked_up_in() -> None:
    for row in rows("section_headings"):
        assert heading(row["heading"]) is not None, row["heading"]
    names = [row["heading"] for row in rows("section_headings")]
    assert len(names) == len(set(names))
    assert names_relative("MOTHER")
    assert not names_relative("WOUND CARE")

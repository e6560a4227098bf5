"""Who wrote each part of a free document? Invented papers as a whole, from bytes to the attribution of the fold."""

from __future__ import annotations

from pathlib import Path

import pytest
from document_files import docx, p, pdf
from hypothesis import given, settings
from hypothesis import strategies as st

from iamata.connectors.documents.outline import outline
from iamata.connectors.documents.persons import Person, person
from iamata.connectors.text import Page
from iamata.engine import Engine
from iamata.model.attribution import Attribution, Certainty, Part
from iamata.model.graph import Graph

CASES = Path(__file__).parents[1] / "cases" / "attribution"
DOCX, HTML, RTF, PDF, TEXT = (f"document/{kind}" for kind in ("docx", "html", "rtf", "pdf", "text"))
Expected = tuple[str, str, str]


def cases(name: str) -> list[tuple[str, list[tuple[str, Expected]], str]]:
    """Title, what is expected of each stretch, and text of each document of a file of cases."""
    found = []
    for block in (CASES / name).read_text(encoding="utf-8").split("\n=== ")[1:]:
        head, _, text = block.partition("\n---\n")
        title, *rows = head.split("\n")
        cells = [[cell.strip() for cell in row.removeprefix(">").split("|")] for row in rows]
        found.append((title, [(span, (role, who, rule)) for span, role, who, rule in cells], text.rstrip("\n") + "\n"))
    return found


def read(body: bytes | str, format: str = TEXT) -> Graph:
    with Engine.open(":memory:") as engine:
        engine.ingest("p", body.encode() if isinstance(body, str) else body, source="ehr", format=format)
        return engine.graph("p")


def of(graph: Graph, span: str) -> Attribution:
    """The attribution of the shortest passage that holds the words."""
    wanted = " ".join(span.split())
    held = [each for each in graph.passages.values() if wanted in " ".join(f"{each.title}: {each.text}".split())]
    return graph.attributions[min(held, key=lambda each: (len(each.text), each.id)).id]


def said(found: Attribution) -> Expected:
    return found.author.role.value, found.author.display.replace("ehr", "", found.author.display == "ehr"), found.rule


WRITERS = cases("documents_writers.txt")
LOOKALIKES = cases("documents_lookalikes.txt")


@pytest.mark.parametrize(("title", "rows", "text"), WRITERS, ids=[title for title, *_ in WRITERS])
def test_who_wrote_a_part_of_a_paper_is_told(title: str, rows: list[tuple[str, Expected]], text: str) -> None:
    graph = read(text)
    assert {span: said(of(graph, span)) for span, _ in rows} == dict(rows)


@pytest.mark.parametrize(("title", "rows", "text"), LOOKALIKES, ids=[title for title, *_ in LOOKALIKES])
def test_who_is_only_named_is_not_the_author(title: str, rows: list[tuple[str, Expected]], text: str) -> None:
    graph = read(text)
    assert {span: said(of(graph, span)) for span, _ in rows} == dict(rows)


def test_there_are_enough_papers_of_both_sorts() -> None:
    assert len(WRITERS) >= 100
    assert len(LOOKALIKES) >= 70


# ------------------------------------------------------------------- formats

STYLES = (
    '<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
    '<w:style w:styleId="H"><w:name w:val="heading 2"/></w:style></w:styles>'
)


def word(*paragraphs: str, creator: str) -> bytes:
    """A Word document; a paragraph that begins with `# ` is a heading."""
    core = (
        '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:creator>{creator}</dc:creator></cp:coreProperties>'
    )
    body = "".join(p(each.removeprefix("# "), "H" if each.startswith("# ") else "") for each in paragraphs)
    return docx(body, word__styles_xml=STYLES, docProps__core_xml=core)


NOBODY = ("institution", "", "source-default")


@pytest.mark.parametrize(
    ("creator", "paragraphs", "expected"),
    [
        ("Dr. Ole Munk", ("# Visit note", "Clear lungs"), ("clinician", "Dr. Ole Munk", "enclosing-author")),
        ("Tone Vik", ("# Visit note", "Clear lungs"), NOBODY),
        ("Dr. Ole Munk", ("# Patient questionnaire", "Clear lungs"), NOBODY),
        ("Dr. Ole Munk", ("# Visit note", "Author: Bea Holt", "Clear lungs"), NOBODY),
        (
            "Bea Holt, MD",
            ("# Visit note", "Author: Bea Holt", "Clear lungs"),
            ("clinician", "Bea Holt", "enclosing-author"),
        ),
        (
            "Dr. Ole Munk",
            ("# Visit note", "Clear lungs", "Signed: Bea Holt, NP"),
            ("clinician", "Bea Holt, NP", "enclosing-author"),
        ),
        ("MedScribe AI", ("# Visit note", "Clear lungs"), ("software", "MedScribe AI", "reasoning-software")),
        ("Brit Moe, medical secretary", ("# Visit note", "Clear lungs"), NOBODY),
    ],
)
def test_the_file_s_properties_name_an_author_only_where_words_say_who_and_the_text_names_nobody(
    creator: str, paragraphs: tuple[str, ...], expected: Expected
) -> None:
    assert said(of(read(word(*paragraphs, creator=creator), DOCX), "Clear lungs")) == expected


def test_each_section_of_a_word_document_has_its_own_writer_and_the_next_has_it_no_more() -> None:
    graph = read(
        word(
            *("# Case conference", "# Nursing (Tone Vik, RN)", "Ate well"),
            *("# Comments from the family, written by the daughter Siv Roos", "He sleeps badly"),
            *("# Speech therapy", "Assessed by: Lars Moe, SLP", "Swallow safe"),
            *("# Plan", "Home soon"),
            creator="Ward clerk",
        ),
        DOCX,
    )
    assert said(of(graph, "Ate well")) == ("clinician", "Tone Vik, RN", "element-author")
    assert said(of(graph, "He sleeps badly")) == ("proxy", "the daughter Siv Roos", "element-author")
    assert said(of(graph, "Swallow safe")) == ("clinician", "Lars Moe, SLP", "element-author")
    assert said(of(graph, "Home soon")) == NOBODY


@pytest.mark.parametrize(
    ("body", "span", "expected"),
    [
        (
            "<h1>Skin note</h1><p>By Dr. Nora Bolt, 2 May 2024</p><h2>Findings</h2><p>Eczema</p>",
            "Eczema",
            ("clinician", "Dr. Nora Bolt", "enclosing-author"),
        ),
        (
            "<h1>Team note</h1><h2>Physiotherapist: Lars Moe</h2><p>Stairs with help.</p>",
            "Stairs",
            ("clinician", "Lars Moe", "element-author"),
        ),
        (
            "<h1>Ward</h1><table><tr><th>Time</th><th>Note</th><th>Staff</th></tr>"
            "<tr><td>08:00</td><td>Slept well</td><td>Tone Vik, RN</td></tr>"
            "<tr><td>09:00</td><td>Walked</td><td></td></tr></table>",
            "Slept well",
            ("clinician", "Tone Vik, RN", "element-author"),
        ),
        (
            "<h1>Tidewater Benefits Administrator</h1><p>Claim number: 77</p><p>MRI not covered.</p>",
            "MRI not",
            ("payer", "Tidewater Benefits Administrator", "enclosing-author"),
        ),
        (
            "<div>Quarry Hill Laboratories</div><div>Specimen: urine</div><div>Glucose neg</div>",
            "Glucose",
            ("lab", "Quarry Hill Laboratories", "enclosing-author"),
        ),
        ('<meta name="author" content="admin"><h1>Note</h1><p>Gout.</p>', "Gout", NOBODY),
    ],
)
def test_the_parts_of_a_web_page(body: str, span: str, expected: Expected) -> None:
    assert said(of(read(f"<html><body>{body}</body></html>", HTML), span)) == expected


def test_a_letter_in_rtf_about_the_writer_s_son_is_a_proxy_s() -> None:
    body = rb"{\rtf1\ansi Dear Doctor,\par My son has had a fever since Friday.\par Best regards,\par Ida Ruud\par}"
    assert said(of(read(body, RTF), "fever since Friday")) == ("proxy", "Ida Ruud", "enclosing-author")


def test_a_page_that_is_another_paper_has_its_own_author_and_a_page_that_goes_on_has_none() -> None:
    two = [
        "CLINIC NOTE\nPatient: Ada Crowe\nAuthor: Bea Holt, MD\nGout.",
        "TRIAGE NOTE\nTriage nurse: Tone Vik, RN\nHot.",
    ]
    graph = read(pdf(two), PDF)
    assert said(of(graph, "Gout.")) == ("clinician", "Bea Holt, MD", "element-author")
    assert said(of(graph, "Hot.")) == ("clinician", "Tone Vik, RN", "element-author")
    graph = read(pdf([two[0], "CLINIC NOTE\nPatient: Ada Crowe\nPage 2\nColchicine."]), PDF)
    assert said(of(graph, "Colchicine.")) == ("clinician", "Bea Holt, MD", "enclosing-author")
    graph = read(pdf(["CLINIC NOTE\nGout.", "Colchicine.\nElectronically signed by Bea Holt, MD"]), PDF)
    assert said(of(graph, "Gout.")) == ("clinician", "Bea Holt, MD", "enclosing-author")


# ------------------------------------------------------- certainty, informant


def test_what_the_document_says_is_inferred_and_what_a_part_says_is_stated() -> None:
    graph = read("CLINIC NOTE\nAuthor: Bea Holt, MD\nGout.\n\nAddendum (Ole Munk, MD):\nUric acid 9.\n")
    whole, part = of(graph, "Gout."), of(graph, "Uric acid")
    assert (whole.rule, whole.certainty, whole.because) == (
        "enclosing-author",
        Certainty.INFERRED,
        "document/text/label/1=Practitioner",
    )
    assert (part.rule, part.certainty) == ("element-author", Certainty.STATED)


def test_a_source_stays_named_beside_the_author_it_makes_and_the_writer_records() -> None:
    head = "ED NOTE\nPhysician: Bea Holt, MD\nInformant: mother\n\n"
    graph = read(f"{head}HISTORY (per father, Jan Ruud):\nFever.\n\nEXAM:\nWell.\n")
    told, seen = of(graph, "Fever."), of(graph, "Well.")
    assert (told.rule, told.author.display) == ("element-source", "father, Jan Ruud")
    assert told.informant == told.author
    assert (seen.rule, seen.author.display, seen.informant) == ("enclosing-author", "Bea Holt, MD", None)


# ------------------------------------------------------------------- persons


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("Dr. Nguyễn Thị Hạnh", Person("Dr. Nguyễn Thị Hạnh", "Practitioner")),
        ("Lee, Ann, MD", Person("Lee, Ann, MD", "Practitioner")),
        ("LEE, ANN MD", Person("LEE, ANN MD", "Practitioner")),
        ("Ann Lee, consultant surgeon", Person("Ann Lee", "Practitioner")),
        ("Ann Lee, CMA", Person("Ann Lee, CMA", "Practitioner", "staff")),
        ("mother (Ann Lee, RN)", Person("mother (Ann Lee, RN)", "RelatedPerson")),
        ("Ann Lee, wife of Bo Lee", Person("Ann Lee, wife of Bo Lee", "RelatedPerson")),
        ("Dr. Ann Lee (your patient)", Person("Dr. Ann Lee (your patient)", "Patient")),
        ("[ ] parent [x] patient", Person("", "Patient")),
        ("the patient", Person("", "Patient")),
        ("registered nurse", Person("", "Practitioner")),
        ("Ann Lee, PA", Person("Ann Lee, PA", "Practitioner")),
        ("Ann Lee", Person("Ann Lee")),
        ("Ai Tanaka", Person("Ai Tanaka")),
        ("Hearken AI scribe", Person("Hearken AI scribe", "Device", "reasoning")),
        ("AI-generated", Person("", "Device", "reasoning")),
        ("Bedside monitor (auto)", Person("Bedside monitor", "DeviceMetric", "instrument")),
        ("Patient Services", Person("Patient Services")),
        ("[ ] patient [ ] parent", None),
        ("____________", None),
        ("12345", None),
        ("left message for him", None),
        ("On call today, Dr. Lee", None),
    ],
)
def test_words_name_a_person_and_say_who_that_is(words: str, found: Person | None) -> None:
    assert person(words) == found


LINES = st.sampled_from(
    [
        *("PROGRESS NOTE", "Patient: Ann Lee", "Author: Bo Ray, MD", "", "Plan:", "rest", "Addendum by Dr. Ray:"),
        *("Dear Dr. Ray,", "2024-01-01 Bo Ray, RN: slept", "Yours,", "Signed by: x", "Date\tAuthor", "1 May\tDr. Ray"),
        *("I take my pills", "\f"),
    ]
)


@settings(max_examples=120, deadline=None)
@given(st.lists(LINES, max_size=14).map("\n".join))
def test_every_character_is_in_one_stretch_and_every_stretch_has_evidence(text: str) -> None:
    pages = [Page(f"/page/{number}", part) for number, part in enumerate(text.split("\f"), 1)]
    found = outline(pages)
    for page, stretches, cut in zip(pages, found.pages, found.cuts, strict=True):
        last = 0
        for each in stretches:
            assert last <= each.start < each.end <= len(page.text)
            assert each.evidence
            last = each.end
        covered = sum(len("".join(page.text[each.start : each.end].split())) for each in stretches)
        assert covered == sum(len("".join(page.text[each.start : each.end].split())) for each in cut.pieces)
    assert all(not each.inherited for each in found.evidence)
    assert all(each.part is not Part.INFORMANT for each in found.evidence)

"""Files of an organization by their parts: a passage stands where it says; what arrives is read or refused."""

from __future__ import annotations

import pytest
from document_files import docx, p, pdf
from hypothesis import given, settings
from hypothesis import strategies as st

from iamata.connectors import entry_files
from iamata.connectors.entry_files import EntryFile, at, read
from iamata.connectors.text import Limits
from iamata.errors import BadInput, TooLarge

STYLES = (
    '<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
    '<w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:styleId="H2"><w:name w:val="heading 2"/></w:style></w:styles>'
)


def placed(body: bytes, found: EntryFile) -> None:
    """Each passage is what stands at its place."""
    for each in found.passages:
        text = at(body, found.format, each.pointer)
        assert (text[each.start : each.end] if each.end else text) == each.text


def test_pages_of_a_pdf_have_their_number() -> None:
    body = pdf(["Guideline of the house. Treat with care.", "MONITORING:\nPotassium after two weeks."])
    found = read(body, name="g.pdf")
    assert [each.pointer for each in found.passages][:1] == ["/page/1"]
    assert {each.pointer for each in found.passages} == {"/page/1", "/page/2"}
    assert "Potassium after two weeks." in found.passages[-1].text
    placed(body, found)


def test_headings_of_a_word_document_are_the_path_above_its_passages() -> None:
    words = p("Hypertension", "H1") + p("For adults.") + p("Treatment", "H2") + p("A thiazide.")
    body = docx(words, word__styles_xml=STYLES)
    found = read(body)
    assert [(each.heading, each.text) for each in found.passages] == [
        (("Hypertension",), "For adults."),
        (("Hypertension", "Treatment"), "A thiazide."),
    ]
    placed(body, found)


def test_a_heading_that_ends_a_branch_closes_the_ones_below_it() -> None:
    body = b"# A\n\na\n\n### B\n\nb\n\n## C\n\nc\n\nSetext\n------\n\nd\n"
    found = read(body, name="x.md")
    assert [(each.heading, each.text) for each in found.passages] == [
        (("A",), "a"),
        (("A", "B"), "b"),
        (("A", "C"), "c"),
        (("A", "Setext"), "d"),
    ]
    placed(body, found)


def test_a_heading_with_nothing_under_it_is_kept() -> None:
    assert [each.text for each in read(b"# A\n\na\n\n# Left alone\n", name="x.md").passages] == ["a", "# Left alone"]
    assert [each.text for each in read(b"# A\n\n## B\n\nb\n", name="x.md").passages] == ["b"]


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_a_table_is_read_by_its_header_whatever_parts_its_cells(sign: str) -> None:
    body = f"drug{sign}tier\nLisinopril{sign}1\n\nWarfarin{sign}2\na{sign}b{sign}c\n{sign}\n".encode()
    found = read(body, name="f.csv")
    assert [(each.heading, each.text, each.pointer) for each in found.passages] == [
        (("Lisinopril",), "drug: Lisinopril; tier: 1", "/row/2"),
        (("Warfarin",), "drug: Warfarin; tier: 2", "/row/4"),
    ]
    told = [(line.place, line.reason.value, line.detail) for line in found.lines]
    assert told == [("/row/3", "empty", ""), ("/row/5", "unusable", "3 cells for 2 columns"), ("/row/6", "empty", "")]
    placed(body, found)


def test_what_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TooLarge):
        read(b"x" * 11, name="x.md", limits=Limits(size_bytes=10))
    monkeypatch.setattr(entry_files, "MOST_PASSAGES", 3)
    with pytest.raises(TooLarge, match="at most 3 passages"):
        read(b"a\n" + b"1\n" * 4, name="x.csv")


@given(st.binary(max_size=300), st.sampled_from(["x.md", "x.csv", "x.html", "x.pdf", "x", "x.docx"]))
@settings(max_examples=150, deadline=None, database=None)
def test_whatever_arrives_is_read_or_refused(body: bytes, name: str) -> None:
    try:
        found = read(body, name=name)
    except BadInput:
        return
    assert found.passages
    placed(body, found)


@given(st.text(alphabet='#ab \n-=,;"|\t', max_size=120), st.sampled_from(["x.md", "x.csv"]))
@settings(max_examples=200, deadline=None, database=None)
def test_every_word_of_a_text_is_in_a_passage_or_above_one(text: str, name: str) -> None:
    try:
        found = read(text.encode(), name=name)
    except BadInput:
        return
    placed(text.encode(), found)
    if name == "x.md":
        said = "".join(each.text + "".join(each.heading) for each in found.passages)
        assert sum(map(text.count, "ab")) <= sum(map(said.count, "ab"))

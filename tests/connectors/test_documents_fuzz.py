"""Broken documents are refused or read in part, and every law of reading is kept (`fuzz.laws`)."""

from __future__ import annotations

import pytest
from document_files import docx, p, pdf
from fuzz.laws import MARK, lawful
from hypothesis import given, settings
from hypothesis import strategies as st

from iamata.connectors import registry
from iamata.connectors.text import attached
from iamata.errors import UnknownFormat

SEEDS = {
    "document/text": f"Allergies: none\r\nAuthor: {MARK}, MD\nPLAN\nGröße".encode(),
    "document/markdown": b"# Visit\n```\nx\n```\nPlan\n---\nrest",
    "document/html": b"<!doctype html><meta charset=utf-8><h1>Plan</h1><p>a &lt; b<td>x<pre>y</pre><script>z</script>",
    "document/rtf": rb"{\rtf1\ansicpg1252{\fonttbl{\f0\fcharset204 A;}}{\info{\title T}}\'e9\u8364? \par\bin2 xx}",
    "document/docx": docx(p("Allergies") + p("none")),
    "document/pdf": pdf(["Allergies: none", "Plan"], info="<< /Title (T) /CreationDate (D:2024) >>"),
}
CHANGE = st.tuples(st.sampled_from(["cut", "drop", "put", "twice"]), st.integers(0, 10_000), st.binary(max_size=12))


def changed(body: bytes, changes: list[tuple[str, int, bytes]]) -> bytes:
    for what, where, put in changes:
        at = where % (len(body) + 1)
        match what:
            case "cut":
                body = body[:at]
            case "drop":
                body = body[:at] + body[at + 1 + len(put) :]
            case "put":
                body = body[:at] + put + body[at + len(put) :]
            case _:
                body = body[:at] + body[at // 2 :]
    return body


def survives(format: str, changes: list[tuple[str, int, bytes]]) -> None:
    lawful(changed(SEEDS[format], changes), format)


@pytest.mark.parametrize("format", [each for each in SEEDS if each != "document/pdf"])
@settings(max_examples=120, deadline=None)
@given(changes=st.lists(CHANGE, min_size=1, max_size=4))
def test_a_damaged_document_is_refused_or_read_in_part(format: str, changes: list[tuple[str, int, bytes]]) -> None:
    survives(format, changes)


@settings(max_examples=20, deadline=None)
@given(changes=st.lists(CHANGE, min_size=1, max_size=4))
def test_a_damaged_pdf_is_refused_or_read_in_part(changes: list[tuple[str, int, bytes]]) -> None:
    survives("document/pdf", changes)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(["", "a.txt", "a.html", "a.md"]))
def test_any_bytes_are_told_and_read_or_refused(body: bytes, name: str) -> None:
    format, refusal = "", ""
    try:
        format = registry.detect(body, name=name)
    except UnknownFormat as error:
        refusal = str(error)
    if format:
        lawful(body, format)
    else:
        assert refusal
        assert len(body) < 4 or repr(body)[2:-1] not in refusal


@settings(max_examples=100, deadline=None)
@given(
    st.binary(max_size=200), st.sampled_from(["", "application/pdf", "text/rtf", "text/html; charset=x", "image/png"])
)
def test_a_file_inside_a_record_never_raises(body: bytes, media_type: str) -> None:
    found = attached(body, media_type)
    assert found.text or found.left or not body.strip() or b"<" in body or media_type.startswith("text")


@settings(max_examples=150, deadline=None)
@given(changes=st.lists(CHANGE, min_size=1, max_size=4))
def test_a_damaged_dicom_file_is_refused_or_read_in_part(changes: list[tuple[str, int, bytes]]) -> None:
    pytest.importorskip("pydicom")
    from test_documents_dicom import CONTENT, report

    lawful(changed(report(*CONTENT), changes), "image/dicom")

"""What do DOCX, PDF and images say in words, and what is said of those that cannot be read?"""

from __future__ import annotations

import io
import sys
import tracemalloc
import zlib
from pathlib import Path

import pytest
from document_files import bomb, docx, p, pdf, picture

from iamata.connectors import registry
from iamata.connectors.archives import is_archive, opened
from iamata.connectors.text import Limits, Unread, recognition
from iamata.connectors.text.pdf import iso_date
from iamata.connectors.text.reading import DOCX, PDF, PNG, TIFF, extract
from iamata.errors import BadInput, TooLarge
from iamata.model.document import Reason

STYLES = (
    '<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
    '<w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:styleId="Own"><w:name w:val="Mine"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style></w:styles>'
)
CORE = (
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"><dc:title>Clinic letter'
    "</dc:title><dc:creator>Ann Lee</dc:creator><dcterms:created>2024-03-07T10:00:00Z</dcterms:created>"
    "</cp:coreProperties>"
)


def test_word_paragraphs_tables_headings_and_notes_are_read() -> None:
    table = "<w:tbl>" + "".join(
        "<w:tr>" + "".join(f"<w:tc>{p(cell)}</w:tc>" for cell in row) + "</w:tr>"
        for row in (("Drug", "Dose"), ("A", "5 mg"))
    )
    body = (
        p("Allergies", "H1")
        + p("None &lt;known&gt;")
        + table
        + "</w:tbl>"
        + p("Plan", "Own")
        + "<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r></w:p>"
        + "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:ins><w:r><w:t>new</w:t></w:r></w:ins>"
        + "<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"
    )
    header = f'<w:hdr xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">{p("Top")}</w:hdr>'
    sent = docx(
        body, word__styles_xml=STYLES, docProps__core_xml=CORE, word__header1_xml=header, word__media__image1_png=b"x"
    )
    found = extract(sent, DOCX)
    text, top = found.pages
    assert text.text == "Allergies\nNone <known>\nDrug\tDose\nA\t5 mg\nPlan\na\tb\nc\nnew"
    assert [(text.text[h.start : h.end], h.level) for h in text.headings] == [("Allergies", 1), ("Plan", 2)]
    assert (top.pointer, top.text) == ("/header/1", "Top")
    assert (found.title, found.author, found.created) == ("Clinic letter", "Ann Lee", "2024-03-07T10:00:00Z")
    assert found.warnings == ("1 deleted or moved revisions are left out", "1 runs of hidden text are left out")
    assert [(each.pointer, each.why) for each in found.unread] == [("/word/media", "1 pictures are not read")]


def test_a_word_document_is_no_archive() -> None:
    sent = docx(p("Seen today"))
    assert registry.detect(sent) == DOCX
    assert not is_archive(sent)
    assert list(opened([("letter.docx", sent)])) == [("letter.docx", sent)]


@pytest.mark.parametrize(
    ("sent", "error", "words"),
    [
        (docx(p("x"))[:-30], BadInput, "damaged"),
        (docx("<w:p>"), BadInput, "not sound XML"),
        (docx("<w:p>" * 50_000), BadInput, "not sound XML"),
        (
            docx("", word__styles_xml='<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]><a>&c;</a>'),
            BadInput,
            "document type",
        ),
        (
            docx("", word__styles_xml='<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'),
            BadInput,
            "document type",
        ),
    ],
    ids=["cut off", "unclosed", "50,000 nested", "entities", "external entity"],
)
def test_a_broken_word_document_is_refused(sent: bytes, error: type[BadInput], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        extract(sent, DOCX)
    assert "passwd" not in str(caught.value)


def test_a_word_document_that_inflates_without_end_is_refused_in_bounded_memory() -> None:
    sent = bomb(300_000_000)
    assert len(sent) < 400_000
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge, match="larger than the 50000000 bytes") as caught:
            extract(sent, DOCX)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.value.place == "word/document.xml"
    assert peak < 60_000_000


def test_pdf_pages_are_numbered_and_its_own_words_about_itself_are_kept() -> None:
    sent = pdf(
        ["Allergies: none\nSeen (today)", "", "Plan"],
        info="<< /Title (Clinic letter) /Author (Ann Lee) /CreationDate (D:20240307101500-05'00') >>",
    )
    found = extract(sent, PDF)
    assert [(page.pointer, page.text) for page in found.pages] == [
        ("/page/1", "Allergies: none\nSeen (today)"),
        ("/page/3", "Plan"),
    ]
    assert found.unread == (Unread("/page/2", "the page has no text", Reason.EMPTY),)
    assert (found.title, found.author, found.created) == ("Clinic letter", "Ann Lee", "2024-03-07T10:15:00-05:00")


def test_pdf_pages_beyond_the_limit_are_listed() -> None:
    found = extract(pdf(["a", "b", "c", "d"]), PDF, limits=Limits(pages=2))
    assert [page.text for page in found.pages] == ["a", "b"]
    assert [(e.pointer, e.why) for e in found.unread] == [
        ("/page/3", "2 pages beyond the 2 pages read of one document")
    ]
    found = extract(pdf(["abc", "def", "ghi"]), PDF, limits=Limits(characters=4))
    assert [page.text for page in found.pages] == ["abc", "d"]
    assert [each.pointer for each in found.unread] == ["/page/3"]


def test_a_pdf_with_a_password_is_refused_and_says_so() -> None:
    with pytest.raises(BadInput, match="needs a password"):
        extract(pdf(["secret"], password="sesame"), PDF)


def test_a_pdf_that_would_fill_the_memory_is_refused() -> None:
    packer = zlib.compressobj(9)
    stream = b"".join(packer.compress(b"q " * 1_000_000) for _ in range(60)) + packer.flush()
    whole = pdf(["Seen today"])
    start, end = whole.index(b"<< /Length"), whole.index(b"endobj", whole.index(b"<< /Length"))
    content = b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream\n" % (len(stream), stream)
    sent = whole[:start] + content + whole[end:]
    assert len(sent) < 200_000
    with pytest.raises(TooLarge, match="more memory or time"):
        extract(sent, PDF)


@pytest.mark.parametrize("keep", [8, 60, 200])
def test_a_pdf_that_is_cut_off_is_refused_or_read_as_far_as_it_goes(keep: int) -> None:
    whole = pdf(["Seen today"])
    with pytest.raises(BadInput, match="damaged or cut off"):
        extract(whole[:keep], PDF)


def test_a_pdf_without_its_table_is_read_all_the_same() -> None:
    whole = pdf(["Seen today"])
    assert [page.text for page in extract(whole[: whole.index(b"xref")] + b"trailer << /Root 1 0 R >>", PDF).pages] == [
        "Seen today"
    ]


@pytest.mark.parametrize(
    ("sent", "iso"),
    [
        ("D:20240307101500Z00'00'", "2024-03-07T10:15:00Z"),
        ("D:20240307101500+05'30'", "2024-03-07T10:15:00+05:30"),
        ("D:20240307101500+05'30", "2024-03-07T10:15:00+05:30"),
        ("D:202403071015", "2024-03-07T10:15"),
        ("D:2024030710", "2024-03-07"),
        ("D:202403", "2024-03"),
        ("D:2024", "2024"),
        ("March 7", ""),
        ("", ""),
    ],
)
def test_a_pdf_date_keeps_its_precision_and_invents_no_zone(sent: str, iso: str) -> None:
    assert iso_date(sent) == iso


def test_without_the_library_a_pdf_is_listed_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    found = extract(pdf(["Seen today"]), PDF)
    assert found.pages == ()
    assert found.unread == (
        Unread("/pages", "the text of a PDF is not read; to read PDF: pip install 'iamata[documents]'"),
    )


# ------------------------------------------------------------------- recognition

recognises = pytest.mark.skipif(not recognition.available(), reason="nothing here recognises text in images")


@pytest.fixture
def no_recognition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognition, "_models", lambda: None)
    monkeypatch.setattr(recognition, "_tesseract", lambda: "")


@recognises
def test_text_in_an_image_is_recognised_line_by_line_with_how_sure_it_is() -> None:
    (page,) = extract(picture("Allergies: penicillin", "Plan: rest"), PNG).pages
    assert page.text.splitlines() == ["Allergies: penicillin", "Plan: rest"]
    assert page.confidence is not None
    assert 0.8 < page.confidence <= 1


@recognises
def test_a_scanned_page_of_a_pdf_is_recognised_and_a_page_with_text_is_not() -> None:
    found = extract(pdf(["Seen today"], pictures=[picture("Hemoglobin 13.2 g/dL", format="JPEG")]), PDF)
    assert [(page.pointer, page.text) for page in found.pages] == [
        ("/page/1", "Seen today"),
        ("/page/2", "Hemoglobin 13.2 g/dL"),
    ]
    assert found.pages[0].confidence is None
    assert found.pages[1].confidence is not None


@recognises
def test_only_so_many_scanned_pages_are_recognised() -> None:
    scan = picture("Hemoglobin 13.2", format="JPEG")
    found = extract(pdf([], pictures=[scan, scan]), PDF, limits=Limits(recognised=1))
    assert [page.pointer for page in found.pages] == ["/page/1"]
    assert found.unread == (Unread("/page/2", "a scanned page beyond the 1 recognised of one document"),)


@recognises
def test_each_image_of_a_tiff_is_a_page_and_one_without_text_says_nothing() -> None:
    from PIL import Image

    first, blank = Image.open(io.BytesIO(picture("Seen today"))), Image.new("RGB", (300, 100), "white")
    packed = io.BytesIO()
    first.save(packed, "TIFF", save_all=True, append_images=[blank])
    found = extract(packed.getvalue(), TIFF)
    assert [(page.pointer, page.text) for page in found.pages] == [("/page/1", "Seen today")]
    assert found.unread == (Unread("/page/2", "no text was recognised in the image", Reason.EMPTY),)


@recognises
def test_a_damaged_image_and_one_with_too_many_pixels_are_refused() -> None:
    whole = picture("Seen today")
    with pytest.raises(BadInput, match="damaged"):
        extract(whole[:200], PNG)
    with pytest.raises(BadInput, match="damaged"):
        extract(b"\x89PNG\r\n\x1a\n" + b"x" * 50, PNG)
    with pytest.raises(TooLarge, match="more than the 1000 pixels"):
        extract(whole, PNG, limits=Limits(pixels=1000))


@pytest.mark.usefixtures("no_recognition")
def test_without_recognition_scans_are_listed_with_what_to_install() -> None:
    install = "to recognise text in images: pip install 'iamata[ocr]', or install tesseract"
    found = extract(pdf(["Seen today"], pictures=[picture("x", format="JPEG")]), PDF)
    assert [page.pointer for page in found.pages] == ["/page/1"]
    assert found.unread == (Unread("/page/2", f"a scanned page; {install}"),)
    assert extract(picture("x"), PNG).unread == (Unread("/page/1", f"an image; {install}"),)


TESSERACT = """#!/bin/sh
test "$1 $2 $3 $OMP_THREAD_LIMIT" = "stdin stdout tsv 1" || exit 3
case "$(dd bs=2 count=1 2>/dev/null)" in P6) ;; *) exit 4 ;; esac
printf 'level\\tpage_num\\tblock_num\\tpar_num\\tline_num\\tword_num\\tleft\\ttop\\twidth\\theight\\tconf\\ttext\\n'
printf '1\\t1\\t0\\t0\\t0\\t0\\t0\\t0\\t700\\t200\\t-1\\t\\n'
printf '5\\t1\\t1\\t1\\t1\\t1\\t20\\t20\\t90\\t30\\t96\\tSeen\\n'
printf '5\\t1\\t1\\t1\\t1\\t2\\t120\\t20\\t90\\t30\\t90\\ttoday\\n'
printf '5\\t1\\t1\\t1\\t2\\t1\\t20\\t80\\t90\\t30\\t80\\t"Plan\\n'
"""


def test_tesseract_is_used_where_the_models_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "tesseract"
    program.write_text(TESSERACT)
    program.chmod(0o755)
    monkeypatch.setattr(recognition, "_models", lambda: None)
    monkeypatch.setattr(recognition, "_tesseract", lambda: str(program))
    (page,) = extract(picture("whatever"), PNG).pages
    assert (page.text, page.confidence) == ('Seen today\n"Plan', 0.881)
    program.write_text("#!/bin/sh\nexit 1\n")
    found = extract(picture("whatever"), PNG)
    assert found.unread == (Unread("/page/1", "an image; tesseract failed: CalledProcessError"),)

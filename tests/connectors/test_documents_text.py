"""Which characters are these, and what do plain text, Markdown, HTML and RTF say in words?"""

from __future__ import annotations

import pytest

from iamata.connectors.text import Limits, attached, html
from iamata.connectors.text.charsets import decode
from iamata.connectors.text.plain import headings
from iamata.connectors.text.reading import HTML, MARKDOWN, RTF, TEXT, extract
from iamata.errors import BadInput, TooLarge

NOTE = "Größe 180 cm – café"


@pytest.mark.parametrize(
    ("body", "declared", "encoding"),
    [
        (NOTE.encode(), "", "utf-8"),
        (b"\xef\xbb\xbf" + NOTE.encode(), "", "utf-8"),
        (NOTE.encode("utf-16"), "", "utf-16-le"),
        (b"\xfe\xff" + NOTE.encode("utf-16-be"), "", "utf-16-be"),
        (NOTE.encode("utf-16-le"), "", "utf-16-le"),
        (NOTE.encode("utf-32"), "", "utf-32-le"),
        (NOTE.encode("cp1252"), "windows-1252", "cp1252"),
        (NOTE.encode("cp1252"), "iso-8859-1", "cp1252"),
    ],
)
def test_a_mark_a_declaration_and_the_bytes_themselves_tell_the_characters(
    body: bytes, declared: str, encoding: str
) -> None:
    found = decode(body, declared=declared)
    assert (found.text, found.encoding) == (NOTE, encoding)


def test_what_is_assumed_is_said() -> None:
    assert decode(NOTE.encode("cp1252")).warnings == ("is no UTF-8 at byte 2: read as windows-1252, an assumption",)
    assert decode(NOTE.encode("cp1252"), declared="utf-8").warnings == (
        "declares utf-8 and is not that at byte 2: read as windows-1252, an assumption",
    )
    assert decode(NOTE.encode(), declared="iso-8859-1").warnings == ("declares iso-8859-1 and is UTF-8: read as UTF-8",)
    assert decode(NOTE.encode(), declared="klingon").warnings == (
        "declares a character set that is not known (klingon)",
    )
    assert decode(NOTE.encode()).warnings == ()


def test_a_declared_charset_that_fits_is_used_and_one_that_is_no_charset_is_not() -> None:
    assert decode("Привет".encode("koi8-r"), declared="koi8-r").text == "Привет"
    assert decode("日本語".encode("shift_jis"), declared="Shift_JIS").text == "日本語"
    assert decode("日本語".encode("iso2022_jp"), declared="iso-2022-jp").text == "日本語"
    assert decode(b"caf\\u00e9", declared="unicode_escape").text == "caf\\u00e9"


def test_bytes_that_stand_for_no_character_are_counted() -> None:
    found = decode(b"a\x81b\xe9")
    assert found.text == "a\ufffdbé"
    assert "1 bytes stand for no character" in found.warnings[-1]


@pytest.mark.parametrize(
    "body", [b"\x00\x01\x02\x03" * 20, b"text\x00text", b"\x7fELF\x02\x01\x01\x00abcdefgh", b"\xff\xfea"]
)
def test_what_is_no_text_is_refused_with_its_place(body: bytes) -> None:
    with pytest.raises(BadInput) as caught:
        extract(body, TEXT)
    assert caught.value.place


def test_form_feeds_part_pages_and_line_ends_stay_as_they_are() -> None:
    found = extract(b"one\r\ntwo\fthree\f", TEXT)
    assert [(page.pointer, page.text) for page in found.pages] == [("/page/1", "one\r\ntwo"), ("/page/2", "three")]
    assert [page.pointer for page in extract(b"one", TEXT).pages] == ["/text"]


def test_markdown_marks_its_headings_and_code_is_none() -> None:
    text = "# Note #\nSeen.\n\nPlan\n----\n```\n# no heading\n```\n####### seven\n## \n"
    found = extract(text.encode(), MARKDOWN)
    assert [(text[h.start : h.end], h.level) for h in headings(text)] == [("Note", 1), ("Plan", 2)]
    assert found.title == "Note"


def test_html_is_stripped_decoded_and_set_in_lines() -> None:
    body = (
        b"<html><head><title>Visit &amp; plan</title><meta name=author content='Ann Lee'>"
        b"<meta name=date content=2024-03-07><style>p{}</style></head><body><!-- no --><h1>Visit  note</h1>"
        b"<p>BP &lt; 120 &amp;&nbsp;ok<br>next <b>b</b>old</p><script>var x='<p>';</script>"
        b"<table><tr><th>A</th><th>B</th></tr><tr><td>1 </td><td>2</td></tr></table>"
        b"<pre>a\n  b</pre>3 < 4</body></html>"
    )
    found = extract(body, HTML)
    (page,) = found.pages
    assert page.text == "Visit note\nBP < 120 & ok\nnext bold\nA\tB\n1\t2\na\n  b\n3 < 4"
    assert [page.text[h.start : h.end] for h in page.headings] == ["Visit note"]
    assert (found.title, found.author, found.created) == ("Visit & plan", "Ann Lee", "2024-03-07")


@pytest.mark.parametrize(
    ("body", "warns"),
    [
        (b'<meta charset="utf-8"><p>' + "café".encode(), False),
        (b'<meta charset="iso-8859-1"><p>' + "café".encode("latin-1"), False),
        (b'<meta http-equiv=x content="text/html; charset=windows-1252"><p>' + "café".encode("cp1252"), False),
        (b'<meta charset="utf-8"><p>' + "café".encode("latin-1"), True),
        (b'<meta charset="iso-8859-1"><p>' + "café".encode(), True),
    ],
)
def test_what_html_declares_is_believed_where_it_can_be(body: bytes, warns: bool) -> None:
    found = extract(body, HTML)
    assert found.pages[0].text == "café"
    assert bool(found.warnings) is warns


def test_what_html_hides_without_an_end_is_said() -> None:
    assert extract(b"<p>a<!-- never closed", HTML).warnings == (
        "17 characters of a comment or script without an end are not read",
    )
    assert extract(b"<p>a <b c", HTML).pages[0].text == "a <b c"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<div>" * 50_000 + "x" + "</div>" * 50_000, "x"),
        ("<" * 100_000, "<" * 100_000),
        ("<!--" * 50_000, ""),
        ('<a "' * 50_000, '<a "' * 50_000),
        ('<a href="x' * 30_000, '<a href="x' * 30_000),
        ("<p" * 100_000, "<p" * 100_000),
        ("<script>" * 50_000, ""),
        ("<title>" * 50_000, ""),
        ("<td> " * 50_000, ""),
        ("<p>x<td>" * 20_000, "\n".join(["x"] * 20_000)),
        ("&amp" * 50_000, "&" * 50_000),
    ],
    ids=range(11),
)
def test_html_of_any_depth_and_without_ends_is_read_in_one_pass(markup: str, text: str) -> None:
    assert html.plain(markup).replace("\t", "") == text


def test_rtf_gives_its_words_in_their_code_pages() -> None:
    body = (
        rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}{\f1\fcharset204 Cyr;}}{\stylesheet{\s1 Heading;}}"
        rb"{\info{\title My note}{\author Jane Doe}{\creatim\yr2024\mo3\dy7\hr10\min5}{\comment x}}{\header Top}"
        rb"\pard caf\'e9 {\f1 \'cf\'f0} \u8364?uro \b bold\b0 \par Tab\tab x\cell y\cell\row "
        rb"{\v hidden}{\deleted gone}{\pict 0102}{\*\unknown secret}{\field{\*\fldinst HYPERLINK}{\fldrslt link}} "
        rb"end \{brace\} \u-10179?\u-8704?\bin3 }{{\page two}"
    )
    found = extract(body, RTF)
    assert [(page.pointer, page.text) for page in found.pages] == [
        ("/page/1", "café Пр €uro bold\nTab\tx\ty\nlink end {brace} 😀"),
        ("/page/2", "two"),
        ("/header", "Top"),
    ]
    assert (found.title, found.author, found.created) == ("My note", "Jane Doe", "2024-03-07T10:05")
    assert found.warnings == ("10 characters of hidden or deleted text are left out",)
    assert [each.why for each in found.unread] == ["1 pictures or objects in the text are not read"]


def test_rtf_that_is_cut_off_is_read_as_far_as_it_goes_and_too_deep_is_refused() -> None:
    found = extract(rb"{\rtf1 Seen {\b today", RTF)
    assert found.pages[0].text == "Seen today"
    assert found.warnings == ("the document is cut off: its last groups have no end",)
    with pytest.raises(TooLarge, match="nests deeper"):
        extract(b"{\\rtf1" + b"{" * 50_000, RTF)
    with pytest.raises(BadInput, match="does not begin as RTF"):
        extract(b"{\\html}", RTF)


@pytest.mark.parametrize("format", [TEXT, MARKDOWN, HTML, RTF])
def test_empty_and_too_large_are_refused_before_anything_is_read(format: str) -> None:
    with pytest.raises(BadInput, match="empty"):
        extract(b" \n", format)
    with pytest.raises(TooLarge, match="1001 bytes, more than the 1000 allowed"):
        extract(b"x" * 1001, format, limits=Limits(size_bytes=1000))


def test_what_is_beyond_the_limits_is_listed() -> None:
    found = extract(b"one two\fthree\ffour", TEXT, limits=Limits(characters=10))
    assert [page.text for page in found.pages] == ["one two", "thr"]
    assert found.pages[1].left == ("2 characters are beyond the 10 characters that are read of one document",)
    assert [(each.pointer, each.why) for each in found.unread] == [
        ("/page/3", "beyond the 10 characters that are read of one document")
    ]
    found = extract(b"a\fb\fc\fd", TEXT, limits=Limits(pages=2))
    assert [page.text for page in found.pages] == ["a", "b"]
    assert [(each.pointer, each.why) for each in found.unread] == [
        ("/page/3", "2 pages beyond the 2 pages that are read of one document")
    ]


def test_a_file_inside_a_record_is_read_by_what_it_is() -> None:
    assert attached(rb"{\rtf1 Seen today}", "application/octet-stream").text == "Seen today"
    assert attached(b"<p>a &lt; b</p>", "text/html; charset=utf-8").text == "a < b"
    assert attached(b"GIF89a", "image/gif").left == ("image/gif is kept in the document, not read",)
    assert attached(b"%PDF-1.4", "application/pdf").left == ("the PDF cannot be opened: it is damaged or cut off",)

"""Bytes to a tree: encodings, entities, limits, and what is mended."""

from __future__ import annotations

import pytest
from ccda_small import document, only, read, section

from iamata.connectors.ccda.decoding import decode
from iamata.errors import BadInput, TooLarge, UnknownFormat
from iamata.model.statement import Kind

LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;">]>'
    b'<ClinicalDocument xmlns="urn:hl7-org:v3"><title>&lol2;</title></ClinicalDocument>'
)


def test_entities_are_refused_by_name() -> None:
    with pytest.raises(BadInput, match=r"entity 'lol'.*line 1"):
        read(LAUGHS)


def test_an_external_entity_is_refused_by_name_and_nothing_is_fetched() -> None:
    body = b'<!DOCTYPE a [<!ENTITY secret SYSTEM "file:///etc/passwd">]><ClinicalDocument>&secret;</ClinicalDocument>'
    with pytest.raises(BadInput, match="external entity 'secret'"):
        read(body)


def test_a_parameter_entity_and_an_external_document_type_are_refused() -> None:
    with pytest.raises(BadInput, match="external entity 'p'"):
        read(b'<!DOCTYPE a [<!ENTITY % p SYSTEM "http://x.example/a.dtd">%p;]><ClinicalDocument/>')
    with pytest.raises(BadInput, match="document type"):
        read(b'<!DOCTYPE ClinicalDocument SYSTEM "http://x.example/cda.dtd"><ClinicalDocument/>')


def test_entities_are_refused_in_utf_16_too() -> None:
    with pytest.raises(BadInput, match="entity 'lol'"):
        read(LAUGHS.decode().replace('version="1.0"', 'version="1.0" encoding="UTF-16"').encode("utf-16"))


def test_an_entity_that_nobody_declares_is_a_fault_with_its_place() -> None:
    with pytest.raises(BadInput, match=r"not well-formed.*line 2") as caught:
        read(b"<ClinicalDocument>\n<title>a&nbsp;b</title></ClinicalDocument>")
    assert "line 2" in caught.value.place


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1"])
def test_the_same_document_in_every_encoding_reads_the_same(encoding: str) -> None:
    text = document(section("8648-8", "", text="Größe 120 cm")).decode()
    declared = {"utf-8-sig": "UTF-8", "latin-1": "ISO-8859-1"}.get(encoding, encoding.upper())
    body = text.replace('encoding="UTF-8"', f'encoding="{declared}"').encode(encoding)
    parsed = read(body)
    assert [p.text for p in parsed.passages] == ["Größe 120 cm"]
    assert {s.id for s in parsed.statements} == {s.id for s in read(text.encode()).statements}


def test_bytes_that_are_not_in_the_declared_encoding_are_refused_with_their_place() -> None:
    with pytest.raises(BadInput, match=r"not utf-8.*line 2 column 3"):
        read(b'<?xml version="1.0" encoding="UTF-8"?>\n<a\xff/>')


def test_an_unknown_encoding_and_a_codec_that_is_none_for_text_are_refused() -> None:
    for encoding, said in (
        ("EBCDIC-X", "not known"),
        *((name, "none for text") for name in ("hex", "punycode", "UTF-7")),
    ):
        with pytest.raises(BadInput, match=f"the encoding it declares is {said}") as caught:
            read(f'<?xml version="1.0" encoding="{encoding}"?><ClinicalDocument/>'.encode())
        assert caught.value.place == "line 1"
        assert encoding not in str(caught.value), "whatever stands there"


def test_prefixes_that_nobody_declares_are_mended_and_said() -> None:
    body = (
        document(section("29762-2", ""))
        .replace(b' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"', b"")
        .replace(b' xmlns:sdtc="urn:hl7-org:sdtc"', b"")
        .replace(b"</patient>", b'<sdtc:deceasedInd value="true"/></patient>')
    )
    parsed = read(body)
    assert parsed.warnings == ("prefixes that nobody declares were mended: sdtc",)
    assert only(parsed, Kind.DEMOGRAPHIC).field("deceased") is True


def test_a_prefix_for_the_cda_namespace_changes_nothing() -> None:
    plain = document(section("8648-8", "", text="Stayed two days"))
    text = plain.decode()
    prefixed = text
    for name in ("ClinicalDocument", "title", "component", "structuredBody", "section", "text"):
        prefixed = prefixed.replace(f"<{name}", f"<n1:{name}").replace(f"</{name}>", f"</n1:{name}>")
    prefixed = prefixed.replace('xmlns="urn:hl7-org:v3"', 'xmlns="urn:hl7-org:v3" xmlns:n1="urn:hl7-org:v3"')
    assert {s.id for s in read(prefixed.encode()).statements} == {s.id for s in read(plain).statements}


def test_size_elements_and_depth_are_bounded() -> None:
    body = document(section("8648-8", "", text="x"))
    with pytest.raises(TooLarge, match="bytes"):
        decode(body, limit_bytes=100)
    with pytest.raises(TooLarge, match="elements"):
        decode(body, limit_elements=3)
    with pytest.raises(TooLarge, match="deeper"):
        decode(body, limit_depth=3)
    with pytest.raises(TooLarge, match="deep"):
        decode(b"<a>" * 5000 + b"</a>" * 5000)


def test_empty_bytes_and_broken_xml_are_refused() -> None:
    for body in (b"", b"  \n", b'<?xml version="1.0"?>'):
        with pytest.raises(BadInput, match="empty"):
            read(body)
    with pytest.raises(BadInput, match="not well-formed"):
        read(b"<ClinicalDocument><component></ClinicalDocument>")


def test_xml_that_is_no_cda_is_named() -> None:
    with pytest.raises(UnknownFormat, match="root is note") as caught:
        read(b"<note/>")
    assert caught.value.format == "xml"


def test_a_fragment_says_so_and_is_read() -> None:
    act = (
        '<procedure moodCode="EVN"><templateId root="2.16.840.1.113883.10.20.22.4.14"/>'
        '<code code="1" codeSystem="2.16.840.1.113883.6.96" displayName="Stent"/></procedure>'
    )
    for body in (act, f"<entry>{act}</entry>", f"<section><entry>{act}</entry></section>"):
        parsed = read(f"<!-- part -->{body}".encode())
        assert "fragment" in parsed.warnings[0]
        assert only(parsed, Kind.PROCEDURE).concept.display == "Stent"  # type: ignore[union-attr]


def test_several_roots_are_a_fragment_too() -> None:
    parsed = read(b"<author><time value='2024'/></author><author/>")
    assert "author" in parsed.warnings[0]
    assert [line.kind for line in parsed.intake] == ["person", "person"]


def test_something_after_the_end_of_a_document_is_refused() -> None:
    with pytest.raises(BadInput, match="not well-formed"):
        read(document() + b"<more/>")

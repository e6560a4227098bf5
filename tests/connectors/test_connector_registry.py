"""What is this document? Formats are told by their bytes, and what is not read is named."""

from __future__ import annotations

import pytest
from fhir_small import MINT, RECEIVED

from iamata.connectors.registry import detect, parse, source_hint
from iamata.errors import UnknownFormat
from iamata.model.scope import patient


@pytest.mark.parametrize(
    "body",
    [
        b'{"resourceType": "Bundle"}',
        b'\xef\xbb\xbf  {"resourceType" :"Patient"}',
        b'{"resourceType":"Patient"}\n{"resourceType":"Condition"}\n',
    ],
)
def test_fhir_json_is_told_by_its_resource_type(body: bytes) -> None:
    assert detect(body) == "fhir/r4"


@pytest.mark.parametrize(
    ("body", "format", "said"),
    [
        (b"", "empty", "empty"),
        (b" \n\t", "empty", "empty"),
        (b'<Bundle xmlns="http://hl7.org/fhir"><type value="document"/></Bundle>', "fhir/xml", "FHIR in XML"),
        (b"<note/>", "xml", "XML"),
        (b"PK\x03\x04\x14", "archive/zip", "ZIP"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole", "before 2007"),
        (b'{"name": "x"}', "json", "no resourceType"),
        (b"[1, 2]", "json", "no resourceType"),
        (b"a\0b", "binary", "no text"),
    ],
)
def test_what_is_not_read_yet_is_named(body: bytes, format: str, said: str) -> None:
    with pytest.raises(UnknownFormat, match=said) as caught:
        detect(body)
    assert caught.value.format == format


@pytest.mark.parametrize(
    ("body", "media_type", "name", "format"),
    [
        (b"%PDF-1.7", "", "", "document/pdf"),
        (b"\xef\xbb\xbf\n%PDF-1.7", "", "", "document/pdf"),
        (b"{\\rtf1 }", "text/plain", "", "document/rtf"),
        (b"\x89PNG\r\n\x1a\n", "", "", "image/png"),
        (b"\xff\xd8\xff\xe0", "", "", "image/jpeg"),
        (b"II*\x00", "", "", "image/tiff"),
        (b"\0" * 128 + b"DICM", "", "", "image/dicom"),
        (b"<!DOCTYPE html><html></html>", "", "", "document/html"),
        (b"<p>Seen today</p>", "text/html", "", "document/html"),
        (b"<p>Seen today</p>", "", "note.htm", "document/html"),
        (b"Dear colleague", "", "", "document/text"),
        (b"Dear colleague", "", "letter.md", "document/markdown"),
        (b"Dear colleague", "text/markdown; charset=utf-8", "", "document/markdown"),
        (b"<3 days of cough", "", "", "document/text"),
        (b"[**Name**] was seen", "", "", "document/text"),
        ("Größe".encode("utf-16"), "", "", "document/text"),
        ("Seen today".encode("utf-16-le"), "", "", "document/text"),
    ],
)
def test_documents_are_told_by_bytes_then_by_type_and_name(
    body: bytes, media_type: str, name: str, format: str
) -> None:
    assert detect(body, media_type=media_type, name=name) == format


@pytest.mark.parametrize(
    "body",
    [
        b'<?xml version="1.0"?><ClinicalDocument xmlns="urn:hl7-org:v3"/>',
        b"\xff\xfe" + "<ClinicalDocument/>".encode("utf-16-le"),
        b'<!-- part --><section><templateId root="2.16.840.1.113883.10.20.22.2.5"/></section>',
    ],
)
def test_a_cda_document_or_a_part_of_one_is_told_by_its_root(body: bytes) -> None:
    assert detect(body) == "cda/r2"


def test_a_media_type_that_says_r5_is_believed() -> None:
    assert detect(b'{"resourceType":"Patient"}', media_type="application/fhir+json; fhirVersion=5.0") == "fhir/r5"


def test_bytes_announced_as_fhir_json_go_to_its_connector_which_says_what_is_wrong() -> None:
    assert detect(b"oops", media_type="application/fhir+json") == "fhir/r4"


def test_a_format_without_a_connector_is_refused() -> None:
    with pytest.raises(UnknownFormat, match="no connector"):
        parse(
            b"GIF89a",
            format="image/gif",
            subject=patient("p"),
            source="s",
            mint=MINT,
            document="d",
            received_at=RECEIVED,
        )


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (b'{"resourceType":"Bundle","meta":{"source":"https://ehr.example/fhir#17"}}', "https://ehr.example/fhir"),
        (
            b'{"resourceType":"Bundle","entry":[{"resource":{"resourceType":"Patient"}},'
            b'{"resource":{"resourceType":"Patient","meta":{"source":"urn:ehr"}}}]}',
            "urn:ehr",
        ),
        (b'{"resourceType":"Patient"}', ""),
        (b'{"resourceType":"QuestionnaireResponse","source":{"reference":"Patient/p"}}', ""),
        (b'{"source": ', ""),
    ],
)
def test_the_source_is_hinted_at_by_meta_source(body: bytes, hint: str) -> None:
    assert source_hint(body, "fhir/r4") == hint


@pytest.mark.parametrize(
    ("body", "format"),
    [
        (b"PID|1||77\rPV1|1|I\r", "hl7v2"),
        (b"\nOBR|1\nOBX|1|TX|a\n", "hl7v2"),
        (b"PID|1||77", "document/text"),
        (b"PID|1||77\rwords", "document/text"),
        (b"PLAN|x\nPV1|y", "document/text"),
    ],
)
def test_a_message_of_hl7_v2_that_lost_its_header_is_no_note(body: bytes, format: str) -> None:
    assert detect(body) == format

"""How bytes become messages and segments: delimiters, escapes, line ends, frames, batches, character sets, places."""

from __future__ import annotations

import pytest
from hl7_small import PID, all_of, header, line, message, one, read, read_bytes

from iamata.connectors import hl7v2
from iamata.connectors.hl7v2.decoding import decode
from iamata.connectors.registry import detect, excerpt, media_type, source_hint
from iamata.errors import BadInput, TooLarge
from iamata.model.document import Outcome, Reason
from iamata.model.provenance import Place
from iamata.model.statement import Kind

OBX = "OBX|1|ST|8302-2^Body height^LN||tall||||||F"


def value(parsed) -> object:  # type: ignore[no-untyped-def]
    return one(parsed, Kind.OBSERVATION).field("value")


def test_a_message_is_detected_and_its_sender_is_the_hint_of_its_source() -> None:
    body = message(OBX)
    assert detect(body) == "hl7v2"
    assert detect(b"\x0b" + body + b"\x1c\r") == "hl7v2"
    assert detect(b"FHS|^~\\&|A\rBHS|^~\\&|A\r" + body) == "hl7v2"
    assert media_type("hl7v2") == "application/hl7-v2"
    assert source_hint(body, "hl7v2") == "NORTH"


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n", "\n\r", "\r\r\n"])
def test_every_line_end_reads_the_same(end: str) -> None:
    body = message(OBX).decode().replace("\r", end).encode()
    assert read_bytes(body).statements == read_bytes(message(OBX)).statements


def test_mixed_line_ends_and_mllp_frames_read_the_same() -> None:
    lines = message(OBX).decode().split("\r")
    mixed = f"\x0b{lines[0]}\n{lines[1]}\r\n{lines[2]}\r\x1c\r".encode()
    assert read_bytes(mixed).statements == read_bytes(message(OBX)).statements


def test_the_delimiters_are_those_of_the_message_and_no_part_of_what_it_says() -> None:
    other = message(OBX).decode().replace("^", "*").replace("|", "#").replace("#*~", "#*~").encode()
    read_other = read_bytes(other)
    assert [s.id for s in read_other.statements] == [s.id for s in read_bytes(message(OBX)).statements]


def test_a_delimiter_named_twice_is_passed_over_and_said() -> None:
    body = message("OBX|1|ST|1^a&b^L||c||||||F").replace(b"^~\\&|", b"^~\\\\&|", 1)
    parsed = read_bytes(body)
    assert value(parsed) == "c"
    assert any("delimiter twice" in warning for warning in parsed.warnings)


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (r"a\F\b", "a|b"),
        (r"a\S\b\T\c\R\d\E\e", "a^b&c~d\\e"),
        (r"one\.br\two", "one\ntwo"),
        (r"\H\bold\N\ plain", "bold plain"),
        (r"\X41\\X42\C", "ABC"),
        (r"\XC3A9\t\XC3A9\ ", "été"),
        (r"C:\temp\x", r"C:\temp\x"),
        (r"\Zlocal\ stays", r"\Zlocal\ stays"),
        (r"ends in one\r", r"ends in one\r"),
        ("a^b & c", "a^b & c"),
    ],
)
def test_escapes_are_undone_and_what_is_no_escape_stays(sent: str, text: str) -> None:
    assert (
        value(read_bytes(message(f"OBX|1|ST|1^a^L||{sent}||||||F").replace(b"2.5.1||||||", b"2.5.1||||||UTF-8")))
        == text
    )


def test_empty_is_not_said_and_two_quotes_delete() -> None:
    assert one(read('OBX|1|ST|1^a^L||""||||||F'), Kind.OBSERVATION).field("value") is None
    assert not any("address" in [f.name for f in s.fields] for s in read(OBX).statements)


@pytest.mark.parametrize(
    ("charset", "codec", "said"),
    [
        ("8859/1", "latin-1", ""),
        ("8859/15", "iso8859-15", ""),
        ("UNICODE UTF-8", "utf-8", ""),
        ("", "utf-8", "MSH-18 is empty"),
        ("", "cp1252", "MSH-18 is empty"),
        ("ASCII", "utf-8", "declares a character set"),
        ("NO SUCH SET", "utf-8", "is not known"),
        ("8859/1~ISO IR87", "latin-1", "further character sets"),
    ],
)
def test_the_character_set_is_that_of_msh_18_and_what_is_odd_is_said(charset: str, codec: str, said: str) -> None:
    text = "\r".join((header(charset=charset), PID, "OBX|1|ST|1^a^L||Größe||||||F"))
    parsed = read_bytes(text.encode(codec))
    assert value(parsed) == "Größe"
    assert any(said in warning for warning in parsed.warnings) if said else not parsed.warnings


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_byte_order_marks_and_wide_characters_are_read(codec: str) -> None:
    text = "\r".join((header(charset="UNICODE"), PID, "OBX|1|ST|1^a^L||Größe||||||F"))
    assert value(read_bytes(text.encode(codec))) == "Größe"


def test_a_line_that_begins_no_segment_is_more_of_the_one_before_and_said() -> None:
    parsed = read_bytes(message("OBX|1|TX|||first line\nsecond line||||||F"))
    assert [p.text for p in parsed.passages] == ["first line\nsecond line"]
    assert any("begins no segment" in warning for warning in parsed.warnings)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b"", ""),
        (b"\r\n \r\n", ""),
        (b"PID|1||77\r", "line 1"),
        (b"\n\nPID|1||77\r", "line 3"),
        (b"MSH", "line 1"),
        (b"MSHx^~\\&|A\r", "line 1"),
        (b"MSH||APP\r", "line 1"),
    ],
)
def test_only_what_is_no_message_is_refused_and_the_place_is_named(body: bytes, place: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_bytes(body)
    assert refused.value.place == place
    assert "77" not in str(refused.value)


def test_limits_are_kept() -> None:
    with pytest.raises(TooLarge):
        decode(message(OBX), limit_bytes=10)
    with pytest.raises(TooLarge):
        decode(message(*[OBX] * 5), limit_segments=4)


def test_a_batch_holds_many_messages_and_its_frame_is_accounted_for() -> None:
    body = b"FHS|^~\\&|LAB\rBHS|^~\\&|LAB\r" + message(OBX) + message("OBX|1|ST|2^b^L||x||||||F") + b"BTS|2\rFTS|1\r"
    parsed = read_bytes(body)
    assert len(all_of(parsed, Kind.OBSERVATION)) == 2
    assert [each.place for each in parsed.intake if each.kind == "batch"] == [
        "/0/FHS/1",
        "/0/BHS/1",
        "/0/BTS/1",
        "/0/FTS/1",
    ]
    assert {"/1/OBX/1", "/2/OBX/1"} <= {s.place.pointer for s in parsed.sightings}


def test_one_bad_message_of_a_batch_spoils_only_itself() -> None:
    parsed = read_bytes(b"MSH||\rPID|1||5\r" + message(OBX))
    assert len(all_of(parsed, Kind.OBSERVATION)) == 1
    assert line(parsed, "/1/PID/1").reason is Reason.UNUSABLE


def test_local_segments_and_unread_ones_are_listed_and_unread_fields_named() -> None:
    parsed = read("ZDS|1^x", "BLG|D", OBX + "||||||||||secret")
    assert line(parsed, "/1/ZDS/1").outcome is Outcome.IGNORED
    assert "local segment" in line(parsed, "/1/ZDS/1").detail
    assert line(parsed, "/1/BLG/1").reason is Reason.UNSUPPORTED
    assert "not read: OBX-21" not in line(parsed, "/1/OBX/1").detail
    assert all("secret" not in str(each) for each in parsed.intake)


def test_every_segment_has_a_line_once_at_least() -> None:
    parsed = read("PV1|1|I", "NTE|1||a note", "OBR|1||9|1^a^L", OBX, "NTE|1", "ZZZ|1")
    places = [each.place for each in parsed.intake]
    assert set(places) == {f"/1/{n}/1" for n in ("MSH", "PID", "PV1", "OBR", "OBX", "ZZZ")} | {"/1/NTE/1", "/1/NTE/2"}
    assert line(parsed, "/1/NTE/1").outcome is Outcome.TEXT_ONLY
    assert line(parsed, "/1/NTE/2").reason is Reason.EMPTY


def test_a_place_leads_back_to_the_segment_the_field_and_a_run_of_lines() -> None:
    body = message(r"OBX|1|TX|||a\T\b||||||F", "OBX|2|TX|||c||||||F")
    assert hl7v2.at(body, "/1/OBX/1") == r"OBX|1|TX|||a\T\b||||||F"
    assert hl7v2.at(body, "/1/OBX/1/5") == "a&b"
    assert excerpt(body, "hl7v2", Place("/1/OBX/1-2/5")) == "a&b\nc"
    assert hl7v2.at(body, "/1/OBX/9") == hl7v2.at(body, "nonsense") == hl7v2.at(b"", "/1/OBX/1") == ""


def test_the_same_item_in_another_message_at_another_place_is_the_same_statement() -> None:
    first = one(read(OBX), Kind.OBSERVATION)
    later = one(read("PV1|1|O", OBX.replace("OBX|1", "OBX|7"), at="20260101"), Kind.OBSERVATION)
    assert first.id == later.id
    assert first == later


def test_equal_records_have_equal_ids_and_nothing_of_the_document_in_them() -> None:
    a, b = read_bytes(message(OBX), document="en_1"), read_bytes(message(OBX), document="en_2")
    assert a.statements == b.statements
    assert {s.document for s in b.sightings} == {"en_2"}

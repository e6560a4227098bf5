"""Broken and odd input: refused or read, every law of reading kept (`fuzz.laws`), and what is whole is kept."""

from __future__ import annotations

from fuzz.laws import MARK, lawful
from hl7_small import PID, all_of, header, message, read_bytes
from hypothesis import given, settings
from hypothesis import strategies as st

from iamata.connectors import hl7v2
from iamata.model.statement import Kind

WHOLE = "OBX|1|NM|2951-2^Sodium^LN||140|mmol/L^^UCUM|135-145|N|||F|||202506010730-0500"
SEGMENTS = (
    "EVN|A01|20250601083000",
    "PV1|1|I|4E^136^B||||7^Attend^Ann|||SUR|||||||||V9^^^N|||||||||||||||||||||||||20250601",
    "NK1|1|Ray^Mia|MTH",
    "AL1|1|DA|7980^Penicillin^RXNORM|SV|HIVES~RASH",
    "IAM|1|FA|1^Nut^L|MO|RASH|A|I1||AL||2018||2020|Ray^Leo|SEL||C",
    "DG1|1||I63.9^Stroke^I10C||2025|F|||||||||1|5^D^Dan||||X1|D",
    "PRB|AD|2025|1^Pain^L|P1|||2024||||||CONFIRMED|ACTIVE||2023",
    "ORC|NW|P1^E|F1^L||CM||1^BID^^2025^2026||2025|1^a|2^b|3^c",
    "TQ1|1||BID|||||2025|2026|R",
    "OBR|1|P1^E|F1^L|24323-8^Panel^LN|R|2025|2025|2026|||||||BLD&Blood||9^O|||||||2025|||F|^^x||a&b|||||1&Read&Ria",
    "OBX|1|TX|1^Note^L||line~two||||||F|||||8^See^Sam",
    "OBX|2|ED|1^Scan^L||^TEXT^PLAIN^Base64^!!!||||||F",
    "OBX|3|SN|1^Titre^L||^1^:^128||||||C",
    "SPM|1|||SER^Serum|||||||||||||2025^2026",
    "RXE||723^Amox^RXNORM|500|250|mg|CAP|^food|||20|CAP|2",
    "RXR|PO^Oral|LA",
    "RXC|A|1^x|5|mg",
    "RXA|0|1|2025|2026|88^flu^CVX|999|mL||04^recall^NIP001|7^G^Gina|||||L1|2027|MSD||||CP|A",
    "RXD|1|723^Amox|2025|20|CAP||RX1|3||9^P^Pam",
    "TXA|1|DS|TX|2025|5^A|2025|2025|2025|6^O^Ol|7^B|8^C|D1|D0||||AU|R|AV|||9^S^^^^^^^^^^^^^2025",
    "SCH|P1|F1|||||^Check|||30|min",
    "AIS|1||1^Eye^L|2025",
    "IN1|1|PPO|C1|Blue||||G|||||2025|2026",
    "FT1|1|T1||2025|2026|CG|1^X^C4|||1|100&USD",
    "PR1|1||1^Op^C4||2025||||||||9^C",
    "GOL|AD|2025|1^Walk|G1",
    "MRG|56^^^N^MR||A9",
    "RF1|P|R|||O|1^E|2025|2026|2025|O",
    "PRD|RP|P^R",
    "NTE|1|P|a note||5^W^Will|2025",
    "ZZZ|local",
)
TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
NOISE = st.sampled_from(
    [MARK, "²", "|", "^", "~", "\\", "&", '""', "\\X", "\\X41\\", "\x00", "\x0b", "99999999999999", "-", " "]
)


@settings(max_examples=120, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    for each in (body, b"MSH" + body, b"MSH|^~\\&|" + body):
        lawful(each, "hl7v2")


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(SEGMENTS), max_size=12), st.data())
def test_any_order_of_segments_with_any_field_broken_keeps_what_is_whole(
    segments: list[str], data: st.DataObject
) -> None:
    broken = []
    for segment in segments:
        fields = segment.split("|")
        for _ in range(data.draw(st.integers(0, 3))):
            at = data.draw(st.integers(1, len(fields) - 1))
            fields[at] = data.draw(st.one_of(TEXT, NOISE)).replace("\r", "").replace("\n", "")
        broken.append("|".join(fields))
    event = data.draw(st.sampled_from(["ORU^R01", "ADT^A08", "RDE^O11", "X"]))
    parsed = lawful(message(WHOLE, *broken, event=event), "hl7v2")
    assert parsed is not None
    values = [str(s.field("value")) for s in all_of(parsed, Kind.OBSERVATION)]
    assert "140 mmol/L" in values
    assert len(parsed.intake) >= 3
    places = {sighting.place.pointer for sighting in parsed.sightings}
    assert all(hl7v2.at(message(WHOLE), place) for place in places if place.startswith("/1/OBX/1") and "-" not in place)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 400), st.integers(0, 60), TEXT)
def test_a_message_cut_and_patched_anywhere_is_read_or_refused(start: int, length: int, patch: str) -> None:
    body = message(*SEGMENTS)
    broken = body[:start] + patch.encode() + body[start + length :]
    if lawful(broken, "hl7v2") is None:
        assert start < 9  # only the header's own delimiters can spoil a message


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(SEGMENTS), min_size=1, max_size=8))
def test_reading_twice_and_with_other_line_ends_is_the_same(segments: list[str]) -> None:
    body = message(*segments)
    other = body.replace(b"\r", b"\n")
    assert read_bytes(body).statements == read_bytes(other).statements
    assert read_bytes(body).passages == read_bytes(other).passages


def test_many_separators_and_many_segments_take_no_long_time() -> None:
    wide = "\r".join((header(), PID, "OBX|1|ST|1^a^L||" + "^&~" * 100_000))
    assert read_bytes(wide.encode()).intake
    escapes = "\r".join((header(), PID, "OBX|1|ST|1^a^L||" + "\\" * 200_000))
    assert read_bytes(escapes.encode()).intake
    long = message(*[f"OBX|{n}|TX|1^a^L||line {n}||||||F" for n in range(3_000)])
    assert len(read_bytes(long).intake) == 3_002

"""Delimiters, line ends, counts and control numbers of X12 interchanges; what is broken is refused with its place."""

from __future__ import annotations

import pytest
from fuzz.laws import lawful
from hypothesis import given, settings
from hypothesis import strategies as st
from x12_small import ISA, RECEIVED, claim, claims, interchange, lines, only, read, transaction

from iamata.connectors import x12
from iamata.connectors.registry import detect, excerpt, source_hint
from iamata.errors import BadInput, TooLarge
from iamata.model.identifiers import IdMint
from iamata.model.provenance import Place
from iamata.model.scope import patient
from iamata.model.statement import Kind

BODY = interchange(claims(claim()))


def digests(body: bytes) -> set[str]:
    return {s.digest for s in read(body).statements}


def test_the_format_and_the_sender_are_told_by_isa() -> None:
    assert detect(BODY) == "x12"
    assert source_hint(BODY, "x12") == "ZZ:SENDER"


@pytest.mark.parametrize("end", ["~", "~\n", "~\r\n", "\n", "\r\n", "|", "~  "])
def test_any_segment_end_reads_alike(end: str) -> None:
    assert digests(interchange(claims(claim()), end=end)) == digests(BODY)
    assert read(interchange(claims(claim()), end=end)).warnings == ()


@pytest.mark.parametrize(
    ("element", "component", "repetition"), [("|", ">", "^"), ("\x1d", "\x1f", "\x1e"), ("+", ":", "!")]
)
def test_delimiters_are_those_of_the_interchange(element: str, component: str, repetition: str) -> None:
    text = BODY.decode().translate(str.maketrans({"*": element, ":": component, "^": repetition}))
    assert digests(text.encode()) == digests(BODY)


def test_an_isa_whose_elements_are_not_padded_is_read() -> None:
    assert digests(BODY.replace(b"          ", b"").replace(b"         *", b"*").replace(b"       *", b"*")) == digests(
        BODY
    )


def test_several_groups_and_interchanges_are_one_document() -> None:
    both = BODY + interchange(claims(claim("B2")), claims(claim("C3")))
    parsed = read(both)
    assert sum(s.kind is Kind.CLAIM for s in parsed.statements) == 3
    assert parsed.warnings == ()
    grouped = BODY.replace(b"GE*1*1~", b"GE*1*1~GS*HC*S*R*20260101*1200*2*X*005010X222A1~GE*0*2~").replace(
        b"IEA*1*", b"IEA*2*"
    )
    assert read(grouped).warnings == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ((b"SE*19*0001", b"SE*7*0001"), "SE01 counts other segments than the 19"),
        ((b"SE*19*0001", b"SE*x*0001"), "SE01 counts"),
        ((b"SE*19*0001", b"SE*20*0009"), "SE02 is not the control number of its ST"),
        ((b"GE*1*1", b"GE*2*1"), "GE01 counts other transactions than the 1"),
        ((b"IEA*1*", b"IEA*3*"), "IEA01 counts other groups than the 1"),
        ((b"IEA*1*000000001", b"IEA*1*000000002"), "IEA02 is not the control number"),
        ((b"IEA*1*000000001~\n", b""), "this interchange does not end"),
        ((b"SE*19*0001~\n", b""), "this transaction does not end"),
    ],
)
def test_a_wrong_count_or_a_missing_end_is_a_warning_and_all_is_read(change: tuple[bytes, bytes], said: str) -> None:
    assert change[0] in BODY
    parsed = read(BODY.replace(*change))
    assert any(said in warning for warning in parsed.warnings), parsed.warnings
    assert only(parsed, Kind.CLAIM).field("use") == "claim"


def test_the_end_of_a_document_that_was_cut_short_is_named() -> None:
    assert any("cut short" in warning for warning in read(BODY[: BODY.index(b"DTP*472") + 9]).warnings)


@pytest.mark.parametrize(
    ("body", "said", "place"),
    [
        (b"", "empty", ""),
        (b"  \n", "empty", ""),
        (b"GS*HC*S*R", "begins with ISA", "offset 0"),
        (b" ISA", "element separator", "segment/1, offset 1"),
        (b"ISA*00*x", "cut short", "segment/1"),
        (b"ISA*" + b"*" * 12, "cut short", "segment/1"),
        (ISA.encode(), "cut short", "segment/1"),
        (ISA.encode()[:-1] + b"**", "one character for two", "segment/1"),
        (ISA.encode() + b"~GS*HC~GE*0*1~", "no transaction", "segment/3"),
        (BODY + b"ISA*00*broken", "cut short", "segment/24"),
    ],
)
def test_what_is_no_interchange_is_refused_with_its_place(body: bytes, said: str, place: str) -> None:
    with pytest.raises(BadInput, match=said) as caught:
        read(body)
    assert caught.value.place.startswith(place)


def test_limits_are_kept() -> None:
    for limits in ({"limit_bytes": 100}, {"limit_segments": 5}):
        with pytest.raises(TooLarge):
            x12.read(
                BODY,
                subject=patient("leo"),
                source="s",
                mint=IdMint(b"k" * 32),
                document="d",
                received_at=RECEIVED,
                **limits,
            )


def test_components_that_are_separated_otherwise_than_isa_says_are_read_with_a_warning() -> None:
    text = BODY.decode()
    head, body = text[: len(ISA)], text[len(ISA) :]
    parsed = read((head + body.replace(":", ">")).encode())
    assert [w for w in parsed.warnings if "components are separated by '>'" in w]
    assert {s.digest for s in parsed.statements} == digests(BODY)


def test_a_document_in_another_encoding_than_utf_8_is_read_byte_by_byte() -> None:
    parsed = read(BODY.replace(b"REED", b"RE\xc9D"))
    assert "ISO 8859-1" in parsed.warnings[0]
    assert only(parsed, Kind.DEMOGRAPHIC).field("name") == "ANA M REÉD"


def test_what_is_no_segment_and_what_is_not_read_yet_have_lines_of_their_own() -> None:
    parsed = read(interchange(transaction("999", "005010X231A1", "AK1*HC*1"), claims(claim(more=("K3*X", "?!")))))
    found = {(line.place, line.reason.value, line.label) for line in lines(parsed)}
    assert found == {
        ("segments/3-5", "unsupported", "999 005010X231A1"),
        ("segment/20", "unsupported", "K3"),
        ("segment/21", "unusable", ""),
    }


def test_a_place_shows_its_segments() -> None:
    assert excerpt(BODY, "x12", Place("segments/18-19")) == "LX*1\nSV1*HC:99213:25*120*UN*1***1"
    assert excerpt(BODY, "x12", Place("segment/1")) == ISA
    assert excerpt(BODY, "x12", Place("segment/99")) == ""
    assert excerpt(BODY, "x12", Place("/entry/0")) == ""
    assert excerpt(b"no", "x12", Place("segment/1")) == ""


PIECES = st.sampled_from(
    [
        "*",
        "~",
        ":",
        "^",
        "\n",
        "\x00",
        "é",
        "HL*1*2*22",
        "NM1*QC",
        "LX",
        "CLM",
        "ISA*",
        "IEA~",
        "99999999",
        "",
        "SE*",
        "D8*",
    ]
)


@settings(max_examples=150, deadline=None)
@given(
    cuts=st.lists(st.tuples(st.integers(0, len(BODY)), st.integers(0, 12), PIECES), max_size=4),
    tail=st.binary(max_size=8),
)
def test_any_damage_is_read_or_refused_and_never_another_exception(
    cuts: list[tuple[int, int, str]], tail: bytes
) -> None:
    body = BODY
    for at, size, piece in cuts:
        body = body[:at] + piece.encode() + body[at + size :]
    lawful(body + tail, "x12")


def test_one_broken_claim_leaves_the_others() -> None:
    parsed = read(interchange(claims(["CLM"], claim("B2"))))
    assert "B2" in {i.value for s in parsed.statements if s.kind is Kind.CLAIM for i in s.identifiers}


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_segments_lost_doubled_or_out_of_order_are_read_and_accounted_for(data: st.DataObject) -> None:
    """Found so: a patient's level without subscriber, policy and payer."""
    segments = BODY.decode().split("~\n")
    head, body, tail = segments[:3], segments[3:-4], segments[-4:]
    chosen = data.draw(st.lists(st.sampled_from(body), max_size=len(body) + 3))
    assert lawful("~".join([*head, *chosen, *tail]).encode(), "x12") is not None


def test_a_patient_without_policy_or_payer_is_still_read() -> None:
    parsed = read(interchange(claims(claim(), who=["HL*2*1*22*1", "HL*3*2*23*0", "PAT*19", "NM1*QC*1*REED*TOM"])))
    assert only(parsed, Kind.DEMOGRAPHIC).field("name") == "TOM REED"
    assert not [s for s in parsed.statements if s.kind is Kind.INSURANCE]

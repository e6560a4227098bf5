"""Transcripts: every format gives the same turns; nothing is guessed, and what cannot be read is named by its place."""

from __future__ import annotations

import base64
import csv
import io
import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iamata.connectors.transcripts import FORMATS, read
from iamata.errors import BadInput, UnknownFormat
from iamata.model.session import Speaker, ToolCall, Turn

MARK = "Zyxwvut"
NINE = datetime(2026, 2, 15, 9, tzinfo=UTC)
SAME = {
    "json": json.dumps(
        {
            "messages": [
                {"role": "user", "content": "How is he?", "speaker": "clinician", "name": "Ames"},
                {
                    "role": "user",
                    "content": "He has hives: red ones.",
                    "speaker": "caregiver",
                    "relationship": "mother",
                },
                {"role": "assistant", "content": "I am sorry."},
            ]
        }
    ),
    "text": "Dr Ames: How is he?\nMother: He has hives: red ones.\nagent: I am sorry.\n",
    "vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Dr Ames>How is he?</v>\n\n00:03.000 --> 00:04.000\n"
    "<v Mother>He has <i>hives</i>:\nred ones.\n\n00:05.000 --> 00:06.000\nagent: I am sorry.\n",
    "srt": "1\n00:00:01,000 --> 00:00:02,000\nDr Ames: How is he?\n\n2\n00:00:03,000 --> 00:00:04,000\n"
    "Mother: He has hives:\nred ones.\n\n3\n00:00:05,000 --> 00:00:06,000\nagent: I am sorry.\n",
    "csv": 'speaker,text\nDr Ames,How is he?\nmother,"He has hives: red ones."\nagent,I am sorry.\n',
}


def told(turns: tuple[Turn, ...]) -> list[tuple[str, str, str, str]]:
    return [(turn.speaker.value, turn.relationship, turn.name, turn.text) for turn in turns]


@pytest.mark.parametrize("format", FORMATS)
def test_each_format_is_recognised_and_gives_the_same_turns(format: str) -> None:
    found = read(SAME[format].encode())
    assert found.format == format
    assert told(found.turns) == [
        ("clinician", "", "Ames", "How is he?"),
        ("caregiver", "mother", "", "He has hives: red ones."),
        ("agent", "", "", "I am sorry."),
    ]
    assert read(SAME[format].encode("utf-8-sig"), format=format).turns == found.turns
    if format != "json":
        assert read(SAME[format].replace("\n", "\r\n").encode()).turns == found.turns


def test_times_of_cues_count_from_the_given_beginning_across_a_change_of_the_clock() -> None:
    begins = datetime(2026, 3, 29, 1, 59, 58, tzinfo=timezone(timedelta(hours=1)))
    found = read(SAME["vtt"].encode(), begins_at=begins)
    assert [turn.said_at for turn in found.turns] == [begins + timedelta(seconds=n) for n in (1, 3, 5)]
    # In Berlin the clock went from 02:00 to 03:00 then: three seconds later it is past three.
    local = read(SAME["srt"].encode(), begins_at=begins.replace(tzinfo=None), time_zone="Europe/Berlin")
    assert [turn.said_at and turn.said_at.isoformat() for turn in local.turns][:2] == [
        "2026-03-29T01:59:59+01:00",
        "2026-03-29T03:00:01+02:00",
    ]
    assert [turn.turn_id for turn in local.turns] == ["1", "2", "3"]


def test_without_a_beginning_no_time_is_made_up_and_a_warning_says_so() -> None:
    found = read(SAME["srt"].encode())
    assert {turn.said_at for turn in found.turns} == {None}
    assert any("3 times count from the beginning" in warning for warning in found.warnings)


def test_a_time_without_an_offset_needs_a_zone() -> None:
    table = b"time,speaker,text\n2026-02-15T09:00,patient,I stopped it.\n"
    with pytest.raises(BadInput) as refused:
        read(table)
    assert refused.value.place == "row 2"
    assert read(table, time_zone="Europe/Berlin").turns[0].said_at == datetime(2026, 2, 15, 8, tzinfo=UTC)
    assert read(table, time_zone="-05:00").turns[0].said_at == datetime(2026, 2, 15, 14, tzinfo=UTC)
    spoken = json.dumps([{"role": "user", "content": "a", "saidAt": "2026-07-15T09:00:00"}]).encode()
    assert read(spoken, time_zone="Europe/Berlin").turns[0].said_at == datetime(2026, 7, 15, 7, tzinfo=UTC)
    for zone in ("Mars/Olympus", "+25:00", "../etc/passwd", "CET now"):
        with pytest.raises(BadInput, match="not a time zone"):
            read(table, time_zone=zone)


@pytest.mark.parametrize(
    ("line", "turn"),
    [
        ("[2026-02-15T09:00Z] mother: Yes.", Turn(Speaker.CAREGIVER, "Yes.", "mother", said_at=NINE)),
        ("00:01:23 - Patient: Yes.", Turn(Speaker.PATIENT, "Yes.", said_at=NINE + timedelta(seconds=83))),
        ("[00:01:23] Patient: Yes.", Turn(Speaker.PATIENT, "Yes.", said_at=NINE + timedelta(seconds=83))),
        ("(1:23) Patient: Yes.", Turn(Speaker.PATIENT, "Yes.", said_at=NINE + timedelta(seconds=83))),
        ("[doctor] Yes.", Turn(Speaker.CLINICIAN, "Yes.")),
        ("Ada Jones (patient): Yes.", Turn(Speaker.PATIENT, "Yes.", name="Ada Jones")),
        ("caregiver (Foster  mother): Yes.", Turn(Speaker.CAREGIVER, "Yes.", "foster mother")),
        ("mother (Ruth): Yes.", Turn(Speaker.CAREGIVER, "Yes.", "mother", "Ruth")),
        ("Nurse Kim: Yes.", Turn(Speaker.CLINICIAN, "Yes.", name="Kim")),
        ("Care_Coordinator: Yes.", Turn(Speaker.COORDINATOR, "Yes.")),
        ("patient:", Turn(Speaker.PATIENT, "")),
    ],
)
def test_a_line_of_text_is_a_turn(line: str, turn: Turn) -> None:
    assert read(f"{line}\n".encode(), format="text", begins_at=NINE).turns == (turn,)


def test_an_indented_line_goes_on_and_so_do_lines_without_a_label_if_the_sender_says_so() -> None:
    assert told(read(b"mother: We stopped it.\n  On Thursday.\n").turns) == [
        ("caregiver", "mother", "", "We stopped it.\nOn Thursday.")
    ]
    text = b"mother: We stopped it.\nOn Thursday.\nagent: Thank you.\n"
    with pytest.raises(BadInput, match="no speaker is named") as refused:
        read(text)
    assert refused.value.place == "line 2"
    assert len(read(text, speakers={"": "before"}).turns) == 2
    assert told(read(text, speakers={"": "interpreter"}).turns)[1] == ("interpreter", "", "", "On Thursday.")


@pytest.mark.parametrize("label", ["Speaker 1", "P", "D", "Ada", "user", "Guest_family"])
def test_a_label_that_nobody_explains_is_refused_and_the_senders_word_counts(label: str) -> None:
    for body in (f"{label}: {MARK}\n", f"WEBVTT\n\n00:01.000 --> 00:02.000\n<v {label}>{MARK}\n"):
        with pytest.raises(BadInput, match="who speaks") as refused:
            read(body.encode())
        assert refused.value.place in ("line 1", "line 3")
        assert MARK not in str(refused.value)
        assert (
            label not in str(refused.value).replace("`Speaker 1=patient`", "").replace("Ms B", "").split("(at")[0][:30]
        )
        [turn] = read(body.encode(), speakers={label.upper(): "caregiver:Daughter"}).turns
        assert (turn.speaker, turn.relationship) == (Speaker.CAREGIVER, "daughter")


def test_the_senders_word_goes_before_the_table_and_must_be_a_speaker() -> None:
    assert read(b"doctor: Hello.\n", speakers={"Doctor": "agent"}).turns[0].speaker is Speaker.AGENT
    for who in ("king", "patient:mother", ""):
        with pytest.raises(BadInput) as refused:
            read(b"doctor: Hello.\n", speakers={"Doctor": who})
        assert refused.value.place == "speakers"


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b"patient 1: Hello.\npatient 2: Hello.\n", "line 2"),
        (b"patient: Hello.\npatient B: Hello.\n", "line 2"),
        (b"patient,speaker,text\np1,patient,Hello.\np2,patient,Hello.\n", "row 3"),
        (b'[{"role":"user","content":"a","patientId":"p"},{"role":"user","content":"b","patientId":"q"}]',
         "/1/patientId"),
        (b'{"sessions":[{"patientId":"p1","messages":[{"role":"user","content":"a","patientId":"p2"}]}]}',
         "/sessions/0/messages/0/patientId"),
    ],
)  # fmt: skip
def test_a_transcript_of_two_patients_is_refused_with_the_place(body: bytes, place: str) -> None:
    with pytest.raises(BadInput, match="exactly one") as refused:
        read(body)
    assert refused.value.place == place


def test_a_transcript_that_names_a_patient_names_the_one_it_is_filed_under() -> None:
    body = b"patient_id,speaker,text\nMRN-7,patient,Hello.\n"
    assert len(read(body).turns) == 1
    with pytest.raises(BadInput, match="another patient"):
        read(body, patients=("ada",))
    assert len(read(body, patients=("ada", "MRN-7")).turns) == 1


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (f"mother: yes\n{MARK} without a speaker\n".encode(), "line 2"),
        (f"{MARK}: yes\n".encode(), "line 1"),
        (f"[2026-02-15T09:00] mother: {MARK}\n".encode(), "line 1"),
        (f"[15 Feb 9:00 {MARK}] mother: no\n".encode(), "line 1"),
        (b"[00:99:00] mother: no\n", "line 1"),
        (b"1\n00:00:01,000 --> 00:00:02,000\nPatient: a\n\n2\nPatient: b\n", "line 5"),
        (b"1\n00:00:01,000 --> 00:00:02,000\nPatient: a\n\n00:00:61,000 --> 00:00:02,000\nPatient: b\n", "line 5"),
        (b"WEBVTT\n\n00:01.000 --> 00:02.000\nno label\n", "line 3"),
        (b"speaker,text\npatient\n", "row 2"),
        (b'speaker,text\npatient,"open\n', ""),
        (b"speaker,text\n", "row 2"),
        (b"session,speaker,text\na,patient,x\nb,patient,y\n", "row 3"),
        (f'{{"messages": [{{"role": "{MARK}", "content": "a"}}]}}'.encode(), "/messages/0/role"),
        (b'{"messages": [{"role": "user", "content": ""}]}', "/messages/0/content"),
        (b'{"messages": [{"role": "user", "content": "a", "speaker": "king"}]}', "/messages/0/speaker"),
        (b'{"messages": [{"role": "user", "content": "a", "toolCalls": [{"tool": "x"}]}]}', "/messages/0"),
        (b'[{"role":"user","content":"a"},{"role":"assistant","content":"a","speaker":"patient"}]', "/1/speaker"),
        (b'{"sessions":[{"messages":[{"role":"user","content":"a"}]},{"messages":[{"role":"user","content":"a"}]}]}',
         "/sessions/1"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named_by_its_place_and_not_repeated(body: bytes, place: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(body)
    assert caught.value.place == place
    assert MARK not in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [b"", b"\n \n", b"\xff\xfe", b"{", b'{"messages": []}', b'{"sessions": []}', b"[]", b"[]x", b"WEBVTT\n", b"\0\0\0",
     b'{"messages": [{"role": "user", "content": "\\ud800"}]}', b"%PDF-1.7\n\0\1\2"],
)  # fmt: skip
def test_what_is_no_transcript_is_bad_input(body: bytes) -> None:
    with pytest.raises(BadInput):
        read(body)


def test_a_format_that_there_is_not_is_named() -> None:
    with pytest.raises(UnknownFormat, match="json, text, vtt, srt, csv"):
        read(b"patient: hi\n", format="docx")


def test_the_json_of_the_wire_contract_is_read_in_its_three_shapes_with_tool_calls() -> None:
    turns = json.dumps(
        [
            {"role": "user", "content": "a", "turnId": "t1", "saidAt": "2026-02-15T09:00:00Z"},
            {
                "role": "assistant",
                "content": "b",
                "toolCalls": [{"tool": "read", "arguments": {"path": "/x"}, "result": "text", "callId": "c1"}],
            },
        ]
    )
    shapes = (turns, f'{{"messages": {turns}}}', f'{{"sessions": [{{"sessionId": "s9", "messages": {turns}}}]}}')
    found = [read(shape.encode()) for shape in shapes]
    assert [each.session for each in found] == ["", "", "s9"]
    call = ToolCall("read", '{"path":"/x"}', "text", call_id="c1")
    for each in found:
        assert each.turns == (
            Turn(Speaker.PATIENT, "a", said_at=NINE, turn_id="t1"),
            Turn(Speaker.AGENT, "b", calls=(call,)),
        )


def test_several_voices_of_one_cue_are_turns_of_their_own_and_a_sentence_over_two_cues_is_one() -> None:
    body = (
        "WEBVTT - Visit\n\nSTYLE\n::cue { color: red }\n\nNOTE\nby a machine\n\n"
        "first\n00:00:01.000 --> 00:00:02.000 align:start\n"
        "<v.loud Doctor>Any <00:00:01.500>allergies?\n<v Patient>Just sulfa &amp; latex.\n\n"
        "00:00:03.000 --> 00:00:04.000\n<v Patient>I stopped the\n\n"
        "00:00:05.000 --> 00:00:06.000\n<v Patient>lisinopril.\n\n"
        "00:00:07.000 --> 00:00:08.000\n<v Patient>Then it went.\n"
    )
    found = read(body.encode(), begins_at=NINE)
    assert [(turn.speaker.value, turn.text, turn.turn_id) for turn in found.turns] == [
        ("clinician", "Any allergies?", "first"),
        ("patient", "Just sulfa & latex.", "first-2"),
        ("patient", "I stopped the lisinopril.", ""),
        ("patient", "Then it went.", ""),
    ]
    assert found.turns[2].said_at == NINE + timedelta(seconds=3)
    assert found.warnings == ("2 blocks are no talk (notes, styles, regions) and were not read",)


def test_a_table_may_have_its_columns_in_any_order_and_what_is_not_known_is_counted() -> None:
    body = (
        "Turn_ID;Name;Content;Mood;Role;Relationship;Timestamp\n7;Ruth;He has hives;sad;caregiver;Mother;00:00:05\n\n"
        "8;;Hello;;agent;;2026-02-15T10:00+01:00\n"
    )
    found = read(body.encode(), begins_at=NINE)
    assert found.turns == (
        Turn(Speaker.CAREGIVER, "He has hives", "mother", "Ruth", NINE + timedelta(seconds=5), "7"),
        Turn(Speaker.AGENT, "Hello", said_at=NINE, turn_id="8"),
    )
    assert found.warnings == ("1 columns have no name that is known here and were not read",)


ODD = {
    "other languages": "J'ai mal à la tête. 頭が痛い。 Болит голова.",
    "emoji": "my knee 😀🧬 hurts 👩‍⚕️",
    "right to left": "\u202eقلبي يؤلمني\u202c שלום",
    "code": "def f(x): return {'a': [1, 2]} # <script>alert(1)</script>",
    "base64": base64.b64encode(bytes(range(256)) * 4).decode(),
    "a megabyte": "my knee hurts " * 75_000 + "end.",
    "other line ends": "one\x0btwo\u2028three\x85four",
    "a bracket": '[12] he said: "stop" --> now',
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("format", ["json", "text", "csv", "vtt", "srt"])
def test_odd_text_comes_through_every_format_unharmed(format: str, name: str) -> None:
    text = ODD[name]
    match format:
        case "json":
            body = json.dumps([{"role": "user", "content": text}])
        case "text":
            body = f"patient: {text}\n"
        case "csv":
            out = io.StringIO()
            csv.writer(out).writerows([("speaker", "text"), ("patient", text)])
            body = out.getvalue()
        case "vtt":
            safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            body = f"WEBVTT\n\n00:01.000 --> 00:02.000\n<v Patient>{safe}\n"
        case _:
            body = f"1\n00:00:01,000 --> 00:00:02,000\nPatient: {text}\n"
    [turn] = read(body.encode()).turns
    said = " ".join(text.split()) if format in ("vtt", "srt") and name == "other line ends" else text
    heard = " ".join(turn.text.split()) if format in ("vtt", "srt") and name == "other line ends" else turn.text
    assert heard == said


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes_are_read_or_refused_as_bad_input(body: bytes) -> None:
    try:
        found = read(body)
    except BadInput:
        return
    assert found.turns


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["patient", "mother", "agent"]),
            st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=40),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_a_written_table_is_read_back_turn_by_turn(talk: list[tuple[str, str]]) -> None:
    out = io.StringIO()
    csv.writer(out).writerows([("speaker", "text"), *talk])
    found = read(out.getvalue().encode(), format="csv")
    assert [turn.text for turn in found.turns] == [text.strip() for _who, text in talk]


def test_real_transcripts_are_read_when_the_sender_says_who_their_letters_are(data: Path) -> None:
    files = sorted((data / "osce-fareez").glob("*.txt"))
    turns = 0
    for file in files:
        found = read(file.read_bytes(), speakers={"D": "clinician", "P": "patient", "": "before"})
        assert {turn.speaker for turn in found.turns} == {Speaker.CLINICIAN, Speaker.PATIENT}, file.name
        turns += len(found.turns)
    assert turns > 1000
    with (data / "mts-dialog" / "MTS-Dialog-ValidationSet.csv").open(newline="") as opened:
        for row in csv.DictReader(opened):
            family = {f"Guest_{who}{n}": who_is for who, who_is in (("family", "caregiver"), ("clinician", "clinician"))
                      for n in ("", "_1", "_2")}  # fmt: skip
            assert read(row["dialogue"].encode(), speakers=family).turns

"""How is a transcript read from the command line?"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from iamata.errors import BadInput
from iamata.interfaces.cli.transcripts import transcript
from iamata.model.session import Speaker

MARK = "Zyxwvut"


def test_a_line_is_a_turn_and_the_word_before_the_colon_its_speaker() -> None:
    read = transcript(
        b"agent: How is he?\n\nMother: He has hives: red ones.\ncaregiver (foster mother): Since Thursday.\n"
    )
    assert [(turn.speaker, turn.relationship, turn.text) for turn in read.turns] == [
        (Speaker.AGENT, "", "How is he?"),
        (Speaker.CAREGIVER, "mother", "He has hives: red ones."),
        (Speaker.CAREGIVER, "foster mother", "Since Thursday."),
    ]
    assert read.session == ""


def test_a_time_may_stand_before_a_turn() -> None:
    read = transcript("[2026-02-15T09:00Z] patient: I stopped it.\n".encode("utf-8-sig"))
    assert read.turns[0].said_at == datetime(2026, 2, 15, 9, tzinfo=UTC)
    assert read.turns[0].speaker is Speaker.PATIENT


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f"mother: yes\n{MARK} without a speaker\n", "line 2"),
        (f"{MARK}: yes\n", "line 1"),
        (f"[2026-02-15T09:00] mother: {MARK}\n", "line 1"),
        (f"[{MARK}] mother: no\n", "line 1"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_and_not_repeated(text: str, place: str) -> None:
    with pytest.raises(BadInput) as caught:
        transcript(text.encode())
    assert caught.value.place == place
    assert MARK not in str(caught.value)


@pytest.mark.parametrize("body", [b"", b"\n \n", b"\xff\xfe", b"{", b'{"messages": []}', b'{"sessions": []}', b"[]x"])
def test_what_is_no_transcript_is_bad_input(body: bytes) -> None:
    with pytest.raises(BadInput):
        transcript(body)


def test_the_json_of_the_wire_contract_is_read_in_its_three_shapes() -> None:
    turns = '[{"role": "user", "content": "a", "speaker": "caregiver", "relationship": "mother"}]'
    shapes = (turns, f'{{"messages": {turns}}}', f'{{"sessions": [{{"sessionId": "s9", "messages": {turns}}}]}}')
    read = [transcript(shape.encode()) for shape in shapes]
    assert [each.session for each in read] == ["", "", "s9"]
    assert {each.turns[0].relationship for each in read} == {"mother"}


def test_a_wrong_value_in_json_is_named_by_its_place() -> None:
    with pytest.raises(BadInput) as caught:
        transcript(f'{{"messages": [{{"role": "{MARK}", "content": "a"}}]}}'.encode())
    assert caught.value.place == "/messages/0/role"
    assert MARK not in str(caught.value)

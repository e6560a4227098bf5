"""Sessions: turns are appended, never edited; what people say is learned, what agents say is not. On every store."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from spec_patients import NOW, HandClock, bundle, order

from iamata import BadInput, Conflict, Engine, NotFound, Speaker, Turn
from iamata.model.document import Staged


def said(text: str, speaker: Speaker = Speaker.PATIENT) -> Turn:
    return Turn(speaker, text, said_at=NOW)


TALK = [
    said("How are you?", Speaker.AGENT),
    said("I have a headache since Monday."),
    said("Do you take your lisinopril?", Speaker.AGENT),
    said("I stopped taking lisinopril last week."),
]


def texts(engine: Engine, session: str = "s") -> list[str]:
    return [message.turn.text for message in engine.session("p", session).messages]


def test_turns_are_appended_in_order_and_counted(engine: Engine) -> None:
    first = engine.append("p", "s", TALK[:2])
    second = engine.append("p", "s", TALK[2:])
    assert (first.staged, second.staged) == (Staged(messages=2), Staged(messages=2))
    assert (first.session, first.format, first.status) == ("s", "session/v1", "succeeded")
    session = engine.session("p", "s")
    assert [message.index for message in session.messages] == [0, 1, 2, 3]
    assert [message.turn for message in session.messages] == TALK


def test_the_whole_transcript_again_appends_only_what_is_new(engine: Engine) -> None:
    engine.append("p", "s", TALK[:2])
    grown = engine.append("p", "s", TALK, whole=True)
    again = engine.append("p", "s", TALK, whole=True)
    assert (grown.staged, again.staged) == (Staged(messages=2), Staged())
    assert texts(engine) == [turn.text for turn in TALK]


@pytest.mark.parametrize(
    "changed",
    [
        [TALK[0], said("I have a slight headache since Monday."), *TALK[2:]],
        [*TALK[:3], said(TALK[3].text, Speaker.CAREGIVER)],
        [TALK[0], *TALK[2:]],
        TALK[:3],
        [TALK[0], TALK[3], TALK[2], TALK[1]],
        [TALK[1], *TALK, said("One more.")],
    ],
    ids=["edited", "another speaker", "removed", "shortened", "reordered", "inserted before"],
)
def test_an_edited_transcript_is_refused_whole(engine: Engine, changed: list[Turn]) -> None:
    engine.append("p", "s", TALK)
    before = (engine.patient("p"), engine.session("p", "s"), engine.receipts("p"), engine.graph("p"))
    for sent in (changed, [*changed, said("A new turn that must not be stored.")]):
        with pytest.raises(Conflict) as refusal:
            engine.append("p", "s", sent, whole=True)
        assert "headache" not in str(refusal.value)
    assert (engine.patient("p"), engine.session("p", "s"), engine.receipts("p"), engine.graph("p")) == before


def test_turns_without_the_whole_are_new_even_when_the_words_are_the_same(engine: Engine) -> None:
    engine.append("p", "s", [said("Yes.")])
    engine.append("p", "s", [said("Yes.")])
    assert texts(engine) == ["Yes.", "Yes."]


def test_an_empty_append_is_refused(engine: Engine) -> None:
    with pytest.raises(BadInput, match="at least one turn"):
        engine.append("p", "s", [])
    with pytest.raises(NotFound):
        engine.session("p", "s")


def test_eight_concurrent_appenders_lose_and_double_nothing(engine: Engine) -> None:
    engine.put_patient("p")
    start = threading.Barrier(8)

    def speak(who: int) -> None:
        start.wait()
        for turn in range(4):
            engine.append("p", "s", [said(f"{who} says {turn} a"), said(f"{who} says {turn} b")])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(speak, range(8)))
    held = texts(engine)
    assert len(held) == 64
    assert sorted(held) == sorted(f"{who} says {turn} {part}" for who in range(8) for turn in range(4) for part in "ab")
    for who in range(8):
        mine = [text for text in held if text.startswith(f"{who} ")]
        assert mine == [f"{who} says {turn} {part}" for turn in range(4) for part in "ab"], "own order is kept"
    for first, second in zip(held[::2], held[1::2], strict=True):
        assert (first[:-1], second[-1]) == (second[:-1], "b"), "what was sent together stands together"
    assert [message.index for message in engine.session("p", "s").messages] == list(range(64))
    receipts, total = engine.receipts("p", per_page=100)
    assert total == 32
    assert {receipt.status for receipt in receipts} == {"succeeded"}


def test_memories_are_the_same_however_the_talk_arrives(open_engine: Any) -> None:
    at_once, piecemeal, resent = (open_engine(name) for name in ("at_once", "piecemeal", "resent"))
    at_once.append("p", "s", TALK)
    for turn in TALK:
        piecemeal.append("p", "s", [turn])
    for length in range(1, 5):
        resent.append("p", "s", TALK[:length], whole=True)
    memories = [engine.graph("p").memories for engine in (at_once, piecemeal, resent)]
    assert len(memories[0]) >= 2
    assert memories[0] == memories[1] == memories[2]
    assert at_once.graph("p").hash == piecemeal.graph("p").hash == resent.graph("p").hash


def test_a_memory_keeps_its_id_and_words_when_more_is_said_and_sent(
    engine: Engine, open_engine: Any, clock: HandClock
) -> None:
    engine.append("p", "s", TALK)
    before = engine.graph("p").memories
    clock.wait(hours=1)
    engine.append("p", "s", [said("I take lisinopril again.")])
    engine.ingest("p", bundle(order("10 mg")), source="one")
    for after in (engine.graph("p").memories, open_engine().graph("p").memories):
        assert {id: after[id] for id in before} == before
    for memory in before.values():
        message = next(m for m in engine.session("p", "s").messages if m.id == memory.message)
        assert message.turn.text[memory.start : memory.end] == memory.quote


def test_what_an_agent_says_is_kept_and_not_learned(engine: Engine) -> None:
    engine.append("p", "s", [said("You stopped taking lisinopril, and you have a headache.", Speaker.AGENT)])
    graph = engine.graph("p")
    assert graph.memories == {}
    assert [len(session.messages) for session in graph.sessions.values()] == [1]


def test_a_session_belongs_to_one_patient(engine: Engine) -> None:
    engine.append("p", "s", [said("I have a headache.")])
    engine.append("q", "s", [said("I have a cough.")])
    assert texts(engine) == ["I have a headache."]
    assert [m.turn.text for m in engine.session("q", "s").messages] == ["I have a cough."]
    with pytest.raises(NotFound):
        engine.session("q", "other")

"""A better extractor: talk that is held is learned again, and what was learned then stays known. On every store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from spec_patients import NOW, HandClock

from iamata import Access, Engine, Gone, NotFound, Speaker, Turn
from iamata.formation.extraction import Mention, mentions
from iamata.formation.learned import learning
from iamata.model.access import PrincipalKind
from iamata.model.document import Relearned
from iamata.model.erasure import Erasable
from iamata.model.memory import Memory, MemoryKind
from iamata.model.ruling import RulingKind
from iamata.model.statement import Label, Polarity
from iamata.terminology.security import ACT_CODE

OpenEngine = Callable[..., Engine]
TALK = [
    Turn(Speaker.CLINICIAN, "Any allergies?", said_at=NOW),
    Turn(Speaker.PATIENT, "Penicillin. I take lisinopril 10 mg and I have a cough.", said_at=NOW),
]


def earlier(text: str, **how: Any) -> tuple[Mention, ...]:
    """As an earlier version might have learned: no allergies, coughs denied, and headaches that nobody told."""
    found = []
    for mention in mentions(text, **how):
        if mention.kind is MemoryKind.ALLERGY:
            continue
        if mention.concept.text == "Cough":
            mention = msgspec.structs.replace(mention, polarity=Polarity.DENIED)
        found.append(mention)
        if mention.kind is MemoryKind.MEDICATION:
            wrong = msgspec.structs.replace(mention.concept, text="Headache")
            found.append(msgspec.structs.replace(mention, kind=MemoryKind.SYMPTOM, concept=wrong))
    return tuple(found)


@pytest.fixture
def learned_earlier() -> Callable[[Engine], None]:
    """Have an engine learn the talk as an earlier version did."""

    def learn(engine: Engine) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(learning, "mentions", earlier)
            patch.setattr(learning, "EXTRACTOR", "offline/1")
            engine.append("p", "s", TALK)

    return learn


def told(engine: Engine, **when: Any) -> dict[str, str]:
    return {m.concept.display: m.polarity.value for m in engine.graph("p", **when).memories.values()}


def named(engine: Engine, name: str, **when: Any) -> Memory:
    return next(m for m in engine.graph("p", **when).memories.values() if m.concept.display == name)


OLD = {"Headache": "affirmed", "Lisinopril": "affirmed", "Cough": "denied"}
NEW = {"Penicillin": "affirmed", "Lisinopril": "affirmed", "Cough": "affirmed"}


def test_after_rereading_talk_says_what_the_extractor_of_today_finds(
    engine: Engine, open_engine: OpenEngine, learned_earlier: Callable[[Engine], None]
) -> None:
    learned_earlier(engine)
    assert told(engine) == OLD
    made = engine.reread("p")
    assert told(engine) == NEW
    assert made.talk == Relearned(sessions=1, new=1, changed=1, confirmed=1, gone=1)
    fresh = open_engine("other")
    fresh.append("p", "s", TALK)
    assert told(fresh) == NEW


def test_what_was_learned_by_then_stays_known(
    engine: Engine, clock: HandClock, learned_earlier: Callable[[Engine], None]
) -> None:
    learned_earlier(engine)
    then = clock.now
    before = engine.graph("p").hash
    clock.wait(days=1)
    engine.reread("p")
    assert told(engine, known_at=then) == OLD
    assert engine.graph("p", known_at=then, true_at=then).hash == before
    assert told(engine) == NEW


def test_a_memory_that_is_found_again_keeps_its_id_and_gains_evidence(
    engine: Engine, clock: HandClock, learned_earlier: Callable[[Engine], None]
) -> None:
    learned_earlier(engine)
    first, cough = named(engine, "Lisinopril"), named(engine, "Cough")
    clock.wait(days=1)
    engine.reread("p")
    again = named(engine, "Lisinopril")
    assert (first.extractors, again.extractors) == (("offline/1",), ("offline/1", "offline/2"))
    assert (again.id, again.received_at, again.quote) == (first.id, first.received_at, first.quote)
    otherwise = named(engine, "Cough")
    assert (otherwise.id, otherwise.extractors) == (cough.id, ("offline/2",))
    assert otherwise.received_at > cough.received_at


def test_learning_again_what_says_the_same_adds_nothing(
    engine: Engine, learned_earlier: Callable[[Engine], None]
) -> None:
    learned_earlier(engine)
    engine.reread("p")
    before = engine.graph("p")
    assert engine.reread("p").talk == Relearned(sessions=1)
    assert (engine.graph("p").version, engine.graph("p").hash) == (before.version, before.hash)


def test_a_memory_that_a_person_refused_stays_refused(
    engine: Engine, learned_earlier: Callable[[Engine], None]
) -> None:
    learned_earlier(engine)
    engine.rule("p", RulingKind.MEMORY_REFUSED, named(engine, "Lisinopril").id, reason="never said that")
    engine.reread("p")
    assert told(engine) == {name: sign for name, sign in NEW.items() if name != "Lisinopril"}


def test_turns_that_come_after_are_learned_beside_what_was_learned_again(
    engine: Engine, learned_earlier: Callable[[Engine], None]
) -> None:
    learned_earlier(engine)
    engine.reread("p")
    engine.append("p", "s", [Turn(Speaker.PATIENT, "I have asthma.", said_at=NOW)])
    assert told(engine) == {**NEW, "Asthma": "affirmed"}


def test_erasing_a_patient_erases_what_was_learned_again(
    engine: Engine, learned_earlier: Callable[[Engine], None]
) -> None:
    learned_earlier(engine)
    engine.reread("p")
    engine.delete_patient("p")
    with pytest.raises(NotFound):
        engine.graph("p")


VTT = b"""WEBVTT

NOTE the second speaker was hard to hear

STYLE
::cue { color: lime }

00:00:01.000 --> 00:00:04.000
<v Dr Ames>Any allergies?

00:00:05.000 --> 00:00:09.000
<v Patient>Just sulfa.
"""
CSV = b"speaker,text,mood\npatient,I have a cough.,worried\n"


@pytest.mark.parametrize(("body", "media_type"), [(VTT, "text/vtt"), (CSV, "text/csv")])
def test_a_transcript_is_kept_as_received_with_its_notes_and_unknown_columns(
    engine: Engine, body: bytes, media_type: str
) -> None:
    receipt = engine.append_transcript("p", body, session="visit", begins_at=NOW, source="recorder")
    assert receipt.document
    assert engine.document("p", receipt.document) == (media_type, body)
    [document] = engine.graph("p").documents.values()
    assert (document.id, document.source, document.size_bytes) == (receipt.document, "recorder", len(body))
    hints = [node.hint for node in engine.browse("/patient/p/documents/received").nodes]
    assert any(hint.startswith(f"transcript/{media_type.removeprefix('text/')} from recorder") for hint in hints)


def test_a_transcript_sent_again_is_one_document_and_a_longer_one_is_another(engine: Engine) -> None:
    first = engine.append_transcript("p", VTT, session="visit", begins_at=NOW)
    assert engine.append_transcript("p", VTT, session="visit", begins_at=NOW).document == first.document
    longer = VTT + b"\n00:00:10.000 --> 00:00:12.000\n<v Patient>And latex.\n"
    grown = engine.append_transcript("p", longer, session="visit", begins_at=NOW)
    assert set(engine.graph("p").documents) == {first.document, grown.document}


def test_rereading_reads_a_transcript_as_its_turns_only(engine: Engine) -> None:
    engine.append_transcript("p", VTT, session="visit", begins_at=NOW)
    made = engine.reread("p")
    assert (made.documents, made.receipts, made.kept) == (0, (), ())
    assert made.talk == Relearned(sessions=1)


def test_a_transcript_of_a_source_that_was_taken_out_is_gone(engine: Engine, clock: HandClock) -> None:
    receipt = engine.append_transcript("p", VTT, session="visit", begins_at=NOW, source="recorder")
    clock.wait(days=1)
    engine.retract("p", "recorder")
    with pytest.raises(Gone):
        engine.document("p", receipt.document)


# ------------------------------------------------------------- forgetting and hiding


def test_a_memory_that_was_erased_is_not_learned_again(
    engine: Engine, learned_earlier: Callable[[Engine], None]
) -> None:
    learned_earlier(engine)
    lisinopril = named(engine, "Lisinopril").id
    engine.reread("p")
    assert len(named(engine, "Lisinopril").extractors) == 2, "it was found by both"
    penicillin = named(engine, "Penicillin").id
    for memory in (lisinopril, penicillin):
        engine.erase("p", Erasable.MEMORY, memory)
    assert told(engine) == {"Cough": "affirmed"}
    assert engine.reread("p").talk.new == 0
    assert told(engine) == {"Cough": "affirmed"}


SPOKEN = b"""WEBVTT

00:01.000 --> 00:02.000
<v Patient>I take warfarin.

00:03.000 --> 00:04.000
<v Patient>I smoke.
"""


@pytest.mark.parametrize("kind", [Erasable.SESSION, Erasable.MESSAGE])
def test_the_bytes_of_a_transcript_go_with_what_was_said_in_it(engine: Engine, kind: Erasable) -> None:
    engine.put_patient("p")
    engine.append_transcript("p", SPOKEN, session="t")
    [document] = engine.graph("p").documents
    session = engine.session("p", "t")
    engine.erase("p", kind, "t" if kind is Erasable.SESSION else session.messages[0].id)
    assert engine.graph("p").documents == {}
    with pytest.raises(NotFound):
        engine.document("p", document)
    if kind is Erasable.MESSAGE:
        engine.append_transcript("p", SPOKEN, session="t")
        assert engine.graph("p").documents == {}, "its words do not come in again with the bytes"
        assert [m.turn.text for m in engine.session("p", "t").messages] == ["", "I smoke."]


def test_a_reader_from_whom_a_turn_is_hidden_does_not_see_the_bytes_either(engine: Engine) -> None:
    engine.put_patient("p")
    engine.append_transcript("p", SPOKEN.replace(b"I smoke", b"I use cocaine"), session="t")
    reader = Access(kind=PrincipalKind.OPERATOR, id="clerk", withheld=frozenset({Label(ACT_CODE, "SUD")}))
    assert [m.turn.text for m in engine.session("p", "t", access=reader).messages] == ["I take warfarin."]
    [document] = engine.graph("p").documents
    assert engine.graph("p", access=reader).documents == {}
    with pytest.raises(NotFound):
        engine.document("p", document, access=reader)

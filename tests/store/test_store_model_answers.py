"""What a language model answered is kept once, counted as a change, sealed, and erased with the patient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from store_samples import LATER, NOW, adjudication_of, bundle, memory_of, reading_of, turns

from iamata.errors import Conflict, NotFound
from iamata.model.identifiers import IdMint
from iamata.model.model_answers import Sameness
from iamata.store import DatabaseStore

Sql = Callable[..., list[tuple[Any, ...]]]


def test_an_adjudication_comes_back_as_it_was_kept_and_is_a_change_of_the_graph(
    store: DatabaseStore, mint: IdMint
) -> None:
    store.accept(bundle(mint, ["c1"]), NOW)
    before = store.version("leo")
    assert before is not None
    store.keep_answers("leo", [adjudication_of("ma_1"), adjudication_of("ma_2", received_at=LATER)], NOW)
    held = store.held("leo")
    assert held is not None
    assert held.adjudications == (adjudication_of("ma_1"), adjudication_of("ma_2", received_at=LATER))
    assert held.readings == ()
    assert store.version("leo") == before + 1


def test_the_first_answer_to_a_question_stands_and_a_repeat_changes_nothing(store: DatabaseStore, mint: IdMint) -> None:
    store.accept(bundle(mint, ["c1"]), NOW)
    store.keep_answers("leo", [adjudication_of("ma_1")], NOW)
    before = store.version("leo")
    store.keep_answers("leo", [adjudication_of("ma_1", says=Sameness.NOT_SAME, received_at=LATER)], LATER)
    store.keep_answers("leo", [], LATER)
    held = store.held("leo")
    assert held is not None
    assert [a.says for a in held.adjudications] == [Sameness.SAME]
    assert store.version("leo") == before


def test_nothing_is_kept_of_a_patient_who_is_not_there(store: DatabaseStore) -> None:
    with pytest.raises(NotFound):
        store.keep_answers("nobody", [adjudication_of("ma_1")], NOW)


def test_memories_readings_and_what_a_receipt_has_to_say_are_stored_together_or_not_at_all(
    store: DatabaseStore, mint: IdMint
) -> None:
    accepted = turns(mint, ["he has hives"])
    store.accept(accepted, NOW)
    (message,) = accepted.messages
    memory = memory_of(mint, message)
    reading = reading_of("ma_3", message, memories=[memory])
    lost = store.claim("w1", NOW, 1.0)
    assert lost is not None
    work = store.claim("w2", LATER, 30.0)
    assert work is not None
    assert not store.finish(lost, [memory], None, LATER, answers=[reading], warnings=["language model: 2 dropped"])
    held = store.held("leo")
    assert held is not None
    assert (held.memories, held.readings) == ((), ())
    assert store.finish(work, [memory], None, LATER, answers=[reading], warnings=["language model: 2 dropped"])
    held = store.held("leo")
    receipt = store.receipt("leo", "in_turns")
    assert held is not None
    assert receipt is not None
    assert (held.memories, held.readings) == ((memory,), (reading,))
    assert receipt.warnings == ("language model: 2 dropped",)
    assert receipt.staged.messages == 1
    assert store.version("leo") == 2


def test_an_answer_is_sealed_and_goes_with_the_patient(store: DatabaseStore, mint: IdMint, sql: Sql) -> None:
    store.accept(bundle(mint, ["c1"]), NOW)
    store.keep_answers("leo", [adjudication_of("ma_1")], NOW)
    ((body,),) = sql("select body from model_answers")
    assert b"same pill" not in bytes(body)
    store.erase_patient("leo", LATER)
    assert sql("select * from model_answers") == []


def test_an_answer_that_was_asked_for_before_an_erasure_is_not_kept(store: DatabaseStore, sql: Any) -> None:
    store.put_patient("leo", NOW)
    store.keep_answers("leo", [adjudication_of("ma_1")], NOW, erasures=0)
    sql("insert into forgotten (patient, version, at) values ('leo', 2, 't')")
    with pytest.raises(Conflict, match="was erased while"):
        store.keep_answers("leo", [adjudication_of("ma_2")], NOW, erasures=0)
    held = store.held("leo")
    assert held is not None
    assert [answer.id for answer in held.adjudications] == ["ma_1"]

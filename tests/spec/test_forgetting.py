"""Forgetting: what was erased is in no answer, no row and no file, whatever a backup brings back; what stays, stays."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spec_patients import NOW, RESTRICTED, HandClock, allergy, bundle, condition, order

from iamata import Access, Conflict, ContextRequest, Engine, Gone, NotFound, Speaker, Turn, patient
from iamata.model.access import PrincipalKind
from iamata.model.erasure import Erasable, Erasure
from iamata.model.fact import Currency
from iamata.model.memory import Temporality
from iamata.model.ruling import RulingKind
from iamata.model.session import ToolCall
from iamata.model.statement import Kind, Label
from iamata.store.ledger import is_ours

CANARY = "Zwyxbar"
TALK = [
    Turn(Speaker.AGENT, "Are you allergic to penicillin?"),
    Turn(Speaker.PATIENT, "Yes."),
    Turn(
        Speaker.PATIENT, f"I have a headache since Monday, and my sister calls me {CANARY} when I stay at home all day."
    ),
    Turn(Speaker.PATIENT, "I stopped taking lisinopril last week."),
]


def fill(engine: Engine, clock: HandClock, *, with_two: bool = True, with_talk: bool = True) -> None:
    engine.ingest("p", bundle(order("10 mg"), condition("Asthma")), source="one")
    clock.wait(minutes=1)
    if with_two:
        engine.ingest("p", bundle(order("10 mg", id="x"), condition(f"{CANARY} disease", id="c9")), source="two")
    clock.wait(minutes=1)
    if with_talk:
        engine.append("p", "s", TALK)
    clock.wait(minutes=1)


def everything(engine: Engine) -> str:
    """All that can be read of the patient."""
    told, waiting = [str(engine.graph("p")), str(engine.receipts("p"))], ["/patient/p/"]
    while waiting:
        for node in engine.browse(waiting.pop()).nodes:
            if node.directory:
                waiting.append(node.address)
            else:
                told.append(engine.read(node.address).text)
    return "\n".join(told)


def conditions(engine: Engine) -> list[str]:
    return [fact.display for fact in engine.graph("p").facts.values() if fact.kind is Kind.CONDITION]


# ------------------------------------------------------------------------------------- no longer true, kept as history


def test_what_a_person_says_is_no_longer_true_is_kept_as_history_until_somebody_says_it_anew(
    engine: Engine, clock: HandClock
) -> None:
    engine.ingest("p", bundle(condition("Asthma"), order("10 mg")), source="one")
    [fact] = [fact for fact in engine.graph("p").facts.values() if fact.kind is Kind.CONDITION]
    before = engine.graph("p").hash
    seen = clock.wait(minutes=1)
    clock.wait(minutes=1)
    ruling = engine.rule("p", RulingKind.NO_LONGER_TRUE, fact.members[0], reason="outgrown")
    over = engine.graph("p").facts[fact.id]
    assert (fact.currency, over.currency, over.members) == (Currency.CURRENT, Currency.PAST, fact.members)
    assert engine.graph("p", known_at=seen).facts[fact.id].currency is Currency.CURRENT
    assert engine.graph("p").hash != before
    assert "over by" in engine.read("/patient/p/conditions").text
    engine.withdraw_ruling("p", ruling.id)
    assert engine.graph("p").hash == before
    engine.rule("p", RulingKind.NO_LONGER_TRUE, fact.members[0])
    clock.wait(minutes=1)
    engine.ingest("p", bundle(condition("Asthma", id="again")), source="two")
    assert engine.graph("p").resolve(fact.id).currency is Currency.CURRENT  # type: ignore[union-attr]  # it is there


def test_a_memory_that_is_no_longer_true_stays_as_it_was_said_and_is_past(engine: Engine, clock: HandClock) -> None:
    engine.append("p", "s", [Turn(Speaker.PATIENT, "I have a headache.")])
    [memory] = engine.graph("p").memories.values()
    ruling = engine.rule("p", RulingKind.MEMORY_NO_LONGER_TRUE, memory.id)
    past = engine.graph("p").memories[memory.id]
    assert (memory.temporality, past.temporality) == (Temporality.CURRENT, Temporality.PAST)
    assert (past.quote, past.received_at) == (memory.quote, memory.received_at)
    engine.withdraw_ruling("p", ruling.id)
    assert engine.graph("p").memories[memory.id] == memory


# ------------------------------------------------------------------------------------------------- one document


def test_an_erased_document_leaves_exactly_the_state_that_would_have_been_without_it(
    open_engine: Callable[..., Engine], clock: HandClock
) -> None:
    engine, never = open_engine("erased"), open_engine("never")
    fill(engine, clock)
    seen = clock.now
    document = next(d.id for d in engine.graph("p").documents.values() if d.source == "two")
    erased = engine.erase("p", Erasable.DOCUMENT, document)
    clock.now = NOW
    fill(never, clock, with_two=False)
    assert engine.graph("p").hash == never.graph("p").hash
    assert set(engine.graph("p").statements) == set(never.graph("p").statements)
    assert f"{CANARY} disease" not in everything(engine)
    assert engine.graph("p", known_at=seen).hash == engine.graph("p").hash, "an earlier moment shows it no more"
    counted = dict(erased.counts)
    assert (counted["documents"], counted["statements"], counted["receipts"], counted["sources"]) == (1, 3, 1, 1)
    with pytest.raises(Gone, match="was erased"):
        engine.document("p", document)
    with pytest.raises(Gone):
        engine.explain("p", document)
    with pytest.raises(Gone):
        engine.erase("p", Erasable.DOCUMENT, document)


def test_what_another_document_says_too_stays_and_says_so(engine: Engine, clock: HandClock) -> None:
    engine.ingest("p", bundle(condition("Asthma"), condition("Gout", id="c2")), source="one")
    clock.wait(minutes=1)
    engine.ingest("p", bundle(condition("Asthma")), source="one")
    first = min(engine.graph("p").documents.values(), key=lambda d: d.received_at)
    engine.erase("p", Erasable.DOCUMENT, first.id)
    assert conditions(engine) == ["Asthma"]


def test_an_erased_document_comes_in_again_only_by_explicit_word(engine: Engine, clock: HandClock) -> None:
    body = bundle(condition(CANARY))
    first = engine.ingest("p", body, source="one")
    engine.erase("p", Erasable.DOCUMENT, first.document)
    with pytest.raises(Gone, match="explicit word"):
        engine.ingest("p", body, source="one")
    assert engine.receipts("p")[1] == 0
    again = engine.ingest("p", body, source="one", after_erasure=True)
    assert again.staged.facts == first.staged.facts == 2
    assert engine.document("p", first.document)[1] == body
    engine.ingest("p", body, source="one")  # from now on a repeat is a repeat
    allowed = next(each for each in engine.erasures()[0] if each.allows)
    ingested = [each.items for each in engine.audit_records(subject="patient/p") if each.action == "ingest"]
    assert any(allowed.allows in items for items in ingested)
    engine.erase("p", Erasable.DOCUMENT, first.document)
    with pytest.raises(Gone):
        engine.ingest("p", body, source="one")


def test_a_context_a_call_and_a_ruling_about_what_was_erased_go_too(engine: Engine, clock: HandClock) -> None:
    fill(engine, clock)
    context = engine.context(ContextRequest(subjects=(patient("p"),), task="general", budget_tokens=2000))
    other = engine.context(ContextRequest(subjects=(patient("p"),), task="general", budget_tokens=40))
    statement = next(s for s in engine.graph("p").statements.values() if s.concept and CANARY in s.concept.display)
    assert statement.id in {id for item in context.items for id in item.citations}
    engine.record_calls(
        "p", "s", [ToolCall("read", statement.id, "", call_id="a"), ToolCall("read", "else", "", call_id="b")]
    )
    engine.rule("p", RulingKind.VALUE_IS_RIGHT, statement.id, field="status", reason=CANARY)
    document = next(d.id for d in engine.graph("p").documents.values() if d.source == "two")
    counts = dict(engine.erase("p", Erasable.DOCUMENT, document).counts)
    assert (counts["contexts"], counts["tool_calls"], counts["rulings"]) == (1, 1, 1)
    with pytest.raises(NotFound):
        engine.explain("p", f"{context.id}[1]")
    assert other.items == () or engine.explain("p", f"{other.id}[1]")
    assert [call.call.arguments for call in engine.tool_calls("p", "s")] == ["else"]
    assert engine.rulings("p") == []


def test_a_reader_erases_no_document_in_which_something_is_hidden_from_it(engine: Engine) -> None:
    receipt = engine.ingest("p", bundle(condition(CANARY, meta={"security": [RESTRICTED]})), source="one")
    clerk = Access(kind=PrincipalKind.OPERATOR, id="clerk", withheld=frozenset({Label(**RESTRICTED)}))
    with pytest.raises(NotFound) as told:
        engine.erase("p", Erasable.DOCUMENT, receipt.document, access=clerk)
    assert not isinstance(told.value, Gone)
    engine.erase("p", Erasable.DOCUMENT, receipt.document)
    for reader, kind in ((clerk, NotFound), (Access.local(), Gone)):
        with pytest.raises(kind) as told:
            engine.document("p", receipt.document, access=reader)
        assert type(told.value) is kind


# ------------------------------------------------------------------------------------ sessions, messages, memories


def test_an_erased_session_takes_its_talk_its_memories_and_its_receipts(
    open_engine: Callable[..., Engine], clock: HandClock
) -> None:
    engine, never = open_engine("erased"), open_engine("never")
    fill(engine, clock)
    memory = next(m for m in engine.graph("p").memories.values() if "lisinopril" in m.quote)
    engine.rule("p", RulingKind.MEMORY_HIDDEN, memory.id)
    engine.erase("p", Erasable.SESSION, "s")
    clock.now = NOW
    fill(never, clock, with_talk=False)
    assert engine.graph("p").hash == never.graph("p").hash
    assert engine.graph("p").memories == {}
    assert engine.rulings("p") == []
    assert {receipt.session for receipt in engine.receipts("p")[0]} == {""}
    with pytest.raises(Gone):
        engine.session("p", "s")
    with pytest.raises(Gone):
        engine.append("p", "s", TALK[:1])
    engine.append("p", "s", TALK[3:], after_erasure=True)
    assert [m.turn.text for m in engine.session("p", "s").messages] == [TALK[3].text]


def test_an_erased_message_leaves_its_place_and_a_transcript_sent_again_does_not_bring_it_back(
    engine: Engine, clock: HandClock
) -> None:
    fill(engine, clock)
    third = engine.session("p", "s").messages[2]
    assert any(m.message == third.id for m in engine.graph("p").memories.values())
    engine.erase("p", Erasable.MESSAGE, third.id)
    for _ in range(2):
        messages = engine.session("p", "s").messages
        assert [m.turn.text for m in messages] == [TALK[0].text, TALK[1].text, "", TALK[3].text]
        assert [m.id == third.id and m.erased for m in messages] == [False, False, True, False]
        assert not any(m.message == third.id for m in engine.graph("p").memories.values())
        assert any("lisinopril" in m.quote for m in engine.graph("p").memories.values())
        assert CANARY not in str(engine.session("p", "s"))
        engine.append("p", "s", TALK, whole=True)  # as clients do that send all of it each time
    with pytest.raises(Conflict):
        engine.append("p", "s", [*TALK[:2], Turn(Speaker.PATIENT, "Something else."), TALK[3]], whole=True)
    engine.append("p", "s", [*TALK, Turn(Speaker.PATIENT, "I have hives.")], whole=True)
    assert any("hives" in m.quote for m in engine.graph("p").memories.values())
    with pytest.raises(Gone):
        engine.explain("p", third.id)


def test_what_was_understood_only_after_an_erased_question_goes_with_it(engine: Engine, clock: HandClock) -> None:
    fill(engine, clock)
    question = engine.session("p", "s").messages[0]
    assert any("penicillin" in m.concept.display.lower() for m in engine.graph("p").memories.values())
    engine.erase("p", Erasable.MESSAGE, question.id)
    assert "penicillin" not in str(engine.graph("p").memories).lower()
    assert any("lisinopril" in m.quote for m in engine.graph("p").memories.values())


def test_an_erased_memory_is_never_learned_again_though_its_words_stay(engine: Engine, clock: HandClock) -> None:
    fill(engine, clock)
    memory = next(m for m in engine.graph("p").memories.values() if "lisinopril" in m.quote)
    engine.erase("p", Erasable.MEMORY, memory.id)
    engine.append("p", "s", TALK, whole=True)
    engine.reread("p")
    assert memory.id not in engine.graph("p").memories
    assert engine.session("p", "s").messages[3].turn.text == TALK[3].text
    with pytest.raises(Gone):
        engine.link_history("p", memory.id)
    with pytest.raises(NotFound, match="no memory 'lm_nothing'"):
        engine.erase("p", Erasable.MEMORY, "lm_nothing")
    with pytest.raises(NotFound, match="no patient 'nobody'"):
        engine.erase("nobody", Erasable.MEMORY, memory.id)


def test_a_memory_that_was_being_learned_while_its_message_was_erased_is_not_kept(engine: Engine) -> None:
    engine.append("p", "s", TALK, form=False)
    work = engine._store.claim("slow", NOW, 60, patient="p")
    assert work is not None
    fresh = engine._learned(work)
    message = engine.session("p", "s").messages[2]
    engine.erase("p", Erasable.MESSAGE, message.id)
    assert engine._store.finish(work, fresh, None, NOW)
    assert {m.message for m in fresh} > {m.message for m in engine.graph("p").memories.values()}
    assert message.id not in {m.message for m in engine.graph("p").memories.values()}


def test_another_process_that_had_loaded_the_patient_shows_it_no_more(
    open_engine: Callable[..., Engine], clock: HandClock
) -> None:
    one, two = open_engine(), open_engine()
    fill(one, clock)
    assert CANARY in everything(two)
    document = next(d.id for d in one.graph("p").documents.values() if d.source == "two")
    one.erase("p", Erasable.DOCUMENT, document)
    one.erase("p", Erasable.SESSION, "s")
    assert CANARY not in everything(two)
    assert two.graph("p").hash == one.graph("p").hash


# ------------------------------------------------------------------------------------------------- the patient


def test_an_erased_patient_is_as_absent_as_one_who_never_was_and_comes_in_again_only_by_explicit_word(
    engine: Engine, clock: HandClock
) -> None:
    fill(engine, clock)
    receipt = engine.delete_patient("p")
    assert receipt is not None
    assert engine.delete_patient("p") is None, "fine if it is gone"
    with pytest.raises(NotFound) as told:
        engine.graph("p")
    assert not isinstance(told.value, Gone), "nobody learns from a read that somebody was here"
    for send in (
        lambda **how: engine.ingest("p", bundle(condition("Gout")), source="one", **how),
        lambda **how: engine.append("p", "s", TALK, **how),
    ):
        with pytest.raises(Gone):
            send()
        assert engine.patients()[1] == 0
        send(after_erasure=True)
        assert engine.patients()[1] == 1
        engine.delete_patient("p")
    row = engine.put_patient("p")
    engine.ingest("p", bundle(condition("Gout")), source="one")
    assert row.version == 0
    assert conditions(engine) == ["Gout"]
    assert engine.delete_patient("never-there") is None
    engine.ingest("never-there", bundle(), source="one")


def test_other_patients_are_as_they_were(engine: Engine, clock: HandClock) -> None:
    fill(engine, clock)
    engine.ingest("q", bundle(condition(f"{CANARY} disease"), allergy("Nuts")), source="two")
    engine.append("q", "s", TALK)
    before = (engine.graph("q").hash, engine.graph("q").version, engine.session("q", "s"), engine.receipts("q"))
    document = next(d.id for d in engine.graph("p").documents.values() if d.source == "two")
    engine.erase("p", Erasable.DOCUMENT, document)
    engine.erase("p", Erasable.SESSION, "s")
    engine.delete_patient("p")
    assert (engine.graph("q").hash, engine.graph("q").version, engine.session("q", "s"), engine.receipts("q")) == before


# ------------------------------------------------------------------------------------------------- holds


def test_nothing_is_erased_while_a_legal_hold_stands(engine: Engine, clock: HandClock) -> None:
    fill(engine, clock)
    document = next(iter(engine.graph("p").documents))
    memory = next(iter(engine.graph("p").memories))
    message = engine.session("p", "s").messages[0].id
    first, second = engine.set_hold("p", "a claim is open"), engine.set_hold("p", "and another")
    before = engine.graph("p").hash
    attempts = [
        lambda: engine.delete_patient("p"),
        lambda: engine.erase("p", Erasable.DOCUMENT, document),
        lambda: engine.erase("p", Erasable.SESSION, "s"),
        lambda: engine.erase("p", Erasable.MESSAGE, message),
        lambda: engine.erase("p", Erasable.MEMORY, memory),
    ]
    for attempt in attempts:
        with pytest.raises(Conflict, match=f"legal hold.*{first.id}"):
            attempt()
        [record] = engine.audit_records(per_page=1)
        assert (record.allowed, record.reasons, record.act) == (False, ("legal-hold",), "erase")
    engine.lift_hold("p", first.id, "settled")
    with pytest.raises(Conflict, match=second.id):
        engine.delete_patient("p")
    with pytest.raises(NotFound):
        engine.lift_hold("p", first.id, "again")
    engine.lift_hold("p", second.id, "settled too")
    assert engine.graph("p").hash == before
    assert [(hold.reason, bool(hold.lifts)) for hold in engine.holds("p")] == [
        ("a claim is open", False),
        ("and another", False),
        ("settled", True),
        ("settled too", True),
    ]
    assert engine.delete_patient("p") is not None
    assert "a claim is open" not in str(engine.audit_records(per_page=1000))


# ------------------------------------------------------------------------------------------------- receipts and proof


def test_a_receipt_is_signed_says_how_much_and_by_whom_and_nothing_of_what(engine: Engine, clock: HandClock) -> None:
    fill(engine, clock)
    document = next(iter(engine.graph("p").documents))
    receipts = [engine.erase("p", Erasable.DOCUMENT, document), engine.delete_patient("p")]
    for receipt in receipts:
        assert isinstance(receipt, Erasure)
        assert is_ours(receipt)
        assert receipt.key == engine.audit_checkpoint().key
        assert (receipt.by, receipt.at) == ("operator/local", clock.now)
        text = str(receipt)
        assert CANARY not in text
        assert document not in text
        assert "patient/p" not in text
    assert dict(receipts[1].counts)["patients"] == 1  # type: ignore[union-attr]  # asserted above
    listed, total = engine.erasures()
    assert total == 2
    assert {each.id for each in listed} == {each.id for each in receipts if each is not None}


def test_an_erasure_proves_that_it_finds_what_is_there_and_then_nothing(engine: Engine, clock: HandClock) -> None:
    fill(engine, clock)
    engine.context(ContextRequest(subjects=(patient("p"),), task="general", budget_tokens=500, query=CANARY))
    proof = engine.prove_erasure("p", words=(CANARY,))
    found = dict(proof.before.words)
    assert {"documents", "statements", "messages", "memories", "contexts"} <= set(found)
    assert proof.before.bodies > 15
    assert proof.before.in_rows == proof.before.sealed > 15
    assert proof.after.nothing
    assert proof.after.sealed == proof.before.sealed
    assert proof.holds
    if proof.before.files:  # SQLite: its files can be read from here
        assert proof.before.in_files > 0
        assert any(name.endswith("-wal") for name in proof.before.files)


def test_the_proof_of_a_part_finds_nothing_of_it_in_rows_and_files(engine: Engine, clock: HandClock) -> None:
    fill(engine, clock)
    document = next(d.id for d in engine.graph("p").documents.values() if d.source == "two")
    proof = engine.prove_erasure("p", Erasable.DOCUMENT, document, words=(f"{CANARY} disease",))
    assert dict(proof.before.words)["documents"] == 1
    assert (proof.after.words, proof.after.in_rows, proof.after.in_files) == ((), 0, 0)
    assert proof.after.sealed >= 8
    assert proof.holds
    assert engine.graph("p").facts


def test_a_search_that_leaves_something_behind_is_no_proof(
    engine: Engine, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were an eraser to forget a table, the proof would say so."""
    fill(engine, clock)
    from iamata.store import erasing

    monkeypatch.setattr(erasing, "ERASED_TABLES", ("work",))
    proof = engine.prove_erasure("p", words=(CANARY,))
    assert not proof.holds
    assert proof.after.in_rows == proof.after.sealed
    assert proof.after.words == (), "the key is destroyed all the same"


def test_the_database_can_be_asked_for_a_proof_on_canaries_of_its_own(engine: Engine) -> None:
    proof = engine.verify_erasure()
    assert proof.holds
    assert {"documents", "statements", "messages", "memories", "tool_calls", "rulings", "contexts", "sources"} <= set(
        dict(proof.before.words)
    )
    assert engine.patients()[1] == 0


# ------------------------------------------------------------------------------------------------- backups and crashes


@pytest.mark.parametrize("keys_too", [True, False])
@pytest.mark.parametrize("databases", ["sqlite"], indirect=True)
def test_a_restored_backup_replays_the_ledger_at_opening(
    databases: Any, tmp_path: Path, clock: HandClock, keys_too: bool
) -> None:
    """The database of before, with the keys of before or of now; the ledger's file lies apart and is of now."""
    db, keys, backup = Path(databases.url()), databases.keys_path(), tmp_path / "backup"
    with Engine.open(db, clock=clock) as engine:
        fill(engine, clock)
        engine.ingest("q", bundle(condition(f"{CANARY} disease")), source="two")
        engine.append("q", "s", TALK)
        other = engine.graph("q").hash
        erased_in_q = [d.id for d in engine.graph("q").documents.values()]
    backup.mkdir()
    shutil.copy(db, backup / "db")
    shutil.copytree(keys, backup / "keys")
    with Engine.open(db, clock=clock) as engine:
        engine.delete_patient("p")
        third = engine.session("q", "s").messages[2].id
        engine.erase("q", Erasable.MESSAGE, third)
        engine.erase("q", Erasable.DOCUMENT, erased_in_q[0])
        hash = engine.graph("q").hash
        assert hash != other
    for suffix in ("-wal", "-shm"):
        Path(f"{db}{suffix}").unlink(missing_ok=True)
    shutil.copy(backup / "db", db)
    if keys_too:
        shutil.rmtree(keys)
        shutil.copytree(backup / "keys", keys)
    clock.wait(days=1)
    with Engine.open(db, clock=clock) as engine:
        assert [row.id for row in engine.patients()[0]] == ["q"]
        assert engine.graph("q").hash == hash
        assert engine.session("q", "s").messages[2].erased
        assert engine.erasures()[1] == 3
        with pytest.raises(Gone):
            engine.document("q", erased_in_q[0])
        with pytest.raises(Gone):
            engine.ingest("p", bundle(), source="one")
        assert engine._store.keys.get("p") is None
        version = engine.graph("q").version
    with Engine.open(db, clock=clock) as engine:
        assert engine.graph("q").version == version, "once is enough"


@pytest.mark.parametrize("databases", ["sqlite"], indirect=True)
def test_somebody_registered_again_is_not_erased_by_the_ledger(databases: Any, clock: HandClock) -> None:
    with Engine.open(databases.url(), clock=clock) as engine:
        fill(engine, clock)
        engine.delete_patient("p")
        engine.put_patient("p")
        engine.ingest("p", bundle(condition("Gout")), source="one")
    with Engine.open(databases.url(), clock=clock) as engine:
        assert conditions(engine) == ["Gout"]


@pytest.mark.parametrize("databases", ["sqlite"], indirect=True)
def test_a_ledger_that_somebody_else_wrote_erases_nobody(databases: Any, clock: HandClock) -> None:
    ledger, body = Path(f"{databases.url()}.erasures"), bundle(condition(CANARY))
    with Engine.open(databases.url(), clock=clock) as engine:
        document = engine.ingest("p", body, source="one").document
        erased = engine.erase("p", Erasable.DOCUMENT, document)
        engine.ingest("p", body, source="one", after_erasure=True)
    mine = ledger.read_text("utf-8")
    assert document not in mine
    assert '"p"' not in mine
    # What it names is right, for it is copied from a true entry; but it was never signed so.
    ledger.write_text(mine.replace(erased.id, "er_forged") + '\n{"id":"er_cut', "utf-8")
    with Engine.open(databases.url(), clock=clock) as engine:
        assert engine.document("p", document)[1] == body
        assert engine.erasures()[1] == 2
        assert erased.id in ledger.read_text("utf-8"), "what the file lacked is written into it again"

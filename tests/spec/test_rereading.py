"""Better readers: what was received is read again, in place of what an earlier version read, and what was known then
stays known."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from spec_patients import RESTRICTED, HandClock, allergy, bundle, condition, entries, order, result

from iamata import Engine
from iamata.connectors import registry
from iamata.errors import BadInput, NotFound
from iamata.model.access import Access, PrincipalKind
from iamata.model.document import IngestionStatus, Staged
from iamata.model.ruling import RulingKind
from iamata.model.statement import Kind, Label
from iamata.ports import Parsed
from iamata.store import DatabaseStore

OpenEngine = Callable[..., Engine]
READ = registry.READERS["fhir/r4"]
CONTENT = [condition("Asthma"), order("10 mg"), allergy("Penicillin"), result("Glucose", 101.0)]


def poor_reader(body: bytes, **how: Any) -> Parsed:
    """As an earlier version might have read: no allergies, every dose in the wrong unit, its findings misplaced."""
    parsed = READ(body, **how)
    lost = {s.id for s in parsed.statements if s.kind is Kind.ALLERGY}
    statements = [
        msgspec.structs.replace(
            s,
            provenance=msgspec.structs.replace(s.provenance, reader="fhir-r4/0"),
            fields=tuple(
                msgspec.structs.replace(f, value=str(f.value).replace("mg", "g")) if f.name == "dosage_text" else f
                for f in s.fields
            ),
        )
        for s in parsed.statements
        if s.id not in lost
    ]
    return msgspec.structs.replace(
        parsed,
        statements=tuple(statements),
        sightings=tuple(s for s in parsed.sightings if s.item not in lost),
    )


class Earlier:
    """Within it, the earlier version reads."""

    def __init__(self) -> None:
        self._patch = pytest.MonkeyPatch()

    def __enter__(self) -> None:
        self._patch.setitem(registry.READERS, "fhir/r4", poor_reader)

    def __exit__(self, *error: object) -> None:
        self._patch.undo()


def doses(engine: Engine, **when: Any) -> list[str]:
    facts = engine.graph("p", **when).facts.values()
    return [str(f.field("dosage_text")) for f in facts if f.kind == "medication"]


def names(engine: Engine, **when: Any) -> list[str]:
    facts = engine.graph("p", **when).facts.values()
    return sorted(fact.display for fact in facts if fact.kind != "demographic")


def test_after_rereading_everything_is_as_if_it_had_been_read_so_from_the_start(open_engine: OpenEngine) -> None:
    with Earlier():
        engine = open_engine()
        engine.ingest("p", bundle(*CONTENT), source="one")
    assert "Penicillin" not in names(engine)
    made = engine.reread("p")
    fresh = open_engine("other")
    fresh.ingest("p", bundle(*CONTENT), source="one")
    assert names(engine) == names(fresh) == ["Asthma", "Glucose", "Lisinopril", "Penicillin"]
    assert engine.graph("p").hash == fresh.graph("p").hash
    [receipt] = made.receipts
    assert (made.documents, made.kept) == (1, ())
    assert receipt.status is IngestionStatus.SUCCEEDED
    assert receipt.staged == Staged(facts=1)
    assert receipt.sightings == 5


def test_an_earlier_known_at_sees_what_was_read_until_then(engine: Engine, clock: HandClock) -> None:
    with Earlier():
        engine.ingest("p", bundle(*CONTENT), source="one")
    then = clock.now
    before = engine.graph("p").hash
    clock.wait(days=1)
    engine.reread("p")
    assert engine.graph("p").hash != before
    assert engine.graph("p", known_at=then, true_at=then).hash == before
    assert "Penicillin" not in names(engine, known_at=then)
    clock.wait(days=1)
    assert "Penicillin" in names(engine)


def test_sending_the_bytes_again_reads_nothing_otherwise(engine: Engine) -> None:
    with Earlier():
        engine.ingest("p", bundle(*CONTENT), source="one")
    before = engine.graph("p")
    again = engine.ingest("p", bundle(*CONTENT), source="one")
    assert again.staged == Staged()
    assert (engine.graph("p").hash, engine.graph("p").version) == (before.hash, before.version)
    engine.reread("p")
    after = engine.graph("p")
    with Earlier():
        engine.ingest("p", bundle(*CONTENT), source="one")
    assert (engine.graph("p").hash, engine.graph("p").version) == (after.hash, after.version)


def test_reading_again_what_says_the_same_adds_nothing(engine: Engine) -> None:
    engine.ingest("p", bundle(*CONTENT), source="one")
    before = engine.graph("p")
    assert engine.reread("p").receipts == ()
    with Earlier():
        assert len(engine.reread("p").receipts) == 1
        assert engine.reread("p").receipts == ()
    assert len(engine.reread("p").receipts) == 1
    assert engine.graph("p").hash == before.hash
    assert engine.graph("p").version == before.version + 2


def test_only_what_is_said_otherwise_is_stored_again(engine: Engine, make_store: Callable[..., DatabaseStore]) -> None:
    with Earlier():
        engine.ingest("p", bundle(*CONTENT), source="one")
        engine.ingest("p", bundle(condition("Gout", id="c7")), source="two")
    engine.reread("p")
    held = make_store("main").held("p")
    assert held is not None
    [again] = held.rereadings
    assert len(again.documents) == 1
    assert sorted(s.kind for s in again.statements) == [Kind.ALLERGY, Kind.MEDICATION]


def test_a_document_that_is_not_read_any_more_keeps_what_it_said(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Earlier():
        engine.ingest("p", bundle(*CONTENT), source="one")
        kept = engine.ingest("p", bundle(condition("Gout", id="c7")), source="two").document

    def choosy(body: bytes, **how: Any) -> Parsed:
        if b"Gout" in body:
            raise BadInput("this is not read any more", place="/entry/1")
        return READ(body, **how)

    with monkeypatch.context() as patch:
        patch.setitem(registry.READERS, "fhir/r4", choosy)
        made = engine.reread("p")
    assert [line.place for line in made.kept] == [f"{kept}/entry/1"]
    assert len(made.receipts) == 1
    assert names(engine) == ["Asthma", "Glucose", "Gout", "Lisinopril", "Penicillin"]


def test_an_item_that_no_document_says_any_more_is_gone_now_and_known_before(engine: Engine, clock: HandClock) -> None:
    engine.ingest("p", bundle(*CONTENT), source="one")
    then = clock.now
    clock.wait(days=1)
    with Earlier():
        engine.reread("p")
    assert "Penicillin" not in names(engine)
    assert "Penicillin" in names(engine, known_at=then)


def test_the_same_record_in_several_documents_is_read_the_same_way(open_engine: OpenEngine, clock: HandClock) -> None:
    first, second = bundle(*CONTENT), bundle(*CONTENT, condition("Gout", id="c7"))
    with Earlier():
        engine = open_engine()
        engine.ingest("p", first, source="one")
        clock.wait(minutes=1)
        engine.ingest("p", second, source="one")
    clock.wait(minutes=1)
    assert len(engine.reread("p").receipts) == 2
    fresh = open_engine("other")
    fresh.ingest("p", first, source="one")
    fresh.ingest("p", second, source="one")
    assert engine.graph("p").hash == fresh.graph("p").hash
    assert engine.reread("p").receipts == ()


def test_rulings_hold_on_after_rereading(engine: Engine) -> None:
    with Earlier():
        engine.ingest("p", bundle(condition("High blood")), source="one")
        engine.ingest("p", bundle(condition("Pressure trouble"), allergy("Penicillin")), source="two")
    left, right = (s.id for s in engine.graph("p").statements.values() if s.kind is Kind.CONDITION)
    engine.rule("p", RulingKind.SAME, left, right)
    engine.reread("p")
    assert [len(f.members) for f in engine.graph("p").facts.values() if f.kind == "condition"] == [2]
    assert "Penicillin" in names(engine)


def test_a_retraction_takes_out_what_was_read_again_too_and_what_comes_later_counts(
    open_engine: OpenEngine, clock: HandClock
) -> None:
    with Earlier():
        engine = open_engine()
        engine.ingest("p", bundle(*CONTENT), source="one")
        engine.ingest("p", bundle(condition("Gout", id="c7")), source="two")
    clock.wait(minutes=1)
    engine.reread("p")
    clock.wait(minutes=1)
    engine.retract("p", "one")
    assert names(engine) == ["Gout"]
    clock.wait(minutes=1)
    assert engine.reread("p").receipts == ()
    engine.ingest("p", bundle(*CONTENT), source="one")
    assert names(engine) == ["Asthma", "Glucose", "Gout", "Lisinopril", "Penicillin"]
    version = engine.graph("p").version
    engine.ingest("p", bundle(*CONTENT), source="one")
    assert engine.graph("p").version == version


def test_what_was_sent_again_after_a_retraction_is_read_again_as_often_as_it_came(
    engine: Engine, clock: HandClock
) -> None:
    with Earlier():
        engine.ingest("p", bundle(*CONTENT), source="one")
        first = clock.now
        clock.wait(days=1)
        engine.retract("p", "one")
        clock.wait(days=1)
        engine.ingest("p", bundle(*CONTENT), source="one")
    clock.wait(days=1)
    engine.reread("p")
    assert "Penicillin" in names(engine)
    assert "Penicillin" not in names(engine, known_at=first)
    [allergies] = [s for s in engine.graph("p").statements.values() if s.kind is Kind.ALLERGY]
    assert [seen.received_at.day for seen in engine.graph("p").sightings[allergies.id]] == [17]


def test_a_reread_document_is_accounted_for_by_its_new_receipt(engine: Engine, clock: HandClock) -> None:
    with Earlier():
        first = engine.ingest("p", bundle(*CONTENT), source="one")
    clock.wait(minutes=5)
    made = engine.reread("p")
    found, total = engine.receipts("p")
    assert total == 2
    assert [r.id for r in found] == [made.receipts[0].id, first.id]
    assert found[0].document == first.document
    assert len(found[0].intake) == len(first.intake) == 5


def test_what_a_reader_may_not_see_stays_hidden_in_what_is_read_again(engine: Engine, clock: HandClock) -> None:
    secret = allergy("Methadone", id="a9", meta={"security": [RESTRICTED]})
    with Earlier():
        document = engine.ingest("p", bundle(*CONTENT, secret), source="one").document
    clock.wait(minutes=5)
    engine.reread("p")
    stranger = Access(
        id="temp", kind=PrincipalKind.OPERATOR, withheld=frozenset({Label(RESTRICTED["system"], RESTRICTED["code"])})
    )
    shown = {fact.display for fact in engine.graph("p", access=stranger).facts.values()}
    assert "Methadone" not in shown
    assert "Penicillin" in shown
    newest = engine.receipts("p", access=stranger)[0][0]
    assert newest.staged.facts == 1
    assert newest.sightings == 5
    with pytest.raises(NotFound):
        engine.document("p", document, access=stranger)


def test_nobody_rereads_an_unknown_patient(engine: Engine) -> None:
    with pytest.raises(NotFound):
        engine.reread("nobody")


def test_forgetting_a_patient_forgets_what_was_read_again(
    engine: Engine, make_store: Callable[..., DatabaseStore]
) -> None:
    with Earlier():
        engine.ingest("p", bundle(*CONTENT), source="one")
    engine.reread("p")
    engine.delete_patient("p")
    assert make_store("main").held("p") is None
    engine.put_patient("p")  # the explicit word for it
    engine.ingest("p", json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries()}).encode())
    held = make_store("main").held("p")
    assert held is not None
    assert held.rereadings == ()

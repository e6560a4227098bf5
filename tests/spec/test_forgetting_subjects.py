"""Forgetting organizations, operators and agents, and entries of theirs: gone from answers, rows, files and backups."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spec_patients import HandClock, bundle, condition

from iamata import Access, BadInput, Conflict, ContextRequest, Engine, Gone, NotAllowed, NotFound, Subject, patient
from iamata.model.access import PrincipalKind
from iamata.model.entry import EntryDraft, EntryKind
from iamata.model.erasure import Erasable
from iamata.model.scope import Scope
from iamata.model.session import ToolCall
from iamata.store import clearing
from iamata.store.ledger import is_ours

CANARY = "Zwyxbar"
CLINIC, OTHER = Subject(Scope.ORGANIZATION, "clinic-a"), Subject(Scope.ORGANIZATION, "clinic-b")
LEE, BOT = Subject(Scope.OPERATOR, "dr-lee"), Subject(Scope.AGENT, "triage")
DOCTOR = Access(kind=PrincipalKind.OPERATOR, id="dr-lee")


def write(engine: Engine, subject: Subject = CLINIC, text: str = f"{CANARY} first", **more: Any) -> str:
    kind = {Scope.ORGANIZATION: EntryKind.GUIDELINE, Scope.OPERATOR: EntryKind.PREFERENCE, Scope.AGENT: EntryKind.CUE}
    return engine.put_entry(EntryDraft(subject=subject, kind=kind[subject.scope], title="T", text=text, **more)).id


def file(engine: Engine, title: str = "F") -> str:
    draft = EntryDraft(subject=CLINIC, kind=EntryKind.GUIDELINE, title=title)
    return engine.ingest_entry(draft, f"# {CANARY}\n\nBegin with {CANARY}.".encode(), name="guide.md").id


def cited(engine: Engine, *subjects: Subject) -> list[str]:
    """The citations of entries and passages of these subjects in a context about a patient."""
    engine.ingest("p", bundle(condition("Asthma")), source="one")
    asked = ContextRequest(subjects=(patient("p"), *subjects), task="general", budget_tokens=900, query=CANARY)
    context = engine.context(asked)
    numbers = [each.number for each in context.items if each.item.startswith(("et_", "ep_"))]
    assert numbers
    return [f"{context.id}[{number}]" for number in numbers]


@pytest.mark.parametrize("subject", [CLINIC, LEE, BOT], ids=str)
def test_a_subject_that_was_erased_is_as_one_of_which_nothing_was_held(engine: Engine, subject: Subject) -> None:
    id = write(engine, subject)
    write(engine, OTHER)
    receipt = engine.delete_subject(subject)
    assert receipt is not None
    assert (receipt.kind.value, receipt.by) == (subject.scope.value, "operator/local")
    assert dict(receipt.counts) == {"entry_versions": 1, "subjects": 1}
    assert is_ours(receipt)
    assert subject.id not in str(receipt)
    assert engine.entries(subject, history=True) == []
    with pytest.raises(Gone):
        engine.entry(subject, id)
    with pytest.raises(NotFound):
        engine.browse(f"/{subject}/")
    assert [each.address for each in engine.browse("/").nodes if "clinic" in each.address] == [f"/{OTHER}/"]
    assert engine.delete_subject(subject) is None, "erased once"
    assert engine.erasures()[1] == 1
    assert len(engine.entries(OTHER)) == 1, "the others are as they were"


def test_its_key_files_refusals_and_learned_practice_go_with_it(engine: Engine) -> None:
    file(engine)
    calls = [ToolCall("read_patient", json.dumps({"patient_id": "p", "path": "/allergies/"}))]
    for number in range(5):
        engine.put_patient(f"q{number}")
        agent = Access(kind=PrincipalKind.AGENT, id="triage", on_behalf_of="dr-lee")
        engine.record_calls(f"q{number}", "s", calls, access=agent)
    learned = engine.learn(organization="clinic-a", least_patients=5)
    pattern = next(each for each in learned if each.subject == CLINIC)
    engine.refuse_entry(CLINIC, pattern.id)
    receipt = engine.delete_subject(CLINIC)
    assert receipt is not None
    assert dict(receipt.counts) == {
        "entry_documents": 1,
        "entry_refusals": 1,
        "entry_versions": 3,
        "learned_from": 5,
        "subjects": 1,
    }
    assert engine._store.subject_state(CLINIC) == (0, b"")
    assert engine._store.keys.get(str(CLINIC)) is None  # type: ignore[attr-defined]  # the test looks at the key store
    assert engine.delete_subject(LEE) is not None
    assert engine.learn(organization="clinic-a", least_patients=5) == [], "what was erased is not learned again"
    assert engine.entries(LEE) == []


def test_what_a_context_cited_of_it_answers_gone(engine: Engine) -> None:
    write(engine)
    file(engine)
    citations = cited(engine, CLINIC)
    assert [engine.explain("p", each).item[:3] for each in citations].count("ep_") >= 1
    engine.delete_subject(CLINIC)
    for each in citations:
        with pytest.raises(Gone):
            engine.explain("p", each)
    assert engine.graph("p").facts


def test_an_erased_entry_takes_every_version_and_its_file_and_leaves_the_others(engine: Engine) -> None:
    staying = write(engine)
    id = file(engine)
    engine.retire_entry(CLINIC, id, reason=CANARY)
    [document] = {each.document for each in engine.entries(CLINIC, history=True) if each.document}
    receipt = engine.erase_entry(CLINIC, id)
    assert (receipt.kind, dict(receipt.counts)) == (Erasable.ENTRY, {"entry_documents": 1, "entry_versions": 2})
    assert [each.id for each in engine.entries(CLINIC, history=True)] == [staying]
    for gone in (lambda: engine.entry(CLINIC, id), lambda: engine.erase_entry(CLINIC, id), lambda: file(engine)):
        with pytest.raises(Gone):
            gone()
    with pytest.raises(NotFound):
        engine.entry_document(CLINIC, document)
    with pytest.raises(NotFound) as never:
        engine.erase_entry(CLINIC, "et_never")
    assert not isinstance(never.value, Gone)
    draft = EntryDraft(subject=CLINIC, kind=EntryKind.GUIDELINE, title="F", text="Anew.", id="another")
    assert engine.put_entry(draft).version == 1


def test_a_file_that_another_entry_came_from_stays(engine: Engine) -> None:
    one, two = file(engine), file(engine, "G")
    assert dict(engine.erase_entry(CLINIC, one).counts) == {"entry_versions": 1}
    [entry] = engine.entries(CLINIC)
    assert entry.id == two
    assert CANARY in engine.entry_document(CLINIC, entry.document)[1].decode()


def test_an_erased_entry_is_gone_where_it_was_cited(engine: Engine) -> None:
    id = write(engine)
    [citation] = cited(engine, CLINIC)
    engine.erase_entry(CLINIC, id)
    with pytest.raises(Gone):
        engine.explain("p", citation)


def test_writing_begins_it_anew_under_another_key(open_engine: Callable[..., Engine]) -> None:
    """Also for another process that had it open: its first version is not that of the one that was erased."""
    engine, other = open_engine(), open_engine()
    write(engine)
    assert len(other.entries(CLINIC)) == 1
    engine.delete_subject(CLINIC)
    write(engine, text="Something else.")
    assert [each.text for each in other.entries(CLINIC)] == ["Something else."]
    assert [each.version for each in engine.entries(CLINIC, history=True)] == [1]
    other.close()


def test_only_owners_erase_an_organization_and_an_operator_what_is_held_of_itself(engine: Engine) -> None:
    for subject in (CLINIC, LEE, BOT):
        write(engine, subject)
    agent = Access(kind=PrincipalKind.AGENT, id="triage", on_behalf_of="dr-lee")
    refused = [(DOCTOR, CLINIC), (DOCTOR, BOT), (agent, CLINIC), (agent, BOT), (agent, LEE)]
    for access, subject in refused:
        for verb in (engine.delete_subject, lambda s, access: engine.erase_entry(s, "e", access=access)):
            with pytest.raises(NotAllowed):
                verb(subject, access=access)
    assert engine.delete_subject(LEE, access=DOCTOR) is not None
    assert [len(engine.entries(each)) for each in (CLINIC, LEE, BOT)] == [1, 0, 1]


def test_patients_are_erased_by_their_own_verbs(engine: Engine) -> None:
    engine.put_patient("p")
    for call in (
        lambda: engine.delete_subject(patient("p")),
        lambda: engine.erase_entry(patient("p"), "e"),
        lambda: engine.erase("p", Erasable.ORGANIZATION, "clinic-a"),
    ):
        with pytest.raises(BadInput):
            call()


def test_the_database_proves_it_on_an_organization_of_its_own(engine: Engine) -> None:
    proof = engine.verify_erasure()
    assert {"entry_versions", "entry_documents", "entry_refusals"} <= set(dict(proof.before.words))
    assert proof.holds
    assert sorted(each.kind.value for each in engine.erasures()[0]) == ["organization", "patient"]
    assert engine._store.subjects() == []


def test_an_eraser_that_forgets_a_table_is_found_out(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = tuple(each for each in clearing.ERASED_TABLES if each != "entry_documents")
    monkeypatch.setattr(clearing, "ERASED_TABLES", tables)
    proof = engine.verify_erasure()
    assert not proof.holds
    assert proof.erasure.kind is Erasable.ORGANIZATION
    assert proof.after.in_rows == 2


@pytest.mark.parametrize("databases", ["sqlite"], indirect=True)
@pytest.mark.parametrize("keys_too", [True, False])
def test_a_restored_backup_is_erased_again(databases: Any, tmp_path: Path, clock: HandClock, keys_too: bool) -> None:
    db, keys, backup = Path(databases.url()), databases.keys_path(), tmp_path / "backup"
    with Engine.open(db, keys=keys, clock=clock) as engine:
        write(engine, OTHER)
        going = write(engine, OTHER, text=f"{CANARY} second")
        write(engine)
    backup.mkdir()
    shutil.copy(db, backup / "db")
    shutil.copytree(keys, backup / "keys")
    with Engine.open(db, keys=keys, clock=clock) as engine:
        engine.delete_subject(CLINIC)
        engine.erase_entry(OTHER, going)
    for each in db.parent.glob(f"{db.name}*"):
        if each.name in (db.name, f"{db.name}-wal", f"{db.name}-shm"):
            each.unlink()
    shutil.copy(backup / "db", db)
    if keys_too:
        shutil.rmtree(keys)
        shutil.copytree(backup / "keys", keys)
    with Engine.open(db, keys=keys, clock=clock) as engine:
        assert engine.entries(CLINIC, history=True) == []
        assert [each.text for each in engine.entries(OTHER, history=True)] == [f"{CANARY} first"]
        assert engine.erasures()[1] == 2
        with pytest.raises(Gone):
            engine.entry(OTHER, going)
        assert engine._store.keys.get(str(CLINIC)) is None  # type: ignore[attr-defined]  # looks at the key store


def test_an_archive_brings_back_what_was_erased_only_by_explicit_word(engine: Engine) -> None:
    archive = io.BytesIO()
    id = write(engine)
    write(engine, OTHER)
    engine.export_archive(archive)
    engine.delete_subject(OTHER)
    with pytest.raises(Conflict, match="organization/clinic-b was erased here"):
        engine.import_archive(archive)
    engine.import_archive(archive, even_erased=True)
    assert len(engine.entries(OTHER)) == 1
    engine.erase_entry(CLINIC, id)
    with pytest.raises(Conflict, match="was erased here"):
        engine.import_archive(archive)
    assert engine.entries(CLINIC) == []
    engine.import_archive(archive, even_erased=True)
    assert [each.id for each in engine.entries(CLINIC)] == [id]

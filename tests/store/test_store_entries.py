"""Entries are sealed under a key of their subject, with the files they came from; older ones are sealed when opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from store_samples import NOW

from iamata.errors import Conflict, NotFound, Unavailable
from iamata.model.attribution import Attribution, AttributionKind, Author, Role
from iamata.model.document import Document
from iamata.model.entry import Basis, Entry, EntryKind
from iamata.model.scope import Scope, Subject, patient
from iamata.store import DatabaseStore

Sql = Callable[..., list[tuple[Any, ...]]]
CLINIC = Subject(Scope.ORGANIZATION, "clinic-a")
OTHER = Subject(Scope.ORGANIZATION, "clinic-b")


def guideline(version: int = 1, subject: Subject = CLINIC, **more: Any) -> Entry:
    return Entry(
        id="g",
        subject=subject,
        kind=EntryKind.GUIDELINE,
        version=version,
        title="Hypertension",
        text="Begin with thiazides.",
        attribution=Attribution(AttributionKind.SYSTEM, Author(Role.INSTITUTION), "sample"),
        recorded_at=NOW,
        **more,
    )


def summary(of: str, version: int = 1) -> Entry:
    return Entry(
        id="s",
        subject=patient(of),
        kind=EntryKind.SUMMARY,
        version=version,
        title="Heart",
        text="Takes thiazides.",
        attribution=Attribution(AttributionKind.AGENT, Author(Role.AGENT), "sample"),
        recorded_at=NOW,
        derived_from=(Basis(item="fa_1", what="fact"),),
    )


def file() -> tuple[Document, bytes]:
    about = Document(
        id="en_1",
        subject=CLINIC,
        source="clinic",
        media_type="text/markdown",
        format="document/markdown",
        sha256="0" * 64,
        size_bytes=9,
        received_at=NOW,
        name="thiazides.md",
    )
    return about, b"thiazides"


def test_neither_text_nor_file_nor_its_name_stands_in_the_database_in_plain(store: DatabaseStore, sql: Sql) -> None:
    store.put_entry(guideline(document="en_1"), NOW, document=file())
    rows = sql("select body from entry_versions") + sql("select about from entry_documents")
    rows += sql("select body from entry_documents")
    assert len(rows) == 3
    assert not any(b"thiazides" in bytes(body) or b"Hypertension" in bytes(body) for (body,) in rows)
    assert store.entry_document(CLINIC, "en_1") == file()
    with pytest.raises(NotFound):
        store.entry_document(OTHER, "en_1")


def test_the_key_is_the_subjects_own_and_without_it_nothing_opens(store: DatabaseStore) -> None:
    store.put_entry(guideline(), NOW)
    store.put_entry(guideline(subject=OTHER), NOW)
    assert store.keys.get("clinic-a") is None, "a patient of this id has another key"
    store.keys.destroy(str(CLINIC))
    assert store.entries(CLINIC) == []
    assert store.entries(OTHER) == [guideline(subject=OTHER)]
    with pytest.raises(Unavailable, match="does not hold the key"):
        store.put_entry(guideline(2), NOW)
    assert store.keys.get(str(CLINIC)) is None, "no new key is made over what an old one sealed"


def test_a_body_that_was_moved_to_another_version_does_not_open(store: DatabaseStore, sql: Sql) -> None:
    store.put_entry(guideline(), NOW)
    sql("insert into entry_versions select scope, subject, id, 2, kind, recorded_at, body from entry_versions")
    with pytest.raises(Unavailable, match="does not open"):
        store.entries(CLINIC)


def test_a_version_is_written_once_and_every_change_is_counted(store: DatabaseStore) -> None:
    assert (store.subject_version(CLINIC), store.subjects()) == (0, [])
    store.put_entry(guideline(), NOW)
    store.put_entry(guideline(2), NOW)
    with pytest.raises(Conflict, match="version 2 of entry g exists"):
        store.put_entry(guideline(2, tags=("x",)), NOW, document=file())
    with pytest.raises(NotFound):
        store.entry_document(CLINIC, "en_1")
    assert (store.subject_version(CLINIC), store.subjects()) == (2, [CLINIC])


def test_entries_of_before_they_were_sealed_are_sealed_when_the_database_is_opened(
    databases: Any, store: DatabaseStore, sql: Sql
) -> None:
    plain = msgspec.json.encode(guideline()).decode()
    columns = "scope, subject, id, version, kind, body"
    sql(f"insert into entries ({columns}) values ('organization', 'clinic-a', 'g', 1, 'guideline', '{plain}')")
    store.close()
    again = databases.open()
    assert again.entries(CLINIC) == [guideline()]
    assert sql("select count(*) from entries") == [(0,)]
    again.close()


def test_what_is_inferred_of_a_patient_is_the_patients_own_and_goes_with_it(store: DatabaseStore, sql: Sql) -> None:
    with pytest.raises(NotFound):
        store.put_entry(summary("leo"), NOW)
    for name in ("leo", "mia"):
        store.put_patient(name, NOW)
        store.put_entry(summary(name), NOW)
    held = store.held("leo")
    assert held is not None
    assert (held.entries, held.version) == ((summary("leo"),), 1)
    with pytest.raises(Conflict, match="version 1 of entry s exists"):
        store.put_entry(summary("leo"), NOW)
    assert not any(b"thiazides" in bytes(body) for (body,) in sql("select body from inferences"))
    store.erase_patient("leo", NOW)
    assert sql("select patient from inferences") == [("mia",)]

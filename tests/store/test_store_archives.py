"""An archive is written and taken in piece by piece, and a crash leaves whole patients only."""

from __future__ import annotations

import io
import random
import tracemalloc
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from store_samples import NOW, bundle

from iamata.errors import Unavailable
from iamata.model.identifiers import IdMint
from iamata.store import DatabaseStore, FileKeyStore, open_store

BODY = 2_000_000
DOCUMENTS = 24


def filled(store: DatabaseStore, patient: str, documents: int, size: int) -> None:
    """A patient of documents whose bytes do not shrink."""
    mint, lots = IdMint(store.keys.get_or_create(patient)), random.Random(patient)
    for number in range(documents):
        sent = bundle(mint, ["c1", f"o{number}"], patient=patient, source=f"s{number}", ingestion=f"in_{number}")
        store.accept(replace(sent, body=lots.randbytes(size)), NOW)


def peak_of(run: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_archive(tmp_path: Path) -> None:
    """48 MB of documents pass through; what is held at a time is a few copies of one of them."""
    here = open_store(tmp_path / "here.db", keys=FileKeyStore(tmp_path / "here"))
    there = open_store(tmp_path / "there.db", keys=FileKeyStore(tmp_path / "there"))
    filled(here, "leo", DOCUMENTS, BODY)
    path = tmp_path / "leo.zip"
    with path.open("wb") as file:
        written = peak_of(lambda: here.write_archive(file, NOW, patient="leo"))
    assert path.stat().st_size > DOCUMENTS * BODY
    with path.open("rb") as file:
        taken = peak_of(lambda: there.read_archive(file, NOW))
    assert max(written, taken) < 10 * BODY < path.stat().st_size
    held = there.held("leo")
    assert held is not None
    assert [there.document_body("leo", d.id) for d in held.documents] == [
        here.document_body("leo", d.id) for d in held.documents
    ]
    here.close()
    there.close()


def test_a_crash_between_two_patients_leaves_whole_ones_and_the_rest_follows(
    make_store: Callable[..., DatabaseStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    from iamata.store import taking_in

    here, there = make_store("here"), make_store("there")
    for patient in ("a", "b", "c"):
        filled(here, patient, 2, 1000)
    out = io.BytesIO()
    here.write_archive(out, NOW)
    put = taking_in._take_in_table
    seen: list[str] = []

    def until_the_second(*given: Any) -> None:
        seen.append(given[3].id)
        if given[3].id == "b" and given[4].name == "sightings":
            raise Unavailable("the machine stops here")
        put(*given)

    monkeypatch.setattr(taking_in, "_take_in_table", until_the_second)
    with pytest.raises(Unavailable):
        there.read_archive(out, NOW)
    assert [row.id for row in there.patients(offset=0, limit=10)[0]] == ["a"]
    assert there.keys.get("b") is None, "no key stays for whom nothing is held"
    monkeypatch.undo()
    moved = there.read_archive(out, NOW)
    assert (moved.here_already, moved.patients) == (("a",), ("b", "c"))
    for patient in ("a", "b", "c"):
        assert there.held(patient) == here.held(patient)


def test_an_empty_workspace_is_an_archive_too(make_store: Callable[..., DatabaseStore]) -> None:
    out = io.BytesIO()
    manifest = make_store("here").write_archive(out, datetime.fromisoformat("2026-02-15T09:00:00+00:00"))
    assert (manifest.patients, manifest.parts) == ((), ())
    assert make_store("there").read_archive(out, NOW).patients == ()

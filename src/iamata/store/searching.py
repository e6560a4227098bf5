"""Is anything of this left? Opens and inflates every sealed body of a patient, and reads the database's files whole.

Words are looked for in what was opened. A body that cannot be opened any more, and one that was deleted, is looked for
by its beginning, which is a nonce and like no other: in every row of the patient, and in the files, where free pages,
old pages and the write-ahead log may still hold it. Changes nothing.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from iamata.model.erasure import Remains
from iamata.model.scope import Subject
from iamata.store.database import Database
from iamata.store.rows import sealed_as
from iamata.store.sealing import Sealer, Unreadable

# Beginnings are looked for one by one in files that may be large: so many, spread evenly over what there is.
_MOST_BEGINNINGS: Final = 120
_BEGINNING_BYTES: Final = 16
_Row = tuple[Any, ...]
_Bodies = Callable[[_Row, str], Iterator[tuple[str, str, bytes | None]]]


def _plain(table: str) -> _Bodies:
    def bodies(row: _Row, _patient: str) -> Iterator[tuple[str, str, bytes | None]]:
        yield table, str(row[0]), row[-1]

    return bodies


def _read_again(table: str) -> _Bodies:
    def bodies(row: _Row, _patient: str) -> Iterator[tuple[str, str, bytes | None]]:
        yield table, sealed_as(row[0], row[1]), row[-1]

    return bodies


def _document(row: _Row, _patient: str) -> Iterator[tuple[str, str, bytes | None]]:
    yield "documents", row[0], row[1]
    yield "document_bodies", row[0], row[2]


def _sighting(row: _Row, _patient: str) -> Iterator[tuple[str, str, bytes | None]]:
    id, number, item, document, body = row
    yield "sightings", sealed_as(f"{id} {item} {document}", number), body


def _inference(row: _Row, _patient: str) -> Iterator[tuple[str, str, bytes | None]]:
    yield "inferences", f"{row[0]} {row[1]}", row[2]


def _receipt(row: _Row, _patient: str) -> Iterator[tuple[str, str, bytes | None]]:
    yield "failures", row[0], row[1]
    yield "receipts", row[0], row[2]


def _entry_version(row: _Row, _subject: str) -> Iterator[tuple[str, str, bytes | None]]:
    yield "entry_versions", f"{row[0]} {row[1]}", row[2]


def _entry_document(row: _Row, _subject: str) -> Iterator[tuple[str, str, bytes | None]]:
    yield "entry_documents about", row[0], row[1]
    yield "entry_documents", row[0], row[2]


def _entry_refusal(row: _Row, _subject: str) -> Iterator[tuple[str, str, bytes | None]]:
    yield "entry_refusals", f"{row[0]} {row[1]}", row[2]


def _projection(row: _Row, patient: str) -> Iterator[tuple[str, str, bytes | None]]:
    yield "projections", patient, row[0]


# Table → the statement that reads it, and what its sealed bodies are bound to. A test holds it against the schema.
TABLES: Final[dict[str, tuple[str, _Bodies]]] = {
    "documents": ("look_documents", _document),
    "statements": ("look_statements", _read_again("statements")),
    "passages": ("look_passages", _read_again("passages")),
    "sightings": ("look_sightings", _sighting),
    "rereadings": ("look_rereadings", _plain("rereadings")),
    "messages": ("look_messages", _plain("messages")),
    "memories": ("look_memories", _plain("memories")),
    "relearnings": ("look_relearnings", _plain("relearnings")),
    "relearned_memories": ("relearned_memories", _read_again("relearned_memories")),
    "tool_calls": ("call_bodies", _plain("tool_calls")),
    "rulings": ("rulings", _plain("rulings")),
    "retractions": ("retraction_bodies", _plain("retractions")),
    "model_answers": ("model_answers", _plain("model_answers")),
    "inferences": ("inferences", _inference),
    "receipts": ("look_receipts", _receipt),
    "projections": ("projection", _projection),
    "contexts": ("context_bodies", _plain("contexts")),
    "sources": ("source_bodies", _plain("sources")),
    "holds": ("holds", _plain("holds")),
    "relations": ("relation_bodies", _plain("relations")),
}

# The same of what is held of organizations, operators and agents.
ENTRY_TABLES: Final[dict[str, tuple[str, _Bodies]]] = {
    "entry_versions": ("entry_versions", _entry_version),
    "entry_documents": ("look_entry_documents", _entry_document),
    "entry_refusals": ("look_entry_refusals", _entry_refusal),
}


class Looked(msgspec.Struct, frozen=True):
    """What was found, and the beginnings of all bodies that are there, for the next search."""

    remains: Remains
    there: tuple[bytes, ...]


def look(
    database: Database,
    sealer: Sealer | None,
    patient: str,
    words: Sequence[str],
    beginnings: Sequence[bytes] | None,
) -> Looked:
    """Look for these words (whole or as parts of others, whatever their case) and beginnings; None: those of the bodies
    that are there now."""
    return _look(database, sealer, TABLES, patient, {"patient": patient}, words, beginnings)


def look_subject(
    database: Database,
    sealer: Sealer | None,
    subject: Subject,
    words: Sequence[str],
    beginnings: Sequence[bytes] | None,
) -> Looked:
    """As `look`, of an organization, operator or agent."""
    of = {"scope": subject.scope.value, "subject": subject.id}
    return _look(database, sealer, ENTRY_TABLES, str(subject), of, words, beginnings)


def _look(
    database: Database,
    sealer: Sealer | None,
    tables: Mapping[str, tuple[str, _Bodies]],
    whose: str,
    of: Mapping[str, str],
    words: Sequence[str],
    beginnings: Sequence[bytes] | None,
) -> Looked:
    wanted = [word.lower().encode() for word in words]
    opened, found, there = 0, dict[str, int](), list[bytes]()
    with database.reading() as tx:
        for table, (name, bodies_of) in tables.items():
            for row in tx.rows(name, **of):
                for sealed_in, id, sealed in bodies_of(row, whose):
                    if sealed is None:
                        continue
                    there.append(bytes(sealed[:_BEGINNING_BYTES]))
                    body = _opened(sealer, sealed_in, id, bytes(sealed))
                    if body is None:
                        continue
                    opened += 1
                    if any(word in body.lower() for word in wanted):
                        found[table] = found.get(table, 0) + 1
    asked = _spread(there if beginnings is None else beginnings)
    rows = set(there)
    files = database.files()
    # What is not written into the main file yet stands in the write-ahead log, which is one of them.
    in_files = _in_files(files, asked) if files else 0
    return Looked(
        Remains(
            bodies=opened,
            words=tuple(sorted(found.items())),
            sealed=len(asked),
            in_rows=sum(each in rows for each in asked),
            in_files=in_files,
            files=tuple(file.name for file in files),
        ),
        tuple(there),
    )


def _opened(sealer: Sealer | None, table: str, id: str, sealed: bytes) -> bytes | None:
    if sealer is None:
        return None
    try:
        return sealer.open(table, id, sealed)
    except Unreadable:
        return None


def _spread(beginnings: Sequence[bytes]) -> list[bytes]:
    if len(beginnings) <= _MOST_BEGINNINGS:
        return list(beginnings)
    return [beginnings[len(beginnings) * n // _MOST_BEGINNINGS] for n in range(_MOST_BEGINNINGS)]


def _in_files(files: Sequence[Path], beginnings: Sequence[bytes]) -> int:
    found: set[bytes] = set()
    for file in files:
        try:
            if not file.stat().st_size:
                continue
            with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as text:
                found |= {each for each in beginnings if each not in found and text.find(each) >= 0}
        except FileNotFoundError:  # a write-ahead log that was taken away meanwhile
            continue
    return len(found)

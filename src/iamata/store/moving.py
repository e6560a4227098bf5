"""Which rows is a patient, or a subject of another scope, and how do they come out of one store and into another?

Table by table, as lines of JSON.

A row comes out with its bodies opened, and goes in sealed anew under the same key, so that every id stays what it is.
Two stores with the same rows give the same lines, byte by byte. Not moved: the last projection (it is folded again)
and queued work (it is made of the receipts that wait). How lines become a file is for `archiving`.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from iamata.errors import BadInput
from iamata.model.entry import Entry
from iamata.model.scope import Scope, Subject
from iamata.store import codec
from iamata.store.database import Bound, Transaction
from iamata.store.rows import sealed_as
from iamata.store.sealing import Sealer

# Rows in one page: what is held in memory at a time.
PAGE: Final = 500
Row = dict[str, Any]


class Body(NamedTuple):
    """A sealed column: the table and id it is bound to when it is sealed, and how it reads (`json` of a noun, `text`,
    or `bytes`)."""

    column: str
    sealed_in: str
    bound_to: Callable[[Row], str]
    decoder: msgspec.json.Decoder[Any] | None = None
    text: bool = False


class Table(NamedTuple):
    """A table of one patient or of one other subject: its columns but for whose it is in the order of its selects,
    those of its key with the value before every other, and its sealed columns."""

    name: str
    columns: tuple[str, ...]
    key: tuple[tuple[str, Bound], ...]
    bodies: tuple[Body, ...] = ()


def _id(row: Row) -> str:
    return str(row["id"])


def _read(row: Row) -> str:
    return sealed_as(row["id"], row["rereading"])


def _seen(row: Row) -> str:
    return sealed_as(f"{row['id']} {row['item']} {row['document']}", row["rereading"])


def _version(row: Row) -> str:
    return f"{row['id']} {row['version']}"


def _refusal(row: Row) -> str:
    return f"{row['entry']} {row['number']}"


_ID: Final = (("id", ""),)
_VERSION: Final = (("id", ""), ("version", -1))
_READ: Final = (("id", ""), ("rereading", -1))

# Parents before children: so they go in.
TABLES: Final = (
    Table("sources", ("id", "body"), _ID, (Body("body", "sources", _id, codec.sources),)),
    Table(
        "documents",
        ("id", "sequence", "received_at", "head"),
        _ID,
        (Body("head", "documents", _id, codec.documents),),
    ),
    Table(
        "rereadings",
        ("number", "at", "body"),
        (("number", -1),),
        (Body("body", "rereadings", lambda row: str(row["number"]), codec.rereadings),),
    ),
    Table(
        "statements",
        ("id", "rereading", "sequence", "kind", "reader", "body"),
        _READ,
        (Body("body", "statements", _read, codec.statements),),
    ),
    Table(
        "passages",
        ("id", "rereading", "sequence", "reader", "body"),
        _READ,
        (Body("body", "passages", _read, codec.passages),),
    ),
    Table(
        "sightings",
        ("id", "rereading", "sequence", "item", "document", "received_at", "body"),
        _ID,
        (Body("body", "sightings", _seen, codec.places),),
    ),
    Table("sessions", ("id", "created_at"), _ID),
    Table(
        "messages",
        ("id", "session", "position", "sequence", "received_at", "body"),
        _ID,
        (Body("body", "messages", _id, codec.messages),),
    ),
    Table(
        "memories",
        ("id", "message", "kind", "received_at", "body"),
        _ID,
        (Body("body", "memories", _id, codec.memories),),
    ),
    Table(
        "relearnings",
        ("number", "at", "body"),
        (("number", -1),),
        (Body("body", "relearnings", lambda row: str(row["number"]), codec.relearnings),),
    ),
    Table(
        "relearned_memories",
        ("id", "relearning", "message", "kind", "received_at", "body"),
        (("id", ""), ("relearning", -1)),
        (
            Body(
                "body",
                "relearned_memories",
                lambda row: sealed_as(row["id"], row["relearning"]),
                codec.memories,
            ),
        ),
    ),
    Table(
        "tool_calls",
        ("id", "session", "position", "follows", "received_at", "body"),
        _ID,
        (Body("body", "tool_calls", _id, codec.tool_calls),),
    ),
    Table("rulings", ("id", "body"), _ID, (Body("body", "rulings", _id, codec.rulings),)),
    Table("holds", ("id", "lifts", "at", "body"), _ID, (Body("body", "holds", _id, codec.holds),)),
    Table("retractions", ("id", "at", "body"), _ID, (Body("body", "retractions", _id, text=True),)),
    Table(
        "model_answers",
        ("id", "received_at", "body"),
        _ID,
        (Body("body", "model_answers", _id, codec.model_answers),),
    ),
    Table(
        "receipts",
        (
            *("id", "sequence", "status", "received_at", "started_at", "completed_at", "failure_code"),
            *("failure", "body"),
        ),
        _ID,
        (Body("body", "receipts", _id, codec.receipts), Body("failure", "failures", _id, text=True)),
    ),
    Table(
        "inferences",
        ("id", "version", "recorded_at", "body"),
        _VERSION,
        (Body("body", "inferences", _version, codec.entries),),
    ),
    Table("learned_from", ("scope", "subject", "entry"), (("scope", ""), ("subject", ""), ("entry", ""))),
    Table("shown_words", ("mark",), (("mark", b""),)),
    Table("contexts", ("id", "created_at", "body"), _ID, (Body("body", "contexts", _id),)),
)
# What is held of an organization, operator or agent.
ENTRY_TABLES: Final = (
    Table(
        "entry_documents",
        ("id", "about"),
        _ID,
        (Body("about", "entry_documents about", _id, codec.documents),),
    ),
    Table(
        "entry_versions",
        ("id", "version", "kind", "recorded_at", "body"),
        _VERSION,
        (Body("body", "entry_versions", _version, codec.entries),),
    ),
    Table(
        "entry_refusals",
        ("entry", "number", "refused", "body"),
        (("entry", ""), ("number", -1)),
        (Body("body", "entry_refusals", _refusal, text=True),),
    ),
)
# Of these nothing that is remembered depends: they may differ in two stores that hold the same patient.
OF_READERS: Final = frozenset({"shown_words", "contexts", "learned_from"})
# The bytes of these stand beside their rows, in files.
WITH_BYTES: Final = frozenset({"documents", "entry_documents"})
_OPENED: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_STATUS: Final = {"processing": "pending"}  # whoever takes it in forms it anew
# Whose it is stands in the bodies of these too.
_ABOUT: Final = frozenset(
    {"documents", "statements", "passages", "receipts", "inferences", "entry_versions", "entry_documents"}
)
_NUMBERS: Final = frozenset(
    {"number", "rereading", "relearning", "sequence", "position", "follows", "version", "refused"}
)
_MOMENTS: Final = frozenset({"at", "received_at", "created_at", "started_at", "completed_at", "recorded_at"})
_OPTIONAL: Final = frozenset({"started_at", "completed_at"})


def pages(tx: Transaction, name: str, key: Sequence[tuple[str, Bound]], **of: Bound) -> Iterator[list[tuple[Any, ...]]]:
    """Every page of a select that is bounded by `after_<key>` and `limit`; the key stands first in its columns."""
    after = dict(key)
    while rows := tx.rows(
        f"move_out_{name}", limit=PAGE, **of, **{f"after_{column}": v for column, v in after.items()}
    ):
        yield rows
        if len(rows) < PAGE:
            return
        after = dict(zip(after, rows[-1], strict=False))


def named(whose: Subject) -> dict[str, Bound]:
    """The columns that say whose a row is."""
    if whose.scope is Scope.PATIENT:
        return {"patient": whose.id}
    return {"scope": whose.scope.value, "subject": whose.id}


def lines_of(tx: Transaction, sealer: Sealer, whose: Subject, table: Table) -> Iterator[tuple[Row, bytes]]:
    """Every row of a table and its line, by its key."""
    for rows in pages(tx, table.name, table.key, **named(whose)):
        for values in rows:
            row = dict(zip(table.columns, values, strict=True))
            yield row, msgspec.json.encode(_opened(sealer, table, row)) + b"\n"


def _opened(sealer: Sealer, table: Table, row: Row) -> Row:
    shown = dict(row)
    for body in table.bodies:
        if row[body.column] is None:
            continue
        content = sealer.open(body.sealed_in, body.bound_to(row), row[body.column])
        if body.decoder is not None:
            shown[body.column] = msgspec.Raw(content)
        else:
            shown[body.column] = content.decode() if body.text else b64encode(content).decode()
    if "mark" in row:
        shown["mark"] = bytes(row["mark"]).hex()
    if "status" in row:
        shown["status"] = _STATUS.get(row["status"], row["status"])
    return shown


def row_of(table: Table, whose: Subject, line: bytes, place: str) -> tuple[Row, dict[str, bytes]]:
    """The plain columns of a line, and the contents to be sealed by their column. Raises BadInput with the place where
    it is no row of this table, or somebody else's."""
    try:
        raw = _OPENED.decode(line)
        if set(raw) != set(table.columns):
            raise BadInput("a row does not have the columns of its table", place=place)
        sealed = {body.column for body in table.bodies}
        row: Row = {name: msgspec.json.decode(value) for name, value in raw.items() if name not in sealed}
        if "mark" in row:
            row["mark"] = bytes.fromhex(row["mark"])
        found = {body.column: _content(body, bytes(raw[body.column])) for body in table.bodies}
        contents = {column: content for column, content in found.items() if content is not None}
        for body in table.bodies:
            if body.decoder is not None:
                _check(table, whose, row, body.decoder.decode(contents[body.column]), place)
        _check_types(row, place)
    except (msgspec.MsgspecError, ValueError, TypeError, KeyError) as error:
        if isinstance(error, BadInput):
            raise BadInput(str(error.args[0]), place=place) from None if error.place else error
        raise BadInput(f"a row cannot be read: {type(error).__name__}", place=place) from None
    return row, contents


def _content(body: Body, raw: bytes) -> bytes | None:
    if raw == b"null":
        return None
    if body.decoder is not None:
        return raw
    text = str(msgspec.json.decode(raw, type=str))
    return text.encode() if body.text else b64decode(text, validate=True)


def _check(table: Table, whose: Subject, row: Row, noun: Any, place: str) -> None:
    if table.name in _ABOUT and noun.subject != whose:
        raise BadInput("a row is about somebody else than its patient or subject", place=place)
    if isinstance(noun, Entry) and (noun.version, noun.kind) != (row["version"], row.get("kind", noun.kind)):
        raise BadInput("an entry is not the one that its row names", place=place)
    id = getattr(noun, "id", None)
    if id is not None and id != row["id"]:
        raise BadInput("a row and what it holds have two ids", place=place)


def _check_types(row: Mapping[str, Any], place: str) -> None:
    for name, value in row.items():
        kind = int if name in _NUMBERS else bytes if name == "mark" else str
        if type(value) is not kind and not (value is None and name in _OPTIONAL):
            raise BadInput(f"the column {name} holds what it cannot hold", place=place)
        if name in _MOMENTS and value is not None and codec.moment_of(value).tzinfo is None:
            raise BadInput(f"the column {name} is no moment", place=place)


def bound(table: Table, sealer: Sealer, whose: Subject, row: Row, contents: Mapping[str, bytes]) -> dict[str, Bound]:
    """The row as it is inserted, sealed."""
    values: dict[str, Bound] = {**named(whose), **{body.column: None for body in table.bodies}, **row}
    for body in table.bodies:
        if body.column in contents:
            values[body.column] = sealer.seal(body.sealed_in, body.bound_to(row), contents[body.column])
    return values

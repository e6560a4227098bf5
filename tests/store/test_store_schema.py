"""The SQL says what it touches, the migrations reach the schema, and what was said cannot be changed."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from store_samples import NOW, adjudication_of, bundle, memory_of, relation_of, turns
from test_store_entries import file, guideline, summary

from iamata.errors import Unavailable
from iamata.model.erasure import Hold
from iamata.model.identifiers import IdMint
from iamata.model.memory import Relearning
from iamata.model.ruling import RecordRef, Ruling, RulingKind
from iamata.model.session import RecordedCall, ToolCall
from iamata.store import DatabaseStore, FileKeyStore, open_store
from iamata.store.database import Database
from iamata.store.dialects.postgres import PostgresDatabase
from iamata.store.dialects.sqlite import SqliteDatabase
from iamata.store.erasing import ERASED_TABLES
from iamata.store.queries import ACROSS_PATIENTS, ONE_PATIENT, Query, load_queries, named_bindings, parse_queries
from iamata.store.schema import cut, migrations, schema
from iamata.store.searching import TABLES as LOOKED

Sql = Callable[..., list[tuple[Any, ...]]]
QUERIES = {dialect: load_queries(dialect) for dialect in ("sqlite", "postgres")}
EVERY_QUERY = [pytest.param(q, id=f"{d}-{n}") for d, queries in QUERIES.items() for n, q in queries.items()]
_TABLE = re.compile(
    r"-- mark: (?P<mark>[\w ]+)\n(?P<purpose>(?:-- .+\n)+)create table (?P<name>\w+) \((?P<body>[^;]+)\n\);"
)
TABLES = {match["name"]: match for match in _TABLE.finditer(schema())}
ONE_PATIENT_TABLES = {name for name, match in TABLES.items() if match["mark"] == ONE_PATIENT}
APPEND_ONLY = re.findall(r"^-- append only: (\w+)$", schema(), re.MULTILINE)


def binds_the_patient(query: Query) -> bool:
    """Does each table of the statement stand under `patient = :patient`, or does the insert write :patient first?"""
    text = re.sub(r"\s+", " ", query.text).partition(" for update")[0]
    if text.startswith("insert into"):
        return bool(re.match(r"insert into \w+ \(patient[,)].*? values \(:patient[,)]", text))
    return len(re.findall(r"(?:from|update) \w+", text)) == len(re.findall(r"\bpatient = :patient\b", text))


@pytest.mark.parametrize("query", EVERY_QUERY)
def test_a_statement_of_one_patient_binds_the_patient(query: Query) -> None:
    assert len(query.purpose) > 5
    assert (query.mark == ONE_PATIENT) == binds_the_patient(query)


@pytest.mark.parametrize("query", EVERY_QUERY)
def test_only_statements_of_one_patient_touch_its_tables_but_for_the_register(query: Query) -> None:
    touched = set(re.findall(r"(?:from|update|into|join) (\w+)", query.text)) & ONE_PATIENT_TABLES
    assert query.mark == ONE_PATIENT or touched <= {"patients"}


def test_the_marks_test_itself_finds_a_statement_that_forgets_the_patient() -> None:
    forgetful = "select body from statements where patient = :patient and exists (select 1 from messages)"
    assert not binds_the_patient(Query("x", ONE_PATIENT, "", forgetful))
    assert not binds_the_patient(Query("x", ONE_PATIENT, "", "delete from statements where id = :id"))
    assert not binds_the_patient(Query("x", ONE_PATIENT, "", "insert into statements (id) values (:id)"))


def test_a_statement_without_a_mark_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks"):
        parse_queries("-- name: x\n-- No mark.\nselect 1;\n")
    with pytest.raises(ValueError, match="named x"):
        parse_queries("-- name: x\n-- mark: one patient\n-- A.\nselect 1;\n" * 2)


def test_both_databases_run_the_same_statements_with_the_same_bindings() -> None:
    sqlite, postgres = QUERIES["sqlite"], QUERIES["postgres"]
    assert sqlite.keys() == postgres.keys()
    different = {name for name in sqlite if sqlite[name].text != postgres[name].text}
    assert different == {"lock_patient", "next_work", "next_work_of", "lock_work"}
    for name in sqlite:
        assert set(sqlite[name].bindings) == set(postgres[name].bindings)
        assert (sqlite[name].mark, sqlite[name].text.split()[0]) == (
            postgres[name].mark,
            postgres[name].text.split()[0],
        )
    assert named_bindings("a = :a and b like '5%' and c::text = :c_1") == (
        "a = %(a)s and b like '5%%' and c::text = %(c_1)s"
    )


def test_every_table_has_a_purpose_and_a_mark() -> None:
    assert set(TABLES) == set(re.findall(r"create table (\w+)", schema()))
    assert {match["mark"] for match in TABLES.values()} == {ONE_PATIENT, ACROSS_PATIENTS}


@pytest.mark.parametrize("name", sorted(ONE_PATIENT_TABLES))
def test_a_table_of_one_patient_can_be_distributed_by_patient(name: str) -> None:
    # Citus: the distribution column in the primary key and every unique constraint; foreign keys that are co-located.
    body = TABLES[name]["body"]
    assert body.lstrip().startswith("patient text not null")
    assert re.search(r"primary key \(patient\b|^\s*patient text not null primary key", body, re.MULTILINE)
    assert all(columns.startswith("patient") for columns in re.findall(r"unique \(([^)]*)\)", body))
    for columns, target, theirs in re.findall(r"foreign key \(([^)]*)\) references (\w+) \(([^)]*)\)", body):
        assert columns.startswith("patient")
        assert theirs.startswith("patient")
        assert target in ONE_PATIENT_TABLES
    assert all(theirs == "patient" for theirs in re.findall(r"patient text not null references \w+ \((\w+)\)", body))


def test_the_small_tables_refer_to_nothing() -> None:
    for name in set(TABLES) - ONE_PATIENT_TABLES:
        assert "references" not in TABLES[name]["body"], name
    assert "primary key (scope, subject, id, version)" in TABLES["entry_versions"]["body"]


def test_erasing_goes_through_every_table_of_one_patient_and_the_queue() -> None:
    assert set(ERASED_TABLES) == ONE_PATIENT_TABLES | {"work", "relations"}
    assert {f"erase_{table}" for table in ERASED_TABLES} <= QUERIES["sqlite"].keys()


def test_the_tables_that_hold_what_was_said_are_append_only() -> None:
    assert set(APPEND_ONLY) >= {"documents", "statements", "passages", "sightings", "messages", "memories", "audit"}


@pytest.mark.parametrize("table", APPEND_ONLY)
def test_an_update_is_refused_by_the_database_itself(store: DatabaseStore, mint: IdMint, sql: Sql, table: str) -> None:
    if table in ("entries", "audit"):
        columns = (
            "scope, subject, id, version, kind, body"
            if table == "entries"
            else "writer, sequence, at, subject, body, hash"
        )
        values = "'agent', 'a', 'x', 1, 'cue', '{}'" if table == "entries" else "'w', 1, '', '', '', :hash"
        sql(f"insert into {table} ({columns}) values ({values})", **({} if table == "entries" else {"hash": b""}))
        column = "subject"
    else:
        store.accept(bundle(mint, ["c1", "n1"]), NOW)
        store.retract("leo", "Northside", NOW)
        again = bundle(mint, ["c1", "n1"], ingestion="in_again")
        again = replace(again, receipt=replace(again.receipt, document=again.document.id if again.document else ""))
        store.reread("leo", [again], store.version("leo") or 0, NOW)
        foreign = RecordRef("Northside", "Condition/c1")
        ruling = Ruling(id="ru_1", kind=RulingKind.NOT_THIS_PATIENT, by="operator/x", decided_at=NOW, left=foreign)
        store.rule("leo", ruling, NOW)
        talk = turns(mint, ["he has hives"])
        store.accept(talk, NOW)
        for _ in range(2):
            work = store.claim("w", NOW, 30)
            assert work is not None
            memories = [memory_of(mint, m) for m in talk.messages] if work.ingestion == "in_turns" else []
            assert store.finish(work, memories, None, NOW)
        relearned = Relearning(1, NOW, (memory_of(mint, talk.messages[0]),))
        store.reread("leo", [], store.version("leo") or 0, NOW, talk=relearned)
        store.keep_answers("leo", [adjudication_of("ma_1")], NOW)
        store.record_calls("leo", [RecordedCall("tc_1", "s1", -1, ToolCall("read"), NOW)], NOW)
        store.put_shown("leo", {b"0123456789"}, NOW)
        store.put_hold("leo", Hold(id="ho_1", by="operator/x", at=NOW, reason="a claim"), NOW)
        sql("insert into forgotten (patient, version, at) values ('leo', 9, 't')")
        store.put_entry(guideline(document="en_1"), NOW, document=file())
        store.put_entry(summary("leo"), NOW)
        store.refuse_entry(guideline().subject, "g", b"{}", refused=True)
        column = {
            "rereadings": "at",
            "relearnings": "at",
            "shown_words": "patient",
            "forgotten": "at",
            "entry_refusals": "entry",
        }.get(table, "id")
        store.put_relation(relation_of("rl_1"))
    before = sql(f"select * from {table}")
    assert before
    with pytest.raises(Exception, match=f"{table} is append only"):
        sql(f"update {table} set {column} = 'y'")
    assert sql(f"select * from {table}") == before


def shape(sql: Sql, dialect: str) -> list[tuple[Any, ...]]:
    """Everything the catalogue knows of a schema."""
    if dialect == "sqlite":
        return sql("select type, name, tbl_name, sql from sqlite_master order by type, name")
    return [
        *sql(
            "select table_name, column_name, ordinal_position, data_type, is_nullable, column_default, collation_name "
            "from information_schema.columns where table_schema = 'public' order by 1, 3"
        ),
        *sql(
            "select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint "
            "where connamespace = 'public'::regnamespace order by 1, 2"
        ),
        *sql("select tablename, indexname, indexdef from pg_indexes where schemaname = 'public' order by 1, 2"),
        *sql("select tgname, pg_get_triggerdef(oid) from pg_trigger where not tgisinternal order by 1"),
        *sql("select proname, prosrc from pg_proc where pronamespace = 'public'::regnamespace order by 1"),
    ]


@pytest.fixture
def empty(databases: Any, sql: Sql) -> Callable[[], Database]:
    """An empty database, opened without its schema; each call empties it again."""

    def open_empty() -> Database:
        if databases.dialect == "sqlite":
            for file in Path(databases.url()).parent.glob("main.db*"):
                if file.is_file():
                    file.unlink()
            return SqliteDatabase(databases.url(), QUERIES["sqlite"])
        databases.url()
        sql("drop schema public cascade")
        sql("create schema public")
        return PostgresDatabase(databases.url(), QUERIES["postgres"])

    return open_empty


def test_the_migrations_reach_the_schema(databases: Any, empty: Callable[[], Database], sql: Sql) -> None:
    database = empty()
    database.migrate([schema()])
    database.close()
    written = shape(sql, databases.dialect)
    database = empty()
    for count in range(1, len(migrations()) + 1):
        database.migrate(migrations()[:count])
        assert sql("select version from schema_version") == [(count,)]
    database.migrate(migrations())
    database.close()
    assert len(written) > 20
    # SQLite lists triggers and tables by name, so the order of the migrations does not matter.
    assert shape(sql, databases.dialect) == written


def test_a_database_that_is_behind_is_brought_up_to_date_with_what_it_holds(
    databases: Any, empty: Callable[[], Database], sql: Sql
) -> None:
    database = empty()
    database.migrate(migrations()[:1])
    database.close()
    sql("insert into tombstones (mark, erased_at) values ('m', 't')")
    store = databases.open()
    assert store.check()["schema"] == str(len(migrations()))
    assert sql("select mark from tombstones") == [("m",)]
    assert store.audit_verify() == []


def test_what_was_stored_before_documents_could_be_read_again_counts_as_first_read(
    databases: Any, empty: Callable[[], Database], sql: Sql
) -> None:
    database = empty()
    database.migrate(migrations()[:4])
    database.close()
    sql("insert into patients values ('leo', 't', 't', 1, 1, :key)", key=b"k")
    sql("insert into documents values ('leo', 'en_1', 1, 't', :head, :body)", head=b"h", body=b"b")
    sql("insert into statements values ('leo', 'st_1', 1, 'condition', 'ccda/1', :body)", body=b"s")
    sql("insert into passages values ('leo', 'ps_1', 1, 'ccda/1', :body)", body=b"p")
    sql("insert into sightings values ('leo', 'si_1', 1, 'st_1', 'en_1', 't', :body)", body=b"w")
    databases.open()
    assert sql("select id, rereading, sequence, kind, reader from statements") == [
        ("st_1", 0, 1, "condition", "ccda/1")
    ]
    assert sql("select id, rereading, sequence, reader from passages") == [("ps_1", 0, 1, "ccda/1")]
    assert sql("select id, rereading, item, document from sightings") == [("si_1", 0, "st_1", "en_1")]
    for table, held in (("statements", b"s"), ("passages", b"p"), ("sightings", b"w")):
        assert [bytes(body) for (body,) in sql(f"select body from {table}")] == [held]
        with pytest.raises(Exception, match=f"{table} is append only"):
            sql(f"update {table} set id = 'y'")


def test_a_database_from_a_newer_iamata_is_left_alone(databases: Any, make_store: Any, sql: Sql) -> None:
    make_store().close()
    sql("update schema_version set version = 99")
    with pytest.raises(Unavailable, match="upgrade iamata"):
        open_store(databases.url(), keys=FileKeyStore(databases.keys_path()))


def test_a_migration_that_fails_leaves_the_database_as_it_was(
    databases: Any, empty: Callable[[], Database], sql: Sql
) -> None:
    database = empty()
    database.migrate(migrations()[:1])
    before = shape(sql, databases.dialect)
    with pytest.raises(Exception, match="nowhere"):
        database.migrate([migrations()[0], "create table half (a bigint);\ninsert into nowhere values (1);\n"])
    database.close()
    assert shape(sql, databases.dialect) == before


def test_a_schema_text_that_ends_within_a_statement_is_refused() -> None:
    with pytest.raises(ValueError, match="ends within"):
        cut("create table a (\n  b text\n", lambda table: [])


def test_a_search_for_remains_opens_every_column_that_is_sealed() -> None:
    sealed = {
        name for name in ONE_PATIENT_TABLES if re.search(r"^  (?:body|head|failure) blob", TABLES[name]["body"], re.M)
    }
    assert set(LOOKED) == sealed | {"relations"}  # of a patient, and asked for by principal too

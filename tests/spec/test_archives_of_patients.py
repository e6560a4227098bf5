"""A patient, or everything, leaves as an archive and comes in elsewhere as what it was: same ids, same graph.

Every chapter runs on SQLite and PostgreSQL; that both give the same archive is told at the end.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spec_patients import HandClock, allergy, bundle, condition, order, result

from iamata import Engine
from iamata.errors import BadInput, Conflict, NotAllowed, NotFound
from iamata.model.access import Access, PrincipalKind
from iamata.model.archive import ArchiveKind, Manifest
from iamata.model.attribution import Attribution, AttributionKind, Author, Role
from iamata.model.entry import Entry, EntryDraft, EntryKind
from iamata.model.ruling import RulingKind
from iamata.model.scope import Scope, Subject, patient
from iamata.model.session import Speaker, ToolCall, Turn
from iamata.model.statement import Label
from iamata.store.moving import TABLES
from iamata.store.schema import schema

OpenEngine = Callable[..., Engine]


def archive_of(engine: Engine, patient: str | None = None) -> bytes:
    out = io.BytesIO()
    engine.export_archive(out, patient)
    return out.getvalue()


def lived_through(engine: Engine, clock: HandClock, patient: str = "p") -> None:
    """Records of two sources, talk, a tool call, rulings, a retraction, a hidden memory, words that were given out."""
    engine.ingest(patient, bundle(allergy("Penicillin"), condition("Asthma"), order("10 mg")), source="north")
    clock.wait(minutes=1)
    engine.ingest(patient, bundle(order("20 mg", id="m9"), result("Glucose", 99)), source="south")
    engine.ingest(patient, bundle(condition("Gout")), source="gone")
    clock.wait(minutes=1)
    engine.retract(patient, "gone")
    calls = (ToolCall("search", '{"q":"x"}', "none"),)
    engine.append(patient, "s1", [Turn(Speaker.PATIENT, "I stopped the lisinopril. I am worried about the cough.")])
    engine.append(patient, "s1", [Turn(Speaker.AGENT, "Thank you.", calls=calls)])
    graph = engine.graph(patient)
    engine.rule(patient, RulingKind.MEMORY_HIDDEN, next(iter(graph.memories)))
    statements = [s.id for s in graph.statements.values() if s.kind == "medication"]
    engine.rule(patient, RulingKind.NOT_SAME, *statements[:2])
    engine.read(f"/patient/{patient}/_index.md")


def same(left: Engine, right: Engine, patient: str = "p") -> None:
    a, b = left.graph(patient), right.graph(patient)
    assert a.hash == b.hash
    assert (a.facts, a.links, a.memories, a.conflicts) == (b.facts, b.links, b.memories, b.conflicts)
    assert (a.sightings, a.documents, a.sessions, a.hidden) == (b.sightings, b.documents, b.sessions, b.hidden)
    assert left.patient(patient).version == right.patient(patient).version
    for document in a.documents:
        assert left.document(patient, document) == right.document(patient, document)
    assert left.receipts(patient)[0] == right.receipts(patient)[0]


def parts(archive: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def repacked(changed: dict[str, bytes], *, mend_manifest: bool = False) -> io.BytesIO:
    """An archive of these files; the manifest made true of them if asked."""
    if mend_manifest:
        manifest = json.loads(changed["manifest.json"])
        for part in manifest["parts"]:
            body = changed.get(part["path"], b"")
            part |= {"sha256": sha256(body).hexdigest(), "size_bytes": len(body)}
            if part["path"].endswith(".ndjson"):
                part["rows"] = body.count(b"\n")
        changed = changed | {"manifest.json": json.dumps(manifest).encode()}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as writing:
        for name, body in changed.items():
            writing.writestr(name, body)
    return out


def test_a_patient_comes_in_elsewhere_as_what_it_was(open_engine: OpenEngine, clock: HandClock) -> None:
    here, there = open_engine(), open_engine("other")
    lived_through(here, clock)
    assert here.graph("p").hidden
    archive = archive_of(here, "p")
    moved = there.import_archive(io.BytesIO(archive))
    assert (moved.patients, moved.here_already, moved.entries) == (("p",), (), 0)
    same(here, there)
    assert there.tool_calls("p", "s1") == here.tool_calls("p", "s1")
    assert parts(archive_of(there, "p")) == parts(archive)


def test_what_is_sent_later_is_recognised_where_the_patient_went(open_engine: OpenEngine, clock: HandClock) -> None:
    here, there = open_engine(), open_engine("other")
    lived_through(here, clock)
    there.import_archive(io.BytesIO(archive_of(here, "p")))
    again = there.ingest("p", bundle(allergy("Penicillin"), condition("Asthma"), order("10 mg")), source="north")
    assert (again.staged.facts, again.staged.events) == (0, 0)
    for engine in (here, there):
        engine.ingest("p", bundle(condition("Eczema")), source="north")
        engine.append("p", "s1", [Turn(Speaker.PATIENT, "I am allergic to peanuts.")])
    assert here.graph("p").hash == there.graph("p").hash


def test_an_archive_says_what_was_received_in_files_that_people_can_open(engine: Engine, clock: HandClock) -> None:
    lived_through(engine, clock)
    out = io.BytesIO()
    manifest = engine.export_archive(out, "p")
    files = parts(out.getvalue())
    assert manifest.kind is ArchiveKind.AS_RECEIVED
    assert [patient.id for patient in manifest.patients] == ["p"]
    assert {part.path for part in manifest.parts} == files.keys() - {"manifest.json"}
    for part in manifest.parts:
        assert sha256(files[part.path]).hexdigest() == part.sha256
        assert len(files[part.path]) == part.size_bytes
    sent = bundle(allergy("Penicillin"), condition("Asthma"), order("10 mg"))
    assert sent in [body for name, body in files.items() if "/documents/" in name and name.endswith(".json")]
    heads = [json.loads(line)["head"] for line in files["patients/000001/documents.ndjson"].splitlines()]
    assert {head["source"] for head in heads} == {"north", "south", "gone"}
    assert all(head["received_at"].startswith("2026-02-15T10:0") for head in heads)
    assert json.loads(files["patients/000001/retractions.ndjson"])["body"] == "gone"
    turns = [json.loads(line)["body"]["turn"]["text"] for line in files["patients/000001/messages.ndjson"].splitlines()]
    assert sorted(turns) == ["I stopped the lisinopril. I am worried about the cough.", "Thank you."]


def test_the_same_state_gives_the_same_archive(engine: Engine, clock: HandClock) -> None:
    lived_through(engine, clock)
    assert archive_of(engine, "p") == archive_of(engine, "p")


def test_a_workspace_moves_all_patients_and_the_entries_of_other_scopes(
    open_engine: OpenEngine, clock: HandClock
) -> None:
    here, there = open_engine(), open_engine("other")
    lived_through(here, clock)
    here.ingest("q", bundle(condition("Migraine")), source="north")
    staff = Attribution(AttributionKind.USER, Author(Role.STAFF, display="front desk"), rule="given")
    for version in (1, 2):
        here.put_entry(
            Entry(
                id="fax",
                subject=Subject(Scope.ORGANIZATION, "clinic-a"),
                kind=EntryKind.STAFF_NOTE,
                version=version,
                title="Fax",
                text="Fax it, they lose mail.",
                attribution=staff,
                recorded_at=clock(),
            )
        )
    archive = archive_of(here)
    assert parts(archive)["subjects/000001/entry_versions.ndjson"].count(b"\n") == 2
    moved = there.import_archive(io.BytesIO(archive))
    assert (moved.patients, moved.entries) == (("p", "q"), 2)
    for id in ("p", "q"):
        same(here, there, id)
    subject = Subject(Scope.ORGANIZATION, "clinic-a")
    assert there.entries(subject) == here.entries(subject)
    assert parts(archive_of(there)) == parts(archive)


CLINIC = Subject(Scope.ORGANIZATION, "clinic-a")
LEE, BOT = Subject(Scope.OPERATOR, "dr-lee"), Subject(Scope.AGENT, "triage")


def with_entries(engine: Engine, clock: HandClock) -> None:
    """Entries of a file, in two versions and refused, what an agent inferred, and what was learned from many."""
    lived_through(engine, clock)
    draft = EntryDraft(subject=CLINIC, kind=EntryKind.GUIDELINE, title="Cough")
    engine.ingest_entry(draft, b"# Cough\n\nThink of lisinopril.\n", name="cough.md")
    engine.ingest_entry(draft, b"# Cough\n\nThink of asthma too.\n", name="cough.md")
    agent = Access(kind=PrincipalKind.AGENT, id="triage", on_behalf_of="dr-lee")
    inferred = EntryDraft(
        subject=patient("p"),
        kind=EntryKind.INFERENCE,
        title="Cough",
        text="May come from lisinopril.",
        derived_from=(min(engine.graph("p").facts),),
    )
    engine.put_entry(inferred, access=agent)
    asked = ToolCall("assemble_context", '{"patient_id":"x","task":"allergy_check"}')
    for id in ("p", *(f"x{number}" for number in range(6))):
        engine.put_patient(id)
        engine.record_calls(id, "calls", [asked, ToolCall("read_patient", '{"path":"/allergies/"}')], access=agent)
    engine.learn(organization="clinic-a", least_patients=5)
    pattern = engine.entries(CLINIC, kinds=[EntryKind.PATTERN])[0]
    engine.refuse_entry(CLINIC, pattern.id, reason="not so")


def test_entries_their_files_what_was_inferred_learned_and_refused_move_too(
    open_engine: OpenEngine, clock: HandClock
) -> None:
    here, there = open_engine(), open_engine("other")
    with_entries(here, clock)
    archive = archive_of(here)
    moved = there.import_archive(io.BytesIO(archive))
    assert moved.entries == sum(len(here.entries(s, history=True)) for s in (CLINIC, BOT, LEE))
    for subject in (CLINIC, BOT, LEE, patient("p")):
        assert here.entries(subject, history=True)
        assert there.entries(subject, history=True) == here.entries(subject, history=True)
    assert there.inferences("p") == here.inferences("p")
    guideline = here.entries(CLINIC, kinds=[EntryKind.GUIDELINE])[0]
    assert there.entry_document(CLINIC, guideline.document) == here.entry_document(CLINIC, guideline.document)
    draft = EntryDraft(subject=CLINIC, kind=EntryKind.GUIDELINE, title="Cough")
    again = there.ingest_entry(draft, b"# Cough\n\nThink of asthma too.\n", name="cough.md")
    assert again == guideline, "a file that is sent again is known under the same id"
    assert there.learn(organization="clinic-a", least_patients=5) == [], "what was refused stays so"
    assert parts(archive_of(there)) == parts(archive)
    assert there.import_archive(io.BytesIO(archive)).entries == 0
    assert parts(archive_of(there)) == parts(archive)
    there.delete_patient("p")
    assert there.entries(BOT) == [], "who is behind what was learned is known here too, and the others are too few"


def test_an_entry_that_is_here_with_other_words_stops_the_whole_archive(
    open_engine: OpenEngine, clock: HandClock
) -> None:
    here, there = open_engine(), open_engine("other")
    lived_through(here, clock)
    for engine, text in ((here, "Fax it."), (there, "Call them.")):
        engine.put_entry(
            EntryDraft(subject=CLINIC, kind=EntryKind.STAFF_NOTE, title="Fax", text="One.", id="fax"),
        )
        engine.put_entry(EntryDraft(subject=CLINIC, kind=EntryKind.STAFF_NOTE, title="Fax", text=text, id="fax"))
    with pytest.raises(Conflict, match="version 2 of entry 'fax' is here and says something else"):
        there.import_archive(io.BytesIO(archive_of(here)))
    assert there.patients()[0] == []
    assert [entry.text for entry in there.entries(CLINIC)] == ["Call them."]


def test_entries_are_taken_in_beside_others_of_the_same_clinic_under_its_own_key(
    open_engine: OpenEngine, clock: HandClock
) -> None:
    here, there = open_engine(), open_engine("other")
    with_entries(here, clock)
    there.put_entry(EntryDraft(subject=CLINIC, kind=EntryKind.STAFF_NOTE, title="Fax", text="Call.", id="fax"))
    there.import_archive(io.BytesIO(archive_of(here)))
    own = [entry for entry in there.entries(CLINIC, history=True) if entry.id != "fax"]
    assert own == here.entries(CLINIC, history=True)
    assert [entry.text for entry in there.entries(CLINIC, kinds=[EntryKind.STAFF_NOTE])] == ["Call."]


def test_taking_an_archive_in_again_changes_nothing(open_engine: OpenEngine, clock: HandClock) -> None:
    here, there = open_engine(), open_engine("other")
    lived_through(here, clock)
    archive = archive_of(here, "p")
    there.import_archive(io.BytesIO(archive))
    there.read("/patient/p/_index.md")  # leaves marks of its words
    there.append("p", "s2", [Turn(Speaker.PATIENT, "I have a rash.")])
    before = there.graph("p")
    moved = there.import_archive(io.BytesIO(archive))
    assert (moved.patients, moved.here_already) == ((), ("p",))
    assert there.graph("p").hash == before.hash
    assert there.patient("p").version == before.version


def test_a_patient_that_is_here_with_something_else_is_never_mixed(open_engine: OpenEngine, clock: HandClock) -> None:
    here, there = open_engine(), open_engine("other")
    lived_through(here, clock)
    there.ingest("p", bundle(condition("Gout")), source="other")
    before = there.graph("p").hash
    with pytest.raises(Conflict, match="holds something else"):
        there.import_archive(io.BytesIO(archive_of(here, "p")))
    assert there.graph("p").hash == before


def test_a_patient_of_the_same_id_under_another_key_is_another_patient(
    open_engine: OpenEngine, clock: HandClock
) -> None:
    here, there = open_engine(), open_engine("other")
    here.ingest("q", bundle(condition("Gout")), source="north")
    there.ingest("q", bundle(condition("Gout")), source="north")
    with pytest.raises(Conflict, match="another key"):
        there.import_archive(io.BytesIO(archive_of(here, "q")))


def test_who_was_erased_here_comes_back_only_if_that_is_asked_for(engine: Engine, clock: HandClock) -> None:
    lived_through(engine, clock)
    hash, archive = engine.graph("p").hash, archive_of(engine, "p")
    engine.delete_patient("p")
    with pytest.raises(Conflict, match="was erased here"):
        engine.import_archive(io.BytesIO(archive))
    with pytest.raises(NotFound):
        engine.graph("p")
    assert engine.import_archive(io.BytesIO(archive), even_erased=True).patients == ("p",)
    assert engine.graph("p").hash == hash


def test_what_waits_to_be_formed_is_formed_where_it_came_in(open_engine: OpenEngine, clock: HandClock) -> None:
    here, there = open_engine(), open_engine("other")
    here.append("p", "s1", [Turn(Speaker.PATIENT, "I am allergic to peanuts.")], form=False)
    archive = archive_of(here, "p")
    here.form_pending()
    there.import_archive(io.BytesIO(archive))
    assert there.graph("p").hash == here.graph("p").hash
    assert len(there.graph("p").memories) == 1


@pytest.mark.parametrize("damage", ["flip", "cut", "missing", "extra", "rows", "twice"])
def test_damage_is_told_with_the_part_and_nothing_comes_in(
    open_engine: OpenEngine, clock: HandClock, damage: str
) -> None:
    here, there = open_engine(), open_engine("other")
    lived_through(here, clock)
    here.ingest("q", bundle(condition("Migraine")), source="north")
    files = parts(archive_of(here))
    hit = "patients/000002/statements.ndjson"
    match damage:
        case "flip":
            files[hit] = files[hit].replace(b"Migraine", b"Migraina")
        case "cut":
            files[hit] = files[hit][:-20]
        case "missing":
            del files[hit]
        case "extra":
            hit = "patients/000002/more.ndjson"
            files[hit] = b"{}\n"
        case "rows":
            files[hit] += files[hit].splitlines(keepends=True)[0]
        case "twice":
            hit = "patients/000001/"
            manifest = json.loads(files["manifest.json"])
            manifest["patients"][1]["folder"] = manifest["patients"][0]["folder"]
            files["manifest.json"] = json.dumps(manifest).encode()
    with pytest.raises(BadInput) as caught:
        there.import_archive(repacked(files))
    assert caught.value.place.startswith(hit)
    assert there.patients() == ([], 0)
    assert "Migrain" not in str(caught.value)


def test_every_byte_that_changes_is_noticed_wherever_it_stands(open_engine: OpenEngine, clock: HandClock) -> None:
    here, there = open_engine(), open_engine("other")
    lived_through(here, clock)
    archive = archive_of(here, "p")
    step = max(1, len(archive) // 25)
    for at in range(0, len(archive), step):
        spoiled = bytearray(archive)
        spoiled[at] ^= 0xFF
        try:
            there.import_archive(io.BytesIO(bytes(spoiled)), even_erased=True)
        except BadInput:
            assert there.patients() == ([], 0)
        else:  # a byte that says nothing, such as a time in a header of the ZIP
            assert there.graph("p").hash == here.graph("p").hash
            there.delete_patient("p")


def test_rows_that_say_what_no_row_says_are_refused_though_the_manifest_is_true_of_them(
    open_engine: OpenEngine, clock: HandClock
) -> None:
    here, there = open_engine(), open_engine("other")
    here.ingest("q", bundle(condition("Migraine")), source="north")
    files = parts(archive_of(here, "q"))
    path = "patients/000001/statements.ndjson"

    def changed(old: bytes, new: bytes, at: str = path) -> io.BytesIO:
        assert old in files[at]
        return repacked(files | {at: files[at].replace(old, new)}, mend_manifest=True)

    for archive, what in (
        (changed(b'"scope":"patient","id":"q"', b'"scope":"patient","id":"z"'), "somebody else"),
        (changed(b'"sequence":1', b'"sequence":"1"'), "column sequence"),
        (changed(b'"sequence":1', b'"sequence":1,"more":1'), "columns of its table"),
        (changed(b'"kind":"condition",', b'"kind":"xyz",'), "cannot be read"),
        (changed(b'"received_at":"2026', b'"received_at":"x026', "patients/000001/sightings.ndjson"), "cannot be read"),
        (changed(b'"id":"q"', b'"id":"z"', "patients/000001/patient.json"), "not the patient"),
        (changed(b'"version": 1,', b'"version": 9,', "manifest.json"), "not of version 1"),
        (io.BytesIO(b"PK but no archive"), "damaged"),
        (repacked({"a.json": b"{}"}), "no manifest"),
        (repacked({"manifest.json": b'{"format":"other"}'}), "no archive of iamata"),
    ):
        with pytest.raises(BadInput, match=what):
            there.import_archive(archive)
        assert there.patients() == ([], 0)


def test_a_part_that_unpacks_to_far_more_than_it_is_is_refused(engine: Engine) -> None:
    engine.ingest("q", bundle(condition("Migraine")), source="north")
    files = parts(archive_of(engine, "q"))
    files["patients/000001/contexts.ndjson"] = b" " * 40_000_000
    manifest = json.loads(files["manifest.json"])
    manifest["parts"].append({"path": "patients/000001/contexts.ndjson", "sha256": "", "size_bytes": 1, "rows": 0})
    files["manifest.json"] = json.dumps(manifest).encode()
    with pytest.raises(BadInput) as caught:
        engine.import_archive(repacked(files))
    assert caught.value.place == "patients/000001/contexts.ndjson"


def test_archives_are_for_who_sees_everything(engine: Engine, clock: HandClock) -> None:
    lived_through(engine, clock)
    archive = archive_of(engine, "p")
    agent = Access(kind=PrincipalKind.AGENT, id="bot")
    withheld = Access(
        kind=PrincipalKind.OPERATOR, id="local", roles=("owner",), withheld=frozenset({Label("x", "PSY")})
    )
    only_q = Access(kind=PrincipalKind.OPERATOR, id="local", roles=("owner",), patients=frozenset({"q"}))
    for access in (agent, withheld):
        with pytest.raises(NotAllowed):
            engine.export_archive(io.BytesIO(), "p", access=access)
    with pytest.raises(NotFound):
        engine.export_archive(io.BytesIO(), "p", access=only_q)
    with pytest.raises(NotFound):
        engine.export_archive(io.BytesIO(), "nobody")
    for access in (agent, withheld, only_q):
        with pytest.raises(NotAllowed):
            engine.export_archive(io.BytesIO(), access=access)
        with pytest.raises(NotAllowed):
            engine.import_archive(io.BytesIO(archive), access=access)
    records = [r for r in engine.audit_records() if r.action in ("export_archive", "import_archive")]
    assert [r.allowed for r in records].count(True) == 1
    assert len(records) == 10


class Pipe(io.RawIOBase):
    """Somewhere to write to that cannot be read or rewound, as a socket is."""

    def __init__(self) -> None:
        self.got = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, chunk: Any) -> int:
        self.got += chunk
        return len(chunk)


def test_an_archive_is_written_to_what_cannot_be_rewound(open_engine: OpenEngine, clock: HandClock) -> None:
    here, there = open_engine(), open_engine("other")
    lived_through(here, clock)
    pipe = Pipe()
    here.export_archive(pipe, "p")  # type: ignore[arg-type]  # a RawIOBase is what ZipFile wants: write and no seek
    there.import_archive(io.BytesIO(bytes(pipe.got)))
    same(here, there)


words = st.sampled_from(["Asthma", "Gout", "Eczema", "Migraine", "Type 2 diabetes"])
steps = st.lists(
    st.one_of(
        st.tuples(st.just("condition"), words, st.sampled_from(["north", "south"])),
        st.tuples(st.just("order"), st.sampled_from(["5 mg", "10 mg"]), st.sampled_from(["north", "south"])),
        st.tuples(st.just("say"), words, st.just("")),
        st.tuples(st.just("retract"), st.just(""), st.sampled_from(["north", "south"])),
        st.tuples(st.just("reread"), st.just(""), st.just("")),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lived=steps)
def test_any_life_comes_out_as_the_same_graph(lived: list[tuple[str, str, str]]) -> None:
    clock = HandClock()
    with Engine.open(":memory:", clock=clock) as here, Engine.open(":memory:", clock=clock) as there:
        here.put_patient("p")
        for number, (what, word, source) in enumerate(lived):
            clock.wait(seconds=1)
            match what:
                case "condition":
                    here.ingest("p", bundle(condition(word, id=f"c{number}")), source=source)
                case "order":
                    here.ingest("p", bundle(order(word)), source=source)
                case "say":
                    here.append("p", f"s{number}", [Turn(Speaker.PATIENT, f"I have {word.lower()} since May.")])
                case "retract":
                    here.retract("p", source)
                case _:
                    here.reread("p")
        archive = archive_of(here, "p")
        there.import_archive(io.BytesIO(archive))
        same(here, there)
        assert parts(archive_of(there, "p")) == parts(archive)


def test_real_patients_of_every_format_come_out_as_the_same_graph(data: Path) -> None:
    clock = HandClock(datetime(2026, 11, 30, 12, tzinfo=UTC))
    kinds = ("synthea_r4_bundles/*.json", "ccda_hl7_examples/**/*.xml", "hl7v2_messages/**/*.hl7", "x12_claims/**/*.*")
    with Engine.open(":memory:", clock=clock) as here, Engine.open(":memory:", clock=clock) as there:
        sent = 0
        for kind in kinds:
            files = sorted((f for f in data.glob(kind) if f.is_file()), key=lambda f: (f.stat().st_size, f.name))
            for file in files[1:4]:
                try:
                    here.ingest(f"p{sent % 3}", file.read_bytes(), name=file.name, source=f"s{sent}")
                except BadInput:
                    continue
                sent += 1
        assert sent >= 8
        archive = archive_of(here)
        moved = there.import_archive(io.BytesIO(archive))
        for patient in moved.patients:
            assert here.graph(patient).facts
            same(here, there, patient)
        assert parts(archive_of(there)) == parts(archive)


def test_both_databases_write_the_same_archive_and_read_each_others(
    make_store: Callable[..., Any], postgres_template: str, tmp_path: Path
) -> None:
    from iamata.store import FileKeyStore, open_store

    store, clock, numbers = make_store("here"), HandClock(), iter(range(1000))
    store.keys.put("p", bytes(range(32)))
    here = Engine(store, store.keys, clock=clock, ids=lambda: f"{next(numbers):020x}")
    lived_through(here, clock)
    other = open_store(tmp_path / "elsewhere.db", keys=FileKeyStore(tmp_path / "elsewhere.keys"))
    with Engine(other, other.keys, clock=clock, ids=lambda: "") as there:
        archive = archive_of(here, "p")
        there.import_archive(io.BytesIO(archive))
        same(here, there)
        assert archive_of(there, "p") == archive


def test_every_table_of_a_patient_is_moved_with_all_its_columns() -> None:
    """A table that is added later is moved too, or named here with the reason."""
    not_moved = {"projections", "forgotten"}  # a cache: it is folded again; and what tells one from before an erasure
    elsewhere = {"patients": set()}  # patient.json
    tables = dict(re.findall(r"-- mark: one patient\n(?:-- .+\n)+create table (\w+) \(([^;]+)\n\);", schema()))
    assert tables.keys() == {table.name for table in TABLES} | not_moved | elsewhere.keys()
    for table in TABLES:
        columns = set(re.findall(r"^  (\w+) (?:text|bigint|blob)\b", tables[table.name], re.MULTILINE))
        bytes_of_documents = {"body"} if table.name == "documents" else set()
        assert columns == {"patient", *table.columns, *bytes_of_documents}, table.name
        sealed = set(re.findall(r"^  (\w+) blob\b", tables[table.name], re.MULTILINE)) - {"mark"}
        assert sealed == {body.column for body in table.bodies} | bytes_of_documents, table.name


def test_the_manifest_is_what_its_schema_says(engine: Engine, clock: HandClock) -> None:
    import msgspec

    lived_through(engine, clock)
    manifest = msgspec.json.decode(parts(archive_of(engine, "p"))["manifest.json"], type=Manifest)
    assert (manifest.format, manifest.version, manifest.made_at) == ("iamata-archive", 1, clock())

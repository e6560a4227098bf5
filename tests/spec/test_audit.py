"""Every verb leaves a record: who, for whom, why, about whom, what was decided and by which reason. Never content."""

from __future__ import annotations

import inspect
import io
import json
from collections.abc import Callable
from contextlib import closing
from typing import Any

import msgspec
import pytest
from spec_patients import NOW, HandClock, condition, order

from iamata import Access, BadInput, ContextRequest, Engine, IamataError, Speaker, Subject, Turn, patient
from iamata.engine.origin import came_through
from iamata.engine.talking import Talk
from iamata.engine.writing import Sent
from iamata.interfaces.wire import failures
from iamata.interfaces.wire.audits import audit_event, encoded
from iamata.model.access import PrincipalKind, Purpose
from iamata.model.attribution import Attribution, AttributionKind, Author, Role
from iamata.model.audit import AuditRecord, DoorName
from iamata.model.entry import Entry, EntryDraft, EntryKind
from iamata.model.erasure import Erasable
from iamata.model.relation import RelationKind
from iamata.model.ruling import RulingKind
from iamata.model.scope import Scope
from iamata.model.session import ToolCall

CANARY = "Zwyxbar"
CLINIC = Subject(Scope.ORGANIZATION, "clinic")
BOT = Subject(Scope.AGENT, "bot")
DOCTOR = Access(
    kind=PrincipalKind.OPERATOR,
    id="dr-lee",
    on_behalf_of="clinic",
    roles=("owner",),
    purpose=Purpose.OPERATIONS,
    patients=frozenset({"p", "q", "victim"}),
)
# These act for no reader: they open and close, form what was accepted and audited, and say how the engine is.
WITHOUT_RECORD = {"open", "close", "form_pending", "doctor"}
# Refused as a listing only, or not at all: there is nothing to hide in them.
NEVER_REFUSED = {"patients", "policy"}

# For all patients at once, and so of no single subject: see test_learning_practice.
OF_ALL = {"learn"}

# These ask a server first and then ingest, which is what is recorded: see tests/interfaces/test_cli_pull.py.
FETCHING = {"pull", "pull_export"}

RECORDED_AS = {
    "ingest_many": "ingest",
    "ingest_export": "ingest",
    "append_many": "append",
    "append_transcript": "append",
    "audit_page": "audit_records",
    "prove_erasure": "delete_patient",
}

Call = Callable[[Engine, Access], Any]


def entry() -> Entry:
    staff = Attribution(AttributionKind.USER, Author(Role.STAFF, display=CANARY), rule="entered")
    return Entry(
        id="e",
        subject=CLINIC,
        kind=EntryKind.STAFF_NOTE,
        version=1,
        title=CANARY,
        text=CANARY,
        attribution=staff,
        recorded_at=NOW,
    )


def record() -> bytes:
    named = {"resourceType": "Patient", "id": "p", "name": [{"family": CANARY}], "birthDate": "2001-02-03"}
    held = [named, condition(CANARY), order(f"10 mg {CANARY}", note=[{"text": CANARY}])]
    return json.dumps({"resourceType": "Bundle", "entry": [{"resource": r} for r in held]}).encode()


def exported() -> bytes:
    return json.dumps({"resourceType": "Patient", "id": "p", "name": [{"family": CANARY}]}).encode() + b"\n"


# Verb → (a call of it, the subject of its record)
VERBS: dict[str, tuple[Call, str]] = {
    "put_patient": (lambda e, a: e.put_patient("q", access=a), "patient/q"),
    "ingest": (lambda e, a: e.ingest("p", record(), name=CANARY, access=a), "patient/p"),
    "ingest_many": (lambda e, a: e.ingest_many("p", [Sent(record()), Sent(exported())], access=a), "patient/p"),
    # An export is taken in patient by patient, and recorded so.
    "ingest_export": (lambda e, a: e.ingest_export([(CANARY, exported())], source=CANARY, access=a), "patient/p"),
    "append": (lambda e, a: e.append("p", "s", [Turn(Speaker.PATIENT, f"I have {CANARY}.")], access=a), "patient/p"),
    "append_many": (
        lambda e, a: e.append_many(
            "p",
            [Talk("t", [Turn(Speaker.PATIENT, f"I have {CANARY}.")]), Talk("u", [Turn(Speaker.PATIENT, "Hello.")])],
            access=a,
        ),
        "patient/p",
    ),
    "append_transcript": (
        lambda e, a: e.append_transcript("p", f"patient: I have {CANARY}.".encode(), session="v", access=a),
        "patient/p",
    ),
    "record_calls": (lambda e, a: e.record_calls("p", "s", [ToolCall(CANARY, CANARY, CANARY)], access=a), "patient/p"),
    "tool_calls": (lambda e, a: e.tool_calls("p", "s", access=a), "patient/p"),
    "memories": (lambda e, a: e.memories("p", query=CANARY, access=a), "patient/p"),
    "threads": (lambda e, a: e.threads("p", access=a), "patient/p"),
    "link_history": (lambda e, a: e.link_history("p", a_memory(e), access=a), "patient/p"),
    "rulings": (lambda e, a: e.rulings("p", access=a), "patient/p"),
    "shown": (lambda e, a: e.shown("p", CANARY, access=a), "patient/p"),
    "put_entry": (lambda e, a: e.put_entry(entry(), access=a), "organization/clinic"),
    "ingest_entry": (
        lambda e, a: e.ingest_entry(
            EntryDraft(subject=CLINIC, kind=EntryKind.GUIDELINE, title=CANARY),
            f"# {CANARY}\n\n{CANARY}.".encode(),
            name=f"{CANARY}.md",
            access=a,
        ),
        "organization/clinic",
    ),
    "refuse_entry": (lambda e, a: e.refuse_entry(BOT, "c", reason=CANARY, access=a), "agent/bot"),
    "inferences": (lambda e, a: e.inferences("p", access=a), "patient/p"),
    "entry": (lambda e, a: e.entry(CLINIC, "e", access=a), "organization/clinic"),
    "entry_document": (lambda e, a: e.entry_document(CLINIC, a_file(e), access=a), "organization/clinic"),
    "explain_entry": (lambda e, a: e.explain_entry(CLINIC, "e", access=a), "organization/clinic"),
    "patients": (lambda e, a: e.patients(access=a), ""),
    "patient": (lambda e, a: e.patient("p", access=a), "patient/p"),
    "graph": (lambda e, a: e.graph("p", access=a), "patient/p"),
    "browse": (lambda e, a: e.browse("/patient/p/conditions", access=a), "patient/p"),
    "read": (lambda e, a: e.read("/patient/p/conditions", access=a), "patient/p"),
    "search": (lambda e, a: e.search(patient("p"), CANARY, access=a), "patient/p"),
    "did_you_mean": (lambda e, a: e.did_you_mean(patient("p"), CANARY, access=a), "patient/p"),
    "context": (
        lambda e, a: e.context(
            ContextRequest(subjects=(patient("p"), CLINIC), task="general", budget_tokens=500, query=CANARY), access=a
        ),
        "patient/p",
    ),
    "explain": (lambda e, a: e.explain("p", only_condition(e), access=a), "patient/p"),
    "rule": (
        lambda e, a: e.rule("p", RulingKind.VALUE_IS_RIGHT, a_statement(e), field=CANARY, reason=CANARY, access=a),
        "patient/p",
    ),
    "withdraw_ruling": (lambda e, a: e.withdraw_ruling("p", a_ruling(e), reason=CANARY, access=a), "patient/p"),
    "adjudicate": (lambda e, a: e.adjudicate("p", access=a), "patient/p"),
    "review": (lambda e, a: e.review("p", access=a), "patient/p"),
    "conflicts": (lambda e, a: e.conflicts("p", access=a), "patient/p"),
    "report": (lambda e, a: e.report("p", since=NOW, access=a), "patient/p"),
    "receipts": (lambda e, a: e.receipts("p", access=a), "patient/p"),
    "receipt": (lambda e, a: e.receipt("p", e.receipts("p")[0][0].id, access=a), "patient/p"),
    "session": (lambda e, a: e.session("p", "s", access=a), "patient/p"),
    "document": (lambda e, a: e.document("p", next(iter(e.graph("p").documents)), access=a), "patient/p"),
    "entries": (lambda e, a: e.entries(CLINIC, access=a), "organization/clinic"),
    "set_hold": (lambda e, a: e.set_hold("q", CANARY, access=a), "patient/q"),
    "lift_hold": (lambda e, a: e.lift_hold("q", a_hold(e), CANARY, access=a), "patient/q"),
    "holds": (lambda e, a: e.holds("q", access=a), "patient/q"),
    "erase": (lambda e, a: e.erase("p", Erasable.SESSION, a_session(e), access=a), "patient/p"),
    "prove_erasure": (lambda e, a: e.prove_erasure(a_victim(e), words=(CANARY,), access=a), "patient/victim"),
    "erasures": (lambda e, a: e.erasures(access=a), ""),
    "retention_preview": (lambda e, a: e.retention_preview("p", access=a), "patient/p"),
    "retention_apply": (lambda e, a: e.retention_apply("p", access=a), "patient/p"),
    "verify_erasure": (lambda e, a: e.verify_erasure(access=a), ""),
    "audit_records": (lambda e, a: e.audit_records(access=a), ""),
    "audit_page": (lambda e, a: e.audit_page(access=a), ""),
    "audit_checkpoint": (lambda e, a: e.audit_checkpoint(access=a), ""),
    "audit_export": (lambda e, a: list(e.audit_export(access=a)), ""),
    "audit_verify": (lambda e, a: e.audit_verify(access=a), ""),
    "relate": (
        lambda e, a: e.relate("p", "operator/x", RelationKind.CARE_TEAM, reason=CANARY, access=a),
        "patient/p",
    ),
    "end_relation": (lambda e, a: e.end_relation("p", a_relation(e), access=a), "patient/p"),
    "relations": (lambda e, a: e.relations("p", access=a), "patient/p"),
    "break_glass": (lambda e, a: e.break_glass("p", CANARY, access=a), "patient/p"),
    "broken_glass": (lambda e, a: e.broken_glass(access=a), ""),
    "policy": (lambda e, a: e.policy(access=a), ""),
    "explain_policy": (lambda e, a: e.explain_policy("operator/x", "read", patient("p"), access=a), "patient/p"),
    "retire_entry": (lambda e, a: e.retire_entry(CLINIC, "e", reason=CANARY, access=a), "organization/clinic"),
    "erase_entry": (lambda e, a: e.erase_entry(CLINIC, a_written_entry(e), access=a), "organization/clinic"),
    "reread": (lambda e, a: e.reread("p", access=a), "patient/p"),
    "retract": (lambda e, a: e.retract("p", CANARY, access=a), "patient/p"),
    "export_fhir": (lambda e, a: e.export_fhir("p", access=a), "patient/p"),
    "summary": (lambda e, a: e.summary("p", access=a), "patient/p"),
    "export_archive": (lambda e, a: e.export_archive(io.BytesIO(), "p", access=a), "patient/p"),
    "import_archive": (lambda e, a: e.import_archive(an_archive(e), access=a), ""),
    "delete_patient": (lambda e, a: e.delete_patient("p", access=a), "patient/p"),
    "delete_subject": (lambda e, a: e.delete_subject(BOT, access=a), "agent/bot"),
}


def only_condition(engine: Engine) -> str:
    return next(fact.id for fact in engine.graph("p").facts.values() if fact.kind == "condition")


def a_file(engine: Engine) -> str:
    return next(each.document for each in engine.entries(CLINIC) if each.document)


def a_written_entry(engine: Engine) -> str:
    """One that is written to be erased."""
    text = f"{CANARY} {len(engine.audit_records(per_page=1000))}"
    draft = EntryDraft(subject=CLINIC, kind=EntryKind.POLICY, title=CANARY, text=text)
    return engine.put_entry(draft).id


def a_statement(engine: Engine) -> str:
    return min(engine.graph("p").statements)


def a_memory(engine: Engine) -> str:
    if not engine.graph("p").memories:
        engine.append("p", "w", [Turn(Speaker.PATIENT, "I stopped lisinopril.")])
    return min(engine.graph("p").memories)


def an_archive(engine: Engine) -> io.BytesIO:
    out = io.BytesIO()
    engine.export_archive(out, "p")
    return out


def a_ruling(engine: Engine) -> str:
    return engine.rule("p", RulingKind.NOT_THIS_PATIENT, a_statement(engine)).id


def a_hold(engine: Engine) -> str:
    engine.put_patient("q")
    return engine.set_hold("q", CANARY).id


def a_session(engine: Engine) -> str:
    name = f"erased-{len(engine.audit_records(per_page=1000))}"
    engine.append("p", name, [Turn(Speaker.PATIENT, f"I have {CANARY}.")])
    return name


def a_victim(engine: Engine) -> str:
    engine.put_patient("victim")
    return "victim"


def a_relation(engine: Engine) -> str:
    return engine.relate("p", "operator/x", RelationKind.PROXY).id


def records(engine: Engine, by: str) -> list[AuditRecord]:
    """Newest first, those of one principal."""
    return [r for r in engine.audit_records(per_page=1000) if r.principal == by]


@pytest.fixture
def filled(engine: Engine, clock: HandClock) -> Engine:
    for verb in ("ingest", "append", "put_entry", "ingest_entry"):
        VERBS[verb][0](engine, Access.local())
    engine.put_entry(EntryDraft(subject=BOT, kind=EntryKind.CUE, title=CANARY, text=CANARY, id="c"))
    clock.wait(minutes=1)
    return engine


def test_every_verb_is_called_here() -> None:
    verbs = {name for name, _ in inspect.getmembers(Engine, inspect.isroutine) if not name.startswith("_")}
    assert verbs == VERBS.keys() | WITHOUT_RECORD | FETCHING | OF_ALL


def test_every_verb_leaves_a_record_of_who_why_about_whom_and_what_was_decided(
    filled: Engine, clock: HandClock
) -> None:
    for name, (call, subject) in VERBS.items():
        if name in ("put_entry", "import_archive"):
            continue  # the entry is there already, an archive is of no one patient: see the next tests
        before = len(records(filled, "operator/dr-lee"))
        call(filled, DOCTOR)
        mine = records(filled, "operator/dr-lee")
        assert len(mine) == before + 1, name
        newest = mine[0]
        assert (newest.action, newest.subject, newest.at) == (RECORDED_AS.get(name, name), subject, clock.now)
        assert (newest.on_behalf_of, newest.purpose, newest.allowed) == ("clinic", "HOPERAT", True), name
        assert newest.reasons, name


def test_a_written_entry_is_recorded_with_its_id(engine: Engine) -> None:
    VERBS["put_entry"][0](engine, DOCTOR)
    [written] = records(engine, "operator/dr-lee")
    assert (written.action, written.subject, written.items) == ("put_entry", "organization/clinic", ("e",))


def test_an_archive_that_was_taken_in_is_recorded_with_its_patients(filled: Engine, open_engine: Any) -> None:
    owner = msgspec.structs.replace(DOCTOR, patients=None)
    there = open_engine("there")
    there.import_archive(an_archive(filled), access=owner)
    [taken] = [r for r in records(there, "operator/dr-lee") if r.allowed]
    assert (taken.action, taken.subject, taken.items) == ("import_archive", "", ("p",))


def test_every_refusal_is_recorded_with_its_reason(filled: Engine) -> None:
    nobody = Access(kind=PrincipalKind.AGENT, id="bot", patients=frozenset(), may_write=False)
    for name, (call, subject) in VERBS.items():
        if name in NEVER_REFUSED | {"entries", "entry", "entry_document", "explain_entry"}:
            continue
        before = len(records(filled, "agent/bot"))
        with pytest.raises(IamataError):
            call(filled, nobody)
        if name == "explain_policy":  # refused before it is looked at whom it is about
            subject = ""
        mine = records(filled, "agent/bot")
        assert len(mine) == before + 1, name
        assert (mine[0].action, mine[0].subject, mine[0].allowed) == (RECORDED_AS.get(name, name), subject, False), name
        assert mine[0].reasons in (
            ("principal-may-not-write",),
            ("operators-decide",),
            ("no-relation-to-patient",),
            ("audit-is-read-by-owners",),
            ("archives-are-for-owners",),
            ("not-of-this-role",),
        ), name


def test_what_was_served_is_recorded_by_id(filled: Engine) -> None:
    [condition_id] = {only_condition(filled)}
    member = filled.graph("p").facts[condition_id].members[0]
    filled.read("/patient/p/conditions", access=DOCTOR)
    assert member in records(filled, "operator/dr-lee")[0].items
    hits = filled.search(patient("p"), CANARY, access=DOCTOR)
    assert condition_id in [hit.item for hit in hits]
    assert records(filled, "operator/dr-lee")[0].items == tuple(hit.item for hit in hits)


def test_no_record_holds_patient_content(filled: Engine) -> None:
    """Names, diagnoses, doses, questions, paths with words in them: a unique word stands in all of them."""
    for name, (call, _) in VERBS.items():
        if name not in ("put_entry", "retire_entry", "delete_patient", "import_archive"):
            call(filled, DOCTOR)
    filled.browse(f"/patient/p/conditions/active/{CANARY.lower()}-{only_condition(filled)[-4:]}/", access=DOCTOR)
    for wrong in (f"/patient/p/{CANARY}", f"/patient/p/{CANARY}/../x"):
        with pytest.raises(IamataError):
            filled.read(wrong, access=DOCTOR)
    with pytest.raises(IamataError):
        filled.explain("p", CANARY, access=DOCTOR)
    with pytest.raises(BadInput):
        filled.ingest("p", b"\0" + CANARY.encode(), access=DOCTOR)
    everything = repr(filled.audit_records(per_page=1000))
    assert len(everything) > 1000
    assert CANARY.lower() not in everything.lower()
    assert "2001-02-03" not in everything


def test_a_write_is_recorded_before_its_answer_leaves(filled: Engine, open_engine: Any) -> None:
    """Somebody else who looks at the database finds the record at once."""
    for name, (call, _) in VERBS.items():
        if name in (
            "rule",
            "withdraw_ruling",
            "adjudicate",
            "put_patient",
            "ingest_entry",
            "retire_entry",
            "ingest",
            "append",
            "reread",
            "retract",
            "delete_patient",
        ):
            with closing(open_engine()) as elsewhere:
                call(filled, DOCTOR)
                assert records(elsewhere, "operator/dr-lee")[0].action == name


def test_records_can_be_asked_for_by_subject_newest_first(filled: Engine, clock: HandClock) -> None:
    filled.patient("p")
    clock.wait(minutes=1)
    filled.conflicts("p")
    mine = filled.audit_records(subject="patient/p")
    assert [r.action for r in mine[:2]] == ["conflicts", "patient"]
    assert {r.subject for r in mine} == {"patient/p"}
    assert filled.audit_records(subject="patient/q") == []


def test_the_log_outlives_the_patient_and_stays_whole(filled: Engine) -> None:
    filled.delete_patient("p", access=DOCTOR)
    assert records(filled, "operator/dr-lee")[0].action == "delete_patient"
    assert filled.audit_records(subject="patient/p")[-1].action == "ingest"
    assert filled.doctor()["audit"] == "whole"


def test_no_verb_lets_patient_content_into_a_log_an_error_or_the_exported_log(
    filled: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    """Every verb is called with the canary in what it is given, then again so that it fails; everything that was
    logged, raised and recorded is looked through. There are no metrics yet."""
    caplog.set_level(0)
    nobody = Access(kind=PrincipalKind.AGENT, id="bot", patients=frozenset(), may_write=False)
    told: list[str] = []
    for name, (call, _) in VERBS.items():
        for access in (DOCTOR, nobody) if name not in ("put_entry", "delete_patient") else (nobody,):
            try:
                call(filled, access)
            except IamataError as error:
                told += [str(error), repr(error.args)]
    for wrong in (
        lambda: filled.explain("p", CANARY),
        lambda: filled.document("p", CANARY),
        lambda: filled.session("p", CANARY),
        lambda: filled.ingest("p", b"{" + CANARY.encode()),
        lambda: filled.append_transcript("p", f"{CANARY}: {CANARY}".encode(), session="w"),
        lambda: filled.rule("p", RulingKind.SAME, CANARY, CANARY),
    ):
        with pytest.raises(IamataError) as error:
            wrong()
        told.append(failures.message(error.value))
    exported = b"".join(filled.audit_export()).decode()
    events = "".join(encoded(audit_event(each)) for each in filled.audit_records(per_page=1000))
    everything = "\n".join([*told, caplog.text, exported, events, str(filled.doctor())]).lower()
    assert len(everything) > 10_000
    assert CANARY.lower() not in everything
    assert "2001-02-03" not in everything


def test_a_record_says_its_class_and_through_which_door_it_came(filled: Engine) -> None:
    for name, (call, _) in VERBS.items():
        if name not in ("put_entry", "import_archive"):
            call(filled, DOCTOR)
            newest = records(filled, "operator/dr-lee")[0]
            assert newest.door == "python", name
            assert newest.act == CLASSES.get(newest.action, "read"), name
    filled.learn()
    cue = EntryDraft(subject=BOT, kind=EntryKind.CUE, title="Look", text="At labs.")
    filled.put_entry(cue, access=Access(kind=PrincipalKind.AGENT, id="bot"))
    assert [(each.action, each.act) for each in filled.audit_records(per_page=2)] == [
        ("put_entry", "learn"),
        ("learn", "learn"),
    ]
    with came_through(DoorName.HTTP, "request-7"):
        filled.put_patient("q")
    [record] = filled.audit_records(per_page=1)
    assert (record.door, record.request) == ("http", "request-7")


CLASSES = {
    **dict.fromkeys(("put_patient", "ingest", "append", "record_calls", "reread", "retract", "put_entry"), "write"),
    **dict.fromkeys(("ingest_entry", "retire_entry"), "write"),
    **dict.fromkeys(("rule", "withdraw_ruling", "adjudicate", "set_hold", "lift_hold", "refuse_entry"), "decide"),
    **dict.fromkeys(("relate", "end_relation"), "decide"),
    "break_glass": "break-glass",
    **dict.fromkeys(("audit_records", "audit_checkpoint", "audit_export", "audit_verify"), "audit"),
    **dict.fromkeys(("erasures", "verify_erasure", "retention_preview"), "audit"),
    **dict.fromkeys(("delete_patient", "erase", "delete_subject", "erase_entry", "retention_apply"), "erase"),
    **dict.fromkeys(("export_archive", "import_archive"), "move"),
}

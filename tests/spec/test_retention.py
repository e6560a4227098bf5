"""Retention: what the policy says is due, by which rule; nothing else goes, and nothing that a hold keeps."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from spec_patients import HandClock, bundle, condition

from iamata import Access, ContextRequest, Engine, Gone, InvalidValue, NotFound, Speaker, Subject, Turn, patient
from iamata.errors import Unavailable
from iamata.model.access import PrincipalKind
from iamata.model.entry import EntryDraft, EntryKind
from iamata.model.erasure import Erasable
from iamata.model.scope import Scope
from iamata.model.session import ToolCall
from iamata.model.statement import Label
from iamata.policy.retention import Item, Policy, Rule, read_policy, shipped

OpenEngine = Callable[..., Engine]
FORM = {
    "resourceType": "QuestionnaireResponse",
    "id": "q1",
    "status": "completed",
    "subject": {"reference": "Patient/p"},
    "source": {"reference": "Patient/p"},
    "item": [{"linkId": "1", "text": "Any pain?", "answer": [{"valueString": "In the knee."}]}],
}


def rule(kind: str, attribution: str = "any", *, days: int = 30, id: str = "") -> str:
    return (
        f'[[rule]]\nid = "{id or kind + attribution}"\nscope = "patient"\nattribution = "{attribution}"\n'
        f'class = "{kind}"\nkeep_days = {days}\nsource = "a test"\nreview = "the privacy office"\non = true\n'
    )


def with_policy(engine: Engine, *rules: str) -> Engine:
    engine._retention = read_policy("\n".join(rules), "policy.toml")
    return engine


def due(engine: Engine, patient: str | None = None) -> list[tuple[str, str, str]]:
    return [(each.patient, each.kind.value, each.rule) for each in engine.retention_preview(patient)]


@pytest.fixture
def filled(engine: Engine, clock: HandClock) -> Engine:
    engine.ingest("p", bundle(condition("Asthma")), source="one")
    engine.append("p", "s", [Turn(Speaker.PATIENT, "I stopped taking lisinopril.")])
    engine.put_patient("q")
    clock.wait(days=20)
    engine.ingest("p", bundle(condition("Gout", id="c2")), source="one")
    clock.wait(days=15)
    return engine


def test_without_a_policy_nothing_is_ever_due(filled: Engine, clock: HandClock) -> None:
    clock.wait(days=40_000)
    assert due(filled) == []
    assert not any(rule.on for rule in shipped().rules)
    assert {rule.review for rule in shipped().rules} == {"unreviewed"}
    done = filled.retention_apply()
    assert (done.erased, done.kept) == ((), ())


def test_the_preview_says_what_would_go_and_why_and_changes_nothing(filled: Engine) -> None:
    with_policy(filled, rule("document"), rule("memory", "user-reported", days=10))
    before = (filled.graph("p").hash, filled.patient("p"), filled.erasures())
    [document, memory] = filled.retention_preview()
    assert (document.kind, document.rule, document.source) == (Erasable.DOCUMENT, "documentany", "a test")
    assert (document.until - document.since).days == 30
    assert (memory.kind, memory.rule) == (Erasable.MEMORY, "memoryuser-reported")
    assert (filled.graph("p").hash, filled.patient("p"), filled.erasures()) == before


def test_applying_erases_what_was_previewed_with_a_receipt_that_names_the_rule(
    filled: Engine, clock: HandClock
) -> None:
    with_policy(filled, rule("document"), rule("session", days=35))
    previewed = filled.retention_preview()
    assert [each.kind for each in previewed] == [Erasable.DOCUMENT, Erasable.SESSION]
    done = filled.retention_apply()
    assert sorted(receipt.by for receipt in done.erased) == ["retention/documentany", "retention/sessionany"]
    assert due(filled) == []
    graph = filled.graph("p")
    assert len(graph.documents) == 1
    assert graph.memories == {}
    with pytest.raises(Gone):
        filled.session("p", "s")
    [record] = [each for each in filled.audit_records() if each.action == "retention_apply" and not each.subject]
    assert set(record.items) == {receipt.id for receipt in done.erased}


def test_a_document_is_kept_as_long_as_the_longest_rule_of_those_who_speak_in_it(
    engine: Engine, clock: HandClock
) -> None:
    engine.ingest("p", bundle(condition("Asthma"), FORM), source="one")
    said = {a.kind.value for a in engine.graph("p").attributions.values()}
    assert {"system-reported", "user-reported"} <= said
    clock.wait(days=50)
    with_policy(engine, rule("document", "system-reported", days=10))
    assert due(engine) == [], "what a patient said has no period"
    others = [rule("document", kind, days=10) for kind in sorted(said - {"user-reported"})]
    with_policy(engine, *others, rule("document", "user-reported", days=60))
    assert due(engine) == []
    clock.wait(days=10)
    assert due(engine) == [("p", "document", "documentuser-reported")]


def test_a_hold_wins_over_retention_and_is_named(filled: Engine) -> None:
    with_policy(filled, rule("patient", days=1), rule("document"))
    hold = filled.set_hold("p", "a claim")
    assert {each.held for each in filled.retention_preview("p")} == {(hold.id,)}
    done = filled.retention_apply()
    assert [each.kind.value for each in done.kept] == ["patient", "document"]
    assert [receipt.kind.value for receipt in done.erased] == ["patient"], "q, on whom no hold stands"
    assert [row.id for row in filled.patients()[0]] == ["p"]
    filled.lift_hold("p", hold.id, "settled")
    assert [receipt.kind.value for receipt in filled.retention_apply().erased] == ["patient"]
    assert filled.patients()[1] == 0


def test_of_one_patient_only_that_patient_is_judged(filled: Engine) -> None:
    with_policy(filled, rule("patient", days=1))
    assert due(filled, "q") == [("q", "patient", "patientany")]
    assert [each[0] for each in due(filled)] == ["p", "q"]
    with pytest.raises(NotFound):
        filled.retention_preview("nobody")


# ------------------------------------------------------------------------------------------------- the policy itself


def test_years_end_on_the_same_day_also_of_a_leap_year() -> None:
    policy = Policy(
        (
            Rule(
                id="r",
                scope="patient",  # type: ignore[arg-type]  # a text that the enum equals
                attribution="any",
                kind=Erasable.SESSION,
                days=0,
                years=7,
                source="s",
                review="r",
                on=True,
            ),
        )
    )
    for since, until in (("2020-02-29", "2027-03-01"), ("2019-06-01", "2026-06-01")):
        began, ends = (datetime.fromisoformat(f"{day}T10:00:00+00:00").astimezone(UTC) for day in (since, until))
        item = Item(patient="p", kind=Erasable.SESSION, id="s", since=began, attributions=frozenset({"user-reported"}))
        assert policy.due([item], ends.replace(hour=9)) == []
        assert [each.until for each in policy.due([item], ends)] == [ends]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("keep_days = 30", "keep_days = 0"), "line 11: give one of keep_days and keep_years"),
        (("keep_days = 30", "keep_days = 30\nkeep_years = 1"), "line 11: give one of"),
        (('class = "session"', 'class = "statement"'), "line 11: class is one of"),
        (('attribution = "any"', 'attribution = "nurse"'), "line 11: attribution is one of"),
        (('scope = "patient"', 'scope = "clinic"'), "line 11: scope is one of patient"),
        (('scope = "patient"', 'scope = "agent"'), "line 11: class is one of entry"),
        (('review = "the privacy office"', 'review = "unreviewed"'), "line 11: a rule that nobody reviewed"),
        (('source = "a test"\n', ""), "line 11: source is missing"),
        (("on = true", 'on = "yes"'), "line 11: on is true or false"),
        (("on = true", "on = true\ncolour = 1"), "line 11: a rule has no colour"),
        (('id = "sessionany"', 'id = "documentany"'), "line 11: a rule 'documentany' stands there already"),
        (('class = "session"', 'class = "document"'), "line 11: another rule for patient, document and any is on"),
        (("on = true", "on = "), "is no TOML.*line 19"),
        (("[[rule]]", "[[rules]]"), "there is no rules in a retention policy"),
    ],
)
def test_a_policy_that_is_not_understood_whole_is_refused_with_its_line(change: tuple[str, str], fault: str) -> None:
    text = rule("document") + "\n" + rule("session").replace(*change)
    with pytest.raises(InvalidValue, match=f"mine.toml.*{fault}"):
        read_policy(text, "mine.toml")


def test_an_engine_does_not_open_with_a_policy_that_is_not_understood(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(rule("document").replace("keep_days = 30", "keep_days = -1"), "utf-8")
    with pytest.raises(InvalidValue, match=r"mine\.toml line 1"):
        Engine.open(tmp_path / "a.db", retention=file)
    file.write_bytes(rule("document").encode() + b"# \xff")
    with pytest.raises(InvalidValue, match=r"mine\.toml line \d+: this is not UTF-8"):
        Engine.open(tmp_path / "a.db", retention=file)
    with pytest.raises(Unavailable, match=r"missing\.toml cannot be read"):
        Engine.open(tmp_path / "a.db", retention=tmp_path / "missing.toml")
    assert not (tmp_path / "a.db").exists()
    file.write_text(rule("document"), "utf-8")
    with Engine.open(tmp_path / "a.db", retention=file) as engine:
        assert [each.id for each in engine._retention.rules] == ["documentany"]


def test_retention_by_the_command_line(tmp_path: Path, monkeypatch: Any) -> None:
    import json

    from typer.testing import CliRunner

    from iamata.interfaces.cli import app

    db, file = tmp_path / "a.db", tmp_path / "mine.toml"
    with Engine.open(db, clock=lambda: datetime(2020, 1, 1, tzinfo=UTC)) as engine:
        engine.ingest("p", bundle(condition("Asthma")), source="one")
    file.write_text(rule("document"), "utf-8")
    monkeypatch.setenv("IAMATA_RETENTION", str(file))

    def run(*args: str) -> Any:
        return CliRunner().invoke(app, ["retention", *args, "--db", str(db)])

    told = run("preview")
    assert told.exit_code == 0, told.output
    assert "by documentany (a test)" in " ".join(told.stdout.split())
    assert "1 thing due" in told.stdout
    assert run("apply").exit_code == 1, "nobody confirmed it"
    assert len(json.loads(run("apply", "--yes", "--json").stdout)["erased"]) == 1
    assert json.loads(run("preview", "--json").stdout) == {"due": [], "total": 0}
    file.write_text(rule("document").replace("on = true", "on = 1"), "utf-8")
    assert run("preview").exit_code == 2


# ------------------------------------------------------------------------------------- entries and what agents leave


BOT = Access(kind=PrincipalKind.AGENT, id="triage", on_behalf_of="dr-lee")
CLINIC = Subject(Scope.ORGANIZATION, "clinic-a")


def left_by_an_agent(engine: Engine) -> tuple[str, str, str]:
    """An inference, a context and a recorded call about p."""
    asked = ContextRequest(subjects=(patient("p"),), task="general", budget_tokens=500)
    fact = next(iter(engine.graph("p").facts))
    draft = EntryDraft(
        subject=patient("p"), kind=EntryKind.INFERENCE, title="T", text="It follows.", derived_from=(fact,)
    )
    made, context = engine.put_entry(draft, access=BOT), engine.context(asked)
    engine.record_calls("p", "s", [ToolCall("read", "{}", "nothing")], access=BOT)
    [call] = engine.tool_calls("p", "s")
    return made.id, context.id, call.id


def test_inferences_contexts_and_tool_calls_have_periods_of_their_own(filled: Engine, clock: HandClock) -> None:
    inference, context, call = left_by_an_agent(filled)
    clock.wait(days=20)
    rules = [rule("inference", "agent-reported", days=10), rule("context", days=10), rule("tool-call", days=10)]
    with_policy(filled, *rules)
    previewed = [(each.kind.value, each.id) for each in filled.retention_preview()]
    assert previewed == [("context", context), ("inference", inference), ("tool-call", call)]
    before = filled.graph("p").hash
    done = filled.retention_apply()
    assert sorted(each.kind.value for each in done.erased) == ["context", "inference", "tool-call"]
    assert [dict(each.counts)[table] for each, table in zip(done.erased, KEPT_IN, strict=True)] == [1, 1, 1]
    assert (due(filled), filled.inferences("p"), filled.tool_calls("p", "s")) == ([], [], [])
    assert filled.graph("p").hash == before
    with pytest.raises(NotFound):
        filled.explain("p", f"{context}[1]")
    with pytest.raises(Gone):
        filled.entry(patient("p"), inference)
    for kind, id in ((Erasable.CONTEXT, context), (Erasable.TOOL_CALL, call), (Erasable.INFERENCE, inference)):
        with pytest.raises(Gone):
            filled.erase("p", kind, id)
    with pytest.raises(Gone):
        left_by_an_agent(filled)


KEPT_IN = ("contexts", "inferences", "tool_calls")


def test_what_an_agent_left_is_not_due_before_its_period_ends_or_under_another_attribution(
    filled: Engine, clock: HandClock
) -> None:
    left_by_an_agent(filled)
    clock.wait(days=9)
    rules = [rule(each, days=10) for each in ("inference", "context", "tool-call")]
    with_policy(filled, *rules)
    assert due(filled) == []
    clock.wait(days=2)
    assert len(due(filled)) == 3
    with_policy(filled, *(rule(each, "user-reported", days=1) for each in ("inference", "context", "tool-call")))
    assert due(filled) == []


def test_a_hold_keeps_what_an_agent_left(filled: Engine, clock: HandClock) -> None:
    left_by_an_agent(filled)
    clock.wait(days=20)
    with_policy(filled, rule("context", days=1))
    filled.set_hold("p", "a claim")
    done = filled.retention_apply()
    assert (done.erased, [each.kind.value for each in done.kept]) == ((), ["context"])


def test_a_reader_from_whom_something_is_withheld_erases_none_of_it(filled: Engine) -> None:
    inference, context, call = left_by_an_agent(filled)
    reader = Access(
        kind=PrincipalKind.OPERATOR, id="clerk", roles=("privacy-officer",), withheld=frozenset({Label("s", "R")})
    )
    for kind, id in ((Erasable.CONTEXT, context), (Erasable.TOOL_CALL, call), (Erasable.INFERENCE, inference)):
        with pytest.raises(NotFound) as refusal:
            filled.erase("p", kind, id, access=reader)
        assert not isinstance(refusal.value, Gone)
    assert len(filled.tool_calls("p", "s")) == 1


def of_scope(scope: str, attribution: str = "any", days: int = 30) -> str:
    return rule("entry", attribution, days=days, id=f"{scope}{attribution}").replace('"patient"', f'"{scope}"', 1)


def test_retired_entries_go_by_the_rule_of_their_scope_and_what_is_in_force_stays(
    engine: Engine, clock: HandClock
) -> None:
    held = {}
    for scope, kind in (
        (Scope.ORGANIZATION, EntryKind.GUIDELINE),
        (Scope.OPERATOR, EntryKind.PREFERENCE),
        (Scope.AGENT, EntryKind.CUE),
    ):
        for number in (1, 2):
            draft = EntryDraft(subject=Subject(scope, "x"), kind=kind, title="T", text=f"Text {number}.")
            held[scope, number] = engine.put_entry(draft).id
        engine.retire_entry(Subject(scope, "x"), held[scope, 1])
    clock.wait(days=20)
    with_policy(engine, of_scope("organization", days=10), of_scope("agent", "agent-reported", days=30))
    [entry] = engine.retention_preview()
    assert (entry.patient, entry.subject, entry.id) == ("", "organization/x", held[Scope.ORGANIZATION, 1])
    assert engine.retention_preview("p" if engine.put_patient("p") else None) == [], "of one patient there is none"
    clock.wait(days=20)
    done = engine.retention_apply()
    assert [each.by for each in done.erased] == ["retention/agentagent-reported", "retention/organizationany"]
    for scope, left in ((Scope.ORGANIZATION, 1), (Scope.OPERATOR, 3), (Scope.AGENT, 1)):
        assert len(engine.entries(Subject(scope, "x"), history=True)) == left
    with pytest.raises(Gone):
        engine.entry(Subject(Scope.AGENT, "x"), held[Scope.AGENT, 1])
    assert len([each for each in engine.audit_records() if each.subject == "agent/x" and each.act == "erase"]) == 1


def test_two_rules_for_the_same_class_of_two_scopes_are_not_the_same(engine: Engine) -> None:
    read_policy(of_scope("organization") + of_scope("agent"), "policy.toml")
    with pytest.raises(InvalidValue, match="another rule for agent, entry and any"):
        read_policy(of_scope("agent") + of_scope("agent").replace("agentany", "b"), "policy.toml")

"""What is learned outside of patients: counts over many of them, nothing of any, gone with them, refused by people."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spec_patients import NOW, HandClock

from iamata import Access, BadInput, Engine, NotAllowed, NotFound, Speaker, Subject, Turn
from iamata.assembly.tree import known_names
from iamata.formation.practice import Trace, Vocabulary, learn, template
from iamata.model.access import PrincipalKind
from iamata.model.attribution import AttributionKind
from iamata.model.entry import Entry, EntryDraft, EntryKind
from iamata.model.erasure import Erasable
from iamata.model.scope import Scope
from iamata.model.session import RecordedCall, ToolCall
from iamata.policy.retention import read_policy

CLINIC, LEE, BOT = (Subject(s, id) for s, id in zip(list(Scope)[1:], ["clinic-a", "dr-lee", "triage"], strict=True))
AGENT = Access(kind=PrincipalKind.AGENT, id="triage", on_behalf_of="dr-lee")
CANARY = "zwyxbar"


def look(engine: Engine, patient: str, *paths: str, task: str = "allergy_check", access: Access = AGENT) -> None:
    calls = [ToolCall("assemble_context", json.dumps({"patient_id": patient, "task": task, "query": CANARY}))]
    calls += [ToolCall("read_patient", json.dumps({"patient_id": patient, "path": path})) for path in paths]
    engine.record_calls(patient, "s", calls, access=access)


def fill(engine: Engine, patients: int, *, more: int = 0) -> None:
    """So many patients of whom allergies were opened, and `more` of whom labs were too."""
    for number in range(patients):
        id = f"p{number}"
        engine.put_patient(id)
        look(engine, id, "/allergies/", f"/conditions/active/{CANARY}-{number}abc/story.md")
        if number < more:
            look(engine, id, "/labs/")


def texts(entries: list[Entry]) -> dict[str, str]:
    return {f"{e.subject.scope} {e.kind} {e.title}": e.text for e in entries}


def test_cues_habits_and_patterns_are_counts_over_patients(engine: Engine) -> None:
    fill(engine, 12, more=11)
    made = engine.learn(organization="clinic-a")
    assert texts(made) == {
        "agent cue For allergy_check": (
            "/patient/{id}/allergies (12 patients)\n\n"
            "/patient/{id}/conditions/active/{item}/story.md (12 patients)\n\n"
            "/patient/{id}/labs (11 patients)"
        ),
        "operator habit What is asked for": "allergy_check (12 patients)",
        "operator habit What is opened": (
            "/patient/{id}/allergies (12 patients)\n\n"
            "/patient/{id}/conditions/active/{item}/story.md (12 patients)\n\n"
            "/patient/{id}/labs (11 patients)"
        ),
        "organization pattern What is asked for here": "allergy_check (12 patients)",
        "organization pattern What is opened here": (
            "/patient/{id}/allergies (12 patients)\n\n"
            "/patient/{id}/conditions/active/{item}/story.md (12 patients)\n\n"
            "/patient/{id}/labs (11 patients)"
        ),
    }
    assert {e.attribution.kind for e in made} == {AttributionKind.AGENT}
    assert {(e.attribution.rule, e.attribution.because) for e in made} == {("learned/1", "least_patients=11")}
    assert engine.learn(organization="clinic-a") == [], "learned again from the same it adds nothing"
    assert "For allergy_check" in engine.read("/agent/triage/cues/").text


def test_what_fewer_patients_show_is_suppressed(engine: Engine) -> None:
    fill(engine, 12, more=10)
    assert not any("labs" in e.text for e in engine.learn(organization="clinic-a"))
    fill(engine, 3)
    for id in ("p0", "p1", "p2"):
        look(engine, id, task="claims_adjudication")
    assert not any("claims" in e.title + e.text for e in engine.learn(organization="clinic-a"))


def test_no_word_of_a_patient_a_question_or_a_path_is_learned(engine: Engine) -> None:
    for number in range(15):
        id = f"{CANARY}{number}"
        engine.put_patient(id)
        look(engine, id, f"/{CANARY}/", f"/patient/{id}/memories/{CANARY}/x.md", f"/timeline/20{number + 10}.md")
        look(engine, id, task=CANARY)
        engine.record_calls(id, CANARY, [ToolCall(CANARY, CANARY, CANARY)], access=AGENT)
    everything = repr(engine.learn(organization="clinic-a"))
    assert CANARY not in everything
    assert "/patient/{id}/timeline/{year} (15 patients)" in everything


def test_what_was_learned_goes_with_an_erased_patient_and_is_learned_anew_from_the_others(engine: Engine) -> None:
    fill(engine, 12)
    engine.learn(organization="clinic-a")
    engine.delete_patient("p0")
    held = engine.entries(BOT, history=True) + engine.entries(CLINIC, history=True) + engine.entries(LEE, history=True)
    assert {e.version for e in held} == {1}, "no version that counted the erased patient is left"
    assert all("(11 patients)" in e.text and "12" not in e.text for e in held)
    assert len(held) == 5
    engine.delete_patient("p1")
    assert engine.entries(BOT, history=True) == engine.entries(CLINIC, history=True) == []
    assert engine.entries(LEE, history=True) == []


def test_erasing_a_patient_of_whom_nothing_was_learned_leaves_what_was(engine: Engine) -> None:
    fill(engine, 11)
    engine.put_patient("quiet")
    made = engine.learn()
    engine.delete_patient("quiet")
    assert engine.entries(BOT) == [e for e in made if e.subject == BOT]


def test_what_people_refuse_is_retired_and_stays_refused_until_that_is_taken_back(
    engine: Engine, clock: HandClock
) -> None:
    fill(engine, 12)
    engine.learn()
    [cue] = engine.entries(BOT)
    engine.refuse_entry(BOT, cue.id, reason="not how we work")
    assert engine.entries(BOT) == []
    assert engine.entries(BOT, history=True)[-1].reason == "refused: not how we work"
    fill(engine, 14)
    assert [e for e in engine.learn() if e.subject == BOT] == []
    engine.delete_patient("p0")
    assert engine.entries(BOT) == [], "an erasure forgets the versions and not the refusal"
    engine.refuse_entry(BOT, cue.id, withdraw=True)
    assert [e.id for e in engine.learn() if e.subject == BOT] == [cue.id]


def test_a_cue_that_an_agent_wrote_can_be_refused_too(engine: Engine) -> None:
    draft = EntryDraft(subject=BOT, kind=EntryKind.CUE, title="Labs", text="Look at labs.")
    cue = engine.put_entry(draft, access=AGENT)
    with pytest.raises(NotAllowed) as refusal:
        engine.refuse_entry(BOT, cue.id, access=AGENT)
    assert refusal.value.reasons == ("operators-decide",)
    engine.refuse_entry(BOT, cue.id)
    with pytest.raises(NotAllowed) as refusal:
        engine.put_entry(draft, access=AGENT)
    assert refusal.value.reasons == ("refused-by-a-person",)
    rule = engine.put_entry(EntryDraft(subject=BOT, kind=EntryKind.GUARDRAIL, title="R", text="Never."))
    with pytest.raises(BadInput, match="is retired, not refused"):
        engine.refuse_entry(BOT, rule.id)
    with pytest.raises(NotFound):
        engine.refuse_entry(BOT, "et_none")


def test_owners_ask_for_learning_and_nobody_else(engine: Engine) -> None:
    fill(engine, 12)
    for access in (
        AGENT,
        Access(kind=PrincipalKind.AGENT, id="triage", roles=("owner",)),
        Access(kind=PrincipalKind.OPERATOR, id="dr-lee"),
        Access(kind=PrincipalKind.OPERATOR, id="dr-lee", roles=("owner",), patients=frozenset({"p0"})),
    ):
        with pytest.raises(NotAllowed) as refusal:
            engine.learn(access=access)
        assert refusal.value.reasons == ("learning-is-asked-for-by-owners",)
    assert engine.audit_records()[0].action == "learn"
    with pytest.raises(BadInput, match="at least 5 patients"):
        engine.learn(least_patients=4)
    assert len(engine.learn(least_patients=12)) == 3
    assert len(engine.learn(least_patients=13)) == 3, "retired: too few show it now"
    assert engine.entries(BOT) == []


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("/patient/leo/conditions/active/asthma-7f3c/story.md", "/patient/{id}/conditions/active/{item}/story.md"),
        ("/labs/glucose-123/", "/patient/{id}/labs/{item}"),
        ("/timeline/2024.md", "/patient/{id}/timeline/{year}"),
        ("/", "/patient/{id}"),
        ("/organization/clinic-a/guidelines/", ""),
        ("/../../etc/passwd", "/patient/{id}/{item}/{item}/{item}/{item}"),
    ],
)
def test_a_path_is_learned_as_a_template_of_known_names(address: str, expected: str) -> None:
    assert template(address, known_names()) == expected


TOOLS = st.sampled_from(["assemble_context", "read_patient", "browse", "recall_memories", "else"])
ARGUMENTS = st.sampled_from(
    [
        "",
        "[",
        "[]",
        '{"path": 3}',
        '{"path": "/labs/x/"}',
        '{"task": "a"}',
        '{"task": "zz"}',
        '{"path": "/patient/q/zz"}',
    ]
)


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 2), TOOLS, ARGUMENTS), max_size=60), st.integers(5, 7))
@settings(max_examples=60, deadline=None, database=None)
def test_no_count_is_below_the_least_and_the_order_of_traces_does_not_matter(
    calls: list[tuple[int, int, str, str]], least: int
) -> None:
    sessions: dict[tuple[str, str], list[RecordedCall]] = {}
    for number, (patient, session, tool, arguments) in enumerate(calls):
        call = RecordedCall(f"tc_{number}", f"s{session}", 0, ToolCall(tool, arguments), NOW, "agent/bot", "lee")
        sessions.setdefault((f"p{patient}", f"s{session}"), []).append(call)
    traces = [Trace(patient, session, tuple(held)) for (patient, session), held in sessions.items()]
    words = Vocabulary(frozenset({"a"}), known_names())
    found = learn(traces, words, organizations=[CLINIC], least_patients=least)
    assert found == learn(reversed(traces), words, organizations=[CLINIC], least_patients=least)
    for lesson in found:
        assert len(lesson.patients) >= least
        assert "zz" not in lesson.text
        assert "/x" not in lesson.text
        for line in lesson.text.split("\n\n"):
            assert int(line.rpartition("(")[2].split()[0]) >= least


def test_erasing_the_calls_of_one_patient_learns_anew_from_those_that_stay(engine: Engine) -> None:
    fill(engine, 12, more=11)
    engine.learn()
    engine.append("p0", "s", [Turn(Speaker.PATIENT, "I have a cough.")])
    receipt = engine.erase("p0", Erasable.SESSION, "s")
    assert dict(receipt.counts)["learned_from"] == 3
    [cue] = engine.entries(BOT, history=True)
    assert cue.text == (
        "/patient/{id}/allergies (11 patients)\n\n/patient/{id}/conditions/active/{item}/story.md (11 patients)"
    ), "labs were opened for ten of the others, which is too few"
    engine.append("p1", "t", [Turn(Speaker.PATIENT, "Hello there.")])
    engine.erase("p1", Erasable.SESSION, "t")
    assert engine.entries(BOT, history=True) == [cue], "no call went, so nothing is learned anew"


def test_retention_learns_anew_what_rested_on_whom_it_erased(engine: Engine, clock: HandClock) -> None:
    fill(engine, 12)
    engine.learn()
    for number in range(1, 12):
        engine.set_hold(f"p{number}", "a claim")
    clock.wait(days=40)
    engine._retention = read_policy(RULE, "policy.toml")
    assert [receipt.kind for receipt in engine.retention_apply().erased] == [Erasable.PATIENT]
    [cue] = engine.entries(BOT, history=True)
    assert cue.text.startswith("/patient/{id}/allergies (11 patients)")


RULE = """
[[rule]]
id = "all"
scope = "patient"
attribution = "any"
class = "patient"
keep_days = 30
source = "a test"
review = "the privacy office"
on = true
"""

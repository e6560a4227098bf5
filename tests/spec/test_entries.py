"""Entries: what is known of organizations, operators and agents, in versions, cell by cell. On every store."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from spec_patients import NOW, HandClock, bundle, condition

from iamata import BadInput, Conflict, ContextRequest, Engine, InvalidValue, Subject, patient
from iamata.model.attribution import Attribution, AttributionKind, Author, Role
from iamata.model.context import Context
from iamata.model.entry import CELLS, Basis, Entry, EntryKind
from iamata.model.scope import Scope

CLINIC, LEE, BOT = (Subject(s, id) for s, id in zip(list(Scope)[1:], ["clinic-a", "dr-lee", "triage"], strict=True))
ROLES = {AttributionKind.SYSTEM: Role.INSTITUTION, AttributionKind.USER: Role.STAFF, AttributionKind.AGENT: Role.AGENT}


def entry(subject: Subject, kind: EntryKind, attribution: AttributionKind, **more: Any) -> Entry:
    given: dict[str, Any] = {
        "id": kind.value,
        "version": 1,
        "title": f"Title of {kind}",
        "text": f"Text of {kind}.",
        "recorded_at": NOW,
    }
    author = Attribution(attribution, Author(ROLES.get(attribution, Role.UNKNOWN)), rule="entered")
    if subject.scope is Scope.PATIENT:
        given["derived_from"] = (Basis(item="fa_x", what="fact"),)
    return Entry(subject=subject, kind=kind, attribution=author, **(given | more))


def guardrail(**more: Any) -> Entry:
    return entry(BOT, EntryKind.GUARDRAIL, AttributionKind.SYSTEM, **more)


def assemble(engine: Engine, budget: int = 1000, *, query: str = "", **times: Any) -> Context:
    asked = ContextRequest(subjects=(patient("p"), CLINIC, LEE, BOT), task="general", budget_tokens=budget, query=query)
    return engine.context(asked, **times)


def test_every_cell_of_the_model_can_be_written_and_is_read_back(engine: Engine) -> None:
    written: dict[Subject, list[Entry]] = {CLINIC: [], LEE: [], BOT: []}
    for (scope, attribution), kinds in CELLS.items():
        if scope is Scope.PATIENT:
            continue  # of a patient there is always something behind it: see test_inferences
        subject = next(s for s in written if s.scope is scope)
        for kind in sorted(kinds):
            written[subject].append(entry(subject, kind, attribution))
            engine.put_entry(written[subject][-1])
    for subject, entries in written.items():
        assert engine.entries(subject) == sorted(entries, key=lambda e: e.id)
    assert {kind for kinds in CELLS.values() for kind in kinds} == set(EntryKind)


@pytest.mark.parametrize("kind", EntryKind)
def test_a_kind_stands_in_its_own_cell_and_in_no_other(kind: EntryKind) -> None:
    for subject, attribution in product((patient("p"), CLINIC, LEE, BOT), AttributionKind):
        if kind in CELLS.get((subject.scope, attribution), ()):
            assert entry(subject, kind, attribution).kind is kind
        else:
            with pytest.raises(InvalidValue, match=f"{kind} cannot be {attribution}"):
                entry(subject, kind, attribution)


def test_an_agent_has_no_user_reported_knowledge() -> None:
    assert (Scope.AGENT, AttributionKind.USER) not in CELLS
    with pytest.raises(InvalidValue, match="cue cannot be user-reported in the agent scope"):
        entry(BOT, EntryKind.CUE, AttributionKind.USER)


def test_versions_are_appended_and_never_overwritten(engine: Engine) -> None:
    first, second = guardrail(), guardrail(version=2, text="Newer.", supersedes=1)
    assert engine.put_entry(first) == first
    assert engine.put_entry(second) == second
    with pytest.raises(Conflict):
        engine.put_entry(guardrail(version=2, text="Overwritten."))
    assert engine.entries(BOT, history=True) == [first, second]
    assert engine.entries(BOT) == [second]
    with pytest.raises(InvalidValue, match="from 1"):
        guardrail(version=0)


def test_one_id_in_two_subjects_is_two_entries(engine: Engine) -> None:
    other = Subject(Scope.AGENT, "other")
    engine.put_entry(guardrail())
    engine.put_entry(entry(other, EntryKind.GUARDRAIL, AttributionKind.SYSTEM, text="Another."))
    assert [e.text for e in engine.entries(BOT)] == ["Text of guardrail."]
    assert [e.text for e in engine.entries(other)] == ["Another."]


def test_a_context_holds_guardrails_first_and_always(engine: Engine) -> None:
    engine.ingest("p", bundle(*(condition(f"Finding {n}", id=f"c{n}") for n in range(30))), source="ehr")
    engine.put_entry(guardrail(text="Never give a dose to a child without a weight."))
    for budget in (60, 100, 200, 1000):
        context = assemble(engine, budget, query="finding 7")
        [rule] = [item for item in context.items if item.item == "guardrail"]
        assert "Never give a dose to a child without a weight." in context.text
        assert (rule.safety, context.items[0], context.tokens <= budget) == (True, rule, True)


def test_a_budget_too_small_for_the_guardrail_says_so(engine: Engine) -> None:
    engine.put_patient("p")
    engine.put_entry(guardrail(text="Never give a dose to a child without a weight. " * 20))
    context = assemble(engine, 40)
    assert not context.fits
    assert "safety set does not fit in 40 tokens" in context.note
    assert context.tokens <= 40


def test_a_context_orders_scopes_from_most_to_least_permanent(engine: Engine) -> None:
    engine.ingest("p", bundle(condition("Asthma")), source="ehr")
    engine.put_entry(entry(LEE, EntryKind.PREFERENCE, AttributionKind.USER, text="Metric units."))
    engine.put_entry(entry(CLINIC, EntryKind.STAFF_NOTE, AttributionKind.USER, text="We open at eight."))
    engine.put_entry(guardrail(text="Never diagnose."))
    text = assemble(engine).text
    places = [text.index(words) for words in ("Never diagnose.", "We open at eight.", "Metric units.", "Asthma")]
    assert places == sorted(places)


def test_a_context_holds_the_version_in_force_at_its_two_times(engine: Engine, clock: HandClock) -> None:
    engine.put_patient("p")
    engine.put_entry(guardrail(text="First rule."))
    later = clock.wait(days=1)
    engine.put_entry(guardrail(version=2, text="Second rule.", recorded_at=later))
    assert "Second rule." in assemble(engine).text
    assert "First rule." in assemble(engine, known_at=NOW).text
    engine.put_entry(guardrail(version=3, text="Third rule.", recorded_at=later, retired=True))
    assert "rule." not in assemble(engine).text
    engine.put_entry(guardrail(version=4, text="Fourth rule.", recorded_at=later, effective_from="2026-03-01"))
    assert "Fourth rule." not in assemble(engine).text
    clock.now = clock.now.replace(month=3, day=1)
    assert "Fourth rule." in assemble(engine).text


def test_a_context_holds_knowledge_of_the_subjects_it_names_and_of_no_other(engine: Engine) -> None:
    engine.put_patient("p")
    engine.put_entry(
        entry(Subject(Scope.AGENT, "other"), EntryKind.GUARDRAIL, AttributionKind.SYSTEM, text="Not mine.")
    )
    assert "Not mine." not in assemble(engine).text


def test_an_entrys_citation_leads_to_the_version_that_was_cited(engine: Engine, clock: HandClock) -> None:
    engine.put_patient("p")
    engine.put_entry(guardrail(text="First rule."))
    context = assemble(engine)
    [item] = [item for item in context.items if item.item == "guardrail"]
    later = clock.wait(days=1)
    engine.put_entry(guardrail(version=2, text="Second rule.", recorded_at=later))
    found = engine.explain("p", f"{context.id}[{item.number}]")
    assert (found.what, found.quote) == ("entry:guardrail", "First rule.")
    assert found.address == "/agent/triage/guardrails/title-of-guardrail-rail/entry.md"


def test_a_context_is_about_exactly_one_patient(engine: Engine) -> None:
    for subjects in ((CLINIC,), (patient("p"), patient("q"))):
        with pytest.raises(BadInput, match="exactly one patient"):
            engine.context(ContextRequest(subjects=subjects, task="general", budget_tokens=100))


def test_entries_are_read_as_they_were_known_by_a_moment(engine: Engine) -> None:
    held = entry(CLINIC, EntryKind.GUIDELINE, AttributionKind.SYSTEM)
    engine.put_entry(held)
    assert engine.entries(held.subject, known_at=held.recorded_at) == [held]
    assert engine.entries(held.subject, known_at=held.recorded_at - timedelta(seconds=1)) == []
    assert engine.entries(held.subject, known_at=held.recorded_at - timedelta(seconds=1), history=True) == []

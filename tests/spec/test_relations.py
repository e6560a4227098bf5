"""Who may see a patient is held as data: relations with a beginning and an end, and break-glass, which is loud."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from spec_patients import NOW, HandClock, bundle, condition, order, result

from iamata import (
    Access,
    BadInput,
    ContextRequest,
    Engine,
    InvalidValue,
    NotAllowed,
    NotFound,
    Speaker,
    Turn,
    Unavailable,
    patient,
)
from iamata.engine.beside import gathering
from iamata.model.access import PrincipalKind, Purpose, Seen
from iamata.model.relation import RelationKind
from iamata.model.statement import Kind

LEE = Access(kind=PrincipalKind.OPERATOR, id="dr-lee", roles=("clinician",), by_relation=True)
ADMIN = Access(kind=PrincipalKind.OPERATOR, id="root", roles=("administrator",), by_relation=True)
OFFICER = Access(kind=PrincipalKind.OPERATOR, id="po", roles=("privacy-officer",), by_relation=True)
AGENT = replace(LEE, kind=PrincipalKind.AGENT, id="triage", on_behalf_of="dr-lee")
CARE_TEAM = RelationKind.CARE_TEAM
GENERAL = ContextRequest(subjects=(patient("p"),), task="general", budget_tokens=500)


@pytest.fixture
def filled(engine: Engine) -> Engine:
    """`p`, who is of nobody's care team yet, and `q`."""
    for id in ("p", "q"):
        engine.ingest(id, bundle(order("10 mg"), condition("Asthma"), result("Glucose", 90)), source="ehr")
        engine.append(id, "s", [Turn(Speaker.PATIENT, "I stopped lisinopril.", said_at=NOW)])
    return engine


def sees(engine: Engine, access: Access, id: str = "p") -> bool:
    try:
        engine.graph(id, access=access)
    except NotFound:
        return False
    return True


def listed(engine: Engine, access: Access) -> list[str]:
    rows, total = engine.patients(access=access)
    assert total == len(rows)
    return [row.id for row in rows]


# ------------------------------------------------------------------ relations


def test_a_patient_exists_for_the_care_team_from_its_beginning_to_its_end(filled: Engine, clock: HandClock) -> None:
    assert not sees(filled, LEE)
    made = filled.relate(
        "p", "operator/dr-lee", CARE_TEAM, since=NOW + timedelta(hours=1), until=NOW + timedelta(hours=2), access=ADMIN
    )
    assert (made.by, made.at, made.version) == ("operator/root", NOW, 1)
    for minutes, holds in ((0, False), (59, False), (60, True), (119, True), (120, False), (500, False)):
        clock.now = NOW + timedelta(minutes=minutes)
        assert sees(filled, LEE) is holds, minutes
        assert listed(filled, LEE) == (["p"] if holds else []), minutes
        assert [n.name for n in filled.browse("/", access=LEE).nodes if n.name != "patient/"] == (
            ["patient/p/"] if holds else []
        )
    assert not sees(filled, LEE, "q")


def test_a_relation_that_was_ended_holds_no_more_and_stays_in_the_list(filled: Engine, clock: HandClock) -> None:
    made = filled.relate("p", "operator/dr-lee", CARE_TEAM, reason="on call", access=ADMIN)
    assert sees(filled, LEE)
    clock.wait(minutes=5)
    ended = filled.end_relation("p", made.id, access=OFFICER)
    assert (ended.until, ended.by, ended.version) == (clock.now, "operator/po", 2)
    assert not sees(filled, LEE)
    assert filled.relations("p", access=ADMIN) == [ended]
    assert ended.reason == "on call"
    clock.wait(minutes=5)
    assert filled.end_relation("p", made.id, access=ADMIN) == ended, "what has ended stays as it is"


def test_one_that_has_not_begun_is_ended_before_it_begins(filled: Engine, clock: HandClock) -> None:
    made = filled.relate("p", "operator/dr-lee", CARE_TEAM, since=NOW + timedelta(days=1))
    filled.end_relation("p", made.id)
    clock.wait(days=2)
    assert not sees(filled, LEE)


def test_another_process_sees_a_relation_at_once_and_its_end_too(filled: Engine, open_engine: Any) -> None:
    with closing(open_engine()) as elsewhere:
        made = elsewhere.relate("p", "operator/dr-lee", CARE_TEAM)
        assert sees(filled, LEE)
        elsewhere.end_relation("p", made.id)
        assert not sees(filled, LEE)


def test_relations_are_set_by_those_who_have_the_right(filled: Engine) -> None:
    related = filled.relate("p", "operator/dr-lee", CARE_TEAM)
    for access in (LEE, AGENT, Access(kind=PrincipalKind.SYSTEM, id="feed", by_relation=True)):
        with pytest.raises(NotAllowed):
            filled.relate("q", "operator/dr-lee", CARE_TEAM, access=access)
        with pytest.raises(NotAllowed):
            filled.end_relation("p", related.id, access=access)
        with pytest.raises(NotFound):
            filled.relations("p", access=access)
        with pytest.raises(NotAllowed):
            filled.broken_glass(access=access)
    assert listed(filled, LEE) == ["p"]
    assert not sees(filled, ADMIN), "who sets relations does not see the record by that"
    assert not sees(filled, OFFICER)


def test_what_cannot_be_a_relation_is_refused(filled: Engine) -> None:
    for wrong in ("dr-lee", "agent/triage", "operator/", "operator/a b", "operator/../x", "patient/p"):
        with pytest.raises(InvalidValue):
            filled.relate("p", wrong, CARE_TEAM)
    with pytest.raises(InvalidValue, match="a relation is one of"):
        filled.relate("p", "operator/x", "friend")
    with pytest.raises(BadInput, match="ends after it begins"):
        filled.relate("p", "operator/x", CARE_TEAM, until=NOW)
    with pytest.raises(BadInput, match="person who needs it"):
        filled.relate("p", "operator/x", RelationKind.BREAK_GLASS)
    with pytest.raises(NotFound):
        filled.relate("nobody", "operator/x", CARE_TEAM)
    with pytest.raises(NotFound):
        filled.end_relation("p", "rl_nothing")
    assert filled.relations("p") == []


def test_what_an_access_says_of_its_relations_itself_is_not_believed(filled: Engine) -> None:
    assert not sees(filled, replace(LEE, relations=("care-team", "given", "launch", "self")))
    assert listed(filled, replace(LEE, relations=("care-team",))) == []


def test_an_agent_sees_what_its_operator_sees_and_is_named_in_the_audit_log(filled: Engine) -> None:
    assert not sees(filled, AGENT)
    made = filled.relate("p", "operator/dr-lee", CARE_TEAM)
    assert sees(filled, AGENT)
    assert listed(filled, AGENT) == ["p"]
    record = filled.audit_records()[0]
    assert (record.principal, record.on_behalf_of) == ("agent/triage", "dr-lee")
    filled.end_relation("p", made.id)
    assert not sees(filled, AGENT)
    with pytest.raises(NotAllowed):
        filled.break_glass("p", "an agent's emergency", access=AGENT)


def test_a_proxy_sees_the_child_and_the_patient_themselves(filled: Engine) -> None:
    mom = Access(kind=PrincipalKind.OPERATOR, id="mom", by_relation=True, purpose=Purpose.PATIENT_REQUEST)
    filled.relate("p", "operator/mom", RelationKind.PROXY)
    filled.relate("q", "operator/mom", RelationKind.SELF)
    assert listed(filled, mom) == ["p", "q"]
    assert filled.append("p", "s2", [Turn(Speaker.CAREGIVER, "He coughs.")], access=mom).id
    with pytest.raises(NotAllowed):
        filled.delete_patient("p", access=mom)


def test_a_relation_may_be_named_by_its_word(filled: Engine) -> None:
    assert filled.relate("p", "operator/dr-lee", "care-team").kind is CARE_TEAM
    assert sees(filled, LEE)


def test_prefixes_of_ids_are_other_ids(filled: Engine) -> None:
    filled.relate("p", "operator/dr-lee", CARE_TEAM)
    for id in ("dr-le", "dr-lee2", "DR-LEE", "dr-lee/", "dr_lee", "%"):
        assert listed(filled, replace(LEE, id=id)) == [], id
    filled.put_patient("p2")
    assert not sees(filled, LEE, "p2")


def test_an_export_touches_only_patients_of_the_one_who_sends_it(filled: Engine) -> None:
    gone = b'{"resourceType": "Bundle", "type": "transaction", "entry": [{"request": {"method": "DELETE", '
    gone += b'"url": "Condition/c1"}}]}\n'
    filled.relate("p", "operator/dr-lee", CARE_TEAM)
    before = {id: filled.patient(id).version for id in ("p", "q")}
    filled.ingest_export([("deleted/0/x.ndjson", gone)], source="ehr", access=LEE)
    assert filled.patient("p").version > before["p"]
    assert filled.patient("q").version == before["q"]


def test_relations_go_with_the_patient(filled: Engine) -> None:
    filled.relate("p", "operator/dr-lee", CARE_TEAM)
    filled.break_glass("p", "unconscious")
    filled.delete_patient("p")
    assert filled.broken_glass() == []
    assert listed(filled, LEE) == []
    filled.put_patient("p")
    assert filled.relations("p") == []
    assert not sees(filled, LEE)


# ------------------------------------------------------------------ break-glass


def test_break_glass_opens_a_patient_for_a_while_and_ends_by_itself(filled: Engine, clock: HandClock) -> None:
    made = filled.break_glass("p", "found unconscious", minutes=30, access=LEE)
    assert (made.principal, made.until) == ("operator/dr-lee", NOW + timedelta(minutes=30))
    assert sees(filled, LEE)
    assert listed(filled, LEE) == ["p"]
    assert not sees(filled, LEE, "q")
    assert not sees(filled, replace(LEE, id="dr-x"))
    with pytest.raises(NotAllowed):
        filled.append("p", "s3", [Turn(Speaker.CLINICIAN, "He wakes up.")], access=LEE)
    clock.wait(minutes=30)
    assert not sees(filled, LEE)
    assert listed(filled, LEE) == []


def test_break_glass_is_a_class_of_its_own_in_the_audit_log(filled: Engine, clock: HandClock) -> None:
    made = filled.break_glass("p", "found unconscious", access=LEE)
    opened = filled.audit_records()[0]
    assert (opened.action, opened.reasons, opened.items) == ("break_glass", ("clinical-role",), (made.id,))
    filled.read("/patient/p/_index.md", access=LEE)
    looked = filled.audit_records()[0]
    assert (looked.action, looked.allowed, looked.reasons) == ("read", True, ("break-glass",))
    assert "unconscious" not in repr(filled.audit_records())
    clock.wait(hours=5)
    assert filled.broken_glass(access=OFFICER) == [made], "it stays in the list when it has ended"
    assert filled.broken_glass(access=OFFICER)[0].reason == "found unconscious"
    assert filled.broken_glass(access=replace(OFFICER, patients=frozenset({"q"}))) == []


def test_break_glass_is_loud(filled: Engine) -> None:
    filled.break_glass("p", "found unconscious", minutes=30, access=LEE)
    with gathering() as warnings:
        note = filled.context(GENERAL, access=LEE).note
        filled.graph("p", access=LEE)
    assert warnings == ["opened by break-glass until 2026-02-15T10:30+00:00; every look is recorded"]
    assert note.startswith(warnings[0])
    filled.relate("p", "operator/dr-lee", CARE_TEAM)
    with gathering() as warnings:
        assert "break-glass" not in filled.context(GENERAL, access=LEE).note
    assert warnings == [], "who is of the care team needs no break-glass"


def test_break_glass_has_a_reason_and_an_end_and_is_for_those_whom_the_policy_names(filled: Engine) -> None:
    for wrong in ("", "  ", "x" * 501):
        with pytest.raises(BadInput):
            filled.break_glass("p", wrong, access=LEE)
    for minutes in (0, -1, 241):
        with pytest.raises(BadInput, match="1 to 240 minutes"):
            filled.break_glass("p", "why", minutes=minutes, access=LEE)
    for access in (
        replace(LEE, roles=("coordinator",)),
        replace(LEE, purpose=Purpose.PAYMENT),
        replace(LEE, may_write=False),
        replace(LEE, kind=PrincipalKind.SYSTEM),
        replace(LEE, patients=frozenset({"q"})),
    ):
        with pytest.raises(NotAllowed):
            filled.break_glass("p", "why", access=access)
    with pytest.raises(NotFound):
        filled.break_glass("nobody", "why", access=LEE)
    assert filled.broken_glass() == []
    longest = filled.break_glass("p", "why", access=LEE)
    assert longest.until == NOW + timedelta(minutes=240)


def test_an_open_break_glass_can_be_ended(filled: Engine, clock: HandClock) -> None:
    made = filled.break_glass("p", "found unconscious", access=LEE)
    clock.wait(minutes=1)
    filled.end_relation("p", made.id, access=OFFICER)
    assert not sees(filled, LEE)


# ------------------------------------------------------------------ the policy of an installation

OURS = (
    "@version\tours/1\n@break-glass-minutes\t15\n"
    "id\teffect\tact\tscope\tkind\trole\trelation\tpurpose\treason\tsource\n"
    "owner\tpermit\t*\t*\t*\towner\t*\t*\towner\thouse rule 1\n"
    "listing\tpermit\tread,list\t-\t*\t*\t*\t*\tlisting\thouse rule 2\n"
    "everyone\tpermit\tread\tpatient\toperator\tclinician\t*\t*\topen-house\thouse rule 3\n"
    "glass\tpermit\tbreak-glass\tpatient\toperator\t*\t*\t*\topen-house\thouse rule 3\n"
)


def test_an_installation_brings_its_own_policy(tmp_path: Path) -> None:
    file = tmp_path / "ours.tsv"
    file.write_text(OURS, encoding="utf-8")
    with Engine.open(":memory:", policy=file, clock=lambda: NOW) as engine:
        engine.put_patient("p")
        assert engine.patient("p", access=LEE).id == "p"
        assert listed(engine, LEE) == ["p"]
        assert engine.audit_records()[0].reasons == ("listing",)
        with pytest.raises(NotAllowed) as refused:
            engine.append("p", "s", [Turn(Speaker.PATIENT, "Hello.")], access=LEE)
        assert refused.value.reasons == ("no-rule-allows-it",)
        made = engine.break_glass("p", "why", access=replace(LEE, roles=()))
        assert made.until == NOW + timedelta(minutes=15)
        assert engine.policy().version == engine.doctor()["policy"]
        assert engine.policy().version.startswith("ours/1 ")
        stamp = engine.browse("/patient/p/", access=LEE).stamp
    with Engine.open(":memory:", clock=lambda: NOW) as engine:
        engine.put_patient("p")
        assert engine.browse("/patient/p/").stamp != stamp, "the policy is part of the read stamp"


def test_an_engine_does_not_open_under_half_a_policy(tmp_path: Path) -> None:
    file = tmp_path / "ours.tsv"
    file.write_text(OURS.replace("clinician", "clinican"), encoding="utf-8")
    with pytest.raises(BadInput, match=r"ours.tsv, line 6: role is"):
        Engine.open(tmp_path / "a.db", policy=file)
    with pytest.raises(Unavailable, match=r"missing.tsv cannot be read"):
        Engine.open(tmp_path / "a.db", policy=tmp_path / "missing.tsv")
    assert not (tmp_path / "a.db").exists()


def test_a_decision_is_explained_with_its_row_and_the_relations_that_hold(filled: Engine) -> None:
    said = filled.explain_policy("operator/dr-lee", "read", patient("p"), roles=["clinician"])
    assert (said.decision.allowed, said.decision.reasons, said.relations) == (False, ("no-relation-to-patient",), ())
    filled.relate("p", "operator/dr-lee", CARE_TEAM)
    said = filled.explain_policy("operator/dr-lee", "read", patient("p"), roles=["clinician"], access=OFFICER)
    assert (said.decision.allowed, said.decision.rule, said.relations) == (True, "care-team", ("care-team",))
    assert "164.506" in said.source
    assert said.line == next(rule.line for rule in filled.policy().rules if rule.id == "care-team")
    agent = filled.explain_policy("agent/bot", "read", patient("p"), roles=["clinician"], on_behalf_of="dr-lee")
    assert agent.decision.allowed
    law = filled.explain_policy("agent/bot", "decide", patient("p"), on_behalf_of="dr-lee")
    assert (law.decision.reasons, law.line) == (("operators-decide",), 0)
    nobody = filled.explain_policy("operator/dr-lee", "read", patient("nobody"), roles=["clinician"])
    assert nobody.decision.reasons == ("no-relation-to-patient",)
    with pytest.raises(NotAllowed):
        filled.explain_policy("operator/dr-lee", "read", patient("p"), access=LEE)
    with pytest.raises(BadInput):
        filled.explain_policy("operator/dr-lee", "fly", patient("p"))
    with pytest.raises(InvalidValue):
        filled.explain_policy("dr-lee", "read", patient("p"))
    with pytest.raises(InvalidValue, match="a role is one of"):
        filled.explain_policy("operator/dr-lee", "read", patient("p"), roles=["doctor"])


# ------------------------------------------------------------------ kinds that a token opens


def test_for_a_token_of_some_kinds_nothing_else_exists(filled: Engine) -> None:
    filled.relate("p", "operator/dr-lee", CARE_TEAM)
    only = replace(LEE, seen=frozenset({Seen(Kind.CONDITION, "Condition")}))
    graph, whole = filled.graph("p", access=only), filled.graph("p", access=LEE)
    assert {fact.display for fact in graph.facts.values()} == {"Asthma"}
    assert {fact.display for fact in whole.facts.values()} >= {"Asthma", "Lisinopril", "Glucose"}
    assert (graph.memories, graph.sessions, graph.passages, graph.hidden) == ({}, {}, {}, {})
    assert whole.memories
    assert filled.search(patient("p"), "lisinopril glucose", access=only) == []
    text = filled.context(GENERAL, access=only).text
    assert "Asthma" in text
    assert "Lisinopril" not in text
    assert "stopped" not in text
    index = filled.read("/patient/p/_index.md", access=only).text.lower()
    assert "lisinopril" not in index
    assert "glucose" not in index
    document = next(iter(whole.documents))
    for hidden in (
        lambda: filled.document("p", document, access=only),
        lambda: filled.session("p", "s", access=only),
        lambda: filled.tool_calls("p", "s", access=only),
        lambda: filled.receipt("p", filled.receipts("p")[0][0].id, access=only),
        lambda: filled.explain("p", next(f.id for f in whole.facts.values() if f.display == "Glucose"), access=only),
    ):
        with pytest.raises(NotFound):
            hidden()
    assert filled.receipts("p", access=only) == ([], 0)
    assert filled.memories("p", access=only) == []
    assert "Glucose" in {fact.display for fact in filled.graph("p", access=LEE).facts.values()}, "no cache is shared"


def test_a_scope_of_one_category_opens_that_category(engine: Engine) -> None:
    labs = [{"coding": [{"system": "urn:c", "code": "laboratory"}]}]
    vitals = [{"coding": [{"system": "urn:c", "code": "vital-signs"}]}]
    engine.ingest(
        "p", bundle(result("Glucose", 90, category=labs), result("Pulse", 70, id="o2", category=vitals)), source="ehr"
    )
    for category, shown in (("laboratory", {"Glucose"}), ("urn:c|vital-signs", {"Pulse"}), ("urn:x|laboratory", set())):
        access = replace(Access.local(), seen=frozenset({Seen(Kind.OBSERVATION, "Observation", category)}))
        assert {fact.display for fact in engine.graph("p", access=access).facts.values()} == shown, category


def test_a_scope_on_one_resource_does_not_open_another_that_comes_to_the_same_kind(engine: Engine) -> None:
    taken = {
        "resourceType": "MedicationStatement",
        "id": "t1",
        "status": "active",
        "subject": {"reference": "Patient/p"},
    }
    engine.ingest(
        "p", bundle(order("10 mg"), taken | {"medicationCodeableConcept": {"text": "Ibuprofen"}}), source="ehr"
    )
    access = replace(Access.local(), seen=frozenset({Seen(Kind.MEDICATION, "MedicationStatement")}))
    assert {fact.display for fact in engine.graph("p", access=access).facts.values()} == {"Ibuprofen"}

"""Who sees what: consents, what labels ask for, purposes, proxies. Told through the front door."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from spec_patients import NOW, HandClock, bundle, condition, order, result

from iamata import Access, ContextRequest, Engine, Speaker, Turn, patient
from iamata.engine.graphs import Graphs
from iamata.engine.privacy import privacy_of
from iamata.errors import InvalidValue, NotFound
from iamata.interfaces import mcp
from iamata.model.access import PrincipalKind, Purpose
from iamata.model.ruling import RulingKind
from iamata.model.session import ToolCall
from iamata.model.statement import Kind
from iamata.policy.view import Privacy
from iamata.settings import Settings
from iamata.terminology.security import ACT_CODE, ACT_REASON, CONFIDENTIALITY, label

TERMINOLOGY = "http://terminology.hl7.org/CodeSystem"
ICD10 = "http://hl7.org/fhir/sid/icd-10-cm"
DOCTOR = Access(kind=PrincipalKind.OPERATOR, id="dr-lee", known_as=frozenset({"Practitioner/13"}))
PROXY = Access(kind=PrincipalKind.OPERATOR, id="mum", roles=("proxy",))
SELF = Access(kind=PrincipalKind.OPERATOR, id="leo", roles=("self",))
PAYER = Access(kind=PrincipalKind.OPERATOR, id="payer", purpose=Purpose.PAYMENT)
OPERATIONS = Access(kind=PrincipalKind.OPERATOR, id="quality", purpose=Purpose.OPERATIONS)


def labelled(*codes: str, system: str = ACT_CODE) -> dict[str, Any]:
    return {"meta": {"security": [{"system": system, "code": code} for code in codes]}}


def consent(rule: str, *, id: str = "k1", day: str = "2026-01-10", **more: Any) -> dict[str, Any]:
    return {
        "resourceType": "Consent",
        "id": id,
        "status": "active",
        "scope": {
            "coding": [{"system": "http://terminology.hl7.org/CodeSystem/consentscope", "code": "patient-privacy"}]
        },
        "category": [{"coding": [{"system": "http://loinc.org", "code": "59284-0"}]}],
        "patient": {"reference": "Patient/p"},
        "dateTime": day,
        "policyRule": {"coding": [{"system": ACT_CODE, "code": rule}]},
        **more,
    }


def told(engine: Engine, access: Access) -> set[str]:
    """The names of the conditions, results and medicines that a reader sees."""
    graph = engine.graph("p", access=access)
    kinds = (Kind.CONDITION, Kind.OBSERVATION, Kind.MEDICATION)
    return {fact.display for fact in graph.facts.values() if fact.kind in kinds}


def opened(engine: Engine, **privacy: Any) -> Engine:
    """The engine again, set up otherwise."""
    engine._graphs = Graphs(engine._store, engine._store.keys, clock=engine._clock, privacy=Privacy(**privacy))
    return engine


# ------------------------------------------------------------------- what labels ask for


def test_what_may_not_be_disclosed_without_consent_is_shown_to_the_patient_and_owners_until_a_consent_permits_it(
    engine: Engine, clock: HandClock
) -> None:
    engine.ingest(
        "p", bundle(condition("Asthma"), condition("Secret", id="c2", **labelled("42CFRPart2"))), source="ehr"
    )
    assert told(engine, Access.local()) == told(engine, SELF) == {"Asthma", "Secret"}
    assert told(engine, DOCTOR) == {"Asthma"}
    clock.wait(minutes=1)
    engine.ingest("p", bundle(consent("OPTIN")), source="consents")
    assert told(engine, DOCTOR) == {"Asthma"}, "what merely arrives never widens"
    assert told(opened(engine, consent_sources=frozenset({"consents"})), DOCTOR) == {"Asthma", "Secret"}


def test_a_refrain_on_redisclosure_hides_nothing_from_who_receives_it(engine: Engine) -> None:
    engine.ingest("p", bundle(condition("Told", **labelled("NORDSCLCD", "PERSISTLABEL"))), source="ehr")
    assert told(engine, DOCTOR) == {"Told"}


def test_what_is_for_treatment_is_shown_for_treatment_only(engine: Engine) -> None:
    engine.ingest("p", bundle(condition("For care", **labelled("TREAT", system=ACT_REASON))), source="ehr")
    assert told(engine, DOCTOR) == {"For care"}
    assert told(engine, PAYER) == set()


def test_data_for_tests_are_labelled_with_a_purpose_that_limits_nothing(engine: Engine) -> None:
    engine.ingest("p", bundle(condition("Synthetic", **labelled("HTEST", system=ACT_REASON))), source="ehr")
    assert told(engine, DOCTOR) == {"Synthetic"}


def test_what_must_not_be_told_to_the_family_is_told_to_neither_patient_nor_proxy(engine: Engine) -> None:
    engine.ingest("p", bundle(condition("Suspected", **labelled("NOPAT"))), source="ehr")
    assert told(engine, DOCTOR) == {"Suspected"}
    assert told(engine, SELF) == told(engine, PROXY) == set()


def test_a_source_that_is_a_program_of_part_2_labels_all_that_it_sends(engine: Engine) -> None:
    engine.ingest("p", bundle(condition("Sprain", id="c1")), source="clinic")
    engine.ingest("p", bundle(condition("Asthma", id="c2")), source="ehr")
    assert told(engine, DOCTOR) == {"Sprain", "Asthma"}
    assert told(opened(engine, part2_sources=frozenset({"clinic"})), DOCTOR) == {"Asthma"}
    assert told(engine, Access.local()) == {"Sprain", "Asthma"}


def cda(words: str) -> bytes:
    """A document by Dr Ames with a problem in an entry, and a section of words alone."""
    author = (
        '<author><time value="20240302"/><assignedAuthor><id root="2.16.840.1.113883.4.6" extension="111"/>'
        "<assignedPerson><name><prefix>Dr</prefix><family>Ames</family></name></assignedPerson></assignedAuthor></author>"
    )
    problem = (
        '<entry><observation classCode="OBS" moodCode="EVN"><templateId root="2.16.840.1.113883.10.20.22.4.4"/>'
        '<value xsi:type="CD" code="195967001" displayName="Asthma" codeSystem="2.16.840.1.113883.6.96"/>'
        "</observation></entry>"
    )
    sections = "".join(
        f'<component><section><code code="{code}" codeSystem="2.16.840.1.113883.6.1"/>{body}</section></component>'
        for code, body in (("11450-4", problem), ("29762-2", words))
    )
    return (
        '<ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><id root="d"/>'
        '<recordTarget><patientRole><id root="1" extension="p"/></patientRole></recordTarget>'
        f"{author}<component><structuredBody>{sections}</structuredBody></component></ClinicalDocument>"
    ).encode()


# ------------------------------------------------------------------- consents


def test_a_denial_counts_at_once_and_only_a_trusted_source_takes_it_back(engine: Engine, clock: HandClock) -> None:
    engine.ingest("p", bundle(condition("Asthma")), source="ehr")
    assert told(engine, DOCTOR) == {"Asthma"}
    engine.ingest("p", bundle(consent("OPTOUT")), source="portal")
    assert told(engine, DOCTOR) == set()
    assert told(engine, Access.local()) == {"Asthma"}
    clock.wait(minutes=1)
    engine.ingest("p", bundle(consent("OPTIN", day="2026-02-01") | {"meta": {"versionId": "2"}}), source="portal")
    assert told(engine, DOCTOR) == set(), "the same record of a source that is not trusted"
    opened(engine, consent_sources=frozenset({"portal"}))
    assert told(engine, DOCTOR) == {"Asthma"}


def test_an_operator_verifies_a_consent_and_can_take_that_back(engine: Engine, clock: HandClock) -> None:
    engine.ingest("p", bundle(condition("Secret", **labelled("NODSCLCDS"))), source="ehr")
    engine.ingest("p", bundle(consent("OPTIN")), source="portal")
    assert told(engine, DOCTOR) == set()
    statement = next(s.id for s in engine.graph("p").statements.values() if s.provenance.record.type == "Consent")
    clock.wait(minutes=1)
    ruling = engine.rule("p", RulingKind.VALUE_IS_RIGHT, statement, field="provisions")
    assert told(engine, DOCTOR) == {"Secret"}
    clock.wait(minutes=1)
    engine.withdraw_ruling("p", ruling.id)
    assert told(engine, DOCTOR) == set()


def test_a_consent_of_a_retracted_source_decides_nothing(engine: Engine, clock: HandClock) -> None:
    engine.ingest("p", bundle(condition("Asthma")), source="ehr")
    engine.ingest("p", bundle(consent("OPTOUT")), source="portal")
    clock.wait(minutes=1)
    engine.retract("p", "portal")
    assert told(engine, DOCTOR) == {"Asthma"}


def test_a_consent_decides_about_talk_too(engine: Engine) -> None:
    engine.append("p", "s", [Turn(Speaker.PATIENT, "I have a headache.", said_at=NOW)])
    assert engine.memories("p", access=DOCTOR)
    engine.ingest("p", bundle(consent("OPTOUT")), source="portal")
    assert engine.memories("p", access=DOCTOR) == []
    assert engine.graph("p", access=DOCTOR).sessions == {}


def test_a_consent_that_names_what_it_hides_is_itself_hidden(engine: Engine) -> None:
    hiding = consent("OPTIN", provision={"type": "deny", "securityLabel": [{"system": ACT_CODE, "code": "SUD"}]})
    sick = condition("", id="c2", code={"coding": [{"system": ICD10, "code": "F14.20"}], "text": "Use disorder"})
    engine.ingest("p", bundle(condition("Asthma"), sick, hiding), source="portal")
    assert told(engine, DOCTOR) == {"Asthma"}
    for access, shown in ((Access.local(), 1), (SELF, 1), (DOCTOR, 0)):
        directives = [s for s in engine.graph("p", access=access).statements.values() if s.kind is Kind.DIRECTIVE]
        assert len(directives) == shown, access.id


def test_an_advance_directive_is_shown_whatever_consents_to_privacy_say_of_exceptions(engine: Engine) -> None:
    wish = consent("OPTIN", provision={"type": "deny", "purpose": [{"system": ACT_REASON, "code": "HPAYMT"}]})
    wish["scope"]["coding"][0]["code"] = "adr"
    engine.ingest("p", bundle(wish), source="ehr")
    assert [s.kind for s in engine.graph("p", access=DOCTOR).statements.values() if s.kind is Kind.DIRECTIVE]


def test_a_permission_ends_with_its_period_while_the_engine_runs(engine: Engine, clock: HandClock) -> None:
    until = consent("OPTOUT", provision={"type": "permit", "period": {"end": (NOW + timedelta(hours=1)).isoformat()}})
    engine.ingest("p", bundle(condition("Asthma"), until), source="portal")
    opened(engine, consent_sources=frozenset({"portal"}))
    assert told(engine, DOCTOR) == {"Asthma"}
    clock.wait(minutes=61)
    assert told(engine, DOCTOR) == set()


def test_what_the_patient_denies_is_denied_to_others(engine: Engine) -> None:
    engine.ingest("p", bundle(condition("Asthma"), consent("OPTOUT")), source="portal")
    assert told(engine, SELF) == {"Asthma"}
    assert told(engine, PROXY) == set()


def test_calls_of_a_session_without_turns_are_talk_too(engine: Engine) -> None:
    engine.put_patient("p")
    engine.record_calls("p", "s", [ToolCall("search", "{}")])
    assert engine.tool_calls("p", "s", access=DOCTOR)
    with pytest.raises(NotFound):
        engine.tool_calls("p", "s", access=PAYER)
    engine.ingest("p", bundle(consent("OPTOUT")), source="portal")
    with pytest.raises(NotFound):
        engine.tool_calls("p", "s", access=DOCTOR)


def test_a_consent_on_a_matter_counts_for_bytes_and_calls_too(engine: Engine) -> None:
    hiding = consent("OPTIN", provision={"type": "deny", "securityLabel": [{"system": ACT_CODE, "code": "SUD"}]})
    remark = [{"url": "http://example.org/remark", "valueString": "uses cocaine"}]
    sent = engine.ingest("p", bundle(condition("Asthma", extension=remark)), source="ehr")
    engine.record_calls("p", "s", [ToolCall("search", "cocaine"), ToolCall("search", "asthma")])
    assert engine.document("p", sent.document, access=DOCTOR)
    engine.ingest("p", bundle(hiding), source="portal")
    with pytest.raises(NotFound):
        engine.document("p", sent.document, access=DOCTOR)
    assert [each.call.arguments for each in engine.tool_calls("p", "s", access=DOCTOR)] == ["asthma"]


def test_a_document_whose_text_is_hidden_still_lends_its_authors_to_its_entries(engine: Engine) -> None:
    words = "<text>History of cocaine abuse in the past.</text>"
    engine.ingest("p", cda(words), source="ehr")
    clerk = msgspec.structs.replace(DOCTOR, id="clerk", withheld=frozenset({label("SUD")}))
    shown = engine.graph("p", access=clerk)
    assert told(engine, clerk) == {"Asthma"}
    assert shown.passages == {}
    authors = {shown.attributions[id].author.display for id, s in shown.statements.items() if s.kind is Kind.CONDITION}
    assert authors == {"Dr Ames"}


# ------------------------------------------------------------------- purposes


def everything() -> bytes:
    return bundle(condition("Asthma"), result("Glucose", 90), order("10 mg"))


def test_payment_and_operations_see_the_kinds_that_they_need(engine: Engine) -> None:
    engine.ingest("p", everything(), source="ehr")
    engine.ingest("p", b"Letter.\n\nThe patient has migraine.", source="ehr")
    engine.append("p", "s", [Turn(Speaker.PATIENT, "I have a headache.", said_at=NOW)])
    assert told(engine, PAYER) == {"Asthma"}
    assert told(engine, OPERATIONS) == {"Asthma", "Glucose", "Lisinopril"}
    for access in (PAYER, OPERATIONS):
        graph = engine.graph("p", access=access)
        assert graph.passages == {}
        assert graph.sessions == {}
        assert graph.memories == {}
    assert told(engine, DOCTOR) == {"Asthma", "Glucose", "Lisinopril", "Migraine"}


# ------------------------------------------------------------------- proxies


def born(day: str) -> bytes:
    someone = {"resourceType": "Patient", "id": "p", "birthDate": day, "name": [{"family": "Ray"}]}
    return json.dumps({"resourceType": "Bundle", "type": "collection", "entry": [{"resource": someone}]}).encode()


@pytest.mark.parametrize(
    ("day", "sees"),
    [
        ("2022-02-01", True),  # a small child
        ("2011-02-15", False),  # 15 today
        ("2014-02-15", False),  # 12 today
        ("2014-02-19", True),  # not yet, anywhere on earth
        ("2008-02-10", True),  # grown up
        ("", False),  # nobody says
    ],
)
def test_a_proxy_of_an_adolescent_does_not_see_what_the_young_keep_for_themselves(
    engine: Engine, day: str, sees: bool
) -> None:
    secret = [
        condition("", id=f"c{number}", code={"coding": [{"system": ICD10, "code": code}], "text": f"Matter {number}"})
        for number, code in enumerate(("Z30.011", "O24.410", "F33.1", "F12.10", "T74.11XA", "A56.2"))
    ]
    if day:
        engine.ingest("p", born(day), source="ehr")
    engine.ingest("p", bundle(condition("Asthma", id="a"), *secret), source="ehr")
    engine.append("p", "alone", [Turn(Speaker.PATIENT, "I have a headache.", said_at=NOW)])
    both = [Turn(Speaker.CAREGIVER, "She has a cough.", relationship="mother", said_at=NOW)]
    engine.append("p", "together", both)
    hidden = {f"Matter {number}" for number in range(6)}
    assert told(engine, PROXY) == ({"Asthma", *hidden} if sees else {"Asthma"})
    assert set(engine.graph("p", access=PROXY).sessions) == ({"alone", "together"} if sees else {"together"})
    assert told(engine, SELF) == told(engine, DOCTOR) == {"Asthma", *hidden}


def test_where_it_is_decides_too(engine: Engine) -> None:
    sick = condition("", id="c", code={"coding": [{"system": ICD10, "code": "Z30.011"}], "text": "Advice"})
    engine.ingest("p", born("2018-01-01"), source="ehr")
    engine.ingest("p", bundle(condition("Asthma"), sick), source="ehr")
    assert told(engine, PROXY) == {"Asthma", "Advice"}
    assert told(opened(engine, jurisdiction="US-CA"), PROXY) == {"Asthma"}


# ------------------------------------------------------------------- caches


def test_the_answers_of_one_view_are_not_those_of_another(engine: Engine) -> None:
    secret = condition("Secret", id="c2", **labelled("R", system=CONFIDENTIALITY))
    engine.ingest("p", bundle(condition("Asthma"), secret), source="ehr")
    clerk = msgspec.structs.replace(DOCTOR, id="clerk", withheld=frozenset({label("R")}))
    for access, expected in (
        (DOCTOR, {"Asthma", "Secret"}),
        (clerk, {"Asthma"}),
        (Access.local(), {"Asthma", "Secret"}),
    ):
        assert told(engine, access) == expected
        assert told(engine, access) == expected
    assert engine.browse("/patient/p/", access=clerk).stamp != engine.browse("/patient/p/", access=DOCTOR).stamp


# ------------------------------------------------------------------- what goes with what is shown


def test_a_context_carries_the_labels_of_what_it_tells_and_the_highest_confidentiality(engine: Engine) -> None:
    secret = condition("Secret", id="c2", **labelled("NORDSCLCD"))
    secret["meta"]["security"] += [{"system": CONFIDENTIALITY, "code": "R"}]
    plain = condition("Asthma", **labelled("N", system=CONFIDENTIALITY))
    sick = condition("", id="c3", code={"coding": [{"system": ICD10, "code": "F14.20"}], "text": "Use disorder"})
    engine.ingest("p", bundle(plain, secret, sick), source="ehr")
    asked = ContextRequest(subjects=(patient("p"),), task="general", budget_tokens=1500)
    context = engine.context(asked, access=DOCTOR)
    assert {each.code for each in context.labels} == {"NORDSCLCD", "R", "SUD"}
    told = {name: item for name in ("Secret", "Asthma", "Use disorder") for item in context.items if name in item.text}
    assert {each.code for each in told["Secret"].labels} == {"NORDSCLCD", "R"}
    assert {each.code for each in told["Asthma"].labels} == {"N"}
    assert {each.code for each in told["Use disorder"].labels} == {"SUD"}


def test_settings_say_who_is_trusted_and_where_this_is() -> None:
    given = {"CONSENT_SOURCES": "registry, portal", "JURISDICTION": "US-CA", "TIME_ZONE": "Asia/Tokyo"}
    made = privacy_of(Settings.read({f"IAMATA_{name}": value for name, value in given.items()}))
    assert made.consent_sources == {"registry", "portal"}
    assert made.part2_sources == frozenset()
    assert (made.jurisdiction, str(made.zone)) == ("US-CA", "Asia/Tokyo")
    assert privacy_of(Settings()) == Privacy()
    with pytest.raises(InvalidValue, match="IAMATA_TIME_ZONE"):
        Settings.read({"IAMATA_TIME_ZONE": "Mars/Olympus"})


def test_a_file_in_which_nothing_was_understood_is_not_of_the_kinds_that_payment_needs(engine: Engine) -> None:
    engine.ingest("p", everything(), source="ehr")
    unknown = {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": {"resourceType": "Library"}}]}
    unread = engine.ingest("p", json.dumps(unknown).encode(), source="ehr", name="scan.json")
    assert unread.document in engine.graph("p", access=DOCTOR).documents
    assert unread.document not in engine.graph("p", access=PAYER).documents
    with pytest.raises(NotFound):
        engine.document("p", unread.document, access=PAYER)


def test_an_agent_of_the_person_at_this_machine_sees_what_that_person_sees(engine: Engine) -> None:
    engine.ingest("p", bundle(condition("Secret", **labelled("42CFRPart2"))), source="ehr")
    assert told(engine, mcp.agent()) == {"Secret"}
    assert told(engine, msgspec.structs.replace(mcp.agent(), for_owner=False)) == set()
    assert told(engine, msgspec.structs.replace(mcp.agent(), withheld=frozenset({label("SUD")}))) == set()

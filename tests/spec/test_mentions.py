"""Mentions: what the passages of documents say, as statements of the passage's author that point to their words."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from spec_patients import NOW, RESTRICTED, HandClock, allergy, bundle, condition, order

from iamata import Access, Engine, patient
from iamata.errors import NotFound
from iamata.model.access import PrincipalKind
from iamata.model.attribution import AttributionKind, Role
from iamata.model.context import ContextRequest
from iamata.model.fact import Currency, Fact
from iamata.model.ruling import RulingKind
from iamata.model.statement import Form, Kind, Label, Polarity, Standing, Statement, Verification

HIDDEN = Label(**RESTRICTED)
OpenEngine = Callable[..., Engine]
WORDS = "Seen today. She has asthma and takes metformin 500 mg twice a day. No chest pain. Her mother has gout."
AMES = {"resourceType": "Practitioner", "id": "ames", "name": [{"text": "Dr Ames"}]}
DAY = "2026-02-11T09:00:00Z"


def note(text: str, *, id: str = "n1", title: str = "", by: str = "Practitioner/ames", **more: Any) -> dict[str, Any]:
    attachment = {"contentType": "text/plain", "data": base64.b64encode(text.encode()).decode()}
    return {
        "resourceType": "DocumentReference",
        "id": id,
        "status": "current",
        "subject": {"reference": "Patient/p"},
        "date": DAY,
        "author": [{"reference": by}],
        "content": [{"attachment": attachment | ({"title": title} if title else {})}],
        **more,
    }


def sent(engine: Engine, *resources: dict[str, Any], source: str = "one") -> None:
    engine.ingest("p", bundle(AMES, *resources), source=source)


def mentions(engine: Engine, **when: Any) -> list[Statement]:
    return [s for s in engine.graph("p", **when).statements.values() if s.is_mention]


def facts(engine: Engine, **when: Any) -> dict[str, Fact]:
    found = engine.graph("p", **when).facts.values()
    return {f.display: f for f in found if f.kind not in (Kind.DEMOGRAPHIC, Kind.DOCUMENT)}


def witnesses(engine: Engine, fact: Fact) -> str:
    authority = engine.explain("p", fact.id).authority
    assert authority is not None
    return next(f.why for f in authority.factors if f.name == "corroboration").partition(",")[0]


def test_what_a_note_mentions_is_its_authors_and_stands_at_its_words(engine: Engine) -> None:
    sent(engine, note(WORDS))
    found = facts(engine)
    assert set(found) == {"Asthma", "Metformin", "mother"}
    taken = found["Metformin"]
    assert [(f.name, f.value) for f in taken.fields] == [("dose", "500 mg"), ("frequency", "twice a day")]
    [id] = taken.members
    told = engine.explain("p", id)
    [testimony] = told.testimonies
    assert testimony.attribution.kind is AttributionKind.SYSTEM
    assert (testimony.attribution.author.role, testimony.attribution.author.display) == (Role.CLINICIAN, "Dr Ames")
    assert testimony.statement.form is Form.UNSTRUCTURED
    assert testimony.statement.provenance.reader == "offline/1"
    [seen] = testimony.seen
    words = "She has asthma and takes metformin 500 mg twice a day"
    assert seen.excerpt == words
    assert (seen.place.start, seen.place.end) == (WORDS.index(words), WORDS.index(words) + len(words))
    assert seen.place.pointer.endswith("/content/0/attachment")
    assert WORDS not in engine.document("p", seen.document)[1].decode()


def test_a_mention_in_a_plain_text_file_stands_in_that_text(engine: Engine) -> None:
    engine.ingest("p", WORDS.encode(), media_type="text/plain", source="files")
    [id] = facts(engine)["Asthma"].members
    [seen] = engine.explain("p", id).testimonies[0].seen
    assert seen.excerpt == "She has asthma and takes metformin 500 mg twice a day"
    assert engine.document("p", seen.document)[1].decode()[seen.place.start : seen.place.end] == seen.excerpt


def test_what_is_denied_or_only_supposed_is_no_fact_and_a_relatives_disease_is_the_relatives(engine: Engine) -> None:
    sent(engine, note("No chest pain. Denies diabetes. If he gets a fever, call. Her mother has gout, no asthma."))
    assert {(f.kind, f.display, f.components[0].concept.display) for f in facts(engine).values()} == {
        (Kind.FAMILY_HISTORY, "mother", "Gout")
    }
    denied = [s for s in mentions(engine) if s.polarity is Polarity.DENIED]
    assert {s.concept.display for s in denied if s.concept} == {"Chest pain", "Diabetes mellitus", "Asthma"}
    assert engine.explain("p", denied[0].id).what == "statement"


def test_a_denial_in_words_takes_back_nothing_that_was_sent(engine: Engine) -> None:
    sent(engine, condition("Asthma", recordedDate="2020-01-01"), note("She has never had asthma. Stopped lisinopril."))
    sent(engine, order("10 mg", day="2024-01-01"), source="two")
    found = facts(engine)
    assert (found["Asthma"].polarity, found["Asthma"].standing) == (Polarity.AFFIRMED, Standing.ACTIVE)
    assert found["Lisinopril"].standing is Standing.ACTIVE
    assert [c.kind for c in engine.conflicts("p")] == ["status"]


def test_words_neither_affirm_nor_doubt_what_was_sent(engine: Engine) -> None:
    refuted = {"coding": [{"code": "refuted"}]}
    sent(engine, condition("Asthma"), condition("Gout", id="c2", verificationStatus=refuted))
    before = facts(engine)
    sent(engine, note("Possible asthma. She has gout."), source="two")
    for name, fact in facts(engine).items():
        assert (fact.polarity, fact.verification) == (before[name].polarity, before[name].verification)
        assert len(fact.members) == 2
    assert {c.kind for c in engine.conflicts("p")} == {"verification"}


def test_one_note_that_names_a_thing_in_several_ways_is_one_fact_without_conflict(engine: Engine) -> None:
    sent(engine, note("Possible asthma. Assessment: She has asthma. No asthma at night."))
    [fact] = facts(engine).values()
    assert len(fact.members) == 3
    assert engine.conflicts("p") == []


def test_many_notes_part_no_records(engine: Engine) -> None:
    for name in ("one", "two"):
        sent(engine, condition("Asthma"), source=name)
    sent(engine, *(note("Asthma.", id=f"n{number}") for number in range(60)), source="three")
    [fact] = (f for f in facts(engine).values() if f.kind is Kind.CONDITION)
    assert len(fact.members) == 62


def test_what_only_a_note_names_is_not_said_to_be_so_now(engine: Engine) -> None:
    sent(engine, note("She has asthma. Possible pneumonia."))
    found = facts(engine)
    assert {f.currency for f in found.values()} == {Currency.UNKNOWN}
    assert found["Pneumonia"].verification is Verification.UNCONFIRMED


def test_no_known_allergies_in_words_is_a_denial_of_all(engine: Engine) -> None:
    sent(engine, note("None", title="Allergies"))
    [fact] = facts(engine).values()
    assert (fact.display, fact.polarity) == ("No known allergies", Polarity.DENIED)
    sent(engine, allergy("Penicillin"), source="two")
    assert [c.kind for c in engine.conflicts("p")] == ["existence"]


def test_a_mention_and_the_entry_of_one_document_are_one_fact_and_one_witness(engine: Engine) -> None:
    """The note's author is another one than the entry's."""
    sent(engine, condition("Asthma", id="c2"), note("Asthma is well controlled."), source="two")
    both = facts(engine)["Asthma"]
    assert len(both.members) == 2
    assert witnesses(engine, both) == "1 independent witness on this side"
    sent(engine, note("Her asthma is well controlled.", id="n3"), source="four")
    assert witnesses(engine, facts(engine)["Asthma"]) == "1 independent witness on this side"  # Dr Ames again
    sent(engine, condition("Asthma", id="c9", recorder={"display": "Dr Lee"}), source="five")
    assert witnesses(engine, facts(engine)["Asthma"]) == "2 independent witnesses on this side"


def test_a_text_tells_less_than_an_entry(engine: Engine) -> None:
    sent(engine, note("She has asthma."))
    sent(engine, condition("Gout", recordedDate=DAY, recorder={"reference": "Practitioner/ames"}))
    found = facts(engine)
    authority = engine.explain("p", found["Asthma"].id).authority
    sent_one = engine.explain("p", found["Gout"].id).authority
    assert authority is not None
    assert sent_one is not None
    assert {f.name: f.log_odds for f in authority.factors}["extraction"] < 0
    assert {f.name: f.log_odds for f in sent_one.factors}["extraction"] == 0


def test_what_one_record_says_twice_is_one_statement_seen_twice(engine: Engine) -> None:
    sent(engine, note("She has asthma. Plan: review. Her asthma is stable."))
    [fact] = facts(engine).values()
    [id] = fact.members
    assert len(engine.graph("p").sightings[id]) == 2


def test_sending_again_adds_nothing_and_order_does_not_matter(open_engine: OpenEngine, clock: HandClock) -> None:
    documents = [
        ("one", bundle(AMES, note(WORDS))),
        ("two", bundle(AMES, condition("Asthma"), note("Asthma. Gout.", id="n9"))),
        ("one", bundle(AMES, condition("Gout", id="c3"))),
    ]
    engine = open_engine()
    for source, body in documents:
        engine.ingest("p", body, source=source)
    hash, ids = engine.graph("p").hash, set(engine.graph("p").statements)
    for source, body in documents:
        engine.ingest("p", body, source=source)
    assert (engine.graph("p").hash, set(engine.graph("p").statements)) == (hash, ids)
    for seed in range(3):
        other = open_engine(f"other{seed}")
        for source, body in random.Random(seed).sample(documents, 3):
            other.ingest("p", body, source=source)
        assert (other.graph("p").hash, set(other.graph("p").statements)) == (hash, ids)


def test_a_retracted_source_takes_its_words_with_it(open_engine: OpenEngine) -> None:
    engine, other = open_engine(), open_engine("other")
    for each in (engine, other):
        sent(each, condition("Asthma"), source="two")
    sent(engine, note(WORDS))
    engine.retract("p", "one")
    assert engine.graph("p").hash == other.graph("p").hash
    assert mentions(engine) == []


def test_a_source_of_another_patient_says_nothing_in_words_either(engine: Engine) -> None:
    sent(engine, note(WORDS))
    sent(engine, condition("Gout"), source="two")
    member = facts(engine)["Asthma"].members[0]
    engine.rule("p", RulingKind.NOT_THIS_PATIENT, member)
    assert set(facts(engine)) == {"Gout"}
    assert mentions(engine) == []


def test_words_are_known_from_their_arrival_on(engine: Engine, clock: HandClock) -> None:
    sent(engine, condition("Gout"), source="two")
    arrival = clock.wait(hours=1)
    sent(engine, note(WORDS))
    clock.wait(hours=1)
    assert mentions(engine, known_at=arrival - timedelta(seconds=1)) == []
    assert {s.kind for s in mentions(engine, known_at=arrival)} == {s.kind for s in mentions(engine)}
    assert mentions(engine, true_at=NOW - timedelta(days=30)) == []


def test_a_corrected_note_says_what_it_says_now(engine: Engine) -> None:
    sent(engine, note("She has asthma.", meta={"versionId": "1"}))
    sent(engine, note("She has gout.", meta={"versionId": "2"}))
    assert set(facts(engine)) == {"Gout"}
    sent(engine, note("She has gout.", meta={"versionId": "3"}, status="entered-in-error"))
    assert mentions(engine) == []


def test_a_correction_without_versions_counts_by_arrival(engine: Engine, clock: HandClock) -> None:
    sent(engine, note("She has asthma."))
    clock.wait(minutes=1)
    sent(engine, note("She has gout."))
    assert set(facts(engine)) == {"Gout"}


def test_a_patients_own_note_is_the_patients_word(engine: Engine) -> None:
    sent(engine, note("I stopped the metformin in January.", by="Patient/p"))
    [fact] = facts(engine).values()
    assert (fact.display, fact.standing) == ("Metformin", Standing.STOPPED)
    assert [(s.kind, s.role) for s in fact.supported_by] == [(AttributionKind.USER, Role.PATIENT)]


def test_hidden_words_are_said_to_nobody_who_may_not_read_them(open_engine: OpenEngine) -> None:
    engine, other = open_engine(), open_engine("other")
    reader = Access(kind=PrincipalKind.OPERATOR, id="clerk", withheld=frozenset({HIDDEN}))
    for each in (engine, other):
        sent(each, note("She has asthma.", id="n2"), source="two")
    sent(engine, note("She has gout.", meta={"security": [RESTRICTED]}))
    sent(other)
    assert set(facts(engine)) == {"Asthma", "Gout"}
    assert facts(engine)["Gout"].labels
    assert set(facts(engine, access=reader)) == {"Asthma"}
    assert engine.graph("p", access=reader).hash == other.graph("p").hash


def test_a_person_can_rule_on_what_words_say(engine: Engine) -> None:
    sent(engine, note("She has asthma."))
    sent(engine, condition("Asthma"), source="two")
    [fact] = facts(engine).values()
    engine.rule("p", RulingKind.NOT_SAME, *fact.members)
    held = [f for f in engine.graph("p").facts.values() if f.display == "Asthma"]
    assert len(held) == 2
    sent(engine, note("She has asthma."))
    assert len([f for f in engine.graph("p").facts.values() if f.display == "Asthma"]) == 2


def test_fuzzy_names_of_drugs_in_words_merge_nothing(engine: Engine) -> None:
    sent(engine, order("10 mg"), note("She takes hydroxyzine and lisinopril."))
    sent(engine, order("5 mg", id="m2", medicationCodeableConcept={"text": "Hydralazine"}), source="two")
    found = facts(engine)
    assert set(found) == {"Lisinopril", "Hydroxyzine", "Hydralazine"}
    assert len(found["Lisinopril"].members) == 2


def test_words_bring_no_two_records_together_that_nothing_else_does(engine: Engine) -> None:
    snomed = "http://snomed.info/sct"
    for number, code in enumerate(("16001004", "301354004")):
        sent(
            engine,
            condition(
                "Earache", id=f"c{number}", code={"text": "Earache", "coding": [{"system": snomed, "code": code}]}
            ),
            source=f"clinic{number}",
        )
    apart = [f for f in engine.graph("p").facts.values() if f.kind is Kind.CONDITION]
    assert len(apart) == 2
    sent(engine, note("She has an earache."), source="three")
    found = [f for f in engine.graph("p").facts.values() if f.kind is Kind.CONDITION]
    assert sorted(len(f.members) for f in found) == [1, 2]


def test_a_sections_text_repeats_the_habits_of_its_entries(engine: Engine) -> None:
    """As vendors write it: the smoking status as an entry, and a line of other words for it."""
    section = (
        '<ClinicalDocument xmlns="urn:hl7-org:v3"><component><structuredBody><component><section>'
        '<code code="29762-2" codeSystem="2.16.840.1.113883.6.1"/><title>Social History</title>'
        "<text>Never smoked any cigarettes. {}</text>{}</section></component></structuredBody></component>"
        "</ClinicalDocument>"
    )
    entry = (
        '<entry><observation classCode="OBS" moodCode="EVN"><code code="72166-2" codeSystem="2.16.840.1.113883.6.1" '
        'displayName="Tobacco smoking status"/><effectiveTime value="20260201"/>'
        '<value xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CD" code="266919005" '
        'codeSystem="2.16.840.1.113883.6.96" displayName="Never smoked tobacco"/></observation></entry>'
    )
    engine.ingest("p", section.format("She has asthma as well.", entry).encode(), source="vendor")
    assert {s.concept.display for s in mentions(engine) if s.concept} == {"Asthma"}
    engine.retract("p", "vendor")
    engine.ingest("p", section.format("", "").encode(), source="other")
    assert [(s.kind, s.polarity) for s in mentions(engine)] == [(Kind.SOCIAL_HISTORY, Polarity.DENIED)]
    assert [f.polarity for f in facts(engine).values()] == [Polarity.DENIED]


def test_an_erased_patients_words_are_gone(engine: Engine) -> None:
    sent(engine, note(WORDS))
    member = mentions(engine)[0].id
    engine.delete_patient("p")
    with pytest.raises(NotFound):
        engine.explain("p", member)
    engine.put_patient("p")  # the explicit word: it is another patient
    sent(engine, condition("Gout"))
    assert mentions(engine) == []
    assert set(facts(engine)) == {"Gout"}


def test_reading_again_keeps_what_words_say(engine: Engine) -> None:
    sent(engine, note(WORDS))
    before = engine.graph("p")
    assert engine.reread("p").receipts == ()
    assert engine.graph("p").hash == before.hash


def test_a_context_cites_the_note_for_what_it_mentions(engine: Engine) -> None:
    sent(engine, note(WORDS))
    made = engine.context(ContextRequest(subjects=(patient("p"),), task="general", budget_tokens=600))
    [line] = [line for line in made.text.splitlines() if "Metformin" in line]
    assert "500 mg" in line
    member = facts(engine)["Metformin"].members[0]
    assert member in {item.item for item in made.items} | {id for item in made.items for id in item.citations}
    story = engine.read("/patient/p/medications").text
    assert "Metformin" in story

"""Agents keep what they infer of a patient with what it was derived from: stale, withdrawn, hidden, never a witness."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from spec_patients import NOW, RESTRICTED, HandClock, allergy, bundle, condition, order

from iamata import (
    Access,
    BadInput,
    ContextRequest,
    Engine,
    Format,
    Gone,
    InvalidValue,
    NotAllowed,
    NotFound,
    Speaker,
    Turn,
    patient,
)
from iamata.language.tokens import token_counter
from iamata.model.access import PrincipalKind
from iamata.model.attribution import AttributionKind, Role
from iamata.model.entry import Entry, EntryDraft, EntryKind, Inferred
from iamata.model.erasure import Erasable
from iamata.model.ruling import RulingKind
from iamata.model.statement import Label

P = patient("p")
BOT = Access(kind=PrincipalKind.AGENT, id="triage", on_behalf_of="dr-lee")
READER = Access(kind=PrincipalKind.OPERATOR, id="clerk", withheld=frozenset({Label(**RESTRICTED)}))
SECRET = {"meta": {"security": [RESTRICTED]}}


@pytest.fixture
def filled(engine: Engine, clock: HandClock) -> Engine:
    engine.ingest("p", bundle(order("10 mg"), condition("Asthma")), source="ehr")
    engine.append("p", "s", [Turn(Speaker.PATIENT, "I have a bad cough.", said_at=NOW)])
    clock.wait(hours=1)
    return engine


def fact(engine: Engine, kind: str, word: str = "") -> str:
    return next(f.id for f in engine.graph("p").facts.values() if f.kind == kind and word in f.display)


def put(engine: Engine, *items: str, access: Access = BOT, **more: Any) -> Entry:
    given = {"subject": P, "kind": EntryKind.INFERENCE, "title": "Cough", "text": "The cough may come from lisinopril."}
    return engine.put_entry(EntryDraft(derived_from=items, **(given | more)), access=access)


def only(engine: Engine, **more: Any) -> Inferred:
    [found] = engine.inferences("p", **more)
    return found


def test_an_inference_is_the_agents_word_with_what_it_was_derived_from(filled: Engine) -> None:
    drug, memory = fact(filled, "medication"), min(filled.graph("p").memories)
    made = put(filled, drug, memory)
    assert (made.version, made.attribution.kind, made.attribution.author.role) == (1, AttributionKind.AGENT, Role.AGENT)
    assert (made.attribution.author.reference, made.attribution.author.display) == ("agent/triage", "triage")
    assert [(b.item, b.what) for b in made.derived_from] == [(drug, "fact"), (memory, "memory")]
    assert made.derived_from[0].roots == filled.graph("p").facts[drug].members
    assert (only(filled).entry, only(filled).stale) == (made, False)
    assert filled.entries(P) == [made] == [filled.entry(P, made.id)]
    assert put(filled, drug, memory) == made, "said again from the same it adds nothing"


def test_sources_are_named_by_id_address_or_citation(filled: Engine) -> None:
    drug = fact(filled, "medication")
    address = filled.explain("p", drug).address
    context = filled.context(ContextRequest(subjects=(P,), task="general", budget_tokens=500))
    number = next(item.number for item in context.items if item.item == drug)
    made = put(filled, address, f"{context.id}[{number}]")
    assert [b.item for b in made.derived_from] == [drug, filled.graph("p").facts[drug].members[0]]


@pytest.mark.parametrize(
    ("items", "error", "says"),
    [
        ((), BadInput, "name what it was derived from"),
        (("fa_nothing",), NotFound, "no item"),
        (("et_x",), BadInput, "not on"),
    ],
)
def test_an_inference_rests_on_something_of_this_patient(
    filled: Engine, items: tuple[str, ...], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        put(filled, *items)
    with pytest.raises(NotFound):
        put(filled, "/patient/q/_index.md")
    assert filled.inferences("p") == []


def test_it_goes_stale_when_a_source_changes_and_says_which(filled: Engine, clock: HandClock) -> None:
    drug, asthma = fact(filled, "medication"), fact(filled, "condition")
    made = put(filled, drug, asthma)
    before = clock.now
    clock.wait(hours=1)
    filled.ingest("p", bundle(order("10 mg", status="stopped"), condition("Asthma")), source="ehr")
    assert (only(filled).stale, only(filled).changed) == (True, (drug,))
    assert only(filled, known_at=before).stale is False
    text = filled.read("/patient/p/inferences/").text
    assert '"The cough may come from lisinopril.", from 2 items; ⚠ stale: Lisinopril has changed since [' in text
    again = put(filled, drug, asthma, id=made.id)
    assert (again.version, only(filled).stale) == (2, False)


def test_talk_against_a_source_makes_it_stale(filled: Engine, clock: HandClock) -> None:
    drug = fact(filled, "medication")
    put(filled, drug)
    filled.append("p", "s", [Turn(Speaker.PATIENT, "I stopped lisinopril last week.", said_at=NOW)])
    assert only(filled).changed == (drug,)


def test_it_is_withdrawn_when_its_source_is_retracted_and_comes_back_with_it(filled: Engine, clock: HandClock) -> None:
    filled.ingest("p", bundle(allergy("Penicillin")), source="other")
    made = put(filled, fact(filled, "allergy"))
    filled.retract("p", "other")
    assert filled.inferences("p") == filled.entries(P) == filled.entries(P, history=True) == []
    with pytest.raises(Gone, match="what it rests on was retracted or refused"):
        filled.entry(P, made.id)
    assert "inferences" not in filled.read("/patient/p/_index.md").text
    assert filled.search(P, "cough lisinopril", kinds=["inference"]) == []
    clock.wait(hours=1)
    filled.ingest("p", bundle(allergy("Penicillin")), source="other")
    assert only(filled).entry == made


def test_it_is_withdrawn_when_a_memory_is_refused_or_the_patient_erased(filled: Engine) -> None:
    memory = min(filled.graph("p").memories)
    put(filled, memory)
    filled.rule("p", RulingKind.MEMORY_REFUSED, memory)
    assert filled.inferences("p") == []
    put(filled, fact(filled, "condition"), title="Other")
    filled.delete_patient("p")
    with pytest.raises(NotFound):
        filled.inferences("p")
    filled.put_patient("p")
    assert filled.inferences("p") == []


def test_it_is_hidden_whole_from_who_may_not_see_one_of_its_sources(filled: Engine) -> None:
    filled.ingest("p", bundle(condition("Zwyxbar disease", id="h1", **SECRET)), source="ehr")
    secret, drug = fact(filled, "condition", "Zwyxbar"), fact(filled, "medication")
    made = put(filled, secret, drug, text="Zwyxbar explains the cough.")
    before = [filled.graph("p", access=READER).hash]
    assert filled.inferences("p", access=READER) == filled.entries(P, access=READER) == []
    assert filled.entries(P, history=True, access=READER) == []
    with pytest.raises(NotFound) as refusal:
        filled.entry(P, made.id, access=READER)
    assert type(refusal.value) is NotFound, "it is not told from one that never was"
    for address in ("/patient/p/", "/patient/p/inferences/", "/patient/p/_index.md"):
        for format in Format:
            assert "wyxbar" not in filled.read(address, format=format, access=READER).text
    assert filled.search(P, "Zwyxbar cough", access=READER, kinds=["inference"]) == []
    context = filled.context(
        ContextRequest(subjects=(P,), task="general", budget_tokens=3000, query="cough"), access=READER
    )
    assert "wyxbar" not in context.text
    assert not [out for out in context.left_out if "inferences" in out.address]
    assert before == [filled.graph("p", access=READER).hash]


def test_it_is_never_a_witness_and_changes_no_fact_and_no_weight(filled: Engine) -> None:
    drug = fact(filled, "medication")
    before = (filled.graph("p").hash, filled.explain("p", drug).authority, filled.conflicts("p"))
    for number in range(3):
        put(filled, drug, title=f"Cough {number}", text="He surely takes lisinopril.")
    graph = filled.graph("p")
    assert (graph.hash, filled.explain("p", drug).authority, filled.conflicts("p")) == before
    assert len(graph.memories) == 1


def test_it_stands_in_the_tree_in_search_and_in_contexts_with_a_citation_that_resolves(filled: Engine) -> None:
    drug = fact(filled, "medication")
    made = put(filled, drug)
    assert "inferences/" in [node.name for node in filled.browse("/patient/p/").nodes]
    [_, node] = filled.browse("/patient/p/inferences/").nodes
    page = filled.read(node.address)
    assert page.text.startswith(
        "# Cough\n- Inference, Cough: an AI agent (triage) 2026-02-15: "
        '"The cough may come from lisinopril.", from 1 item ['
    )
    assert "## Derived from\n- Lisinopril" in page.text
    assert page.tokens == node.tokens == token_counter().count(page.text)
    assert page.citations[0].item == made.id
    found = filled.explain("p", page.citations[0].item)
    assert (found.what, found.links, found.address) == ("entry:inference", (drug,), node.address)
    [hit] = filled.search(P, "cough", kinds=["inference"])
    assert (hit.item, hit.address) == (made.id, node.address)
    context = filled.context(ContextRequest(subjects=(P,), task="general", budget_tokens=1500, query="cough"))
    [item] = [each for each in context.items if each.item == made.id]
    assert (item.stale, item.authority, item.citations) == (False, None, (made.id,))
    assert "## Inferred by agents\n- Inference, Cough: an AI agent (triage)" in context.text
    assert filled.explain("p", f"{context.id}[{item.number}]").item == made.id


def test_a_stale_inference_is_marked_in_a_context(filled: Engine) -> None:
    put(filled, fact(filled, "medication"))
    filled.ingest("p", bundle(order("40 mg"), condition("Asthma")), source="ehr")
    context = filled.context(ContextRequest(subjects=(P,), task="general", budget_tokens=1500, query="cough"))
    [item] = [each for each in context.items if "may come from" in each.text]
    assert item.stale
    assert "⚠ stale: Lisinopril has changed since" in item.text


def test_an_agent_changes_and_retires_its_own_inferences_and_nobody_elses(filled: Engine) -> None:
    drug = fact(filled, "medication")
    made = put(filled, drug)
    other = msgspec.structs.replace(BOT, id="other")
    for write in (
        lambda: put(filled, drug, access=other, id=made.id, text="Mine now."),
        lambda: filled.retire_entry(P, made.id, access=other),
    ):
        with pytest.raises(NotAllowed) as refusal:
            write()
        assert refusal.value.reasons == ("another-agents-inference",)
    assert filled.retire_entry(P, made.id, reason="wrong", access=BOT).retired
    assert filled.inferences("p") == []
    person = Access(kind=PrincipalKind.OPERATOR, id="dr-lee", roles=("owner",))
    with pytest.raises(BadInput, match="say which agent inferred it"):
        put(filled, drug, access=person)
    assert put(filled, drug, access=person, author="scribe", title="Other").attribution.author.display == "scribe"


def test_what_is_no_inference_is_not_kept_as_one(filled: Engine) -> None:
    with pytest.raises(InvalidValue, match="no preference in the patient scope; it has inference, summary"):
        EntryDraft(subject=P, kind=EntryKind.PREFERENCE, title="T", text="x", derived_from=("a",))
    with pytest.raises(BadInput, match="a file about a patient is ingested"):
        filled.ingest_entry(EntryDraft(subject=P, kind=EntryKind.SUMMARY, title="T"), b"Text.", access=BOT)
    with pytest.raises(NotFound):
        put(filled, "fa_x", subject=patient("nobody"))
    assert filled.patients()[1] == 1


def test_words_of_an_inference_are_not_learned_when_they_come_back_in_talk(filled: Engine) -> None:
    text = "The patient has had a severe headache every single morning since the new year began."
    put(filled, fact(filled, "condition"), title="Head", text=text)
    filled.read("/patient/p/inferences/")
    before = len(filled.graph("p").memories)
    filled.append("p", "t", [Turn(Speaker.PATIENT, text, said_at=NOW)])
    assert len(filled.graph("p").memories) == before


def test_a_new_version_that_rests_on_less_is_seen_by_who_may_see_that(filled: Engine) -> None:
    filled.ingest("p", bundle(condition("Zwyxbar disease", id="h1", **SECRET)), source="ehr")
    made = put(filled, fact(filled, "condition", "Zwyxbar"))
    put(filled, fact(filled, "medication"), id=made.id)
    assert [e.version for e in filled.entries(P, history=True, access=READER)] == [2]
    with pytest.raises(NotFound):
        filled.entry(P, made.id, version=1, access=READER)


def test_an_agent_cannot_speak_as_another_or_as_the_engine(filled: Engine) -> None:
    made = put(filled, fact(filled, "medication"))
    forged = msgspec.structs.replace(made.attribution, rule="learned/1", because="least_patients=x")
    again = msgspec.structs.replace(made, version=2, text="Other.", attribution=forged)
    kept = filled.put_entry(again, access=BOT)
    assert (kept.attribution.rule, kept.attribution.author.reference) == ("entered", "agent/triage")
    assert kept.derived_from[0].roots == made.derived_from[0].roots


def test_roots_that_a_writer_claims_are_not_believed(filled: Engine) -> None:
    """Else who may not see the source would see the inference."""
    filled.ingest("p", bundle(condition("Zwyxbar disease", id="h1", **SECRET)), source="ehr")
    made = put(filled, fact(filled, "condition", "Zwyxbar"))
    bare = tuple(msgspec.structs.replace(basis, roots=()) for basis in made.derived_from)
    filled.put_entry(msgspec.structs.replace(made, version=2, derived_from=bare), access=BOT)
    assert filled.entries(P, history=True, access=READER) == []


def test_the_other_side_of_a_conflict_is_a_root_too(filled: Engine) -> None:
    filled.append("p", "s", [Turn(Speaker.PATIENT, "I stopped lisinopril last week.", said_at=NOW)])
    drug = fact(filled, "medication")
    said = {link.origin for link in filled.graph("p").links.values() if link.type == "conflicts"}
    assert said
    assert said <= set(put(filled, drug).derived_from[0].roots)


def test_erasing_what_an_inference_rests_on_erases_it_with_every_version_and_context_that_tells_of_it(
    filled: Engine, clock: HandClock
) -> None:
    filled.ingest("p", bundle(condition("Gout", id="g")), source="two")
    document = next(d.id for d in filled.graph("p").documents.values() if d.source == "two")
    gout, asthma = fact(filled, "condition", "Gout"), fact(filled, "condition", "Asthma")
    gone = put(filled, gout, title="Joints", text="The zwyxbar in the big toe is most likely from the gout.")
    put(filled, asthma, id=gone.id, title="Joints", text="Nothing more to say of it.")
    stays = put(filled, asthma, title="Lungs", text="Inhaler every morning.")
    told = filled.context(ContextRequest(subjects=(P,), task="general", budget_tokens=2000, query="Joints"))
    assert gone.id in {item.item for item in told.items}
    seen = clock.now
    clock.wait(minutes=1)
    erased = filled.erase("p", Erasable.DOCUMENT, document)
    assert dict(erased.counts)["inferences"] == 2
    assert filled.entries(P, history=True) == [stays]
    assert filled.entries(P, history=True, known_at=seen) == [stays]
    assert dict(erased.counts)["contexts"] == 1
    with pytest.raises(NotFound):
        filled.entry(P, gone.id)
    assert "zwyxbar" not in filled.read("/patient/p/inferences").text


def test_erasing_talk_erases_what_was_inferred_from_it(filled: Engine) -> None:
    memory = min(filled.graph("p").memories)
    put(filled, memory)
    filled.erase("p", Erasable.MESSAGE, filled.graph("p").memories[memory].message)
    assert filled.inferences("p") == []


def test_the_proof_of_an_erasure_finds_an_inference_before_and_not_after(filled: Engine) -> None:
    put(filled, fact(filled, "condition"), text="The zwyxbar is most likely from the asthma.")
    proof = filled.prove_erasure("p", words=("zwyxbar",))
    assert dict(proof.before.words)["inferences"] == 1
    assert proof.after.words == ()
    assert (proof.after.in_rows, proof.after.in_files) == (0, 0)

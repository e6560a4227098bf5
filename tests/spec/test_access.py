"""Access comes before the fold: what a reader may not see does not exist for them, in no text, count or weight.

Every read of `Engine` is walked; a new one must be added here.
"""

from __future__ import annotations

import inspect
import io
import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from spec_patients import NOW, RESTRICTED, HandClock, allergy, bundle, condition, order, result

from iamata import (
    Access,
    ContextRequest,
    Engine,
    Format,
    IamataError,
    NotAllowed,
    NotFound,
    Speaker,
    Subject,
    Turn,
    patient,
)
from iamata.engine.pulling import FhirServer
from iamata.engine.talking import Talk
from iamata.engine.writing import Sent
from iamata.model.access import PrincipalKind
from iamata.model.attribution import Attribution, AttributionKind, Author, Role
from iamata.model.entry import Entry, EntryDraft, EntryKind
from iamata.model.erasure import Erasable
from iamata.model.relation import RelationKind
from iamata.model.ruling import RulingKind
from iamata.model.scope import Scope
from iamata.model.session import ToolCall
from iamata.model.statement import Label

CANARY = "Zwyxbar"
LABEL = Label(**RESTRICTED)
READER = Access(kind=PrincipalKind.OPERATOR, id="clerk", withheld=frozenset({LABEL}))
SECRET = {"meta": {"security": [RESTRICTED]}}
TASKS = ("general", "medication_reconciliation")
WRITES = {
    "put_patient",
    "delete_patient",
    "ingest",
    "ingest_many",
    "ingest_export",
    "pull",
    "pull_export",
    "append",
    "append_many",
    "reread",
    "append_transcript",
    "record_calls",
    "retract",
    "rule",
    "withdraw_ruling",
    "adjudicate",
    "put_entry",
    # For who sees everything, or for nobody: see test_archives_of_patients.
    "export_archive",
    "import_archive",
    "erase",
    "delete_subject",
    "erase_entry",
    "prove_erasure",
    "set_hold",
    "lift_hold",
    "retention_apply",
    "relate",
    "end_relation",
    "break_glass",
    "ingest_entry",
    "retire_entry",
    "refuse_entry",
    "learn",
}
CLINIC = Subject(Scope.ORGANIZATION, "clinic")
# Nobody listens there: a refusal comes before anything is asked for.
SERVER = FhirServer(name="ehr", base_url="http://127.0.0.1:9/fhir", private=("127.0.0.1",))
# These act for no reader: they open and close, form what is accepted, and say how the engine is.
WITHOUT_ACCESS = {"open", "close", "form_pending", "doctor"}


def encoded(value: object) -> str:
    return msgspec.json.encode(value, enc_hook=lambda other: sorted(map(str, other))).decode()


class Walk:
    """Every read of one patient for one reader, everything they lead to included."""

    def __init__(self, engine: Engine, access: Access, id: str, items: list[str]) -> None:
        self.engine, self.access, self.id, self.items = engine, access, id, items

    def patients(self) -> Iterator[Any]:
        yield self.engine.patients(access=self.access)

    def patient(self) -> Iterator[Any]:
        yield self.engine.patient(self.id, access=self.access)

    def graph(self) -> Iterator[Any]:
        yield self.engine.graph(self.id, access=self.access)
        yield self.engine.graph(self.id, access=self.access, known_at=NOW)

    def addresses(self) -> list[str]:
        found, waiting = [], [f"/patient/{self.id}/"]
        while waiting:
            for node in self.engine.browse(waiting.pop(), access=self.access).nodes:
                (waiting if node.directory else found).append(node.address)
        return found

    def browse(self) -> Iterator[Any]:
        waiting = ["/", f"/patient/{self.id}/"]
        while waiting:
            listing = self.engine.browse(waiting.pop(), access=self.access)
            waiting += [n.address for n in listing.nodes if n.directory and n.address.count("/") > 3]
            yield listing

    def read(self) -> Iterator[Any]:
        for address in self.addresses():
            for format in [Format.STRUCTURED] if address.endswith(".json") else Format:
                yield self.engine.read(address, format=format, access=self.access)

    def search(self) -> Iterator[Any]:
        for query in (CANARY, "lisinopril", "penicillin", "glucose", "restricted", "Elsewhere"):
            yield self.engine.search(patient(self.id), query, access=self.access, limit=100)

    def did_you_mean(self) -> Iterator[Any]:
        for query in (CANARY.replace("x", "k"), "lisinoprul", "penicilin"):
            yield self.engine.did_you_mean(patient(self.id), query, access=self.access)

    def context(self) -> Iterator[Any]:
        for task in TASKS:
            for query in ("", f"does he have {CANARY}?" if self.access.withheld else "lisinopril"):
                asked = ContextRequest(subjects=(patient(self.id),), task=task, budget_tokens=1500, query=query)
                answer = self.engine.context(asked, access=self.access)
                # The question is the caller's own.
                yield msgspec.structs.replace(
                    answer,
                    request=msgspec.structs.replace(asked, query=""),
                    text=answer.text.replace(query or "\0", ""),
                )

    def explain(self) -> Iterator[Any]:
        for item in self.items:
            yield self.tried(lambda item=item: self.engine.explain(self.id, item, access=self.access))

    def conflicts(self) -> Iterator[Any]:
        yield self.engine.conflicts(self.id, access=self.access)

    def review(self) -> Iterator[Any]:
        yield self.engine.review(self.id, access=self.access)

    def report(self) -> Iterator[Any]:
        yield self.engine.report(self.id, access=self.access)
        yield self.engine.report(self.id, since=NOW, access=self.access)
        yield self.engine.report(self.id, since=NOW - timedelta(days=1), known_at=NOW, access=self.access)

    def receipts(self) -> Iterator[Any]:
        yield self.engine.receipts(self.id, access=self.access)
        yield self.engine.receipts(self.id, per_page=1, page=1, access=self.access)
        yield self.engine.receipts(self.id, statuses=["succeeded"], access=self.access)

    def receipt(self) -> Iterator[Any]:
        for item in self.items:
            yield self.tried(lambda item=item: self.engine.receipt(self.id, item, access=self.access))

    def session(self) -> Iterator[Any]:
        yield self.engine.session(self.id, "s", access=self.access)

    def memories(self) -> Iterator[Any]:
        for given in ({}, {"task": "medication_reconciliation"}, {"query": f"lisinopril {CANARY}"}):
            yield self.engine.memories(self.id, access=self.access, **given)

    def threads(self) -> Iterator[Any]:
        yield self.engine.threads(self.id, access=self.access)

    def link_history(self) -> Iterator[Any]:
        for each in self.engine.memories(self.id, access=self.access):
            yield self.engine.link_history(self.id, each.memory.id, access=self.access)

    def tool_calls(self) -> Iterator[Any]:
        yield self.engine.tool_calls(self.id, "s", access=self.access)

    def rulings(self) -> Iterator[Any]:
        yield self.engine.rulings(self.id, access=self.access)

    def shown(self) -> Iterator[Any]:
        yield self.engine.shown(self.id, "Lisinopril 10 mg.", access=self.access)

    def document(self) -> Iterator[Any]:
        for item in self.items:
            yield self.tried(lambda item=item: self.engine.document(self.id, item, access=self.access)[1].decode())

    def entries(self) -> Iterator[Any]:
        yield self.engine.entries(CLINIC, access=self.access)
        yield self.tried(lambda: self.engine.entries(patient(self.id), history=True, access=self.access))

    def inferences(self) -> Iterator[Any]:
        yield self.engine.inferences(self.id, access=self.access)

    def entry(self) -> Iterator[Any]:
        yield self.tried(lambda: self.engine.entry(CLINIC, "e", access=self.access))
        for item in self.items:
            yield self.tried(lambda item=item: self.engine.entry(patient(self.id), item, access=self.access))

    def entry_document(self) -> Iterator[Any]:
        for item in self.items:
            yield self.tried(lambda item=item: self.engine.entry_document(CLINIC, item, access=self.access))

    def explain_entry(self) -> Iterator[Any]:
        for item in self.items:
            yield self.tried(lambda item=item: self.engine.explain_entry(CLINIC, item, access=self.access))

    def export_fhir(self) -> Iterator[Any]:
        yield self.engine.export_fhir(self.id, access=self.access).decode()
        yield self.engine.export_fhir(self.id, known_at=NOW, access=self.access).decode()

    def summary(self) -> Iterator[Any]:
        yield self.engine.summary(self.id, access=self.access).decode()

    def relations(self) -> Iterator[Any]:
        yield self.engine.relations(self.id, access=self.access)

    def broken_glass(self) -> Iterator[Any]:
        yield self.tried(lambda: self.engine.broken_glass(access=self.access))

    def policy(self) -> Iterator[Any]:
        yield self.engine.policy(access=self.access).version

    def explain_policy(self) -> Iterator[Any]:
        for id in (self.id, "nobody"):
            yield self.tried(
                lambda id=id: self.engine.explain_policy("operator/x", "read", patient(id), access=self.access)
            )

    def audit_records(self) -> Iterator[Any]:
        yield self.tried(lambda: self.engine.audit_records(access=self.access))

    def audit_page(self) -> Iterator[Any]:
        yield self.tried(lambda: self.engine.audit_page(access=self.access))

    def audit_checkpoint(self) -> Iterator[Any]:
        yield self.tried(lambda: self.engine.audit_checkpoint(access=self.access))

    def audit_export(self) -> Iterator[Any]:
        yield self.tried(lambda: list(self.engine.audit_export(access=self.access)))

    def audit_verify(self) -> Iterator[Any]:
        yield self.tried(lambda: self.engine.audit_verify(access=self.access))

    def retention_preview(self) -> Iterator[Any]:
        yield self.tried(lambda: self.engine.retention_preview(self.id, access=self.access))

    def holds(self) -> Iterator[Any]:
        yield self.engine.holds(self.id, access=self.access)

    def erasures(self) -> Iterator[Any]:
        yield self.tried(lambda: self.engine.erasures(access=self.access))

    def verify_erasure(self) -> Iterator[Any]:
        yield self.tried(lambda: self.engine.verify_erasure(access=self.access))

    def tried(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except IamataError as error:
            return f"{type(error).__name__}: {error}"


def public_verbs() -> dict[str, Any]:
    return {name: verb for name, verb in inspect.getmembers(Engine, inspect.isroutine) if not name.startswith("_")}


def read_verbs() -> list[str]:
    return sorted(name for name in public_verbs() if name not in WRITES | WITHOUT_ACCESS)


def test_every_verb_takes_an_access_and_every_read_is_walked_here() -> None:
    for name, verb in public_verbs().items():
        assert ("access" in inspect.signature(verb).parameters) != (name in WITHOUT_ACCESS), name
    assert set(read_verbs()) == {n for n in vars(Walk) if not n.startswith("_")} - {"addresses", "tried"}


# ------------------------------------------------------------------- withheld labels


def visible_one() -> bytes:
    """Lisinopril 10 mg, glucose."""
    return bundle(order("10 mg"), result("Glucose", 90))


def denial() -> bytes:
    """That there is no known allergy: carries no label, and is hidden from those from whom the allergy is, because it
    must not be read as current (design 08)."""
    none = allergy("No known allergies", id="nka")
    none["code"] = {"coding": [{"system": "http://snomed.info/sct", "code": "716186003"}], "text": "No known allergies"}
    return json.dumps(none).encode()


def hidden_resources() -> list[dict[str, Any]]:
    """A diagnosis with a note, a dose against the visible one, an allergy against the visible "none", a result."""
    return [
        condition(f"{CANARY} disease", id="h1", note=[{"text": f"{CANARY} told in confidence"}], **SECRET),
        order(f"40 mg {CANARY}", id="h2", **SECRET),
        allergy("Penicillin", id="h3", reaction=[{"manifestation": [{"text": CANARY}]}], **SECRET),
        result(f"Glucose {CANARY}", 300, id="h4", **SECRET),
    ]


@pytest.fixture
def pair(open_engine: Any, clock: HandClock) -> tuple[Engine, Engine]:
    """Two engines with the same patient; the first also holds a document of which every item is labelled."""
    numbered = {"ids": lambda: f"{int(clock.now.timestamp()):020x}"}
    holding, never = open_engine("holding", **numbered), open_engine("never", **numbered)
    for engine in (holding, never):
        clock.now = NOW
        engine.ingest("p", visible_one(), source="ehr")
        clock.wait(minutes=1)
        if engine is holding:
            body = json.dumps({"resourceType": "Bundle", "entry": [{"resource": r} for r in hidden_resources()]})
            engine.ingest("p", body.encode(), source=f"{CANARY} clinic", name=f"{CANARY}.json")
            clock.wait(seconds=1)
            engine.ingest("p", denial(), source="ehr")
            secret = next(f.id for f in engine.graph("p").facts.values() if CANARY in f.display)
            infer(engine, CANARY, secret)
        else:
            engine.graph("p")  # both have looked by now
            engine.retract("p", "nobody")  # a change without content: a reader does not see that something came
            clock.wait(seconds=1)
        clock.wait(minutes=1)
        engine.append("p", "s", [Turn(Speaker.PATIENT, "I stopped lisinopril.", said_at=NOW)])
        clock.wait(minutes=1)
        engine.ingest("p", bundle(order("20 mg", id="m2"), condition("Asthma")), source="two")
        clock.wait(minutes=1)
    return holding, never


def infer(engine: Engine, words: str, *items: str) -> None:
    draft = EntryDraft(subject=patient("p"), kind=EntryKind.SUMMARY, title=words, text=words, derived_from=items)
    engine.put_entry(draft, access=Access(kind=PrincipalKind.AGENT, id="bot"))


def items_of(engine: Engine) -> list[str]:
    """Every id there is, for somebody who sees everything."""
    graph = engine.graph("p")
    receipts, _ = engine.receipts("p")
    found = [graph.facts, graph.fact_of, graph.passages, graph.memories, graph.documents, graph.conflicts, graph.links]
    inferred = [each.entry.id for each in engine.inferences("p")]
    return [id for each in found for id in each] + [r.id for r in receipts] + inferred


def test_what_is_withheld_is_in_no_answer_and_answers_are_as_if_it_had_never_been_sent(
    pair: tuple[Engine, Engine],
) -> None:
    holding, never = pair
    items = items_of(holding)
    for verb in read_verbs():
        if verb == "relations":  # of those who may set them, whatever labels they see
            continue
        told = [encoded(each) for each in getattr(Walk(holding, READER, "p", items), verb)()]
        expected = [encoded(each) for each in getattr(Walk(never, READER, "p", items), verb)()]
        assert told, verb
        assert CANARY.lower() not in "".join(told).lower(), verb
        assert told == expected, verb


def test_the_canary_is_there_for_those_who_may_see_it(pair: tuple[Engine, Engine]) -> None:
    """Else the walk above would prove nothing."""
    holding, _ = pair
    items = items_of(holding)
    for verb in (
        *("graph", "browse", "read", "search", "did_you_mean", "context", "explain", "conflicts", "document"),
        "inferences",
    ):
        told = "".join(encoded(each) for each in getattr(Walk(holding, Access.local(), "p", items), verb)())
        assert (CANARY.casefold() if verb == "did_you_mean" else CANARY) in told, verb


def test_a_conflict_with_a_hidden_side_is_no_conflict(pair: tuple[Engine, Engine]) -> None:
    holding, _ = pair
    everything = [sorted(side.says for side in conflict.sides) for conflict in holding.conflicts("p")]
    assert ["No known allergies", "Penicillin"] in everything
    shown = [sorted(side.says for side in c.sides) for c in holding.conflicts("p", access=READER)]
    assert ["No known allergies", "Penicillin"] not in shown
    assert any("10 mg" in sides for sides in shown), "a conflict with two visible sides stays"
    assert CANARY not in str(shown)


def test_a_labelled_item_of_a_mixed_document_is_left_out_of_everything_but_its_neighbours_stay(
    open_engine: Any, clock: HandClock
) -> None:
    holding, never = open_engine("holding"), open_engine("never")
    visible = [order("10 mg"), result("Glucose", 90)]
    mixed = holding.ingest("p", bundle(*visible, *hidden_resources()), source="ehr")
    plain = never.ingest("p", bundle(*visible), source="ehr")
    assert mixed.staged.facts > plain.staged.facts
    for read in (
        lambda engine: engine.graph("p", access=READER).facts,
        lambda engine: engine.graph("p", access=READER).attributions,
        lambda engine: engine.conflicts("p", access=READER),
        lambda engine: engine.search(patient("p"), "glucose lisinopril", access=READER, kinds=["observation"]),
        lambda engine: engine.read("/patient/p/labs", access=READER).text,
        lambda engine: [(r.staged, r.sightings, r.intake, r.warnings) for r in engine.receipts("p", access=READER)[0]],
    ):
        assert read(holding) == read(never)
    told = [
        encoded(each)
        for verb in read_verbs()
        if verb not in ("session", "tool_calls", "context", "relations")
        for each in getattr(Walk(holding, READER, "p", items_of(holding)), verb)()
    ]
    assert CANARY not in "".join(told)
    with pytest.raises(NotFound):
        holding.document("p", mixed.document, access=READER)


def test_a_context_of_one_reader_does_not_open_its_citations_to_another(pair: tuple[Engine, Engine]) -> None:
    holding, _ = pair
    context = holding.context(ContextRequest(subjects=(patient("p"),), task="general", budget_tokens=1500))
    hidden = {s.id for s in holding.graph("p").statements.values() if LABEL in s.labels}
    cited = list(dict.fromkeys(id for item in context.items for id in item.citations))
    assert hidden & set(cited)
    for number, id in enumerate(cited, 1):
        if id in hidden:
            with pytest.raises(NotFound):
                holding.explain("p", f"{context.id}[{number}]", access=READER)


# ------------------------------------------------------------------- no relation

STRANGER = Access(kind=PrincipalKind.OPERATOR, id="stranger", patients=frozenset({"other"}))
OF_NO_PATIENT = {
    "patients",
    "entries",
    "entry",
    "entry_document",
    "explain_entry",
    "audit_records",
    "audit_page",
    "audit_checkpoint",
    "audit_export",
    "audit_verify",
    "erasures",
    "verify_erasure",
    "retention_preview",
    "broken_glass",
    "policy",
    "explain_policy",
}
# A clinician who came by token, of nobody's care team.
BY_TOKEN = Access(kind=PrincipalKind.OPERATOR, id="stranger", roles=("clinician",), by_relation=True)


@pytest.mark.parametrize("stranger", [STRANGER, BY_TOKEN], ids=["limited", "by-token"])
def test_a_patient_one_has_no_relation_to_is_as_absent_as_one_that_does_not_exist(
    pair: tuple[Engine, Engine], stranger: Access
) -> None:
    holding, _ = pair
    items = items_of(holding)

    def answer(verb: str, id: str, access: Access) -> list[str]:
        try:
            walked = getattr(Walk(holding, access, id, items), verb)
            return [encoded(each).replace(f"'{id}'", "'…'") for each in walked() if not isinstance(each, tuple)]
        except IamataError as error:
            return [f"{type(error).__name__}: {error}".replace(f"'{id}'", "'…'")]

    for verb in (verb for verb in read_verbs() if verb not in OF_NO_PATIENT):
        related, told = answer(verb, "p", Access.local()), answer(verb, "p", stranger)
        assert told != related, verb
        assert all("NotFound: no patient '…'" in each for each in told), (verb, told)
        assert told == answer(verb, "nobody", stranger), verb
        assert told == answer(verb, "nobody", Access.local()), f"{verb}: not even by the words can it be told"
    assert holding.browse("/", access=stranger).nodes == ()
    with pytest.raises(NotFound):
        holding.browse("/patient/p/", access=stranger)


def test_a_listing_holds_only_the_patients_one_has_a_relation_to(engine: Engine) -> None:
    for id in ("a", "b", "c"):
        engine.put_patient(id)
    access = Access(kind=PrincipalKind.OPERATOR, id="nurse", patients=frozenset({"b", "never-registered"}))
    rows, total = engine.patients(access=access)
    assert ([row.id for row in rows], total) == (["b"], 1)
    assert [node.name for node in engine.browse("/", access=access).nodes] == ["patient/", "patient/b/"]


def exported(id: str) -> bytes:
    """One line of an export of many patients."""
    return json.dumps({"resourceType": "Patient", "id": id}).encode() + b"\n"


def test_a_write_without_relation_is_refused_alike_for_patients_that_exist_and_that_do_not(engine: Engine) -> None:
    engine.put_patient("p")
    for id in ("p", "nobody"):
        for write in (
            lambda id=id: engine.put_patient(id, access=STRANGER),
            lambda id=id: engine.delete_patient(id, access=STRANGER),
            lambda id=id: engine.ingest(id, bundle(), access=STRANGER),
            lambda id=id: engine.ingest_export([("Patient.ndjson", exported(id))], source="ehr", access=STRANGER),
            lambda id=id: engine.ingest_many(id, [Sent(bundle())], access=STRANGER),
            lambda id=id: engine.pull(SERVER, id, access=STRANGER),
            lambda id=id: engine.pull_export(SERVER, only=[id], access=STRANGER),
            lambda id=id: engine.append(id, "s", [Turn(Speaker.PATIENT, "Hello.")], access=STRANGER),
            lambda id=id: engine.append_many(id, [Talk("s", [Turn(Speaker.PATIENT, "Hello.")])], access=STRANGER),
            lambda id=id: engine.append_transcript(id, b"patient: Hello.", session="s", access=STRANGER),
            lambda id=id: engine.record_calls(id, "s", [ToolCall("read")], access=STRANGER),
            lambda id=id: engine.retract(id, "ehr", access=STRANGER),
            lambda id=id: engine.rule(id, RulingKind.NOT_THIS_PATIENT, "st_x", access=STRANGER),
            lambda id=id: engine.withdraw_ruling(id, "ru_x", access=STRANGER),
            lambda id=id: engine.erase(id, Erasable.SESSION, "s", access=STRANGER),
            lambda id=id: engine.prove_erasure(id, access=STRANGER),
            lambda id=id: engine.set_hold(id, "a claim", access=STRANGER),
            lambda id=id: engine.retention_apply(id, access=STRANGER),
            lambda id=id: engine.lift_hold(id, "ho_x", "settled", access=STRANGER),
            lambda id=id: engine.relate(id, "operator/stranger", RelationKind.CARE_TEAM, access=STRANGER),
            lambda id=id: engine.end_relation(id, "rl_x", access=STRANGER),
            lambda id=id: engine.break_glass(id, "an emergency", access=STRANGER),
        ):
            with pytest.raises(NotAllowed) as refusal:
                write()
            assert refusal.value.reasons == ("no-relation-to-patient",)
            assert str(refusal.value) == "policy does not allow this"
    assert engine.patients()[1] == 1
    assert engine.receipts("p") == ([], 0)


# ------------------------------------------------------------------- writing


def entry(scope: Scope, kind: EntryKind, attribution: AttributionKind, **more: Any) -> Entry:
    given = {"id": "e", "subject": Subject(scope, "x"), "version": 1, "title": "T", "text": "Text.", "recorded_at": NOW}
    author = Attribution(attribution, Author(Role.AGENT), rule="entered")
    return Entry(kind=kind, attribution=author, **(given | more))


def test_an_agent_writes_nothing_but_its_own_cues(engine: Engine) -> None:
    agent = Access(kind=PrincipalKind.AGENT, id="x", on_behalf_of="x", roles=("owner",))
    for held in (
        entry(Scope.AGENT, EntryKind.GUARDRAIL, AttributionKind.SYSTEM),
        entry(Scope.AGENT, EntryKind.PURPOSE, AttributionKind.SYSTEM),
        entry(Scope.AGENT, EntryKind.CUE, AttributionKind.AGENT, subject=Subject(Scope.AGENT, "another")),
        entry(Scope.OPERATOR, EntryKind.PREFERENCE, AttributionKind.USER),
        entry(Scope.ORGANIZATION, EntryKind.PATTERN, AttributionKind.AGENT),
    ):
        with pytest.raises(NotAllowed) as refusal:
            engine.put_entry(held, access=agent)
        assert refusal.value.reasons == ("agents-do-not-write-entries",)
        assert engine.entries(held.subject) == []
    cue = entry(Scope.AGENT, EntryKind.CUE, AttributionKind.AGENT)
    kept = engine.put_entry(cue, access=agent)
    assert (kept.text, kept.attribution.author.reference) == (cue.text, "agent/x"), "whose word it is it does not say"
    bound = msgspec.structs.replace(agent, patients=frozenset({"p"}))
    with pytest.raises(NotAllowed) as refusal:
        engine.put_entry(entry(Scope.AGENT, EntryKind.CUE, AttributionKind.AGENT, id="f"), access=bound)
    assert refusal.value.reasons == ("bound-to-patients",)


def test_knowledge_of_an_operator_or_agent_is_read_by_itself_and_by_owners(engine: Engine) -> None:
    held = entry(Scope.OPERATOR, EntryKind.PREFERENCE, AttributionKind.USER)
    engine.put_entry(held)
    mine = Access(kind=PrincipalKind.OPERATOR, id="x")
    for_me = Access(kind=PrincipalKind.AGENT, id="bot", on_behalf_of="x")
    other = Access(kind=PrincipalKind.OPERATOR, id="y")
    assert engine.entries(held.subject, access=mine) == [held]
    assert engine.entries(held.subject, access=for_me) == [held]
    with pytest.raises(NotAllowed):
        engine.entries(held.subject, access=other)


def test_a_principal_that_may_not_write_writes_nothing(engine: Engine) -> None:
    engine.ingest("p", bundle(order("10 mg")), source="ehr")
    before = (engine.patient("p"), engine.receipts("p"))
    statement = next(iter(engine.graph("p").statements))
    access = Access(kind=PrincipalKind.OPERATOR, id="auditor", roles=("owner",), may_write=False)
    writes = {
        "put_patient": lambda: engine.put_patient("new", access=access),
        "delete_patient": lambda: engine.delete_patient("p", access=access),
        "ingest": lambda: engine.ingest("p", bundle(order("20 mg")), access=access),
        "ingest_export": lambda: engine.ingest_export([("Patient.ndjson", exported("p"))], source="ehr", access=access),
        "ingest_many": lambda: engine.ingest_many("p", [Sent(bundle(order("20 mg")))], access=access),
        "pull": lambda: engine.pull(SERVER, "p", access=access),
        "pull_export": lambda: engine.pull_export(SERVER, access=access),
        "append": lambda: engine.append("p", "s", [Turn(Speaker.PATIENT, "Hello.")], access=access),
        "reread": lambda: engine.reread("p", access=access),
        "append_many": lambda: engine.append_many("p", [Talk("s", [Turn(Speaker.PATIENT, "Hello.")])], access=access),
        "append_transcript": lambda: engine.append_transcript("p", b"patient: Hi.", session="s", access=access),
        "record_calls": lambda: engine.record_calls("p", "s", [ToolCall("read")], access=access),
        "retract": lambda: engine.retract("p", "ehr", access=access),
        "rule": lambda: engine.rule("p", RulingKind.NOT_THIS_PATIENT, statement, access=access),
        "withdraw_ruling": lambda: engine.withdraw_ruling("p", "ru_x", access=access),
        "adjudicate": lambda: engine.adjudicate("p", access=access),
        "erase": lambda: engine.erase("p", Erasable.SESSION, "s", access=access),
        "prove_erasure": lambda: engine.prove_erasure("p", access=access),
        "set_hold": lambda: engine.set_hold("p", "a claim", access=access),
        "retention_apply": lambda: engine.retention_apply(access=access),
        "lift_hold": lambda: engine.lift_hold("p", "ho_x", "settled", access=access),
        "put_entry": lambda: engine.put_entry(entry(Scope.AGENT, EntryKind.CUE, AttributionKind.AGENT), access=access),
        "export_archive": lambda: engine.export_archive(io.BytesIO(), "p", access=access),
        "import_archive": lambda: engine.import_archive(io.BytesIO(), access=access),
        "relate": lambda: engine.relate("p", "operator/x", RelationKind.CARE_TEAM, access=access),
        "end_relation": lambda: engine.end_relation("p", "rl_x", access=access),
        "break_glass": lambda: engine.break_glass("p", "an emergency", access=access),
        "ingest_entry": lambda: engine.ingest_entry(
            EntryDraft(subject=CLINIC, kind=EntryKind.POLICY, title="T"), b"Text.", access=access
        ),
        "delete_subject": lambda: engine.delete_subject(CLINIC, access=access),
        "erase_entry": lambda: engine.erase_entry(CLINIC, "e", access=access),
        "retire_entry": lambda: engine.retire_entry(CLINIC, "e", access=access),
        "refuse_entry": lambda: engine.refuse_entry(CLINIC, "e", access=access),
        "learn": lambda: engine.learn(access=access),
    }
    assert writes.keys() == WRITES
    for name, write in writes.items():
        with pytest.raises(NotAllowed) as refusal:
            write()
        assert refusal.value.reasons == ("principal-may-not-write",), name
    assert (engine.patient("p"), engine.receipts("p")) == before
    assert engine.patients()[1] == 1


def test_the_audit_log_is_the_owners(engine: Engine) -> None:
    with pytest.raises(NotAllowed) as refusal:
        engine.audit_records(access=READER)
    assert refusal.value.reasons == ("audit-is-read-by-owners",)

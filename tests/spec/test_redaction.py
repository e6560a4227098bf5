"""What is withheld by a rule is found by no door: not in a fact, a note, a quote, a message, a memory or a file name.

The matter is planted in all of them without a label of any source; a reader from whom substance use is withheld walks
every read of Python, every GET and every search of HTTP, every tool of MCP, beside an engine that never held it.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import test_access as chapter
from fastapi.testclient import TestClient
from mcp.client import Client
from spec_patients import NOW, HandClock, allergy, bundle, condition, order, result

from iamata import Access, ContextRequest, Engine, NotAllowed, NotFound, Speaker, Turn, patient
from iamata.interfaces import mcp
from iamata.interfaces.http import create_app
from iamata.interfaces.http.asking import who
from iamata.model.access import PrincipalKind
from iamata.model.erasure import Erasable
from iamata.model.ruling import RulingKind
from iamata.model.session import ToolCall
from iamata.model.statement import Kind, Label
from iamata.settings import Settings
from iamata.terminology.security import ACT_CODE

WORD = "cocaine"
SUD = Label(ACT_CODE, "SUD")
READER = Access(kind=PrincipalKind.OPERATOR, id="clerk", withheld=frozenset({SUD}))
ICD10 = "http://hl7.org/fhir/sid/icd-10-cm"


def fact() -> bytes:
    """A diagnosis that only its code tells, the drug ordered for it, and a result that refers to it."""
    coded = condition("", id="h1", code={"coding": [{"system": ICD10, "code": "F14.20"}], "text": "Other disorder"})
    for_it = order("1 tablet", id="h2", reasonReference=[{"reference": "Condition/h1"}])
    for_it["medicationCodeableConcept"] = {"text": "Modafinil"}
    return json.dumps({"resourceType": "Bundle", "entry": [{"resource": r} for r in (coded, for_it)]}).encode()


HIDDEN_NOTES = (
    f"Progress note.\n\nThe patient used {WORD} last weekend.",
    f'She said: "I only tried {WORD} once."',
    "Social history: substance abuse in the past.",
)


@pytest.fixture
def pair(open_engine: Any, clock: HandClock) -> tuple[Engine, Engine]:
    """Two engines with the same patient; the first also holds what is to be hidden, and the file's name."""
    numbered = {"ids": lambda: f"{int(clock.now.timestamp()):020x}"}
    holding, never = open_engine("holding", **numbered), open_engine("never", **numbered)
    for engine in (holding, never):
        clock.now = NOW
        engine.ingest("p", bundle(order("10 mg"), result("Glucose", 90)), source="ehr")
        clock.wait(minutes=1)
        planted = [(fact(), "ehr", ""), *((text.encode(), "ehr", "") for text in HIDDEN_NOTES)]
        for body, source, name in planted:
            if engine is holding:
                engine.ingest("p", body, source=source, name=name)
            clock.wait(seconds=1)
        name = f"{WORD}-clinic-letter.txt" if engine is holding else ""
        engine.ingest("p", b"Letter.\n\nThe patient has migraine and was given advice.", source="two", name=name)
        clock.wait(minutes=1)
        talk = [
            Turn(Speaker.PATIENT, "I stopped lisinopril.", said_at=NOW),
            Turn(Speaker.PATIENT, "I have a headache since Monday.", said_at=NOW),
        ]
        if engine is holding:  # at the end: the id of a message rests on its number
            talk += [
                Turn(Speaker.CLINICIAN, f"Do you use {WORD}?", said_at=NOW),
                Turn(Speaker.PATIENT, "Yes, every day.", said_at=NOW),
            ]
        engine.append("p", "s", talk)
        clock.wait(minutes=1)
        if engine is holding:
            engine.append("p", "t", [Turn(Speaker.PATIENT, f"I took {WORD} on Sunday.", said_at=NOW)])
            engine.record_calls("p", "s", [ToolCall("search", json.dumps({"query": WORD}), "[]")])
        clock.wait(minutes=1)
        engine.record_calls("p", "s", [ToolCall("search", json.dumps({"query": "lisinopril"}), "[]")])
        engine.ingest("p", bundle(order("20 mg", id="m2"), condition("Asthma")), source="two")
        clock.wait(minutes=1)
    return holding, never


class Walk(chapter.Walk):
    """As there, asking for what is planted."""

    def search(self) -> Iterator[Any]:
        for query in (WORD, "coca", "drugs", "modafinil", "lisinopril", "headache", "every day"):
            yield self.engine.search(patient(self.id), query, access=self.access, limit=100)

    def did_you_mean(self) -> Iterator[Any]:
        for query in ("disordar", "lisinoprul", "asthmo"):
            yield self.engine.did_you_mean(patient(self.id), query, access=self.access)

    def context(self) -> Iterator[Any]:
        for task in chapter.TASKS:
            for query in ("", f"does she use {WORD}?"):
                asked = ContextRequest(subjects=(patient(self.id),), task=task, budget_tokens=1500, query=query)
                answer = self.engine.context(asked, access=self.access)
                # The question is the caller's own.
                yield msgspec.structs.replace(
                    answer,
                    request=msgspec.structs.replace(asked, query=""),
                    text=answer.text.replace(query or "\0", ""),
                )

    def memories(self) -> Iterator[Any]:
        for given in ({}, {"task": "medication_reconciliation"}, {"query": f"lisinopril {WORD}"}, {"session": "t"}):
            yield self.engine.memories(self.id, access=self.access, **given)


def all_ids(engine: Engine) -> list[str]:
    return chapter.items_of(engine) + [m.id for s in engine.graph("p").sessions.values() for m in s.messages]


def planted(pair: tuple[Engine, Engine]) -> list[str]:
    """The ids of what only the first engine holds, and a few of what both hold."""
    known = set(all_ids(pair[1]))
    both = [id for id in all_ids(pair[0]) if id in known]
    return [id for id in all_ids(pair[0]) if id not in known] + both[::8]


def test_no_read_of_python_tells_it_and_all_are_as_if_it_had_never_come(pair: tuple[Engine, Engine]) -> None:
    holding, never = pair
    items = all_ids(holding)
    for verb in chapter.read_verbs():
        if verb == "relations":  # who is related to whom is not for a reader like this one
            with pytest.raises(NotFound):
                holding.relations("p", access=READER)
            continue
        told = [chapter.encoded(each) for each in getattr(Walk(holding, READER, "p", items), verb)()]
        expected = [chapter.encoded(each) for each in getattr(Walk(never, READER, "p", items), verb)()]
        assert told, verb
        assert WORD not in "".join(told).lower(), verb
        assert "modafinil" not in "".join(told).lower(), verb
        assert told == expected, verb


def test_it_is_there_for_those_who_may_see_it(pair: tuple[Engine, Engine]) -> None:
    """Else the walks would prove nothing."""
    holding, _ = pair
    items = all_ids(holding)
    for verb in ("graph", "read", "search", "context", "explain", "document", "session", "tool_calls"):
        told = "".join(chapter.encoded(each) for each in getattr(Walk(holding, Access.local(), "p", items), verb)())
        assert WORD in told.lower(), verb
    assert any(WORD in each.memory.quote for each in holding.memories("p"))
    for verb in ("export_fhir", "summary"):
        told = "".join(getattr(Walk(holding, Access.local(), "p", items), verb)())
        assert f"I took {WORD} on Sunday" in told, verb
        assert "odafinil" in told, verb
    words = list(Walk(holding, Access.local(), "p", items).did_you_mean())
    assert words == ["disorder", "lisinopril", "asthma"]
    assert any("/sessions/" in each and "t" in each for each in Walk(holding, Access.local(), "p", items).addresses())


def test_a_session_of_which_all_is_hidden_is_as_absent_as_one_that_does_not_exist(pair: tuple[Engine, Engine]) -> None:
    holding, _ = pair
    for verb in (holding.session, holding.tool_calls):
        with pytest.raises(NotFound) as one:
            verb("p", "t", access=READER)
        with pytest.raises(NotFound) as other:
            verb("p", "nothing", access=READER)
        assert str(one.value).replace("'t'", "'…'") == str(other.value).replace("'nothing'", "'…'")


def test_no_route_of_http_tells_it(pair: tuple[Engine, Engine]) -> None:
    holding, never = pair
    told = {}
    for name, engine in (("holding", holding), ("never", never)):
        app = create_app(engine, Settings(), now=lambda: NOW)
        app.dependency_overrides[who] = lambda: READER
        with TestClient(app, base_url="http://localhost") as client:
            told[name] = {path: client.get(path).text for path in _paths(app, planted(pair))}
            for path, asked in _posts():
                told[name][path + json.dumps(asked)] = client.post(path, json=asked).text
    assert len(told["holding"]) > 100
    for path, text in told["holding"].items():
        plain = text.lower().replace(f"does she use {WORD}?", "").replace(f'"{WORD}"', "")
        assert WORD not in plain, path
        assert "modafinil" not in plain, path
        assert _timeless(text) == _timeless(told["never"][path]), path


def _timeless(text: str) -> str:
    """Without the id of the request and what was measured, which every answer has anew."""
    return re.sub(r'"(requestId|loadMs)":\s*("[^"]*"|[0-9.]+)', "", text)


def _paths(app: Any, ids: list[str]) -> Iterator[str]:
    """Every GET route with everything that could stand in it."""
    types = {
        "nodes": ("extracted_fact", "fact", "extracted_narrative", "narrative_passage", "narrative", "learned_memory"),
        "edges": ("resolution_decision", "resolves_to", "chunked_into", "relationship"),
    }
    for path, methods in app.openapi()["paths"].items():
        base = path.replace("{patient_id}", "p")
        if "get" not in methods or not path.startswith("/v1/patients"):
            continue
        if "{" not in base:
            yield base
            continue
        kinds = types["nodes"] if "/nodes/" in base else types["edges"]
        for filled in [base.replace("{type}", kind) for kind in kinds] if "{type}" in base else [base]:
            if "{" not in filled:
                yield filled
            for id in ids if "{" in filled else ():
                yield f"{filled[: filled.index('{')]}{id}{filled[filled.index('}') + 1 :]}"
    yield "/v1/patients/p/vfs?path=/"
    yield "/v1/patients/p/vfs?path=/documents"
    yield "/v1/patients/p/read?path=/_index.md"
    yield "/v1/patients/p/sessions/s"
    yield "/v1/patients/p/sessions/t"
    yield "/v1/patients/p/sessions/s/tool-calls"


def _posts() -> Iterator[tuple[str, dict[str, Any]]]:
    for query in (WORD, "drugs", "headache"):
        yield "/v1/patients/p/search", {"query": query}
    yield "/v1/patients/p/context", {"task": "general", "budgetTokens": 800, "query": f"does she use {WORD}?"}


def test_no_tool_of_mcp_tells_it(pair: tuple[Engine, Engine]) -> None:
    holding, never = pair
    asked: list[tuple[str, dict[str, Any]]] = [
        ("browse_patient", {"patient_id": "p"}),
        ("browse_patient", {"patient_id": "p", "path": "/documents"}),
        ("read_patient", {"patient_id": "p", "path": "/_index.md"}),
        ("search_patient", {"patient_id": "p", "query": WORD}),
        ("search_patient", {"patient_id": "p", "query": "headache"}),
        ("get_patient_info", {"patient_id": "p"}),
        ("assemble_context", {"patient_id": "p", "task": "general", "budget_tokens": 800}),
        ("recall_memories", {"patient_id": "p"}),
        ("list_conflicts", {"patient_id": "p"}),
        ("browse", {"path": "/"}),
        *(("explain", {"patient_id": "p", "item": id}) for id in planted(pair)),
    ]

    async def walk(engine: Engine) -> list[str]:
        async with Client(mcp.create_server(engine, access=READER)) as client:
            return [str((await client.call_tool(tool, given)).content) for tool, given in asked]

    told, expected = asyncio.run(walk(holding)), asyncio.run(walk(never))
    for (tool, given), text, other in zip(asked, told, expected, strict=True):
        assert WORD not in text.lower().replace(f"'{WORD}'", "").replace(f'"{WORD}"', ""), (tool, given)
        assert text == other, (tool, given)


def test_a_word_in_one_note_hides_that_note_and_the_file_but_not_its_neighbours(open_engine: Any) -> None:
    engine = open_engine("mixed")
    text = f"PLAN:\nContinue lisinopril, come back for the headache.\n\nSOCIAL HISTORY:\nUses {WORD} on some days.\n"
    engine.ingest("p", text.encode(), source="ehr")
    document = next(iter(engine.graph("p").documents))
    shown = engine.graph("p", access=READER)
    assert WORD not in chapter.encoded(shown).lower()
    assert any("headache" in passage.text for passage in shown.passages.values())
    with pytest.raises(NotFound):
        engine.document("p", document, access=READER)
    for id in (*shown.passages, *shown.statements):
        assert WORD not in chapter.encoded(engine.explain("p", id, access=READER)).lower()


def test_the_version_a_reader_sees_does_not_move_with_what_is_hidden(open_engine: Any, clock: HandClock) -> None:
    engine = open_engine("main")
    engine.ingest("p", bundle(condition("Asthma")), source="ehr")
    before = (engine.graph("p", access=READER).version, engine.patient("p", access=READER))
    clock.wait(minutes=5)
    engine.ingest("p", fact(), source="ehr")
    assert (engine.graph("p", access=READER).version, engine.patient("p", access=READER)) == before
    clock.wait(minutes=5)
    engine.ingest("p", bundle(condition("Migraine", id="c9")), source="ehr")
    assert engine.graph("p", access=READER).version > before[0]
    assert engine.patient("p", access=READER).updated_at == clock.now


def test_turns_are_numbered_as_if_the_hidden_ones_had_not_been_said(open_engine: Any) -> None:
    engine = open_engine("main")
    said = ("I have a headache.", f"I use {WORD}.", "I take lisinopril.")
    engine.append("p", "s", [Turn(Speaker.PATIENT, text, said_at=NOW) for text in said])
    shown = engine.session("p", "s", access=READER)
    assert [(m.index, m.turn.text) for m in shown.messages] == [(0, said[0]), (1, said[2])]
    assert [m.index for m in engine.session("p", "s").messages] == [0, 1, 2]


def test_what_was_not_understood_of_a_document_is_looked_through_before_its_bytes_are_shown(open_engine: Any) -> None:
    engine = open_engine("main")
    extension = [{"url": "http://example.org/remark", "valueString": f"uses {WORD}"}]
    told = engine.ingest("p", bundle(condition("Asthma", extension=extension)), source="ehr")
    plain = engine.ingest("p", bundle(condition("Migraine", id="c2")), source="ehr")
    assert WORD in engine.document("p", told.document)[1].decode()
    with pytest.raises(NotFound):
        engine.document("p", told.document, access=READER)
    assert engine.document("p", plain.document, access=READER)
    asthma = next(f.id for f in engine.graph("p", access=READER).facts.values() if f.display == "Asthma")
    assert WORD in chapter.encoded(engine.explain("p", asthma))
    assert WORD not in chapter.encoded(engine.explain("p", asthma, access=READER))


def test_the_reason_of_a_ruling_is_not_told_where_it_speaks_of_what_is_hidden(
    open_engine: Any, clock: HandClock
) -> None:
    engine = open_engine("main")
    engine.ingest("p", bundle(order("10 mg"), order("20 mg", id="m2")), source="ehr")
    ids = [s.id for s in engine.graph("p").statements.values() if s.kind is Kind.MEDICATION]
    clock.wait(minutes=1)
    engine.rule("p", RulingKind.NOT_SAME, ids[0], ids[1], reason=f"she mixed them up, {WORD}")
    assert [each.reason for each in engine.rulings("p", access=READER)] == [""]
    assert WORD in engine.rulings("p")[0].reason
    graph = engine.graph("p", access=READER)
    assert WORD not in chapter.encoded(graph)
    assert len([f for f in graph.facts.values() if f.kind is Kind.MEDICATION]) == 2, "the ruling itself still holds"


def test_the_names_of_a_condition_are_known_in_a_source_and_in_an_author(open_engine: Any) -> None:
    engine = open_engine("main")
    engine.ingest("p", bundle(condition("Sprain")), source="Drug addiction centre")
    written = condition("Bruise", id="c2", recorder={"display": "Dr Ames, Mental Health Unit"})
    engine.ingest("p", bundle(written), source="ehr")
    shown = {f.display for f in engine.graph("p", access=READER).facts.values() if f.kind is Kind.CONDITION}
    assert shown == {"Bruise"}
    other = msgspec.structs.replace(READER, withheld=frozenset({Label(ACT_CODE, "MH")}))
    shown = {f.display for f in engine.graph("p", access=other).facts.values() if f.kind is Kind.CONDITION}
    assert shown == {"Sprain"}


def test_the_reason_of_a_hold_is_told_to_who_sees_everything(open_engine: Any) -> None:
    engine = open_engine("main")
    engine.put_patient("p")
    engine.set_hold("p", f"a claim about {WORD}")
    engine.set_hold("p", "a claim about a fall")
    assert [hold.reason for hold in engine.holds("p", access=READER)] == ["not told here"] * 2
    assert [hold.reason for hold in engine.holds("p")] == [f"a claim about {WORD}", "a claim about a fall"]


def test_a_reader_erases_nothing_in_which_something_is_hidden_and_reads_no_counts(open_engine: Any) -> None:
    engine = open_engine("main")
    plain = engine.ingest("p", bundle(condition("Asthma")), source="ehr")
    spoken = [f"I use {WORD}.", "I take lisinopril."]
    engine.append("p", "mixed", [Turn(Speaker.PATIENT, text, said_at=NOW) for text in spoken])
    engine.append("p", "plain", [Turn(Speaker.PATIENT, "I have a headache.", said_at=NOW)])
    hidden, shown = engine.session("p", "mixed").messages
    for kind, id in ((Erasable.MESSAGE, hidden.id), (Erasable.SESSION, "mixed")):
        with pytest.raises(NotFound):
            engine.erase("p", kind, id, access=READER)
    with pytest.raises(NotAllowed) as refusal:
        engine.prove_erasure("p", Erasable.SESSION, "plain", words=[WORD], access=READER)
    assert refusal.value.reasons == ("something-may-be-withheld",)
    assert [each.id for each in engine.session("p", "mixed").messages] == [hidden.id, shown.id]
    receipts = [
        engine.erase("p", Erasable.SESSION, "plain", access=READER),
        engine.erase("p", Erasable.DOCUMENT, plain.document, access=READER),
        engine.delete_patient("p", access=READER),
    ]
    assert [each.counts for each in receipts] == [(), (), ()]
    assert all(each.counts and each.signature for each in engine.erasures()[0])


def test_a_note_that_denies_what_is_hidden_is_not_read_as_current(open_engine: Any) -> None:
    engine = open_engine("main")
    secret = allergy("Penicillin", id="a1", meta={"security": [{"system": ACT_CODE, "code": "SUD"}]})
    engine.ingest("p", json.dumps(secret).encode(), source="ehr")
    engine.ingest("p", b"ALLERGIES:\nNo known drug allergies.\n\nASSESSMENT:\nShe has migraine.", source="notes")
    assert "No known drug allergies" in {fact.display for fact in engine.graph("p").facts.values()}
    shown = engine.graph("p", access=READER)
    assert [fact.display for fact in shown.facts.values() if fact.kind is Kind.CONDITION] == ["Migraine"]
    assert "No known drug allergies" not in chapter.encoded(shown)
    assert [passage.text for passage in shown.passages.values()] == ["She has migraine."]
    # The other way round: a hidden note affirms what a record denies.
    engine.put_patient("q")
    none = allergy("No known allergies", id="nka")
    none["code"] = {"coding": [{"system": "http://snomed.info/sct", "code": "716186003"}], "text": "No known allergies"}
    engine.ingest("q", json.dumps(none).encode(), source="ehr")
    assert engine.graph("q", access=READER).facts
    engine.ingest("q", f"She used {WORD} and is allergic to penicillin.".encode(), source="notes")
    assert any(fact.display == "Penicillin" for fact in engine.graph("q").facts.values())
    assert engine.graph("q", access=READER).facts == {}


def test_what_a_hidden_note_mentions_is_no_fact(open_engine: Any) -> None:
    engine = open_engine("main")
    engine.ingest("p", f"She has migraine and used {WORD}.".encode(), source="notes")
    engine.ingest("p", b"She has asthma.", source="notes")
    told = {fact.display for fact in engine.graph("p").facts.values()}
    assert {"Migraine", "Asthma"} <= told
    shown = engine.graph("p", access=READER).facts.values()
    assert {fact.display for fact in shown if fact.kind is Kind.CONDITION} == {"Asthma"}


@pytest.mark.parametrize("export", ["export_fhir", "summary"])
def test_an_export_carries_the_labels_that_rules_give(open_engine: Any, export: str) -> None:
    engine = open_engine("main")
    engine.ingest("p", fact(), source="ehr")
    engine.ingest("p", bundle(condition("Asthma", id="c2")), source="ehr")
    engine.append("p", "s", [Turn(Speaker.PATIENT, f"I took {WORD} on Sunday.", said_at=NOW)])
    told = json.loads(getattr(engine, export)("p"))
    resources = [entry["resource"] for entry in told["entry"]]
    labels = {
        (each["resourceType"], each.get("code", {}).get("text", "")): {
            s["code"] for s in each["meta"].get("security", ())
        }
        for each in resources
    }
    assert labels["Condition", "Other disorder"]
    assert labels["Condition", "Asthma"] == set()
    assert labels["Communication", ""] == {"SUD"}
    assert labels["Condition", "Other disorder"] | {"SUD"} <= {s["code"] for s in told["meta"]["security"]}
    # Elsewhere each is hidden by its own labels, and the rest is not.
    there = open_engine("there")
    there.ingest("q", getattr(engine, export)("p"), source="copy")
    shown = there.graph("q", access=READER)
    assert {fact.display for fact in shown.facts.values() if fact.kind is Kind.CONDITION} == {"Asthma"}
    assert WORD not in chapter.encoded(shown).lower()
    # Of a copy whose resources lost theirs, the bundle's count for all of it.
    for each in resources:
        each["meta"].pop("security", None)
    there.put_patient("r")
    there.ingest("r", json.dumps(told).encode(), source="copy")
    assert not any(f.kind is Kind.CONDITION for f in there.graph("r", access=READER).facts.values())


@pytest.mark.parametrize("export", ["export_fhir", "summary"])
def test_a_copy_without_any_label_of_what_is_hidden_is_hidden(open_engine: Any, export: str) -> None:
    engine = open_engine("main")
    labelled = {"meta": {"security": [{"system": ACT_CODE, "code": "SUD"}]}}
    engine.ingest(
        "p", bundle(condition("Zwyxbar", id="h", note=[{"text": "Zwyxbar since May"}], **labelled)), source="a"
    )
    engine.ingest("p", bundle(condition("Asthma")), source="a")
    told = json.loads(getattr(engine, export)("p"))
    told["meta"].pop("security")
    for each in told["entry"]:
        each["resource"].get("meta", {}).pop("security", None)
    engine.ingest("p", json.dumps(told).encode(), source="copy")
    shown = engine.graph("p", access=READER)
    assert "Zwyxbar" in chapter.encoded(engine.graph("p"))
    assert "Zwyxbar" not in chapter.encoded(shown)
    assert [fact.display for fact in shown.facts.values() if fact.kind is Kind.CONDITION] == ["Asthma"]

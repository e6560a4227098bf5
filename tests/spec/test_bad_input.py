"""Bad input: a clear error or an intake line that names the place; nothing lost, nothing half stored, nobody named."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from spec_patients import allergy, bundle, condition, order, result

from iamata import BadInput, Engine, IamataError, Speaker, TooLarge, Turn, UnknownFormat
from iamata.connectors.fhir.decoding import decode
from iamata.model.document import IntakeLine, Receipt

CANARY = "Zwyxbar"
NAMED = {"resourceType": "Patient", "id": "p", "name": [{"family": CANARY}]}


def body(*entries: Any, **more: Any) -> bytes:
    return json.dumps({"resourceType": "Bundle", "type": "collection", "entry": list(entries)} | more).encode()


def of(*resources: Any) -> bytes:
    return body(*({"resource": resource} for resource in (NAMED, *resources)))


GOOD = of(order("10 mg"))
DEEP = (
    b'{"resourceType":"Patient","id":"p","x":' + b"[" * 100_000 + b'"' + CANARY.encode() + b'"' + b"]" * 100_000 + b"}"
)

# What is refused whole: name → (bytes, error, words of the message, place)
REFUSED: dict[str, tuple[bytes, type[IamataError], str, str]] = {
    "nothing": (b"", UnknownFormat, "empty", ""),
    "blanks": (b" \n\t ", UnknownFormat, "empty", ""),
    "cut off": (GOOD[:-40], BadInput, "not JSON", "line 1 column"),
    "trailing garbage": (GOOD + CANARY.encode(), BadInput, "not JSON", f"line 1 column {len(GOOD) + 1}"),
    "a second value": (GOOD + GOOD, BadInput, "not JSON", f"line 1 column {len(GOOD) + 1}"),
    "a bad line": (GOOD.replace(b', "entry"', b',\n"entry" oops'), BadInput, "not JSON", "line 2 column"),
    "not UTF-8": (GOOD.replace(CANARY.encode(), b"Zwyx\xffbar"), BadInput, "not UTF-8", "line 1 column"),
    "half a surrogate": (GOOD.replace(CANARY.encode(), b"Zwyx\\ud800bar"), BadInput, "not JSON", "line 1 column"),
    "JSON that is not FHIR": (json.dumps({"name": CANARY}).encode(), UnknownFormat, "no resourceType", ""),
    "a list": (b"[" + GOOD + b"]", UnknownFormat, "no resourceType", ""),
    "a resourceType of the wrong type": (b'{"resourceType": 7}', UnknownFormat, "no resourceType", ""),
    "a depth bomb": (DEEP, TooLarge, "deeper than the 200 levels", ""),
    "a broken PDF": (b"%PDF-1.7 " + CANARY.encode(), BadInput, "PDF cannot be opened", ""),
    "binary": (b"\x00\x01\x02" + CANARY.encode(), UnknownFormat, "no text", ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_with_its_place_and_nothing_is_stored(engine: Engine, name: str) -> None:
    sent, error, words, place = REFUSED[name]
    engine.ingest("p", bundle(condition("Asthma")), source="ehr")
    before = (engine.patient("p"), engine.receipts("p"), engine.graph("p"))
    with pytest.raises(error, match=words) as refusal:
        engine.ingest("p", sent, source="ehr")
    assert isinstance(refusal.value, BadInput)
    assert place in refusal.value.place
    assert place in str(refusal.value)
    assert CANARY.lower() not in str(refusal.value).lower()
    assert len(str(refusal.value)) < 300
    assert (engine.patient("p"), engine.receipts("p"), engine.graph("p")) == before
    with pytest.raises(error):
        engine.ingest("new", sent, source="ehr")
    assert engine.patients()[1] == 1, "a refused document registers nobody"


def test_a_refusal_for_size_comes_before_anything_is_decoded() -> None:
    with pytest.raises(TooLarge, match="1001 bytes, more than the 1000 allowed"):
        decode(b"{" + b" " * 999 + b"}", limit_bytes=1000)
    assert decode(b"{" + b" " * 998 + b"}", limit_bytes=1000)[0].value == {}


def test_a_real_body_of_101_megabytes_is_refused_in_bounded_memory(engine: Engine) -> None:
    sent = b'{"resourceType":"Bundle","entry":[' + b" " * 101_000_000 + b"]}"
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge, match="bytes, more than the 100000000 allowed"):
            engine.ingest("p", sent, source="ehr")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < len(sent) // 10, "no copy of the body is made"
    assert engine.patients()[1] == 0


# ------------------------------------------------------- what spoils only itself


def lines(receipt: Receipt, outcome: str = "ignored") -> list[IntakeLine]:
    return [line for line in receipt.intake if line.outcome == outcome]


# Name → (the bad entry or resource, what its intake line is called, words of its detail)
SPOILED: dict[str, tuple[Any, str]] = {
    "no object": ({"resource": 7}, "/entry/1"),
    "an entry that is no object": (CANARY, "/entry/1"),
    "no resourceType": ({"resource": {"id": "x", "code": {"text": CANARY}}}, "/entry/1"),
    "a code of the wrong shape": ({"resource": condition(CANARY) | {"code": CANARY}}, "/entry/1/resource"),
    "an onset of the wrong shape": ({"resource": condition(CANARY) | {"onsetDateTime": 7}}, "/entry/1/resource"),
    "a type that is not read": ({"resource": {"resourceType": "Basic", "code": {"text": CANARY}}}, "/entry/1/resource"),
    "an unknown type": ({"resource": {"resourceType": CANARY}}, "/entry/1/resource"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_a_bad_item_spoils_only_itself_and_its_line_names_the_place(engine: Engine, name: str) -> None:
    bad, place = SPOILED[name]
    receipt = engine.ingest("p", body({"resource": NAMED}, bad, {"resource": order("10 mg")}), source="ehr")
    assert {fact.kind for fact in engine.graph("p").facts.values()} >= {"demographic", "medication"}
    told = [line for line in receipt.intake if line.place.startswith(place)]
    assert told, receipt.intake
    if name != "an onset of the wrong shape":
        assert [line.outcome for line in told] == ["ignored"]
        assert told[0].reason
    if name != "an unknown type":  # the name of a type is no content: it is what the line is about
        assert CANARY not in repr((receipt.intake, receipt.warnings))
    assert engine.document("p", receipt.document)[1] == body({"resource": NAMED}, bad, {"resource": order("10 mg")}), (
        "the bytes are kept as they came"
    )


def test_items_of_a_second_patient_are_set_aside_and_never_formed(engine: Engine) -> None:
    stranger = {"resourceType": "Patient", "id": "q", "name": [{"family": CANARY}], "birthDate": "1950-05-05"}
    theirs = condition(f"{CANARY} disease", id="c9") | {"subject": {"reference": "Patient/q"}}
    receipt = engine.ingest("p", of(order("10 mg"), condition("Asthma"), stranger, theirs), source="ehr")
    assert [(line.place, line.detail) for line in lines(receipt)] == [
        ("/entry/3/resource", "of another patient"),
        ("/entry/4/resource", "of another patient"),
    ]
    facts = engine.graph("p").facts.values()
    assert sorted(fact.kind for fact in facts) == ["condition", "demographic", "medication"]
    assert CANARY not in repr([fact for fact in facts if fact.kind != "demographic"])
    assert "1950" not in repr(facts)


def test_one_id_twice_is_kept_twice_and_said(engine: Engine) -> None:
    receipt = engine.ingest("p", of(condition(f"{CANARY} asthma"), condition(f"{CANARY} gout")), source="ehr")
    assert receipt.warnings == ("Condition with one id stands 2 times: /entry/1/resource, /entry/2/resource",)
    held = [s for s in engine.graph("p").statements.values() if s.kind == "condition"]
    assert len(held) == 2


def test_a_broken_reference_is_listed_and_costs_nothing(engine: Engine) -> None:
    lost = order("10 mg", reasonReference=[{"reference": "Condition/nowhere"}], encounter={"reference": "#nothing"})
    engine.ingest("p", of(lost), source="ehr")
    graph = engine.graph("p")
    assert {(u.element, u.reference) for u in graph.unresolved} >= {("reasonReference/0", "Condition/nowhere")}
    assert "medication" in {fact.kind for fact in graph.facts.values()}
    assert graph.links == {}


@pytest.mark.parametrize("date", ["2026-13-45", "yesterday", "31.12.2025", "2026-02-30", "0000-01-01", "٢٠٢٠-٠١-٠١"])
def test_a_date_that_is_none_is_kept_as_words_and_its_element_named(engine: Engine, date: str) -> None:
    receipt = engine.ingest("p", of(condition(CANARY, onset=date), result("Glucose", 90)), source="ehr")
    [line] = [line for line in receipt.intake if line.place == "/entry/1/resource"]
    assert line.outcome == "structured"
    assert "onsetDateTime" in line.detail
    assert date not in line.detail
    [held] = [s for s in engine.graph("p").statements.values() if s.kind == "condition"]
    assert [str(timed.start) for timed in held.times] == [date]
    assert {timed.start.precision for timed in held.times if timed.start} == {"text"}


def test_codes_nobody_knows_are_kept_as_sent_and_status_codes_named(engine: Engine) -> None:
    odd = condition("Asthma") | {"code": {"coding": [{"system": "urn:made:up", "code": CANARY}], "text": "Asthma"}}
    odd["clinicalStatus"] = {"coding": [{"code": "sort-of-active"}]}
    receipt = engine.ingest("p", of(odd), source="ehr")
    [held] = [s for s in engine.graph("p").statements.values() if s.kind == "condition"]
    assert held.concept is not None
    assert held.concept.keys == (f"urn:made:up|{CANARY}",)
    assert held.standing == "unknown"
    [line] = [line for line in receipt.intake if line.place == "/entry/1/resource"]
    assert line.outcome == "structured"


WRONG_CALLS: dict[str, Callable[[Engine], Any]] = {
    "an id that cannot be one": lambda e: e.put_patient(f"{CANARY} Jones"),
    "an id with a slash": lambda e: e.ingest("a/b", GOOD),
    "an empty id": lambda e: e.append("", "s", [Turn(Speaker.PATIENT, CANARY)]),
    "a format nobody reads": lambda e: e.ingest("p", GOOD, format="carrier/pigeon"),
    "no turns": lambda e: e.append("p", "s", []),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_call_that_cannot_be_meant_is_refused_and_registers_nobody(engine: Engine, name: str) -> None:
    with pytest.raises(BadInput) as refusal:
        WRONG_CALLS[name](engine)
    assert CANARY not in str(refusal.value)
    assert engine.patients() == ([], 0)


@pytest.mark.parametrize("text", ["\x00", "a\x00b", "\ud800", "\U0001f9ec" * 3, "‮abc", "I have a headache.\x00"])
def test_any_text_can_be_said_and_ingested_and_comes_back_as_it_was(engine: Engine, text: str) -> None:
    """Control characters, half a surrogate, other scripts: kept on both databases, or refused as bad input."""
    try:
        engine.append("p", "s", [Turn(Speaker.PATIENT, text)])
    except BadInput:
        assert engine.patients()[1] == 0
    else:
        assert engine.session("p", "s").messages[0].turn.text == text
    if "\ud800" not in text:
        engine.ingest("p", of(condition(f"Asthma {text}")), source=f"source {text}", name=f"name {text}")
        held = [s for s in engine.graph("p").statements.values() if s.kind == "condition"]
        assert [s.concept.text for s in held if s.concept] == [f"Asthma {text}"]
        engine.browse("/patient/p/conditions/active")
        engine.read("/patient/p/conditions/active")


@pytest.mark.parametrize("session", ["", "a\x00b", "x" * 513, "\ud800"])
def test_a_session_id_that_cannot_be_kept_is_refused(engine: Engine, session: str) -> None:
    with pytest.raises(BadInput, match="at session"):
        engine.append("p", session, [Turn(Speaker.PATIENT, "Hello.")])
    assert engine.patients()[1] == 0


@pytest.mark.parametrize("session", ["x" * 512, "with / slash", "mit Umlaut ä", "🧬"])
def test_any_other_session_id_is_kept_as_it_is(engine: Engine, session: str) -> None:
    engine.append("p", session, [Turn(Speaker.PATIENT, "I have a headache.")])
    assert engine.session("p", session).id == session
    assert engine.browse("/patient/p/memories").nodes


def test_an_allergy_with_everything_wrong_is_not_lost(engine: Engine) -> None:
    odd = allergy(CANARY, onsetDateTime="soon", criticality="terrible", reaction=[{"severity": "dreadful"}], note=[{}])
    receipt = engine.ingest("p", of(odd), source="ehr")
    assert [fact.display for fact in engine.graph("p").facts.values() if fact.kind == "allergy"] == [CANARY]
    assert CANARY not in repr(receipt.intake)

"""A language model is off until it is configured, only adds to what was said, and settles nothing against a rule.

On every store. Whatever the model does, what the engine gives without it stands.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from iamata import Access, BadInput, Engine, NotAllowed, Speaker, Turn, Unavailable
from iamata.errors import InvalidValue
from iamata.formation.pipeline import form
from iamata.language.scripted import ScriptedModel
from iamata.model.access import PrincipalKind
from iamata.model.document import IngestionStatus
from iamata.model.model_answers import Sameness
from iamata.model.ruling import RulingKind
from iamata.ports import Answer, AnswerOutcome, LanguageModel, Question
from iamata.store import DatabaseStore

NOW = datetime(2026, 2, 15, 10, tzinfo=UTC)
BUZZ = "I have a buzzing head and I take metformin."


class Ticking:
    """A clock that moves a second with every look."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


Opens = Callable[..., Engine]


@pytest.fixture
def with_model(make_store: Callable[..., DatabaseStore], clock: Ticking) -> Opens:
    """An engine with this model on the main database; the same database at every call."""
    numbers = iter(range(100_000))

    def open(model: LanguageModel | None, *, tasks: frozenset[str] = frozenset({"learning", "adjudication"})) -> Engine:
        store = make_store()
        return Engine(store, store.keys, clock=clock, ids=lambda: f"{next(numbers):020x}", model=model, model_for=tasks)

    return open


def proposal(**changed: Any) -> dict[str, Any]:
    return {
        "message": 1,
        "speaker": "patient",
        "quote": "I have a buzzing head",
        "about": "buzzing head",
        "type": "symptom",
        "polarity": "affirmed",
        "experiencer": "patient",
        "temporality": "current",
        "certain": True,
        "change": "",
    } | changed


METFORMIN = proposal(quote="I take metformin", about="metformin", type="medication")


def talk(*texts: str) -> list[Turn]:
    return [Turn(Speaker.PATIENT, text, said_at=NOW) for text in texts]


def quotes(engine: Engine, **when: Any) -> list[tuple[str, tuple[str, ...]]]:
    return [(m.concept.display, m.extractors) for m in engine.graph("p", **when).memories.values()]


# -------------------------------------------------------------------------------------------------------- learning


def test_what_a_model_finds_is_remembered_beside_what_was_found_without_it(with_model: Opens) -> None:
    model = ScriptedModel([{"memories": [proposal(), METFORMIN]}], name="small-1")
    engine = with_model(model)
    receipt = engine.append("p", "s", talk(BUZZ))
    assert (receipt.status, receipt.warnings) == (IngestionStatus.SUCCEEDED, ())
    assert quotes(engine) == [
        ("buzzing head", ("language-model/small-1/memories-1",)),
        ("Metformin", ("language-model/small-1/memories-1", "offline/2")),
    ]
    assert BUZZ in model.asked[0].material


def test_without_a_model_or_without_this_task_nobody_is_asked(with_model: Opens) -> None:
    model = ScriptedModel([{"memories": [proposal()]}])
    with_model(None).append("p", "s", talk(BUZZ))
    engine = with_model(model, tasks=frozenset({"adjudication"}))
    engine.append("p", "t", talk(BUZZ))
    assert model.asked == []
    assert {name for name, _ in quotes(engine)} == {"Metformin"}


def test_a_message_is_read_once_and_a_resent_transcript_asks_nothing(with_model: Opens) -> None:
    model = ScriptedModel([{"memories": [proposal()]}, {"memories": []}], name="small-1")
    engine = with_model(model)
    engine.append("p", "s", talk(BUZZ), whole=True)
    before = engine.graph("p").version
    engine.append("p", "s", talk(BUZZ), whole=True)
    assert (len(model.asked), engine.graph("p").version) == (1, before)
    engine.append("p", "s", talk(BUZZ, "My knee is fine."), whole=True)
    assert len(model.asked) == 2
    told = json.loads(model.asked[1].material)
    assert [m["text"] for m in told["messages"]] == ["My knee is fine."]
    assert [m["text"] for m in told["before"]] == [BUZZ]


def test_a_model_that_comes_later_reads_what_was_said_before_and_its_finds_were_not_known_then(
    with_model: Opens, clock: Ticking
) -> None:
    with_model(None).append("p", "s", talk(BUZZ))
    then = clock.now
    model = ScriptedModel([{"memories": [proposal(), METFORMIN]}, {"memories": []}], name="small-1")
    engine = with_model(model)
    before = engine.graph("p").hash
    engine.append("p", "t", talk("Hello."))
    assert [name for name, _ in quotes(engine)] == ["buzzing head", "Metformin"]
    assert quotes(engine, known_at=then) == [("Metformin", ("offline/2",))]
    assert engine.graph("p", known_at=then).hash == before


def test_another_model_reads_again_and_both_are_evidence(with_model: Opens) -> None:
    with_model(ScriptedModel([{"memories": [proposal()]}], name="one")).append("p", "s", talk(BUZZ))
    answers = [{"memories": [proposal(), METFORMIN]}, {"memories": []}]
    engine = with_model(ScriptedModel(answers, name="two"))
    engine.append("p", "t", talk("Hello."))
    assert quotes(engine) == [
        ("buzzing head", ("language-model/one/memories-1", "language-model/two/memories-1")),
        ("Metformin", ("language-model/two/memories-1", "offline/2")),
    ]


def test_what_is_dropped_is_counted_in_the_receipt_without_a_word_of_it(with_model: Opens) -> None:
    bad = [
        proposal(quote="I have Zyxwvut"),
        proposal(quote="Zyxwvut"),
        proposal(speaker="clinician"),
        proposal(type="Zyxwvut"),
    ]
    engine = with_model(ScriptedModel([{"memories": bad}]))
    receipt = engine.append("p", "s", talk(BUZZ))
    assert receipt.warnings == (
        "language model: 4 proposals dropped (quote-not-there 2, unknown-word 1, wrong-speaker 1)",
    )
    assert engine.receipt("p", receipt.id) == receipt
    assert quotes(engine) == [("Metformin", ("offline/2",))]


class Broken:
    """A client that breaks its promise."""

    name = "broken"

    def ask(self, question: Question, *, within_s: float) -> Answer:
        raise RuntimeError("boom")


OUTCOMES = [
    (Answer(outcome=AnswerOutcome.REFUSED), "refused", True),
    (Answer(outcome=AnswerOutcome.TRUNCATED), "truncated", True),
    (Answer(outcome=AnswerOutcome.MALFORMED), "malformed", True),
    (Answer(outcome=AnswerOutcome.TOO_LARGE), "too-large", True),
    (Answer(outcome=AnswerOutcome.RATE_LIMITED), "rate-limited", False),
    (Answer(outcome=AnswerOutcome.TIMED_OUT, took_s=60.0), "timed-out", False),
    (Answer(outcome=AnswerOutcome.UNREACHABLE), "unreachable", False),
    (Answer(outcome=AnswerOutcome.FAULTY), "faulty", False),
    (Answer(outcome=AnswerOutcome.REJECTED), "rejected", False),
]


@pytest.mark.parametrize(("answer", "name", "settled"), OUTCOMES, ids=[name for _, name, _ in OUTCOMES])
def test_however_asking_ends_the_offline_result_stands_and_the_receipt_says_so(
    with_model: Opens, answer: Answer, name: str, settled: bool
) -> None:
    model = ScriptedModel([answer, {"memories": [proposal()]}, {"memories": []}])
    engine = with_model(model)
    receipt = engine.append("p", "s", talk(BUZZ))
    assert receipt.status is IngestionStatus.SUCCEEDED
    assert receipt.warnings == (f"language model: {name}, 1 messages not read by it; the offline result stands",)
    assert quotes(engine) == [("Metformin", ("offline/2",))]
    engine.append("p", "t", talk("Hello."))  # what rests on the question is not asked again, the rest is
    assert ("buzzing head" in {name for name, _ in quotes(engine)}) is not settled


def test_a_client_that_raises_changes_nothing(with_model: Opens) -> None:
    engine = with_model(Broken())
    receipt = engine.append("p", "s", talk(BUZZ))
    assert receipt.status is IngestionStatus.SUCCEEDED
    assert receipt.warnings[0].startswith("language model: faulty")
    assert quotes(engine) == [("Metformin", ("offline/2",))]


def test_one_forming_asks_a_bounded_number_of_times_and_says_what_waits(with_model: Opens) -> None:
    model = ScriptedModel([{"memories": []}] * 99)
    engine = with_model(model)
    receipt = engine.append("p", "s", talk(*(f"Hello number {n}." for n in range(200))))
    assert len(model.asked) == 8
    assert receipt.warnings == ("language model: 40 messages wait to be read by it",)
    engine.append("p", "s", talk("And more."))
    assert len(model.asked) == 11


def test_time_that_is_used_up_is_not_spent_again(with_model: Opens) -> None:
    slow = Answer(outcome=AnswerOutcome.ANSWERED, body=b'{"memories": []}', took_s=40.0)
    model = ScriptedModel([slow] * 9)
    receipt = with_model(model).append("p", "s", talk(*(f"Hello number {n}." for n in range(100))))
    assert len(model.asked) == 2
    assert receipt.warnings == ("language model: 60 messages wait to be read by it",)


def test_what_a_model_found_goes_with_the_patient(with_model: Opens) -> None:
    engine = with_model(ScriptedModel([{"memories": [proposal()]}, {"memories": []}]))
    engine.append("p", "s", talk(BUZZ))
    engine.delete_patient("p")
    engine.append("p", "s", talk(BUZZ), after_erasure=True)
    assert quotes(engine) == [("Metformin", ("offline/2",))]


# ---------------------------------------------------------------------------------------------------- adjudication


def bundle(*resources: dict[str, Any]) -> bytes:
    entries = [{"resource": {"resourceType": "Patient", "id": "p"}}, *({"resource": r} for r in resources)]
    return json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries}).encode()


def shot(id: str, text: str = "MMR", **more: Any) -> dict[str, Any]:
    return {
        "resourceType": "Immunization",
        "id": id,
        "status": "completed",
        "patient": {"reference": "Patient/p"},
        "vaccineCode": {"text": text},
        **more,
    }


def order(id: str, name: str, **more: Any) -> dict[str, Any]:
    return {
        "resourceType": "MedicationRequest",
        "id": id,
        "status": "active",
        "intent": "order",
        "subject": {"reference": "Patient/p", "display": "Ada Stone"},
        "requester": {"display": "Dr Rao"},
        "identifier": [{"system": "urn:orders", "value": f"rx-{id}"}],
        "medicationCodeableConcept": {"text": name},
        "authoredOn": "2026-02-10",
        "note": [{"text": "call her sister Mona"}],
        **more,
    }


def shots(engine: Engine, **when: Any) -> int:
    return sum(fact.kind == "immunization" for fact in engine.graph("p", **when).facts.values())


def decided(engine: Engine) -> Any:
    """The one decision on a pair of vaccinations."""
    graph = engine.graph("p")
    [found] = [d for d in graph.decisions.values() if graph.statements[d.left].kind == "immunization"]
    return found


def fill(engine: Engine) -> None:
    engine.ingest("p", bundle(shot("i1", occurrenceDateTime="2020-05-01")), source="one")
    engine.ingest("p", bundle(shot("i9", occurrenceString="as a child")), source="two")


SAME = {"answer": "same", "reason": "one vaccination,\n told twice"}


def test_a_model_that_says_same_joins_the_two_and_is_named(with_model: Opens) -> None:
    model = ScriptedModel([SAME], name="small-1")
    engine = with_model(model)
    fill(engine)
    assert (shots(engine), len(engine.review("p"))) == (2, 1)
    done = engine.adjudicate("p")
    assert [(a.says, a.reason) for a in done.answers] == [("same", "one vaccination, told twice")]
    assert (done.model, done.failed, done.left) == ("small-1", (), 0)
    assert (shots(engine), engine.review("p")) == (1, [])
    decision = decided(engine)
    assert (decision.verdict, decision.quality, decision.rule) == ("merge", "probable", "model-adjudication")
    assert decision.by == "language-model/small-1"
    step = decision.evidence[-1]
    assert (step.step, step.outcome, step.left) == ("language-model", "equal", "small-1 (pairs-1)")


def test_a_model_that_says_not_the_same_takes_the_pair_off_the_list_and_binds_nothing_else(with_model: Opens) -> None:
    engine = with_model(ScriptedModel([{"answer": "not-same", "reason": "two"}]))
    fill(engine)
    before = engine.graph("p").hash
    engine.adjudicate("p")
    assert (shots(engine), engine.review("p"), engine.graph("p").hash) == (2, [], before)
    decision = decided(engine)
    assert (decision.verdict, decision.rule) == ("reject", "model-adjudication")


def test_a_model_that_is_unsure_leaves_the_pair_to_a_person_who_sees_that_it_was(with_model: Opens) -> None:
    engine = with_model(ScriptedModel([{"answer": "unsure", "reason": "no date"}]))
    fill(engine)
    engine.adjudicate("p")
    [pair] = engine.review("p")
    assert (pair.rule, pair.by, shots(engine)) == ("time-missing", "", 2)
    assert [(e.outcome, e.right) for e in pair.evidence if e.step == "language-model"] == [("uncertain", "no date")]


def test_a_question_that_was_answered_is_never_asked_again_and_reading_asks_nothing(with_model: Opens) -> None:
    model = ScriptedModel([{"answer": "unsure", "reason": ""}, SAME])
    engine = with_model(model)
    fill(engine)
    engine.adjudicate("p")
    assert engine.adjudicate("p").answered_before == 1
    engine.review("p")
    again = with_model(None)  # the same database, without any model
    assert [e.outcome for e in again.review("p")[0].evidence if e.step == "language-model"] == ["uncertain"]
    assert len(model.asked) == 1


def test_the_same_held_data_gives_the_same_graph_without_the_model(with_model: Opens, clock: Ticking) -> None:
    engine = with_model(ScriptedModel([SAME]))
    fill(engine)
    then = clock.now
    apart = engine.graph("p").hash
    engine.adjudicate("p")
    joined = engine.graph("p").hash
    assert joined != apart
    fresh = with_model(None)
    assert fresh.graph("p").hash == joined
    assert fresh.graph("p", known_at=then).hash == apart
    assert shots(fresh, known_at=then) == 2


def test_another_content_of_a_record_is_another_question(with_model: Opens) -> None:
    model = ScriptedModel([SAME, {"answer": "unsure", "reason": ""}])
    engine = with_model(model)
    fill(engine)
    engine.adjudicate("p")
    changed = shot("i9", occurrenceString="as a small child", meta={"versionId": "2"})
    engine.ingest("p", bundle(changed), source="two")
    assert shots(engine) == 2
    assert len(engine.adjudicate("p").answers) == 1


@pytest.mark.parametrize(
    ("says", "rules", "facts"), [("same", RulingKind.NOT_SAME, 2), ("not-same", RulingKind.SAME, 1)]
)
@pytest.mark.parametrize("first", ["model", "person"])
def test_a_person_overrules_the_model_whoever_came_first(
    with_model: Opens, says: str, rules: RulingKind, facts: int, first: str
) -> None:
    engine = with_model(ScriptedModel([{"answer": says, "reason": ""}]))
    fill(engine)
    left, right = sorted(s.id for s in engine.graph("p").statements.values() if s.kind == "immunization")
    if first == "model":
        engine.adjudicate("p")
    ruling = engine.rule("p", rules, left, right)
    if first == "person":
        assert engine.adjudicate("p").answers == ()  # it waits for nobody any more
    assert shots(engine) == facts
    decision = decided(engine)
    assert (decision.rule, decision.by) == ("person", "operator/local")
    engine.withdraw_ruling("p", ruling.id)
    assert shots(engine) == ({"same": 1, "not-same": 2}[says] if first == "model" else 2)


def drugs(engine: Engine) -> list[list[str]]:
    graph = engine.graph("p")
    return sorted(
        sorted(graph.statements[id].source for id in fact.members)
        for fact in graph.facts.values()
        if fact.kind == "medication"
    )


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("metoprolol tartrate 25 mg tablet", "metoprolol succinate ER 25 mg tablet"),
        ("hydroxyzine 25 mg", "hydralazine 25 mg"),
        ("lisinopril 10 mg", "lisinopril and hydrochlorothiazide 10 mg"),
    ],
)
def test_different_drugs_are_not_even_asked_about(with_model: Opens, left: str, right: str) -> None:
    model = ScriptedModel([SAME] * 9)
    engine = with_model(model)
    engine.ingest("p", bundle(order("m1", left)), source="one")
    engine.ingest("p", bundle(order("m2", right)), source="two")
    engine.adjudicate("p")
    assert (model.asked, drugs(engine)) == ([], [["one"], ["two"]])


def test_a_model_that_says_same_of_everything_brings_no_two_drugs_together(with_model: Opens) -> None:
    """The unspecified one may be either; whichever it joins, the two salts stay apart."""
    engine = with_model(ScriptedModel([SAME] * 9))
    engine.ingest("p", bundle(order("m1", "metoprolol tartrate 25 mg tablet")), source="tartrate")
    engine.ingest("p", bundle(order("m2", "metoprolol succinate ER 25 mg tablet")), source="succinate")
    engine.ingest("p", bundle(order("m3", "metoprolol 25 mg tablet")), source="unspecified")
    assert len(engine.review("p")) == 2
    done = engine.adjudicate("p")
    assert len(done.answers) == 2
    together = drugs(engine)
    assert len(together) == 2
    assert not any({"tartrate", "succinate"} <= set(cluster) for cluster in together)
    [pair] = engine.review("p")
    assert pair.rule == "model-adjudication-overruled"
    assert pair.evidence[-1].outcome == "overruled"


def test_another_route_keeps_apart_what_a_model_would_join(with_model: Opens) -> None:
    oral = {"dosageInstruction": [{"route": {"text": "oral"}}]}
    vein = {"dosageInstruction": [{"route": {"text": "intravenous"}}]}
    engine = with_model(ScriptedModel([SAME]))
    engine.ingest("p", bundle(order("m1", "metoprolol succinate ER 25 mg", **oral)), source="one")
    engine.ingest("p", bundle(order("m2", "metoprolol 25 mg", **vein)), source="two")
    assert len(engine.review("p")) == 1
    engine.adjudicate("p")
    assert drugs(engine) == [["one"], ["two"]]
    [pair] = engine.review("p")
    assert (pair.rule, pair.evidence[-1].outcome) == ("concept-review", "overruled")


def test_the_two_sides_of_the_body_stay_apart(with_model: Opens) -> None:
    def knee(id: str, side: str, **more: Any) -> dict[str, Any]:
        code = {"text": f"arthroscopy of {side} knee"}
        subject = {"reference": "Patient/p"}
        return {"resourceType": "Procedure", "id": id, "status": "completed", "subject": subject, "code": code} | more

    model = ScriptedModel([SAME] * 9)
    engine = with_model(model)
    engine.ingest("p", bundle(knee("k1", "left", performedDateTime="2020-01-01")), source="one")
    engine.ingest("p", bundle(knee("k2", "right")), source="two")
    engine.adjudicate("p")
    assert sum(f.kind == "procedure" for f in engine.graph("p").facts.values()) == 2


def test_only_what_is_needed_to_tell_leaves(with_model: Opens) -> None:
    model = ScriptedModel([SAME])
    engine = with_model(model)
    engine.ingest("p", bundle(order("m1", "metoprolol succinate ER 25 mg")), source="Northside")
    engine.ingest("p", bundle(order("m2", "metoprolol 25 mg")), source="Eastgate")
    engine.adjudicate("p")
    [question] = model.asked
    told = json.loads(question.material)
    assert told["kind"] == "medication"
    assert {told["left"]["name"], told["right"]["name"]} == {"metoprolol succinate ER 25 mg", "metoprolol 25 mg"}
    for word in ("Ada", "Rao", "Mona", "rx-", "urn:orders", "Northside", "Eastgate", "m1", "Patient/p"):
        assert word not in question.material


def test_a_record_with_a_security_label_stays_here(with_model: Opens) -> None:
    label = {
        "meta": {"security": [{"system": "http://terminology.hl7.org/CodeSystem/v3-Confidentiality", "code": "R"}]}
    }
    model = ScriptedModel([SAME])
    engine = with_model(model)
    engine.ingest("p", bundle(shot("i1", occurrenceDateTime="2020-05-01", **label)), source="one")
    engine.ingest("p", bundle(shot("i9", occurrenceString="as a child")), source="two")
    done = engine.adjudicate("p")
    assert (model.asked, done.withheld, done.answers) == ([], 1, ())


@pytest.mark.parametrize(("answer", "name", "settled"), OUTCOMES, ids=[name for _, name, _ in OUTCOMES])
def test_a_pair_that_got_no_answer_waits_as_before(with_model: Opens, answer: Answer, name: str, settled: bool) -> None:
    engine = with_model(ScriptedModel([answer]))
    fill(engine)
    done = engine.adjudicate("p")
    assert (done.answers, done.failed, done.left) == ((), ((name, 1),), 1)
    assert (len(engine.review("p")), shots(engine)) == (1, 2)


@pytest.mark.parametrize(
    "body", [b"{}", b"[]", b'{"answer": "merge", "reason": ""}', b'{"answer": 1}', b'{"answer": "same"', b"[" * 9999]
)
def test_an_answer_outside_the_three_is_malformed(with_model: Opens, body: bytes) -> None:
    engine = with_model(ScriptedModel([Answer(outcome=AnswerOutcome.ANSWERED, body=body)]))
    fill(engine)
    assert engine.adjudicate("p").failed == (("malformed", 1),)
    assert shots(engine) == 2


def test_a_reason_is_bounded_and_has_no_control_characters(with_model: Opens) -> None:
    engine = with_model(ScriptedModel([{"answer": "same", "reason": "a\x1b[31m\u202e" + "b" * 5000}]))
    fill(engine)
    [answer] = engine.adjudicate("p").answers
    assert len(answer.reason) == 300
    assert answer.reason.isprintable()


def test_the_number_of_questions_is_bounded_and_after_a_rate_limit_no_more_are_asked(with_model: Opens) -> None:
    model = ScriptedModel([SAME, Answer(outcome=AnswerOutcome.RATE_LIMITED), SAME])
    engine = with_model(model)
    for n in range(4):
        name = f"vaccine of kind {n}"
        engine.ingest("p", bundle(shot(f"i{n}", name, occurrenceDateTime="2020-05-01")), source="one")
        engine.ingest("p", bundle(shot(f"j{n}", name, occurrenceString="as a child")), source="two")
    assert len(engine.review("p")) == 4
    done = engine.adjudicate("p", most=1)
    assert (len(done.answers), done.left, len(model.asked)) == (1, 3, 1)
    done = engine.adjudicate("p")
    assert (done.answers, done.failed, done.left, len(model.asked)) == ((), (("rate-limited", 1),), 3, 2)
    with pytest.raises(BadInput):
        engine.adjudicate("p", most=0)


def test_only_an_operator_may_have_pairs_adjudicated_and_only_with_a_model(with_model: Opens) -> None:
    model = ScriptedModel([SAME])
    engine = with_model(model)
    fill(engine)
    agent = Access(kind=PrincipalKind.AGENT, id="bot", may_write=True)
    with pytest.raises(NotAllowed):
        engine.adjudicate("p", access=agent)
    assert model.asked == []
    for without in (with_model(None), with_model(model, tasks=frozenset({"learning"}))):
        with pytest.raises(Unavailable, match="IAMATA_MODEL_NAME"):
            without.adjudicate("p")
    [record] = [r for r in engine._store.audit_records() if r.action == "adjudicate" and not r.allowed]
    assert record.principal == "agent/bot"


def test_a_task_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidValue, match="adjudication and learning"):
        Engine.open(":memory:", model_for=["diagnosing"])


def test_the_order_in_which_answers_are_held_does_not_matter(with_model: Opens, clock: Ticking) -> None:
    """Of two models on one pair the later answer counts, whichever is read first."""
    for name, says in (("one", "not-same"), ("two", "unsure"), ("three", "same")):
        engine = with_model(ScriptedModel([{"answer": says, "reason": name}], name=name))
        if name == "one":
            fill(engine)
            engine.adjudicate("p")
        else:  # the pair is asked about again only while it waits; here each model is given the first one's list
            first = engine._graphs.held("p").adjudications[0]
            later = msgspec.structs.replace(
                first, id=f"ma_{name}", model=name, says=Sameness(says), reason=name, received_at=clock()
            )
            engine._store.keep_answers("p", [later], clock())
    held = engine._graphs.held("p")
    moment = engine.graph("p").moment
    hashes = set()
    for order in itertools.permutations(held.adjudications):
        mint = engine._graphs.mint("p")
        graph = form(msgspec.structs.replace(held, adjudications=order), moment=moment, mint=mint)
        hashes.add(graph.hash)
        assert {d.by for d in graph.decisions.values() if d.rule == "model-adjudication"} == {"language-model/three"}
    assert hashes == {engine.graph("p").hash}
    assert shots(engine) == 1

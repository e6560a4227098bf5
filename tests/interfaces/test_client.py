"""The client is the engine from afar: the same verbs with the same values over a real server, sync and async."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from live import running

from iamata import ContextRequest, Engine, Format, Receipt, Speaker, Turn, patient
from iamata.client import AsyncClient, Client, Retries, verbs
from iamata.client.problems import error_of
from iamata.errors import (
    BadInput,
    Bug,
    Conflict,
    Gone,
    IamataError,
    InvalidValue,
    NotAllowed,
    NotFound,
    TooLarge,
    Unauthenticated,
    Unavailable,
    UnknownFormat,
)
from iamata.interfaces.http.problems import TABLE, problem
from iamata.model.document import IngestionStatus
from iamata.model.entry import EntryDraft, EntryKind
from iamata.model.erasure import Erasable
from iamata.model.memory import MemoryKind
from iamata.model.scope import Scope, Subject
from iamata.model.session import ToolCall
from iamata.settings import Settings

NOW = datetime(2026, 2, 15, 9, tzinfo=UTC)
LEO = patient("leo")
CLINIC = Subject(Scope.ORGANIZATION, "riverside")
SOURCE = "Riverside"


def record(status: str = "active") -> bytes:
    resources = [
        {"resourceType": "Patient", "id": "p", "name": [{"text": "Leo Lind"}], "gender": "male"},
        {
            "resourceType": "MedicationStatement",
            "id": "m",
            "status": status,
            "subject": {"reference": "Patient/p"},
            "medicationCodeableConcept": {"text": "Lisinopril 10 mg"},
        },
        {
            "resourceType": "AllergyIntolerance",
            "id": "a",
            "patient": {"reference": "Patient/p"},
            "code": {"text": "Penicillin"},
            "reaction": [{"manifestation": [{"text": "Rash"}]}],
        },
        {"resourceType": "Basic", "id": "b", "code": {"text": "what is ignored"}},
    ]
    entries = [{"resource": each} for each in resources]
    return json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries}).encode()


TALK = [
    Turn(Speaker.PATIENT, "I stopped the lisinopril because of a cough.", said_at=NOW, turn_id="t1"),
    Turn(Speaker.AGENT, "Since when?", turn_id="t2", calls=(ToolCall("look_up", '{"drug": "lisinopril"}', "found"),)),
    Turn(Speaker.CAREGIVER, "Since last week, and penicillin gives him a rash.", relationship="mother", turn_id="t3"),
]


@pytest.fixture
def engine() -> Iterator[Engine]:
    numbers = iter(range(10**6))
    with Engine.open(":memory:", clock=lambda: NOW, ids=lambda: f"{next(numbers):020x}") as engine:
        yield engine


@pytest.fixture
def url(engine: Engine) -> Iterator[str]:
    with running(engine, Settings(idle_s=0.02)) as url:
        yield url


class Awaited:
    """An async client whose verbs are waited for, so that one scenario tells of both."""

    def __init__(self, url: str, **given: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._client = AsyncClient(url, **given)

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._client, name)

        def waited(*args: Any, **kwargs: Any) -> Any:
            made = verb(*args, **kwargs)
            if hasattr(made, "__aiter__"):
                return self._loop.run_until_complete(_listed(made))
            return self._loop.run_until_complete(made)

        return waited

    def __enter__(self) -> Awaited:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run_until_complete(self._client.close())
        self._loop.close()


async def _listed(made: Any) -> list[Any]:
    return [each async for each in made]


@pytest.fixture(params=[Client, Awaited], ids=["sync", "async"])
def connect(request: pytest.FixtureRequest) -> Callable[..., Any]:
    made: Callable[..., Any] = request.param
    return made


def fill(one: Any) -> list[Receipt]:
    """What is sent by the engine's verbs or the client's."""
    one.put_patient("leo")
    receipts = [one.ingest("leo", record(), source=SOURCE), one.append("leo", "visit", TALK, whole=True)]
    receipts.append(one.ingest("leo", record("stopped"), format="fhir/r4", source="Hillside", name="hill.json"))
    return receipts


# ------------------------------------------------------------------------------------------------- the same values


def test_what_the_client_reads_is_what_the_engine_reads(engine: Engine, url: str, connect: Callable[..., Any]) -> None:
    fill(engine)
    draft = EntryDraft(subject=CLINIC, kind=EntryKind.GUIDELINE, title="Cough", text="Stop it.", tags=("ace",))
    kept = engine.put_entry(draft)
    body = b"# Rash\n\n## When\n\nAsk for penicillin.\n"
    filed = engine.ingest_entry(EntryDraft(subject=CLINIC, kind=EntryKind.POLICY, title="Rash"), body, name="rash.md")
    assert filed.passages
    ask = ContextRequest(subjects=(LEO,), task="medication_reconciliation", budget_tokens=800)
    allergies = engine.browse("/patient/leo/allergies").nodes
    leaf = engine.browse(allergies[-1].address).nodes[0]
    with connect(url) as client:
        for verb, args, given in (
            ("patients", (), {}),
            ("patient", ("leo",), {}),
            ("receipts", ("leo",), {}),
            ("receipts", ("leo",), {"statuses": ["failed"]}),
            ("search", (LEO, "penicillin"), {}),
            ("search", (LEO, "lisinopril"), {"kinds": ["memory"], "limit": 1}),
            ("did_you_mean", (LEO, "penicilin rash"), {}),
            ("did_you_mean", (LEO, "penicillin"), {}),
            ("context", (ask,), {}),
            ("conflicts", ("leo",), {}),
            ("browse", ("/patient/leo",), {}),
            ("browse", ("/patient/leo/allergies",), {}),
            ("browse", (leaf.address,), {}),
            ("browse", (f"/{CLINIC}",), {}),
            ("read", (leaf.address,), {}),
            ("read", ("/patient/leo/medications",), {"format": Format.COMPACT, "token_budget": 60}),
            ("session", ("leo", "visit"), {}),
            ("memories", ("leo",), {}),
            ("memories", ("leo",), {"task": "medication_reconciliation"}),
            ("memories", ("leo",), {"kinds": [MemoryKind.ALLERGY], "session": "visit"}),
            ("threads", ("leo",), {}),
            ("export_fhir", ("leo",), {}),
            ("summary", ("leo",), {}),
            ("entries", (CLINIC,), {}),
            ("entries", (CLINIC,), {"kinds": [EntryKind.POLICY], "history": True}),
            ("entry", (CLINIC, kept.id), {}),
            ("entry", (CLINIC, filed.id), {"version": 1}),
            ("holds", ("leo",), {}),
            ("erasures", (), {}),
        ):
            wanted = getattr(engine, verb)(*args, **given)
            if verb not in ("holds", "erasures", "did_you_mean") and given.get("statuses") is None:
                assert wanted, (verb, given)
            found = getattr(client, verb)(*args, **given)
            if verb == "context":  # each one that is made has an id of its own
                found = msgspec.structs.replace(found, id=wanted.id)
            assert found == wanted, (verb, given)
        for receipt in engine.receipts("leo")[0]:
            assert client.receipt("leo", receipt.id) == receipt
            if receipt.document:
                assert client.document("leo", receipt.document) == engine.document("leo", receipt.document)
        early = {"known_at": datetime(2020, 1, 1, tzinfo=UTC)}
        assert client.search(LEO, "penicillin", **early) == engine.search(LEO, "penicillin", **early) == []
        assert list(client.each_receipt("leo", per_page=1)) == engine.receipts("leo")[0]
        assert len(engine.receipts("leo")[0]) == 3
        assert [each.id for each in client.each_patient()] == ["leo"]


def test_what_the_client_sends_is_what_the_engine_takes(engine: Engine, url: str, connect: Callable[..., Any]) -> None:
    """The same scenario on two engines, one of them behind a server, leaves the same patient."""
    numbers = iter(range(10**6))
    with (
        Engine.open(":memory:", clock=lambda: NOW, ids=lambda: f"{next(numbers):020x}") as embedded,
        connect(url) as client,
    ):
        here, there = fill(embedded), fill(client)

        def shape(of: Receipt) -> tuple[object, ...]:
            return (
                of.source, of.format, of.media_type, of.status, of.session, of.staged, of.sightings,
                of.intake, of.warnings, of.subject, of.received_at, bool(of.document),
            )  # fmt: skip

        assert [shape(each) for each in there] == [shape(each) for each in here]
        assert there[0].intake[-1].reason == "unsupported"
        turn = Turn(Speaker.PATIENT, "My blood pressure was 150/90 yesterday.")
        for one in (embedded, client):
            one.append("leo", "visit", [turn], source="portal")
        assert client.session("leo", "visit").messages[-1].turn == turn
        said = [[each.turn for each in one.session("leo", "visit").messages] for one in (embedded, engine)]
        assert said[0] == said[1] == [*TALK, turn]
        facts = [
            sorted((each.kind, each.display, each.standing) for each in one.graph("leo").facts.values())
            for one in (embedded, engine)
        ]
        assert facts[0] == facts[1]
        assert len(facts[0]) >= 3


def test_entries_holds_and_erasures_are_written_from_afar(
    engine: Engine, url: str, connect: Callable[..., Any]
) -> None:
    fill(engine)
    with connect(url) as client:
        draft = EntryDraft(subject=CLINIC, kind=EntryKind.STAFF_NOTE, title="Desk", text="Call twice.", tags=("desk",))
        made = client.put_entry(draft)
        assert made == engine.entry(CLINIC, made.id)
        assert (made.text, made.tags, made.version) == ("Call twice.", ("desk",), 1)
        retired = client.retire_entry(CLINIC, made.id, reason="moved")
        assert (retired.retired, retired.reason, retired.version) == (True, "moved", 2)
        assert client.entries(CLINIC) == []

        hold = client.set_hold("leo", "a court asks")
        assert engine.holds("leo") == [hold] == client.holds("leo")
        with pytest.raises(Conflict):
            client.delete_patient("leo")
        lifted = client.lift_hold("leo", hold.id, "it is over")
        assert (lifted.lifts, len(client.holds("leo"))) == (hold.id, 2)

        erased = client.erase("leo", Erasable.SESSION, "visit")
        assert (erased.kind, erased.counts) == (Erasable.SESSION, engine.erasures()[0][0].counts)
        assert erased == engine.erasures()[0][0]
        with pytest.raises(Gone):
            client.erase("leo", Erasable.SESSION, "visit")
        gone = client.delete_patient("leo")
        assert gone in engine.erasures()[0]
        assert (gone.kind, gone.counts != ()) == (Erasable.PATIENT, True)
        assert gone.signature
        assert client.delete_patient("leo") is None
        assert list(client.each_erasure(per_page=1)) == engine.erasures()[0]


def test_a_receipt_is_waited_for(engine: Engine, url: str, connect: Callable[..., Any]) -> None:
    with connect(url) as client:
        sent = client.ingest("leo", record(), form=False)
        assert client.wait(sent, every_s=0.01).status is IngestionStatus.SUCCEEDED
        assert client.wait(client.ingest("leo", record())).staged.facts == 0


def test_a_wait_ends_when_its_time_is_over() -> None:
    settled = []
    pending = Engine.open(":memory:", clock=lambda: NOW)
    with pending as engine:
        receipt = engine.ingest("leo", record(), form=False)
        body = {
            "ingestionId": receipt.id, "system": "s", "family": "f", "mimeType": "m", "status": "pending",
            "receivedAt": NOW.isoformat(), "intake": [{}], "sightings": 0, "warnings": [],
            "staged": {"facts": 0, "events": 0, "narratives": 0, "messages": 0},
        }  # fmt: skip
        transport = httpx.MockTransport(lambda request: httpx.Response(200, json=body))
        with (
            Client("http://server", transport=transport, sleep=settled.append) as client,
            pytest.raises(Unavailable, match="still pending after 10 s"),
        ):
            client.wait(receipt, most_s=10, every_s=1)
    assert settled == [1, 2, 4]


# ------------------------------------------------------------------------------------------------------- refusals


def test_refusals_are_our_errors_with_the_request_id(engine: Engine, url: str, connect: Callable[..., Any]) -> None:
    fill(engine)
    with connect(url) as client:
        with pytest.raises(NotFound) as absent:
            client.patient("nobody")
        assert len(absent.value.request_id) > 8
        assert absent.value.__notes__ == [f"request id: {absent.value.request_id}"]
        with pytest.raises(BadInput, match="JSON"):
            client.ingest("leo", b"{", format="fhir/r4")
        with pytest.raises(UnknownFormat):
            client.ingest("leo", b"\x00\x01\x02nothing")
        with pytest.raises(Conflict, match="turn 0"):
            client.append("leo", "visit", TALK[1:], whole=True)
        with pytest.raises(InvalidValue):
            client.patients(per_page=100_000)
        with pytest.raises(BadInput, match="at format"):
            client.ingest("leo", b"x", format="scroll")
        with pytest.raises(BadInput):
            client.patient("..")
        with pytest.raises(BadInput, match="at subject"):
            client.entries(LEO)


@pytest.mark.parametrize("kind", [kind for kind, _, _ in TABLE], ids=lambda kind: kind.__name__)
def test_every_error_comes_back_as_itself_or_as_the_wider_one(kind: type[IamataError]) -> None:
    given: dict[str, Any] = {
        UnknownFormat: {"format": "scroll"},
        InvalidValue: {"place": "line 1"},
        NotAllowed: {"reasons": ("no-relation",)},
        Unauthenticated: {"reasons": ("expired",)},
    }.get(kind, {})
    sent = kind("words", **given)
    told = problem(sent)
    body = json.dumps({"type": told.type, "message": told.message, "requestId": "r1", "details": list(told.details)})
    back = error_of(told.code, body.encode())
    wider = {InvalidValue: BadInput, IamataError: Bug}
    assert type(back) is wider.get(kind, kind)
    assert back.request_id == "r1"
    assert str(back) == told.message
    assert getattr(back, "place", "") == getattr(sent, "place", "")
    assert getattr(back, "reasons", ()) == getattr(sent, "reasons", ())
    assert getattr(back, "format", "") == getattr(sent, "format", "")


def test_an_answer_of_another_server_is_no_value() -> None:
    def client(answer: httpx.Response) -> Client:
        return Client("http://server", transport=httpx.MockTransport(lambda _: answer))

    with client(httpx.Response(200, text="<html>")) as one, pytest.raises(Bug, match="not JSON"):
        one.patient("leo")
    with client(httpx.Response(200, json={"id": "leo"})) as one, pytest.raises(Bug, match="createdAt"):
        one.patient("leo")
    with client(httpx.Response(413, text="too much")) as one, pytest.raises(TooLarge, match="413"):
        one.patient("leo")
    with pytest.raises(InvalidValue):
        Client("server:80")


# ------------------------------------------------------------------------------------------------ sent again, or not


class Script:
    """A server that answers as told, one after the other; None is a connection that breaks."""

    def __init__(self, *answers: httpx.Response | None) -> None:
        self.answers = list(answers)
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if answer is None:
            raise httpx.ConnectError("broken")
        return answer


ROW = {"id": "leo", "createdAt": NOW.isoformat(), "updatedAt": NOW.isoformat(), "version": 1}


def good() -> httpx.Response:
    return httpx.Response(200, json=ROW)


def both(script: Script, verb: Callable[[Any], Any], **given: Any) -> tuple[Any, list[float]]:
    """The verb's value and the pauses, by a client that waits."""
    pauses: list[float] = []
    with Client(
        "http://server", transport=httpx.MockTransport(script), sleep=pauses.append, chance=lambda: 0.0, **given
    ) as client:
        return verb(client), pauses


def test_a_call_that_does_no_harm_is_sent_again_with_longer_pauses() -> None:
    script = Script(None, httpx.Response(503), httpx.Response(429), good())
    row, pauses = both(script, lambda client: client.patient("leo"))
    assert row.id == "leo"
    assert pauses == [0.125, 0.25, 0.5]


def test_the_async_client_sends_again_as_well() -> None:
    script, pauses = Script(None, httpx.Response(502), good()), []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async def scene() -> Any:
        transport = httpx.MockTransport(script)
        async with AsyncClient("http://server", transport=transport, sleep=sleep, chance=lambda: 1.0) as client:
            return await client.patient("leo")

    assert asyncio.run(scene()).version == 1
    assert pauses == [0.25, 0.5]


def test_a_server_that_says_how_long_is_believed_up_to_a_point() -> None:
    script = Script(httpx.Response(429, headers={"Retry-After": "7"}), good())
    assert both(script, lambda client: client.patient("leo"))[1] == [7.0]
    script = Script(httpx.Response(429, headers={"Retry-After": "3600"}), good())
    with pytest.raises(Unavailable):
        both(script, lambda client: client.patient("leo"))
    assert len(script.asked) == 1


def test_what_would_be_done_twice_is_sent_once() -> None:
    for verb in (
        lambda client: client.append("leo", "visit", [Turn(Speaker.PATIENT, "Hello.")]),
        lambda client: client.erase("leo", Erasable.SESSION, "visit"),
        lambda client: client.set_hold("leo", "why"),
    ):
        script = Script(None, good())
        with pytest.raises(Unavailable, match="ConnectError"):
            both(script, verb)
        assert len(script.asked) == 1


def test_what_is_wrong_is_not_sent_again_and_what_fails_always_ends() -> None:
    script = Script(httpx.Response(400), good())
    with pytest.raises(BadInput):
        both(script, lambda client: client.patient("leo"))
    assert len(script.asked) == 1
    script = Script(*[httpx.Response(503, headers={"X-Request-Id": "r9"}) for _ in range(9)])
    with pytest.raises(Unavailable) as failed:
        both(script, lambda client: client.patient("leo"), retries=Retries(times=2))
    assert (len(script.asked), failed.value.request_id) == (3, "r9")


def test_a_token_is_asked_for_before_every_request() -> None:
    tokens = iter(["one", "two"])
    script = Script(httpx.Response(503), good())
    both(script, lambda client: client.patient("leo"), token=lambda: next(tokens))
    assert [each.headers["authorization"] for each in script.asked] == ["Bearer one", "Bearer two"]
    script = Script(good())
    both(script, lambda client: client.patient("leo"), token="fixed")
    assert script.asked[0].headers["authorization"] == "Bearer fixed"
    script = Script(good())
    both(script, lambda client: client.patient("leo"))
    assert "authorization" not in script.asked[0].headers


def test_lists_that_the_engine_gives_whole_are_read_page_by_page() -> None:
    def page(number: int, count: int) -> httpx.Response:
        sides = [{"says": "a", "items": ["st_a"]}, {"says": "b", "items": ["st_b"]}]
        row = {"kind": "dose", "fact": "fa_1", "field": "dose", "sides": sides, "rule": "r", "between": "statements"}
        return httpx.Response(
            200, json={"data": [row | {"id": f"cf_{number}_{at}"} for at in range(count)], "meta": {"total": 501}}
        )

    script = Script(page(0, 500), page(1, 1))
    found, _ = both(script, lambda client: client.conflicts("leo"))
    assert len(found) == 501
    assert [each.url.params["page"] for each in script.asked] == ["0", "1"]


# ------------------------------------------------------------------------------------------------- what is the same

# What the engine does and the client does not, with the reason.
NO_ROUTE = "no route"
LOCAL = "of this process: the database, its clock, its files"
OTHER = "over HTTP it is told in another shape, which lacks what the value needs"
NOT_YET = "has a route; not in the client yet"
MISSING = {
    **dict.fromkeys(("open", "form_pending", "shown", "import_archive", "export_archive"), LOCAL),
    **dict.fromkeys(("pull", "pull_export", "ingest_export", "prove_erasure", "verify_erasure"), NO_ROUTE),
    **dict.fromkeys(("audit_verify", "audit_export", "audit_page", "doctor", "append_many", "ingest_many"), NO_ROUTE),
    **dict.fromkeys(("explain", "explain_entry", "graph", "report", "review", "inferences"), OTHER),
    **dict.fromkeys(("rulings", "rule", "withdraw_ruling", "adjudicate", "reread", "retract", "learn"), NOT_YET),
    **dict.fromkeys(("audit_records", "audit_checkpoint", "retention_preview", "retention_apply"), NOT_YET),
    **dict.fromkeys(("policy", "explain_policy", "relate", "relations", "end_relation"), NOT_YET),
    **dict.fromkeys(("break_glass", "broken_glass", "record_calls", "tool_calls", "link_history"), NOT_YET),
    **dict.fromkeys(("ingest_entry", "refuse_entry", "entry_document", "erase_entry", "delete_subject"), NOT_YET),
}
# What the client offers beside the engine's verbs.
BESIDE = {"wait", "each_patient", "each_receipt", "each_erasure"}
# Arguments of the engine that a route does not take: who asks is in the token, the rest is not told over HTTP.
LEFT_OUT = {"access"}
LEFT_OUT_OF = {"document": {"known_at"}, "session": {"known_at"}}


def public(of: type) -> set[str]:
    return {name for name in dir(of) if not name.startswith("_")}


def test_the_client_has_the_verbs_of_the_engine_but_those_listed_here() -> None:
    assert public(Engine) - public(Client) == set(MISSING)
    assert public(Client) - public(Engine) == BESIDE
    assert public(AsyncClient) == public(Client)


@pytest.mark.parametrize("name", sorted(public(Client) & public(Engine)))
def test_a_verb_of_the_client_takes_what_the_engines_takes_and_gives_what_it_gives(name: str) -> None:
    engines, ours, awaited = (inspect.signature(getattr(each, name)) for each in (Engine, Client, AsyncClient))
    left_out = LEFT_OUT | LEFT_OUT_OF.get(name, set())
    wanted = [
        (each.name, each.kind, each.default, each.annotation)
        for each in engines.parameters.values()
        if each.name not in left_out | {"self"}
    ]
    if name == "put_entry":  # a version that is held is not sent over HTTP
        wanted = [(each, kind, default, "EntryDraft") for each, kind, default, _ in wanted]
    for mine in (ours, awaited):
        found = [
            (each.name, each.kind, each.default, each.annotation)
            for each in mine.parameters.values()
            if each.name != "self"
        ]
        assert found == wanted
    if name != "close":
        assert ours.return_annotation == f"Steps[{engines.return_annotation}]"
        assert getattr(Client, name).__doc__ == getattr(verbs, name).__doc__


def test_the_guides_example_runs(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "use-the-client.md"
    example = page.read_text("utf-8").partition("```py\n")[2].partition("```")[0]
    exec(example.replace("http://localhost:8321", url), {})
    assert "I stopped the lisinopril" in capsys.readouterr().out

"""`iamata pull` and `Engine.pull`: a real FHIR server on loopback, asked as a program would, and what becomes of it."""

from __future__ import annotations

import json
import os
import runpy
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from iamata.engine import Engine
from iamata.engine.pulling import Bearer, FhirServer, Limits
from iamata.errors import BadInput, InvalidValue, NotAllowed, NotFound, Unavailable
from iamata.interfaces.cli import app
from iamata.model.access import Access, PrincipalKind
from iamata.store import MemoryKeyStore, open_store

# The double of the tests of `reach`: one server for both, and not on the path of this folder.
double = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "reach" / "fhir_server_double.py")))
Run = Callable[..., Result]

PATIENT = {"resourceType": "Patient", "id": "17"}
ASTHMA = {
    "resourceType": "Condition",
    "id": "c1",
    "subject": {"reference": "Patient/17"},
    "code": {"text": "Asthma"},
}
ECZEMA = ASTHMA | {"id": "c2", "code": {"text": "Eczema"}}


@pytest.fixture
def server() -> Iterator[Any]:
    with double.Server() as server:
        yield server


@pytest.fixture
def time() -> Any:
    return double.Time()


@pytest.fixture
def engine(time: Any) -> Iterator[Engine]:
    ids = iter(f"{n:020d}" for n in range(1000))
    store = open_store(":memory:", keys=MemoryKeyStore())
    with Engine(store, store.keys, clock=time.clock, ids=lambda: next(ids)) as engine:
        yield engine


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("IAMATA_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")
    return lambda *args: CliRunner().invoke(app, list(args))


def configured(server: Any, **more: Any) -> FhirServer:
    settings: dict[str, Any] = {"name": "northside", "base_url": server.base, "private": ("127.0.0.1",)}
    return FhirServer(**(settings | more))


def waits(time: Any) -> dict[str, Any]:
    return {"sleep": time.sleep, "chance": lambda: 1.0}


def conditions(engine: Engine, patient: str = "17") -> list[str]:
    return sorted(fact.display for fact in engine.graph(patient).facts.values() if fact.kind == "condition")


def exporting(server: Any, **files: bytes) -> None:
    """Lets the server answer a bulk export with these files: `Condition=b"…"`, `deleted=b"…"`, `error=b"…"`."""
    manifest: dict[str, Any] = {"requiresAccessToken": False, "output": [], "deleted": [], "error": []}
    for name, body in files.items():
        server.routes[f"/files/{name}"] = [double.Say(body)]
        kind = name if name in ("deleted", "error") else "output"
        manifest[kind].append({"type": name, "url": f"{server.origin}/files/{name}"})
    here = (("content-location", f"{server.origin}/status"),)
    server.routes["/fhir/Patient/$export"] = [double.Say(status=202, headers=here)]
    server.routes["/fhir/Group/4/$export"] = [double.Say(status=202, headers=here)]
    server.routes["/status"] = [
        double.Say(status=202, headers=(("retry-after", "30"),)),
        double.Say(json.dumps(manifest).encode()),
    ]


# ------------------------------------------------------------------ the engine


def test_everything_is_taken_in_page_by_page_under_the_servers_name(server: Any, engine: Engine, time: Any) -> None:
    second = f"{server.base}/page2"
    server.routes["/fhir/Patient/17/$everything"] = [double.bundle(PATIENT, ASTHMA, following=second)]
    server.routes["/fhir/page2"] = [double.bundle(ECZEMA)]
    since = datetime(2026, 1, 1, tzinfo=UTC)
    receipts = engine.pull(configured(server), "17", as_patient="leo", since=since, types=["Condition"], **waits(time))
    assert [(each.source, each.format, each.status.value) for each in receipts] == [
        ("northside", "fhir/r4", "succeeded")
    ] * 2
    assert conditions(engine, "leo") == ["Asthma", "Eczema"]
    assert server.asked[0].query["_type"] == "Condition"
    assert server.asked[0].query["_since"].startswith("2026-01-01")
    again = engine.pull(configured(server), "17", as_patient="leo", **waits(time))
    assert all(each.staged.facts == 0 for each in again)


def test_a_search_asks_for_each_type(server: Any, engine: Engine, time: Any) -> None:
    server.routes["/fhir/Condition"] = [double.bundle(ASTHMA)]
    server.routes["/fhir/Patient"] = [double.bundle(PATIENT)]
    engine.pull(configured(server), "17", search=["Condition", "Patient"], **waits(time))
    assert [(each.path, each.query["patient"]) for each in server.asked] == [
        ("/fhir/Condition", "17"),
        ("/fhir/Patient", "17"),
    ]
    assert conditions(engine) == ["Asthma"]
    with pytest.raises(BadInput):
        engine.pull(configured(server), "17", search=["Condition"], types=["Patient"])


def test_a_server_that_is_busy_is_asked_again_and_one_that_stays_so_is_unavailable(
    server: Any, engine: Engine, time: Any
) -> None:
    busy = double.Say(status=503, headers=(("retry-after", "7"),))
    server.routes["/fhir/Patient/17/$everything"] = [busy, double.bundle(PATIENT, ASTHMA)]
    engine.pull(configured(server), "17", **waits(time))
    assert time.slept == [7.0]
    server.routes["/fhir/Patient/17/$everything"] = [busy]
    with pytest.raises(Unavailable):
        engine.pull(configured(server, limits=Limits(attempts=2)), "17", **waits(time))


def test_what_the_server_or_the_configuration_does_not_allow_stores_nothing(
    server: Any, engine: Engine, time: Any
) -> None:
    with pytest.raises(NotFound):
        engine.pull(configured(server), "17", **waits(time))
    server.routes["/fhir/Patient/17/$everything"] = [double.Say(status=401)]
    with pytest.raises(NotAllowed):
        engine.pull(configured(server, credentials=Bearer("t0ken")), "17", **waits(time))
    assert server.asked[-1].headers["authorization"] == "Bearer t0ken"
    with pytest.raises(NotAllowed):
        engine.pull(
            configured(server),
            "17",
            access=Access(kind=PrincipalKind.OPERATOR, id="clerk", patients=frozenset({"18"})),
            **waits(time),
        )
    with pytest.raises(InvalidValue):
        configured(server, private=())
    assert engine.patients()[1] == 0
    refusals = [(each.action, each.subject) for each in engine.audit_records() if not each.allowed]
    assert refusals == [("ingest", "patient/17")]


def test_what_was_pulled_is_on_record_as_ingested(server: Any, engine: Engine, time: Any) -> None:
    server.routes["/fhir/Patient/17/$everything"] = [double.bundle(PATIENT, ASTHMA)]
    (receipt,) = engine.pull(configured(server), "17", as_patient="leo", **waits(time))
    (record,) = [each for each in engine.audit_records() if each.action == "ingest"]
    assert (record.subject, record.items, record.allowed) == ("patient/leo", (receipt.id,), True)
    auditor = Access(kind=PrincipalKind.OPERATOR, id="auditor", may_write=False)
    asked = len(server.asked)
    with pytest.raises(NotAllowed):
        engine.pull_export(configured(server), access=auditor, **waits(time))
    assert len(server.asked) == asked


def test_an_export_is_taken_in_by_patient_with_its_deletions(server: Any, engine: Engine, time: Any) -> None:
    def lines(*resources: Any) -> bytes:
        return b"".join(json.dumps(each).encode() + b"\n" for each in resources)

    other = ASTHMA | {"id": "c9", "subject": {"reference": "Patient/18"}}
    exporting(
        server,
        Patient=lines(PATIENT, {"resourceType": "Patient", "id": "18"}),
        Condition=lines(ASTHMA, ECZEMA, other),
        error=lines({"resourceType": "OperationOutcome"}),
    )
    made = engine.pull_export(configured(server), patients={"17": "leo"}, **waits(time))
    assert {each.subject.id for each in made.receipts} == {"leo", "18"}
    assert made.lines == ()
    assert conditions(engine, "leo") == ["Asthma", "Eczema"]
    assert time.slept == [30.0]
    gone = {
        "resourceType": "Bundle",
        "type": "transaction",
        "entry": [{"request": {"method": "DELETE", "url": "Condition/c2"}}],
    }
    exporting(server, deleted=lines(gone))
    made = engine.pull_export(configured(server), group="4", **waits(time))
    assert [each.subject.id for each in made.receipts] == ["leo"]
    assert conditions(engine, "leo") == ["Asthma"]


def test_of_an_export_only_those_that_were_asked_for_are_kept(server: Any, engine: Engine, time: Any) -> None:
    other = json.dumps({"resourceType": "Patient", "id": "18"}).encode()
    exporting(server, Patient=json.dumps(PATIENT).encode() + b"\n" + other)
    made = engine.pull_export(configured(server), only=["18"], **waits(time))
    assert [each.subject.id for each in made.receipts] == ["18"]
    assert [(line.place, line.detail) for line in made.lines] == [("Patient/17", "not one of those asked for")]


# ------------------------------------------------------------------ the command


def test_the_command_pulls_a_patient_with_a_token_from_the_environment(
    run: Run, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EHR_TOKEN", "s3cret")
    server.routes["/fhir/Patient/17/$everything"] = [double.bundle(PATIENT, ASTHMA)]
    done = run("pull", server.base, "--patient", "17", "--private", "127.0.0.1", "--token-env", "EHR_TOKEN", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert [(each["patient"], each["receipt"]["system"]) for each in told["kept"]] == [("17", "127.0.0.1")]
    assert server.asked[0].headers["authorization"] == "Bearer s3cret"
    shown = run("pull", server.base, "--patient", "17", "--private", "127.0.0.1", "--as", "leo", "--source", "North")
    assert "Kept 1 document of leo" in shown.stdout
    assert "s3cret" not in done.output + shown.output


def test_the_command_pulls_an_export_of_one_patient_under_another_name(run: Run, server: Any) -> None:
    other = json.dumps({"resourceType": "Patient", "id": "18"}).encode()
    exporting(server, Patient=json.dumps(PATIENT).encode() + b"\n" + other)
    server.routes["/status"] = server.routes["/status"][1:]
    done = run("pull", server.base, "--export", "--patient", "17", "--as", "leo", "--private", "127.0.0.1", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert [each["patient"] for each in told["kept"]] == ["leo"]
    assert [each["place"] for each in told["unassigned"]] == ["Patient/18"]


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        ((), 2, "--patient ID"),
        (("--patient", "a b"), 2, "patient id must match"),
        (("--patient", "17", "--export", "--search", "Condition"), 2, "choose one"),
        (("--patient", "17", "--token-env", "NOT_SET"), 3, "not set"),
        (("--patient", "17", "--client-id", "c"), 2, "--token-url"),
        (("--patient", "17", "--since", "soon", "--private", "127.0.0.1"), 2, "--since"),
        (("--patient", "17", "--private", "127.0.0.1"), 3, "no such record"),
        (("--patient", "17"), 2, "https"),
    ],
)
def test_what_cannot_be_pulled_says_why(run: Run, server: Any, args: tuple[str, ...], code: int, says: str) -> None:
    done = run("pull", server.base, *args)
    assert done.exit_code == code, done.output
    assert says in " ".join(done.stderr.split())

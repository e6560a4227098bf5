"""The access door is one: every route, tool and command, tried by somebody who may not, tells nothing of a patient.

Routes, tools and commands are enumerated from the code: a new one fails here until it is walked. For each the answer
about a patient that is held (with a canary in it) is compared with the answer about one that is not: they are the same
but for the id. The reads and writes of Python are walked in tests/spec/test_access.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import two_patients
from fastapi.routing import APIRoute
from issuer import Issuer, published
from live import NOW, running
from starlette.routing import Route
from test_bearer_tokens import settings
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from iamata import ContextRequest, Engine, patient
from iamata.interfaces.cli import app as cli
from iamata.interfaces.cli.running import served_beside
from iamata.interfaces.http import create_app
from iamata.interfaces.http.door import OPEN
from iamata.interfaces.http.routes import ROUTERS
from iamata.interfaces.mcp.tools import TOOLS
from iamata.model.relation import RelationKind

CANARY = two_patients.CANARY
# Of one length, so that even the number of bytes of an answer can be compared.
HELD, NOT_HELD = "zoe", "zoa"


class Things:
    """One id of everything there is of Zoe."""

    def __init__(self, engine: Engine) -> None:
        graph = engine.graph(HELD)
        first: Callable[[Any], str] = lambda pool: next(iter(pool))  # noqa: E731  # short for eight uses
        self.fact = next(f.id for f in graph.facts.values() if CANARY in f.display)
        self.statement, self.memory, self.link = first(graph.statements), first(graph.memories), first(graph.links)
        self.document, self.session = first(graph.documents), first(graph.sessions)
        self.ingestion = engine.receipts(HELD)[0][0].id
        self.relation = engine.relate(HELD, "operator/dr-lee", RelationKind.CARE_TEAM).id
        self.context = engine.context(ContextRequest(subjects=(patient(HELD),), task="general", budget_tokens=500)).id
        self.source = graph.statements[self.statement].source

    @property
    def in_path(self) -> dict[str, str]:
        return {
            "ingestion_id": self.ingestion,
            "document_id": self.document,
            "node_id": self.fact,
            "edge_id": self.link,
            "session_id": self.session,
            "memory_id": self.memory,
            "ruling_id": "ru_x",
            "relation_id": self.relation,
            "hold_id": "ho_x",
            "entry_id": "en_x",
            "subjects": "patients",
            "type": "fact",
        }


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("door") / "two.db"
    with Engine.open(path, clock=lambda: NOW) as engine:
        two_patients.fill(engine)
        engine.relate("leo", "operator/stranger", RelationKind.CARE_TEAM)
    return path


@pytest.fixture(scope="module")
def engine(database: Path) -> Iterator[Engine]:
    with Engine.open(database, clock=lambda: NOW) as engine:
        yield engine


@pytest.fixture(scope="module")
def things(engine: Engine) -> Things:
    return Things(engine)


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with published(Issuer()) as made:
        yield made


@pytest.fixture(scope="module")
def url(engine: Engine, issuer: Issuer) -> Iterator[str]:
    given = settings(issuer)
    with running(engine, given, served_beside(engine, given)) as url:
        yield url


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, trust_env=False) as client:
        yield client


PRINCIPALS: dict[str, dict[str, Any]] = {
    "a clinician of another patient": {"sub": "stranger", "roles": ["clinician"]},
    "somebody without a role": {"sub": "nobody", "roles": []},
    "an administrator": {"sub": "root", "roles": ["administrator"]},
    "the other patient in person": {"sub": "leo", "fhirUser": "Patient/leo", "scope": "patient/*.cruds"},
    "an agent for the clinician": {"sub": "stranger", "roles": ["clinician"], "act": {"sub": "bot"}},
    "a reader of conditions": {"sub": "stranger", "roles": ["clinician"], "scope": "user/Condition.rs"},
    "a client bound to another patient": {"sub": "feed", "scope": "system/*.cruds", "patient": "leo"},
}


@pytest.fixture(params=PRINCIPALS, ids=lambda name: name.replace(" ", "-"))
def stranger(request: pytest.FixtureRequest, issuer: Issuer) -> dict[str, str]:
    """Headers of one who may not see Zoe, whatever else."""
    return {"Authorization": f"Bearer {issuer.token(**PRINCIPALS[request.param])}"}


# ------------------------------------------------------------------ HTTP

BUNDLE = {"resourceType": "Bundle", "entry": [{"resource": {"resourceType": "Patient", "id": HELD}}]}
TURN = {"role": "user", "content": "I stopped it."}
TEXT = {"Content-Type": "text/plain"}


def bodies(id: str, things: Things) -> dict[str, dict[str, Any]]:
    """What is sent to each route that takes a body or needs a parameter."""
    about, entries = "/v1/patients/{patient_id}", "/v1/{subjects}/{subject_id}/entries"
    return {
        f"POST {about}/ingestions/fhir/r4": {"json": BUNDLE},
        f"POST {about}/ingestions/fhir/r5": {"json": BUNDLE},
        f"POST {about}/ingestions/cda/r2": {"content": b"<x/>", "headers": {"Content-Type": "application/cda+xml"}},
        f"POST {about}/ingestions/hl7v2": {"content": b"MSH|^~\\&|A|B|C|D||||ORU^R01|1|P|2.5\r", "headers": TEXT},
        f"POST {about}/ingestions/x12": {"content": b"ISA*", "headers": TEXT},
        f"POST {about}/ingestions/documents": {"content": b"A note.", "headers": TEXT},
        f"POST {about}/ingestions/sessions": {"json": {"sessions": [{"sessionId": "s", "messages": [TURN]}]}},
        f"POST {about}/ingestions/transcripts": {
            "content": b"patient: Hello.",
            "headers": TEXT,
            "params": {"session": "s"},
        },
        f"POST {about}/graph/nodes/{{type}}/query": {"json": {}},
        f"POST {about}/graph/edges/{{type}}/query": {"json": {}},
        f"POST {about}/sessions/{{session_id}}/messages": {"json": {"messages": [TURN]}},
        f"POST {about}/sessions/{{session_id}}/tool-calls": {"json": {"calls": [{"tool": "x"}]}},
        f"GET {about}/changes": {"params": {"since": "2026-01-01"}},
        f"POST {about}/rulings": {"json": {"kind": "not-this-patient", "left": things.statement}},
        f"POST {about}/adjudications": {"json": {}},
        f"POST {about}/retractions": {"json": {"source": things.source}},
        f"POST {about}/relations": {"json": {"principal": "operator/stranger", "kind": "care-team"}},
        f"POST {about}/break-glass": {"json": {"reason": "an emergency"}},
        f"POST {about}/erasures": {"json": {"kind": "session", "id": things.session}},
        f"POST {about}/holds": {"json": {"reason": "a claim"}},
        f"POST {about}/holds/{{hold_id}}/lift": {"json": {"reason": "settled"}},
        f"POST {entries}": {
            "json": {"kind": "inference", "title": "T", "text": "It follows.", "derivedFrom": [things.fact]},
        },
        f"POST {entries}/files": {
            "content": b"Text.",
            "headers": {"Content-Type": "text/markdown"},
            "params": {"kind": "guideline", "title": "T"},
        },
        f"POST {entries}/{{entry_id}}/retirement": {"json": {"reason": "moved"}},
        f"POST {entries}/{{entry_id}}/refusal": {"json": {"reason": "wrong"}},
        "POST /v1/learn": {"json": {}},
        "POST /v1/imports": {"content": b"PK", "headers": {"Content-Type": "application/zip"}},
        "POST /v1/context": {"json": {"patient": id, "task": "general", "budgetTokens": 500, "query": CANARY[:4]}},
        "POST /v1/search": {"json": {"patient": id, "query": CANARY}},
        "POST /v1/explain": {"json": {"patient": id, "item": things.fact}},
        "POST /v1/policy/explain": {
            "json": {"principal": "operator/stranger", "act": "read", "subject": f"patient/{id}"},
        },
        "POST /mcp": {"json": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, "headers": {"Accept": "*/*"}},
    }


def routes() -> list[str]:
    """`METHOD template` of everything that the app answers to."""
    with Engine.open(":memory:") as engine:
        given = settings(Issuer())
        made = create_app(engine, given, now=lambda: NOW, mounted=served_beside(engine, given))
    held = [route for router in ROUTERS for route in router.routes]
    apart = [route for route in made.routes if isinstance(route, Route)]
    # Whatever else the app holds are these routers: nothing is mounted past the door's list.
    assert len(made.routes) == len(apart) + len(ROUTERS)
    assert all(isinstance(route, APIRoute) for route in held)
    return sorted(
        f"{method} {route.path}"
        for route in [*held, *apart]
        if isinstance(route, Route | APIRoute)
        for method in (route.methods or ())
        if method != "HEAD"
    )


ROUTES = routes()
# These break glass or set relations, each by its own right, and show nothing by that.
BY_RIGHT = {
    ("POST /v1/patients/{patient_id}/break-glass", "stranger"),
    ("POST /v1/patients/{patient_id}/relations", "root"),
    ("GET /v1/patients/{patient_id}/relations", "root"),
    ("DELETE /v1/patients/{patient_id}/relations/{relation_id}", "root"),
}


def names_patient(route: str) -> bool:
    return "{patient_id}" in route or "{subject_id}" in route


def sent(client: httpx.Client, route: str, id: str, things: Things, headers: dict[str, str]) -> httpx.Response:
    method, _, template = route.partition(" ")
    more = dict(bodies(id, things).get(route, {}))
    path = template.format(patient_id=id, subject_id=id, **things.in_path)
    return client.request(method, path, headers=headers | more.pop("headers", {}), **more)


def told(answer: httpx.Response, id: str) -> dict[str, Any]:
    """All that an answer tells, without the id that was asked for and what is another in every answer."""
    body = answer.text.replace(answer.headers.get("x-request-id", "\0"), "…").replace(f"{id}", "zo?")
    changing = {"date", "x-request-id"}
    return {
        "status": answer.status_code,
        "headers": {name: value for name, value in answer.headers.items() if name not in changing},
        "body": body,
    }


def test_every_route_that_takes_a_body_is_sent_one(things: Things) -> None:
    assert bodies(HELD, things).keys() <= set(ROUTES)
    for route in ROUTES:
        if route.startswith("POST") and names_patient(route):
            bare = ("/sessions", "/memories", "/rereadings")
            assert route in bodies(HELD, things) or route.endswith(bare), f"{route}: say here what it is sent"


@pytest.mark.parametrize("route", ROUTES)
def test_no_route_answers_without_a_token_but_those_that_are_open(
    client: httpx.Client, things: Things, route: str
) -> None:
    answer = sent(client, route, HELD, things, {})
    assert answer.status_code == (200 if route.partition(" ")[2] in OPEN else 401), answer.text
    assert CANARY.lower() not in answer.text.lower()


@pytest.mark.parametrize("route", [route for route in ROUTES if names_patient(route)])
def test_a_route_tells_no_more_of_a_patient_who_is_held_than_of_one_who_is_not(
    client: httpx.Client, engine: Engine, things: Things, stranger: dict[str, str], route: str, issuer: Issuer
) -> None:
    owner = {"Authorization": f"Bearer {issuer.token(sub='boss', roles=['owner'])}"}
    if route.startswith("GET"):  # whatever is cached of her is warm
        sent(client, route, HELD, things, owner)
    before = (engine.patient(HELD), len(engine.receipts(HELD)[0]), engine.relations(HELD), engine.rulings(HELD))
    who = json.loads(_payload(stranger))["sub"]
    if (route, who) in BY_RIGHT:
        return
    held, not_held = (sent(client, route, id, things, stranger) for id in (HELD, NOT_HELD))
    assert held.status_code in (400, 403, 404), held.text
    assert told(held, HELD) == told(not_held, NOT_HELD)
    assert CANARY.lower() not in held.text.lower()
    after = (engine.patient(HELD), len(engine.receipts(HELD)[0]), engine.relations(HELD), engine.rulings(HELD))
    assert after == before


def _payload(headers: dict[str, str]) -> bytes:
    import base64

    part = headers["Authorization"].split(".")[1]
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


@pytest.mark.parametrize("route", [route for route in ROUTES if not names_patient(route)])
def test_a_route_about_no_patient_in_its_path_tells_nothing_of_her(
    client: httpx.Client, things: Things, stranger: dict[str, str], route: str
) -> None:
    held, not_held = (sent(client, route, id, things, stranger) for id in (HELD, NOT_HELD))
    assert told(held, HELD) == told(not_held, NOT_HELD)
    for secret in (CANARY.lower(), '"zoe"', "/zoe", things.fact, things.document):
        assert secret not in held.text.lower().replace('"patient":"zoe"', "")
    assert client.get("/v1/patients", headers=stranger).json()["meta"]["total"] <= 1


def test_the_walk_would_find_what_it_looks_for(client: httpx.Client, things: Things, issuer: Issuer) -> None:
    """The owner gets answers, with the canary in most of them: else the walk would prove nothing."""
    owner = {"Authorization": f"Bearer {issuer.token(sub='boss', roles=['owner'])}"}
    reads = [route for route in ROUTES if route.startswith("GET") and "{patient_id}" in route]
    answers = {route: sent(client, route, HELD, things, owner) for route in reads}
    assert sum(answer.status_code == 200 for answer in answers.values()) >= 20
    assert sum(CANARY.lower() in answer.text.lower() for answer in answers.values()) >= 8
    for route in ("POST /v1/context", "POST /v1/search", "POST /v1/explain"):
        assert CANARY.lower() in sent(client, route, HELD, things, owner).text.lower(), route


@pytest.mark.parametrize(
    "scope", ["user/Condition.rs", "user/Observation.rs?category=laboratory", "patient/*.rs", "user/*.cruds"]
)
def test_what_a_scope_opens_is_answered_on_every_route_and_nothing_else_is(
    client: httpx.Client, engine: Engine, things: Things, issuer: Issuer, scope: str
) -> None:
    """Leo's own care team, with tokens of less and more: no answer fails, and of what is closed there is no word."""
    narrow = "*" not in scope
    token = issuer.token(
        sub="stranger", roles=["clinician"], scope=scope, patient="leo" if "patient" in scope else None
    )
    headers = {"Authorization": f"Bearer {token}"}
    leo = engine.graph("leo")
    answered = 0
    for route in ROUTES:
        method, _, path = route.partition(" ")
        if method != "GET" and path not in ("/v1/context", "/v1/search", "/v1/explain", "/mcp"):
            continue
        for type in ("fact", "learned_memory", "narrative_passage") if "{type}" in route else ("",):
            ids = things.in_path | {"document_id": next(iter(leo.documents)), "session_id": "talk-leo"}
            ids |= {"ingestion_id": engine.receipts("leo")[0][0].id, "memory_id": next(iter(leo.memories))}
            more = dict(bodies("leo", things).get(route, {}))
            url = path.format(patient_id="leo", subject_id="leo", **(ids | ({"type": type} if type else {})))
            answer = client.request(method, url, headers=headers | more.pop("headers", {}), **more)
            assert answer.status_code in (200, 403, 404), (route, answer.text)
            answered += answer.status_code == 200
            if narrow and path not in OPEN and names_patient(route):
                told = answer.text.lower()
                for word in ("amoxicillin", "hives", "thursday"):
                    assert word not in told, (route, word)
    assert answered >= (15 if narrow else 25)


# ------------------------------------------------------------------ MCP

NEEDED: dict[str, dict[str, Any]] = {
    "assemble_context": {"task": "medication_reconciliation"},
    "get_patient_info": {},
    "browse_patient": {"path": "/conditions/active/"},
    "read_patient": {},
    "search_patient": {"query": CANARY},
    "recall_memories": {"session_id": "talk-zoe"},
    "list_conflicts": {},
    "explain": {},
    "append_messages": {"session_id": "talk-zoe", "messages": [TURN]},
    "browse": {},
    "read": {},
    "list_entries": {},
    "search_entries": {"query": CANARY},
    "record_inference": {"title": "T", "text": "It follows.", "derived_from": ["/patient/zoe/_index.md"]},
    "record_cue": {"title": "T", "text": "Open the conflicts first."},
}


def rpc(client: httpx.Client, headers: dict[str, str], method: str, params: dict[str, Any]) -> dict[str, Any]:
    accepted = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = client.post("/mcp", json=body, headers=headers | accepted)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def asked_of(tool: str, id: str, things: Things) -> dict[str, Any]:
    if tool in ("browse", "read"):
        return {"path": f"/patient/{id}/" if tool == "browse" else f"/patient/{id}/_index.md"}
    if tool in ("list_entries", "search_entries"):
        return {"subject": f"patient/{id}"} | NEEDED[tool]
    if tool == "record_cue":
        return NEEDED[tool]
    return {"patient_id": id} | NEEDED[tool] | ({"item": things.fact} if tool == "explain" else {})


@pytest.mark.parametrize("tool", [tool.name for tool in TOOLS])
def test_a_tool_tells_no_more_of_a_patient_who_is_held_than_of_one_who_is_not(
    client: httpx.Client, engine: Engine, things: Things, stranger: dict[str, str], tool: str
) -> None:
    before = engine.patient(HELD)
    held, not_held = (
        json.dumps(rpc(client, stranger, "tools/call", {"name": tool, "arguments": asked_of(tool, id, things)}))
        for id in (HELD, NOT_HELD)
    )
    assert held == not_held
    if tool != "record_cue":  # an agent's own, and about no patient
        assert any(word in held for word in ("NOT_FOUND", "PERMISSION_DENIED", "there is no such tool"))
    assert CANARY.lower() not in held.lower()
    assert engine.patient(HELD) == before


def test_resources_and_lists_over_mcp_hold_only_what_the_bearer_may_see(
    client: httpx.Client, stranger: dict[str, str]
) -> None:
    listed = json.dumps(rpc(client, stranger, "resources/list", {}))
    assert "zoe" not in listed
    held, not_held = (
        json.dumps(rpc(client, stranger, "resources/read", {"uri": f"iamata://patient/{id}/_index.md"}))
        for id in (HELD, NOT_HELD)
    )
    assert held == not_held
    for method in ("tools/list", "resources/templates/list", "prompts/list"):
        assert "zoe" not in json.dumps(rpc(client, stranger, method, {}))
    root = rpc(client, stranger, "tools/call", {"name": "browse", "arguments": {"path": "/"}})
    assert "zoe" not in json.dumps(root)


def test_an_agent_that_holds_an_operators_token_acts_for_the_operator(
    client: httpx.Client, engine: Engine, issuer: Issuer
) -> None:
    token = issuer.token(sub="stranger", roles=["clinician"], client_id="helper-app")
    headers = {"Authorization": f"Bearer {token}"}
    told = rpc(client, headers, "tools/call", {"name": "get_patient_info", "arguments": {"patient_id": "leo"}})
    assert not told["result"].get("isError")
    records = engine.audit_records(subject="patient/leo")
    assert ("agent/helper-app", "stranger", "patient") in {(r.principal, r.on_behalf_of, r.action) for r in records}
    bound = issuer.token(patient="leo", scope="patient/*.rs")
    tools = rpc(client, {"Authorization": f"Bearer {bound}"}, "tools/list", {})["result"]["tools"]
    assert "append_messages" not in [tool["name"] for tool in tools]
    assert all("patient_id" not in tool["inputSchema"].get("required", []) for tool in tools)


def test_break_glass_is_told_beside_every_answer(client: httpx.Client, engine: Engine, issuer: Issuer) -> None:
    headers = {"Authorization": f"Bearer {issuer.token(sub='dr-er', roles=['clinician'])}"}
    assert client.get("/v1/patients/zoe", headers=headers).status_code == 404
    opened = client.post("/v1/patients/zoe/break-glass", json={"reason": "unconscious", "minutes": 5}, headers=headers)
    assert opened.status_code == 201
    answer = client.get("/v1/patients/zoe/vfs", headers=headers)
    assert answer.headers["iamata-warning"].startswith("opened by break-glass until 2026-02-15T09:05")
    told = rpc(client, headers, "tools/call", {"name": "read_patient", "arguments": {"patient_id": "zoe"}})
    assert told["result"]["content"][-1]["text"].startswith("⚠ opened by break-glass")
    officer = {"Authorization": f"Bearer {issuer.token(sub='po', roles=['privacy-officer'])}"}
    [listed] = [each for each in client.get("/v1/break-glass", headers=officer).json()["data"] if each["holds"]]
    assert (listed["patientId"], listed["principal"], listed["reason"]) == ("zoe", "operator/dr-er", "unconscious")
    ended = client.delete(f"/v1/patients/zoe/relations/{listed['id']}", headers=officer)
    assert ended.status_code == 204
    assert client.get("/v1/patients/zoe", headers=headers).status_code == 404


# ------------------------------------------------------------------ the command line

# Leaf commands about no patient: they make nothing known of one, whoever calls.
OF_NOBODY = {
    "demo",
    "version",
    "doctor",
    "serve",
    "policy show",
    "policy check",
    "terminology load",
    "terminology list",
    "terminology unload",
    "learn",
    "audit checkpoint",
    "audit export",
    "audit list",
    "audit verify",
    "erasure list",
    "erasure verify",
}


def leaves(group: TyperGroup, before: str = "") -> Iterator[str]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from leaves(command, f"{before}{name} ")
        else:
            yield before + name


def commands(id: str, things: Things, folder: Path) -> dict[str, list[list[str]]]:
    """Every leaf command about a patient, as it is asked about this one."""
    file, talk = folder / "in.json", folder / "talk.txt"
    file.write_text(json.dumps(BUNDLE), "utf-8")
    talk.write_text("patient: I stopped it.\n", "utf-8")
    return {
        "ingest": [[str(file), "--patient", id]],
        "pull": [[id, "--server", "http://127.0.0.1:9/fhir", "--name", "ehr", "--private", "127.0.0.1"]],
        "talk": [[str(talk), "--patient", id, "--session", "s"]],
        "reread": [[id]],
        "patients": [[]],
        "browse": [["/"], [id], [f"/patient/{id}/conditions/active/"]],
        "read": [[f"/patient/{id}/_index.md"]],
        "search": [[id, CANARY]],
        "memories": [[id], [id, "--threads"]],
        "context": [[id, "--task", "general", "--budget", "500"]],
        "explain": [[id, things.fact], [id, f"{things.context}[1]"]],
        "conflicts": [[id]],
        "report": [[id]],
        "review": [[id]],
        "rule": [[id, "not-this-patient", things.statement]],
        "rulings": [[id]],
        "withdraw": [[id, "ru_x"]],
        "adjudicate": [[id]],
        "retract": [[id, things.source]],
        "mcp": [["--patient", id]],
        "policy explain": [["--as", "operator/x", "--subject", f"patient/{id}"]],
        "relations list": [[id]],
        "relations set": [[id, "operator/stranger", "care-team"]],
        "relations end": [[id, things.relation]],
        "export": [[id], [id, "--summary"], [id, "--as-received"]],
        "import": [[str(file)]],
        "erase": [["session", id, things.session, "--yes"], ["patient", id, "--yes"]],
        "hold set": [[id, "--reason", "a claim"]],
        "hold lift": [[id, "ho_x", "--reason", "settled"]],
        "hold list": [[id]],
        "retention preview": [["--patient", id]],
        "retention apply": [["--patient", id, "--yes"]],
        "entry add": [[f"patient/{id}", "inference", "T", "--text", "It follows.", "--derived-from", things.fact]],
        "entry list": [[f"patient/{id}"]],
        "entry show": [[f"patient/{id}", "en_x"]],
        "entry retire": [[f"patient/{id}", "en_x"]],
        "entry search": [[f"patient/{id}", CANARY]],
        "entry refuse": [[f"patient/{id}", "en_x"]],
        "relations broken-glass": [[]],
        "break-glass": [[id, "--reason", "an emergency"]],
    }


def test_every_command_is_walked(things: Things, tmp_path: Path) -> None:
    root = get_command(cli)
    assert isinstance(root, TyperGroup)
    assert set(leaves(root)) == commands(HELD, things, tmp_path).keys() | OF_NOBODY


COMMANDS = sorted(set(leaves(get_command(cli))) - OF_NOBODY)  # type: ignore[arg-type]  # the root is a group


@pytest.mark.parametrize("who", ["operator/stranger coordinator", "agent/bot", "operator/leo patient"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_tells_no_more_of_a_patient_who_is_held_than_of_one_who_is_not(
    database: Path, engine: Engine, things: Things, tmp_path: Path, command: str, who: str
) -> None:
    before = (engine.patient(HELD), len(engine.receipts(HELD)[0]), engine.relations(HELD))

    def run(id: str, args: list[str], *more: str) -> tuple[int, str]:
        line = ["--as", who, *command.split(), *args, "--db", str(database), *more]
        done = CliRunner().invoke(cli, line)
        assert CANARY.lower() not in (done.stdout + done.stderr).lower().replace(f"“{CANARY.lower()}”", "")
        return done.exit_code, (done.stdout + done.stderr).replace(id, "zo?")

    pairs = zip(commands(HELD, things, tmp_path)[command], commands(NOT_HELD, things, tmp_path)[command], strict=True)
    for about_held, about_not_held in pairs:
        for more in ((), ("--json",)):
            held, not_held = run(HELD, about_held, *more), run(NOT_HELD, about_not_held, *more)
            assert held == not_held, (command, about_held)
            if about_held and about_held != ["/"]:
                assert held[0] in (2, 3, 5, 7), (command, about_held, held)
            assert "zoe" not in held[1]
    assert (engine.patient(HELD), len(engine.receipts(HELD)[0]), engine.relations(HELD)) == before


def test_the_commands_would_find_her_for_who_may(database: Path, things: Things, tmp_path: Path) -> None:
    found = 0
    for command in ("browse", "read", "search", "context", "explain", "report"):
        args = commands(HELD, things, tmp_path)[command][-1]
        done = CliRunner().invoke(cli, [command, *args, "--db", str(database)])
        found += CANARY.lower() in done.stdout.lower()
    assert found >= 5


def test_a_server_acts_for_whoever_comes(database: Path) -> None:
    done = CliRunner().invoke(cli, ["--as", "operator/x", "serve", "--db", str(database)])
    assert (done.exit_code, "leave out --as" in done.stderr) == (2, True)
    wrong = CliRunner().invoke(cli, ["--as", "somebody", "patients", "--db", str(database)])
    assert (wrong.exit_code, "a principal reads kind/id" in wrong.stderr) == (2, True)

"""Every error in one shape, bodies within their limits, and the work that goes on beside the requests."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import made
import pytest
from clinia_context_engine.generated.models import ApiError
from double import ScriptedEngine
from live import running

from iamata import errors
from iamata.interfaces.http.problems import TABLE, TYPES, problem
from iamata.interfaces.http.serving import Served
from iamata.model.access import Access
from iamata.settings import Settings

FHIR = "/v1/patients/leo/ingestions/fhir/r4"


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine()


@pytest.fixture
def client(engine: ScriptedEngine) -> Iterator[httpx.Client]:
    settings = Settings(max_body_mb=1, idle_s=0.05, max_wait_s=0.2)
    with running(engine, settings) as url, httpx.Client(base_url=url, trust_env=False) as client:
        yield client


def check(answer: httpx.Response, code: int, type: str) -> dict[str, Any]:
    """The one shape of every error, as the public client reads it."""
    assert answer.status_code == code, answer.text
    assert answer.headers["content-type"] == "application/json"
    parsed = ApiError.model_validate_json(answer.content)
    assert (parsed.code, parsed.type) == (code, type)
    body: dict[str, Any] = answer.json()
    assert set(body) <= {"code", "type", "message", "requestId", "details"}
    assert body["requestId"] == answer.headers["x-request-id"]
    return body


def test_every_error_of_the_tree_has_a_row_of_its_own() -> None:
    tree = {kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.IamataError)}
    assert {kind for kind, _, _ in TABLE} == tree
    assert {type for _, _, type in TABLE} <= TYPES
    for kind in tree:
        found = problem(kind("words"))
        assert next((code, type) for row, code, type in TABLE if row is kind) == (found.code, found.type)


@pytest.mark.parametrize(
    ("error", "code", "type", "details"),
    [
        (errors.BadInput("not JSON", place="/entry/0"), 400, "INVALID_ARGUMENT", [{"place": "/entry/0"}]),
        (errors.InvalidValue("a wrong value"), 400, "INVALID_ARGUMENT", None),
        (errors.UnknownFormat("no reader", format="x"), 415, "UNSUPPORTED_MEDIA_TYPE", [{"format": "x"}]),
        (errors.TooLarge("too deep"), 413, "CONTENT_TOO_LARGE", None),
        (errors.NotFound(what="patient", id="leo"), 404, "NOT_FOUND", None),
        (errors.Gone(what="patient", id="leo"), 410, "NOT_FOUND", None),
        (errors.Conflict("edited"), 409, "FAILED_PRECONDITION", None),
        (errors.NotAllowed(reasons=("purpose",)), 403, "PERMISSION_DENIED", [{"reason": "purpose"}]),
        (errors.Unavailable("no database"), 503, "INTERNAL", None),
        (errors.Bug("leo"), 500, "INTERNAL", None),
    ],
)
def test_each_error_of_the_engine_leaves_in_the_contracts_shape(
    client: httpx.Client, engine: ScriptedEngine, error: errors.IamataError, code: int, type: str, details: Any
) -> None:
    engine.raises["ingest"] = error
    body = check(client.post(FHIR, json={"resourceType": "Bundle"}), code, type)
    assert body.get("details") == details
    assert "leo" not in body["message"]


def test_the_frameworks_own_refusals_have_the_same_shape(client: httpx.Client) -> None:
    check(client.get("/nowhere"), 404, "NOT_FOUND")
    check(client.get("/v1/patients/leo/"), 404, "NOT_FOUND")
    refused = client.patch("/v1/patients/leo")
    check(refused, 405, "UNIMPLEMENTED")
    body = check(client.get("/v1/patients", params={"page": "x"}), 400, "INVALID_ARGUMENT")
    assert body["details"] == [{"place": "query/page", "problem": "int parsing"}]
    check(client.get("/v1/patients/leo/read", params={"format": "verse"}), 400, "INVALID_ARGUMENT")
    check(client.get("/v1/patients", params={"page": -1}), 400, "OUT_OF_RANGE")
    check(client.get("/v1/patients", params={"perPage": 501}), 400, "OUT_OF_RANGE")
    check(client.get("/v1/patients/leo/read", params={"token_budget": -1}), 400, "OUT_OF_RANGE")
    check(client.get("/v1/patients/leo", params={"known_at": "2026-01-01T00:00:00"}), 400, "INVALID_ARGUMENT")


def test_an_unknown_patient_is_not_found_on_every_read(client: httpx.Client) -> None:
    for path in ("", "/resolution", "/reconciliation", "/graph/nodes/fact/items", "/graph/edges/resolves_to/items"):
        body = check(client.get(f"/v1/patients/nobody{path}"), 404, "NOT_FOUND")
        assert body["message"] == "there is no patient with this id or address"


def test_unknown_types_and_ids_are_not_found(client: httpx.Client) -> None:
    for path in ("nodes/zebra/items", "edges/zebra/items", "nodes/fact/items/fa_no", "edges/resolves_to/items/rt_no"):
        check(client.get(f"/v1/patients/leo/graph/{path}"), 404, "NOT_FOUND")


def test_the_nearest_address_is_named_where_a_path_leads_nowhere(client: httpx.Client) -> None:
    body = check(client.get("/v1/patients/leo/vfs", params={"path": "/condition"}), 404, "NOT_FOUND")
    assert body["message"].endswith("/patient/leo/conditions/")


@pytest.mark.parametrize("id", ["_x", "-x", "a b", "ä", "x" * 129, "a_b", "%2e%2e"])
def test_a_new_patient_id_has_the_contracts_form(client: httpx.Client, engine: ScriptedEngine, id: str) -> None:
    check(client.put(f"/v1/patients/{id}"), 400, "INVALID_ARGUMENT")
    check(client.post(f"/v1/patients/{id}/ingestions/fhir/r4", json={}), 400, "INVALID_ARGUMENT")
    assert {verb for verb, _ in engine.calls} == {"patient"}


def test_a_body_over_the_limit_is_refused_before_it_is_read(client: httpx.Client, engine: ScriptedEngine) -> None:
    big = b"x" * (1024 * 1024 + 1)
    check(client.post(FHIR, content=big, headers={"Content-Type": "application/json"}), 413, "CONTENT_TOO_LARGE")
    assert engine.calls == []


def test_a_body_of_unknown_length_is_counted_while_it_arrives(client: httpx.Client, engine: ScriptedEngine) -> None:
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while sent < 64:
            sent += 1
            yield b" " * 1024 * 1024

    try:
        answer = client.post(FHIR, content=endless(), headers={"Content-Type": "application/json"})
    except httpx.TransportError:  # the server may close while the rest is still being sent
        pass
    else:
        check(answer, 413, "CONTENT_TOO_LARGE")
    assert engine.calls == []


def test_a_body_at_the_limit_is_read(client: httpx.Client, engine: ScriptedEngine) -> None:
    body = b"x" * 1024 * 1024
    answer = client.post(FHIR, content=body, headers={"Content-Type": "application/fhir+json; charset=utf-8"})
    assert answer.status_code == 200
    (given,) = [given for verb, given in engine.calls if verb == "ingest"]
    assert given["body"] == body
    assert (given["format"], given["media_type"], given["form"]) == ("fhir/r4", "application/fhir+json", False)


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/xml"},
        {},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
def test_another_media_type_is_refused(client: httpx.Client, engine: ScriptedEngine, headers: dict[str, str]) -> None:
    body = check(client.post(FHIR, content=b"{}", headers=headers), 415, "UNSUPPORTED_MEDIA_TYPE")
    assert body["details"] == [{"accepted": ["application/fhir+json", "application/json"]}]
    check(client.post("/v1/context", content=b"{}", headers=headers), 415, "UNSUPPORTED_MEDIA_TYPE")
    assert engine.calls == []


@pytest.mark.parametrize("path", ["/v1/context", "/v1/search", "/v1/explain", "/v1/patients/leo/ingestions/sessions"])
def test_what_is_not_json_is_refused(client: httpx.Client, path: str) -> None:
    for body in (b"", b"{", b"nonsense", b"\xff", b"[" * 100_000):
        answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
        check(answer, 400, "INVALID_ARGUMENT")


def test_the_sending_system_is_named_by_query_or_header(client: httpx.Client, engine: ScriptedEngine) -> None:
    assert client.post(FHIR, json={}, params={"source": "northside"}).json()["system"] == "northside"
    assert client.post(FHIR, json={}, headers={"Iamata-Source": "eastgate"}).json()["system"] == "eastgate"
    assert client.post(FHIR, json={}).json()["system"] == "local"


def test_an_ingestion_answers_pending_and_is_formed_beside(client: httpx.Client, engine: ScriptedEngine) -> None:
    engine.forming.clear()
    receipt = client.post(FHIR, json={}).json()
    assert receipt["status"] == "pending"
    pending = {"status": "pending,processing"}
    assert client.get("/v1/patients/leo/ingestions", params=pending).json()["meta"]["total"] == 1
    engine.forming.set()
    until = time.monotonic() + 10
    while client.get("/v1/patients/leo/ingestions", params=pending).json()["meta"]["total"]:
        assert time.monotonic() < until
        time.sleep(0.02)
    path = f"/v1/patients/leo/ingestions/{receipt['ingestionId']}"
    assert client.get(path).json()["status"] == "succeeded"


def test_wait_holds_the_answer_back_until_it_is_formed(client: httpx.Client, engine: ScriptedEngine) -> None:
    assert client.post(FHIR, json={}, params={"wait": "true"}).json()["status"] == "succeeded"
    engine.forming.clear()
    assert client.post(FHIR, json={}, params={"wait": "0.05"}).json()["status"] == "pending"
    assert client.post(FHIR, json={}, params={"wait": "3600"}).json()["status"] == "pending"
    for wrong in ("later", "-1", "nan", "inf"):
        check(client.post(FHIR, json={}, params={"wait": wrong}), 400, "INVALID_ARGUMENT")


def test_a_failing_former_is_tried_again(client: httpx.Client, engine: ScriptedEngine) -> None:
    engine.raises["form_pending"] = errors.Bug("words")
    receipt = client.post(FHIR, json={}, params={"wait": "0.1"}).json()
    assert receipt["status"] == "pending"
    del engine.raises["form_pending"]
    until = time.monotonic() + 10
    while client.get(f"/v1/patients/leo/ingestions/{receipt['ingestionId']}").json()["status"] != "succeeded":
        assert time.monotonic() < until
        time.sleep(0.02)


def test_an_indexed_graph_is_kept_while_the_engine_shares_it_and_dropped_with_the_patient(
    engine: ScriptedEngine,
) -> None:
    served = Served(engine, Settings(), lambda: made.NOW)  # type: ignore[arg-type]  # a double
    access, graph = Access.local(), made.graph()
    view = served.view(graph, access)
    assert served.view(graph, access) is view
    assert served.view(made.graph(), access) is not view
    opened = served.open_session("leo", "s1", access)
    assert served.session("leo", "s1", access) == opened
    served.forget("leo")
    assert served.view(graph, access) is not view
    with pytest.raises(errors.NotFound):
        served.session("leo", "s1", access)


def test_a_degraded_service_answers_503(client: httpx.Client, engine: ScriptedEngine) -> None:
    assert client.get("/").json()["status"] == "healthy"
    engine.raises["doctor"] = errors.Unavailable("no database")
    answer = client.get("/")
    assert (answer.status_code, answer.json()["status"]) == (503, "degraded")


ROUTES = {
    "get /",
    "get /v1/patients",
    "put /v1/patients/{patient_id}",
    "get /v1/patients/{patient_id}",
    "delete /v1/patients/{patient_id}",
    "post /v1/patients/{patient_id}/ingestions/fhir/r4",
    "post /v1/patients/{patient_id}/ingestions/fhir/r5",
    "post /v1/patients/{patient_id}/ingestions/cda/r2",
    "post /v1/patients/{patient_id}/ingestions/hl7v2",
    "post /v1/patients/{patient_id}/ingestions/x12",
    "post /v1/patients/{patient_id}/ingestions/documents",
    "post /v1/patients/{patient_id}/ingestions/sessions",
    "post /v1/patients/{patient_id}/ingestions/transcripts",
    "get /v1/patients/{patient_id}/ingestions",
    "get /v1/patients/{patient_id}/ingestions/{ingestion_id}",
    "get /v1/patients/{patient_id}/documents/{document_id}/content",
    "get /v1/patients/{patient_id}/vfs",
    "get /v1/patients/{patient_id}/read",
    "get /v1/patients/{patient_id}/graph/nodes/{type}/items",
    "get /v1/patients/{patient_id}/graph/nodes/{type}/items/{node_id}",
    "get /v1/patients/{patient_id}/graph/edges/{type}/items",
    "get /v1/patients/{patient_id}/graph/edges/{type}/items/{edge_id}",
    "post /v1/patients/{patient_id}/graph/nodes/{type}/query",
    "post /v1/patients/{patient_id}/graph/edges/{type}/query",
    "post /v1/patients/{patient_id}/sessions",
    "get /v1/patients/{patient_id}/sessions/{session_id}",
    "put /v1/patients/{patient_id}/sessions/{session_id}",
    "get /v1/patients/{patient_id}/sessions/{session_id}/memories",
    "post /v1/patients/{patient_id}/sessions/{session_id}/memories",
    "post /v1/patients/{patient_id}/sessions/{session_id}/messages",
    "get /v1/patients/{patient_id}/sessions/{session_id}/tool-calls",
    "post /v1/patients/{patient_id}/sessions/{session_id}/tool-calls",
    "get /v1/patients/{patient_id}/memories",
    "get /v1/patients/{patient_id}/memories/{memory_id}/links",
    "get /v1/patients/{patient_id}/threads",
    "get /v1/patients/{patient_id}/resolution",
    "get /v1/patients/{patient_id}/reconciliation",
    "get /v1/patients/{patient_id}/changes",
    "get /v1/patients/{patient_id}/conflicts",
    "get /v1/patients/{patient_id}/review",
    "get /v1/patients/{patient_id}/rulings",
    "post /v1/patients/{patient_id}/rulings",
    "delete /v1/patients/{patient_id}/rulings/{ruling_id}",
    "post /v1/patients/{patient_id}/adjudications",
    "post /v1/patients/{patient_id}/rereadings",
    "post /v1/patients/{patient_id}/retractions",
    "get /v1/policy",
    "post /v1/policy/explain",
    "get /v1/patients/{patient_id}/relations",
    "post /v1/patients/{patient_id}/relations",
    "delete /v1/patients/{patient_id}/relations/{relation_id}",
    "post /v1/patients/{patient_id}/break-glass",
    "get /v1/break-glass",
    "post /v1/context",
    "post /v1/search",
    "post /v1/explain",
    "get /v1/patients/{patient_id}/$summary",
    "get /v1/patients/{patient_id}/export",
    "get /v1/export",
    "post /v1/imports",
    "get /v1/retention/preview",
    "post /v1/retention/apply",
    "get /v1/erasures",
    "post /v1/patients/{patient_id}/erasures",
    "get /v1/patients/{patient_id}/holds",
    "post /v1/patients/{patient_id}/holds",
    "post /v1/patients/{patient_id}/holds/{hold_id}/lift",
    "get /v1/audit",
    "get /v1/audit/checkpoint",
    "get /v1/{subjects}/{subject_id}/entries",
    "post /v1/{subjects}/{subject_id}/entries",
    "post /v1/{subjects}/{subject_id}/entries/files",
    "get /v1/{subjects}/{subject_id}/entries/{entry_id}",
    "post /v1/{subjects}/{subject_id}/entries/{entry_id}/retirement",
    "post /v1/{subjects}/{subject_id}/entries/{entry_id}/refusal",
    "delete /v1/{subjects}/{subject_id}/entries/{entry_id}",
    "delete /v1/{subjects}/{subject_id}",
    "post /v1/learn",
    "get /v1/{subjects}/{subject_id}/documents/{document_id}/content",
    "get /v1/{subjects}/{subject_id}/vfs",
    "get /v1/{subjects}/{subject_id}/read",
}


def test_the_openapi_document_lists_every_route_and_every_read_takes_its_two_times(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    listed = {f"{method} {path}" for path, methods in document["paths"].items() for method in methods}
    assert listed == ROUTES
    ids = [method["operationId"] for methods in document["paths"].values() for method in methods.values()]
    assert len(ids) == len(set(ids))
    for path in ("vfs", "read", "resolution", "reconciliation", "changes", "conflicts", "graph/nodes/{type}/items"):
        names = {each["name"] for each in document["paths"][f"/v1/patients/{{patient_id}}/{path}"]["get"]["parameters"]}
        assert names >= {"known_at", "true_at"}
    text = json.dumps(document["paths"]["/v1/context"]["post"]["requestBody"])
    assert "budgetTokens" in text
    assert "$ref" not in text

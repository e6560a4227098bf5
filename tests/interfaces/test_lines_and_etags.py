"""Lists as NDJSON, a line an item, and answers that are not sent twice to who holds them; over a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import leo
import pytest
from issuer import AUDIENCE, Issuer, published
from live import NOW, running

from iamata import Engine
from iamata.settings import Settings

LINES = {"Accept": "application/x-ndjson"}
GRAPH = "/v1/patients/leo/graph"


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", clock=lambda: NOW) as engine:
        engine.ingest("leo", json.dumps(leo.northside()).encode(), source="northside")
        engine.put_patient("zoe")
        yield engine


@pytest.fixture(scope="module")
def client(engine: Engine) -> Iterator[httpx.Client]:
    with running(engine) as url, httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
        talk = {"sessions": [{"messages": leo.talk()}]}
        made = client.post("/v1/patients/leo/ingestions/sessions", params={"wait": "true"}, json=talk)
        assert made.status_code == 200, made.text
        yield client


def lines(answer: httpx.Response) -> list[Any]:
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson"), answer.text
    assert (answer.headers["cache-control"], answer.headers["vary"]) == ("no-store", "Accept")
    assert "content-length" not in answer.headers  # it is streamed
    assert answer.text == "" or answer.text.endswith("\n")
    return [json.loads(line) for line in answer.text.splitlines()]


@pytest.mark.parametrize(
    "path",
    [
        f"{GRAPH}/nodes/extracted_fact/items",
        f"{GRAPH}/edges/resolves_to/items",
        "/v1/patients/leo/memories",
        "/v1/patients/leo/memories?query=cough",
        "/v1/patients",
    ],
)
def test_a_list_as_lines_holds_every_item_of_the_pages_in_their_order(client: httpx.Client, path: str) -> None:
    paged = client.get(path, params={"perPage": 500} | dict(httpx.URL(path).params)).json()
    found = lines(client.get(path, headers=LINES))
    assert found == paged["data"]
    assert len(found) == paged["meta"]["total"]
    assert "?" in path or len(found) > 1
    assert lines(client.get(path, headers=LINES, params={"perPage": 1} | dict(httpx.URL(path).params))) == found


@pytest.mark.parametrize(
    ("group", "type", "query"),
    [
        ("nodes", "extracted_fact", {"filter": {"payload.type": "condition"}}),
        ("nodes", "extracted_fact", {"sort": ["-id"]}),
        ("nodes", "extracted_fact", {}),
        ("edges", "resolves_to", {"sort": ["-id"], "perPage": 1}),
    ],
)
def test_a_query_as_lines_keeps_its_filter_and_its_order(
    client: httpx.Client, group: str, type: str, query: dict[str, Any]
) -> None:
    path = f"{GRAPH}/{group}/{type}/query"
    paged = client.post(path, json=query | {"perPage": 500}).json()
    found = lines(client.post(path, json=query, headers=LINES))
    assert found
    assert (found, len(found)) == (paged["data"], paged["meta"]["total"])


def test_touching_holds_for_lines(client: httpx.Client) -> None:
    fact = client.get(f"{GRAPH}/nodes/fact/items").json()["data"][0]["id"]
    params = {"touching": fact}
    found = lines(client.get(f"{GRAPH}/edges/resolves_to/items", params=params, headers=LINES))
    assert found == client.get(f"{GRAPH}/edges/resolves_to/items", params=params).json()["data"] != []
    assert len(found) < client.get(f"{GRAPH}/edges/resolves_to/items").json()["meta"]["total"]


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("application/x-ndjson, application/json;q=0.5", "application/x-ndjson"),
        ("Application/X-NDJSON", "application/x-ndjson"),
        ("application/json, application/x-ndjson", "application/json"),
        ("application/x-ndjson;q=0", "application/json"),
        ("application/x-ndjson;q=zebra", "application/json"),
        ("*/*", "application/json"),
    ],
)
def test_lines_are_sent_to_who_likes_them_better(client: httpx.Client, accept: str, media: str) -> None:
    assert client.get("/v1/patients", headers={"Accept": accept}).headers["content-type"] == media


def test_an_error_before_the_first_line_has_the_one_shape(client: httpx.Client) -> None:
    for method, path, body, code in (
        ("GET", "/v1/patients/nobody/graph/nodes/fact/items", None, 404),
        ("GET", f"{GRAPH}/nodes/zebra/items", None, 404),
        ("GET", "/v1/patients/leo/memories?kind=zebra", None, 400),
        ("POST", f"{GRAPH}/nodes/fact/query", {"filter": {"zebra": 1}}, 400),
    ):
        answer = client.request(method, path, json=body, headers=LINES)
        assert (answer.status_code, answer.headers["content-type"]) == (code, "application/json")
        assert answer.json()["code"] == code
        assert answer.json()["requestId"] == answer.headers["x-request-id"]


def test_lines_are_audited_as_a_list_is(engine: Engine, client: httpx.Client) -> None:
    def written(path: str, headers: dict[str, str]) -> list[tuple[str, str, str, tuple[str, ...]]]:
        request = client.get(path, headers=headers).headers["x-request-id"]
        rows = [row for row in engine.audit_records(per_page=1000) if row.request == request]
        return [(row.action, row.subject, row.door, row.items) for row in rows]

    for path in (f"{GRAPH}/nodes/fact/items", "/v1/patients", "/v1/patients/leo/memories"):
        as_lines = written(path, LINES)
        assert as_lines == written(path, {})
        assert len(as_lines) >= 1
    assert ("patients", "", "http", ("leo", "zoe")) in written("/v1/patients", LINES)


def test_an_answer_that_is_held_already_is_not_sent_again_until_it_changes() -> None:
    with Engine.open(":memory:", clock=lambda: NOW) as engine:
        engine.ingest("leo", json.dumps(leo.northside()).encode(), source="northside")
        with running(engine) as url, httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
            node = client.get(f"{GRAPH}/nodes/fact/items").json()["data"][0]["id"]
            changing = (f"{GRAPH}/nodes/fact/items?perPage=500", "/v1/patients/leo", "/v1/patients/leo/reconciliation")
            paths = (
                *changing,
                f"{GRAPH}/nodes/fact/items/{node}",
                f"{GRAPH}/edges/resolves_to/items",
                "/v1/patients/leo/memories",
                "/v1/patients/leo/threads",
                "/v1/patients/leo/conflicts",
                "/v1/patients/leo/reconciliation?format=json",
                "/v1/patients/leo/resolution",
                "/v1/patients/leo/changes?since=2020-01-01",
            )
            tags = {}
            for path in paths:
                first = client.get(path)
                tags[path] = first.headers["etag"]
                assert first.headers["cache-control"] == "private, no-cache"
                again = client.get(path, headers={"If-None-Match": tags[path]})
                assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tags[path]), path
            assert client.get("/v1/patients/nobody", headers={"If-None-Match": "*"}).status_code == 404
            more = leo.northside()
            more["entry"] = [each for each in more["entry"] if each["resource"]["resourceType"] in ("Patient",)] + [
                {
                    "resource": {
                        "resourceType": "Condition",
                        "id": "new",
                        "subject": {"reference": "Patient/leo"},
                        "code": {"text": "Asthma"},
                    }
                }
            ]
            engine.ingest("leo", json.dumps(more).encode(), source="northside")
            for path in changing:
                assert client.get(path, headers={"If-None-Match": tags[path]}).status_code == 200, path


def test_lines_and_tags_tell_a_reader_no_more_than_they_may_see() -> None:
    with published(Issuer()) as issuer, Engine.open(":memory:", clock=lambda: NOW) as engine:
        engine.put_patient("leo")
        engine.put_patient("zoe")
        settings = Settings(
            auth_issuer=issuer.url,
            auth_audience=AUDIENCE,
            auth_jwks_url=f"{issuer.url}/jwks",
            auth_private="127.0.0.1",
        )
        with running(engine, settings) as url, httpx.Client(base_url=url, trust_env=False) as client:
            assert client.get("/v1/patients", headers=LINES).status_code == 401
            leos, zoes = (
                {"Authorization": f"Bearer {issuer.token(sub=id, patient=id, scope='patient/*.rs')}"}
                for id in ("leo", "zoe")
            )
            found = lines(client.get("/v1/patients", headers=LINES | zoes))
            assert [each["registryKey"] for each in found] == ["zoe"]
            tag = client.get(f"{GRAPH}/nodes/fact/items", headers=leos).headers["etag"]
            for held in (tag, "*"):
                hidden = client.get(f"{GRAPH}/nodes/fact/items", headers=zoes | {"If-None-Match": held})
                assert (hidden.status_code, "etag" in hidden.headers) == (404, False)
            assert client.get(f"{GRAPH}/nodes/fact/items", headers=LINES | zoes).status_code == 404

"""Loopback safety, request ids and logs: who may come in, and what is written down about it."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator

import httpx
import pytest
from double import ScriptedEngine
from live import NOW, running

from iamata.errors import Bug, InvalidValue, NotAllowed
from iamata.interfaces.http import create_app, serve
from iamata.settings import Settings, is_loopback

CANARY = "Zebrafish"


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine()


@pytest.fixture
def client(engine: ScriptedEngine) -> Iterator[httpx.Client]:
    with running(engine) as url, httpx.Client(base_url=url, trust_env=False) as client:
        yield client


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:8321", "[::1]", "[::1]:8321"])
def test_a_request_addressed_to_this_machine_is_answered(client: httpx.Client, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.2",
        "0.0.0.0",
        "[::]",
        "localhost:x",
        "",
    ],
)
def test_a_request_under_another_name_is_refused(client: httpx.Client, engine: ScriptedEngine, host: str) -> None:
    answer = client.get("/v1/patients/leo", headers={"Host": host})
    assert answer.status_code == 403
    assert answer.json()["type"] == "PERMISSION_DENIED"
    assert engine.calls == []


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://localhost:3000", "https://127.0.0.1", "file://", "http://127.0.0.1:1", ""],
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "DELETE"])
def test_a_foreign_page_is_refused_whatever_it_asks(
    client: httpx.Client, engine: ScriptedEngine, origin: str, method: str
) -> None:
    answer = client.request(method, "/v1/patients/leo", headers={"Origin": origin})
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers
    assert engine.calls == []


def test_a_page_of_this_very_server_is_at_home(client: httpx.Client) -> None:
    home = str(client.base_url).rstrip("/")
    assert client.get("/", headers={"Origin": home}).status_code == 200


def test_a_request_without_a_host_is_refused(client: httpx.Client) -> None:
    with socket.create_connection(("127.0.0.1", client.base_url.port or 80), timeout=10) as raw:
        raw.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert b" 403 " in raw.makefile("rb").readline()


def test_every_answer_has_its_own_request_id(client: httpx.Client) -> None:
    ok, missing = client.get("/"), client.get("/v1/patients/nobody")
    assert ok.headers["x-request-id"] != missing.headers["x-request-id"]
    assert missing.json()["requestId"] == missing.headers["x-request-id"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "example.org", "localhost.localdomain"])
def test_it_does_not_listen_beyond_this_machine_without_authentication(host: str) -> None:
    settings = Settings(host=host)
    for start in (
        lambda: create_app(ScriptedEngine(), settings, now=lambda: NOW),  # type: ignore[arg-type]  # a double
        lambda: serve(ScriptedEngine(), settings),  # type: ignore[arg-type]  # a double
    ):
        with pytest.raises(NotAllowed, match="without authentication"):
            start()


def test_loopback_is_what_only_this_machine_reaches() -> None:
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.0.0.9", "::1", "[::1]", "localhost"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "my-laptop", ""))


def test_an_unexpected_failure_answers_500_and_its_words_are_nowhere(
    client: httpx.Client, engine: ScriptedEngine, caplog: pytest.LogCaptureFixture
) -> None:
    engine.raises["graph"] = RuntimeError(f"about {CANARY}")
    with caplog.at_level(logging.DEBUG):
        answer = client.get("/v1/patients/leo/resolution", params={"note": CANARY})
    assert answer.status_code == 500
    body = answer.json()
    assert (body["code"], body["type"]) == (500, "INTERNAL")
    ours = [record.getMessage() for record in caplog.records if record.name.startswith(("iamata", "uvicorn"))]
    assert CANARY not in answer.text + "".join(ours)
    assert any("RuntimeError" in line and body["requestId"] in line for line in ours)


def test_logs_hold_route_templates_and_ids_only(
    client: httpx.Client, engine: ScriptedEngine, caplog: pytest.LogCaptureFixture
) -> None:
    engine.raises["ingest"] = Bug(f"about {CANARY}")
    with caplog.at_level(logging.DEBUG):
        answers = [
            client.get(f"/v1/patients/{CANARY}"),
            client.get("/v1/patients/leo/vfs", params={"path": f"/{CANARY}"}),
            client.post("/v1/patients/leo/ingestions/fhir/r4", json={"resourceType": CANARY}),
            client.post("/v1/patients/leo/ingestions/sessions", json={"sessions": CANARY}),
            client.get(f"/{CANARY}"),
            client.get("/v1/patients", params={"page": CANARY}),
            client.put(f"/v1/patients/_{CANARY}"),
            client.get("/v1/patients/leo/ingestions", params={"status": CANARY}),
            client.get("/v1/patients/leo/read", params={"format": CANARY}),
            client.get("/v1/patients/leo/graph/nodes/fact/items", params={"true_at": CANARY}),
        ]
    assert [each.status_code for each in answers] == [404, 404, 500, 400, 404, 400, 400, 400, 400, 400]
    assert all(CANARY not in each.text for each in answers)
    ours = [record.getMessage() for record in caplog.records if record.name.startswith(("iamata", "uvicorn"))]
    assert not any(CANARY in line for line in ours)
    assert any("/v1/patients/{patient_id} 404" in line for line in ours)


def test_a_document_comes_as_a_download_that_runs_nothing(client: httpx.Client) -> None:
    answer = client.get("/v1/patients/leo/documents/en_doc/content")
    assert answer.content == b"<script>alert(1)</script>"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_settings_come_from_arguments_then_the_environment() -> None:
    env = {"IAMATA_PORT": "9000", "IAMATA_MAX_BODY_MB": "2", "IAMATA_STUDIO": "x", "PORT": "1"}
    settings = Settings.read(env, host="::1", db=None)
    assert (settings.host, settings.port, settings.db) == ("::1", 9000, "iamata.db")
    assert settings.max_body_bytes == 2 * 1024 * 1024
    assert Settings.read({}) == Settings()


@pytest.mark.parametrize(
    ("env", "name"),
    [
        ({"IAMATA_PORT": "secret"}, "IAMATA_PORT"),
        ({"IAMATA_PORT": "70000"}, "IAMATA_PORT"),
        ({"IAMATA_DB": ""}, "IAMATA_DB"),
        ({"IAMATA_MAX_BODY_MB": "0"}, "IAMATA_MAX_BODY_MB"),
        ({"IAMATA_LOG_LEVEL": "secret"}, "IAMATA_LOG_LEVEL"),
        ({"IAMATA_IDLE_S": "0"}, "IAMATA_IDLE_S"),
    ],
)
def test_a_wrong_setting_is_named_and_its_value_is_not_shown(env: dict[str, str], name: str) -> None:
    with pytest.raises(InvalidValue, match=name) as caught:
        Settings.read(env)
    assert "secret" not in str(caught.value)


def test_every_setting_is_documented_with_its_variable() -> None:
    for field in Settings.__struct_fields__:
        assert f"IAMATA_{field.upper()}" in (Settings.__doc__ or "")

"""MCP as it is really reached: a program on standard input and output, and the running server at /mcp."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
import two_patients
from live import running
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from typer.testing import CliRunner

from iamata import Engine
from iamata.errors import Unavailable
from iamata.interfaces import mcp
from iamata.interfaces.cli import app
from iamata.interfaces.cli.running import served_beside
from iamata.settings import Settings

CANARY = two_patients.CANARY
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
HEADERS = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mcp") / "two.db"
    with Engine.open(path) as engine:
        two_patients.fill(engine)
    return path


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    with Engine.open(":memory:") as engine:
        two_patients.fill(engine)
        settings = Settings()
        with running(engine, settings, served_beside(engine, settings)) as url:
            yield url


def program(database: Path, *args: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=[
            "-W",
            "error",
            "-c",
            "from iamata.interfaces.cli import main; main()",
            "mcp",
            "--db",
            str(database),
            *args,
        ],
    )


def test_an_agent_starts_the_program_and_speaks_with_it(database: Path, tmp_path: Path) -> None:
    async def scene(mode: str, errors: Any) -> None:
        async with Client(stdio_client(program(database), errlog=errors), mode=mode) as client:
            assert client.server_info.name == "iamata"
            assert len((await client.list_tools()).tools) == 15
            made = await client.call_tool(
                "assemble_context", {"patient_id": "leo", "task": "medication_reconciliation", "budget_tokens": 400}
            )
            assert "says stopped" in made.content[0].text
            assert made.structured_content["tokens"] <= 400
            index = await client.read_resource("iamata://patient/zoe/_index.md")
            assert CANARY in index.contents[0].text
            failed = await client.call_tool("search_patient", {"patient_id": "leo", "query": {"of": CANARY}})
            assert failed.is_error

    for mode in ("auto", "legacy"):
        log = tmp_path / f"{mode}.log"
        with log.open("w") as errors:
            two_patients.run(scene, mode, errors)
        assert log.read_text() == ""


def test_the_program_bound_to_a_patient_knows_no_other(database: Path) -> None:
    async def scene() -> None:
        bound = stdio_client(program(database, "--patient", "leo", "--read-only"))
        async with Client(bound) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "append_messages" not in names
            own = await client.call_tool("search_patient", {"query": "amoxicillin"})
            assert own.structured_content["data"]
            for tool, given in (("read_patient", {}), ("search_patient", {"query": CANARY})):
                other = await client.call_tool(tool, {"patient_id": "zoe", **given})
                assert other.structured_content["type"] == "NOT_FOUND"
                assert CANARY not in other.model_dump_json()

    two_patients.run(scene)


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["--patient", "nobody"], 3, "no patient"),
        (["--agent", "an agent"], 2, "agent id"),
        (["--db", "missing.db"], 3, "there is no database"),
    ],
)
def test_what_cannot_be_served_is_said_before_anything_is(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], code: int, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IAMATA_DB", str(database))
    done = CliRunner().invoke(app, ["mcp", *args])
    assert done.exit_code == code
    assert said in done.stderr
    assert done.stdout == ""


def test_without_the_sdk_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch, database: Path) -> None:
    monkeypatch.setattr(mcp, "find_spec", lambda _name: None)
    with Engine.open(database) as engine:
        with pytest.raises(Unavailable, match=r"pip install 'iamata\[mcp\]'"):
            mcp.create_server(engine)
        assert served_beside(engine, Settings()) == []
    done = CliRunner().invoke(app, ["mcp", "--db", str(database)])
    assert (done.exit_code, done.stdout) == (7, "")


def test_the_package_and_the_command_line_load_without_the_sdk() -> None:
    script = (
        "import sys; sys.modules['mcp'] = sys.modules['mcp_types'] = None\n"
        "import iamata.interfaces.mcp, iamata.interfaces.cli, iamata.interfaces.http, iamata.interfaces.mcp.tools"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_running_server_speaks_mcp_beside_its_routes(served: str, mode: str) -> None:
    async def scene() -> None:
        async with httpx2.AsyncClient(trust_env=False) as http:
            transport = streamable_http_client(f"{served}/mcp", http_client=http)
            async with Client(transport, mode=mode) as client:
                assert len((await client.list_tools()).tools) == 15
                found = await client.call_tool("list_conflicts", {"patient_id": "leo"})
                assert "We stopped the amoxicillin on Thursday" in found.content[0].text
                said = {"patient_id": "leo", "session_id": f"mcp-{mode}"}
                turn = {"role": "user", "content": "He has a cough.", "speaker": "caregiver", "relationship": "mother"}
                await client.call_tool("append_messages", said | {"messages": [turn]})
                recalled = await client.call_tool("recall_memories", said)
                assert [each["content"] for each in recalled.structured_content["data"]] == ["He has a cough"]

    two_patients.run(scene)
    assert httpx.get(f"{served}/v1/patients/leo", trust_env=False).json()["id"] == "leo"


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Host": "127.0.0.1.evil.example"},
    ],
)
def test_the_door_of_the_app_guards_it(served: str, headers: dict[str, str]) -> None:
    answer = httpx.post(f"{served}/mcp", json=INITIALIZE, headers=HEADERS | headers, trust_env=False)
    assert answer.status_code == 403
    assert answer.json()["type"] == "PERMISSION_DENIED"
    allowed = httpx.post(f"{served}/mcp", json=INITIALIZE, headers=HEADERS, trust_env=False)
    assert allowed.json()["result"]["serverInfo"]["name"] == "iamata"
    assert allowed.headers["x-request-id"]
    assert "mcp-session-id" not in allowed.headers


def test_the_log_holds_its_path_and_nothing_that_was_asked(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="iamata")
    caplog.set_level(logging.DEBUG, logger="mcp")
    ids = []
    with Engine.open(":memory:") as engine:
        two_patients.fill(engine)
        with running(engine, Settings(), served_beside(engine, Settings())) as url:
            for params in (
                {"name": "read_patient", "arguments": {"patient_id": "zoe"}},
                {"name": "search_patient", "arguments": {"patient_id": "zoe", "query": CANARY}},
                {"name": CANARY, "arguments": {CANARY: CANARY}},
                {"name": "explain", "arguments": [CANARY]},
            ):
                body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
                headers = HEADERS | {"MCP-Protocol-Version": "2025-06-18"}
                answer = httpx.post(f"{url}/mcp", json=body, headers=headers, trust_env=False)
                assert answer.status_code == 200
                ids.append(answer.headers["X-Request-Id"])
    # By their ids: a server of another test in this process may still be telling of its last request.
    assert [caplog.text.count(f"request {id} POST /mcp 200") for id in ids] == [1, 1, 1, 1]
    assert CANARY not in caplog.text


def test_it_keeps_no_stream_open_and_takes_no_body_over_the_limit() -> None:
    with Engine.open(":memory:") as engine:
        settings = Settings(max_body_mb=1)
        with running(engine, settings, served_beside(engine, settings)) as url:
            for method in ("GET", "DELETE"):
                assert httpx.request(method, f"{url}/mcp", headers=HEADERS, trust_env=False).status_code == 405
            big = httpx.post(f"{url}/mcp", content=b" " * 1_100_000, headers=HEADERS, trust_env=False)
            assert big.status_code == 413
            for body in (b"", b"{", b"[]", b'{"jsonrpc": "2.0", "id": 1, "method": "Zyxwvut"}'):
                sent = HEADERS | {"Content-Type": "application/json"}
                assert 200 <= httpx.post(f"{url}/mcp", content=body, headers=sent, trust_env=False).status_code < 500

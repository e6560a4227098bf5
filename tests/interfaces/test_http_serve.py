"""The server as a process of its own: it starts, logs without paths, and stops when it is told to."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

_SCRIPT = """
import sys
from double import ScriptedEngine
from iamata.interfaces.http import serve
from iamata.settings import Settings
serve(ScriptedEngine(), Settings.read({}, host=sys.argv[1], port=int(sys.argv[2])))
"""


def _free_port(family: socket.AddressFamily, host: str) -> int:
    with socket.socket(family) as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.parametrize(
    ("host", "family", "address"),
    [("127.0.0.1", socket.AF_INET, "127.0.0.1"), ("[::1]", socket.AF_INET6, "[::1]")],
)
def test_a_served_engine_answers_logs_templates_and_stops_cleanly(
    host: str, family: socket.AddressFamily, address: str
) -> None:
    try:
        port = _free_port(family, host.strip("[]"))
    except OSError:
        pytest.skip("this machine has no such loopback address")
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", _SCRIPT, host, str(port)],
        cwd=Path(__file__).parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        until = time.monotonic() + 30
        with httpx.Client(base_url=f"http://{address}:{port}", trust_env=False) as client:
            while True:
                try:
                    assert client.get("/").json()["status"] == "healthy"
                    break
                except httpx.TransportError:
                    assert process.poll() is None
                    assert time.monotonic() < until
                    time.sleep(0.05)
            assert client.get("/v1/patients/Zebrafish", params={"name": "Zebrafish"}).status_code == 404
            assert "server" not in client.get("/").headers
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    assert process.returncode in (0, -signal.SIGTERM)
    assert "GET /v1/patients/{patient_id} 404" in output
    assert "Zebrafish" not in output
    assert "Traceback" not in output


def test_it_refuses_to_start_beyond_this_machine() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, "0.0.0.0", "0"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert "without authentication" in done.stderr

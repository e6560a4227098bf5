"""Pulling is an extra: without its package everything else works, and what to install is said."""

from __future__ import annotations

import subprocess
import sys

_WITHOUT = """
import sys
sys.modules["httpx"] = None
from iamata.errors import Unavailable
from iamata.reach import Fetcher, FhirServer
server = FhirServer(name="x", base_url="https://fhir.example/fhir")
try:
    Fetcher(server, clock=None, sleep=None, chance=None, ids=None)
except Unavailable as error:
    print(error)
"""


def test_without_httpx_it_says_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", _WITHOUT], capture_output=True, text=True, check=True)
    assert "pip install 'iamata[fhir-server]'" in done.stdout

"""The public client in both its flavours behind one face, so that every test runs with each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from clinia_context_engine import AsyncContextEngineClient, ContextEngineClient

RESOURCES = ("graph", "info", "ingest", "patients", "sessions", "vfs")


class _Waiting:
    """A resource of the asynchronous client, each of whose methods is waited for."""

    def __init__(self, resource: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._resource = resource
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._resource, name)
        return lambda *given, **named: self._loop.run_until_complete(method(*given, **named))


class Calling:
    """The client's resources: `calling.patients.list_patients()`; and `url` for what the client has no method for."""

    graph: Any
    info: Any
    ingest: Any
    patients: Any
    sessions: Any
    vfs: Any

    def __init__(self, url: str, resources: dict[str, Any]) -> None:
        self.url = url
        vars(self).update(resources)

    def settle(self, patient: str) -> None:
        """Wait until everything submitted is formed, as the contract says to ask."""
        until = time.monotonic() + 60
        while self.ingest.list_ingestions(patient, status=["pending", "processing"]).meta.total:
            assert time.monotonic() < until
            time.sleep(0.02)


@contextmanager
def calling(flavour: str, url: str) -> Iterator[Calling]:
    """The client of this flavour (`sync` or `async`), speaking to this server."""
    if flavour == "sync":
        with httpx.Client(trust_env=False, timeout=60) as http:
            client = ContextEngineClient(base_url=url, http_client=http)
            yield Calling(url, {name: getattr(client, name) for name in RESOURCES})
        return
    loop = asyncio.new_event_loop()
    http_async = httpx.AsyncClient(trust_env=False, timeout=60)
    try:
        waiting = AsyncContextEngineClient(base_url=url, http_client=http_async)
        yield Calling(url, {name: _Waiting(getattr(waiting, name), loop) for name in RESOURCES})
    finally:
        loop.run_until_complete(http_async.aclose())
        loop.close()

"""What the tests of outgoing connections share: a server on loopback, and a fetcher that never really waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from fhir_server_double import Server, Time

from iamata.reach import Fetcher, FhirServer, Limits


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def fetch(server: Server, time: Time) -> Iterator[Callable[..., Fetcher]]:
    """Makes a fetcher for the server; what is given overrides its configuration and limits."""
    with ExitStack() as stack:

        def make(*, resolve: Callable[[str, int], list[str]] | None = None, **more: Any) -> Fetcher:
            limits = {name: more.pop(name) for name in list(more) if name in Limits.__struct_fields__}
            settings: dict[str, Any] = {"name": "northside", "base_url": server.base, "private": ("127.0.0.1",)}
            ids = iter(f"id-{n}" for n in range(1000))
            fetcher = Fetcher(
                FhirServer(**(settings | {"limits": Limits(**({"timeout_s": 5.0} | limits))} | more)),
                clock=time.clock,
                sleep=time.sleep,
                chance=lambda: 1.0,
                ids=lambda: next(ids),
                **({"resolve": resolve} if resolve is not None else {}),
            )
            return stack.enter_context(fetcher)

        yield make

"""A small real HTTP server on loopback, which answers what a test scripts and remembers what it was asked; a clock."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit


class Time:
    """A clock that only sleeping moves on."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)
        self.slept: list[float] = []

    def clock(self) -> datetime:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += timedelta(seconds=seconds)


class Asked(NamedTuple):
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


class Say(NamedTuple):
    """What is answered. `raw` goes out as it is, without `content-length` being right."""

    body: bytes = b"{}"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/fhir+json"),)


Script = Callable[[Asked], Say]


def bundle(*resources: dict[str, Any], following: str = "") -> Say:
    link = [{"relation": "self", "url": "x"}] + ([{"relation": "next", "url": following}] if following else [])
    value = {"resourceType": "Bundle", "type": "searchset", "link": link, "entry": [{"resource": r} for r in resources]}
    return Say(json.dumps(value).encode())


class Server:
    """Routes are paths (without the query) to what is said: a list is gone through, the last stays."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.routes: dict[str, list[Say] | Script] = {}
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _do(self) -> None:
                parts = urlsplit(self.path)
                length = int(self.headers.get("content-length") or 0)
                asked = Asked(
                    self.command,
                    parts.path,
                    {name: values[0] for name, values in parse_qs(parts.query).items()},
                    {name.lower(): value for name, value in self.headers.items()},
                    self.rfile.read(length),
                )
                double.asked.append(asked)
                said = double.answer(asked)
                self.send_response(said.status)
                for name, value in said.headers:
                    self.send_header(name, value)
                self.send_header("content-length", str(len(said.body)))
                self.end_headers()
                self.wfile.write(said.body)

            do_GET = do_POST = do_DELETE = _do

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    def answer(self, asked: Asked) -> Say:
        route = self.routes.get(asked.path)
        if route is None:
            return Say(status=404)
        if callable(route):
            return route(asked)
        return route.pop(0) if len(route) > 1 else route[0]

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def base(self) -> str:
        return f"{self.origin}/fhir"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

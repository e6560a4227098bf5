"""Who may come in, under which request id, and what is written down about it?

The outermost layer. It accepts only requests that a program on this machine addressed to this machine: a page of some
other site, or a name that was made to resolve to loopback (DNS rebinding), is refused (design 08). It catches whatever
nobody else caught. It logs route templates and ids; never paths, queries, bodies or the words of an exception.
"""

from __future__ import annotations

import logging
import re
import time
import traceback
from pathlib import Path
from uuid import uuid4

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from iamata.engine.origin import came_through
from iamata.errors import NotAllowed
from iamata.interfaces.http.problems import Problem, problem, problem_reply
from iamata.model.audit import DoorName

log = logging.getLogger("iamata.http")

_HOST = re.compile(r"(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?\Z", re.IGNORECASE)
# What else may stand there is the caller's words.
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Door:
    """ASGI middleware around the whole app. Every answer carries its `X-Request-Id`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        id = uuid4().hex
        scope.setdefault("state", {})["request_id"] = id
        began = time.perf_counter()
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", []),
                    (b"x-request-id", id.encode()),
                    (b"x-content-type-options", b"nosniff"),
                ]
            await send(message)

        refused = refusal(Headers(scope=scope))
        try:
            if refused is not None:
                await problem_reply(id, problem(refused))(scope, receive, send_with_id)
            else:
                with came_through(DoorName.HTTP, id):
                    await self._app(scope, receive, send_with_id)
        except Exception as error:
            log.error("request %s %s failed: %s", id, _route(scope), _frames(error))
            if not status:
                message = "a fault in iamata; please report it with the request id"
                await problem_reply(id, Problem(500, "INTERNAL", message))(scope, receive, send_with_id)
        finally:
            took_ms = (time.perf_counter() - began) * 1000
            method = scope["method"] if scope["method"] in _METHODS else "-"
            log.info("request %s %s %s %d %.1f ms", id, method, _route(scope), status, took_ms)


def refusal(headers: Headers) -> NotAllowed | None:
    """Why a request with these headers may not come in; None if it may."""
    hosts = headers.getlist("host")
    if len(hosts) != 1 or not _HOST.match(hosts[0]):
        return NotAllowed("this server answers only to localhost, 127.0.0.1 and [::1]", reasons=("host",))
    # A page that this very server gave out is at home; any other origin, also `null`, is foreign.
    if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in headers.getlist("origin")):
        return NotAllowed("requests of other sites' pages are refused", reasons=("origin",))
    return None


def _route(scope: Scope) -> str:
    """The template of the route that answered, or `-`: a path may hold what must not be logged."""
    return str(getattr(scope.get("route"), "path", "-"))


def _frames(error: BaseException) -> str:
    """The kind of an exception and where it came from, without its words."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    return f"{type(error).__name__} at " + " < ".join(
        f"{Path(each.filename).stem}.{each.name}:{each.lineno}" for each in reversed(frames)
    )

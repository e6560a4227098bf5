"""Who may come in, under which request id, and what is written down about it?

The outermost layer. Without tokens it accepts only requests that a program on this machine addressed to this machine: a
page of some other site, or a name that was made to resolve to loopback (DNS rebinding), is refused (design 08). With
tokens it also answers to the configured names, and no request gets further without a good one, whichever route it is
for: a new route is behind it like the others. It catches whatever nobody else caught. It logs route templates and ids;
never paths, queries, bodies or the words of an exception.
"""

from __future__ import annotations

import logging
import re
import time
import traceback
from pathlib import Path
from uuid import uuid4

import anyio.to_thread
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from iamata.engine.beside import gathering
from iamata.engine.identity import Identity
from iamata.engine.origin import came_through
from iamata.errors import IamataError, NotAllowed, Unauthenticated
from iamata.interfaces.http.problems import Problem, problem, problem_reply
from iamata.model.audit import DoorName

log = logging.getLogger("iamata.http")

_HOST = re.compile(r"(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?\Z", re.IGNORECASE)
# Open to everybody who reaches the server: they say what it is and hold nothing of anybody.
OPEN = frozenset({"/", "/openapi.json"})
# What else may stand there is the caller's words.
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Door:
    """ASGI middleware around the whole app. Every answer carries its `X-Request-Id`, and in `Iamata-Warning` what the
    engine's door wants to be read beside it. With an `identity` the bearer of the token is in the request's state."""

    def __init__(self, app: ASGIApp, identity: Identity | None = None, hosts: tuple[str, ...] = ()) -> None:
        self._app = app
        self._identity = identity
        self._hosts = frozenset(each.lower() for each in hosts)

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
        warnings: list[str] = []

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", []),
                    (b"x-request-id", id.encode()),
                    (b"x-content-type-options", b"nosniff"),
                    *((b"iamata-warning", warning.encode()) for warning in warnings),
                ]
            await send(message)

        headers = Headers(scope=scope)
        refused: IamataError | None = refusal(headers, self._hosts)
        try:
            if refused is None and self._identity is not None and scope["path"] not in OPEN:
                refused = await self._recognised(self._identity, headers, scope, warnings)
            if refused is not None:
                await problem_reply(id, problem(refused))(scope, receive, send_with_id)
            else:
                with came_through(DoorName.HTTP, id), gathering(warnings):
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

    async def _recognised(
        self, identity: Identity, headers: Headers, scope: Scope, warnings: list[str]
    ) -> IamataError | None:
        """Who bears the token is put into the request's state, with a warning for each scope that was left aside; else
        why it is not known. In a thread, because the issuer's keys may have to be fetched."""
        try:
            found = await anyio.to_thread.run_sync(identity.recognise, bearer(headers))
            scope["state"]["access"] = found.access
            warnings += found.notes
        except IamataError as error:
            return error
        return None


def bearer(headers: Headers) -> str:
    """The token of the one `Authorization: Bearer` header; never of the query, which would be logged on the way.

    Raises Unauthenticated where there is none, or more than one.
    """
    sent = headers.getlist("authorization")
    if not sent:
        raise Unauthenticated("a token is needed", reasons=("no-token",))
    scheme, _, token = sent[0].partition(" ")
    if len(sent) != 1 or scheme.lower() != "bearer":
        raise Unauthenticated("the token is not good", reasons=("scheme",))
    return token.strip()


def refusal(headers: Headers, named: frozenset[str] = frozenset()) -> NotAllowed | None:
    """Why a request with these headers may not come in; None if it may. `named` are further hosts of this server."""
    hosts = headers.getlist("host")
    if len(hosts) != 1 or not (_HOST.match(hosts[0]) or hosts[0].lower() in named):
        allowed = "localhost, 127.0.0.1 and [::1]" + (" and its configured names" if named else "")
        return NotAllowed(f"this server answers only to {allowed}", reasons=("host",))
    # A page that this very server gave out is at home; any other origin, also `null`, is foreign.
    host = hosts[0].lower()
    home = {f"http://{host}"} | ({f"https://{host}"} if host in named else set())
    if any(origin.lower() not in home for origin in headers.getlist("origin")):
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

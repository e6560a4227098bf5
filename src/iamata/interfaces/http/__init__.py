"""How is the engine reached over HTTP? `create_app` makes the app, `serve` runs it; both hold no rule of their own.

`door` who comes in · `asking` what a request may say · `routes` one question to the engine each · `replies` how answers
leave · `problems` errors · `serving`, `forming` what runs beside.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

import anyio.to_thread
import msgspec
import uvicorn
from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from iamata.engine.identity import identity_of
from iamata.interfaces.http import problems
from iamata.interfaces.http.door import Door
from iamata.interfaces.http.routes import ROUTERS
from iamata.interfaces.http.schemas import PROBLEM
from iamata.interfaces.http.serving import Served
from iamata.settings import Settings, check_listening

if TYPE_CHECKING:
    from iamata.engine import Engine

__all__ = ["Mounted", "create_app", "serve"]


class Mounted(msgspec.Struct, frozen=True):
    """What else is served at `path`, by POST, behind the same door; `running` is entered as the app starts."""

    path: str
    app: ASGIApp
    running: Callable[[], AbstractAsyncContextManager[None]]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self  # the door logs its path
        await self.app(scope, receive, send)


def create_app(
    engine: Engine, settings: Settings, *, now: Callable[[], datetime], mounted: Sequence[Mounted] = ()
) -> FastAPI:
    """The app on this engine. While it runs, one thread forms what was accepted. The engine stays the caller's
    to close.

    Raises NotAllowed if the settings would listen beyond loopback without authentication, Unavailable if they want
    tokens and the extra `iamata[auth]` is missing.
    """
    check_listening(settings)
    identity = identity_of(settings, clock=now)
    served = Served(engine, settings, now)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        # Whoever runs this app, and however logging is set up: this log would hold paths and queries.
        logging.getLogger("uvicorn.access").disabled = True
        served.former.start()
        try:
            async with AsyncExitStack() as running:
                for each in mounted:
                    await running.enter_async_context(each.running())
                yield
        finally:
            await anyio.to_thread.run_sync(served.former.stop)

    # Not with the interactive docs pages, because they load scripts from elsewhere.
    app = FastAPI(
        title="iamata",
        version=version("iamata"),
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
        responses={"default": {"description": "A problem.", "content": {"application/json": {"schema": PROBLEM}}}},
    )
    app.state.served = served
    problems.register(app)
    app.add_middleware(Door, identity=identity, hosts=settings.listed("hosts"))
    for router in ROUTERS:
        app.include_router(router)
    for each in mounted:
        app.router.routes.append(Route(each.path, each, methods=["POST"], include_in_schema=False))
    return app


def serve(engine: Engine, settings: Settings, *, mounted: Sequence[Mounted] = ()) -> None:
    """Listen until the process is told to stop. The server's own access log is off."""
    app = create_app(engine, settings, now=lambda: datetime.now(UTC), mounted=mounted)
    _log_to_stderr(settings.log_level)
    uvicorn.run(
        app,
        host=settings.host.strip("[]"),
        port=settings.port,
        access_log=False,
        server_header=False,
        date_header=True,
        log_level="warning",
        ws="none",
    )


def _log_to_stderr(level: str) -> None:
    """Our own lines on standard error, unless whoever runs this has set up a handler for them."""
    ours = logging.getLogger("iamata")
    ours.setLevel(level.upper())
    if not ours.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        ours.addHandler(handler)

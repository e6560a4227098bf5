"""A real server on a free loopback port, in a thread, for as long as a test needs it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import uvicorn

from iamata.interfaces.http import Mounted, create_app
from iamata.settings import Settings

NOW = datetime(2026, 2, 15, 9, 0, tzinfo=UTC)


class _Server(uvicorn.Server):
    def install_signal_handlers(self) -> None:
        """Not in a thread."""


@contextmanager
def running(engine: Any, settings: Settings | None = None, mounted: Sequence[Mounted] = ()) -> Iterator[str]:
    """Serve this engine; gives the base URL. Stops the server and its forming thread at the end."""
    app = create_app(engine, settings or Settings(), now=lambda: NOW, mounted=mounted)
    config = uvicorn.Config(app, host="127.0.0.1", port=0, access_log=False, log_config=None, ws="none")
    server = _Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 20
    while not server.started:
        if not thread.is_alive() or time.monotonic() > until:
            raise RuntimeError("the server did not start")
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)

"""Who forms what has been accepted while the server runs? One thread, woken by every submission."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from iamata.engine import Engine

log = logging.getLogger("iamata.http")


class Former:
    """Calls `engine.form_pending` until there is nothing left, then rests until it is woken or `idle_s` has passed.

    A failure is logged by its kind alone and tried again after the rest; the submission's own receipt tells the caller.
    """

    def __init__(self, engine: Engine, idle_s: float) -> None:
        self._engine = engine
        self._idle_s = idle_s
        self._wake = threading.Event()
        # Of its own for every former, because work is leased by name.
        self._worker = f"http-{uuid4().hex}"
        self._ending = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._ending = False
        self._thread = threading.Thread(target=self._run, name="iamata-former", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        self._wake.set()

    def stop(self) -> None:
        """Let it finish the submission it is forming, and wait for that."""
        self._ending = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while not self._ending:
            self._wake.clear()
            try:
                # One at a time, so that stopping waits for one submission and not for all.
                formed = self._engine.form_pending(worker=self._worker, limit=1)
            except Exception as error:
                log.error("forming failed: %s", type(error).__name__)
                formed = 0
            if not formed:
                self._wake.wait(self._idle_s)

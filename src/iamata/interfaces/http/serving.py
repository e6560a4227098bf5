"""What do the routes share while the server runs: engine, settings, clock, former, and indexed graphs?"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from iamata.errors import NotFound
from iamata.interfaces.http.forming import Former
from iamata.interfaces.wire.ids import check_new
from iamata.interfaces.wire.receipts import SETTLED
from iamata.interfaces.wire.view import GraphView
from iamata.model.access import Access
from iamata.model.document import Receipt
from iamata.model.graph import Graph
from iamata.model.session import Session
from iamata.settings import Settings

if TYPE_CHECKING:
    from iamata.engine import Engine

_KEPT_VIEWS = 8
_KEPT_SESSIONS = 4096
_ALL = 1000
_POLL_S = 0.02
_MOST_WAITING = 16


class Served:
    """One engine and what serving it needs. Thread-safe."""

    def __init__(self, engine: Engine, settings: Settings, now: Callable[[], datetime]) -> None:
        self.engine = engine
        self.settings = settings
        self.now = now
        self.former = Former(engine, settings.idle_s)
        self._opened: OrderedDict[tuple[str, str], datetime] = OrderedDict()
        self._views: OrderedDict[tuple[str, int], GraphView] = OrderedDict()
        self._lock = threading.Lock()
        self._waiting = threading.BoundedSemaphore(_MOST_WAITING)

    def view(self, graph: Graph, access: Access) -> GraphView:
        """The graph indexed, with the ingestion that introduced each document. The engine shares its graphs, so the
        index of one is kept as long as it is among the last few asked for."""
        key = (graph.hash, id(graph))
        with self._lock:
            held = self._views.get(key)
            # The key is an address in memory, which may be used again: what counts is that it is the same graph.
            if held is not None and held.graph is graph:
                self._views.move_to_end(key)
                return held
        introduced: dict[str, str] = {}
        for receipt in sorted(self.receipts(graph.subject.id, access), key=lambda each: (each.received_at, each.id)):
            introduced.setdefault(receipt.document, receipt.id)
        view = GraphView(graph, introduced)
        with self._lock:
            self._views[key] = view
            while len(self._views) > _KEPT_VIEWS:
                self._views.popitem(last=False)
        return view

    def forget(self, patient: str) -> None:
        """Drop everything kept here of a patient who was erased."""
        with self._lock:
            for view in [key for key, each in self._views.items() if each.graph.subject.id == patient]:
                del self._views[view]
            for opened in [key for key in self._opened if key[0] == patient]:
                del self._opened[opened]

    def forget_all(self) -> None:
        """Drop everything kept here: it is made again when it is asked for."""
        with self._lock:
            self._views.clear()

    def receipts(self, patient: str, access: Access, statuses: Sequence[str] = ()) -> list[Receipt]:
        """Every receipt of the patient (with one of these statuses), newest first."""
        found: list[Receipt] = []
        page = 0
        while True:
            rows, total = self.engine.receipts(patient, statuses=statuses, page=page, per_page=_ALL, access=access)
            found += rows
            page += 1
            if not rows or len(found) >= total:
                return found

    def await_settled(self, receipt: Receipt, wait_s: float, access: Access) -> Receipt:
        """The receipt once its work has settled, or as it is when `wait_s` seconds have passed.

        A waiting request holds one of the server's threads, so only some may wait at a time; the others get the
        receipt as it is.
        """
        self.former.wake()
        if not wait_s or receipt.status in SETTLED or not self._waiting.acquire(blocking=False):
            return receipt
        try:
            until = time.monotonic() + wait_s
            while receipt.status not in SETTLED and time.monotonic() < until:
                time.sleep(_POLL_S)
                try:
                    receipt = self.engine.receipt(receipt.subject.id, receipt.id, access=access)
                except NotFound:  # who sent it may write, and not read what became of it
                    return receipt
            return receipt
        finally:
            self._waiting.release()

    def await_all(self, receipts: Sequence[Receipt], wait_s: float, access: Access) -> list[Receipt]:
        """The receipts of one request, as `await_settled`; `wait_s` is for all of them together."""
        until = time.monotonic() + wait_s
        return [self.await_settled(each, max(0.0, until - time.monotonic()), access) for each in receipts]

    def session(self, patient: str, session: str, access: Access) -> Session:
        """A session, also one that was opened and has no turns yet. Raises NotFound."""
        try:
            return self.engine.session(patient, session, access=access)
        except NotFound:
            with self._lock:
                opened = self._opened.get((patient, session))
            if opened is None or not self.known(patient, access):
                raise
            return Session(session, patient, opened)

    def open_session(self, patient: str, session: str, access: Access) -> Session:
        """The session with this id. A new one is only remembered here (the last few thousand, while the server runs),
        because a session is stored with its first turn."""
        try:
            return self.session(patient, session, access)
        except NotFound:
            self.engine.patient(patient, access=access)
            check_new(session, "session")
            with self._lock:
                self._opened[patient, session] = self.now()
                while len(self._opened) > _KEPT_SESSIONS:
                    self._opened.popitem(last=False)
            return self.session(patient, session, access)

    def known(self, patient: str, access: Access) -> bool:
        """Is this patient registered, as far as this reader may know?"""
        try:
            self.engine.patient(patient, access=access)
        except NotFound:
            return False
        return True

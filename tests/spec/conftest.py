"""What every behaviour chapter asks for: an engine on SQLite, then on PostgreSQL, told by a clock that stands still."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest
from spec_patients import HandClock

from iamata import Engine
from iamata.engine import graphs
from iamata.language.scripted import ScriptedModel
from iamata.store import DatabaseStore

# The patient's key in every chapter, so that ids can be compared between engines.
KEY = bytes(range(32))
OpenEngine = Callable[..., Engine]


@pytest.fixture(autouse=True)
def _every_fold_is_taken_further(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small patients are folded anew each time; here they are taken further, as large ones are."""
    monkeypatch.setattr(graphs, "GROWS_FROM", 0)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def open_engine(make_store: Callable[..., DatabaseStore], clock: HandClock) -> OpenEngine:
    """`open_engine()`, or `open_engine("other")` for one on a second database. Same content, same ids; submissions are
    counted, or numbered by `ids`."""
    numbers = count()

    def open(name: str = "main", *, ids: Callable[[], str] = lambda: f"{next(numbers):020x}") -> Engine:
        store = make_store(name)
        store.keys.put("p", KEY)
        model = ScriptedModel([])  # refuses whatever it is asked; asked by `adjudicate` alone
        return Engine(store, store.keys, clock=clock, ids=ids, model=model, model_for=frozenset({"adjudication"}))

    return open


@pytest.fixture
def engine(open_engine: OpenEngine) -> Engine:
    return open_engine()

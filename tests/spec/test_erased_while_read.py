"""A patient who is erased and registered again in the midst of a read: nothing of before stands beside what is now."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from spec_patients import HandClock, bundle, condition

from iamata import Engine
from iamata.errors import NotFound
from iamata.store import DatabaseStore


@pytest.mark.parametrize("registered_again", [True, False])
def test_what_was_erased_while_it_was_loaded_is_in_no_answer(
    engine: Engine, clock: HandClock, monkeypatch: pytest.MonkeyPatch, registered_again: bool
) -> None:
    engine.ingest("p", bundle(condition("Asthma")), source="one")
    engine.graph("p")  # held from here on
    engine.ingest("p", bundle(condition("Gout", id="c2")), source="one")
    load = DatabaseStore.held

    def erased_meanwhile(store: DatabaseStore, patient: str, before: Any = None) -> Any:
        monkeypatch.setattr(DatabaseStore, "held", load)
        store.erase_patient(patient, clock.now)
        if registered_again:
            store.put_patient(patient, clock.wait(seconds=1))
        return load(store, patient, before)

    engine._graphs._held["p"] = one_version_ago(engine)
    monkeypatch.setattr(DatabaseStore, "held", erased_meanwhile)
    if registered_again:
        assert engine.graph("p").statements == {}
    else:
        with pytest.raises(NotFound):
            engine.graph("p")


def one_version_ago(engine: Engine) -> Any:
    """What was held one version ago, so that the next read loads what came since."""
    held = engine._graphs.held("p")
    return msgspec.structs.replace(held, version=held.version - 1)

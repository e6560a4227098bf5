"""A process that is killed beside the commit of one change; run by `test_store_audit_beside.py`.

`audit_victim.py <address> <keys> <verb> <before|after>`: prints the patient's version and how many contexts are kept,
then does the verb and dies before or after the commit that makes it durable.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from iamata import ContextRequest, Engine, Speaker, Turn, patient
from iamata.engine.origin import came_through
from iamata.model.audit import DoorName
from iamata.model.ruling import RulingKind


def bundle(*conditions: str) -> bytes:
    resources = [{"resourceType": "Patient", "id": "leo"}]
    resources += [{"resourceType": "Condition", "id": text, "code": {"text": text}} for text in conditions]
    return json.dumps({"resourceType": "Bundle", "entry": [{"resource": each} for each in resources]}).encode()


def work(engine: Engine, verb: str) -> None:
    if verb == "ingest":
        engine.ingest("leo", bundle("Asthma", "Migraine", "Gout"), source="ehr")
    elif verb == "append":
        engine.append("leo", "s", [Turn(Speaker.PATIENT, "I have a headache since Monday.")], whole=True)
    elif verb == "rule":
        one, two = sorted(engine.graph("leo").statements)[:2]
        engine.rule("leo", RulingKind.NOT_SAME, one, two)
    elif verb == "retract":
        engine.retract("leo", "ehr")
    else:
        engine.context(ContextRequest(subjects=(patient("leo"),), task="general", budget_tokens=200))


class Watching:
    """A transaction that notices the change it makes."""

    def __init__(self, tx: Any, change: str) -> None:
        self._tx, self._change, self.seen = tx, change, False

    def rows(self, name: str, /, **values: Any) -> Any:
        return self._tx.rows(name, **values)

    def run(self, name: str, /, **values: Any) -> int:
        self.seen |= name == self._change
        return int(self._tx.run(name, **values))

    def many(self, name: str, rows: Any, /) -> int:
        return int(self._tx.many(name, rows))


def main(address: str, keys: str, verb: str, moment: str) -> None:
    engine = Engine.open(address, keys=keys)
    engine.ingest("leo", bundle("Asthma", "Migraine"), source="ehr")
    store: Any = engine._store
    print(store.patient("leo").version, len(store.contexts_kept("leo")), flush=True)
    writing, change = store._database.writing, "put_context" if verb == "context" else "count_change"

    @contextmanager
    def killing() -> Iterator[Any]:
        with writing() as tx:
            watching = Watching(tx, change)
            yield watching
            if watching.seen and moment == "before":
                os.kill(os.getpid(), signal.SIGKILL)
        if watching.seen:
            os.kill(os.getpid(), signal.SIGKILL)

    store._database.writing = killing
    with came_through(DoorName.PYTHON, "it"):
        work(engine, verb)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Whatever was sent, and whatever of it is erased: what is left is what would have been without it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from iamata import Engine, Speaker, Turn
from iamata.model.erasure import Erasable
from iamata.store import MemoryKeyStore

BEGAN = datetime(2026, 2, 15, 10, tzinfo=UTC)
WORDS = ("Asthma", "Gout", "Migraine")
SAID = ("I have a headache.", "I stopped taking lisinopril.", "I am allergic to penicillin.", "Hello.")

records = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(WORDS), st.sampled_from(["active", "resolved"])),
    min_size=1,
    max_size=3,
)
documents = st.lists(st.tuples(st.sampled_from(["one", "two"]), records), min_size=2, max_size=5, unique_by=str)
talks = st.lists(st.lists(st.sampled_from(SAID), min_size=1, max_size=4), min_size=1, max_size=3)


def bundle(number: int, held: Sequence[tuple[int, str, str]]) -> bytes:
    """`number` makes two documents of one content two documents."""
    resources: list[dict[str, Any]] = [{"resourceType": "Patient", "id": "p"}]
    resources += [
        {
            "resourceType": "Condition",
            "id": f"c{id}",
            "subject": {"reference": "Patient/p"},
            "code": {"text": text},
            "clinicalStatus": {"coding": [{"code": status}]},
        }
        for id, text, status in held
    ]
    whole = {"resourceType": "Bundle", "id": f"b{number}", "entry": [{"resource": r} for r in resources]}
    return json.dumps(whole).encode()


def engine_with(sent: Sequence[Any], said: Sequence[Any], leave_out: tuple[str, int] = ("", -1)) -> Engine:
    """Everything at its own minute, whether the rest comes or not."""
    keys, now = MemoryKeyStore(), [BEGAN]
    keys.put("p", bytes(range(32)))
    numbers = count()
    engine = Engine.open(":memory:", keys=keys, clock=lambda: now[0], ids=lambda: f"{next(numbers):020x}")
    engine.put_patient("p")
    for number, (source, held) in enumerate(sent):
        now[0] += timedelta(minutes=1)
        if leave_out != ("document", number):
            engine.ingest("p", bundle(number, held), source=source)
    for number, turns in enumerate(said):
        now[0] += timedelta(minutes=1)
        if leave_out != ("session", number):
            engine.append("p", f"s{number}", [Turn(Speaker.PATIENT, text, said_at=now[0]) for text in turns])
    now[0] = BEGAN + timedelta(days=1)
    return engine


def state(engine: Engine) -> tuple[Any, ...]:
    graph = engine.graph("p")
    return (
        graph.hash,
        sorted(graph.statements),
        sorted(graph.memories),
        sorted(graph.documents),
        sorted((id, len(seen)) for id, seen in graph.sightings.items()),
        sorted(session for session, each in graph.sessions.items() if each.messages),
        sorted(graph.conflicts),
        sorted(graph.links),
    )


@settings(max_examples=12, deadline=None)
@given(sent=documents, said=talks, which=st.integers(0, 7))
def test_what_is_left_is_what_would_have_been_without_it(sent: list[Any], said: list[Any], which: int) -> None:
    of_documents = which < len(sent)
    number = which if of_documents else (which - len(sent)) % len(said)
    kind = "document" if of_documents else "session"
    with engine_with(sent, said) as erased, engine_with(sent, said, (kind, number)) as never:
        erased.graph("p")
        if of_documents:
            at = BEGAN + timedelta(minutes=number + 1)
            id = next(d.id for d in erased.graph("p").documents.values() if d.received_at == at)
            erased.erase("p", Erasable.DOCUMENT, id)
        else:
            erased.erase("p", Erasable.SESSION, f"s{number}")
        assert state(erased) == state(never)

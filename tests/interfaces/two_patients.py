"""Two patients in one engine, for what an agent may see of them: Leo, and Zoe, of whom nothing may get out."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import leo
import msgspec

from iamata import ContextRequest, Engine, patient
from iamata.interfaces.wire.requests import MessageBody, turns

CANARY = "Quaggabird"


def fill(engine: Engine) -> None:
    """Leo with his two senders and his mother's words; Zoe with the same, and the canary in names, notes, talk."""
    for whose in ("leo", "zoe"):
        for bundle in (leo.northside(), leo.eastgate()):
            text = json.dumps(bundle)
            engine.ingest(whose, (text if whose == "leo" else zoes(text)).encode())
        said = json.dumps(leo.talk())
        messages = msgspec.json.decode(said if whose == "leo" else zoes(said), type=list[MessageBody])
        engine.append(whose, f"talk-{whose}", turns(messages, "/messages"))


def zoes(text: str) -> str:
    for word in ("Zebrafish", "Otitis", "ear drum"):
        text = text.replace(word, CANARY)
    return text.replace("on Thursday", f"on Thursday at {CANARY}")


def things_of_zoe(engine: Engine) -> list[str]:
    """An id of every kind, an address of every depth and a citation that all lead to Zoe."""
    graph = engine.graph("zoe")
    context = engine.context(ContextRequest(subjects=(patient("zoe"),), task="general", budget_tokens=500))
    pools = (graph.facts, graph.statements, graph.memories, graph.passages, graph.documents, graph.links)
    hit = engine.search(patient("zoe"), CANARY)[0]
    return [next(iter(pool)) for pool in pools] + [f"{context.id}[1]", hit.address, "/patient/zoe/_index.md"]


def run(scene: Callable[..., Coroutine[Any, Any, Any]], *given: Any) -> Any:
    """Play a scene that waits."""
    return anyio.run(scene, *given)

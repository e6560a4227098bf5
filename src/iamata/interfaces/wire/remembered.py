"""How do memories look that are read together: recalled, in threads, with their links through time?"""

from __future__ import annotations

from collections.abc import Iterable

from iamata.interfaces.wire.origins import authority
from iamata.interfaces.wire.sessions import session_memory
from iamata.interfaces.wire.values import Json, given, instant
from iamata.model.graph import Graph
from iamata.model.thread import LinkState, Recalled, Thread


def recalled(of: Iterable[Recalled], graph: Graph) -> list[Json]:
    """Each memory with its thread and its links; with a task, how much it matters to it and what it weighs."""
    shown = list(of)
    ids = {each.memory.id for each in shown}
    links: dict[str, list[Json]] = {}
    for link in graph.links.values():
        if link.origin in ids:
            told = {"id": link.id, "type": link.type.value, "target": link.target, "rule": link.rule}
            links.setdefault(link.origin, []).append(given(told | {"conflictKind": link.conflict_kind}))
    return [
        session_memory(each.memory)
        | {"thread": each.thread, "links": links.get(each.memory.id, [])}
        | ({"relevance": each.relevance} if each.relevance is not None else {})
        | ({"authority": authority(each.authority)} if each.authority is not None else {})
        for each in shown
    ]


def thread(of: Thread) -> Json:
    """What was said of one thing, newest first, and what changed from one memory to the next."""
    return given({"id": of.id, "about": of.about, "experiencer": of.experiencer, "relation": of.relation}) | {
        "memories": [session_memory(each) for each in of.memories],
        "changed": [
            {"memory": each.memory, "field": each.field, "before": each.before, "after": each.after}
            for each in of.changed
        ],
    }


def link_state(of: LinkState) -> Json:
    return {
        "knownFrom": instant(of.known_from),
        "links": [
            given(
                {
                    "type": each.type.value,
                    "target": each.target,
                    "about": each.about,
                    "rule": each.rule,
                    "reasoning": each.reasoning,
                    "conflictKind": each.conflict_kind,
                }
            )
            | {"confidence": each.confidence}
            for each in of.links
        ],
    }

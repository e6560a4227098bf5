"""Do the documents of the certification tests come together as the certification says? From the C-CDA files themselves.

The gold (`recon_micro_cases/gold_onc.json`) names, for pairs of ONC's documents on reconciliation (170.315(b)(2)),
what a reconciled list holds, what is added to it and what of both documents is one. A list is right if each name begins
the name of exactly one affirmed fact and no other fact stands beside them; what only words of a note name is no entry
of a list. A thing that is to be merged is right if one fact holds it from both documents.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from iamata import Engine
from iamata.model.fact import Fact
from iamata.model.graph import Graph
from iamata.model.statement import Kind, Polarity

GOLD = Path("recon_micro_cases", "gold_onc.json")
_KINDS = {"allergies": Kind.ALLERGY, "medications": Kind.MEDICATION, "problems": Kind.CONDITION}


def faults(data: Path) -> dict[str, list[str]]:
    """Each pair of documents that is here, by name and folder, and what is wrong with what they come to."""
    found: dict[str, list[str]] = {}
    for name, gold in json.loads((data / GOLD).read_bytes()).items():
        base, update = gold["files"]
        for first in sorted(data.rglob(base)):
            second = first.with_name(update)
            if second.is_file():
                found[f"{name} {first.parent.name}"] = list(_faults(gold, first, second))
    return found


def _faults(gold: dict[str, Any], first: Path, second: Path) -> Iterator[str]:
    with Engine.open(":memory:") as engine:
        for source, file in (("own", first), ("other", second)):
            engine.ingest("p", file.read_bytes(), source=source, name=file.name)
        graph = engine.graph("p")
    for what, kind in _KINDS.items():
        facts = [fact for fact in graph.facts.values() if fact.kind is kind and fact.polarity is Polarity.AFFIRMED]
        facts = [fact for fact in facts if not all(graph.statements[id].is_mention for id in fact.members)]
        wanted = gold.get(what, [])
        if wanted and len(facts) != len(wanted):
            yield f"{len(facts)} {what} for {len(wanted)}"
        for name in (*wanted, *gold.get(f"{what}_added", ())):
            if len(_called(facts, name)) != 1:
                yield f"{name}: {len(_called(facts, name))} of {what}"
        for name in gold.get(f"{what}_merged", ()):
            if [_sources(graph, fact) for fact in _called(facts, name)] != [{"own", "other"}]:
                yield f"{name}: not one of both documents"
    for name in gold.get("duplicates_to_merge", ()):
        held = [_sources(graph, fact) for fact in _called(graph.facts.values(), name)]
        if held != [{"own", "other"}]:
            yield f"{name}: not one of both documents"


def _called(facts: Any, name: str) -> list[Fact]:
    said = name.partition(" (")[0].casefold()
    return [fact for fact in facts if fact.kind in _KINDS.values() and fact.display.casefold().startswith(said)]


def _sources(graph: Graph, fact: Fact) -> set[str]:
    return {graph.statements[id].source for id in fact.members}

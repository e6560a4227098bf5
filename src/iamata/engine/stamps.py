"""Under what is an answer given? The read stamp of a graph, a reader and what else the answer rests on."""

from __future__ import annotations

from collections.abc import Sequence

from iamata.connectors import registry
from iamata.formation import pipeline as formation
from iamata.language.tokens import token_counter
from iamata.model.entry import Entry
from iamata.model.graph import Graph
from iamata.model.stamp import ReadStamp
from iamata.policy.rules import packaged
from iamata.terminology.tables import knowledge_version


def stamp_of(
    graph: Graph,
    view: str,
    *,
    profile: str = "",
    tokenizer: str = "",
    entries: Sequence[Entry] = (),
    rules: str = "",
) -> ReadStamp:
    """The stamp; `view` is the key of what the reader sees, `rules` the version of the policy (default: the packaged
    one). Of each subject of `entries` the versions add up, so that a new version of any of them shows."""
    others = {str(entry.subject): 0 for entry in entries}
    for entry in entries:
        others[str(entry.subject)] += entry.version
    moment = graph.moment
    return ReadStamp(
        subjects=((str(graph.subject), graph.version), *sorted(others.items())),
        knowledge=knowledge_version(),
        reader=f"{registry.READERS_VERSION} {formation.FOLD_VERSION}",
        profile=profile,
        policy=rules or packaged().version,
        visible=view,
        tokenizer=tokenizer or token_counter().name,
        true_at=moment.true_at.isoformat(),
        known_at=moment.known_at.isoformat() if moment.known_at else "",
    )

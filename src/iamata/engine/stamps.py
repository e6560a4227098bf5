"""Under what is an answer given? The read stamp of a graph, a reader and what else the answer rests on."""

from __future__ import annotations

from collections.abc import Sequence

from iamata.assembly.entry_tree import EntryTree
from iamata.connectors import registry
from iamata.formation import pipeline as formation
from iamata.language.tokens import token_counter
from iamata.model.graph import Graph
from iamata.model.stamp import ReadStamp
from iamata.policy.rules import packaged
from iamata.policy.view import EVERYTHING
from iamata.terminology.tables import knowledge_version


def stamp_of(
    graph: Graph,
    view: str,
    *,
    profile: str = "",
    tokenizer: str = "",
    others: Sequence[tuple[str, int]] = (),
    rules: str = "",
) -> ReadStamp:
    """The stamp; `view` is the key of what the reader sees, `rules` the version of the policy (default: the packaged
    one). `others` are subjects of other scopes, each with how often its entries have changed."""
    moment = graph.moment
    return ReadStamp(
        subjects=((str(graph.subject), graph.version), *sorted(others)),
        knowledge=knowledge_version(),
        reader=f"{registry.READERS_VERSION} {formation.FOLD_VERSION}",
        profile=profile,
        policy=rules or packaged().version,
        visible=view,
        tokenizer=tokenizer or token_counter().name,
        true_at=moment.true_at.isoformat(),
        known_at=moment.known_at.isoformat() if moment.known_at else "",
    )


def shelf_stamp(tree: EntryTree, *, rules: str = "") -> ReadStamp:
    """The stamp of a read of one subject's entries."""
    moment = tree.moment
    return ReadStamp(
        subjects=((str(tree.subject), tree.version),),
        knowledge="",
        reader="entries/1",
        profile="",
        policy=rules or packaged().version,
        visible=EVERYTHING,
        tokenizer=token_counter().name,
        true_at=moment.true_at.isoformat(),
        known_at=moment.known_at.isoformat() if moment.known_at else "",
    )

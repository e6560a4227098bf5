"""Under what is an answer given? The read stamp of a graph, a reader and what else the answer rests on."""

from __future__ import annotations

from collections.abc import Sequence

from iamata.assembly.entry_tree import EntryTree
from iamata.connectors import registry
from iamata.formation import pipeline as formation
from iamata.language.tokens import token_counter
from iamata.model.access import Access
from iamata.model.graph import Graph
from iamata.model.stamp import ReadStamp
from iamata.policy import access as policy
from iamata.terminology.tables import knowledge_version


def stamp_of(
    graph: Graph,
    access: Access,
    *,
    profile: str = "",
    tokenizer: str = "",
    others: Sequence[tuple[str, int]] = (),
) -> ReadStamp:
    """The stamp. `others` are subjects of other scopes, each with how often its entries have changed."""
    moment = graph.moment
    return ReadStamp(
        subjects=((str(graph.subject), graph.version), *sorted(others)),
        knowledge=knowledge_version(),
        reader=f"{registry.READERS_VERSION} {formation.FOLD_VERSION}",
        profile=profile,
        policy=policy.POLICY_VERSION,
        visible=policy.view_key(access),
        tokenizer=tokenizer or token_counter().name,
        true_at=moment.true_at.isoformat(),
        known_at=moment.known_at.isoformat() if moment.known_at else "",
    )


def shelf_stamp(tree: EntryTree, access: Access) -> ReadStamp:
    """The stamp of a read of one subject's entries."""
    moment = tree.moment
    return ReadStamp(
        subjects=((str(tree.subject), tree.version),),
        knowledge="",
        reader="entries/1",
        profile="",
        policy=policy.POLICY_VERSION,
        visible=policy.view_key(access),
        tokenizer=token_counter().name,
        true_at=moment.true_at.isoformat(),
        known_at=moment.known_at.isoformat() if moment.known_at else "",
    )

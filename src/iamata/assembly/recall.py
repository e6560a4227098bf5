"""Which memories does somebody want: of a session, a kind, a thread, a task, about words? In which order?

Without a task or a question the newest come first; with a question those that answer it best; with a task those that
matter to it, times their authority for it.
"""

from __future__ import annotations

from collections.abc import Collection

from iamata.assembly import pipeline, ranking
from iamata.assembly.retrieval import Index
from iamata.assembly.threads import thread_id, when_said
from iamata.assembly.tree import Tree
from iamata.authority import Profile
from iamata.model.memory import Memory, MemoryKind
from iamata.model.stamp import Moment
from iamata.model.thread import Recalled


def recall(
    tree: Tree,
    *,
    index: Index,
    moment: Moment,
    session: str = "",
    kinds: Collection[MemoryKind] = (),
    thread: str = "",
    query: str = "",
    profile: Profile | None = None,
) -> list[Recalled]:
    """All that pass, best first; ties by id. With a profile, what does not matter to its task is left out."""
    found = [
        memory
        for memory in tree.graph.memories.values()
        if session in ("", memory.session) and (not kinds or memory.kind in kinds) and thread in ("", thread_id(memory))
    ]
    scores = index.scores(query) if query else {}
    if query:
        found = [memory for memory in found if memory.id in scores]
    if profile is not None:
        return _for_task(tree, found, scores, index, profile, moment)
    if query:
        found.sort(key=lambda memory: (-scores[memory.id], memory.id))
    else:
        found.sort(key=lambda memory: when_said(memory, tree.neighbours.messages), reverse=True)
    return [Recalled(memory=memory, thread=thread_id(memory)) for memory in found]


def _for_task(
    tree: Tree, found: list[Memory], scores: dict[str, float], index: Index, profile: Profile, moment: Moment
) -> list[Recalled]:
    cards = ranking.cards(tree.graph)
    best = max(scores.values(), default=1.0)
    valued: list[tuple[float, Recalled]] = []
    for memory in found:
        relevance = ranking.relevance(cards[memory.id], profile)
        if scores:
            relevance = ranking.asked(relevance, scores[memory.id] / best)
        if relevance < ranking.LEAST_RELEVANCE:
            continue
        authority = pipeline.weigh(tree, memory.id, index=index, profile=profile, aspect=None, moment=moment)
        recalled = Recalled(memory=memory, thread=thread_id(memory), relevance=round(relevance, 6), authority=authority)
        valued.append((relevance * authority.weight, recalled))
    valued.sort(key=lambda pair: (-round(pair[0], 6), pair[1].memory.id))
    return [recalled for _, recalled in valued]

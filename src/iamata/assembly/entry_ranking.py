"""Which entries and passages of the other scopes deserve a line in a context, in which order, and in which words?

Guardrails bind and are told whole; a purpose comes next; the rest by how much it matters to task and question. Of an
entry with a file its passages are told where they answer the question, else where the file stands. What people and
agents wrote is quoted: a preference is data about the reader, never an instruction to whoever reads the context.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from iamata.assembly import ranking
from iamata.assembly.entry_index import EntryIndex
from iamata.assembly.entry_pages import said
from iamata.assembly.entry_tree import PASSAGES, EntryTree, kind_rows
from iamata.assembly.wording import counted, inert, name, quote, short
from iamata.authority.evidence import folded
from iamata.model.attribution import AttributionKind
from iamata.model.context import LeftOut, LeftOutReason
from iamata.model.entry import Entry, EntryPassage

_ALWAYS, _FIRST = "always", "first"
# A passage that does not answer at all is told nowhere; of those that do, the best few of one file.
_MOST_PASSAGES: Final = 12
_TASK_SHARE: Final = 0.5
_LONGEST_PASSAGE: Final = 1_200


class Candidate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A line that could be told. `item` is what it cites, `relevance` 0..1; `rank` 0 binds, 1 comes first, 2 is
    ranked."""

    item: str
    entry: Entry
    words: str
    address: str
    rank: int
    relevance: float


def candidates(shelves: Sequence[EntryIndex], task: str, query: str) -> list[Candidate]:
    """What could be told of these subjects, each item once: what binds, what comes first, then the most relevant first;
    ties by address."""
    found: list[Candidate] = []
    for index in shelves:
        found += _of(index, task, query)
    return sorted(found, key=lambda each: (each.rank, -round(each.relevance, 6), each.address, each.item))


def _of(index: EntryIndex, task: str, query: str) -> list[Candidate]:
    tree = index.tree
    scores = index.scores(query or task.replace("_", " "))
    best = max(scores.values(), default=0.0)
    share = 1.0 if query else _TASK_SHARE
    found = []
    for entry in tree.entries.values():
        row = kind_rows()[entry.kind]
        rank = {_ALWAYS: 0, _FIRST: 1}.get(row.binding, 2)
        base = relevance(entry, task, query)
        told = [p for p in entry.passages if query and scores.get(p.id, 0.0) > 0.0] if rank else list(entry.passages)
        told = sorted(told, key=lambda p: -round(scores.get(p.id, 0.0), 6))[: _MOST_PASSAGES if rank else None]
        if entry.text.strip() or not told:
            value = ranking.asked(base, share * scores.get(entry.id, 0.0) / best) if best and rank else base
            found.append(_candidate(tree, entry, None, rank, max(value, base if rank < 2 else 0.0)))
        for passage in told:
            value = ranking.asked(base, scores.get(passage.id, 0.0) / best) if best and rank else base
            found.append(_candidate(tree, entry, passage, rank, value))
    return found


def relevance(entry: Entry, task: str, query: str) -> float:
    """How much an entry matters, 0..1: by its kind, and the words its title and tags share with task and question."""
    asked = set(folded(f"{task.replace('_', ' ')} {query}").split())
    told = set(folded(f"{entry.title} {' '.join(tag.replace('_', ' ') for tag in entry.tags)}").split())
    return min(1.0, kind_rows()[entry.kind].relevance + 0.3 * len(asked & told))


def _candidate(tree: EntryTree, entry: Entry, passage: EntryPassage | None, rank: int, relevance: float) -> Candidate:
    item = passage.id if passage is not None else entry.id
    address = tree.address_of(item)
    return Candidate(
        item=item,
        entry=entry,
        words=_words(entry, passage, address, whole=rank < 2),
        address=address,
        rank=rank,
        relevance=min(1.0, relevance),
    )


def _words(entry: Entry, passage: EntryPassage | None, address: str, *, whole: bool) -> str:
    """`Guideline (prescribed): Hypertension › Treatment: Begin with … [1]`; the bracket is the line's own first."""
    row = kind_rows()[entry.kind]
    head = f"{entry.kind.value.replace('_', ' ').capitalize()} ({row.aspect})"
    if entry.attribution.kind is AttributionKind.USER and entry.attribution.author.display:
        head += f" of {name(entry.attribution.author.display)}"
    if passage is not None:
        path = " › ".join(name(each) for each in passage.heading)
        title = path if path.startswith(name(entry.title)) else " › ".join(filter(None, (name(entry.title), path)))
        return f"{head}: {title}: {_told(entry, passage.text, _LONGEST_PASSAGE)} [1]"
    if not entry.text.strip():
        return f"{head}: {name(entry.title)}, {counted(len(entry.passages), 'passage')}: search or read {address} [1]"
    text = said(entry, entry.text) if whole else said(entry, short(entry.text))
    return f"{head}: {name(entry.title)}: {text} [1]"


def _told(entry: Entry, text: str, longest: int) -> str:
    """The words of a passage, as far as a line goes."""
    plain = " ".join(text.split())
    if len(plain) > longest:
        kept = (
            plain[: plain.rfind(" ", longest // 2, longest)]
            if " " in plain[longest // 2 : longest]
            else plain[:longest]
        )
        plain = f"{kept} … ({len(plain) - len(kept)} more characters)"
    return inert(plain) if entry.attribution.kind is AttributionKind.SYSTEM else quote(plain)


def left_out(shelves: Sequence[EntryIndex], found: Sequence[Candidate], told: set[str], least: float) -> list[LeftOut]:
    """What is told in no line, by place and reason: how many entries; of an entry of which a part is told, how many of
    its passages. What was relevant enough had no room, the rest did not matter."""
    wanted = {each.item for each in found if each.relevance >= least}
    counts: dict[tuple[str, str, LeftOutReason], int] = {}
    for index in shelves:
        tree = index.tree
        for entry in tree.entries.values():
            row = kind_rows()[entry.kind]
            items = {entry.id, *(passage.id for passage in entry.passages)}
            if items & told:
                path = (*tree.places[entry.id], PASSAGES)
                place, hint = tree.address(path, directory=True), f"the rest of {name(entry.title)}"
                room = [p.id in wanted for p in entry.passages if p.id not in told]
            else:
                place, hint = tree.address((row.place,), directory=not row.single), row.hint
                room = [bool(items & wanted)]
            for fitted in room:
                key = (place, hint, LeftOutReason.BUDGET if fitted else LeftOutReason.RELEVANCE)
                counts[key] = counts.get(key, 0) + 1
    return [LeftOut(place, hint, n, reason) for (place, hint, reason), n in counts.items()]

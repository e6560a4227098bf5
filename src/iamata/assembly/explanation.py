"""Why does this stand here? From any item down to its authors, its decisions and the bytes it came from."""

from __future__ import annotations

from collections.abc import Callable

from iamata.errors import NotFound
from iamata.model.document import Document
from iamata.model.entry import Entry, EntryPassage, Inferred
from iamata.model.graph import Graph
from iamata.model.provenance import Place
from iamata.model.reading import Explanation, Seen, Testimony
from iamata.model.sighting import Sighting

Excerpt = Callable[[Document, Place], str]


def explain(graph: Graph, item: str, *, address: str, summary: str, excerpt: Excerpt) -> Explanation:
    """The proof of an item: fact, statement, memory, passage, document, conflict, link or decision.

    Testimonies stand in the order of the fact's members, then its history. Raises NotFound for an id of none of these.
    """
    fact = graph.resolve(item)
    if fact is not None:
        named = graph.statements.get(item)
        chosen = [(named.id, "member")] if named else [(id, "member") for id in fact.members] + list(fact.history)
        ids = {*fact.members, *(id for id, _ in fact.history)}
        return Explanation(
            item=item,
            what="statement" if named else fact.kind,
            address=address,
            summary=summary,
            testimonies=tuple(_testimony(graph, id, role, excerpt) for id, role in chosen),
            decisions=tuple(d for d in graph.decisions.values() if d.left in ids or d.right in ids),
            conflicts=fact.conflicts,
            links=tuple(link.id for link in graph.links.values() if fact.id in (link.origin, link.target)),
        )
    if item in graph.statements:
        return Explanation(
            item=item,
            what="statement",
            address=address,
            summary=summary,
            testimonies=(_testimony(graph, item, "no fact rests on it", excerpt),),
        )
    if memory := graph.memories.get(item):
        return Explanation(
            item=item,
            what=f"memory:{memory.kind}",
            address=address,
            summary=summary,
            quote=memory.quote,
            links=tuple(link.id for link in graph.links.values() if item in (link.origin, link.target)),
        )
    if item in graph.passages or item in graph.documents:
        quote = graph.passages[item].text if item in graph.passages else ""
        what = "passage" if item in graph.passages else "document"
        return Explanation(item=item, what=what, address=address, summary=summary, quote=quote)
    spoken = {conflict.id: conflict for conflict in graph.spoken_conflicts()}
    if conflict := graph.conflicts.get(item) or spoken.get(item):
        sides = [id for side in conflict.sides for id in side.items]
        return Explanation(
            item=item,
            what=f"conflict:{conflict.kind}",
            address=address,
            summary=summary,
            testimonies=tuple(_testimony(graph, id, "side", excerpt) for id in sides if id in graph.statements),
            conflicts=(item,),
        )
    raise NotFound(what="item", id=item)


def of_entry(entry: Entry, passage: EntryPassage | None = None, *, address: str, excerpt: str = "") -> Explanation:
    """An item of another scope rests on no statement: its words are its own proof, its author the entry's. Of a passage
    `excerpt` is what stands at its place in the file."""
    author = entry.attribution
    by = f"{author.author.role}{f' {author.author.display}' if author.author.display else ''}"
    summary = f"{entry.title} ({author.kind}, {by}, version {entry.version})"
    if passage is None:
        return Explanation(
            item=entry.id, what=f"entry:{entry.kind}", address=address, summary=summary, quote=entry.text
        )
    place = passage.pointer if not passage.end else f"{passage.pointer} [{passage.start}:{passage.end}]"
    heading = " › ".join(passage.heading)
    summary += f", {heading or 'passage'} in {entry.document} at {place}"
    what = f"entry_passage:{entry.kind}"
    return Explanation(item=passage.id, what=what, address=address, summary=summary, quote=excerpt or passage.text)


def of_inference(of: Inferred, *, address: str) -> Explanation:
    """What an agent inferred rests on no statement of its own: `links` names what it was derived from, `conflicts` what
    of that says something else since."""
    entry = of.entry
    who = entry.attribution.author.display or entry.attribution.author.reference
    stale = f", stale: {len(of.changed)} of {len(entry.derived_from)} sources have changed" if of.stale else ""
    return Explanation(
        item=entry.id,
        what=f"entry:{entry.kind}",
        address=address,
        summary=f"{entry.title} ({entry.attribution.kind}, {who}, version {entry.version}{stale})",
        links=tuple(basis.item for basis in entry.derived_from),
        conflicts=of.changed,
        quote=entry.text,
    )


def _testimony(graph: Graph, id: str, role: str, excerpt: Excerpt) -> Testimony:
    seen = []
    for sighting in graph.sightings.get(id, ()):
        document = graph.documents.get(sighting.document)
        if document is not None:
            seen.append(
                Seen(
                    document.id,
                    document.media_type,
                    document.source,
                    sighting.received_at.isoformat(),
                    sighting.place,
                    _words(graph, sighting) if graph.statements[id].is_mention else excerpt(document, sighting.place),
                )
            )
    return Testimony(graph.statements[id], graph.attributions[id], tuple(seen), role)


def _words(graph: Graph, mention: Sighting) -> str:
    """The words that mention something, out of the passage they stand in: a document's bytes may hold them encoded."""
    place = mention.place
    start, end = place.start or 0, place.end or 0
    for id, passage in graph.passages.items():
        within = passage.start <= start and end <= passage.start + len(passage.text)
        if within and any(
            (seen.document, seen.place.pointer) == (mention.document, place.pointer) for seen in graph.sightings[id]
        ):
            return passage.text[start - passage.start : end - passage.start]
    return ""

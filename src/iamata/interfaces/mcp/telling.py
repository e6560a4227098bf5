"""How does an answer read to an agent? Text for each kind of answer; what people said stands in quotation marks.

The structured content beside the text is the JSON of `wire`; nothing is said here that is not in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from iamata.interfaces.wire.values import Json
from iamata.model.attribution import Attribution
from iamata.model.conflict import Conflict
from iamata.model.entry import Entry
from iamata.model.graph import Graph
from iamata.model.link import Link
from iamata.model.memory import Memory
from iamata.model.reading import Explanation, Hit, Listing, Node, Page, Testimony


def listing(of: Listing, *, first: int, total: int) -> str:
    """The lines of a directory; `first` is the number of the first of them among all."""
    lines = [_node(of.address, node) for node in of.nodes]
    return "\n".join([of.address, *lines, *_more(first, len(of.nodes), total)])


def _node(directory: str, of: Node) -> str:
    name = of.name if of.address == directory + of.name else of.address
    size = f" ({of.tokens} tokens)" if of.tokens else ""
    return f"- {name}{size}: {of.hint}"


def page(of: Page) -> str:
    """The text as it was counted, without anything around it."""
    return of.text


def hits(found: Sequence[Hit]) -> str:
    if not found:
        return "Nothing found. Try other words, or browse from `/`."
    return "\n".join(
        f'- {hit.kind} {_flat(hit.title)}: "{_flat(hit.snippet)}" [{hit.item}] at {hit.address}' for hit in found
    )


def entries(found: Sequence[Entry], *, first: int, total: int) -> str:
    """A line for each entry, with who says so; what people and agents wrote in quotation marks."""
    if not found and not first:
        return "No entries of this kind are in force."
    lines = [
        f"- {each.kind} {_flat(each.title)} ({each.attribution.kind}, version {each.version}"
        f"{f', {len(each.passages)} passages' if each.passages else ''}) [{each.id}]"
        + (f': "{_flat(each.text)[:300]}"' if each.text else "")
        for each in found
    ]
    return "\n".join([*lines, *_more(first, len(found), total, what="entries")])


def info(of: Json, *, conflicts: int) -> str:
    """Who it is, how much is held, and where to begin."""
    stats = of["stats"]
    who = ", ".join(filter(None, (of["name"] or "name not recorded", of["gender"], _born(of["birthDate"]))))
    counts = f"{stats['entities']} facts, {stats['events']} events, {stats['memories']} memories from conversations"
    return f"{who}\n{counts}; {conflicts} open conflicts.\nBegin with read_patient `/_index.md`."


def _born(date: str | None) -> str:
    return f"born {date}" if date else ""


def memories(found: Sequence[Memory], links: Sequence[Link], *, total: int) -> str:
    if not found:
        return "No memories of this kind."
    lines = [_memory(each, [link for link in links if link.origin == each.id]) for each in found]
    return "\n".join([*lines, *_more(0, len(found), total)])


def _memory(of: Memory, links: Iterable[Link]) -> str:
    when = (of.said_at or of.received_at).date().isoformat()
    about = of.concept.display
    words = [of.kind.replace("_", " "), f"{about} {of.change}".strip(), of.since and f"since {of.since}"]
    if of.experiencer != "patient":
        words.append(f"about {of.relation or of.experiencer}, not the patient")
    if of.polarity != "affirmed":
        words.append(of.polarity.value)
    if not of.certain:
        words.append("not certain")
    ties = [f"; {link.type} {link.target}" for link in links if link.target]
    return (
        f'- {when}, {_who(of.attribution)}: {", ".join(filter(None, words))}: "{_flat(of.quote)}" [{of.id}]'
        + "".join(ties)
    )


def conflicts(found: Sequence[Conflict], graph: Graph, *, first: int, total: int) -> str:
    if not total:
        return "No open conflicts."
    lines: list[str] = []
    for each in found:
        fact = graph.facts.get(each.fact)
        lines.append(f"- {fact.display if fact else each.fact}: {each.kind} [{each.fact}]")
        for side in each.sides:
            said = _flat(side.says)
            if any(item in graph.memories for item in side.items):
                said = f'"{said}"'
            lines.append(f"  - {said}: {'; '.join(_said_by(graph, side.items))}")
    return "\n".join([*lines, *_more(first, len(found), total, what="conflicts")])


def _said_by(graph: Graph, items: Iterable[str]) -> list[str]:
    told = []
    for item in items:
        memory = graph.memories.get(item)
        by = memory.attribution if memory is not None else graph.attributions.get(item)
        told.append(f"{_who(by) if by else 'unknown'} [{item}]")
    return told


def _who(of: Attribution) -> str:
    return f"{of.author.display or of.author.role} ({of.kind}{_caregiver(of)})"


def _caregiver(of: Attribution) -> str:
    """The relationship that the rule of attribution read, if it read one: `speaker=caregiver(mother)`."""
    _, opened, rest = of.because.partition("caregiver(")
    return f", {rest.rstrip(')')}" if opened and rest.rstrip(")") else ""


def explanation(of: Explanation, *, testimonies: int) -> str:
    """From the item down to the bytes; `testimonies` is how many there are, told or not."""
    lines = [of.summary, f"{of.what} {of.item}, at {of.address}"]
    if of.quote:
        lines.append(f'as said: "{_flat(of.quote)}"')
    if of.authority is not None:
        factors = ", ".join(f"{each.name} {each.log_odds:+.2f}" for each in of.authority.factors if each.log_odds)
        lines.append(f"weight {of.authority.weight:.2f} for {of.authority.task}, on {of.authority.aspect}: {factors}")
    for number, each in enumerate(of.testimonies, start=1):
        lines += _testimony(number, each)
    if of.conflicts:
        lines.append(f"conflicts: {', '.join(of.conflicts)}")
    return "\n".join([*lines, *_more(0, len(of.testimonies), testimonies, what="statements")])


def _testimony(number: int, of: Testimony) -> list[str]:
    by = of.attribution
    lines = [f"{number}. {of.statement.id} ({of.role}), by {_who(by)}; rule {by.rule}, because {by.because}"]
    for seen in of.seen:
        where = seen.place.pointer or "the whole document"
        lines.append(f"   in {seen.document} of {seen.source}, received {seen.received_at}, at {where}")
        if seen.excerpt:
            lines.append(f'   "{_flat(seen.excerpt)}"')
    return lines


def _flat(text: str) -> str:
    """On one line, so that what others wrote cannot look like lines of ours."""
    return " ".join(text.split())


def _more(first: int, shown: int, total: int, *, what: str = "lines") -> list[str]:
    """What is not shown, if anything."""
    if first + shown >= total and not first:
        return []
    if not shown:
        return [f"(nothing on this page; there are {total} {what})"]
    return [f"({what} {first + 1} to {first + shown} of {total})"]

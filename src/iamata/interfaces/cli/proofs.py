"""How is an explanation shown? From an item down to its authors, the comparisons that joined it, and the bytes."""

from __future__ import annotations

from typing import Any

from iamata.interfaces.cli.clashes import author_words, clashes, named_in_talk, voices
from iamata.interfaces.cli.printing import listed, put, put_hanging
from iamata.interfaces.wire.origins import attribution as attribution_json
from iamata.interfaces.wire.payloads import display
from iamata.model.clinical_time import Precision
from iamata.model.decision import Verdict
from iamata.model.graph import Graph
from iamata.model.link import Link
from iamata.model.reading import Explanation, Testimony
from iamata.model.statement import Polarity, Statement

_LINKS_SHOWN = 8


def put_explanation(found: Explanation, graph: Graph, *, excerpt_chars: int | None = None) -> None:
    """An explanation from the item down to the bytes. `excerpt_chars`: what is shown of each excerpt; None: all."""
    put(found.summary or found.item, style="bold")
    put(f"{found.what.replace('_', ' ').replace(':', ', ')} {found.item}, at {found.address}")
    if found.quote:
        put_hanging("   said   ", f"“{found.quote}”")
    memory = graph.memories.get(found.item)
    if memory is not None:
        attribution = memory.attribution
        put_hanging("   said by", author_words(attribution, named_in_talk(graph, memory)))
        put_hanging("   rule   ", f"{attribution.rule}, because {attribution.because} ({attribution.certainty.value})")
        put_hanging("   in     ", f"session {memory.session}, message {memory.message} [{memory.start}:{memory.end}]")
    for number, testimony in enumerate(found.testimonies, start=1):
        put_testimony(number, testimony, excerpt_chars)
    for decision in (each for each in found.decisions if each.verdict is Verdict.MERGE):
        steps = ", ".join(f"{step.step} {step.outcome}" for step in decision.evidence)
        by = f", by {decision.by}" if decision.by else ""
        why = f"rule {decision.rule}, {decision.quality.value}{by} ({steps})"
        put_hanging("   one thing", f"{decision.left} and {decision.right}: {why}")
    for each in clashes(graph):
        if set(each.ids) & {*found.conflicts, *found.links}:
            sides = listed(f"{stand.says} ({listed(voice.who for voice in stand.voices)})" for stand in each.stands)
            put_hanging("   conflict", f"{', '.join(kind.replace('_', ' ') for kind in each.kinds)}: {sides}")
    links = [graph.links[id] for id in found.links if id in graph.links]
    for link in links[:_LINKS_SHOWN]:
        put_hanging("   link", _link_words(link, graph))
    if links[_LINKS_SHOWN:]:
        put_hanging("   link", f"and {len(links) - _LINKS_SHOWN} more (--json lists all)")


def said_json(found: Explanation, graph: Graph) -> dict[str, Any]:
    """Who said it and where, for a memory; nothing for anything else."""
    memory = graph.memories.get(found.item)
    if memory is None:
        return {}
    voice = voices(graph, [memory.id])[0]
    return {
        **attribution_json(memory.attribution),
        "session": memory.session,
        "message": memory.message,
        "start": memory.start,
        "end": memory.end,
        "date": voice.day,
    }


def _link_words(link: Link, graph: Graph) -> str:
    why = link.reasoning or link.rule
    return f"{_called(link.origin, graph)} —{link.type.value.replace('_', ' ')}→ {_called(link.target, graph)} ({why})"


def _called(id: str, graph: Graph) -> str:
    memory, fact = graph.memories.get(id), graph.resolve(id)
    if memory is not None:
        return f"“{memory.quote}”"
    return f"{fact.kind.value.replace('_', ' ')} {fact.display}" if fact is not None else id


def put_testimony(number: int, of: Testimony, excerpt_chars: int | None) -> None:
    """One statement: what it says, who says so by which rule, and where it stands."""
    attribution = of.attribution
    put_hanging(f"{number}.", f"{_says(of.statement)}{'' if of.role == 'member' else f'  [{of.role}]'}")
    directness = attribution.directness.value
    how = f", {directness}" if directness != attribution.author.role.value else ""
    put_hanging("   said by", f"{author_words(attribution)}{how}")
    because = f", because {attribution.because}" if attribution.because else ""
    put_hanging("   rule   ", f"{attribution.rule}{because} ({attribution.certainty.value})")
    for seen in of.seen:
        put_hanging("   in     ", f"{seen.source}, {seen.document}, received {seen.received_at[:16]}Z")
        put_hanging("   at     ", f"{seen.place}")
        if seen.excerpt:
            clipped = seen.excerpt if excerpt_chars is None else " ".join(seen.excerpt.split())
            if excerpt_chars is not None and len(clipped) > excerpt_chars:
                clipped = f"{clipped[:excerpt_chars]} … ({excerpt_chars} of {len(clipped):,} characters)"
            put(clipped, indent=11, style="dim")


def _says(statement: Statement) -> str:
    parts = (
        f"{statement.kind.value.replace('_', ' ')} {display(statement)}".strip(),
        "denied" if statement.polarity is Polarity.DENIED else "",
        statement.status,
        statement.verification.value,
        *(f"{timed.clock.value} {timed.at}" for timed in statement.times if _dated(timed.start)),
    )
    return ", ".join(part for part in parts if part)


def _dated(time: object) -> bool:
    return getattr(time, "precision", Precision.TEXT) is not Precision.TEXT

"""How is told what an agent inferred of a patient? One line, and its page with what it rests on.

Always in quotation marks with the agent's name: an inference is an agent's word and no fact. What it rests on that says
something else since is named, and the line is marked stale.
"""

from __future__ import annotations

from typing import Final

from iamata.assembly.citations import Citations
from iamata.assembly.speakers import author_words
from iamata.assembly.tree import Tree
from iamata.assembly.wording import counted, name, quote, short
from iamata.model.entry import Inferred

_SHOWN: Final = 3


def inference_line(tree: Tree, of: Inferred, citations: Citations, *, whole: bool = False) -> str:
    """`Summary, Blood pressure: an AI agent (triage) 2026-02-15: "…", from 2 items; ⚠ stale: … [4]`."""
    entry = of.entry
    who = author_words(tree, entry.attribution)
    text = quote(entry.text if whole else short(entry.text))
    day = entry.recorded_at.date().isoformat()
    words = f"{entry.kind.value.capitalize()}, {name(entry.title)}: {who} {day}: {text}"
    words += f", from {counted(len(entry.derived_from), 'item')}"
    return f"{words}{stale_words(tree, of)}{citations.cite(entry.id)}"


def stale_words(tree: Tree, of: Inferred) -> str:
    """`; ⚠ stale: Lisinopril has changed since`; empty while nothing has."""
    if not of.stale:
        return ""
    named = [about(tree, item) for item in of.changed[:_SHOWN]]
    more = len(of.changed) - len(named)
    rest = f" and {counted(more, 'other')}" if more > 0 else ""
    has = "has" if len(of.changed) == 1 else "have"
    return f"; ⚠ stale: {', '.join(named)}{rest} {has} changed since"


def about(tree: Tree, item: str) -> str:
    """A source of an inference in a few words."""
    graph = tree.graph
    fact = graph.resolve(item)
    if fact is not None:
        return name(fact.display)
    statement, memory, passage = graph.statements.get(item), graph.memories.get(item), graph.passages.get(item)
    if statement is not None:
        return name(statement.concept.display) if statement.concept else statement.kind.value.replace("_", " ")
    if memory is not None:
        return f"what was said of {name(memory.concept.display)}"
    if passage is not None:
        return name(passage.title) or "a note"
    return f"a file of {name(graph.documents[item].source)}" if item in graph.documents else "what is no longer held"

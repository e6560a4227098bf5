"""How does what became different look: as JSON, and as Markdown to read?"""

from __future__ import annotations

from iamata.interfaces.wire.reports import plain
from iamata.interfaces.wire.values import Json, given, instant, instant_or_none
from iamata.model.conflict import Conflict
from iamata.model.difference import Difference, FactChange, Named, Regrouping, Report
from iamata.model.graph import Graph


def changes(report: Report) -> Json:
    """What became different since `since` (null: since nothing), by kind of change; `total` counts all of them."""
    of = report.changes or Difference()
    moment = report.graph.moment
    lists = {
        "added": [_named(each) for each in of.added],
        "gone": [_named(each) for each in of.gone],
        "changed": [_change(each) for each in of.changed],
        "merged": [_regrouping(each) for each in of.merged],
        "parted": [_regrouping(each) for each in of.parted],
        "conflictsOpened": [_conflict(each) for each in of.conflicts_opened],
        "conflictsClosed": [_conflict(each) for each in of.conflicts_closed],
        "memoriesAdded": [_memory(report.graph, each) for each in of.memories_added],
        "memoriesGone": [{"id": each} for each in of.memories_gone],
    }
    return {
        "since": instant_or_none(report.since),
        "knownAt": instant_or_none(moment.known_at),
        "trueAt": instant(moment.true_at),
        "total": sum(map(len, lists.values())),
        **lists,
    }


def _named(of: Named) -> Json:
    return {"id": of.id, "type": of.kind.value, "display": of.display, "statements": list(of.statements)}


def _change(of: FactChange) -> Json:
    fields = [{"field": each.name, "before": each.before or None, "after": each.after or None} for each in of.fields]
    moved = {"before": of.before if of.before != of.fact.id else "", "joined": list(of.joined), "left": list(of.left)}
    return _named(of.fact) | {"fields": fields} | given(moved)


def _regrouping(of: Regrouping) -> Json:
    parts = [_named(each) for each in of.parts]
    return _named(of.whole) | {"parts": parts, "rule": of.rule, "quality": of.quality.value}


def _conflict(of: Conflict) -> Json:
    sides = [{"says": side.says, "items": list(side.items)} for side in of.sides]
    return {"id": of.id, "kind": of.kind.value, "fact": of.fact, "field": of.field, "sides": sides}


def _memory(graph: Graph, id: str) -> Json:
    memory = graph.memories[id]
    return {"id": id, "type": memory.kind.value, "quote": memory.quote}


def changes_markdown(report: Report) -> str:
    """The same to read. Sources' words are escaped."""
    of = report.changes or Difference()
    since = instant(report.since) if report.since else "the beginning"
    lines = [f"# Changes since {since}", ""]
    if of.is_empty:
        return "\n".join([*lines, "Nothing became different.", ""])
    lines += _section("Added", [_line(each) for each in of.added])
    lines += _section("Gone", [_line(each) for each in of.gone])
    lines += _section("Changed", [line for each in of.changed for line in _changed(each)])
    lines += _section("Merged", [_grouped(each, "was") for each in of.merged])
    lines += _section("No longer merged", [_grouped(each, "is now") for each in of.parted])
    lines += _section("Conflicts opened", [_clash(each) for each in of.conflicts_opened])
    lines += _section("Conflicts closed", [_clash(each) for each in of.conflicts_closed])
    said = [report.graph.memories[each] for each in of.memories_added]
    lines += _section("Said", [f'- "{plain(each.quote)}" ({each.kind.value})' for each in said])
    lines += _section("No longer held of what was said", [f"- {each}" for each in of.memories_gone])
    return "\n".join(lines)


def _section(heading: str, lines: list[str]) -> list[str]:
    return [f"## {heading}", "", *lines, ""] if lines else []


def _line(of: Named) -> str:
    return f"- {plain(of.display)} ({of.kind.value}, {of.id})"


def _changed(of: FactChange) -> list[str]:
    told = [_line(of.fact)]
    told += [f"  - {each.name}: {plain(each.before) or '-'} → {plain(each.after) or '-'}" for each in of.fields]
    if of.joined:
        told.append(f"  - statements that joined: {', '.join(of.joined)}")
    if of.left:
        told.append(f"  - statements that left: {', '.join(of.left)}")
    return told


def _grouped(of: Regrouping, verb: str) -> str:
    parts = "; ".join(f"{plain(each.display)} ({each.id})" for each in of.parts)
    return f"{_line(of.whole)} {verb}: {parts}. Rule {plain(of.rule) or 'none'}, {of.quality.value}"


def _clash(of: Conflict) -> str:
    return f"- {of.kind.value}: {' / '.join(plain(side.says) for side in of.sides)} ({of.fact})"

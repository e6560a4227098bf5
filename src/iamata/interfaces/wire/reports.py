"""What do the contract's two reports say: how facts were resolved, and what reconciliation came to?

The contract asks for numbers that this engine does not work with: a source's fixed reliability and a confidence. Weight
is worked out at read time for a task, so `reliability` is 1 for every source (nothing is discounted before a task is
named), and `confidence` codes the order confirmed, probable, uncertain (`closed_lists.tsv`); neither is a probability.
"""

from __future__ import annotations

from collections.abc import Sequence

from iamata.interfaces.wire.lists import look_up
from iamata.interfaces.wire.nodes import fact_telling
from iamata.interfaces.wire.origins import supported_by
from iamata.interfaces.wire.patients import Person, person
from iamata.interfaces.wire.payloads import status
from iamata.interfaces.wire.values import Json, given, text
from iamata.interfaces.wire.view import GraphView, members
from iamata.model.document import Receipt
from iamata.model.fact import Fact, FieldVerdict
from iamata.model.link import Link, LinkSource
from iamata.model.statement import EVENT_KINDS, FACT_KINDS

# What the contract calls the rule of a fact that was never compared with another.
_NOVEL = "novel-entity"
_STRATEGY = "latest-then-most-complete"
_PICK = (
    "The value of the latest clinical time is shown, then the most complete one. It is a neutral pick: every value is "
    "kept, and which one counts is worked out for a task when it is read."
)


def resolution(view: GraphView, receipts: Sequence[Receipt], *, number: int, per_page: int, load_ms: float) -> Json:
    """The contract's resolution report: its ten fact kinds, ordered by type, then display, then id.

    `summary` and `meta` are null while nothing has been formed. Counts cover the whole graph, not the page.
    """
    graph = view.graph
    facts = sorted(
        (each for each in graph.facts.values() if each.kind in FACT_KINDS),
        key=lambda each: (each.kind.value, each.display, each.id),
    )
    warnings = _warnings(view, receipts)
    if not graph.statements and not graph.facts:
        return {"summary": None, "meta": None, "facts": [], "warnings": warnings, "error": None}
    summary = {
        "totalFacts": len(facts),
        "totalEvents": sum(1 for each in graph.facts.values() if each.kind in EVENT_KINDS),
        "mergedFacts": sum(1 for each in facts if len(members(each)) > 1),
        "warningCount": len(warnings),
        "loadMs": load_ms,
        "furtherFacts": sum(1 for each in graph.facts.values() if each.kind not in FACT_KINDS | EVENT_KINDS),
    }
    shown = facts[number * per_page : (number + 1) * per_page]
    return {
        "summary": summary,
        "meta": {"total": len(facts), "page": number, "perPage": per_page},
        "facts": [_fact(view, each) for each in shown],
        "warnings": warnings,
        "error": None,
    }


def _warnings(view: GraphView, receipts: Sequence[Receipt]) -> list[Json]:
    """What the connectors warned of (places, never contents), and the references that lead nowhere."""
    told = [
        {"source": receipt.source, "id": receipt.id, "message": warning, "severity": "warn"}
        for receipt in receipts
        for warning in receipt.warnings
    ]
    statements = view.graph.statements
    lost = [
        {
            "source": statements[each.statement].source if each.statement in statements else "",
            "id": each.statement,
            "message": f"the reference at {each.element} leads nowhere in what its source has sent",
            "severity": "info",
        }
        for each in sorted(view.graph.unresolved)
    ]
    return told + lost


def _rule(fact: Fact) -> str:
    return fact.rule if fact.rule and len(members(fact)) > 1 else _NOVEL


def _confidence(fact: Fact) -> float:
    return float(look_up("quality", fact.quality.value) or 0.0)


def _reasoning(fact: Fact) -> str:
    held = len(members(fact))
    if held == 1:
        return "One statement; nothing else was found to be about the same thing."
    return f"{held} statements are about the same thing ({fact.quality.value}, rule {_rule(fact)})."


def _fact(view: GraphView, fact: Fact) -> Json:
    statements = view.graph.statements
    told = fact_telling(view, fact, "")
    sources = [
        {
            "origin": statements[item].provenance.record.key or item,
            "type": look_up("source.type", view.format(item)),
            "reliability": 1.0,
            "statementId": item,
            "system": statements[item].source,
        }
        for item in members(fact)
        if item in statements
    ]
    return {
        "id": fact.id,
        "type": fact.kind.value,
        "display": fact.display,
        "provenance": {
            "resolvedBy": _rule(fact),
            "confidence": _confidence(fact),
            "reasoning": _reasoning(fact),
            "sources": sources,
            "conflicts": _field_conflicts(view, fact),
        },
        "scope": "patient",
        "attribution": "agent-reported",
        "supportedBy": supported_by(fact.supported_by),
        "domain": fact.domain.value,
    } | given({"status": status(told), "currency": fact.currency.value, "conflicts": list(fact.conflicts)})


def _field_conflicts(view: GraphView, fact: Fact) -> list[Json]:
    """The fields on which members differ, with every value, who sent it and when it was recorded there."""
    found: list[Json] = []
    for field in fact.fields:
        if field.verdict is not FieldVerdict.CONFLICT:
            continue
        said = [(field.statement, field.value), *((each.statement, each.value) for each in field.others)]
        found.append(
            {
                "field": field.name,
                "values": [
                    {"value": text(value), "source": _system(view, item), "date": _recorded(view, item)}
                    for item, value in said
                ],
                "winner": text(field.value),
                "strategy": _STRATEGY,
                "explanation": _PICK,
            }
        )
    return found


def _system(view: GraphView, item: str) -> str:
    statement = view.graph.statements.get(item)
    return statement.source if statement is not None else ""


def _recorded(view: GraphView, item: str) -> str | None:
    statement = view.graph.statements.get(item)
    return (statement.provenance.record.updated or None) if statement is not None else None


def reconciliation(view: GraphView) -> Json:
    """The contract's reconciliation summary. A merged entity is a fact with more than one statement, of any kind."""
    graph = view.graph
    held = [each for each in graph.facts.values() if len(members(each)) > 1]
    merged = sorted(held, key=lambda each: (each.kind.value, each.display, each.id))
    explicit = [each for each in graph.links.values() if each.source is LinkSource.EXPLICIT_REFERENCE]
    inferred = sorted(
        (each for each in graph.links.values() if each.source is not LinkSource.EXPLICIT_REFERENCE),
        key=lambda each: (each.type.value, each.origin, each.target),
    )
    who = person(graph.facts.values()) or Person()
    return {
        "patientName": who.name,
        "stats": {
            "inputEntities": len({item for fact in graph.facts.values() for item in members(fact)}),
            "resolvedEntities": len(graph.facts),
            "mergedGroups": len(merged),
            "explicitRelationships": len(explicit),
            "inferredRelationships": len(inferred),
        },
        "mergedEntities": [
            {
                "display": each.display,
                "type": each.kind.value,
                "sourceCount": len(members(each)),
                "resolvedBy": _rule(each),
                "confidence": _confidence(each),
                "reasoning": _reasoning(each),
                "id": each.id,
                "supportedBy": supported_by(each.supported_by),
            }
            for each in merged
        ],
        "inferredRelationships": [_inferred(view, each) for each in inferred],
        "conflicts": len(graph.conflicts),
        "scope": "patient",
    }


def _inferred(view: GraphView, link: Link) -> Json:
    return {
        "fromDisplay": _display(view, link.origin),
        "toDisplay": _display(view, link.target),
        "type": link.type.value,
        "confidence": link.confidence,
        "reasoning": link.reasoning or f"rule {link.rule}",
        "linkSource": link.source.value,
        "from": link.origin,
        "to": link.target,
    }


def _display(view: GraphView, item: str) -> str:
    fact = view.graph.facts.get(item)
    if fact is not None:
        return fact.display
    memory = view.graph.memories.get(item)
    if memory is not None:
        return memory.quote
    passage = view.graph.passages.get(item)
    return (passage.title or item) if passage is not None else item


def reconciliation_markdown(view: GraphView) -> str:
    """The same summary to read. Sources' words are escaped, so that they cannot draw headings or tables."""
    data = reconciliation(view)
    stats = data["stats"]
    lines = [
        f"# Reconciliation: {plain(data['patientName']) or 'name not recorded'}",
        "",
        f"- statements read: {stats['inputEntities']}",
        f"- facts and events they came to: {stats['resolvedEntities']}",
        f"- of these, from more than one statement: {stats['mergedGroups']}",
        f"- relationships named by a source: {stats['explicitRelationships']}",
        f"- relationships inferred: {stats['inferredRelationships']}",
        f"- open conflicts: {data['conflicts']}",
    ]
    if data["mergedEntities"]:
        lines += ["", "## Merged", "", "| what | type | statements | rule |", "|---|---|---|---|"]
        lines += [
            f"| {plain(each['display'])} | {each['type']} | {each['sourceCount']} | {plain(each['resolvedBy'])} |"
            for each in data["mergedEntities"]
        ]
    if data["inferredRelationships"]:
        lines += ["", "## Inferred relationships", "", "| from | relationship | to | why |", "|---|---|---|---|"]
        lines += [
            f"| {plain(each['fromDisplay'])} | {each['type']} | {plain(each['toDisplay'])} "
            f"| {plain(each['reasoning'])} |"
            for each in data["inferredRelationships"]
        ]
    return "\n".join(lines) + "\n"


def plain(words: str) -> str:
    """One line of a source's words, escaped for Markdown."""
    return " ".join(words.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")

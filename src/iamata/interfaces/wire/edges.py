"""Which types of edge does the graph serve, and how does one of each look?

Types of the contract: resolution_decision, resolves_to, chunked_into, relationship; both ends of these are node types
of the contract. Ours: `memory_link` (a memory and a fact), `member_of` (a statement of any kind and its fact), `link`
and `decision` (all of them, with the ids inside).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import msgspec

from iamata.interfaces.wire.ids import fact_type, statement_type, to_model, to_wire
from iamata.interfaces.wire.lists import look_up
from iamata.interfaces.wire.origins import RESOLVED_BY
from iamata.interfaces.wire.values import Json, given, instant
from iamata.interfaces.wire.view import GraphView, members
from iamata.model.decision import Decision, Evidence
from iamata.model.link import Link
from iamata.model.statement import EVENT_KINDS, FACT_KINDS, Form

CONTRACT_NODES = frozenset(
    {
        "extracted_fact",
        "fact",
        "extracted_narrative",
        "narrative_passage",
        "narrative",
        "learned_memory",
        "extracted_clinical_event",
    }
)

Ends = tuple[Json, Json]


class EdgeType(msgspec.Struct, frozen=True):
    """`ids` lists what there is, in order; `ends` gives `from` and `to` as node references; `payload` the rest."""

    name: str
    ids: Callable[[GraphView], Sequence[str]]
    ends: Callable[[GraphView, str], Ends]
    payload: Callable[[GraphView, str], tuple[Json, Json]]


def one(of: EdgeType, view: GraphView, id: str) -> Json:
    """The edge with this id, which `of.ids` lists."""
    origin, target = of.ends(view, id)
    payload, ours = of.payload(view, id)
    created, updated = _born(view, origin, target)
    edge = {"type": of.name, "id": id, "createdAt": created, "updatedAt": updated, "from": origin, "to": target}
    return edge | {"payload": payload} | ours


def touching(of: EdgeType, view: GraphView, nodes: Collection[str]) -> list[str]:
    """The ids of the edges that begin or end at any of these nodes (wire or inner ids), in order."""
    wanted = {*nodes, *(to_model(each) for each in nodes)}

    def touches(id: str) -> bool:
        return any(name in wanted for end in of.ends(view, id) for name in _names(end))

    return [id for id in of.ids(view) if touches(id)]


def _names(end: Json) -> tuple[str, ...]:
    return (end["id"], to_model(end["id"]), end.get("resolved", ""))


def _born(view: GraphView, *ends: Json) -> tuple[str, str]:
    """An edge is as old as the younger of its ends."""
    firsts: list[str] = []
    lasts: list[str] = []
    for end in ends:
        inner = end.get("resolved") or to_model(end["id"])
        fact = view.graph.facts.get(inner)
        narrative = view.narratives.get(inner)
        if fact is not None:
            items = members(fact)
        elif narrative is not None:
            items = tuple(each.id for each in narrative.passages)
        else:
            items = (inner,)
        first, last = view.received(*items)
        firsts.append(first)
        lasts.append(last)
    return max(firsts), max(lasts)


def _statement_ref(view: GraphView, id: str) -> Json:
    statement = view.graph.statements.get(id)
    if statement is None:
        return {"id": id, "type": "narrative_passage" if id.startswith("np_") else "statement"}
    return {"id": to_wire(id, statement.kind), "type": statement_type(statement.kind)}


def _ref(view: GraphView, id: str) -> Json:
    """A node reference with the ids inside."""
    fact = view.graph.facts.get(id)
    if fact is not None:
        return {"id": id, "type": fact_type(fact.kind)}
    if id in view.graph.memories:
        return {"id": id, "type": "learned_memory"}
    return _statement_ref(view, id)


def _contract_ref(view: GraphView, id: str) -> Json | None:
    """A node reference of a contract type, or None if it has none. A resolved event is shown by the extracted event
    that gave it its id, because the contract knows single-source events only; `resolved` keeps which one it is."""
    fact = view.graph.facts.get(id)
    if fact is not None and fact.kind in EVENT_KINDS:
        leader = "st_" + id.partition("_")[2]
        if leader not in view.graph.statements:
            return None
        return _statement_ref(view, leader) | {"resolved": id}
    ref = _ref(view, id)
    return ref if ref["type"] in CONTRACT_NODES else None


def _resolution_of(prefix: str) -> Callable[[GraphView, str], Ends]:
    def ends(view: GraphView, id: str) -> Ends:
        statement = "st_" + id.removeprefix(prefix)
        return _statement_ref(view, statement), _ref(view, view.graph.fact_of[statement])

    return ends


def _resolution_payload(prefix: str) -> Callable[[GraphView, str], tuple[Json, Json]]:
    def payload(view: GraphView, id: str) -> tuple[Json, Json]:
        why = view.history.get("st_" + id.removeprefix(prefix))
        return given({"role": "history" if why else "member", "because": why}), _derived()

    return payload


def _resolved_ids(prefix: str, contract: bool) -> Callable[[GraphView], Sequence[str]]:
    def ids(view: GraphView) -> Sequence[str]:
        held = view.graph.statements
        return sorted(
            prefix + item.partition("_")[2]
            for item, fact in view.graph.fact_of.items()
            if item in held and fact in view.graph.facts and (not contract or held[item].kind in FACT_KINDS)
        )

    return ids


def _derived() -> Json:
    """What the engine worked out is agent-reported."""
    return {
        "scope": "patient",
        "attribution": RESOLVED_BY["attribution"],
        "resolvedBy": RESOLVED_BY,
        "form": Form.STRUCTURED.value,
    }


def _chunk_ends(view: GraphView, id: str) -> Ends:
    passage = "np_" + id.removeprefix("ci_")
    narrative = view.narrative_of[passage]
    return {"id": narrative, "type": "extracted_narrative"}, {"id": passage, "type": "narrative_passage"}


def _chunk_payload(view: GraphView, id: str) -> tuple[Json, Json]:
    passage = view.graph.passages["np_" + id.removeprefix("ci_")]
    return {"offsetStart": passage.start, "offsetEnd": passage.start + len(passage.text)}, {"scope": "patient"}


def evidence(of: Evidence) -> Json | None:
    """The contract's form of one comparison, or None where its closed list has none: it knows equal identities and
    codes, unequal codes, and a similarity, which we give only where a comparison was exact (1 or 0)."""
    match of.step, of.outcome:
        case (("identifier" | "identity" | "reference" | "record"), "equal"):
            return {"kind": "source-ref", "layer": "source-ref-equality"}
        case "language-model", _:
            return None  # the contract's form wants a confidence, and a model's own would be invented
        case "code", "equal":
            system, _, code = of.left.rpartition("|")
            return {
                "kind": "exact-code-match",
                "layer": "deterministic-code",
                "system": system,
                "systemRecognized": bool(system),
                "code": code,
            }
        case "code", "different":
            system, _, code_a = of.left.rpartition("|")
            return {
                "kind": "code-mismatch",
                "layer": "deterministic-code",
                "system": system,
                "systemRecognized": bool(system),
                "codeA": code_a,
                "codeB": of.right.rpartition("|")[2],
            }
        case step, ("equal" | "different") as outcome:
            return {
                "kind": "field-similarity",
                "layer": "nlp-normalization",
                "field": step,
                "similarity": 1.0 if outcome == "equal" else 0.0,
                "aValue": of.left or None,
                "bValue": of.right or None,
            }
        case _:
            return None


def _decision_payload(view: GraphView, id: str) -> tuple[Json, Json]:
    decision: Decision = view.graph.decisions[id]
    payload = {
        "verdict": decision.verdict.value,
        "resolution": decision.quality.value,
        "ruleId": decision.rule,
        "evidence": [shown for each in decision.evidence if (shown := evidence(each)) is not None],
        "steps": [
            given({"step": each.step, "outcome": each.outcome, "left": each.left, "right": each.right})
            for each in decision.evidence
        ],
    }
    decided = {"by": decision.by, "decidedAt": instant(decision.decided_at) if decision.decided_at else None}
    person = decision.by and not decision.by.startswith("language-model/")
    return payload, _derived() | ({"resolvedBy": {"role": "operator"}} if person else {}) | given(decided)


def _decision_ends(view: GraphView, id: str) -> Ends:
    decision = view.graph.decisions[id]
    return _statement_ref(view, decision.left), _statement_ref(view, decision.right)


def _contract_decisions(view: GraphView) -> Sequence[str]:
    return sorted(
        id for id in view.graph.decisions if all(end["type"] in CONTRACT_NODES for end in _decision_ends(view, id))
    )


def _link_payload(view: GraphView, id: str) -> tuple[Json, Json]:
    link: Link = view.graph.links[id]
    payload = given(
        {
            "type": link.type.value,
            "source": look_up("link.source", link.source.value),
            "confidence": link.confidence,
            "reasoning": link.reasoning,
            "linkSource": link.source.value,
            "rule": link.rule,
            "conflictKind": link.conflict_kind,
        }
    )
    return payload, _derived()


def _link_ends(view: GraphView, id: str) -> Ends:
    link = view.graph.links[id]
    return _ref(view, link.origin), _ref(view, link.target)


def _relationship_ends(view: GraphView, id: str) -> Ends:
    link = view.graph.links[id]
    return (
        _contract_ref(view, link.origin) or _ref(view, link.origin),
        _contract_ref(view, link.target) or _ref(view, link.target),
    )


def is_memory_link(view: GraphView, link: Link) -> bool:
    return link.origin in view.graph.memories or link.target in view.graph.memories


def _relationships(view: GraphView) -> Sequence[str]:
    return sorted(
        link.id
        for link in view.graph.links.values()
        if not is_memory_link(view, link)
        and _contract_ref(view, link.origin) is not None
        and _contract_ref(view, link.target) is not None
    )


def _memory_links(view: GraphView) -> Sequence[str]:
    return sorted(link.id for link in view.graph.links.values() if is_memory_link(view, link))


EDGE_TYPES: dict[str, EdgeType] = {
    each.name: each
    for each in (
        EdgeType("resolution_decision", _contract_decisions, _decision_ends, _decision_payload),
        EdgeType("resolves_to", _resolved_ids("rt_", True), _resolution_of("rt_"), _resolution_payload("rt_")),
        EdgeType("chunked_into", lambda view: sorted(_chunk_ids(view)), _chunk_ends, _chunk_payload),
        EdgeType("relationship", _relationships, _relationship_ends, _link_payload),
        EdgeType("memory_link", _memory_links, _link_ends, _link_payload),
        EdgeType("member_of", _resolved_ids("mo_", False), _resolution_of("mo_"), _resolution_payload("mo_")),
        EdgeType("link", lambda view: sorted(view.graph.links), _link_ends, _link_payload),
        EdgeType("decision", lambda view: sorted(view.graph.decisions), _decision_ends, _decision_payload),
    )
}


def _chunk_ids(view: GraphView) -> list[str]:
    return ["ci_" + id.partition("_")[2] for id in view.graph.passages]

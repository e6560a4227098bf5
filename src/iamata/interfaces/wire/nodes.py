"""Which types of node does the graph serve, and how does one of each look?

Types of the contract: extracted_fact, fact, extracted_narrative, narrative_passage, narrative, learned_memory,
extracted_clinical_event. Ours: `statement` (statements of further kinds), `clinical_event` (resolved events) and
`further_fact` (facts of further kinds). Every node carries our fields beside `payload`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from iamata.interfaces.wire.ids import to_model, to_wire
from iamata.interfaces.wire.lists import look_up
from iamata.interfaces.wire.origins import RESOLVED_BY, attribution, labels, provenance, supported_by
from iamata.interfaces.wire.payloads import Telling, event_payload, fact_payload, further_payload, telling
from iamata.interfaces.wire.values import Json, camel, codes, components, given, instant, instant_or_none, times, value
from iamata.interfaces.wire.view import GraphView, Narrative, members
from iamata.model.clinical_time import Clock
from iamata.model.coding import CodedText
from iamata.model.fact import Fact, ResolvedField
from iamata.model.memory import Memory
from iamata.model.passage import Passage
from iamata.model.statement import EVENT_KINDS, FACT_KINDS, Form, Statement


class NodeType(msgspec.Struct, frozen=True):
    """`ids` lists what there is, in order; `one` builds the node with this id. Ids are those inside."""

    name: str
    ids: Callable[[GraphView], Sequence[str]]
    one: Callable[[GraphView, str], Json]


def find(of: NodeType, view: GraphView, id: str) -> Json | None:
    """The node with this wire or inner id, or None if this type has none."""
    inner = to_model(id)
    if of.name in ("fact", "clinical_event", "further_fact") and inner not in view.graph.facts:
        # A fact keeps the ids it had: that of any member leads to the fact that holds it now.
        fact = view.graph.resolve(inner)
        inner = fact.id if fact is not None else inner
    return of.one(view, inner) if inner in set(of.ids(view)) else None


def _node(name: str, id: str, received: tuple[str, str], payload: Json, ours: Json) -> Json:
    created, updated = received
    return {"type": name, "id": id, "createdAt": created, "updatedAt": updated, "payload": payload} | ours


def source(view: GraphView, item: Statement | Passage) -> Json:
    """The contract's `source` of an extracted item: the format, the system and the record it came from."""
    record = item.provenance.record
    seen = view.seen(item.id)
    place = f"{seen[0].document}{seen[0].place}" if seen else ""
    return {
        "type": look_up("source.type", view.format(item.id)),
        "origin": item.provenance.source,
        "ref": record.key or place,
        "recordedAt": record.updated or None,
        "ingestedAt": view.received(item.id)[0],
    }


def statement_node(view: GraphView, id: str) -> Json:
    """A statement as the node type of its kind."""
    statement = view.graph.statements[id]
    received = view.received(id)
    told = telling(statement, received[0])
    if statement.kind in FACT_KINDS:
        name, payload = "extracted_fact", fact_payload(told)
    elif statement.kind in EVENT_KINDS:
        name, payload = "extracted_clinical_event", event_payload(told)
    else:
        name, payload = "statement", further_payload(told, [field.name for field in statement.fields])
    payload |= {"source": source(view, statement), "ingestionId": view.ingestion(id)}
    return _node(name, to_wire(id, statement.kind), received, payload, _statement_fields(view, statement))


def _statement_fields(view: GraphView, of: Statement) -> Json:
    return given(
        {
            "statementId": of.id,
            "scope": of.subject.scope.value,
            "kind": of.kind.value,
            "aspect": of.aspect.value,
            "polarity": of.polarity.value,
            "standing": of.standing.value,
            "statusAsSent": of.status,
            "verification": of.verification.value,
            "domain": of.domain.value,
            "form": of.form.value,
            **attribution(view.graph.attributions.get(of.id)),
            "provenance": provenance(of.provenance, view.seen(of.id)),
            "times": times(of.times),
            "fields": {camel(field.name): value(field.value) for field in of.fields},
            "components": components(of.components),
            "labels": labels(of.labels),
            "factId": view.graph.fact_of.get(of.id),
            "historyBecause": view.history.get(of.id),
        }
    )


def fact_node(view: GraphView, id: str) -> Json:
    """A resolved fact or event as the node type of its kind."""
    fact = view.graph.facts[id]
    received = view.received(*members(fact))
    told = fact_telling(view, fact, received[1])
    if fact.kind in FACT_KINDS:
        name, payload = "fact", fact_payload(told)
    elif fact.kind in EVENT_KINDS:
        name, payload = "clinical_event", event_payload(told)
    else:
        name, payload = "further_fact", further_payload(told, [field.name for field in fact.fields])
    payload |= {
        "members": [{"extractedFactId": to_wire(item, fact.kind)} for item in fact.members],
        "fieldVerdicts": {camel(field.name): _verdict(view, fact, field) for field in fact.fields},
    }
    return _node(name, id, received, payload, _fact_fields(fact))


def fact_telling(view: GraphView, fact: Fact, received: str) -> Telling:
    """What a fact tells. Its own time stands for its clock; on the other clocks its members' times count."""
    held = [view.graph.statements[item] for item in fact.members if item in view.graph.statements]
    own = (fact.when,) if fact.when is not None else ()
    others = (time for each in held for time in each.times if fact.when is None or time.clock is not fact.when.clock)
    return Telling(
        kind=fact.kind,
        display=fact.display,
        concept=fact.concept,
        value=fact.value,
        times=tuple(dict.fromkeys((*own, *others))),
        components=fact.components,
        standing=fact.standing,
        verification=fact.verification,
        polarity=fact.polarity,
        aspect=held[0].aspect if held else None,
        sent_status="",
        fallback_time=received,
    )


def _verdict(view: GraphView, fact: Fact, field: ResolvedField) -> Json:
    """The contract's verdict of one field. `score` is 1 for a member that carries the picked value and 0 for another:
    our pick ranks by time and completeness (neutral, no weight), so there is no finer score to show."""

    def member(statement: str, score: float) -> Json:
        return {"extractedFactId": to_wire(statement, fact.kind), "score": score}

    others = {each.statement: each.value for each in field.others}
    agreed = [
        item
        for item in fact.members
        if item != field.statement
        and item in view.graph.statements
        and others.get(item, view.graph.statements[item].field(field.name)) == field.value
    ]
    return {
        "picked": member(field.statement, 1.0),
        "agreed": [member(item, 1.0) for item in agreed],
        "conflict": [
            member(item, 0.0) | {"value": value(said)} for item, said in others.items() if said != field.value
        ],
        "verdict": field.verdict.value,
        "value": value(field.value),
    }


def _fact_fields(fact: Fact) -> Json:
    return given(
        {
            "scope": "patient",
            "kind": fact.kind.value,
            "attribution": RESOLVED_BY["attribution"],
            "resolvedBy": RESOLVED_BY | given({"rule": fact.rule, "quality": fact.quality.value}),
            "supportedBy": supported_by(fact.supported_by),
            "polarity": fact.polarity.value,
            "standing": fact.standing.value,
            "verification": fact.verification.value,
            "currency": fact.currency.value,
            "when": times([fact.when])[0] if fact.when is not None else None,
            "lastSupported": fact.last_supported,
            "components": components(fact.components),
            "conflicts": list(fact.conflicts),
            "history": [{"statementId": item, "because": why} for item, why in fact.history],
            "statements": list(fact.members),
            "labels": labels(fact.labels),
            "domain": fact.domain.value,
            "form": Form.STRUCTURED.value,
        }
    )


def narrative_node(view: GraphView, id: str) -> Json:
    """The passages of one part of one record, as the contract's extracted narrative."""
    narrative: Narrative = view.narratives[id]
    first = narrative.passages[0]
    starts = [timed.start for timed in first.times if timed.clock in (Clock.EFFECTIVE, Clock.OCCURRED, Clock.AUTHORED)]
    payload = {
        "summary": first.title or None,
        "effectiveAt": next((start.text for start in starts if start is not None), None),
        "source": source(view, first),
        "content": narrative.content,
        "metadata": given({"part": first.part, "recordType": first.provenance.record.type}),
        "ingestionId": view.ingestion(first.id),
    }
    received = view.received(*(each.id for each in narrative.passages))
    return _node("extracted_narrative", id, received, payload, _passage_fields(view, first))


def passage_node(view: GraphView, id: str) -> Json:
    passage = view.graph.passages[id]
    payload = {
        "extractedNarrativeId": view.narrative_of[id],
        "content": passage.text,
        "sectionTitle": passage.title or None,
        "offsetStart": passage.start,
        "offsetEnd": passage.start + len(passage.text),
    }
    return _node("narrative_passage", id, view.received(id), payload, _passage_fields(view, passage))


def _passage_fields(view: GraphView, of: Passage) -> Json:
    return given(
        {
            "scope": of.subject.scope.value,
            **attribution(view.graph.attributions.get(of.id)),
            "provenance": provenance(of.provenance, view.seen(of.id)),
            "times": times(of.times),
            "domain": of.domain.value,
            "form": Form.UNSTRUCTURED.value,
            "labels": labels(of.labels),
        }
    )


def memory_type(of: Memory) -> str:
    """The nearest of the contract's four memory types; the finer kind rides along as `kind`."""
    return look_up("memory.type", of.kind.value) or "concern"


def memory_fields(of: Memory) -> Json:
    """Our fields of a memory: what exactly was said, by whom, where in which message."""
    return given(
        {
            "scope": "patient",
            **attribution(of.attribution),
            "kind": of.kind.value,
            "message": of.message,
            "quote": {"text": of.quote, "offsetStart": of.start, "offsetEnd": of.end},
            "concept": value(of.concept) if isinstance(of.concept, CodedText) else None,
            "codes": _memory_codes(of.concept),
            "polarity": of.polarity.value,
            "experiencer": of.experiencer.value,
            "temporality": of.temporality.value,
            "certain": of.certain,
            "relation": of.relation,
            "change": of.change,
            "since": of.since,
            "sinceSaid": of.since_said,
            "detail": dict(of.detail),
            "saidAt": instant_or_none(of.said_at),
            "extractors": list(of.extractors),
            "domain": "clinical",
            "form": Form.UNSTRUCTURED.value,
        }
    )


def _memory_codes(concept: CodedText) -> list[Json]:
    """As sent, with `normal` beside: the code in our form of its system."""
    coded = [each for each in concept.codings if each.code]
    return [each | given({"normal": of.normal}) for each, of in zip(codes(concept), coded, strict=True)]


def memory_node(view: GraphView, id: str) -> Json:
    memory = view.graph.memories[id]
    created = instant(memory.received_at)
    payload = {"type": memory_type(memory), "content": memory.quote, "sessionId": memory.session}
    return _node("learned_memory", id, (created, created), payload, memory_fields(memory))


def _nothing(_view: GraphView, id: str) -> Json:
    raise KeyError(id)


NODE_TYPES: dict[str, NodeType] = {
    each.name: each
    for each in (
        NodeType("extracted_fact", lambda view: view.statements.get("extracted_fact", []), statement_node),
        NodeType("fact", lambda view: view.facts.get("fact", []), fact_node),
        NodeType("extracted_narrative", lambda view: sorted(view.narratives), narrative_node),
        NodeType("narrative_passage", lambda view: sorted(view.graph.passages), passage_node),
        # Not written, because a narrative of the contract is a language model's text and none is configured.
        NodeType("narrative", lambda view: [], _nothing),
        NodeType("learned_memory", lambda view: sorted(view.graph.memories), memory_node),
        NodeType(
            "extracted_clinical_event", lambda view: view.statements.get("extracted_clinical_event", []), statement_node
        ),
        NodeType("statement", lambda view: view.statements.get("statement", []), statement_node),
        NodeType("clinical_event", lambda view: view.facts.get("clinical_event", []), fact_node),
        NodeType("further_fact", lambda view: view.facts.get("further_fact", []), fact_node),
    )
}

"""How do the answers of the engine's reading verbs look: listings, pages, hits, contexts, explanations, conflicts?

Ids here are those inside (`st_…`, `fa_…`); every route that takes an id takes these as well as the contract's.
"""

from __future__ import annotations

from collections.abc import Iterable

from iamata.interfaces.wire.origins import attribution, authority, labels, place, provenance
from iamata.interfaces.wire.payloads import display
from iamata.interfaces.wire.values import Json, camel, components, given, times, value
from iamata.model.conflict import Conflict
from iamata.model.context import Context, ContextItem
from iamata.model.decision import Decision
from iamata.model.graph import Graph
from iamata.model.model_answers import Adjudicated
from iamata.model.reading import Citation, Explanation, Hit, Listing, Node, Page, Testimony
from iamata.model.ruling import Ruling
from iamata.model.statement import Statement

_INDEX = "/_index.md"


def patient_root(patient: str) -> str:
    return f"/patient/{patient}"


def to_address(patient: str, path: str) -> str:
    """The address of a path relative to the patient's root; an address under that root is taken as it is."""
    return under(patient_root(patient), path)


def under(root: str, path: str) -> str:
    """The address of a path relative to a root of the tree; an address under that root is taken as it is."""
    relative = path if path.startswith("/") else f"/{path}"
    return relative if relative == root or relative.startswith(f"{root}/") else root + relative


def to_path(patient: str, address: str) -> str:
    """The path relative to the patient's root (`/` for the root itself)."""
    return address.removeprefix(patient_root(patient)).rstrip("/") or "/"


def listing(patient: str, of: Listing) -> Json:
    """The contract's directory."""
    return {
        "path": to_path(patient, of.address),
        "type": "directory",
        "children": [_node(patient, node) for node in of.nodes],
        "address": of.address,
        "stamp": of.stamp,
    }


def _node(patient: str, of: Node) -> Json:
    """A line of a directory: the contract's `preview` is for files, our `hint` for both."""
    return given(
        {
            "name": of.name.rstrip("/"),
            "type": "directory" if of.directory else "file",
            "preview": None if of.directory else of.hint,
            "hint": of.hint,
            "address": of.address,
            "path": to_path(patient, of.address),
            "tokens": of.tokens,
            "items": of.items,
        }
    )


def the_file(of: Listing) -> str | None:
    """The address of the file that was browsed, or None for a directory.

    Browsing a file gives its own line alone; a directory's first line is its index, which is another address.
    """
    if len(of.nodes) != 1 or of.nodes[0].directory:
        return None
    (node,) = of.nodes
    is_index = node.address.endswith(_INDEX) and not of.address.endswith(_INDEX)
    return None if is_index else node.address


def file(patient: str, of: Page, line: Listing) -> Json:
    """The contract's answer for browsing a file; its own line of the tree rides along as `node`."""
    node = _node(patient, line.nodes[0])
    return {"path": to_path(patient, of.address), "type": "file", "node": node} | page(of)


def page(of: Page) -> Json:
    return {
        "content": of.text,
        "address": of.address,
        "format": of.format.value,
        "tokens": of.tokens,
        "shortened": of.shortened,
        "citations": [citation(each) for each in of.citations],
        "stamp": of.stamp,
    }


def citation(of: Citation) -> Json:
    return given(
        {
            "handle": of.handle,
            "item": of.item,
            **attribution(of.attribution),
            "source": of.source,
            "document": of.document,
            "place": of.place,
            "date": of.date,
        }
    )


def hit(of: Hit) -> Json:
    return {
        "item": of.item,
        "kind": of.kind,
        "address": of.address,
        "title": of.title,
        "snippet": of.snippet,
        "score": of.score,
        "matched": list(of.matched),
    }


def context(of: Context) -> Json:
    request = of.request
    return {
        "id": of.id,
        "subjects": [str(each) for each in request.subjects],
        "task": request.task,
        "query": request.query,
        "budgetTokens": request.budget_tokens,
        "tokenizer": request.tokenizer,
        "text": of.text,
        "tokens": of.tokens,
        "fits": of.fits,
        "note": of.note,
        "items": [_item(each) for each in of.items],
        "conflicts": list(of.conflicts),
        "leftOut": [
            {"address": each.address, "hint": each.hint, "items": each.items, "reason": each.reason.value}
            for each in of.left_out
        ],
        "labels": labels(of.labels),
        "stamp": of.stamp,
        "graphVersion": of.graph_version,
        "trueAt": of.true_at,
        "knownAt": of.known_at or None,
    }


def _item(of: ContextItem) -> Json:
    return {
        "number": of.number,
        "item": of.item,
        "address": of.address,
        "text": of.text,
        "tokens": of.tokens,
        "authority": authority(of.authority),
        "citations": list(of.citations),
        "conflict": of.conflict or None,
        "stale": of.stale,
        "safety": of.safety,
        "labels": labels(of.labels),
    }


def conflicts(found: Iterable[Conflict], graph: Graph) -> list[Json]:
    """Every conflict with its sides, by id: those between statements, and those of a memory with a fact (which the
    graph holds as links; the fact is left untouched)."""
    told = [
        _conflict(each.id, each.kind.value, graph, each.fact)
        | {
            "between": "statements" if each.id in graph.conflicts else "memory and fact",
            "field": each.field,
            "sides": [{"says": side.says, "items": list(side.items)} for side in each.sides],
            "rule": each.rule,
        }
        for each in found
    ]
    return sorted(told, key=lambda each: each["id"])


def _conflict(id: str, kind: str, graph: Graph, fact_id: str) -> Json:
    fact = graph.facts.get(fact_id)
    return {
        "id": id,
        "kind": kind,
        "fact": fact_id,
        "factKind": fact.kind.value if fact is not None else None,
        "display": fact.display if fact is not None else "",
        "scope": "patient",
    }


def explanation(of: Explanation) -> Json:
    return {
        "item": of.item,
        "what": of.what,
        "address": of.address,
        "summary": of.summary,
        "quote": of.quote or None,
        "testimonies": [_testimony(each) for each in of.testimonies],
        "decisions": decisions(of.decisions),
        "conflicts": list(of.conflicts),
        "links": list(of.links),
        "authority": authority(of.authority),
    }


def ruling(of: Ruling) -> Json:
    """What a person decided, on which records or memory."""
    sides = {
        name: given({"source": ref.source, "record": ref.key, "part": ref.part})
        for name, ref in (("left", of.left), ("right", of.right))
        if ref is not None
    }
    return given(
        {
            "id": of.id,
            "kind": of.kind.value,
            "by": of.by,
            "decidedAt": of.decided_at.isoformat(),
            **sides,
            "memory": {"message": of.memory.message, "kind": of.memory.kind} if of.memory is not None else None,
            "field": of.field,
            "withdraws": of.withdraws,
            "reason": of.reason,
        }
    )


def adjudicated(of: Adjudicated) -> Json:
    """What became of asking a language model about uncertain pairs. Ids of pairs are in the decisions, by rule
    `model-adjudication`."""
    return {
        "model": of.model,
        "answers": [
            given(
                {
                    "id": answer.id,
                    "answer": answer.says.value,
                    "reason": answer.reason,
                    "prompt": answer.prompt,
                    "served": answer.served,
                    "receivedAt": answer.received_at.isoformat(),
                }
            )
            for answer in of.answers
        ],
        "failed": dict(of.failed),
        "withheld": of.withheld,
        "otherKinds": of.other_kinds,
        "answeredBefore": of.answered_before,
        "left": of.left,
    }


def decisions(of: Iterable[Decision]) -> list[Json]:
    return [
        given(
            {
                "id": each.id,
                "left": each.left,
                "right": each.right,
                "verdict": each.verdict.value,
                "quality": each.quality.value,
                "rule": each.rule,
                "by": each.by,
                "evidence": [
                    given({"step": step.step, "outcome": step.outcome, "left": step.left, "right": step.right})
                    for step in each.evidence
                ],
            }
        )
        for each in of
    ]


def _testimony(of: Testimony) -> Json:
    return {
        "statement": statement(of.statement),
        **attribution(of.attribution),
        "role": of.role,
        "seen": [
            given(
                {
                    "document": each.document,
                    "mediaType": each.media_type,
                    "source": each.source,
                    "receivedAt": each.received_at,
                    "place": place(each.place),
                    "excerpt": each.excerpt,
                }
            )
            for each in of.seen
        ],
    }


def statement(of: Statement) -> Json:
    """A statement outside the graph's routes: what it says, and the authorship evidence exactly as sent."""
    return given(
        {
            "id": of.id,
            "scope": of.subject.scope.value,
            "kind": of.kind.value,
            "display": display(of),
            "aspect": of.aspect.value,
            "polarity": of.polarity.value,
            "status": of.status,
            "standing": of.standing.value,
            "verification": of.verification.value,
            "times": times(of.times),
            "fields": {camel(field.name): value(field.value) for field in of.fields},
            "components": components(of.components),
            "labels": labels(of.labels),
            "domain": of.domain.value,
            "form": of.form.value,
            "provenance": provenance(of.provenance, ()),
            "authorship": [
                given(
                    {
                        "part": each.part.value,
                        "element": each.element,
                        "reference": each.reference,
                        "type": each.type,
                        "identifier": each.identifier,
                        "display": each.display,
                        "value": each.value,
                        "time": each.time,
                    }
                )
                for each in of.authorship
            ],
        }
    )

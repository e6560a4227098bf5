"""Assemble a context, search, explain. All by POST, so that nothing asked for stands in an address."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from iamata.interfaces.http.asking import Here, JsonBody, Moments, When, Who
from iamata.interfaces.http.replies import json_reply, stamped
from iamata.interfaces.http.schemas import body_schema
from iamata.interfaces.wire.answers import context, explanation, hit
from iamata.interfaces.wire.ids import to_model
from iamata.interfaces.wire.requests import (
    ContextBody,
    ExplainBody,
    SearchBody,
    context_request,
    moment,
    read,
    subject,
)
from iamata.model.scope import Scope

router = APIRouter(prefix="/v1", tags=["assembly"])


def _times(of: ContextBody | SearchBody | ExplainBody, when: Moments) -> Moments:
    """The two times of the body, else those of the query."""
    return Moments(moment(of.known_at, "knownAt") or when.known_at, moment(of.true_at, "trueAt") or when.true_at)


@router.post("/context", operation_id="assemble-context", openapi_extra=body_schema(ContextBody))
def assemble_context(served: Here, access: Who, request: Request, body: JsonBody, when: When) -> Response:
    """The context for a task within a token budget: text, items, weights, conflicts, what was left out."""
    asked = read(body, ContextBody)
    times = _times(asked, when)
    made = served.engine.context(context_request(asked), known_at=times.known_at, true_at=times.true_at, access=access)
    return stamped(request, context(made), made.stamp)


@router.post("/search", operation_id="search", openapi_extra=body_schema(SearchBody))
def search(served: Here, access: Who, body: JsonBody, when: When) -> Response:
    """What fits the words, best first."""
    asked = read(body, SearchBody)
    times = _times(asked, when)
    about = subject(asked.subject, asked.patient)
    found = served.engine.search(
        about,
        asked.query,
        kinds=asked.kinds,
        limit=asked.limit,
        known_at=times.known_at,
        true_at=times.true_at,
        access=access,
    )
    better = served.engine.did_you_mean(
        about, asked.query, known_at=times.known_at, true_at=times.true_at, access=access
    )
    return json_reply({"data": [hit(each) for each in found], "didYouMean": better or None})


@router.post("/explain", operation_id="explain", openapi_extra=body_schema(ExplainBody))
def explain(served: Here, access: Who, body: JsonBody, when: When) -> Response:
    """Why an item stands here: from the item to who said it and the bytes it stands in."""
    asked = read(body, ExplainBody)
    times = _times(asked, when)
    of = subject(asked.subject, asked.patient)
    if of.scope is not Scope.PATIENT:
        proof = served.engine.explain_entry(
            of, asked.item, known_at=times.known_at, true_at=times.true_at, access=access
        )
        return json_reply(explanation(proof))
    found = served.engine.explain(
        of.id,
        to_model(asked.item),
        task=asked.task,
        known_at=times.known_at,
        true_at=times.true_at,
        access=access,
    )
    return json_reply(explanation(found))

"""What waits for a person, and what people decide: rulings on records, and sources taken out."""

from __future__ import annotations

from fastapi import APIRouter, Response

from iamata.interfaces.http.asking import Here, JsonBody, Pages, When, Who
from iamata.interfaces.http.replies import json_reply
from iamata.interfaces.http.schemas import body_schema
from iamata.interfaces.wire.answers import adjudicated, decisions, ruling
from iamata.interfaces.wire.ids import to_model
from iamata.interfaces.wire.requests import AdjudicationBody, RetractionBody, RulingBody, read
from iamata.interfaces.wire.values import page

router = APIRouter(prefix="/v1/patients/{patient_id}", tags=["review"])


@router.get("/review", operation_id="list-review")
def list_review(served: Here, access: Who, patient_id: str, paging: Pages, when: When) -> Response:
    """Pairs that wait for a person, with the evidence side by side."""
    waiting = served.engine.review(patient_id, known_at=when.known_at, true_at=when.true_at, access=access)
    first = paging.number * paging.size
    shown = decisions(waiting[first : first + paging.size])
    return json_reply(page(shown, len(waiting), paging.number, paging.size))


@router.post("/rulings", operation_id="rule", status_code=201, openapi_extra=body_schema(RulingBody))
def rule(served: Here, access: Who, patient_id: str, body: JsonBody) -> Response:
    """Decide: same, not-same, value-is-right, not-this-patient, no-longer-true; memory-refused, memory-hidden,
    memory-no-longer-true, of which `left` is the memory. It holds until it is withdrawn."""
    asked = read(body, RulingBody)
    made = served.engine.rule(
        patient_id,
        asked.kind,
        to_model(asked.left),
        to_model(asked.right) if asked.right else "",
        field=asked.field,
        reason=asked.reason,
        access=access,
    )
    return json_reply(ruling(made), status=201)


@router.get("/rulings", operation_id="list-rulings")
def list_rulings(served: Here, access: Who, patient_id: str, paging: Pages, when: When) -> Response:
    """What people decided, the earliest first, withdrawals among it."""
    found = served.engine.rulings(patient_id, known_at=when.known_at, access=access)
    first = paging.number * paging.size
    shown = [ruling(each) for each in found[first : first + paging.size]]
    return json_reply(page(shown, len(found), paging.number, paging.size))


@router.delete("/rulings/{ruling_id}", operation_id="withdraw-ruling", status_code=204)
def withdraw(served: Here, access: Who, patient_id: str, ruling_id: str) -> Response:
    """Take a ruling back: the graph is as if it had never been."""
    served.engine.withdraw_ruling(patient_id, ruling_id, access=access)
    return Response(status_code=204)


@router.post("/adjudications", operation_id="adjudicate", openapi_extra=body_schema(AdjudicationBody))
def adjudicate(served: Here, access: Who, patient_id: str, body: JsonBody) -> Response:
    """Ask the configured language model about pairs that wait for a person. 503 if none is configured."""
    done = served.engine.adjudicate(patient_id, most=read(body, AdjudicationBody).most, access=access)
    return json_reply(adjudicated(done))


@router.post("/retractions", operation_id="retract", status_code=204, openapi_extra=body_schema(RetractionBody))
def retract(served: Here, access: Who, patient_id: str, body: JsonBody) -> Response:
    """Take a source out: facts are as if it had never come."""
    served.engine.retract(patient_id, read(body, RetractionBody).source, access=access)
    return Response(status_code=204)

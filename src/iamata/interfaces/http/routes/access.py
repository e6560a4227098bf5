"""Access itself: who is related to a patient, break-glass, what the policy says and why."""

from __future__ import annotations

from fastapi import APIRouter, Response

from iamata.interfaces.http.asking import Here, JsonBody, Pages, Who
from iamata.interfaces.http.replies import json_reply
from iamata.interfaces.http.schemas import body_schema
from iamata.interfaces.wire import policies
from iamata.interfaces.wire.policies import BreakGlassBody, PolicyQuestionBody, RelationBody
from iamata.interfaces.wire.requests import read
from iamata.interfaces.wire.values import page

router = APIRouter(prefix="/v1", tags=["access"])


@router.get("/policy", operation_id="get-policy")
def get_policy(served: Here, access: Who) -> Response:
    """The policy in force: its version and its rows, in the order in which they decide."""
    return json_reply(policies.policy(served.engine.policy(access=access)))


@router.post("/policy/explain", operation_id="explain-policy", openapi_extra=body_schema(PolicyQuestionBody))
def explain_policy(served: Here, access: Who, body: JsonBody) -> Response:
    """What would be decided for a principal that comes by token, by which row, and why."""
    asked = read(body, PolicyQuestionBody)
    found = served.engine.explain_policy(
        asked.principal,
        asked.act,
        policies.asked_about(asked.subject),
        roles=asked.roles,
        purpose=asked.purpose,
        kind=asked.kind,
        on_behalf_of=asked.on_behalf_of,
        access=access,
    )
    return json_reply(policies.explained(found))


@router.get("/patients/{patient_id}/relations", operation_id="list-relations")
def list_relations(served: Here, access: Who, patient_id: str, paging: Pages) -> Response:
    """Who is and was related to the patient, break-glass among it."""
    found = served.engine.relations(patient_id, access=access)
    first = paging.number * paging.size
    shown = policies.relations(found[first : first + paging.size], served.now())
    return json_reply(page(shown, len(found), paging.number, paging.size))


@router.post(
    "/patients/{patient_id}/relations", operation_id="relate", status_code=201, openapi_extra=body_schema(RelationBody)
)
def relate(served: Here, access: Who, patient_id: str, body: JsonBody) -> Response:
    """Say that somebody is of the care team, a proxy, or the patient in person. It holds until it ends or is ended."""
    asked = read(body, RelationBody)
    made = served.engine.relate(
        patient_id,
        asked.principal,
        asked.kind,
        since=asked.since,
        until=asked.until,
        reason=asked.reason,
        access=access,
    )
    return json_reply(policies.relation(made), status=201)


@router.delete("/patients/{patient_id}/relations/{relation_id}", operation_id="end-relation", status_code=204)
def end_relation(served: Here, access: Who, patient_id: str, relation_id: str) -> Response:
    """End a relation, or an open break-glass, now."""
    served.engine.end_relation(patient_id, relation_id, access=access)
    return Response(status_code=204)


@router.post(
    "/patients/{patient_id}/break-glass",
    operation_id="break-glass",
    status_code=201,
    openapi_extra=body_schema(BreakGlassBody),
)
def break_glass(served: Here, access: Who, patient_id: str, body: JsonBody) -> Response:
    """Open the patient to yourself in an emergency, with a reason, for a while. It is loud and recorded."""
    asked = read(body, BreakGlassBody)
    made = served.engine.break_glass(patient_id, asked.reason, minutes=asked.minutes, access=access)
    return json_reply(policies.relation(made), status=201)


@router.get("/break-glass", operation_id="list-break-glass")
def list_break_glass(served: Here, access: Who, paging: Pages) -> Response:
    """Every break-glass there was, of all patients, the earliest first."""
    found = served.engine.broken_glass(access=access)
    first = paging.number * paging.size
    shown = policies.relations(found[first : first + paging.size], served.now())
    return json_reply(page(shown, len(found), paging.number, paging.size))

"""Sessions and what was learned from them, with the contract's older ways of writing them."""

from __future__ import annotations

from typing import Annotated
from uuid import uuid4

from fastapi import APIRouter, Query, Request, Response

from iamata.errors import NotFound
from iamata.interfaces.http.asking import Here, JsonBody, Pages, When, Who
from iamata.interfaces.http.replies import answered, json_reply
from iamata.interfaces.http.routes.ingestions import Heard
from iamata.interfaces.http.schemas import body_schema
from iamata.interfaces.http.serving import Served
from iamata.interfaces.wire.ids import check_new
from iamata.interfaces.wire.receipts import receipt
from iamata.interfaces.wire.requests import MessagesBody, ToolCallsBody, calls, check_about, read, turns
from iamata.interfaces.wire.sessions import recorded_call, session, session_memory
from iamata.interfaces.wire.values import page
from iamata.model.access import Access

router = APIRouter(prefix="/v1/patients/{patient_id}/sessions", tags=["sessions"])


@router.get("/{session_id}", operation_id="get-session")
def get_session(served: Here, access: Who, patient_id: str, session_id: str) -> Response:
    """A session with its messages."""
    return json_reply(session(served.session(patient_id, session_id, access)))


@router.get("/{session_id}/tool-calls", operation_id="list-tool-calls")
def list_tool_calls(served: Here, access: Who, patient_id: str, session_id: str, paging: Pages, when: When) -> Response:
    """What agents asked of tools in this session, in the order of its turns."""
    found = served.engine.tool_calls(patient_id, session_id, known_at=when.known_at, access=access)
    first = paging.number * paging.size
    shown = [recorded_call(each) for each in found[first : first + paging.size]]
    return json_reply(page(shown, len(found), paging.number, paging.size))


@router.post(
    "/{session_id}/tool-calls",
    operation_id="record-tool-calls",
    status_code=201,
    openapi_extra=body_schema(ToolCallsBody),
)
def record_tool_calls(served: Here, access: Who, patient_id: str, session_id: str, body: JsonBody) -> Response:
    """Record what an agent asked of tools, beside the turns. A call with a `callId` that is held is not recorded twice;
    nothing is learned from calls."""
    sent = calls(read(body, ToolCallsBody).calls, "/calls")
    new = served.engine.record_calls(patient_id, session_id, sent, access=access)
    return json_reply({"sessionId": session_id, "patientId": patient_id, "recorded": new}, status=201)


@router.get("/{session_id}/memories", operation_id="list-session-memories")
def list_memories(
    served: Here,
    access: Who,
    patient_id: str,
    session_id: str,
    request: Request,
    paging: Pages,
    when: When,
    sort: Annotated[str, Query(pattern="^createdAt$")] = "createdAt",
    order: Annotated[str, Query(pattern="^(asc|desc)$")] = "desc",
) -> Response:
    """What was learned from this session, newest first; within one moment in the order of the talk."""
    talk = served.session(patient_id, session_id, access)
    index = {each.id: each.index for each in talk.messages}
    graph = served.engine.graph(patient_id, known_at=when.known_at, true_at=when.true_at, access=access)
    found = sorted(
        (each for each in graph.memories.values() if each.session == session_id),
        key=lambda each: (each.received_at, index.get(each.message, 0), each.start, each.id),
        reverse=order == "desc",
    )
    first = paging.number * paging.size
    shown = [session_memory(each) for each in found[first : first + paging.size]]
    return answered(request, page(shown, len(found), paging.number, paging.size))


@router.post("", operation_id="create-session", deprecated=True)
def create_session(served: Here, access: Who, patient_id: str) -> Response:
    """Open a session under a new id. Not needed: the first turns open it."""
    return json_reply(session(served.open_session(patient_id, f"s-{uuid4().hex}", access)))


@router.put("/{session_id}", operation_id="upsert-session", deprecated=True)
def upsert_session(served: Here, access: Who, patient_id: str, session_id: str) -> Response:
    """Open a session under this id, or confirm it. Not needed: the first turns open it."""
    return json_reply(session(served.open_session(patient_id, session_id, access)))


@router.post(
    "/{session_id}/messages",
    operation_id="append-messages",
    deprecated=True,
    openapi_extra=body_schema(MessagesBody),
)
def append_messages(
    served: Here,
    access: Who,
    patient_id: str,
    session_id: str,
    body: JsonBody,
    how: Heard,
) -> Response:
    """Add turns at the end of a session; sent twice, they were said twice."""
    sent = read(body, MessagesBody).messages
    check_about(patient_id, sent, "/messages")
    said = turns(sent, "/messages")
    if not served.known(patient_id, access):
        check_new(patient_id, "patient")
    if not _has_session(served, access, patient_id, session_id):
        check_new(session_id, "session")
    made = served.engine.append(
        patient_id, session_id, said, source=how.source, form=False, after_erasure=how.after_erasure, access=access
    )
    settled = served.await_settled(made, how.wait_s, access)
    return json_reply(
        {"sessionId": session_id, "patientId": patient_id, "ingestion": receipt(settled, lines=how.lines)}
    )


def _has_session(served: Served, access: Access, patient_id: str, session_id: str) -> bool:
    try:
        served.engine.session(patient_id, session_id, access=access)
    except NotFound:
        return False
    return True


@router.post("/{session_id}/memories", operation_id="generate-memories", deprecated=True)
def generate_memories(served: Here, access: Who, patient_id: str, session_id: str) -> Response:
    """Does nothing: memories form from a session's turns as they arrive."""
    served.engine.patient(patient_id, access=access)
    return json_reply({"sessionId": session_id, "patientId": patient_id, "status": "accepted"}, status=202)

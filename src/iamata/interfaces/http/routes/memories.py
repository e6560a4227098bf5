"""Learned Memory of a patient: memories by session, kind, thread, task and words; threads; links through time."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from iamata.errors import BadInput
from iamata.interfaces.http.asking import Here, Lines, Pages, When, Who, listed
from iamata.interfaces.http.replies import answered, lines_reply
from iamata.interfaces.http.schemas import LISTED
from iamata.interfaces.wire.nodes import memory_type
from iamata.interfaces.wire.remembered import link_state, recalled, thread
from iamata.interfaces.wire.values import page
from iamata.model.memory import MemoryKind

router = APIRouter(prefix="/v1/patients/{patient_id}", tags=["memories"])


@router.get("/memories", operation_id="list-memories", responses=LISTED)
def list_memories(
    served: Here,
    access: Who,
    request: Request,
    patient_id: str,
    paging: Pages,
    when: When,
    lines: Lines,
    session: Annotated[str, Query(description="Only what was said in this session.")] = "",
    kind: Annotated[list[str] | None, Query(description="Only of these kinds; may be repeated or hold commas.")] = None,
    type: Annotated[str, Query(description="Only of this type of the contract.")] = "",
    thread: Annotated[str, Query(description="Only of this thread.")] = "",
    query: Annotated[str, Query(description="Those that answer this, best first.")] = "",
    task: Annotated[str, Query(description="Those that matter to this task, the weightiest first.")] = "",
) -> Response:
    """What the patient and those who speak for them said, newest first; by question or task, best first."""
    times = {"known_at": when.known_at, "true_at": when.true_at}
    found = served.engine.memories(
        patient_id,
        session=session,
        kinds=_kinds(listed(kind)),
        thread=thread,
        query=query,
        task=task,
        **times,
        access=access,
    )
    if type:
        found = [each for each in found if memory_type(each.memory) == type]
    graph = served.engine.graph(patient_id, **times, access=access)
    if lines:
        return lines_reply(recalled(found, graph))
    first = paging.number * paging.size
    data = recalled(found[first : first + paging.size], graph)
    return answered(request, page(data, len(found), paging.number, paging.size))


@router.get("/threads", operation_id="list-threads")
def list_threads(served: Here, access: Who, request: Request, patient_id: str, paging: Pages, when: When) -> Response:
    """What was said of each thing, newest first, with what changed; the thing spoken of last first."""
    found = served.engine.threads(patient_id, known_at=when.known_at, true_at=when.true_at, access=access)
    first = paging.number * paging.size
    data = [thread(each) for each in found[first : first + paging.size]]
    return answered(request, page(data, len(found), paging.number, paging.size))


@router.get("/memories/{memory_id}/links", operation_id="list-memory-links")
def list_links(
    served: Here, access: Who, request: Request, patient_id: str, memory_id: str, paging: Pages, when: When
) -> Response:
    """How the memory's links to facts came to be as they are: each state from when it was known, earliest first."""
    found = served.engine.link_history(
        patient_id, memory_id, known_at=when.known_at, true_at=when.true_at, access=access
    )
    first = paging.number * paging.size
    data = [link_state(each) for each in found[first : first + paging.size]]
    return answered(request, page(data, len(found), paging.number, paging.size))


def _kinds(names: list[str]) -> list[MemoryKind]:
    try:
        return [MemoryKind(name) for name in names]
    except ValueError:
        raise BadInput(f"a kind is one of {', '.join(MemoryKind)}", place="kind") from None

"""Ingestions: hand in documents and transcripts, follow their receipts, and get back the bytes as they came.

An ingestion answers as soon as it is durable, with `pending`; `?wait=` holds the answer back until it is formed.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Annotated
from urllib.parse import quote
from uuid import uuid4

from fastapi import APIRouter, Header, Path, Query, Request, Response

from iamata.errors import Conflict, NotFound
from iamata.interfaces.http.asking import FhirBody, Here, JsonBody, Pages, Who, listed, media_type, wait_s
from iamata.interfaces.http.problems import OutOfRange
from iamata.interfaces.http.replies import json_reply
from iamata.interfaces.http.schemas import body_schema, fhir_schema
from iamata.interfaces.http.serving import Served
from iamata.interfaces.wire.ids import check_new
from iamata.interfaces.wire.receipts import receipt, receipts, split_id
from iamata.interfaces.wire.requests import SessionsBody, TranscriptBody, continues, read, turns
from iamata.interfaces.wire.values import page
from iamata.model.access import Access
from iamata.model.document import IngestionStatus
from iamata.model.session import Turn

router = APIRouter(prefix="/v1/patients/{patient_id}", tags=["ingestions"])

Wait = Annotated[str | None, Query(description="`true`, or for how many seconds to wait until it is formed.")]
Source = Annotated[str | None, Query(description="The sending system; provenance, never the author.")]
SourceHeader = Annotated[str | None, Header(alias="Iamata-Source")]
Key = Annotated[str | None, Header(alias="Idempotency-Key", max_length=255)]


def _check_patient(served: Served, patient_id: str, access: Access) -> None:
    """A first ingestion registers its patient, so a new id has to be one that the contract allows."""
    if not served.known(patient_id, access):
        check_new(patient_id, "patient")


@router.post("/ingestions/fhir/r4", operation_id="ingest-fhir-r4", openapi_extra=fhir_schema())
def ingest_fhir_r4(
    served: Here,
    access: Who,
    request: Request,
    patient_id: str,
    body: FhirBody,
    wait: Wait = None,
    source: Source = None,
    source_header: SourceHeader = None,
) -> Response:
    """A FHIR R4 Bundle or one resource. What is held already stages nothing."""
    _check_patient(served, patient_id, access)
    seconds = wait_s(served, wait)
    made = served.engine.ingest(
        patient_id,
        body,
        format="fhir/r4",
        media_type=media_type(request),
        source=source or source_header or "",
        form=False,
        access=access,
    )
    return json_reply(receipt(served.await_settled(made, seconds, access)))


@router.post("/ingestions/sessions", operation_id="ingest-sessions", openapi_extra=body_schema(SessionsBody))
def ingest_sessions(
    served: Here,
    access: Who,
    patient_id: str,
    body: JsonBody,
    wait: Wait = None,
    source: Source = None,
    source_header: SourceHeader = None,
    key: Key = None,
) -> Response:
    """One or more transcripts, each the whole talk so far. If one of them is refused, none is stored."""
    _check_patient(served, patient_id, access)
    seconds = wait_s(served, wait)
    sent = read(body, SessionsBody).sessions
    talks = [turns(each.messages, f"/sessions/{index}/messages") for index, each in enumerate(sent)]
    names = [_session_id(patient_id, each, index, key) for index, each in enumerate(sent)]
    if len(set(names)) < len(names):
        raise Conflict("two transcripts of one request name the same session")
    for name, talk in zip(names, talks, strict=True):
        _check_continues(served, access, patient_id, name, talk)
    made = [
        served.engine.append(
            patient_id, name, talk, whole=True, source=source or source_header or "", form=False, access=access
        )
        for name, talk in zip(names, talks, strict=True)
    ]
    settled = [served.await_settled(each, seconds, access) for each in made]
    return json_reply(receipts(settled, turns=[len(talk) for talk in talks]))


def _session_id(patient_id: str, sent: TranscriptBody, index: int, key: str | None) -> str:
    """The session that a transcript belongs to: the one it names, the one of its Idempotency-Key, or a new one."""
    if sent.session_id is not None:
        return sent.session_id
    if key:
        parts = "\0".join((patient_id, str(index), key)).encode()
        return f"s-{blake2b(parts, digest_size=16, person=b'iamata-session').hexdigest()}"
    return f"s-{uuid4().hex}"


def _check_continues(served: Served, access: Access, patient_id: str, name: str, talk: list[Turn]) -> None:
    """Refuse an edited transcript before any of the request is stored; the engine checks again as it stores."""
    try:
        held = served.engine.session(patient_id, name, access=access)
    except NotFound:
        check_new(name, "session")
        return
    if not continues(held, talk):
        raise Conflict("a stored turn of this session was edited, removed or reordered; nothing was stored")


@router.get("/ingestions", operation_id="list-ingestions")
def list_ingestions(
    served: Here,
    access: Who,
    patient_id: str,
    paging: Pages,
    status: Annotated[list[str] | None, Query(description="May be repeated or hold commas.")] = None,
    sort: Annotated[str, Query(pattern="^receivedAt$")] = "receivedAt",
    order: Annotated[str, Query(pattern="^(asc|desc)$")] = "asc",
) -> Response:
    """The patient's receipts, newest last; `?status=pending,processing` with a total of 0 means that all is settled."""
    statuses = listed(status)
    if any(each not in list(IngestionStatus) for each in statuses):
        raise OutOfRange(f"status is one of {', '.join(IngestionStatus)}")
    rows, total = served.engine.receipts(
        patient_id, statuses=statuses, page=paging.number, per_page=paging.size, access=access
    )
    if order == "asc":
        # The engine's pages begin at the newest, so a page of the oldest lies across two of its pages.
        first = paging.number * paging.size
        wanted = rows if total <= paging.size else served.receipts(patient_id, access, statuses)
        rows = [] if first >= total else wanted[::-1][first : first + paging.size]
    return json_reply(page([receipt(each) for each in rows], total, paging.number, paging.size))


@router.get("/ingestions/{ingestion_id}", operation_id="get-ingestion")
def get_ingestion(
    served: Here,
    access: Who,
    patient_id: str,
    ingestion_id: Annotated[str, Path()],
    lines: Annotated[bool, Query(description="With every intake line and its place.")] = False,
) -> Response:
    """One receipt, and where its work stands."""
    found = [served.engine.receipt(patient_id, each, access=access) for each in split_id(ingestion_id)]
    return json_reply(receipts(found, lines=lines))


@router.get("/documents/{document_id}/content", operation_id="get-document-content", tags=["documents"])
def document_content(served: Here, access: Who, patient_id: str, document_id: str) -> Response:
    """The bytes exactly as received. Sent as a download in a sandbox, because a document may hold scripts."""
    media, body = served.engine.document(patient_id, document_id, access=access)
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(document_id, safe='')}",
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Cache-Control": "no-store",
    }
    return Response(body, headers=headers, media_type=media or "application/octet-stream")

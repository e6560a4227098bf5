"""Ingestions: hand in documents and transcripts, follow their receipts, and get back the bytes as they came.

An ingestion answers as soon as it is durable, with `pending`; `?wait=` holds the answer back until it is formed.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Annotated
from uuid import uuid4

import msgspec
from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response

from iamata.engine.talking import Talk
from iamata.engine.writing import Sent
from iamata.errors import BadInput, NotFound
from iamata.interfaces.http.asking import (
    FhirBody,
    Here,
    JsonBody,
    Pages,
    Who,
    documents_body,
    listed,
    media_type,
    wait_s,
)
from iamata.interfaces.http.problems import OutOfRange
from iamata.interfaces.http.replies import download, json_reply
from iamata.interfaces.http.schemas import body_schema, documents_schema, fhir_schema
from iamata.interfaces.http.serving import Served
from iamata.interfaces.wire.ids import check_new
from iamata.interfaces.wire.receipts import receipt, receipts, reread, split_id
from iamata.interfaces.wire.requests import SessionsBody, TranscriptBody, check_about, labels, moment, read, turns
from iamata.interfaces.wire.values import page
from iamata.model.access import Access
from iamata.model.document import IngestionStatus
from iamata.model.provenance import SourceKind

router = APIRouter(prefix="/v1/patients/{patient_id}", tags=["ingestions"])

CDA = ("application/cda+xml", "application/xml", "text/xml")
HL7V2 = (
    "application/hl7-v2",
    "application/hl7-v2+er7",
    "x-application/hl7-v2+er7",
    "text/plain",
    "application/octet-stream",
)
X12 = ("application/edi-x12", "application/x12", "text/plain", "application/octet-stream")

CdaBody = Annotated[list[Sent], Depends(documents_body(*CDA))]
Hl7Body = Annotated[list[Sent], Depends(documents_body(*HL7V2))]
X12Body = Annotated[list[Sent], Depends(documents_body(*X12))]
TRANSCRIPTS = (
    "text/plain",
    "text/vtt",
    "application/x-subrip",
    "text/srt",
    "text/csv",
    "application/json",
    "application/octet-stream",
)
TranscriptBytes = Annotated[list[Sent], Depends(documents_body(*TRANSCRIPTS))]
AnyBody = Annotated[list[Sent], Depends(documents_body())]
Key = Annotated[str | None, Header(alias="Idempotency-Key", max_length=255)]


WithLines = Annotated[bool, Query(description="With every intake line and its place.")]


class How(msgspec.Struct, frozen=True):
    """How a submission is to be taken: how long to wait until it is formed, from which system, of what sort, also if
    it was erased, and answered with its intake line by line."""

    wait_s: float
    source: str
    source_kind: SourceKind | None
    after_erasure: bool = False
    lines: bool = False


def heard(
    served: Here,
    wait: Annotated[
        str | None, Query(description="`true`, or for how many seconds to wait until it is formed.")
    ] = None,
    source: Annotated[str | None, Query(description="The sending system; provenance, never the author.")] = None,
    source_header: Annotated[str | None, Header(alias="Iamata-Source")] = None,
    after_erasure: Annotated[
        bool, Query(alias="afterErasure", description="Also if the patient, or this very thing, was erased.")
    ] = False,
    lines: WithLines = False,
) -> How:
    """How talk is taken: what its source is needs no saying."""
    return How(wait_s(served, wait), source or source_header or "", None, after_erasure, lines)


def how(
    said: Annotated[How, Depends(heard)],
    source_kind: Annotated[
        SourceKind | None, Query(alias="sourceKind", description="What sort of system that is. Default: ehr.")
    ] = None,
) -> How:
    return msgspec.structs.replace(said, source_kind=source_kind)


Heard = Annotated[How, Depends(heard)]
Hows = Annotated[How, Depends(how)]


def _check_patient(served: Served, patient_id: str, access: Access) -> None:
    """A first ingestion registers its patient, so a new id has to be one that the contract allows."""
    if not served.known(patient_id, access):
        check_new(patient_id, "patient")


def _taken(
    served: Served,
    access: Access,
    patient_id: str,
    documents: Sequence[Sent],
    format: str,
    how: How,
) -> Response:
    """All of the documents accepted, or none: one receipt for the request."""
    _check_patient(served, patient_id, access)
    made = served.engine.ingest_many(
        patient_id,
        documents,
        format=format,
        source=how.source,
        source_kind=how.source_kind,
        form=False,
        after_erasure=how.after_erasure,
        access=access,
    )
    return json_reply(receipts(served.await_all(made, how.wait_s, access), lines=how.lines))


@router.post("/ingestions/fhir/r4", operation_id="ingest-fhir-r4", openapi_extra=fhir_schema())
def ingest_fhir_r4(served: Here, access: Who, request: Request, patient_id: str, body: FhirBody, how: Hows) -> Response:
    """A FHIR R4 Bundle or one resource. What is held already stages nothing."""
    return _taken(served, access, patient_id, [Sent(body, "", media_type(request))], "fhir/r4", how)


@router.post("/ingestions/fhir/r5", operation_id="ingest-fhir-r5", openapi_extra=fhir_schema())
def ingest_fhir_r5(served: Here, access: Who, request: Request, patient_id: str, body: FhirBody, how: Hows) -> Response:
    """A FHIR R5 Bundle or one resource. What is held already stages nothing."""
    return _taken(served, access, patient_id, [Sent(body, "", media_type(request))], "fhir/r5", how)


@router.post("/ingestions/cda/r2", operation_id="ingest-cda-r2", openapi_extra=documents_schema(*CDA))
def ingest_cda_r2(served: Here, access: Who, patient_id: str, documents: CdaBody, how: Hows) -> Response:
    """A CDA R2 document (C-CDA), or several as parts. If one of them cannot be read, none is stored."""
    return _taken(served, access, patient_id, documents, "cda/r2", how)


@router.post("/ingestions/hl7v2", operation_id="ingest-hl7v2", openapi_extra=documents_schema(*HL7V2))
def ingest_hl7v2(served: Here, access: Who, patient_id: str, documents: Hl7Body, how: Hows) -> Response:
    """HL7 v2 messages in their delimited form: one, many, or a batch; or several of these as parts."""
    return _taken(served, access, patient_id, documents, "hl7v2", how)


@router.post("/ingestions/x12", operation_id="ingest-x12", openapi_extra=documents_schema(*X12))
def ingest_x12(served: Here, access: Who, patient_id: str, documents: X12Body, how: Hows) -> Response:
    """X12 interchanges; or several of these as parts."""
    return _taken(served, access, patient_id, documents, "x12", how)


@router.post("/ingestions/documents", operation_id="ingest-documents", openapi_extra=documents_schema())
def ingest_documents(
    served: Here,
    access: Who,
    patient_id: str,
    documents: AnyBody,
    how: Hows,
    name: Annotated[str | None, Query(description="The file's name; goes before a Content-Disposition.")] = None,
) -> Response:
    """A document of any format that is read, told by its bytes (then by media type and name); or several as parts. If
    one of them cannot be read, none is stored."""
    return _taken(served, access, patient_id, documents, "", how)


@router.post("/ingestions/sessions", operation_id="ingest-sessions", openapi_extra=body_schema(SessionsBody))
def ingest_sessions(
    served: Here,
    access: Who,
    patient_id: str,
    body: JsonBody,
    how: Heard,
    key: Key = None,
) -> Response:
    """One or more transcripts, each the whole talk so far. If one of them is refused, none is stored."""
    _check_patient(served, patient_id, access)
    sent = read(body, SessionsBody).sessions
    talks = [turns(each.messages, f"/sessions/{index}/messages") for index, each in enumerate(sent)]
    names = [_session_id(patient_id, each, index, key) for index, each in enumerate(sent)]
    for index, (name, transcript) in enumerate(zip(names, sent, strict=True)):
        _check_session(served, access, patient_id, name)
        if transcript.patient_id not in ("", patient_id):
            place = f"/sessions/{index}/patientId"
            raise BadInput("this names another patient: a session is about exactly one", place=place)
        check_about(patient_id, transcript.messages, f"/sessions/{index}/messages")
    told = [Talk(name, talk) for name, talk in zip(names, talks, strict=True)]
    made = served.engine.append_many(
        patient_id,
        told,
        whole=True,
        source=how.source,
        form=False,
        after_erasure=how.after_erasure,
        access=access,
    )
    settled = served.await_all(made, how.wait_s, access)
    return json_reply(receipts(settled, turns=[len(talk) for talk in talks], lines=how.lines))


def _session_id(patient_id: str, sent: TranscriptBody, index: int, key: str | None) -> str:
    """The session that a transcript belongs to: the one it names, the one of its Idempotency-Key, or a new one."""
    if sent.session_id is not None:
        return sent.session_id
    if key:
        parts = "\0".join((patient_id, str(index), key)).encode()
        return f"s-{blake2b(parts, digest_size=16, person=b'iamata-session').hexdigest()}"
    return f"s-{uuid4().hex}"


@router.post("/ingestions/transcripts", operation_id="ingest-transcript", openapi_extra=documents_schema(*TRANSCRIPTS))
def ingest_transcript(
    served: Here,
    access: Who,
    patient_id: str,
    documents: TranscriptBytes,
    how: Heard,
    session: Annotated[
        str | None, Query(description="Which conversation; goes before the one that the transcript names.")
    ] = None,
    format: Annotated[str | None, Query(description="json, text, vtt, srt or csv. Default: told by its bytes.")] = None,
    begins_at: Annotated[
        str | None,
        Query(alias="beginsAt", description="When the talk began, ISO 8601: times of cues count from there."),
    ] = None,
    time_zone: Annotated[
        str | None, Query(alias="timeZone", description="Of times without an offset: Europe/Berlin, Z, +02:00.")
    ] = None,
    speaker: Annotated[
        list[str] | None,
        Query(description="Who a label stands for: `Speaker 1=patient`, `Ms B=caregiver:daughter`; may be repeated."),
    ] = None,
    known_as: Annotated[
        str | None, Query(alias="knownAs", description="The id by which the transcript names the patient, if not ours.")
    ] = None,
) -> Response:
    """The transcript of one conversation, as JSON of the wire contract, text with speaker labels, WebVTT, SubRip or
    CSV. Whole or not at all; sent again, only what is new is stored."""
    _check_patient(served, patient_id, access)
    if len(documents) > 1:
        raise BadInput("send one transcript at a time", place="part 1")
    if session is not None:
        _check_session(served, access, patient_id, session)
    made = served.engine.append_transcript(
        patient_id,
        documents[0].body,
        session=session or "",
        format=format or "",
        begins_at=moment(begins_at, "beginsAt"),
        time_zone=time_zone or "",
        speakers=labels(speaker or [], "speaker"),
        known_as=known_as or "",
        source=how.source,
        form=False,
        after_erasure=how.after_erasure,
        access=access,
    )
    return json_reply(receipt(served.await_settled(made, how.wait_s, access), lines=how.lines))


def _check_session(served: Served, access: Access, patient_id: str, name: str) -> None:
    """A new session has an id that the contract allows."""
    try:
        served.engine.session(patient_id, name, access=access)
    except NotFound:
        check_new(name, "session")


@router.get("/ingestions", operation_id="list-ingestions")
def list_ingestions(
    served: Here,
    access: Who,
    patient_id: str,
    paging: Pages,
    status: Annotated[list[str] | None, Query(description="May be repeated or hold commas.")] = None,
    sort: Annotated[str, Query(pattern="^receivedAt$")] = "receivedAt",
    order: Annotated[str, Query(pattern="^(asc|desc)$")] = "asc",
    lines: WithLines = False,
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
    return json_reply(page([receipt(each, lines=lines) for each in rows], total, paging.number, paging.size))


@router.get("/ingestions/{ingestion_id}", operation_id="get-ingestion")
def get_ingestion(
    served: Here,
    access: Who,
    patient_id: str,
    ingestion_id: Annotated[str, Path()],
    lines: WithLines = False,
) -> Response:
    """One receipt, and where its work stands."""
    found = [served.engine.receipt(patient_id, each, access=access) for each in split_id(ingestion_id)]
    return json_reply(receipts(found, lines=lines))


@router.get("/documents/{document_id}/content", operation_id="get-document-content", tags=["documents"])
def document_content(served: Here, access: Who, patient_id: str, document_id: str) -> Response:
    """The bytes exactly as received, as a download in a sandbox."""
    media, body = served.engine.document(patient_id, document_id, access=access)
    return download(document_id, body, media)


@router.post("/rereadings", operation_id="reread")
def read_again(served: Here, access: Who, patient_id: str) -> Response:
    """Read the documents that are held again, as this version reads them, and swap what they say otherwise."""
    return json_reply(reread(served.engine.reread(patient_id, access=access)))

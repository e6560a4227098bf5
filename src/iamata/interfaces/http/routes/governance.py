"""What a privacy officer asks: who did what; what is erased, what must not be, and the receipts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from iamata.interfaces.http.asking import Here, JsonBody, Pages, Who
from iamata.interfaces.http.replies import json_reply
from iamata.interfaces.http.schemas import body_schema
from iamata.interfaces.wire.audits import audit_event, audit_record, checkpoint
from iamata.interfaces.wire.erasures import ErasureBody, HoldBody, applied, due, erasure, hold
from iamata.interfaces.wire.requests import read
from iamata.interfaces.wire.values import page

router = APIRouter(prefix="/v1", tags=["governance"])

About = Annotated[str | None, Query(description="Of one subject, such as patient/leo.")]


@router.get("/audit", operation_id="list-audit")
def list_audit(
    served: Here,
    access: Who,
    paging: Pages,
    subject: About = None,
    format: Annotated[
        str, Query(pattern="^(json|fhir)$", description="json, or fhir: each an AuditEvent of FHIR R4.")
    ] = "json",
) -> Response:
    """Who did what, the newest first: ids and verbs, never content."""
    found, total = served.engine.audit_page(subject=subject, page=paging.number, per_page=paging.size, access=access)
    shape = audit_event if format == "fhir" else audit_record
    return json_reply(page([shape(each) for each in found], total, paging.number, paging.size))


@router.get("/audit/checkpoint", operation_id="get-audit-checkpoint")
def audit_checkpoint(served: Here, access: Who) -> Response:
    """All chains of the log as they are now, signed: keep it, and what is changed or cut off since shows."""
    return json_reply(checkpoint(served.engine.audit_checkpoint(access=access)))


@router.get("/erasures", operation_id="list-erasures")
def list_erasures(served: Here, access: Who, paging: Pages) -> Response:
    """The receipts of all erasures, the newest first: counts and keyed hashes, nothing of what was erased."""
    found, total = served.engine.erasures(page=paging.number, per_page=paging.size, access=access)
    return json_reply(page([erasure(each) for each in found], total, paging.number, paging.size))


@router.post(
    "/patients/{patient_id}/erasures",
    operation_id="erase",
    status_code=201,
    openapi_extra=body_schema(ErasureBody),
)
def erase(served: Here, access: Who, patient_id: str, body: JsonBody) -> Response:
    """Erase one document, session, message, memory, inference, context or tool call with everything that rests on it
    alone: the signed receipt. Irreversible. 409 while a legal hold stands; 410 if it was erased before."""
    asked = read(body, ErasureBody)
    made = served.engine.erase(patient_id, asked.kind, asked.id, access=access)
    served.forget(patient_id)
    return json_reply(erasure(made), status=201)


@router.get("/patients/{patient_id}/holds", operation_id="list-holds")
def list_holds(served: Here, access: Who, patient_id: str) -> Response:
    """Every legal hold on the patient and every lifting, the earliest first."""
    found = served.engine.holds(patient_id, access=access)
    return json_reply(page([hold(each) for each in found], len(found), 0, max(len(found), 1)))


@router.post(
    "/patients/{patient_id}/holds", operation_id="set-hold", status_code=201, openapi_extra=body_schema(HoldBody)
)
def set_hold(served: Here, access: Who, patient_id: str, body: JsonBody) -> Response:
    """Put a legal hold on the patient: nothing of it is erased until it is lifted."""
    return json_reply(hold(served.engine.set_hold(patient_id, read(body, HoldBody).reason, access=access)), status=201)


@router.post(
    "/patients/{patient_id}/holds/{hold_id}/lift",
    operation_id="lift-hold",
    status_code=201,
    openapi_extra=body_schema(HoldBody),
)
def lift_hold(served: Here, access: Who, patient_id: str, hold_id: str, body: JsonBody) -> Response:
    """Lift a hold, with a reason."""
    made = served.engine.lift_hold(patient_id, hold_id, read(body, HoldBody).reason, access=access)
    return json_reply(hold(made), status=201)


OfPatient = Annotated[str | None, Query(alias="patientId", description="Of this patient only.")]


@router.get("/retention/preview", operation_id="preview-retention")
def preview_retention(served: Here, access: Who, patient_id: OfPatient = None) -> Response:
    """What is no longer to be kept by the policy, and by which rule. Changes nothing."""
    found = [due(each) for each in served.engine.retention_preview(patient_id, access=access)]
    return json_reply(page(found, len(found), 0, max(len(found), 1)))


@router.post("/retention/apply", operation_id="apply-retention")
def apply_retention(served: Here, access: Who, patient_id: OfPatient = None) -> Response:
    """Erase what is due: the receipts, and what legal holds keep. Irreversible."""
    done = served.engine.retention_apply(patient_id, access=access)
    served.forget_all()
    return json_reply(applied(done))

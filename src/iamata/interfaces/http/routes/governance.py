"""What a privacy officer asks: who did what."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from iamata.interfaces.http.asking import Here, Pages, Who
from iamata.interfaces.http.replies import json_reply
from iamata.interfaces.wire.audits import audit_event, audit_record, checkpoint
from iamata.interfaces.wire.values import page

router = APIRouter(prefix="/v1", tags=["governance"])

About = Annotated[str | None, Query(description="Of one subject, such as patient/leo.")]


@router.get("/audit", operation_id="list-audit")
def list_audit(
    served: Here,
    access: Who,
    paging: Pages,
    subject: About = None,
    format: Annotated[str, Query(description="json, or fhir: each an AuditEvent of FHIR R4.")] = "json",
) -> Response:
    """Who did what, the newest first: ids and verbs, never content."""
    found, total = served.engine.audit_page(subject=subject, page=paging.number, per_page=paging.size, access=access)
    shape = audit_event if format == "fhir" else audit_record
    return json_reply(page([shape(each) for each in found], total, paging.number, paging.size))


@router.get("/audit/checkpoint", operation_id="get-audit-checkpoint")
def audit_checkpoint(served: Here, access: Who) -> Response:
    """All chains of the log as they are now, signed: keep it, and what is changed or cut off since shows."""
    return json_reply(checkpoint(served.engine.audit_checkpoint(access=access)))

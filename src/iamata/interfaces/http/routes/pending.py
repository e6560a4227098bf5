"""The contract's routes that this server does not serve yet: they answer 501, in the contract's shape."""

from __future__ import annotations

from fastapi import APIRouter, Response

from iamata.interfaces.http.problems import Unimplemented

router = APIRouter(prefix="/v1/patients/{patient_id}", tags=["not yet"])


@router.post("/ingestions/fhir/r5", operation_id="ingest-fhir-r5")
@router.post("/ingestions/cda/r2", operation_id="ingest-cda-r2")
def ingest_later(patient_id: str) -> Response:
    """This server does not read this format yet."""
    raise Unimplemented("this server does not read this format yet")


@router.post("/graph/nodes/{type}/query", operation_id="query-nodes")
@router.post("/graph/edges/{type}/query", operation_id="query-edges")
def query_later(patient_id: str, type: str) -> Response:
    """This server does not filter yet; the `items` routes list."""
    raise Unimplemented("this server does not filter nodes and edges yet; the items routes list them")

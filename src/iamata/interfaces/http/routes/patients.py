"""Patients: register, look up, list, erase; and what this service is."""

from __future__ import annotations

import time
from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response

from iamata.errors import NotFound, Unavailable
from iamata.interfaces.http.asking import Here, Lines, Pages, Paging, When, Who
from iamata.interfaces.http.replies import answered, json_reply, lines_reply
from iamata.interfaces.http.schemas import LISTED
from iamata.interfaces.wire.erasures import erasure
from iamata.interfaces.wire.ids import check_new
from iamata.interfaces.wire.patients import Person, patient, patient_detail, patient_line, person
from iamata.interfaces.wire.values import page
from iamata.model.patient import PatientRow

router = APIRouter()

_ALL = 2**31 - 1  # one read, so that no patient is missed between two
_WITH_RECEIPT = "return=representation"  # RFC 7240, 4.2


@router.get("/", tags=["service"], operation_id="get-service-info")
def service_info(served: Here) -> Response:
    """What this is, whether it can work (503 if not), and which build it is."""
    try:
        served.engine.doctor()
        healthy = True
    except Unavailable:
        healthy = False
    settings = served.settings
    body = {
        "name": "iamata",
        "status": "healthy" if healthy else "degraded",
        "version": {
            "number": version("iamata"),
            "buildSha": settings.build_sha,
            "buildDate": settings.build_date,
        },
    }
    return json_reply(body, status=200 if healthy else 503)


@router.get("/v1/patients", tags=["patients"], operation_id="list-patients", responses=LISTED)
def list_patients(served: Here, access: Who, paging: Pages, when: When, lines: Lines) -> Response:
    """A page of patients by id, each with the name that its records give."""
    wanted = Paging(0, _ALL) if lines else paging
    rows, total = served.engine.patients(page=wanted.number, per_page=wanted.size, access=access)

    def named(row: PatientRow) -> Person | None:
        try:
            graph = served.engine.graph(row.id, known_at=when.known_at, true_at=when.true_at, access=access)
        except NotFound:  # erased since the page was read
            return None
        return person(graph.facts.values())

    listed = (patient_line(row, named(row) if row.version else None) for row in rows)
    if lines:
        return lines_reply(listed)
    return json_reply(page(list(listed), total, paging.number, paging.size))


@router.put("/v1/patients/{patient_id}", tags=["patients"], operation_id="upsert-patient")
def put_patient(served: Here, access: Who, patient_id: str) -> Response:
    """Register a patient; one that is registered stays as it is, one that was erased is registered anew."""
    try:
        row = served.engine.patient(patient_id, access=access)
    except NotFound:
        check_new(patient_id, "patient")
        row = served.engine.put_patient(patient_id, access=access)
    return json_reply(patient(row))


@router.get("/v1/patients/{patient_id}", tags=["patients"], operation_id="get-patient")
def get_patient(served: Here, access: Who, request: Request, patient_id: str, when: When) -> Response:
    """Who it is, and how much is held. `loadMs` is how long the graph took this time."""
    row = served.engine.patient(patient_id, access=access)
    began = time.perf_counter()
    graph = served.engine.graph(patient_id, known_at=when.known_at, true_at=when.true_at, access=access)
    load_ms = round((time.perf_counter() - began) * 1000, 3)
    newest = max(served.receipts(patient_id, access), key=lambda each: (each.received_at, each.id), default=None)
    warnings = len(newest.warnings) if newest is not None else 0
    return answered(request, patient_detail(row, graph, warnings=warnings, load_ms=load_ms), but=("stats", "loadMs"))


@router.delete("/v1/patients/{patient_id}", tags=["patients"], operation_id="delete-patient", status_code=204)
def delete_patient(
    served: Here,
    access: Who,
    patient_id: str,
    prefer: Annotated[str, Header(description="`return=representation`: answer 200 with the receipt.")] = "",
) -> Response:
    """Erase the patient with everything held; irreversible, and fine if it is gone. 409 while a legal hold stands. The
    header `Iamata-Erasure` names the receipt. Nothing is ingested about the patient afterwards before it is registered
    again by PUT, or `afterErasure` says so."""
    erased = served.engine.delete_patient(patient_id, access=access)
    served.forget(patient_id)
    if erased and prefer.replace(" ", "") == _WITH_RECEIPT:
        return json_reply(erasure(erased), headers={"Preference-Applied": _WITH_RECEIPT, "Iamata-Erasure": erased.id})
    return Response(status_code=204, headers={"Iamata-Erasure": erased.id} if erased else None)

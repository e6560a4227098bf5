"""Reports on one patient: how facts were resolved, what reconciliation came to, what changed, what still conflicts."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from iamata.interfaces.http.asking import Here, Pages, When, Who
from iamata.interfaces.http.replies import answered, answered_text
from iamata.interfaces.wire.answers import conflicts
from iamata.interfaces.wire.changes import changes, changes_markdown
from iamata.interfaces.wire.reports import reconciliation, reconciliation_markdown, resolution
from iamata.interfaces.wire.requests import beginning
from iamata.interfaces.wire.values import page

router = APIRouter(prefix="/v1/patients/{patient_id}", tags=["reports"])


@router.get("/resolution", operation_id="get-resolution")
def get_resolution(served: Here, access: Who, request: Request, patient_id: str, paging: Pages, when: When) -> Response:
    """Every fact of the contract's ten types, with what it was resolved from and where its sources differ."""
    began = time.perf_counter()
    graph = served.engine.graph(patient_id, known_at=when.known_at, true_at=when.true_at, access=access)
    load_ms = round((time.perf_counter() - began) * 1000, 3)
    receipts = served.receipts(patient_id, access)
    view = served.view(graph, access)
    report = resolution(view, receipts, number=paging.number, per_page=paging.size, load_ms=load_ms)
    return answered(request, report, but=("summary", "loadMs"))


@router.get("/reconciliation", operation_id="get-reconciliation")
def get_reconciliation(
    served: Here,
    access: Who,
    request: Request,
    patient_id: str,
    when: When,
    format: Annotated[str, Query(pattern="^(json|markdown)$")] = "markdown",
) -> Response:
    """What was merged and which relationships were inferred, as Markdown or JSON."""
    graph = served.engine.graph(patient_id, known_at=when.known_at, true_at=when.true_at, access=access)
    view = served.view(graph, access)
    if format == "json":
        return answered(request, reconciliation(view))
    return answered_text(request, reconciliation_markdown(view), "text/markdown")


@router.get("/changes", operation_id="list-changes")
def list_changes(
    served: Here,
    access: Who,
    request: Request,
    patient_id: str,
    when: When,
    since: Annotated[
        str, Query(description="Compared with what had been received by then. ISO 8601; a date means its beginning.")
    ],
    format: Annotated[str, Query(pattern="^(json|markdown)$")] = "json",
) -> Response:
    """What became different since a moment: facts added, gone and changed, merges, conflicts, and what was said."""
    report = served.engine.report(
        patient_id, since=beginning(since, "since"), known_at=when.known_at, true_at=when.true_at, access=access
    )
    if format == "json":
        return answered(request, changes(report))
    return answered_text(request, changes_markdown(report), "text/markdown")


@router.get("/conflicts", operation_id="list-conflicts")
def list_conflicts(served: Here, access: Who, request: Request, patient_id: str, paging: Pages, when: When) -> Response:
    """What cannot all be true, with every side and who says it."""
    times = {"known_at": when.known_at, "true_at": when.true_at}
    graph = served.engine.graph(patient_id, **times, access=access)
    known = served.engine.conflicts(patient_id, **times, access=access)
    found = conflicts(known, graph)
    first = paging.number * paging.size
    return answered(request, page(found[first : first + paging.size], len(found), paging.number, paging.size))

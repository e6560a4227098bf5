"""The file tree of a patient: browse it, read from it. The trees that are no patient's are shown by the same bodies."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from iamata.interfaces.http.asking import Here, Moments, When, Who
from iamata.interfaces.http.problems import OutOfRange
from iamata.interfaces.http.replies import stamped
from iamata.interfaces.http.serving import Served
from iamata.interfaces.wire.answers import file, listing, page, the_file, to_address
from iamata.model.access import Access
from iamata.model.reading import Format

router = APIRouter(prefix="/v1/patients/{patient_id}", tags=["tree"])

TreePath = Annotated[str, Query(description="Relative to the patient, such as `/conditions/active`.")]
Budget = Annotated[int | None, Query(description="At most so many tokens, exactly counted.")]


@router.get("/vfs", operation_id="browse-vfs")
def browse(served: Here, access: Who, request: Request, patient_id: str, when: When, path: TreePath = "/") -> Response:
    """A directory's lines, or a file with its content."""
    return browsed(served, access, request, to_address(patient_id, path), when, patient=patient_id)


@router.get("/read", operation_id="read-vfs")
def read(
    served: Here,
    access: Who,
    request: Request,
    patient_id: str,
    when: When,
    path: TreePath = "/",
    format: Format = Format.NARRATIVE,
    token_budget: Budget = None,
) -> Response:
    """A file of the tree, rendered."""
    return rendered(served, access, request, to_address(patient_id, path), when, format, token_budget)


def browsed(
    served: Served, access: Access, request: Request, address: str, when: Moments, *, patient: str = ""
) -> Response:
    """What stands at an address. Paths in the answer are relative to the patient; without one they are addresses."""
    found = served.engine.browse(address, known_at=when.known_at, true_at=when.true_at, access=access)
    leaf = the_file(found)
    if leaf is None:
        return stamped(request, listing(patient, found), found.stamp)
    opened = served.engine.read(leaf, known_at=when.known_at, true_at=when.true_at, access=access)
    return stamped(request, file(patient, opened, found), opened.stamp)


def rendered(
    served: Served, access: Access, request: Request, address: str, when: Moments, format: Format, budget: int | None
) -> Response:
    """What stands at an address, as text within the budget. Raises OutOfRange for a budget below 0."""
    if budget is not None and budget < 0:
        raise OutOfRange("token_budget is 0 or more")
    found = served.engine.read(
        address,
        format=format,
        token_budget=budget,
        known_at=when.known_at,
        true_at=when.true_at,
        access=access,
    )
    return stamped(request, page(found), found.stamp)

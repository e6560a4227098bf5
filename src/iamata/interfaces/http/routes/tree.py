"""The file tree of a patient: browse it, read from it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from iamata.interfaces.http.asking import Here, When, Who
from iamata.interfaces.http.problems import OutOfRange
from iamata.interfaces.http.replies import stamped
from iamata.interfaces.wire.answers import file, listing, page, the_file, to_address
from iamata.model.reading import Format

router = APIRouter(prefix="/v1/patients/{patient_id}", tags=["tree"])

TreePath = Annotated[str, Query(description="Relative to the patient, such as `/conditions/active`.")]


@router.get("/vfs", operation_id="browse-vfs")
def browse(served: Here, access: Who, request: Request, patient_id: str, when: When, path: TreePath = "/") -> Response:
    """A directory's lines, or a file with its content."""
    address = to_address(patient_id, path)
    found = served.engine.browse(address, known_at=when.known_at, true_at=when.true_at, access=access)
    leaf = the_file(found)
    if leaf is None:
        return stamped(request, listing(patient_id, found), found.stamp)
    page = served.engine.read(leaf, known_at=when.known_at, true_at=when.true_at, access=access)
    return stamped(request, file(patient_id, page, found), page.stamp)


@router.get("/read", operation_id="read-vfs")
def read(
    served: Here,
    access: Who,
    request: Request,
    patient_id: str,
    when: When,
    path: TreePath = "/",
    format: Format = Format.NARRATIVE,
    token_budget: Annotated[int | None, Query(description="At most so many tokens, exactly counted.")] = None,
) -> Response:
    """A file of the tree, rendered."""
    if token_budget is not None and token_budget < 0:
        raise OutOfRange("token_budget is 0 or more")
    found = served.engine.read(
        to_address(patient_id, path),
        format=format,
        token_budget=token_budget,
        known_at=when.known_at,
        true_at=when.true_at,
        access=access,
    )
    return stamped(request, page(found), found.stamp)

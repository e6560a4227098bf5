"""Taking a patient elsewhere: as FHIR, as a summary, or whole as an archive; and taking archives in."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO, Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import StreamingResponse

from iamata.errors import BadInput, TooLarge
from iamata.interfaces.http.asking import Here, When, Who, here, media_type
from iamata.interfaces.http.problems import WrongMediaType
from iamata.interfaces.http.replies import json_reply
from iamata.interfaces.wire.archives import moved as moved_json

router = APIRouter()

FHIR = "application/fhir+json"
ZIP = "application/zip"
_FORMATS = ("fhir/r4", "as-received")
_CHUNK = 1 << 20
_IN_MEMORY = 8 << 20
_NOBODY = {"Cache-Control": "no-store"}  # what is served is about one person
_ANSWER_FHIR: dict[int | str, dict[str, Any]] = {
    200: {"description": "A FHIR R4 Bundle.", "content": {FHIR: {"schema": {"type": "object"}}}}
}
_FILE = {"schema": {"type": "string", "format": "binary"}}
_ANSWER_ZIP: dict[int | str, dict[str, Any]] = {200: {"description": "An archive.", "content": {ZIP: _FILE}}}


@router.get(
    "/v1/patients/{patient_id}/$summary",
    tags=["export"],
    operation_id="get-patient-summary",
    response_class=Response,
    responses=_ANSWER_FHIR,
)
def summary(served: Here, access: Who, patient_id: str, when: When) -> Response:
    """The International Patient Summary: a FHIR R4 document Bundle of what the caller may see."""
    body = served.engine.summary(patient_id, known_at=when.known_at, true_at=when.true_at, access=access)
    return Response(body, media_type=FHIR, headers=_NOBODY)


@router.get(
    "/v1/patients/{patient_id}/export",
    tags=["export"],
    operation_id="export-patient",
    response_class=Response,
    responses={200: {"description": "A Bundle or an archive.", "content": {FHIR: {"schema": {}}, ZIP: _FILE}}},
)
def export_patient(
    served: Here,
    access: Who,
    patient_id: str,
    when: When,
    format: Annotated[str, Query(description="fhir/r4, or as-received: an archive of everything held.")] = "fhir/r4",
) -> Response:
    """A patient as FHIR R4, as the caller may see it; or as received, for who may see everything."""
    if format not in _FORMATS:
        raise BadInput(f"a format is one of {', '.join(_FORMATS)}", place="format")
    if format == "fhir/r4":
        body = served.engine.export_fhir(patient_id, known_at=when.known_at, true_at=when.true_at, access=access)
        return Response(body, media_type=FHIR, headers=_NOBODY)
    if when.known_at is not None or when.true_at is not None:
        raise BadInput("an archive holds all times: it takes none", place="known_at")
    file = _spool()
    try:
        served.engine.export_archive(file, patient_id, access=access)
    except BaseException:
        file.close()
        raise
    return _sent(file, "patient.zip")


@router.get(
    "/v1/export", tags=["export"], operation_id="export-workspace", response_class=Response, responses=_ANSWER_ZIP
)
def export_workspace(served: Here, access: Who) -> Response:
    """Everything that this installation holds, as an archive: all patients, and all entries of other scopes."""
    file = _spool()
    try:
        served.engine.export_archive(file, access=access)
    except BaseException:
        file.close()
        raise
    return _sent(file, "workspace.zip")


async def archive(request: Request) -> IO[bytes]:
    """The body on disk, counted while it is read. Raises TooLarge."""
    if media_type(request) not in (ZIP, "application/octet-stream"):
        raise WrongMediaType((ZIP,))
    limit = here(request).settings.max_body_bytes
    file, size = _spool(), 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > limit:
                raise TooLarge(f"a body has at most {limit} bytes: take a larger archive in with `iamata import`")
            file.write(chunk)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


@router.post(
    "/v1/imports",
    tags=["export"],
    operation_id="import-archive",
    openapi_extra={"requestBody": {"required": True, "content": {ZIP: _FILE}}},
)
def import_archive(
    served: Here,
    access: Who,
    file: Annotated[Any, Depends(archive)],
    even_erased: Annotated[bool, Query(alias="evenErased", description="Also who was erased here.")] = False,
) -> Response:
    """Take in an archive, whole or not at all: patients that are here already with all of it stay as they are."""
    with file:
        moved = served.engine.import_archive(file, even_erased=even_erased, form=False, access=access)
    served.former.wake()
    return json_reply(moved_json(moved))


def _spool() -> IO[bytes]:
    """A file without a name, in memory while it is small."""
    return tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # closed by whoever sends or reads it


def _sent(file: IO[bytes], name: str) -> StreamingResponse:
    def chunks() -> Iterator[bytes]:
        with file:
            file.seek(0)
            while chunk := file.read(_CHUNK):
                yield chunk

    headers = _NOBODY | {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(chunks(), media_type=ZIP, headers=headers)

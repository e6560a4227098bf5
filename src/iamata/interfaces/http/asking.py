"""What may every request say: its page, its two times, its body? Dependencies of the routes."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated

import msgspec
from fastapi import Depends, Query, Request

from iamata.engine.writing import Sent
from iamata.errors import BadInput, TooLarge, Unauthenticated
from iamata.interfaces.http.multipart import file_name, parts
from iamata.interfaces.http.problems import OutOfRange, WrongMediaType
from iamata.interfaces.http.replies import NDJSON
from iamata.interfaces.http.serving import Served
from iamata.interfaces.wire.requests import moment
from iamata.model.access import Access

PER_PAGE = 50
MULTIPART = "multipart/form-data"
DOCUMENTS = "documents"
# What programs send when they were told no media type: then the bytes say what they are.
_SAYS_NOTHING = frozenset({"", "application/octet-stream", "application/x-www-form-urlencoded"})
MOST_PER_PAGE = 500
_Q = re.compile(r"[01](?:\.[0-9]{0,3})?")


class Paging(msgspec.Struct, frozen=True):
    """`number` counts pages from 0."""

    number: int
    size: int


class Moments(msgspec.Struct, frozen=True):
    """The two times of a read; None means the engine's default."""

    known_at: datetime | None
    true_at: datetime | None


def here(request: Request) -> Served:
    served = request.app.state.served
    if not isinstance(served, Served):
        raise TypeError("the app was not made by create_app")
    return served


def who(request: Request) -> Access:
    """On whose behalf: who bears the token, as the door found; without tokens, the person at this machine.

    Raises Unauthenticated where tokens are wanted and the door let this route through without one.
    """
    if not here(request).settings.tokens:
        return Access.local()
    access = request.scope.get("state", {}).get("access")
    if not isinstance(access, Access):
        raise Unauthenticated("a token is needed", reasons=("no-token",))
    return access


def paging(
    page: Annotated[int, Query(description="From 0.")] = 0,
    per_page: Annotated[int, Query(alias="perPage")] = PER_PAGE,
) -> Paging:
    if page < 0 or not 1 <= per_page <= MOST_PER_PAGE:
        raise OutOfRange(f"page is 0 or more, perPage 1 to {MOST_PER_PAGE}")
    return Paging(page, per_page)


def moments(
    known_at: Annotated[str | None, Query(description="What had been received by then. ISO 8601.")] = None,
    true_at: Annotated[str | None, Query(description="The clinical now. ISO 8601.")] = None,
) -> Moments:
    return Moments(moment(known_at, "known_at"), moment(true_at, "true_at"))


def wants_lines(request: Request) -> bool:
    """Is NDJSON named in `Accept`, and liked better than JSON where that is named too (RFC 9110, 12.5.1)?"""
    liked = {"application/json": 0.0, NDJSON: 0.0}
    for each in request.headers.get("accept", "").lower().split(","):
        media, *parameters = (part.strip() for part in each.split(";"))
        if media in liked:
            liked[media] = _quality(parameters)
    return liked[NDJSON] > liked["application/json"]


def _quality(parameters: list[str]) -> float:
    """The `q` of a media range, 1 without one, 0 if it is no number."""
    for name, _, value in (each.partition("=") for each in parameters):
        if name.strip() == "q":
            return float(value) if _Q.fullmatch(value.strip()) else 0.0
    return 1.0


def listed(values: list[str] | None) -> list[str]:
    """A parameter that may be repeated or hold commas."""
    return [part.strip() for value in values or [] for part in value.split(",") if part.strip()]


def wait_s(served: Served, said: str | None) -> float:
    """`?wait=true` or a number of seconds, at most what the settings allow; 0 without it."""
    if said is None or said.lower() in ("", "false", "0"):
        return 0.0
    if said.lower() == "true":
        return served.settings.max_wait_s
    try:
        seconds = float(said)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise BadInput("true, false or a number of seconds", place="wait")
    return min(seconds, served.settings.max_wait_s)


async def read_body(request: Request) -> bytes:
    """The body, read while counting: a body over the limit is refused before it is held. Raises TooLarge."""
    limit = here(request).settings.max_body_bytes
    too_large = TooLarge(f"a body has at most {limit} bytes")
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise too_large
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise too_large
        chunks.append(chunk)
    return b"".join(chunks)


async def json_body(request: Request) -> bytes:
    _check_media(request, ("application/json",))
    return await read_body(request)


async def fhir_body(request: Request) -> bytes:
    _check_media(request, ("application/fhir+json", "application/json"))
    return await read_body(request)


def documents_body(*accepted: str) -> Callable[[Request], Awaitable[list[Sent]]]:
    """A dependency: the documents of a request. Its body is one, of these media types (any, if none is named), or it is
    multipart/form-data with a part `documents` for each."""

    async def documents(request: Request) -> list[Sent]:
        media = media_type(request)
        if media == MULTIPART:
            _check_media(request, (MULTIPART,))
            return _parts(await read_body(request), request.headers["content-type"])
        _check_media(request, (*accepted, MULTIPART) if accepted else (media,))
        body = await read_body(request)
        if not body:
            raise BadInput("the body is empty")
        name = request.query_params.get("name") or file_name(request.headers.get("content-disposition", ""))
        return [Sent(body, name, "" if media in _SAYS_NOTHING else media)]

    return documents


def _parts(body: bytes, content_type: str) -> list[Sent]:
    sent: list[Sent] = []
    for index, part in enumerate(parts(body, content_type)):
        if part.field != DOCUMENTS:
            raise BadInput(f"the parts of this route are named {DOCUMENTS}", place=f"part {index}")
        if not part.body:
            raise BadInput("a document is empty", place=f"part {index}")
        sent.append(Sent(part.body, part.name, "" if part.media_type in _SAYS_NOTHING else part.media_type))
    if not sent:
        raise BadInput(f"there is no part {DOCUMENTS}")
    return sent


def media_type(request: Request) -> str:
    """The media type that was sent, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _check_media(request: Request, accepted: tuple[str, ...]) -> None:
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if media_type(request) not in accepted or encoding != "identity":
        raise WrongMediaType(accepted)


Here = Annotated[Served, Depends(here)]
Who = Annotated[Access, Depends(who)]
Pages = Annotated[Paging, Depends(paging)]
When = Annotated[Moments, Depends(moments)]
Lines = Annotated[bool, Depends(wants_lines)]
JsonBody = Annotated[bytes, Depends(json_body)]
FhirBody = Annotated[bytes, Depends(fhir_body)]

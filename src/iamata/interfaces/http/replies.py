"""How does an answer leave: as JSON, with an ETag where it can be asked for again, as lines, or as a download?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any
from urllib.parse import quote

import msgspec
from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from iamata.model.identifiers import content_digest

NDJSON = "application/x-ndjson"
_CHUNK_BYTES = 1 << 16
_encode = msgspec.json.Encoder().encode


def request_id(request: Request) -> str:
    """The id that the door gave this request."""
    return str(request.scope.get("state", {}).get("request_id", ""))


def json_reply(body: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """What is served is about one person, so no cache on the way may keep it."""
    sent = {"Cache-Control": "no-store"} | dict(headers or {})
    return Response(_encode(body), status_code=status, media_type="application/json", headers=sent)


def stamped(request: Request, body: Any, stamp: str) -> Response:
    """A JSON answer under a read stamp, which is its ETag; 304 without a body if the caller holds it already.

    The caller may keep it but asks again each time (`no-cache`), because access can end.
    """
    return _conditional(request, lambda: _encode(body), "application/json", stamp)


def answered(request: Request, body: Any, *, but: tuple[str, str] | None = None) -> Response:
    """A JSON answer whose ETag is the digest of what this reader is told, so it says nothing of what they may not see.

    `but` is an object of the body and its field that differs each time, which is left out of the digest.
    """
    sent = _encode(body)
    same = sent
    if but is not None and body[but[0]] is not None:
        same = _encode(body | {but[0]: body[but[0]] | {but[1]: None}})
    return _conditional(request, lambda: sent, "application/json", content_digest(same)[:32])


def answered_text(request: Request, text: str, media: str) -> Response:
    """A text with an ETag, as `answered`."""
    sent = text.encode()
    return _conditional(request, lambda: sent, media, content_digest(sent)[:32])


def lines_reply(items: Iterable[Any]) -> Response:
    """NDJSON: an item a line, made as it is sent. The first is made before anything leaves, so that an error up to
    there has the one shape; after it, the answer breaks off without its end."""
    rest = iter(items)
    first = list(islice(rest, 1))
    headers = {"Cache-Control": "no-store", "Vary": "Accept"}
    return StreamingResponse(_lines(chain(first, rest)), media_type=NDJSON, headers=headers)


def _lines(items: Iterable[Any]) -> Iterator[bytes]:
    held = bytearray()
    for item in items:
        held += _encode(item) + b"\n"
        if len(held) >= _CHUNK_BYTES:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)


def _conditional(request: Request, body: Callable[[], bytes], media: str, tag: str) -> Response:
    etag = f'"{tag}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache", "Vary": "Accept, Authorization"}
    if request.method == "GET" and _holds(request.headers.get("if-none-match", ""), etag):
        return Response(status_code=304, headers=headers)
    return Response(body(), media_type=media, headers=headers)


def download(name: str, body: bytes, media: str) -> Response:
    """Bytes exactly as received, as a download in a sandbox: a document may hold scripts."""
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Cache-Control": "no-store",
    }
    return Response(body, headers=headers, media_type=media or "application/octet-stream")


def _holds(sent: str, etag: str) -> bool:
    """RFC 9110, 13.1.2: `*` or a list of tags, compared weakly."""
    tags = [each.strip().removeprefix("W/") for each in sent.split(",")]
    return "*" in tags or etag in tags

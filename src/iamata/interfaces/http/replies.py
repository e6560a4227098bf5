"""How does an answer leave: as JSON, with an ETag where the engine gave a read stamp, or as a download?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec
from fastapi import Request, Response

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
    etag = f'"{stamp}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if request.method == "GET" and _holds(request.headers.get("if-none-match", ""), etag):
        return Response(status_code=304, headers=headers)
    return Response(_encode(body), media_type="application/json", headers=headers)


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

"""What does a caller see when something goes wrong? One table from errors to HTTP, one shape for all of them.

The shape is the contract's `{code, type, message}` with our `requestId` and, where there is more to say, `details`.
Messages name places and ids of ours, never what was sent or is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from iamata.errors import (
    BadInput,
    Bug,
    Conflict,
    Gone,
    IamataError,
    InvalidValue,
    NotAllowed,
    NotFound,
    TooLarge,
    Unauthenticated,
    Unavailable,
    UnknownFormat,
)
from iamata.interfaces.http.replies import json_reply, request_id
from iamata.interfaces.wire import failures
from iamata.interfaces.wire.failures import Details

TYPES: Final = frozenset(
    {
        "ALREADY_EXISTS",
        "FAILED_PRECONDITION",
        "INTERNAL",
        "INVALID_ARGUMENT",
        "NOT_FOUND",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "UNAUTHENTICATED",
        "PERMISSION_DENIED",
        "CONTENT_TOO_LARGE",
        "UNSUPPORTED_MEDIA_TYPE",
        "PAYMENT_REQUIRED",
    }
)

_CODES: Final[dict[type[IamataError], int]] = {
    UnknownFormat: 415,
    TooLarge: 413,
    InvalidValue: 400,
    BadInput: 400,
    Gone: 410,
    NotFound: 404,
    Conflict: 409,
    Unauthenticated: 401,
    NotAllowed: 403,
    Unavailable: 503,
    Bug: 500,
    IamataError: 500,
}

# The first row that an error is an instance of counts.
TABLE: Final = tuple((kind, _CODES[kind], name) for kind, name in failures.TYPES)

# What the framework itself refuses, by status.
_STATUSES: Final[dict[int, tuple[str, str]]] = {
    400: ("INVALID_ARGUMENT", "the request cannot be read"),
    404: ("NOT_FOUND", "there is no such route"),
    405: ("UNIMPLEMENTED", "this route does not know this method"),
    413: ("CONTENT_TOO_LARGE", "the body is too large"),
    415: ("UNSUPPORTED_MEDIA_TYPE", "this route does not read this media type"),
}


class Problem(msgspec.Struct, frozen=True):
    """What went wrong, ready to be sent."""

    code: int
    type: str
    message: str
    details: Details = ()
    headers: tuple[tuple[str, str], ...] = ()


class WrongMediaType(IamataError):
    """This route does not read this media type. `accepted` are those it reads."""

    def __init__(self, accepted: Sequence[str]) -> None:
        super().__init__(f"send {' or '.join(accepted)}, not compressed")
        self.accepted = tuple(accepted)


class OutOfRange(IamataError):
    """A number is outside of what this route allows."""


def problem(error: IamataError) -> Problem:
    """The problem that this error is."""
    match error:
        case WrongMediaType():
            return Problem(415, "UNSUPPORTED_MEDIA_TYPE", str(error), [{"accepted": list(error.accepted)}])
        case OutOfRange():
            return Problem(400, "OUT_OF_RANGE", str(error))
        case Unauthenticated():
            return Problem(401, "UNAUTHENTICATED", str(error), failures.details(error), (_challenge(error),))
    for kind, code, name in TABLE:
        if isinstance(error, kind):
            return Problem(code, name, failures.message(error), failures.details(error))
    raise AssertionError("the last row of the table is the root of the tree")


def _challenge(error: Unauthenticated) -> tuple[str, str]:
    """RFC 6750, 3: without a token no error code; with one that is not good, that and why."""
    if error.reasons == ("no-token",):
        return "WWW-Authenticate", 'Bearer realm="iamata"'
    why = ", ".join(error.reasons)
    return "WWW-Authenticate", f'Bearer realm="iamata", error="invalid_token", error_description="{why}"'


def problem_reply(request_id: str, of: Problem) -> Response:
    body: dict[str, Any] = {"code": of.code, "type": of.type, "message": of.message, "requestId": request_id}
    if of.details:
        body["details"] = list(of.details)
    return json_reply(body, status=of.code, headers=dict(of.headers))


def _on_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, IamataError):
        raise TypeError("only iamata's errors come here")
    return problem_reply(request_id(request), problem(error))


def _on_validation(request: Request, error: Exception) -> Response:
    """FastAPI's own refusals: the place and the rule, not the value that was sent."""
    if not isinstance(error, RequestValidationError):
        raise TypeError("only validation errors come here")
    details = [
        {"place": "/".join(str(step) for step in each["loc"]), "problem": each["type"].replace("_", " ")}
        for each in error.errors()
    ]
    places = ", ".join(each["place"] for each in details)
    return problem_reply(request_id(request), Problem(400, "INVALID_ARGUMENT", f"wrong value (at {places})", details))


def _on_http(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise TypeError("only HTTP errors come here")
    name, message = _STATUSES.get(error.status_code, ("INTERNAL", "the request failed"))
    headers = tuple((error.headers or {}).items())
    return problem_reply(request_id(request), Problem(error.status_code, name, message, headers=headers))


def register(app: FastAPI) -> None:
    """Let every error of this app leave in the one shape. What is no error of ours is caught by the door."""
    app.add_exception_handler(IamataError, _on_error)
    app.add_exception_handler(RequestValidationError, _on_validation)
    app.add_exception_handler(HTTPException, _on_http)

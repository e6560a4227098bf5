"""What is a caller told when something goes wrong: the contract's type, a message, and details?

For every interface that answers in JSON. Messages name places and ids of ours, never what was sent or is stored. Which
status a type has over HTTP is for `http.problems`, which exit code for the command line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

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

Details = Sequence[dict[str, Any]]

# The contract's type of each error; the first row that an error is an instance of counts.
TYPES: Final[tuple[tuple[type[IamataError], str], ...]] = (
    (UnknownFormat, "UNSUPPORTED_MEDIA_TYPE"),
    (TooLarge, "CONTENT_TOO_LARGE"),
    (InvalidValue, "INVALID_ARGUMENT"),
    (BadInput, "INVALID_ARGUMENT"),
    (Gone, "NOT_FOUND"),
    (NotFound, "NOT_FOUND"),
    (Conflict, "FAILED_PRECONDITION"),
    (Unauthenticated, "UNAUTHENTICATED"),
    (NotAllowed, "PERMISSION_DENIED"),
    (Unavailable, "INTERNAL"),
    (Bug, "INTERNAL"),
    (IamataError, "INTERNAL"),
)


def type_of(error: IamataError) -> str:
    """The contract's type of this error."""
    return next(name for kind, name in TYPES if isinstance(error, kind))


def message(error: IamataError) -> str:
    """The error in a sentence that holds nothing which was sent."""
    match error:
        case Gone():
            return f"this {error.what or 'item'} has been retracted or erased"
        # The tree's own words: they name the nearest address.
        case NotFound(what="address"):
            return str(error)
        # Not the id, because a caller may have put a name there, and what answers carry ends up in logs.
        case NotFound():
            return f"there is no {error.what or 'item'} with this id or address"
        case Bug():
            return "a fault in iamata; please report it with the request id"
    return str(error)


def details(error: IamataError) -> Details:
    """What else can be said: the place, the reasons, the format."""
    match error:
        case BadInput() if error.place:
            return [{"place": error.place}]
        case NotAllowed() if error.reasons:
            return [{"reason": reason} for reason in error.reasons]
        case UnknownFormat() if error.format:
            return [{"format": error.format}]
    return []

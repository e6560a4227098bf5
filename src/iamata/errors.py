"""Every error iamata raises, by what the caller can do about it.

IamataError
├── BadInput          mend the input and send it again
│   ├── UnknownFormat
│   ├── InvalidValue  a noun was made with a value it cannot have
│   └── TooLarge      send less, or in pieces
├── NotFound          ask for something else
│   └── Gone          it was here; retracted or erased, and will not come back
├── Conflict          what is stored does not allow it (an edited transcript, a taken id)
├── NotAllowed        policy says no; the reasons are fields
│   └── Unauthenticated   it is not known who asks: get a token, or a good one
├── Unavailable       try again later, or install what is missing
└── Bug               ours; please report it

Messages carry ids and places, never names, dates of birth or note text.
"""

from __future__ import annotations


class IamataError(Exception):
    """Something went wrong in iamata. `request_id` is the server's, where the error came from one."""

    request_id: str = ""

    def __str__(self) -> str:
        return self.args[0] if self.args else (type(self).__doc__ or "").strip().split("\n")[0]


class BadInput(IamataError):
    """The input cannot be read.

    `place` says where: a JSON pointer, a line and column, a byte offset; empty when it is the whole input.
    """

    def __init__(self, message: str, *, place: str = "") -> None:
        super().__init__(f"{message} (at {place})" if place else message)
        self.place = place


class UnknownFormat(BadInput):
    """No connector reads this format."""

    def __init__(self, message: str, *, format: str = "", place: str = "") -> None:
        super().__init__(message, place=place)
        self.format = format


class InvalidValue(BadInput, ValueError):
    """A value that its noun does not allow."""


class NotFound(IamataError):
    """There is nothing at this id or address."""

    def __init__(self, message: str = "", *, what: str = "", id: str = "") -> None:
        super().__init__(message or f"no {what or 'item'} {id!r}")
        self.what = what
        self.id = id


class Gone(NotFound):
    """It was here and has been retracted or erased."""


class Conflict(IamataError):
    """What is stored does not allow this change."""


class NotAllowed(IamataError):
    """Policy does not allow this."""

    def __init__(self, message: str = "policy does not allow this", *, reasons: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.reasons = reasons


class Unauthenticated(NotAllowed):
    """There is no token, or it is not good."""


class TooLarge(BadInput):
    """The input is larger or deeper than the limits allow."""


class Unavailable(IamataError):
    """Something this needs is not there now."""


class Bug(IamataError):
    """A fault in iamata itself."""

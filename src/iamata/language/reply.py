"""What came of one request, whatever wire it went over? An outcome with its text, or a failure."""

from __future__ import annotations

import logging
from typing import Any, Self

import msgspec

from iamata.language.connection import TooMuch
from iamata.ports import AnswerOutcome

# RFC 9110 15.5.9, 15.6; RFC 6585 429. 529 is Anthropic's "overloaded".
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_SERVED_CHARS = 200


class Reply(msgspec.Struct, frozen=True):
    outcome: AnswerOutcome
    body: bytes = b""
    served: str = ""

    @classmethod
    def of_text(cls, text: str | None, served: str) -> Self:
        """A text that should be one JSON value; models like to fence it in."""
        body = (text or "").strip()
        if body.startswith("```") and body.endswith("```"):
            body = body.strip("`").removeprefix("json").strip()
        raw = body.encode("utf-8", "replace")
        try:
            msgspec.json.decode(raw, type=msgspec.Raw)
        except (msgspec.DecodeError, RecursionError):
            return cls(AnswerOutcome.MALFORMED, served=served[:_SERVED_CHARS])
        return cls(AnswerOutcome.ANSWERED, raw, served[:_SERVED_CHARS])


class Failed(Exception):
    """One request failed. `again`: another attempt may not; `after`: how long the server asks to wait, as it said."""

    def __init__(self, outcome: AnswerOutcome, *, again: bool = False, after: str = "") -> None:
        super().__init__(outcome.value)
        self.outcome = outcome
        self.again = again
        self.after = after

    @classmethod
    def of(cls, error: Exception, errors: Any) -> Self:
        """From what a client library raised, whose tree of errors is `errors`, or the connection below it. What is
        neither is an answer that the library cannot read."""
        import httpx2

        if isinstance(error, TooMuch) or isinstance(error.__cause__, TooMuch):
            return cls(AnswerOutcome.TOO_LARGE)
        if isinstance(error, (errors.APITimeoutError, httpx2.TimeoutException)):
            return cls(AnswerOutcome.TIMED_OUT, again=True)
        if isinstance(error, (errors.APIConnectionError, httpx2.TransportError)):
            return cls(AnswerOutcome.UNREACHABLE, again=True)
        if isinstance(error, errors.APIStatusError):
            status = int(error.status_code)
            after = str(error.response.headers.get("retry-after", ""))
            if status == 429:
                return cls(AnswerOutcome.RATE_LIMITED, again=True, after=after)
            if status in _AGAIN or status >= 500:
                return cls(AnswerOutcome.FAULTY, again=status in _AGAIN, after=after)
            return cls(AnswerOutcome.REJECTED)
        return cls(AnswerOutcome.MALFORMED)


def quiet(name: str) -> None:
    """Keep a client library from writing what it sends into a log, which it does at level debug. After its client was
    made: a filter holds for one logger, and its modules have their own."""
    for each in [name, *(known for known in logging.root.manager.loggerDict if known.startswith(f"{name}."))]:
        logger = logging.getLogger(each)
        if not any(isinstance(held, _NothingBelowWarning) for held in logger.filters):
            logger.addFilter(_NothingBelowWarning())


class _NothingBelowWarning(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING

"""What is one step of a verb over HTTP, and which step comes after an answer? Pure: nothing is sent and nobody sleeps.

A verb is a generator of steps: it yields calls, is given their answers, and returns what the engine's verb of that name
returns. So paging, retries and waiting are written once, and a client only carries steps out. What a verb asks is for
`verbs`, what an answer says for `answers`, which error a problem is for `problems`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NoReturn, TypeVar

import msgspec

from iamata.client.problems import error_of
from iamata.errors import Bug, InvalidValue, Unavailable

T = TypeVar("T")

# What may succeed when it is sent again later: too many requests, or what is needed is not there now.
_LATER = frozenset({429, 502, 503, 504})


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request. `params` may name one thing more than once; a `repeatable` one does no harm if it is sent twice."""

    method: str
    path: str
    params: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    repeatable: bool = True


class Pause(msgspec.Struct, frozen=True):
    """Nothing is sent for so long."""

    seconds: float


class Answer(msgspec.Struct, frozen=True):
    """What came back. Names of headers are in small letters."""

    status: int
    body: bytes
    headers: dict[str, str]

    def json(self) -> Any:
        """The body. Raises Bug if it is not JSON: then this is not our server, or one of another version."""
        try:
            return msgspec.json.decode(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise Bug("the server's answer is not JSON") from None


class Lost(msgspec.Struct, frozen=True):
    """No answer came: the connection failed, or it took too long. `why` is the name of the fault."""

    why: str


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """How often a repeatable call is sent again, and after how long.

    Before attempt n (from 1) the pause is between half and all of `first_s` times 2 to the n-1, at most `most_s`. Where
    the server says how long (`Retry-After`, in seconds), it is at least that; if that is more than `most_s`, the call
    is not sent again. `times` 0 sends nothing twice.
    """

    times: int = 4
    first_s: float = 0.25
    most_s: float = 20.0

    def __post_init__(self) -> None:
        if self.times < 0 or self.first_s < 0 or self.most_s < 0:
            raise InvalidValue("retries have no negative number")

    def pause_s(self, attempt: int, chance: float, asked_s: float = 0.0) -> float:
        """How long to wait; `chance` is in 0..1."""
        longest = min(self.most_s, self.first_s * 2.0 ** (attempt - 1))
        return max(asked_s, longest * (0.5 + chance / 2))


# A verb, as it is written: calls out, answers in, at the end its value.
Steps = Generator[Call | Pause, Answer, T]
# What a client carries out; None is the outcome of a pause.
Carried = Generator[Call | Pause, Answer | Lost | None, T]

_NOTHING = Answer(204, b"", {})


def persistent(verb: Steps[T], retries: Retries, chance: Callable[[], float]) -> Carried[T]:
    """The verb with its calls sent again where that helps and does no harm. Raises what the last answer means."""
    answer: Answer | None = None
    try:
        while True:
            step = next(verb) if answer is None else verb.send(answer)
            if isinstance(step, Pause):
                yield step
                answer = _NOTHING
            else:
                answer = yield from _asked(step, retries, chance)
    except StopIteration as stop:
        value: T = stop.value
        return value


def _asked(call: Call, retries: Retries, chance: Callable[[], float]) -> Carried[Answer]:
    for attempt in range(1, retries.times + 2):
        outcome = yield call
        if isinstance(outcome, Answer) and outcome.status < 400:
            return outcome
        asked_s = _asked_s(outcome)
        again = call.repeatable and attempt <= retries.times and asked_s <= retries.most_s
        if not again or (isinstance(outcome, Answer) and outcome.status not in _LATER):
            _fail(outcome)
        yield Pause(retries.pause_s(attempt, chance(), asked_s))
    raise AssertionError("the last attempt returns or raises")


def _asked_s(outcome: Answer | Lost | None) -> float:
    said = outcome.headers.get("retry-after", "") if isinstance(outcome, Answer) else ""
    return float(said) if said.isdigit() else 0.0


def _fail(outcome: Answer | Lost | None) -> NoReturn:
    if isinstance(outcome, Answer):
        raise error_of(outcome.status, outcome.body, outcome.headers.get("x-request-id", ""))
    raise Unavailable(f"the server did not answer ({outcome.why if outcome else 'nothing was sent'})")

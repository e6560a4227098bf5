"""What does a language model on a server answer, at last? Attempts within bounds; each way to end is an outcome."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from typing import Protocol, assert_never

from iamata.errors import Unavailable
from iamata.language.anthropic_wire import AnthropicWire
from iamata.language.connection import MISSING
from iamata.language.openai_wire import OpenAIWire
from iamata.language.reply import Failed, Reply
from iamata.language.servers import ModelServer
from iamata.ports import Answer, AnswerOutcome, Question

# Shorter than this an attempt is not worth its connection.
_LEAST_S = 0.05


class _Wire(Protocol):
    def once(self, question: Question, timeout_s: float) -> Reply: ...


class RemoteModel:
    """`ports.LanguageModel` over one server. `monotonic` and `sleep` in seconds, `chance` (0..1) spreads the pauses,
    `clock` reads a Retry-After that is a date.

    Raises Unavailable when it is made and the client libraries are missing; `ask` raises nothing.
    """

    def __init__(
        self,
        server: ModelServer,
        *,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
        monotonic: Callable[[], float] = time.monotonic,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._server = server
        self._sleep = sleep
        self._chance = chance
        self._monotonic = monotonic
        self._clock = clock
        self._lock = threading.Lock()
        self._opened: _Wire | None = None
        if find_spec(server.wire) is None:  # the library of a wire format has its name
            raise Unavailable(MISSING)

    @property
    def name(self) -> str:
        return self._server.name

    def ask(self, question: Question, *, within_s: float) -> Answer:
        wire = self._wire()
        began = self._monotonic()
        attempt = 0
        failed = Failed(AnswerOutcome.TIMED_OUT)
        while attempt < self._server.attempts:
            left = began + within_s - self._monotonic()
            if left < _LEAST_S:
                break
            attempt += 1
            try:
                reply = wire.once(question, min(self._server.timeout_s, left))
            except Failed as error:
                failed = error
            else:
                return Answer(
                    outcome=reply.outcome,
                    body=reply.body,
                    served=reply.served,
                    attempts=attempt,
                    took_s=self._monotonic() - began,
                )
            pause = self._pause(attempt, failed.after)
            if not failed.again or began + within_s - self._monotonic() - pause < _LEAST_S:
                break
            if attempt < self._server.attempts:
                self._sleep(pause)
        return Answer(outcome=failed.outcome, attempts=max(attempt, 1), took_s=self._monotonic() - began)

    def _wire(self) -> _Wire:
        """Made on first use: importing a client library takes a second, which a process that asks nothing saves."""
        with self._lock:
            if self._opened is None:
                match self._server.wire:
                    case "openai":
                        self._opened = OpenAIWire(self._server, monotonic=self._monotonic)
                    case "anthropic":
                        self._opened = AnthropicWire(self._server, monotonic=self._monotonic)
                    case never:
                        assert_never(never)
            return self._opened

    def _pause(self, attempt: int, after: str) -> float:
        server = self._server
        wanted = self._wanted(after.strip())
        if wanted is not None:
            return min(max(wanted, server.pause_s), server.pause_max_s)
        return min(server.pause_s * float(2 ** (attempt - 1)), server.pause_max_s) * (0.5 + self._chance() / 2)

    def _wanted(self, after: str) -> float | None:
        """Seconds that the server asks to wait (RFC 9110 10.2.3: a number or a date); None if it does not say."""
        if after.isascii() and after.isdigit():
            return float(after[:9])
        try:
            at = parsedate_to_datetime(after)
        except ValueError:
            return None
        return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - self._clock()).total_seconds())

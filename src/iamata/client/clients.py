"""How are the steps of a verb carried out: by a client that waits, and by one that awaits?

Both have every verb of `verbs`, and differ only in how they send and pause.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Self, TypeVar

from iamata.client import verbs
from iamata.client.steps import Answer, Call, Carried, Lost, Pause, Retries, Steps, persistent
from iamata.errors import InvalidValue, Unavailable
from iamata.model.document import Receipt
from iamata.model.erasure import Erasure
from iamata.model.patient import PatientRow

if TYPE_CHECKING:
    import httpx

P = ParamSpec("P")
T = TypeVar("T")

# A token, or what gives one that is good now: it is asked before every request.
Token = str | Callable[[], str]

_PER_PAGE: Final = 200


class _Settings:
    """What both clients are told."""

    def __init__(self, url: str, token: Token | None, retries: Retries | None, chance: Callable[[], float]) -> None:
        if not url.startswith(("http://", "https://")):
            raise InvalidValue("the address of a server begins with http:// or https://", place="url")
        self._token = token
        self._retries = retries or Retries()
        self._chance = chance

    def _persistent(self, verb: Steps[T]) -> Carried[T]:
        return persistent(verb, self._retries, self._chance)

    def _request(self, call: Call) -> dict[str, Any]:
        """What httpx is asked to send."""
        headers = dict(call.headers)
        token = self._token() if callable(self._token) else self._token
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return {
            "method": call.method,
            "url": call.path,
            "params": list(call.params),
            "content": call.body or None,
            "headers": headers,
        }


def _answer(response: httpx.Response) -> Answer:
    return Answer(
        response.status_code, response.content, {name.lower(): each for name, each in response.headers.items()}
    )


def _httpx() -> Any:
    try:
        import httpx
    except ModuleNotFoundError:
        raise Unavailable("the client needs httpx: pip install 'iamata[client]'") from None
    return httpx


def _as_method(method: Callable[..., Any], verb: Callable[..., Any]) -> None:
    """Give a method the name, the words and the arguments of its verb."""
    functools.update_wrapper(method, verb)
    of = inspect.signature(verb)
    me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    method.__signature__ = of.replace(parameters=[me, *of.parameters.values()])  # type: ignore[attr-defined]  # read by inspect


def _now(verb: Callable[P, Steps[T]]) -> Callable[Concatenate[Client, P], T]:
    """The verb as a method that waits."""

    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._carry(verb(*args, **kwargs))

    _as_method(method, verb)
    return method


def _soon(verb: Callable[P, Steps[T]]) -> Callable[Concatenate[AsyncClient, P], Awaitable[T]]:
    """The verb as a method that is awaited."""

    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._carry(verb(*args, **kwargs))

    _as_method(method, verb)
    return method


class Client(_Settings):
    """A server of iamata, with the verbs of `Engine`: same names, arguments and values, without `access`, because who
    asks is in the token.

    Errors are those of `iamata.errors` with the server's `request_id`. Calls that do no harm when they are sent twice
    are sent again as `retries` says, when no answer came or the server asks to come later (429, 502, 503, 504).
    Thread-safe.
    """

    def __init__(
        self,
        url: str,
        *,
        token: Token | None = None,
        retries: Retries | None = None,
        timeout_s: float = 120.0,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """`url` is where the server's `/v1` stands. `token` is a bearer token, or a function that gives one before
        every request. `timeout_s` is for each read of the connection; `sleep` and `chance` (0..1) can be given, so that
        a run can be repeated; so can httpx's `transport`. Raises Unavailable when httpx is missing."""
        super().__init__(url, token, retries, chance)
        self._faults = _httpx().TransportError
        self._sleep = sleep
        self._http = _httpx().Client(base_url=url, timeout=timeout_s, transport=transport, trust_env=False)

    def _carry(self, verb: Steps[T]) -> T:
        steps = self._persistent(verb)
        try:
            step = next(steps)
            while True:
                step = steps.send(self._do(step))
        except StopIteration as stop:
            value: T = stop.value
            return value

    def _do(self, step: Call | Pause) -> Answer | Lost | None:
        if isinstance(step, Pause):
            self._sleep(step.seconds)
            return None
        try:
            return _answer(self._http.request(**self._request(step)))
        except self._faults as error:
            return Lost(type(error).__name__)

    def _each(self, page: Callable[[int], Steps[tuple[list[T], int]]]) -> Iterator[T]:
        number = seen = 0
        while True:
            rows, total = self._carry(page(number))
            yield from rows
            number, seen = number + 1, seen + len(rows)
            if not rows or seen >= total:
                return

    put_patient = _now(verbs.put_patient)
    patient = _now(verbs.patient)
    patients = _now(verbs.patients)
    delete_patient = _now(verbs.delete_patient)
    ingest = _now(verbs.ingest)
    append = _now(verbs.append)
    append_transcript = _now(verbs.append_transcript)
    receipt = _now(verbs.receipt)
    receipts = _now(verbs.receipts)
    wait = _now(verbs.wait)
    browse = _now(verbs.browse)
    read = _now(verbs.read)
    search = _now(verbs.search)
    did_you_mean = _now(verbs.did_you_mean)
    context = _now(verbs.context)
    conflicts = _now(verbs.conflicts)
    session = _now(verbs.session)
    memories = _now(verbs.memories)
    threads = _now(verbs.threads)
    document = _now(verbs.document)
    export_fhir = _now(verbs.export_fhir)
    summary = _now(verbs.summary)
    put_entry = _now(verbs.put_entry)
    entries = _now(verbs.entries)
    entry = _now(verbs.entry)
    retire_entry = _now(verbs.retire_entry)
    erase = _now(verbs.erase)
    erasures = _now(verbs.erasures)
    holds = _now(verbs.holds)
    set_hold = _now(verbs.set_hold)
    lift_hold = _now(verbs.lift_hold)

    def each_patient(self, *, per_page: int = _PER_PAGE) -> Iterator[PatientRow]:
        """Every patient by id, page by page. One that comes or goes meanwhile may be told twice or not at all."""
        return self._each(lambda number: verbs.patients(page=number, per_page=per_page))

    def each_receipt(self, patient: str, *, per_page: int = _PER_PAGE) -> Iterator[Receipt]:
        """Every receipt of the patient, newest first, page by page."""
        return self._each(lambda number: verbs.receipts(patient, page=number, per_page=per_page))

    def each_erasure(self, *, per_page: int = _PER_PAGE) -> Iterator[Erasure]:
        """Every receipt of an erasure, newest first, page by page."""
        return self._each(lambda number: verbs.erasures(page=number, per_page=per_page))

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(_Settings):
    """As `Client`, with verbs that are awaited."""

    def __init__(
        self,
        url: str,
        *,
        token: Token | None = None,
        retries: Retries | None = None,
        timeout_s: float = 120.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """As `Client`."""
        super().__init__(url, token, retries, chance)
        self._faults = _httpx().TransportError
        self._sleep = sleep
        self._http = _httpx().AsyncClient(base_url=url, timeout=timeout_s, transport=transport, trust_env=False)

    async def _carry(self, verb: Steps[T]) -> T:
        steps = self._persistent(verb)
        try:
            step = next(steps)
            while True:
                step = steps.send(await self._do(step))
        except StopIteration as stop:
            value: T = stop.value
            return value

    async def _do(self, step: Call | Pause) -> Answer | Lost | None:
        if isinstance(step, Pause):
            await self._sleep(step.seconds)
            return None
        try:
            return _answer(await self._http.request(**self._request(step)))
        except self._faults as error:
            return Lost(type(error).__name__)

    async def _each(self, page: Callable[[int], Steps[tuple[list[T], int]]]) -> AsyncIterator[T]:
        number = seen = 0
        while True:
            rows, total = await self._carry(page(number))
            for row in rows:
                yield row
            number, seen = number + 1, seen + len(rows)
            if not rows or seen >= total:
                return

    put_patient = _soon(verbs.put_patient)
    patient = _soon(verbs.patient)
    patients = _soon(verbs.patients)
    delete_patient = _soon(verbs.delete_patient)
    ingest = _soon(verbs.ingest)
    append = _soon(verbs.append)
    append_transcript = _soon(verbs.append_transcript)
    receipt = _soon(verbs.receipt)
    receipts = _soon(verbs.receipts)
    wait = _soon(verbs.wait)
    browse = _soon(verbs.browse)
    read = _soon(verbs.read)
    search = _soon(verbs.search)
    did_you_mean = _soon(verbs.did_you_mean)
    context = _soon(verbs.context)
    conflicts = _soon(verbs.conflicts)
    session = _soon(verbs.session)
    memories = _soon(verbs.memories)
    threads = _soon(verbs.threads)
    document = _soon(verbs.document)
    export_fhir = _soon(verbs.export_fhir)
    summary = _soon(verbs.summary)
    put_entry = _soon(verbs.put_entry)
    entries = _soon(verbs.entries)
    entry = _soon(verbs.entry)
    retire_entry = _soon(verbs.retire_entry)
    erase = _soon(verbs.erase)
    erasures = _soon(verbs.erasures)
    holds = _soon(verbs.holds)
    set_hold = _soon(verbs.set_hold)
    lift_hold = _soon(verbs.lift_hold)

    def each_patient(self, *, per_page: int = _PER_PAGE) -> AsyncIterator[PatientRow]:
        """Every patient by id, page by page. One that comes or goes meanwhile may be told twice or not at all."""
        return self._each(lambda number: verbs.patients(page=number, per_page=per_page))

    def each_receipt(self, patient: str, *, per_page: int = _PER_PAGE) -> AsyncIterator[Receipt]:
        """Every receipt of the patient, newest first, page by page."""
        return self._each(lambda number: verbs.receipts(patient, page=number, per_page=per_page))

    def each_erasure(self, *, per_page: int = _PER_PAGE) -> AsyncIterator[Erasure]:
        """Every receipt of an erasure, newest first, page by page."""
        return self._each(lambda number: verbs.erasures(page=number, per_page=per_page))

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

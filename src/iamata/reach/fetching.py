"""How is one answer fetched? Over HTTP with time-outs, retries and bounds, from addresses that may be called.

A host is resolved once and the connection goes to the address that was checked. Redirects are not followed, proxies and
netrc of the environment are not used. Not here: what is asked for (`searching`, `exporting`), and how a token is got
(`tokens`).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from iamata.destinations import may_connect, resolve
from iamata.errors import BadInput, NotAllowed, NotFound, TooLarge, Unavailable
from iamata.reach.servers import BackendService, Bearer, FhirServer
from iamata.reach.tokens import Token, ask, token_of

if TYPE_CHECKING:
    import httpx

# Answers that another attempt can mend (RFC 9110 15.5.9, 15.6; RFC 6585 429).
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_CHUNK = 1 << 16


class Answer(NamedTuple):
    """Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Fetcher:
    """Fetches from one server. Counts all bytes it took against `limits.total_bytes`. Close it, or use it as a context.

    `clock`, `sleep`, `chance` (0..1, spreads the pauses) and `ids` (unguessable, for assertions) are given, so that a
    test need not wait. Raises Unavailable when the package `httpx` is missing.
    """

    def __init__(
        self,
        server: FhirServer,
        *,
        clock: Callable[[], datetime],
        sleep: Callable[[float], None],
        chance: Callable[[], float],
        ids: Callable[[], str],
        resolve: Callable[[str, int], list[str]] = resolve,
    ) -> None:
        self.server = server
        self.clock = clock
        self.sleep = sleep
        self._chance = chance
        self._ids = ids
        self._resolve = resolve
        self._taken = 0
        self._token: Token | None = None
        self._client = _client(server, self._allowed_address)

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def get(self, url: str, *, accept: str, prefer: str = "", with_token: bool = True) -> Answer:
        """A GET of a URL that the caller has found to be allowed. An answer of 200 or 202; any other raises: NotFound
        (404, 410), NotAllowed (401, 403), Unavailable (after all attempts, or a redirect), BadInput (else)."""
        headers = {"accept": accept, "accept-encoding": "gzip"} | ({"prefer": prefer} if prefer else {})
        answer = self._authorized("GET", url, headers, with_token=with_token)
        _raise_for(answer.status)
        return answer

    def delete(self, url: str) -> None:
        """Tells the server, once, that something is no longer needed; what comes of it does not matter."""
        try:
            self._once("DELETE", url, self._authorization(True), None)
        except (Unavailable, BadInput, NotAllowed, NotFound, _Failed):
            return

    def _authorized(self, method: str, url: str, headers: dict[str, str], *, with_token: bool) -> Answer:
        answer = self._tried(method, url, headers | self._authorization(with_token))
        if answer.status == 401 and with_token and isinstance(self.server.credentials, BackendService):
            self._token = None  # it may have been revoked: once with a fresh one
            answer = self._tried(method, url, headers | self._authorization(with_token))
        return answer

    def _authorization(self, with_token: bool) -> dict[str, str]:
        credentials = self.server.credentials
        if credentials is None or not with_token:
            return {}
        if isinstance(credentials, Bearer):
            return {"authorization": f"Bearer {credentials.token}"}
        now = self.clock()
        if self._token is None or not self._token.good_at(now):
            # An assertion is good for one request: each attempt signs its own.
            answer = self._tried(
                "POST",
                credentials.token_url,
                {"accept": "application/json", "content-type": "application/x-www-form-urlencoded"},
                body=lambda: ask(credentials, now=self.clock(), id=self._ids()),
            )
            _raise_for(answer.status)
            self._token = token_of(answer.body, now=now)
        return {"authorization": f"Bearer {self._token.text}"}

    def _tried(
        self, method: str, url: str, headers: Mapping[str, str], *, body: Callable[[], bytes] | None = None
    ) -> Answer:
        """The first answer that another attempt would not mend."""
        limits = self.server.limits
        for attempt in range(limits.attempts):
            last = attempt == limits.attempts - 1
            try:
                answer = self._once(method, url, headers, body() if body is not None else None)
            except _Failed as failed:
                if last:
                    raise Unavailable(f"the FHIR server {self.server.name!r} cannot be reached: {failed}") from None
                self.sleep(self._pause(attempt, None))
                continue
            if answer.status not in _AGAIN or last:
                return answer
            self.sleep(self._pause(attempt, self.retry_after(answer)))
        raise Unavailable("no attempt was made")  # limits allow at least one

    def _pause(self, attempt: int, wanted: float | None) -> float:
        limits = self.server.limits
        if wanted is not None:
            return min(max(wanted, limits.pause_s), limits.pause_max_s)
        return min(limits.pause_s * float(2**attempt), limits.pause_max_s) * (0.5 + self._chance() / 2)

    def retry_after(self, answer: Answer) -> float | None:
        """Seconds that the server asks to wait (RFC 9110 10.2.3: a number or a date); None if it does not say."""
        text = answer.headers.get("retry-after", "").strip()
        if text.isascii() and text.isdigit():
            return float(text)
        try:
            at = parsedate_to_datetime(text)
        except ValueError:
            return None
        return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - self.clock()).total_seconds())

    def _once(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        import httpcore
        import httpx

        faults = (httpx.HTTPError, httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError)
        try:
            with self._client.stream(method, url, headers=dict(headers), content=body) as response:
                encoding = response.headers.get("content-encoding", "").lower()
                found = self._body(response.iter_raw(_CHUNK), encoding)
                return Answer(response.status_code, {k.lower(): v for k, v in response.headers.items()}, found)
        except (httpx.InvalidURL, httpcore.UnsupportedProtocol):
            raise BadInput("the FHIR server named something that is no URL") from None
        except faults as error:
            raise _Failed(type(error).__name__) from None

    def _body(self, chunks: Iterable[bytes], encoding: str) -> bytes:
        """All of an answer, inflated piece by piece. Raises TooLarge as soon as it is more than allowed."""
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise BadInput(f"the FHIR server answers in an encoding that was not asked for: {encoding[:20]!r}")
        inflate = zlib.decompressobj(wbits=31) if "gzip" in encoding else None
        parts: list[bytes] = []
        size = 0
        for chunk in chunks:
            rest = chunk
            while rest:
                if inflate is None:
                    piece, rest = rest, b""
                else:
                    try:
                        piece = inflate.decompress(rest, _CHUNK)
                    except zlib.error:
                        raise _Failed("the answer is no gzip") from None
                    rest = inflate.unconsumed_tail
                size += len(piece)
                self._taken += len(piece)
                self._check_size(size)
                parts.append(piece)
        return b"".join(parts)

    def _check_size(self, size: int) -> None:
        limits = self.server.limits
        if size > limits.answer_bytes:
            raise TooLarge(f"an answer of the FHIR server has more than the {limits.answer_bytes} bytes allowed")
        if self._taken > limits.total_bytes:
            raise TooLarge(f"the FHIR server has sent more than the {limits.total_bytes} bytes allowed")

    def _allowed_address(self, host: str, port: int) -> str:
        """The address to connect to. Raises NotAllowed if one of the host's addresses is private and not listed."""
        addresses = self._resolve(host, port)
        if not addresses:
            raise _Failed("its host has no address")
        if not all(may_connect(host, self.server.private, address) for address in addresses):
            raise NotAllowed(
                f"the FHIR server {self.server.name!r} has a private address, which is not listed",
                reasons=("private address",),
            )
        return addresses[0]


class _Failed(Exception):
    """One attempt failed in a way that another may not."""


def _raise_for(status: int) -> None:
    if status in (200, 202):
        return
    if status in (404, 410):
        raise NotFound(f"the FHIR server answers {status}: it has no such record", what="record")
    if status in (401, 403):
        raise NotAllowed(f"the FHIR server answers {status}", reasons=(f"FHIR server answered {status}",))
    if 300 <= status < 400:
        raise Unavailable(f"the FHIR server answers {status}: redirects are not followed")
    if status in _AGAIN or status >= 500:
        raise Unavailable(f"the FHIR server answers {status}")
    raise BadInput(f"the FHIR server refuses the request: it answers {status}")


def _client(server: FhirServer, allowed: Callable[[str, int], str]) -> httpx.Client:
    try:
        import httpcore
        import httpx
    except ImportError:
        raise Unavailable("pulling from a FHIR server needs httpx: pip install 'iamata[fhir-server]'") from None

    class Checked(httpcore.NetworkBackend):
        """Connects to the address that was checked, whatever the name means a moment later."""

        def __init__(self) -> None:
            self._inner = httpcore.SyncBackend()

        def connect_tcp(
            self,
            host: str,
            port: int,
            timeout: float | None = None,
            local_address: str | None = None,
            socket_options: Any = None,
        ) -> httpcore.NetworkStream:
            return self._inner.connect_tcp(allowed(host, port), port, timeout, local_address, socket_options)

        def connect_unix_socket(
            self, path: str, timeout: float | None = None, socket_options: Any = None
        ) -> httpcore.NetworkStream:
            raise httpcore.ConnectError("no sockets of this machine")

        def sleep(self, seconds: float) -> None:
            self._inner.sleep(seconds)

    class Stream(httpx.SyncByteStream):
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        def __iter__(self) -> Iterator[bytes]:
            yield from self._inner

        def close(self) -> None:
            self._inner.close()

    class Transport(httpx.BaseTransport):
        """httpx's own transport has no place for a network backend."""

        def __init__(self) -> None:
            self._pool = httpcore.ConnectionPool(
                ssl_context=httpx.create_ssl_context(trust_env=False), network_backend=Checked()
            )

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            url = request.url
            answer = self._pool.handle_request(
                httpcore.Request(
                    method=request.method,
                    url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
            return httpx.Response(
                answer.status, headers=answer.headers, stream=Stream(answer.stream), extensions=answer.extensions
            )

        def close(self) -> None:
            self._pool.close()

    return httpx.Client(transport=Transport(), timeout=server.limits.timeout_s, follow_redirects=False, trust_env=False)

"""How do bytes go to a language model's server and come back? To the configured host only, bounded in time and size.

The host is resolved once for a connection, which goes to the address that was checked. Redirects are not followed,
proxies and netrc of the environment are not used. What is sent is for the wires.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from iamata.destinations import may_connect, resolve
from iamata.errors import Unavailable
from iamata.language.servers import ModelServer

if TYPE_CHECKING:
    import httpx2

MISSING: Final = "asking a language model needs its client libraries: pip install 'iamata[model]'"

# No accept-encoding among them: what is counted is then what is read.
_PLAIN: Final = frozenset({"host", "content-type", "content-length", "accept", "connection"})


class TooMuch(Exception):
    """More bytes came than are taken."""


def http_client(
    server: ModelServer,
    *,
    headers: frozenset[str],
    monotonic: Callable[[], float],
    resolve: Callable[[str, int], list[str]] = resolve,
) -> httpx2.Client:
    """A client for this server. A request and its answer take the request's time-out together, however slowly bytes
    drip. Of what the libraries add only `headers` (in lower case) go out: nothing is told of this machine.

    Its calls raise the exceptions of httpx2, and TooMuch. Raises Unavailable when the libraries are missing.
    """
    try:
        import httpcore2
        import httpx2
    except ImportError:
        raise Unavailable(MISSING) from None

    class Timed(httpcore2.NetworkStream):
        """A connection that is good for one request, until `until`."""

        def __init__(self, inner: httpcore2.NetworkStream, until: float) -> None:
            self._inner = inner
            self._until = until

        def _left(self, timeout: float | None) -> float:
            left = self._until - monotonic()
            if left <= 0:
                raise httpcore2.ReadTimeout("the answer takes too long")
            return left if timeout is None else min(left, timeout)

        def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
            return self._inner.read(max_bytes, self._left(timeout))

        def write(self, buffer: bytes, timeout: float | None = None) -> None:
            self._inner.write(buffer, self._left(timeout))

        def close(self) -> None:
            self._inner.close()

        def start_tls(
            self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
        ) -> httpcore2.NetworkStream:
            return Timed(self._inner.start_tls(ssl_context, server_hostname, self._left(timeout)), self._until)

        def get_extra_info(self, info: str) -> Any:
            return self._inner.get_extra_info(info)

    class Checked(httpcore2.NetworkBackend):
        """Connects to the address that was checked, whatever the name means a moment later."""

        def __init__(self) -> None:
            self._inner = httpcore2.SyncBackend()

        def connect_tcp(
            self,
            host: str,
            port: int,
            timeout: float | None = None,
            local_address: str | None = None,
            socket_options: Any = None,
        ) -> httpcore2.NetworkStream:
            until = monotonic() + (server.timeout_s if timeout is None else timeout)
            addresses = resolve(host, port)
            if not addresses or not all(
                may_connect(host, server.private, address, this_machine=True) for address in addresses
            ):
                raise httpcore2.ConnectError("no address, or a private one that is not listed")
            connected = self._inner.connect_tcp(addresses[0], port, timeout, local_address, socket_options)
            return Timed(connected, until)

        def connect_unix_socket(
            self, path: str, timeout: float | None = None, socket_options: Any = None
        ) -> httpcore2.NetworkStream:
            raise httpcore2.ConnectError("no sockets of this machine")

        def sleep(self, seconds: float) -> None:
            self._inner.sleep(seconds)

    def translated(error: Exception) -> httpx2.TransportError:
        if isinstance(error, httpcore2.TimeoutException):
            return httpx2.ReadTimeout(type(error).__name__)
        return httpx2.ConnectError(type(error).__name__)

    faults = (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError)

    class Bounded(httpx2.SyncByteStream):
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        def __iter__(self) -> Iterator[bytes]:
            taken = 0
            try:
                for chunk in self._inner:
                    taken += len(chunk)
                    if taken > server.answer_bytes:
                        raise TooMuch
                    yield chunk
            except faults as error:
                raise translated(error) from None

        def close(self) -> None:
            self._inner.close()

    class Transport(httpx2.BaseTransport):
        """httpx2's own transport has no place for a network backend."""

        def __init__(self) -> None:
            self._pool = httpcore2.ConnectionPool(
                ssl_context=httpx2.create_ssl_context(trust_env=False),
                max_keepalive_connections=0,  # so that the time of a connection is that of its request
                network_backend=Checked(),
            )

        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            url = request.url
            sent = [(name, value) for name, value in request.headers.raw if name.decode().lower() in headers | _PLAIN]
            try:
                answer = self._pool.handle_request(
                    httpcore2.Request(
                        method=request.method,
                        url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                        headers=sent,
                        content=request.stream,
                        extensions=request.extensions,
                    )
                )
            except faults as error:
                raise translated(error) from None
            got = [(name, value) for name, value in answer.headers if name.lower() != b"content-encoding"]
            return httpx2.Response(answer.status, headers=got, stream=Bounded(answer.stream))

        def close(self) -> None:
            self._pool.close()

    return httpx2.Client(transport=Transport(), timeout=server.timeout_s, follow_redirects=False, trust_env=False)

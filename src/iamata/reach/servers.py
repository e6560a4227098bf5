"""Which FHIR server may be called, as whom, and within which limits? Configuration, checked when made.

Not here: any call.
"""

from __future__ import annotations

from typing import Literal
from urllib.parse import SplitResult, urlsplit

import msgspec

from iamata.destinations import check_base_url, may_be_private
from iamata.errors import InvalidValue


class Bearer(msgspec.Struct, frozen=True):
    """A token that was given out beforehand. Never shown."""

    token: str

    def __repr__(self) -> str:
        return "Bearer(…)"


class BackendService(msgspec.Struct, frozen=True, kw_only=True):
    """SMART App Launch 2, Backend Services: the client signs an assertion with its private key and gets a token for it.

    `private_key` is PEM without a password; `algorithm` RS384 needs an RSA key, ES384 one on P-384. `token_url` is
    configured, not discovered: what a server says of itself is data.
    """

    client_id: str
    token_url: str
    private_key: bytes
    key_id: str
    scope: str = "system/*.rs"
    algorithm: Literal["RS384", "ES384"] = "ES384"

    def __repr__(self) -> str:
        return f"BackendService(client_id={self.client_id!r}, token_url={self.token_url!r})"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How long to wait and how much to take.

    `timeout_s` bounds connecting and each wait for bytes; a request is tried `attempts` times, with a pause that
    doubles from `pause_s` up to `pause_max_s` (a server's Retry-After is heard within that bound). `answer_bytes`
    bounds one answer, `total_bytes` all answers of one pull, both after decompression; `pages` bounds the pages of a
    search; `export_s` how long an export may take until its files are ready.
    """

    timeout_s: float = 30.0
    attempts: int = 5
    pause_s: float = 1.0
    pause_max_s: float = 120.0
    answer_bytes: int = 200_000_000
    total_bytes: int = 2_000_000_000
    pages: int = 1_000
    export_s: float = 6 * 3600.0

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.timeout_s <= 0 or self.pages < 1:
            raise InvalidValue("limits allow at least one attempt, one page and some time")


class FhirServer(msgspec.Struct, frozen=True, kw_only=True):
    """One FHIR server. `name` is the source its records are filed under.

    Calls go to `base_url` (https, unless its host is listed in `private`), to the token URL, and for the files of an
    export to `file_hosts` (`host` or `host:port`). `private` lists the host names or networks (CIDR) that may be
    private addresses; all others must be public.
    """

    name: str
    base_url: str
    credentials: BackendService | Bearer | None = None
    format: Literal["fhir/r4", "fhir/r5"] = "fhir/r4"
    file_hosts: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    page_size: int = 200
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        if not self.name:
            raise InvalidValue("a FHIR server has a name: the source of its records")
        check_base_url(self.base_url, "base_url", self.private)
        if isinstance(self.credentials, BackendService):
            check_base_url(self.credentials.token_url, "token_url", self.private)

    def within_base(self, url: str) -> bool:
        """Does this URL lie under `base_url`: same scheme, host and port, and a path below its path?"""
        try:
            parts, base = urlsplit(url), urlsplit(self.base_url)
            return _origin(parts) == _origin(base) and _below(parts.path, base.path)
        except ValueError:
            return False

    def may_hold_files(self, url: str) -> bool:
        """May a file of an export be loaded from this URL?"""
        if self.within_base(url) or self.same_origin(url):
            return True
        try:
            parts = urlsplit(url)
            named = {parts.hostname, f"{parts.hostname}:{parts.port}"}
        except ValueError:
            return False
        safe = parts.scheme == "https" or (
            parts.scheme == "http" and may_be_private(parts.hostname or "", self.private)
        )
        return safe and not parts.username and bool(named & {each.lower() for each in self.file_hosts})

    def same_origin(self, url: str) -> bool:
        try:
            return _origin(urlsplit(url)) == _origin(urlsplit(self.base_url))
        except ValueError:
            return False


def _origin(parts: SplitResult) -> tuple[str, str, int | None, bool]:
    port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    return parts.scheme, parts.hostname or "", port, bool(parts.username or parts.password)


def _below(path: str, base: str) -> bool:
    """No dot segment and no encoded slash leads out of the base path again."""
    base = base.rstrip("/")
    if any(step in ("..", ".") for step in path.replace("%2e", ".").replace("%2E", ".").split("/")) or "\\" in path:
        return False
    return path == base or path.startswith(base + "/")

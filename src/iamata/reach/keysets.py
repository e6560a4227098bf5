"""With which keys does the identity server sign? Its published keys (JWKS, RFC 7517), from the configured address only.

They are fetched when first needed, again when they are old, and once when a token names a key that is not among them
(the server may have a new one): however many such tokens come, not more often than the pause allows. Not here: what a
token says, and whether its signature is right.
"""

from __future__ import annotations

import logging
import random
import secrets
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from iamata.errors import IamataError, Unavailable
from iamata.reach.fetching import Fetcher
from iamata.reach.servers import FhirServer, Limits

log = logging.getLogger("iamata.reach")

_MOST_KEYS: Final = 100
_LIMITS: Final = Limits(timeout_s=5.0, attempts=2, pause_s=0.2, pause_max_s=1.0, answer_bytes=1_000_000)
# RFC 7518 3.3: an RSA key has 2048 bits or more.
_RSA_BITS: Final = 2048


class PublicKey(msgspec.Struct, frozen=True):
    """`family` is RSA, EC or OKP; `algorithm` the one it is for, empty if the server does not say and any of its family
    will do."""

    key: Any
    family: str
    algorithm: str


class KeySet:
    """Thread-safe. `pause_s` lies between two fetches that unknown keys ask for, `good_s` is how long keys are used
    without asking again, `at_most_s` how long when asking fails."""

    def __init__(
        self,
        url: str,
        *,
        private: tuple[str, ...] = (),
        pause_s: float = 30.0,
        good_s: float = 600.0,
        at_most_s: float = 86_400.0,
        monotonic: Callable[[], float] = time.monotonic,
        fetch: Callable[[], bytes] | None = None,
    ) -> None:
        self._server = FhirServer(name="identity server", base_url=url, private=private, limits=_LIMITS)
        self._pause_s, self._good_s, self._at_most_s = pause_s, good_s, at_most_s
        self._monotonic = monotonic
        self._fetch = fetch or self._fetched
        self._keys: dict[str, PublicKey] = {}
        self._at: float | None = None  # when the keys were fetched
        self._tried: float | None = None  # when fetching was last begun
        self._lock = threading.Lock()

    def key(self, kid: str) -> PublicKey | None:
        """The public key of this name, for signatures; None if the server has none. Raises Unavailable when there are
        no keys to look at."""
        known = self._keys.get(kid)
        if known is None or self._older_than(self._good_s):
            # Who has a key need not wait while somebody else asks for new ones.
            wait = known is None or self._older_than(self._at_most_s)
            if self._lock.acquire(blocking=wait):
                try:
                    self._renew(kid)
                finally:
                    self._lock.release()
        if self._older_than(self._at_most_s):
            raise Unavailable("the keys of the identity server cannot be fetched")
        return self._keys.get(kid)

    def _older_than(self, seconds: float) -> bool:
        return self._at is None or self._monotonic() - self._at > seconds

    def _renew(self, kid: str) -> None:
        """The keys as they are published now, unless somebody asked lately; those held stay when that fails."""
        now = self._monotonic()
        if kid in self._keys and not self._older_than(self._good_s):
            return  # somebody else has just brought it
        if self._tried is not None and now - self._tried < self._pause_s:
            return
        self._tried = now
        try:
            self._keys = keys_of(self._fetch())
        except (IamataError, msgspec.DecodeError) as error:
            log.warning("the keys of the identity server were not fetched: %s", type(error).__name__)
            return
        self._at = now

    def _fetched(self) -> bytes:
        with Fetcher(
            self._server,
            clock=lambda: datetime.now(UTC),
            sleep=time.sleep,
            chance=random.random,
            ids=lambda: secrets.token_hex(10),
        ) as fetcher:
            answer = fetcher.get(self._server.base_url, accept="application/json")
        if answer.status != 200:
            raise Unavailable("the identity server has no keys ready")
        return answer.body


def keys_of(body: bytes) -> dict[str, PublicKey]:
    """Name → key, of those that are public, asymmetric and for signatures; any other is left out. A name that stands
    there twice is left out too: which of them is meant cannot be told."""
    from jwt import PyJWK
    from jwt.exceptions import PyJWTError

    listed = msgspec.json.decode(body, type=dict[str, Any]).get("keys")
    found: dict[str, PublicKey] = {}
    twice: set[str] = set()
    for each in listed[:_MOST_KEYS] if isinstance(listed, list) else ():
        if not isinstance(each, dict) or not _usable(each):
            continue
        kid = each["kid"]
        if kid in found:
            twice.add(kid)
            continue
        try:
            made = PyJWK.from_dict(each)
        except (PyJWTError, ValueError, TypeError, KeyError):
            continue
        family = each["kty"]
        if family == "RSA" and made.key.key_size < _RSA_BITS:
            continue
        # Of an elliptic curve the curve decides, which PyJWT has looked at.
        found[kid] = PublicKey(
            made.key, family, str(each.get("alg") or ("" if family == "RSA" else made.algorithm_name))
        )
    return {kid: key for kid, key in found.items() if kid not in twice}


def _usable(jwk: dict[str, Any]) -> bool:
    kid = jwk.get("kid")
    return (
        isinstance(kid, str)
        and bool(kid)
        and jwk.get("kty") in ("RSA", "EC", "OKP")
        and jwk.get("use", "sig") == "sig"
        and "d" not in jwk
        and "k" not in jwk
    )

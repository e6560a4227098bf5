"""Who is it that comes with this token? Its form, key, signature, issuer, audience and times; then `policy.claims`.

JWTs as RFC 9068 and SMART App Launch 2.2 have them, by the rules of RFC 8725: the algorithms are ours to choose, never
the token's, and only asymmetric ones; the key comes from the configured server, never from a header (`jku`, `x5u`,
`jwk`). The signature itself is PyJWT's work, the extra `iamata[auth]`.
"""

from __future__ import annotations

import binascii
import threading
from base64 import urlsafe_b64decode
from collections.abc import Callable
from datetime import datetime
from importlib.util import find_spec
from typing import Any, Final

import msgspec

from iamata.errors import InvalidValue, Unauthenticated, Unavailable
from iamata.model.access import Access, PrincipalKind
from iamata.policy.claims import Naming, Principal, acting_for, principal
from iamata.reach.keysets import KeySet, PublicKey
from iamata.settings import Settings

__all__ = ["Identity", "agent_of", "identity_of"]

# The family of keys that each algorithm needs (RFC 7518, RFC 8037). None is symmetric, and `none` is none.
_FAMILY: Final = {
    "RS256": "RSA",
    "RS384": "RSA",
    "RS512": "RSA",
    "PS256": "RSA",
    "PS384": "RSA",
    "PS512": "RSA",
    "ES256": "EC",
    "ES384": "EC",
    "ES512": "EC",
    "EdDSA": "OKP",
}
_MOST_CHARS: Final = 16_384
_MOST_REMEMBERED: Final = 100_000
_TYPES: Final = frozenset({"", "jwt", "at+jwt", "application/at+jwt"})


class Identity:
    """One issuer. Thread-safe. With `once` a token is good for one request: it names itself (`jti`), and this process
    remembers it until it has expired."""

    def __init__(
        self,
        *,
        issuer: str,
        audiences: tuple[str, ...],
        keys: KeySet,
        clock: Callable[[], datetime],
        algorithms: tuple[str, ...] = tuple(_FAMILY),
        skew_s: float = 60.0,
        once: bool = False,
        naming: Naming = Naming(),
    ) -> None:
        unknown = sorted(set(algorithms) - _FAMILY.keys())
        if unknown or not algorithms:
            raise InvalidValue(f"auth_algorithms (IAMATA_AUTH_ALGORITHMS) are some of {', '.join(_FAMILY)}")
        self._issuer, self._audiences, self._keys, self._clock = issuer, frozenset(audiences), keys, clock
        self._algorithms, self._skew_s, self._once, self._naming = frozenset(algorithms), skew_s, once, naming
        self._used: dict[str, float] = {}
        self._lock = threading.Lock()

    def access_of(self, token: str) -> Access:
        """Who bears this token; as `recognise`."""
        return self.recognise(token).access

    def recognise(self, token: str) -> Principal:
        """Who bears this token, and which of its scopes were left aside. Raises Unauthenticated with the reason,
        Unavailable when there are no keys."""
        claims = self._claims(token)
        self._check_times(claims)
        if claims.get("iss") != self._issuer:
            raise _bad("issuer")
        said = claims.get("aud")
        audiences = said if isinstance(said, list) else [said]
        if not any(isinstance(each, str) and each in self._audiences for each in audiences):
            raise _bad("audience")
        found = principal(claims, self._naming)
        if self._once:
            self._use(claims)
        return found

    def _claims(self, token: str) -> dict[str, Any]:
        if not token:
            raise Unauthenticated("a token is needed", reasons=("no-token",))
        if len(token) > _MOST_CHARS or not token.isascii() or token.count(".") != 2:
            raise _bad("form")
        header = _json(token.partition(".")[0])
        algorithm, kid = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or algorithm not in self._algorithms:
            raise _bad("algorithm")
        if not isinstance(kid, str) or not kid:
            raise _bad("key-not-named")
        if str(header.get("typ", "")).lower() not in _TYPES or "crit" in header or "b64" in header:
            raise _bad("header")
        key = self._keys.key(kid)
        if key is None or key.family != _FAMILY[algorithm] or key.algorithm not in ("", algorithm):
            raise _bad("key")
        return _object(_signed(token, key, algorithm))

    def _check_times(self, claims: dict[str, Any]) -> None:
        now = self._clock().timestamp()
        expires = _number(claims, "exp")
        if expires is None:
            raise _bad("claim exp")
        if now >= expires + self._skew_s:
            raise _bad("expired")
        for name in ("nbf", "iat"):
            begins = _number(claims, name)
            if begins is not None and begins > now + self._skew_s:
                raise _bad("not-yet")

    def _use(self, claims: dict[str, Any]) -> None:
        named, until = claims.get("jti"), float(claims["exp"]) + self._skew_s
        if not isinstance(named, str) or not 1 <= len(named) <= 512:
            raise _bad("claim jti")
        now = self._clock().timestamp()
        with self._lock:
            if self._used.get(named, 0.0) > now:
                raise _bad("replayed")
            if len(self._used) >= _MOST_REMEMBERED:
                self._used = {name: end for name, end in self._used.items() if end > now}
                if len(self._used) >= _MOST_REMEMBERED:  # who cannot be remembered cannot be told from a replay
                    raise Unavailable("too many tokens are in use at once; try again later")
            self._used[named] = until


def identity_of(settings: Settings, *, clock: Callable[[], datetime]) -> Identity | None:
    """The issuer of these settings; None if they name none. Raises Unavailable without the extra, InvalidValue for an
    address that is no https URL (http only for a host listed in `auth_private`)."""
    if not settings.tokens:
        return None
    if find_spec("jwt") is None or find_spec("httpx") is None:
        raise Unavailable("tokens need PyJWT and httpx, which are not installed: pip install 'iamata[auth]'")
    try:
        keys = KeySet(settings.auth_jwks_url, private=settings.listed("auth_private"))
    except InvalidValue:
        raise InvalidValue(
            "auth_jwks_url (IAMATA_AUTH_JWKS_URL) is an https URL without credentials and query; http only for a host "
            "listed in auth_private (IAMATA_AUTH_PRIVATE)"
        ) from None
    return Identity(
        issuer=settings.auth_issuer,
        audiences=settings.listed("auth_audience"),
        keys=keys,
        clock=clock,
        algorithms=settings.listed("auth_algorithms"),
        skew_s=settings.auth_skew_s,
        once=settings.auth_once,
        naming=Naming(settings.auth_roles_claim or Naming().roles, settings.auth_purpose_claim or Naming().purpose),
    )


def agent_of(access: Access, fallback: str) -> Access:
    """An operator who comes by an agent's door is acted for by the program that holds the token."""
    if access.kind is not PrincipalKind.OPERATOR or not access.by_relation:
        return access
    return acting_for(access, access.client or fallback)


def _signed(token: str, key: PublicKey, algorithm: str) -> bytes:
    """The payload, if the signature over the bytes as they came is right."""
    from jwt import PyJWS
    from jwt.exceptions import PyJWTError

    try:
        payload = PyJWS(algorithms=[algorithm]).decode(token, key.key, algorithms=[algorithm])
    except (PyJWTError, ValueError, TypeError):
        raise _bad("signature") from None
    return bytes(payload)


def _json(part: str) -> dict[str, Any]:
    """A JSON object in base64url without padding."""
    try:
        return _object(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (binascii.Error, ValueError):
        raise _bad("form") from None


def _object(raw: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        raise _bad("form") from None


def _number(claims: dict[str, Any], name: str) -> float | None:
    said = claims.get(name)
    if said is None:
        return None
    if isinstance(said, bool) or not isinstance(said, int | float) or not abs(said) < 1e12:
        raise _bad(f"claim {name}")
    return float(said)


def _bad(reason: str) -> Unauthenticated:
    return Unauthenticated("the token is not good", reasons=(reason,))

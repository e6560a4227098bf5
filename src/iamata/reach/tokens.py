"""How does a backend service get a token? By an assertion that it signs.

SMART App Launch 2, Backend Services; RFC 7523. Not here: sending it.
"""

from __future__ import annotations

import base64
from datetime import datetime, timedelta
from urllib.parse import urlencode

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from iamata.errors import BadInput, InvalidValue
from iamata.reach.servers import BackendService

# The assertion's life: at most five minutes (SMART App Launch, client authentication: exp).
_LIFE = timedelta(minutes=4)
# A token is renewed this long before it ends.
_MARGIN = timedelta(seconds=30)
_P384_BYTES = 48


class Token(msgspec.Struct, frozen=True):
    text: str
    until: datetime

    def __repr__(self) -> str:
        return f"Token(until={self.until.isoformat()})"

    def good_at(self, now: datetime) -> bool:
        return now < self.until


def ask(service: BackendService, *, now: datetime, id: str) -> bytes:
    """The form that asks for a token. `id` never repeats. Raises InvalidValue if the key is none for the algorithm."""
    return urlencode(
        {
            "grant_type": "client_credentials",
            "scope": service.scope,
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": assertion(service, now=now, id=id),
        }
    ).encode()


def assertion(service: BackendService, *, now: datetime, id: str) -> str:
    """The signed JWT: iss and sub are the client, aud the token URL."""
    header = {"alg": service.algorithm, "kid": service.key_id, "typ": "JWT"}
    claims = {
        "iss": service.client_id,
        "sub": service.client_id,
        "aud": service.token_url,
        "iat": int(now.timestamp()),
        "exp": int((now + _LIFE).timestamp()),
        "jti": id,
    }
    signed = f"{_encoded(msgspec.json.encode(header))}.{_encoded(msgspec.json.encode(claims))}"
    return f"{signed}.{_encoded(_signature(service, signed.encode()))}"


def token_of(body: bytes, *, now: datetime) -> Token:
    """The token of an answer. One without `expires_in` is used once only. Raises BadInput."""
    try:
        said = msgspec.json.decode(body)
        text, life = said["access_token"], said.get("expires_in", 0)
        if not isinstance(text, str) or not text or not isinstance(life, int | float):
            raise TypeError
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError):
        raise BadInput("the token endpoint did not answer with a token") from None
    return Token(text, now + max(timedelta(seconds=min(float(life), 86_400.0)) - _MARGIN, timedelta()))


def _signature(service: BackendService, message: bytes) -> bytes:
    try:
        key = load_pem_private_key(service.private_key, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise InvalidValue("the private key of the backend service is no PEM key without a password") from None
    if service.algorithm == "RS384" and isinstance(key, rsa.RSAPrivateKey):
        return key.sign(message, padding.PKCS1v15(), SHA384())
    if service.algorithm == "ES384" and isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.name == "secp384r1":
        r, s = decode_dss_signature(key.sign(message, ec.ECDSA(SHA384())))
        return r.to_bytes(_P384_BYTES, "big") + s.to_bytes(_P384_BYTES, "big")  # RFC 7518 3.4
    raise InvalidValue(f"the private key of the backend service is none for {service.algorithm}")


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()

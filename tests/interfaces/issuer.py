"""An identity server for tests: makes tokens, publishes its keys, answers client credentials. Keys are new each run."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from live import NOW

AUDIENCE = "https://iamata.test"
EVERYTHING = "user/*.cruds"
_MAKERS: dict[str, Any] = {
    "RS256": lambda: rsa.generate_private_key(65537, 2048),
    "RS384": lambda: rsa.generate_private_key(65537, 2048),
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "ES384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate,
}


class Issuer:
    """Signs with the newest key unless told otherwise. `clients`: id → secret of those that may ask for tokens."""

    def __init__(self, algorithm: str = "RS256", url: str = "http://127.0.0.1:1") -> None:
        self.url = url
        self.keys: dict[str, tuple[Any, str]] = {}
        self.clients: dict[str, str] = {}
        self.asked: list[str] = []
        self.rotate(algorithm)

    def rotate(self, algorithm: str = "RS256") -> str:
        """A new key beside those before; its name."""
        kid = f"key-{len(self.keys)}"
        self.keys[kid] = (_MAKERS[algorithm](), algorithm)
        return kid

    def token(self, *, now: datetime = NOW, header: dict[str, Any] | None = None, kid: str = "", **claims: Any) -> str:
        """A token that is good for five minutes, with these claims; a claim that is None is left out."""
        kid = kid or list(self.keys)[-1]
        key, algorithm = self.keys[kid]
        said = self.claims(now) | claims
        given = {"kid": kid, "typ": "at+jwt"} | (header or {})
        return jwt.encode(
            {name: value for name, value in said.items() if value is not None},
            key,
            algorithm=algorithm,
            headers={name: value for name, value in given.items() if value is not None},
        )

    def claims(self, now: datetime = NOW) -> dict[str, Any]:
        at = int(now.timestamp())
        return {
            "iss": self.url,
            "sub": "dr-lee",
            "aud": AUDIENCE,
            "iat": at,
            "exp": at + 300,
            "scope": EVERYTHING,
            "client_id": "portal",
        }

    def jwks(self) -> bytes:
        return json.dumps({"keys": [self.jwk(kid) for kid in self.keys]}).encode()

    def jwk(self, kid: str) -> dict[str, Any]:
        key, algorithm = self.keys[kid]
        public = key.public_key()
        maker = RSAAlgorithm if algorithm[:2] == "RS" else ECAlgorithm if algorithm[:2] == "ES" else OKPAlgorithm
        made: dict[str, Any] = maker.to_jwk(public, as_dict=True)
        return made | {"kid": kid, "use": "sig", "alg": algorithm}

    def pem(self) -> bytes:
        """The newest public key, as text that a careless server would take for the secret of HS256."""
        key, _ = list(self.keys.values())[-1]
        pem: bytes = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return pem


def raw(header: dict[str, Any], claims: Any, signature: bytes = b"") -> str:
    """A token put together by hand."""
    parts = (json.dumps(header).encode(), json.dumps(claims).encode(), signature)
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


@contextmanager
def published(issuer: Issuer) -> Iterator[Issuer]:
    """Serve the keys at /jwks and tokens for known clients at /token, on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.asked.append(self.path)
            self._say(200 if self.path == "/jwks" else 404, issuer.jwks())

        def do_POST(self) -> None:
            form = {k: v[0] for k, v in parse_qs(self.rfile.read(int(self.headers["content-length"])).decode()).items()}
            client = form.get("client_id", "")
            good = form.get("grant_type") == "client_credentials" and self.path == "/token"
            if not good or issuer.clients.get(client) != form.get("client_secret"):
                self._say(401, b'{"error": "invalid_client"}')
                return
            token = issuer.token(sub=client, client_id=client, scope=form.get("scope", ""))
            said = {"access_token": token, "token_type": "Bearer", "expires_in": 300}
            self._say(200, json.dumps(said).encode())

        def _say(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Not on standard error."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    issuer.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()

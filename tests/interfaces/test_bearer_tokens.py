"""Who is let in with which token: forged, foreign, expired, replayed and odd ones over a real server; new keys."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import httpx
import pytest
from clinia_context_engine import ClientCredentials, ContextEngineClient
from issuer import AUDIENCE, Issuer, published, raw
from jwt.algorithms import RSAAlgorithm
from live import NOW, running

from iamata import Engine, InvalidValue, NotAllowed, Unavailable
from iamata.engine.identity import Identity
from iamata.errors import Unauthenticated
from iamata.interfaces.http import create_app
from iamata.model.relation import RelationKind
from iamata.reach.keysets import KeySet, keys_of
from iamata.settings import Settings

FHIR = {"resourceType": "Bundle", "entry": [{"resource": {"resourceType": "Patient", "id": "leo"}}]}


def settings(issuer: Issuer, **more: Any) -> Settings:
    return Settings(
        auth_issuer=issuer.url,
        auth_audience=f"other, {AUDIENCE}",
        auth_jwks_url=f"{issuer.url}/jwks",
        auth_private="127.0.0.1",
        idle_s=0.05,
        **more,
    )


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with published(Issuer()) as made:
        yield made


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", clock=lambda: NOW) as engine:
        for id in ("leo", "zoe", "user", "user2"):
            engine.put_patient(id)
        for id in ("leo", "user"):
            engine.relate(id, "operator/dr-lee", RelationKind.CARE_TEAM)
        yield engine


@pytest.fixture(scope="module")
def client(engine: Engine, issuer: Issuer) -> Iterator[httpx.Client]:
    with running(engine, settings(issuer)) as url, httpx.Client(base_url=url, trust_env=False) as client:
        yield client


def ask(client: httpx.Client, token: str | None, path: str = "/v1/patients/leo") -> httpx.Response:
    return client.get(path, headers={} if token is None else {"Authorization": f"Bearer {token}"})


def refused(answer: httpx.Response, reason: str) -> None:
    """401 in the one shape of errors, with the challenge of RFC 6750."""
    assert answer.status_code == 401, answer.text
    body = answer.json()
    assert (body["code"], body["type"], body["details"]) == (401, "UNAUTHENTICATED", [{"reason": reason}])
    assert body["requestId"] == answer.headers["x-request-id"]
    challenge = answer.headers["www-authenticate"]
    expected = "" if reason == "no-token" else f', error="invalid_token", error_description="{reason}"'
    assert challenge == f'Bearer realm="iamata"{expected}'


def clinician(issuer: Issuer, **claims: Any) -> str:
    return issuer.token(roles=["clinician"], **claims)


# ------------------------------------------------------------------ good tokens


def test_a_good_token_opens_what_its_bearer_may_and_nothing_else(client: httpx.Client, issuer: Issuer) -> None:
    token = clinician(issuer)
    assert ask(client, token).json()["id"] == "leo"
    assert [each["registryKey"] for each in ask(client, token, "/v1/patients").json()["data"]] == ["leo", "user"]
    zoe, nobody = (ask(client, token, f"/v1/patients/{id}") for id in ("zoe", "nobody"))
    assert zoe.status_code == nobody.status_code == 404
    assert zoe.json() | {"requestId": ""} == nobody.json() | {"requestId": ""}
    assert ask(client, clinician(issuer, sub="dr-x")).status_code == 404


@pytest.mark.parametrize("algorithm", ["RS256", "RS384", "ES256", "ES384", "EdDSA"])
def test_every_kind_of_key_that_is_taken_works(algorithm: str) -> None:
    issuer = Issuer(algorithm)
    assert identity(issuer).access_of(issuer.token()).id == "dr-lee"


def test_what_the_server_is_can_be_asked_without_a_token(client: httpx.Client) -> None:
    assert client.get("/").json()["status"] == "healthy"
    assert client.get("/openapi.json").status_code == 200


def test_the_scope_of_a_token_bounds_its_bearer(client: httpx.Client, issuer: Issuer) -> None:
    reader = {"Authorization": f"Bearer {clinician(issuer, scope='user/*.rs')}"}
    assert client.get("/v1/patients/leo", headers=reader).status_code == 200
    answer = client.post("/v1/patients/leo/ingestions/fhir/r4", json=FHIR, headers=reader)
    assert (answer.status_code, answer.json()["type"]) == (403, "PERMISSION_DENIED")
    assert answer.json()["details"] == [{"reason": "principal-may-not-write"}]
    assert ask(client, clinician(issuer, scope="openid")).status_code == 404
    bound = clinician(issuer, scope="patient/*.rs", patient="zoe")
    assert ask(client, bound, "/v1/patients/zoe").status_code == 200
    assert ask(client, bound).status_code == 404, "not even a patient of one's own care team"


def test_who_may_write_and_not_read_learns_that_it_was_taken_in(client: httpx.Client, issuer: Issuer) -> None:
    for scope in ("system/*.c", "system/*.c system/Condition.rs"):
        headers = {"Authorization": f"Bearer {issuer.token(sub='feed', scope=scope)}"}
        sent = client.post("/v1/patients/leo/ingestions/fhir/r4?wait=true", json=FHIR, headers=headers)
        assert sent.status_code == 200, sent.text
        gone = client.get(f"/v1/patients/leo/ingestions/{sent.json()['ingestionId']}", headers=headers)
        assert gone.status_code == 404


def test_client_credentials_of_the_public_client_are_taken(engine: Engine, issuer: Issuer) -> None:
    issuer.clients["northside"] = "a secret"
    with running(engine, settings(issuer)) as url:
        credentials = ClientCredentials(
            client_id="northside",
            client_secret="a secret",
            token_url=f"{issuer.url}/token",
            scope="system/*.cruds",
        )
        with ContextEngineClient(base_url=url, auth=credentials) as client:
            assert client.patients.get_patient("leo").id == "leo"
            receipt = client.ingest.ingest_fhir_r4("leo", FHIR)
            assert receipt.ingestion_id
    by = {(each.principal, each.action) for each in engine.audit_records()}
    assert ("system/northside", "ingest") in by


# ------------------------------------------------------------------ bad tokens


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda i: i.token(exp=int(NOW.timestamp()) - 61), "expired"),
        (lambda i: i.token(nbf=int(NOW.timestamp()) + 61), "not-yet"),
        (lambda i: i.token(iat=int(NOW.timestamp()) + 3600), "not-yet"),
        (lambda i: i.token(exp=None), "claim exp"),
        (lambda i: i.token(exp="tomorrow"), "claim exp"),
        (lambda i: i.token(exp=True), "claim exp"),
        (lambda i: i.token(exp=1e300), "claim exp"),
        (lambda i: i.token(aud="https://elsewhere"), "audience"),
        (lambda i: i.token(aud=None), "audience"),
        (lambda i: i.token(aud=[]), "audience"),
        (lambda i: i.token(aud={"x": AUDIENCE}), "audience"),
        (lambda i: i.token(aud=AUDIENCE + "/"), "audience"),
        (lambda i: i.token(iss="https://evil"), "issuer"),
        (lambda i: i.token(iss=None), "issuer"),
        (lambda i: i.token(iss=i.url + "/"), "issuer"),
        (lambda i: i.token(sub=None), "claim sub"),
        (lambda i: i.token(sub="operator/dr-lee"), "claim sub"),
        (lambda i: i.token(header={"kid": None}), "key-not-named"),
        (lambda i: i.token(header={"kid": ""}), "key-not-named"),
        (lambda i: i.token(header={"kid": "unknown"}), "key"),
        (lambda i: i.token(header={"kid": "../jwks"}), "key"),
        (lambda i: i.token(header={"typ": "dpop+jwt"}), "header"),
        (lambda i: Issuer(url=i.url).token(), "signature"),
        (lambda i: i.token()[:-8] + "AAAAAAAA", "signature"),
        (lambda i: _swapped(i.token(), {"sub": "owner", "roles": ["owner"]}, i), "signature"),
        (lambda i: raw({"alg": "none", "kid": "key-0"}, i.claims()), "algorithm"),
        (lambda i: raw({"alg": "None", "kid": "key-0"}, i.claims()), "algorithm"),
        (lambda i: raw({"kid": "key-0"}, i.claims()), "algorithm"),
        (lambda i: raw({"alg": ["RS256"], "kid": "key-0"}, i.claims()), "algorithm"),
        (lambda i: _with_public_key_as_secret(i), "algorithm"),
        (lambda i: raw({"alg": "ES256", "kid": "key-0"}, i.claims(), bytes(64)), "key"),
        (lambda i: raw({"alg": "PS256", "kid": "key-0"}, i.claims(), bytes(256)), "key"),
        (lambda i: raw({"alg": "RS256", "kid": "key-0", "crit": ["x"]}, i.claims()), "header"),
        (lambda i: raw({"alg": "RS256", "kid": "key-0"}, i.claims()), "signature"),
        (lambda i: "a.b.c", "form"),
        (lambda i: "a.b", "form"),
        (lambda i: "..", "form"),
        (lambda i: i.token() + ".x", "form"),
        (lambda i: "x" * 20_000 + ".a.b", "form"),
        (lambda i: i.token(note="x" * 20_000), "form"),
        (lambda i: base64.urlsafe_b64encode(b"[" * 6000).decode() + ".a.b", "form"),
    ],
)
def test_a_bad_token_is_refused_with_its_reason(
    client: httpx.Client, issuer: Issuer, make: Callable[[Issuer], str], reason: str
) -> None:
    token = make(issuer)
    for path in ("/v1/patients/leo", "/v1/patients/nobody", "/v1/nowhere", "/mcp"):
        refused(ask(client, token, path), reason)


def _swapped(token: str, claims: dict[str, Any], issuer: Issuer) -> str:
    head, _, signature = token.split(".")
    body = base64.urlsafe_b64encode(json.dumps(issuer.claims() | claims).encode()).rstrip(b"=").decode()
    return f"{head}.{body}.{signature}"


def _with_public_key_as_secret(issuer: Issuer) -> str:
    """HS256 under the PEM of the public key, which everybody has."""
    unsigned = raw({"alg": "HS256", "kid": "key-0"}, issuer.claims()).rstrip(".")
    mac = hmac.digest(issuer.pem(), unsigned.encode(), hashlib.sha256)
    return f"{unsigned}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def test_a_key_that_a_token_brings_along_or_points_to_is_never_used(client: httpx.Client, issuer: Issuer) -> None:
    evil = Issuer(url=issuer.url)
    with published(evil) as there:
        evil.url, place = issuer.url, there.url
        before = len(issuer.asked)
        for header in ({"jku": f"{place}/jwks"}, {"x5u": f"{place}/jwks"}, {"jwk": evil.jwk("key-0")}):
            refused(ask(client, evil.token(header=header)), "signature")
        assert evil.asked == []
        assert len(issuer.asked) == before


def test_without_a_token_nothing_is_told(client: httpx.Client) -> None:
    for path in ("/v1/patients", "/v1/patients/leo", "/v1/nowhere", "/docs", "/mcp"):
        refused(ask(client, None, path), "no-token")
    refused(client.get("/v1/patients", headers={"Authorization": "Bearer"}), "no-token")
    for value in ("Basic bG9jYWw6", "Bearerx a.b.c", "a.b.c"):
        refused(client.get("/v1/patients", headers={"Authorization": value}), "scheme")


def test_a_token_is_taken_from_the_header_only_and_only_from_one(client: httpx.Client, issuer: Issuer) -> None:
    token = clinician(issuer)
    refused(client.get("/v1/patients/leo", params={"access_token": token}), "no-token")
    two = [("Authorization", f"Bearer {token}"), ("Authorization", f"Bearer {token}")]
    refused(client.get("/v1/patients/leo", headers=two), "scheme")
    assert client.get("/v1/patients/leo", headers={"Authorization": f"bearer {token}"}).status_code == 200


def test_a_token_is_good_within_the_skew_of_clocks(client: httpx.Client, issuer: Issuer) -> None:
    at = int(NOW.timestamp())
    assert ask(client, clinician(issuer, exp=at - 59, iat=at + 59, nbf=at + 59)).status_code == 200


def test_a_token_that_names_itself_is_good_once_where_that_is_wanted(engine: Engine, issuer: Issuer) -> None:
    with (
        running(engine, settings(issuer, auth_once=True)) as url,
        httpx.Client(base_url=url, trust_env=False) as client,
    ):
        token = clinician(issuer, jti="one")
        assert ask(client, token).status_code == 200
        refused(ask(client, token), "replayed")
        assert ask(client, clinician(issuer, jti="two")).status_code == 200
        refused(ask(client, clinician(issuer)), "claim jti")


def test_a_scope_that_is_left_aside_is_told_beside_the_answer_without_its_words(
    client: httpx.Client, issuer: Issuer
) -> None:
    answer = ask(client, clinician(issuer, scope="user/*.rs user/Zyxwvut.rs"))
    assert answer.status_code == 200
    assert answer.headers["iamata-warning"] == "scope 2: nothing is read from this resource"
    assert "iamata-warning" not in ask(client, clinician(issuer)).headers


def test_neither_a_token_nor_its_bearer_is_logged(
    client: httpx.Client, issuer: Issuer, caplog: pytest.LogCaptureFixture
) -> None:
    good, bad = clinician(issuer, sub="dr-zyxwvut"), clinician(issuer, sub="dr-zyxwvut", aud="zyxwvut")
    with caplog.at_level(logging.DEBUG):
        ask(client, good, "/v1/patients")
        ask(client, bad)
        ask(client, None)
    ours = [record.getMessage() for record in caplog.records if record.name.startswith(("iamata", "uvicorn", "mcp"))]
    assert len(ours) >= 3
    for secret in (good, bad, good.split(".")[1], "zyxwvut", "Bearer"):
        assert not any(secret in line for line in ours)


def test_many_at_once_are_each_who_they_are(client: httpx.Client, issuer: Issuer) -> None:
    tokens = {id: issuer.token(sub=id, patient=id, scope="patient/*.rs") for id in ("leo", "zoe", "user", "user2")}

    def listed(id: str) -> list[str]:
        return [each["registryKey"] for each in ask(client, tokens[id], "/v1/patients").json()["data"]]

    asked = list(tokens) * 10
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(listed, asked)) == [[id] for id in asked]


# ------------------------------------------------------------------ ids made to reach another patient


@pytest.mark.parametrize(
    "id",
    [
        "user2",
        "user/../user2",
        "user%2f..%2fuser2",
        "user%2F%2e%2e%2Fuser2",
        "..%2fuser2",
        "%2e%2e",
        "user2%00",
        "us%C3%A9r2",
        "%D1%83ser2",
        "USER2",
        "user2/",
        "user;user2",
        "user2%20",
        "user2?x=user",
        "%75ser2",
    ],
)
def test_no_crafted_id_leads_to_another_patient(client: httpx.Client, issuer: Issuer, id: str) -> None:
    headers = {"Authorization": f"Bearer {clinician(issuer)}"}
    for path in ("", "/vfs?path=/", "/read?path=/_index.md", "/relations", "/ingestions"):
        url = httpx.URL(client.base_url).copy_with(raw_path=f"/v1/patients/{id}{path}".encode())
        answer = client.get(url, headers=headers)
        assert answer.status_code in (400, 404), (id, path, answer.text)
        assert "user2" not in answer.text.lower()
    for body in ({"patient": "user2"}, {"subject": "patient/user2"}, {"subject": "patient/user/../user2"}):
        answer = client.post("/v1/search", json={"query": "x"} | body, headers=headers)
        assert answer.status_code in (400, 404)
    assert ask(client, clinician(issuer), "/v1/patients/user").status_code == 200, "its own patient is there"


# ------------------------------------------------------------------ keys


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def identity(issuer: Issuer, keys: KeySet | None = None, **more: Any) -> Identity:
    known = keys or KeySet("https://id.test/jwks", fetch=issuer.jwks)
    given: dict[str, Any] = {"issuer": issuer.url, "audiences": (AUDIENCE,), "keys": known, "clock": lambda: NOW}
    return Identity(**(given | more))


def test_a_new_key_is_fetched_once_when_a_token_names_it_and_not_for_every_stranger() -> None:
    issuer, clock, fetched = Issuer(), Clock(), list[float]()

    def fetch() -> bytes:
        fetched.append(clock.now)
        return issuer.jwks()

    known = identity(issuer, KeySet("https://id.test/jwks", fetch=fetch, monotonic=clock, pause_s=30))
    assert known.access_of(issuer.token()).id == "dr-lee"
    assert known.access_of(issuer.token()).id == "dr-lee"
    assert fetched == [1000.0]
    clock.now += 31
    issuer.rotate("ES256")
    assert known.access_of(issuer.token()).id == "dr-lee"
    assert known.access_of(issuer.token(kid="key-0")).id == "dr-lee", "the old one is still published"
    assert len(fetched) == 2
    for _ in range(50):
        with pytest.raises(Unauthenticated):
            known.access_of(issuer.token(header={"kid": "made-up"}))
    assert len(fetched) == 2, "within the pause nobody makes it ask"
    clock.now += 31
    for _ in range(50):
        with pytest.raises(Unauthenticated):
            known.access_of(issuer.token(header={"kid": "made-up"}))
    assert len(fetched) == 3


def test_who_has_a_key_does_not_wait_while_somebody_else_asks_for_new_ones() -> None:
    issuer, clock, asked, go = Issuer(), Clock(), threading.Event(), threading.Event()
    slow = [False]

    def fetch() -> bytes:
        if slow[0]:
            asked.set()
            assert go.wait(20)
        return issuer.jwks()

    known = identity(issuer, KeySet("https://id.test/jwks", fetch=fetch, monotonic=clock))
    token = issuer.token()
    known.access_of(token)
    slow[0] = True
    clock.now += 700
    renewing = threading.Thread(target=known.access_of, args=(token,))
    renewing.start()
    try:
        assert asked.wait(20)
        assert known.access_of(token).id == "dr-lee"
    finally:
        go.set()
        renewing.join(20)


def test_a_key_that_is_no_longer_published_is_forgotten_when_keys_are_old() -> None:
    issuer, clock = Issuer(), Clock()
    known = identity(issuer, KeySet("https://id.test/jwks", fetch=issuer.jwks, monotonic=clock, good_s=600))
    token = issuer.token()
    assert known.access_of(token).id == "dr-lee"
    issuer.rotate()
    del issuer.keys["key-0"]
    assert known.access_of(token).id == "dr-lee"
    clock.now += 601
    with pytest.raises(Unauthenticated):
        known.access_of(token)


def test_while_the_identity_server_is_away_known_keys_are_good_for_a_day() -> None:
    issuer, clock, away = Issuer(), Clock(), [True]

    def fetch() -> bytes:
        if away[0]:
            raise Unavailable("away")
        return issuer.jwks()

    keys = KeySet("https://id.test/jwks", fetch=fetch, monotonic=clock)
    known = identity(issuer, keys)
    with pytest.raises(Unavailable):
        known.access_of(issuer.token())
    clock.now += 31
    away[0] = False
    assert known.access_of(issuer.token()).id == "dr-lee"
    away[0] = True
    clock.now += 80_000
    assert known.access_of(issuer.token()).id == "dr-lee"
    clock.now += 10_000
    with pytest.raises(Unavailable):
        known.access_of(issuer.token())


def test_only_public_keys_for_signatures_are_taken_from_what_is_published() -> None:
    issuer = Issuer()
    good = issuer.jwk("key-0")
    odd = [
        {"kty": "oct", "kid": "secret", "k": "c2VjcmV0"},
        RSAAlgorithm.to_jwk(issuer.keys["key-0"][0], as_dict=True) | {"kid": "private"},
        good | {"kid": "for-encrypting", "use": "enc"},
        {name: value for name, value in good.items() if name != "kid"},
        good | {"kid": 7},
        good | {"kid": "twice"},
        good | {"kid": "twice", "n": "AQAB"},
        good | {"kid": "broken", "n": "!"},
        good | {"kid": "short", "n": base64.urlsafe_b64encode(b"\xff" * 128).decode().rstrip("=")},
        {"kty": "EC", "kid": "no-curve"},
        "no key",
        None,
    ]
    assert set(keys_of(json.dumps({"keys": [good, *odd]}).encode())) == {"key-0"}
    for body in (b"{}", b'{"keys": 5}', b'{"keys": {}}'):
        assert keys_of(body) == {}


def test_keys_come_from_a_configured_public_address() -> None:
    for url in ("http://id.test/jwks", "ftp://id.test", "https://user:pw@id.test/jwks", "https://id.test/jwks?x=1", ""):
        with pytest.raises(InvalidValue):
            KeySet(url)
    with pytest.raises(Unavailable, match="cannot be fetched"):
        KeySet("https://127.0.0.1:9/jwks").key("x")  # a private address that is not listed


# ------------------------------------------------------------------ listening


def test_with_tokens_it_may_listen_beyond_this_machine_and_answers_to_its_names(engine: Engine, issuer: Issuer) -> None:
    far = settings(issuer, host="0.0.0.0", hosts="records.example.org, 10.0.0.7:8321")
    assert create_app(engine, far, now=lambda: NOW)
    with pytest.raises(NotAllowed, match="without authentication"):
        create_app(engine, Settings(host="0.0.0.0"), now=lambda: NOW)
    with running(engine, far) as url, httpx.Client(base_url=url, trust_env=False) as client:
        token = {"Authorization": f"Bearer {clinician(issuer)}"}
        for host, status in (
            ("records.example.org", 200),
            ("RECORDS.example.org", 200),
            ("10.0.0.7:8321", 200),
            ("localhost", 200),
            ("evil.example.org", 403),
            ("records.example.org.evil.org", 403),
        ):
            answer = client.get("/v1/patients/leo", headers=token | {"Host": host})
            assert answer.status_code == status, host
        at_home = token | {"Host": "records.example.org", "Origin": "https://records.example.org"}
        assert client.get("/v1/patients/leo", headers=at_home).status_code == 200
        abroad = at_home | {"Origin": "https://evil.example.org"}
        assert client.get("/v1/patients/leo", headers=abroad).status_code == 403


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"auth_issuer": "https://id"}, "IAMATA_AUTH_AUDIENCE"),
        ({"auth_issuer": "https://id", "auth_audience": " , ", "auth_jwks_url": "https://id/jwks"}, "go together"),
        ({"auth_jwks_url": "https://id/jwks"}, "IAMATA_AUTH_ISSUER"),
        ({"hosts": "records.example.org"}, "IAMATA_HOSTS"),
        ({"auth_skew_s": 3600}, "IAMATA_AUTH_SKEW_S"),
    ],
)
def test_settings_that_would_leave_a_door_half_open_are_refused(given: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidValue, match=named):
        Settings(**given)


@pytest.mark.parametrize("url", ["http://id.example.org/jwks", "file:///jwks", "https://id.example.org/jwks?x=1", "x"])
def test_keys_are_fetched_from_nowhere_but_an_https_address(engine: Engine, url: str) -> None:
    given = Settings(auth_issuer="https://id", auth_audience="here", auth_jwks_url=url)
    with pytest.raises(InvalidValue, match="IAMATA_AUTH_JWKS_URL"):
        create_app(engine, given, now=lambda: NOW)


@pytest.mark.parametrize("algorithms", ["HS256", "none", "RS256,HS512", "RS257", ","])
def test_no_setting_lets_a_shared_secret_or_no_signature_in(issuer: Issuer, engine: Engine, algorithms: str) -> None:
    with pytest.raises(InvalidValue, match="IAMATA_AUTH_ALGORITHMS"):
        create_app(engine, settings(issuer, auth_algorithms=algorithms), now=lambda: NOW)


def test_a_clock_that_goes_on_ends_a_token() -> None:
    issuer, now = Issuer(), [NOW]
    known = identity(issuer, clock=lambda: now[0])
    token = issuer.token()
    assert known.access_of(token).id == "dr-lee"
    now[0] = NOW + timedelta(seconds=300 + 60)
    with pytest.raises(Unauthenticated):
        known.access_of(token)

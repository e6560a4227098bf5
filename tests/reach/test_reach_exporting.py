"""A bulk export: kick-off, waiting, files, deleted files, and a token that is signed for."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from fhir_server_double import Asked, Say, Server, Time, bundle

from iamata.engine import Engine
from iamata.errors import BadInput, InvalidValue, NotAllowed, Unavailable
from iamata.reach import BackendService, Bearer, Fetcher, everything, export

Make = Callable[..., Fetcher]
KEY = ec.generate_private_key(ec.SECP384R1())
KICK = "/fhir/Patient/$export"
PATIENT = {"resourceType": "Patient", "id": "leo"}
CONDITION = {
    "resourceType": "Condition",
    "id": "c",
    "subject": {"reference": "Patient/leo"},
    "code": {"text": "Migraine"},
}


def pem(key: Any) -> bytes:
    form = serialization.PrivateFormat.PKCS8
    return bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))


def service(server: Server, **more: Any) -> BackendService:
    settings = {"client_id": "iamata", "token_url": f"{server.origin}/token", "private_key": pem(KEY), "key_id": "k1"}
    return BackendService(**(settings | more))


def lines(*resources: dict[str, Any]) -> Say:
    return Say(b"".join(json.dumps(each).encode() + b"\n" for each in resources))


def manifest(server: Server, **more: Any) -> Say:
    value = {
        "transactionTime": "2026-03-01T00:00:00Z",
        "request": "x",
        "requiresAccessToken": True,
        "output": [
            {"type": "Patient", "url": f"{server.base}/files/1"},
            {"type": "Condition", "url": f"{server.base}/files/2"},
        ],
        "deleted": [],
        "error": [],
        **more,
    }
    return Say(json.dumps(value).encode())


def started(server: Server, *looks: Say) -> None:
    server.routes |= {
        KICK: [Say(status=202, headers=(("content-location", f"{server.base}/status/7"),))],
        "/fhir/status/7": list(looks),
        "/fhir/files/1": [lines(PATIENT)],
        "/fhir/files/2": [lines(CONDITION)],
    }


def test_an_export_is_started_waited_for_and_loaded(server: Server, fetch: Make, time: Time) -> None:
    wait = Say(status=202, headers=(("retry-after", "30"), ("x-progress", "half")))
    started(server, wait, Say(status=202, headers=()), manifest(server))
    since = datetime(2026, 1, 1, tzinfo=UTC)
    files = list(export(fetch(), since=since, types=["Patient", "Condition"]))
    assert [file.name for file in files] == ["output/0/Patient.ndjson", "output/1/Condition.ndjson"]
    assert json.loads(files[1].body) == CONDITION
    kick = server.asked[0]
    assert kick.headers["prefer"] == "respond-async"
    assert kick.query["_outputFormat"] == "application/fhir+ndjson"
    assert (kick.query["_since"], kick.query["_type"]) == ("2026-01-01T00:00:00+00:00", "Patient,Condition")
    assert time.slept == [30.0, 10.0]
    assert [(asked.method, asked.path) for asked in server.asked[-1:]] == [("DELETE", "/fhir/status/7")]


def test_deleted_and_error_files_come_too_and_a_group_can_be_asked_for(server: Server, fetch: Make) -> None:
    more = {
        "deleted": [{"type": "Bundle", "url": "../files/1"}],
        "error": [{"type": "OperationOutcome", "url": f"{server.base}/files/2"}],
    }
    started(server, manifest(server, output=[], **more))
    server.routes["/fhir/Group/g/$export"] = server.routes[KICK]
    assert [file.name for file in export(fetch(), group="g")] == [
        "deleted/0/Bundle.ndjson",
        "error/0/OperationOutcome.ndjson",
    ]


def test_an_export_that_is_never_ready_ends(server: Server, fetch: Make, time: Time) -> None:
    started(server, Say(status=202, headers=(("retry-after", "60"),)))
    with pytest.raises(Unavailable, match="not ready after 240 s"):
        list(export(fetch(export_s=250)))
    assert server.asked[-1].method == "DELETE"


@pytest.mark.parametrize("headers", [(), (("content-location", "https://elsewhere.example/status"),)])
def test_a_status_that_is_nowhere_or_elsewhere_is_refused(
    headers: tuple[tuple[str, str], ...], server: Server, fetch: Make
) -> None:
    server.routes[KICK] = [Say(status=202, headers=headers)]
    with pytest.raises((BadInput, NotAllowed)):
        list(export(fetch()))
    assert len(server.asked) == 1


def test_a_file_on_a_host_that_is_not_configured_is_refused_before_any_is_loaded(server: Server, fetch: Make) -> None:
    url = "https://bucket.example/1"
    output = [{"type": "Patient", "url": f"{server.base}/files/1"}, {"type": "Condition", "url": url}]
    started(server, manifest(server, output=output))
    with pytest.raises(NotAllowed, match="file"):
        list(export(fetch()))
    assert not [asked for asked in server.asked if asked.path.startswith("/fhir/files")]


def test_a_configured_file_host_is_used_without_the_token_where_none_is_asked_for(server: Server, fetch: Make) -> None:
    with Server() as bucket:
        bucket.routes["/1"] = [lines(PATIENT)]
        output = [{"type": "Patient", "url": f"{bucket.origin}/1?sig=abc"}]
        started(server, manifest(server, output=output, requiresAccessToken=False))
        hosts = (bucket.origin.removeprefix("http://"),)
        assert len(list(export(fetch(file_hosts=hosts, credentials=Bearer("hush"))))) == 1
        assert "authorization" not in bucket.asked[0].headers
        assert bucket.asked[0].query == {"sig": "abc"}


# SMART backend services


def decoded(part: str) -> Any:
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def given(text: str, life: int = 300) -> Say:
    return Say(json.dumps({"access_token": text, "token_type": "bearer", "expires_in": life}).encode())


def test_a_token_is_asked_for_with_a_signed_assertion(server: Server, fetch: Make, time: Time) -> None:
    server.routes |= {"/token": [given("t1")], "/fhir/Patient/leo/$everything": [bundle(PATIENT)]}
    list(everything(fetch(credentials=service(server)), "leo"))
    asked, called = server.asked
    form = {name: values[0] for name, values in parse_qs(asked.body.decode()).items()}
    assert form["grant_type"] == "client_credentials"
    assert form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    assert form["scope"] == "system/*.rs"
    head, claims, signature = form["client_assertion"].split(".")
    assert decoded(head) == {"alg": "ES384", "kid": "k1", "typ": "JWT"}
    now = int(time.now.timestamp())
    assert decoded(claims) == {
        "iss": "iamata",
        "sub": "iamata",
        "aud": f"{server.origin}/token",
        "iat": now,
        "exp": now + 240,
        "jti": "id-0",
    }
    raw = base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
    der = encode_dss_signature(int.from_bytes(raw[:48], "big"), int.from_bytes(raw[48:], "big"))
    KEY.public_key().verify(der, f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA384()))
    assert called.headers["authorization"] == "Bearer t1"


def test_an_rsa_key_signs_too(server: Server, fetch: Make) -> None:
    key = rsa.generate_private_key(65537, 2048)
    server.routes |= {"/token": [given("t1")], "/fhir/Patient/leo/$everything": [bundle(PATIENT)]}
    list(everything(fetch(credentials=service(server, private_key=pem(key), algorithm="RS384")), "leo"))
    form = parse_qs(server.asked[0].body.decode())
    head, claims, signature = form["client_assertion"][0].split(".")
    raw = base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
    key.public_key().verify(raw, f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA384())


def test_a_token_is_used_until_shortly_before_its_end(server: Server, fetch: Make, time: Time) -> None:
    server.routes |= {
        "/token": [given("t1", 100), given("t2", 100)],
        "/fhir/Patient/leo/$everything": [bundle(PATIENT)],
    }
    fetcher = fetch(credentials=service(server))
    for pause in (0, 60, 20):
        time.sleep(pause)
        list(everything(fetcher, "leo"))
    assert [asked.headers.get("authorization") for asked in server.asked if asked.path != "/token"] == [
        *("Bearer t1", "Bearer t1", "Bearer t2")
    ]


def test_a_token_that_was_revoked_is_asked_for_once_more(server: Server, fetch: Make) -> None:
    def answer(asked: Asked) -> Say:
        return bundle(PATIENT) if asked.headers["authorization"] == "Bearer t2" else Say(status=401)

    server.routes |= {"/token": [given("t1"), given("t2")], "/fhir/Patient/leo/$everything": answer}
    assert len(list(everything(fetch(credentials=service(server)), "leo"))) == 1
    server.routes["/fhir/Patient/leo/$everything"] = [Say(status=401)]
    with pytest.raises(NotAllowed, match="401"):
        list(everything(fetch(credentials=service(server)), "leo"))


@pytest.mark.parametrize(
    "body", [b"oops", b"[]", b"{}", b'{"access_token": 7}', b'{"access_token":"x","expires_in":"y"}']
)
def test_an_answer_without_a_token_is_refused(body: bytes, server: Server, fetch: Make) -> None:
    server.routes["/token"] = [Say(body)]
    with pytest.raises(BadInput, match="token"):
        list(everything(fetch(credentials=service(server)), "leo"))


@pytest.mark.parametrize(
    "more",
    [
        {"private_key": b"no key"},
        {"algorithm": "RS384"},
        {"private_key": pem(ec.generate_private_key(ec.SECP256R1()))},
    ],
)
def test_a_key_that_is_none_for_the_algorithm_is_refused(more: dict[str, Any], server: Server, fetch: Make) -> None:
    with pytest.raises(InvalidValue, match="key"):
        list(everything(fetch(credentials=service(server, **more)), "leo"))
    assert server.asked == []


def test_a_private_key_is_never_shown(server: Server) -> None:
    assert "PRIVATE" not in repr(service(server))


# Through the engine


def test_what_is_pulled_is_taken_in(server: Server, fetch: Make) -> None:
    gone = {
        "resourceType": "Bundle",
        "type": "transaction",
        "entry": [{"request": {"method": "DELETE", "url": "Condition/c"}}],
    }
    with Engine.open(":memory:") as engine:
        started(server, manifest(server))
        engine.ingest_export(list(export(fetch())), source="northside")
        assert [f.display for f in engine.graph("leo").facts.values() if f.kind == "condition"] == ["Migraine"]
        server.routes["/fhir/files/3"] = [lines(gone)]
        deleted = [{"type": "Bundle", "url": f"{server.base}/files/3"}]
        started(server, manifest(server, output=[], deleted=deleted))
        engine.ingest_export(list(export(fetch())), source="northside")
        assert [f.display for f in engine.graph("leo").facts.values() if f.kind == "condition"] == []

"""Pages of a FHIR server are followed below its base URL only, within bounds, and tried again when that may help."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from fhir_server_double import Asked, Say, Server, Time, bundle

from iamata.errors import BadInput, InvalidValue, NotAllowed, NotFound, TooLarge, Unavailable
from iamata.reach import Bearer, Fetcher, FhirServer, everything, search

Make = Callable[..., Fetcher]
PATIENT = {"resourceType": "Patient", "id": "leo"}
CONDITION = {"resourceType": "Condition", "id": "c"}
EVERYTHING = "/fhir/Patient/leo/$everything"


def test_everything_of_a_patient_comes_page_by_page(server: Server, fetch: Make) -> None:
    server.routes[EVERYTHING] = [bundle(PATIENT, following=f"{server.base}/page?n=2")]
    server.routes["/fhir/page"] = [bundle(CONDITION)]
    since = datetime(2026, 1, 1, tzinfo=UTC)
    pages = list(everything(fetch(), "leo", since=since, types=["Patient", "Condition"]))
    assert [json.loads(page)["entry"][0]["resource"] for page in pages] == [PATIENT, CONDITION]
    first, second = server.asked
    assert first.query == {"_since": "2026-01-01T00:00:00+00:00", "_type": "Patient,Condition", "_count": "200"}
    assert first.headers["accept"] == "application/fhir+json"
    assert (second.path, second.query) == ("/fhir/page", {"n": "2"})
    assert "authorization" not in first.headers


def test_a_relative_next_link_is_one_below_the_base(server: Server, fetch: Make) -> None:
    server.routes["/fhir/Observation"] = [bundle(PATIENT, following="?page=2"), bundle(CONDITION)]
    assert len(list(search(fetch(), "Observation", {"patient": "leo"}))) == 2


@pytest.mark.parametrize(
    "link",
    [
        "https://elsewhere.example/fhir/page",
        "http://127.0.0.1:1/fhir/page",
        "{origin}/admin",
        "{origin}/fhirx/page",
        "{origin}/fhir/../admin",
        "{origin}/fhir/%2e%2e/admin",
        "//elsewhere.example/fhir/page",
        "file:///etc/passwd",
        "http://user:secret@127.0.0.1/fhir/page",
        "http://[",
    ],
)
def test_a_next_link_that_leads_anywhere_else_is_refused_and_never_called(
    link: str, server: Server, fetch: Make
) -> None:
    server.routes[EVERYTHING] = [bundle(PATIENT, following=link.format(origin=server.origin))]
    pages = everything(fetch(credentials=Bearer("secret")), "leo")
    next(pages)
    with pytest.raises((NotAllowed, BadInput)):
        next(pages)
    assert len(server.asked) == 1


def test_a_redirect_is_not_followed(server: Server, fetch: Make) -> None:
    server.routes[EVERYTHING] = [Say(status=302, headers=(("location", f"{server.base}/page"),))]
    with pytest.raises(Unavailable, match="redirects"):
        list(everything(fetch(), "leo"))
    assert len(server.asked) == 1


def test_pages_that_lead_in_a_circle_end(server: Server, fetch: Make) -> None:
    server.routes["/fhir/page"] = [bundle(CONDITION, following=f"{server.base}/page?a=1")]
    server.routes[EVERYTHING] = [bundle(PATIENT, following=f"{server.base}/page?a=1")]
    with pytest.raises(BadInput, match="circle"):
        list(everything(fetch(), "leo"))


def test_pages_without_end_are_bounded(server: Server, fetch: Make) -> None:
    def more(asked: Asked) -> Say:
        return bundle(CONDITION, following=f"{server.base}/page?n={int(asked.query.get('n', '0')) + 1}")

    server.routes |= {EVERYTHING: more, "/fhir/page": more}
    with pytest.raises(TooLarge, match="5 pages"):
        list(everything(fetch(pages=5), "leo"))
    assert len(server.asked) == 5


def test_it_is_tried_again_with_growing_pauses(server: Server, fetch: Make, time: Time) -> None:
    server.routes[EVERYTHING] = [Say(status=503), Say(status=500), Say(status=504), bundle(PATIENT)]
    assert len(list(everything(fetch(), "leo"))) == 1
    assert time.slept == [1.0, 2.0, 4.0]


def test_a_server_that_asks_for_time_gets_it_within_bounds(server: Server, fetch: Make, time: Time) -> None:
    date = "Sun, 01 Mar 2026 12:01:30 GMT"
    server.routes[EVERYTHING] = [
        Say(status=429, headers=(("retry-after", "7"),)),
        Say(status=503, headers=(("retry-after", date),)),
        Say(status=503, headers=(("retry-after", "99999"),)),
        Say(status=503, headers=(("retry-after", "soon"),)),
        bundle(PATIENT),
    ]
    assert len(list(everything(fetch(), "leo"))) == 1
    assert time.slept == [7.0, 83.0, 120.0, 8.0]


def test_after_all_attempts_it_is_unavailable(server: Server, fetch: Make, time: Time) -> None:
    server.routes[EVERYTHING] = [Say(status=503)]
    with pytest.raises(Unavailable, match="503"):
        list(everything(fetch(attempts=3), "leo"))
    assert (len(server.asked), len(time.slept)) == (3, 2)


@pytest.mark.parametrize(
    ("status", "error"), [(404, NotFound), (410, NotFound), (401, NotAllowed), (403, NotAllowed), (400, BadInput)]
)
def test_what_no_attempt_would_mend_is_said_at_once(
    status: int, error: type[Exception], server: Server, fetch: Make
) -> None:
    server.routes[EVERYTHING] = [Say(b'{"secret": "name of a patient"}', status)]
    with pytest.raises(error) as caught:
        list(everything(fetch(), "leo"))
    assert "name of a patient" not in str(caught.value)
    assert len(server.asked) == 1


def test_a_server_that_nobody_answers_at_is_unavailable(fetch: Make, time: Time) -> None:
    with pytest.raises(Unavailable, match="cannot be reached"):
        list(everything(fetch(base_url="http://127.0.0.1:9/fhir", attempts=2), "leo"))
    assert time.slept == [1.0]


def test_an_answer_is_bounded_also_when_it_is_compressed(server: Server, fetch: Make) -> None:
    zipped = (("content-encoding", "gzip"),)
    server.routes[EVERYTHING] = [Say(gzip.compress(bundle(PATIENT).body), headers=zipped)]
    assert json.loads(next(everything(fetch(), "leo")))["resourceType"] == "Bundle"
    server.routes[EVERYTHING] = [Say(gzip.compress(b"0" * 50_000_000), headers=zipped)]
    with pytest.raises(TooLarge, match="1000000 bytes"):
        list(everything(fetch(answer_bytes=1_000_000), "leo"))


def test_all_answers_together_are_bounded(server: Server, fetch: Make) -> None:
    server.routes[EVERYTHING] = [bundle(PATIENT)]
    fetcher = fetch(total_bytes=500)
    pages = (page for _ in range(10) for page in everything(fetcher, "leo"))
    with pytest.raises(TooLarge, match="500 bytes"):
        list(pages)


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"resourceType":"OperationOutcome"}', b""])
def test_what_is_no_bundle_is_refused(body: bytes, server: Server, fetch: Make) -> None:
    server.routes[EVERYTHING] = [Say(body)]
    with pytest.raises(BadInput, match="Bundle"):
        list(everything(fetch(), "leo"))


@pytest.mark.parametrize("id", ["../Observation", "leo/x", "leo?x=y", "", "a" * 65])
def test_an_id_that_is_none_is_never_sent(id: str, server: Server, fetch: Make) -> None:
    with pytest.raises(InvalidValue):
        everything(fetch(), id)
    assert server.asked == []


def test_a_token_that_was_given_is_sent_and_never_shown(server: Server, fetch: Make) -> None:
    server.routes[EVERYTHING] = [bundle(PATIENT)]
    fetcher = fetch(credentials=Bearer("hush"))
    list(everything(fetcher, "leo"))
    assert server.asked[0].headers["authorization"] == "Bearer hush"
    assert "hush" not in repr(fetcher.server)


# Addresses


def test_a_private_address_is_refused_unless_it_is_listed(server: Server, fetch: Make, time: Time) -> None:
    port = server.origin.rpartition(":")[2]
    for address in ("127.0.0.1", "10.0.0.7", "169.254.169.254", "::1", "fe80::1%eth0", "::ffff:127.0.0.1", "0.0.0.0"):
        fetcher = fetch(base_url=f"https://fhir.example:{port}/fhir", private=(), resolve=lambda *_, a=address: [a])
        with pytest.raises(NotAllowed, match="private"):
            list(everything(fetcher, "leo"))
    assert (server.asked, time.slept) == ([], [])


def test_one_private_address_among_public_ones_is_enough_to_refuse(fetch: Make) -> None:
    fetcher = fetch(base_url="https://fhir.example/fhir", private=(), resolve=lambda *_: ["93.184.216.34", "10.0.0.7"])
    with pytest.raises(NotAllowed, match="private"):
        list(everything(fetcher, "leo"))


def test_a_listed_host_or_network_may_be_private(server: Server, fetch: Make) -> None:
    server.routes[EVERYTHING] = [bundle(PATIENT)]
    port = server.origin.rpartition(":")[2]
    for private in (("fhir.internal",), ("fhir.internal", "127.0.0.0/8")):
        fetcher = fetch(base_url=f"http://fhir.internal:{port}/fhir", private=private, resolve=lambda *_: ["127.0.0.1"])
        assert len(list(everything(fetcher, "leo"))) == 1
    assert server.asked[0].headers["host"] == f"fhir.internal:{port}"


def test_a_host_without_an_address_is_unavailable(fetch: Make) -> None:
    with pytest.raises(Unavailable, match="no address"):
        list(everything(fetch(base_url="https://nowhere.example/fhir", attempts=1, resolve=lambda *_: []), "leo"))


@pytest.mark.parametrize(
    "url",
    [
        "http://fhir.example/fhir",
        "ftp://fhir.example/fhir",
        "https://user:secret@fhir.example/fhir",
        "https://fhir.example/fhir?x=y",
        "/fhir",
        "https://[",
    ],
)
def test_a_base_url_that_is_not_safe_is_refused(url: str) -> None:
    with pytest.raises(InvalidValue):
        FhirServer(name="x", base_url=url)

"""Every family of documents by its own route: the receipt that the contract allows, several at once whole or not."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import leo
import pytest
import sent
from calling import Calling, calling
from clinia_context_engine import APIStatusError
from clinia_context_engine.generated.models import Ingestion
from hypothesis import given, settings
from hypothesis import strategies as st
from live import running

from iamata.engine import Engine
from iamata.errors import BadInput, TooLarge
from iamata.interfaces.http.multipart import MOST_PARTS, file_name, parts
from iamata.settings import Settings

PATIENT = "leo"
INVALID = "INVALID_ARGUMENT"
X12 = {"Content-Type": "application/edi-x12"}
NOTE = b"ALLERGIES:\nPenicillin, hives as a child.\n\nPLAN:\nCome back in two weeks.\n"
HTML = b"<html><body><h1>Allergies</h1><p>Penicillin, hives as a child.</p></body></html>"
SECTIONS = ("cda/r2", "document/legacy")


@pytest.fixture
def engine(make_store: Callable[..., Any]) -> Iterator[Engine]:
    store = make_store()
    ticks = itertools.count()
    began = datetime(2026, 2, 15, 9, 0, tzinfo=UTC)
    with Engine(
        store,
        store.keys,
        clock=lambda: began + timedelta(milliseconds=next(ticks)),
        ids=lambda: f"{next(ticks):020d}",
    ) as engine:
        yield engine


@pytest.fixture(params=["sync", "async"])
def api(request: pytest.FixtureRequest, engine: Engine) -> Iterator[Calling]:
    with running(engine, Settings(idle_s=0.05)) as url, calling(request.param, url) as api:
        yield api


@pytest.fixture
def http(engine: Engine) -> Iterator[httpx.Client]:
    with (
        running(engine, Settings(idle_s=0.05)) as url,
        httpx.Client(base_url=f"{url}/v1/patients/{PATIENT}", trust_env=False, timeout=60) as client,
    ):
        yield client


def files(*bodies: str | bytes, field: str = "documents") -> list[tuple[str, tuple[str, bytes, str]]]:
    """What httpx sends as multipart/form-data."""
    encoded = [body.encode() if isinstance(body, str) else body for body in bodies]
    return [(field, (f"{n}.xml", body, "application/cda+xml")) for n, body in enumerate(encoded)]


def receipt(answer: httpx.Response) -> Ingestion:
    """The receipt, as the public client reads it."""
    assert answer.status_code == 200, answer.text
    return Ingestion.model_validate_json(answer.content)


def problem(answer: httpx.Response, code: int, type: str) -> dict[str, Any]:
    body: dict[str, Any] = answer.json()
    assert (answer.status_code, body["code"], body["type"]) == (code, code, type), answer.text
    assert "Zebrafish" not in answer.text
    return body


def displays(engine: Engine, kind: str) -> list[str]:
    return sorted(fact.display for fact in engine.graph(PATIENT).facts.values() if fact.kind == kind)


# ------------------------------------------------------------------ the public client


def test_the_public_client_sends_a_cda_document(api: Calling, engine: Engine) -> None:
    made = api.ingest.ingest_cda_r2(PATIENT, sent.cda())
    assert (made.source, made.mime_type, made.failure) == ("cda/r2", "application/cda+xml", None)
    assert made.staged.facts >= 1
    (item,) = made.intake
    assert item.unit == "section"
    assert item.received == sum(entry.count for entry in item.entries)
    assert {entry.outcome for entry in item.entries} >= {"structured"}
    api.settle(PATIENT)
    assert displays(engine, "condition") == ["Asthma"]
    again = api.ingest.ingest_cda_r2(PATIENT, sent.cda())
    assert again.status == "succeeded"
    assert (again.staged.facts, again.staged.events, again.staged.narratives) == (0, 0, 0)


def test_the_public_client_sends_fhir_r5(api: Calling, engine: Engine) -> None:
    made = api.ingest.ingest_fhir_r5(PATIENT, sent.r5())
    assert (made.source, made.staged.facts >= 1) == ("fhir/r5", True)
    api.settle(PATIENT)
    assert displays(engine, "medication") == ["Ibuprofen 100 mg"]
    (listed,) = api.ingest.list_ingestions(PATIENT).data
    assert (listed.ingestion_id, listed.source, listed.status) == (made.ingestion_id, "fhir/r5", "succeeded")


@pytest.mark.parametrize("broken", ["<ClinicalDocument", "", "no xml at all"])
def test_what_is_no_cda_is_refused_and_registers_nobody(api: Calling, broken: str) -> None:
    with pytest.raises(APIStatusError) as caught:
        api.ingest.ingest_cda_r2(PATIENT, broken)
    assert caught.value.error is not None
    assert caught.value.error.type in ("INVALID_ARGUMENT", "UNSUPPORTED_MEDIA_TYPE")
    assert api.patients.list_patients().meta.total == 0


# ------------------------------------------------------------------ the families


@pytest.mark.parametrize(
    ("route", "body", "media", "source", "family", "system"),
    [
        ("hl7v2", sent.hl7(), "application/hl7-v2", "batch/legacy", "hl7v2", "EASTLAB"),
        ("hl7v2", sent.hl7(), "text/plain", "batch/legacy", "hl7v2", "EASTLAB"),
        ("x12", sent.x12(), "application/edi-x12", "batch/legacy", "x12", "ZZ:CLEARING"),
        ("cda/r2", sent.cda().encode(), "text/xml", "cda/r2", "cda/r2", "Northside"),
        ("documents", NOTE, "text/plain", "document/legacy", "document/text", "local"),
        ("documents", HTML, "text/html", "document/legacy", "document/html", "local"),
        ("documents", sent.hl7(), "application/octet-stream", "batch/legacy", "hl7v2", "EASTLAB"),
        ("documents", sent.cda().encode(), "application/xml", "cda/r2", "cda/r2", "Northside"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_family_has_its_route_and_is_listed_as_the_contract_allows(
    http: httpx.Client, route: str, body: bytes, media: str, source: str, family: str, system: str
) -> None:
    answer = http.post(f"/ingestions/{route}", content=body, headers={"Content-Type": media}, params={"wait": "true"})
    made = receipt(answer)
    told = answer.json()
    assert (made.source, made.status) == (source, "succeeded")
    assert (told["family"], told["system"]) == (family, system)
    assert made.staged.facts + made.staged.events + made.staged.narratives >= 1
    assert {each.unit for each in made.intake} == {"section" if source in SECTIONS else "resource"}
    found = receipt(http.get(f"/ingestions/{made.ingestion_id}"))
    assert (found.source, found.staged) == (source, made.staged)
    held = http.get(f"/documents/{told['documentId']}/content")
    assert held.content == body


def test_the_sender_is_named_by_the_query_or_the_header_and_its_sort_by_the_query(
    http: httpx.Client, make_store: Callable[..., Any]
) -> None:
    media = {"Content-Type": "application/hl7-v2"}
    first = http.post("/ingestions/hl7v2?source=lab-7&sourceKind=lab", content=sent.hl7(), headers=media)
    assert receipt(first)
    assert first.json()["system"] == "lab-7"
    second = http.post("/ingestions/x12", content=sent.x12(), headers={**media, "Iamata-Source": "payer-1"} | X12)
    assert receipt(second)
    assert second.json()["system"] == "payer-1"
    held = make_store().held(PATIENT)
    assert held is not None
    assert {(name, kind.value) for name, kind in held.sources} == {("lab-7", "lab"), ("payer-1", "ehr")}
    wrong = http.post("/ingestions/x12?sourceKind=zebra", content=sent.x12(), headers=X12)
    assert problem(wrong, 400, "INVALID_ARGUMENT")["details"][0]["place"] == "query/sourceKind"


def test_a_file_name_comes_by_the_header_or_the_query(http: httpx.Client, engine: Engine) -> None:
    for n, (headers, params) in enumerate(
        [
            ({"Content-Disposition": 'attachment; filename="note 1.hl7"'}, {}),
            ({"Content-Disposition": "attachment; filename*=UTF-8''sch%C3%B6n.hl7"}, {}),
            ({"Content-Disposition": 'attachment; filename="other.hl7"'}, {"name": "named.hl7"}),
        ]
    ):
        body = sent.hl7(value=f"1{n}.0")
        assert receipt(http.post("/ingestions/documents", content=body, headers=headers, params=params))
    names = [each.name for each in engine.graph(PATIENT).documents.values()]
    assert sorted(names) == ["named.hl7", "note 1.hl7", "schön.hl7"]


def test_a_media_type_that_a_route_does_not_read_is_refused(http: httpx.Client) -> None:
    for route in ("cda/r2", "hl7v2", "x12", "fhir/r5"):
        answer = http.post(f"/ingestions/{route}", content=b"x", headers={"Content-Type": "image/png"})
        assert problem(answer, 415, "UNSUPPORTED_MEDIA_TYPE")["details"][0]["accepted"]
    zipped = {"Content-Type": "application/cda+xml", "Content-Encoding": "gzip"}
    problem(http.post("/ingestions/cda/r2", content=b"x", headers=zipped), 415, "UNSUPPORTED_MEDIA_TYPE")
    problem(http.post("/ingestions/documents", content=b"\x00\x01\x02"), 415, "UNSUPPORTED_MEDIA_TYPE")
    problem(http.post("/ingestions/documents", content=b""), 400, "INVALID_ARGUMENT")
    problem(http.post("/ingestions/hl7v2", content=b"PID|1", headers={"Content-Type": "text/plain"}), 400, INVALID)


# ------------------------------------------------------------------ several at once


def test_several_documents_are_one_receipt_with_an_intake_for_each(http: httpx.Client, engine: Engine) -> None:
    bodies = files(sent.cda(), sent.cda("Eczema", "43116000", id="doc-2"))
    answer = http.post("/ingestions/cda/r2?wait=true", files=bodies)
    made = receipt(answer)
    assert (made.source, made.status, len(made.intake)) == ("cda/r2", "succeeded", 2)
    assert displays(engine, "condition") == ["Asthma", "Eczema"]
    first, second = made.ingestion_id.split(".")
    assert (
        receipt(http.get(f"/ingestions/{first}")).staged.facts + receipt(http.get(f"/ingestions/{second}")).staged.facts
        == made.staged.facts
    )
    assert receipt(http.get(f"/ingestions/{made.ingestion_id}")).staged == made.staged
    again = receipt(http.post("/ingestions/cda/r2", files=bodies))
    assert again.staged.facts == 0


def test_the_same_document_twice_in_one_request_counts_once(http: httpx.Client) -> None:
    once = receipt(http.post("/ingestions/cda/r2", files=files(sent.cda(), sent.cda())))
    alone = http.get(f"/ingestions/{once.ingestion_id.split('.')[1]}").json()
    assert set(alone["staged"].values()) == {0}
    assert once.staged.facts > 0


def test_one_document_that_cannot_be_read_refuses_them_all(http: httpx.Client, engine: Engine) -> None:
    answer = http.post("/ingestions/cda/r2", files=files(sent.cda(), "<ClinicalDocument><a></ClinicalDocument>"))
    body = problem(answer, 400, INVALID)
    assert body["message"].startswith("document 1: ")
    assert body["details"][0]["place"].startswith("documents/1/line 1")
    assert engine.patients()[1] == 0


def test_mixed_documents_go_together_by_their_bytes(http: httpx.Client, engine: Engine) -> None:
    answer = http.post("/ingestions/documents?wait=true", files=files(sent.cda(), sent.hl7(), sent.x12()))
    assert receipt(answer).status == "succeeded"
    assert {each.format for each in engine.graph(PATIENT).documents.values()} == {"cda/r2", "hl7v2", "x12"}


def test_parts_of_another_name_or_a_broken_body_are_refused(http: httpx.Client) -> None:
    problem(http.post("/ingestions/cda/r2", files=files(sent.cda(), field="file")), 400, INVALID)
    problem(http.post("/ingestions/cda/r2", files=files("")), 400, INVALID)
    cut = {"Content-Type": "multipart/form-data; boundary=x"}
    problem(http.post("/ingestions/cda/r2", content=b"--x\r\n\r\n<a/>", headers=cut), 400, INVALID)
    none = {"Content-Type": "multipart/form-data"}
    problem(http.post("/ingestions/cda/r2", content=b"--x--", headers=none), 400, INVALID)


def test_of_several_transcripts_all_are_stored_or_none(http: httpx.Client, engine: Engine) -> None:
    def talks(*names: str) -> dict[str, Any]:
        return {"sessions": [{"sessionId": name, "messages": leo.talk()} for name in names]}

    made = receipt(http.post("/ingestions/sessions?wait=true", json=talks("s1", "s2")))
    assert (made.staged.messages, [each.session_id for each in made.intake]) == (6, ["s1", "s2"])
    edited = talks("s3", "s2")
    edited["sessions"][1]["messages"][1]["content"] = "something else"
    problem(http.post("/ingestions/sessions", json=edited), 409, "FAILED_PRECONDITION")
    problem(http.post("/ingestions/sessions", json=talks("s4", "s4")), 409, "FAILED_PRECONDITION")
    assert sorted(engine.graph(PATIENT).sessions) == ["s1", "s2"]


# ------------------------------------------------------------------ multipart


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=40), min_size=1, max_size=5), st.booleans())
def test_parts_come_out_as_they_went_in(bodies: list[bytes], preamble: bool) -> None:
    boundary = b"x-42"
    lines = [b"before\r\n"] if preamble else []
    for n, body in enumerate(bodies):
        head = f'--x-42 \r\nContent-Disposition: form-data; name="documents"; filename="{n}.xml"\r\n'
        lines.append(head.encode() + b"Content-Type: text/xml\r\n\r\n" + body + b"\r\n")
    sent_body = b"".join([*lines, b"--x-42--\r\nafter"])
    if any(b"\r\n--" + boundary in body for body in bodies):
        return
    found = parts(sent_body, "multipart/form-data; boundary=x-42")
    assert [(each.field, each.name, each.media_type, each.body) for each in found] == [
        ("documents", f"{n}.xml", "text/xml", body) for n, body in enumerate(bodies)
    ]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"--x\r\n\r\nunnamed\r\n--x--",
        b'--x\r\nContent-Disposition: form-data; name="documents"\r\n--x--',
        b'--xy\r\nContent-Disposition: form-data; name="documents"\r\n\r\n1\r\n--x--',
        b'--x\r\nContent-Disposition: form-data; name="d"\r\nContent-Transfer-Encoding: base64\r\n\r\nMQ==\r\n--x--',
    ],
)
def test_a_malformed_multipart_body_is_bad_input(body: bytes) -> None:
    with pytest.raises(BadInput):
        parts(body, "multipart/form-data; boundary=x")


def test_more_parts_than_allowed_are_too_many() -> None:
    one = b'--x\r\nContent-Disposition: form-data; name="documents"\r\n\r\n1\r\n'
    with pytest.raises(TooLarge):
        parts(one * (MOST_PARTS + 1) + b"--x--", "multipart/form-data; boundary=x")


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_any_header_gives_a_file_name_or_none(text: str) -> None:
    assert isinstance(file_name(text), str)

"""An export of many patients becomes one document for each, the same however its files are cut and ordered."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from fuzz.doors import export
from hypothesis import given, settings
from hypothesis import strategies as st
from test_archives import tarred, zipped

from iamata.connectors.fhir.exports import Export, split
from iamata.engine import Engine
from iamata.errors import TooLarge
from iamata.model.access import Access, PrincipalKind
from iamata.model.document import Reason
from iamata.model.identifiers import canonical_bytes

Json = dict[str, Any]


def of(patient: str, type: str, id: str, **more: Any) -> Json:
    return {"resourceType": type, "id": id, "subject": {"reference": f"Patient/{patient}"}, **more}


LEO: Json = {"resourceType": "Patient", "id": "leo", "identifier": [{"system": "urn:mrn", "value": "1"}]}
MIA: Json = {"resourceType": "Patient", "id": "mia"}
DOCTOR: Json = {
    "resourceType": "Practitioner",
    "id": "dr",
    "identifier": [{"system": "urn:npi", "value": "77"}],
    "name": [{"family": "Grey"}],
}
ROLE: Json = {
    "resourceType": "PractitionerRole",
    "id": "role",
    "practitioner": {"reference": "Practitioner/dr"},
    "organization": {"reference": "Organization/org"},
}
CLINIC: Json = {"resourceType": "Organization", "id": "org", "name": "Northside"}
SPARE: Json = {"resourceType": "Organization", "id": "spare", "name": "Nobody"}
MIGRAINE = of("leo", "Condition", "c1", code={"text": "Migraine"}, recorder={"reference": "PractitionerRole/role"})
ASTHMA = of("mia", "Condition", "c2", code={"text": "Asthma"})
ALL = [LEO, MIA, DOCTOR, ROLE, CLINIC, SPARE, MIGRAINE, ASTHMA]


def lines(*resources: Json) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in resources)


def names(export: Export, patient: str) -> list[str]:
    (body,) = [each.body for each in export.documents if each.patient == patient]
    return [f"{r['resourceType']}/{r['id']}" for r in map(json.loads, body.splitlines())]


def test_each_patient_has_a_document_with_what_its_items_refer_to() -> None:
    export = split([("all.ndjson", lines(*ALL))])
    assert [each.patient for each in export.documents] == ["leo", "mia"]
    assert names(export, "leo") == [
        *("Patient/leo", "Condition/c1", "Organization/org", "Practitioner/dr", "PractitionerRole/role")
    ]
    assert names(export, "mia") == ["Patient/mia", "Condition/c2"]


def test_a_line_of_no_patient_is_listed_at_its_place() -> None:
    (line,) = split([("a.ndjson", lines(LEO)), ("Organization.ndjson", b"\n" + lines(SPARE))]).lines
    assert (line.kind, line.place, line.reason) == ("Organization", "Organization.ndjson/1", Reason.UNSUPPORTED)


def test_a_bad_line_spoils_only_itself() -> None:
    export = split([("a", lines(LEO) + b"{oops\n[1]\n" + lines(MIGRAINE)), ("b.pdf", b"%PDF\0\0")])
    assert names(export, "leo") == ["Patient/leo", "Condition/c1"]
    assert [(each.place, each.reason) for each in export.lines] == [
        ("a/1", Reason.UNUSABLE),
        ("a/2", Reason.UNUSABLE),
        ("b.pdf", Reason.UNSUPPORTED),
    ]


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 5))
def test_the_documents_are_the_same_however_the_lines_are_cut_and_ordered(chance: random.Random, parts: int) -> None:
    shuffled = chance.sample(ALL, len(ALL)) + chance.sample(ALL, 3)  # some twice
    cut = [shuffled[n::parts] for n in range(parts)]
    files = [(f"{n}.ndjson", lines(*each)) for n, each in enumerate(cut)]
    assert split(files).documents == split([("all", lines(*ALL))]).documents


def test_people_named_by_identifier_are_found() -> None:
    item = of("x", "Condition", "c", code={"text": "Migraine"})
    item["subject"] = {"identifier": {"system": "urn:mrn", "value": "1"}}
    item["recorder"] = {"identifier": {"system": "urn:npi", "value": "77"}}
    assert names(split([("a", lines(LEO, DOCTOR, item))]), "leo") == ["Patient/leo", "Condition/c", "Practitioner/dr"]


def test_what_names_its_patient_elsewhere_is_theirs() -> None:
    appointment = {
        "resourceType": "Appointment",
        "id": "a",
        "participant": [
            {"actor": {"reference": "Practitioner/dr"}},
            {"actor": {"reference": "https://x/fhir/Patient/leo"}},
        ],
    }
    provenance = {"resourceType": "Provenance", "id": "p", "target": [{"reference": "Condition/c1"}]}
    coverage = {"resourceType": "Coverage", "id": "v", "beneficiary": {"reference": "Patient/leo"}}
    letter = of("leo", "DocumentReference", "d", content=[{"attachment": {"url": "https://x/fhir/Binary/b"}}])
    binary = {"resourceType": "Binary", "id": "b", "contentType": "text/plain"}
    export = split([("a", lines(LEO, MIGRAINE, DOCTOR, appointment, provenance, coverage, letter, binary))])
    assert set(names(export, "leo")) >= {
        *("Appointment/a", "Provenance/p", "Coverage/v", "DocumentReference/d", "Binary/b", "Practitioner/dr")
    }


def test_a_file_that_is_one_json_text_over_many_lines_is_one_item() -> None:
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": LEO}, {"resource": MIGRAINE}]}
    export = split([("bundle.json", json.dumps(bundle, indent=2).encode())])
    assert names(export, "leo") == ["Patient/leo", "Condition/c1"]


def test_numbers_keep_their_digits_where_a_bundle_is_taken_apart() -> None:
    item = (
        b'{"resourceType":"Observation","id":"o","subject":{"reference":"Patient/leo"},"valueQuantity":{"value":6.10}}'
    )
    bundle = b'{"resourceType":"Bundle",\n"entry":[{"resource":' + item + b"}]}"
    (document,) = split([("b", bundle)]).documents
    assert b'"value":6.10}' in document.body


_LINES = st.lists(
    st.sampled_from([json.dumps(each).encode() for each in ALL])
    | st.binary(max_size=30)
    | st.recursive(
        st.none() | st.integers() | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["resourceType", "id", "subject", "reference", "identifier", "entry", "request", "url"]
                ),
                inner | st.sampled_from(["Bundle", "Condition", "DELETE", "Patient/leo"]),
                max_size=4,
            )
        ),
        max_leaves=8,
    ).map(lambda value: json.dumps(value).encode()),
    max_size=6,
)


@settings(max_examples=300, deadline=None)
@given(_LINES)
def test_whatever_the_lines_are_the_good_ones_are_kept_and_the_others_listed(found: list[bytes]) -> None:
    files = [("a", b"\n".join([*found, json.dumps(LEO).encode()])), ("b", lines(MIGRAINE))]
    (leo,) = [each.body for each in split(files).documents if each.patient == "leo"]
    assert json.dumps(MIGRAINE).encode() in leo.splitlines()
    assert not export(files[0][1])


def test_an_export_is_bounded() -> None:
    with pytest.raises(TooLarge):
        split([("a", lines(LEO)), ("b", lines(MIA))], limit_bytes=100)
    with pytest.raises(TooLarge):
        split([("a", b'{"x":' + b"[" * 1000)])


def delete(*records: str, **more: Any) -> Json:
    entry = [{"request": {"method": "DELETE", "url": record}} for record in records]
    return {"resourceType": "Bundle", "type": "transaction", **more, "entry": entry}


def test_a_deletion_is_a_document_of_its_own() -> None:
    bundle = delete("Condition/c1", "Condition?x=y", meta={"lastUpdated": "2026-01-02T00:00:00Z"})
    export = split([("deleted.ndjson", lines(bundle))])
    assert [each.record for each in export.deletions] == ["Condition/c1"]
    assert json.loads(export.deletions[0].body)["meta"] == {"lastUpdated": "2026-01-02T00:00:00Z"}
    assert [each.reason for each in export.lines] == [Reason.UNUSABLE]


# Through the engine


def conditions(engine: Engine, patient: str) -> list[str]:
    return sorted(f.display for f in engine.graph(patient).facts.values() if f.kind == "condition")


def test_an_export_is_taken_in_as_the_patients_it_holds() -> None:
    with Engine.open(":memory:") as engine:
        done = engine.ingest_export([("all.zip", zipped({"all.ndjson": lines(*ALL)}))], source="northside")
        assert [receipt.subject.id for receipt in done.receipts] == ["leo", "mia"]
        assert [line.place for line in done.lines] == ["all.zip/all.ndjson/5"]
        assert (conditions(engine, "leo"), conditions(engine, "mia")) == (["Migraine"], ["Asthma"])


def test_an_export_that_is_sent_again_in_another_shape_adds_nothing() -> None:
    with Engine.open(":memory:") as engine:
        engine.ingest_export([("all.ndjson", lines(*ALL))], source="northside")
        before = engine.graph("leo").hash
        body = tarred({"b.ndjson": lines(*ALL[::-1])}, "w:gz")
        again = engine.ingest_export([("all.tgz", body)], source="northside")
        assert [receipt.staged.facts for receipt in again.receipts] == [0, 0]
        assert engine.graph("leo").hash == before


def test_a_deletion_reaches_only_the_patient_that_holds_the_record() -> None:
    with Engine.open(":memory:") as engine:
        engine.ingest_export([("all.ndjson", lines(*ALL))], source="northside")
        gone = lines(delete("Condition/c1", "Condition/c9"))
        done = engine.ingest_export([("deleted.ndjson", gone)], source="northside")
        assert [receipt.subject.id for receipt in done.receipts] == ["leo"]
        assert [line.place for line in done.lines] == ["Condition/c9"]
        assert (conditions(engine, "leo"), conditions(engine, "mia")) == ([], ["Asthma"])
        other = engine.ingest_export([("deleted.ndjson", lines(delete("Condition/c2")))], source="elsewhere")
        assert (other.receipts, conditions(engine, "mia")) == ((), ["Asthma"])


def test_a_deletion_touches_only_patients_that_exist_for_the_caller() -> None:
    with Engine.open(":memory:") as engine:
        engine.ingest_export([("all.ndjson", lines(*ALL))], source="northside")
        access = Access(kind=PrincipalKind.SYSTEM, id="northside", patients=frozenset({"mia"}))
        done = engine.ingest_export([("d", lines(delete("Condition/c1")))], source="northside", access=access)
        assert (done.receipts, conditions(engine, "leo")) == ((), ["Migraine"])


def test_a_patient_of_the_source_can_be_called_otherwise_here() -> None:
    with Engine.open(":memory:") as engine:
        done = engine.ingest_export([("a", lines(LEO, MIGRAINE))], source="northside", patients={"leo": "p-17"})
        assert [receipt.subject.id for receipt in done.receipts] == ["p-17"]


def test_a_patient_whose_id_cannot_be_one_is_listed_and_the_others_are_taken() -> None:
    with Engine.open(":memory:") as engine:
        odd = {"resourceType": "Patient", "id": "-odd"}
        done = engine.ingest_export([("a", lines(odd, LEO))], source="northside")
        assert [receipt.subject.id for receipt in done.receipts] == ["leo"]
        assert [line.place for line in done.lines] == ["Patient/-odd"]


def test_every_line_of_a_real_export_is_in_a_document_or_listed(data: Path) -> None:
    files = [(file.name, file.read_bytes()) for file in sorted((data / "bulk_ndjson_10pt").glob("*.ndjson"))]
    export = split(files)
    held = {line for each in export.documents for line in each.body.splitlines()}
    all_lines = {line.strip() for _name, body in files for line in body.splitlines() if line.strip()}
    assert len(export.documents) == 13
    assert held <= all_lines
    assert len(all_lines - held) == len(export.lines) == 60
    assert split(files[::-1]).documents == export.documents
    assert canonical_bytes([each.place for each in export.lines]) == canonical_bytes(
        sorted(each.place for each in export.lines)
    )

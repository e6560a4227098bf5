"""Values that no sender should send, found by fuzzing: each spoils at most itself, and its place is told."""

from __future__ import annotations

import io
import json
import zipfile
from decimal import Decimal
from typing import Any

import ccda_small
import hl7_small
import pytest
import x12_small
from document_files import docx, p
from fhir_small import bundle, condition, line, observation, only, read, read_bytes
from fuzz.laws import formed, lawful

from iamata.assembly import wording
from iamata.connectors import archives, ccda, registry
from iamata.connectors.documents import read as read_document
from iamata.connectors.fhir import exports
from iamata.errors import BadInput, TooLarge
from iamata.formation.linking.regimen import per_day
from iamata.model.coding import Quantity
from iamata.model.provenance import Place
from iamata.model.statement import Kind
from iamata.terminology import conversion, units

HUGE = "1e999999999"


# ------------------------------------------------------------------------------------------------ numbers of no size


@pytest.mark.parametrize("value", [HUGE, "-1e-999999999", "1e401", "9" * 1_001])
def test_a_number_beyond_all_measure_is_not_reckoned_with(value: str) -> None:
    assert units.number(value) is None
    assert units.same_amount(Quantity(value, "g"), Quantity("1", "g")) is None


def test_the_greatest_and_smallest_numbers_that_are_measured_are_numbers() -> None:
    assert units.number("6.02214076e23") == Decimal("6.02214076e23")
    assert units.number("1e-400") == Decimal("1e-400")


@pytest.mark.parametrize("value", [HUGE, "-1e-999999999"])
def test_a_value_beyond_all_measure_is_kept_as_sent_and_the_patient_stays_readable(value: str) -> None:
    """Found so: one such observation beside another of its code, and the patient could not be folded any more."""
    one, other = (observation(id=id, valueQuantity={"value": "@", "unit": "/min"}) for id in ("a", "b"))
    body = json.dumps(bundle(one, other)).replace('"@"', value).encode()
    parsed = read_bytes(body)
    assert [str(Decimal(s.field("value").value)) for s in parsed.statements] == [str(Decimal(value))] * 2  # type: ignore[union-attr]
    assert formed(parsed, "fhir/r4")


def test_a_power_of_ten_that_is_no_factor_is_no_unit() -> None:
    assert conversion.convert(Decimal(1), "10*999999999/L", "10*3/L", "") is None
    assert conversion.convert(Decimal(1), "10*9/L", "10*6/L", "") == 1000


def test_a_version_of_very_many_digits_orders_nothing_and_breaks_nothing() -> None:
    parsed = read(*(condition(meta={"versionId": "9" * 5_000}, recordedDate=f"202{n}") for n in (4, 5)))
    assert formed(parsed, "fhir/r4")


def test_a_rate_of_very_many_hours_is_no_rate() -> None:
    assert per_day(f"every {'9' * 5_000} hours") is None
    assert per_day("every 8 hours") == 3


def test_a_number_with_a_vast_exponent_is_shown_as_sent() -> None:
    assert wording.number("1.23456e-999999") == "1.23456e-999999"
    assert wording.number("0.123456") == "≈0.1235"


def test_a_whole_number_of_too_many_digits_is_refused_at_its_place() -> None:
    body = json.dumps(observation(valueInteger="@")).replace('"@"', "9" * 5_000).encode()
    with pytest.raises(BadInput) as caught:
        read_bytes(body)
    assert caught.value.place == f"line 1 column {body.index(b'999') + 1}"


@pytest.mark.parametrize(("sent", "kept"), [("3", 3), ("٣", 3), ("²", None), ("9" * 5_000, None), ("-1", None)])
def test_refills_are_a_count_or_are_left_out(sent: str, kept: int | None) -> None:
    parsed = hl7_small.read(
        "ORC|NW|P1|F1", f"RXE||723^Amox^RXNORM|500||mg|CAP||||20|CAP|{sent}", event="RDE^O11", pid=hl7_small.PID
    )
    assert hl7_small.one(parsed, Kind.MEDICATION).field("refills") == kept


@pytest.mark.parametrize("count", ["²", "9" * 5_000, "x"])
def test_a_count_of_segments_that_is_none_is_a_warning(count: str) -> None:
    body = x12_small.interchange(x12_small.claims(x12_small.claim()))
    end = next(segment for segment in body.split(b"~\n") if segment.startswith(b"SE*"))
    parsed = x12_small.read(body.replace(end, f"SE*{count}*0001".encode()))
    assert any("SE01 counts other segments" in warning for warning in parsed.warnings)
    assert x12_small.only(parsed, Kind.CLAIM)


@pytest.mark.parametrize(("sent", "kept"), [("2", 2), ("9" * 5_000, "9" * 5_000)])
def test_the_number_of_a_dose_in_r5_is_a_count_or_stays_text(sent: str, kept: int | str) -> None:
    given: dict[str, Any] = {"resourceType": "Immunization", "id": "i", "status": "completed"}
    given |= {"vaccineCode": {"text": "Flu"}, "occurrenceDateTime": "2026", "protocolApplied": [{"doseNumber": sent}]}
    parsed = lawful(json.dumps(given).encode(), "fhir/r5")
    assert parsed is not None
    assert only(parsed, Kind.IMMUNIZATION).field("dose_number") == kept


@pytest.mark.parametrize(
    ("hours", "said"), [("8", "3 per 1 d"), ("1e-40", "1 per 1e-40 h"), (HUGE, f"1 per {HUGE} h"), ("-8", "1 per -8 h")]
)
def test_a_period_that_is_no_part_of_a_day_is_told_as_sent(hours: str, said: str) -> None:
    period = f'<period value="{hours}" unit="h"/>'
    times = f'<effectiveTime xsi:type="PIVL_TS" institutionSpecified="true">{period}</effectiveTime>'
    drug = ccda_small.cd("308192", "Amoxicillin", "2.16.840.1.113883.6.88", "code")
    product = (
        f"<consumable><manufacturedProduct><manufacturedMaterial>{drug}</manufacturedMaterial></manufacturedProduct>"
    )
    dose = ccda_small.act("substanceAdministration", "16", f"{times}{product}</consumable>")
    parsed = ccda_small.read(ccda_small.document(ccda_small.section("10160-0", ccda_small.entry(dose))))
    assert ccda_small.only(parsed, Kind.MEDICATION).field("frequency") == said


# ------------------------------------------------------------------------------------------------- names and places


@pytest.mark.parametrize("type", ["Ann Lee", "Condition/1", "", "é", "A" * 65])
def test_a_resource_type_that_is_no_name_is_not_repeated(type: str) -> None:
    parsed = read(condition(), {"resourceType": type, "id": "x"})
    said = line(parsed, "/entry/1/resource")
    assert (said.kind, str(said.reason), said.detail, said.label) == (
        "resource",
        "unusable",
        "/entry/1/resource/resourceType is no name of a type",
        "",
    )
    assert only(parsed, Kind.CONDITION)


def test_a_contained_resource_whose_type_is_no_name_spoils_its_item_and_is_not_repeated() -> None:
    parsed = read(condition(), condition(id="d", contained=[{"resourceType": "Ann Lee"}]))
    assert line(parsed, "/entry/1/resource").detail == "/entry/1/resource/contained/0/resourceType is no name of a type"
    assert only(parsed, Kind.CONDITION).provenance.record.reference == "Condition/c"


def test_a_line_of_an_export_whose_type_is_no_name_is_listed_without_it() -> None:
    lines = [{"resourceType": "Patient", "id": "p"}, {"resourceType": "Ann Lee", "subject": {"reference": "Patient/p"}}]
    export = exports.split([("a.ndjson", "\n".join(map(json.dumps, lines)).encode())])
    (said,) = export.lines
    assert (said.kind, said.place, said.detail) == ("line", "a.ndjson/1", "resourceType is no name of a type")
    assert export.documents[0].body == json.dumps(lines[0]).encode() + b"\n"


def test_an_object_in_the_place_of_a_list_and_a_list_in_that_of_an_object_open() -> None:
    one = condition(contained={"resourceType": "Practitioner", "id": "d", "name": {"text": "Ann"}})
    body = json.dumps(one).encode()
    assert "Practitioner" in registry.excerpt(body, "fhir/r4", Place("/contained/0"))
    listed = {"resourceType": "FamilyMemberHistory", "condition": [[{"note": [{"text": "was well"}]}]]}
    assert registry.excerpt(json.dumps(listed).encode(), "fhir/r4", Place("/condition/0/note/0/text")) == "was well"
    assert registry.excerpt(body, "fhir/r4", Place("/contained/²")) == ""


def test_a_document_that_nests_too_deep_is_refused_at_the_place_where_it_does() -> None:
    deep = b'{"a":"[[[[\\"[",\n"b":' + b"[" * 50_000
    with pytest.raises(TooLarge) as caught:
        read_bytes(deep)
    assert caught.value.place == f"line 2 column {4 + 200}"
    xml = b"<ClinicalDocument>\n" + b"<a>" * 220 + b"</a>" * 220 + b"</ClinicalDocument>"
    with pytest.raises(TooLarge) as caught:
        ccda_small.read(xml)
    assert caught.value.place == "line 2"


def test_a_note_that_is_a_reference_into_the_narrative_opens_there() -> None:
    """Found so: the citation of such a note showed nothing."""
    note = ccda_small.act(
        "act", "202", ccda_small.cd("34109-9", "Note", element="code") + '<text><reference value="#n"/></text>'
    )
    body = ccda_small.document(
        ccda_small.section("11506-3", ccda_small.entry(note), text='<paragraph ID="n">Slept badly</paragraph>')
    )
    parsed = ccda_small.read(body)
    (passage,) = (each for each in parsed.passages if each.text == "Slept badly")
    (place,) = {sighting.place.pointer for sighting in parsed.sightings if sighting.item == passage.id}
    assert ccda.at(body, place) == "Slept badly"


def test_a_fragment_whose_root_has_a_prefix_opens_by_its_plain_name() -> None:
    body = b'<sdtc:signatureText xmlns:sdtc="urn:hl7-org:sdtc" nullFlavor="NI"/>'
    assert ccda.at(body, "/signatureText") == '<sdtc:signatureText nullFlavor="NI"/>'.replace("sdtc:", "")


# -------------------------------------------------------------------------------------------------------- archives


def _lzma_broken(body: bytes) -> bytes:
    """The archive packed with LZMA, with impossible properties of its stream."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(body)) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as new:
        for entry in old.infolist():
            new.writestr(entry.filename, old.read(entry))
    at = packed.getvalue().index(b"PK\x03\x04") + 30 + len(zipfile.ZipFile(packed).infolist()[0].filename)
    return packed.getvalue()[: at + 4] + b"\xff" * 5 + packed.getvalue()[at + 9 :]


def test_an_archive_with_an_impossible_compression_is_damaged() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.json", "{}")
    with pytest.raises(BadInput, match="cannot be opened: LZMAError") as caught:
        list(archives.opened([("x.zip", _lzma_broken(packed.getvalue()))]))
    assert caught.value.place == "x.zip"


def test_a_word_document_with_an_impossible_compression_is_damaged() -> None:
    whole = docx(p("words"))
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(packed, "w") as new:
        new.writestr("word/document.xml", old.read("word/document.xml"))
    with pytest.raises(BadInput, match="damaged: LZMAError"):
        read_document(
            _lzma_broken(packed.getvalue()),
            format="document/docx",
            subject=x12_small.patient("p"),
            source="clinic",
            mint=x12_small.MINT,
            document="en_1",
            received_at=x12_small.RECEIVED,
        )


# ------------------------------------------------------------------------------------------- names that are none


@pytest.mark.parametrize("charset", ["hex", "undefined", "punycode", "a\0b", "Quill7feather", "idna"])
def test_a_charset_that_is_none_is_told_without_its_name(charset: str) -> None:
    content = {"attachment": {"contentType": f"text/plain; charset={charset}", "data": "SGk="}}
    parsed = read({"resourceType": "DocumentReference", "id": "d", "status": "current", "content": [content]})
    assert parsed.intake[0].detail.endswith(
        "content/0/attachment/data is not in the charset it declares (none that is known)"
    )


@pytest.mark.parametrize(
    ("type", "told"), [("image/png", "image/png"), ("Ann Lee", "no contentType"), ("ann/lee", "no contentType")]
)
def test_a_media_type_is_told_only_if_it_is_one(type: str, told: str) -> None:
    content = {"attachment": {"contentType": type, "data": "SGk="}}
    parsed = read({"resourceType": "DocumentReference", "id": "d", "status": "current", "content": [content]})
    assert parsed.intake[0].detail == f"content/0/attachment ({told}) is kept in the document, not read"
    body = ccda_small.document().replace(
        b"<structuredBody></structuredBody>",
        f'<nonXMLBody><text mediaType="{type}" representation="B64">SGk=</text></nonXMLBody>'.encode(),
    )
    (said,) = (each for each in ccda_small.read(body).intake if each.label == "nonXMLBody")
    assert said.detail == f"text ({told.replace('contentType', 'mediaType')}) is kept in the document, not read"


# ---------------------------------------------------------------------------------------- what stands where it must not


def places(body: bytes) -> dict[str, str]:
    return {each.place: f"{each.outcome} {each.detail}".strip() for each in ccda_small.read(body).intake}


def test_a_section_inside_a_section_without_a_component_is_read() -> None:
    inner = ccda_small.section("8648-8", "", text="<paragraph>Slept badly</paragraph>").removeprefix("<component>")
    body = ccda_small.document(ccda_small.section("11506-3", inner.removesuffix("</component>")))
    at = "/ClinicalDocument/component/structuredBody/component/section"
    assert places(body)[f"{at}/section"] == "text_only a narrative without entries"
    assert [passage.text for passage in ccda_small.read(body).passages] == ["Slept badly"]


def test_an_entry_outside_of_every_section_is_read() -> None:
    problem = ccda_small.concern(ccda_small.act("observation", "4", ccda_small.cd("65363002", "Otitis media")))
    body = ccda_small.document(f"<component>{problem}</component>")
    statement = ccda_small.only(ccda_small.read(body), Kind.CONDITION)
    assert statement.concept is not None
    assert statement.concept.codings[0].display == "Otitis media"
    acted = problem.removeprefix("<entry>").removesuffix("</entry>")
    assert ccda_small.only(ccda_small.read(ccda_small.document(f"<component>{acted}</component>")), Kind.CONDITION)


def test_an_element_that_has_no_place_in_a_body_or_section_is_listed() -> None:
    odd = '<order><id root="1"/></order>'
    body = ccda_small.document(f"<component>{odd}</component>", ccda_small.section("11506-3", odd), "<note/>")
    said = places(body.replace(b"<structuredBody>", b"<other>x</other><structuredBody>"))
    at = "/ClinicalDocument/component"
    assert said[f"{at}/other"] == "ignored other is kept in the document, not read"
    assert said[f"{at}/structuredBody/component[1]/order"] == "ignored order is kept in the document, not read"
    assert said[f"{at}/structuredBody/component[2]/section/order"] == "ignored order is kept in the document, not read"
    assert f"{at}/structuredBody/note" not in said, "nothing is in it"


def test_a_transaction_without_segments_says_nothing_and_is_listed() -> None:
    parsed = x12_small.read(x12_small.interchange(x12_small.transaction("837", "005010X222A1")))
    (said,) = parsed.intake
    assert (said.kind, said.place, str(said.reason), said.detail) == (
        "transaction",
        "segments/3-4",
        "empty",
        "says nothing",
    )


@pytest.mark.parametrize(
    ("sent", "label"),
    [
        ("I10^Hypertension^I10C", "DG1 Hypertension"),
        ("^Headache since Ann left", "DG1"),
        ("I10^High\\.br\\blood pressure^L", "DG1 High blood pressure"),
        (f"I10^{'x' * 200}^L", f"DG1 {'x' * 80}"),
    ],
)
def test_a_line_is_called_by_what_a_code_says_never_by_words_alone(sent: str, label: str) -> None:
    parsed = hl7_small.read(f"DG1|1||{sent}||2025|F", event="ADT^A01", pid=hl7_small.PID)
    assert hl7_small.line(parsed, "/1/DG1/1").label == label


# ------------------------------------------------------------------------------------------ many times many


def test_what_many_acts_inherit_of_many_authors_is_bounded_and_said() -> None:
    def organizer(authors: int) -> bytes:
        by = "".join(ccda_small.author(ccda_small.AMES.replace("111", str(number))) for number in range(authors))
        result = ccda_small.act("observation", "2", ccda_small.cd("1", "x", element="code"))
        return ccda_small.document(
            ccda_small.section(
                "30954-2", ccda_small.entry(ccda_small.act("organizer", "1", f"{by}<component>{result}</component>"))
            )
        )

    few, many = ccda_small.read(organizer(100)), ccda_small.read(organizer(101))
    assert [len(ccda_small.only(each, Kind.OBSERVATION).authorship) for each in (few, many)] == [100, 100]
    assert len(ccda_small.only(many, Kind.REPORT).authorship) == 101, "its own are all kept"
    said = {each.kind: each.detail for each in many.intake}
    assert said["observation"] == "of more than 100 author elements around it the first are kept"
    assert not {each.kind: each.detail for each in few.intake}["observation"]


def test_a_resource_with_very_many_security_labels_is_refused_never_read_without_them() -> None:
    def labelled(count: int) -> dict[str, Any]:
        return condition(id=f"c{count}", meta={"security": [{"system": "s", "code": f"{n}"} for n in range(count)]})

    parsed = read(labelled(100), labelled(101))
    assert len(only(parsed, Kind.CONDITION).labels) == 100
    assert (
        line(parsed, "/entry/1/resource").detail == "/entry/1/resource/meta/security is no list of at most 100 labels"
    )

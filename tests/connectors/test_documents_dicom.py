"""What do a DICOM header and a structured report say? Pixel data are never read."""

from __future__ import annotations

import io
import sys
import warnings

import pytest
from document_files import lines, passages, pdf, read

from iamata import Engine
from iamata.connectors import registry
from iamata.errors import BadInput
from iamata.model.attribution import Part
from iamata.model.clinical_time import Clock
from iamata.model.statement import Kind, Standing

pydicom = pytest.importorskip("pydicom")
from pydicom.dataset import Dataset, FileMetaDataset  # noqa: E402 - only where pydicom is
from pydicom.uid import UID  # noqa: E402


def dataset(**values: object) -> Dataset:
    found = Dataset()
    for name, value in values.items():
        setattr(found, name, value)
    return found


def code(value: str, scheme: str, meaning: str) -> list[Dataset]:
    return [dataset(CodeValue=value, CodingSchemeDesignator=scheme, CodeMeaning=meaning)]


def written(data: Dataset) -> bytes:
    data.file_meta = FileMetaDataset()
    data.file_meta.TransferSyntaxUID = UID("1.2.840.10008.1.2.1")
    data.file_meta.MediaStorageSOPClassUID = UID(data.get("SOPClassUID", "1.2.840.10008.5.1.4.1.1.2"))
    data.file_meta.MediaStorageSOPInstanceUID = UID(data.get("SOPInstanceUID", "1.2.3.9"))
    packed = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pydicom.dcmwrite(packed, data, enforce_file_format=True)
    return packed.getvalue()


def image(**more: object) -> Dataset:
    values = {
        "SOPClassUID": "1.2.840.10008.5.1.4.1.1.2",
        "SOPInstanceUID": "1.2.3.9",
        "StudyInstanceUID": "1.2.3.4",
        "SeriesInstanceUID": "1.2.3.5",
        "PatientName": "Lee^Ann^B",
        "PatientID": "77",
        "IssuerOfPatientID": "NORTH",
        "PatientBirthDate": "19800203",
        "PatientSex": "F",
        "StudyDate": "20240307",
        "StudyTime": "101530.5",
        "Modality": "CT",
        "BodyPartExamined": "HEAD",
        "StudyDescription": "CT HEAD W/O CONTRAST",
        "AccessionNumber": "A1",
        "PerformingPhysicianName": "Ray^Bo",
        "InstitutionName": "North Clinic",
        "Manufacturer": "ACME",
        "Rows": 2,
        "Columns": 2,
        "BitsAllocated": 8,
        "BitsStored": 8,
        "HighBit": 7,
        "PixelRepresentation": 0,
        "SamplesPerPixel": 1,
        "PhotometricInterpretation": "MONOCHROME2",
        "PixelData": b"\0\1\2\3",
    }
    return dataset(**(values | more))


def report(*content: Dataset, **more: object) -> bytes:
    values: dict[str, object] = {
        "SOPClassUID": "1.2.840.10008.5.1.4.1.1.88.11",
        "SOPInstanceUID": "1.2.3.10",
        "Modality": "SR",
        "StudyInstanceUID": "1.2.3.4",
        "SeriesInstanceUID": "1.2.3.6",
        "PatientID": "77",
        "PatientName": "Lee^Ann",
        "ContentDate": "20240307",
        "ContentTime": "1100",
        "ValueType": "CONTAINER",
        "ConceptNameCodeSequence": code("18747-6", "LN", "CT Report"),
        "CompletionFlag": "COMPLETE",
        "VerificationFlag": "VERIFIED",
        "VerifyingObserverSequence": [
            dataset(VerifyingObserverName="Ray^Bo^^Dr", VerificationDateTime="20240308", VerifyingOrganization="North")
        ],
        "ContentSequence": list(content),
    }
    return written(dataset(**(values | more)))


def item(kind: str, name: str, **more: object) -> Dataset:
    return dataset(ValueType=kind, ConceptNameCodeSequence=code("121071", "DCM", name), **more)


CONTENT = (
    item("PNAME", "Person Observer Name", PersonName="Ray^Bo"),
    item(
        "CONTAINER",
        "Findings",
        ContentSequence=[
            item("TEXT", "Finding", TextValue="No bleed.\r\nSmall cyst."),
            item(
                "NUM",
                "Diameter",
                MeasuredValueSequence=[
                    dataset(NumericValue="4.5", MeasurementUnitsCodeSequence=code("mm", "UCUM", "millimetre"))
                ],
            ),
            item("CODE", "Side", ConceptCodeSequence=code("7771000", "SCT", "Left")),
            item("IMAGE", "Source"),
        ],
    ),
    item("CONTAINER", "Impressions", ContentSequence=[item("TEXT", "Impression", TextValue="Normal.")]),
)


def test_a_header_gives_the_study_and_the_patient_and_the_picture_is_not_read() -> None:
    body = written(image())
    parsed = read(body)
    patient, study = parsed.statements
    assert (patient.kind, patient.field("name"), patient.field("sex")) == (Kind.DEMOGRAPHIC, "Ann B Lee", "female")
    assert str(patient.field("birth_date")) == "1980-02-03"
    assert [str(each) for each in patient.identifiers] == ["NORTH|77"]
    assert study.kind is Kind.IMAGING_STUDY
    assert study.concept is not None
    assert study.concept.display == "CT HEAD W/O CONTRAST"
    assert [(t.clock, str(t.at)) for t in study.times] == [(Clock.EFFECTIVE, "2024-03-07T10:15:30")]
    assert [str(each) for each in study.identifiers] == ["urn:dicom:uid|urn:oid:1.2.3.4", "|A1"]
    (series,) = study.components
    assert [c.key for c in series.concept.codings] == ["http://dicom.nema.org/resources/ontology/DCM|CT"]
    assert getattr(series.value, "text", "") == "HEAD"
    assert [(e.part, e.type, e.display) for e in study.authorship] == [
        (Part.PERFORMER, "Practitioner", "Bo Ray"),
        (Part.CUSTODIAN, "Organization", "North Clinic"),
        (Part.INSTRUMENT, "Device", "ACME"),
    ]
    assert lines(parsed) == [
        ("demographic", "/header", "structured", ""),
        ("imaging_study", "/header", "structured", ""),
        ("page", "/pixels", "ignored", "the picture itself is not read"),
    ]
    assert "StudyDescription: CT HEAD W/O CONTRAST" in registry.excerpt(body, "image/dicom", parsed.sightings[0].place)


def test_all_images_of_a_series_give_one_statement() -> None:
    first, second = read(written(image())), read(written(image(SOPInstanceUID="1.2.3.11", InstanceNumber="2")))
    assert [each.id for each in first.statements] == [each.id for each in second.statements]
    other = read(written(image(SeriesInstanceUID="1.2.3.7", Modality="PT")))
    assert other.statements[1].id != first.statements[1].id


def test_a_structured_report_is_a_document_with_passages() -> None:
    body = report(*CONTENT)
    parsed = read(body)
    assert [each.kind for each in parsed.statements] == [Kind.DEMOGRAPHIC, Kind.DOCUMENT]
    document = parsed.statements[-1]
    assert [each.identifier for each in document.references] == ["urn:dicom:uid|urn:oid:1.2.3.4"]
    assert document.kind is Kind.DOCUMENT
    assert document.concept is not None
    assert [c.key for c in document.concept.codings] == ["loinc|18747-6"]
    assert (document.status, document.standing) == ("COMPLETE VERIFIED", Standing.FINAL)
    assert [(t.clock, str(t.at)) for t in document.times] == [
        (Clock.AUTHORED, "2024-03-07T11:00"),
        (Clock.VERIFIED, "2024-03-08"),
    ]
    assert [(e.part, e.type, e.display) for e in document.authorship] == [(Part.VERIFIER, "Practitioner", "Dr Bo Ray")]
    assert passages(parsed) == [
        ("", "Person Observer Name: Bo Ray"),
        ("Findings", "Finding: No bleed.\nSmall cyst.\nDiameter: 4.5 mm\nSide: Left"),
        ("Impression", "Normal."),
    ]
    for sighting in parsed.sightings[-3:]:
        text = registry.excerpt(body, "image/dicom", sighting.place)
        assert text in [each.text for each in parsed.passages]
    assert lines(parsed)[-2:] == [
        ("page", "/content", "text_only", "3 passages; 1 headings without a text"),
        ("page", "/references", "ignored", "1 references to images or other objects are not followed"),
    ]


def test_a_report_verified_later_replaces_the_preliminary_one() -> None:
    with Engine.open(":memory:") as engine:
        engine.ingest("p", report(*CONTENT, VerificationFlag="UNVERIFIED"), source="pacs")
        engine.ingest("p", report(*CONTENT), source="pacs")
        graph = engine.graph("p")
    documents = [fact for fact in graph.facts.values() if fact.kind is Kind.DOCUMENT]
    assert len(documents) == 1
    assert documents[0].standing is Standing.FINAL


def test_a_pdf_in_a_dicom_file_is_read() -> None:
    pytest.importorskip("pypdfium2")
    body = report(
        SOPClassUID="1.2.840.10008.5.1.4.1.1.104.1",
        EncapsulatedDocument=pdf(["Allergies: none"]),
        DocumentTitle="Letter",
    )
    data = pydicom.dcmread(io.BytesIO(body))
    del data.ContentSequence
    assert passages(read(written(data))) == [("Allergies", "none")]


@pytest.mark.parametrize("keep", [132, 140, 300])
def test_a_dicom_file_that_is_cut_off_is_refused_or_read_as_far_as_it_goes(keep: int) -> None:
    body = written(image())[:keep]
    try:
        parsed = read(body)
    except BadInput:
        return
    assert parsed.intake


def test_a_data_set_that_is_deflated_as_a_whole_is_listed() -> None:
    body = written(image()).replace(b"1.2.840.10008.1.2.1\0", b"1.2.840.10008.1.2.1.99")
    assert lines(read(body)) == [("page", "/header", "ignored", "a deflated data set is not read")]


def test_without_the_library_a_header_is_listed_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydicom", None)
    parsed = read(written(image()), "image/dicom")
    assert parsed.statements == ()
    assert lines(parsed) == [
        ("page", "/header", "ignored", "a DICOM header is not read; to read DICOM: pip install 'iamata[documents]'")
    ]


# ------------------------------------------------------------------ observers


def observer(name: str, *, device: bool = False) -> list[Dataset]:
    """The observer context of PS3.16 TID 1001 to 1004."""
    sort = code("121007", "DCM", "Device") if device else code("121006", "DCM", "Person")
    named = {"TextValue": name} if device else {"PersonName": name}
    words = ("121013", "DCM", "Device Observer Name") if device else ("121008", "DCM", "Person Observer Name")
    kind = "TEXT" if device else "PNAME"
    return [
        dataset(ValueType="CODE", ConceptNameCodeSequence=code("121005", "DCM", "Type"), ConceptCodeSequence=sort),
        dataset(ValueType=kind, ConceptNameCodeSequence=code(*words), **named),
    ]


def written_by(body: bytes) -> dict[str, tuple[str, str, str]]:
    """Text of each passage → role, name and rule of its author."""
    with Engine.open(":memory:") as engine:
        engine.ingest("p", body, source="pacs")
        graph = engine.graph("p")
    found = {each.text: graph.attributions[each.id] for each in graph.passages.values()}
    return {text: (a.author.role.value, a.author.display, a.rule) for text, a in found.items()}


def finding(text: str) -> Dataset:
    return item("TEXT", "Finding", TextValue=text)


def test_an_observer_in_the_content_wrote_all_of_it() -> None:
    found = written_by(
        report(*observer("Moe^Kari^^Dr"), item("CONTAINER", "Findings", ContentSequence=[finding("Cyst.")]))
    )
    assert found["Finding: Cyst."] == ("clinician", "Dr Kari Moe", "enclosing-author")


def test_an_observer_of_a_container_wrote_what_is_in_it_and_nothing_beside_it() -> None:
    inner = item("CONTAINER", "Left", ContentSequence=[*observer("Vik^Tone"), finding("Cyst.")])
    other = item("CONTAINER", "Right", ContentSequence=[finding("Clear.")])
    found = written_by(report(*observer("Moe^Kari^^Dr"), inner, other))
    assert {text.rpartition("Finding: ")[2]: who for text, who in found.items() if "Finding: " in text} == {
        "Cyst.": ("clinician", "Tone Vik", "element-author"),
        "Clear.": ("clinician", "Dr Kari Moe", "enclosing-author"),
    }


def test_a_device_that_measures_is_an_instrument_and_one_that_detects_reasons() -> None:
    body = [*observer("Densitometer 3", device=True), finding("T-score -1.")]
    (measured,) = written_by(report(*body)).values()
    assert measured == ("instrument", "Densitometer 3", "enclosing-author")
    detection = {"SOPClassUID": "1.2.840.10008.5.1.4.1.1.88.50"}
    (detected,) = written_by(report(*observer("MassFinder", device=True), finding("Mass."), **detection)).values()
    assert detected == ("software", "MassFinder", "reasoning-software")
    named = {"AuthorObserverSequence": [dataset(ObserverType="DEV", StationName="Nodule AI")]}
    (reasoned,) = written_by(report(finding("Nodule."), **named)).values()
    assert reasoned == ("software", "Nodule AI", "reasoning-software")


def test_who_verified_or_referred_is_no_author_of_a_report() -> None:
    (found,) = written_by(report(finding("Cyst."), ReferringPhysicianName="Lund^Per^^Dr")).values()
    assert found == ("institution", "pacs", "source-default")


def test_the_series_and_the_comment_on_an_image_are_kept() -> None:
    body = written(image(SeriesDescription="Axial bone", ImageComments="Motion in part of the series"))
    parsed = read(body)
    assert parsed.statements[1].field("series_description") == "Axial bone"
    assert passages(parsed) == [("Image comments", "Motion in part of the series")]
    place = next(each.place for each in parsed.sightings if each.item == parsed.passages[0].id)
    assert registry.excerpt(body, "image/dicom", place) == "Motion in part of the series"
    assert ("page", "/comments", "text_only", "1 passage") in lines(parsed)

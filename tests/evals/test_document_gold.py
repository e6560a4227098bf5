"""The labelled free documents: each label points at one place, uses the model's words, and stands on its side."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from pathlib import Path

import pytest
from evals.documents_made import made
from evals.kept_apart import part_of
from evals.shape import Options

from evals import attribution
from evals import attribution_documents as documents
from iamata.model.attribution import AttributionKind, Role
from iamata.model.statement import Aspect

GOLD = Path(__file__).parents[2] / "evals" / "gold" / "documents"
LABELS = {"tuned": "attribution.csv", "unopened": "attribution_unopened.csv"}
RULES = {"element-source", "reasoning-software", "element-author", "enclosing-author", "source-default"}


def labels(part: str) -> list[dict[str, str]]:
    with (GOLD / LABELS[part]).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("part", LABELS)
def test_every_document_stands_on_the_side_its_name_gives_and_is_labelled(part: str) -> None:
    names = {path.name for path in (GOLD / part).iterdir()}
    assert {part_of(f"evals/gold/documents/{name}") for name in names} == {part}
    assert {row["document"] for row in labels(part)} == names


def test_about_a_third_of_the_labels_is_kept_apart() -> None:
    tuned, unopened = len(labels("tuned")), len(labels("unopened"))
    assert tuned + unopened >= 220
    assert 0.25 < unopened / (tuned + unopened) < 0.4


@pytest.mark.parametrize("part", LABELS)
def test_every_label_uses_the_words_of_the_model_and_points_at_one_place(part: str) -> None:
    words = {
        "expected_kind": {kind.value for kind in AttributionKind},
        "expected_role": {role.value for role in Role},
        "expected_rule": RULES,
        "expected_aspect": {aspect.value for aspect in Aspect},
    }
    for row in labels(part):
        source = (GOLD / part / row["document"]).read_text(encoding="utf-8")
        assert source.count(row["span"]) == 1, row
        assert row["reason"]
        for column, known in words.items():
            assert set(row[column].split("|")) <= known | {"open"}, row


def test_the_makers_write_files_that_hold_what_the_source_says() -> None:
    name, body = made(GOLD / "tuned" / "docx-header-author.docx.txt")
    package = zipfile.ZipFile(io.BytesIO(body))
    assert name == "docx-header-author.docx"
    assert "Author: Dr. Cosima Albrecht, Dermatology" in package.read("word/header1.xml").decode()
    assert "<dc:creator>template</dc:creator>" in package.read("docProps/core.xml").decode()
    assert "Suspected melanoma" in package.read("word/document.xml").decode()


def test_a_made_pdf_has_its_pages_text_and_info() -> None:
    pdfium = pytest.importorskip("pypdfium2")
    name, body = made(GOLD / "tuned" / "pdf-merged-scan.pdf.txt")
    document = pdfium.PdfDocument(body)
    assert (name, len(document)) == ("pdf-merged-scan.pdf", 2)
    assert document.get_metadata_dict()["Author"] == "HIM scan station"
    assert "Plantar fasciitis, right." in document[0].get_textpage().get_text_range()
    assert re.search(r"I run 20 km a week", document[1].get_textpage().get_text_range())


def test_a_made_dicom_report_has_its_observers_and_text() -> None:
    pydicom = pytest.importorskip("pydicom")
    name, body = made(GOLD / "tuned" / "dicom-sr-two-observers.dicom.txt")
    report = pydicom.dcmread(io.BytesIO(body))
    assert name == "dicom-sr-two-observers.dcm"
    assert [str(o.PersonName) for o in report.AuthorObserverSequence] == [
        "DEMIR^AYLIN^^Dr",
        "STRAND^ERLEND^^Sonographer",
    ]
    assert str(report.VerifyingObserverSequence[0].VerifyingObserverName) == "DEMIR^AYLIN^^Dr"
    assert str(report.ContentSequence[0].TextValue).startswith("Ejection fraction 48 percent")


HEAD = (
    "document,span,expected_kind,expected_role,expected_name,expected_rule,expected_informant,expected_aspect,reason\n"
)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of gold with one plain text on each side; nothing but the source's default decides."""
    folder = tmp_path / "documents"
    for part, label in LABELS.items():
        (folder / part).mkdir(parents=True)
        (folder / part / "text-plain.txt").write_text(
            "Blood pressure 120/80\nand a pulse of 70.\n\nAssessment: gout.\n", encoding="utf-8"
        )
        default = "system-reported,institution,,source-default"
        (folder / label).write_text(
            HEAD
            + f"text-plain.txt,120/80 and a pulse,{default},,measured,over the end of a line\n"
            + f"text-plain.txt,pulse of 70,{default.replace('institution', 'lab|open')},,open,a wrong role\n"
            + f"text-plain.txt,Blood pressure,{default.replace('institution', 'open')},patient,open,a wrong informant\n"
            + f"text-plain.txt,Assessment: gout,{default},,open,with its heading\n"
            + "text-plain.txt,Blood,open,open,open,open,open,open,not counted\n"
            + f"text-plain.txt,not written there,{default},,open,no passage\n",
            encoding="utf-8",
        )
    monkeypatch.setattr(attribution, "GOLD", tmp_path)
    return tmp_path


def test_a_label_is_judged_by_the_passage_that_holds_its_words(small: Path) -> None:
    outcome = attribution.run(Options(data=small / "absent"))
    told = outcome.figures["documents"]
    assert (told["rows"], told["right"], told["kind_right"], told["rule_right"]) == (5, 3, 4, 4)
    assert (told["role_right"], told["role_counted"]) == (2, 4)
    assert (told["informant_right"], told["informant_counted"]) == (3, 5)
    assert outcome.figures["documents text"] == told
    assert outcome.misses == [
        "text-plain.txt pulse of 70: system-reported · institution · - · source-default, "
        "expected system-reported · lab|open · - · source-default",
        "text-plain.txt not written there: no passage, expected system-reported · institution · - · source-default",
    ]


def test_the_documents_kept_apart_are_read_only_when_asked_and_their_misses_are_not_told(small: Path) -> None:
    closed = attribution.run(Options(data=small / "absent"))
    opened = attribution.run(Options(data=small / "absent", held_out=True))
    assert "documents unopened" not in closed.figures
    assert opened.figures["documents unopened"]["rows"] == 5
    assert opened.misses == closed.misses


@pytest.mark.parametrize(
    ("label", "found", "same"),
    [
        ("Ingrid Solheim", "Dr. Ingrid Solheim, MD", True),
        ("Ilona Szabo|SZABO^ILONA", "SZABO^ILONA^^Dr", True),
        ("Amara Nwosu", "Amara", False),
        ("Jonas Weber", "", False),
        ("", "Jonas Weber", False),
        ("Rosa Delgado|", "", True),
        ("Rosa Delgado|", "Dr. Patel", False),
        ("Claire Thibault", "Yusuf Adeyemi, MD, supervised on the ward by Claire Thibault, MD", False),
    ],
)
def test_a_name_is_found_whole_beside_titles_but_not_within_a_sentence(label: str, found: str, same: bool) -> None:
    assert documents._named(label, found) is same

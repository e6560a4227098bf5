"""Real notes, letters and PDF documents: read without an exception, every page accounted for."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from document_files import read

from iamata.connectors import registry
from iamata.connectors.text.reading import extract
from iamata.errors import UnknownFormat
from iamata.ports import Parsed
from iamata.terminology.narrative import heading

NAMES = (".pdf", ".txt", ".md", ".rtf", ".html")


def whole(parsed: Parsed, body: bytes) -> None:
    """Each passage stands at its place, and each page has exactly one line."""
    texts = {page.pointer: page.text for page in extract(body, parsed.format).pages}
    found = {each.id: each for each in parsed.passages}
    for sighting in parsed.sightings:
        if sighting.item in found:
            place = sighting.place
            assert texts[place.pointer][place.start : place.end] == found[sighting.item].text
    places = [line.place for line in parsed.intake if line.kind == "page"]
    assert len(places) == len(set(places))
    assert set(texts) <= set(places)
    kept = sum(len("".join(each.text.split())) + len("".join(each.title.split())) for each in parsed.passages)
    assert kept >= 0.95 * sum(len("".join(text.split())) for text in texts.values())


def test_every_document_of_the_folders_is_read(data: Path) -> None:
    read_in: dict[str, int] = {}
    others: set[str] = set()
    for path in sorted(each for each in data.rglob("*") if each.suffix.lower() in NAMES):
        body = path.read_bytes()
        try:
            format = registry.detect(body, name=path.name)
        except UnknownFormat as unknown:
            others.add(unknown.format)
            continue
        if format.startswith(("document/", "image/")):
            whole(read(body, format), body)
            read_in[format] = read_in.get(format, 0) + 1
    assert others <= {"xml", "json"}
    assert read_in["document/pdf"] >= 8
    assert read_in["document/text"] >= 180
    assert read_in["document/markdown"] >= 20


def notes(data: Path) -> Iterator[str]:
    for name in ("train", "valid"):
        with (data / "aci-bench" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            yield from (row["note"] for row in csv.DictReader(file))
    for path in sorted((data / "primock57" / "notes").glob("*.json")):
        yield json.loads(path.read_text(encoding="utf-8"))["note"]


def test_clinical_notes_fall_into_the_sections_that_they_name(data: Path) -> None:
    count = titled = 0
    sections: set[str] = set()
    for note in notes(data):
        body = note.encode()
        parsed = read(body, "document/text")
        whole(parsed, body)
        count += 1
        known = {found.section for each in parsed.passages if (found := heading(each.title)) is not None}
        titled += len(known) >= 3
        sections |= known
    assert count >= 140
    assert titled >= 0.9 * count
    assert {"Medications", "Allergies", "Family history", "Plan", "Assessment and plan"} <= sections


def test_a_pdf_of_a_laboratory_is_read_page_by_page(data: Path) -> None:
    pytest.importorskip("pypdfium2")
    parsed = read((data / "ai_authored" / "attachment" / "labreport_for_alton_walsh.pdf").read_bytes())
    assert [line.place for line in parsed.intake] == ["", "/page/1", "/page/2"]
    assert "HbA1C 9.4 Reference Range: 4.0-6.0%" in parsed.passages[0].text

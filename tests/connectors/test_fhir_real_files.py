"""Public files of the standard bodies and of synthetic patients: all are read, every item is accounted for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fhir_small import read_bytes

from iamata.connectors.registry import detect
from iamata.errors import UnknownFormat
from iamata.model.document import Outcome, Reason
from iamata.model.statement import Kind, Standing

FOLDERS = ["synthea_r4_bundles", "fhir_r4_spec_examples", "us_core_examples", "ips_bundles", "fhir_test_cases_misc"]


def documents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """The files of a folder that are FHIR in JSON; the others are named as what they are."""
    others = set()
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        body = path.read_bytes()
        try:
            format = detect(body, name=path.name)
        except UnknownFormat as unknown:
            others.add(unknown.format)
        else:
            if format == "fhir/r4":
                yield path, body
            else:
                others.add(format)
    assert "fhir/r5" not in others
    assert others <= {"xml", "ccda", "cda/r2", "fhir/xml", "document/text", "document/markdown"}


def items(value: dict[str, Any], place: str = "") -> Iterator[str]:
    """The places of all entries and contained resources, counted without the reader."""
    if value.get("resourceType") == "Bundle":
        entries = value.get("entry") or []
        if not entries:
            yield place
        for index, entry in enumerate(entries):
            at = f"{place}/entry/{index}"
            if entry.get("request", {}).get("method") == "DELETE" or "resource" not in entry:
                yield at
            else:
                yield from items(entry["resource"], f"{at}/resource")
        return
    yield place
    for index, _contained in enumerate(value.get("contained") or []):
        yield f"{place}/contained/{index}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_entry_and_contained_resource_of_a_folder_is_accounted_for(data: Path, folder: str) -> None:
    read = 0
    for path, body in documents(data / folder):
        parsed = read_bytes(body)
        read += 1
        wanted = Counter(items(msgspec.json.decode(body)))
        # Unanswered questions and empty sections have lines of their own.
        within = {"answer": "/item/", "section": "/section/"}
        resources = [each.place for each in parsed.intake if within.get(each.kind, "//") not in each.place]
        assert Counter(resources) == wanted, path.name
        assert len({s.id for s in parsed.statements}) == len(parsed.statements), path.name
        sighted = {sighting.item for sighting in parsed.sightings}
        assert sighted == {s.id for s in parsed.statements} | {p.id for p in parsed.passages}, path.name
        structured = {each.place for each in parsed.intake if each.outcome is Outcome.STRUCTURED}
        assert all(any(s.place.pointer.startswith(place) for s in parsed.sightings) for place in list(structured)[:20])
    assert read > 0 or folder == "fhir_test_cases_misc"


def test_every_synthea_entry_becomes_a_statement(data: Path) -> None:
    kinds: Counter[str] = Counter()
    for path, body in documents(data / "synthea_r4_bundles"):
        parsed = read_bytes(body)
        assert {each.outcome for each in parsed.intake} == {Outcome.STRUCTURED}, path.name
        assert parsed.set_aside == 0
        kinds.update(s.kind.value for s in parsed.statements)
    assert kinds["condition"] == 185
    assert kinds["allergy"] == 40
    assert kinds["medication"] == 157
    assert kinds["encounter"] == 783
    assert kinds["immunization"] == 292
    assert kinds["demographic"] == 27
    assert kinds["observation"] + kinds["social_history"] == 4615


def test_the_standards_own_no_known_allergy_examples_are_denials(data: Path) -> None:
    for name, covers in (("nka", "all"), ("nkda", "medication"), ("nkla", "latex")):
        body = (data / "fhir_r4_spec_examples" / f"AllergyIntolerance-{name}.json").read_bytes()
        (found,) = read_bytes(body).statements
        assert (found.polarity.value, found.field("covers")) == ("denied", covers)


def test_entered_in_error_in_the_standards_examples_keeps_that_standing(data: Path) -> None:
    body = (data / "fhir_r4_spec_examples" / "MedicationStatement-example005.json").read_bytes()
    found = [s for s in read_bytes(body).statements if s.kind is Kind.MEDICATION]
    assert [s.standing for s in found] == [Standing.ENTERED_IN_ERROR]


def test_ndjson_of_many_patients_keeps_one_and_sets_the_others_aside(data: Path) -> None:
    parsed = read_bytes((data / "bulk_ndjson_10pt" / "Condition.000.ndjson").read_bytes())
    aside = [each for each in parsed.intake if each.reason is Reason.UNUSABLE]
    assert parsed.set_aside == len(aside) > 0
    assert len(parsed.intake) == 555
    subjects = {r.reference for s in parsed.statements for r in s.references if r.element == "subject"}
    assert len(subjects) == 1

"""The tables of HL7 v2: every row reads, and what it points to exists."""

from __future__ import annotations

import codecs

import pytest

from iamata.connectors.hl7v2.reader import READER
from iamata.model.attribution import Part
from iamata.model.statement import Aspect, Standing, Verification
from iamata.terminology import hl7v2
from iamata.terminology.systems import alias
from iamata.terminology.tables import rows

TABLES = [
    *("statuses", "events", "charsets", "systems", "words", "administration_notes", "evidence", "roles"),
    *("relationships", "aspects", "orders", "categories"),
]


@pytest.mark.parametrize("name", TABLES)
def test_every_row_has_a_source_and_stands_once(name: str) -> None:
    found = [tuple(value for key, value in row.items() if key != "source") for row in rows(f"hl7v2_{name}")]
    assert found
    assert len(found) == len(set(found))


def test_the_codes_of_a_status_stand_once_and_mean_something_we_know() -> None:
    keys = [(row["element"], row["code"]) for row in rows("hl7v2_statuses")]
    assert len(keys) == len(set(keys))
    assert all(hl7v2.status(element, code) is not None for element, code in keys)
    deleted = hl7v2.status("OBX-11", "D")
    assert deleted is not None
    assert (deleted.standing, deleted.verification) == (Standing.ENTERED_IN_ERROR, Verification.ENTERED_IN_ERROR)
    assert hl7v2.status("OBX-11", "?") is None


def test_every_codec_exists_and_every_origin_and_system_is_known() -> None:
    for row in rows("hl7v2_charsets"):
        assert codecs.lookup(hl7v2.codec(row["charset"]))
    origins = {row["origin"] for row in rows("report_origins")}
    assert {row["origin"] for row in rows("hl7v2_administration_notes")} - {""} <= origins
    assert all(alias(row["url"]) for row in rows("hl7v2_systems"))


def test_evidence_names_parts_and_persons() -> None:
    items = {row["item"] for row in rows("hl7v2_evidence")}
    parts = {rule.part for item in items for rule in hl7v2.evidence_rules(item)}
    assert parts <= set(Part)
    first = hl7v2.evidence_rules("OBX")[0]
    assert (first.segment, first.field, first.part, first.type) == ("OBX", 16, Part.PERFORMER, "Practitioner")


def test_the_first_row_that_holds_decides_an_aspect() -> None:
    assert hl7v2.aspect("DG1", "DFT", "W").aspect is Aspect.BILLED
    assert hl7v2.aspect("DG1", "ADT", "W") == (Aspect.DIAGNOSED, Verification.PROVISIONAL)
    with pytest.raises(LookupError):
        hl7v2.aspect("XYZ", "ADT")


def test_the_reader_names_its_version() -> None:
    assert READER == "hl7v2/3"

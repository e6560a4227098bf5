"""The examples of the X12 guides: all are read, and every segment is accounted for."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from x12_small import read

from iamata.connectors.registry import detect
from iamata.connectors.x12.decoding import decode

ENVELOPE = {"ISA", "GS", "ST", "SE", "GE", "IEA"}


@pytest.fixture(scope="module")
def files(data: Path) -> list[Path]:
    found = sorted(f for f in (data / "x12_claims").rglob("*") if f.is_file() and f.suffix != ".md")
    if not found:
        pytest.skip("no X12 files")
    return found


def test_every_file_is_read_and_its_counts_agree(files: list[Path]) -> None:
    kinds: Counter[str] = Counter()
    for path in files:
        body = path.read_bytes()
        assert detect(body, name=path.name) == "x12"
        parsed = read(body)
        kinds.update(s.kind.value for s in parsed.statements)
        assert not [w for w in parsed.warnings if "counts" in w or "control" in w], path.name
        assert {s.item for s in parsed.sightings} == {s.id for s in parsed.statements}
    assert kinds["claim"] == 21
    assert kinds["condition"] == 41


def accounted(body: bytes) -> set[int]:
    """The segments that a line of the intake covers."""
    covered: set[int] = set()
    for line in read(body).intake:
        first, _, last = line.place.partition("/")[2].partition("-")
        covered |= set(range(int(first), int(last or first) + 1))
    return covered


def test_every_segment_is_part_of_an_item_or_listed(files: list[Path]) -> None:
    structure = ENVELOPE | {"BHT", "BGN", "HL", "LX", "BPR", "DTM", "CUR"}
    for path in files:
        body = path.read_bytes()
        covered = accounted(body)
        missing = [s for s in decode(body).segments if s.number not in covered and s.id not in structure]
        assert missing == [], path.name


def test_a_segment_that_nobody_knows_is_listed_wherever_it_stands(files: list[Path]) -> None:
    for path in files:
        parts = path.read_text(encoding="utf-8").split("~")
        segments = [part for part in parts if part.strip()]
        start = next(n for n, part in enumerate(segments) if part.strip().startswith("ST"))
        for at in range(start + 1, len(segments) - 2, 3):
            body = "~".join([*segments[:at], "ZZZ*1", *segments[at:], ""]).encode()
            parsed = read(body)
            place = f"segment/{at + 1}"
            listed = [line for line in parsed.intake if line.place == place and line.label == "ZZZ"]
            aside = [line for line in parsed.intake if "patient" in line.detail and line.outcome == "ignored"]
            assert listed or aside, (path.name, at)

"""The documents of the certification on reconciliation come together as it says, exactly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals import certification


def test_the_documents_of_the_certification_come_out_exactly(data: Path) -> None:
    if not (data / certification.GOLD).is_file():
        pytest.skip("no gold_onc.json")
    found = certification.faults(data)
    assert len(found) >= 2
    assert found == {name: [] for name in found}


def test_a_list_that_is_not_as_the_gold_says_is_told(data: Path, tmp_path: Path) -> None:
    if not (data / certification.GOLD).is_file():
        pytest.skip("no gold_onc.json")
    gold = json.loads((data / certification.GOLD).read_bytes())["ciri_r21_ccd"]
    for file in gold["files"]:
        (tmp_path / file).write_bytes(next(iter(sorted(data.rglob(file)))).read_bytes())
    (tmp_path / certification.GOLD).parent.mkdir()
    gold |= {"problems": [*gold["problems"], "Gout"], "duplicates_to_merge": ["Aranesp"]}
    (tmp_path / certification.GOLD).write_text(json.dumps({"x": gold}), "utf-8")
    [faults] = certification.faults(tmp_path).values()
    assert faults == ["5 problems for 6", "Gout: 0 of problems", "Aranesp: not one of both documents"]

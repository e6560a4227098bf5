"""The command of the evaluations: one shape, figures from rows, and what is not there is skipped and said."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from evals.__main__ import EVALS, available, main, run, told
from evals.shape import Options

from evals import accounting, attribution, laws, reading

X12 = (
    "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260101*1200*^*00501*000000001*0*T*:~"
    "GS*HP*S*R*20260101*1200*1*X*005010X221A1~ST*835*1~BPR*I*80*C*CHK************20260101~N1*PR*PAYER~"
    "CLP*A1*1*120*80**12*P1~NM1*QC*1*REED*ANA****MI*M1~SE*6*1~GE*1*1~IEA*1*000000001~"
)
PATIENT = {"resource": {"resourceType": "Patient", "id": "p"}}
CONDITION = {
    "resource": {
        "resourceType": "Condition",
        "id": "c",
        "subject": {"reference": "Patient/p"},
        "code": {"text": "Migraine"},
        "recordedDate": "2020-01-02",
    }
}
ORDER = {
    "resource": {
        "resourceType": "MedicationRequest",
        "id": "m",
        "status": "active",
        "intent": "order",
        "subject": {"reference": "Patient/p"},
        "medicationCodeableConcept": {"text": "Sumatriptan"},
        "authoredOn": "2020-01-02",
    }
}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A data folder one can see whole: one patient, one payment, one broken file, and one that is no document."""
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": [PATIENT, CONDITION, ORDER]}
    for name, body in {
        "synthea_r4_bundles/one.json": json.dumps(bundle),
        "x12_claims/one.835": X12,
        "x12_claims/broken.837": "ISA*00*cut",
        "x12_claims/SOURCE.md": "# a source",
        "hl7v2_messages/notes.txt": "Dear colleague",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(body, encoding="utf-8")
    return tmp_path


def test_reading_counts_documents_and_names_what_failed(tiny: Path) -> None:
    outcome = reading.run(Options(data=tiny))
    assert outcome.figures["fhir/r4"] | {"median_ms": None} == {
        "documents": 1,
        "read": 1,
        "refused_as_expected": 0,
        "failed": 0,
        "unaccounted": 0,
        "median_ms": None,
    }
    assert (outcome.figures["x12"]["documents"], outcome.figures["x12"]["failed"]) == (2, 1)
    assert [miss.partition(":")[0] for miss in outcome.misses] == ["x12_claims/broken.837"]


def test_reading_counts_items_without_the_readers(tiny: Path) -> None:
    body = (tiny / "x12_claims/one.835").read_bytes()
    assert accounting.x12_segments(body) == {5, 6, 7}
    bundle = (tiny / "synthea_r4_bundles/one.json").read_bytes()
    assert list(accounting.fhir_items(bundle)) == [f"/entry/{n}/resource" for n in range(3)]
    message = b"\xef\xbb\xbfMSH|^~\\&|\rPID|1\r\nOBX|1\nOBX|2\rMSH|^~\\&|\rPID|1"
    assert list(accounting.hl7v2_segments(message)) == [
        "/1/MSH/1",
        "/1/PID/1",
        "/1/OBX/1",
        "/1/OBX/2",
        "/2/MSH/1",
        "/2/PID/1",
    ]


def test_a_file_that_is_broken_on_purpose_is_expected_to_be_refused(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    table = tmp_path_factory.mktemp("gold") / "expected.csv"
    table.write_text("file,format,expect,reason\nx12_claims/broken.837,x12,refused,cut short\n", encoding="utf-8")
    monkeypatch.setattr(reading, "EXPECTED", table)
    found = reading.run(Options(data=tiny)).figures["x12"]
    assert (found["refused_as_expected"], found["failed"]) == (1, 0)


def test_every_file_expected_to_be_otherwise_has_a_reason() -> None:
    assert all(row["reason"] and row["expect"] in ("refused", "other") for row in reading.expectations().values())


def test_the_laws_hold_for_a_small_patient(tiny: Path) -> None:
    outcome = laws.run(Options(data=tiny, seed=3))
    assert outcome.figures == {"patients": 1, **dict.fromkeys(laws.LAWS, 1)}
    assert not outcome.misses


def test_attribution_judges_labels_by_place_and_by_id(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    gold = tmp_path_factory.mktemp("gold")
    (gold / "attribution_index.csv").write_text(
        "file,type,id,element,target,ref,expected_kind,expected_role,expected_rule,reason\n"
        "synthea_r4_bundles/one.json,Condition,c,recorder,,,system-reported,institution,source-default,nobody named\n"
        "not/here.json,Condition,c,recorder,,,system-reported,institution,source-default,\n",
        encoding="utf-8",
    )
    (gold / "attribution_x12.csv").write_text(
        "file,place,type,kind,role,rule,reason\n"
        "x12_claims/one.835,segment/6,CLP,system-reported,payer,element-author,N1*PR\n"
        "x12_claims/one.835,segment/6,CLP,system-reported,lab,element-author,a wrong label\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(attribution, "GOLD", gold)
    outcome = attribution.run(Options(data=tiny))
    assert (outcome.figures["rows"], outcome.figures["right"]) == (3, 2)
    assert outcome.figures["x12"] == {"rows": 2, "right": 1, "kind_right": 2, "role_right": 1, "rule_right": 2}
    assert outcome.skipped == "1 rows whose files are not here"
    assert outcome.misses == [
        "x12_claims/one.835 CLP segment/6: system-reported payer element-author, "
        "expected system-reported lab element-author"
    ]


@pytest.mark.parametrize("name", ["reading", "laws", "authority", "memories"])
def test_an_evaluation_prints_one_object_whose_figures_follow_from_its_rows(
    name: str, tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--data", str(tiny), "--json"]) == 0
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert printed.keys() - {"skipped"} == {"eval", "data", "figures", "rows", "misses"}
    assert printed["eval"] == name
    module = importlib.import_module(EVALS[name])
    assert module.figures(printed["rows"]) == printed["figures"]


@pytest.mark.parametrize("name", ["reading", "laws", "attribution"])
def test_what_is_not_there_is_skipped_and_said(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--data", str(tmp_path / "nowhere")]) == 0
    assert "skipped: no" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["authority", "memories", "reconciliation"])
def test_held_out_cases_stay_closed_unless_they_are_asked_for(name: str, tmp_path: Path) -> None:
    outcome = run(name, Options(data=tmp_path))
    assert outcome.rows
    assert not any(row["held_out"] for row in outcome.rows)
    assert not any("held" in figure for figure in outcome.figures)


def test_the_scoreboard_has_a_line_for_each_figure(tiny: Path) -> None:
    lines = list(told(reading.run(Options(data=tiny))))
    assert lines[0].startswith("reading         documents 4  read 3")
    assert {"reading", "attribution", "reconciliation", "laws", "authority", "memories"} <= set(available())

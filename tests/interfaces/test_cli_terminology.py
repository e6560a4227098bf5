"""What does a person get who loads a licensed terminology? Invented codes in the layout of the real files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from iamata import Engine
from iamata.interfaces.cli import app
from iamata.settings import Settings, terminology_folder
from iamata.terminology import loaded

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("IAMATA_")]:
        monkeypatch.delenv(name)
    row = "9999001|ENG||||||A1||||RXNORM|IN|9999001|zyxolamine||N||\n"
    (tmp_path / "rrf").mkdir()
    (tmp_path / "rrf" / "RXNCONSO.RRF").write_text(row + "bad|\n", "utf-8")
    yield lambda *args: CliRunner().invoke(app, list(args))
    loaded.use([])


def test_a_release_is_loaded_shown_by_doctor_listed_and_unloaded(run: Run, tmp_path: Path) -> None:
    bare = json.loads(run("doctor", "--json").stdout)
    assert bare["terminologies"] == "none loaded"
    made = json.loads(run("terminology", "load", "rrf", "--json").stdout)
    assert (made["kind"], made["lines"], made["badLines"]) == ("rxnorm", 2, 1)
    assert made["firstBad"] == [{"file": "RXNCONSO.RRF", "line": 2, "why": "1 cells instead of 18"}]
    assert (tmp_path / "iamata.db.terminology" / "rxnorm" / "set.json").exists()
    listed = json.loads(run("terminology", "list", "--json").stdout)
    assert [each["version"] for each in listed["terminologies"]] == [made["version"]]
    found = json.loads(run("doctor", "--json").stdout)
    assert found["terminologies"] == f"rxnorm {made['version']}"
    assert found["knowledge"] != bare["knowledge"]
    assert run("terminology", "unload", "rxnorm").exit_code == 0
    assert run("terminology", "unload", "rxnorm").exit_code == 3
    assert "Nothing is loaded" in run("terminology", "list").stdout
    assert json.loads(run("doctor", "--json").stdout)["knowledge"] == bare["knowledge"]


def test_what_was_read_and_skipped_is_told_in_words(run: Run) -> None:
    told = run("terminology", "load", "rrf", "--kind", "rxnorm")
    assert told.exit_code == 0
    assert "rxnorm: 2 lines read, 1 line skipped." in told.stdout
    assert "RXNCONSO.RRF line 2: 1 cells instead of 18" in told.stderr
    assert "rxnorm" in run("terminology", "list").stdout


def test_wrong_kinds_paths_and_places_are_said(run: Run) -> None:
    assert run("terminology", "load", "rrf", "--kind", "icd").exit_code == 2
    assert run("terminology", "load", "rrf", "--kind", "snomed").exit_code == 2
    assert run("terminology", "load", "nowhere").exit_code == 3
    told = run("terminology", "load", "rrf", "--db", "postgresql://nowhere/db")
    assert told.exit_code == 2
    assert "IAMATA_TERMINOLOGY" in told.stderr


def test_the_folder_is_what_the_setting_says_else_beside_the_database() -> None:
    assert terminology_folder(Settings(db="a/b.db")) == Path("a/b.db.terminology")
    assert terminology_folder(Settings(db="postgresql://h/d", terminology="t")) == Path("t")
    assert terminology_folder(Settings(db="postgresql://h/d")) is None
    assert terminology_folder(Settings(db=":memory:")) is None


def test_an_engine_uses_what_its_folder_holds(run: Run, tmp_path: Path) -> None:
    run("terminology", "load", "rrf")
    with Engine.open(":memory:", terminology=tmp_path / "iamata.db.terminology") as engine:
        assert engine.doctor()["terminologies"].startswith("rxnorm ")

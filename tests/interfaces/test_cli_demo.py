"""Does the demo tell the truth, the same every time, and lead somewhere?"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from iamata.interfaces.cli import app
from iamata.interfaces.cli.demo.chapters import TASKS, Demo
from iamata.model.attribution import AttributionKind


@pytest.fixture(scope="module")
def played() -> Demo:
    return Demo(":memory:")


def _run(seed: str, cwd: Path) -> bytes:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("IAMATA_")}
    return subprocess.run(
        [sys.executable, "-c", "from iamata.interfaces.cli import main; main()", "demo"],
        cwd=cwd,
        env={**environ, "PYTHONHASHSEED": seed, "COLUMNS": "80"},
        capture_output=True,
        check=True,
        timeout=60,
    ).stdout


def test_two_runs_print_the_same_bytes_and_leave_nothing_behind(tmp_path: Path) -> None:
    first = _run("1", tmp_path)
    assert first == _run("2", tmp_path)
    lines = first.decode("utf-8").splitlines()
    assert len(lines) < 100
    # Commands are never wrapped, so that they can be copied.
    assert max(len(line) for line in lines if not line.startswith("  iamata ")) <= 80
    assert list(tmp_path.iterdir()) == []


def test_conflicts_are_shown_with_both_sides_and_their_authors(played: Demo) -> None:
    by_kind = {kind: clash for clash in played.clashes for kind in clash.kinds}
    assert {"existence", "dose", "status"} <= set(by_kind)
    for kind in ("existence", "status"):
        kinds = {voice.attribution.kind for stand in by_kind[kind].stands for voice in stand.voices}
        assert kinds == {AttributionKind.USER, AttributionKind.SYSTEM}
    shown = CliRunner().invoke(app, ["demo"]).stdout
    for clash in played.clashes:
        for stand in clash.stands:
            assert stand.says in " ".join(shown.split())


def test_the_two_tasks_side_differently_and_the_factors_add_up(played: Demo) -> None:
    flips = played.flips()
    assert flips
    for flip in flips:
        first, second = flip.weights
        assert (first.task, second.task) == TASKS
        assert (first.weight > 0.5) is not (second.weight > 0.5)
        for authority in flip.weights:
            assert sum(factor.log_odds for factor in authority.factors) == pytest.approx(authority.log_odds, abs=1e-9)
    assert "status" in {kind for flip in flips for kind in flip.clash.kinds}


def test_a_copy_and_an_older_denial_stay_in_the_history_of_what_replaced_them(played: Demo) -> None:
    denial = next(fact for fact in played.facts if fact.display == "No known allergies")
    assert {why for _, why in denial.history} == {"superseded"}
    assert len(denial.history) == 2


def test_every_citation_of_every_context_resolves_to_an_author_and_a_place(played: Demo) -> None:
    for context in (played.context, *played.compared):
        cited = {
            int(number) for group in re.findall(r"\[(\d+(?:, \d+)*)\]", context.text) for number in group.split(", ")
        }
        assert cited
        for number in cited:
            told = played.explain(f"{context.id}[{number}]")
            assert told.quote or any(testimony.seen for testimony in told.testimonies)
            assert all(seen.excerpt for testimony in told.testimonies for seen in testimony.seen)


def test_the_explanation_goes_down_to_the_bytes(played: Demo) -> None:
    (testimony,) = played.explanation.testimonies
    assert testimony.attribution.kind is AttributionKind.USER
    assert testimony.attribution.because == "source=RelatedPerson/mother"
    assert "hives after amoxicillin on day 2" in testimony.seen[0].excerpt


def test_the_demo_answers_in_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["demo", "--json"])
    told = json.loads(done.stdout)
    assert len(told["received"]) == 4
    assert len(told["contexts"]) == 3
    assert told["conflicts"]


def test_a_kept_demo_leads_to_commands_that_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    done = runner.invoke(app, ["demo"])
    commands = [line.strip() for line in done.stdout.splitlines() if line.startswith(("  iamata ", "  export "))]
    assert commands[:2] == ["iamata demo --keep", "export IAMATA_DB=iamata-demo.db"]
    monkeypatch.setenv("IAMATA_DB", "iamata-demo.db")
    tried = [shlex.split(command)[1:] for command in commands if command.startswith("iamata ")]
    assert tried.pop() == ["serve"]
    assert len(tried) == 5
    for args in tried:
        result = runner.invoke(app, args)
        assert result.exit_code == 0, (args, result.output)
        assert result.stdout.strip()
    refused = runner.invoke(app, ["demo", "--keep"])
    assert refused.exit_code == 4
    assert "already" in refused.stderr

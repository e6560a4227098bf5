"""The commands about access, as they are typed: the policy, relations, break-glass, and acting as somebody."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import leo as story
import pytest
from typer.testing import CliRunner, Result

from iamata.interfaces.cli import app

Run = Callable[..., Result]
OURS = (
    "@version\tours/1\n@break-glass-minutes\t15\n"
    "id\teffect\tact\tscope\tkind\trole\trelation\tpurpose\treason\tsource\n"
    "owner\tpermit\t*\t*\t*\towner\t*\t*\towner\thouse rule 1\n"
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `iamata ARGS` in a folder with Leo in its database, with a clean environment."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("IAMATA_")]:
        monkeypatch.delenv(name)
    (tmp_path / "north.json").write_text(json.dumps(story.northside()), "utf-8")
    done = CliRunner().invoke(app, ["ingest", "north.json", "--patient", "leo"])
    assert done.exit_code == 0, done.output
    return lambda *args: CliRunner().invoke(app, list(args))


def flat(text: str) -> str:
    return " ".join(text.split())


LEE = ("--as", "operator/dr-lee clinician")


def test_the_policy_in_force_is_shown_and_a_file_of_ones_own_is_checked(run: Run, tmp_path: Path) -> None:
    shown = flat(run("policy", "show").stdout)
    assert "permit anything on anything; role owner: owner" in shown
    assert "version default/1" in shown
    told = json.loads(run("policy", "show", "--json").stdout)
    assert "agent-entries" in [rule["id"] for rule in told["rules"]]
    file = tmp_path / "ours.tsv"
    file.write_text(OURS, "utf-8")
    assert "ours.tsv is whole: 1 row" in flat(run("policy", "check", str(file)).stdout)
    file.write_text(OURS.replace("\towner\t*", "\tboss\t*", 1), "utf-8")
    done = run("policy", "check", str(file))
    assert (done.exit_code, "ours.tsv, line 4: role is" in flat(done.stderr)) == (2, True)


def test_nothing_starts_under_a_policy_that_is_wrong(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ours.tsv"
    file.write_text(OURS, "utf-8")
    monkeypatch.setenv("IAMATA_POLICY", str(file))
    assert run("patients").exit_code == 0
    assert "ours/1" in run("doctor").stdout
    assert run("--as", "operator/x clinician", "patients").exit_code == 5
    file.write_text(OURS + "x\tpermit\n", "utf-8")
    for command in (("patients",), ("serve", "--port", "0"), ("doctor",), ("mcp",)):
        done = run(*command)
        assert (done.exit_code, "ours.tsv, line 5: 2 cells for 10" in flat(done.stderr)) == (2, True), command


def test_a_person_sees_a_patient_while_of_the_care_team(run: Run) -> None:
    assert "No patient yet" in run(*LEE, "patients").stdout
    assert run(*LEE, "browse", "leo").exit_code == 3
    explained = flat(run("policy", "explain", "--as", "operator/dr-lee", "--subject", "patient/leo").stdout)
    assert explained.startswith("Refused: no-relation-to-patient.")
    made = json.loads(run("relations", "set", "leo", "operator/dr-lee", "care-team", "--json").stdout)
    assert run(*LEE, "browse", "leo").exit_code == 0
    roles = ("--roles", "clinician")
    explained = flat(run("policy", "explain", "--as", "operator/dr-lee", *roles, "--subject", "patient/leo").stdout)
    assert explained.startswith("Allowed: care-team.")
    assert "relations held care-team" in explained
    assert "operator/dr-lee care-team of leo" in flat(run("relations", "list", "leo").stdout)
    assert run("relations", "end", "leo", made["id"]).exit_code == 0
    assert run(*LEE, "browse", "leo").exit_code == 3
    assert "(not now)" in flat(run("relations", "list", "leo").stdout)


def test_break_glass_is_loud_on_the_command_line_too(run: Run) -> None:
    assert run("--as", "operator/x coordinator", "break-glass", "leo", "--reason", "why").exit_code == 5
    opened = run(*LEE, "break-glass", "leo", "--reason", "found unconscious", "--minutes", "30")
    assert "Every look is recorded" in flat(opened.stdout)
    looked = run(*LEE, "browse", "leo")
    assert looked.exit_code == 0
    assert "⚠ opened by break-glass until" in looked.stderr
    assert run(*LEE, "retract", "leo", "Northside").exit_code == 5
    assert "found unconscious" in run("relations", "broken-glass").stdout
    assert run(*LEE, "relations", "broken-glass").exit_code == 5


@pytest.mark.parametrize("who", ["dr-lee", "operator/", "operator/a/b", "operator/dr-lee doctor", "patient/leo", "/x"])
def test_whoever_cannot_be_is_not_acted_for(run: Run, who: str) -> None:
    done = run("--as", who, "patients")
    assert done.exit_code == 2
    assert done.stdout == ""


def test_the_principal_of_one_command_is_not_that_of_the_next(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(*LEE, "browse", "leo").exit_code == 3
    assert run("browse", "leo").exit_code == 0
    monkeypatch.setenv("IAMATA_AS", "operator/dr-lee clinician")
    assert run("browse", "leo").exit_code == 3

"""What does a person at the command line get? Commands run as they would be typed, on databases of their own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from iamata import errors
from iamata.interfaces.cli import app, opening
from iamata.interfaces.cli.failures import exit_code

STORY = files("iamata.interfaces.cli.demo")
NORTHSIDE = STORY.joinpath("northside-1.json").read_text("utf-8")
FORM = STORY.joinpath("northside-2.json").read_text("utf-8")
EASTGATE = STORY.joinpath("eastgate-1.json").read_text("utf-8")
TALK = "mother: We stopped the amoxicillin on Thursday, he was covered in hives.\n"
MARK = "Zyxwvut"  # stands for what no error may repeat

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `iamata ARGS` in an empty folder with a clean environment."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("IAMATA_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*args: str, input: str | bytes | None = None) -> Result:
        return CliRunner().invoke(app, list(args), input=input)

    return run


@pytest.fixture
def leo(run: Run, tmp_path: Path) -> Run:
    """The same, with a patient in the database."""
    tmp_path.joinpath("north.json").write_text(NORTHSIDE, "utf-8")
    tmp_path.joinpath("form.json").write_text(FORM, "utf-8")
    tmp_path.joinpath("east.json").write_text(EASTGATE, "utf-8")
    tmp_path.joinpath("talk.txt").write_text(TALK, "utf-8")
    for args in (
        ("ingest", "north.json", "form.json", "--source", "Northside"),
        ("ingest", "east.json", "--source", "Eastgate", "--patient", "leo"),
        ("talk", "talk.txt", "--patient", "leo", "--session", "s1"),
    ):
        done = run(*args)
        assert done.exit_code == 0, done.output
    return run


def answer(done: Result) -> Any:
    """The one JSON document on stdout of a command that did its work."""
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def flat(text: str) -> str:
    """The text as if it had not been wrapped."""
    return " ".join(text.split())


COMMANDS = sorted(
    command.name or command.callback.__name__ for command in app.registered_commands if command.callback is not None
)


# ------------------------------------------------------------------ help


def test_the_first_page_names_every_command_and_the_exit_codes(run: Run) -> None:
    page = run("--help").stdout
    assert all(command in page for command in COMMANDS)
    assert "iamata demo" in page
    assert "70 a fault in iamata" in page
    assert max(map(len, page.splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help_page_and_can_answer_in_json(run: Run, command: str) -> None:
    page = run(command, "--help")
    assert page.exit_code == 0
    assert "--json" in page.stdout


def test_iamata_alone_shows_the_help_page(run: Run) -> None:
    assert "Start here" in run().output


def test_a_mistyped_command_is_answered_with_the_nearest(run: Run) -> None:
    done = run("brows")
    assert done.exit_code == 2
    assert "browse" in flat(done.stderr)


# ------------------------------------------------------------------ failures


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.BadInput("x"), 2),
        (errors.UnknownFormat("x"), 2),
        (errors.InvalidValue("x"), 2),
        (errors.NotFound("x"), 3),
        (errors.Gone("x"), 3),
        (errors.Conflict("x"), 4),
        (errors.NotAllowed("x"), 5),
        (errors.TooLarge("x"), 6),
        (errors.Unavailable("x"), 7),
        (errors.Bug("x"), 70),
        (ValueError("x"), 70),
    ],
)
def test_each_kind_of_error_has_its_exit_code(error: Exception, code: int) -> None:
    assert exit_code(error) == code


def test_an_unforeseen_exception_is_told_without_its_words_and_without_a_traceback(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(db: str | None) -> None:
        raise ValueError(MARK)

    monkeypatch.setattr("iamata.interfaces.cli.reading.to_read", broken)
    done = run("patients", "--json")
    assert done.exit_code == 70
    assert MARK not in done.output
    assert "Traceback" not in done.output
    assert "ValueError at broken" in flat(done.stderr)
    assert json.loads(done.stdout)["error"]["exitCode"] == 70


@pytest.mark.parametrize(
    "args",
    [
        ("patients",),
        ("browse",),
        ("read", "/patient/leo/_index.md"),
        ("search", "leo", "hives"),
        ("context", "leo", "--task", "general", "--budget", "100"),
        ("explain", "leo", "fa_x"),
        ("conflicts",),
    ],
    ids=lambda args: args[0],
)
def test_reading_a_database_that_is_not_there_says_so_and_makes_none(
    run: Run, tmp_path: Path, args: tuple[str, ...]
) -> None:
    done = run(*args)
    assert done.exit_code == 3
    assert "there is no database at iamata.db" in flat(done.stderr)
    assert "iamata ingest" in flat(done.stderr)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "args",
    [
        ("browse", "nobody"),
        ("read", "/patient/nobody/_index.md"),
        ("search", "nobody", "hives"),
        ("context", "nobody", "--task", "general", "--budget", "100"),
        ("explain", "nobody", "fa_x"),
        ("explain", "fa_x"),
        ("conflicts", "nobody"),
    ],
    ids=" ".join,
)
def test_a_patient_or_item_that_is_not_there_is_not_found(leo: Run, args: tuple[str, ...]) -> None:
    done = leo(*args, "--json")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["error"]["kind"] == "NotFound"


def test_the_environment_names_the_database_and_an_option_goes_before_it(
    leo: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IAMATA_DB", "elsewhere.db")
    assert leo("patients").exit_code == 3
    assert answer(leo("patients", "--json", "--db", "iamata.db"))["total"] == 1


# ------------------------------------------------------------------ ingest


def test_a_bundle_is_kept_for_its_own_patient_and_told_by_kind(run: Run, tmp_path: Path) -> None:
    tmp_path.joinpath("east.json").write_text(EASTGATE, "utf-8")
    done = run("ingest", "east.json")
    assert done.exit_code == 0
    assert "Kept 1 document of 771" in flat(done.stdout)
    assert [line.split() for line in done.stdout.splitlines() if line.startswith("allergy")] == [["allergy", "2"]]
    assert [line.split() for line in done.stdout.splitlines() if line.startswith("Supply")] == [
        ["SupplyDelivery", "1", "unsupported", "1"]
    ]
    assert answer(run("patients", "--json"))["patients"][0]["id"] == "771"


def test_explain_lists_what_was_not_understood_with_its_place(run: Run, tmp_path: Path) -> None:
    tmp_path.joinpath("east.json").write_text(EASTGATE, "utf-8")
    shown = " ".join(run("ingest", "east.json", "--explain").stdout.split())
    assert "east.json: 11 items understood in full" in shown
    assert "/entry/11/resource SupplyDelivery: ignored (unsupported)" in shown


def test_the_same_document_again_brings_nothing_new(leo: Run) -> None:
    done = leo("ingest", "north.json", "--source", "Northside")
    assert done.exit_code == 0
    assert "nothing new" in flat(done.stdout)
    kept = answer(leo("ingest", "north.json", "--source", "Northside", "--json"))["kept"][0]
    assert set(kept["receipt"]["staged"].values()) == {0}


def test_a_document_can_come_by_stdin(run: Run) -> None:
    told = answer(run("ingest", "-", "--json", input=NORTHSIDE))
    assert [(each["file"], each["patient"]) for each in told["kept"]] == [("stdin", "leo")]
    assert {"kind": "allergy", "outcome": "structured", "reason": "", "count": 1} in told["understood"]


def test_a_document_that_names_no_patient_asks_for_one_and_makes_no_database(run: Run, tmp_path: Path) -> None:
    tmp_path.joinpath("b.json").write_text('{"resourceType": "Bundle", "entry": []}', "utf-8")
    done = run("ingest", "b.json")
    assert done.exit_code == 2
    assert "--patient ID" in flat(done.stderr)
    assert not tmp_path.joinpath("iamata.db").exists()


def test_a_bundle_of_two_patients_asks_whose_it_is(run: Run) -> None:
    people = [{"resource": {"resourceType": "Patient", "id": id}} for id in ("a", "b")]
    done = run("ingest", "-", input=json.dumps({"resourceType": "Bundle", "entry": people}))
    assert done.exit_code == 2
    assert "2 patients" in flat(done.stderr)


def test_an_id_that_cannot_be_one_is_refused_before_anything_is_read(run: Run) -> None:
    done = run("ingest", "nothing.json", "--patient", "a b")
    assert done.exit_code == 2
    assert "patient id must match" in flat(done.stderr)


def test_good_files_among_bad_ones_are_kept_and_the_exit_code_says_so(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.joinpath("deeper").mkdir(parents=True)
    folder.joinpath("a.json").write_text(NORTHSIDE, "utf-8")
    folder.joinpath("deeper", "b.json").write_text(EASTGATE, "utf-8")
    folder.joinpath("notes.bin").write_bytes(b"\0" + MARK.encode())
    folder.joinpath("cut.json").write_text(NORTHSIDE[:900].replace("Marsh", MARK), "utf-8")
    folder.joinpath(".hidden").write_text("{", "utf-8")
    done = run("ingest", "in", "--patient", "leo")
    assert done.exit_code == 2
    assert "Kept 2 documents of leo" in flat(done.stdout)
    assert "in/notes.bin" in flat(done.stderr)
    assert "in/cut.json" in flat(done.stderr)
    assert MARK not in done.output
    assert ".hidden" not in done.output
    assert answer(run("browse", "leo", "--json"))["nodes"]


def test_a_file_that_is_not_there_is_not_found_and_the_others_are_kept(run: Run, tmp_path: Path) -> None:
    tmp_path.joinpath("north.json").write_text(NORTHSIDE, "utf-8")
    done = run("ingest", "none.json", "north.json")
    assert done.exit_code == 3
    assert "none.json" in flat(done.stderr)
    assert "Kept 1 document of leo" in flat(done.stdout)


def test_a_folder_of_synthetic_patients_is_taken_in_with_a_summary(run: Run, data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "synthea"
    folder.mkdir()
    smallest = sorted(data.joinpath("synthea_r4_bundles").glob("*.json"), key=lambda path: path.stat().st_size)[:3]
    for path in smallest:
        folder.joinpath(path.name).write_bytes(path.read_bytes())
    told = answer(run("ingest", "synthea", "--source", "Synthea", "--json"))
    assert len(told["kept"]) == 3
    assert told["refused"] == []
    items = {path.name: len(json.loads(path.read_bytes())["entry"]) for path in smallest}
    for each in told["kept"]:
        intake = each["receipt"]["intake"][0]
        assert intake["received"] >= items[Path(each["file"]).name]
        assert sum(entry["count"] for entry in intake["entries"]) == intake["received"]
    again = run("ingest", "synthea", "--source", "Synthea")
    assert "Kept 3 documents of 3 patients: nothing new" in " ".join(again.stdout.split())
    assert answer(run("patients", "--json"))["total"] == 3


# ------------------------------------------------------------------ talk


def test_a_conversation_is_appended_once_and_what_was_learned_is_told(leo: Run) -> None:
    again = answer(leo("talk", "talk.txt", "--patient", "leo", "--session", "s1", "--json"))
    assert again["receipt"]["staged"]["messages"] == 0
    assert any(memory["content"] in TALK for memory in again["memories"])
    assert {memory["author"]["role"] for memory in again["memories"]} == {"proxy"}
    longer = leo("talk", "-", "--patient", "leo", "--session", "s1", input=TALK + "agent: How is he now?\n")
    assert "2 turns of session s1 of leo, 1 new." in longer.stdout
    assert "We stopped the amoxicillin on Thursday" in longer.stdout


def test_an_edited_transcript_is_a_conflict(leo: Run) -> None:
    done = leo("talk", "-", "--patient", "leo", "--session", "s1", input=f"mother: {MARK}\n")
    assert done.exit_code == 4
    assert MARK not in done.output


def test_the_json_of_the_http_interface_names_its_own_session(leo: Run, tmp_path: Path) -> None:
    tmp_path.joinpath("talk.json").write_bytes(STORY.joinpath("talk.json").read_bytes())
    told = answer(leo("talk", "talk.json", "--patient", "leo", "--json"))
    assert told["session"] == "portal-2026-02-15"
    assert told["receipt"]["staged"]["messages"] == 4


def test_a_conversation_needs_a_session(leo: Run) -> None:
    done = leo("talk", "talk.txt", "--patient", "leo")
    assert done.exit_code == 2
    assert "say which conversation this is" in flat(done.stderr)


# ------------------------------------------------------------------ look around


def test_every_address_that_browse_lists_can_be_opened(leo: Run) -> None:
    assert "/patient/leo/" in leo("browse").stdout
    nodes = answer(leo("browse", "leo", "--json"))["nodes"]
    assert nodes
    for node in nodes:
        done = leo("browse" if node["directory"] else "read", node["address"])
        assert done.exit_code == 0, (node["address"], done.output)


def test_a_file_is_read_in_each_format_and_within_a_budget(leo: Run) -> None:
    told = {form: leo("read", "leo/", "--format", form) for form in ("narrative", "compact", "structured")}
    assert all(done.exit_code == 3 for done in told.values())  # not an address: no such scope
    page = answer(leo("read", "leo", "--json"))
    assert leo("read", "leo").stdout.rstrip("\n") == page["content"].rstrip("\n")
    json.loads(leo("read", "leo", "--format", "structured").stdout)
    assert leo("read", "leo", "--format", "compact").exit_code == 0
    short = answer(leo("read", "leo", "--budget", "60", "--json"))
    assert short["tokens"] <= 60
    assert short["shortened"] is True


def test_search_finds_what_was_said_and_what_was_recorded(leo: Run) -> None:
    hits = answer(leo("search", "leo", "hives", "--json"))["hits"]
    assert {"allergy"} <= {hit["kind"] for hit in hits}
    assert any("hives" in hit["snippet"].lower() for hit in hits)
    only = answer(leo("search", "leo", "amoxicillin", "--kind", "medication", "--limit", "1", "--json"))["hits"]
    assert [hit["kind"] for hit in only] == ["medication"]
    assert "Nothing found" in leo("search", "leo", "qqqqq").stdout


# ------------------------------------------------------------------ ask


def test_only_the_context_goes_to_stdout_and_it_keeps_its_budget(leo: Run) -> None:
    args = ("context", "leo", "--task", "allergy_check", "--budget", "600", "--true-at", "2026-02-15")
    told = answer(leo(*args, "--json"))
    assert told["tokens"] <= 600
    assert leo(*args).stdout == told["text"] + "\n"
    assert "Amoxicillin" in told["text"]
    weighed = leo(*args, "--explain-weights").stdout
    assert "standing" in weighed
    assert "= log-odds" in weighed


def test_what_was_not_known_yet_is_not_told(leo: Run) -> None:
    args = ("context", "leo", "--task", "allergy_check", "--budget", "600")
    before = leo(*args, "--known-at", "2020-01-01", "--true-at", "2026-02-15")
    assert before.exit_code == 0
    assert "hives" not in before.stdout.lower()
    assert leo(*args, "--known-at", "yesterday").exit_code == 2


def test_an_unknown_task_is_refused_with_those_there_are(leo: Run) -> None:
    done = leo("context", "leo", "--task", "cooking", "--budget", "100")
    assert done.exit_code in (2, 3)
    assert "allergy_check" in flat(done.stderr)


@pytest.mark.parametrize("how", ["id", "handle", "address", "citation", "patient option", "alone"])
def test_explain_takes_whatever_names_an_item_and_goes_down_to_the_bytes(leo: Run, how: str) -> None:
    now = ("--true-at", "2026-02-15")
    made = answer(leo("context", "leo", "--task", "allergy_check", "--budget", "600", *now, "--json"))
    line = next(item for item in made["items"] if item["address"].startswith("/patient/leo/allergies/amox"))
    statement = line["citations"][0]
    args = {
        "id": ("leo", statement),
        "handle": ("leo", statement[-8:]),
        "address": (line["address"],),
        "citation": ("leo", f"{made['id']}[{line['number']}]"),
        "patient option": (statement, "--patient", "leo"),
        "alone": (statement,),
    }[how]
    told = answer(leo("explain", *args, *now, "--json"))
    assert told["patient"] == "leo"
    seen = [seen for testimony in told["testimonies"] for seen in testimony["seen"]]
    assert seen
    assert any("amox-allergy" in each["excerpt"] for each in seen)
    shown = leo("explain", *args, *now)
    assert "RelatedPerson/mother" in shown.stdout
    assert "user-reported" in shown.stdout


def test_a_memory_is_explained_with_who_said_it_and_where(leo: Run) -> None:
    memory = answer(leo("talk", "talk.txt", "--patient", "leo", "--session", "s1", "--json"))["memories"][0]
    told = answer(leo("explain", "leo", memory["id"], "--json"))
    assert told["author"]["role"] == "proxy"
    assert TALK.removeprefix("mother: ")[told["start"] : told["end"]] == told["quote"]
    assert "mother (proxy, user-reported)" in leo("explain", memory["id"]).stdout


def test_an_item_of_several_patients_asks_whose(leo: Run) -> None:
    done = leo("ingest", "north.json", "--patient", "other")
    assert done.exit_code == 0
    done = leo("explain", "one", "two", "three")
    assert done.exit_code == 2


def test_conflicts_are_shown_with_both_sides_and_their_authors(leo: Run) -> None:
    shown = leo("conflicts", "leo", "--true-at", "2026-02-15").stdout
    assert "Nurse Bell (clinician, system-reported)" in shown
    assert "mother (proxy, user-reported)" in shown
    told = answer(leo("conflicts", "--true-at", "2026-02-15", "--json"))
    assert told["total"] == len(told["conflicts"]) >= 2
    assert all(len(each["sides"]) >= 2 and all(side["by"] for side in each["sides"]) for each in told["conflicts"])
    said = [each for each in told["conflicts"] if any("We stopped" in side["says"] for side in each["sides"])]
    assert [each["about"] for each in said] == ["Amoxicillin (medication)"]


def test_control_characters_of_a_source_never_reach_the_terminal(run: Run, tmp_path: Path) -> None:
    bad = EASTGATE.replace("Dr Osei", "Dr \\u001b[31mOsei\\u009b")
    assert bad != EASTGATE
    assert run("ingest", "-", "--patient", "leo", input=bad).exit_code == 0
    for args in (("conflicts",), ("search", "leo", "amoxicillin"), ("browse", "leo")):
        shown = run(*args).stdout
        assert "\x1b" not in shown
        assert "\x9b" not in shown


# ------------------------------------------------------------------ the program


def test_doctor_and_version_answer_and_make_nothing(run: Run, tmp_path: Path) -> None:
    told = answer(run("doctor", "--json"))
    assert told["database"].startswith("not made yet")
    assert "allergy_check" in told["tasks"]
    assert answer(run("version", "--json"))["name"] == "iamata"
    assert run("--version").stdout == run("version").stdout
    assert list(tmp_path.iterdir()) == []


def test_doctor_checks_a_database_that_is_there(leo: Run) -> None:
    told = answer(leo("doctor", "--json"))
    assert told["database"] == "reached"
    assert told["audit"] == "whole"
    assert told["pending"] == "0"


def test_a_file_that_is_no_database_is_unavailable(run: Run, tmp_path: Path) -> None:
    tmp_path.joinpath("iamata.db").write_text("this is a letter, not a database. " * 50, "utf-8")
    done = run("patients")
    assert done.exit_code == 7
    assert "Traceback" not in done.output


def _process(*args: str, cwd: Path, **environ: str) -> subprocess.Popen[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("IAMATA_")}
    return subprocess.Popen(
        [sys.executable, "-c", "from iamata.interfaces.cli import main; main()", *args],
        cwd=cwd,
        env={**clean, **environ},
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_real_process_writes_no_colour_into_a_pipe_and_ends_with_its_code(leo: Run, tmp_path: Path) -> None:
    with _process("conflicts", "leo", cwd=tmp_path, TERM="xterm-256color") as done:
        out, err = done.communicate(timeout=60)
    assert done.returncode == 0
    assert "Amoxicillin" in out
    assert "\x1b" not in out + err
    with _process("browse", "nobody", cwd=tmp_path) as done:
        out, err = done.communicate(timeout=60)
    assert done.returncode == 3
    assert out == ""
    assert err.startswith("iamata: ")


def test_serve_answers_until_it_is_interrupted(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with _process("serve", "--port", str(port), cwd=tmp_path) as server:
        try:
            for _ in range(300):
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as reply:
                        body = json.load(reply)
                    break
                except OSError:
                    assert server.poll() is None, server.communicate()
                    time.sleep(0.1)
            else:
                pytest.fail("the server did not answer")
            assert body["status"] == "healthy"
            server.send_signal(signal.SIGINT)
            out, err = server.communicate(timeout=30)
        finally:
            server.kill()
    assert server.returncode == 0, err
    assert out == ""
    assert f"http://127.0.0.1:{port}" in err
    assert "Traceback" not in err


def test_serve_does_not_listen_beyond_this_machine(run: Run, tmp_path: Path) -> None:
    done = run("serve", "--host", "0.0.0.0")
    assert done.exit_code == 5
    assert not tmp_path.joinpath(opening.settings().db).exists()

"""Do the pages say what the code does? What they show is run, what they link to exists, nothing public is missing."""

from __future__ import annotations

import io
import json
import os
import re
import runpy
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from typer.main import get_command

import iamata
import postgres_server
from iamata.engine import Engine
from iamata.interfaces.cli import app
from iamata.interfaces.http import create_app
from iamata.settings import Settings

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
HOW_TO = sorted((DOCS / "how-to").glob("*.md"))

IAMATA = "from iamata.interfaces.cli import main; main()"

_FENCE = re.compile(r"```(?P<kind>[a-z]*)\n(?P<body>.*?)```", re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, kind: str) -> list[str]:
    found = _FENCE.finditer(page.read_text(encoding="utf-8"))
    return [each["body"] for each in found if each["kind"] == kind]


def prose(page: Path) -> str:
    """The page without its code blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which the pages' commands find `docs/`."""
    (tmp_path / "docs").symlink_to(DOCS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def iamata_here(words: list[str], environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("IAMATA_")}
    command = [sys.executable, "-W", "error", "-c", IAMATA, *words]
    return subprocess.run(command, env=clean | (environment or {}), capture_output=True, text=True, check=False)


# -------------------------------------------------------------------------------------- what is shown can be done


def test_the_pages_are_what_the_code_gives() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "docs.generate", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stderr}{done.stdout}"


def test_make_demo_runs_what_the_readme_shows() -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ndemo:")[2].partition("\n\n")[0]
    assert recipe.strip().endswith("iamata demo")
    for target in ("demo", "test"):
        assert f"`make {target}`" in prose(ROOT / "README.md")


def test_the_readmes_commands_run(folder: Path) -> None:
    lines = [line for block in blocks(ROOT / "README.md", "sh") for line in block.splitlines()]
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("iamata ")]
    assert len(commands) == 5
    for words in commands:
        done = iamata_here(words)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        assert done.stdout.strip()


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "how-to" / "run-the-server.md"], ids=named)
def test_the_requests_shown_are_answered(page: Path, folder: Path, serving: Callable[[], str]) -> None:
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    requests = [shlex.split(line)[1:] for line in lines if line.startswith("curl ")]
    assert len(requests) == 5
    url = serving()
    with httpx.Client(trust_env=False, timeout=60) as client:
        for words in requests:
            answer = client.send(as_curl_would(client, words, url))
            assert answer.status_code == 200, f"{words}: {answer.text}"


def test_the_readmes_python_example_is_short_and_runs(folder: Path) -> None:
    (example,) = blocks(ROOT / "README.md", "python")
    assert len([line for line in example.splitlines() if line.strip()]) <= 10
    shown = run_python(example, folder)
    assert "Lisinopril" in shown
    assert "⚠ conflict" in shown


def test_the_postgresql_guide_runs_on_a_postgresql(folder: Path, postgres_template: str) -> None:
    psycopg = pytest.importorskip("psycopg")
    database = f"docs_{os.getpid()}"
    with psycopg.connect(postgres_server.server_url(), autocommit=True) as connection:
        connection.execute(f"create database {database}".encode())
    environment = {"IAMATA_DB": postgres_server.server_url(database)}
    (block,) = blocks(DOCS / "how-to" / "use-postgresql.md", "sh")
    try:
        for line in block.splitlines():
            program, *words = shlex.split(line)
            if program == "export":
                name, _, value = words[0].partition("=")
                environment.setdefault(name, value)
                continue
            done = iamata_here(words, environment)
            assert done.returncode == 0, f"{line}: {done.stderr}"
    finally:
        with psycopg.connect(postgres_server.server_url(), autocommit=True) as connection:
            connection.execute(f"drop database {database} with (force)".encode())
    assert (folder / "iamata-keys").is_dir()


def test_every_how_to_shows_something_that_runs() -> None:
    for page in HOW_TO:
        if page.name == "use-the-client.md":  # its block needs a server: tests/interfaces/test_client.py runs it
            assert blocks(page, "py"), named(page)
            continue
        assert blocks(page, "console") or blocks(page, "python") or blocks(page, "sh"), named(page)


def run_python(source: str, folder: Path) -> str:
    script = folder / "example.py"
    script.write_text(source, encoding="utf-8")
    out = io.StringIO()
    with redirect_stdout(out):
        runpy.run_path(str(script))
    return out.getvalue()


def as_curl_would(client: httpx.Client, words: list[str], url: str) -> httpx.Request:
    """The request that this curl command sends, to the server at `url`."""
    headers, body, target, method = {}, None, "", ""
    given = iter(words)
    for word in given:
        if word == "-H":
            name, _, value = next(given).partition(": ")
            headers[name] = value
        elif word in ("-d", "--data-binary"):
            said = next(given)
            body = Path(said[1:]).read_bytes() if said.startswith("@") else said.encode()
        elif word == "-X":
            method = next(given)
        else:
            target = word
    assert target.startswith("localhost:8321/"), "the default port of `iamata serve`"
    address = target.replace("localhost:8321", url, 1)
    return client.build_request(method or ("GET" if body is None else "POST"), address, headers=headers, content=body)


@pytest.fixture
def serving(folder: Path) -> Iterator[Callable[[], str]]:
    """Starts `iamata serve` on a free port; gives its address."""
    started: list[subprocess.Popen[str]] = []

    def start() -> str:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [sys.executable, "-c", IAMATA, "serve", "--port", str(port), "--db", "served.db"]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        until = time.monotonic() + 60
        while True:
            try:
                httpx.get(f"http://127.0.0.1:{port}/", trust_env=False)
            except httpx.TransportError:
                assert started[0].poll() is None, "the server ended"
                assert time.monotonic() < until, "the server does not answer"
                time.sleep(0.05)
            else:
                return f"http://127.0.0.1:{port}"

    yield start
    for server in started:
        server.terminate()
        server.communicate(timeout=30)


# -------------------------------------------------------------------------------------------------- links and words


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_leads_somewhere(page: Path) -> None:
    for found in _LINK.finditer(prose(page)):
        target, _, anchor = found["target"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{named(page)} → {found['target']}"
        assert file.is_relative_to(ROOT), f"{named(page)} → {found['target']}"
        if anchor:
            assert anchor in anchors(file), f"{named(page)} → {found['target']}"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", [page for page in PAGES if "reference" not in page.parts], ids=named)
def test_every_table_has_one_number_of_columns(page: Path) -> None:
    check_tables(page)


@pytest.mark.parametrize("page", sorted(REFERENCE.glob("*.md")), ids=named)
def test_tables_of_the_reference_are_not_broken_by_their_cells(page: Path) -> None:
    check_tables(page)


def check_tables(page: Path) -> None:
    columns = 0
    for line in prose(page).splitlines():
        bars = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert not bars or not columns or bars == columns, f"{named(page)}: {line[:80]}"
        columns = bars


# How a term is not to be spelled, beside the one that the glossary gives it.
_NOT = {
    "agent-reported": ("agent reported",),
    "data key": ("datakey",),
    "graph hash": ("graphhash", "graph-hash"),
    "graph version": ("graph-version",),
    "known at": ("knownat", "known-as-of"),
    "language model": ("ai provider", "llm provider", "llm", "language-model"),
    "read stamp": ("read-stamp", "readstamp"),
    "safety set": ("safety-set", "safetyset"),
    "system-reported": ("system reported",),
    "true at": ("trueat",),
    "user-reported": ("user reported",),
}


def test_every_term_of_the_glossary_is_spelled_in_one_way() -> None:
    text = {page: re.sub(r"`[^`]*`", "", prose(page)).lower() for page in PAGES if "reference" not in page.parts}
    for page, said in text.items():
        for term, others in _NOT.items():
            for other in others:
                assert not re.search(rf"(?<![\w-]){re.escape(other)}(?![\w-])", said), (
                    f"{named(page)}: {term}, not {other}"
                )


def test_the_glossary_gives_each_term_once() -> None:
    rows = re.findall(r"^\| (\*\*.+?) \| ", (ROOT / "GLOSSARY.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) > 40
    assert len(set(rows)) == len(rows)
    terms = [row.split("**")[1].lower() for row in rows]
    assert terms == sorted(terms)


# ----------------------------------------------------------------------------------- nothing public is undocumented


def reference(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def test_every_command_and_option_is_in_the_reference() -> None:
    page = reference("cli.md")
    root: Any = get_command(app)
    assert len(root.commands) >= 13
    for name, command in root.commands.items():
        section = page.partition(f"\n## `iamata {name}`\n")[2].partition("\n## ")[0]
        assert section, name
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert parameter.opts[0] in section, f"{name} {parameter.opts[0]}"


def test_every_route_is_in_the_reference() -> None:
    page = reference("http.md")
    with Engine.open(":memory:") as engine:
        document = create_app(engine, Settings(), now=lambda: datetime(2026, 1, 1, tzinfo=UTC)).openapi()
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            assert f"| {method.upper()} | `{path}` |" in page
            for parameter in route.get("parameters", ()):
                assert parameter["in"] == "path" or f"| `{parameter['name']}` | {parameter['in']} |" in page


def test_every_tool_argument_and_prompt_of_mcp_is_in_the_reference() -> None:
    from iamata.interfaces.mcp.prompts import PROMPTS
    from iamata.interfaces.mcp.tools import TOOLS

    page = reference("mcp.md")
    for tool in TOOLS:
        section = page.partition(f"### `{tool.name}`")[2].partition("\n##")[0]
        assert all(f"| `{field.name}` |" in section for field in msgspec.structs.fields(tool.shape)), tool.name
    assert all(f"| `{prompt.name}` |" in page for prompt in PROMPTS)


def test_every_setting_is_in_the_reference() -> None:
    page = reference("settings.md")
    for field in msgspec.structs.fields(Settings):
        assert f"| `{field.name}` | `IAMATA_{field.name.upper()}` |" in page
    source = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py"))
    for variable in set(re.findall(r"IAMATA_[A-Z_]*[A-Z]", source)):
        assert variable in page, variable


def test_every_verb_of_the_engine_and_every_public_name_is_in_the_reference() -> None:
    page = reference("python.md")
    verbs = [name for name in dir(Engine) if not name.startswith("_")]
    assert {"ingest", "append", "context", "explain", "retract"} <= set(verbs)
    for verb in verbs:
        assert f"\n### `{verb}`\n" in page, verb
    for name in iamata.__all__:
        assert f"`{name}`" in page or name == "Engine", name


def test_every_format_that_is_read_is_in_the_reference() -> None:
    from iamata.connectors import registry

    for format in registry.READERS:
        assert f"`{format}`" in reference("formats.md")


def test_every_schema_is_a_json_schema() -> None:
    import jsonschema

    files = sorted((REFERENCE / "schemas").glob("*.json"))
    assert [file.name.partition(".")[0] for file in files] == ["authority", "context", "fact", "memory", "statement"]
    for file in files:
        jsonschema.Draft202012Validator.check_schema(json.loads(file.read_text(encoding="utf-8")))


def test_every_folder_of_the_package_is_in_the_readme() -> None:
    page = prose(ROOT / "README.md")
    inside = [Path(name).parts[2:] for name in tracked() if name.startswith("src/iamata/")]
    names = {f"{parts[0]}/" if len(parts) > 1 else parts[0] for parts in inside}
    for name in sorted(names - {"__init__.py", "py.typed"}):
        assert f"| `{name}` |" in page, name


def test_every_decision_is_in_their_list() -> None:
    listed = (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    for record in (DOCS / "decisions").glob("0*.md"):
        assert f"({record.name})" in listed


# ------------------------------------------------------------------------------------------------ nothing leaks in


_MACHINE = re.compile(r"(?<![\w./:-])(?:/(?:work|root)/|/tmp/[a-z]+_jobs|/home/[a-z]|/Users/[A-Za-z]|[A-Z]:\\\\Users)")


def tracked(*more: str) -> list[str]:
    """The files that git holds; with `--others` also those that it could."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = [git, "ls-files", "--cached", *more, "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return sorted(filter(None, listed.split("\0")))


def test_no_path_of_a_machine_is_in_the_tree() -> None:
    found = []
    for name in tracked("--others"):
        file = ROOT / name
        if not file.is_file() or file == Path(__file__):
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if match := _MACHINE.search(line):
                found.append(f"{name}:{number}: {match[0]}")
    assert not found

"""What do the commands on the hand-written pages print? Runs them and gives back the page with the output put in.

- A `console` block holds commands (`$ iamata …`, `$ cat …`, `$ export NAME=value`), each followed by its output.
- A `python` block that a `text` block follows is run, and what it prints stands in the `text` block.
- `<!-- chapters 1 3 -->` before a `console` block keeps these numbered chapters of the output, with `[…]` between.
- `<!-- lines 1-9 -->` keeps these lines, `<!-- hidden … -->` runs a command and shows nothing.

Each page has a folder and databases of its own. The clock begins at 2026-02-16T09:00Z and goes on by a minute with each
command, and the data keys are fixed, so that every run prints the same. Blocks of another kind are left alone.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import shlex
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

from iamata import Engine
from iamata.interfaces.cli import app
from iamata.store import FileKeyStore

ROOT = Path(__file__).resolve().parents[1]
_BEGIN = datetime(2026, 2, 16, 9, 0, tzinfo=UTC)
# The patients and other subjects of the examples; their keys decide the ids that pages show.
_SUBJECTS = ("ada", "leo", "organization/riverside", "operator/dr-rao", "agent/triage")
_DATABASES = ("iamata.db", "iamata-demo.db")
_BLOCK = re.compile(
    r"(?P<before>(?:<!-- (?P<directive>[^>]+) -->\n)?)```(?P<kind>console|python)\n(?P<body>.*?)```\n"
    r"(?P<after>\n?```text\n.*?```\n)?",
    re.DOTALL,
)
_HIDDEN = re.compile(r"<!-- hidden (?P<command>.+?) -->\n")
_CHAPTER = re.compile(r"(\d+)\. ")
# It depends on every table and rule, and would make each page that shows it change with each of them.
_CONTEXT_ID = re.compile(r"ctx_[a-z2-7]{20}")


class Failed(Exception):
    """A command on a page does not do what the page says."""


def pages() -> list[Path]:
    """Every hand-written page; those without such blocks come back as they are."""
    docs = sorted((ROOT / "docs").rglob("*.md"))
    written = [page for page in docs if "reference" not in page.parts and "decisions" not in page.parts]
    return [ROOT / "README.md", *written]


def replayed(page: Path) -> str:
    """The page with the output of its commands as it is now. Raises Failed, naming the command that failed."""
    text = page.read_text(encoding="utf-8")
    if not re.search(r"^```(console|python)$", text, re.MULTILINE):
        return text
    with _stage() as stage:
        pieces, at = [], 0
        for found in re.finditer(f"{_HIDDEN.pattern}|{_BLOCK.pattern}", text, re.DOTALL):
            pieces.append(text[at : found.start()])
            at = found.end()
            if found["command"]:
                stage.run(found["command"])
                pieces.append(found[0])
            elif found["kind"] == "console":
                pieces.append(f"{found['before']}```console\n{_console(stage, found)}```\n{found['after'] or ''}")
            else:
                shown = stage.python(found["body"])
                after = re.sub(
                    r"```text\n.*```", lambda _, s=shown: f"```text\n{s}```", found["after"] or "", flags=re.S
                )
                pieces.append(f"{found['before']}```python\n{found['body']}```\n{after}")
        return "".join([*pieces, text[at:]])


def _console(stage: Stage, found: re.Match[str]) -> str:
    commands = [line[2:] for line in found["body"].splitlines() if line.startswith("$ ")]
    return "\n".join(f"$ {command}\n{_kept(found['directive'], stage.run(command))}" for command in commands)


def _kept(directive: str | None, output: str) -> str:
    """What of an output is shown."""
    word, _, rest = (directive or "").partition(" ")
    lines = output.splitlines(keepends=True)
    if word == "lines":
        first, _, last = rest.partition("-")
        kept = lines[int(first) - 1 : int(last)]
        return "".join([*(["[…]\n"] if int(first) > 1 else []), *kept, *(["[…]\n"] if int(last) < len(lines) else [])])
    if word != "chapters":
        return output
    wanted, shown, kept = set(rest.split()), False, []
    for line in lines:
        if chapter := _CHAPTER.match(line):
            if chapter[1] in wanted and not shown and kept[-1:] != ["[…]\n"]:
                kept.append("[…]\n")
            shown = chapter[1] in wanted
        if shown:
            kept.append(line)
    return "".join([*kept, "[…]\n"])


class Stage:
    """Where one page's commands run: an empty folder with `docs` in it, a set clock, and fixed keys."""

    def __init__(self) -> None:
        self._ticks = count()
        self._ids = count(1)
        self._names: dict[str, Any] = {}
        self._now = _BEGIN

    def now(self) -> datetime:
        return self._now

    def id(self) -> str:
        return f"docs{next(self._ids):016d}"

    def run(self, command: str) -> str:
        """What a command prints, on either stream. Raises Failed if it ends otherwise than with 0."""
        self._now = _BEGIN + timedelta(minutes=next(self._ticks))
        words = shlex.split(command)
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            os.environ[name] = value
            return ""
        if command == "make demo":
            words = ["iamata", "demo"]  # what the Makefile runs
        if words[0] == "cat":
            return Path(words[1]).read_text(encoding="utf-8")
        if words[0] != "iamata":
            raise Failed(f"a page can only run iamata, cat and export: {command}")
        code, shown = self._call(lambda: app(words[1:], prog_name="iamata"))
        if code:
            raise Failed(f"{command} ended with {code}:\n{shown}")
        return shown

    def python(self, source: str) -> str:
        """What a piece of Python prints. Names go on from one piece of a page to the next."""
        self._now = _BEGIN + timedelta(minutes=next(self._ticks))
        script = Path("example.py")
        script.write_text(source, encoding="utf-8")

        def run() -> None:
            self._names |= runpy.run_path(str(script), init_globals=self._names)

        return self._call(run)[1]

    def _call(self, what: Callable[[], object]) -> tuple[int, str]:
        out = io.StringIO()
        code = 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                what()
            except SystemExit as end:
                code = int(end.code or 0)
        shown = _CONTEXT_ID.sub("ctx_…", out.getvalue())
        return code, "".join(f"{line.rstrip()}\n" for line in shown.splitlines())


@contextlib.contextmanager
def _stage() -> Iterator[Stage]:
    stage = Stage()
    opened = Engine.open

    def at_the_set_time(db: str | Path = "iamata.db", **given: Any) -> Engine:
        return opened(db, **{"clock": stage.now, "ids": stage.id, **given})

    kept = {name: value for name, value in os.environ.items() if not name.startswith("IAMATA_")}
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, {**kept, "COLUMNS": "80", "NO_COLOR": "1"}, clear=True),
        mock.patch.object(Engine, "open", at_the_set_time),
    ):
        Path("docs").symlink_to(ROOT / "docs")
        for database in _DATABASES:
            keys = FileKeyStore(f"{database}.keys")
            for subject in _SUBJECTS:
                keys.put(subject, sha256(f"iamata docs {subject}".encode()).digest())
        yield stage

"""The commands for licensed terminologies: `terminology load`, `list` and `unload`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iamata.errors import BadInput
from iamata.interfaces.cli import opening
from iamata.interfaces.cli.options import Db, Json
from iamata.interfaces.cli.printing import counted, progress, put, put_json, put_table, remark
from iamata.settings import terminology_folder

if TYPE_CHECKING:
    from iamata.engine.terminologies import Description, Kind

app = typer.Typer(no_args_is_help=True, help="Load terminologies that you are licensed for (RxNorm, SNOMED CT, …).")

_KINDS = "rxnorm, snomed, loinc or umls"


def _folder(db: str | None) -> Path:
    """Where compiled terminologies lie. Raises BadInput if nothing says where."""
    found = terminology_folder(opening.settings(db))
    if found is None:
        raise BadInput("say where compiled terminologies shall lie: set IAMATA_TERMINOLOGY to a folder")
    return found


def _kind(said: str) -> Kind:
    from iamata.engine.terminologies import Kind

    try:
        return Kind(said.lower())
    except ValueError:
        raise BadInput(f"the kind is {_KINDS}") from None


@app.command()
def load(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The unpacked folder of a release, or its main file.")],
    kind: Annotated[
        str | None,
        typer.Option("--kind", metavar="KIND", help=f"{_KINDS}. Default: what the files are.", show_default=False),
    ] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Compile the files of a release that you are licensed for into the local cache, in place of an earlier one.

    The files stay where they are and nothing is sent anywhere. A server that runs uses them when it starts again. Lines
    that cannot be used are skipped and named; a file that is cut off loads nothing.

    Example: iamata terminology load RxNorm_full/rrf
    """
    from iamata.engine import terminologies

    with progress("reading", 100) as bar:

        def told(file: str, done: int, size: int) -> None:
            bar.update(bar.task_ids[0], description=file, completed=100 * done // max(size, 1))

        made = terminologies.load(path, _folder(db), kind=_kind(kind) if kind else None, progress=told)
    if json:
        bad = [{"file": each.file, "line": each.line, "why": each.why} for each in made.first_bad]
        put_json(_json(made.description) | {"lines": made.lines, "badLines": made.bad_lines, "firstBad": bad})
        return
    put(
        f"{made.description.kind.value}: {counted(made.lines, 'line')} read, {counted(made.bad_lines, 'line')} skipped."
    )
    put_table(("rows", "table"), [(f"{n:,}", name) for name, n in made.description.rows.items()], right=(0,))
    for each in made.first_bad:
        remark(f"{each.file} line {each.line}: {each.why}")
    if made.bad_lines > len(made.first_bad):
        remark(f"and {made.bad_lines - len(made.first_bad):,} more")
    put("Facts are formed with it from now on; a server that runs takes it when it starts again.")


@app.command("list")
def list_(db: Db = None, json: Json = False) -> None:
    """List what is loaded, with its version (a hash of its content)."""
    from iamata.engine import terminologies

    folder = terminology_folder(opening.settings(db))
    found = terminologies.listed(folder) if folder is not None else ()
    if json:
        put_json({"terminologies": [_json(each) for each in found]})
        return
    if not found:
        put("Nothing is loaded. Load a release that you are licensed for: iamata terminology load PATH")
        return
    put_table(
        ("kind", "version", "release", "rows"),
        [(each.kind.value, each.version, each.release or "-", f"{sum(each.rows.values()):,}") for each in found],
    )


@app.command()
def unload(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"{_KINDS}.")], db: Db = None, json: Json = False
) -> None:
    """Delete a loaded terminology from the local cache. Facts are formed without it from then on."""
    from iamata.engine import terminologies

    gone = terminologies.unload(_folder(db), _kind(kind))
    if json:
        put_json(_json(gone))
        return
    put(f"{gone.kind.value} {gone.version} is unloaded.")


def _json(description: Description) -> dict[str, object]:
    return {
        "kind": description.kind.value,
        "version": description.version,
        "release": description.release,
        "rows": description.rows,
    }

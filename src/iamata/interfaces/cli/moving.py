"""The commands that take patients elsewhere and in from there: `export`, `import`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated

import typer

from iamata.errors import BadInput, Conflict, NotFound, Unavailable
from iamata.interfaces.cli.documents import STDIN
from iamata.interfaces.cli.opening import to_read, to_write
from iamata.interfaces.cli.options import Db, Json, KnownAt, TrueAt, moments
from iamata.interfaces.cli.printing import counted, put, put_json
from iamata.interfaces.wire.archives import manifest as manifest_json
from iamata.interfaces.wire.archives import moved as moved_json


def export(
    patient: Annotated[
        str, typer.Argument(metavar="[PATIENT]", help="Whom; not with --workspace.", show_default=False)
    ] = "",
    summary: Annotated[bool, typer.Option("--summary", help="The International Patient Summary instead.")] = False,
    as_received: Annotated[
        bool, typer.Option("--as-received", help="Everything held as it was received: an archive (ZIP).")
    ] = False,
    workspace: Annotated[
        bool, typer.Option("--workspace", help="All patients and the entries of all scopes: an archive (ZIP).")
    ] = False,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Where to; a new file. Default: stdout.")
    ] = "-",
    known_at: KnownAt = None,
    true_at: TrueAt = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Take a patient elsewhere: as FHIR R4 (the default), as a summary, or whole as an archive; or everything.

    FHIR tells the facts with who said them, their security labels and conflicts; ingested again it is recognised. An
    archive holds what was received, the patients' keys with it, and `iamata import` makes the same of it elsewhere:
    keep it as safe as the database.
    """
    if summary + as_received + workspace > 1:
        raise BadInput("one of --summary, --as-received and --workspace")
    if bool(patient) == workspace:
        raise BadInput("name a patient" if not patient else "a workspace is everything: no patient is named")
    archive = as_received or workspace
    if archive and (known_at or true_at):
        raise BadInput("an archive holds all times: it takes none")
    if archive and out == STDIN and sys.stdout.isatty():
        raise BadInput("an archive is no text: give a file with -o", place="--out")
    with to_read(db) as engine:
        if archive:
            with _written(out) as file:
                manifest = engine.export_archive(file, patient or None)
            said, what = manifest_json(manifest), counted(len(manifest.patients), "patient")
        else:
            tell: Callable[..., bytes] = engine.summary if summary else engine.export_fhir
            body = tell(patient, **moments(known_at, true_at))
            with _written(out) as file:
                file.write(body)
            said, what = {"patient": patient, "sizeBytes": len(body)}, f"patient {patient}"
    if out == STDIN:
        return
    if json:
        put_json(said | {"file": out})
        return
    put(f"Wrote {what} to {out}.")
    put(f"Next: iamata import {out}" if archive else f"Next: iamata ingest {out} --patient ID")


def import_(
    archive: Annotated[str, typer.Argument(metavar="FILE", help="The archive.", show_default=False)],
    even_erased: Annotated[bool, typer.Option("--even-erased", help="Also patients that were erased here.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Take in an archive of `iamata export`, once all of it was checked: ids, facts and links are what they were.

    A patient that is here already with all of it stays as it is; one that is here with something else, or was erased
    here, stops it before anything is taken in (exit code 4).
    """
    path = Path(archive)
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise NotFound("no file of this name", what="file", id=archive) from None
    except OSError as error:
        raise Unavailable(f"cannot be read: {error.strerror or type(error).__name__}") from None
    with file, to_write(db) as engine:
        moved = engine.import_archive(file, even_erased=even_erased)
    if json:
        put_json(moved_json(moved))
        return
    put(f"Took in {counted(len(moved.patients), 'patient')} and {counted(moved.entries, 'entry', 'entries')}.")
    if moved.here_already:
        put(f"{counted(len(moved.here_already), 'patient')} had been here already.")
    if moved.patients:
        put(f"Next: iamata browse {moved.patients[0]}")


@contextmanager
def _written(out: str) -> Iterator[IO[bytes]]:
    """Stdout, or a new file for its owner only, which is there whole or not at all."""
    if out == STDIN:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(out)
    passing = path.with_name(f".{path.name}.part")
    if path.exists():
        raise Conflict(f"{out} is there already: nothing is written over")
    try:
        descriptor = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
            passing.replace(path)
        except BaseException:
            passing.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Unavailable(f"{out} cannot be written: {error.strerror or type(error).__name__}") from None

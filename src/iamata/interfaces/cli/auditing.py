"""The commands about the audit log: `audit list`, `audit verify`, `audit checkpoint`, `audit export`."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from iamata.errors import Conflict, NotFound
from iamata.interfaces.cli.opening import to_read
from iamata.interfaces.cli.options import Db, Json
from iamata.interfaces.cli.printing import counted, put, put_hanging, put_json, put_line
from iamata.interfaces.wire.audits import audit_event, audit_record
from iamata.interfaces.wire.audits import checkpoint as checkpoint_json

app = typer.Typer(
    no_args_is_help=True, help="Who did what: list it, export it, seal it, and prove that nothing of it was changed."
)
_PAGE = 1000
Subject = Annotated[
    str | None, typer.Option("--subject", metavar="SCOPE/ID", help="Of one subject, such as patient/leo.")
]
_CheckpointFile = Annotated[
    Path | None,
    typer.Option("--checkpoint", metavar="FILE", help="A checkpoint that was kept apart.", show_default=False),
]


class LogFormat(StrEnum):
    JSON = "json"
    FHIR = "fhir"


@app.command("list")
def listed(
    subject: Subject = None,
    most: Annotated[int, typer.Option("--most", min=1, help="How many at most, the newest first.")] = 50,
    db: Db = None,
    json: Json = False,
) -> None:
    """List who did what, the newest first."""
    with to_read(db) as engine:
        found, total = engine.audit_page(subject=subject, per_page=most)
    if json:
        put_json({"records": [audit_record(each) for each in found], "total": total})
        return
    for each in found:
        about = f"{each.action} {each.subject}".strip()
        said = "" if each.allowed else f", refused: {', '.join(each.reasons)}"
        by = f"{each.principal}{f' for {each.on_behalf_of}' if each.on_behalf_of else ''}"
        items = f", {counted(len(each.items), 'item')}" if each.items else ""
        put_hanging(
            f"{each.at:%Y-%m-%d %H:%M:%S}", f"{about}, {by}, {each.purpose}, by {each.door or '?'}{items}{said}"
        )
    put(f"{len(found):,} of {counted(total, 'record')}.")


@app.command()
def verify(
    checkpoint: _CheckpointFile = None,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="An exported log, instead of the database.", show_default=False),
    ] = None,
    key: Annotated[
        str, typer.Option("--key", metavar="HEX", help="The public key that must have signed the exported log.")
    ] = "",
    db: Db = None,
    json: Json = False,
) -> None:
    """Look for any record that was changed, moved, cut off or taken out. Exit code 4 if there is one.

    With --export nothing else is needed: no database and no keys. A checkpoint that was kept apart (audit checkpoint)
    also shows what was cut off since, and a chain that is missing whole; the one that lies beside the database is used
    by itself.
    """
    from iamata.engine.auditing import read_checkpoint, verify_exported

    kept = read_checkpoint(_bytes(checkpoint)) if checkpoint else None
    if export is not None:
        faults = verify_exported(_bytes(export).splitlines(), key=key, checkpoint=kept)
    else:
        with to_read(db) as engine:
            faults = engine.audit_verify(checkpoint=kept)
    if json:
        put_json({"whole": not faults, "faults": faults})
    else:
        for fault in faults:
            put_line(fault)
    if faults:
        raise Conflict(f"the audit log is not whole: {counted(len(faults), 'fault')}")
    if not json:
        put("The audit log is whole." + ("" if key or export is None else " Give --key to see that it is yours."))


@app.command("checkpoint")
def checkpoint_(db: Db = None, json: Json = False) -> None:
    """Write a signed checkpoint of all chains to standard output. Keep it where this machine cannot change it."""
    with to_read(db) as engine:
        made = engine.audit_checkpoint()
    put_json(checkpoint_json(made))


@app.command()
def export(
    format: Annotated[
        LogFormat,
        typer.Option("--format", help="json: for `audit verify`; fhir: AuditEvent R4, one a line, the newest first."),
    ] = LogFormat.JSON,
    subject: Subject = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Write the log to standard output, one JSON line a record. As `json` it ends with a checkpoint."""
    from iamata.interfaces.wire.audits import encoded

    with to_read(db) as engine:
        if format is LogFormat.JSON and not subject:
            for line in engine.audit_export():
                sys.stdout.write(line.decode() + "\n")
            return
        shape = audit_event if format is LogFormat.FHIR else audit_record
        page = 0
        while found := engine.audit_records(subject=subject, page=page, per_page=_PAGE):
            for each in found:
                sys.stdout.write(encoded(shape(each)) + "\n")
            page += 1
            if len(found) < _PAGE:
                return


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise NotFound(f"there is no file {file.name}", what="file", id=file.name) from None

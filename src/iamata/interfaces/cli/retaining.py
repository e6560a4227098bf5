"""The commands of retention: `retention preview`, what is no longer to be kept; `retention apply` erases it."""

from __future__ import annotations

from typing import Annotated

import typer

from iamata.interfaces.cli.opening import to_read
from iamata.interfaces.cli.options import Db, Json
from iamata.interfaces.cli.printing import counted, put, put_hanging, put_json
from iamata.interfaces.wire import erasures as wire
from iamata.model.erasure import Due

app = typer.Typer(
    no_args_is_help=True, help="How long what is kept: what the policy says is due, and the erasing of it."
)

_Patient = Annotated[
    str | None, typer.Option("--patient", metavar="ID", help="Of this patient only.", show_default=False)
]


@app.command()
def preview(patient: _Patient = None, db: Db = None, json: Json = False) -> None:
    """List what is no longer to be kept by the policy (IAMATA_RETENTION), and by which rule. Changes nothing."""
    with to_read(db) as engine:
        found = engine.retention_preview(patient)
    if json:
        put_json({"due": [wire.due(each) for each in found], "total": len(found)})
        return
    for each in found:
        _put(each)
    held = sum(bool(each.held) for each in found)
    put(f"{counted(len(found), 'thing')} due{f', of which holds keep {held:,}' if held else ''}.")


@app.command()
def apply(
    patient: _Patient = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Erase what is due, for good, with a receipt for each. What a legal hold keeps stays."""
    if not yes:
        typer.confirm("Erase for good what the preview lists?", abort=True, err=True)
    with to_read(db) as engine:
        done = engine.retention_apply(patient)
    if json:
        put_json(wire.applied(done))
        return
    for receipt in done.erased:
        put_hanging(receipt.id, f"{receipt.kind.value}, {receipt.by}")
    for each in done.kept:
        _put(each)
    put(f"{counted(len(done.erased), 'thing')} erased, {len(done.kept):,} kept by holds.")


def _put(each: Due) -> None:
    kept = f"; kept by {', '.join(each.held)}" if each.held else ""
    why = f"of {each.since:%Y-%m-%d}, kept until {each.until:%Y-%m-%d} by {each.rule} ({each.source}){kept}"
    put_hanging(f"{each.patient or each.subject} {each.kind.value} {each.id}", why)

"""The command that reads again what is held: `reread`, after an upgrade that reads better."""

from __future__ import annotations

from typing import Annotated

import typer

from iamata.errors import BadInput
from iamata.interfaces.cli.accounts import news
from iamata.interfaces.cli.opening import to_write
from iamata.interfaces.cli.options import Db, Json
from iamata.interfaces.cli.printing import counted, progress, put, put_hanging, put_json
from iamata.interfaces.wire.receipts import reread as reread_json
from iamata.model.document import Reread, Staged

_PAGE = 500


def reread(
    patients: Annotated[
        list[str] | None, typer.Argument(metavar="[PATIENT]...", help="Whose documents.", show_default=False)
    ] = None,
    everyone: Annotated[bool, typer.Option("--all", help="Those of every patient.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Read the documents and the talk that are held again, as this version does, and swap what they say otherwise.

    Do it after an upgrade. A read with an earlier --known-at still sees what was read until then.
    """
    if bool(patients) == everyone:
        raise BadInput("say whose documents: give patients, or --all")
    made: dict[str, Reread] = {}
    with to_write(db) as engine:
        chosen = list(dict.fromkeys(patients or ()))
        while everyone:
            rows, total = engine.patients(page=len(chosen) // _PAGE, per_page=_PAGE)
            chosen += [row.id for row in rows]
            if len(rows) < _PAGE or len(chosen) >= total:
                break
        with progress("reading again", len(chosen)) as bar:
            for patient in chosen:
                made[patient] = engine.reread(patient)
                bar.advance(bar.task_ids[0])
    if json:
        put_json({"patients": [{"patient": patient} | reread_json(each) for patient, each in made.items()]})
        return
    for patient, each in made.items():
        read = counted(each.documents, "document")
        if not each.receipts:
            put(f"{patient}: {read} read again, nothing is said otherwise.")
        else:
            new = news(each.receipts) if any(receipt.staged != Staged() for receipt in each.receipts) else ""
            told = f"{patient}: {read} read again, {len(each.receipts)} of them said otherwise"
            put(f"{told}{f' ({new})' if new else ''}.")
        if each.talk.new or each.talk.changed or each.talk.gone:
            said = f"{each.talk.new} new, {each.talk.changed} otherwise, {each.talk.gone} found no more"
            put(f"{patient}: talk of {counted(each.talk.sessions, 'session')} learned again: memories {said}.")
        for line in each.kept:
            put_hanging("  !", f"{line.place}: not read any more, it says what it said before. {line.detail}")
    changed = next((patient for patient, each in made.items() if each.receipts), None)
    if changed is not None:
        put()
        put(f"Next: iamata report {changed} --since TIME shows what became different")

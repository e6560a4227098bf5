"""The command that accounts for a patient: `report`, of what reconciliation came to or what changed since a moment."""

from __future__ import annotations

from typing import Annotated

import typer

from iamata.interfaces.cli.opening import to_read
from iamata.interfaces.cli.options import Db, Json, KnownAt, TrueAt, beginning, moments
from iamata.interfaces.cli.printing import put_json, put_text
from iamata.interfaces.wire.changes import changes, changes_markdown
from iamata.interfaces.wire.reports import reconciliation, reconciliation_markdown
from iamata.interfaces.wire.view import GraphView


def report(
    patient: Annotated[str, typer.Argument(metavar="PATIENT", help="The patient's id.")],
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="What became different since then.", show_default=False),
    ] = None,
    known_at: KnownAt = None,
    true_at: TrueAt = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Report what was merged and inferred or, with --since, what changed: facts, merges and conflicts.

    Example: iamata report p1 --since 2026-02-01
    """
    with to_read(db) as engine:
        made = engine.report(patient, since=beginning(since, "--since"), **moments(known_at, true_at))
    if since is None:
        view = GraphView(made.graph)
        if json:
            put_json(reconciliation(view))
        else:
            put_text(reconciliation_markdown(view))
    elif json:
        put_json(changes(made))
    else:
        put_text(changes_markdown(made))

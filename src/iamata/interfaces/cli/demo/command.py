"""The command `demo`: where its database is, and in which form the story is told."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from iamata.errors import Conflict
from iamata.interfaces.cli import opening
from iamata.interfaces.cli.clashes import clash_json
from iamata.interfaces.cli.demo.chapters import Demo, tell
from iamata.interfaces.cli.demo.story import KEPT
from iamata.interfaces.cli.options import Json
from iamata.interfaces.cli.printing import put_json
from iamata.interfaces.wire import answers
from iamata.interfaces.wire.origins import supported_by
from iamata.interfaces.wire.receipts import receipt as receipt_json


def demo(
    keep: Annotated[bool, typer.Option("--keep", help=f"Keep the database, as {KEPT} here.")] = False,
    db: Annotated[
        str | None,
        typer.Option("--db", metavar="PATH", help="Keep the database there; it must be new.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Meet one small patient: what arrives, what it comes to, what contradicts, what a task gets.

    Runs the real engine on made-up data: no server, no network, no language model, nothing kept unless you ask for it.
    """
    path = db or (KEPT if keep else opening.MEMORY)
    if path != opening.MEMORY and not opening.missing(path):
        raise Conflict(f"there is something at {path} already, and the demo writes into none of yours: give a new --db")
    if db and (parent := Path(db).parent) and not parent.is_dir():
        raise Conflict(f"the folder {parent} does not exist")
    with Demo(path) as played:
        if json:
            put_json(_as_json(played))
        else:
            tell(played)


def _as_json(demo: Demo) -> dict[str, Any]:
    graph = demo.graph
    return {
        "received": [receipt_json(receipt) for _, receipt in demo.received],
        "facts": [
            {"id": fact.id, "kind": fact.kind.value, "display": fact.display}
            | {"supportedBy": supported_by(fact.supported_by)}
            for fact in demo.facts
        ],
        "conflicts": [clash_json(each) for each in demo.clashes],
        "contexts": [answers.context(each) for each in (demo.context, *demo.compared)],
        "explanation": answers.explanation(demo.explanation),
        "graph": graph.hash,
        "next": demo.next_commands(),
    }

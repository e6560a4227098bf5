"""Which options do several commands share, and how are their texts read?"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from iamata.errors import BadInput
from iamata.interfaces.cli.printing import JSON
from iamata.interfaces.wire import requests


def _remember(ctx: typer.Context, value: bool) -> bool:
    ctx.meta[JSON] = value
    return value


Db = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="PATH",
        help="The database: a file, or a postgresql:// address. Default: IAMATA_DB, else iamata.db here.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", callback=_remember, is_eager=True, help="Answer with one JSON document.")]
AfterErasure = Annotated[
    bool, typer.Option("--after-erasure", help="Also if the patient, or this very thing, was erased before.")
]
KnownAt = Annotated[
    str | None,
    typer.Option("--known-at", metavar="TIME", help="As far as it had been received by then.", show_default=False),
]
TrueAt = Annotated[
    str | None,
    typer.Option("--true-at", metavar="TIME", help="As if this were the clinical now.", show_default=False),
]


def moment(said: str | None, option: str) -> datetime | None:
    """A date (its end, UTC) or a time with an offset. Raises BadInput."""
    try:
        return requests.moment(said, option)
    except BadInput:
        raise BadInput(
            "give a date such as 2026-02-13, or a time with its offset such as 2026-02-13T09:00Z", place=option
        ) from None


def beginning(said: str | None, option: str) -> datetime | None:
    """As `moment`, but of a date its beginning."""
    moment(said, option)
    return requests.beginning(said, option)


def moments(known_at: str | None, true_at: str | None) -> dict[str, Any]:
    """The keyword arguments of a read."""
    return {"known_at": moment(known_at, "--known-at"), "true_at": moment(true_at, "--true-at")}


def tree_path(said: str) -> str:
    """An address as people type it: `leo` is `/patient/leo/`, and a leading slash may be left out."""
    if "/" not in said:
        return f"/patient/{said}/"
    return said if said.startswith("/") else f"/{said}"

"""The commands that look around: `patients`, `browse`, `read`, `search`."""

from __future__ import annotations

from typing import Annotated

import typer

from iamata.interfaces.cli.opening import to_read
from iamata.interfaces.cli.options import Db, Json, KnownAt, TrueAt, moments, tree_path
from iamata.interfaces.cli.printing import counted, put, put_hanging, put_json, put_table, put_text, remark
from iamata.interfaces.wire import answers
from iamata.interfaces.wire.values import given, instant
from iamata.model.patient import PatientRow
from iamata.model.reading import Format
from iamata.model.scope import patient as patient_subject

_PAGE = 500


def patients(db: Db = None, json: Json = False) -> None:
    """List the patients."""
    rows: list[PatientRow] = []
    with to_read(db) as engine:
        while True:
            found, total = engine.patients(page=len(rows) // _PAGE, per_page=_PAGE)
            rows += found
            if len(found) < _PAGE or len(rows) >= total:
                break
    if json:
        listed = [
            {"id": each.id, "version": each.version}
            | {"createdAt": instant(each.created_at), "updatedAt": instant(each.updated_at)}
            for each in rows
        ]
        put_json({"patients": listed, "total": len(rows)})
        return
    if not rows:
        put("No patient yet. Put a first document in: iamata ingest FILE")
        return
    put_table(
        ("patient", "changes", "last change (UTC)"),
        [(each.id, each.version, f"{each.updated_at:%Y-%m-%d %H:%M}") for each in rows],
        right=(1,),
    )
    put()
    put(f"{counted(len(rows), 'patient')}. Next: iamata browse {rows[0].id}")


def browse(
    path: Annotated[
        str, typer.Argument(metavar="[PATH]", help="An address such as /patient/p1/allergies/.", show_default=False)
    ] = "/",
    known_at: KnownAt = None,
    true_at: TrueAt = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """List a directory of the tree, each line with a hint and what reading it costs in tokens.

    `/` lists the patients, and a patient's id alone stands for its directory.
    """
    with to_read(db) as engine:
        listing = engine.browse(tree_path(path), **moments(known_at, true_at))
    if json:
        nodes = [
            given({"name": node.name, "address": node.address, "directory": node.directory, "hint": node.hint})
            | {"tokens": node.tokens, "items": node.items}
            for node in listing.nodes
        ]
        put_json({"address": listing.address, "nodes": nodes, "stamp": listing.stamp})
        return
    put(listing.address, style="bold")
    if not listing.nodes:
        put("Nothing here yet. Put a first document in: iamata ingest FILE")
        return
    put_table(
        ("tokens", "name", "what it is"),
        [(node.tokens or "", node.name, node.hint) for node in listing.nodes],
        right=(0,),
    )
    put()
    addresses = [node.address for node in listing.nodes]
    # The root lists a scope before its subjects: what has nothing below it in this very list is the better next step.
    leaves = [a for a in addresses if not any(b != a and b.startswith(a) for b in addresses)]
    first = next((node for node in listing.nodes if node.directory and node.address in leaves), None)
    file = next((node for node in listing.nodes if not node.directory), None)
    if first is not None:
        put(f"Open a directory: iamata browse {first.address}")
    if file is not None:
        put(f"Read a file: iamata read {file.address}")


def read(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The address of a file, or of a directory.")],
    format: Annotated[Format, typer.Option("--format", help="How it is written.")] = Format.NARRATIVE,
    budget: Annotated[
        int | None, typer.Option("--budget", metavar="N", help="At most so many tokens.", show_default=False)
    ] = None,
    known_at: KnownAt = None,
    true_at: TrueAt = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Read a file of the tree. Each line ends in citations, which `iamata explain` resolves."""
    with to_read(db) as engine:
        page = engine.read(tree_path(path), format=format, token_budget=budget, **moments(known_at, true_at))
    if json:
        put_json(answers.page(page))
        return
    put_text(page.text)
    shortened = ", shortened to the budget" if page.shortened else ""
    remark(f"{counted(page.tokens, 'token')}, {counted(len(page.citations), 'citation')}{shortened}")
    if page.citations:
        whose = page.address.strip("/").split("/")
        remark(f"who says so, and where: iamata explain {whose[1]} {page.citations[0].handle}")


def search(
    patient: Annotated[str, typer.Argument(metavar="PATIENT", help="The patient's id.")],
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words, or a code.")],
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help="Only this kind (may be repeated): medication, memory, …"),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=200, help="How many at most.")] = 10,
    known_at: KnownAt = None,
    true_at: TrueAt = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Search one patient's graph, best first."""
    with to_read(db) as engine:
        hits = engine.search(
            patient_subject(patient), query, kinds=kind or (), limit=limit, **moments(known_at, true_at)
        )
        better = engine.did_you_mean(patient_subject(patient), query, **moments(known_at, true_at))
    if json:
        put_json({"hits": [answers.hit(each) for each in hits], "didYouMean": better or None})
        return
    if better:
        put(f"Did you mean: {better}?")
    if not hits:
        put("Nothing found. Fewer or other words may help; `iamata browse` shows what there is.")
        return
    for number, each in enumerate(hits, start=1):
        put_hanging(f"{number:>2}", f"{each.title}  ({each.kind.replace('_', ' ')})", style="bold")
        if each.snippet and each.snippet != each.title:
            put_hanging("  ", each.snippet)
        put_hanging("  ", each.address, style="dim")
    put()
    put(f"Next: iamata explain {patient} {hits[0].item}")

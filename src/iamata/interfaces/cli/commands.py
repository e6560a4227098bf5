"""Which commands are there? Gathers them under one app, in the order in which a newcomer meets them."""

from __future__ import annotations

from typing import Annotated

import typer

from iamata.interfaces.cli import (
    auditing,
    deciding,
    entries,
    forgetting,
    governing,
    ingesting,
    moving,
    opening,
    pulling,
    reading,
    remembering,
    reporting,
    rereading,
    retaining,
    running,
    telling,
    vocabularies,
    writing,
)
from iamata.interfaces.cli.demo import command as demo
from iamata.interfaces.cli.failures import EXIT_CODES, Answering

app = typer.Typer(
    name="iamata",
    cls=Answering,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Begin with **iamata demo**. Every command has **--help** and **--json**. The database is **--db**, else "
    f"IAMATA_DB, else iamata.db here; the first write makes it.\n\n{EXIT_CODES}",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(running.version_text())
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version this is.")
    ] = False,
    act_as: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="PRINCIPAL",
            envvar="IAMATA_AS",
            help="Act as somebody, such as `operator/dr-lee` or `operator/dr-lee clinician` (with roles), who may only "
            "what policy and relations allow.",
            show_default=False,
            show_envvar=False,
        ),
    ] = None,
) -> None:
    """A context engine for agents that work in healthcare.

    It takes in records and conversations, keeps who said what, resolves it into facts and shows conflicts instead of
    hiding them; then it assembles the context for a task within a token budget, every line cited.
    """
    opening.act_as(act_as)


_START, _IN, _LOOK, _ASK, _DECIDE, _GOVERN, _RUN = (
    "Start here",
    "Put in",
    "Look around",
    "Ask",
    "Decide",
    "Govern",
    "Run",
)
_MOVE = "Take elsewhere"

app.command(rich_help_panel=_START)(demo.demo)
app.command(rich_help_panel=_IN)(ingesting.ingest)
app.command(rich_help_panel=_IN)(pulling.pull)
app.command(rich_help_panel=_IN)(writing.talk)
app.command(rich_help_panel=_IN)(rereading.reread)
app.command(rich_help_panel=_LOOK)(reading.patients)
app.command(rich_help_panel=_LOOK)(reading.browse)
app.command(rich_help_panel=_LOOK)(reading.read)
app.command(rich_help_panel=_LOOK)(reading.search)
app.command(rich_help_panel=_LOOK)(remembering.memories)
app.command(rich_help_panel=_ASK)(telling.context)
app.command(rich_help_panel=_ASK)(telling.explain)
app.command(rich_help_panel=_ASK)(telling.conflicts)
app.command(rich_help_panel=_ASK)(reporting.report)
app.command(rich_help_panel=_DECIDE)(deciding.review)
app.command(rich_help_panel=_DECIDE)(deciding.rule)
app.command(rich_help_panel=_DECIDE)(remembering.rulings)
app.command(rich_help_panel=_DECIDE)(deciding.withdraw)
app.command(rich_help_panel=_DECIDE)(deciding.adjudicate)
app.command(rich_help_panel=_DECIDE)(deciding.retract)
app.command(rich_help_panel=_MOVE)(moving.export)
app.command("import", rich_help_panel=_MOVE)(moving.import_)
app.command(rich_help_panel=_GOVERN)(forgetting.erase)
app.add_typer(forgetting.erasures, name="erasure", rich_help_panel=_GOVERN)
app.add_typer(forgetting.holds, name="hold", rich_help_panel=_GOVERN)
app.add_typer(retaining.app, name="retention", rich_help_panel=_GOVERN)
app.add_typer(auditing.app, name="audit", rich_help_panel=_GOVERN)
app.add_typer(governing.policy_app, name="policy", rich_help_panel=_GOVERN)
app.add_typer(governing.relations_app, name="relations", rich_help_panel=_GOVERN)
app.command("break-glass", rich_help_panel=_GOVERN)(governing.break_glass)
app.command(rich_help_panel=_RUN)(entries.learn)
app.command(rich_help_panel=_RUN)(running.serve)
app.command(rich_help_panel=_RUN)(running.mcp)
app.add_typer(entries.app, name="entry", rich_help_panel=_IN)
app.add_typer(vocabularies.app, name="terminology", rich_help_panel=_RUN)
app.command(rich_help_panel=_RUN)(running.doctor)
app.command(rich_help_panel=_RUN)(running.version)

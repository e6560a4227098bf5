"""The commands by which people decide: `review` what waits, `rule` on it, `withdraw` a ruling, `retract` a source."""

from __future__ import annotations

from typing import Annotated

import typer

from iamata.interfaces.cli.opening import to_read, to_write
from iamata.interfaces.cli.options import Db, Json, KnownAt, TrueAt, moments
from iamata.interfaces.cli.printing import counted, put, put_hanging, put_json
from iamata.interfaces.wire.answers import adjudicated, decisions
from iamata.interfaces.wire.answers import ruling as ruling_json
from iamata.model.graph import Graph
from iamata.model.ruling import RulingKind

_Patient = Annotated[str, typer.Argument(metavar="PATIENT", help="Whose record.", show_default=False)]
_Reason = Annotated[str, typer.Option("--reason", help="Why, in a few words; kept with the ruling.")]


def review(
    patient: _Patient, known_at: KnownAt = None, true_at: TrueAt = None, db: Db = None, json: Json = False
) -> None:
    """Show the pairs that wait for a person, with the evidence side by side."""
    times = moments(known_at, true_at)
    with to_read(db) as engine:
        waiting = engine.review(patient, **times)
        graph = engine.graph(patient, **times)
    if json:
        put_json({"review": decisions(waiting), "total": len(waiting)})
        return
    for pair in waiting:
        put(f"{pair.quality.value}: {pair.rule}", style="bold")
        for id in (pair.left, pair.right):
            put_hanging("  -", f"{_named(graph, id)}  {id}")
        for step in pair.evidence:
            sides = " / ".join(filter(None, (step.left, step.right)))
            put_hanging("    ", f"{step.step}: {step.outcome}{f' ({sides})' if sides else ''}")
        put()
    put(f"{counted(len(waiting), 'pair')} of {patient} {'waits' if len(waiting) == 1 else 'wait'} for a person.")
    if waiting:
        put(f"Next: iamata rule {patient} same|not-same {waiting[0].left} {waiting[0].right}")


def rule(
    patient: _Patient,
    kind: Annotated[RulingKind, typer.Argument(help="What you decide.", show_default=False)],
    left: Annotated[
        str, typer.Argument(metavar="STATEMENT", help="A statement id, or a memory's.", show_default=False)
    ],
    right: Annotated[str, typer.Argument(metavar="[STATEMENT]", help="The other one of a pair.")] = "",
    field: Annotated[str, typer.Option("--field", help="For value-is-right: the field, such as dose.")] = "",
    reason: _Reason = "",
    db: Db = None,
    json: Json = False,
) -> None:
    """Decide as a person: two records are the same or not, a value is right, a source is of another patient, a memory
    is refused (not meant so) or hidden, something is no longer true and is kept as history."""
    with to_write(db) as engine:
        made = engine.rule(patient, kind, left, right, field=field, reason=reason)
    if json:
        put_json(ruling_json(made))
        return
    put(f"Ruled: {made.kind.value}. It holds until it is withdrawn.")
    put(f"Take it back: iamata withdraw {patient} {made.id}")


def adjudicate(
    patient: _Patient,
    most: Annotated[int, typer.Option("--most", help="How many pairs are asked about at most.")] = 20,
    db: Db = None,
    json: Json = False,
) -> None:
    """Ask the configured language model about the pairs that wait for a person.

    Needs iamata[model] and IAMATA_MODEL_NAME. Its answers are kept and never asked for twice; a person's ruling
    overrules them. Without a configured model: exit code 7.
    """
    with to_read(db) as engine:
        done = engine.adjudicate(patient, most=most)
    if json:
        put_json(adjudicated(done))
        return
    for answer in done.answers:
        put_hanging("  -", f"{answer.says.value}: {answer.reason or 'no reason given'}")
    for outcome, count in done.failed:
        put_hanging("  -", f"{outcome}: {counted(count, 'question')} without an answer")
    kept = {
        "answered before": done.answered_before,
        "withheld by label": done.withheld,
        "of a kind that is not shown to a model": done.other_kinds,
        "left for another time": done.left,
    }
    for why, count in kept.items():
        if count:
            put(f"{counted(count, 'pair')} {why}.")
    put(f"{counted(len(done.answers), 'answer')} of {done.model} on pairs of {patient}.")
    put(f"Next: iamata review {patient}")


def withdraw(
    patient: _Patient,
    ruling: Annotated[str, typer.Argument(metavar="RULING", help="The ruling's id.", show_default=False)],
    reason: _Reason = "",
    db: Db = None,
    json: Json = False,
) -> None:
    """Take a ruling back: the graph is as if it had never been."""
    with to_write(db) as engine:
        made = engine.withdraw_ruling(patient, ruling, reason=reason)
    if json:
        put_json(ruling_json(made))
        return
    put(f"Withdrawn: {ruling}.")


def retract(
    patient: _Patient,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The name of a source.", show_default=False)],
    db: Db = None,
    json: Json = False,
) -> None:
    """Take a source out: facts are as if it had never come. What it sends later counts again."""
    with to_write(db) as engine:
        engine.retract(patient, source)
    if json:
        put_json({"patient": patient, "retracted": source})
        return
    put(f"{source} no longer counts for {patient}. What it sends from now on does.")


def _named(graph: Graph, id: str) -> str:
    """What a statement is about, and where it comes from."""
    statement, fact = graph.statements[id], graph.resolve(id)
    about = fact.display if fact else (statement.concept.display if statement.concept else statement.kind.value)
    when = statement.times[0].at if statement.times else ""
    return f"{about} ({statement.kind.value.replace('_', ' ')}{f', {when}' if when else ''}, {statement.source})"

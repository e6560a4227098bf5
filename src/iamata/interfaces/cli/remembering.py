"""The commands that read what was said: `memories`, and `rulings`, what people decided."""

from __future__ import annotations

from typing import Annotated

import typer

from iamata.interfaces.cli.opening import to_read
from iamata.interfaces.cli.options import Db, Json, KnownAt, TrueAt, moment, moments
from iamata.interfaces.cli.printing import counted, put, put_hanging, put_json
from iamata.interfaces.wire import answers
from iamata.interfaces.wire.remembered import recalled
from iamata.interfaces.wire.remembered import thread as thread_json
from iamata.model.memory import Memory, MemoryKind
from iamata.model.thread import Thread

_Patient = Annotated[str, typer.Argument(metavar="PATIENT", help="The patient's id.", show_default=False)]


def memories(
    patient: _Patient,
    session: Annotated[str, typer.Option("--session", metavar="ID", help="Only of this conversation.")] = "",
    kind: Annotated[
        list[MemoryKind] | None, typer.Option("--kind", help="Only of this kind; may be repeated.", show_default=False)
    ] = None,
    thread: Annotated[str, typer.Option("--thread", metavar="ID", help="Only of this thread.")] = "",
    task: Annotated[str, typer.Option("--task", metavar="T", help="What matters to this task, weightiest first.")] = "",
    query: Annotated[str, typer.Option("--query", metavar="Q", help="What answers this, best first.")] = "",
    threads: Annotated[bool, typer.Option("--threads", help="By thing, with what changed.")] = False,
    known_at: KnownAt = None,
    true_at: TrueAt = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """List what was said, as it was said: newest first, or by thing, task or question."""
    times = moments(known_at, true_at)
    with to_read(db) as engine:
        if threads:
            _put_threads(engine.threads(patient, **times), json=json)
            return
        found = engine.memories(
            patient, session=session, kinds=kind or (), thread=thread, task=task, query=query, **times
        )
        graph = engine.graph(patient, **times)
    if json:
        put_json({"memories": recalled(found, graph), "total": len(found)})
        return
    for each in found:
        _put(each.memory)
    put(f"{counted(len(found), 'memory', 'memories')} of {patient}.")
    if found:
        put(f"Not to be remembered: iamata rule {patient} memory-hidden {found[0].memory.id}")


def rulings(patient: _Patient, known_at: KnownAt = None, db: Db = None, json: Json = False) -> None:
    """List what people decided, the earliest first, withdrawals among it."""
    with to_read(db) as engine:
        found = engine.rulings(patient, known_at=moment(known_at, "--known-at"))
    if json:
        put_json({"rulings": [answers.ruling(each) for each in found], "total": len(found)})
        return
    for each in found:
        about = each.withdraws or (each.memory.message if each.memory else "") or (each.left.key if each.left else "")
        put_hanging(f"{each.decided_at:%Y-%m-%d %H:%M}", f"{each.kind.value} {about}, {each.by}  {each.id}")
    put(f"{counted(len(found), 'ruling')} on {patient}.")


def _put_threads(found: list[Thread], *, json: bool) -> None:
    if json:
        put_json({"threads": [thread_json(each) for each in found], "total": len(found)})
        return
    for each in found:
        whose = f" ({each.relation or each.experiencer})" if each.experiencer != "patient" else ""
        put(f"{each.about}{whose}  {each.id}", style="bold")
        for memory in each.memories:
            _put(memory, "  ")
            for change in each.changed:
                if change.memory == memory.id:
                    put_hanging(
                        "    ", f"{change.field}: {change.before or 'not said'}, now {change.after or 'not said'}"
                    )
    put(f"{counted(len(found), 'thread')}.")


def _put(memory: Memory, indent: str = "") -> None:
    said = (memory.said_at or memory.received_at).date().isoformat()
    about = f"{memory.concept.display}{f', {memory.change}' if memory.change else ''}"
    who = f"{memory.attribution.author.role.value}, {memory.attribution.kind.value}"
    put_hanging(
        f"{indent}{said} {memory.kind.value.replace('_', ' ')}:", f"{about} — “{memory.quote}” ({who})  {memory.id}"
    )

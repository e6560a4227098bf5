"""The commands that put something in: `ingest` documents, `talk` a conversation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from iamata.errors import BadInput, IamataError, Unavailable
from iamata.interfaces.cli.documents import Found, documents, patient_of
from iamata.interfaces.cli.failures import described, exit_code, told
from iamata.interfaces.cli.opening import to_write
from iamata.interfaces.cli.options import Db, Json
from iamata.interfaces.cli.printing import (
    counted,
    listed,
    progress,
    put,
    put_hanging,
    put_json,
    put_table,
    tell_failure,
    tell_failure_line,
)
from iamata.interfaces.cli.transcripts import transcript
from iamata.interfaces.wire.receipts import receipt as receipt_json
from iamata.interfaces.wire.sessions import session_memory
from iamata.model.document import IngestionStatus, IntakeLine, Outcome, Receipt
from iamata.model.provenance import SourceKind
from iamata.model.scope import patient as patient_subject

if TYPE_CHECKING:
    from iamata.engine import Engine


_FILES_SHOWN = 3


class Kept(msgspec.Struct, frozen=True):
    """A document that was kept, for whom, and its receipt."""

    name: str
    patient: str
    receipt: Receipt


class Refused(msgspec.Struct, frozen=True):
    """A document that was not kept, and why."""

    name: str
    error: IamataError


def ingest(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Files, folders, or - for stdin.")],
    patient: Annotated[
        str | None,
        typer.Option("--patient", metavar="ID", help="Whose they are. Default: the id of the document's one Patient."),
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            "--source", metavar="NAME", help="The system that sent them. Default: what they say.", show_default=False
        ),
    ] = "",
    source_kind: Annotated[
        SourceKind | None,
        typer.Option("--source-kind", help="What sort of system that is. Default: ehr.", show_default=False),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="List every item that was not understood in full, with its place.")
    ] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Take in documents (FHIR R4 JSON or NDJSON), keep their bytes, and say what was understood.

    A file that cannot be read is refused and the others are kept; the exit code is then that of the first refusal.
    Sending the same again adds nothing.

    Examples: `iamata ingest bundle.json`, `iamata ingest exports/ --source Northside`, `iamata ingest - --patient p1`.
    """
    if patient is not None:
        patient_subject(patient)
    found = documents(paths)
    kept: list[Kept] = []
    refused: list[Refused] = []
    engine: Engine | None = None
    try:
        with progress("taking in", len(found)) as bar:
            for each in found:
                try:
                    body = each.body()
                    whose = patient or patient_of(body)
                    engine = engine or to_write(db)
                    kept.append(Kept(each.name, whose, _ingest(engine, each, body, whose, source, source_kind)))
                except Unavailable as error:
                    if each.path is None or engine is None or not _of_file(error):
                        raise
                    refused.append(Refused(each.name, error))
                except IamataError as error:
                    refused.append(Refused(each.name, error))
                bar.advance(bar.task_ids[0])
    finally:
        if engine is not None:
            engine.close()
    if json:
        put_json(_as_json(kept, refused))
    else:
        _tell(kept, refused, explain)
    if refused:
        raise typer.Exit(exit_code(refused[0].error))


def _ingest(
    engine: Engine, found: Found, body: bytes, patient: str, source: str, source_kind: SourceKind | None
) -> Receipt:
    name = found.path.name if found.path else ""
    return engine.ingest(patient, body, source=source, source_kind=source_kind, name=name)


def _of_file(error: Unavailable) -> bool:
    return str(error).startswith("cannot be read")


def _as_json(kept: Sequence[Kept], refused: Sequence[Refused]) -> dict[str, Any]:
    return {
        "kept": [
            {"file": each.name, "patient": each.patient, "receipt": receipt_json(each.receipt, lines=True)}
            for each in kept
        ],
        "refused": [{"file": each.name, "error": described(each.error)} for each in refused],
        "understood": [
            {"kind": kind, "outcome": outcome, "reason": reason, "count": count}
            for (kind, outcome, reason), count in sorted(_groups(kept).items())
        ],
    }


def _groups(kept: Iterable[Kept]) -> Counter[tuple[str, str, str]]:
    return Counter((line.kind, line.outcome.value, line.reason.value) for each in kept for line in each.receipt.intake)


def _tell(kept: Sequence[Kept], refused: Sequence[Refused], explain: bool) -> None:
    if kept:
        patients = sorted({each.patient for each in kept})
        of = patients[0] if len(patients) == 1 else counted(len(patients), "patient")
        put(f"Kept {counted(len(kept), 'document')} of {of}: {news(each.receipt for each in kept)}.")
        put()
        put_understood(line for each in kept for line in each.receipt.intake)
        warnings = [(each, warning) for each in kept for warning in each.receipt.warnings]
        set_aside = sum(each.receipt.status is IngestionStatus.FAILED for each in kept)
        if set_aside:
            put(f"{counted(set_aside, 'document')} could not be formed into memory; see `iamata doctor`.")
        if explain:
            _explain(kept)
        elif warnings or any(line.outcome is not Outcome.STRUCTURED for each in kept for line in each.receipt.intake):
            put()
            put("Where and why, item by item: the same command with --explain.")
        put()
        put(f"Next: iamata browse /patient/{patients[0]}/")
    if refused:
        _tell_refused(refused, len(kept), explain)


def _tell_refused(refused: Sequence[Refused], kept: int, explain: bool) -> None:
    """What was not kept, by reason, with the files; of many files the first few, unless all are wanted."""
    by_reason: dict[str, list[str]] = {}
    for each in refused:
        by_reason.setdefault(told(each.error), []).append(each.name)
    for reason, names in by_reason.items():
        of = f" of {counted(kept + len(refused), 'document')}" if kept or len(by_reason) > 1 else ""
        tell_failure(f"refused {counted(len(names), 'document') if not of else len(names)}{of}: {reason}")
        shown = names if explain else names[:_FILES_SHOWN]
        for name in shown:
            tell_failure_line(f"  {name}")
        if len(names) > len(shown):
            tell_failure_line(f"  and {len(names) - len(shown)} more; --explain lists them")


def news(receipts: Iterable[Receipt]) -> str:
    """How much of it was new, in words."""
    staged = [each.staged for each in receipts]
    parts = [
        counted(sum(each.facts for each in staged), "statement of facts", "statements of facts"),
        counted(sum(each.events for each in staged), "of events", "of events"),
        counted(sum(each.narratives for each in staged), "stretch of text", "stretches of text"),
    ]
    new = [part for part in parts if not part.startswith("0 ")]
    return f"new are {listed(new)}" if new else "nothing new, all of it was held already"


def put_understood(lines: Iterable[IntakeLine]) -> None:
    """What was understood, by kind, and why the rest was not."""
    counts: dict[str, Counter[Outcome]] = {}
    why: dict[str, Counter[str]] = {}
    for line in lines:
        counts.setdefault(line.kind, Counter())[line.outcome] += 1
        if line.reason.value:
            why.setdefault(line.kind, Counter())[line.reason.value] += 1
    outcomes = [each for each in Outcome if any(count[each] for count in counts.values())]
    words = {Outcome.STRUCTURED: "understood", Outcome.TEXT_ONLY: "as text", Outcome.IGNORED: "ignored"}
    rows = [
        [
            kind,
            *(f"{count[outcome]:,}" if count[outcome] else "" for outcome in outcomes),
            listed(f"{reason} {n:,}" for reason, n in sorted(why.get(kind, {}).items())),
        ]
        for kind, count in sorted(counts.items(), key=lambda item: (-item[1].total(), item[0]))
    ]
    headings = ["kind", *(words[each] for each in outcomes), "why ignored" if why else ""]
    put_table(headings, rows, right=range(1, len(outcomes) + 1))


def _explain(kept: Iterable[Kept]) -> None:
    for each in kept:
        told_of = [line for line in each.receipt.intake if line.outcome is not Outcome.STRUCTURED or line.detail]
        put()
        whole = len(each.receipt.intake) - len(told_of)
        put(f"{each.name}: {counted(whole, 'item')} understood in full", style="bold")
        for line in told_of:
            outcome = f"{line.outcome.value.replace('_', ' ')}{f' ({line.reason.value})' if line.reason.value else ''}"
            put_hanging("  -", f"{line.place or '/'} {line.label or line.kind}: {outcome}. {line.detail}".rstrip(" ."))
        for warning in each.receipt.warnings:
            put_hanging("  !", warning)


def talk(
    session_file: Annotated[
        str, typer.Argument(metavar="FILE", help="The transcript: a file, or - for stdin.", show_default=False)
    ],
    patient: Annotated[str, typer.Option("--patient", metavar="ID", help="Whom it is about.")],
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="ID", help="Which conversation. Default: the one the JSON names."),
    ] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Append a conversation, and say what was learned from it. Memories are kept as they were said.

    A transcript has one turn a line (`mother: We stopped it on Thursday.`, with a time before it if known:
    `[2026-02-15T09:00Z] mother: ...`), or is the JSON of the HTTP interface. Give the whole conversation so far: turns
    that are held already are recognised, new ones are appended, and an edited one is refused (exit code 4).
    """
    patient_subject(patient)
    found = Found("stdin", None) if session_file == "-" else Found(session_file, Path(session_file))
    read = transcript(found.body())
    id = session or read.session
    if not id:
        raise BadInput("say which conversation this is: give --session ID")
    with to_write(db) as engine:
        receipt = engine.append(patient, id, read.turns, whole=True)
        messages = {each.id: each for each in engine.session(patient, id).messages}
        graph = engine.graph(patient)
    memories = [each for each in graph.memories.values() if each.message in messages]
    memories.sort(key=lambda each: (messages[each.message].index, each.start, each.id))
    if json:
        put_json(
            {"session": id, "patient": patient, "receipt": receipt_json(receipt)}
            | {"memories": [session_memory(each) for each in memories]}
        )
        return
    new = receipt.staged.messages
    put(f"{counted(len(read.turns), 'turn')} of session {id} of {patient}, {new} new.")
    if not memories:
        put("Nothing to remember was found in them.")
        return
    put(f"Remembered, as it was said ({counted(len(memories), 'memory', 'memories')}):")
    for each in memories:
        about = f"{each.concept.display}{f', {each.change}' if each.change else ''}"
        put_hanging(f"  {each.kind.value.replace('_', ' ')}:", f"{about} — “{each.quote}”")
    put()
    put(f"Next: iamata conflicts {patient}")

"""The command by which people put in what was said: `talk`, a conversation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from iamata.interfaces.cli.documents import Found
from iamata.interfaces.cli.opening import to_write
from iamata.interfaces.cli.options import AfterErasure, Db, Json, moment
from iamata.interfaces.cli.printing import counted, put, put_hanging, put_json
from iamata.interfaces.wire.receipts import receipt as receipt_json
from iamata.interfaces.wire.requests import labels
from iamata.interfaces.wire.sessions import session_memory
from iamata.model.scope import patient as patient_subject


def talk(
    session_file: Annotated[
        str, typer.Argument(metavar="FILE", help="The transcript: a file, or - for stdin.", show_default=False)
    ],
    patient: Annotated[str, typer.Option("--patient", metavar="ID", help="Whom it is about.")],
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="ID", help="Which conversation. Default: the one the transcript names."),
    ] = None,
    format: Annotated[
        str, typer.Option("--format", help="json, text, vtt, srt or csv. Default: told by its bytes.")
    ] = "",
    begins: Annotated[
        str | None,
        typer.Option(
            "--begins", metavar="TIME", help="When the talk began: times of cues count from there.", show_default=False
        ),
    ] = None,
    time_zone: Annotated[
        str, typer.Option("--time-zone", metavar="ZONE", help="Of times without an offset, such as Europe/Berlin.")
    ] = "",
    speaker: Annotated[
        list[str] | None,
        typer.Option(
            "--speaker",
            metavar="LABEL=WHO",
            help="Who a label stands for: 'Speaker 1=patient', 'Ms B=caregiver:daughter', '=before' for lines without "
            "one that go on; may be repeated.",
        ),
    ] = None,
    known_as: Annotated[
        str, typer.Option("--known-as", metavar="ID", help="What the transcript calls the patient, if not ID.")
    ] = "",
    after_erasure: AfterErasure = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Append a conversation, and say what was learned from it. Memories are kept as they were said.

    A transcript has one turn a line (`mother: We stopped it on Thursday.`, with a time before it if known:
    `[2026-02-15T09:00Z] mother: ...`), is WebVTT, SubRip or CSV, or is the JSON of the HTTP interface. Give the whole
    conversation so far: turns that are held already are recognised, new ones are appended, and an edited one is refused
    (exit code 4).
    """
    patient_subject(patient)
    found = Found("stdin", None) if session_file == "-" else Found(session_file, Path(session_file))
    body = found.body()
    with to_write(db) as engine:
        receipt = engine.append_transcript(
            patient,
            body,
            session=session or "",
            format=format,
            begins_at=moment(begins, "--begins"),
            time_zone=time_zone,
            speakers=labels(speaker or [], "--speaker"),
            known_as=known_as,
            after_erasure=after_erasure,
        )
        id = receipt.session
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
    put(f"{counted(len(messages), 'turn')} of session {id} of {patient}, {new} new.")
    for warning in receipt.warnings:
        put_hanging("  note:", warning)
    if not memories:
        put("Nothing to remember was found in them.")
        return
    put(f"Remembered, as it was said ({counted(len(memories), 'memory', 'memories')}):")
    for each in memories:
        about = f"{each.concept.display}{f', {each.change}' if each.change else ''}"
        put_hanging(f"  {each.kind.value.replace('_', ' ')}:", f"{about} — “{each.quote}”")
    put()
    put(f"Next: iamata conflicts {patient}")

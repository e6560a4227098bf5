"""The commands for entries of organizations, operators and agents: `entry add`, `list`, `show`, `retire`, `search`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from iamata.errors import BadInput
from iamata.interfaces.cli.documents import STDIN, Found
from iamata.interfaces.cli.opening import to_read, to_write
from iamata.interfaces.cli.options import Db, Json, KnownAt, TrueAt, moments
from iamata.interfaces.cli.printing import counted, put, put_hanging, put_json, put_title
from iamata.interfaces.wire import answers
from iamata.interfaces.wire import entries as wire
from iamata.model.entry import Entry, EntryDraft, EntryKind
from iamata.model.scope import Scope, Subject
from iamata.model.statement import Domain

app = typer.Typer(
    no_args_is_help=True,
    help="What is known of organizations, operators and agents, and what agents inferred of patients.",
)

_Subject = Annotated[
    str,
    typer.Argument(
        metavar="SUBJECT",
        help="Whose: `organization/clinic-a`, `operator/dr-lee`, `agent/triage`; of `patient/p1` what agents inferred.",
        show_default=False,
    ),
]
_Id = Annotated[str, typer.Argument(metavar="ID", help="The entry's id.", show_default=False)]
_From = Annotated[str, typer.Option("--from", metavar="DATE", help="In force from this day on.")]
_Reason = Annotated[str, typer.Option("--reason", metavar="WORDS", help="Why.")]


@app.command()
def add(
    subject: _Subject,
    kind: Annotated[EntryKind, typer.Argument(metavar="KIND", help="Such as guideline, formulary, preference, cue.")],
    title: Annotated[str, typer.Argument(metavar="TITLE", help="What it is called.", show_default=False)],
    text: Annotated[str, typer.Option("--text", metavar="WORDS", help="What it says.")] = "",
    file: Annotated[
        str,
        typer.Option(
            "--file", metavar="FILE", help="What it says: Markdown, PDF, HTML, DOCX, RTF, text or CSV; - is stdin."
        ),
    ] = "",
    id: Annotated[str, typer.Option("--id", metavar="ID", help="The entry that this is the next version of.")] = "",
    author: Annotated[str, typer.Option("--author", metavar="NAME", help="Who issued or said it.")] = "",
    since: _From = "",
    until: Annotated[str, typer.Option("--to", metavar="DATE", help="In force until this day.")] = "",
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="May be repeated.", show_default=False)
    ] = None,
    derived_from: Annotated[
        list[str] | None,
        typer.Option(
            "--derived-from",
            metavar="ITEM",
            help="Of a patient: the id or address of what it was inferred from; may be repeated.",
            show_default=False,
        ),
    ] = None,
    domain: Annotated[Domain, typer.Option("--domain", help="What it is about.")] = Domain.CLINICAL,
    reason: _Reason = "",
    db: Db = None,
    json: Json = False,
) -> None:
    """Write an entry, or the next version of one. The sections of a file, or its rows, become passages that cite it.

    Example: iamata entry add organization/clinic-a guideline Hypertension --file hypertension.md
    """
    if not (text or file):
        raise BadInput("say what the entry says, with --text or --file")
    draft = EntryDraft(
        subject=Subject.parse(subject),
        kind=kind,
        title=title,
        text=text,
        id=id,
        author=author,
        effective_from=since,
        effective_to=until,
        tags=tuple(tag or ()),
        domain=domain,
        reason=reason,
        derived_from=tuple(derived_from or ()),
    )
    body = _body(file) if file else b""
    with to_write(db) as engine:
        made = engine.ingest_entry(draft, body, name=Path(file).name) if file else engine.put_entry(draft)
    if json:
        put_json(wire.entry(made))
        return
    held = f", {counted(len(made.passages), 'passage')}" if made.passages else ""
    put(f"{made.subject}: {made.kind.value.replace('_', ' ')} {made.title}, version {made.version}{held}.")
    put_hanging("  id:", made.id)


@app.command("list")
def list_(
    subject: _Subject,
    kind: Annotated[
        list[EntryKind] | None, typer.Option("--kind", help="Only of this kind; may be repeated.", show_default=False)
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="Only with all of these.", show_default=False)
    ] = None,
    attribution: Annotated[str, typer.Option("--attribution", metavar="WHO", help="system, user or agent.")] = "",
    history: Annotated[bool, typer.Option("--history", help="Every version, in force or not.")] = False,
    known_at: KnownAt = None,
    true_at: TrueAt = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """List the entries that are in force."""
    times = moments(known_at, true_at)
    with to_read(db) as engine:
        found = engine.entries(
            Subject.parse(subject),
            kinds=kind or (),
            tags=tag or (),
            attribution=wire.attributed(attribution),
            history=history,
            **times,
        )
        of = Subject.parse(subject)
        held = engine.inferences(of.id, **times) if of.scope is Scope.PATIENT and not history else []
    state = {each.entry.id: each for each in held}
    if json:
        shown = [wire.inferred(state[each.id]) if each.id in state else wire.entry(each) for each in found]
        put_json({"entries": shown, "total": len(found)})
        return
    for each in found:
        stale = ", stale" if each.id in state and state[each.id].stale else ""
        put_hanging(f"{each.kind.value.replace('_', ' ')}:", f"{each.title}, {_force(each)}{stale}  {each.id}")
    put(f"{counted(len(found), 'entry', 'entries')} of {subject}.")
    if found:
        put(f"Next: iamata browse /{subject}/")


@app.command()
def show(
    subject: _Subject,
    id: _Id,
    version: Annotated[int, typer.Option("--version", metavar="N", min=0, help="This version; 0: in force.")] = 0,
    known_at: KnownAt = None,
    true_at: TrueAt = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Show one entry, whole."""
    with to_read(db) as engine:
        found = engine.entry(Subject.parse(subject), id, version=version, **moments(known_at, true_at))
    if json:
        put_json(wire.entry(found, passages=True))
        return
    put_title(found.title)
    put(f"{found.kind.value.replace('_', ' ')} of {found.subject}, {found.attribution.kind.value}, {_force(found)}")
    if found.text:
        put(found.text)
    for each in found.passages:
        put_hanging(f"{' › '.join(each.heading) or each.pointer}:", each.text)


@app.command()
def retire(
    subject: _Subject,
    id: _Id,
    reason: _Reason = "",
    since: _From = "",
    db: Db = None,
    json: Json = False,
) -> None:
    """Take an entry out of force, at once or from a day on. What it said stays known."""
    with to_read(db) as engine:
        made = engine.retire_entry(Subject.parse(subject), id, reason=reason, effective_from=since)
    if json:
        put_json(wire.entry(made))
        return
    put(f"{made.title} is retired{f' from {made.effective_from} on' if made.effective_from else ''}.")


@app.command()
def refuse(
    subject: _Subject,
    id: _Id,
    reason: _Reason = "",
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Take the refusal back.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Refuse what an agent or the engine has learned: it is retired, and not learned again until that is taken back."""
    with to_read(db) as engine:
        engine.refuse_entry(Subject.parse(subject), id, reason=reason, withdraw=withdraw)
    if json:
        put_json({"id": id, "refused": not withdraw})
        return
    put("It may be learned again." if withdraw else "It is refused, and is not learned again.")


def learn(
    organization: Annotated[
        str, typer.Option("--organization", metavar="ID", help="Learn patterns of this organization too.")
    ] = "",
    least_patients: Annotated[
        int, typer.Option("--least-patients", metavar="N", help="Nothing that fewer patients show is learned.")
    ] = 11,
    db: Db = None,
    json: Json = False,
) -> None:
    """Learn from recorded tool calls: cues of agents, habits of operators, patterns of an organization.

    What is learned is task names, templates of paths and counts over at least so many patients; it goes with the
    patients it rests on, and can be refused: iamata entry refuse.
    """
    with to_read(db) as engine:
        made = engine.learn(organization=organization, least_patients=least_patients)
    if json:
        put_json({"entries": [wire.entry(each) for each in made], "total": len(made)})
        return
    for each in made:
        what = "retired" if each.retired else " · ".join(each.text.split("\n\n"))
        put_hanging(f"{each.subject}, {each.kind.value}:", f"{each.title}: {what}  {each.id}")
    put(f"{counted(len(made), 'entry', 'entries')} learned, changed or retired.")


@app.command()
def search(
    subject: _Subject,
    query: Annotated[str, typer.Argument(metavar="WORDS", help="What to look for.", show_default=False)],
    kind: Annotated[
        list[EntryKind] | None, typer.Option("--kind", help="Only of this kind; may be repeated.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=200, help="At most so many.")] = 10,
    known_at: KnownAt = None,
    true_at: TrueAt = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Find entries and passages by words, best first, with the address to read on."""
    with to_read(db) as engine:
        found = engine.search(
            Subject.parse(subject), query, kinds=kind or (), limit=limit, **moments(known_at, true_at)
        )
    if json:
        put_json({"hits": [answers.hit(each) for each in found], "total": len(found)})
        return
    for each in found:
        put_hanging(f"{each.title}:", each.snippet)
        put(each.address, indent=2)
    put(f"{counted(len(found), 'hit')}.")


def _body(file: str) -> bytes:
    return (Found("stdin", None) if file == STDIN else Found(file, Path(file))).body()


def _force(of: Entry) -> str:
    words = f"version {of.version} of {of.recorded_at:%Y-%m-%d}"
    if of.retired:
        words += ", retired"
    if of.effective_from:
        words += f" from {of.effective_from}"
    return f"{words} to {of.effective_to}" if of.effective_to else words

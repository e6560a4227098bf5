"""The commands that ask: `context` for a task, `explain` why something stands there, `conflicts`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from iamata.errors import BadInput, NotFound
from iamata.interfaces.cli import clashes as clash
from iamata.interfaces.cli import proofs
from iamata.interfaces.cli.opening import to_read
from iamata.interfaces.cli.options import Db, Json, KnownAt, TrueAt, moments
from iamata.interfaces.cli.printing import counted, put, put_hanging, put_json, put_text, remark
from iamata.interfaces.wire import answers, ids
from iamata.model.context import Authority, Context, ContextRequest
from iamata.model.reading import Explanation
from iamata.model.scope import Subject
from iamata.model.scope import patient as patient_subject
from iamata.model.statement import Aspect

if TYPE_CHECKING:
    from iamata.engine import Engine

_PAGE = 500
_EXCERPT_CHARS = 400


def context(
    patient: Annotated[str, typer.Argument(metavar="PATIENT", help="The patient's id.")],
    task: Annotated[
        str,
        typer.Option("--task", metavar="T", help="What it is for, such as allergy_check or general."),
    ],
    budget: Annotated[int, typer.Option("--budget", metavar="N", min=0, help="At most so many tokens.")],
    query: Annotated[str, typer.Option("--query", metavar="Q", help="The question.", show_default=False)] = "",
    aspect: Annotated[
        Aspect | None,
        typer.Option("--aspect", help="What is asked about a thing. Default: what the task asks.", show_default=False),
    ] = None,
    also_about: Annotated[
        list[str] | None,
        typer.Option(
            "--also-about",
            metavar="SUBJECT",
            help="Whose knowledge counts too: organization/clinic-a, operator/dr-lee, agent/triage; may be repeated.",
            show_default=False,
        ),
    ] = None,
    explain_weights: Annotated[
        bool, typer.Option("--explain-weights", help="Show for each line how its weight came about.")
    ] = False,
    known_at: KnownAt = None,
    true_at: TrueAt = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Assemble a patient's context for a task within a token budget.

    The text goes to stdout and nothing else does, so that it can be handed on; remarks go to stderr.

    Example: iamata context p1 --task allergy_check --budget 400
    """
    others = dict.fromkeys(Subject.parse(each) for each in also_about or ())
    request = ContextRequest(
        subjects=(patient_subject(patient), *others), task=task, budget_tokens=budget, query=query, aspect=aspect
    )
    with to_read(db) as engine:
        made = engine.context(request, **moments(known_at, true_at))
    if json:
        put_json(answers.context(made))
        return
    put_text(made.text)
    if explain_weights:
        put()
        put_weights(made)
    remark(f"{made.tokens} of {counted(budget, 'token')} ({request.tokenizer}), {counted(len(made.items), 'line')}")
    if not made.fits:
        remark(made.note)
    if made.items:
        remark(f"why a line is there: iamata explain {patient} '{made.id}[1]'")


def put_weights(made: Context) -> None:
    """For each line its weight and the factors that add up to it, as log-odds."""
    put(f"Weights for {made.request.task} (0..1), and the log-odds that add up to them", style="bold")
    for item in made.items:
        put()
        if item.authority is None:
            put_hanging(f"[{item.number}]", f"not weighed  {item.text}")
            continue
        put_hanging(f"[{item.number}] {item.authority.weight:.2f}", f"{item.authority.aspect.value}? {item.text}")
        put_factors(item.authority, indent="     ")


def put_factors(authority: Authority, *, indent: str = "", quiet: bool = False) -> None:
    """The factors of one weight; those that count nothing are left out."""
    for factor in authority.factors:
        if factor.log_odds:
            put_hanging(f"{indent}{factor.name:<14}{factor.log_odds:+6.2f}", "" if quiet else factor.why)
    put_hanging(f"{indent}{'= log-odds':<14}{authority.log_odds:+6.2f}", f"weight {authority.weight:.2f}")


def explain(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="[PATIENT] ITEM",
            help="An id, an address, a citation such as 7f3c2a4d or 'ctx_…[12]'; before it the patient, if needed.",
        ),
    ],
    patient: Annotated[
        str | None, typer.Option("--patient", metavar="ID", help="Whose item it is.", show_default=False)
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Show excerpts whole.")] = False,
    known_at: KnownAt = None,
    true_at: TrueAt = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Say why something stands there: who said it, by which rule, and the bytes it stands in.

    Without the patient, the item is looked for with every patient; an address names its patient itself.
    """
    if len(names) > 2 or (len(names) == 2 and patient is not None):
        raise BadInput("give one item, and its patient before it or with --patient")
    item = names[-1]
    whose = patient or (names[0] if len(names) == 2 else _patient_of(item))
    times = moments(known_at, true_at)
    with to_read(db) as engine:
        if whose:
            found = _explained(engine, whose, item, times)
        else:
            whose, found = _wherever(engine, item, times)
        graph = engine.graph(whose, **times)
    if json:
        put_json({"patient": whose} | answers.explanation(found) | proofs.said_json(found, graph))
        return
    proofs.put_explanation(found, graph, excerpt_chars=None if full else _EXCERPT_CHARS)


def _patient_of(item: str) -> str:
    """The patient that an address names; empty for anything else."""
    scope, _, rest = item.lstrip("/").partition("/")
    return rest.partition("/")[0] if scope == "patient" else ""


def _explained(engine: Engine, patient: str, item: str, times: dict[str, Any]) -> Explanation:
    if item.startswith("patient/"):
        item = f"/{item}"
    return engine.explain(patient, ids.whole_id(engine.graph(patient, **times), item), **times)


def _wherever(engine: Engine, item: str, times: dict[str, Any]) -> tuple[str, Explanation]:
    """The one patient that has this item, and its explanation."""
    matches: list[tuple[str, Explanation]] = []
    page = 0
    while True:
        rows, total = engine.patients(page=page, per_page=_PAGE)
        for row in rows:
            try:
                matches.append((row.id, _explained(engine, row.id, item, times)))
            except NotFound:
                continue
        page += 1
        if not rows or page * _PAGE >= total:
            break
    if not matches:
        raise NotFound(f"no patient has an item {item!r}; `iamata search PATIENT WORDS` finds items", id=item)
    if len(matches) > 1:
        whose = ", ".join(id for id, _ in matches[:5])
        raise BadInput(f"{len(matches)} patients have such an item ({whose}): say whose with --patient")
    return matches[0]


def conflicts(
    patient: Annotated[
        str | None, typer.Argument(metavar="[PATIENT]", help="Default: every patient.", show_default=False)
    ] = None,
    known_at: KnownAt = None,
    true_at: TrueAt = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Show what contradicts itself, with both sides and who says so. Nothing is decided here."""
    times = moments(known_at, true_at)
    found: dict[str, list[clash.Clash]] = {}
    with to_read(db) as engine:
        if patient is not None:
            found[patient] = clash.clashes(engine.graph(patient, **times))
        else:
            page = 0
            while True:
                rows, total = engine.patients(page=page, per_page=_PAGE)
                for row in rows:
                    found[row.id] = clash.clashes(engine.graph(row.id, **times))
                page += 1
                if not rows or page * _PAGE >= total:
                    break
    if json:
        listed = [{"patient": id, **clash.clash_json(each)} for id, of in found.items() for each in of]
        put_json({"conflicts": listed, "total": len(listed)})
        return
    total = sum(len(of) for of in found.values())
    for id, of in found.items():
        for each in of:
            put(f"{id}  {', '.join(each.ids)}", style="dim")
            clash.put_clash(each)
            put()
    whose = patient or counted(len(found), "patient")
    put(f"{counted(total, 'conflict')} of {whose}." if total else f"No conflicts of {whose}.")
    if total:
        id, first = next((id, of[0]) for id, of in found.items() if of)
        put(f"Next: iamata explain {id} {first.fact}")

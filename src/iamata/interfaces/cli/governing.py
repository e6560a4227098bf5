"""The commands about access: `policy` shows, checks and explains it; `relations`, `break-glass` hold who sees whom."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from iamata.interfaces.cli.opening import settings, to_read, to_write
from iamata.interfaces.cli.options import Db, Json, moment
from iamata.interfaces.cli.printing import counted, put, put_hanging, put_json
from iamata.interfaces.wire import policies
from iamata.model.access import Purpose
from iamata.model.relation import PatientRelation, RelationKind

policy_app = typer.Typer(
    no_args_is_help=True, help="Who may do what: show the policy, check a file, explain a decision."
)
relations_app = typer.Typer(no_args_is_help=True, help="Who is related to a patient: list, set, end.")

_Patient = Annotated[str, typer.Argument(metavar="PATIENT", help="Whose record.", show_default=False)]
_Roles = Annotated[str, typer.Option("--roles", metavar="ROLES", help="Its roles, separated by commas.")]


@policy_app.command()
def show(db: Db = None, json: Json = False) -> None:
    """Show the policy in force: IAMATA_POLICY, else the packaged one. The first row that fits decides."""
    from iamata.engine.policies import policy_of

    found = policy_of(settings(db).policy or None)
    if json:
        put_json(policies.policy(found))
        return
    for number, rule in enumerate(policies.policy(found)["rules"], 1):
        words = {name: ", ".join(rule[name]) for name in ("act", "scope", "kind", "role", "relation", "purpose")}
        fits = [f"{name} {said}" for name, said in words.items() if name not in ("act", "scope") and said != "*"]
        what = f"{rule['effect']} {_any(words['act'])} on {_any(words['scope'])}"
        put_hanging(f"{number:>3}", f"{'; '.join([what, *fits])}: {rule['reason']}")
    put(f"{counted(len(found.rules), 'row')} of {found.name}, version {found.version}; the first that fits decides.")


@policy_app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A policy of your own.", show_default=False)],
    json: Json = False,
) -> None:
    """Check a policy file before it is used. Exit code 2, with the line, if something is wrong in it."""
    from iamata.engine.policies import policy_of

    found = policy_of(file)
    if json:
        put_json({"file": found.name, "version": found.version, "rules": len(found.rules)})
        return
    put(f"{found.name} is whole: {counted(len(found.rules), 'row')}, version {found.version}.")


@policy_app.command()
def explain(
    principal: Annotated[
        str, typer.Option("--as", metavar="PRINCIPAL", help="Who, such as operator/dr-lee.", show_default=False)
    ],
    act: Annotated[str, typer.Option("--act", metavar="ACT", help="read, write, decide, erase, audit …")] = "read",
    subject: Annotated[
        str, typer.Option("--subject", metavar="SUBJECT", help="About whom, such as patient/p1; empty: a listing.")
    ] = "",
    roles: _Roles = "",
    purpose: Annotated[Purpose, typer.Option("--purpose", help="Of use.")] = Purpose.TREATMENT,
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help="Of an entry, such as profile.")] = "",
    for_: Annotated[str, typer.Option("--for", metavar="ID", help="Of an agent: the operator it acts for.")] = "",
    db: Db = None,
    json: Json = False,
) -> None:
    """Say what would be decided for somebody who comes by token, by which row, and why."""
    with to_read(db) as engine:
        found = engine.explain_policy(
            principal,
            act,
            policies.asked_about(subject),
            roles=[each.strip() for each in roles.split(",") if each.strip()],
            purpose=purpose,
            kind=kind,
            on_behalf_of=for_,
        )
    if json:
        put_json(policies.explained(found))
        return
    decision = found.decision
    put(f"{'Allowed' if decision.allowed else 'Refused'}: {', '.join(decision.reasons)}.", style="bold")
    put_hanging("  row", f"{decision.rule}, line {found.line}" if decision.rule else "none: a law of the program")
    if found.source:
        put_hanging("  source", found.source)
    if subject.startswith("patient/"):
        put_hanging("  relations held", ", ".join(found.relations) or "none")
    put_hanging("  policy", found.policy)


@relations_app.command("list")
def list_(patient: _Patient, db: Db = None, json: Json = False) -> None:
    """List who is and was related to a patient, break-glass among it."""
    with to_read(db) as engine:
        found = engine.relations(patient)
    _put(found, json=json)


@relations_app.command("set")
def set_(
    patient: _Patient,
    principal: Annotated[
        str, typer.Argument(metavar="PRINCIPAL", help="Who, such as operator/dr-lee.", show_default=False)
    ],
    kind: Annotated[RelationKind, typer.Argument(help="What they are to the patient.", show_default=False)],
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="Default: now.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Default: until it is ended.")] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why, in a few words; kept sealed.")] = "",
    db: Db = None,
    json: Json = False,
) -> None:
    """Say that somebody is of the care team of a patient, the patient in person, or a proxy."""
    with to_write(db) as engine:
        made = engine.relate(
            patient,
            principal,
            kind,
            since=moment(since, "--since"),
            until=moment(until, "--until"),
            reason=reason,
        )
    if json:
        put_json(policies.relation(made))
        return
    put(f"{made.principal} is {made.kind.value} of {patient} {_until(made)}.")
    put(f"End it: iamata relations end {patient} {made.id}")


@relations_app.command()
def end(
    patient: _Patient,
    relation: Annotated[str, typer.Argument(metavar="RELATION", help="The relation's id.", show_default=False)],
    db: Db = None,
    json: Json = False,
) -> None:
    """End a relation, or an open break-glass, now."""
    with to_write(db) as engine:
        ended = engine.end_relation(patient, relation)
    if json:
        put_json(policies.relation(ended))
        return
    put(f"Ended: {relation}.")


@relations_app.command("broken-glass")
def broken_glass(db: Db = None, json: Json = False) -> None:
    """List every break-glass there was, of all patients, the earliest first."""
    with to_read(db) as engine:
        found = engine.broken_glass()
    _put(found, json=json)


def break_glass(
    patient: _Patient,
    reason: Annotated[str, typer.Option("--reason", help="Why, in a few words; kept sealed.", show_default=False)],
    minutes: Annotated[
        int | None, typer.Option("--minutes", help="For how long. Default: as long as the policy allows.")
    ] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Open a patient to yourself in an emergency, for a while. Everything done under it is recorded so."""
    with to_write(db) as engine:
        made = engine.break_glass(patient, reason, minutes=minutes)
    if json:
        put_json(policies.relation(made))
        return
    put(f"Opened {patient} to {made.principal} {_until(made)}. Every look is recorded.")


def _any(words: str) -> str:
    return "anything" if words == "*" else words


def _put(found: list[PatientRelation], *, json: bool) -> None:
    now = datetime.now(UTC)
    if json:
        put_json({"relations": policies.relations(found, now), "total": len(found)})
        return
    for each in found:
        holds = "" if each.holds_at(now) else " (not now)"
        put_hanging("  -", f"{each.principal} {each.kind.value} of {each.patient} {_until(each)}{holds}  {each.id}")
        if each.reason:
            put_hanging("   ", each.reason)
    put(f"{counted(len(found), 'relation')}.")


def _until(of: PatientRelation) -> str:
    begins = f"from {of.since:%Y-%m-%d %H:%M}"
    return f"{begins} until {of.until:%Y-%m-%d %H:%M} (UTC)" if of.until else f"{begins} (UTC) until it is ended"
